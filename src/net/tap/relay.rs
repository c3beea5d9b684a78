use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};

use super::EventReporter;
use super::added_delay::is_measured;
use super::armed;
use super::context::RelayContext;
use super::early::EarlyBytes;
use super::lane::Lane;
use super::secure::{self, Handshakes, Legs};
use crate::net::tls;
use crate::net::transport::Accepted;
use crate::net::transport::ClientProtocol;
use crate::net::transport::Leg;
use crate::net::transport::answer;
use xdscope_sources::observe::{ConnId, ConnectStep, TapEvent};
use xdscope_wire::Secured;
use xdscope_wire::event::{Dir, Side};
use xdscope_wire::h2::{HeaderSplicer, SpliceError};

/// Relays between a client and its upstream until either is gone.
///
/// Rare or short parts are boxed: the task of each of thousands of connections has room for all
/// others.
pub(super) async fn relay(Accepted { conn, client, peer, server: upstream }: Accepted, shared: RelayContext) {
    shared.reporter.report(conn, TapEvent::Opened { peer, server: upstream.to_string() });
    let handshakes = Handshakes { conn, upstream: &upstream, shared: &shared };
    let Some(Legs { client, server, server_tls }) = Box::pin(handshakes.legs(client)).await else { return };
    let (client_read, client_write) = tokio::io::split(client);
    let (server_read, server_write) = tokio::io::split(server);
    let phase = SharedPhase::new(if server_tls.is_some() { RelayPhase::Secured } else { RelayPhase::Quiet });
    let early = Arc::new(EarlyBytes::new(shared.early.clone()));
    let pump = |from, to, dir| Pump {
        from,
        to,
        dir,
        conn,
        shared: shared.clone(),
        phase: phase.clone(),
        early: early.clone(),
        http1_line: None,
        headers: None,
        lane: Lane::new(conn, dir),
        chunks: 0,
    };
    let armed = shared.armed.clone().filter(|armed| armed.is_active());
    let changes = if armed.is_none() { shared.changes.clone() } else { None };
    let headers = changes.map(|changes| Box::new(HeaderSplicer::new(changes)));
    let mut requests = Pump { headers, ..pump(client_read, server_write, Dir::Req) };
    let mut responses = pump(server_read, client_write, Dir::Resp);
    let result = match &armed {
        Some(armed) => Box::pin(armed::run(&mut requests, &mut responses, armed)).await,
        None => pass(&mut requests, &mut responses).await,
    };
    if matches!(result, Ok(true)) {
        // A tap that stops says nothing of its open streams.
        return;
    }
    // A connection that broke on one side is reset on the other.
    let (by, error) = match result {
        Ok(_) => (None, None),
        Err((side, error)) => (Some(side), Some(error)),
    };
    let http1_line = responses.http1_line.take();
    let last_phase = phase.get();
    let unanswered = by == Some(Side::Server) && last_phase.owes_answer();
    let early = unanswered.then(|| early.take());
    let unchanged = error.as_ref().is_some_and(is_unchanged);
    let words = error.map(|error| match server_tls.as_deref().and_then(|seen| tls::broken(&error, seen)) {
        Some(words) => words,
        None if unchanged => format!("{error}; {}", secure::PASSES_UNCHANGED),
        None if last_phase == RelayPhase::Hello => {
            format!("{error}: the client spoke TLS, and the server may not")
        }
        None if unanswered => unanswered_error(&error, server_tls.as_deref()),
        None => error.to_string(),
    });
    let client = requests.from.unsplit(responses.to);
    let server = responses.from.unsplit(requests.to);
    if by.is_some() {
        server.reset();
    }
    drop(server);
    shared.reporter.report(
        conn,
        match &words {
            _ if http1_line.is_some() => {
                let error = http1_line.map(|line| format!("the server answered in HTTP/1: `{line}`"));
                TapEvent::Closed { by: Some(Side::Server), error }
            }
            Some(why) if unchanged => TapEvent::Failed { step: ConnectStep::Headers, error: why.clone() },
            _ => TapEvent::Closed { by, error: words.clone() },
        },
    );
    match (early, words) {
        (Some(_), Some(_)) if last_phase == RelayPhase::Hello => Box::pin(answer::alert(client)).await,
        (Some(early), Some(words)) => {
            let client = Leg::Again(early.into(), Box::new(client));
            Box::pin(answer::refuse(client, &format!("xdscope tap: {upstream}: {words}"))).await;
        }
        (_, Some(_)) => client.reset(),
        _ => {}
    }
}

/// Runs both directions of a connection that is not armed.
///
/// Returns whether a person has closed the connection. That end is reported already.
async fn pass(requests: &mut Pump, responses: &mut Pump) -> Result<bool, (Side, io::Error)> {
    let (shared, conn) = (requests.shared.clone(), requests.conn);
    let both = async { tokio::try_join!(requests.run(), responses.run()) };
    let Some(idle) = &shared.armed else { return both.await.map(|_| false) };
    match Box::pin(idle.pass(both)).await {
        Some(result) => result.map(|_| false),
        None => {
            let error = Some(CLOSED_BY_HAND.to_owned());
            shared.reporter.report(conn, TapEvent::Closed { by: None, error });
            Ok(true)
        }
    }
}

