//! The fields of one discovery message, and the messages made from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::FaultSet;
use super::action::Action;
use xdscope_engine::session::kind_of_change;
use xdscope_engine::store::{MessageDetails, MessageFact, MessageKind, RowFact};
use xdscope_schema::Schema;
use xdscope_wire::content::Catalog;
use xdscope_wire::discovery::fields::{DiscoveryField, RESOURCES, any, map_entry, resource};
use xdscope_wire::event::{Code, Dir, Kind, Method, StreamId, Time, TypeUrl};
use xdscope_wire::pb::{Fields, WireField, put_len_field, rebuild};
use xdscope_wire::{ErrorDetail, Message, MessageBuilder, MessageShape};

/// Memory of a name, in bytes.
const NAME_BYTES: usize = 64;

/// Number of a field that no discovery message has.
const PADDING: u32 = 1000;

/// Names of resources, each with the fault or person that has altered or made it up.
pub(super) type AlteredNames = BTreeMap<Arc<str>, Arc<str>>;

/// A decoded message with the texts that filters and nonces need.
#[derive(Clone, Debug)]
pub(super) struct WireContents {
    pub(super) shape: MessageShape,
    pub(super) bytes: Bytes,
    /// Taken from the method if the message has none.
    pub(super) type_url: TypeUrl,
    pub(super) version: String,
    pub(super) nonce: String,
    pub(super) node: Option<Arc<str>>,
    /// Names of a request, or of the resources of a push.
    names: Vec<Arc<str>>,
    removed: Vec<Arc<str>>,
    error: Option<(Code, Arc<str>)>,
    resources: u64,
    /// Whether a request states versions of resources.
    states_versions: bool,
}

/// The differences between a push as the server sent it and as the client gets it.
#[derive(Clone, Debug)]
pub(super) struct Alteration {
    /// The fault or person.
    pub(super) by: Arc<str>,
    /// Resources with other content, or in only one of the pushes.
    pub(super) names: BTreeSet<Arc<str>>,
    /// Those among them that are not in the push of the server.
    pub(super) foreign: BTreeSet<Arc<str>>,
    /// The version of the server, if the client was told another one.
    pub(super) version: Option<String>,
}

impl WireContents {
    /// Reads a message. `None`: it is too large to be read.
    pub(super) fn read(method: &Method, dir: Dir, bytes: Bytes) -> Option<WireContents> {
        let shape = MessageShape::of(method, dir);
        let mut catalog = Catalog::in_memory();
        let mut builder = MessageBuilder::new(shape);
        builder.push(&bytes, &mut catalog);
        let message: Message = builder.finish(&mut catalog).ok()?;
        let text = |sym| Arc::<str>::from(catalog.text(sym));
        let sent = message.type_url();
        let implied = if sent.is_empty() { method.implied_type() } else { None };
        let mut contents = WireContents {
            shape,
            bytes,
            type_url: implied.unwrap_or(sent),
            version: String::new(),
            nonce: String::new(),
            node: message.node().map(|node| node.id.clone().into()),
            names: Vec::new(),
            removed: Vec::new(),
            error: None,
            resources: 0,
            states_versions: false,
        };
        if let Some(request) = message.request() {
            contents.version = request.version.map(|version| version.as_str().to_owned()).unwrap_or_default();
            contents.nonce = request.response_nonce.as_str().to_owned();
            contents.names = request.names.iter().map(|name| text(*name)).collect();
            contents.error = request.error_detail.map(|detail| (Code(detail.code), detail.message.clone()));
        }
        if let xdscope_wire::MessageBody::DeltaRequest(request) = &message.body {
            contents.removed = request.unsubscribe.iter().map(|name| text(*name)).collect();
            contents.states_versions = !request.initial_resource_versions.is_empty();
        }
        if let Some(response) = message.response() {
            contents.version = response.version.as_str().to_owned();
            contents.nonce = response.nonce.as_str().to_owned();
            contents.names =
                response.resources.blobs().iter().map(|blob| text(catalog.name(*blob))).collect();
            contents.removed = response.removed.iter().map(|name| text(*name)).collect();
            contents.resources = contents.names.len() as u64;
        }
        Some(contents)
    }

    /// Returns the memory of the message and of its names, in bytes.
    pub(super) fn memory(&self) -> usize {
        let texts = self.version.len() + self.nonce.len();
        self.bytes.len() + texts + (self.names.len() + self.removed.len()) * NAME_BYTES
    }

