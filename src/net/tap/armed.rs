//! The relay of an armed tap: faults, or a person, act on the messages of streams that may match.
//!
//! One task owns both legs. It reads a side while little waits to be written to the other, hands
//! the bytes to the splicer, and writes what comes out. `docs/decisions/0020-armed-taps.md` has the
//! reasons.
//!
//! # Which connections are armed
//!
//! A connection is armed or not from the moment when it is accepted: a relay cannot take over the
//! header tables and windows of an HTTP/2 connection in its middle. Other connections use the relay
//! of a tap that nobody has armed. A person may close the connections from before: their clients
//! connect again, and are covered.
//!
//! # Copies
//!
//! The analysis sees what the client sent and received: requests are copied when they are read, and
//! responses when they are written. Each intervention is an event of its own, between the copies.
//!
//! # Memory
//!
//! Messages that armed connections buffer are a part of `--memory`, of which the analysis has as
//! much less: see `ArmedMemory`.

mod connection;
mod hold_desk;
mod memory;
mod shared_faults;

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt, WriteHalf};

use super::relay::{Pump, read};
use crate::net::transport::Leg;
use connection::ArmedConnection;
pub use hold_desk::{DeskWaker, HoldDesk};
pub(super) use shared_faults::Armed;
pub use shared_faults::{Arms, SharedFaults};
use xdscope_sources::observe::TapEvent;
use xdscope_wire::event::{Dir, Side};

/// Bytes that may wait to be written to a side while the other is read.
const MAX_QUEUED_BYTES: usize = 1 << 20;

/// The time to write held messages when the tap stops. While the receiver takes bytes, the time is
/// extended by half, up to [`MAX_RELEASE_TIME`].
const RELEASE_TIME: Duration = Duration::from_secs(1);

/// The silence after which a receiver of released messages has handled them.
const QUIET_TIME: Duration = Duration::from_millis(200);

/// The longest time that connections take to release what they hold when the tap stops.
const MAX_RELEASE_TIME: Duration = Duration::from_secs(3);

/// One side of a connection that is written to.
#[derive(Default)]
struct Outlet {
    queue: VecDeque<Bytes>,
    bytes: usize,
    /// Written bytes may be held back, by TLS.
    is_dirty: bool,
    /// The sender has ended, and the receiver knows.
    is_shut: bool,
}

