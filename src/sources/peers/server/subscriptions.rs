//! One stream of a client that is served from a snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use xdscope_wire::NodeInfo;
use xdscope_wire::discovery::encode::ResponseFields;
use xdscope_wire::event::{Kind, Time, TypeUrl};
use xdscope_wire::xdstp::is_glob;

use super::faults::Faults;
use super::heartbeats::Heartbeats;
use super::order::PushedContent;
use super::request::Request;
use super::snapshot::{EntryForm, Snapshot, Type};
use super::{Next, UNAVAILABLE};

/// The `control_plane.identifier` of responses.
pub(super) const IDENTIFIER: &str = "xdscope";

/// The name of the wildcard (docs/protocol.md#e-38).
const STAR: &str = "*";

/// The subscriptions of a client on one stream.
#[derive(Debug)]
pub(super) struct Subscriptions {
    /// The form of the entries in responses to this client.
    form: EntryForm,
    snapshot: Arc<Snapshot>,
    types: BTreeMap<TypeUrl, TypeSubscription>,
    nonces: u64,
    opened: Time,
    /// When to send a rejected response again ([`Faults::resend_refused`]).
    resends: BTreeMap<TypeUrl, Time>,
}

/// The subscription to one type.
#[derive(Debug, Default)]
struct TypeSubscription {
    all: bool,
    names: BTreeSet<String>,
    /// A name was sent once, so that an empty list is not a wildcard any more
    /// (docs/protocol.md#e-40).
    named: bool,
    /// Nonce of the newest response.
    nonce: Option<String>,
    /// Heartbeats of the resources with a TTL that the client has received.
    heartbeats: Heartbeats,
    /// The resources with a TTL in the newest response.
    newest_timed: Vec<Arc<str>>,
}

impl TypeSubscription {
    /// Returns the names of existing resources that the subscription covers.
    fn covered_names(&self, known: &Type) -> BTreeSet<Arc<str>> {
        if self.all {
            return known.names().cloned().collect();
        }
        self.names.iter().flat_map(|name| known.covered_names(name)).cloned().collect()
    }

    /// Whether the client has subscribed to a name directly, by a glob or by the wildcard.
    fn covers(&self, name: &str) -> bool {
        let is_member = |glob: &String| is_glob(glob) && xdscope_wire::xdstp::glob_matches(glob, name);
        self.all || self.names.contains(name) || self.names.iter().any(is_member)
    }

    /// Returns the covered names that are new or changed, and the covered names that were removed.
    fn changes(&self, known: &Type, was: &Type, has_ttls: bool) -> (BTreeSet<Arc<str>>, BTreeSet<Arc<str>>) {
        if self.all {
            return known.changes(was, has_ttls);
        }
        let (now, before) = (self.covered_names(known), self.covered_names(was));
        let gone = before.difference(&now).cloned().collect();
        (now.into_iter().filter(|name| known.is_new(name, was, has_ttls)).collect(), gone)
    }
}

/// The content of a response.
#[derive(Default)]
struct ResponseContent {
    resources: BTreeSet<Arc<str>>,
    /// Resources that the client has, and whose TTL is refreshed.
    heartbeats: BTreeSet<Arc<str>>,
    removed: BTreeSet<String>,
}

impl From<BTreeSet<Arc<str>>> for ResponseContent {
    fn from(resources: BTreeSet<Arc<str>>) -> ResponseContent {
        ResponseContent { resources, ..ResponseContent::default() }
    }
}

impl Subscriptions {
    /// `opened`: when the stream was opened.
    pub(super) fn new(delta: bool, snapshot: Arc<Snapshot>, opened: Time) -> Subscriptions {
        let (types, resends) = (BTreeMap::new(), BTreeMap::new());
        let form = EntryForm { delta, has_ttls: false };
        Subscriptions { form, snapshot, types, nonces: 0, opened, resends }
    }

