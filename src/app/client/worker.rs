//! The thread of a client: handles commands, events of its streams and timers.

mod polls;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::net::client::{ClientReport, Event, Server, Streams};
use crate::net::clock::RunClock;
use crate::net::lock;
use xdscope_engine::filter::Filter;
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_sources::peers::client::{Client, Effect, Lane};
use xdscope_wire::content::{Catalog, Redact};
use xdscope_wire::event::{Dir, Side, StreamId, Sym, Time, TypeUrl};
use xdscope_wire::{Assembler, End, Frame, FramePayload, Message, Open, Tls};

use super::{AckPolicy, Command, InitialSubscription, Progress};
use crate::app::live_state::LiveState;
use crate::app::recording::frame_sink::FrameSink;
pub(super) use polls::Polls;
use polls::end_text;
use verdict::Passing;

/// Events that are handled in one batch.
const MAX_BATCHED_EVENTS: usize = 64;

/// The longest time without events before the client looks at the session file.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);

/// The settings that do not change during the run.
pub(super) struct ClientSettings {
    pub(super) ack_policy: AckPolicy,
    pub(super) refuse: Vec<(Filter, String)>,
    pub(super) poll_timeout: Duration,
    pub(super) schema: Arc<Schema>,
}

/// The state of the client's thread.
pub(super) struct ClientWorker {
    pub(super) settings: ClientSettings,
    pub(super) clock: RunClock,
    pub(super) client: Client,
    pub(super) streams: Streams,
    pub(super) assembler: Assembler,
    /// The ids of open streams, by lane.
    pub(super) open: BTreeMap<u32, StreamId>,
    /// Responses that are being received, by lane.
    pub(super) passing: BTreeMap<u32, Passing>,
    /// Types whose responses are rejected, with the error message.
    pub(super) refused_types: BTreeMap<TypeUrl, String>,
    pub(super) polls: Polls,
    /// Frames that are not written yet.
    pub(super) out: Vec<Frame>,
    pub(super) frames: FrameSink,
    /// The written frames; `None`: they are not collected.
    pub(super) collected: Option<Vec<Frame>>,
    /// `progress` is out of date.
    pub(super) changed: bool,
    pub(super) progress: Arc<Mutex<Progress>>,
    /// Knows the tokens of the servers.
    pub(super) redactor: Arc<Redactor>,
    pub(super) shared: Arc<LiveState>,
}

impl ClientWorker {
    /// Runs until nobody sends commands any more. Returns the collected frames and their contents.
    pub(super) async fn run(
        mut self,
        wants: Vec<InitialSubscription>,
        mut commands: mpsc::Receiver<Command>,
        mut events: mpsc::Receiver<ClientReport>,
    ) -> (Vec<Frame>, Catalog) {
        let mut now = self.begin(wants);
        loop {
            self.frames.hand_on();
            self.frames.flush_file(now);
            let journal = self.frames.journal().clone();
            let due = self.client.due().map(|due| due.since(self.clock.now()));
            let wait = [due, self.frames.due()].into_iter().flatten().fold(IDLE_INTERVAL, Duration::min);
            let (mut command, mut happened) = (None, None);
            journal.set_writer_idle(true);
            tokio::select! {
                received = commands.recv() => match received {
                    None => break,
                    received => command = received,
                },
                event = events.recv() => happened = event,
                () = tokio::time::sleep(wait) => {}
            }
            journal.set_writer_idle(false);
            if let Some(command) = command {
                self.command(command);
            }
            let mut taken = 0;
            while let Some(event) = happened.take() {
                self.event(event);
                taken += 1;
                happened = if taken < MAX_BATCHED_EVENTS { events.try_recv().ok() } else { None };
            }
            now = self.timeout();
            // A collected run is short, and its frames are read afterwards.
            if self.collected.is_none() {
                self.frames.drop_old(|used| {
                    self.client.mark(used);
                    self.assembler.mark(used);
                });
            }
        }
        let now = self.end();
        let catalog = self.frames.finish(now);
        (self.collected.unwrap_or_default(), catalog)
    }

    fn begin(&mut self, wants: Vec<InitialSubscription>) -> Time {
        let now = self.clock.now();
        for want in wants {
            if want.wildcard {
                let command = Command::Wildcard { type_url: want.type_url.clone(), wanted: true };
                self.command(command);
            }
            if !want.names.is_empty() || !want.wildcard {
                self.command(Command::Subscribe { type_url: want.type_url, names: want.names });
            }
        }
        self.timeout();
        now
    }

