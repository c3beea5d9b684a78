//! Runs all rules over one source.

use std::collections::HashMap;
use std::sync::Arc;

use super::alarm::{Alarm, AlarmQueue, Due};
use super::context::RuleContext;
use super::exchange::{RequestContext, ResponseContext};
use super::scan::ResponseScan;
use super::structured;
use super::structured_names::{delivered_names, requested_names};
use crate::lint::findings::finding::{Blame, Finding, Findings};
use crate::lint::memory::references::{MAX_CONTENTS, ResourceRef, has_references};
use crate::lint::memory::state::{SourceState, StreamState};
use crate::lint::rule::catalog::checks;
use crate::lint::rule::check::Checks;
use crate::lint::rule::options::{Options, Reference};
use crate::session::{Outcome, SessionEvent, Shared, Stream, can_warm, is_needed};
use crate::store::Store;
use xdscope_schema::Violation;
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Dir, Kind, Seq, Sym, Time};
use xdscope_wire::xdstp::respelled;
use xdscope_wire::{Frame, Message};

/// All rules over one source.
///
/// Drives the store, so that timers fire before the next frame.
#[derive(Clone)]
pub struct Lint {
    options: Options,
    checks: Checks,
    /// By the index of the stream.
    pub(super) streams: HashMap<usize, Shared<StreamState>>,
    pub(super) source: SourceState,
    pub(super) alarms: AlarmQueue,
    pub(super) findings: Shared<Findings>,
}

/// The place and the time of a frame or timer.
#[derive(Clone, Copy)]
struct Position<'a> {
    stream: &'a Stream,
    stream_index: usize,
    track_index: Option<usize>,
    at: Time,
    seq: Option<Seq>,
}

impl<'a> Position<'a> {
    fn new(stream: &'a Stream, stream_index: usize, outcome: &Outcome) -> Position<'a> {
        let (track_index, at, seq) = (outcome.track, outcome.at, outcome.seq);
        Position { stream, stream_index, track_index, at, seq }
    }
}

impl Lint {
    /// Starts linting a source.
    pub fn new(options: Options) -> Lint {
        Lint {
            options,
            checks: checks(),
            streams: HashMap::new(),
            source: SourceState::default(),
            alarms: AlarmQueue::default(),
            findings: Shared::default(),
        }
    }

    /// Hands the next frame to the store and checks the outcome.
    pub fn handle(&mut self, store: &mut Store, frame: Frame) {
        let at = frame.at;
        self.fire(store, |due| due < at);
        store.handle(frame);
        self.inspect(store);
        self.check(store);
    }

    /// Advances the clock and fires the timers that are due.
    pub fn advance(&mut self, store: &mut Store, now: Time) {
        store.advance(now);
        let now = store.now();
        self.fire(store, |due| due <= now);
    }

    /// Returns when the next timer expires; `None` if none runs.
    pub fn next_timer(&self, store: &Store) -> Option<Time> {
        if store.clock().untimed { None } else { self.alarms.next() }
    }

    /// Returns all findings so far, in the order of their first occurrence.
    pub fn findings(&self) -> &[Finding] {
        self.findings.all()
    }

    /// Reads references and broken constraints from the newest response, once for each content.
    fn inspect(&mut self, store: &mut Store) {
        if self.options.contents.is_some_and(|limit| self.source.graphs.learned() >= limit) {
            self.options.links = None;
            self.source.graphs.give_up();
        }
        if self.options.links.is_none() && self.options.constraints.is_none() {
            return;
        }
        let Some(outcome) = store.latest() else { return };
        let stream = store.engine().stream(outcome.stream);
        let track = stream.zip(outcome.track).and_then(|(stream, track)| stream.tracks.get(track));
        let kind = track.and_then(|track| track.kind);
        let message = outcome.seq.and_then(|seq| store.message(seq));
        let Some(list) = message.and_then(|message| message.resources().cloned()) else { return };
        let known = self.source.constraint_violations.len();
        if self.options.constrained.is_some_and(|limit| known.max(list.len()) > limit) {
            self.options.constraints = None;
            self.source.constraint_violations.clear();
        }
        // A push mostly repeats the one before, so entries at an unchanged position are skipped.
        let before = self.source.inspected.insert(kind, list.clone());
        let before = before.as_ref().map_or(&[][..], |list| list.blobs());
        for (index, id) in list.blobs().iter().enumerate() {
            if before.get(index) != Some(id) {
                self.inspect_entry(store.catalog_mut(), *id, has_references(kind));
            }
        }
    }

