//! Peers that play an arrow script over real gRPC, with deliberate errors.

use std::{
    collections::BTreeMap, future::Future, net::SocketAddr, pin::Pin, sync::Arc, sync::OnceLock,
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    net::TcpListener,
    runtime::Runtime,
    sync::{
        mpsc::{self, UnboundedReceiver, UnboundedSender},
        oneshot,
    },
    time::timeout,
};
use tokio_stream::StreamExt;
use tonic::{
    Status, Streaming,
    transport::{Endpoint, Server, server::TcpIncoming},
};
use xdscope::net::rpc;
use xdscope_schema::Schema;
use xdscope_sources::{SchemaCodec, script};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Dir, Side, StreamId, Sym, Time};
use xdscope_wire::{End, Frame, FramePayload, Message, MessageBody, MessageShape};

use super::wait::{PATIENCE, pass};
use crate::support::grpc_server::{Handler, Responses, Streams};

/// Shortest pause of a script that is played in real time.
const MEANT: Duration = Duration::from_millis(500);

/// Returns the descriptors, loaded once.
pub fn schema() -> &'static Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    SCHEMA.get_or_init(Schema::builtin)
}

/// A script, ready to be played.
pub struct Play {
    /// The frames of the script, which two peers produce when they play it.
    pub frames: Vec<Frame>,
    pub catalog: Catalog,
    /// End of the script's clock.
    pub end: Time,
}

impl Play {
    /// # Panics
    /// Panics if the text is not a script.
    pub fn new(name: &str, text: &str) -> Self {
        let script = script::parse(text, name).unwrap_or_else(|error| panic!("{error}"));
        let loaded =
            script::load(&script, &SchemaCodec(schema().clone())).unwrap_or_else(|error| panic!("{error}"));
        Self { frames: loaded.frames, catalog: loaded.catalog, end: loaded.end }
    }

    /// Returns the number of responses in the script.
    pub fn responses(&self) -> usize {
        let is = |what: &FramePayload| matches!(what, FramePayload::Message(message) if message.dir() == Dir::Resp);
        self.frames.iter().filter(|frame| is(&frame.what)).count()
    }

    fn bytes(&self, message: &Message) -> Bytes {
        message.bytes(&self.catalog).expect("the bytes of a script's message").into()
    }
}

/// The parts of a request that must match, for a client that fills in the rest.
struct Wanted {
    type_url: String,
    nonce: String,
    nack: bool,
    names: Vec<String>,
}

impl Wanted {
    fn of(message: &Message, catalog: &Catalog) -> Self {
        let text = |names: &[Sym]| names.iter().map(|name| catalog.text(*name).to_owned()).collect();
        let (nonce, names) = match &message.body {
            MessageBody::SotwRequest(request) => {
                (request.response_nonce.clone(), text(&request.resource_names))
            }
            MessageBody::DeltaRequest(request) => (request.response_nonce.clone(), text(&request.subscribe)),
            other => panic!("not a request: {other:?}"),
        };
        let (type_url, nack) = (message.type_url().to_string(), message.error_detail().is_some());
        Self { type_url, nonce: nonce.to_string(), nack, names }
    }

    /// Whether a request matches: the type, the verdict and at least the names; an empty nonce
    /// matches any.
    fn is(&self, said: &Wanted) -> bool {
        let answers = self.nonce.is_empty() || (self.nonce == said.nonce && self.nack == said.nack);
        let names = self.names.iter().all(|name| said.names.contains(name));
        (self.type_url.is_empty() || self.type_url == said.type_url) && answers && names
    }
}

struct Accepted {
    path: String,
    requests: Streaming<Bytes>,
    responses: Responses,
    /// Requests that were not awaited yet.
    heard: Vec<Wanted>,
}

struct Accept(UnboundedSender<Accepted>);

impl Handler for Accept {
    fn stream(
        &self,
        path: &str,
        requests: Streaming<Bytes>,
        responses: Responses,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        // The receiver may be gone.
        let _ = self.0.send(Accepted { path: path.to_owned(), requests, responses, heard: Vec::new() });
        Box::pin(async {})
    }
}

/// A server that plays its part of scripts.
pub struct Misbehaving {
    runtime: Runtime,
    address: SocketAddr,
    accepted: UnboundedReceiver<Accepted>,
    /// Streams opened and not yet awaited.
    early: Vec<Accepted>,
    /// Played streams, which stay open.
    open: Vec<Accepted>,
}

