//! Conversion of a dump to a session that leads to the dumped state.
//!
//! Each type has a subscription, an acknowledged response with the active resources, another one
//! with the errors in place of resources, a response with a NACK for each rejected resource, and an
//! unacknowledged response with the warming resources. Times are unknown. A type without resources
//! and version is left out: the client has not requested the type, so nobody owes anything.

use std::collections::HashSet;

use serde_json::{Value, json};

use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::encode::{RequestFields, ResourceFields, ResponseFields};
use xdscope_wire::event::{Code, Kind, Method, StreamId, Time, TypeUrl};
use xdscope_wire::{ErrorDetail, Frame, FramePayload, Message, MessageShape, Open};

use super::dump::{
    Dump, DumpClient, DumpContent, DumpEntry, DumpOrigin, DumpRefusal, DumpTimes, MissingReference,
    TypeStatus,
};
use super::reader::UNKNOWN;
use crate::nack::StatedFaults;

/// A TTL in nanoseconds. Marks an entry without payload as the resource at another version.
const REFUSED_TTL: i128 = 1_000_000_000;

impl Dump {
    /// Returns the frames of all clients, with a stream for each. `name` is the file name.
    pub fn frames(&self, name: &str, catalog: &mut Catalog) -> Vec<Frame> {
        let mut frames = Vec::new();
        for (client, id) in self.clients.iter().zip(1..) {
            let (stream, at) = (StreamId(id), Time::ZERO);
            let mut session = SessionWriter { stream, at, catalog: &mut *catalog, out: &mut frames };
            session.of_client(self.origin, name, client);
            session.statuses(client, self.times);
        }
        // The frames of all clients in order of time.
        frames.sort_by_key(|frame| frame.at);
        frames
    }
}

pub(super) struct SessionWriter<'a> {
    pub(super) stream: StreamId,
    pub(super) at: Time,
    pub(super) catalog: &'a mut Catalog,
    pub(super) out: &'a mut Vec<Frame>,
}

