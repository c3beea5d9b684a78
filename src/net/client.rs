//! The streams and REST polls of an xDS client: opens them, sends and receives messages as bytes,
//! and reports how they ended.
//!
//! [`xdscope_sources::peers::client`] decides what is sent and when a stream is opened again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::dial::{self, Dial};
pub use super::dial::{DialError, HeaderError};
use super::sniff::Sniffed;
use super::stream::{self, Carry, WINDOW_BYTES};
use super::tls;
use super::token::{Token, TokenError};
use crate::net::transport::Address;
use xdscope_wire::event::Side;
use xdscope_wire::{End, Secured};

/// Requests of one stream that may wait to be sent.
const MAX_QUEUED_REQUESTS: usize = 1024;

/// Events of all streams that may wait to be handled.
///
/// Most carry 16 KiB of a response. Servers wait while the queue is full.
const MAX_QUEUED_EVENTS: usize = 256;

/// The time that a stream may take to report its end after its connection has ended.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// An xDS server and the settings of connections to it.
pub struct Server {
    pub address: Address,
    /// `None`: plaintext.
    pub tls: Option<tls::ClientTls>,
    /// The HTTP/2 `:authority` to use instead of the address.
    pub authority: Option<String>,
    /// Headers to add to each request.
    pub headers: Vec<(String, String)>,
    /// A token to add, read anew for each stream.
    pub token: Option<Token>,
    /// Servers to connect to, in order, if this one cannot be reached. Their own fallbacks are
    /// ignored.
    pub fallback: Vec<Server>,
    /// The timeout of each step of connecting.
    pub timeout: Duration,
    /// The largest response to accept, in bytes.
    pub max_message: u64,
    /// The time between HTTP/2 PINGs; zero: no PINGs.
    pub keepalive: Duration,
    /// The time that the server may take to answer a PING.
    pub keepalive_timeout: Duration,
}

impl Server {
    /// Checks whether the headers can be sent.
    ///
    /// # Errors
    /// The first header that is not valid.
    pub fn check_headers(&self) -> Result<(), HeaderError> {
        dial::metadata(&self.headers).map(|_| ())
    }

    /// Returns all headers of a stream that is opened now.
    ///
    /// # Errors
    /// The token cannot be read.
    pub fn headers_now(&self) -> Result<Vec<(String, String)>, TokenError> {
        let token = self.token.as_ref().map(Token::header).transpose()?;
        Ok(self.headers.iter().cloned().chain(token).collect())
    }
}

/// An event of a stream.
#[derive(Debug)]
pub enum Event {
    /// The stream is open: requests can be sent.
    Opened { tls: Option<Arc<Secured>> },
    /// The stream could not be opened, because this step failed.
    Failed(DialError),
    /// Bytes of the current response.
    Bytes(Bytes),
    /// The current response is complete.
    Message,
    /// The answer to a poll.
    Answer(Answer),
    /// The stream has ended.
    Ended(End),
}

/// The answer to a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A body and its `content-encoding`.
    Body { coding: Option<String>, bytes: Bytes },
    /// Nothing new (304).
    Unchanged,
}

/// An event of the stream on a lane.
#[derive(Debug)]
pub struct ClientReport {
    pub lane: u32,
    /// The number of the stream among the lane's streams, which tells late events of an older
    /// stream apart.
    pub turn: u64,
    pub what: Event,
}

/// The sender of a stream's events.
pub(super) struct EventSender {
    events: mpsc::Sender<ClientReport>,
    lane: u32,
    turn: u64,
}

impl EventSender {
    /// Waits for room in the queue. Returns false if the receiver is gone.
    pub(super) async fn send(&self, what: Event) -> bool {
        self.events.send(ClientReport { lane: self.lane, turn: self.turn, what }).await.is_ok()
    }
}

/// The result of sending a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    Queued,
    /// The queue is full: the server reads too slowly.
    Stuck,
    /// The stream has ended; the event that says so follows.
    Over,
}

struct Stream {
    turn: u64,
    requests: mpsc::Sender<Bytes>,
    task: AbortHandle,
}

/// The server and path of a lane.
struct LaneRoute {
    /// The number of the server, and the position among the server and its fallbacks.
    server: u32,
    at: usize,
    path: String,
    /// For REST: the timeout of a poll.
    timeout: Option<Duration>,
}

