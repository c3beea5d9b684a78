//! Runs that last until they are stopped: `tap`, `demo` and `serve`, with screens or one line per
//! event.

mod check_config;
pub(super) mod ending;
pub(super) mod faults;
pub(super) mod holds;
mod kept;
pub(super) mod replay;
pub(super) mod screens;
pub(super) mod serve;
pub(super) mod serve_plan;
mod service;
pub(super) mod themes;
pub(super) mod watch;
pub(super) mod watch_files;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::app::analysis_thread::Sink;
use crate::app::demo::{Demo, Scenario};
use crate::app::live_state::LiveState;
use crate::app::process::limits;
use crate::app::process::open;
use crate::app::process::signals;
use crate::app::process::signals::Signal;
use crate::app::recording::recording_file;
use crate::app::recording::recording_file::{Rotation, SessionFile};
use crate::app::recording::session_dir;
use crate::app::tap::{Budgets, CopyLimits, Front, Options, Running};
use crate::net::tap::{HoldDesk, SharedFaults, Tls};
use crate::net::transport::{Address, AddressError};
use xdscope_engine::filter::RowKind;
use xdscope_present::json;
use xdscope_schema::Schema;
use xdscope_schema::bootstrap;
use xdscope_wire::event::Seq;
use xdscope_wire::text;

use super::args::{CopyFlags, DemoArgs, Format, Global, LiveFlags, RecordMax, TapArgs};
use super::error::{CliError, Exit};
use crate::cli::output::event_lines::{EventLines, UnprintedLines};
use crate::cli::output::message_line;
use crate::cli::output::message_line::{DEFAULT_COLUMNS, RowLayout};
use crate::cli::peer::connect;
use crate::cli::read::lint;
use crate::cli::source::{offline, schema_flags, select};
use crate::cli::terminal::diagnostics;
use crate::cli::terminal::io::Io;
use ending::Ending;
use service::Service;

/// Interval at which a run without screens checks whether its output is still read.
const OUTPUT_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Limit of silences when a rewound run plays.
const REWIND_IDLE_LIMIT: Duration = Duration::from_secs(2);

/// A run, before it starts.
pub(super) struct Run<'a> {
    pub flags: &'a LiveFlags,
    pub global: &'a Global,
    pub decode: bool,
    pub copies: CopyFlags,
    /// Verb of the run: `tap`, `demo`, `serve`, `watch`.
    pub verb: &'static str,
    pub empty: Vec<String>,
    pub notice: Option<String>,
    /// The screens show the tour of the demo.
    pub has_tour: bool,
    /// When the run ends by itself, without screens.
    pub ending: Option<Ending<'a>>,
    /// Why nobody can hold messages of a tap.
    pub no_hold: Option<String>,
}

/// Runs `tap`.
pub(super) fn tap(args: &TapArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let wrong = |error: AddressError| {
        CliError::usage(error.to_string()).next("xdscope tap HOST:PORT --listen 127.0.0.1:18001")
    };
    let mut maps = Vec::new();
    for map in &args.map {
        let (listen, upstream) = map.split_once('=').ok_or_else(|| {
            CliError::usage(format!("not a LISTEN=UPSTREAM pair: `{map}`"))
                .next("xdscope tap --map 127.0.0.1:18001=cp.mesh:15010")
        })?;
        maps.push((Address::listen(listen).map_err(wrong)?, upstream.parse().map_err(wrong)?));
    }
    if let Some(server) = &args.server {
        maps.push((Address::listen(&args.listen).map_err(wrong)?, server.parse().map_err(wrong)?));
    }
    check_pairs(&maps)?;
    if let Some(file) = &args.rewrite_bootstrap {
        return rewrite(file, &maps, connect::of_tls_clients(args, &maps), io);
    }
    for (listen, _) in &maps {
        if !listen.is_local() && args.secure.listen_client_ca.is_none() {
            io.say(&format!("warning: everyone who can reach {listen} can use the control plane through it"));
        }
    }
    let (upstream, has_tls) = (maps[0].1.clone(), args.secure.listen_cert.is_some());
    let (flags, empty) = (&args.live, Vec::new());
    let (copies, decode) = (args.copies.clone(), !args.no_decode);
    let changes = connect::changes(&args.live.descriptors.connect)?;
    let tls = connect::tap(args, &maps)?;
    let listen = maps.iter().map(|(listen, _)| listen);
    let faults = faults::read(&args.faults, Vec::new(), args.live.read_only, listen)?;
    faults::say_unknown(faults.as_ref(), global, io);
    let faults = faults.map(SharedFaults::from);
    let ending = Ending::read(&args.end, faults.as_ref(), global, io)?;
    if args.check_config {
        return check_config::run(args, &maps, &tls, global, io);
    }
    let (verb, notice, has_tour, no_hold) = ("tap", None, false, None);
    let mut run = Run { flags, global, decode, copies, verb, empty, notice, has_tour, ending, no_hold };
    let memory = offline::options(&args.live.timers).history;
    let holds::HoldAccess { desk, refusal } = holds::of_tap(args, &maps, run.has_screens(io), memory)?;
    run.no_hold = refusal;
    let front = Front::Tap { connect_timeout: args.connect_timeout, tls, maps, changes, faults, desk };
    run.start(front, io, |running| Some(how_to_connect(&running.tap.listening[0], &upstream, has_tls)))
}