impl SessionWriter<'_> {
    /// Adds the whole session of a client. `name` is the file name.
    pub(super) fn of_client(&mut self, origin: DumpOrigin, name: &str, client: &DumpClient) {
        self.open(origin, name, client);
        let node = client.node.clone().unwrap_or_default();
        let mut node = Some(node.as_slice());
        let mut types: Vec<_> = client.types.iter().collect();
        if client.other_clusters.is_some() {
            // The clusters are known before the routes that refer to them.
            types.sort_by_key(|(type_url, _)| rank(type_url));
        }
        for (type_url, version) in types {
            let entries = client.entries_of(type_url);
            let version = version.as_deref().unwrap_or_default();
            if !entries.is_empty() || !version.is_empty() {
                self.of_type(type_url, version, &entries, node.take());
            }
        }
    }

    /// Adds the messages that lead to what a server says about its client.
    pub(super) fn statuses(&mut self, client: &DumpClient, times: Option<DumpTimes>) {
        let mut node = client.node.as_deref();
        let begun = self.at;
        for status in &client.statuses {
            let sent = status.sent_at.zip(times).map(|(sent, times)| times.since_epoch(sent));
            self.at = begun;
            self.status_of(status, None, node.take(), sent.unwrap_or(begun));
        }
    }

    /// Adds the messages that lead from an earlier status of a type to a new one. `at` is the time
    /// of the response.
    pub(super) fn status_of(
        &mut self,
        new: &TypeStatus,
        old: Option<&TypeStatus>,
        node: Option<&[u8]>,
        at: Time,
    ) {
        let url = new.type_url.as_str();
        if old.is_none() {
            self.request(RequestFields { node, type_url: url, names: vec!["*"], ..RequestFields::default() });
        }
        let Some(sent) = &new.sent else { return };
        self.at = at;
        let is_same = old.is_some_and(|old| old.sent == new.sent);
        if !is_same {
            if let Some(acked) = new.acked.as_deref().filter(|acked| old.is_none() && **acked != **sent) {
                self.send(response(url, "", acked), []);
                self.verdict(url, acked, None);
            }
            self.send(response(url, "", sent), []);
        }
        let is_told = |is_equal: fn(&TypeStatus, &TypeStatus) -> bool| {
            is_same && old.is_some_and(|old| is_equal(old, new))
        };
        match &new.error {
            Some(error) if !is_told(|old, new| old.error == new.error) => {
                let status = self.status(UNKNOWN, error);
                self.verdict(url, sent, Some(status));
            }
            None if new.acked == new.sent && !is_told(|old, new| old.acked == new.acked) => {
                self.verdict(url, sent, None);
            }
            _ => {}
        }
    }

    /// Adds the opening of the stream, with what the dump says about its client.
    fn open(&mut self, origin: DumpOrigin, name: &str, client: &DumpClient) {
        let word = match origin {
            DumpOrigin::ConfigDump => "config dump",
            DumpOrigin::Csds => "CSDS",
            DumpOrigin::Syncz => "syncz",
            DumpOrigin::Ztunnel => "ztunnel",
        };
        let open = Open {
            method: Method::DUMP.into(),
            server: Some(name.to_owned()),
            metadata: vec![("xdscope-dump".into(), word.into())],
            node_hint: client.node.clone(),
            ..Open::default()
        };
        let mut open = self.catalog.clean_open(open);
        if let Some(clusters) = &client.other_clusters {
            // Names of resources stay as they are, too.
            open.metadata.push((Open::OTHER_CLUSTERS.into(), Value::from(clusters.clone()).to_string()));
        }
        if !client.missing.is_empty() {
            open.metadata.push((Open::MISSING_REFERENCES.into(), to_metadata(&client.missing)));
        }
        if let Some(admin) = &client.admin {
            open.metadata.push((Open::ADMIN.into(), admin.to_metadata()));
        }
        self.frame(FramePayload::Open(Box::new(open)));
    }

    /// Adds a message of the client or the server.
    fn say(&mut self, shape: MessageShape, bytes: &[u8]) {
        let message = Message::parse(shape, bytes, self.catalog);
        self.frame(FramePayload::Message(message.into()));
    }

    pub(super) fn frame(&mut self, what: FramePayload) {
        self.out.push(Frame { at: self.at, stream: self.stream, what });
    }

    /// Writes the resources of a type: a request, and responses with their verdicts.
    pub(super) fn of_type(
        &mut self,
        type_url: &TypeUrl,
        version: &str,
        entries: &[&DumpEntry],
        node: Option<&[u8]>,
    ) {
        let url = type_url.as_str();
        let names = entries.iter().map(|entry| &*entry.name).collect();
        self.request(RequestFields { node, type_url: url, names, ..RequestFields::default() });

        let active = entries.iter().filter_map(|entry| Some((*entry, entry.active.as_ref()?)));
        let active: Vec<_> = active.collect();
        // A version without entries is an empty response.
        if !active.is_empty() || entries.is_empty() {
            self.push(url, version, "applied", &active);
            self.verdict(url, "applied", None);
        }
        self.errors(url, version, "errors", entries);
        for (at, (entry, refused)) in
            entries.iter().filter_map(|entry| Some((*entry, entry.refused.as_ref()?))).enumerate()
        {
            self.refusal(url, &format!("refused-{}", at + 1), entry, refused);
        }
        let warming = entries.iter().filter_map(|entry| Some((*entry, entry.warming.as_ref()?)));
        let warming: Vec<_> = warming.collect();
        if !warming.is_empty() {
            self.push(url, version, "warming", &warming);
        }
    }

    pub(super) fn request(&mut self, request: RequestFields<'_>) {
        self.say(MessageShape::DeltaRequest, &request.encode(true));
    }

    /// Adds an acknowledged response with the errors in place of resources, if there are any.
    pub(super) fn errors(&mut self, url: &str, version: &str, nonce: &str, entries: &[&DumpEntry]) {
        let errors = entries.iter().filter_map(|entry| Some((&*entry.name, entry.error.as_ref()?)));
        let errors: Vec<_> =
            errors.map(|(name, error)| (name, self.status(error.code, &error.text))).collect();
        if !errors.is_empty() {
            let fields = response(url, version, nonce);
            self.send(ResponseFields { resource_errors: errors, ..fields }, []);
            self.verdict(url, nonce, None);
        }
    }

    /// Adds a response with a rejected resource, and its NACK.
    pub(super) fn refusal(&mut self, url: &str, nonce: &str, entry: &DumpEntry, refused: &DumpRefusal) {
        let version = refused.content.version.as_deref().unwrap_or_default();
        self.send(response(url, version, nonce), [refused_resource(entry, &refused.content)]);
        let text = match states_name(&refused.text, &entry.name) {
            true => refused.text.clone(),
            false => format!("{}: {}", entry.name, refused.text),
        };
        let status = self.status(UNKNOWN, &text);
        self.verdict(url, nonce, Some(status));
    }

    pub(super) fn push(
        &mut self,
        url: &str,
        version: &str,
        nonce: &str,
        active: &[(&DumpEntry, &DumpContent)],
    ) {
        let resources = active.iter().filter(|(_, content)| content.any.is_some());
        let resources = resources.map(|(entry, content)| resource(entry, content));
        self.send(response(url, version, nonce), resources);
    }

    pub(super) fn send<'r>(
        &mut self,
        fields: ResponseFields<'_>,
        resources: impl IntoIterator<Item = ResourceFields<'r>>,
    ) {
        let resources = resources.into_iter().map(|resource| resource.encode());
        self.say(MessageShape::DeltaResponse, &fields.encode(true, resources));
    }

    fn status(&mut self, code: Code, text: &str) -> ErrorDetail {
        let message = self.catalog.clean_text(text.to_owned()).into();
        ErrorDetail { code: code.0, message, ..ErrorDetail::default() }
    }

    /// Adds the ACK of a response, or the NACK with an error.
    pub(super) fn verdict(&mut self, url: &str, nonce: &str, error: Option<ErrorDetail>) {
        self.request(RequestFields {
            type_url: url,
            response_nonce: nonce,
            error_detail: error.as_ref(),
            ..RequestFields::default()
        });
    }
}

