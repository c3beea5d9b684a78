//! The control plane's sockets: listens, speaks HTTP/2 and gRPC, and lets a [`server::Stream`](crate::peers::server::Stream) say
//! what is answered. What is said is told as a tap tells it, so that everything behind a tap works behind this too; but by the message.

mod connection;
mod gather;
mod stream;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::sync::watch;

use super::tap::{Address, Company, ListenError, Listener, Tap, Watch, accept};
use super::tls;
use crate::peers::server::Plan;
use crate::wire::event::Time;

/// How long a TLS handshake may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of what was said that may wait: shared with whoever says it, so more than a tap's.
pub const QUEUE: usize = 384 << 20;

/// It is told when it is handed to HTTP/2, and waits until a push of some 40 MB is through, and the next.
const COMPANY: Company = Company { time: Duration::from_millis(100), bytes: 96 << 20 };

/// Takes what there is to tell a person: what is waited for, what comes next.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// Where to listen, and what to serve.
#[derive(Clone)]
pub struct Config {
    pub listen: Vec<Address>,
    /// Bytes of copies that may wait to be drained; `None`: no copies at all.
    pub queue: Option<usize>,
    pub tls: Option<Arc<tls::Server>>,
    pub control: Control,
    pub say: Say,
}

/// What is served, and leave to go on, from outside while it runs.
#[derive(Clone)]
pub struct Control {
    plan: watch::Sender<Arc<Plan>>,
    steps: Arc<Semaphore>,
}

impl Control {
    pub fn new(plan: Plan) -> Control {
        Control { plan: watch::Sender::new(Arc::new(plan)), steps: Arc::new(Semaphore::new(0)) }
    }

    /// Serves this from now on, to clients that are there too.
    pub fn serve(&self, plan: Plan) {
        self.plan.send_replace(Arc::new(plan));
    }

    /// What is served.
    pub fn plan(&self) -> Arc<Plan> {
        self.plan.borrow().clone()
    }

    /// The next step of a script that is played by steps may be taken.
    pub fn step(&self) {
        self.steps.add_permits(1);
    }
}

/// Binds all listeners, then serves in a thread of its own until it is dropped.
pub fn start(config: Config) -> Result<Tap, ListenError> {
    let Config { listen, queue, tls, control, say } = config;
    Tap::run("serve", &listen, queue.map(|bytes| (bytes, COMPANY)), move |listeners, watch, stopped| {
        let counters = watch.counters.clone();
        let shared = Shared { watch, tls, control, say, clock: Ticks(Instant::now()) };
        let serve = move |accepted| connection::serve(accepted, shared.clone());
        let own = |listener: Listener| {
            let address = listener.address();
            (listener, address)
        };
        accept(listeners.into_iter().map(own), counters, stopped, serve)
    })
}

/// What all connections have.
#[derive(Clone)]
struct Shared {
    watch: Watch,
    tls: Option<Arc<tls::Server>>,
    control: Control,
    say: Say,
    clock: Ticks,
}

/// The time since the start.
#[derive(Clone, Copy)]
struct Ticks(Instant);

/// The runtime's timers know milliseconds; what is nearer is slept through on a thread.
const COARSE: Duration = Duration::from_millis(3);

impl Ticks {
    fn now(self) -> Time {
        Time(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Waits until `at`, to some 0.1 ms.
    async fn reach(self, at: Time) {
        let left = at.since(self.now());
        if let Some(long) = left.checked_sub(COARSE) {
            tokio::time::sleep(long).await;
        }
        let left = at.since(self.now());
        if !left.is_zero() {
            // It can't fail but by a panic of sleep.
            let _ = tokio::task::spawn_blocking(move || std::thread::sleep(left)).await;
        }
    }
}
