use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use xdscope_wire::content::{BlobId, Catalog, List, UsedContent};
use xdscope_wire::event::{DenseHash, Nonce, Sym, Time, VersionInfo};
use xdscope_wire::{ErrorDetail, Message};

use super::encode::Request;
use super::poll::Poll;
use super::{Lane, Ruling, ServerProfile, Trivial};
use xdscope_wire::xdstp::{Name, glob_matches, is_glob};

/// Longest delay of a NACK for a response that repeats a rejected one (docs/protocol.md#e-30).
const MAX_REPEATED_NACK_DELAY: Duration = Duration::from_secs(30);
const REFUSED_ONCE: Duration = Duration::from_millis(500);

/// The subscription to one type on its lane.
pub(super) struct Track {
    pub lane: Lane,
    /// Protocol variant of the server.
    pub profile: ServerProfile,
    /// Each response has all resources (SotW LDS and CDS, docs/protocol.md#e-44).
    full_state: bool,
    /// A wildcard was subscribed to directly (docs/protocol.md#e-38).
    pub wildcard: bool,
    /// A resource refers to all resources of the type, or to all with a prefix.
    pub referred_wildcard: bool,
    /// Single resources are requested on first use, as virtual hosts are (docs/protocol.md#f-33).
    pub on_demand: bool,
    /// Names that were subscribed to directly.
    pub asked: BTreeSet<Sym>,
    /// Names that resources refer to.
    pub referred: BTreeSet<Sym>,
    /// Alternatives of names whose source is unreachable (docs/protocol.md#k-29).
    pub stand_ins: BTreeSet<Sym>,
    /// The subscription as sent on this stream; `None` before the first request.
    sent: Option<Sent>,
    /// Newest accepted version, kept across streams (docs/protocol.md#e-02).
    version: VersionInfo,
    /// Newest answered nonce of this stream (docs/protocol.md#e-08).
    nonce: Nonce,
    /// Nonce of a response that was accepted before its content was stored.
    pub ahead: Option<Nonce>,
    /// Responses without a verdict, oldest first.
    pub pending: VecDeque<Pending>,
    /// Accepted resources, kept across streams (docs/protocol.md#f-15).
    held: HashMap<Sym, HeldResource, DenseHash>,
    /// Number of accepted responses.
    round: u32,
    /// A resource may have a TTL.
    timed: bool,
    /// Names that the server reported as not existing (docs/protocol.md#f-28).
    absent: HashSet<Sym, DenseHash>,
    /// A response was answered, on any stream.
    pub answered: bool,
    /// Resources of the response rejected last (docs/protocol.md#e-30).
    refused: Option<RefusedList>,
    /// State of the REST polls.
    pub poll: Poll,
    /// REST: the error of the newest response, repeated in all polls until the next response.
    error: Option<ErrorDetail>,
    /// REST: version and resources of the newest response.
    seen: Option<(VersionInfo, Arc<List>)>,
}

/// The resources of a rejected response.
struct RefusedList {
    list: Option<Arc<List>>,
    /// How often they were rejected in a row.
    times: u32,
}

#[derive(Default)]
struct Sent {
    wildcard: bool,
    names: BTreeSet<Sym>,
    /// A request of this stream had a name or `*`, so that an empty list is not a wildcard any more
    /// (docs/protocol.md#e-40).
    ever_named: bool,
}

struct HeldResource {
    version: Sym,
    /// Number of the last accepted response with this resource.
    round: u32,
    /// Boxed, because resources are many and few need these fields.
    rare: Option<Box<HeldExtras>>,
}

#[derive(Default)]
struct HeldExtras {
    /// Subscribed names that the resource satisfies besides its own: aliases
    /// (docs/protocol.md#f-30), globs (docs/protocol.md#k-18).
    answers: Vec<Sym>,
    /// End of the TTL (docs/protocol.md#g-02).
    until: Option<Time>,
}

