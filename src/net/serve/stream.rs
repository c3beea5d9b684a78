//! One gRPC stream: requests in, whatever is answered out.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use bytes::{BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response};

use super::Shared;
use crate::event::Code;
use crate::net::tap::percent;
use crate::server::{Next, Stream};
use crate::wire::{Messages, Piece};

/// A request is no longer than this; those that name 100,000 resources take a tenth of it.
const LARGEST: usize = 64 << 20;

/// A response up to this size goes out in one piece.
const WHOLE: usize = 32 << 10;

const OK: Code = Code(0);
const EXHAUSTED: Code = Code(8);
const UNIMPLEMENTED: Code = Code(12);
const INTERNAL: Code = Code(13);

/// The stream is over, by the client or by us.
struct Over;

pub(super) async fn serve(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, shared: Shared) {
    let (head, body) = request.into_parts();
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let mut response = Response::new(());
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    let plan = shared.control.plan();
    let Some(stream) = Stream::open(head.uri.path(), plan, shared.clock.now()) else {
        response.headers_mut().extend(trailers(UNIMPLEMENTED, "not a streaming method of xDS"));
        // The client may be gone.
        let _ = respond.send_response(response, true);
        return;
    };
    let Ok(send) = respond.send_response(response, false) else { return };
    let requests = Requests {
        body,
        messages: Messages::new(true, header("grpc-encoding")),
        partial: Vec::new(),
        ended: false,
    };
    let mut talk = Talk { stream, requests, out: Out { send, pieces: VecDeque::new() }, shared };
    // However it is over, it is.
    let _ = talk.run().await;
}

struct Talk {
    stream: Stream,
    requests: Requests,
    out: Out,
    shared: Shared,
}

impl Talk {
    async fn run(&mut self) -> Result<(), Over> {
        let mut plan = self.shared.control.plan.subscribe();
        // What came between the opening and this.
        plan.mark_changed();
        let clock = self.shared.clock;
        let mut told = None;
        loop {
            let next = match self.out.pieces.is_empty() {
                true => self.stream.next(clock.now()),
                false => Next::Idle,
            };
            let (mut at, mut held) = (None, false);
            match next {
                Next::Send(pieces) => {
                    self.out.push(pieces);
                    continue;
                }
                Next::End(code, message) => return self.out.end(code, &message),
                Next::Reset(code) => {
                    self.out.send.send_reset(Reason::from(code));
                    return Err(Over);
                }
                Next::At(time) => at = Some(time),
                Next::Held(what) => {
                    held = true;
                    self.tell(&mut told, format!("Enter sends {what}"));
                }
                Next::Idle => {}
            }
            let idle = self.out.pieces.is_empty();
            if idle && self.requests.ended {
                return self.out.end(OK, "");
            }
            let waits = self.stream.waits_for().filter(|_| idle);
            tokio::select! {
                sent = poll_fn(|cx| self.out.poll(cx)) => sent?,
                request = self.requests.next(), if !self.requests.ended && self.stream.queued() < QUEUED => {
                    match request {
                        Ok(requests) => {
                            let now = clock.now();
                            requests.iter().for_each(|request| self.stream.handle_request(now, request));
                        }
                        Err((code, why)) => return self.out.end(code, &why),
                    }
                }
                changed = plan.changed() => {
                    // The other end is ours too.
                    changed.map_err(|_| Over)?;
                    let now = plan.borrow_and_update().clone();
                    self.stream.handle_plan(now);
                }
                () = clock.reach(at.unwrap_or_default()), if at.is_some() => {}
                leave = self.shared.control.steps.acquire(), if held => {
                    leave.map_err(|_| Over)?.forget();
                    self.stream.release();
                }
                () = tokio::time::sleep(STUCK), if waits.is_some() && waits != told => {
                    let words = waits.clone().unwrap_or_default();
                    (self.shared.say)(&format!("waiting for {words}, as in the recording"));
                    told = waits;
                }
            }
        }
    }

