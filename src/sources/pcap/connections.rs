use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use foldhash::fast::RandomState;

use super::order::{Half, Piece};
use super::packet::Segment;
use crate::sources::observe::{ConnId, Pipeline, TapCopy, TapEvent};
use crate::wire::Frame;
use crate::wire::content::Catalog;
use crate::wire::event::{Dir, Side, Time};

/// Connections that are told apart at a time; packets of more are counted.
const TABLE: usize = 1 << 16;
/// Bytes of all connections that may wait behind holes.
const WAITING: usize = 64 << 20;
/// Connections that can't be read and are listed all the same; more are counted.
const LISTED: u64 = 10_000;

/// What was seen and is not on any stream.
#[derive(Default)]
pub(super) struct Counts {
    /// Places where bytes are missing, and how many in all.
    pub(super) gaps: u64,
    pub(super) missing: u64,
    /// Connections under TLS.
    pub(super) tls: u64,
    /// Connections that begin before the capture, and of these the ones whose client can't be told.
    pub(super) begun: u64,
    pub(super) sideless: u64,
    /// Connections that can't be read and are not listed.
    pub(super) unlisted: u64,
    /// Packets of connections beyond the table.
    pub(super) beyond: u64,
}

/// Where frames go, and their content.
pub(super) struct Sink<'a> {
    pub(super) catalog: &'a mut Catalog,
    pub(super) out: &'a mut Vec<Frame>,
}

/// All connections of a capture, on their way into the pipeline.
pub(super) struct Connections {
    table: HashMap<(SocketAddr, SocketAddr), Connection, RandomState>,
    /// Who was seen to accept connections.
    listening: HashSet<SocketAddr, RandomState>,
    observed: Observed,
}

struct Observed {
    pipeline: Pipeline,
    opened: u64,
    counts: Counts,
    held: usize,
}

struct Connection {
    /// The end with the lower address, then the other; so everything in pairs here.
    ends: [SocketAddr; 2],
    halves: [Half; 2],
    /// Which end asks, if that is known.
    client: Option<usize>,
    /// Its opening was seen.
    whole: bool,
    reading: Reading,
}

/// What becomes of its bytes.
enum Reading {
    /// None have come.
    Not,
    As(ConnId),
    /// They are left out: it is over, or one too many that can't be read.
    Over,
}

impl Connections {
    pub(super) fn new(pipeline: Pipeline) -> Connections {
        let observed = Observed { pipeline, opened: 0, counts: Counts::default(), held: 0 };
        Connections { table: HashMap::default(), listening: HashSet::default(), observed }
    }

    /// Takes the next segment of any connection.
    pub(super) fn take(&mut self, at: Time, segment: &Segment<'_>, to: &mut Sink<'_>) {
        let Segment { from, to: dest, seq, ack, syn, fin, rst, bytes, missing } = *segment;
        let (key, side) = if from <= dest { ((from, dest), 0) } else { ((dest, from), 1) };
        let begins = syn && ack.is_none();
        if begins && let Some(known) = self.table.get_mut(&key).filter(|known| !known.is_begun_by(side, seq))
        {
            // The same two ports again.
            known.close(at, None, None, &mut self.observed, to);
            self.table.remove(&key);
        }
        if !self.table.contains_key(&key) {
            if !syn && bytes.is_empty() {
                return;
            }
            if !self.has_room() {
                self.observed.counts.beyond += 1;
                return;
            }
            self.table.insert(key, Connection::new(key, syn));
        }
        let Some(connection) = self.table.get_mut(&key) else { return };
        if matches!(connection.reading, Reading::Over) {
            return;
        }
        if syn {
            let (client, server) = if begins { (side, dest) } else { (1 - side, from) };
            connection.client = Some(client);
            if self.listening.len() < TABLE {
                self.listening.insert(server);
            }
            let own = &mut connection.halves[side];
            if !own.is_known() {
                own.begin(seq.wrapping_add(1));
            }
        }
        if let Some(ack) = ack.filter(|_| !rst) {
            let other = &mut connection.halves[1 - side];
            if !other.is_known() && connection.whole {
                other.begin(ack);
            }
            other.acked(ack);
        }
        if connection.client.is_none() && !bytes.is_empty() {
            connection.client = asking(bytes, side)
                .or_else(|| listener(&connection.ends, &self.listening).map(|end| 1 - end));
        }
        let first = seq.wrapping_add(u32::from(syn));
        if !bytes.is_empty() || missing > 0 || fin {
            connection.put(at, side, (first, bytes, missing, fin), &mut self.observed, to);
        }
        connection.look(at, &mut self.observed, to);
        if rst {
            let by = connection.client.map(|client| if client == side { Side::Client } else { Side::Server });
            connection.close(at, by, Some("the connection was reset"), &mut self.observed, to);
        } else if connection.halves.iter().all(Half::is_over) {
            connection.close(at, None, None, &mut self.observed, to);
        }
    }

