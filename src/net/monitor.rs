//! The HTTP server of a run's figures: `/metrics`, `/livez`, `/readyz` and `/healthz`.
//!
//! Runs in a thread of its own, so that a scrape never holds up traffic. Each connection is for one
//! request, which is small and has little time: whoever can reach the port can send anything.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Notify;

use super::tap::{ListenError, Tap};
use super::transport::{Accepted, Address, Leg, Listener, accept};
use crate::net::lock;
use xdscope_present::metrics::ExpositionFormat;

/// Connections at a time. The oldest one closes for the next one, so that slow clients cannot keep
/// probes out.
pub const MAX_CONNECTIONS: usize = 64;

/// The time for a request and its answer together.
pub const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for the header of a request.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest header of a request, in bytes.
pub const MAX_HEADER_BYTES: usize = 16 << 10;

const PLAIN: &str = "text/plain; charset=utf-8";

/// The figures and the health of a run.
pub trait Monitored: Send + Sync + 'static {
    /// Returns the metrics as text.
    fn metrics(&self, format: ExpositionFormat) -> String;

    /// Checks whether the process works.
    ///
    /// # Errors
    /// The part of the process that does not work, which a restart may mend.
    fn live(&self) -> Result<(), &'static str>;

    /// Checks whether connections are accepted and forwarded, whatever the control plane does.
    ///
    /// # Errors
    /// Why they are not.
    fn ready(&self) -> Result<(), &'static str>;
}

/// A running server, which ends when it is dropped.
pub struct MonitorServer {
    server: Tap,
}

impl MonitorServer {
    /// Binds the address, then serves in a thread of its own.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn start(listen: Address, run: Arc<dyn Monitored>) -> Result<MonitorServer, ListenError> {
        let server = Tap::run("metrics", &[listen], None, move |listeners, _, stopped| {
            let open = Arc::new(OpenConnections::default());
            let serve = move |accepted: Accepted| serve(accepted.client, run.clone(), open.clone());
            let own = |listener: Listener| {
                let address = listener.address();
                (listener, address)
            };
            accept(listeners.into_iter().map(own), stopped, async || (), serve)
        })?;
        Ok(MonitorServer { server })
    }

    /// Returns the address, with its port.
    pub fn address(&self) -> Option<&Address> {
        self.server.listening.first()
    }
}

/// The connections that are open, the oldest first.
#[derive(Default)]
struct OpenConnections(Mutex<VecDeque<Arc<Notify>>>);

impl OpenConnections {
    /// Adds a connection, and ends the oldest one if there are too many. Returns what ends the
    /// connection.
    fn add(&self) -> Arc<Notify> {
        let end = Arc::new(Notify::new());
        let mut open = lock(&self.0);
        open.push_back(end.clone());
        if open.len() > MAX_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.notify_one();
        }
        end
    }

    fn remove(&self, end: &Arc<Notify>) {
        let mut open = lock(&self.0);
        open.retain(|other| !Arc::ptr_eq(other, end));
    }
}

/// Answers one request of a connection.
async fn serve(client: Leg, run: Arc<dyn Monitored>, open: Arc<OpenConnections>) {
    let end = open.add();
    let service = service_fn(|request: Request<Incoming>| {
        let run = run.clone();
        // Figures wait for the analysis; other connections go on.
        async move {
            let answer = tokio::task::spawn_blocking(move || answer(&request, &*run)).await;
            Ok::<_, Infallible>(answer.unwrap_or_else(|_| failed()))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(client), service);
    // A client that is slow, gone or does not speak HTTP is nobody's problem but its own.
    tokio::select! {
        _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection) => {}
        () = end.notified() => {}
    }
    open.remove(&end);
}

fn answer(request: &Request<Incoming>, run: &dyn Monitored) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD are answered\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match request.uri().path() {
        "/metrics" => {
            let accept = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let format = ExpositionFormat::of_accept(&accept.collect::<Vec<_>>().join(","));
            text(StatusCode::OK, format.content_type(), run.metrics(format))
        }
        "/livez" => health(run.live()),
        "/readyz" => health(run.ready()),
        "/healthz" => health(run.live().and_then(|()| run.ready())),
        _ => {
            text(StatusCode::NOT_FOUND, PLAIN, "unknown path: /metrics, /livez, /readyz and /healthz exist\n")
        }
    }
}

fn health(health: Result<(), &'static str>) -> Response<Full<Bytes>> {
    match health {
        Ok(()) => text(StatusCode::OK, PLAIN, "ok\n"),
        Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, format!("{why}\n")),
    }
}

fn failed() -> Response<Full<Bytes>> {
    text(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, "the figures cannot be read\n")
}

fn text(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
