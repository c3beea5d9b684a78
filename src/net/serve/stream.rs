//! One gRPC stream: requests in, responses out.

use std::convert::Infallible;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response};

use super::ServeContext;
use crate::net::transport::trailers;
use xdscope_sources::observe::{ConnId, StreamEvent, TapEvent};
use xdscope_sources::peers::server::{Next, ServerStream};
use xdscope_wire::event::{Code, Dir, Side};
use xdscope_wire::h2::Head;
use xdscope_wire::{End, Messages, Piece};

/// The largest request, in bytes. A request with 100,000 names takes a tenth of this.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// Responses up to this many bytes are sent in batches.
const MAX_BATCH_BYTES: usize = 32 << 10;

/// Stop reading requests while this many responses are queued for the client.
const MAX_QUEUED_RESPONSES: usize = 8;

/// The time after which a waiting script reports what it waits for.
const REPORT_AFTER: Duration = Duration::from_secs(2);

const OK: Code = Code(0);
const RESOURCE_EXHAUSTED: Code = Code(8);
const UNIMPLEMENTED: Code = Code(12);
const INTERNAL: Code = Code(13);

/// Serves one stream until it ends, and reports its events.
pub(super) async fn serve(
    conn: ConnId,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    shared: ServeContext,
) {
    let stream = respond.stream_id().into();
    let reporter = StreamReporter { conn, stream, shared: shared.clone() };
    let (head, body) = request.into_parts();
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    reporter.report(StreamEvent::Open(Head {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        authority: head.uri.authority().map(ToString::to_string).unwrap_or_default(),
        metadata: metadata(&head.headers),
        omitted: 0,
    }));
    let mut response = Response::new(());
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    let Some(stream) = ServerStream::open(head.uri.path(), shared.control.plan(), shared.clock.now()) else {
        let why = "not a streaming method of xDS";
        response.headers_mut().extend(trailers(UNIMPLEMENTED, why));
        // The client may have disconnected.
        let _ = respond.send_response(response, true);
        return reporter.report(StreamEvent::End(server_ended(UNIMPLEMENTED, why)));
    };
    let Ok(send) = respond.send_response(response, false) else {
        return reporter.report(StreamEvent::End(client_gone(None)));
    };
    let requests = Requests {
        body,
        messages: Messages::new(true, header("grpc-encoding")),
        partial: Vec::new(),
        ended: false,
    };
    let mut exchange = Exchange { stream, requests, out: ResponseWriter::new(send), reporter, shared };
    let Err(end) = exchange.run().await;
    exchange.reporter.report(StreamEvent::End(end));
}