impl HeldResource {
    fn answers(&self) -> &[Sym] {
        self.rare.as_ref().map_or(&[], |rare| &rare.answers)
    }

    fn until(&self) -> Option<Time> {
        self.rare.as_ref().and_then(|rare| rare.until)
    }
}

/// A response that waits for its verdict.
pub(super) struct Pending {
    pub message: Arc<Message>,
    pub version: VersionInfo,
    pub nonce: Nonce,
    pub ruling: Ruling,
    pub due: Time,
}

/// The changes of an accepted response.
#[derive(Default)]
pub(super) struct Changes {
    /// Resources, each with the blob of its content.
    pub accepted: Vec<(Sym, BlobId)>,
    pub gone: Vec<Sym>,
}

impl Track {
    /// Returns the names of the subscription as sent on this stream.
    pub(super) fn sent_names(&self) -> impl Iterator<Item = &Sym> {
        self.sent.iter().flat_map(|sent| &sent.names)
    }

    /// Returns the names that the server reported as not existing.
    pub(super) fn absent_names(&self) -> impl Iterator<Item = &Sym> {
        self.absent.iter()
    }

    /// Marks the names and versions of accepted resources, and the newest responses, as used: a
    /// response is not recognised if its contents were dropped before it is repeated.
    pub(super) fn mark_held(&self, used: &mut UsedContent) {
        let refused = self.refused.as_ref().and_then(|refused| refused.list.as_ref());
        for list in refused.into_iter().chain(self.seen.as_ref().map(|(_, list)| list)) {
            used.list(list);
        }
        self.held.iter().for_each(|(name, held)| {
            used.names([name, &held.version]);
            used.names(held.answers());
        });
    }

    pub(super) fn new(lane: Lane, profile: ServerProfile, full_state: bool) -> Track {
        Track {
            lane,
            profile,
            full_state,
            wildcard: false,
            referred_wildcard: false,
            on_demand: false,
            asked: BTreeSet::new(),
            referred: BTreeSet::new(),
            stand_ins: BTreeSet::new(),
            sent: None,
            version: VersionInfo::default(),
            nonce: Nonce::default(),
            ahead: None,
            pending: VecDeque::new(),
            held: HashMap::default(),
            round: 0,
            timed: false,
            absent: HashSet::default(),
            answered: false,
            refused: None,
            poll: Poll::Idle,
            error: None,
            seen: None,
        }
    }

    /// Returns the time of the next due action.
    pub(super) fn due(&self) -> Option<Time> {
        let verdict = self.pending.front().filter(|pending| !matches!(pending.ruling, Ruling::Hold));
        let ttl = if self.timed { self.held.values().filter_map(HeldResource::until).min() } else { None };
        verdict.map(|pending| pending.due).into_iter().chain(ttl).chain(self.poll.due()).min()
    }

    /// Whether the subscription is a wildcard.
    pub(super) fn is_wildcard(&self) -> bool {
        self.wildcard || self.referred_wildcard
    }

    /// Whether the next request may ask for the wildcard by an empty list.
    ///
    /// Envoy opens a subscription to virtual hosts in no other way.
    fn prefers_legacy_wildcard(&self) -> bool {
        self.profile.legacy_wildcard || (self.on_demand && !self.wildcard)
    }

    /// Whether the subscription has the name.
    pub(super) fn has_name(&self, name: Sym) -> bool {
        [&self.asked, &self.referred, &self.stand_ins].into_iter().any(|names| names.contains(&name))
    }

    /// Returns the resources that are no longer subscribed to.
    pub(super) fn unwanted(&self) -> Vec<Sym> {
        if self.is_wildcard() {
            return Vec::new();
        }
        let wanted = |name: Sym, held: &HeldResource| {
            self.has_name(name) || held.answers().iter().any(|name| self.has_name(*name))
        };
        self.held.iter().filter(|(name, held)| !wanted(**name, held)).map(|(name, _)| *name).collect()
    }