/// The end of a connection that a person has closed.
const CLOSED_BY_HAND: &str = "closed by hand in xdscope: the client is to connect again";

/// Returns whether the error says that headers cannot be changed.
fn is_unchanged(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<SpliceError>())
}

/// Explains a server that sent nothing, or something other than HTTP/2. A guess at times.
fn unanswered_error(error: &io::Error, seen: Option<&Secured>) -> String {
    let silent = format!("the server closed the connection without an answer ({error})");
    match seen {
        None if error.kind() == io::ErrorKind::InvalidData => {
            format!("{error}; --cacert FILE, or --insecure")
        }
        None => format!("{silent}; if it requires TLS: --cacert FILE or --insecure"),
        Some(seen) if seen.is_client_certificate_requested && seen.client.is_none() => {
            format!(
                "client certificate required? The server requested one and none was sent; {silent}; --cert FILE --key FILE"
            )
        }
        Some(seen) if seen.is_client_certificate_requested => {
            format!("{silent}; it may reject the tap's certificate")
        }
        Some(_) => silent,
    }
}

/// Bytes of a response in HTTP/1 that are quoted.
const MAX_LINE_BYTES: usize = 64;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum RelayPhase {
    /// No side has sent anything.
    Quiet,
    /// No side has sent anything, and the upstream has agreed on TLS: it owes the first answer.
    Secured,
    /// A client whose own TLS passes unread waits for the first byte of an answer.
    Hello,
    /// An HTTP/2 client waits for the first byte of an answer.
    ClientHello,
    /// The server has sent plaintext, such as its HTTP/2 settings, before the client sent anything.
    Greeted,
    /// Bytes go both ways, or the client speaks another protocol.
    Talking,
}

impl RelayPhase {
    /// Returns whether the upstream owes an answer.
    fn owes_answer(self) -> bool {
        matches!(self, RelayPhase::Secured | RelayPhase::Hello | RelayPhase::ClientHello)
    }
}

/// The phase, shared by the two directions of a connection.
#[derive(Clone)]
struct SharedPhase(Arc<AtomicU8>);

impl SharedPhase {
    fn new(phase: RelayPhase) -> SharedPhase {
        SharedPhase(Arc::new(AtomicU8::new(phase as u8)))
    }

    fn get(&self) -> RelayPhase {
        const ALL: [RelayPhase; 5] = [
            RelayPhase::Quiet,
            RelayPhase::Secured,
            RelayPhase::Hello,
            RelayPhase::ClientHello,
            RelayPhase::Greeted,
        ];
        let phase = usize::from(self.0.load(Ordering::Relaxed));
        ALL.get(phase).copied().unwrap_or(RelayPhase::Talking)
    }

    fn set(&self, phase: RelayPhase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }
}

/// One direction of a connection.
pub(super) struct Pump {
    pub(super) from: ReadHalf<Leg>,
    pub(super) to: WriteHalf<Leg>,
    pub(super) dir: Dir,
    pub(super) conn: ConnId,
    pub(super) shared: RelayContext,
    /// The phase of the connection, shared by both directions.
    phase: SharedPhase,
    /// The requests so far, until there is an answer.
    early: Arc<EarlyBytes>,
    /// The first line of a response in HTTP/1 to a client that speaks HTTP/2.
    http1_line: Option<String>,
    /// Changes the headers of requests.
    headers: Option<Box<HeaderSplicer>>,
    lane: Lane,
    /// Number of chunks that were sent on.
    chunks: u32,
}

impl Pump {
    /// Runs until this direction ends. An error names the side whose connection broke.
    async fn run(&mut self) -> Result<(), (Side, io::Error)> {
        let (reading, writing) = (self.dir.sender(), self.dir.opposite().sender());
        loop {
            let bytes = read(&mut self.from, &self.shared).await.map_err(|error| (reading, error))?;
            self.arrived(&bytes)?;
            if bytes.is_empty() {
                break;
            }
            let Some(headers) = &mut self.headers else {
                self.pass(bytes).await.map_err(|error| (writing, error))?;
                continue;
            };
            let parts = headers.push(bytes);
            for part in parts.map_err(|error| (reading, io::Error::new(io::ErrorKind::InvalidData, error)))? {
                self.pass(part).await.map_err(|error| (writing, error))?;
            }
        }
        self.to.shutdown().await.map_err(|error| (writing, error))?;
        self.shared.reporter.report(self.conn, TapEvent::Finished { dir: self.dir });
        Ok(())
    }

