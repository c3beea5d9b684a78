//! One gRPC stream on a connection of its own: requests out, response bytes in, and its end.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::{BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use h2::{Ping, PingPong, Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Method, Request, Version, header};
use tokio::sync::mpsc;

use super::client::{Event, EventSender};
use super::sniff::FirstBytes;
use xdscope_wire::discovery::fields::{any, status};
use xdscope_wire::event::{Code, Side};
use xdscope_wire::h2::{Trailers, go_away_words};
use xdscope_wire::pb::{Fields, Value};
use xdscope_wire::{End, Messages, Piece};

/// The flow-control window of a stream and of its connection, in bytes.
pub(super) const WINDOW_BYTES: u32 = 4 << 20;

/// Bytes that are shown of an answer that is not gRPC.
const MAX_SHOWN_BYTES: usize = 300;

/// A stream to be carried.
pub(super) struct Carry<'a> {
    /// Scheme, authority and path.
    pub uri: http::Uri,
    /// Headers to add to the request.
    pub headers: HeaderMap,
    /// The largest response to accept, in bytes after decompression.
    pub max_message: u64,
    pub requests: mpsc::Receiver<Bytes>,
    /// The receiver of events. The server waits while its queue is full.
    pub events: &'a EventSender,
}

impl Carry<'_> {
    /// Carries the stream to its end, while another task drives the connection.
    pub(super) async fn run(mut self, send: SendRequest<Bytes>) -> End {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.version_mut() = Version::HTTP_2;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static(concat!("xdscope/", env!("CARGO_PKG_VERSION"))),
        );
        headers.insert("grpc-accept-encoding", HeaderValue::from_static("identity,gzip,deflate,zstd"));
        headers.extend(std::mem::take(&mut self.headers));
        let opened = async { send.ready().await?.send_request(request, false) };
        let (response, out) = match opened.await {
            Ok(opened) => opened,
            Err(error) => return broken(&error),
        };
        let (_, empty) = mpsc::channel(1);
        let requests = std::mem::replace(&mut self.requests, empty);
        tokio::select! {
            end = self.receive(response) => end,
            never = sending(out, requests) => match never {},
        }
    }

    async fn receive(&self, response: h2::client::ResponseFuture) -> End {
        let (head, mut body) = match response.await {
            Ok(response) => response.into_parts(),
            Err(error) => return broken(&error),
        };
        let trailers = Trailers::new(fields(&head.headers, Some(head.status)));
        let is_grpc = head
            .headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|content_type| content_type.as_bytes().starts_with(b"application/grpc"));
        if head.headers.contains_key("grpc-status") {
            return finished(trailers, &head.headers);
        }
        if head.status != http::StatusCode::OK || !is_grpc {
            return not_grpc(&head, &mut body).await;
        }
        let encoding = head.headers.get("grpc-encoding").and_then(|encoding| encoding.to_str().ok());
        let mut messages = Messages::new(true, encoding);
        let mut size = 0;
        let mut parts = Vec::new();
        while let Some(chunk) = body.data().await {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => return broken(&error),
            };
            let mut lost = None;
            messages.push(&chunk, self.max_message, &mut |piece| match piece {
                Piece::Bytes(bytes) => {
                    size += bytes.len() as u64;
                    parts.push(Event::Bytes(share(&chunk, bytes)));
                }
                Piece::End => {
                    size = 0;
                    parts.push(Event::Message);
                }
                Piece::Lost { why, .. } => lost = Some(why),
            });
            if size > self.max_message {
                lost = Some(format!("it has more than {} bytes (--max-message-size)", self.max_message));
            }
            if let Some(why) = lost {
                let note = format!("a response that cannot be read: {why}");
                return End { by: Some(Side::Client), note: Some(note), ..End::default() };
            }
            for part in parts.drain(..) {
                if !self.events.send(part).await {
                    return End { by: Some(Side::Client), ..End::default() };
                }
            }
            // A flow-control error means that the stream has ended, which the next iteration sees.
            let _ = body.flow_control().release_capacity(chunk.len());
        }
        match body.trailers().await {
            Ok(Some(trailers)) => finished(Trailers::new(fields(&trailers, None)), &trailers),
            Ok(None) => noted("without a gRPC status".into()),
            Err(error) => broken(&error),
        }
    }
}

