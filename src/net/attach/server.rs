//! The server of a run's session: a thread of its own, so that viewers never hold up traffic.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use h2::server::{Builder, SendResponse};
use h2::{RecvStream, SendStream};
use http::{HeaderValue, Request, Response};
use prost::Message as _;
use tokio::task::JoinSet;
use tokio::time::timeout;
use xdscope_wire::event::Code;
use xdscope_wire::{Messages, Piece};

use super::messages::{Current, Ended, Event, FollowRequest, FollowResponse};
use super::session_cursor::{SessionCursor, session_of};
use super::{HEARTBEAT_INTERVAL, MAX_CONTENT_BYTES, PATH, PROTOCOL_VERSION};
use crate::net::tap::{ListenError, Tap};
use crate::net::tls;
use crate::net::token::Token;
use crate::net::transport::{
    Accepted, Address, ClientProtocol, Leg, Listener, accept, alert, client_protocol, refuse, trailers,
};

/// Viewers at a time.
pub const MAX_VIEWERS: usize = 32;

/// Connections at a time.
const MAX_CONNECTIONS: usize = 2 * MAX_VIEWERS;

/// The time from a connection to its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How often the files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How long a viewer may take nothing of what was sent.
const STALL_TIMEOUT: Duration = Duration::from_secs(600);

/// The largest request, in bytes.
const MAX_REQUEST_BYTES: usize = 1 << 20;

/// How often a wrong token can be tried on a connection is limited by this delay.
const REFUSAL_DELAY: Duration = Duration::from_millis(200);

const OK: Code = Code(0);
const INVALID_ARGUMENT: Code = Code(3);
const RESOURCE_EXHAUSTED: Code = Code(8);
const FAILED_PRECONDITION: Code = Code(9);
const UNIMPLEMENTED: Code = Code(12);
const UNAUTHENTICATED: Code = Code(16);

/// A run whose session viewers read.
pub trait Attachable: Send + Sync + 'static {
    /// Returns the session files in order; `None`: the run is not recorded.
    fn files(&self) -> Option<Vec<PathBuf>>;

    /// Whether the run has ended, and its files are complete.
    fn has_ended(&self) -> bool;
}

/// The viewers that may read the session.
#[derive(Clone, Debug, Default)]
pub struct AttachAccess {
    pub tls: Option<Arc<tls::Server>>,
    /// `None`: everyone who can connect.
    pub token: Option<Token>,
}

/// A running server, which ends when it is dropped.
pub struct AttachServer {
    server: Tap,
    viewers: Arc<AtomicUsize>,
}

impl AttachServer {
    /// Binds the address, then serves in a thread of its own.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn start(
        listen: Address,
        access: AttachAccess,
        run: Arc<dyn Attachable>,
    ) -> Result<AttachServer, ListenError> {
        let viewers = Arc::new(AtomicUsize::new(0));
        let context = Viewing { access, run, viewers: viewers.clone(), connections: Arc::default() };
        let server = Tap::run("attach", &[listen], None, move |listeners, _, stopped| {
            let serve = move |accepted: Accepted| serve(accepted.client, context.clone());
            let own = |listener: Listener| {
                let address = listener.address();
                (listener, address)
            };
            accept(listeners.into_iter().map(own), stopped, async || (), serve)
        })?;
        Ok(AttachServer { server, viewers })
    }

    /// Returns the address, with its port.
    pub fn address(&self) -> Option<&Address> {
        self.server.listening.first()
    }

    /// Returns the number of viewers.
    pub fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }
}

