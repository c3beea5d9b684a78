//! A passive observer of one HTTP/1.1 connection, for REST-JSON polls.
//!
//! Fed with copies of the bytes that passed, it reports requests and responses. It never writes or
//! delays anything. Heads and bodies are held until they are complete, within limits. A connection
//! that cannot be followed becomes opaque, with the reason.

pub(crate) mod body;
mod error;
mod head;
#[cfg(test)]
mod tests;

pub use head::Head;

use std::collections::VecDeque;

use crate::End;
use crate::event::{Code, Dir, Side};
use body::BodyReader;
use error::Http1Error;

/// Longest head, in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Requests that may wait for their responses (pipelining).
const MAX_PIPELINED_REQUESTS: usize = 1024;

/// An event on a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A complete request. Requests are numbered from zero.
    Request {
        /// Number of the request.
        number: u64,
        /// The head of the message.
        head: Head,
        /// The body, without transfer encoding.
        body: Vec<u8>,
    },
    /// A complete response to the request with this number.
    Response {
        /// Number of the request.
        number: u64,
        /// The head of the message.
        head: Head,
        /// The body, without transfer encoding.
        body: Vec<u8>,
    },
    /// The request with this number gets no response.
    Unanswered {
        /// Number of the request.
        number: u64,
    },
    /// The connection cannot be read any further. Always the last event.
    Opaque {
        /// The reason.
        why: String,
    },
}

/// Bytes of a body that explain a status.
const MAX_SHOWN_BODY_BYTES: usize = 300;

/// Returns the end that the status of a response means: neither 200 nor 304.
pub fn end_of_status(status: u16, body: &[u8]) -> End {
    let shown = body.get(..body.len().min(MAX_SHOWN_BODY_BYTES)).unwrap_or_default();
    let body = String::from_utf8_lossy(shown);
    let text = match body.trim() {
        "" => format!("HTTP status {status}"),
        body => format!("HTTP status {status}: {body}"),
    };
    End { by: Some(Side::Server), status: Some((Code::of_http(status), text)), ..End::default() }
}

/// The state of one connection.
#[derive(Default)]
pub struct ConnectionObserver {
    requests: Half,
    responses: Half,
    /// Number of the requests without a response, oldest first, and whether the method is HEAD.
    waiting: VecDeque<(u64, bool)>,
    next: u64,
    opaque: bool,
}

/// The state of one direction.
#[derive(Default)]
struct Half {
    buffer: Vec<u8>,
    /// The message whose body is incomplete.
    open: Option<(Head, BodyReader)>,
}

impl Half {
    /// Returns the next complete message; `None` until there is one.
    fn next(
        &mut self,
        body_of: impl FnOnce(&Head) -> Result<BodyReader, Http1Error>,
    ) -> Result<Option<(Head, Vec<u8>)>, Http1Error> {
        if self.open.is_none() {
            let Some(end) = head::end(&self.buffer) else {
                return if self.buffer.len() > MAX_HEAD_BYTES { Err(Http1Error::LongHead) } else { Ok(None) };
            };
            let head = Head::read(self.buffer.get(..end).unwrap_or_default())?;
            self.buffer.drain(..end);
            let body = body_of(&head)?;
            self.open = Some((head, body));
        }
        let Some((_, body)) = &mut self.open else { return Ok(None) };
        let used = body.take(&self.buffer)?;
        self.buffer.drain(..used);
        match self.open.take_if(|(_, body)| body.is_whole()) {
            Some((head, body)) => Ok(Some((head, body.into_bytes()))),
            None => Ok(None),
        }
    }
}

impl ConnectionObserver {
    /// Whether a connection that starts with these bytes carries REST polls: `POST
    /// /v3/discovery:…`.
    pub fn begins(bytes: &[u8]) -> bool {
        ["POST /v3/discovery:", "POST /v2/discovery:"].iter().any(|start| bytes.starts_with(start.as_bytes()))
    }

    /// Reads the next bytes of one direction, in the order in which they passed.
    pub fn feed(&mut self, dir: Dir, bytes: &[u8], out: &mut dyn FnMut(Event)) {
        if self.opaque {
            return;
        }
        match dir {
            Dir::Req => self.requests.buffer.extend_from_slice(bytes),
            Dir::Resp => self.responses.buffer.extend_from_slice(bytes),
        }
        loop {
            match self.step(dir) {
                Ok(Some(event)) => out(event),
                Ok(None) => return,
                Err(error) => return self.give_up(error.to_string(), out),
            }
        }
    }

    /// Notes that part of the copy is missing, so that the rest cannot be followed.
    pub fn lost(&mut self, out: &mut dyn FnMut(Event)) {
        if !self.opaque {
            self.give_up("part of the copy was lost".into(), out);
        }
    }

    /// Ends the connection.
    pub fn close(&mut self, out: &mut dyn FnMut(Event)) {
        // A body that ends with the connection is complete now.
        if let Some((head, body)) = self.responses.open.take().filter(|(_, body)| body.until_close())
            && let Some((number, _)) = self.waiting.pop_front()
        {
            out(Event::Response { number, head, body: body.into_bytes() });
        }
        for (number, _) in self.waiting.drain(..) {
            out(Event::Unanswered { number });
        }
        self.opaque = true;
    }

    /// Memory of messages that are not complete, in bytes.
    pub fn held_bytes(&self) -> usize {
        let halves = [&self.requests, &self.responses].into_iter();
        let bytes =
            |half: &Half| half.buffer.len() + half.open.as_ref().map_or(0, |(_, body)| body.held_bytes());
        halves.map(bytes).sum()
    }

    /// Stops reading the connection, for this reason.
    pub fn give_up(&mut self, why: String, out: &mut dyn FnMut(Event)) {
        for (number, _) in self.waiting.drain(..) {
            out(Event::Unanswered { number });
        }
        self.opaque = true;
        (self.requests, self.responses) = Default::default();
        out(Event::Opaque { why });
    }

    fn step(&mut self, dir: Dir) -> Result<Option<Event>, Http1Error> {
        if dir == Dir::Req {
            let Some((head, body)) = self.requests.next(BodyReader::of_request)? else {
                return Ok(None);
            };
            if self.waiting.len() >= MAX_PIPELINED_REQUESTS {
                return Err(Http1Error::TooManyRequests);
            }
            let number = self.next;
            self.next += 1;
            self.waiting.push_back((number, head.method() == "HEAD"));
            return Ok(Some(Event::Request { number, head, body }));
        }
        loop {
            let is_head = self.waiting.front().is_some_and(|(_, is_head)| *is_head);
            let message = self.responses.next(|head| BodyReader::of_response(head, is_head))?;
            let Some((head, body)) = message else { return Ok(None) };
            match head.status() {
                Some(101) => return Err(Http1Error::Upgrade),
                // An interim response; the final one follows.
                Some(100..200) => {}
                _ => {
                    let (number, _) = self.waiting.pop_front().ok_or(Http1Error::UnexpectedResponse)?;
                    return Ok(Some(Event::Response { number, head, body }));
                }
            }
        }
    }
}
