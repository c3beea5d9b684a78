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
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Dir, Kind, Seq, Sym, Time, Variant};
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
        self.alarms.next().filter(|_| !store.clock().untimed)
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
        for (i, id) in list.blobs().iter().enumerate() {
            if before.get(i) != Some(id) {
                self.inspect_entry(store.catalog_mut(), *id, has_references(kind));
            }
        }
    }

    fn inspect_entry(&mut self, catalog: &mut Catalog, id: BlobId, reads_links: bool) {
        if catalog.is_malformed(id) {
            catalog.note_unreadable(id);
        }
        let Some(payload) = catalog.entry(id).payload else { return };
        let source = &mut self.source;
        let links = self.options.links.as_ref().filter(|_| reads_links && !source.graphs.knows(payload));
        let is_checked = source.constraint_violations.contains_key(&payload);
        let constraints = self.options.constraints.as_ref().filter(|_| !is_checked);
        if links.is_none() && constraints.is_none() {
            return;
        }
        let Some(any) = catalog.bytes(payload) else { return };
        if let Some(constraints) = constraints {
            if source.constraint_violations.len() >= MAX_CONTENTS {
                source.constraint_violations.clear();
                source.inspected.clear();
            }
            let violations = constraints(&any);
            let type_url = catalog.text(catalog.entry(payload).type_url);
            let name = type_url.rsplit('/').next().unwrap_or_default();
            let is_known = self.options.types.as_ref().is_some_and(|known| known(name));
            source.constraint_violations.insert(payload, violations.map(Arc::from));
            let is_broken = source.constraint_violations.get(&payload).is_some_and(Option::is_none);
            if is_known && is_broken {
                catalog.note_unreadable(payload);
            }
        }
        if let Some(links) = links {
            let references = links(&any);
            self.note_content(catalog, payload, references);
        }
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
                checks.open.iter().for_each(|check| check(ctx));
            }),
            (SessionEvent::Close, _) => self.run(store, position, |checks, ctx| {
                checks.close.iter().for_each(|check| check(ctx));
                ctx.end_lasting_of_stream();
            }),
            (SessionEvent::Passed(_) | SessionEvent::Unchanged, _) => {
                let dir = if let SessionEvent::Passed(dir) = outcome.what { dir } else { Dir::Resp };
                self.run(store, position, |checks, ctx| {
                    checks.passed.iter().for_each(|check| check(ctx, dir));
                });
            }
            (SessionEvent::Gap(_) | SessionEvent::Counted | SessionEvent::Intercepted(_), _) | (_, None) => {}
            (_, Some(message)) => self.check_message(store, position, outcome, &message),
        }
    }

    fn check_message(&mut self, store: &Store, position: Position<'_>, outcome: &Outcome, message: &Message) {
        self.run(store, position, |checks, ctx| {
            checks.message.iter().for_each(|check| check(ctx, message));
            let track = outcome.track.and_then(|track| position.stream.tracks.get(track));
            let Some(track) = track else { return };
            match &outcome.what {
                SessionEvent::Request(outcome) => {
                    let request = RequestContext { track, outcome, message };
                    checks.check_names(ctx, Blame::Client, &requested_names(ctx, &request));
                    checks.request.iter().for_each(|check| check(ctx, &request));
                    ctx.note_request(&request);
                    ctx.settle_lasting_of_request(&request);
                    ctx.settle_traffic_gaps(track);
                }
                SessionEvent::Response(outcome) => {
                    let clean = &mut ctx.state.clean_list;
                    let mut scan = ResponseScan::new(ctx.store.catalog(), track, message, clean);
                    if !ctx.stream.has_ttl() {
                        scan.unread_ttl = std::mem::take(&mut scan.ttl);
                    }
                    let Some(response) = ResponseContext::new(track, outcome, message, &scan) else { return };
                    checks.check_names(ctx, Blame::Server, &delivered_names(ctx, &response));
                    checks.response.iter().for_each(|check| check(ctx, &response));
                    ctx.note_response(&response);
                    ctx.settle_lasting_of_response(&response);
                    // Nobody acknowledges a file.
                    if ctx.stream.variant() == Some(Variant::File) {
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
        let is_news = request.first || !request.added.is_empty() || !request.removed.is_empty();
        // Resources may warm since the stream before.
        let goes_on = request.first && position.stream.reconnect_of.is_some();
        if !is_news || !(goes_on || is_needed(kind) || can_warm(kind)) {
            return;
        }
        let due = |since: Option<Time>| {
            let since = since.filter(|_| goes_on).map_or(position.at, |since| since.min(position.at));
            since.after(self.options.timers.warm).max(position.at)
        };
        for kind in [Kind::Cds, Kind::Lds] {
            for (index, stream) in store.engine().open_of_kind(position.stream, kind) {
                let tracks = stream.tracks.iter().enumerate();
                let tracks =
                    tracks.filter(|(_, track)| track.kind == Some(kind) && !track.warming.is_empty());
                for (track, of) in tracks {
                    let at = due(of.warming.oldest());
                    if self.streams.entry(index).or_default().arm_track(track, Alarm::Warming, at) {
                        let due = Due { at, stream: index, track: Some(track), alarm: Alarm::Warming };
                        self.alarms.set(due);
                    }
                }
            }
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
                for (on, check) in &checks.alarm {
                    if *on == alarm {
                        check(ctx);
                    }
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
