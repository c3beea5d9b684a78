//! Pages of an admin port over HTTP/1.1, one at a time, over one connection while the port keeps it
//! open.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::HOST;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};

use super::client::{DialError, Server};
use super::poll::{Connection, Failure};
use super::token::TokenError;
use super::transport::Address;
use xdscope_sources::peers::admin::PageAnswer;

/// An admin port, of which pages are read.
pub struct AdminPort {
    server: Server,
    connection: Option<Connection>,
    /// The time that a whole answer may take.
    timeout: Duration,
}

/// The reason why a page cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("{}", .0.what)]
    Dial(DialError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("{path}: the answer has more than {limit} bytes")]
    TooLong { path: String, limit: u64 },
    #[error("{path}: no complete answer in {timeout:?}")]
    TimedOut { path: String, timeout: Duration },
    #[error("{path}: {what}")]
    Broken { path: String, what: String },
    /// The status with which a gRPC service refuses to answer.
    #[error("{code:?}: {what}")]
    Status { code: tonic::Code, what: String },
}

/// The time that kubectl may take to say why a connection broke.
const WORDS_TIME: Duration = Duration::from_millis(300);

impl AdminError {
    /// Adds what kubectl says about an answer that did not come through its forward, which begins
    /// anew.
    pub(super) async fn behind(self, address: &Address) -> AdminError {
        let (AdminError::TimedOut { path, .. } | AdminError::Broken { path, .. }) = &self else {
            return self;
        };
        if !matches!(address, Address::Pod(_)) {
            return self;
        }
        tokio::time::sleep(WORDS_TIME).await;
        match address.mend() {
            Some(words) => {
                AdminError::Broken { path: path.clone(), what: format!("{}; kubectl: {words}", self.cause()) }
            }
            None => self,
        }
    }

    /// Returns the error without the page.
    fn cause(&self) -> String {
        match self {
            AdminError::Broken { what, .. } => what.clone(),
            AdminError::TimedOut { timeout, .. } => format!("no complete answer in {timeout:?}"),
            other => other.to_string(),
        }
    }
}

impl AdminPort {
    /// Creates a reader of a port, without connecting. `server.max_message` limits the bytes of an
    /// answer, and `timeout` the time for it.
    pub fn new(server: Server, timeout: Duration) -> AdminPort {
        AdminPort { server, connection: None, timeout }
    }

    /// Returns the address of the port.
    pub fn address(&self) -> &Address {
        &self.server.address
    }

    /// Gets a page, whatever its HTTP status.
    ///
    /// # Errors
    /// The port cannot be reached, or does not answer in HTTP/1.1, completely, in time, and within
    /// the limit.
    pub async fn get(&mut self, path: &str) -> Result<PageAnswer, AdminError> {
        let timeout = self.timeout;
        let answer = tokio::time::timeout(timeout, self.answer(path)).await;
        let answer = answer.unwrap_or_else(|_| Err(AdminError::TimedOut { path: path.to_owned(), timeout }));
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(error.behind(&self.server.address).await),
        }
    }

    async fn answer(&mut self, path: &str) -> Result<PageAnswer, AdminError> {
        let broken = |what: String| AdminError::Broken { path: path.to_owned(), what };
        let headers = self.server.headers_now()?;
        let request = || {
            let mut request = Request::get(path).header(HOST, self.server.dial().authority());
            for (name, value) in &headers {
                request = request.header(name, value);
            }
            request.body(Full::new(Bytes::new())).map_err(|error| Failure::Poll(error.to_string()))
        };
        let exchanged = self.server.exchange(&mut self.connection, request).await;
        let (connection, response) = exchanged.map_err(|failure| match failure {
            Failure::Dial(error) => AdminError::Dial(error),
            Failure::Poll(what) => broken(what),
            Failure::End(end) => broken(end.note.unwrap_or_default()),
        })?;
        let status = response.status().as_u16();
        let limit = self.server.max_message;
        let limited = Limited::new(response.into_body(), usize::try_from(limit).unwrap_or(usize::MAX));
        let body = limited.collect().await.map_err(|error| match error.is::<LengthLimitError>() {
            true => AdminError::TooLong { path: path.to_owned(), limit },
            false => broken(format!("the answer broke off: {error}")),
        })?;
        self.connection = Some(connection);
        Ok(PageAnswer { status, body: body.to_bytes().into() })
    }
}