/// Refuses pairs that cannot work: two on one address, and one that forwards to itself.
fn check_pairs(maps: &[(Address, Address)]) -> Result<(), CliError> {
    for (index, (listen, upstream)) in maps.iter().enumerate() {
        // Port 0 stands for any free port.
        if !listen.to_string().ends_with(":0") && maps[..index].iter().any(|(other, _)| other == listen) {
            return Err(
                CliError::usage(format!("two pairs listen on {listen}")).next("--map with another port")
            );
        }
        if maps.iter().any(|(other, _)| other == upstream) {
            let error = CliError::usage(format!("the tap would forward from {upstream} to itself"));
            return Err(error.next("the address of the control plane"));
        }
    }
    Ok(())
}

/// Explains how to connect a client to the address on which the tap listens; shown until one
/// connects.
fn how_to_connect(listen: &Address, upstream: &Address, tls: bool) -> Vec<String> {
    let mut lines =
        vec![format!("Listening on {listen}, forwarding to {upstream}: no client has connected yet.")];
    lines.extend(for_clients(listen, tls));
    lines.extend([
        String::new(),
        "Or let xdscope write it:".into(),
        format!("  xdscope tap {upstream} --listen {listen} --rewrite-bootstrap envoy.yaml > tapped.yaml"),
    ]);
    lines
}

/// Explains what the bootstrap of a client needs to connect to `listen`.
pub(super) fn for_clients(listen: &Address, tls: bool) -> Vec<String> {
    let listen = listen.to_string();
    let place = match listen.strip_prefix("unix:") {
        Some(path) => format!("{{pipe: {{path: {path}}}}}"),
        None => {
            let (host, port) = listen.rsplit_once(':').unwrap_or((&listen, "0"));
            format!("{{socket_address: {{address: {}, port_value: {port}}}}}", host.trim_matches(['[', ']']))
        }
    };
    let creds = if tls { "tls" } else { "insecure" };
    vec![
        String::new(),
        "An Envoy: in its bootstrap, the address of the xDS cluster".into(),
        format!("  address: {place}"),
        String::new(),
        "A gRPC client: in its xDS bootstrap".into(),
        format!(
            r#"  "xds_servers": [{{"server_uri": "{listen}", "channel_creds": [{{"type": "{creds}"}}]}}]"#
        ),
    ]
}

/// Prints the bootstrap of `--rewrite-bootstrap` with its servers replaced by the tap.
fn rewrite(file: &Path, maps: &[(Address, Address)], tls: &str, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let failed = || CliError::unreadable(format!("cannot rewrite {}", file.display()));
    let text = open::bootstrap(file).map_err(|error| failed().because(error))?;
    let redirect = |(listen, upstream): &(Address, Address)| bootstrap::Redirect {
        listen: listen.to_string(),
        upstream: upstream.to_string(),
    };
    let redirects: Vec<_> = maps.iter().map(redirect).collect();
    let out = bootstrap::rewrite(&text, &redirects, tls).map_err(|error| failed().because(error))?;
    io.stdout.write_all(out.text.as_bytes())?;
    for note in out.notes {
        io.say(&note);
    }
    Ok(Exit::Yes)
}

