//! The streams of an xDS client, and its REST polls: opens them, sends and receives messages as bytes, says how they ended. What goes
//! over them, and when they are opened again, is decided elsewhere.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Status};

pub use super::dial::DialError;
use super::dial::{self, Dial};
use super::rpc::Raw;
use super::tap::Address;
use super::tls;
use crate::event::{Code, Side};
use crate::wire::{End, Secured};

/// A server that says nothing for this long is asked whether it is there, and has as long as `KEEPALIVE_TIMEOUT` to
/// answer (row I-12).
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Requests of a stream that may wait to be sent.
const REQUESTS: usize = 1024;

/// Messages of all streams that may wait to be looked at; beyond it the servers wait.
const EVENTS: usize = 16;

/// Whom to connect to, and how.
pub struct Server {
    pub address: Address,
    /// `None`: plaintext.
    pub tls: Option<tls::Client>,
    /// The HTTP/2 `:authority`, instead of the address.
    pub authority: Option<String>,
    /// Headers to add.
    pub headers: Vec<(String, String)>,
    /// How long each step of connecting may take.
    pub patience: Duration,
    /// The largest message that is taken, in bytes.
    pub max_message: usize,
}

impl Server {
    /// Whether the headers can be sent.
    ///
    /// # Errors
    /// In words: the first that can't.
    pub fn check_headers(&self) -> Result<(), String> {
        dial::metadata(&self.headers).map(|_| ()).map_err(|status| status.message().to_owned())
    }
}

/// What happened on a stream.
#[derive(Debug)]
pub enum Event {
    /// There is a connection, and a stream on it: requests can be sent.
    Opened { tls: Option<Arc<Secured>> },
    /// There is none: the step that failed.
    Failed(DialError),
    /// A response, whole.
    Message(Bytes),
    /// The answer to a poll.
    Answer(Answer),
    /// It is over.
    Ended(End),
}

/// What a poll was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A body, and its `content-encoding`.
    Body { coding: Option<String>, bytes: Bytes },
    /// There is nothing new (304).
    Unchanged,
}

/// An event of the stream that was opened under a number.
#[derive(Debug)]
pub struct Happened {
    pub lane: u32,
    /// Counts the streams of the lane, so that what comes late of an older one is known as that.
    pub turn: u64,
    pub what: Event,
}

/// Where a stream's events go.
pub(super) struct Line {
    events: mpsc::Sender<Happened>,
    lane: u32,
    turn: u64,
}

impl Line {
    /// Waits for room. False: nobody wants to know.
    pub(super) async fn say(&self, what: Event) -> bool {
        self.events.send(Happened { lane: self.lane, turn: self.turn, what }).await.is_ok()
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Queued,
    /// The server takes no more.
    Stuck,
    /// The stream has ended; that event is on its way.
    Over,
}

struct Stream {
    turn: u64,
    requests: mpsc::Sender<Bytes>,
    task: AbortHandle,
}

/// The open streams, a connection for each.
pub struct Streams {
    server: Arc<Server>,
    events: mpsc::Sender<Happened>,
    open: HashMap<u32, Stream>,
    turns: u64,
}

impl Streams {
    /// The streams, and where their events come out. To be used in a tokio runtime.
    pub fn new(server: Server) -> (Streams, mpsc::Receiver<Happened>) {
        let (events, receive) = mpsc::channel(EVENTS);
        (Streams { server: Arc::new(server), events, open: HashMap::new(), turns: 0 }, receive)
    }

    /// Connects, and opens a stream at a gRPC path.
    pub fn open(&mut self, lane: u32, path: String) {
        self.begin(lane, |server, ready, line| async move {
            let (channel, tls) = match server.connect().await {
                Ok(connected) => connected,
                Err(error) => {
                    line.say(Event::Failed(error)).await;
                    return;
                }
            };
            if !line.say(Event::Opened { tls }).await {
                return;
            }
            let end = match server.run(channel, &path, ready, &line).await {
                Ok(()) => {
                    End { by: Some(Side::Server), status: Some((Code(0), String::new())), ..End::default() }
                }
                Err(status) => ended(&status),
            };
            line.say(Event::Ended(end)).await;
        });
    }

