//! The tap: relays bytes between clients and servers unchanged, and queues copies of them.
//!
//! A chunk is written to the other end before anything else happens to it. Copies go into a bounded
//! queue that another thread drains; bytes that do not fit are counted, never waited for. HTTP/2,
//! HTTP/1.1 and anything else pass alike.
//!
//! Only `-H` and `--authority` change bytes: the headers of requests. The copies are then of what
//! was sent to the server. A tap with faults, or whose messages a person holds, is armed: it copies
//! what clients send and receive, and reports what it does to messages.
//!
//! TLS ends at the tap on each side, with the server name and protocol that the client asked for.
//! The tap answers by itself only where the server cannot answer at all, to tell the client why.

mod added_delay;
mod armed;
mod buffers;
mod changes;
mod context;
mod copies;
pub(crate) mod early;
pub(crate) mod lane;
mod relay;
mod reporter;
mod secure;

pub use added_delay::AddedDelay;
pub use armed::{Arms, DeskWaker, HoldDesk, SharedFaults};
pub use changes::{NoChange, changes};
pub use copies::CopyQueue;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch::{Receiver, Sender, channel};
use tracing::error;

use buffers::Buffers;
pub(super) use copies::BatchPolicy;
pub(super) use reporter::EventReporter;

use super::tls;
use super::transport::{Address, Listener, accept};
use xdscope_wire::h2::Changes;

/// The addresses of a tap and its settings.
#[derive(Clone)]
pub struct Config {
    /// Pairs of listen and upstream addresses.
    pub maps: Vec<(Address, Address)>,
    /// Bytes of copies that may wait to be drained; `None`: no copies at all (`--no-decode`).
    pub queue: Option<usize>,
    /// The timeout of connecting to an upstream.
    pub connect_timeout: Duration,
    pub tls: Tls,
    /// Changes to the headers of requests; `None`: bytes pass unchanged.
    pub changes: Option<Arc<Changes>>,
    /// Faults and held messages; `None`: messages pass unchanged.
    pub arms: Option<Arms>,
}

/// The sides that use TLS; by default none.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// TLS of all listeners.
    pub listen: Option<Arc<tls::Server>>,
    /// TLS of upstreams; those on this machine only if `local` is set.
    pub upstream: Option<Arc<tls::ClientTls>>,
    /// Use TLS for upstreams on this machine too.
    pub local: bool,
}

/// Highest limit of copies in memory, in bytes: a push of 39 MB.
///
/// The copies fit into the buffers that the tap keeps. More copies go to the spool.
pub const MAX_QUEUED_BYTES: usize = 48 << 20;

/// Batching of the tap's copies.
///
/// Waking the analysis for each of many chunks would cost the traffic. Copies that wait for long
/// have left the processor's cache, and their buffers too.
const BATCH_POLICY: BatchPolicy = BatchPolicy { time: Duration::from_millis(20), bytes: 1 << 20 };

/// The address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct ListenError {
    pub address: Address,
    #[source]
    pub source: io::Error,
}

/// Counters since the start.
#[derive(Debug, Default)]
pub struct Counters {
    pub connections: AtomicU64,
    /// Bytes from clients to servers.
    pub bytes_in: AtomicU64,
    /// Bytes from servers to clients.
    pub bytes_out: AtomicU64,
    /// The delay that the tap adds. Measured only if copies are made.
    pub added_delay: AddedDelay,
}

/// A running tap. Dropping it closes its listeners and connections.
pub struct Tap {
    /// Addresses of the listeners, with their ports, in the order of the maps.
    pub listening: Vec<Address>,
    pub counters: Arc<Counters>,
    /// `None` with `--no-decode`.
    pub copies: Option<Arc<CopyQueue>>,
    stop: Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Tap {
    /// Binds all listeners, then relays in a thread of its own until the tap is dropped.
    ///
    /// # Errors
    /// An address cannot be bound.
    pub fn start(config: Config) -> Result<Tap, ListenError> {
        let Config { maps, queue, connect_timeout: timeout, tls, changes, arms } = config;
        let (listen, upstreams): (Vec<_>, Vec<_>) = maps.into_iter().unzip();
        let buffers = Buffers::new(queue.unwrap_or(MAX_QUEUED_BYTES));
        if queue.is_some() {
            buffers.warm();
        }
        Tap::run(
            "tap",
            &listen,
            queue.map(|bytes| (bytes, BATCH_POLICY)),
            move |listeners, reporter, stopped| {
                let counters = reporter.counters.clone();
                let armed = arms.map(|arms| Arc::new(armed::Armed::new(arms, stopped.clone())));
                let holding = armed.clone();
                let release = move || {
                    let holding = holding.clone();
                    async move {
                        if let Some(holding) = holding {
                            holding.released().await;
                        }
                    }
                };
                let early = early::EarlyBudget::default();
                let shared = context::RelayContext { reporter, buffers, timeout, tls, changes, armed, early };
                let relay = move |accepted| {
                    counters.connections.fetch_add(1, Ordering::Relaxed);
                    relay::relay(accepted, shared.clone())
                };
                accept(listeners.into_iter().zip(upstreams), stopped, release, relay)
            },
        )
    }

    /// Binds all listeners, then runs `work` on them in a thread of its own until the tap is
    /// dropped.
    pub(super) fn run<F: Future<Output = ()>>(
        name: &str,
        listen: &[Address],
        queue: Option<(usize, BatchPolicy)>,
        work: impl FnOnce(Vec<Listener>, EventReporter, Receiver<bool>) -> F + Send + 'static,
    ) -> Result<Tap, ListenError> {
        let fail = |address: &Address| {
            let address = address.clone();
            move |source| ListenError { address, source }
        };
        let first = listen.first().map_or(Address::Tcp("127.0.0.1:0".into()), Clone::clone);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail(&first))?;
        let mut listeners = Vec::new();
        for listen in listen {
            listeners.push(runtime.block_on(Listener::bind(listen)).map_err(fail(listen))?);
        }
        let listening = listeners.iter().map(Listener::address).collect();
        let copies = queue.map(|(bytes, batching)| Arc::new(CopyQueue::with(bytes, batching)));
        let counters = Arc::new(Counters::default());
        let (stop, stopped) = channel(false);
        let reporter = EventReporter { copies: copies.clone(), counters: counters.clone() };
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                runtime.block_on(work(listeners, reporter.clone(), stopped));
                // Do not wait for a name that is still being resolved.
                runtime.shutdown_background();
                if let Some(copies) = &reporter.copies {
                    copies.close();
                }
            })
            .map_err(fail(&first))?;
        Ok(Tap { listening, counters, copies, stop, thread: Some(thread) })
    }

    /// Returns what closes the listeners and connections, from any thread.
    pub fn stopper(&self) -> impl FnOnce() + Send + 'static {
        let stop = self.stop.clone();
        move || {
            // Fails only if the thread has ended.
            let _ = stop.send(true);
        }
    }

    /// Returns what tells whether the thread of the tap is running.
    pub fn is_running(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let stop = self.stop.clone();
        move || !stop.is_closed()
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> u64 {
        self.counters.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // Fails only if the thread has ended by itself.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            error!("the tap's thread panicked");
        }
    }
}

#[cfg(test)]
mod tests;
