//! Peers that say what an arrow script has them say, over real gRPC: what they get wrong they do on purpose.

use std::{
    collections::BTreeMap, future::Future, net::SocketAddr, pin::Pin, sync::Arc, sync::OnceLock, thread,
    time::Duration,
};

use bytes::Bytes;
use serde_json::Value;
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
use xdscope::net::rpc::{self, Handler, Responses, Streams};
use xdscope::schema::Schema;
use xdscope::sources::script::{self, Codec};
use xdscope::wire::content::Catalog;
use xdscope::wire::event::{Dir, Side, StreamId, Sym, Time};
use xdscope::wire::{End, Frame, FramePayload, Message, MessageBody, MessageShape};

use super::wait::PATIENCE;

/// A silence in a script from which on it is meant.
const MEANT: Duration = Duration::from_millis(500);

/// The descriptors, loaded once.
pub fn schema() -> &'static Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    SCHEMA.get_or_init(Schema::builtin)
}

/// Content of scripts by the descriptors.
pub struct ByDescriptors;

impl Codec for ByDescriptors {
    fn encode(&self, message: &str, json: &Value) -> Result<Vec<u8>, script::CodecError> {
        schema().encode(message, json).map_err(script::CodecError::new)
    }

    fn decode(&self, message: &str, bytes: &[u8]) -> Option<Value> {
        schema().message(message)?;
        Some(schema().message_to_json(message, bytes))
    }
}

/// A script, ready to be played.
pub struct Play {
    /// As the script has them: what two peers that play it make happen.
    pub frames: Vec<Frame>,
    pub catalog: Catalog,
    /// Where its clock stops.
    pub end: Time,
}

impl Play {
    /// # Panics
    /// When it is not a script.
    pub fn new(name: &str, text: &str) -> Self {
        let script = script::parse(text, name).unwrap_or_else(|error| panic!("{error}"));
        let loaded = script::load(&script, &ByDescriptors).unwrap_or_else(|error| panic!("{error}"));
        Self { frames: loaded.frames, catalog: loaded.catalog, end: loaded.end }
    }

    /// How many there are in it.
    pub fn responses(&self) -> usize {
        let is = |what: &FramePayload| matches!(what, FramePayload::Message(message) if message.dir() == Dir::Resp);
        self.frames.iter().filter(|frame| is(&frame.what)).count()
    }

    fn bytes(&self, message: &Message) -> Bytes {
        message.bytes(&self.catalog).expect("the bytes of a script's message").into()
    }
}

/// What of a request must be there, for a client that says the rest in its own words.
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

    /// Another type, another verdict or fewer names are something else; an empty nonce stands for any.
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
    /// Requests that nobody waited for yet.
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
        // Nobody may wait for it any more.
        let _ = self.0.send(Accepted { path: path.to_owned(), requests, responses, heard: Vec::new() });
        Box::pin(async {})
    }
}

/// A server that plays its part of scripts.
pub struct Misbehaving {
    runtime: Runtime,
    address: SocketAddr,
    accepted: UnboundedReceiver<Accepted>,
    /// Opened and not yet asked for.
    early: Vec<Accepted>,
    /// What was played stays open.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says the server's lines of a script: each once the client has said those above it. With `exactly` the client says
    /// them in these bytes, else it says at least that; silences of the script are kept then.
    ///
    /// # Panics
    /// When the client does not say a line in time; the message says which.
    pub fn play(&mut self, play: &Play, exactly: bool) {
        let Self { runtime, accepted, early, open, .. } = self;
        // Timers are the runtime's.
        let _inside = runtime.enter();
        let mut streams: BTreeMap<StreamId, Accepted> = BTreeMap::new();
        let mut now = Time::ZERO;
        let mut pause = |to: Time| {
            let gap = to.since(now);
            now = to;
            if !exactly && gap >= MEANT {
                thread::sleep(gap);
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
        // A client that is gone needs no status.
        let _ = stream.responses.send(Err(status)).await;
    } else if end.by == Some(Side::Client) {
        let ended =
            timeout(PATIENCE, async { while let Some(Ok(_)) = stream.requests.next().await {} }).await;
        assert!(ended.is_ok(), "the client does not end the stream");
    }
}

/// Plays the client's lines of a script against a server: each once the server has said those above it, in these bytes.
/// Stays connected until the server has `played` its part.
///
/// # Panics
/// When the server does not say a line in time.
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
        // What was sent last is on its way until the server has it.
        let _ = timeout(PATIENCE, played).await;
    });
}
