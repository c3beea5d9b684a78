//! Frames on streams that the client never opened, which are counted for each connection.

use super::ConnectionContext;
use xdscope_wire::event::Dir;

/// The method of the stream that counts frames on streams that the client never opened.
const UNOPENED: &str = "frames on HTTP/2 streams that the client never opened";

impl ConnectionContext<'_> {
    /// Counts a part of a frame on a stream that the client never opened.
    pub(super) fn unopened(&mut self, dir: Dir, bytes: &[u8], is_last: bool) {
        let id = match self.connection.unopened {
            Some(id) => id,
            None => {
                let open = self.connection.open(UNOPENED.to_owned(), Vec::new());
                *self.connection.unopened.insert(self.assembler.open(self.at, open, self.out))
            }
        };
        self.assembler.data(id, dir, bytes, self.catalog);
        if is_last {
            self.assembler.message(self.at, id, dir, self.catalog, self.out);
        }
    }
}
