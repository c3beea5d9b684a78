//! A client of `ClientStatusDiscoveryService`, of which answers are read one at a time.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tonic::{Code, Status, Streaming};

use super::admin::AdminError;
use super::client::Server;
use super::dial;
use super::rpc;
use super::transport::Address;
use xdscope_sources::peers::admin::{FETCH_CLIENT_STATUS, PageAnswer};

const STREAM_CLIENT_STATUS: &str = "/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus";

/// A service that is asked again and again.
pub struct CsdsPort {
    server: Server,
    /// The time that a whole answer may take.
    timeout: Duration,
    /// Whether to ask on one stream.
    has_stream: bool,
    stream: Option<StatusStream>,
}

/// An open `StreamClientStatus`.
struct StatusStream {
    requests: mpsc::Sender<Bytes>,
    responses: Streaming<Bytes>,
}

impl CsdsPort {
    /// Creates a client, without connecting. `server.max_message` limits the bytes of an answer.
    /// `follows`: more than one answer is wanted.
    pub fn new(server: Server, timeout: Duration, follows: bool) -> CsdsPort {
        CsdsPort { server, timeout, has_stream: follows, stream: None }
    }

    /// Asks for the state of all clients.
    ///
    /// # Errors
    /// The service cannot be reached, has no CSDS, or does not answer in time and within the limit.
    pub async fn get(&mut self) -> Result<PageAnswer, AdminError> {
        let timeout = self.timeout;
        let answer = tokio::time::timeout(timeout, self.answer()).await;
        let late = |_| Err(AdminError::TimedOut { path: FETCH_CLIENT_STATUS.into(), timeout });
        match answer.unwrap_or_else(late) {
            Ok(answer) => Ok(answer),
            Err(error) => Err(error.behind(&self.server.address).await),
        }
    }

    /// Returns the address of the service.
    pub fn address(&self) -> &Address {
        &self.server.address
    }

    async fn answer(&mut self) -> Result<PageAnswer, AdminError> {
        if self.has_stream {
            match self.next_of_stream().await {
                Err(AdminError::Status { code: Code::Unimplemented, .. }) => self.has_stream = false,
                result => return result,
            }
        }
        let (channel, _) = self.server.dial().connect(|endpoint| endpoint).await.map_err(AdminError::Dial)?;
        let metadata = dial::metadata(&self.server.headers_now()?).map_err(|error| broken(&error))?;
        let limit = self.server.max_message;
        let answer = rpc::unary(channel, FETCH_CLIENT_STATUS, metadata, limit).await;
        answer.map(page).map_err(|status| self.failed(&status))
    }

    /// Asks on the open stream, or on a new one.
    async fn next_of_stream(&mut self) -> Result<PageAnswer, AdminError> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let (channel, _) =
                    self.server.dial().connect(|endpoint| endpoint).await.map_err(AdminError::Dial)?;
                let metadata = dial::metadata(&self.server.headers_now()?).map_err(|error| broken(&error))?;
                let (requests, queue) = mpsc::channel(1);
                // gRPC servers answer the opening of a stream together with its first response.
                let _ = requests.try_send(Bytes::new());
                let opened = rpc::open_with(channel, STREAM_CLIENT_STATUS, metadata, queue).await;
                let responses = opened.map_err(|status| self.failed(&status))?;
                let mut stream = StatusStream { requests, responses };
                let answer = self.response(&mut stream).await?;
                self.stream = Some(stream);
                return Ok(answer);
            }
        };
        if stream.requests.send(Bytes::new()).await.is_err() {
            return Err(broken(&"the stream ended"));
        }
        let answer = self.response(&mut stream).await?;
        self.stream = Some(stream);
        Ok(answer)
    }

    async fn response(&self, stream: &mut StatusStream) -> Result<PageAnswer, AdminError> {
        match stream.responses.message().await {
            Ok(Some(bytes)) => Ok(page(bytes)),
            Ok(None) => Err(broken(&"the stream ended")),
            Err(status) => Err(self.failed(&status)),
        }
    }

    fn failed(&self, status: &Status) -> AdminError {
        match status.code() {
            Code::OutOfRange => {
                AdminError::TooLong { path: FETCH_CLIENT_STATUS.into(), limit: self.server.max_message }
            }
            code => AdminError::Status { code, what: dial::causes(status) },
        }
    }
}

fn page(bytes: Bytes) -> PageAnswer {
    PageAnswer { status: 200, body: bytes.into() }
}

fn broken(what: &dyn std::fmt::Display) -> AdminError {
    AdminError::Broken { path: FETCH_CLIENT_STATUS.into(), what: what.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::{TcpListener, TcpStream};

    /// Answers `FetchClientStatus` with one empty client, and knows no stream.
    async fn serve(socket: TcpStream) {
        let mut connection = h2::server::handshake(socket).await.expect("HTTP/2");
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let head = http::Response::builder().header("content-type", "application/grpc");
            if request.uri().path() != FETCH_CLIENT_STATUS {
                let head = head.header("grpc-status", "12").body(()).expect("a head");
                respond.send_response(head, true).expect("an open stream");
                continue;
            }
            let head = head.body(()).expect("a head");
            let mut body = respond.send_response(head, false).expect("an open stream");
            body.send_data(Bytes::from_static(&[0, 0, 0, 0, 2, 0x0a, 0]), false).expect("an open stream");
            let mut trailers = http::HeaderMap::new();
            trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
            body.send_trailers(trailers).expect("an open stream");
        }
    }

    #[tokio::test]
    async fn services_without_a_stream_are_asked_one_by_one() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        tokio::spawn(async move {
            for _ in 0..3 {
                let (socket, _) = listener.accept().await.expect("a connection");
                tokio::spawn(serve(socket));
            }
        });
        let timeout = Duration::from_secs(20);
        let server = Server {
            address: address.parse().expect("an address"),
            tls: None,
            authority: None,
            headers: Vec::new(),
            token: None,
            fallback: Vec::new(),
            timeout,
            max_message: 1 << 20,
            keepalive: Duration::ZERO,
            keepalive_timeout: timeout,
        };
        let mut port = CsdsPort::new(server, timeout, true);
        for _ in 0..2 {
            assert_eq!(port.get().await.expect("an answer").body, [0x0a, 0]);
        }
    }
}