    pub(super) fn is_delta(&self) -> bool {
        matches!(self.shape, MessageShape::DeltaRequest | MessageShape::DeltaResponse)
    }

    pub(super) fn is_nack(&self) -> bool {
        self.error.is_some()
    }

    /// Whether an action can change the message.
    pub(super) fn allows(&self, action: &Action) -> bool {
        if action.dir().is_some_and(|dir| dir != self.shape.dir()) {
            return false;
        }
        match action {
            Action::Remove(name)
            | Action::Omit(name)
            | Action::Repeat(name)
            | Action::Reannounce(Some(name)) => self.has(name),
            Action::Rename { from, .. } if from == "*" && self.shape.dir() == Dir::Req => self.is_wildcard(),
            Action::Rename { from, .. } => self.has(from) || self.removed.iter().any(|name| **name == **from),
            Action::Forget => {
                self.states_versions || !self.is_delta() && self.nonce.is_empty() && !self.version.is_empty()
            }
            Action::Pad(size) => *size > self.bytes.len() as u64,
            _ => true,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| **other == *name)
    }

    /// Whether a resource is all that a push is about.
    pub(super) fn is_only(&self, name: &str) -> bool {
        self.removed.is_empty() && self.names.iter().all(|other| **other == *name)
    }

    /// Whether a request is for all resources of its type: it says so, or it is the first one and
    /// names none.
    fn is_wildcard(&self) -> bool {
        let is_first = self.nonce.is_empty() && self.removed.is_empty();
        self.has("*") || self.names.is_empty() && (is_first || !self.is_delta())
    }

    /// Whether a request changes the subscription of the last one.
    pub(super) fn changes_subscription(&self, last: Option<&WireContents>) -> bool {
        match self.is_delta() {
            true => !self.names.is_empty() || !self.removed.is_empty(),
            false => last.is_none_or(|last| last.names != self.names),
        }
    }

    /// Returns the number of resources of a push, or of names of a request.
    pub(super) fn count(&self) -> u64 {
        if self.shape.dir() == Dir::Resp { self.resources } else { self.names.len() as u64 }
    }

    /// Whether two requests say the same, apart from their nodes.
    pub(super) fn says_what(&self, other: &WireContents) -> bool {
        (&self.version, &self.nonce, &self.names, &self.removed, &self.error)
            == (&other.version, &other.nonce, &other.names, &other.removed, &other.error)
    }

    /// Returns the names of a request, or of the resources of a push.
    pub(super) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// Returns the kind of a request that answers no push, as in the log. `before`: the names of
    /// the request before, of the type; `None` for the first one.
    pub(super) fn kind_of_names(&self, before: Option<&[Arc<str>]>) -> MessageKind {
        let Some(before) = before else { return MessageKind::Subscribe };
        if self.is_delta() {
            return kind_of_change(!self.names.is_empty(), !self.removed.is_empty());
        }
        let (was, is): (BTreeSet<_>, BTreeSet<_>) = (before.iter().collect(), self.names.iter().collect());
        kind_of_change(!is.is_subset(&was), !was.is_subset(&is))
    }

    /// Returns the message as a row of a kind to filter.
    pub(super) fn fact(&self, at: Time, node: Option<&Arc<str>>, kind: MessageKind) -> MessageFact {
        let dir = self.shape.dir();
        let names = self.names.iter().filter(|name| !name.is_empty()).cloned().collect();
        MessageFact {
            row: RowFact {
                n: None,
                at,
                stream: StreamId(0),
                node: node.cloned(),
                dir: Some(dir),
                type_url: self.type_url.clone(),
                kind,
                class: None,
                implied: false,
                other_reading: None,
                version: self.version.as_str().into(),
                nonce: self.nonce.as_str().into(),
                answers: None,
                latency: None,
                same: 0,
                count: self.count(),
                size: self.bytes.len() as u64,
                error: self.error.clone(),
                faults: None,
                keeps: None,
                partial: false,
                stated: None,
                note: None,
            },
            names,
            added: Vec::new(),
            changed: Vec::new(),
            removed: self.removed.clone(),
            details: MessageDetails::default(),
        }
    }

    /// Returns the bytes with another text in a field.
    pub(super) fn with(&self, field: DiscoveryField, text: &str) -> Bytes {
        let Some(number) = field.number(self.shape) else { return self.bytes.clone() };
        let mut found = false;
        let out = rebuild(
            &self.bytes,
            |old| {
                let is_field = old.number == number;
                found |= is_field;
                is_field.then(|| text.as_bytes().to_vec())
            },
            |_| None,
        );
        let mut out = out.unwrap_or_else(|| self.bytes.to_vec());
        if !found {
            put_len_field(&mut out, number, text.as_bytes());
        }
        out.into()
    }

