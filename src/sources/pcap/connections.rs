use core::net::SocketAddr;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::order::{StreamPiece, StreamReassembler, StreamSegment};
use super::packet::Segment;
use crate::observe::{ConnId, Pipeline, TapCopy, TapEvent};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Dir, Side, Time};

/// Most connections followed at a time; packets of further ones are only counted.
pub const MAX_CONNECTIONS: usize = 1 << 16;
/// Refused packets between two searches of all connections for those that can be forgotten.
const SWEEP_INTERVAL: u64 = 1 << 14;
/// Bytes of all connections that may wait behind gaps.
pub const MAX_WAITING_BYTES: usize = 64 << 20;
/// Unreadable connections that are listed; more are only counted.
const MAX_LISTED_CONNECTIONS: u64 = 10_000;

/// The numbers of everything that does not show up on a stream.
#[derive(Default)]
pub(super) struct ConnectionCounts {
    /// Gaps, and the number of bytes missing in them.
    pub(super) gaps: u64,
    pub(super) missing: u64,
    /// Connections under TLS.
    pub(super) tls: u64,
    /// Connections that began before the capture, and those of them without a known client.
    pub(super) midway: u64,
    pub(super) without_client: u64,
    /// Unreadable connections that are not listed.
    pub(super) unlisted: u64,
    /// Packets of connections that are not followed.
    pub(super) unfollowed: u64,
}

/// The destination of frames and their content.
pub(super) struct FrameOutput<'a> {
    pub(super) catalog: &'a mut Catalog,
    pub(super) out: &'a mut Vec<Frame>,
}

/// All connections of a capture, feeding the pipeline.
pub(super) struct Connections {
    table: HashMap<(SocketAddr, SocketAddr), CapturedConnection, RandomState>,
    /// Addresses that were seen to accept connections.
    listeners: HashSet<SocketAddr, RandomState>,
    observed: ObservedTraffic,
    /// Number of refused packets from which connections are forgotten again.
    next_sweep: u64,
}

struct ObservedTraffic {
    pipeline: Pipeline,
    opened: u64,
    counts: ConnectionCounts,
    waiting_bytes: usize,
}

struct CapturedConnection {
    /// The end with the lower address first; all pairs here have this order.
    ends: [SocketAddr; 2],
    halves: [StreamReassembler; 2],
    /// The index of the client's end, if known.
    client: Option<usize>,
    /// Whether the handshake was captured.
    has_handshake: bool,
    reading: Routing,
}

/// Whether and where the bytes of a connection are observed.
enum Routing {
    /// No bytes so far.
    Pending,
    Observed(ConnId),
    /// Bytes are ignored: the connection is closed, or is unreadable and not listed.
    Ignored,
}

impl Connections {
    pub(super) fn new(pipeline: Pipeline) -> Connections {
        let observed =
            ObservedTraffic { pipeline, opened: 0, counts: ConnectionCounts::default(), waiting_bytes: 0 };
        Connections { table: HashMap::default(), listeners: HashSet::default(), observed, next_sweep: 0 }
    }

    /// Marks the contents of unfinished messages as used.
    pub(super) fn mark(&mut self, used: &mut UsedContent) {
        self.observed.pipeline.mark(used);
    }

    /// Handles the next segment of any connection.
    pub(super) fn take(&mut self, at: Time, segment: &Segment<'_>, to: &mut FrameOutput<'_>) {
        let Segment { from, to: dest, seq, ack, syn, fin, rst, bytes, missing } = *segment;
        let (key, side) = if from <= dest { ((from, dest), 0) } else { ((dest, from), 1) };
        let begins = syn && ack.is_none();
        if begins && let Some(known) = self.table.get_mut(&key).filter(|known| !known.is_begun_by(side, seq))
        {
            // A new connection reuses the pair of ports.
            known.close(at, None, None, &mut self.observed, to);
            self.table.remove(&key);
        }
        if !self.table.contains_key(&key) {
            if !syn && bytes.is_empty() {
                return;
            }
            if !self.has_room() {
                self.observed.counts.unfollowed += 1;
                return;
            }
            self.table.insert(key, CapturedConnection::new(key, syn));
        }
        let Some(connection) = self.table.get_mut(&key) else { return };
        if matches!(connection.reading, Routing::Ignored) {
            return;
        }
        if syn {
            let (client, server) = if begins { (side, dest) } else { (1 - side, from) };
            connection.client = Some(client);
            if self.listeners.len() < MAX_CONNECTIONS {
                self.listeners.insert(server);
            }
            let own = &mut connection.halves[side];
            if !own.is_known() {
                own.begin(seq.wrapping_add(1));
            }
        }
        if !rst && let Some(ack) = ack {
            let other = &mut connection.halves[1 - side];
            if !other.is_known() && connection.has_handshake {
                other.begin(ack);
            }
            other.acknowledge(ack);
        }
        if connection.client.is_none() && !bytes.is_empty() {
            connection.client = client_end(bytes, side)
                .or_else(|| server_end(&connection.ends, &self.listeners).map(|end| 1 - end));
        }
        let were_over = connection.halves.each_ref().map(StreamReassembler::is_over);
        let first = seq.wrapping_add(u32::from(syn));
        if !bytes.is_empty() || missing > 0 || fin {
            let segment = StreamSegment { seq: first, bytes, missing, fin };
            connection.put(at, side, segment, &mut self.observed, to);
        }
        connection.check_gaps(at, &mut self.observed, to);
        connection.report_finished(at, were_over, &mut self.observed, to);
        if rst {
            let by = connection.client.map(|client| if client == side { Side::Client } else { Side::Server });
            connection.close(at, by, Some("the connection was reset"), &mut self.observed, to);
        } else if connection.halves.iter().all(StreamReassembler::is_over) {
            connection.close(at, None, None, &mut self.observed, to);
        }
    }