    fn wanted(&self) -> BTreeSet<Sym> {
        self.asked.iter().chain(&self.referred).chain(&self.stand_ins).copied().collect()
    }

    /// Returns the subscribed names that neither arrived nor were reported as not existing.
    pub(super) fn missing(&self) -> Vec<Sym> {
        let known = |name: &Sym| self.held.contains_key(name) || self.absent.contains(name);
        let names = self.asked.union(&self.referred).copied();
        let mut missing: Vec<Sym> = names.filter(|name| !known(name)).collect();
        if !missing.is_empty() {
            let answered: HashSet<Sym> =
                self.held.values().flat_map(|held| held.answers().iter().copied()).collect();
            missing.retain(|name| !answered.contains(name));
        }
        missing
    }

    /// Returns the subscribed names that a resource satisfies besides its own.
    fn answers(&self, name: Sym, aliases: &[Sym], globs: &[Sym], catalog: &Catalog) -> Vec<Sym> {
        let mut found: Vec<Sym> = aliases.iter().copied().filter(|alias| self.has_name(*alias)).collect();
        found.extend(globs.iter().filter(|glob| glob_matches(catalog.text(**glob), catalog.text(name))));
        found
    }

    /// Returns the subscribed globs.
    fn globs(&self, catalog: &Catalog) -> Vec<Sym> {
        let names = self.asked.iter().chain(&self.referred).chain(&self.stand_ins).copied();
        names.filter(|name| is_glob(catalog.text(*name))).collect()
    }

    /// Returns the subscribed spelling of a name: structured names have sorted parameters
    /// (docs/protocol.md#k-08).
    fn spelled(&self, name: Sym, catalog: &mut Catalog) -> Sym {
        let own = Name::parse(catalog.text(name)).map(|name| xdscope_wire::xdstp::wire_name(&name));
        own.map_or(name, |own| catalog.intern(&own))
    }

    /// Marks a name as not existing, and returns the resources that this removes.
    fn remove(&mut self, name: Sym, catalog: &mut Catalog) -> Vec<Sym> {
        let name = self.spelled(name, catalog);
        let mut gone: Vec<Sym> = self.held.remove(&name).map(|_| name).into_iter().collect();
        if is_glob(catalog.text(name)) {
            // Remove all members of the glob (docs/protocol.md#k-20), except those subscribed to
            // directly.
            let member = |held: &HeldResource| held.answers().contains(&name);
            let members = self.held.iter().filter(|(own, held)| member(held) && !self.has_name(**own));
            gone.extend(members.map(|(own, _)| *own).collect::<Vec<_>>());
            for name in &gone {
                self.held.remove(name);
            }
        }
        if self.has_name(name) {
            self.absent.insert(name);
        }
        gone
    }

    /// Drops the state that ends with a stream: nonces, sent names, responses without a verdict
    /// (docs/protocol.md#e-11, docs/protocol.md#f-18).
    pub(super) fn stream_ended(&mut self) {
        self.sent = None;
        self.nonce = Nonce::default();
        self.ahead = None;
        self.pending.clear();
    }

    /// Drops resources whose TTL has expired.
    pub(super) fn expire(&mut self, now: Time) {
        if !self.timed {
            return;
        }
        self.held.retain(|_, held| held.until().is_none_or(|until| until > now));
        self.timed = self.held.values().any(|held| held.until().is_some());
    }

    /// Returns the delay of a verdict, besides the configured one.
    pub(super) fn extra_delay(&self, message: &Message, ruling: &Ruling) -> Duration {
        match (ruling, &self.refused) {
            (Ruling::Refuse(_), Some(refused)) if message.resources() == refused.list.as_ref() => {
                REFUSED_ONCE.saturating_mul(1 << refused.times.min(10)).min(MAX_REPEATED_NACK_DELAY)
            }
            _ => Duration::ZERO,
        }
    }

