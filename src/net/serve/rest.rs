//! REST polls over HTTP/1.1: a `DiscoveryRequest` in, a `DiscoveryResponse` out, both as JSON.
//!
//! The bytes of the connection are reported as a tap reports them, so that analysis and recording
//! read the polls in one way.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::ServeContext;
use crate::net::transport::Leg;
use xdscope_sources::observe::{ConnId, TapEvent};
use xdscope_sources::peers::server::{PollAnswer, rest_method};
use xdscope_wire::event::Dir;

/// The largest poll, in bytes.
const MAX_REQUEST_BYTES: usize = 64 << 20;

/// The time that a poll without news is held open.
///
/// Shorter than the `request_timeout` of Envoy, which is 1 s unless the bootstrap sets another.
const HOLD_TIME: Duration = Duration::from_millis(500);

/// Serves the polls of a connection until the client closes it.
///
/// # Errors
///
/// The client does not speak HTTP/1.1, or the connection broke.
pub(super) async fn serve(conn: ConnId, client: Leg, shared: &ServeContext) -> Result<(), hyper::Error> {
    let io = TokioIo::new(ReportedLeg { leg: client, conn, shared: shared.clone() });
    let service = service_fn(|request| async {
        let response = answer(request, shared).await;
        Ok::<_, Infallible>(response.unwrap_or_else(|error| plain(error.status, error.why)))
    });
    http1::Builder::new().serve_connection(io, service).await
}

/// A poll that is refused.
struct PollError {
    status: StatusCode,
    why: &'static str,
}

fn refused(status: StatusCode, why: &'static str) -> PollError {
    PollError { status, why }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

/// Answers one poll, at once if there is news, else when the plan changes or after a while.
async fn answer(
    request: Request<Incoming>,
    shared: &ServeContext,
) -> Result<Response<Full<Bytes>>, PollError> {
    let (head, body) = request.into_parts();
    let unknown =
        || refused(StatusCode::NOT_FOUND, "not a REST path of xDS, such as /v3/discovery:clusters\n");
    let method = rest_method(head.uri.path()).ok_or_else(unknown)?;
    if head.method != Method::POST {
        return Err(refused(StatusCode::METHOD_NOT_ALLOWED, "a poll is a POST\n"));
    }
    let body = Limited::new(body, MAX_REQUEST_BYTES).collect().await;
    let body =
        body.map_err(|_| refused(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large or broke off\n"))?;
    if head.headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the coding is not supported\n"));
    }
    let malformed = || refused(StatusCode::BAD_REQUEST, "the body is not a DiscoveryRequest in JSON\n");
    let request = shared.bodies.read_request(&body.to_bytes(), &method).ok_or_else(malformed)?;
    let mut plan = shared.control.plan.subscribe();
    let held_until = tokio::time::Instant::now() + HOLD_TIME;
    loop {
        let now = plan.borrow_and_update().clone();
        match shared.answer_poll(&now, &method, &request) {
            PollAnswer::Response(bytes) => {
                let mut response = Response::new(Full::from(shared.bodies.write_response(&bytes, &method)));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                return Ok(response);
            }
            PollAnswer::Unchanged => {}
            PollAnswer::Malformed => return Err(malformed()),
            PollAnswer::NotServed => {
                return Err(refused(StatusCode::NOT_IMPLEMENTED, "a script is not served over REST\n"));
            }
        }
        // An error means that the server is stopping.
        if !matches!(tokio::time::timeout_at(held_until, plan.changed()).await, Ok(Ok(()))) {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return Ok(response);
        }
    }
}

/// A connection whose bytes are reported.
struct ReportedLeg {
    leg: Leg,
    conn: ConnId,
    shared: ServeContext,
}

impl ReportedLeg {
    fn report(&self, dir: Dir, bytes: &[u8]) {
        if !bytes.is_empty() {
            let bytes = Bytes::copy_from_slice(bytes);
            self.shared.reporter.report(self.conn, TapEvent::Bytes { dir, bytes });
        }
    }
}

impl AsyncRead for ReportedLeg {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.leg).poll_read(cx, buf))?;
        self.report(Dir::Req, buf.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ReportedLeg {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.leg).poll_write(cx, bytes))?;
        self.report(Dir::Resp, bytes.get(..written).unwrap_or_default());
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.leg).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.leg).poll_shutdown(cx)
    }
}
