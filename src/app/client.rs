//! A running xDS client: its streams, its requests, the analysis and the session file.

mod polls;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::net::client::{ClientReport, DialError, Event, Server, Streams};
use xdscope_engine::filter::Filter;
use xdscope_engine::store;
use xdscope_schema::redact::Redactor;
use xdscope_schema::{FieldNames, Schema};
use xdscope_sources::peers::client;
use xdscope_sources::peers::client::{Client, Effect, Lane, Ruling};
use xdscope_sources::record::Loaded;
use xdscope_wire::content::{Catalog, Redact};
use xdscope_wire::event::{Clock, Dir, Nonce, Side, StreamId, Sym, Time, TypeUrl};
use xdscope_wire::{Assembler, End, Frame, FramePayload, Message, Open, Tls};

use super::analysis_thread::Sink;
use super::live_state::LiveState;
use super::run_config::{RunConfig, RunningAnalysis, StartedRun, since};
use super::tap::StartError;
use crate::app::recording::frame_sink::FrameSink;
use crate::app::recording::recording_file::SessionFile;
use polls::{Polls, end_text};
use verdict::Passing;

/// A subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialSubscription {
    pub type_url: TypeUrl,
    pub wildcard: bool,
    pub names: Vec<String>,
}

/// The way in which responses are accepted or rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Reject responses that every client must reject.
    Auto,
    /// Also reject responses that cannot be decoded or violate the constraints of their type.
    Validate,
    /// Hold each response until the user decides.
    Ask,
    /// Never answer.
    Never,
}

/// The identity, servers and settings of a client.
pub struct Options {
    pub server: Server,
    /// Servers of authorities, numbered from 1 as in [`client::Config::authorities`].
    pub others: Vec<Server>,
    pub client: client::Config,
    pub wants: Vec<InitialSubscription>,
    pub ack_policy: AckPolicy,
    /// Responses to reject whatever their contents, with the error message.
    pub refuse: Vec<(Filter, String)>,
    /// The timeout of a REST poll.
    pub poll_timeout: Duration,
    /// The spelling of field names in a poll.
    pub poll_names: FieldNames,
    /// The path and the open session file; `None`: no recording.
    pub record: Option<SessionFile>,
    /// Keep the frames for [`Running::into_loaded`].
    pub collect: bool,
    pub keep_secrets: bool,
    /// The key of content ids and redacted secrets; `None`: random.
    pub seed: Option<u64>,
    pub store: store::Options,
    pub schema: Arc<Schema>,
    /// The title of the run, such as `watch cp.mesh:15010`.
    pub source: String,
}

/// A change of the client's behaviour while it runs.
#[derive(Clone, Debug)]
pub enum Command {
    Subscribe {
        type_url: TypeUrl,
        names: Vec<String>,
    },
    Unsubscribe {
        type_url: TypeUrl,
        names: Vec<String>,
    },
    Wildcard {
        type_url: TypeUrl,
        wanted: bool,
    },
    /// Accept or reject a held response; `None`: the newest.
    Rule {
        type_url: TypeUrl,
        nonce: Option<Nonce>,
        ruling: Ruling,
    },
    Reconnect,
}

/// The progress of a client.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The subscriptions have been made.
    pub begun: bool,
    /// All streams are open.
    pub open: bool,
    /// The error of the newest attempt to connect.
    pub failed: Option<DialError>,
    /// The error with which the newest stream ended.
    pub ended: Option<String>,
    /// Types, or names of them, that were requested and not delivered.
    pub unanswered: Vec<(TypeUrl, Option<String>)>,
    /// Names that resources refer to and that are not requested, with the reason.
    pub unmapped: Vec<(String, client::Unrequested)>,
    /// A subscription that the client cannot make.
    pub refused: Option<client::Refused>,
    /// Attempts and streams so far.
    pub attempts: u32,
}

/// A running client. Dropping it ends its streams.
pub struct Running {
    pub shared: Arc<LiveState>,
    progress: Arc<Mutex<Progress>>,
    commands: Option<mpsc::Sender<Command>>,
    thread: Option<JoinHandle<(Vec<Frame>, Catalog)>>,
    analysis: RunningAnalysis,
    pub recording: Option<PathBuf>,
    clock: Clock,
    start: Instant,
}

/// Commands that may wait to be handled.
const MAX_QUEUED_COMMANDS: usize = 64;

