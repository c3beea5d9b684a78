//! A control plane that plays the server's side of an arrow script over gRPC against the client.
//!
//! The script is the whole conversation. The server sends its lines; the client must send exactly
//! the client's lines; where the clock advances (`advance 1s`) nothing may be sent. Comments that
//! begin with `#!` configure the client: the first states its identity and subscriptions, later
//! ones change them:
//!
//! ```text
//! #! client ads legacy follow cds eds/a
//! #! subscribe eds a b
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::net::TcpListener;
use tokio_stream::StreamExt;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Status, Streaming};
use xdscope::app::client::{AckPolicy, Command, InitialSubscription, Options, Running};
use xdscope::net::client::Server;
use xdscope_engine::analysis;
use xdscope_engine::lint;
use xdscope_engine::store;
use xdscope_present::json;
use xdscope_schema::bootstrap::FallbackServer;
use xdscope_schema::{FieldNames, Schema};
use xdscope_sources::SchemaCodec;
use xdscope_sources::peers::client::{Config, Ruling, ServerProfile};
use xdscope_sources::record::Loaded;
use xdscope_sources::script::{self, Expectation, MessageBody, Script, ScriptLine, Statement};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{ApiVersion, Dir, Kind, StreamId, Sym, TypeUrl, Variant};
use xdscope_wire::{FramePayload, Message, MessageShape};

use super::wait::{PATIENCE, pass, wait_for};
use crate::support::grpc_server::{Handler, Responses, Streams};

/// Silence required after the last line.
const SILENCE: Duration = Duration::from_millis(150);

/// A stream that the client opened.
pub struct Opened {
    path: String,
    /// Requests of the stream, each with the time at which it came; the channel ends with the
    /// stream.
    requests: mpsc::Receiver<(Bytes, Instant)>,
    /// A request that came after a silence and before its line.
    early: Option<(Bytes, Instant)>,
    pub responses: Responses,
}

impl Opened {
    /// Waits for the next request, and returns when it came. An error means that none came, or that
    /// the stream has ended.
    pub fn request(&mut self) -> Result<(Bytes, Instant), mpsc::RecvTimeoutError> {
        match self.early.take() {
            Some(early) => Ok(early),
            None => self.requests.recv_timeout(PATIENCE),
        }
    }

    /// Returns the next request if it came before `end`.
    fn request_before(&mut self, end: Instant) -> Option<Bytes> {
        let (bytes, at) = self.early.take().or_else(|| self.requests.try_recv().ok())?;
        if at < end {
            return Some(bytes);
        }
        self.early = Some((bytes, at));
        None
    }
}

struct Doors(mpsc::Sender<Opened>);

impl Handler for Doors {
    fn stream(
        &self,
        path: &str,
        mut requests: Streaming<Bytes>,
        responses: Responses,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (send, receive) = mpsc::channel();
        // The player is gone: the stream ends.
        let _ = self.0.send(Opened { path: path.to_owned(), requests: receive, early: None, responses });
        Box::pin(async move {
            while let Some(Ok(bytes)) = requests.next().await {
                if send.send((bytes, Instant::now())).is_err() {
                    return;
                }
            }
        })
    }
}