    /// Reads references and constraints of a content, unless they are known.
    fn inspect_entry(&mut self, catalog: &mut Catalog, id: BlobId, reads_links: bool) {
        if catalog.is_malformed(id) {
            catalog.note_unreadable(id);
        }
        let Some(payload) = catalog.entry(id).payload else { return };
        let is_checked = self.source.constraint_violations.contains_key(&payload);
        let constraints = if is_checked { None } else { self.options.constraints.clone() };
        let is_read = !reads_links || self.source.graphs.knows(payload);
        let links = if is_read { None } else { self.options.links.clone() };
        if links.is_none() && constraints.is_none() {
            return;
        }
        let Some(any) = catalog.bytes(payload) else { return };
        if let Some(constraints) = constraints {
            self.note_violations(catalog, payload, constraints(&any));
        }
        if let Some(links) = links {
            self.note_content(catalog, payload, links(&any));
        }
    }

    /// Remembers the broken constraints of a content. `None`: the type is unknown, or the content
    /// cannot be read.
    fn note_violations(
        &mut self,
        catalog: &mut Catalog,
        payload: BlobId,
        violations: Option<Vec<Violation>>,
    ) {
        if self.source.constraint_violations.len() >= MAX_CONTENTS {
            self.source.constraint_violations.clear();
            self.source.inspected.clear();
        }
        let type_url = catalog.text(catalog.entry(payload).type_url);
        let name = type_url.rsplit('/').next().unwrap_or_default();
        let is_known = self.options.types.as_ref().is_some_and(|known| known(name));
        if is_known && violations.is_none() {
            catalog.note_unreadable(payload);
        }
        self.source.constraint_violations.insert(payload, violations.map(Arc::from));
    }

    /// Remembers the references of a content.
    ///
    /// A structured name is stored in canonical form, without its directives
    /// (`docs/protocol.md#k-08`). An alternative among them is a reference of its own:
    /// `docs/protocol.md#k-29`.
    fn note_content(&mut self, catalog: &mut Catalog, payload: BlobId, references: Vec<Reference>) {
        let mut refs = Vec::with_capacity(references.len());
        let own = catalog.entry(payload).name;
        for Reference { kind, name, source, is_validated, .. } in references {
            let is_structured = name.starts_with("xdstp:");
            if is_structured && structured::has_bad_directive(&name) {
                self.source.graphs.bad_directives.insert(payload);
            }
            if is_structured && structured::has_reserved_key(&name) {
                self.source.graphs.reserved_keys.insert(payload);
            }
            let mut add = |name: &str, entry: Option<String>| {
                // A resource and its reference often have one name, as clusters and endpoints do.
                let canonical = respelled(name);
                let name = canonical.as_deref().unwrap_or(name);
                let name = if catalog.text(own) == name { own } else { catalog.intern(name) };
                let entry = entry.map_or(Sym::EMPTY, |entry| catalog.intern(&entry));
                if entry != Sym::EMPTY {
                    self.source.graphs.with_entries.insert(payload);
                }
                refs.push(ResourceRef { kind, name, entry, source, is_validated });
            };
            if !is_structured {
                add(&name, None);
                continue;
            }
            add(name.split('#').next().unwrap_or_default(), structured::selected_entry(&name));
            if let Some(alternative) = structured::alternative(&name) {
                add(&alternative, structured::selected_entry(&alternative));
                self.source.note_alternative(&name, &alternative);
            }
        }
        if !self.source.graphs.learn(payload, refs) {
            self.source.inspected.clear();
        }
    }

    /// Checks the outcome of the newest frame.
    fn check(&mut self, store: &Store) {
        let Some(outcome) = store.latest() else { return };
        let Some(index) = store.engine().index(outcome.stream) else { return };
        let Some(stream) = store.engine().streams().get(index) else { return };
        let message = outcome.seq.and_then(|seq| store.message(seq));
        let position = Position::new(stream, index, outcome);
        match (&outcome.what, message) {
            (SessionEvent::Open, _) => self.run(store, position, |checks, ctx| {
                for check in &checks.open {
                    check(ctx);
                }
            }),
            (SessionEvent::Close, _) => self.run(store, position, |checks, ctx| {
                for check in &checks.close {
                    check(ctx);
                }
                ctx.end_lasting_of_stream();
                ctx.end_gaps_of_query();
            }),
            (SessionEvent::Passed(_) | SessionEvent::Unchanged, _) => {
                let dir = if let SessionEvent::Passed(dir) = outcome.what { dir } else { Dir::Resp };
                self.run(store, position, |checks, ctx| {
                    for check in &checks.passed {
                        check(ctx, dir);
                    }
                });
            }
            (SessionEvent::Gap(_) | SessionEvent::Counted | SessionEvent::Intercepted(_), _) | (_, None) => {}
            (_, Some(message)) => self.check_message(store, position, outcome, &message),
        }
    }