    /// Sends bytes on, then counts them and queues a copy.
    async fn pass(&mut self, bytes: Bytes) -> io::Result<()> {
        let EventReporter { copies, counters } = &self.shared.reporter;
        let at = copies.as_ref().map(|copies| copies.now());
        self.to.write_all(&bytes).await?;
        // TLS may hold back some bytes.
        self.to.flush().await?;
        let counter = if self.dir == Dir::Req { &counters.bytes_in } else { &counters.bytes_out };
        counter.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some((copies, at)) = copies.as_ref().zip(at) {
            if is_measured(self.chunks) {
                counters.added_delay.record(copies.now().since(at));
            }
            self.chunks = self.chunks.wrapping_add(1);
            copies.push_bytes(&mut self.lane, at, bytes);
        }
        Ok(())
    }

    /// Notes bytes that were read.
    ///
    /// An error names the side that cannot go on.
    pub(super) fn arrived(&mut self, bytes: &[u8]) -> Result<(), (Side, io::Error)> {
        if self.phase.get() != RelayPhase::Talking {
            return self.begin(bytes);
        }
        Ok(())
    }

    /// Counts bytes of an armed tap and queues a copy.
    pub(super) fn copy(&mut self, bytes: Bytes) {
        let EventReporter { copies, counters } = &self.shared.reporter;
        let counter = if self.dir == Dir::Req { &counters.bytes_in } else { &counters.bytes_out };
        counter.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some(copies) = copies
            && !bytes.is_empty()
        {
            copies.push_bytes(&mut self.lane, copies.now(), bytes);
        }
    }

    /// Looks at the first bytes of both sides, only to tell whether the client can get an answer.
    ///
    /// An error names the side that cannot go on.
    fn begin(&mut self, bytes: &[u8]) -> Result<(), (Side, io::Error)> {
        let phase = self.phase.get();
        let broken =
            |error: &'static str| Err((Side::Server, io::Error::new(io::ErrorKind::InvalidData, error)));
        match self.dir {
            Dir::Req => {
                let goes_on = !bytes.is_empty() && self.early.add(bytes);
                let next = match (self.early.with(answer::client_protocol), phase) {
                    (ClientProtocol::Tls, _) if goes_on => RelayPhase::Hello,
                    (
                        ClientProtocol::Http2,
                        RelayPhase::Quiet | RelayPhase::Secured | RelayPhase::ClientHello,
                    ) if goes_on => RelayPhase::ClientHello,
                    _ => RelayPhase::Talking,
                };
                self.phase.set(next);
                if (phase, next) == (RelayPhase::Greeted, RelayPhase::Hello) {
                    return broken(PLAINTEXT_ANSWER);
                }
            }
            Dir::Resp if phase.owes_answer() && bytes.is_empty() => {
                let error = io::Error::new(io::ErrorKind::UnexpectedEof, "end of stream");
                return Err((Side::Server, error));
            }
            Dir::Resp if phase == RelayPhase::Hello && !is_tls(bytes) => return broken(PLAINTEXT_ANSWER),
            Dir::Resp if phase == RelayPhase::ClientHello && bytes.starts_with(b"HTTP/1.") => {
                let line = bytes.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or_default();
                let line = line.get(..MAX_LINE_BYTES).unwrap_or(line);
                self.http1_line = Some(String::from_utf8_lossy(line).into_owned());
                // The client ends the connection because of this answer.
                self.shared.reporter.report(self.conn, TapEvent::Finished { dir: self.dir });
                self.phase.set(RelayPhase::Talking);
            }
            Dir::Resp if phase == RelayPhase::ClientHello && bytes.starts_with(&TLS_ALERT) => {
                return broken("the server requires TLS: it answered plaintext with a TLS alert");
            }
            Dir::Resp if matches!(phase, RelayPhase::Quiet | RelayPhase::Greeted) && !is_tls(bytes) => {
                self.phase.set(if bytes.is_empty() { RelayPhase::Talking } else { RelayPhase::Greeted });
            }
            Dir::Resp => self.phase.set(RelayPhase::Talking),
        }
        if !self.phase.get().owes_answer() {
            self.early.take();
        }
        Ok(())
    }
}

/// Reads the next bytes; none at the end.
pub(super) async fn read(from: &mut ReadHalf<Leg>, shared: &RelayContext) -> io::Result<Bytes> {
    std::future::poll_fn(|cx| {
        let (read, bytes) = shared.buffers.fill(|buffer| pin!(from.read_buf(buffer)).poll(cx));
        read.map_ok(|_| bytes)
    })
    .await
}

/// The error of a server that sends plaintext to a client that speaks TLS.
const PLAINTEXT_ANSWER: &str = "the server answered TLS in plaintext";

/// Whether bytes begin like a TLS record.
fn is_tls(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|byte| TLS_RECORDS.contains(byte))
}

/// The first bytes of TLS records.
const TLS_RECORDS: std::ops::RangeInclusive<u8> = 20..=23;

/// The first bytes of a TLS alert.
const TLS_ALERT: [u8; 2] = [21, 3];