/// A server on loopback that hands over each stream; it runs as long as the runtime.
pub struct Plane {
    pub opened: mpsc::Receiver<Opened>,
    pub address: String,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Plane {
    pub fn start() -> Plane {
        let (send, opened) = mpsc::channel();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        runtime.spawn(async move {
            let incoming = TcpIncoming::from(listener);
            let served = tonic::transport::Server::builder()
                .serve_with_incoming(Streams::new(Doors(send)), incoming)
                .await;
            served.expect("a server");
        });
        Plane { opened, address, runtime: Some(runtime) }
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Parses a subscription of the client's first line: `cds`, `eds/a`, `xdstp://…`.
fn want(word: &str) -> InitialSubscription {
    if let Some((type_url, _)) =
        word.starts_with("xdstp:").then(|| xdscope_wire::xdstp::parse_subscription(word)).flatten()
    {
        return InitialSubscription { type_url, wildcard: false, names: vec![word.to_owned()] };
    }
    let (kind, name) = word.split_once('/').unwrap_or((word, "*"));
    let wildcard = name == "*";
    let names = if wildcard { Vec::new() } else { vec![name.to_owned()] };
    InitialSubscription { type_url: url(kind), wildcard, names }
}

fn url(kind: &str) -> TypeUrl {
    let kind = Kind::parse(kind).unwrap_or_else(|| panic!("unknown type: {kind}"));
    kind.type_url(ApiVersion::V3).expect("its URL")
}

/// The settings of a `#! client …` line.
struct Setup {
    variant: Variant,
    wants: Vec<InitialSubscription>,
    legacy: bool,
    follow: bool,
    ack_policy: AckPolicy,
    delay: Duration,
    existence: Duration,
    structured: bool,
    /// `map=AUTHORITY:N` for each authority; the script calls server 1 `1`.
    authorities: BTreeMap<String, u32>,
}

impl Setup {
    fn read(text: &str) -> Setup {
        let mut words = text.split_whitespace();
        let variant = match words.next() {
            Some("ads") => Variant::Ads,
            Some("delta-ads") => Variant::DeltaAds,
            Some("sotw") => Variant::Sotw,
            Some("delta") => Variant::Delta,
            other => panic!("unknown variant: {other:?}"),
        };
        let existence = store::Options::default().resource_timeout;
        let (wants, ack_policy, delay) = (Vec::new(), AckPolicy::Auto, Duration::ZERO);
        let mut setup = Setup {
            variant,
            wants,
            legacy: false,
            follow: false,
            ack_policy,
            delay,
            existence,
            structured: false,
            authorities: BTreeMap::new(),
        };
        for word in words {
            let millis = |text: &str| Duration::from_millis(text.parse().expect("milliseconds"));
            match word.split_once('=') {
                Some(("delay", time)) => setup.delay = millis(time),
                Some(("existence", time)) => setup.existence = millis(time),
                Some(("map", pair)) => {
                    let (authority, number) = pair.rsplit_once(':').expect("AUTHORITY:N");
                    setup.authorities.insert(authority.to_owned(), number.parse().expect("a number"));
                }
                _ => match word {
                    "structured" => setup.structured = true,
                    "legacy" => setup.legacy = true,
                    "follow" => setup.follow = true,
                    "ask" => setup.ack_policy = AckPolicy::Ask,
                    "validate" => setup.ack_policy = AckPolicy::Validate,
                    _ => setup.want(want(word)),
                },
            }
        }
        setup
    }

    fn want(&mut self, want: InitialSubscription) {
        match self.wants.iter_mut().find(|known| known.type_url == want.type_url) {
            Some(known) => {
                known.wildcard |= want.wildcard;
                known.names.extend(want.names);
            }
            None => self.wants.push(want),
        }
    }

    fn start(&self, node: &script::ScriptNode, planes: &[Plane], schema: &Arc<Schema>) -> Running {
        let mut bytes = Vec::new();
        xdscope_wire::pb::put_len_field(&mut bytes, 1, node.id.as_bytes());
        for feature in &node.features {
            xdscope_wire::pb::put_len_field(&mut bytes, 10, feature.as_bytes());
        }
        let server = |plane: &Plane| Server {
            address: plane.address.parse().expect("an address"),
            tls: None,
            authority: None,
            headers: Vec::new(),
            timeout: PATIENCE,
            keepalive: PATIENCE,
            keepalive_timeout: PATIENCE,
            max_message: 1 << 24,
            token: None,
            fallback: Vec::new(),
        };
        let client = Config {
            profile: ServerProfile { variant: self.variant, legacy_wildcard: self.legacy },
            profiles: BTreeMap::new(),
            transport: ApiVersion::V3,
            poll_delay: PATIENCE,
            node: bytes,
            ack_delay: self.delay,
            links: if self.follow { analysis::rules(schema).links } else { None },
            structured: self.structured,
            kinds: BTreeMap::new(),
            own: BTreeMap::new(),
            clusters: BTreeMap::new(),
            beside: BTreeMap::new(),
            authorities: self.authorities.clone(),
            others: if self.authorities.is_empty() { FallbackServer::Plain } else { FallbackServer::Nobody },
            seed: 1,
        };
        let options = Options {
            server: server(&planes[0]),
            others: planes[1..].iter().map(server).collect(),
            client,
            wants: self.wants.clone(),
            ack_policy: self.ack_policy,
            refuse: Vec::new(),
            poll_timeout: PATIENCE,
            poll_names: FieldNames::Json,
            record: None,
            collect: true,
            keep_secrets: true,
            seed: Some(1),
            store: self.timers(),
            schema: schema.clone(),
            source: "a scripted server".into(),
        };
        Running::start(options, None).expect("a client")
    }

    fn timers(&self) -> store::Options {
        store::Options { resource_timeout: self.existence, ..store::Options::default() }
    }
}

/// Parses a line that changes the client's subscriptions or verdicts.
fn command(text: &str) -> Command {
    let words: Vec<&str> = text.split_whitespace().collect();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match &words[..] {
        ["subscribe", kind, rest @ ..] => Command::Subscribe { type_url: url(kind), names: names(rest) },
        ["unsubscribe", kind, rest @ ..] => Command::Unsubscribe { type_url: url(kind), names: names(rest) },
        ["wildcard", kind, on] => Command::Wildcard { type_url: url(kind), wanted: *on == "on" },
        ["accept", kind] => Command::Rule { type_url: url(kind), nonce: None, ruling: Ruling::Accept },
        ["refuse", kind, rest @ ..] => {
            let ruling = Ruling::refuse(rest.join(" "));
            Command::Rule { type_url: url(kind), nonce: None, ruling }
        }
        ["reconnect"] => Command::Reconnect,
        _ => panic!("unknown command: `{text}`"),
    }
}

/// Plays a script, and compares the client's recording with the expectations of the script.
///
/// # Panics
/// Panics if the client deviates from the script, or if a finding blames the client.
pub fn play(file: &str, text: &str) {
    let schema = Schema::builtin();
    let codec = SchemaCodec(schema.clone());
    let script = script::parse(text, file).unwrap_or_else(|error| panic!("{error}"));
    let orders = text.lines().zip(1u32..).filter_map(|(line, n)| Some((n, line.strip_prefix("#! ")?)));
    let mut orders: VecDeque<(u32, &str)> = orders.collect();
    let (_, first) = orders.pop_front().unwrap_or_else(|| panic!("{file}: no `#! client`"));
    let setup = Setup::read(first.strip_prefix("client ").expect("`#! client`"));
    let check = |script: &Script, what: &str| {
        let (rules, meaning) = (analysis::rules(&schema), xdscope::app::tap::meaning(schema.clone()));
        let failed = script::check(script, &codec, setup.timers(), rules, Some(meaning));
        let failed = failed.unwrap_or_else(|error| panic!("{what}: {error}"));
        let failed: Vec<String> = failed.iter().map(|failure| format!("{file}: {failure}")).collect();
        assert!(failed.is_empty(), "{what}:\n{}\n{}", failed.join("\n"), script::write(script));
    };
    check(&script, "the script itself");
    let loaded = script::load_into(&script, &codec, Catalog::in_memory()).expect("a script");
    let servers = setup.authorities.values().max().map_or(1, |last| last + 1);
    let planes: Vec<Plane> = (0..servers).map(|_| Plane::start()).collect();
    let node = script.lines.iter().find_map(|line| match &line.statement {
        Statement::Node(node) => Some(node.clone()),
        _ => None,
    });
    let running = setup.start(&node.expect("a node"), &planes, &schema);
    let mut player = Player {
        file,
        frames: loaded.frames.into(),
        catalog: loaded.catalog,
        planes,
        streams: BTreeMap::new(),
        unasked: Vec::new(),
        played: 0,
        newest: Instant::now(),
        running: Some(&running),
    };
    for line in &script.lines {
        while orders.front().is_some_and(|(number, _)| *number < line.number) {
            player.tell(orders.pop_front().expect("an order").1);
        }
        player.line(line);
    }
    player.silence(SILENCE, "the end");
    drop(player);
    let loaded = running.into_loaded().expect("the recorded messages");
    let exported =
        script::from_frames(loaded.frames.iter(), &loaded.catalog, loaded.clock, loaded.end, &codec).script;
    let noted = |rule: &str| {
        script.lines.iter().any(|line| match &line.statement {
            Statement::Expect(Expectation::Lint { pattern: pick, .. }) => pick.rule == rule,
            _ => false,
        })
    };
    let blamed = blamed(loaded, &schema, &setup, &noted);
    assert!(blamed.is_empty(), "{file}: blamed on the client: {blamed:?}\n{}", script::write(&exported));
    let mut lines = exported.lines;
    // The end of the test is not part of the script.
    let is_end = |line: &mut script::ScriptLine| {
        matches!(line.statement, Statement::End { .. } | Statement::Advance(_))
    };
    while lines.pop_if(is_end).is_some() {}
    let last = script.lines.iter().rposition(|line| !matches!(line.statement, Statement::Expect(_)));
    lines.extend(script.lines.into_iter().skip(last.map_or(0, |last| last + 1)));
    check(&Script { file: file.to_owned(), lines }, "the recording of our client");
}

/// The server after the last line: its streams stay open until this is dropped.
pub struct Stage {
    _planes: Vec<Plane>,
    _streams: BTreeMap<StreamId, Opened>,
}

/// Plays a script to an external client, which `start` starts with the server's address.
///
/// # Panics
/// Panics if the client deviates from the script.
pub fn serve<T>(file: &str, text: &str, start: impl FnOnce(&str) -> T) -> (T, Stage) {
    let codec = SchemaCodec(Schema::builtin());
    let script = script::parse(text, file).unwrap_or_else(|error| panic!("{error}"));
    let loaded = script::load_into(&script, &codec, Catalog::in_memory()).expect("a script");
    let plane = Plane::start();
    let client = start(&plane.address);
    let mut player = Player {
        file,
        frames: loaded.frames.into(),
        catalog: loaded.catalog,
        planes: vec![plane],
        streams: BTreeMap::new(),
        unasked: Vec::new(),
        played: 0,
        newest: Instant::now(),
        running: None,
    };
    script.lines.iter().for_each(|line| player.line(line));
    (client, Stage { _planes: player.planes, _streams: player.streams })
}

/// Returns the findings that blame the client, except verdicts, missing configuration, and notes
/// that the script has itself.
fn blamed(loaded: Loaded, schema: &Arc<Schema>, setup: &Setup, noted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let store = store::Store::new(loaded.catalog, loaded.clock, setup.timers());
    let mut watched = analysis::Analysis::new(store, analysis::rules(schema));
    loaded.frames.into_iter().for_each(|frame| watched.handle(frame));
    watched.advance(loaded.end);
    let of_client = |finding: &&lint::Finding| {
        // The user names the servers of authorities.
        let verdict = matches!(finding.rule.id, "nack" | "nack-unexplained" | "xdstp-authority-unmapped");
        let note = finding.severity == lint::Severity::Info && noted(finding.rule.id);
        finding.blame.word() == "client" && !verdict && !note
    };
    watched.findings().iter().filter(of_client).map(|f| format!("{}: {}", f.rule.id, f.text)).collect()
}

struct Player<'a> {
    file: &'a str,
    /// Streams of the script, in order.
    frames: VecDeque<xdscope_wire::Frame>,
    catalog: Catalog,
    planes: Vec<Plane>,
    streams: BTreeMap<StreamId, Opened>,
    /// Streams opened before their lines.
    unasked: Vec<(usize, Opened)>,
    /// Number of messages so far.
    played: usize,
    /// When the newest message or command was sent or came, or the newest stream began or ended.
    newest: Instant,
    /// `None` for an external client, whose node is not compared.
    running: Option<&'a Running>,
}

impl Player<'_> {
    fn line(&mut self, line: &ScriptLine) {
        let place = format!("{}:{}", self.file, line.number);
        match &line.statement {
            Statement::Advance(time) => self.silence(*time, &place),
            Statement::Stream { .. } | Statement::Message { .. } | Statement::End { .. } => {
                let frame = self.frames.pop_front().expect("a frame for each line");
                self.newest = self.frame(&place, frame, &line.statement);
            }
            _ => {}
        }
    }

    /// Plays a frame. Returns when it was sent or came.
    fn frame(&mut self, place: &str, frame: xdscope_wire::Frame, item: &Statement) -> Instant {
        let mut at = Instant::now();
        match (&frame.what, item) {
            (FramePayload::Open(open), _) => {
                let number = open.server.as_ref().and_then(|server| server.parse().ok()).unwrap_or(0);
                let is = |(plane, opened): &(usize, Opened)| *plane == number && opened.path == open.method;
                let opened = match self.unasked.iter().position(is) {
                    Some(known) => self.unasked.remove(known).1,
                    None => self.door(place, number, &open.method),
                };
                self.streams.insert(frame.stream, opened);
                at = Instant::now();
            }
            (
                FramePayload::Message(message),
                Statement::Message {
                    body: MessageBody::Response(_) | MessageBody::Raw(Dir::Resp, _), ..
                },
            ) => {
                let bytes = message.bytes(&self.catalog).expect("the bytes of a response");
                let sent = self.stream(place, frame.stream).responses.blocking_send(Ok(bytes.into()));
                sent.unwrap_or_else(|_| panic!("{place}: the stream is over"));
                self.played += 1;
            }
            (FramePayload::Message(wanted), _) => {
                let got = self.stream(place, frame.stream).request();
                let wanted = self.said(wanted);
                let got = got.unwrap_or_else(|_| panic!("{place}: nothing came, wanted {wanted}"));
                let (got, came) = got;
                at = came;
                let delta = wanted.starts_with("delta");
                let shape = if delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
                let got = Message::parse(shape, &got, &mut self.catalog);
                assert_eq!(self.said(&got), wanted, "{place}");
                self.played += 1;
            }
            (FramePayload::End(_), Statement::End { end: script::StreamEnd::Status(code, text), .. }) => {
                let opened = self.streams.remove(&frame.stream).expect("an open stream");
                let status = Status::new(Code::from(*code), text.clone());
                // The client may have disconnected already.
                let _ = opened.responses.blocking_send(Err(status));
            }
            (FramePayload::End(_), _) => {
                let mut opened = self.streams.remove(&frame.stream).expect("an open stream");
                let rest = opened.request();
                at = Instant::now();
                assert!(
                    matches!(rest, Err(mpsc::RecvTimeoutError::Disconnected)),
                    "{place}: the client has not ended the stream: {rest:?}"
                );
            }
            other => panic!("{place}: can't be played: {other:?}"),
        }
        at
    }

    /// Returns the next stream to a server at this path; other streams wait for their lines.
    fn door(&mut self, place: &str, at: usize, path: &str) -> Opened {
        loop {
            let opened = self.planes[at].opened.recv_timeout(PATIENCE);
            let opened = opened.unwrap_or_else(|_| panic!("{place}: no stream was opened at {path}"));
            if opened.path == path {
                return opened;
            }
            self.unasked.push((at, opened));
        }
    }

    fn said(&self, message: &Message) -> String {
        let node = self.running.and_then(|_| message.node()).map_or("", |node| node.id.as_str());
        said(message, node, &self.catalog)
    }

    fn stream(&mut self, place: &str, id: StreamId) -> &mut Opened {
        self.streams.get_mut(&id).unwrap_or_else(|| panic!("{place}: the stream is not open"))
    }

    /// Asserts that nothing is sent for this time after the newest message or command.
    ///
    /// On busy cores the test sleeps longer: what comes after the time belongs to the next lines.
    fn silence(&mut self, time: Duration, place: &str) {
        pass(time);
        let end = self.newest + time;
        let came = self.streams.iter_mut().find_map(|(id, opened)| {
            let bytes = opened.request_before(end)?;
            Some((id.0, opened.path.contains("/Delta"), bytes))
        });
        if let Some((stream, is_delta, bytes)) = came {
            let shape = if is_delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
            let got = Message::parse(shape, &bytes, &mut self.catalog);
            panic!("{place}: unexpected message on stream {stream}: {}", self.said(&got));
        }
    }

    /// Sends a command to the client, once the client has seen all played messages.
    fn tell(&mut self, order: &str) {
        let running = self.running.expect("a client that listens");
        wait_for("the client to catch up", || {
            let store = running.shared.store();
            let messages = (0..store.rows()).filter(|row| {
                store.row(*row).is_some_and(|fact| json::message(&fact, &store.clock())["n"].is_number())
            });
            (messages.count() >= self.played).then_some(())
        });
        self.newest = Instant::now();
        assert!(running.command(command(order)), "{order}");
    }
}

/// Describes a request by everything that a server may read, with sorted names.
fn said(message: &Message, node: &str, catalog: &Catalog) -> String {
    let list = |names: &[Sym]| {
        let mut names: Vec<&str> = names.iter().map(|name| catalog.text(*name)).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let error = message.error_detail().map(|error| (error.code, error.message.to_string()));
    let url = message.type_url();
    match &message.body {
        xdscope_wire::MessageBody::SotwRequest(it) => format!(
            "sotw {url} node={node} v={} names=[{}] n={} nack={error:?}",
            it.version_info,
            list(&it.resource_names),
            it.response_nonce
        ),
        xdscope_wire::MessageBody::DeltaRequest(it) => {
            let held = it.initial_resource_versions.iter();
            let mut held: Vec<String> =
                held.map(|(name, v)| format!("{}:{}", catalog.text(*name), catalog.text(*v))).collect();
            held.sort_unstable();
            format!(
                "delta {url} node={node} sub=[{}] unsub=[{}] irv={{{}}} n={} nack={error:?}",
                list(&it.subscribe),
                list(&it.unsubscribe),
                held.join(" "),
                it.response_nonce
            )
        }
        other => panic!("no request: {other:?}"),
    }
}