/// Relays between both legs until either is gone or the tap stops.
///
/// Returns whether the tap stops. An error names the side whose connection broke.
pub(super) async fn run(
    requests: &mut Pump,
    responses: &mut Pump,
    armed: &Armed,
) -> Result<bool, (Side, io::Error)> {
    let changes = requests.shared.changes.clone();
    let mut connection = ArmedConnection::new(&requests.shared.reporter, requests.conn, changes, armed);
    let (mut to_server, mut to_client) = (Outlet::default(), Outlet::default());
    let (mut from_client, mut from_server) = (true, true);
    let (mut stopped, mut decided, mut freed) =
        (armed.stopped.clone(), armed.desk.decisions(), armed.memory.freed());
    let (mut is_stopping, mut resets, mut deadline) = (*stopped.borrow(), armed.watch_resets(), None);
    // Whether the receivers took anything since the last deadline. At first they are given a
    // second chance: the process itself may have stood still.
    let mut has_written = true;
    // Whether messages were sent since the tap stops.
    let mut has_released = false;
    loop {
        // The first bytes of the client say whether the connection is HTTP/2 at all.
        let can_answer = connection.has_begun();
        let due = connection.next_due().map(|due| armed.start() + Duration::from_nanos(due.0));
        let wake = [due, deadline].into_iter().flatten().min();
        let (reads_client, reads_server) = sides_to_read(&mut connection, is_stopping);
        tokio::select! {
            bytes = read(&mut requests.from, &requests.shared), if from_client && reads_client && to_server.bytes < MAX_QUEUED_BYTES => {
                let bytes = bytes.map_err(|error| (Side::Client, error))?;
                from_client = !bytes.is_empty();
                requests.arrived(&bytes)?;
                requests.copy(bytes.clone());
                connection.arrived(Dir::Req, bytes)?;
            }
            bytes = read(&mut responses.from, &responses.shared), if from_server && can_answer && reads_server && to_client.bytes < MAX_QUEUED_BYTES => {
                let bytes = bytes.map_err(|error| (Side::Server, error))?;
                from_server = !bytes.is_empty();
                responses.arrived(&bytes)?;
                connection.arrived(Dir::Resp, bytes)?;
            }
            written = to_server.write(&mut requests.to), if to_server.wants_write() => {
                let has_gone = !from_server && connection.has_waiting(Dir::Resp);
                note_written(&mut to_server, written, (Side::Server, has_gone))?;
                has_written = true;
            }
            written = to_client.write(&mut responses.to), if to_client.wants_write() => {
                let has_gone = !from_client && connection.has_waiting(Dir::Req);
                let bytes = note_written(&mut to_client, written, (Side::Client, has_gone))?;
                bytes.into_iter().for_each(|bytes| responses.copy(bytes));
                has_written = true;
            }
            _ = stopped.changed(), if !is_stopping => is_stopping = true,
            () = resets.changed() => {}
            Ok(()) = decided.changed() => connection.decide(),
            // The loop decides again which sides to read.
            Ok(()) = freed.changed(), if !(reads_client && reads_server) => {}
            () = sleep_until(wake), if wake.is_some() => {
                if has_stalled(&mut deadline, &mut has_written) {
                    return Ok(true);
                }
                connection.release_due();
            }
        }
        resets.take().iter().for_each(|by| connection.reset_all(by));
        if is_stopping {
            deadline.get_or_insert_with(|| Instant::now() + RELEASE_TIME);
            connection.release_all();
        }
        for (dir, outlet) in [(Dir::Req, &mut to_server), (Dir::Resp, &mut to_client)] {
            outlet.extend(connection.take_output(dir));
        }
        if is_stopping && is_written(&connection, [&to_server, &to_client]) {
            finish(requests, responses, has_released).await;
            return Ok(true);
        }
        has_released |= is_stopping;
        end(requests, &mut to_server, ending(&connection, Dir::Req, from_client)).await?;
        end(responses, &mut to_client, ending(&connection, Dir::Resp, from_server)).await?;
        if to_server.is_shut && to_client.is_shut {
            return Ok(false);
        }
    }
}

/// Whether all released messages are written.
fn is_written(connection: &ArmedConnection, outlets: [&Outlet; 2]) -> bool {
    let awaits_window = Dir::ALL.into_iter().any(|dir| connection.awaits_window(dir));
    outlets.iter().all(|outlet| outlet.is_idle()) && !awaits_window
}

/// Returns whether the client and the server are read.
fn sides_to_read(connection: &mut ArmedConnection, is_stopping: bool) -> (bool, bool) {
    let is_free = connection.may_read();
    let is_read = |dir: Dir| match is_stopping {
        // Nothing but the window updates that messages wait for.
        true => connection.awaits_window(dir.opposite()),
        false => is_free || connection.must_read(dir),
    };
    (is_read(Dir::Req), is_read(Dir::Resp))
}

/// Ends both legs after messages were released, once their peers are quiet. Reads them until the
/// peers have ended too.
///
/// Clients forget messages that they have not handled when the connection ends. The system discards
/// bytes that the peers have not read if the tap has not read theirs.
async fn finish(requests: &mut Pump, responses: &mut Pump, has_released: bool) {
    if !has_released {
        return;
    }
    let ends = async {
        let quiet = async { tokio::join!(read_until_quiet(requests), read_until_quiet(responses)) };
        // A peer that goes on sending has handled the messages by then.
        let _ = tokio::time::timeout(RELEASE_TIME, quiet).await;
        // A leg that its peer has closed needs no shutdown.
        let _ = tokio::join!(requests.to.shutdown(), responses.to.shutdown());
        tokio::join!(read_to_end(requests), read_to_end(responses))
    };
    // The connection is closed even if a peer does not end.
    let _ = tokio::time::timeout(MAX_RELEASE_TIME, ends).await;
}