/// The open streams, each on a connection of its own.
pub struct Streams {
    /// Each server with its fallbacks, by number.
    servers: Vec<Vec<Arc<Server>>>,
    /// Routes by lane.
    routes: HashMap<u32, LaneRoute>,
    events: mpsc::Sender<ClientReport>,
    open: HashMap<u32, Stream>,
    turns: u64,
    /// The time between PINGs in milliseconds, doubled when a server answers ENHANCE_YOUR_CALM.
    keepalive: Arc<AtomicU64>,
}

impl Streams {
    /// Returns the streams and the receiver of their events. Requires a tokio runtime.
    pub fn new(servers: Vec<Server>) -> (Streams, mpsc::Receiver<ClientReport>) {
        let (events, receive) = mpsc::channel(MAX_QUEUED_EVENTS);
        let every = servers.first().map_or(Duration::ZERO, |server| server.keepalive).as_millis();
        let every = u64::try_from(every).unwrap_or(u64::MAX);
        let in_turn = |mut server: Server| {
            let others = std::mem::take(&mut server.fallback);
            std::iter::once(server).chain(others).map(Arc::new).collect()
        };
        let servers = servers.into_iter().map(in_turn).collect();
        let keepalive = Arc::new(AtomicU64::new(every));
        let streams =
            Streams { servers, routes: HashMap::new(), events, open: HashMap::new(), turns: 0, keepalive };
        (streams, receive)
    }

    /// The server that a lane is connected to; `None` for an unknown lane or server.
    pub fn server(&self, lane: u32) -> Option<&Arc<Server>> {
        let route = self.routes.get(&lane)?;
        self.servers.get(route.server as usize)?.get(route.at)
    }

    /// The gRPC path or URL path of a lane.
    pub fn path(&self, lane: u32) -> Option<&str> {
        self.routes.get(&lane).map(|route| route.path.as_str())
    }

    /// Connects to the next fallback server. Returns false if there is none.
    pub fn fall_back(&mut self, lane: u32) -> bool {
        let Some(route) = self.routes.get_mut(&lane) else { return false };
        if self.servers.get(route.server as usize).is_none_or(|servers| route.at + 1 >= servers.len()) {
            return false;
        }
        route.at += 1;
        self.connect(lane);
        true
    }

    /// Connects to a server and opens a stream at a gRPC path.
    ///
    /// An unknown `server` opens nothing.
    pub fn open(&mut self, lane: u32, server: u32, path: String) {
        self.routes.insert(lane, LaneRoute { server, at: 0, path, timeout: None });
        self.connect(lane);
    }

    /// Connects and posts each request to a path.
    ///
    /// The caller sends the next request after the answer to the previous one. A poll without an
    /// answer within `timeout` ends the lane.
    pub fn poll(&mut self, lane: u32, server: u32, path: String, timeout: Duration) {
        self.routes.insert(lane, LaneRoute { server, at: 0, path, timeout: Some(timeout) });
        self.connect(lane);
    }

    fn connect(&mut self, lane: u32) {
        self.close(lane);
        let (Some(server), Some(route)) = (self.server(lane).cloned(), self.routes.get(&lane)) else {
            return;
        };
        let (path, timeout) = (route.path.clone(), route.timeout);
        self.turns += 1;
        let turn = self.turns;
        tracing::debug!(lane, turn, server = %server.address, path, "connecting");
        let (requests, ready) = mpsc::channel(MAX_QUEUED_REQUESTS);
        let sender = EventSender { events: self.events.clone(), lane, turn };
        let keepalive = self.keepalive.clone();
        let task = tokio::spawn(async move {
            if let Some(timeout) = timeout {
                return super::poll::run(&server, &path, timeout, ready, &sender).await;
            }
            let end = server.carry(&path, ready, &sender, &keepalive).await;
            sender.send(end.map_or_else(Event::Failed, Event::Ended)).await;
        });
        self.open.insert(lane, Stream { turn, requests, task: task.abort_handle() });
    }

    /// Returns whether an event belongs to the lane's current stream.
    pub fn is_current(&self, report: &ClientReport) -> bool {
        self.open.get(&report.lane).is_some_and(|stream| stream.turn == report.turn)
    }