    fn has_room(&mut self) -> bool {
        if self.table.len() >= TABLE {
            self.table.retain(|_, connection| !matches!(connection.reading, Reading::Over));
        }
        self.table.len() < TABLE
    }

    /// The capture is over; its connections may not be.
    pub(super) fn finish(&mut self, at: Time, to: &mut Sink<'_>) {
        let mut open: Vec<_> = self.table.drain().map(|(_, connection)| connection).collect();
        open.sort_unstable_by_key(|connection| (connection.id(), connection.ends));
        for mut connection in open {
            connection.give_up_all(at, &mut self.observed, to);
            if connection.halves.iter().all(Half::is_over) {
                connection.close(at, None, None, &mut self.observed, to);
            }
            if let Reading::As(conn) = connection.reading {
                self.observed.pipeline.leave(conn, at, to.catalog, to.out);
            }
        }
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.observed.counts
    }
}

/// The end that asks, by what it says first.
fn asking(bytes: &[u8], side: usize) -> Option<usize> {
    let shared = bytes.len().min(PREFACE.len());
    let http2 = bytes[..shared] == PREFACE[..shared];
    (http2 || is_hello(bytes) || crate::wire::http1::Connection::begins(bytes)).then_some(side)
}

/// What every HTTP/2 client sends first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A handshake of TLS that a client begins.
fn is_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [0x16, 3, _, _, _, 1, ..])
}

/// A record of TLS.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x14..=0x17, 3, 0..=4, ..])
}

/// The end that listens: it was seen to accept connections, or its port is none that is given out to clients.
fn listener(ends: &[SocketAddr; 2], listening: &HashSet<SocketAddr, RandomState>) -> Option<usize> {
    let one_of = |is: [bool; 2]| match is {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    };
    one_of(ends.map(|end| listening.contains(&end))).or(one_of(ends.map(|end| end.port() < EPHEMERAL)))
}

/// Where Linux begins to take the ports of clients from; others begin higher.
const EPHEMERAL: u16 = 32_768;

impl Connection {
    fn new(key: (SocketAddr, SocketAddr), whole: bool) -> Connection {
        let halves = Default::default();
        Connection { ends: [key.0, key.1], halves, client: None, whole, reading: Reading::Not }
    }

    /// The SYN with this number is its own.
    fn is_begun_by(&self, side: usize, seq: u32) -> bool {
        self.halves[side].begins_with(seq.wrapping_add(1)) && !matches!(self.reading, Reading::Over)
    }

    fn id(&self) -> Option<ConnId> {
        match self.reading {
            Reading::As(conn) => Some(conn),
            _ => None,
        }
    }

    fn put(
        &mut self,
        at: Time,
        side: usize,
        (seq, bytes, missing, fin): (u32, &[u8], u32, bool),
        observed: &mut Observed,
        to: &mut Sink<'_>,
    ) {
        self.run(at, side, observed, to, |half, out| half.take(seq, bytes, missing, fin, out));
        while observed.held > WAITING && self.halves[side].held() > 0 {
            self.run(at, side, observed, to, |half, out| half.give_up(out));
        }
    }

