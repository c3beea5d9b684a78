mod by_hand;
mod report;
mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::action::{Action, REORDER_TIME};
use super::client_memory::{ClientMemory, Correction};
use super::contents::WireContents;
use super::fault::{FaultSet, Fired};
use super::hold::HoldQueue;
use super::track::{RequestFate, Track};
use report::{report, report_instead, report_sent};
use waiting::Waiting;
use xdscope_engine::store::MessageKind;
use xdscope_schema::Schema;
use xdscope_wire::discovery::fields::DiscoveryField;
use xdscope_wire::event::{Code, Dir, Kind, Method, Time, TypeUrl};
use xdscope_wire::h2::SplicedMessage;
use xdscope_wire::{Interference, Intervention, InterventionFacts, Messages, Piece};

/// A step to take on the connection of a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The fate of this message is decided.
    Settle(SplicedMessage),
    /// Send this message.
    Send(SplicedMessage),
    /// Report this intervention.
    Report(Box<Intervention>),
    /// End the stream with a status for the client.
    Status(Code, String),
    /// Reset the stream on both sides.
    Reset,
    /// Reset all other armed streams of the tap on both sides, because of this fault.
    ResetAll(Arc<str>),
    /// Tell the client to open no more streams on the connection.
    GoAway,
    /// Pass on nothing of the connection any more, because of this fault.
    Blackhole(Arc<str>),
}

/// Types of a stream that are intercepted.
const MAX_TYPES: usize = 128;

/// Messages with less memory are always intercepted.
const MAX_FREE_BYTES: usize = 4 << 10;

/// One xDS stream of an armed tap.
///
/// Keeps the order of messages of each type and direction. Pure: time is an argument.
pub struct InterceptedStream {
    number: u32,
    method: Method,
    node: Option<Arc<str>>,
    tracks: BTreeMap<TypeUrl, Track>,
    memory: Arc<ClientMemory>,
    /// Messages that wait, by direction (requests first) and type.
    lanes: BTreeMap<(bool, TypeUrl), VecDeque<Waiting>>,
    /// Messages that wait for the next one of their direction.
    swapped: Vec<Waiting>,
    /// Until when throttled messages are on their way.
    busy: BTreeMap<(bool, TypeUrl), Time>,
    /// When the connection is too old, and the report of that.
    end: Option<(Time, Step)>,
    /// The number of the stream among those with held messages.
    hold_number: Option<u64>,
    /// Memory of the messages that wait, apart from their bytes on the wire.
    waiting_bytes: usize,
    /// Bytes that the tracks remember, as `memory` counts them.
    tracked: usize,
}

/// The status of a stream that ends with its connection.
const TOO_OLD: (Code, &str) = (Code(14), "max_age");

/// Forgets what the tracks remember.
impl Drop for InterceptedStream {
    fn drop(&mut self) {
        self.memory.count(self.tracked, 0);
    }
}

fn is_push(dir: Dir) -> bool {
    dir == Dir::Resp
}

impl InterceptedStream {
    /// Creates the state of a new stream with this HTTP/2 number.
    pub fn new(number: u32, method: Method, memory: Arc<ClientMemory>) -> InterceptedStream {
        InterceptedStream {
            number,
            method,
            node: None,
            tracks: BTreeMap::new(),
            memory,
            lanes: BTreeMap::new(),
            swapped: Vec::new(),
            busy: BTreeMap::new(),
            end: None,
            hold_number: None,
            waiting_bytes: 0,
            tracked: 0,
        }
    }

    /// Returns the memory of messages that wait, apart from their bytes on the wire.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Returns the node id in the first message of a stream, of up to `max` bytes after
    /// decompression.
    pub fn node_of(method: &Method, message: &SplicedMessage, max: usize) -> Option<Arc<str>> {
        WireContents::read(method, message.dir, plain(message, max)?)?.node
    }