/// Runs `demo`.
pub(super) fn demo(args: &DemoArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    if args.list {
        for scenario in Scenario::ALL {
            writeln!(io.stdout, "{:<10} {}", scenario.word(), scenario.about())?;
        }
        return Ok(Exit::Yes);
    }
    let schema = schema_flags::schema(&args.live.descriptors, global)?;
    let demo = Demo::start(schema, args.scenario, args.seed)
        .map_err(|error| CliError::new(Exit::Connection, "cannot start").because(error))?;
    let front = Front::Tap {
        maps: vec![(Address::Tcp("127.0.0.1:0".into()), demo.upstream.clone())],
        connect_timeout: Duration::from_secs(10),
        tls: Tls::default(),
        changes: None,
        faults: None,
        desk: None,
    };
    let run = Run {
        flags: &args.live,
        global,
        decode: true,
        copies: CopyFlags::default(),
        verb: "demo",
        empty: vec!["The demo's clients are about to connect.".into()],
        notice: Some(args.scenario.hint().into()),
        has_tour: args.scenario == Scenario::Tour,
        ending: None,
        no_hold: Some("the demo holds nothing: xdscope tap SERVER does".into()),
    };
    run.start(front, io, |running| {
        demo.connect(&running.tap.listening[0]);
        None
    })
}

