use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_rustls::TlsStream;

use super::Address;
use xdscope_sources::observe::ConnectStep;

/// Bytes to read at once of what a client sends first.
const FIRST_READ_BYTES: usize = 16 << 10;

/// One end of a tapped connection.
pub(in crate::net) enum Leg {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<Leg>>),
    /// A leg whose first bytes were read already, and are read again.
    Again(Bytes, Box<Leg>),
}

impl Leg {
    /// Connects to an upstream. The error names the step that failed.
    pub(in crate::net) async fn connect(
        to: &Address,
        timeout: Duration,
    ) -> Result<Leg, (ConnectStep, io::Error)> {
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {timeout:?}"));
        match to {
            Address::Unix(path) => {
                UnixStream::connect(path).await.map(Leg::Unix).map_err(|error| (ConnectStep::Connect, error))
            }
            Address::Pod(forward) => {
                let failed = |error| (ConnectStep::Connect, error);
                let local = forward.local().await.map_err(|failure| failed(io::Error::other(failure)))?;
                TcpStream::connect(local).await.map(Leg::Tcp).map_err(failed)
            }
            Address::Tcp(name) => {
                let found = tokio::time::timeout(timeout, tokio::net::lookup_host(name)).await;
                let found = found
                    .map_err(late)
                    .and_then(|found| found)
                    .map_err(|error| (ConnectStep::Resolve, error))?;
                let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                for address in found {
                    match tokio::time::timeout(timeout, TcpStream::connect(address)).await.map_err(late) {
                        Ok(Ok(stream)) => {
                            stream.set_nodelay(true).map_err(|error| (ConnectStep::Connect, error))?;
                            return Ok(Leg::Tcp(stream));
                        }
                        Ok(Err(error)) | Err(error) => failed = error,
                    }
                }
                Err((ConnectStep::Connect, failed))
            }
        }
    }

    /// Waits for the first bytes and returns them with a leg that reads them again.
    ///
    /// Nothing may have been written yet. `None`: the peer closed the connection without sending
    /// any.
    pub(in crate::net) async fn first(mut self) -> io::Result<Option<(Bytes, Leg)>> {
        // A buffer of its own would stay with each connection until its handshakes are over.
        let first = poll_fn(|cx| {
            let mut room = [const { MaybeUninit::uninit() }; FIRST_READ_BYTES];
            let mut read = ReadBuf::uninit(&mut room);
            ready!(Pin::new(&mut self).poll_read(cx, &mut read))?;
            Poll::Ready(io::Result::Ok(Bytes::copy_from_slice(read.filled())))
        })
        .await?;
        if first.is_empty() {
            return Ok(None);
        }
        Ok(Some((first.clone(), Leg::Again(first, Box::new(self)))))
    }

    /// Makes the coming close a reset, so that the peer sees that the connection broke.
    pub(in crate::net) fn reset(&self) {
        match self {
            Leg::Tcp(stream) => {
                // Fails only if the socket is dead already.
                let _ = stream.set_zero_linger();
            }
            Leg::Unix(_) => {}
            Leg::Tls(stream) => stream.get_ref().0.reset(),
            Leg::Again(_, leg) => leg.reset(),
        }
    }
}

impl Leg {
    /// Returns the stream to write to.
    fn writer(&mut self) -> &mut (dyn AsyncWrite + Send + Unpin) {
        match self {
            Leg::Tcp(stream) => stream,
            Leg::Unix(stream) => stream,
            Leg::Tls(stream) => &mut **stream,
            Leg::Again(_, leg) => leg.writer(),
        }
    }
}

impl AsyncRead for Leg {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Leg::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Leg::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            // Many peers close without a TLS close_notify. HTTP/2 has GOAWAY, so truncation is
            // noticed.
            Leg::Tls(stream) => match Pin::new(stream).poll_read(cx, buf) {
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Poll::Ready(Ok(()))
                }
                other => other,
            },
            Leg::Again(bytes, leg) => {
                if bytes.is_empty() {
                    return Pin::new(&mut **leg).poll_read(cx, buf);
                }
                let now = bytes.split_to(bytes.len().min(buf.remaining()));
                buf.put_slice(&now);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Leg {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(self.writer()).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.writer()).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Leg::Tcp(stream) => stream.is_write_vectored(),
            Leg::Unix(stream) => stream.is_write_vectored(),
            Leg::Tls(stream) => stream.is_write_vectored(),
            Leg::Again(_, leg) => leg.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.writer()).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.writer()).poll_shutdown(cx)
    }
}

/// A socket that clients connect to.
pub(in crate::net) enum Listener {
    Tcp(TcpListener),
    /// A unix socket; its file is removed on drop.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    pub(in crate::net) async fn bind(address: &Address) -> io::Result<Listener> {
        match address {
            Address::Tcp(name) => Ok(Listener::Tcp(TcpListener::bind(name).await?)),
            Address::Pod(_) => Err(io::Error::other("a port of a pod, which is not on this machine")),
            Address::Unix(path) => {
                // A socket file without a listener was left behind by a process that is gone.
                if path.exists()
                    && UnixStream::connect(path)
                        .await
                        .is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
                {
                    std::fs::remove_file(path)?;
                }
                Ok(Listener::Unix(UnixListener::bind(path)?, path.clone()))
            }
        }
    }

    pub(in crate::net) fn address(&self) -> Address {
        match self {
            Listener::Tcp(listener) => {
                Address::Tcp(listener.local_addr().map_or_else(|_| "?".into(), |address| address.to_string()))
            }
            Listener::Unix(_, path) => Address::Unix(path.clone()),
        }
    }

    /// Accepts a client. Returns its connection and address.
    pub(in crate::net) async fn accept(&self) -> io::Result<(Leg, String)> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok((Leg::Tcp(stream), peer.to_string()))
            }
            Listener::Unix(listener, path) => {
                let (stream, _) = listener.accept().await?;
                Ok((Leg::Unix(stream), format!("unix:{}", path.display())))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // The file may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_take_no_more_memory_than_they_have() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (mut client, own) = UnixStream::pair().expect("a pair of sockets");
            tokio::io::AsyncWriteExt::write_all(&mut client, b"hello").await.expect("a reader");
            let (first, leg) = Leg::Unix(own).first().await.expect("a read").expect("bytes");
            drop(leg);
            let buffer = first.try_into_mut().expect("no other owner");
            assert_eq!((&buffer[..], buffer.capacity()), (&b"hello"[..], 5));
        });
    }
}
