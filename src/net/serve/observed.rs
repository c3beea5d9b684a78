use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::event::Dir;
use crate::net::tap::{ConnId, Leg, Watch};

/// A client's leg, whose bytes are copied as they pass.
pub(super) struct Observed {
    pub leg: Leg,
    pub conn: ConnId,
    pub watch: Watch,
}

impl AsyncRead for Observed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.leg).poll_read(cx, buf))?;
        let new = buf.filled().get(before..).unwrap_or_default();
        self.watch.passed(self.conn, Dir::Req, &[new]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Observed {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.leg).poll_write(cx, bytes))?;
        let new = bytes.get(..written).unwrap_or_default();
        self.watch.passed(self.conn, Dir::Resp, &[new]);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.leg).poll_write_vectored(cx, slices))?;
        let mut left = written;
        let new = slices.iter().map(|slice| {
            let now = slice.len().min(left);
            left -= now;
            slice.get(..now).unwrap_or_default()
        });
        let new: Vec<&[u8]> = new.collect();
        self.watch.passed(self.conn, Dir::Resp, &new);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.leg.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.leg).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.leg).poll_shutdown(cx)
    }
}