#[derive(Clone)]
struct Viewing {
    access: AttachAccess,
    run: Arc<dyn Attachable>,
    viewers: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

/// One of a limited number, until it is dropped.
struct ViewerPlace(Arc<AtomicUsize>);

impl ViewerPlace {
    fn take(count: &Arc<AtomicUsize>, limit: usize) -> Option<ViewerPlace> {
        let place = ViewerPlace(count.clone());
        (count.fetch_add(1, Ordering::Relaxed) < limit).then_some(place)
    }
}

impl Drop for ViewerPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves a connection until it ends.
async fn serve(client: Leg, context: Viewing) {
    let Some(_place) = ViewerPlace::take(&context.connections, MAX_CONNECTIONS) else { return };
    let handshake = async {
        let leg = secured(client, context.access.tls.as_deref()).await?;
        let mut builder = Builder::new();
        builder
            .max_concurrent_streams(1)
            .max_header_list_size(64 << 10)
            .max_send_buffer_size(2 * MAX_CONTENT_BYTES);
        let mut connection = builder.handshake(leg).await.ok()?;
        let first = connection.accept().await?.ok()?;
        Some((connection, first))
    };
    let Ok(Some((mut connection, (request, respond)))) = timeout(REQUEST_TIMEOUT, handshake).await else {
        return;
    };
    let mut streams = JoinSet::new();
    streams.spawn(answer(request, respond, context.clone()));
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    streams.spawn(answer(request, respond, context.clone()));
                }
                // A client that is gone or does not speak HTTP/2 is nobody's problem but its own.
                Some(Err(_)) | None => return,
            },
            Some(_) = streams.join_next() => {
                // The connection sends what is left, and waits for another request.
                if streams.is_empty() {
                    connection.graceful_shutdown();
                }
            }
        }
    }
}

/// Performs the TLS handshake, if any. A client that does not fit is told why.
async fn secured(client: Leg, tls: Option<&tls::Server>) -> Option<Leg> {
    let (first, client) = client.first().await.ok()??;
    match (tls, client_protocol(&first)) {
        (None, ClientProtocol::Http2) => Some(client),
        (None, ClientProtocol::Tls) => {
            alert(client).await;
            None
        }
        (Some(tls), ClientProtocol::Tls) => {
            let hello = tls.hello(client).await.ok()?;
            let (stream, _) = tls.accept(hello, Some(b"h2".to_vec())).await.ok()?;
            Some(Leg::Tls(Box::new(stream)))
        }
        (Some(_), _) => {
            refuse(client, "this port is for viewers (xdscope attach), and requires TLS").await;
            None
        }
        (None, _) => {
            refuse(client, "this port is for viewers: xdscope attach ADDRESS").await;
            None
        }
    }
}

/// A status to end a stream with.
struct Refused(Code, String);

/// Answers one request.
async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, context: Viewing) {
    let mut response = Response::new(());
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    let accepted = match timeout(REQUEST_TIMEOUT, accepted(request, &context)).await {
        Ok(accepted) => accepted,
        Err(_) => Err(Refused(INVALID_ARGUMENT, "no request came".to_owned())),
    };
    let (request, _place) = match accepted {
        Ok(accepted) => accepted,
        Err(Refused(code, why)) => {
            tokio::time::sleep(REFUSAL_DELAY).await;
            response.headers_mut().extend(trailers(code, &why));
            // The viewer may be gone.
            let _ = respond.send_response(response, true);
            return;
        }
    };
    let Ok(send) = respond.send_response(response, false) else { return };
    let mut out = Responses { send };
    if out.follow(request, &*context.run).await.is_some() {
        // The viewer may be gone.
        let _ = out.send.send_trailers(trailers(OK, ""));
    }
}

/// Checks a request, and gives it a place among the viewers.
async fn accepted(
    request: Request<RecvStream>,
    context: &Viewing,
) -> Result<(FollowRequest, ViewerPlace), Refused> {
    let (head, body) = request.into_parts();
    if head.uri.path() != PATH {
        let why = "this port is for viewers (xdscope attach ADDRESS), not for clients of xDS".to_owned();
        return Err(Refused(UNIMPLEMENTED, why));
    }
    if let Some(token) = &context.access.token {
        check_token(token, head.headers.get("authorization"))?;
    }
    let bytes = first_message(body).await.ok_or_else(unreadable)?;
    let request = FollowRequest::decode(&bytes[..]).map_err(|_| unreadable())?;
    if request.version != PROTOCOL_VERSION {
        let why = format!(
            "the run speaks version {PROTOCOL_VERSION} of the protocol of viewers, the viewer version {}: use \
             the same release of xdscope",
            request.version
        );
        return Err(Refused(FAILED_PRECONDITION, why));
    }
    if context.run.files().is_none() {
        return Err(Refused(FAILED_PRECONDITION, "the run is not recorded (--no-record)".to_owned()));
    }
    let place = ViewerPlace::take(&context.viewers, MAX_VIEWERS);
    let place = place
        .ok_or_else(|| Refused(RESOURCE_EXHAUSTED, format!("the run has {MAX_VIEWERS} viewers already")))?;
    Ok((request, place))
}