    /// Handles a request. Returns the response, in pieces, if the request needs one.
    pub(super) fn request(&mut self, now: Time, url: &TypeUrl, request: &Request<'_>) -> Option<Vec<Bytes>> {
        if request.node.is_some() {
            let has = |feature: &str| request.features.iter().any(|has| has == feature);
            let unwraps = self.form.delta || has(NodeInfo::WRAPPER_FEATURE);
            self.form.has_ttls = has(NodeInfo::TTL_FEATURE) && unwraps;
        }
        let faults = self.snapshot.faults();
        match faults.resend_refused {
            Some(delay) if request.error.is_some() => {
                self.resends.insert(url.clone(), now.after(delay));
            }
            _ => drop(self.resends.remove(url)),
        }
        let first = !self.types.contains_key(url);
        let none = Arc::default();
        let known = self.snapshot.of_type(url.as_str()).unwrap_or(&none).clone();
        let want = self.types.entry(url.clone()).or_default();
        if request.error.is_some() && want.nonce.as_deref() == Some(&*request.nonce) {
            // A client without the version has no timer to refresh.
            for name in want.newest_timed.drain(..) {
                want.heartbeats.cancel(&name);
            }
        }
        let answer = match self.form.delta {
            true => delta(want, first, request, &known, faults, self.form.has_ttls)?,
            false => sotw(want, first, request, &known, full_state(url), faults)?,
        };
        Some(self.response(now, url, &known, answer))
    }

    /// Returns the action that is due at `now`: a heartbeat, or what the faults of the snapshot
    /// require.
    pub(super) fn next(&mut self, now: Time) -> Next {
        let end = self.snapshot.faults().stream_lifetime.map(|lifetime| self.opened.after(lifetime));
        if end.is_some_and(|end| end <= now) {
            return Next::End(UNAVAILABLE, "keepalive timeout".to_owned());
        }
        let due = self.resends.iter().min_by_key(|(_, due)| **due);
        if let Some((url, _)) = due.filter(|(_, due)| **due <= now) {
            let url = url.clone();
            self.resends.remove(&url);
            return self.resend(now, &url).map_or(Next::Idle, Next::Send);
        }
        let due = due.map(|(_, due)| *due);
        while let Some((url, _)) = self.next_heartbeat().filter(|(_, due)| *due <= now) {
            let url = url.clone();
            if let Some(heartbeat) = self.heartbeat(now, &url) {
                return Next::Send(heartbeat);
            }
        }
        let heartbeat = self.next_heartbeat().map(|(_, due)| due);
        due.into_iter().chain(end).chain(heartbeat).min().map_or(Next::Idle, Next::At)
    }

    /// Whether the client has sent a request of a type.
    pub(super) fn has_type(&self, url: &TypeUrl) -> bool {
        self.types.contains_key(url)
    }

    /// Encodes a response that the snapshot does not have; `None` for a type without a request.
    pub(super) fn push(&mut self, url: &TypeUrl, content: &PushedContent) -> Option<Bytes> {
        let want = self.types.get_mut(url)?;
        self.nonces += 1;
        let nonce = format!("{:x}", self.nonces);
        let bytes = content.encode(url, self.form.delta, &nonce, IDENTIFIER);
        want.nonce = Some(nonce);
        Some(bytes)
    }

    /// Returns the type with the next heartbeat, and its time.
    fn next_heartbeat(&self) -> Option<(&TypeUrl, Time)> {
        let next = self.types.iter().filter_map(|(url, want)| Some((url, want.heartbeats.next()?)));
        next.min_by_key(|(_, due)| *due)
    }

    /// Makes the response that refreshes the TTLs that are due; `None` if no such resource is left.
    ///
    /// In SotW the response has the content: Envoy does not restart the TTL of a heartbeat, and
    /// takes the heartbeat of a cluster for its removal (docs/protocol.md#g-04,
    /// docs/protocol.md#g-10).
    fn heartbeat(&mut self, now: Time, url: &TypeUrl) -> Option<Vec<Bytes>> {
        let known = self.snapshot.of_type(url.as_str()).cloned().unwrap_or_default();
        let want = self.types.get_mut(url)?;
        let due = want.heartbeats.take(now);
        let wanted = want.covered_names(&known);
        let is_left = |name: &Arc<str>| wanted.contains(name) && known.ttl(name).is_some();
        let heartbeats: BTreeSet<Arc<str>> = due.into_iter().filter(is_left).collect();
        if heartbeats.is_empty() || !self.form.has_ttls {
            return None;
        }
        let answer = match (self.form.delta, full_state(url)) {
            (true, _) => ResponseContent { heartbeats, ..ResponseContent::default() },
            (false, true) => wanted.into(),
            (false, false) => heartbeats.into(),
        };
        Some(self.response(now, url, &known, answer))
    }