    /// Returns a NACK of the response with this nonce: the request with other fields, without node.
    pub(super) fn into_nack(self, nonce: &str, text: &str) -> Bytes {
        // INVALID_ARGUMENT.
        let detail = ErrorDetail { code: 3, message: text.into(), details: Vec::new() };
        let keep = |field: DiscoveryField| match field {
            DiscoveryField::Version | DiscoveryField::TypeUrl => true,
            // A delta request states changes only.
            DiscoveryField::Names | DiscoveryField::Locators => !self.is_delta(),
            _ => false,
        };
        let mut out = Vec::new();
        for field in Fields::new(&self.bytes).map_while(Result::ok) {
            if DiscoveryField::of(self.shape, field.number).is_some_and(keep) {
                out.extend_from_slice(field.raw);
            }
        }
        let number = |field: DiscoveryField| field.number(self.shape).unwrap_or_default();
        put_len_field(&mut out, number(DiscoveryField::Nonce), nonce.as_bytes());
        put_len_field(&mut out, number(DiscoveryField::ErrorDetail), &detail.encode());
        out.into()
    }

    /// Returns the bytes that an action makes of the message; `None` if it changes nothing.
    pub(super) fn changed(&self, action: &Action, faults: &mut FaultSet, schema: &Schema) -> Option<Bytes> {
        match action {
            Action::Truncate => Some(self.bytes.slice(..self.bytes.len() / 2)),
            Action::Corrupt if self.bytes.is_empty() => None,
            Action::Corrupt => {
                let mut bytes = self.bytes.to_vec();
                let at = faults.random_index(bytes.len());
                bytes[at] ^= 0xff;
                Some(bytes.into())
            }
            Action::Rename { from, to } => self.renamed(from, to),
            Action::Remove(name) => Some(self.without(name, true)),
            Action::Omit(name) => Some(self.without(name, false)),
            Action::Repeat(name) => Some(self.with_repeated(name)),
            Action::Forget => Some(self.without_versions()),
            Action::Pad(size) => Some(self.padded(*size)),
            Action::Set { path, value } => self.with_value(path, value, schema),
            _ => None,
        }
    }

