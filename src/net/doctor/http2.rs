//! The HTTP/2 handshake, by hand.
//!
//! A library reports only that the handshake failed, not what the server sent instead.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Answer of a server to the HTTP/2 preface.
#[derive(Debug)]
pub(super) enum PrefaceAnswer {
    /// HTTP/2, with the round-trip times of PINGs, shortest first.
    Http2(Vec<Duration>),
    /// The first line of an HTTP/1 response.
    Http1(String),
    /// A TLS record.
    Tls,
    /// The first bytes of anything else.
    Other(Vec<u8>),
    Closed,
    Broken(io::Error),
    Silent,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of a frame header: length, type, flags, stream (RFC 9113, "Frame Format").
const HEADER_BYTES: usize = 9;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;

/// The default SETTINGS_MAX_FRAME_SIZE, which binds a peer until it has received other settings.
const MAX_FRAME_BYTES: usize = 16 << 10;

/// gRPC servers in Go close a connection without streams at the third PING.
const PING_COUNT: u8 = 2;

/// Sends the HTTP/2 preface and PINGs, and reads the answer for at most `timeout`.
pub(super) async fn greet<IO: AsyncRead + AsyncWrite + Unpin>(
    io: &mut IO,
    timeout: Duration,
) -> PrefaceAnswer {
    match tokio::time::timeout(timeout, talk(io)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => PrefaceAnswer::Closed,
        Ok(Err(error)) => PrefaceAnswer::Broken(error),
        Err(_) => PrefaceAnswer::Silent,
    }
}

async fn talk<IO: AsyncRead + AsyncWrite + Unpin>(io: &mut IO) -> io::Result<PrefaceAnswer> {
    let hello = [PREFACE, &frame(SETTINGS, 0, &[])].concat();
    // A server that has closed the connection may have sent a reason, which is read below.
    if io.write_all(&hello).await.is_ok() {
        let _ = io.flush().await;
    }
    let mut head = [0; HEADER_BYTES];
    let mut have = 0;
    while let Some(room) = head.get_mut(have..).filter(|room| !room.is_empty()) {
        match io.read(room).await? {
            0 => break,
            more => have += more,
        }
        // No HTTP/2 frame is shorter than its header, but a TLS alert is.
        if head.starts_with(&[0x15, 3]) {
            return Ok(PrefaceAnswer::Tls);
        }
    }
    let received = head.get(..have).unwrap_or_default();
    if received.is_empty() {
        return Ok(PrefaceAnswer::Closed);
    }
    if received.starts_with(b"HTTP/") {
        return Ok(PrefaceAnswer::Http1(line(received, io).await));
    }
    match parse(head) {
        Some(FrameHeader { kind: SETTINGS, flags, length }) if have == HEADER_BYTES && flags & ACK == 0 => {
            skip(io, length).await?;
        }
        _ => return Ok(PrefaceAnswer::Other(received.to_vec())),
    }
    io.write_all(&frame(SETTINGS, ACK, &[])).await?;
    let mut trips = Vec::new();
    for n in 0..PING_COUNT {
        let begun = Instant::now();
        io.write_all(&frame(PING, 0, &[n; 8])).await?;
        io.flush().await?;
        loop {
            let mut head = [0; HEADER_BYTES];
            io.read_exact(&mut head).await?;
            let Some(FrameHeader { kind, flags, length }) = parse(head) else {
                return Ok(PrefaceAnswer::Other(head.to_vec()));
            };
            skip(io, length).await?;
            if kind == PING && flags & ACK != 0 {
                break;
            }
        }
        trips.push(begun.elapsed());
    }
    trips.sort_unstable();
    Ok(PrefaceAnswer::Http2(trips))
}

fn frame(kind: u8, flags: u8, content: &[u8]) -> Vec<u8> {
    // All frames sent here are shorter than 256 bytes.
    let length = u8::try_from(content.len()).unwrap_or_default();
    let mut out = vec![0, 0, length, kind, flags, 0, 0, 0, 0];
    out.extend(content);
    out
}

/// The fields of a frame header that the handshake needs.
struct FrameHeader {
    kind: u8,
    flags: u8,
    /// Length of the payload, in bytes.
    length: usize,
}

/// Parses the header of a frame; `None` for a frame over the size limit.
fn parse([a, b, c, kind, flags, ..]: [u8; HEADER_BYTES]) -> Option<FrameHeader> {
    let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
    (length <= MAX_FRAME_BYTES).then_some(FrameHeader { kind, flags, length })
}

async fn skip<IO: AsyncRead + Unpin>(io: &mut IO, length: usize) -> io::Result<()> {
    io.read_exact(&mut vec![0; length]).await.map(|_| ())
}

/// Reads the first line, which starts with `received`.
async fn line<IO: AsyncRead + Unpin>(received: &[u8], io: &mut IO) -> String {
    let mut rest = [0; 128];
    let more = io.read(&mut rest).await.unwrap_or_default();
    let all = [received, rest.get(..more).unwrap_or_default()].concat();
    String::from_utf8_lossy(&all).lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answers(bytes: &'static [u8]) -> PrefaceAnswer {
        let (mut ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(bytes).await.unwrap();
        theirs.shutdown().await.unwrap();
        greet(&mut ours, Duration::from_secs(5)).await
    }

    #[tokio::test]
    async fn tells_other_protocols_from_http2() {
        assert!(matches!(answers(b"HTTP/1.1 400 Bad Request\r\n\r\n").await,
            PrefaceAnswer::Http1(line) if line == "HTTP/1.1 400 Bad Request"));
        assert!(matches!(answers(&[0x15, 3, 1, 0, 2, 2, 22]).await, PrefaceAnswer::Tls));
        assert!(matches!(answers(b"").await, PrefaceAnswer::Closed));
        assert!(matches!(answers(b"SSH-2.0-x\r\n").await, PrefaceAnswer::Other(_)));
        assert!(matches!(answers(&[0xff; 40]).await, PrefaceAnswer::Other(_)));
        // SETTINGS, then the end of the connection.
        assert!(matches!(answers(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await, PrefaceAnswer::Closed));
    }
}
