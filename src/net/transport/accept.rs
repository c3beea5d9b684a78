use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use super::{Address, Leg, Listener};
use xdscope_sources::observe::ConnId;

/// How long to wait after a connection could not be accepted.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The shortest time between two warnings of a listener.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// An accepted connection.
pub(in crate::net) struct Accepted {
    pub(in crate::net) conn: ConnId,
    pub(in crate::net) client: Leg,
    pub(in crate::net) peer: String,
    /// The address of the server behind the listener.
    pub(in crate::net) server: Address,
}

/// Accepts connections on all listeners until told to stop, then drops all connections once
/// `release` is over.
///
/// Each listener comes with the address of the server behind it. `serve` makes the task of a
/// connection.
pub(in crate::net) async fn accept<F, R>(
    listeners: impl IntoIterator<Item = (Listener, Address)>,
    stopped: Receiver<bool>,
    release: impl Fn() -> R,
    serve: impl Fn(Accepted) -> F + Clone + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let mut accepting = JoinSet::new();
    let next = Arc::new(AtomicU64::new(1));
    for (listener, server) in listeners {
        let (next, serve) = (next.clone(), serve.clone());
        let connection = move |(client, peer): (Leg, String)| {
            let conn = ConnId(next.fetch_add(1, Ordering::Relaxed));
            debug!(connection = conn.0, %server, "accepted");
            serve(Accepted { conn, client, peer, server: server.clone() })
        };
        accepting.spawn(accept_on(listener, stopped.clone(), release(), connection));
    }
    while accepting.join_next().await.is_some() {}
}

async fn accept_on<F>(
    listener: Listener,
    mut stopped: Receiver<bool>,
    release: impl Future<Output = ()>,
    connection: impl Fn((Leg, String)) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let (mut warned, mut failures) = (None::<Instant>, 0u64);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = connections.join_next(), if !connections.is_empty() => continue,
            _ = stopped.changed() => break,
        };
        match accepted {
            Ok(accepted) => {
                connections.spawn(connection(accepted));
            }
            Err(error) => {
                // Out of descriptors, or the client is gone: the listener works on.
                failures += 1;
                if warned.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL) {
                    warned = Some(Instant::now());
                    let advice = advice(&error);
                    warn!(%error, failures = std::mem::take(&mut failures), "accept failed{advice}");
                }
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }
    release.await;
    connections.shutdown().await;
}

/// Says what to do about an error that does not pass by itself.
fn advice(error: &io::Error) -> &'static str {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::MFILE) => {
            ": all descriptors of the process are in use; raise the hard limit (`ulimit -Hn`) before the start"
        }
        Some(Errno::NFILE) => ": all descriptors of the machine are in use; raise fs.file-max",
        _ => "",
    }
}