    /// Runs the checks of a message, and those of a request or a response.
    fn check_message(&mut self, store: &Store, position: Position<'_>, outcome: &Outcome, message: &Message) {
        self.run(store, position, |checks, ctx| {
            for check in &checks.message {
                check(ctx, message);
            }
            let track = outcome.track.and_then(|track| position.stream.tracks.get(track));
            let Some(track) = track else { return };
            match &outcome.what {
                SessionEvent::Request(outcome) => {
                    let request = RequestContext { track, outcome, message };
                    checks.check_names(ctx, Blame::Client, &requested_names(ctx, &request));
                    for check in &checks.request {
                        check(ctx, &request);
                    }
                    ctx.note_request(&request);
                    ctx.settle_lasting_of_request(&request);
                    ctx.settle_traffic_gaps(track);
                }
                SessionEvent::Response(outcome) => {
                    let clean = &mut ctx.state.responses.clean_list;
                    let mut scan = ResponseScan::new(ctx.store.catalog(), track, message, clean);
                    if !ctx.stream.has_ttl() {
                        scan.unread_ttl = std::mem::take(&mut scan.ttl);
                    }
                    let Some(response) = ResponseContext::new(track, outcome, message, &scan) else { return };
                    checks.check_names(ctx, Blame::Server, &delivered_names(ctx, &response));
                    for check in &checks.response {
                        check(ctx, &response);
                    }
                    ctx.note_response(&response);
                    ctx.settle_lasting_of_response(&response);
                    // Nobody acknowledges a file.
                    if ctx.is_file() {
                        ctx.settle_traffic_gaps(track);
                    }
                }
                _ => {}
            }
        });
        if !store.clock().untimed {
            self.arm_warming(store, position, outcome);
        }
    }

    /// Sets the timers of resources that wait for names of a request, or that a new stream of a
    /// client takes over.
    fn arm_warming(&mut self, store: &Store, position: Position<'_>, outcome: &Outcome) {
        let SessionEvent::Request(request) = &outcome.what else { return };
        let track = position.track_index.and_then(|track| position.stream.tracks.get(track));
        let kind = track.and_then(|track| track.kind);
        let changes = request.first || !request.added.is_empty() || !request.removed.is_empty();
        // Resources may warm since the stream before.
        let goes_on = request.first && position.stream.chain.reconnect_of.is_some();
        if !changes || !(goes_on || is_needed(kind) || can_warm(kind)) {
            return;
        }
        for kind in [Kind::Cds, Kind::Lds] {
            for (index, stream) in store.engine().open_of_kind(position.stream, kind) {
                for (track_index, track) in stream.tracks.iter().enumerate() {
                    if track.kind != Some(kind) || track.warming.is_empty() {
                        continue;
                    }
                    let since = if goes_on { track.warming.oldest() } else { None };
                    let since = since.map_or(position.at, |since| since.min(position.at));
                    let at = since.after(self.options.timers.warm).max(position.at);
                    self.arm_track(Due {
                        at,
                        stream: index,
                        track: Some(track_index),
                        alarm: Alarm::Warming,
                    });
                }
            }
        }
    }

    /// Sets a timer of a track, unless one expires earlier.
    fn arm_track(&mut self, due: Due) {
        let Some(track) = due.track else { return };
        if self.streams.entry(due.stream).or_default().arm_track(track, due.alarm, due.at) {
            self.alarms.set(due);
        }
    }

    fn run(
        &mut self,
        store: &Store,
        position: Position<'_>,
        run: impl FnOnce(&Checks, &mut RuleContext<'_>),
    ) {
        let Position { stream, stream_index, track_index, at, seq } = position;
        let stream_state = self.streams.entry(stream_index).or_default();
        // The state of the track is taken out, so that rules can write it and that of the stream.
        let mut state = track_index.map(|track| stream_state.lend(track)).unwrap_or_default();
        let mut ctx = RuleContext {
            store,
            stream,
            stream_index,
            track_index,
            at,
            seq,
            state: &mut state,
            stream_state,
            source_state: &mut self.source,
            options: &self.options,
            findings: &mut self.findings,
            alarms: &mut self.alarms,
        };
        run(&self.checks, &mut ctx);
        if let Some(track) = track_index {
            stream_state.give_back(track, state);
        }
    }

    /// Fires the timers that are due.
    fn fire(&mut self, store: &Store, is_due: impl Fn(Time) -> bool) {
        if store.clock().untimed {
            return;
        }
        while let Some(Due { at, stream: stream_index, track: track_index, alarm }) = self.alarms.pop(&is_due)
        {
            let Some(stream) = store.engine().streams().get(stream_index) else { continue };
            let Some(state) = self.streams.get_mut(&stream_index) else { continue };
            if stream.closed.is_some() || !state.disarm(track_index, alarm, at) {
                continue;
            }
            let position = Position { stream, stream_index, track_index, at, seq: None };
            self.run(store, position, |checks, ctx| {
                for (_, check) in checks.alarm.iter().filter(|(on, _)| *on == alarm) {
                    check(ctx);
                }
                match alarm {
                    Alarm::Waiting => ctx.rearm_waiting(alarm, ctx.options.timers.answer),
                    Alarm::Missing => ctx.rearm_waiting(alarm, ctx.options.timers.exist),
                    Alarm::Targets => ctx.drop_expired_targets(),
                    Alarm::Settled => ctx.end_events_before(),
                    _ => {}
                }
            });
        }
    }
}
