//! Rules over what was seen: which of the protocol's were broken, by whom, and where.
//!
//! A rule is one file in `rules`, with its manual in its own comment. Rules listen to what the engine makes of
//! each frame; what they must remember beyond that is in a bounded memo per stream and type. Pure like the rest
//! of the core: time is an argument, the same frames give the same findings. A rule answers "fine", "a finding"
//! or "can't know yet" (the capture began mid-stream, messages were lost, a message can't be read): the last one
//! is silence.

mod bootstrap;
mod clock;
mod context;
mod finding;
mod graph;
mod memo;
mod node;
mod relay;
mod rule;
mod rules;
mod scan;
mod structured;
#[cfg(test)]
mod tests;
mod warming;

pub use bootstrap::Bootstrap;
pub use finding::{Blame, Finding, Severity};
pub use rule::{Rule, rule, rules};

use std::sync::Arc;
use std::time::Duration;

use crate::engine::session::{Outcome, SessionEvent, Stream};
use crate::engine::store::Store;
use crate::schema::links::SourceKind;
use crate::wire::content::{BlobId, Catalog};
use crate::wire::event::{Kind, Seq, Time};
use crate::wire::{Body, Frame, Message, Profile};
use clock::{Alarm, Alarms};
use context::{RequestContext, ResponseContext, RuleContext};
use finding::Findings;
use graph::Ref;
use memo::{SourceState, StreamMemo};
use rule::Listeners;
use scan::Scan;

/// Timers of rules (section 0.2). None runs over a source without timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// `T_ack`: a response without a verdict.
    pub ack: Duration,
    /// `T_answer`: a request that must be answered.
    pub answer: Duration,
    /// `T_exist`: a name that may not exist (row E-46).
    pub exist: Duration,
    /// `T_warm`: a resource that waits for another (row H-04).
    pub warm: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        let fifteen = Duration::from_secs(15);
        Timers { ack: Duration::from_secs(5), answer: fifteen, exist: fifteen, warm: fifteen }
    }
}

/// A reference of a resource to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub kind: Kind,
    pub name: String,
    /// Where the resource says that the other one comes from (row I-06).
    pub source: Option<SourceKind>,
}

/// Tells what a resource refers to, by its `Any`. The descriptors know.
pub type Links = Arc<dyn Fn(&[u8]) -> Vec<Reference> + Send + Sync>;

/// Tells which constraints of the API a resource breaks, a sentence each, by its `Any` (row J-01); `None` where its
/// type is not known or it can't be read.
pub type Constraints = Arc<dyn Fn(&[u8]) -> Option<Vec<String>> + Send + Sync>;

/// Tells whether a message name is among the descriptors.
pub type KnownTypes = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// How a source is judged.
#[derive(Clone, Default)]
pub struct Options {
    pub timers: Timers,
    /// For streams that have none of their own (group L).
    pub profile: Option<Profile>,
    /// Without it only the types with a short word are known.
    pub types: Option<KnownTypes>,
    /// Without it rules about references are silent.
    pub links: Option<Links>,
    /// Without it rules about constraints are silent.
    pub constraints: Option<Constraints>,
    /// Contents whose references are looked up, at most; from then on rules about references are silent.
    pub contents: Option<usize>,
    /// The same for contents that are held against constraints: with more, rules about them are silent.
    pub constrained: Option<usize>,
}

/// All rules over one source. Drives the store, so that timers fire before the frame that comes after them.
#[derive(Clone)]
pub struct Lint {
    options: Options,
    listeners: Listeners,
    /// By the index of the stream.
    streams: Vec<StreamMemo>,
    world: SourceState,
    alarms: Alarms,
    findings: Findings,
}

impl Lint {
    pub fn new(options: Options) -> Lint {
        Lint {
            options,
            listeners: Listeners::all(),
            streams: Vec::new(),
            world: SourceState::default(),
            alarms: Alarms::default(),
            findings: Findings::default(),
        }
    }

    /// Hands the next frame to the store and looks at what it did.
    pub fn handle(&mut self, store: &mut Store, frame: Frame) {
        let at = frame.at;
        self.fire(store, |due| due < at);
        store.handle(frame);
        self.learn(store);
        self.look(store);
    }

