//! Notes the first bytes that a server sends, while HTTP/2 reads them.
//!
//! The HTTP/2 library reports only that the handshake failed, not what the server sent instead.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use crate::net::lock;

/// Bytes of a frame header (RFC 9113, "Frame Format"), which every HTTP/2 frame has.
const HEADER_BYTES: usize = 9;

/// Bytes that are shown of an answer that is not HTTP/2.
const MAX_SHOWN_BYTES: usize = 64;

const SETTINGS: u8 = 4;
const ACK: u8 = 1;

/// The default SETTINGS_MAX_FRAME_SIZE, which binds a peer until it has received other settings.
const MAX_FRAME_BYTES: u32 = 16 << 10;

/// Answer of a server that is not HTTP/2 SETTINGS.
#[derive(Debug)]
pub(super) enum NotHttp2 {
    /// The first line of an HTTP/1 response.
    Http1(String),
    /// A TLS record.
    Tls,
    /// The first bytes of anything else.
    Other(Vec<u8>),
    /// The end of the connection.
    Closed,
    Broken(io::Error),
    /// Nothing within this time.
    Silent(Duration),
}

/// A connection whose first bytes are noted.
pub(super) struct Sniffed<IO> {
    io: IO,
    first: Arc<FirstBytes>,
    /// The first bytes have been classified.
    known: bool,
}

/// The first bytes of a connection, shared with the task that waits for them.
#[derive(Default)]
pub(super) struct FirstBytes {
    received: Mutex<ReceivedBytes>,
    changed: Notify,
    /// Bytes received so far.
    bytes: AtomicU64,
}

/// The first bytes, and the end of the connection if that came early.
#[derive(Default)]
struct ReceivedBytes {
    bytes: Vec<u8>,
    end: Option<io::Result<()>>,
}

impl<IO> Sniffed<IO> {
    pub(super) fn new(io: IO) -> (Sniffed<IO>, Arc<FirstBytes>) {
        let first = Arc::new(FirstBytes::default());
        (Sniffed { io, first: first.clone(), known: false }, first)
    }
}

impl FirstBytes {
    /// Waits until the server has shown that it speaks HTTP/2, while another task reads.
    pub(super) async fn wait_for_http2(&self, timeout: Duration) -> Result<(), NotHttp2> {
        let verdict = async {
            loop {
                let changed = self.changed.notified();
                if let Some(verdict) = self.verdict() {
                    return verdict;
                }
                changed.await;
            }
        };
        tokio::time::timeout(timeout, verdict).await.unwrap_or(Err(NotHttp2::Silent(timeout)))
    }

    /// Returns the number of bytes received so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn received(&self) -> MutexGuard<'_, ReceivedBytes> {
        lock(&self.received)
    }

    fn verdict(&self) -> Option<Result<(), NotHttp2>> {
        let mut received = self.received();
        if let Some(Err(error)) = &mut received.end {
            let error = std::mem::replace(error, io::ErrorKind::ConnectionAborted.into());
            return Some(Err(NotHttp2::Broken(error)));
        }
        classify(&received.bytes, received.end.is_some())
    }
}

/// Classifies the first bytes; `None`: there are too few.
fn classify(bytes: &[u8], ended: bool) -> Option<Result<(), NotHttp2>> {
    // A TLS alert is shorter than a frame header.
    if bytes.starts_with(&[0x15, 3]) {
        return Some(Err(NotHttp2::Tls));
    }
    let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
        return ended
            .then(|| Err(if bytes.is_empty() { NotHttp2::Closed } else { NotHttp2::Other(bytes.to_vec()) }));
    };
    if bytes.starts_with(b"HTTP/") {
        let text = String::from_utf8_lossy(bytes);
        return Some(Err(NotHttp2::Http1(text.lines().next().unwrap_or_default().to_owned())));
    }
    let [a, b, c, kind, flags, stream @ ..] = *head;
    let length = u32::from_be_bytes([0, a, b, c]);
    let settings = kind == SETTINGS && flags & ACK == 0 && stream == [0; 4] && length <= MAX_FRAME_BYTES;
    Some(if settings { Ok(()) } else { Err(NotHttp2::Other(bytes.to_vec())) })
}

impl<IO: AsyncRead + Unpin> AsyncRead for Sniffed<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = ready!(Pin::new(&mut self.io).poll_read(cx, buf));
        let new = buf.filled().get(before..).unwrap_or_default();
        self.first.bytes.fetch_add(new.len() as u64, Ordering::Relaxed);
        if self.known {
            return Poll::Ready(result);
        }
        let mut received = self.first.received();
        let room = MAX_SHOWN_BYTES.saturating_sub(received.bytes.len()).min(new.len());
        received.bytes.extend_from_slice(new.get(..room).unwrap_or_default());
        let result = match result {
            Ok(()) if new.is_empty() => {
                received.end = Some(Ok(()));
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(error) => {
                let again = io::Error::new(error.kind(), error.to_string());
                received.end = Some(Err(error));
                Err(again)
            }
        };
        let known = received.end.is_some() || received.bytes.len() >= HEADER_BYTES;
        drop(received);
        self.known = known;
        self.first.changed.notify_waiters();
        Poll::Ready(result)
    }
}

impl<IO: AsyncRead + Unpin> Sniffed<IO> {
    /// A write error ends the connection before the bytes that the server sent last are read.
    fn failed(&mut self, error: &io::Error, cx: &mut Context<'_>) {
        if self.known {
            return;
        }
        let mut last = [0; MAX_SHOWN_BYTES];
        let read = Pin::new(&mut *self).poll_read(cx, &mut ReadBuf::new(&mut last));
        if read.is_pending() {
            self.first.received().end = Some(Err(io::Error::new(error.kind(), error.to_string())));
            self.known = true;
            self.first.changed.notify_waiters();
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Sniffed<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, bytes));
        if let Err(error) = &written {
            self.failed(error, cx);
        }
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.io).poll_flush(cx));
        if let Err(error) = &flushed {
            self.failed(error, cx);
        }
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_the_first_bytes() {
        let http2 = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        assert!(matches!(classify(&http2, false), Some(Ok(()))));
        assert!(classify(http2.get(..8).unwrap_or_default(), false).is_none());
        assert!(matches!(classify(b"HTTP/1.1 400 Bad Request\r\n", false),
            Some(Err(NotHttp2::Http1(line))) if line == "HTTP/1.1 400 Bad Request"));
        assert!(matches!(classify(&[0x15, 3, 1, 0, 2, 2, 22], false), Some(Err(NotHttp2::Tls))));
        assert!(matches!(classify(b"SSH-2.0-x\r\n", false), Some(Err(NotHttp2::Other(_)))));
        assert!(matches!(classify(b"no", true), Some(Err(NotHttp2::Other(_)))));
        assert!(matches!(classify(b"", true), Some(Err(NotHttp2::Closed))));
        assert!(classify(b"", false).is_none());
        // A SETTINGS acknowledgement of nothing, and SETTINGS of 16 MB.
        assert!(matches!(classify(&[0, 0, 0, 4, 1, 0, 0, 0, 0], false), Some(Err(_))));
        assert!(matches!(classify(&[255, 0, 0, 4, 0, 0, 0, 0, 0], false), Some(Err(_))));
    }
}