    /// Decides about a message that has arrived. A message on which no fault acts may be held.
    pub fn receive(
        &mut self,
        message: SplicedMessage,
        at: Time,
        (faults, hold): (&mut FaultSet, &mut HoldQueue),
        schema: &Schema,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        let dir = message.dir;
        let Some(contents) = self.trackable(&message) else {
            // Nothing is known of the message, or there is no memory to follow it: it passes.
            return vec![Step::Send(message.clone()), Step::Settle(message)];
        };
        if let Some(node) = &contents.node
            && !node.is_empty()
        {
            self.node = Some(node.clone());
        }
        let type_url = contents.type_url.clone();
        let track = self.tracks.entry(type_url.clone()).or_default();
        let (push_number, kind) = match dir {
            Dir::Resp => (track.pushed(&contents), MessageKind::Push),
            Dir::Req => (0, track.requested(&contents)),
        };
        let fact = contents.fact(at, self.node.as_ref(), kind);
        let (followers, others): (Vec<Waiting>, Vec<Waiting>) =
            std::mem::take(&mut self.swapped).into_iter().partition(|waiting| waiting.message.dir == dir);
        self.swapped = others;
        self.waiting_bytes -= followers.iter().map(Waiting::memory).sum::<usize>();
        let fired = faults.fire(&fact, &contents, at);
        let original = Some(message.clone());
        let waiting = Waiting { original, ..Waiting::new(at, message, contents, push_number) };
        match fired {
            None if hold.matches(&fact) => self.hold(waiting, at, hold, &mut steps),
            None => self.deliver(waiting, at, &mut steps),
            Some(fired) => self.act(fired, waiting, at, faults, schema, &mut steps),
        }
        for waiting in followers {
            self.forward(waiting, &mut steps);
        }
        self.recount(&type_url);
        steps
    }

    /// Reads a message that can be decoded and that there is memory to follow.
    fn trackable(&self, message: &SplicedMessage) -> Option<WireContents> {
        let bytes = plain(message, self.memory.max_message)?;
        let contents = WireContents::read(&self.method, message.dir, bytes)?;
        if self.may_track(&contents) { Some(contents) } else { None }
    }

    /// Whether the memory allows to follow a message.
    fn may_track(&self, contents: &WireContents) -> bool {
        let is_known = self.tracks.contains_key(&contents.type_url) || self.tracks.len() < MAX_TYPES;
        let bytes = contents.memory();
        is_known && (bytes <= MAX_FREE_BYTES || self.memory.has_room(bytes))
    }

    /// Counts what the track of a type remembers.
    fn recount(&mut self, type_url: &TypeUrl) {
        let Some(track) = self.tracks.get_mut(type_url) else { return };
        let now = track.memory();
        let before = std::mem::replace(&mut track.counted, now);
        self.memory.count(before, now);
        self.tracked = self.tracked + now - before;
    }

    /// Applies a fault to a message.
    fn act(
        &mut self,
        Fired { by, action }: Fired,
        mut waiting: Waiting,
        at: Time,
        faults: &mut FaultSet,
        schema: &Schema,
        steps: &mut Vec<Step>,
    ) {
        let by: Arc<str> = by.into();
        let dir = waiting.message.dir;
        let report = |waiting: &Waiting, interference| report(&waiting.contents, interference, &by);
        match action {
            Action::Drop => {
                steps.push(report(&waiting, Interference::Dropped));
                self.withhold(waiting, &by, steps);
            }
            Action::DropAck | Action::StaleNonce | Action::Bounce(_) => {
                self.answer(&action, waiting, at, &by, steps);
            }
            Action::Delay(_) | Action::Hold(_) | Action::Throttle(_) | Action::Reorder => {
                let (interference, due) = self.due(&action, &waiting, at);
                waiting.due = due;
                steps.push(report(&waiting, interference));
                waiting.postponed_by = if is_push(dir) { None } else { Some(by.clone()) };
                match action {
                    Action::Reorder => {
                        self.waiting_bytes += waiting.memory();
                        self.swapped.push(waiting);
                    }
                    _ => self.wait(waiting),
                }
            }
            Action::Duplicate => {
                steps.push(report(&waiting, Interference::Duplicated));
                waiting.times = 2;
                if is_push(dir) {
                    self.track(&waiting).repeat(&waiting.contents, &by);
                }
                self.deliver(waiting, at, steps);
            }
            Action::Omit(name) if waiting.contents.is_only(&name) => {
                steps.push(report(&waiting, Interference::Dropped));
                self.withhold(waiting, &by, steps);
            }
            Action::Reannounce(without) => self.reannounce(without.as_deref(), waiting, at, &by, steps),
            Action::Truncate
            | Action::Corrupt
            | Action::Rename { .. }
            | Action::Set { .. }
            | Action::Forget
            | Action::Pad(_)
            | Action::Omit(_)
            | Action::Repeat(_)
            | Action::Remove(_) => {
                if let Some(bytes) = waiting.contents.changed(&action, faults, schema) {
                    self.change(&mut waiting, bytes, &by, steps);
                }
                self.deliver(waiting, at, steps);
            }
            Action::Reset => steps.extend([report(&waiting, Interference::Ended), Step::Reset]),
            Action::Status(code, text) => {
                steps.extend([report(&waiting, Interference::Ended), Step::Status(code, text)]);
            }
            Action::ResetAll => {
                steps.extend([report(&waiting, Interference::Ended), Step::Reset, Step::ResetAll(by)]);
            }
            Action::GoAway(Some(age)) => {
                self.end.get_or_insert_with(|| (at.after(age), report(&waiting, Interference::Ended)));
                self.deliver(waiting, at, steps);
            }
            Action::GoAway(None) => {
                steps.extend([report(&waiting, Interference::GoAway), Step::GoAway]);
                self.deliver(waiting, at, steps);
            }
            Action::Blackhole => {
                steps.extend([report(&waiting, Interference::Blackholed), Step::Blackhole(by)]);
            }
        }
    }