pub(super) fn response<'a>(url: &'a str, version: &'a str, nonce: &'a str) -> ResponseFields<'a> {
    ResponseFields { version, type_url: url, nonce, ..ResponseFields::default() }
}

/// Returns the names of the clusters that the client of a dump has besides the resources of the
/// dump. `None` if the dump may lack clusters, and for other streams.
pub(crate) fn other_clusters(open: &Open) -> Option<HashSet<String>> {
    serde_json::from_str(open.fact(Open::OTHER_CLUSTERS)?).ok()
}

/// A reference in the metadata of a stream.
///
/// Type of the user, its name, whether the bootstrap has the user, type of the target, its name.
type ReferenceRow = (String, String, bool, String, String);

/// Returns the references as the metadata of a stream.
fn to_metadata(missing: &[MissingReference]) -> String {
    let row = |missing: &MissingReference| {
        let MissingReference { user_kind, user, is_static, kind, name } = missing;
        json!([user_kind.label(), user, is_static, kind.label(), name])
    };
    Value::from(missing.iter().map(row).collect::<Vec<_>>()).to_string()
}

/// Returns the references of the dump of a stream to resources that its client lacks. Empty for
/// other streams.
pub(crate) fn missing_references(open: &Open) -> Vec<MissingReference> {
    let Some(text) = open.fact(Open::MISSING_REFERENCES) else { return Vec::new() };
    let rows: Vec<ReferenceRow> = serde_json::from_str(text).unwrap_or_default();
    let kind = |label: &str| Kind::all().find(|kind| kind.label() == label);
    let reference = |(user_kind, user, is_static, target, name): ReferenceRow| {
        Some(MissingReference { user_kind: kind(&user_kind)?, user, is_static, kind: kind(&target)?, name })
    };
    rows.into_iter().filter_map(reference).collect()
}

/// Returns the place of a type: clusters first, then what leads to routes.
fn rank(type_url: &TypeUrl) -> usize {
    let kinds = [Kind::Cds, Kind::Lds, Kind::Srds, Kind::Rds];
    let kind = Kind::of_type_url(type_url.as_str()).map(|(kind, _)| kind);
    kinds.iter().position(|known| Some(*known) == kind).unwrap_or(kinds.len())
}

/// Whether the text of a rejection states the resource: first, or in the format of a known client.
fn states_name(text: &str, name: &str) -> bool {
    let is_first =
        text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']));
    let faults = StatedFaults::read(text, &[]);
    let mut stated = faults.listed.iter().filter_map(|fault| fault.name.as_ref());
    is_first || stated.any(|stated| stated.value == name)
}

/// Returns the fields of a resource with one of its contents.
fn resource<'a>(entry: &'a DumpEntry, content: &'a DumpContent) -> ResourceFields<'a> {
    ResourceFields {
        version: content.version.as_deref().unwrap_or_default(),
        payload: content.any.as_deref(),
        name: &entry.name,
        ..ResourceFields::default()
    }
}

/// Returns a rejected resource.
///
/// gRPC keeps the version of the rejected content, but not the content. If an earlier content is in
/// use, the resource has no payload, so that the earlier one stays visible.
fn refused_resource<'a>(entry: &'a DumpEntry, content: &'a DumpContent) -> ResourceFields<'a> {
    let fields = resource(entry, content);
    match (&content.any, &entry.active) {
        (Some(_), _) => fields,
        (None, Some(_)) => ResourceFields { ttl: Some(REFUSED_TTL), ..fields },
        (None, None) => ResourceFields { payload: Some(&[]), ..fields },
    }
}