    /// Moves the clock on, so that timers fire.
    pub fn advance(&mut self, store: &mut Store, now: Time) {
        store.advance(now);
        let now = store.now();
        self.fire(store, |due| due <= now);
    }

    /// All findings so far, in the order in which they were first made.
    pub fn findings(&self) -> &[Finding] {
        self.findings.all()
    }

    /// Finds out what the resources of the newest response refer to and which constraints they break; each content is
    /// looked at once.
    fn learn(&mut self, store: &mut Store) {
        if self.options.contents.is_some_and(|most| self.world.graphs.learned() >= most) {
            self.options.links = None;
            self.world.graphs.give_up();
        }
        if self.options.links.is_none() && self.options.constraints.is_none() {
            return;
        }
        let Some(outcome) = store.latest() else { return };
        let stream = store.engine().stream(outcome.stream);
        let track = stream.zip(outcome.track).and_then(|(stream, track)| stream.tracks.get(track));
        let links = self.options.links.clone();
        let kind = track.and_then(|track| track.kind);
        let links = links.filter(|_| graph::refers(kind));
        let message = outcome.seq.and_then(|seq| store.message(seq));
        let Some(list) = message.and_then(|message| message.resources().cloned()) else { return };
        if self.options.constrained.is_some_and(|most| self.world.broken.len().max(list.len()) > most) {
            self.options.constraints = None;
            self.world.broken.clear();
        }
        let constraints = self.options.constraints.clone();
        // A push mostly repeats the one before: what stands where it stood has been looked at.
        let before = self.world.looked_at.insert(kind, list.clone());
        let before = before.as_ref().map_or(&[][..], |list| list.blobs());
        for (i, id) in list.blobs().iter().enumerate() {
            if before.get(i) == Some(id) {
                continue;
            }
            let catalog = store.catalog();
            let Some(payload) = catalog.entry(*id).payload else { continue };
            let links = links.as_ref().filter(|_| !self.world.graphs.knows(payload));
            let constraints = constraints.as_ref().filter(|_| !self.world.broken.contains_key(&payload));
            if links.is_none() && constraints.is_none() {
                continue;
            }
            let Some(any) = catalog.bytes(payload) else { continue };
            if let Some(constraints) = constraints {
                if self.world.broken.len() >= graph::CONTENTS {
                    self.world.broken.clear();
                    self.world.looked_at.clear();
                }
                self.world.broken.insert(payload, constraints(&any).map(Arc::from));
            }
            if let Some(links) = links {
                let found = links(&any);
                self.refer(store.catalog_mut(), payload, found);
            }
        }
    }

    /// Keeps what a content refers to. A structured name stands without its directives; an alternative among them
    /// (row K-29) is a reference of its own.
    fn refer(&mut self, catalog: &mut Catalog, payload: BlobId, found: Vec<Reference>) {
        let mut refs = Vec::with_capacity(found.len());
        let own = catalog.entry(payload).name;
        for Reference { kind, name, source } in found {
            let mut add = |name: &str| {
                // As clusters and their endpoints do, a resource and what it refers to mostly have one name.
                let name = if catalog.text(own) == name { own } else { catalog.intern(name) };
                refs.push(Ref { kind, name, source });
            };
            if !name.starts_with("xdstp:") {
                add(&name);
                continue;
            }
            add(name.split('#').next().unwrap_or_default());
            if let Some(alternative) = structured::alternative(&name) {
                add(&alternative);
                self.world.note_alternative(&name, &alternative);
            }
        }
        if !self.world.graphs.learn(payload, refs) {
            self.world.looked_at.clear();
        }
    }

