use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::debug;

use super::buffers::Buffers;
use super::leg::{Leg, Listener};
use super::{Address, ConnId, Copies, Counters, Happened};
use crate::event::{Dir, Side};

#[derive(Clone)]
pub(super) struct Shared {
    pub(super) copies: Option<Arc<Copies>>,
    pub(super) counters: Arc<Counters>,
    pub(super) buffers: Buffers,
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
        loop {
            let bytes = self.read().await.map_err(|error| (reading, error))?;
            if bytes.is_empty() {
                break;
            }
            let at = self.shared.copies.as_ref().map(|copies| copies.now());
            self.to.write_all(&bytes).await.map_err(|error| (writing, error))?;
            counter.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            if let (Some(copies), Some(at)) = (&self.shared.copies, at) {
                copies.push(self.conn, at, Happened::Bytes { dir: self.dir, bytes });
            }
        }
        self.to.shutdown().await.map_err(|error| (writing, error))?;
        self.shared.tell(self.conn, Happened::Finished { dir: self.dir });
        Ok(())
    }

    /// The next bytes; none at the end.
    async fn read(&mut self) -> io::Result<Bytes> {
        std::future::poll_fn(|cx| {
            let from = &mut self.from;
            let (read, bytes) = self.shared.buffers.fill(|buffer| pin!(from.read_buf(buffer)).poll(cx));
            read.map_ok(|_| bytes)
        })
        .await
    }
}