/// Returns a part of a chunk, without copying if `part` lies in `chunk`.
fn share(chunk: &Bytes, part: &[u8]) -> Bytes {
    let within = chunk.as_ptr_range().contains(&part.as_ptr());
    if within { chunk.slice_ref(part) } else { Bytes::copy_from_slice(part) }
}

/// Sends requests as fast as the server takes them. Errors show up in the responses.
async fn sending(mut out: SendStream<Bytes>, mut requests: mpsc::Receiver<Bytes>) -> Infallible {
    while let Some(request) = requests.recv().await {
        let mut left = BytesMut::with_capacity(request.len() + 5);
        left.put_u8(0);
        left.put_u32(u32::try_from(request.len()).unwrap_or(u32::MAX));
        left.put(request);
        while !left.is_empty() {
            out.reserve_capacity(left.len());
            let room = std::future::poll_fn(|cx| out.poll_capacity(cx)).await;
            let Some(Ok(room)) = room else { return std::future::pending().await };
            let part = left.split_to(room.min(left.len())).freeze();
            if out.send_data(part, false).is_err() {
                return std::future::pending().await;
            }
        }
    }
    std::future::pending().await
}

fn fields(headers: &HeaderMap, status: Option<http::StatusCode>) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let fields = headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value)));
    fields.chain(status.map(|status| (":status".to_owned(), status.as_str().to_owned()))).collect()
}

/// Returns the end of a stream with the server's status and its details.
fn finished(trailers: Trailers, headers: &HeaderMap) -> End {
    let details = headers.get("grpc-status-details-bin").map(|details| details.as_bytes());
    let note = details.and_then(|packed| {
        let any_padding =
            GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let decoder = GeneralPurpose::new(&base64::alphabet::STANDARD, any_padding);
        detailed(&decoder.decode(packed).ok()?, trailers.status.as_ref().map_or("", |(_, text)| text))
    });
    End { by: Some(Side::Server), status: trailers.status, reset: None, note }
}

/// Returns the content of a `google.rpc.Status` beyond `text`: its own message and the texts in its
/// details.
fn detailed(bytes: &[u8], text: &str) -> Option<String> {
    let mut details = Vec::new();
    for field in Fields::new(bytes).map_while(Result::ok) {
        match (field.number, field.value) {
            (status::MESSAGE, _) if field.text() != text => details.push(field.text().into_owned()),
            (status::DETAILS, Value::Len(detail)) => {
                let find =
                    |number| Fields::new(detail).map_while(Result::ok).find(|field| field.number == number);
                let name = find(any::TYPE_URL)
                    .map(|url| url.text().rsplit(['/', '.']).next().unwrap_or_default().to_owned());
                let mut texts = Vec::new();
                if let Some(Value::Len(value)) = find(any::VALUE).map(|value| value.value) {
                    texts_in(value, 4, &mut texts);
                }
                details.push(format!("{} {}", name.unwrap_or_default(), texts.join(", ")).trim().to_owned());
            }
            _ => {}
        }
    }
    details.retain(|detail| !detail.is_empty());
    (!details.is_empty()).then(|| format!("details: {}", details.join("; ")))
}

/// Collects the texts of a message of unknown type, down to `depth`.
fn texts_in(bytes: &[u8], depth: u8, out: &mut Vec<String>) {
    for field in Fields::new(bytes).map_while(Result::ok) {
        let Value::Len(inner) = field.value else { continue };
        match std::str::from_utf8(inner) {
            Ok(text) if text.chars().all(|c| !c.is_control() || c.is_whitespace()) => {
                let text = text.trim();
                if !text.is_empty() {
                    out.push(text.to_owned());
                }
            }
            _ if depth > 0 => texts_in(inner, depth - 1, out),
            _ => {}
        }
    }
}