    /// Returns the message with each entry replaced. `None` as an entry: it is left out.
    fn with_entries(&self, entry: impl Fn(&str, &[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
        let (mut out, mut names) = (Vec::new(), self.names.iter());
        for field in Fields::new(&self.bytes).map_while(Result::ok) {
            if field.number != RESOURCES {
                out.extend_from_slice(field.raw);
                continue;
            }
            let name = names.next().map_or("", |name| name);
            if let Some(bytes) = entry(name, field.bytes()) {
                put_len_field(&mut out, RESOURCES, &bytes);
            }
        }
        out
    }

    /// Returns the push without a resource. `is_told`: a delta push says that it is removed.
    pub(super) fn without(&self, absent: &str, is_told: bool) -> Bytes {
        let mut out = self.with_entries(|name, entry| (name != absent).then(|| entry.to_vec()));
        if is_told && let Some(number) = DiscoveryField::Removed.number(self.shape) {
            put_len_field(&mut out, number, absent.as_bytes());
        }
        out.into()
    }

    /// Returns the push with a resource twice.
    fn with_repeated(&self, repeated: &str) -> Bytes {
        let (mut out, mut names) = (Vec::new(), self.names.iter());
        for field in Fields::new(&self.bytes).map_while(Result::ok) {
            out.extend_from_slice(field.raw);
            if field.number == RESOURCES && names.next().is_some_and(|name| **name == *repeated) {
                out.extend_from_slice(field.raw);
            }
        }
        out.into()
    }

    /// Returns the request without the versions of the resources that the client has.
    pub(super) fn without_versions(&self) -> Bytes {
        let states = [DiscoveryField::Version, DiscoveryField::InitialVersions];
        let numbers = states.map(|field| field.number(self.shape));
        let fields = Fields::new(&self.bytes).map_while(Result::ok);
        let kept = fields.filter(|field| !numbers.contains(&Some(field.number)));
        kept.flat_map(|field| field.raw.iter().copied()).collect()
    }

    /// Returns the delta request without the versions of resources that faults or persons have
    /// altered, and those that it stated among them; `None` if there are none.
    pub(super) fn without_claims<'a>(
        &self,
        altered_by: impl Fn(&str) -> Option<&'a Arc<str>>,
    ) -> Option<(Bytes, AlteredNames)> {
        let number = DiscoveryField::InitialVersions.number(self.shape)?;
        let (mut out, mut left_out) = (Vec::new(), AlteredNames::new());
        for field in Fields::new(&self.bytes).map_while(Result::ok) {
            let mut entry = Fields::new(field.bytes()).map_while(Result::ok);
            if field.number == number
                && let Some(name) = entry.find(|part| part.number == map_entry::KEY).map(|key| key.text())
                && let Some(by) = altered_by(&name)
            {
                left_out.insert(name.as_ref().into(), by.clone());
            } else {
                out.extend_from_slice(field.raw);
            }
        }
        (!left_out.is_empty()).then(|| (out.into(), left_out))
    }

    /// Returns the request with other names, and a delta request with other names to unsubscribe.
    pub(super) fn with_names(&self, names: &[Arc<str>], unsubscribed: &[Arc<str>]) -> Bytes {
        let lists = [(DiscoveryField::Names, names), (DiscoveryField::Unsubscribe, unsubscribed)];
        let lists = lists.map(|(field, list)| (field.number(self.shape), list));
        let fields = Fields::new(&self.bytes).map_while(Result::ok);
        let is_kept = |number: u32| lists.iter().all(|(of, _)| *of != Some(number));
        let kept = fields.filter(|field| is_kept(field.number));
        let mut out: Vec<u8> = kept.flat_map(|field| field.raw.iter().copied()).collect();
        for (number, list) in lists {
            let Some(number) = number else { continue };
            list.iter().for_each(|name| put_len_field(&mut out, number, name.as_bytes()));
        }
        out.into()
    }

    /// Returns the names that a delta request unsubscribes, or that a push removes.
    pub(super) fn removed(&self) -> &[Arc<str>] {
        &self.removed
    }

    /// Returns the delta push with more removed resources.
    pub(super) fn with_removed(&self, names: &BTreeSet<Arc<str>>) -> Option<Bytes> {
        let number = DiscoveryField::Removed.number(self.shape)?;
        let mut out = self.bytes.to_vec();
        names.iter().for_each(|name| put_len_field(&mut out, number, name.as_bytes()));
        Some(out.into())
    }

    /// Returns the names of all resources of a push, and of those that it removes.
    pub(super) fn all_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.names.iter().chain(&self.removed)
    }

    /// Returns the differences between this push and what is sent in its place.
    pub(super) fn alteration(&self, sent: &WireContents, by: &Arc<str>) -> Alteration {
        let (was, is) = (self.entries(), sent.entries());
        let names = was.symmetric_difference(&is).map(|(name, _)| name.clone()).collect();
        let known: BTreeSet<&Arc<str>> = self.all_names().collect();
        let foreign = sent.names.iter().filter(|name| !known.contains(name)).cloned().collect();
        let is_version = !self.is_delta() && sent.version != self.version;
        let version = is_version.then(|| self.version.clone());
        Alteration { by: by.clone(), names, foreign, version }
    }

    /// Returns the resources of a push with their bytes; `None` for those that it removes.
    fn entries(&self) -> BTreeSet<(Arc<str>, Option<Vec<u8>>)> {
        let fields = Fields::new(&self.bytes).map_while(Result::ok);
        let entries = fields.filter(|field| field.number == RESOURCES);
        let entries = entries.map(|field| Some(field.bytes().to_vec()));
        let sent = self.names.iter().cloned().zip(entries);
        sent.chain(self.removed.iter().map(|name| (name.clone(), None))).collect()
    }

    /// Returns the push with an unknown field, so that it has this size.
    fn padded(&self, size: u64) -> Bytes {
        let mut out = self.bytes.to_vec();
        let missing = (size as usize).saturating_sub(out.len());
        // A tag of two bytes and a length of up to four.
        put_len_field(&mut out, PADDING, &vec![0; missing.saturating_sub(3)]);
        out.into()
    }