    /// Connects, and posts each request to a path; what is sent must wait for the answer to what was sent before. One
    /// that has none in `patience` ends the lane.
    pub fn poll(&mut self, lane: u32, path: String, patience: Duration) {
        self.begin(lane, move |server, ready, line| async move {
            super::poll::run(&server, &path, patience, ready, &line).await;
        });
    }

    fn begin<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        lane: u32,
        work: impl FnOnce(Arc<Server>, mpsc::Receiver<Bytes>, Line) -> F,
    ) {
        self.close(lane);
        self.turns += 1;
        let turn = self.turns;
        let (requests, ready) = mpsc::channel(REQUESTS);
        let line = Line { events: self.events.clone(), lane, turn };
        let task = tokio::spawn(work(self.server.clone(), ready, line));
        self.open.insert(lane, Stream { turn, requests, task: task.abort_handle() });
    }

    /// Whether an event is of a stream that is still open.
    pub fn is_current(&self, happened: &Happened) -> bool {
        self.open.get(&happened.lane).is_some_and(|stream| stream.turn == happened.turn)
    }

    /// Queues a request.
    pub fn send(&self, lane: u32, bytes: Bytes) -> Sent {
        match self.open.get(&lane).map(|stream| stream.requests.try_send(bytes)) {
            Some(Ok(())) => Sent::Queued,
            Some(Err(mpsc::error::TrySendError::Full(_))) => Sent::Stuck,
            Some(Err(mpsc::error::TrySendError::Closed(_))) | None => Sent::Over,
        }
    }

    /// Ends a stream; nothing more is heard of it.
    pub fn close(&mut self, lane: u32) {
        if let Some(stream) = self.open.remove(&lane) {
            stream.task.abort();
        }
    }
}

impl Server {
    pub(super) fn dial(&self) -> Dial<'_> {
        Dial {
            address: &self.address,
            tls: self.tls.as_ref(),
            authority: self.authority.as_deref(),
            patience: self.patience,
        }
    }

    async fn connect(&self) -> Result<(Channel, Option<Arc<Secured>>), DialError> {
        let dial = self.dial();
        let connected = dial.connect(|endpoint| {
            endpoint
                .http2_keep_alive_interval(KEEPALIVE)
                .keep_alive_timeout(KEEPALIVE_TIMEOUT)
                .keep_alive_while_idle(true)
        });
        connected.await
    }

    /// Carries one stream to its end.
    async fn run(
        &self,
        channel: Channel,
        path: &str,
        requests: mpsc::Receiver<Bytes>,
        line: &Line,
    ) -> Result<(), Status> {
        let path = PathAndQuery::try_from(path).map_err(|error| Status::internal(error.to_string()))?;
        let mut grpc = tonic::client::Grpc::new(channel)
            .max_decoding_message_size(self.max_message)
            .accept_compressed(CompressionEncoding::Gzip)
            .accept_compressed(CompressionEncoding::Zstd);
        grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
        let mut request = Request::new(ReceiverStream::new(requests));
        *request.metadata_mut() = dial::metadata(&self.headers)?;
        let mut responses = grpc.streaming(request, path, Raw).await?.into_inner();
        while let Some(bytes) = responses.message().await? {
            if !line.say(Event::Message(bytes)).await {
                break;
            }
        }
        Ok(())
    }
}

/// How a stream ended: by the server's own status, or because the connection did.
fn ended(status: &Status) -> End {
    let code = Code(status.code().into());
    if std::error::Error::source(status).is_none() {
        let text = status.message().to_owned();
        return End { by: Some(Side::Server), status: Some((code, text)), ..End::default() };
    }
    End { by: Some(Side::Server), note: Some(format!("{code}: {}", dial::causes(status))), ..End::default() }
}