    /// Makes a response with all resources that the client wants of a type.
    fn resend(&mut self, now: Time, url: &TypeUrl) -> Option<Vec<Bytes>> {
        let known = self.snapshot.of_type(url.as_str())?.clone();
        let resources = self.types.get(url)?.covered_names(&known);
        Some(self.response(now, url, &known, resources.into()))
    }

    /// Replaces the snapshot. Returns the responses that announce the changes.
    ///
    /// Their order ensures that a resource arrives before the resources that refer to it
    /// (docs/protocol.md#h-08).
    pub(super) fn serve(&mut self, now: Time, snapshot: Arc<Snapshot>) -> Vec<Vec<Bytes>> {
        if Arc::ptr_eq(&self.snapshot, &snapshot) {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.snapshot, snapshot);
        let mut urls: Vec<TypeUrl> = self.types.keys().cloned().collect();
        urls.sort_by_key(order);
        let mut out = Vec::new();
        let none = Arc::default();
        let mut moved: BTreeSet<Arc<str>> = BTreeSet::new();
        for url in urls {
            let was = before.of_type(url.as_str()).unwrap_or(&none);
            let known = self.snapshot.of_type(url.as_str()).unwrap_or(&none).clone();
            let Some(want) = self.types.get(&url).filter(|want| want.nonce.is_some() || !known.is_empty())
            else {
                continue;
            };
            let EntryForm { delta, has_ttls } = self.form;
            let (mut changed, gone) = want.changes(&known, was, has_ttls);
            if self.snapshot.faults().push_unchanged && !delta && known.version != was.version {
                changed = want.covered_names(&known);
            }
            match kind(&url) {
                Some(Kind::Cds) => moved.clone_from(&changed),
                // An Envoy that warms a changed cluster waits for its endpoints, changed or not
                // (docs/protocol.md#h-05).
                Some(Kind::Eds) => {
                    let wanted = want.covered_names(&known);
                    changed.extend(moved.iter().filter(|name| wanted.contains(*name)).cloned());
                }
                _ => {}
            }
            if changed.is_empty() && (gone.is_empty() || !(delta || full_state(&url))) {
                continue;
            }
            let answer = match delta {
                true => ResponseContent {
                    removed: gone.iter().map(ToString::to_string).collect(),
                    ..changed.into()
                },
                false if full_state(&url) => want.covered_names(&known).into(),
                false => changed.into(),
            };
            out.push(self.response(now, &url, &known, answer));
        }
        out
    }

    /// Encodes a response: the fields before its resources, the resources, the fields after them.
    fn response(&mut self, now: Time, url: &TypeUrl, known: &Type, answer: ResponseContent) -> Vec<Bytes> {
        let EntryForm { delta, has_ttls } = self.form;
        self.nonces += 1;
        let nonce = format!("{:x}", self.nonces);
        let fields = ResponseFields {
            version: known.stated_version(delta),
            type_url: url.as_str(),
            nonce: &nonce,
            removed: answer.removed.iter().map(String::as_str).collect(),
            control_plane: Some(IDENTIFIER),
            ..ResponseFields::default()
        };
        let (head, tail) = (fields.head(delta), fields.tail(delta));
        if let Some(want) = self.types.get_mut(url) {
            want.nonce = Some(nonce);
            let timed = known.with_ttl(&answer.resources).chain(known.with_ttl(&answer.heartbeats));
            want.newest_timed.clear();
            if has_ttls {
                for (name, ttl) in timed {
                    want.heartbeats.plan(now, name, ttl);
                    want.newest_timed.push(name.clone());
                }
            }
        }
        let mut out = vec![head.into(), known.encoded_some(&answer.resources, self.form)];
        if has_ttls && !answer.heartbeats.is_empty() {
            out.push(known.encoded_heartbeats(&answer.heartbeats));
        }
        out.push(tail.into());
        out
    }
}

