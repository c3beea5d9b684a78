use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::debug;

use super::leg::{Leg, Listener};
use super::{Address, ConnId, Copies, Counters, Happened};
use crate::event::{Dir, Side};

/// What is read at once.
const BUFFER: usize = 64 << 10;

/// Chunks up to this are copied out of the read buffer: a queue of small messages must not hold a buffer of
/// 64 KiB for each.
const SMALL: usize = 16 << 10;

#[derive(Clone)]
pub(super) struct Shared {
    pub(super) copies: Option<Arc<Copies>>,
    pub(super) counters: Arc<Counters>,
}

impl Shared {
    fn tell(&self, conn: ConnId, what: Happened) {
        if let Some(copies) = &self.copies {
            copies.push(conn, copies.now(), what);
        }
    }
}

/// Accepts and relays until told to stop; then all connections are dropped.
pub(super) async fn run(
    listeners: Vec<(Listener, Address)>,
    shared: Shared,
    patience: Duration,
    stopped: watch::Receiver<bool>,
) {
    let mut accepting = JoinSet::new();
    let next = Arc::new(AtomicU64::new(1));
    for (listener, upstream) in listeners {
        accepting.spawn(accept(listener, upstream, shared.clone(), patience, next.clone(), stopped.clone()));
    }
    while accepting.join_next().await.is_some() {}
}

async fn accept(
    listener: Listener,
    upstream: Address,
    shared: Shared,
    patience: Duration,
    next: Arc<AtomicU64>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = connections.join_next(), if !connections.is_empty() => continue,
            _ = stopped.changed() => break,
        };
        match accepted {
            Ok((client, peer)) => {
                let conn = ConnId(next.fetch_add(1, Ordering::Relaxed));
                shared.counters.connections.fetch_add(1, Ordering::Relaxed);
                connections.spawn(connection(conn, client, peer, upstream.clone(), shared.clone(), patience));
            }
            Err(error) => {
                // Out of descriptors, or a client that was gone at once: the listener itself is fine.
                debug!(%error, "accept failed");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
    connections.shutdown().await;
}

async fn connection(
    conn: ConnId,
    client: Leg,
    peer: String,
    upstream: Address,
    shared: Shared,
    patience: Duration,
) {
    shared.tell(conn, Happened::Opened { peer, upstream: upstream.clone() });
    let server = match Leg::connect(&upstream, patience).await {
        Ok(server) => server,
        Err((step, error)) => {
            shared.tell(conn, Happened::Failed { step, error: error.to_string() });
            return;
        }
    };
    let (client_read, client_write) = tokio::io::split(client);
    let (server_read, server_write) = tokio::io::split(server);
    let mut requests =
        Pump { from: client_read, to: server_write, dir: Dir::Req, conn, shared: shared.clone() };
    let mut responses =
        Pump { from: server_read, to: client_write, dir: Dir::Resp, conn, shared: shared.clone() };
    let result = tokio::try_join!(requests.run(), responses.run());
    // What broke on one side is passed on to the other as a reset.
    let (by, error) = match result {
        Ok(_) => (None, None),
        Err((side, error)) => (Some(side), Some(error.to_string())),
    };
    let broken = by.is_some();
    let client = requests.from.unsplit(responses.to);
    let server = responses.from.unsplit(requests.to);
    if broken {
        client.reset();
        server.reset();
    }
    drop((client, server));
    shared.tell(conn, Happened::Closed { by, error });
}

/// One direction of a connection.
struct Pump {
    from: ReadHalf<Leg>,
    to: WriteHalf<Leg>,
    dir: Dir,
    conn: ConnId,
    shared: Shared,
}

impl Pump {
    /// Runs until this direction ends; an error names the side whose connection broke.
    async fn run(&mut self) -> Result<(), (Side, io::Error)> {
        let (reading, writing) = match self.dir {
            Dir::Req => (Side::Client, Side::Server),
            Dir::Resp => (Side::Server, Side::Client),
        };
        let counter = self.shared.counters.clone();
        let counter = if self.dir == Dir::Req { &counter.bytes_in } else { &counter.bytes_out };
        let mut buffer = BytesMut::with_capacity(BUFFER);
        loop {
            if buffer.capacity() < SMALL {
                buffer.reserve(BUFFER);
            }
            let read = self.from.read_buf(&mut buffer).await.map_err(|error| (reading, error))?;
            if read == 0 {
                break;
            }
            let at = self.shared.copies.as_ref().map(|copies| copies.now());
            self.to.write_all(&buffer).await.map_err(|error| (writing, error))?;
            counter.fetch_add(read as u64, Ordering::Relaxed);
            match (&self.shared.copies, at) {
                (Some(copies), Some(at)) => {
                    let bytes = if read <= SMALL {
                        let copy = Bytes::copy_from_slice(&buffer);
                        buffer.clear();
                        copy
                    } else {
                        buffer.split().freeze()
                    };
                    copies.push(self.conn, at, Happened::Bytes { dir: self.dir, bytes });
                }
                _ => buffer.clear(),
            }
        }
        self.to.shutdown().await.map_err(|error| (writing, error))?;
        self.shared.tell(self.conn, Happened::Finished { dir: self.dir });
        Ok(())
    }
}