    /// Gives a message that is to be sent other bytes.
    fn change(&mut self, waiting: &mut Waiting, bytes: Bytes, by: &Arc<str>, steps: &mut Vec<Step>) {
        let dir = waiting.message.dir;
        steps.push(report_sent(&waiting.contents, Interference::Changed, by, &bytes, dir));
        if let Some(sent) = WireContents::read(&self.method, dir, bytes.clone()) {
            if is_push(dir) {
                self.track(waiting).told(&sent, &waiting.contents);
                waiting.altered = Some(Box::new(waiting.contents.alteration(&sent, by)));
            }
            waiting.contents = sent;
        }
        waiting.message = uncompressed(&waiting.message, bytes);
    }

    /// Sends a push, and a copy with a nonce of its own: before it without a resource, or after it.
    fn reannounce(
        &mut self,
        without: Option<&str>,
        waiting: Waiting,
        at: Time,
        by: &Arc<str>,
        steps: &mut Vec<Step>,
    ) {
        let nonce = format!("{}-again", waiting.contents.nonce);
        let bytes = match without {
            Some(name) => waiting.contents.without(name, true),
            None => waiting.contents.bytes.clone(),
        };
        let read = |bytes| WireContents::read(&self.method, Dir::Resp, bytes);
        let Some(contents) = read(bytes).and_then(|copy| read(copy.with(DiscoveryField::Nonce, &nonce)))
        else {
            return self.deliver(waiting, at, steps);
        };
        let bytes = contents.bytes.clone();
        steps.push(report_sent(&waiting.contents, Interference::Duplicated, by, &bytes, Dir::Resp));
        self.track(&waiting).copied(&contents, &waiting.contents, by, without.is_some());
        let message = uncompressed(&waiting.message, bytes);
        let copy = Waiting::new(at, message, contents, waiting.push_number);
        for message in if without.is_some() { [copy, waiting] } else { [waiting, copy] } {
            self.deliver(message, at, steps);
        }
    }

    /// Ends the stream, because of a fault on another one.
    pub fn end_by(&self, by: &Arc<str>) -> Vec<Step> {
        vec![self.affected(Interference::Ended, by), Step::Reset]
    }

    /// Reports what a fault on another stream does to this one.
    pub fn affected(&self, interference: Interference, by: &Arc<str>) -> Step {
        let facts = InterventionFacts {
            interference,
            dir: Dir::Req,
            is_delta: self.method.variant.is_delta(),
            type_url: self.tracks.keys().next().cloned().unwrap_or_else(|| "".into()),
            version: "".into(),
            nonce: "".into(),
            by: by.clone(),
        };
        Step::Report(Box::new(Intervention { facts, original: None, sent: None, sent_dir: Dir::Req }))
    }

    /// Answers a push in the name of the client. Returns the push before the first request of the
    /// client, to which the answer would refer.
    fn bounce(
        &mut self,
        text: &str,
        waiting: Waiting,
        by: &Arc<str>,
        steps: &mut Vec<Step>,
    ) -> Option<Waiting> {
        let Some(bytes) = self.track(&waiting).nack(&waiting.contents, text) else { return Some(waiting) };
        steps.push(report_sent(&waiting.contents, Interference::Bounced, by, &bytes, Dir::Req));
        let request = SplicedMessage { dir: Dir::Req, ..waiting.message.clone() };
        self.withhold(waiting, by, steps);
        steps.push(Step::Send(uncompressed(&request, bytes)));
        None
    }

    fn track(&mut self, waiting: &Waiting) -> &mut Track {
        self.tracks.entry(waiting.contents.type_url.clone()).or_default()
    }