/// Handles a SotW request, which has the whole subscription (docs/protocol.md#e-31).
fn sotw(
    want: &mut TypeSubscription,
    first: bool,
    request: &Request<'_>,
    known: &Type,
    full: bool,
    faults: Faults,
) -> Option<ResponseContent> {
    // A request older than the newest response is not answered: the next one repeats its
    // subscription (docs/protocol.md#e-12).
    let stale =
        want.nonce.as_deref().is_some_and(|nonce| !request.nonce.is_empty() && request.nonce != nonce);
    if stale {
        return None;
    }
    let names: BTreeSet<String> = request.names.iter().map(|name| name.to_string()).collect();
    let star = names.contains(STAR);
    want.named |= !names.is_empty();
    let all = star || !want.named;
    let mut new: BTreeSet<String> = names.difference(&want.names).cloned().collect();
    new.remove(STAR);
    let grows = (all && !want.all) || (!all && !new.is_empty());
    let narrows = want.all && !all;
    (want.all, want.names) = (all, names);
    want.names.remove(STAR);
    if !(first || grows || narrows) || (!all && want.names.is_empty()) {
        return None;
    }
    // New names are sent regardless of earlier responses (docs/protocol.md#e-36). Types where
    // absence means deletion are sent completely.
    let resources = if first || full || all || narrows {
        want.covered_names(known)
    } else {
        new.iter().flat_map(|name| known.covered_names(name)).cloned().collect()
    };
    if resources.is_empty() && (!full || faults.ignore_unknown_names) {
        return None;
    }
    Some(resources.into())
}

/// Handles a delta request, which has the subscription changes (docs/protocol.md#f-10).
fn delta(
    want: &mut TypeSubscription,
    first: bool,
    request: &Request<'_>,
    known: &Type,
    faults: Faults,
    has_ttls: bool,
) -> Option<ResponseContent> {
    let mut answer = ResponseContent::default();
    let mut send: BTreeSet<Arc<str>> = BTreeSet::new();
    for name in &request.unsubscribe {
        if name == STAR {
            want.all = false;
            continue;
        }
        let was_named = want.names.remove(&**name);
        // The client cannot know whether the wildcard still covers the name
        // (docs/protocol.md#f-26).
        if was_named && want.all {
            let found = known.covered_names(name);
            if found.is_empty() {
                answer.removed.insert(name.to_string());
            }
            send.extend(found.into_iter().cloned());
        }
    }
    want.named |= !request.names.is_empty();
    // docs/protocol.md#f-21
    let legacy = first && !want.named;
    let star = legacy || request.names.iter().any(|name| name == STAR);
    if star && !want.all {
        want.all = true;
        send.extend(known.names().cloned());
    }
    for name in request.names.iter().filter(|name| *name != STAR) {
        want.names.insert(name.to_string());
        let found = known.covered_names(name);
        // The resource does not exist, or the glob has no members (docs/protocol.md#f-28,
        // docs/protocol.md#k-20).
        if found.is_empty() && !faults.ignore_unknown_names {
            answer.removed.insert(name.to_string());
        }
        send.extend(found.into_iter().cloned());
    }
    if first {
        // Skip resources that the client has already, and report those that were removed
        // (docs/protocol.md#f-17).
        for (name, version) in &request.held {
            match known.find(name) {
                Some((own, resource)) => {
                    let is_held = resource.version == **version && send.remove(own);
                    if is_held && has_ttls && resource.ttl.is_some() {
                        // The timer of the client continues (docs/protocol.md#g-02).
                        answer.heartbeats.insert(own.clone());
                    }
                }
                None if want.covers(name) => {
                    answer.removed.insert(name.to_string());
                }
                None => {}
            }
        }
    }
    // A wildcard gets a response even without resources, because the client waits for one.
    let nothing = send.is_empty() && answer.removed.is_empty() && answer.heartbeats.is_empty();
    if nothing && !(star && request.held.is_empty()) {
        return None;
    }
    answer.resources = send;
    Some(answer)
}

fn kind(url: &TypeUrl) -> Option<Kind> {
    Kind::of_type_url(url.as_str()).map(|(kind, _)| kind)
}

fn full_state(url: &TypeUrl) -> bool {
    kind(url).is_some_and(Kind::full_state)
}

/// Returns the position of a type in an update: clusters, endpoints, listeners, routes, others.
fn order(url: &TypeUrl) -> usize {
    let order = [Kind::Sds, Kind::Cds, Kind::Eds, Kind::Ecds, Kind::Lds, Kind::Srds, Kind::Rds];
    order.iter().position(|placed| kind(url) == Some(*placed)).unwrap_or(order.len())
}