    /// Removes and returns the oldest response without a verdict if it is due.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Pending> {
        let due = |pending: &Pending| pending.due <= now && !matches!(pending.ruling, Ruling::Hold);
        if self.pending.front().is_some_and(due) { self.pending.pop_front() } else { None }
    }

    /// Applies an accepted response, all of it or nothing (docs/protocol.md#f-34).
    pub(super) fn settle_response(&mut self, now: Time, pending: &Pending, catalog: &mut Catalog) -> Changes {
        self.answered = true;
        if matches!(pending.ruling, Ruling::Refuse(_)) {
            let list = pending.message.resources().cloned();
            let times = match &self.refused {
                Some(refused) if refused.list == list => refused.times.saturating_add(1),
                _ => 1,
            };
            self.refused = Some(RefusedList { list, times });
            return Changes::default();
        }
        self.refused = None;
        self.version = pending.version.clone();
        let mut changes = Changes::default();
        let globs = self.globs(catalog);
        self.round = self.round.wrapping_add(1);
        let round = self.round;
        let blobs = pending.message.resources().map(|list| list.blobs()).unwrap_or_default();
        if self.held.is_empty() {
            self.held.reserve(blobs.len());
        }
        for id in blobs {
            let entry = catalog.entry(*id);
            let (name, version, payload, ttl) = (entry.name, entry.version, entry.payload, entry.ttl);
            let aliases: Vec<Sym> = entry.aliases.to_vec();
            let name = self.spelled(name, catalog);
            let answers = self.answers(name, &aliases, &globs, catalog);
            if name == Sym::EMPTY || !(self.is_wildcard() || self.has_name(name) || !answers.is_empty()) {
                continue;
            }
            let until = ttl.and_then(|ttl| u64::try_from(ttl).ok());
            let until = until.map(|ttl| now.after(Duration::from_nanos(ttl)));
            self.timed |= until.is_some();
            let Some(content) = payload else {
                self.without_content(name, version, until);
                continue;
            };
            for name in answers.iter().chain([&name]) {
                self.absent.remove(name);
            }
            let is_rare = !answers.is_empty() || until.is_some();
            let rare = is_rare.then(|| Box::new(HeldExtras { answers, until }));
            self.held.insert(name, HeldResource { version, round, rare });
            changes.accepted.push((name, content));
        }
        let response = pending.message.response();
        if let Some(response) = response.filter(|response| response.is_delta) {
            for name in response.removed {
                changes.gone.extend(self.remove(*name, catalog));
            }
        } else if self.full_state {
            self.held.retain(|name, held| {
                let named = held.round == round;
                changes.gone.extend((!named).then_some(*name));
                named
            });
        }
        changes
    }

    /// Applies an entry without content: a heartbeat renews the TTL, anything else removes the
    /// resource (docs/protocol.md#g-11).
    fn without_content(&mut self, name: Sym, version: Sym, until: Option<Time>) {
        let round = self.round;
        let mut held = self.held.get_mut(&name);
        if let Some(held) = &mut held {
            held.round = round;
        }
        match held {
            Some(held) if held.version == version || held.version == Sym::EMPTY => {
                held.rare.get_or_insert_default().until = until;
            }
            Some(_) if until.is_some() => {}
            _ => {
                self.held.remove(&name);
                self.absent.insert(name);
            }
        }
    }

    /// Returns the ACK of a response whose content is stored later.
    pub(super) fn accept(&mut self, plain: &Trivial) -> Request {
        self.version = plain.version.clone();
        self.ahead = Some(plain.nonce.clone());
        self.verdict(plain.nonce.clone(), None)
    }

    /// Returns the ACK or NACK of a response, with the subscription changes since the last request.
    pub(super) fn verdict(&mut self, nonce: Nonce, error: Option<ErrorDetail>) -> Request {
        self.nonce = nonce;
        let request = self.request();
        Request { nonce: self.nonce.clone(), error, ..request }
    }

    /// REST: notes the verdict for the next poll.
    pub(super) fn note_verdict(&mut self, nonce: Nonce, error: Option<ErrorDetail>) {
        (self.nonce, self.error) = (nonce, error);
    }

    /// REST: whether a response differs from the previous one.
    pub(super) fn is_news(&mut self, message: &Message) -> bool {
        let Some(response) = message.response().filter(|response| !response.is_delta) else { return false };
        let seen = Some((response.version.clone(), response.resources.clone()));
        std::mem::replace(&mut self.seen, seen.clone()) != seen
    }

    /// Whether there is a subscription and no response waits for its verdict.
    pub(super) fn may_poll(&self) -> bool {
        self.pending.is_empty() && (self.is_wildcard() || !self.wanted().is_empty())
    }

    /// Whether the newest request has the current subscription.
    pub(super) fn is_subscription_sent(&self) -> bool {
        let sent = self.sent.as_ref();
        sent.is_some_and(|sent| sent.wildcard == self.is_wildcard() && sent.names == self.wanted())
    }

    /// Returns the next poll: the whole subscription and the verdict (docs/protocol.md#d-02).
    pub(super) fn next_poll(&mut self) -> Request {
        self.poll = Poll::Asked;
        Request { nonce: self.nonce.clone(), error: self.error.clone(), ..self.request() }
    }

    /// Returns requests for the subscription changes; none if a verdict will carry them.
    pub(super) fn changes(&mut self) -> Vec<Request> {
        let first = self.sent.is_none();
        let nothing = !self.is_wildcard() && self.wanted().is_empty();
        if first && nothing {
            return Vec::new();
        }
        if self.profile.variant.is_delta() {
            let request = self.request();
            let tells = first || !request.is_empty();
            return if tells { vec![request] } else { Vec::new() };
        }
        if self.is_subscription_sent() || !self.pending.is_empty() {
            return Vec::new();
        }
        let mut requests = Vec::new();
        // No name was ever sent, so an empty list would still be a wildcard
        // (docs/protocol.md#e-40).
        if self.sent.as_ref().is_some_and(|sent| !sent.ever_named) && nothing {
            let wildcard = Request { wildcard: true, nonce: self.nonce.clone(), ..Request::default() };
            requests.push(Request { version: self.version.clone(), ..wildcard });
        }
        let request = self.request();
        requests.push(Request { nonce: self.nonce.clone(), ..request });
        requests
    }

    /// Drops resources that are no longer subscribed to. Members of the wildcard stay until the
    /// server removes them (docs/protocol.md#f-26).
    fn forget(&mut self) {
        for name in self.unwanted() {
            self.held.remove(&name);
        }
    }

    /// Returns the next request without its nonce: SotW has the whole subscription, delta the
    /// changes.
    fn request(&mut self) -> Request {
        let names = self.wanted();
        let first = self.sent.is_none();
        let before = self.sent.take().unwrap_or_default();
        let legacy =
            self.prefers_legacy_wildcard() && self.is_wildcard() && names.is_empty() && !before.ever_named;
        let mut request = Request::default();
        if self.profile.variant.is_delta() {
            request.names = names.difference(&before.names).copied().collect();
            request.unsubscribe = before.names.difference(&names).copied().collect();
            request.wildcard = self.is_wildcard() && !before.wildcard && !legacy;
            request.unsubscribe_wildcard = before.wildcard && !self.is_wildcard();
            for name in &request.unsubscribe {
                self.absent.remove(name);
            }
            self.forget();
            if first {
                let held = self.held.iter().map(|(name, held)| (*name, held.version));
                request.initial = held.collect::<BTreeMap<_, _>>();
            }
        } else {
            self.forget();
            request.version = self.version.clone();
            request.names = names.iter().copied().collect();
            request.wildcard = self.is_wildcard() && !legacy;
        }
        let named = !request.names.is_empty() || request.wildcard;
        self.sent =
            Some(Sent { wildcard: self.is_wildcard(), names, ever_named: before.ever_named || named });
        request
    }
}