impl Misbehaving {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("its address");
        let (send, accepted) = mpsc::unbounded_channel();
        let serve =
            Server::builder().serve_with_incoming(Streams::new(Accept(send)), TcpIncoming::from(listener));
        runtime.spawn(serve);
        Self { runtime, address, accepted, early: Vec::new(), open: Vec::new() }
    }

    /// Returns the address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Plays the server's lines of a script, each after the client's lines above it.
    ///
    /// With `exactly` the client must send the exact bytes; otherwise its requests must match, and
    /// pauses of the script are kept.
    ///
    /// # Panics
    /// Panics if the client does not send a line in time; the message names the line.
    pub fn play(&mut self, play: &Play, exactly: bool) {
        let Self { runtime, accepted, early, open, .. } = self;
        // Timers belong to the runtime.
        let _inside = runtime.enter();
        let mut streams: BTreeMap<StreamId, Accepted> = BTreeMap::new();
        let mut now = Time::ZERO;
        let mut pause = |to: Time| {
            let gap = to.since(now);
            now = to;
            if !exactly && gap >= MEANT {
                pass(gap);
            }
        };
        for frame in &play.frames {
            pause(frame.at);
            let stream = streams.get_mut(&frame.stream);
            match (&frame.what, stream) {
                (FramePayload::Open(open), _) => {
                    let found = early.iter().position(|stream| stream.path == open.method);
                    let stream = match found {
                        Some(at) => early.remove(at),
                        None => runtime.block_on(accept(accepted, early, &open.method)),
                    };
                    streams.insert(frame.stream, stream);
                }
                (FramePayload::Message(message), Some(stream)) if message.dir() == Dir::Req => {
                    let bytes = play.bytes(message);
                    let found = runtime.block_on(async {
                        if exactly {
                            let said = timeout(PATIENCE, stream.requests.next()).await;
                            return matches!(said, Ok(Some(Ok(said))) if said == bytes);
                        }
                        timeout(PATIENCE, hear(stream, &Wanted::of(message, &play.catalog))).await == Ok(true)
                    });
                    assert!(found, "the client does not say {:?}", message.body);
                }
                (FramePayload::Message(message), Some(stream)) => {
                    let bytes = play.bytes(message);
                    let sent = runtime.block_on(timeout(PATIENCE, stream.responses.send(Ok(bytes))));
                    assert!(sent.is_ok_and(|sent| sent.is_ok()), "the client is gone");
                }
                (FramePayload::End(end), Some(_)) => {
                    let stream = streams.remove(&frame.stream).expect("it is there");
                    runtime.block_on(finish(stream, end));
                }
                (what, _) => panic!("a server can't play {what:?}"),
            }
        }
        pause(play.end);
        open.extend(streams.into_values());
    }
}

async fn accept(from: &mut UnboundedReceiver<Accepted>, early: &mut Vec<Accepted>, path: &str) -> Accepted {
    loop {
        let next = timeout(PATIENCE, from.recv()).await;
        match next.ok().flatten().unwrap_or_else(|| panic!("no client opens {path}")) {
            stream if stream.path == path => return stream,
            other => early.push(other),
        }
    }
}

async fn hear(stream: &mut Accepted, wanted: &Wanted) -> bool {
    let delta = stream.path.rsplit('/').next().is_some_and(|method| method.starts_with("Delta"));
    let shape = if delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest };
    if let Some(at) = stream.heard.iter().position(|said| wanted.is(said)) {
        stream.heard.remove(at);
        return true;
    }
    while let Some(Ok(bytes)) = stream.requests.next().await {
        let mut catalog = Catalog::in_memory();
        let said = Message::parse(shape, &bytes, &mut catalog);
        let said = Wanted::of(&said, &catalog);
        if wanted.is(&said) {
            return true;
        }
        stream.heard.push(said);
    }
    false
}

async fn finish(mut stream: Accepted, end: &End) {
    if let Some((code, text)) = &end.status {
        let status = Status::new(tonic::Code::from_i32(code.0), text.clone());
        // A disconnected client needs no status.
        let _ = stream.responses.send(Err(status)).await;
    } else if end.by == Some(Side::Client) {
        let ended =
            timeout(PATIENCE, async { while let Some(Ok(_)) = stream.requests.next().await {} }).await;
        assert!(ended.is_ok(), "the client does not end the stream");
    }
}

/// Plays the client's lines of a script, each after the server's lines above it, in the exact
/// bytes.
///
/// Stays connected until the server has `played` its part.
///
/// # Panics
/// Panics if the server does not send a line in time.
pub fn play_client(play: &Play, server: SocketAddr, played: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let endpoint = Endpoint::from_shared(format!("http://{server}")).expect("an address");
        let channel = timeout(PATIENCE, endpoint.connect()).await.expect("in time").expect("a connection");
        let mut streams = BTreeMap::new();
        for frame in &play.frames {
            match &frame.what {
                FramePayload::Open(open) => {
                    let (send, requests) = mpsc::channel(16);
                    let opened = rpc::open(channel.clone(), &open.method, requests);
                    let responses = timeout(PATIENCE, opened).await.expect("in time").expect("a stream");
                    streams.insert(frame.stream, (send, responses));
                }
                FramePayload::Message(message) => {
                    let (send, responses) = streams.get_mut(&frame.stream).expect("an open stream");
                    let bytes = play.bytes(message);
                    if message.dir() == Dir::Req {
                        timeout(PATIENCE, send.send(bytes)).await.expect("in time").expect("a server");
                    } else {
                        let said = timeout(PATIENCE, responses.next()).await.expect("a response in time");
                        assert!(matches!(said, Some(Ok(said)) if said == bytes), "{:?}", message.body);
                    }
                }
                FramePayload::End(end) => {
                    let (send, mut responses) = streams.remove(&frame.stream).expect("an open stream");
                    if end.by == Some(Side::Client) {
                        drop(send);
                    }
                    let ended =
                        timeout(PATIENCE, async { while let Some(Ok(_)) = responses.next().await {} });
                    assert!(ended.await.is_ok(), "the server does not end the stream");
                }
                what => panic!("a client can't play {what:?}"),
            }
        }
        // The last message is in flight until the server has it.
        let _ = timeout(PATIENCE, played).await;
    });
}
