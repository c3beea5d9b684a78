use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// A thread, and a channel that closes when the thread ends.
pub(in crate::app) struct RunningThread {
    thread: JoinHandle<()>,
    ended: Receiver<()>,
}

impl RunningThread {
    pub(in crate::app) fn start(
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<RunningThread> {
        let (alive, ended) = channel();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            work();
            drop::<Sender<()>>(alive);
        })?;
        Ok(RunningThread { thread, ended })
    }

    /// Waits for the end until `deadline`. Returns whether the thread has ended.
    pub(in crate::app) fn wait(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        self.ended.recv_timeout(left) == Err(RecvTimeoutError::Disconnected)
    }

    /// Says that the thread panicked, if it did.
    pub(in crate::app) fn report(self, what: &str) {
        if self.thread.is_finished() && self.thread.join().is_err() {
            tracing::error!("{what}");
        }
    }
}