    /// Once for each thing that is waited for.
    fn tell(&self, told: &mut Option<String>, what: String) {
        if told.as_ref() != Some(&what) {
            (self.shared.say)(&what);
            *told = Some(what);
        }
    }
}

/// A client that has so many answers to come is not listened to.
const QUEUED: usize = 8;

/// After so long somebody may wonder what is waited for.
const STUCK: std::time::Duration = std::time::Duration::from_secs(2);

/// The requests of a client.
struct Requests {
    body: RecvStream,
    messages: Messages,
    partial: Vec<u8>,
    ended: bool,
}

impl Requests {
    /// Waits for more of what the client sends: the messages which that completes. An error is what the stream ends
    /// with.
    async fn next(&mut self) -> Result<Vec<Vec<u8>>, (Code, String)> {
        let chunk = match self.body.data().await {
            Some(chunk) => chunk.map_err(|error| (INTERNAL, error.to_string()))?,
            None => {
                self.ended = true;
                return Ok(Vec::new());
            }
        };
        // It can't be more than came.
        let _ = self.body.flow_control().release_capacity(chunk.len());
        let (mut done, mut failed) = (Vec::new(), None);
        let partial = &mut self.partial;
        self.messages.push(&chunk, LARGEST as u64, &mut |piece| match piece {
            Piece::Bytes(bytes) if partial.len() + bytes.len() > LARGEST => {
                failed = Some((EXHAUSTED, format!("a request of more than {LARGEST} bytes")));
            }
            Piece::Bytes(bytes) => partial.extend_from_slice(bytes),
            Piece::End => done.push(std::mem::take(partial)),
            Piece::Lost { why, .. } => failed = Some((INTERNAL, why)),
        });
        failed.map_or(Ok(done), Err)
    }
}

/// Responses on their way.
struct Out {
    send: SendStream<Bytes>,
    pieces: VecDeque<Bytes>,
}

impl Out {
    /// A message, after gRPC's prefix: its length.
    fn push(&mut self, pieces: Vec<Bytes>) {
        let size: usize = pieces.iter().map(Bytes::len).sum();
        let mut head = BytesMut::with_capacity(5 + if size <= WHOLE { size } else { 0 });
        head.put_u8(0);
        head.put_u32(u32::try_from(size).unwrap_or(u32::MAX));
        if size <= WHOLE {
            pieces.iter().for_each(|piece| head.put_slice(piece));
            self.pieces.push_back(head.freeze());
        } else {
            self.pieces.push_back(head.freeze());
            self.pieces.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
        }
    }

    /// Sends as much as the client takes. Ready when all is sent, or when the stream is over.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Over>> {
        if let Poll::Ready(_) = self.send.poll_reset(cx) {
            return Poll::Ready(Err(Over));
        }
        if self.pieces.is_empty() {
            return Poll::Pending;
        }
        while let Some(piece) = self.pieces.front_mut() {
            let mut room = self.send.capacity();
            if room == 0 {
                self.send.reserve_capacity(piece.len());
                while room == 0 {
                    room = match ready!(self.send.poll_capacity(cx)) {
                        Some(Ok(room)) => room,
                        Some(Err(_)) | None => return Poll::Ready(Err(Over)),
                    };
                }
            }
            let now = piece.split_to(room.min(piece.len()));
            if piece.is_empty() {
                self.pieces.pop_front();
            }
            if self.send.send_data(now, false).is_err() {
                return Poll::Ready(Err(Over));
            }
        }
        Poll::Ready(Ok(()))
    }

    fn end(&mut self, code: Code, message: &str) -> Result<(), Over> {
        self.send.send_trailers(trailers(code, message)).map_err(|_| Over)
    }
}

/// How a stream ends.
fn trailers(code: Code, message: &str) -> HeaderMap {
    let mut out = HeaderMap::new();
    out.insert("grpc-status", HeaderValue::from(code.0));
    if let Ok(message) = HeaderValue::from_str(&percent(message))
        && !message.is_empty()
    {
        out.insert("grpc-message", message);
    }
    out
}
