//! The control plane's sockets: HTTP/2 and gRPC around a
//! [`ServerStream`](xdscope_sources::peers::server::ServerStream).
//!
//! Messages are reported in the same way as by a tap, so that analysis and recording work for both.

mod connection;
mod gather;
mod rest;
mod stream;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::sync::broadcast;
use tokio::sync::watch;

use super::clock::RunClock;
use super::tap::{BatchPolicy, EventReporter, ListenError, Tap};
use super::tls;
use crate::net::lock;
use crate::net::transport::{Address, Listener, accept};
use xdscope_schema::Schema;
use xdscope_sources::observe::rest::RestCodec;
use xdscope_sources::peers::server::{Order, Plan, PollAnswer, RestPolls};
use xdscope_wire::event::Method;

/// The timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long connections may take to send a GOAWAY at the end.
const GOAWAY_TIMEOUT: Duration = Duration::from_millis(200);

/// Bytes of messages that may wait for the analysis. The memory is shared with the sender, so the
/// limit is higher than a tap's.
pub const MAX_QUEUED_BYTES: usize = 384 << 20;

/// How long to batch messages before waking the analysis: about two pushes of 40 MB.
const BATCH_POLICY: BatchPolicy = BatchPolicy { time: Duration::from_millis(100), bytes: 96 << 20 };

/// Receives messages for the user, such as what a script waits for.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// The address to listen on, and what to serve.
#[derive(Clone)]
pub struct Config {
    pub listen: Address,
    /// Bytes of copies that may wait to be drained; `None`: no copies at all.
    pub queue: Option<usize>,
    pub tls: Option<Arc<tls::Server>>,
    pub control: Control,
    pub say: Say,
    /// The descriptors that REST bodies are read and written with.
    pub schema: Arc<Schema>,
}

/// Orders that a stream may lag behind.
const MAX_QUEUED_ORDERS: usize = 16;

/// A handle that changes what is served and releases steps of a script.
#[derive(Clone)]
pub struct Control {
    plan: watch::Sender<Arc<Plan>>,
    steps: Arc<Semaphore>,
    orders: broadcast::Sender<Arc<Order>>,
}

impl Control {
    pub fn new(plan: Plan) -> Control {
        let (orders, _) = broadcast::channel(MAX_QUEUED_ORDERS);
        Control { plan: watch::Sender::new(Arc::new(plan)), steps: Arc::new(Semaphore::new(0)), orders }
    }

    /// Serves another plan from now on, to connected clients too.
    pub fn serve(&self, plan: Plan) {
        self.plan.send_replace(Arc::new(plan));
    }

    /// Gives an order to all open streams.
    pub fn order(&self, order: Order) {
        // An error means that no stream is open.
        let _ = self.orders.send(Arc::new(order));
    }

    /// Returns the current plan.
    pub fn plan(&self) -> Arc<Plan> {
        self.plan.borrow().clone()
    }

    /// Releases the next step of a script that is played step by step.
    pub fn step(&self) {
        self.steps.add_permits(1);
    }
}

/// Binds the listener, then serves in a thread of its own until the `Tap` is dropped.
///
/// # Errors
/// The address cannot be bound.
pub fn start(config: Config) -> Result<Tap, ListenError> {
    let Config { listen, queue, tls, control, say, schema } = config;
    Tap::run(
        "serve",
        &[listen],
        queue.map(|bytes| (bytes, BATCH_POLICY)),
        move |listeners, reporter, stopped| {
            let ending = watch::Sender::new(());
            let connections = ending.clone();
            let release = move || {
                let ending = ending.clone();
                async move {
                    ending.send_replace(());
                    // A client that reads nothing gets no GOAWAY.
                    let _ = tokio::time::timeout(GOAWAY_TIMEOUT, ending.closed()).await;
                }
            };
            let counters = reporter.counters.clone();
            let clock = RunClock::start();
            let (bodies, polls) = (Arc::new(RestCodec::new(schema)), Arc::default());
            let shared = ServeContext { reporter, tls, control, say, clock, bodies, polls };
            let serve = move |accepted| {
                counters.connections.fetch_add(1, Ordering::Relaxed);
                connection::serve(accepted, shared.clone(), connections.subscribe())
            };
            let own = |listener: Listener| {
                let address = listener.address();
                (listener, address)
            };
            accept(listeners.into_iter().map(own), stopped, release, serve)
        },
    )
}

/// State that all connections share.
#[derive(Clone)]
struct ServeContext {
    reporter: EventReporter,
    tls: Option<Arc<tls::Server>>,
    control: Control,
    say: Say,
    clock: RunClock,
    bodies: Arc<RestCodec>,
    polls: Arc<Mutex<RestPolls>>,
}

impl ServeContext {
    fn answer_poll(&self, plan: &Plan, method: &Method, request: &[u8]) -> PollAnswer {
        let mut polls = lock(&self.polls);
        polls.answer(plan, method, request)
    }
}