    fn command(&mut self, command: Command) {
        self.changed = true;
        let now = self.clock.now();
        let catalog = &mut self.frames.catalog;
        let symbols = |names: Vec<String>, catalog: &mut Catalog| -> Vec<Sym> {
            names.iter().map(|name| catalog.intern(name)).collect()
        };
        let done = match command {
            Command::Subscribe { type_url, names } => {
                let names = symbols(names, catalog);
                self.client.subscribe(now, &type_url, &names, catalog)
            }
            Command::Unsubscribe { type_url, names } => {
                let names = symbols(names, catalog);
                self.client.unsubscribe(now, &type_url, &names, catalog);
                Ok(())
            }
            Command::Wildcard { type_url, wanted } => self.client.wildcard(now, &type_url, wanted, catalog),
            Command::Rule { type_url, nonce, ruling } => {
                self.client.rule(now, &type_url, nonce.as_ref(), ruling, catalog);
                Ok(())
            }
            Command::Refuse { type_url, text } => {
                match text {
                    Some(text) => drop(self.refused_types.insert(type_url, text)),
                    None => drop(self.refused_types.remove(&type_url)),
                }
                Ok(())
            }
            Command::Raw { type_url, request } => {
                self.client.send_raw(&type_url, &request, catalog);
                Ok(())
            }
            Command::Reconnect => {
                self.client.reconnect(now, catalog);
                Ok(())
            }
        };
        if let Err(error) = done {
            lock(&self.progress).refused = Some(error);
        }
        self.effects();
    }

    fn event(&mut self, happened: ClientReport) {
        if !self.streams.is_current(&happened) {
            return;
        }
        let (now, lane) = (self.clock.now(), Lane(happened.lane));
        self.changed |= !matches!(happened.what, Event::Bytes(_));
        match happened.what {
            Event::Opened { tls } => {
                let server = self.streams.server(lane.0);
                let headers = server.map(|server| cleaned(server, &self.redactor)).unwrap_or_default();
                let open = Open {
                    method: self.streams.path(lane.0).unwrap_or_default().to_owned(),
                    server: server.map(|server| server.address.to_string()),
                    metadata: [headers, self.client.facts()].concat(),
                    tls: Tls { client: None, server: tls },
                    ..Open::default()
                };
                // All polls until one fails are one stream, over any number of connections.
                if !self.open.contains_key(&lane.0) {
                    let id = self.assembler.open(now, open, &mut self.out);
                    self.open.insert(lane.0, id);
                    self.flush();
                }
                lock(&self.progress).failed = None;
                self.client.handle_opened(lane, &self.frames.catalog);
            }
            Event::Bytes(bytes) => {
                let Some(id) = self.open.get(&lane.0).copied() else { return };
                let ready = match self.may_preview() {
                    true => self.passing.entry(lane.0).or_default().push(bytes),
                    false => vec![bytes],
                };
                for bytes in ready {
                    self.assembler.data(id, Dir::Resp, &bytes, &mut self.frames.catalog);
                }
                return;
            }
            Event::Message => {
                let Some(id) = self.open.get(&lane.0).copied() else { return };
                self.pass(now, lane, id);
            }
            Event::Failed(error) if !self.polls.are_asked(lane) && self.streams.fall_back(lane.0) => {
                let next = self.streams.server(lane.0).map_or_else(String::new, |on| on.address.to_string());
                let what = self.cleaned_text(lane, error.what);
                self.shared.set_trouble(Some(format!("{what}; {next} is asked instead")));
            }
            Event::Answer(answer) => self.polled(now, lane, answer),
            Event::Failed(mut error) => {
                error.what = self.cleaned_text(lane, error.what);
                let note = Some(error.what.clone());
                self.end_stream(now, lane, End { by: Some(Side::Server), note, ..End::default() });
                self.client.handle_ended(now, lane, &mut self.frames.catalog);
                self.trouble(lane, now, &error.what);
                let mut progress = lock(&self.progress);
                progress.failed = Some(error);
                progress.attempts += 1;
            }
            Event::Ended(end) => self.ended(now, lane, end),
        }
        self.effects();
    }

    /// Handles the end of a lane's stream or polls.
    fn ended(&mut self, now: Time, lane: Lane, end: End) {
        let polls = self.polls.are_on(lane);
        let text = self.cleaned_text(lane, end_text(&end, polls));
        if !(polls && end.by == Some(Side::Client)) {
            self.end_stream(now, lane, end);
        } else if let Some(id) = self.open.get(&lane.0)
            && self.polls.forget(lane)
        {
            self.assembler.passed(now, *id, Dir::Req, 0, &mut self.out);
            self.flush();
        }
        self.client.handle_ended(now, lane, &mut self.frames.catalog);
        self.trouble(lane, now, &text);
        let mut progress = lock(&self.progress);
        progress.ended = Some(text);
        progress.attempts += 1;
    }

    /// Ends a lane's stream, if it is open.
    fn end_stream(&mut self, now: Time, lane: Lane, end: End) {
        self.polls.forget(lane);
        self.let_pass(lane);
        if let Some(id) = self.open.remove(&lane.0) {
            self.assembler.end(now, id, self.frames.catalog.clean_end(end), &mut self.out);
            self.flush();
        }
    }