impl Run<'_> {
    /// Runs until it is stopped.
    ///
    /// `begin` is called once the run listens, and returns the lines of an empty screen where they
    /// differ from `empty`: a port may be known only then.
    pub(super) fn start(
        mut self,
        front: Front,
        io: &mut Io<'_>,
        begin: impl FnOnce(&Running) -> Option<Vec<String>>,
    ) -> Result<Exit, CliError> {
        let flags = self.flags;
        let schema = match front.upstream() {
            Some(upstream) => {
                let server = upstream.to_string();
                schema_flags::schema_of_server(&flags.descriptors, &server, self.global, io)?
            }
            None => schema_flags::schema(&flags.descriptors, self.global)?,
        };
        if let Some(faults) = front.faults() {
            faults::check_values(&faults.lock(), &schema)?;
        }
        // Load descriptors in the background, ready for the first message.
        let warm = schema.clone();
        let warming = std::thread::spawn(move || warm.warm());
        let (screens, mut ending) = (self.has_screens(io), self.ending.take());
        let mut service = Service::start(flags, io)?;
        let record = self.recording(io)?;
        let options = Options {
            front,
            decode: self.decode,
            copies: self.copy_limits(record.as_ref().map(|session| session.path.as_path()), io),
            record,
            keep_secrets: flags.keep_secrets,
            store: offline::options(&flags.timers),
            schema: schema.clone(),
            verb: self.verb,
        };
        let sink = if screens || !self.decode { None } else { Some(self.sink(io)?) };
        let (sink, unprinted) = sink.unzip();
        let signals = signals::watch(screens, self.copies.drain)
            .map_err(|error| CliError::new(Exit::Defect, "cannot handle signals").because(error))?;
        limits::raise_descriptors();
        let session = options.record.as_ref().map(|session| session.path.clone());
        let running = Running::start(options, sink)
            .inspect_err(|_| session.iter().for_each(|path| recording_file::remove_empty(path)))?;
        signals::on_hang(running.finisher());
        if !self.global.quiet {
            running.listening.iter().for_each(|address| io.say(&format!("listening on {address}")));
        }
        service.begin(running.monitored(), &running.source, self.global.quiet, io);
        if let Some(lines) = begin(&running) {
            self.empty = lines;
        }
        let result = if screens {
            let listening: Vec<String> = running.tap.listening.iter().map(ToString::to_string).collect();
            let listening = || format!("listening on {}", listening.join(", "));
            // The tour says what to press.
            let notice = (!self.has_tour).then(|| self.notice.clone().unwrap_or_else(listening));
            let Some(shared) = running.shared.clone() else { return Ok(Exit::Yes) };
            let shown = Shown {
                shared,
                recording: running.recording.clone(),
                source: running.source.clone(),
                notice,
                client: None,
                tap: running.meter(),
                desk: running.desk.clone().map(|desk| (desk, running.budgets())),
            };
            self.screens(io, shown, schema, signals)
        } else {
            self.print_events(&running, ending.as_mut(), &mut service, &signals, io);
            Ok(())
        };
        service.stop();
        let shared = running.shared.clone();
        self.end(io, running, unprinted.as_ref());
        // A failure to load was reported where the schema is used.
        let _ = warming.join();
        result?;
        match (ending, shared) {
            (Some(ending), Some(shared)) => ending.conclude(&shared.store(), flags.format, self.global, io),
            _ => Ok(Exit::Yes),
        }
    }

    /// Prints events until the run is stopped, or until its end.
    fn print_events(
        &self,
        running: &Running,
        mut ending: Option<&mut Ending<'_>>,
        service: &mut Service,
        signals: &std::sync::mpsc::Receiver<Signal>,
        io: &mut Io<'_>,
    ) {
        let mut is_said = false;
        until_stopped(signals, || {
            service.ping();
            if let Some(shared) = &running.shared {
                kept::say_news(shared, io);
            }
            let unread = running.shared.as_ref().is_some_and(|shared| shared.unread());
            if unread && self.ends_with_reader() {
                return true;
            }
            if unread && !std::mem::replace(&mut is_said, true) {
                io.say(&format!("stdout is closed: events are not printed any more; {}", self.remains()));
            }
            match (&mut ending, &running.shared) {
                (Some(ending), Some(shared)) => ending.is_over(&shared.store()),
                _ => false,
            }
        });
    }

    /// Whether the run opens screens.
    fn has_screens(&self, io: &Io<'_>) -> bool {
        let wants_screens = self.flags.format.is_none() && !self.flags.no_tui && self.ending.is_none();
        self.decode && wants_screens && io.has_screen()
    }

    /// Whether the run ends when nobody reads its events: a demo serves nobody else.
    fn ends_with_reader(&self) -> bool {
        self.verb == "demo"
    }

    /// Says what goes on without a reader of events.
    fn remains(&self) -> &'static str {
        match (self.verb, self.flags.no_record) {
            ("tap", false) => "traffic and recording go on",
            ("tap", true) => "traffic goes on",
            (_, false) => "serving and recording go on",
            (_, true) => "serving goes on",
        }
    }

    /// Returns the limits of copies. The spool is next to the session file.
    fn copy_limits(&self, recording: Option<&Path>, io: &Io<'_>) -> CopyLimits {
        let CopyFlags { spool, drain } = self.copies;
        let beside = recording.filter(|path| path.is_file()).and_then(Path::parent);
        let folder = match beside {
            Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
            Some(folder) => folder.to_owned(),
            None => io.state_dir().filter(|dir| dir.is_dir()).unwrap_or_else(std::env::temp_dir),
        };
        CopyLimits { memory: None, spool: (spool > 0).then_some((folder, spool)), drain }
    }

    /// Creates the session file, and removes old ones.
    pub(super) fn recording(&self, io: &mut Io<'_>) -> Result<Option<SessionFile>, CliError> {
        if self.flags.no_record || !self.decode {
            return Ok(None);
        }
        let begun = jiff::Zoned::now().with_time_zone(io.zone.clone()).datetime();
        if let Some(path) = &self.flags.record {
            let created = match (recording_file::is_folder(path), self.flags.force) {
                (true, _) => session_dir::create_session(path, begun),
                (false, true) => recording_file::replace(path).map(|file| (path.clone(), file)),
                (false, false) => recording_file::create(path).map(|file| (path.clone(), file)),
            };
            let (path, file) = created.map_err(|error| {
                let next = match error.kind() {
                    std::io::ErrorKind::AlreadyExists if self.flags.force => "--record OTHER-FILE",
                    std::io::ErrorKind::AlreadyExists => "--record OTHER-FILE, or --force",
                    _ => "--record FILE",
                };
                let failed = format!("cannot create the session file {}", path.display());
                CliError::unreadable(failed).because(error).next(next)
            })?;
            return Ok(Some(SessionFile { path, file, rotation: self.rotation() }));
        }
        let Some(dir) = io.state_dir() else {
            io.say("no home directory: this run is not recorded; --record FILE records it");
            return Ok(None);
        };
        let failed = |error| {
            CliError::unreadable(format!("cannot keep sessions in {}", dir.display()))
                .because(error)
                .next("--record FILE, or --no-record")
        };
        let (path, file) = session_dir::create_session(&dir, begun).map_err(failed)?;
        session_dir::clean(&dir, Some(&path), session_dir::MAX_SESSIONS, session_dir::MAX_SESSION_BYTES)
            .map_err(failed)?;
        Ok(Some(SessionFile { path, file, rotation: self.rotation() }))
    }

    /// Returns when to begin another session file.
    fn rotation(&self) -> Rotation {
        let mut rotation = Rotation {
            keep: self.flags.keep.and_then(|keep| usize::try_from(keep).ok()),
            ..Rotation::default()
        };
        for max in &self.flags.record_max {
            match max {
                RecordMax::Bytes(bytes) => rotation.max_bytes = Some(*bytes),
                RecordMax::Age(age) => rotation.max_age = Some(*age),
            }
        }
        rotation
    }

    /// Returns a sink that prints each row, and what reports the rows that it could not print.
    pub(super) fn sink(&self, io: &mut Io<'_>) -> Result<(Sink, UnprintedLines), CliError> {
        let zone = io.zone(self.flags.time);
        let filter = select::filter(self.flags.filter.as_deref(), RowKind::Messages, &zone)?;
        select::say_unknown_types(&filter, self.global.quiet, io);
        // Earlier output stands in front of the first event.
        io.flush()?;
        diagnostics::detach_stderr();
        let jsonl = self.flags.format == Some(Format::Jsonl);
        let style = io.style(self.global);
        let (time, is_cut) = (self.flags.time, io.stdout_is_terminal);
        let columns = io.columns().unwrap_or(DEFAULT_COLUMNS);
        let layout = RowLayout { time, zone: zone.clone(), style, has_nodes: true, is_cut, columns };
        let mut before = None;
        let lines = EventLines::start();
        let mut lines =
            lines.map_err(|error| CliError::new(Exit::Defect, "cannot print events").because(error))?;
        let unprinted = lines.unprinted();
        let sink: Sink = Box::new(move |store, rows, found| {
            lines.check()?;
            for fact in rows.filter_map(|row| store.row(row)).filter(|fact| filter.message(fact, store)) {
                lines.put(|| match jsonl {
                    true => message_line::json(&fact, store),
                    false => layout.row(&fact, before, store),
                })?;
                before = Some(fact.at);
            }
            let shows = |n: &Seq| {
                let fact = store.row_of(*n).and_then(|row| store.row(row));
                fact.is_some_and(|fact| filter.message(&fact, store))
            };
            let found = store.findings().get(found).unwrap_or_default().iter();
            for finding in found.filter(|finding| filter.is_empty() || finding.messages.iter().any(shows)) {
                lines.put(|| match jsonl {
                    true => crate::cli::output::json_out::line(&json::finding(finding, None, &store.clock())),
                    false => lint::line(finding, store, &zone, style),
                })?;
            }
            Ok(())
        });
        Ok((sink, unprinted))
    }

    pub(super) fn screens(
        &self,
        io: &mut Io<'_>,
        shown: Shown<'_>,
        schema: Arc<Schema>,
        signals: std::sync::mpsc::Receiver<Signal>,
    ) -> Result<(), CliError> {
        use crate::app::screen::{LiveFeed, RunInfo};
        use xdscope_tui::Decoded;
        let screen = crate::cli::live::screens::wanted("--view", self.flags.view.as_deref())?;
        let copies = io.state_dir().unwrap_or_else(std::env::temp_dir);
        let replay = self.rewind_options(&shown, &schema, io);
        let about = RunInfo {
            source: shown.source,
            recording: shown.recording,
            empty: self.empty.clone(),
            notice: shown.notice,
            copies,
            keep_secrets: self.flags.keep_secrets,
            serves_clients: self.verb != "watch",
            is_demo: self.verb == "demo",
            has_tour: self.has_tour,
            no_hold: self.no_hold.clone(),
            sessions: io.state_dir().map(|dir| session_dir::names(&dir)).unwrap_or_default(),
        };
        let memory = offline::options(&self.flags.timers).history;
        let applied = crate::cli::source::applied::file(self.flags.applied.as_deref(), memory, &schema, io)?;
        let feed = LiveFeed::new(shown.shared, Decoded(schema), about, replay).of_client(shown.client);
        let feed = feed.beside(applied).of_tap(shown.tap).of_desk(shown.desk);
        let result = crate::cli::live::screens::run(
            &feed,
            screen,
            &self.flags.screens,
            self.flags.time,
            self.global,
            io,
            signals,
        );
        match feed.end_named() {
            Some(Ok(notice)) => io.say(&notice),
            Some(Err(why)) => io.say(&format!("the named recording failed: {why}")),
            None => {}
        }
        result
    }

    /// Returns the settings with which the session so far is read, to step back in it.
    fn rewind_options(
        &self,
        shown: &Shown<'_>,
        schema: &Arc<Schema>,
        io: &Io<'_>,
    ) -> crate::app::replay::Options {
        crate::app::replay::Options {
            store: offline::options(&self.flags.timers),
            meaning: crate::app::tap::meaning(schema.clone()),
            rules: xdscope_engine::analysis::bounded(schema),
            idle: REWIND_IDLE_LIMIT,
            speed: xdscope_tui::Speed::new(1.0),
            source: shown.source.clone(),
            rerun: shown.recording.iter().map(|path| path.display().to_string()).collect(),
            notices: Vec::new(),
            copies: io.state_dir().unwrap_or_else(std::env::temp_dir),
            file: None,
            rewound: true,
            trouble: None,
        }
    }

    /// Stops the run, and says where the session is.
    fn end(&self, io: &mut Io<'_>, running: Running, unprinted: Option<&UnprintedLines>) {
        let (counters, copies) = (running.tap.counters.clone(), running.tap.copies.clone());
        let shared = running.shared.clone();
        let kept = running.stop();
        let is_kept = kept.is_some();
        let left = copies.map_or(0, |copies| copies.backlog());
        if left > 0 && !self.global.quiet {
            io.say(&format!("{} were not analysed within --drain", text::size(left)));
        }
        if let Some(shared) = shared {
            kept::say_unprinted(&shared, unprinted, io);
            kept::say_kept(&shared, kept, self.global, io);
        }
        if !(is_kept || self.decode || self.global.quiet) {
            let load =
                |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
            io.say(&format!(
                "{} connections, {} to the server, {} to clients",
                load(&counters.connections),
                text::size(load(&counters.bytes_in)),
                text::size(load(&counters.bytes_out)),
            ));
        }
    }
}

/// The content of the screens of a run.
pub(super) struct Shown<'a> {
    pub shared: Arc<LiveState>,
    pub recording: Option<PathBuf>,
    pub source: String,
    pub notice: Option<String>,
    /// The client, if the streams are its own.
    pub client: Option<&'a crate::app::client::Running>,
    /// The tap, if there is one.
    pub tap: Option<crate::app::tap::TapMeter>,
    /// The messages that a person holds, and the memory of facts.
    pub desk: Option<(Arc<HoldDesk>, Budgets)>,
}

/// Blocks until a signal asks to stop, or `done` returns true.
pub(super) fn until_stopped(signals: &std::sync::mpsc::Receiver<Signal>, mut done: impl FnMut() -> bool) {
    loop {
        match signals.recv_timeout(OUTPUT_CHECK_INTERVAL) {
            Err(RecvTimeoutError::Timeout) if done() => return,
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Signal::Resize) => {}
            Ok(Signal::Stop | Signal::Suspend) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
