//! Rules over what was seen: which of the protocol's were broken, by whom, and where.
//!
//! A rule is one file in `rules`, with its manual in its own comment. Rules listen to what the engine makes of
//! each frame; what they must remember beyond that is in a bounded memo per stream and type. Pure like the rest
//! of the core: time is an argument, the same frames give the same findings. A rule answers "fine", "a finding"
//! or "can't know yet" (the capture began mid-stream, messages were lost, a message can't be read): the last one
//! is silence.

mod case;
mod clock;
mod finding;
mod graph;
mod memo;
mod node;
mod rule;
mod rules;
mod scan;
mod structured;
#[cfg(test)]
mod tests;

pub use finding::{Blame, Finding, Severity};
pub use rule::{Known, Rule, known, rule, rules};

use std::sync::Arc;
use std::time::Duration;

use crate::event::{Kind, Seq, Time};
use crate::session::{Happened, Outcome, Stream};
use crate::store::Store;
use crate::wire::{Body, Frame, Message, Profile};
use case::{Answer, Asking, Case};
use clock::{Alarm, Alarms};
use finding::Findings;
use memo::{StreamMemo, World};
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

/// Tells what a resource refers to: type and name of each, by its `Any`. The descriptors know.
pub type Links = Arc<dyn Fn(&[u8]) -> Vec<(Kind, String)> + Send + Sync>;

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
    /// Contents whose references are looked up, at most; from then on rules about references are silent.
    pub contents: Option<usize>,
}

/// All rules over one source. Drives the store, so that timers fire before the frame that comes after them.
#[derive(Clone)]
pub struct Lint {
    options: Options,
    listeners: Listeners,
    /// By the index of the stream.
    streams: Vec<StreamMemo>,
    world: World,
    alarms: Alarms,
    findings: Findings,
}

impl Lint {
    pub fn new(options: Options) -> Lint {
        Lint {
            options,
            listeners: Listeners::all(),
            streams: Vec::new(),
            world: World::default(),
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

    /// Finds out what the resources of the newest response refer to; each content is looked at once.
    fn learn(&mut self, store: &mut Store) {
        if self.options.contents.is_some_and(|most| self.world.graphs.learned() >= most) {
            self.options.links = None;
            self.world.graphs.give_up();
        }
        let Some(links) = &self.options.links else { return };
        let Some(outcome) = store.latest() else { return };
        let stream = store.engine().stream(outcome.stream);
        let track = stream.zip(outcome.track).and_then(|(stream, track)| stream.tracks.get(track));
        if !graph::refers(track.and_then(|track| track.kind)) {
            return;
        }
        let message = outcome.seq.and_then(|seq| store.message(seq));
        let Some(list) = message.and_then(Message::resources).cloned() else { return };
        for id in list.blobs() {
            let catalog = store.catalog();
            let payload = catalog.entry(*id).payload.filter(|payload| !self.world.graphs.knows(*payload));
            let Some((payload, any)) = payload.and_then(|id| Some((id, catalog.bytes(id)?))) else {
                continue;
            };
            let found = links(&any).into_iter().map(|(kind, name)| (kind, store.catalog_mut().intern(&name)));
            let found: Vec<_> = found.collect();
            self.world.graphs.learn(payload, found);
        }
    }

    /// What the newest frame did.
    fn look(&mut self, store: &Store) {
        let Some(outcome) = store.latest() else { return };
        let Some(index) = store.engine().index(outcome.stream) else { return };
        let Some(stream) = store.engine().streams().get(index) else { return };
        let message = outcome.seq.and_then(|seq| store.message(seq));
        match (&outcome.what, message) {
            (Happened::Open, _) => self.each(store, stream, index, outcome, |listeners, case| {
                for check in &listeners.open {
                    check(case);
                }
            }),
            (Happened::Close, _) => self.each(store, stream, index, outcome, |listeners, case| {
                for check in &listeners.close {
                    check(case);
                }
            }),
            (Happened::Counted, _) | (_, None) => {}
            (_, Some(message)) => self.message(store, stream, index, outcome, message),
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
                Happened::Request(request) => {
                    let asking = Asking { track, outcome: request, message };
                    for check in &listeners.request {
                        check(case, &asking);
                    }
                    case.note_request(&asking);
                }
                Happened::Response(response) => {
                    let scan = Scan::of(case, track, message);
                    let Some(answer) = Answer::of(track, response, message, &scan) else { return };
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
        run: impl FnOnce(&Listeners, &mut Case<'_>),
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
        run: impl FnOnce(&Listeners, &mut Case<'_>),
    ) {
        if self.streams.len() <= index {
            self.streams.resize_with(index + 1, StreamMemo::default);
        }
        let Some(memos) = self.streams.get_mut(index) else { return };
        // The memo of the track is lent to the case, so that both can be written.
        let mut memo = track.map(|track| memos.lend(track)).unwrap_or_default();
        let mut case = Case {
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
