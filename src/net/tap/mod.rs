//! The tap: listens, connects to the upstream, passes bytes on unchanged, and hands out copies of them. Only if it is asked to
//! does it change the headers of requests; the copies are of what it sent.
//!
//! A chunk is written to the other end before anything else happens to it. Copies go into a bounded queue
//! that is drained by somebody else's thread; what does not fit is counted, never waited for. HTTP/2, HTTP/1.1 and
//! anything else pass alike.
//!
//! A leg under TLS ends at the tap, with the name and the protocol that the other end asked for. Only where no byte
//! of an answer can ever come does the tap speak itself, so that the client is told why.

mod accept;
mod address;
mod answer;
mod buffers;
mod changes;
mod copies;
mod leg;
mod relay;
mod secure;
mod watch;

pub use address::{Address, AddressError};
pub use changes::{NoChange, changes};
pub use copies::CopyQueue;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch::{Receiver, Sender, channel};
use tracing::error;

pub(super) use accept::{Accepted, accept};
pub(super) use answer::{Speaks, alert, percent, refuse, speaks};
use buffers::Buffers;
pub(super) use copies::Company;
pub(super) use leg::{Leg, Listener};
pub(super) use watch::Watch;

use super::tls;
use crate::wire::h2::Changes;

/// What to listen on and where to.
#[derive(Clone, Debug)]
pub struct Config {
    /// Pairs of listen and upstream addresses.
    pub maps: Vec<(Address, Address)>,
    /// Bytes of copies that may wait to be drained; `None`: no copies at all (`--no-decode`).
    pub queue: Option<usize>,
    /// How long an upstream may take to accept a connection.
    pub connect_timeout: Duration,
    pub tls: Tls,
    /// What becomes of the headers of requests; `None`: not a byte is changed.
    pub changes: Option<Arc<Changes>>,
}

/// Which legs are under TLS. The default: none.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// All listeners.
    pub listen: Option<Arc<tls::Server>>,
    /// Upstreams, as far as `local` says.
    pub upstream: Option<Arc<tls::Client>>,
    /// Upstreams on this machine too.
    pub local: bool,
}

/// Copies that may wait, unless told otherwise: two pushes of 39 MB, while others have all the cores.
pub const QUEUE: usize = 96 << 20;

/// Chunks are many: waking the analysis for each costs the traffic. What waits for long has left the processor's cache,
/// and its buffers with it.
const COMPANY: Company = Company { time: Duration::from_millis(20), bytes: 1 << 20 };

/// An address can't be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct ListenError {
    pub address: Address,
    #[source]
    pub source: io::Error,
}

/// Bytes and connections since the start.
#[derive(Debug, Default)]
pub struct Counters {
    pub connections: AtomicU64,
    /// Client to server.
    pub bytes_in: AtomicU64,
    /// Server to client.
    pub bytes_out: AtomicU64,
}

/// A running tap. Dropping it closes its listeners and connections.
pub struct Tap {
    /// Where it listens, ports filled in, in the order of the maps.
    pub listening: Vec<Address>,
    pub counters: Arc<Counters>,
    /// `None` with `--no-decode`.
    pub copies: Option<Arc<CopyQueue>>,
    stop: Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Tap {
    /// Binds all listeners, then relays in a thread of its own until stopped.
    pub fn start(config: Config) -> Result<Tap, ListenError> {
        let Config { maps, queue, connect_timeout: patience, tls, changes } = config;
        let (listen, upstreams): (Vec<_>, Vec<_>) = maps.into_iter().unzip();
        Tap::run("tap", &listen, queue.map(|bytes| (bytes, COMPANY)), move |listeners, watch, stopped| {
            let (counters, buffers) = (watch.counters.clone(), Buffers::default());
            if watch.copies.is_some() {
                buffers.warm();
            }
            let shared = relay::Shared { watch, buffers, patience, tls, changes };
            let relay = move |accepted| relay::relay(accepted, shared.clone());
            accept(listeners.into_iter().zip(upstreams), counters, stopped, relay)
        })
    }

    /// Binds all listeners, then does with them what `work` says, in a thread of its own until stopped.
    pub(super) fn run<F: Future<Output = ()>>(
        name: &str,
        listen: &[Address],
        queue: Option<(usize, Company)>,
        work: impl FnOnce(Vec<Listener>, Watch, Receiver<bool>) -> F + Send + 'static,
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
        let copies = queue.map(|(bytes, company)| Arc::new(CopyQueue::with(bytes, company)));
        let counters = Arc::new(Counters::default());
        let (stop, stopped) = channel(false);
        let watch = Watch { copies: copies.clone(), counters: counters.clone() };
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                runtime.block_on(work(listeners, watch.clone(), stopped));
                drop(runtime);
                if let Some(copies) = &watch.copies {
                    copies.close();
                }
            })
            .map_err(fail(&first))?;
        Ok(Tap { listening, counters, copies, stop, thread: Some(thread) })
    }

    /// Connections so far.
    pub fn connections(&self) -> u64 {
        self.counters.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // The receiver is gone when the thread ended by itself; there is nothing left to stop then.
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