/// How long the client waits for the analysis of what it has received.
const ANALYSIS_TIME: Duration = Duration::from_secs(10);

/// The longest time without events before the client looks at the session file.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);

/// Events that are handled in one batch.
const MAX_BATCHED_EVENTS: usize = 64;

impl Running {
    pub fn start(options: Options, sink: Option<Sink>) -> Result<Running, StartError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(StartError::Thread)?;
        let kept = RunConfig {
            record: options.record,
            keep_secrets: options.keep_secrets,
            seed: options.seed,
            store: options.store,
            schema: options.schema.clone(),
            source: options.source,
        };
        let StartedRun { frames, shared, analysis, recording, clock, start, redactor } = kept.begin(sink)?;
        let progress = Arc::new(Mutex::new(Progress::default()));
        let (commands, queue) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let servers: Vec<Server> = [options.server].into_iter().chain(options.others).collect();
        let settings = ClientSettings {
            ack_policy: options.ack_policy,
            refuse: options.refuse,
            poll_timeout: options.poll_timeout,
            schema: options.schema.clone(),
            start,
        };
        let polls = Polls::new(options.schema, options.poll_names);
        let (wants, progress_too, shared_too) = (options.wants, progress.clone(), shared.clone());
        let (client, collect) = (Client::new(options.client), options.collect);
        let thread = std::thread::Builder::new().name("client".into()).spawn(move || {
            let kept = runtime.block_on(async move {
                let (streams, events) = Streams::new(servers);
                let work = ClientWorker {
                    settings,
                    client,
                    streams,
                    assembler: Assembler::default(),
                    open: BTreeMap::new(),
                    passing: BTreeMap::new(),
                    polls,
                    out: Vec::new(),
                    kept: collect.then(Vec::new),
                    changed: true,
                    progress: progress_too,
                    redactor,
                    shared: shared_too,
                };
                work.run(frames, wants, queue, events).await
            });
            // Do not wait for a name that is still being resolved.
            runtime.shutdown_background();
            kept
        });
        let thread = Some(thread.map_err(StartError::Thread)?);
        let commands = Some(commands);
        Ok(Running { shared, progress, commands, thread, analysis, recording, clock, start })
    }

    /// Returns the progress, once the facts are as new, or after ten seconds. The caller must not
    /// hold the store.
    pub fn progress(&self) -> Progress {
        let progress = lock(&self.progress).clone();
        self.analysis.journal.wait_until_analysed(ANALYSIS_TIME);
        progress
    }

    /// Returns the subscription that the client could not make. Waits for nothing.
    pub fn refused(&self) -> Option<client::Refused> {
        lock(&self.progress).refused.clone()
    }

    /// Returns the time on the run's clock.
    pub fn now(&self) -> Time {
        since(self.start)
    }

    /// Sends a command. Returns false if the client is too busy or has ended.
    pub fn command(&self, command: Command) -> bool {
        lock(&self.progress).refused = None;
        self.commands.as_ref().is_some_and(|commands| commands.try_send(command).is_ok())
    }

    /// Ends the streams and completes the session file. Returns its path and size.
    pub fn stop(mut self) -> Option<(PathBuf, u64)> {
        self.join();
        self.shared.kept()
    }

    /// Ends the streams. Returns the collected frames, if [`Options::collect`] was set.
    pub fn into_loaded(mut self) -> Option<Loaded> {
        self.analysis.journal.abandon();
        let (frames, catalog) = self.join()?;
        Some(Loaded {
            catalog,
            clock: self.clock,
            frames,
            end: self.now(),
            notices: Vec::new(),
            secrets: false,
        })
    }

    fn join(&mut self) -> Option<(Vec<Frame>, Catalog)> {
        self.commands = None;
        let joined = self.thread.take()?.join();
        self.analysis.join();
        if joined.is_err() {
            tracing::error!("the client's thread panicked; what it had recorded is kept");
        }
        joined.ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.join();
    }
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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

/// The settings that do not change during the run.
struct ClientSettings {
    ack_policy: AckPolicy,
    refuse: Vec<(Filter, String)>,
    poll_timeout: Duration,
    schema: Arc<Schema>,
    start: Instant,
}