fn unreadable() -> Refused {
    Refused(INVALID_ARGUMENT, "the request cannot be read".to_owned())
}

/// Compares a header with the current token, in a time that does not tell how much of it is right.
fn check_token(token: &Token, header: Option<&HeaderValue>) -> Result<(), Refused> {
    let Ok((_, expected)) = token.header() else {
        let why = "the run cannot read its token now".to_owned();
        return Err(Refused(UNAUTHENTICATED, why));
    };
    let sent = header.map(HeaderValue::as_bytes).unwrap_or_default();
    let differing = expected.bytes().zip(sent.iter().chain(std::iter::repeat(&0)));
    let differing = differing.fold(0, |bits, (expected, sent)| bits | (expected ^ sent));
    if differing == 0 && sent.len() == expected.len() {
        return Ok(());
    }
    let what = if sent.is_empty() { "missing" } else { "wrong" };
    Err(Refused(UNAUTHENTICATED, format!("the token is {what}")))
}

/// Reads the first message of a request.
async fn first_message(mut body: RecvStream) -> Option<Vec<u8>> {
    let (mut messages, mut partial, mut done) = (Messages::new(true, None), Vec::new(), None);
    while done.is_none() {
        let chunk = body.data().await?.ok()?;
        // Releases no more than was received.
        let _ = body.flow_control().release_capacity(chunk.len());
        let mut is_lost = false;
        messages.push(&chunk, MAX_REQUEST_BYTES as u64, &mut |piece| match piece {
            Piece::Bytes(bytes) => partial.extend_from_slice(bytes),
            Piece::End => {
                done.get_or_insert(std::mem::take(&mut partial));
            }
            Piece::Lost { .. } => is_lost = true,
        });
        if is_lost || partial.len() > MAX_REQUEST_BYTES {
            return None;
        }
    }
    done
}

/// Responses on their way to a viewer.
struct Responses {
    send: SendStream<Bytes>,
}

impl Responses {
    /// Sends the session as it is written, until the run has ended. Returns `None` if the viewer is
    /// gone.
    async fn follow(&mut self, request: FollowRequest, run: &dyn Attachable) -> Option<()> {
        let mut have = request.have;
        let mut cursor: Option<SessionCursor> = None;
        let mut said_current: Option<Instant> = None;
        loop {
            // In this order: what is written before the end is sent.
            let has_ended = run.has_ended();
            let files = run.files().unwrap_or_default();
            let mut is_current = said_current.is_some_and(|at| at.elapsed() < HEARTBEAT_INTERVAL);
            if cursor.is_none()
                && let Some(session) = files.first().and_then(|file| session_of(file))
            {
                let is_same = request.session == Some(session.session);
                cursor =
                    Some(SessionCursor::new(if is_same { std::mem::take(&mut have) } else { Vec::new() }));
                self.put(Event::Session(session)).await?;
            }
            if let Some(cursor) = &mut cursor {
                while let Some(content) = cursor.next(&files) {
                    is_current = false;
                    self.put(Event::Content(content)).await?;
                }
            }
            if has_ended {
                return self.put(Event::Ended(Ended {})).await;
            }
            if !is_current {
                self.put(Event::Current(Current {})).await?;
                said_current = Some(Instant::now());
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
                _ = poll_fn(|cx| self.send.poll_reset(cx)) => return None,
            }
        }
    }

    /// Sends a response as fast as the viewer takes it. Returns `None` if the viewer is gone.
    async fn put(&mut self, event: Event) -> Option<()> {
        let response = FollowResponse { event: Some(event) };
        let len = response.encoded_len();
        let mut bytes = BytesMut::with_capacity(5 + len);
        bytes.put_u8(0);
        bytes.put_u32(u32::try_from(len).ok()?);
        response.encode(&mut bytes).ok()?;
        let mut left = bytes.freeze();
        while !left.is_empty() {
            self.send.reserve_capacity(left.len());
            let room = timeout(STALL_TIMEOUT, poll_fn(|cx| self.send.poll_capacity(cx))).await;
            let room = room.ok()??.ok()?;
            let part = left.split_to(room.min(left.len()));
            if !part.is_empty() {
                self.send.send_data(part, false).ok()?;
            }
        }
        Some(())
    }
}