    fn look(&mut self, at: Time, observed: &mut Observed, to: &mut Sink<'_>) {
        for side in [0, 1] {
            self.run(at, side, observed, to, |half, out| half.look(at, out));
        }
    }

    fn give_up_all(&mut self, at: Time, observed: &mut Observed, to: &mut Sink<'_>) {
        for side in [0, 1] {
            self.run(at, side, observed, to, |half, out| half.finish(out));
        }
    }

    /// Runs one direction and hands on what it gives.
    fn run(
        &mut self,
        at: Time,
        side: usize,
        observed: &mut Observed,
        to: &mut Sink<'_>,
        run: impl FnOnce(&mut Half, &mut dyn FnMut(Piece<'_>)),
    ) {
        let Some(half) = self.halves.get_mut(side) else { return };
        let (ends, client, whole, reading) = (&self.ends, self.client, self.whole, &mut self.reading);
        let before = half.held();
        let dir = if client.unwrap_or(0) == side { Dir::Req } else { Dir::Resp };
        run(half, &mut |piece| {
            if let Piece::Gap(bytes) = piece {
                observed.counts.gaps += 1;
                observed.counts.missing += bytes;
            }
            if matches!(reading, Reading::Not) {
                *reading = observed.open(at, ends, client, whole, &piece, to);
            }
            let Reading::As(conn) = *reading else { return };
            match piece {
                Piece::Bytes(bytes) => observed.pipeline.bytes(conn, at, dir, bytes, to.catalog, to.out),
                Piece::Gap(bytes) => observed.pipeline.miss(conn, at, (dir, bytes), to.catalog, to.out),
            }
        });
        let after = half.held();
        observed.held = (observed.held + after).saturating_sub(before);
    }

    fn close(
        &mut self,
        at: Time,
        by: Option<Side>,
        error: Option<&str>,
        observed: &mut Observed,
        to: &mut Sink<'_>,
    ) {
        self.give_up_all(at, observed, to);
        if let Reading::As(conn) = self.reading {
            observed.tell(conn, at, TapEvent::Closed { by, error: error.map(str::to_owned) }, to);
        }
        self.reading = Reading::Over;
    }
}

impl Observed {
    fn tell(&mut self, conn: ConnId, at: Time, what: TapEvent, to: &mut Sink<'_>) {
        self.pipeline.take(TapCopy { conn, at, what }, to.catalog, to.out);
    }

    /// A connection of which this is the first that is seen.
    fn open(
        &mut self,
        at: Time,
        ends: &[SocketAddr; 2],
        client: Option<usize>,
        whole: bool,
        first: &Piece<'_>,
        to: &mut Sink<'_>,
    ) -> Reading {
        let bytes = if let Piece::Bytes(bytes) = first { *bytes } else { &[] };
        let tls = is_tls(bytes);
        let begun = !tls && !whole && asking(bytes, 0).is_none();
        let sideless = begun && client.is_none();
        let readable = !tls && !sideless;
        self.counts.tls += u64::from(tls);
        self.counts.begun += u64::from(begun);
        self.counts.sideless += u64::from(sideless);
        if !readable && self.counts.tls + self.counts.sideless > LISTED {
            self.counts.unlisted += 1;
            return Reading::Over;
        }
        self.opened += 1;
        let conn = ConnId(self.opened);
        let client = client.unwrap_or(0);
        let (peer, server) = (ends[client.min(1)].to_string(), ends[1 - client.min(1)].to_string());
        self.tell(conn, at, TapEvent::Opened { peer, server }, to);
        if !readable {
            let why = if tls { "TLS" } else { "begun before the capture" };
            self.pipeline.opaque(conn, at, why, to.catalog, to.out);
        } else if begun {
            self.pipeline.midway(conn);
        }
        Reading::As(conn)
    }
}