fn metadata(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

/// Reports the events of this stream.
struct StreamReporter {
    conn: ConnId,
    stream: u32,
    shared: ServeContext,
}

impl StreamReporter {
    fn report(&self, event: StreamEvent) {
        self.shared.reporter.report(self.conn, TapEvent::Stream { stream: self.stream, event });
    }
}

/// A stream, both directions.
struct Exchange {
    stream: ServerStream,
    requests: Requests,
    out: ResponseWriter,
    reporter: StreamReporter,
    shared: ServeContext,
}

impl Exchange {
    /// Runs until the stream ends. Returns how it ended.
    async fn run(&mut self) -> Result<Infallible, End> {
        let mut plan = self.shared.control.plan.subscribe();
        // The plan may have changed since the stream was opened.
        plan.mark_changed();
        let (clock, steps) = (self.shared.clock, self.shared.control.steps.clone());
        let mut orders = self.shared.control.orders.subscribe();
        let mut last_notice = None;
        loop {
            let next = if self.out.full { Next::Idle } else { self.stream.next(clock.now()) };
            let (mut wake_at, mut held_step) = (None, None);
            match next {
                Next::Send(pieces) => {
                    self.out.put(&pieces)?;
                    self.reporter.report(StreamEvent::Message { dir: Dir::Resp, pieces });
                    continue;
                }
                Next::End(code, message) => return self.out.end(code, &message),
                Next::Reset(code) => {
                    self.out.flush()?;
                    self.out.send.send_reset(Reason::from(code));
                    return Err(End { by: Some(Side::Server), reset: Some(code), ..End::default() });
                }
                Next::At(time) => wake_at = Some(time),
                Next::Held(step) => held_step = Some(step),
                Next::Idle => {}
            }
            self.out.flush()?;
            if self.requests.ended && !self.out.full {
                let end = self.out.end(OK, "");
                return end.map_err(|end| End { by: Some(Side::Client), ..end });
            }
            if let Some(step) = &held_step {
                self.notify(&mut last_notice, format!("Enter sends {step}"));
            }
            let awaited = if self.out.full { None } else { self.stream.waits_for() };
            let reads_requests = !self.requests.ended && self.stream.queued() < MAX_QUEUED_RESPONSES;
            tokio::select! {
                room = poll_fn(|cx| self.out.poll(cx)) => room?,
                requests = self.requests.next(), if reads_requests => {
                    let requests = requests.or_else(|failed| self.fail(failed))?;
                    self.handle_requests(requests);
                }
                changed = plan.changed() => {
                    // An error means that the server is stopping.
                    if changed.is_ok() {
                        let plan = plan.borrow_and_update().clone();
                        self.stream.handle_plan(clock.now(), plan);
                    }
                }
                order = orders.recv() => {
                    // An error means that the stream was too slow for older orders.
                    if let Ok(order) = order {
                        self.stream.handle_order(&order);
                    }
                }
                () = clock.reach(wake_at.unwrap_or_default()), if wake_at.is_some() => {}
                permit = steps.acquire(), if held_step.is_some() => {
                    if let Ok(permit) = permit {
                        permit.forget();
                        self.stream.release();
                    }
                }
                () = tokio::time::sleep(REPORT_AFTER), if awaited.is_some() => {
                    let awaited = awaited.unwrap_or_default();
                    self.notify(&mut last_notice, format!("waiting for {awaited}, as in the recording"));
                }
            }
        }
    }

    fn handle_requests(&mut self, requests: Vec<Vec<u8>>) {
        let now = self.shared.clock.now();
        for request in requests {
            let request = Bytes::from(request);
            self.stream.handle_request(now, &request);
            self.reporter.report(StreamEvent::Message { dir: Dir::Req, pieces: vec![request] });
        }
    }

    /// Ends the stream after a request that cannot be handled.
    fn fail(&mut self, failed: RequestError) -> Result<Vec<Vec<u8>>, End> {
        match failed {
            RequestError::Gone(error) if error.is_reset() => Err(client_gone(error.reason())),
            RequestError::Gone(_) => Err(client_gone(None)),
            RequestError::Bad { bytes, code, why } => {
                self.reporter.report(StreamEvent::Lost { bytes });
                self.out.end(code, &why).map(|never| match never {})
            }
        }
    }

    /// Reports a message unless it was the last one reported.
    fn notify(&self, last: &mut Option<String>, text: String) {
        if last.as_ref() != Some(&text) {
            (self.shared.say)(&text);
            *last = Some(text);
        }
    }
}

/// The end of a stream that the client reset or whose connection it closed.
fn client_gone(reset: Option<Reason>) -> End {
    let note = reset.is_none().then(|| "the connection was closed".to_owned());
    End { by: Some(Side::Client), status: None, reset: reset.map(u32::from), note }
}

/// The end of a stream that the server ended with a status.
fn server_ended(code: Code, message: &str) -> End {
    End { by: Some(Side::Server), status: Some((code, message.to_owned())), ..End::default() }
}

/// The requests of a client.
struct Requests {
    body: RecvStream,
    messages: Messages,
    partial: Vec<u8>,
    ended: bool,
}

/// The reason why there are no more requests.
enum RequestError {
    Gone(h2::Error),
    /// A request that cannot be decoded, and the status to end the stream with.
    Bad {
        bytes: u64,
        code: Code,
        why: String,
    },
}

impl Requests {
    /// Waits for more bytes. Returns the requests that they complete.
    async fn next(&mut self) -> Result<Vec<Vec<u8>>, RequestError> {
        let chunk = match self.body.data().await {
            Some(chunk) => chunk.map_err(RequestError::Gone)?,
            None => {
                self.ended = true;
                return Ok(Vec::new());
            }
        };
        // Releases no more than was received.
        let _ = self.body.flow_control().release_capacity(chunk.len());
        let (mut done, mut failed) = (Vec::new(), None);
        let partial = &mut self.partial;
        self.messages.push(&chunk, MAX_REQUEST_BYTES as u64, &mut |piece| match piece {
            Piece::Bytes(bytes) if partial.len() + bytes.len() > MAX_REQUEST_BYTES => {
                let why = format!("a request of more than {MAX_REQUEST_BYTES} bytes");
                failed =
                    Some(RequestError::Bad { bytes: partial.len() as u64, code: RESOURCE_EXHAUSTED, why });
            }
            Piece::Bytes(bytes) => partial.extend_from_slice(bytes),
            Piece::End => done.push(std::mem::take(partial)),
            Piece::Lost { bytes, why, .. } => failed = Some(RequestError::Bad { bytes, code: INTERNAL, why }),
        });
        failed.map_or(Ok(done), Err)
    }
}

/// Responses on their way to the client.
struct ResponseWriter {
    send: SendStream<Bytes>,
    /// Small responses, to be sent together.
    batch: BytesMut,
    /// The client has not taken enough of what was sent.
    full: bool,
}

impl ResponseWriter {
    fn new(send: SendStream<Bytes>) -> ResponseWriter {
        ResponseWriter { send, batch: BytesMut::new(), full: false }
    }

    /// Queues a message behind its gRPC length prefix.
    fn put(&mut self, pieces: &[Bytes]) -> Result<(), End> {
        let size: usize = pieces.iter().map(Bytes::len).sum();
        let small = size <= MAX_BATCH_BYTES;
        self.batch.reserve(5 + if small { size } else { 0 });
        self.batch.put_u8(0);
        self.batch.put_u32(u32::try_from(size).unwrap_or(u32::MAX));
        if small {
            pieces.iter().for_each(|piece| self.batch.put_slice(piece));
            return if self.batch.len() < MAX_BATCH_BYTES { Ok(()) } else { self.flush() };
        }
        self.flush()?;
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            self.data(piece.clone())?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), End> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = self.batch.split().freeze();
        self.data(batch)
    }

    /// Queues all bytes at once. h2 keeps references to them until the client takes them.
    fn data(&mut self, bytes: Bytes) -> Result<(), End> {
        self.send.send_data(bytes, false).map_err(|_| client_gone(None))?;
        self.send.reserve_capacity(1);
        self.full = self.send.capacity() == 0;
        Ok(())
    }

    /// Ready when there is room again or the stream has ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        if let Poll::Ready(reset) = self.send.poll_reset(cx) {
            return Poll::Ready(Err(client_gone(reset.ok())));
        }
        if !self.full {
            return Poll::Pending;
        }
        loop {
            match ready!(self.send.poll_capacity(cx)) {
                Some(Ok(0)) => {}
                Some(Ok(_)) => {
                    self.full = false;
                    return Poll::Ready(Ok(()));
                }
                Some(Err(_)) | None => return Poll::Ready(Err(client_gone(None))),
            }
        }
    }

    fn end(&mut self, code: Code, message: &str) -> Result<Infallible, End> {
        self.flush()?;
        self.send.send_trailers(trailers(code, message)).map_err(|_| client_gone(None))?;
        Err(server_ended(code, message))
    }
}
