//! REST polls over HTTP/1.1, one at a time, over one connection while the server keeps it open.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::client::{Answer, DialError, Event, EventSender, Server};
use xdscope_wire::event::Side;
use xdscope_wire::http1::end_of_status;
use xdscope_wire::limits::MAX_BODY_BYTES;
use xdscope_wire::{End, Secured};

const JSON: &str = "application/json";

/// A connection for requests.
pub(super) struct Connection {
    send: SendRequest<Full<Bytes>>,
    /// The task that drives the connection, aborted on drop.
    _work: JoinSet<()>,
}

/// The reason why there is no answer.
pub(super) enum Failure {
    Dial(DialError),
    /// The poll failed: a message for the user.
    Poll(String),
    /// The poll ended without a message.
    End(Box<End>),
}

/// Posts each of `requests`, until something fails or the receiver of the events is gone.
pub(super) async fn run(
    server: &Server,
    path: &str,
    timeout: Duration,
    mut requests: mpsc::Receiver<Bytes>,
    events: &EventSender,
) {
    let mut connection = match server.http1().await {
        Ok((connection, tls)) => {
            if !events.send(Event::Opened { tls }).await {
                return;
            }
            Some(connection)
        }
        Err(error) => {
            events.send(Event::Failed(error)).await;
            return;
        }
    };
    while let Some(request) = requests.recv().await {
        let answer = tokio::time::timeout(timeout, server.post(&mut connection, path, request)).await;
        let answer = answer.unwrap_or_else(|_| {
            let note = Some(format!("no answer in {timeout:?}"));
            // A server may hold a poll until there is news.
            Err(Failure::End(Box::new(End { by: Some(Side::Client), note, ..End::default() })))
        });
        let event = match answer {
            Ok(answer) => Event::Answer(answer),
            Err(Failure::Dial(error)) => Event::Failed(error),
            Err(Failure::Poll(why)) => {
                Event::Ended(End { by: Some(Side::Server), note: Some(why), ..End::default() })
            }
            Err(Failure::End(end)) => Event::Ended(*end),
        };
        let goes_on = matches!(event, Event::Answer(_));
        if !events.send(event).await || !goes_on {
            return;
        }
    }
}

impl Server {
    pub(super) async fn http1(&self) -> Result<(Connection, Option<Arc<Secured>>), DialError> {
        let dial = self.dial();
        let (leg, secured) = dial.leg(b"http/1.1").await?;
        let shaken = http1::handshake(TokioIo::new(leg)).await;
        let (send, connection) = shaken.map_err(|error| {
            let what = format!("cannot reach {}: {error}", self.address);
            DialError::new(what, &["port ok", "HTTP/1.1"], None)
        })?;
        let mut work = JoinSet::new();
        work.spawn(async move {
            // Errors reach the request that waits for an answer.
            let _ = connection.await;
        });
        Ok((Connection { send, _work: work }, secured))
    }

    /// Posts one request, and reads its answer.
    async fn post(
        &self,
        connection: &mut Option<Connection>,
        path: &str,
        body: Bytes,
    ) -> Result<Answer, Failure> {
        let (on, response) = self.exchange(connection, || self.request(path, body.clone())).await?;
        let answer = self.answer(response).await?;
        *connection = Some(on);
        Ok(answer)
    }

    /// Sends one request, over the open connection or, if the server has closed that, a new one.
    /// Returns the connection, which can be used again once the answer is read.
    pub(super) async fn exchange(
        &self,
        connection: &mut Option<Connection>,
        request: impl Fn() -> Result<Request<Full<Bytes>>, Failure>,
    ) -> Result<(Connection, Response<Incoming>), Failure> {
        for again in [true, false] {
            let mut kept = connection.take();
            if let Some(there) = &mut kept
                && there.send.ready().await.is_err()
            {
                kept = None;
            }
            let mut on = match kept {
                Some(kept) => kept,
                None => self.http1().await.map_err(Failure::Dial)?.0,
            };
            match on.send.send_request(request()?).await {
                Ok(response) => return Ok((on, response)),
                // The server has closed the idle connection: try a new one.
                Err(error) if again && (error.is_canceled() || error.is_closed()) => {}
                Err(error) if error.is_parse() => {
                    let why = causes(&error);
                    return Err(Failure::Poll(format!(
                        "the answer is not HTTP/1.1 ({why}); a gRPC port speaks HTTP/2"
                    )));
                }
                Err(error) => return Err(Failure::Poll(causes(&error))),
            }
        }
        Err(Failure::Poll("the server closes every connection".into()))
    }

    fn request(&self, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::post(path).header(HOST, self.dial().authority());
        request = request.header(CONTENT_TYPE, JSON).header(ACCEPT, JSON);
        for (name, value) in self.headers_now().map_err(|error| Failure::Poll(error.to_string()))? {
            request = request.header(name, value);
        }
        request.body(Full::new(body)).map_err(|error| Failure::Poll(error.to_string()))
    }

    async fn answer(&self, response: Response<Incoming>) -> Result<Answer, Failure> {
        let (head, body) = response.into_parts();
        // A longer body would not be decoded.
        let limit = usize::try_from(self.max_message).unwrap_or(usize::MAX).min(MAX_BODY_BYTES);
        let body = Limited::new(body, limit).collect().await.map(|body| body.to_bytes());
        match head.status {
            StatusCode::NOT_MODIFIED => Ok(Answer::Unchanged),
            StatusCode::OK => {
                let coding = head.headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
                let coding = coding.map(str::to_owned);
                body.map(|bytes| Answer::Body { coding, bytes }).map_err(|error| {
                    Failure::Poll(format!("the answer broke off, or has more than {limit} bytes: {error}"))
                })
            }
            status => {
                let end = end_of_status(status.as_u16(), &body.unwrap_or_default());
                Err(Failure::End(Box::new(end)))
            }
        }
    }
}

/// Returns the message of an error with its causes.
fn causes(error: &hyper::Error) -> String {
    let mut what = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        what.push_str(&format!(": {error}"));
        cause = error.source();
    }
    what
}
