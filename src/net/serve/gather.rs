use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};

/// Bytes to write with one system call. HTTP/2 frames have 16 KiB, and h2 flushes after each.
const GATHERED_BYTES: usize = 128 << 10;

/// A writer that gathers bytes until its owner has no more to write for now.
///
/// That moment is the next read: h2 reads before it writes, and a flush schedules a read at once.
pub(super) struct Gather<T> {
    leg: BufWriter<T>,
    /// A flush was requested.
    due: bool,
}

impl<T: AsyncWrite> Gather<T> {
    pub(super) fn new(leg: T) -> Gather<T> {
        Gather { leg: BufWriter::with_capacity(GATHERED_BYTES, leg), due: false }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Gather<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.due
            && let Poll::Ready(flushed) = Pin::new(&mut self.leg).poll_flush(cx)
        {
            flushed?;
            self.due = false;
        }
        Pin::new(&mut self.leg).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Gather<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.leg).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.leg).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.leg.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.due {
            return Poll::Ready(Ok(()));
        }
        // h2 flushes whenever it is polled: a wake with nothing to write would never end.
        if self.leg.buffer().is_empty() {
            return Pin::new(&mut self.leg).poll_flush(cx);
        }
        self.due = true;
        cx.waker().wake_by_ref();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.leg).poll_flush(cx))?;
        Pin::new(&mut self.leg).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    /// A writer that keeps each write. Reading returns nothing.
    #[derive(Default)]
    struct Calls(Vec<Vec<u8>>);

    impl AsyncRead for Calls {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Calls {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            self.0.push(buf.to_vec());
            Poll::Ready(Ok(buf.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn frame(gather: &mut Gather<Calls>, cx: &mut Context<'_>, bytes: &[u8]) {
        assert!(
            matches!(Pin::new(&mut *gather).poll_write(cx, bytes), Poll::Ready(Ok(n)) if n == bytes.len())
        );
        assert!(matches!(Pin::new(gather).poll_flush(cx), Poll::Ready(Ok(()))));
    }

    #[test]
    fn gathers_flushed_frames_and_loses_none() {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut cx = Context::from_waker(&waker);
        let mut gather = Gather::new(Calls::default());
        for frame_of in [b"one", b"two"] {
            frame(&mut gather, &mut cx, frame_of);
        }
        assert!(gather.leg.get_ref().0.is_empty());
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "whoever wrote is polled again");
        let mut room = [0; 8];
        assert!(Pin::new(&mut gather).poll_read(&mut cx, &mut ReadBuf::new(&mut room)).is_pending());
        assert_eq!(gather.leg.get_ref().0, [b"onetwo"]);
        assert!(matches!(Pin::new(&mut gather).poll_flush(&mut cx), Poll::Ready(Ok(()))));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "nothing to write");

        frame(&mut gather, &mut cx, b"last");
        assert_eq!(woken.0.load(Ordering::Relaxed), 2);
        assert!(matches!(Pin::new(&mut gather).poll_shutdown(&mut cx), Poll::Ready(Ok(()))));
        assert_eq!(gather.leg.get_ref().0, [&b"onetwo"[..], b"last"]);
    }
}