    /// Makes room for another connection, if possible. Connections that are over, and those without
    /// any bytes yet, are forgotten first.
    fn has_room(&mut self) -> bool {
        let refused = self.observed.counts.unfollowed;
        if self.table.len() >= MAX_CONNECTIONS && refused >= self.next_sweep {
            self.table.retain(|_, connection| matches!(connection.reading, Routing::Observed(_)));
            self.next_sweep = refused + SWEEP_INTERVAL;
        }
        self.table.len() < MAX_CONNECTIONS
    }

    /// Ends the capture. Its connections may still be open.
    pub(super) fn finish(&mut self, at: Time, to: &mut FrameOutput<'_>) {
        let mut open: Vec<_> = self.table.drain().map(|(_, connection)| connection).collect();
        open.sort_unstable_by_key(|connection| (connection.id(), connection.ends));
        for mut connection in open {
            connection.give_up_all(at, &mut self.observed, to);
            if connection.halves.iter().all(StreamReassembler::is_over) {
                connection.close(at, None, None, &mut self.observed, to);
            }
            if let Routing::Observed(conn) = connection.reading {
                self.observed.pipeline.abandon(conn, at, to.catalog, to.out);
            }
        }
    }

    pub(super) fn counts(&self) -> &ConnectionCounts {
        &self.observed.counts
    }
}

/// Returns the client's end, if these are the first bytes of a client.
fn client_end(bytes: &[u8], side: usize) -> Option<usize> {
    let shared = bytes.len().min(PREFACE.len());
    let http2 = bytes[..shared] == PREFACE[..shared];
    (http2 || is_hello(bytes) || xdscope_wire::http1::ConnectionObserver::begins(bytes)).then_some(side)
}

/// The HTTP/2 client connection preface.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Returns whether the bytes are a TLS ClientHello.
fn is_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [0x16, 3, _, _, _, 1, ..])
}

/// Returns whether the bytes are a TLS record.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x14..=0x17, 3, 0..=4, ..])
}

/// Returns the server's end: it was seen to accept connections, or has the only port outside the
/// ephemeral range.
fn server_end(ends: &[SocketAddr; 2], listening: &HashSet<SocketAddr, RandomState>) -> Option<usize> {
    let one_of = |is: [bool; 2]| match is {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    };
    one_of(ends.map(|end| listening.contains(&end)))
        .or(one_of(ends.map(|end| end.port() < FIRST_EPHEMERAL_PORT)))
}

/// The first ephemeral port on Linux; other systems start higher.
const FIRST_EPHEMERAL_PORT: u16 = 32_768;

impl CapturedConnection {
    fn new(key: (SocketAddr, SocketAddr), has_handshake: bool) -> CapturedConnection {
        let halves = Default::default();
        CapturedConnection {
            ends: [key.0, key.1],
            halves,
            client: None,
            has_handshake,
            reading: Routing::Pending,
        }
    }

    /// Returns whether a SYN with this number opened this very connection.
    fn is_begun_by(&self, side: usize, seq: u32) -> bool {
        self.halves[side].begins_with(seq.wrapping_add(1)) && !matches!(self.reading, Routing::Ignored)
    }

    fn id(&self) -> Option<ConnId> {
        match self.reading {
            Routing::Observed(conn) => Some(conn),
            _ => None,
        }
    }

    fn put(
        &mut self,
        at: Time,
        side: usize,
        segment: StreamSegment<'_>,
        observed: &mut ObservedTraffic,
        to: &mut FrameOutput<'_>,
    ) {
        self.run(at, side, observed, to, |half, out| half.take(segment, out));
        while observed.waiting_bytes > MAX_WAITING_BYTES && self.halves[side].waiting_bytes() > 0 {
            self.run(at, side, observed, to, |half, out| half.give_up(out));
        }
    }

