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
//! Buffers of armed connections are a part of `--memory`, of which the analysis has as much less:
//! see `ArmedMemory`.
//!
//! # Time
//!
//! All connections share a thread. An armed connection lets others go on after half a millisecond,
//! and the cost of a frame does not depend on the number of streams.
//!
//! # Ends
//!
//! A connection ends once both of its sides have, whatever waits: nobody can answer. If only the
//! sender of a message has ended, the message is sent while the receiver takes any. A connection
//! without progress ends after ten seconds if its sender has gone, or if others lack its memory.

mod connection;
mod hold_desk;
mod memory;
mod outlet;
mod shared_faults;

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::AsyncWriteExt;

use super::relay::{Pump, read};
use connection::ArmedConnection;
pub use hold_desk::{DeskWaker, HoldDesk};
use outlet::{Outlet, Written};
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

/// Relays between both legs until either is gone or the tap stops.
///
/// Returns whether the tap stops. An error names the side whose connection broke.
pub(super) async fn run(
    requests: &mut Pump,
    responses: &mut Pump,
    armed: &Armed,
) -> Result<bool, (Side, io::Error)> {
    let mut connection = ArmedConnection::new(&requests.shared, requests.conn, armed);
    let (mut to_server, mut to_client) = (Outlet::default(), Outlet::default());
    let (mut from_client, mut from_server) = (true, true);
    let (mut stopped, mut decided, mut freed) =
        (armed.stopped.clone(), armed.desk.decisions(), armed.memory.freed());
    let (mut is_stopping, mut resets, mut deadline) = (*stopped.borrow(), armed.watch_resets(), None);
    // Whether the receivers took anything since the last deadline.
    let mut has_written = true;
    // Whether messages were sent since the tap stops.
    let mut has_released = false;
    loop {
        // The first bytes of the client say whether the connection is HTTP/2 at all.
        let can_answer = connection.has_begun();
        let due = connection.next_due().map(|due| armed.desk.instant(due));
        let Reading { is_free: may_read, reads: [reads_client, reads_server], goes_on } =
            Reading::new(&mut connection, [&to_server, &to_client], is_stopping);
        let gone = gone_sender(&connection, from_client, from_server);
        let stall = connection.stalls_at(gone, may_read);
        let wake = [due, deadline, stall].into_iter().flatten().min();
        tokio::select! {
            () = std::future::ready(()), if !goes_on.is_empty() => {
                goes_on.into_iter().try_for_each(|dir| connection.read_on(dir))?;
            }
            bytes = read(&mut requests.from, &requests.shared), if from_client && reads_client => {
                from_client = arrived(requests, &mut connection, bytes)?;
            }
            bytes = read(&mut responses.from, &responses.shared), if from_server && can_answer && reads_server => {
                from_server = arrived(responses, &mut connection, bytes)?;
            }
            written = to_server.write(&mut requests.to), if to_server.wants_write() => {
                let has_gone = !from_server && connection.has_waiting(Dir::Resp);
                note_written(&mut to_server, written, Side::Server, has_gone)?;
                (has_written, connection.progress) = (true, Instant::now());
            }
            written = to_client.write(&mut responses.to), if to_client.wants_write() => {
                let has_gone = !from_client && connection.has_waiting(Dir::Req);
                if let Some(bytes) = note_written(&mut to_client, written, Side::Client, has_gone)? {
                    responses.copy(bytes);
                }
                (has_written, connection.progress) = (true, Instant::now());
            }
            _ = stopped.changed(), if !is_stopping => is_stopping = true,
            () = resets.changed() => {}
            Ok(()) = decided.changed() => connection.decide(),
            // The loop decides again which sides to read.
            Ok(()) = freed.changed(), if !may_read => {}
            () = sleep_until(wake), if wake.is_some() => {
                if has_stalled(&mut deadline, &mut has_written) {
                    return Ok(true);
                }
                connection.release_due();
                connection.check_stall(stall, gone)?;
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
        end(requests, &mut to_server, is_ending(&connection, Dir::Req, from_client, from_server)).await?;
        end(responses, &mut to_client, is_ending(&connection, Dir::Resp, from_server, from_client)).await?;
        if to_server.is_shut && to_client.is_shut {
            return Ok(false);
        }
        connection.give_turn().await;
    }
}

/// Handles bytes that were read from a sender. Returns whether the sender may send more.
fn arrived(
    pump: &mut Pump,
    connection: &mut ArmedConnection,
    bytes: io::Result<Bytes>,
) -> Result<bool, (Side, io::Error)> {
    let bytes = bytes.map_err(|error| (pump.dir.sender(), error))?;
    let is_open = !bytes.is_empty();
    pump.arrived(&bytes)?;
    if pump.dir == Dir::Req {
        pump.copy(bytes.clone());
    }
    connection.arrived(pump.dir, bytes)?;
    Ok(is_open)
}

/// Whether a side may be read: little waits to be written to the other one, and to itself not much
/// more than that side may have sent.
fn has_room(to_receiver: &Outlet, to_sender: &Outlet) -> bool {
    to_receiver.bytes < MAX_QUEUED_BYTES && to_sender.bytes < 2 * MAX_QUEUED_BYTES
}

/// Returns the side that has ended while its messages wait for window updates of the other.
fn gone_sender(connection: &ArmedConnection, from_client: bool, from_server: bool) -> Option<Side> {
    match () {
        () if !from_client && connection.awaits_window(Dir::Req) => Some(Side::Client),
        () if !from_server && connection.awaits_window(Dir::Resp) => Some(Side::Server),
        () => None,
    }
}

/// Whether all released messages are written.
fn is_written(connection: &ArmedConnection, outlets: [&Outlet; 2]) -> bool {
    let awaits_window = Dir::ALL.into_iter().any(|dir| connection.awaits_window(dir));
    outlets.iter().all(|outlet| outlet.is_idle()) && !awaits_window
}

/// The sides of a connection that may be read now.
struct Reading {
    /// The memory allows to read both sides.
    is_free: bool,
    /// Whether the client and the server are read.
    reads: [bool; 2],
    /// Directions with bytes that have arrived and can be read on.
    goes_on: Vec<Dir>,
}

impl Reading {
    /// `outlets` are those to the server and to the client.
    fn new(connection: &mut ArmedConnection, outlets: [&Outlet; 2], is_stopping: bool) -> Reading {
        let is_free = connection.may_read(outlets.iter().map(|outlet| outlet.bytes).sum());
        let may_go_on = |dir: Dir, receiver: usize| {
            let is_wanted = match is_stopping {
                // Nothing but the window updates that messages wait for.
                true => connection.awaits_window(dir.opposite()),
                false => is_free || connection.must_read(dir),
            };
            is_wanted && has_room(outlets[receiver], outlets[1 - receiver])
        };
        let may_go_on = [may_go_on(Dir::Req, 0), may_go_on(Dir::Resp, 1)];
        let has_input = Dir::ALL.map(|dir| connection.has_input(dir));
        let reads = [0, 1].map(|i| may_go_on[i] && !has_input[i]);
        let goes_on = (0..2).filter(|i| may_go_on[*i] && has_input[*i]).map(|i| Dir::ALL[i]).collect();
        Reading { is_free, reads, goes_on }
    }
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
///
/// `has_written` is true at first, which gives the receivers a second chance: the process itself
/// may have stood still.
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
    receiver: Side,
    has_gone: bool,
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
/// delayed, or its receiver has ended too. `from_sender` and `from_receiver`: the side is open.
fn is_ending(connection: &ArmedConnection, dir: Dir, from_sender: bool, from_receiver: bool) -> bool {
    let has_ended = |is_open: bool, dir: Dir| !is_open && !connection.has_input(dir);
    has_ended(from_sender, dir) && (has_ended(from_receiver, dir.opposite()) || !connection.has_waiting(dir))
}

/// Tells the receiver of a direction if its sender has ended, once everything is written.
async fn end(pump: &mut Pump, outlet: &mut Outlet, has_ended: bool) -> Result<(), (Side, io::Error)> {
    if has_ended && outlet.is_idle() && !outlet.is_shut {
        outlet.is_shut = true;
        pump.to.shutdown().await.map_err(|error| (pump.dir.opposite().sender(), error))?;
        pump.shared.reporter.report(pump.conn, TapEvent::Finished { dir: pump.dir });
    }
    Ok(())
}

async fn sleep_until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at.into()).await;
    }
}