    /// Returns what an action that postpones a message is called, and when the message is due.
    fn due(&mut self, action: &Action, waiting: &Waiting, at: Time) -> (Interference, Time) {
        match action {
            Action::Hold(time) => (Interference::Held, at.after(*time)),
            Action::Delay(time) => (Interference::Delayed, at.after(*time)),
            Action::Throttle(rate) => {
                let lane = waiting.lane();
                let start = self.busy.get(&lane).copied().unwrap_or(at).max(at);
                let seconds = waiting.message.bytes.len() as f64 / *rate as f64;
                let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
                let due = start.after(time);
                self.busy.insert(lane, due);
                (Interference::Delayed, due)
            }
            _ => (Interference::Reordered, at.after(REORDER_TIME)),
        }
    }

    /// Applies an action about the answer to a push.
    fn answer(&mut self, action: &Action, waiting: Waiting, at: Time, by: &Arc<str>, steps: &mut Vec<Step>) {
        let dir = waiting.message.dir;
        let track = self.tracks.entry(waiting.contents.type_url.clone()).or_default();
        match action {
            Action::Bounce(text) => {
                if let Some(waiting) = self.bounce(text, waiting, by, steps) {
                    self.deliver(waiting, at, steps);
                }
            }
            Action::StaleNonce if is_push(dir) => {
                track.make_answer_stale(&waiting.contents, by);
                self.deliver(waiting, at, steps);
            }
            Action::StaleNonce => {
                let Some(before) = track.nonce_before(&waiting.contents.nonce) else {
                    return self.deliver(waiting, at, steps);
                };
                let bytes = waiting.contents.with(DiscoveryField::Nonce, before);
                steps.push(report_sent(&waiting.contents, Interference::Restated, by, &bytes, dir));
                steps.push(Step::Send(uncompressed(&waiting.message, bytes)));
                steps.extend(waiting.original.map(Step::Settle));
            }
            _ if is_push(dir) => {
                track.drop_answer(&waiting.contents, by);
                self.deliver(waiting, at, steps);
            }
            _ => {
                steps.push(report(&waiting.contents, Interference::Dropped, by));
                self.withhold(waiting, by, steps);
            }
        }
    }

    /// Returns when the next waiting message is due.
    pub fn next_due(&self) -> Option<Time> {
        let fronts = self.lanes.values().filter_map(|lane| lane.front().map(|waiting| waiting.due));
        let end = self.end.iter().map(|(due, _)| *due);
        fronts.chain(self.swapped.iter().map(|waiting| waiting.due)).chain(end).min()
    }

    /// Sends the messages that are due, and ends the stream if that is due.
    pub fn release_due(&mut self, at: Time, hold: &mut HoldQueue) -> Vec<Step> {
        let mut steps = self.release(hold, &|waiting| waiting.due <= at);
        if let Some((_, report)) = self.end.take_if(|(due, _)| *due <= at) {
            let (code, text) = TOO_OLD;
            steps.extend([report, Step::GoAway, Step::Status(code, text.to_owned())]);
        }
        steps
    }

    /// Sends all messages that wait, in order.
    pub fn release_all(&mut self, hold: &mut HoldQueue) -> Vec<Step> {
        self.release(hold, &|_| true)
    }

    /// Forwards the waiting messages that are due, in their order.
    fn release(&mut self, hold: &mut HoldQueue, is_due: &dyn Fn(&Waiting) -> bool) -> Vec<Step> {
        let mut steps = Vec::new();
        for lane in self.lanes.keys().cloned().collect::<Vec<_>>() {
            while let Some(waiting) =
                self.lanes.get_mut(&lane).and_then(|waiting| waiting.pop_front_if(|front| is_due(front)))
            {
                self.waiting_bytes -= waiting.memory();
                self.leave(waiting, hold, &mut steps);
            }
            self.recount(&lane.1);
        }
        self.lanes.retain(|_, lane| !lane.is_empty());
        for waiting in std::mem::take(&mut self.swapped) {
            if is_due(&waiting) {
                self.waiting_bytes -= waiting.memory();
                self.forward(waiting, &mut steps);
            } else {
                self.swapped.push(waiting);
            }
        }
        steps
    }

    fn wait(&mut self, waiting: Waiting) {
        self.waiting_bytes += waiting.memory();
        self.lanes.entry(waiting.lane()).or_default().push_back(waiting);
    }

    /// Sends a message, behind those of its type that wait.
    fn deliver(&mut self, waiting: Waiting, at: Time, steps: &mut Vec<Step>) {
        if self.lanes.contains_key(&waiting.lane()) {
            self.wait(Waiting { due: at, ..waiting });
        } else {
            self.forward(waiting, steps);
        }
    }