    fn check_gaps(&mut self, at: Time, observed: &mut ObservedTraffic, to: &mut FrameOutput<'_>) {
        for side in [0, 1] {
            self.run(at, side, observed, to, |half, out| half.check_gap(at, out));
        }
    }

    fn give_up_all(&mut self, at: Time, observed: &mut ObservedTraffic, to: &mut FrameOutput<'_>) {
        for side in [0, 1] {
            self.run(at, side, observed, to, |half, out| half.finish(out));
        }
    }

    /// Reports the sides that have ended since `were_over`.
    fn report_finished(
        &self,
        at: Time,
        were_over: [bool; 2],
        observed: &mut ObservedTraffic,
        to: &mut FrameOutput<'_>,
    ) {
        let Some(conn) = self.id() else { return };
        for (side, (half, was_over)) in self.halves.iter().zip(were_over).enumerate() {
            if half.is_over() && !was_over {
                let dir = if self.client.unwrap_or(0) == side { Dir::Req } else { Dir::Resp };
                observed.emit(conn, at, TapEvent::Finished { dir }, to);
            }
        }
    }

    /// Feeds one direction and passes on the bytes that become available.
    fn run(
        &mut self,
        at: Time,
        side: usize,
        observed: &mut ObservedTraffic,
        to: &mut FrameOutput<'_>,
        run: impl FnOnce(&mut StreamReassembler, &mut dyn FnMut(StreamPiece<'_>)),
    ) {
        let Some(half) = self.halves.get_mut(side) else { return };
        let (ends, client, has_handshake, reading) =
            (&self.ends, self.client, self.has_handshake, &mut self.reading);
        let before = half.waiting_bytes();
        let dir = if client.unwrap_or(0) == side { Dir::Req } else { Dir::Resp };
        run(half, &mut |piece| {
            if let StreamPiece::Gap(bytes) = piece {
                observed.counts.gaps += 1;
                observed.counts.missing += bytes;
            }
            if matches!(reading, Routing::Pending) {
                *reading = observed.open(at, ends, client, has_handshake, &piece, to);
            }
            let Routing::Observed(conn) = *reading else { return };
            match piece {
                StreamPiece::Bytes(bytes) => {
                    observed.pipeline.bytes(conn, at, dir, bytes, to.catalog, to.out)
                }
                StreamPiece::Gap(bytes) => {
                    observed.pipeline.skip_missing(conn, at, dir, bytes, to.catalog, to.out)
                }
            }
        });
        let after = half.waiting_bytes();
        observed.waiting_bytes = (observed.waiting_bytes + after).saturating_sub(before);
    }

    fn close(
        &mut self,
        at: Time,
        by: Option<Side>,
        error: Option<&str>,
        observed: &mut ObservedTraffic,
        to: &mut FrameOutput<'_>,
    ) {
        self.give_up_all(at, observed, to);
        if let Routing::Observed(conn) = self.reading {
            observed.emit(conn, at, TapEvent::Closed { by, error: error.map(str::to_owned) }, to);
        }
        self.reading = Routing::Ignored;
    }
}

impl ObservedTraffic {
    fn emit(&mut self, conn: ConnId, at: Time, what: TapEvent, to: &mut FrameOutput<'_>) {
        self.pipeline.handle(TapCopy { conn, at, event: what }, to.catalog, to.out);
    }

    /// Opens the connection in the pipeline when its first bytes arrive.
    fn open(
        &mut self,
        at: Time,
        ends: &[SocketAddr; 2],
        client: Option<usize>,
        has_handshake: bool,
        first: &StreamPiece<'_>,
        to: &mut FrameOutput<'_>,
    ) -> Routing {
        let bytes = if let StreamPiece::Bytes(bytes) = first { *bytes } else { &[] };
        let tls = is_tls(bytes);
        let begun = !tls && !has_handshake && client_end(bytes, 0).is_none();
        let sideless = begun && client.is_none();
        let readable = !tls && !sideless;
        self.counts.tls += u64::from(tls);
        self.counts.midway += u64::from(begun);
        self.counts.without_client += u64::from(sideless);
        if !readable && self.counts.tls + self.counts.without_client > MAX_LISTED_CONNECTIONS {
            self.counts.unlisted += 1;
            return Routing::Ignored;
        }
        self.opened += 1;
        let conn = ConnId(self.opened);
        let client = client.unwrap_or(0);
        let (peer, server) = (ends[client.min(1)].to_string(), ends[1 - client.min(1)].to_string());
        self.emit(conn, at, TapEvent::Opened { peer, server }, to);
        if !readable {
            let why = if tls { "TLS" } else { "begun before the capture" };
            self.pipeline.mark_opaque(conn, at, why, to.catalog, to.out);
        } else if begun {
            self.pipeline.start_midway(conn);
        }
        Routing::Observed(conn)
    }
}