/// The end of a stream that a proxy or a plain HTTP server answered, with gRPC's mapping of HTTP
/// codes.
async fn not_grpc(head: &http::response::Parts, body: &mut RecvStream) -> End {
    let code = Code::of_http(head.status.as_u16());
    let kind = head
        .headers
        .get(header::CONTENT_TYPE)
        .map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let mut text = match (head.status, kind) {
        (http::StatusCode::OK, Some(kind)) => format!("the answer is {kind}, not gRPC"),
        (http::StatusCode::OK, None) => "the answer is not gRPC".into(),
        (status, _) => format!("HTTP status {}", status.as_u16()),
    };
    let mut start = Vec::new();
    while start.len() < MAX_SHOWN_BYTES {
        let Some(Ok(chunk)) = body.data().await else { break };
        let _ = body.flow_control().release_capacity(chunk.len());
        start.extend_from_slice(&chunk);
    }
    start.truncate(MAX_SHOWN_BYTES);
    let start = String::from_utf8_lossy(&start);
    if !start.trim().is_empty() {
        text.push_str(&format!(": {}", start.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    End { by: Some(Side::Server), status: Some((code, text)), ..End::default() }
}

fn noted(note: String) -> End {
    End { by: Some(Side::Server), note: Some(note), ..End::default() }
}

/// The end of a stream without a status.
pub(super) fn broken(error: &h2::Error) -> End {
    let code = error.reason().map_or_else(String::new, |reason| format!("{reason:?}"));
    if error.is_go_away() && error.is_remote() {
        // h2 offers the GOAWAY debug data only in the printed error.
        let text = error.to_string();
        let debug = text.split_once("(b\"").and_then(|(_, rest)| rest.strip_suffix("\")"));
        let goaway = error.reason().map_or(0, u32::from);
        return noted(go_away_words(goaway, debug.unwrap_or_default()));
    }
    if error.is_reset() && error.is_remote() {
        let reset = error.reason().map(u32::from);
        return End { reset, ..noted(format!("RST_STREAM {code}")) };
    }
    match error.get_io() {
        Some(io) if io.kind() == std::io::ErrorKind::BrokenPipe => {
            noted("the server closed the connection".into())
        }
        Some(io) => noted(format!("the connection broke: {io}")),
        None => noted(format!("HTTP/2 broke: {error}")),
    }
}

/// Returns whether the server objects to the number of PINGs (ENHANCE_YOUR_CALM).
pub(super) fn is_too_often(error: &h2::Error) -> bool {
    error.is_go_away() && error.is_remote() && error.reason() == Some(Reason::ENHANCE_YOUR_CALM)
}

/// Sends PINGs.
///
/// Returns when neither an answer nor anything else has arrived within `timeout`.
pub(super) async fn keepalive(mut pings: PingPong, every: &AtomicU64, timeout: Duration, first: &FirstBytes) {
    loop {
        let every = Duration::from_millis(every.load(Ordering::Relaxed));
        if every.is_zero() {
            return std::future::pending().await;
        }
        tokio::time::sleep(every).await;
        let mut ping = std::pin::pin!(pings.ping(Ping::opaque()));
        loop {
            let before = first.bytes();
            match tokio::time::timeout(timeout, &mut ping).await {
                Ok(Ok(_)) => break,
                // The connection has ended, which others report.
                Ok(Err(_)) => return std::future::pending().await,
                Err(_) if first.bytes() > before => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_wire::pb::put_len_field;

    #[test]
    fn reads_status_details_without_their_types() {
        let (mut info, mut any, mut status) = (Vec::new(), Vec::new(), Vec::new());
        put_len_field(&mut info, 1, b"TOKEN_EXPIRED");
        put_len_field(&mut info, 2, b"auth.mesh");
        put_len_field(&mut any, 1, b"type.googleapis.com/google.rpc.ErrorInfo");
        put_len_field(&mut any, 2, &info);
        put_len_field(&mut status, 2, b"not today");
        put_len_field(&mut status, 3, &any);
        assert_eq!(
            detailed(&status, "not today").as_deref(),
            Some("details: ErrorInfo TOKEN_EXPIRED, auth.mesh")
        );
        assert_eq!(
            detailed(&status, "").as_deref(),
            Some("details: not today; ErrorInfo TOKEN_EXPIRED, auth.mesh")
        );
        assert_eq!(detailed(b"\x12", ""), None);
    }

    #[test]
    fn shares_parts_of_a_chunk() {
        let chunk = Bytes::from_static(b"hello, world");
        let part = share(&chunk, &chunk[7..]);
        assert_eq!((&part[..], part.as_ptr()), (&b"world"[..], chunk[7..].as_ptr()));
        assert_eq!(&share(&chunk, b"other")[..], b"other");
    }
}