    /// Decides about a message that the other side never sees.
    fn withhold(&mut self, waiting: Waiting, by: &Arc<str>, steps: &mut Vec<Step>) {
        let track = self.tracks.entry(waiting.contents.type_url.clone()).or_default();
        if is_push(waiting.message.dir) {
            track.withhold(waiting.push_number, &waiting.contents, by);
        }
        steps.extend(waiting.original.map(Step::Settle));
    }

    /// Sends a message now.
    fn forward(&mut self, waiting: Waiting, steps: &mut Vec<Step>) {
        let Waiting {
            original,
            mut message,
            mut contents,
            altered,
            push_number,
            times,
            mut postponed_by,
            ..
        } = waiting;
        let track = self.tracks.entry(contents.type_url.clone()).or_default();
        if is_push(message.dir) {
            track.delivered(push_number);
            if let Some((bytes, by)) = track.take_foreign(&contents) {
                steps.push(report_sent(&contents, Interference::Corrected, &by, &bytes, Dir::Resp));
                message = uncompressed(&message, bytes);
            }
            self.memory.delivered(&self.node, &contents, altered.as_deref());
        } else {
            if is_for_endpoints(&contents)
                && let Some(cut) = track.without_made_up(&contents, &self.memory.made_up_clusters(&self.node))
            {
                let instead = cut.bytes.clone();
                let corrected =
                    |by| report_instead(&contents, Interference::Corrected, &by, instead, Dir::Req);
                steps.extend(cut.by.map(corrected));
                let Some(bytes) = cut.bytes else {
                    steps.extend(postponed_by.map(|by| report(&contents, Interference::Released, &by)));
                    return steps.extend(original.map(Step::Settle));
                };
                message = uncompressed(&message, bytes.clone());
                contents = WireContents::read(&self.method, Dir::Req, bytes).unwrap_or(contents);
            }
            if track.is_first_request()
                && let Some(Correction { bytes, by, foreign, .. }) =
                    self.memory.correction(&self.node, &contents)
            {
                steps.push(report_sent(&contents, Interference::Corrected, &by, &bytes, Dir::Req));
                track.remember_foreign(foreign, &by);
                message = uncompressed(&message, bytes.clone());
                contents = WireContents::read(&self.method, Dir::Req, bytes).unwrap_or(contents);
            }
            match track.request(&contents) {
                RequestFate::Unchanged => {}
                RequestFate::Dropped(by) => {
                    steps.push(report(&contents, Interference::Dropped, &by));
                    return steps.extend(original.map(Step::Settle));
                }
                RequestFate::Translated(bytes) => message = uncompressed(&message, bytes),
                RequestFate::Restated(bytes, by) => {
                    postponed_by = None;
                    steps.push(report_sent(&contents, Interference::Restated, &by, &bytes, Dir::Req));
                    message = uncompressed(&message, bytes);
                }
            }
        }
        steps.extend(postponed_by.map(|by| report(&contents, Interference::Released, &by)));
        for _ in 0..times {
            steps.push(Step::Send(message.clone()));
        }
        // The end of the stream may wait for the last message to be settled.
        steps.extend(original.map(Step::Settle));
    }

    /// Returns the HTTP/2 number of the stream.
    pub fn number(&self) -> u32 {
        self.number
    }
}

fn is_for_endpoints(contents: &WireContents) -> bool {
    Kind::of_type_url(contents.type_url.as_str()).is_some_and(|(kind, _)| kind == Kind::Eds)
}

/// Returns a message with other bytes, which are not compressed.
fn uncompressed(message: &SplicedMessage, bytes: Bytes) -> SplicedMessage {
    SplicedMessage { encoding: None, bytes, ..message.clone() }
}

/// Returns the decompressed bytes of a message; `None` if they cannot be decompressed, or are more
/// than `max`.
fn plain(message: &SplicedMessage, max: usize) -> Option<Bytes> {
    let Some(encoding) = &message.encoding else { return Some(message.bytes.clone()) };
    let mut messages = Messages::new(true, Some(encoding));
    let mut prefix = vec![1];
    prefix.extend_from_slice(&u32::try_from(message.bytes.len()).ok()?.to_be_bytes());
    let (mut out, mut is_whole) = (Vec::new(), false);
    for part in [&prefix[..], &message.bytes] {
        messages.push(part, max as u64, &mut |piece| match piece {
            Piece::Bytes(bytes) => out.extend_from_slice(bytes),
            Piece::End => is_whole = true,
            Piece::Lost { .. } => {}
        });
    }
    is_whole.then(|| out.into())
}