async fn read_until_quiet(pump: &mut Pump) {
    let mut next = async || tokio::time::timeout(QUIET_TIME, read(&mut pump.from, &pump.shared)).await;
    while matches!(next().await, Ok(Ok(bytes)) if !bytes.is_empty()) {}
}

async fn read_to_end(pump: &mut Pump) {
    while read(&mut pump.from, &pump.shared).await.is_ok_and(|bytes| !bytes.is_empty()) {}
}

/// Extends a deadline that has passed. Returns whether nothing was written since the last one.
fn has_stalled(deadline: &mut Option<Instant>, has_written: &mut bool) -> bool {
    let Some(passed) = deadline.filter(|deadline| *deadline <= Instant::now()) else { return false };
    *deadline = Some(passed + RELEASE_TIME / 2);
    !std::mem::take(has_written)
}

/// Counts the bytes that were written to a receiver, and returns them. Gives up a receiver that has
/// gone while its own messages still wait for the other side.
fn note_written(
    outlet: &mut Outlet,
    written: io::Result<Written>,
    (receiver, has_gone): (Side, bool),
) -> Result<Option<Bytes>, (Side, io::Error)> {
    match written {
        Ok(written) => Ok(outlet.wrote(written)),
        Err(_) if has_gone => {
            outlet.give_up();
            Ok(None)
        }
        Err(error) => Err((receiver, error)),
    }
}

/// Returns whether a direction ends: its sender has ended it, and none of its messages is held or
/// delayed.
fn ending(connection: &ArmedConnection, dir: Dir, is_open: bool) -> (Dir, bool) {
    (dir, !is_open && !connection.has_waiting(dir))
}

/// Tells the receiver of a direction if its sender has ended, once everything is written.
async fn end(
    pump: &mut Pump,
    outlet: &mut Outlet,
    (dir, has_ended): (Dir, bool),
) -> Result<(), (Side, io::Error)> {
    if has_ended && outlet.is_idle() && !outlet.is_shut {
        outlet.is_shut = true;
        let receiver = if dir == Dir::Req { Side::Server } else { Side::Client };
        pump.to.shutdown().await.map_err(|error| (receiver, error))?;
        pump.shared.reporter.report(pump.conn, TapEvent::Finished { dir });
    }
    Ok(())
}

async fn sleep_until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at.into()).await;
    }
}

/// The result of [`Outlet::write`].
enum Written {
    Bytes(usize),
    Flushed,
}

impl Outlet {
    fn extend(&mut self, parts: Vec<Bytes>) {
        for part in parts.into_iter().filter(|_| !self.is_shut) {
            self.bytes += part.len();
            self.queue.push_back(part);
        }
    }

    fn wants_write(&self) -> bool {
        !self.queue.is_empty() || self.is_dirty
    }

    fn is_idle(&self) -> bool {
        !self.wants_write()
    }

    /// Discards what a receiver that has gone cannot take, now and later.
    fn give_up(&mut self) {
        *self = Outlet { is_shut: true, ..Outlet::default() };
    }

    /// Writes bytes, or flushes after the last ones. Nothing is lost if this is cancelled.
    async fn write(&self, to: &mut WriteHalf<Leg>) -> io::Result<Written> {
        std::future::poll_fn(|cx| match self.queue.front() {
            Some(first) => Pin::new(&mut *to).poll_write(cx, first).map_ok(Written::Bytes),
            None => {
                let flush = pin!(to.flush());
                flush.poll(cx).map_ok(|()| Written::Flushed)
            }
        })
        .await
    }

    /// Counts what was written. Returns the bytes.
    fn wrote(&mut self, written: Written) -> Option<Bytes> {
        let Written::Bytes(len) = written else {
            self.is_dirty = false;
            return None;
        };
        let first = self.queue.front_mut()?;
        let bytes = first.split_to(len);
        if first.is_empty() {
            self.queue.pop_front();
        }
        self.bytes -= len;
        self.is_dirty = true;
        Some(bytes)
    }
}