    /// Removes secrets from a text of a lane's server, whose token may be new.
    fn cleaned_text(&self, lane: Lane, text: String) -> String {
        let _ = self.streams.server(lane.0).map(|server| cleaned(server, &self.redactor));
        self.redactor.text(&text).unwrap_or(text)
    }

    /// Reports an error, the number of attempts, and the time of the next one.
    fn trouble(&self, lane: Lane, now: Time, what: &str) {
        let again = self.client.retry(lane).map_or(String::new(), |(attempts, until)| {
            format!(" (attempt {attempts}, next in {:.1}s)", until.since(now).as_secs_f64())
        });
        self.shared.set_trouble(Some(format!("{what}{again}")));
    }

    fn timeout(&mut self) -> Time {
        let now = self.clock.now();
        self.changed |= self.client.due().is_some_and(|due| due <= now);
        self.client.handle_timeout(now, &mut self.frames.catalog);
        self.effects();
        if std::mem::take(&mut self.changed) {
            // Readers of the progress wait for the analysis of what is handed on.
            self.frames.hand_on();
            let text = |name: Option<Sym>| name.map(|name| self.frames.catalog.text(name).to_owned());
            let unanswered: Vec<_> = self.client.unanswered();
            let mut progress = lock(&self.progress);
            progress.begun = true;
            progress.open = self.client.is_open();
            let unmapped = self.client.unmapped();
            let unmapped =
                unmapped.map(|(name, cause)| (self.frames.catalog.text(name).to_owned(), cause.clone()));
            progress.unmapped = unmapped.collect();
            progress.unanswered = unanswered.into_iter().map(|(url, name)| (url, text(name))).collect();
        }
        if self.client.is_open() {
            self.shared.set_trouble(None);
        }
        now
    }

    /// Performs the client's effects.
    fn effects(&mut self) {
        let effects: Vec<Effect> = self.client.effects().collect();
        self.changed |= !effects.is_empty();
        let mut stuck = BTreeSet::new();
        for effect in effects {
            match effect {
                Effect::Open { lane, server, path } => match self.polls.begin(lane, &path) {
                    true => self.streams.poll(lane.0, server, path, self.settings.poll_timeout),
                    false => self.streams.open(lane.0, server, path),
                },
                Effect::Send { lane, bytes } => {
                    let request = self.transmit(lane, bytes);
                    stuck.extend(request.and_then(|request| self.note(request)));
                }
                Effect::Close { lane } => self.close(self.clock.now(), lane, None),
            }
        }
        self.flush();
        self.give_up(stuck);
    }

    /// Ends streams whose servers no longer read requests.
    fn give_up(&mut self, stuck: BTreeSet<Lane>) {
        for lane in stuck {
            let now = self.clock.now();
            self.close(now, lane, Some("the server no longer reads requests".into()));
            self.client.handle_ended(now, lane, &mut self.frames.catalog);
        }
    }

    fn close(&mut self, now: Time, lane: Lane, note: Option<String>) {
        self.streams.close(lane.0);
        self.end_stream(now, lane, End { by: Some(Side::Client), note, ..End::default() });
    }

    fn end(&mut self) -> Time {
        let now = self.clock.now();
        // A collected run is shown as it was before its end.
        if self.collected.is_none() {
            let lanes: Vec<u32> = self.open.keys().copied().collect();
            for lane in lanes {
                self.close(now, Lane(lane), None);
            }
        }
        now
    }

    /// Completes a message and returns it. The frame reaches the store and recording when it is
    /// flushed.
    fn message(&mut self, now: Time, id: StreamId, dir: Dir) -> Option<Arc<Message>> {
        let catalog = &mut self.frames.catalog;
        self.assembler.message(now, id, dir, catalog, &mut self.out);
        match &self.out.last()?.what {
            FramePayload::Message(message) => Some(message.clone()),
            _ => None,
        }
    }

    fn flush(&mut self) {
        for frame in self.out.drain(..) {
            if let Some(collected) = &mut self.collected {
                collected.push(frame.clone());
            }
            self.frames.write(&frame);
        }
    }
}

/// Returns the headers with secrets redacted. The redactor then knows the secrets and the token.
fn cleaned(server: &Server, redactor: &Redactor) -> Vec<(String, String)> {
    let clean = |(name, value): &(String, String)| {
        let clean = redactor.metadata(name, value);
        (name.to_ascii_lowercase(), clean.unwrap_or_else(|| value.clone()))
    };
    let token = server.token.as_ref().map(|token| {
        let _ = token.header().map(|(name, value)| redactor.metadata(&name, &value));
        ("authorization".to_owned(), "[redacted]".to_owned())
    });
    server.headers.iter().map(clean).chain(token).collect()
}
