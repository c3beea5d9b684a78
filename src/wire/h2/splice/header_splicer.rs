use std::sync::Arc;

use bytes::Bytes;

use super::super::Changes;
use super::{SpliceError, Splicer};
use crate::event::Dir;

/// Changes the headers of requests on a connection that is not armed.
///
/// Reads the direction from client to server only. Each header block is encoded again: later
/// ones may refer to earlier ones, which the server has not seen. All other frames pass as they
/// arrive, also those that no peer accepts. No frame waits for another one or for window, and
/// only an incomplete header block is kept.
pub struct HeaderSplicer(Splicer);

impl HeaderSplicer {
    /// Creates the state of a new connection.
    pub fn new(changes: Arc<Changes>) -> HeaderSplicer {
        HeaderSplicer(Splicer { only_headers: true, ..Splicer::new(Some(changes), 0) })
    }

    /// Reads the next bytes of the client and returns the bytes to send, in order.
    ///
    /// # Errors
    ///
    /// If the headers cannot be changed. Nothing that follows can be sent then.
    pub fn push(&mut self, bytes: Bytes) -> Result<Vec<Bytes>, SpliceError> {
        self.0.push(Dir::Req, bytes);
        while self.0.next_event(Dir::Req)?.is_some() {}
        Ok(self.0.take_output(Dir::Req))
    }
}

#[cfg(test)]
mod tests;