    /// Returns the message with another name in place of a name.
    fn renamed(&self, from: &str, to: &str) -> Option<Bytes> {
        if from == "*" && self.names.is_empty() {
            let mut out = self.bytes.to_vec();
            put_len_field(&mut out, DiscoveryField::Names.number(self.shape)?, to.as_bytes());
            return Some(out.into());
        }
        let renamed = |field: &[u8]| (field == from.as_bytes()).then(|| to.as_bytes().to_vec());
        let out = match self.shape.dir() {
            Dir::Req => self.bytes.to_vec(),
            Dir::Resp => self.with_entries(|name, entry| {
                Some(if name == from {
                    self.entry(entry, &renamed_payload(renamed), Some(to))
                } else {
                    entry.to_vec()
                })
            }),
        };
        let lists = [DiscoveryField::Names, DiscoveryField::Unsubscribe, DiscoveryField::Removed];
        let numbers = lists.map(|field| field.number(self.shape));
        let renamed_in_list = |field: &WireField<'_>| {
            if numbers.contains(&Some(field.number)) { renamed(field.bytes()) } else { None }
        };
        let out = rebuild(&out, renamed_in_list, |_| None).unwrap_or(out);
        Some(out.into())
    }

    /// Returns the message with another value in a field of its resources.
    fn with_value(&self, path: &[String], value: &Value, schema: &Schema) -> Option<Bytes> {
        match (path, value) {
            ([field], value) if field == "nonce" || field == "version" => {
                let field = if field == "nonce" { DiscoveryField::Nonce } else { DiscoveryField::Version };
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                return Some(self.with(field, &text));
            }
            _ => {}
        }
        let changed = std::cell::Cell::new(false);
        let payload = |any: &[u8]| {
            let mut json = schema.any_to_json(any);
            let url = json.as_object_mut()?.shift_remove("@type")?;
            set(&mut json, path, value)?;
            let bytes = schema.encode(url.as_str()?, &json).ok()?;
            changed.set(true);
            Some(xdscope_wire::discovery::encode::encode_any(url.as_str()?, &bytes))
        };
        let out = self.with_entries(|_, entry| Some(self.entry(entry, &payload, None)));
        changed.get().then(|| out.into())
    }

    /// Returns an entry with another payload, and another name of its wrapper.
    fn entry(&self, entry: &[u8], payload: &dyn Fn(&[u8]) -> Option<Vec<u8>>, name: Option<&str>) -> Vec<u8> {
        if self.shape == MessageShape::SotwResponse && !is_wrapped(entry) {
            return payload(entry).unwrap_or_else(|| entry.to_vec());
        }
        let wrapper = |bytes: &[u8]| {
            rebuild(
                bytes,
                |field| match field.number {
                    resource::RESOURCE => payload(field.bytes()),
                    resource::NAME => name.map(|name| name.as_bytes().to_vec()),
                    _ => None,
                },
                |_| None,
            )
        };
        let out = if self.shape == MessageShape::SotwResponse {
            rebuild(
                entry,
                |field| if field.number == any::VALUE { wrapper(field.bytes()) } else { None },
                |_| None,
            )
        } else {
            wrapper(entry)
        };
        out.unwrap_or_else(|| entry.to_vec())
    }
}

/// Whether an `Any` holds a `Resource`, as SotW responses may.
fn is_wrapped(entry: &[u8]) -> bool {
    let url = Fields::new(entry).map_while(Result::ok).find(|field| field.number == any::TYPE_URL);
    url.is_some_and(|url| url.bytes().ends_with(b"envoy.service.discovery.v3.Resource"))
}

/// Returns a function that renames the resource in an `Any`.
fn renamed_payload(renamed: impl Fn(&[u8]) -> Option<Vec<u8>>) -> impl Fn(&[u8]) -> Option<Vec<u8>> {
    move |entry| {
        let url = Fields::new(entry).map_while(Result::ok).find(|field| field.number == any::TYPE_URL)?;
        let number = Kind::of_type_url(&url.text())?.0.name_field()?;
        let payload = |bytes: &[u8]| {
            rebuild(
                bytes,
                |field| if field.number == number { renamed(field.bytes()) } else { None },
                |_| None,
            )
        };
        rebuild(
            entry,
            |field| if field.number == any::VALUE { payload(field.bytes()) } else { None },
            |_| None,
        )
    }
}

/// Sets a value in JSON, with members that are missing. `None`: the path does not fit.
fn set(json: &mut Value, path: &[String], value: &Value) -> Option<()> {
    let (first, rest) = path.split_first()?;
    let next = match json {
        Value::Array(items) => items.get_mut(first.parse::<usize>().ok()?)?,
        Value::Object(members) => members.entry(first.clone()).or_insert(Value::Object(Default::default())),
        _ => return None,
    };
    if rest.is_empty() {
        *next = value.clone();
        return Some(());
    }
    set(next, rest, value)
}
