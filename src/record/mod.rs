//! Recordings and the raw interchange form: reading and writing over std `Read` and `Write`.

use crate::content::Catalog;
use crate::event::{Clock, Time};
use crate::wire::Frame;

/// A source read from a file, whichever format it had.
pub struct Loaded {
    pub catalog: Catalog,
    pub clock: Clock,
    /// In recorded order.
    pub frames: Vec<Frame>,
    /// Where the source's clock stops (its last line, even without a frame).
    pub end: Time,
    /// What a person must know: damage, a truncated tail, lines skipped.
    pub notices: Vec<String>,
}