    /// Queues a request.
    pub fn send(&self, lane: u32, bytes: Bytes) -> RequestOutcome {
        match self.open.get(&lane).map(|stream| stream.requests.try_send(bytes)) {
            Some(Ok(())) => RequestOutcome::Queued,
            Some(Err(mpsc::error::TrySendError::Full(_))) => RequestOutcome::Stuck,
            Some(Err(mpsc::error::TrySendError::Closed(_))) | None => RequestOutcome::Over,
        }
    }

    /// Ends a stream and discards its events.
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
            timeout: self.timeout,
        }
    }

    /// Returns the URI of a path and the headers of a request that starts now.
    fn request_head(&self, path: &str) -> Result<(http::Uri, http::HeaderMap), DialError> {
        let mut parts = self.dial().origin()?.into_parts();
        parts.path_and_query = path.parse().ok();
        let uri = http::Uri::from_parts(parts).map_err(|error| refused(format!("{path}: {error}")))?;
        let headers = self.headers_now();
        let headers = headers.map_err(|error| DialError::new(error.to_string(), &["token"], None))?;
        let headers = dial::metadata(&headers).map_err(|error| refused(error.to_string()))?;
        Ok((uri, headers.into_headers()))
    }

    /// Connects, and carries one stream to its end.
    ///
    /// # Errors
    /// The stream could not be opened, because this step failed.
    async fn carry(
        &self,
        path: &str,
        requests: mpsc::Receiver<Bytes>,
        events: &EventSender,
        keepalive: &AtomicU64,
    ) -> Result<End, DialError> {
        let dial = self.dial();
        let (leg, secured) = dial.leg(b"h2").await?;
        let (uri, headers) = self.request_head(path)?;
        let heard = |verified: Result<(), DialError>| {
            verified.map_err(|error| match self.address.mend() {
                Some(words) => DialError { what: format!("{}; kubectl: {words}", error.what), ..error },
                None => error,
            })
        };
        let (sniffed, first) = Sniffed::new(leg);
        let mut builder = h2::client::Builder::new();
        builder
            .initial_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .enable_push(false);
        let broken = |error: h2::Error| refused(format!("cannot reach {}: {error}", self.address));
        let (send, mut connection) = builder.handshake::<_, Bytes>(sniffed).await.map_err(broken)?;
        let pings = connection.ping_pong();
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            biased;
            verified = dial.wait_for_http2(&first, secured.as_deref()) => heard(verified)?,
            // Tells what the server sent instead of HTTP/2.
            over = &mut connection => {
                heard(dial.wait_for_http2(&first, secured.as_deref()).await)?;
                let why = over.err().and_then(|error| stream::broken(&error).note);
                let why = why.unwrap_or_else(|| "the server closed the connection".into());
                return Err(refused(format!("cannot reach {}: HTTP/2 failed, {why}", self.address)));
            }
        }
        if !events.send(Event::Opened { tls: secured }).await {
            return Ok(End::default());
        }
        let carry = Carry { uri, headers, max_message: self.max_message, requests, events };
        let mut carried = std::pin::pin!(carry.run(send));
        let alive = async {
            match pings {
                Some(pings) => stream::keepalive(pings, keepalive, self.keepalive_timeout, &first).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            end = &mut carried => Ok(end),
            over = &mut connection => {
                let error = over.err();
                if error.as_ref().is_some_and(stream::is_too_often) {
                    // gRFC A8: double the keepalive time after ENHANCE_YOUR_CALM.
                    keepalive.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |every| every.checked_mul(2)).ok();
                }
                let end = tokio::time::timeout(END_TIMEOUT, carried).await.ok();
                Ok(end_of_connection(error.as_ref(), end))
            }
            () = alive => {
                self.address.mend();
                let note = format!("keepalive: no answer to a PING in {:?}", self.keepalive_timeout);
                Ok(End { by: Some(Side::Client), note: Some(note), ..End::default() })
            }
        }
    }
}

/// An error after the connection was established.
fn refused(what: String) -> DialError {
    DialError::new(what, &["port ok", "HTTP/2"], None)
}

/// The end of a stream whose connection has ended.
///
/// `end` is the end that the stream itself reported.
fn end_of_connection(error: Option<&h2::Error>, end: Option<End>) -> End {
    let has_reason = |end: &End| end.status.is_some() || end.reset.is_some();
    end.filter(has_reason).or_else(|| error.map(stream::broken)).unwrap_or_else(|| End {
        by: Some(Side::Server),
        note: Some("the server closed the connection".into()),
        ..End::default()
    })
}