/// The state of the client's thread.
struct ClientWorker {
    settings: ClientSettings,
    client: Client,
    streams: Streams,
    assembler: Assembler,
    /// The ids of open streams, by lane.
    open: BTreeMap<u32, StreamId>,
    /// Responses that are being received, by lane.
    passing: BTreeMap<u32, Passing>,
    polls: Polls,
    out: Vec<Frame>,
    kept: Option<Vec<Frame>>,
    /// `progress` is out of date.
    changed: bool,
    progress: Arc<Mutex<Progress>>,
    /// Knows the tokens of the servers.
    redactor: Arc<Redactor>,
    shared: Arc<LiveState>,
}

impl ClientWorker {
    async fn run(
        mut self,
        mut into: FrameSink,
        wants: Vec<InitialSubscription>,
        mut commands: mpsc::Receiver<Command>,
        mut events: mpsc::Receiver<ClientReport>,
    ) -> (Vec<Frame>, Catalog) {
        let mut now = self.begin(wants, &mut into);
        loop {
            into.hand_on();
            into.flush_file(now);
            let journal = into.journal().clone();
            let due = self.client.due().map(|due| due.since(since(self.settings.start)));
            let wait = [due, into.due()].into_iter().flatten().fold(IDLE_INTERVAL, Duration::min);
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
                self.command(command, &mut into);
            }
            let mut taken = 0;
            while let Some(event) = happened.take() {
                self.event(event, &mut into);
                taken += 1;
                happened = if taken < MAX_BATCHED_EVENTS { events.try_recv().ok() } else { None };
            }
            now = self.timeout(&mut into);
            // A collected run is short, and its frames are read afterwards.
            if self.kept.is_none() {
                into.drop_old(|used| {
                    self.client.mark(used);
                    self.assembler.mark(used);
                });
            }
        }
        let now = self.end(&mut into);
        let catalog = into.finish(now);
        (self.kept.unwrap_or_default(), catalog)
    }

    fn begin(&mut self, wants: Vec<InitialSubscription>, into: &mut FrameSink) -> Time {
        let now = since(self.settings.start);
        for want in wants {
            if want.wildcard {
                let command = Command::Wildcard { type_url: want.type_url.clone(), wanted: true };
                self.command(command, into);
            }
            if !want.names.is_empty() || !want.wildcard {
                self.command(Command::Subscribe { type_url: want.type_url, names: want.names }, into);
            }
        }
        self.timeout(into);
        now
    }

    fn command(&mut self, command: Command, into: &mut FrameSink) {
        self.changed = true;
        let now = since(self.settings.start);
        let catalog = &mut into.catalog;
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
            Command::Reconnect => {
                self.client.reconnect(now, catalog);
                Ok(())
            }
        };
        if let Err(error) = done {
            lock(&self.progress).refused = Some(error);
        }
        self.effects(into);
    }

    fn event(&mut self, happened: ClientReport, into: &mut FrameSink) {
        if !self.streams.is_current(&happened) {
            return;
        }
        let (now, lane) = (since(self.settings.start), Lane(happened.lane));
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
                    self.flush(into);
                }
                lock(&self.progress).failed = None;
                self.client.handle_opened(lane, &into.catalog);
            }
            Event::Bytes(bytes) => {
                let Some(id) = self.open.get(&lane.0).copied() else { return };
                let ready = match self.may_preview() {
                    true => self.passing.entry(lane.0).or_default().push(bytes),
                    false => vec![bytes],
                };
                for bytes in ready {
                    self.assembler.data(id, Dir::Resp, &bytes, &mut into.catalog);
                }
                return;
            }
            Event::Message => {
                let Some(id) = self.open.get(&lane.0).copied() else { return };
                self.pass(now, lane, id, into);
            }
            Event::Failed(error) if !self.polls.are_asked(lane) && self.streams.fall_back(lane.0) => {
                let next = self.streams.server(lane.0).map_or_else(String::new, |on| on.address.to_string());
                let what = self.cleaned_text(lane, error.what);
                self.shared.set_trouble(Some(format!("{what}; {next} is asked instead")));
            }
            Event::Answer(answer) => self.polled(now, lane, answer, into),
            Event::Failed(mut error) => {
                error.what = self.cleaned_text(lane, error.what);
                let note = Some(error.what.clone());
                self.end_stream(now, lane, End { by: Some(Side::Server), note, ..End::default() }, into);
                self.client.handle_ended(now, lane, &mut into.catalog);
                self.trouble(lane, now, &error.what);
                let mut progress = lock(&self.progress);
                progress.failed = Some(error);
                progress.attempts += 1;
            }
            Event::Ended(end) => self.ended(now, lane, end, into),
        }
        self.effects(into);
    }

    /// Handles the end of a lane's stream or polls.
    fn ended(&mut self, now: Time, lane: Lane, end: End, into: &mut FrameSink) {
        let polls = self.polls.are_on(lane);
        let text = self.cleaned_text(lane, end_text(&end, polls));
        if !(polls && end.by == Some(Side::Client)) {
            self.end_stream(now, lane, end, into);
        } else if let Some(id) = self.open.get(&lane.0).filter(|_| self.polls.forget(lane)) {
            self.assembler.passed(now, *id, Dir::Req, 0, &mut self.out);
            self.flush(into);
        }
        self.client.handle_ended(now, lane, &mut into.catalog);
        self.trouble(lane, now, &text);
        let mut progress = lock(&self.progress);
        progress.ended = Some(text);
        progress.attempts += 1;
    }

    /// Ends a lane's stream, if it is open.
    fn end_stream(&mut self, now: Time, lane: Lane, end: End, into: &mut FrameSink) {
        self.polls.forget(lane);
        self.let_pass(lane, into);
        if let Some(id) = self.open.remove(&lane.0) {
            self.assembler.end(now, id, into.catalog.clean_end(end), &mut self.out);
            self.flush(into);
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

    fn timeout(&mut self, into: &mut FrameSink) -> Time {
        let now = since(self.settings.start);
        self.changed |= self.client.due().is_some_and(|due| due <= now);
        self.client.handle_timeout(now, &mut into.catalog);
        self.effects(into);
        if std::mem::take(&mut self.changed) {
            // Readers of the progress wait for the analysis of what is handed on.
            into.hand_on();
            let text = |name: Option<Sym>| name.map(|name| into.catalog.text(name).to_owned());
            let unanswered: Vec<_> = self.client.unanswered();
            let mut progress = lock(&self.progress);
            progress.begun = true;
            progress.open = self.client.is_open();
            let unmapped = self.client.unmapped();
            let unmapped = unmapped.map(|(name, cause)| (into.catalog.text(name).to_owned(), cause.clone()));
            progress.unmapped = unmapped.collect();
            progress.unanswered = unanswered.into_iter().map(|(url, name)| (url, text(name))).collect();
        }
        if self.client.is_open() {
            self.shared.set_trouble(None);
        }
        now
    }

    /// Performs the client's effects.
    fn effects(&mut self, into: &mut FrameSink) {
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
                    stuck.extend(request.and_then(|request| self.note(request, into)));
                }
                Effect::Close { lane } => self.close(since(self.settings.start), lane, None, into),
            }
        }
        self.flush(into);
        self.give_up(stuck, into);
    }

    /// Ends streams whose servers no longer read requests.
    fn give_up(&mut self, stuck: BTreeSet<Lane>, into: &mut FrameSink) {
        for lane in stuck {
            let now = since(self.settings.start);
            self.close(now, lane, Some("the server no longer reads requests".into()), into);
            self.client.handle_ended(now, lane, &mut into.catalog);
        }
    }

    fn close(&mut self, now: Time, lane: Lane, note: Option<String>, into: &mut FrameSink) {
        self.streams.close(lane.0);
        self.end_stream(now, lane, End { by: Some(Side::Client), note, ..End::default() }, into);
    }

    fn end(&mut self, into: &mut FrameSink) -> Time {
        let now = since(self.settings.start);
        // A collected run is shown as it was before its end.
        let shown = self.kept.is_none();
        let lanes: Vec<u32> = self.open.keys().copied().filter(|_| shown).collect();
        for lane in lanes {
            self.close(now, Lane(lane), None, into);
        }
        now
    }

    /// Completes a message and returns it. The frame reaches the store and recording when it is
    /// flushed.
    fn message(&mut self, now: Time, id: StreamId, dir: Dir, into: &mut FrameSink) -> Option<Arc<Message>> {
        let catalog = &mut into.catalog;
        self.assembler.message(now, id, dir, catalog, &mut self.out);
        match &self.out.last()?.what {
            FramePayload::Message(message) => Some(message.clone()),
            _ => None,
        }
    }

    fn flush(&mut self, into: &mut FrameSink) {
        for frame in self.out.drain(..) {
            if let Some(kept) = &mut self.kept {
                kept.push(frame.clone());
            }
            into.write(&frame);
        }
    }
}