    /// What the newest frame did.
    fn look(&mut self, store: &Store) {
        let Some(outcome) = store.latest() else { return };
        let Some(index) = store.engine().index(outcome.stream) else { return };
        let Some(stream) = store.engine().streams().get(index) else { return };
        let message = outcome.seq.and_then(|seq| store.message(seq));
        match (&outcome.what, message) {
            (SessionEvent::Open, _) => self.each(store, stream, index, outcome, |listeners, case| {
                for check in &listeners.open {
                    check(case);
                }
            }),
            (SessionEvent::Close, _) => self.each(store, stream, index, outcome, |listeners, case| {
                for check in &listeners.close {
                    check(case);
                }
            }),
            (SessionEvent::Passed(dir), _) => {
                let dir = *dir;
                self.each(store, stream, index, outcome, |listeners, case| {
                    for check in &listeners.passed {
                        check(case, dir);
                    }
                });
            }
            (SessionEvent::Counted, _) | (_, None) => {}
            (_, Some(message)) => self.message(store, stream, index, outcome, &message),
        }
    }

    fn message(
        &mut self,
        store: &Store,
        stream: &Stream,
        index: usize,
        outcome: &Outcome,
        message: &Message,
    ) {
        self.each(store, stream, index, outcome, |listeners, case| {
            for check in &listeners.message {
                check(case, message);
            }
            let Some(track) = outcome.track.and_then(|track| stream.tracks.get(track)) else { return };
            match &outcome.what {
                SessionEvent::Request(request) => {
                    let asking = RequestContext { track, outcome: request, message };
                    for check in &listeners.request {
                        check(case, &asking);
                    }
                    case.note_request(&asking);
                }
                SessionEvent::Response(response) => {
                    let scan = Scan::of(case, track, message);
                    let Some(answer) = ResponseContext::of(track, response, message, &scan) else { return };
                    for check in &listeners.response {
                        check(case, &answer);
                    }
                    case.note_response(&answer);
                }
                _ => {}
            }
        });
    }

    /// Runs listeners over one outcome.
    fn each(
        &mut self,
        store: &Store,
        stream: &Stream,
        index: usize,
        outcome: &Outcome,
        run: impl FnOnce(&Listeners, &mut RuleContext<'_>),
    ) {
        self.at_track(store, stream, (index, outcome.track), outcome.at, outcome.seq, run);
    }

    fn at_track(
        &mut self,
        store: &Store,
        stream: &Stream,
        (index, track): (usize, Option<usize>),
        at: Time,
        seq: Option<Seq>,
        run: impl FnOnce(&Listeners, &mut RuleContext<'_>),
    ) {
        if self.streams.len() <= index {
            self.streams.resize_with(index + 1, StreamMemo::default);
        }
        let Some(memos) = self.streams.get_mut(index) else { return };
        // The memo of the track is lent to the case, so that both can be written.
        let mut memo = track.map(|track| memos.lend(track)).unwrap_or_default();
        let mut case = RuleContext {
            store,
            stream,
            index,
            track,
            at,
            seq,
            memo: &mut memo,
            stream_memo: memos,
            world: &mut self.world,
            options: &self.options,
            findings: &mut self.findings,
            alarms: &mut self.alarms,
        };
        run(&self.listeners, &mut case);
        if let Some(track) = track {
            memos.give_back(track, memo);
        }
    }

    /// Fires the timers that are due.
    fn fire(&mut self, store: &Store, due: impl Fn(Time) -> bool) {
        if store.clock().untimed {
            return;
        }
        while let Some((at, index, track, alarm)) = self.alarms.pop(&due) {
            let Some(stream) = store.engine().streams().get(index) else { continue };
            let Some(memos) = self.streams.get_mut(index) else { continue };
            if stream.closed.is_some() || !memos.disarm(track, alarm, at) {
                continue;
            }
            self.at_track(store, stream, (index, track), at, None, |listeners, case| {
                for (on, check) in &listeners.alarm {
                    if *on == alarm {
                        check(case);
                    }
                }
                match alarm {
                    Alarm::Waiting => case.wait_on(alarm, case.options.timers.answer),
                    Alarm::Missing => case.wait_on(alarm, case.options.timers.exist),
                    Alarm::Targets => case.forget_targets(),
                    _ => {}
                }
            });
        }
    }
}

/// A message that says nothing because it can't be read.
fn undecodable(message: &Message) -> Option<&str> {
    match &message.body {
        Body::Undecodable { reason } => Some(reason),
        _ => None,
    }
}
