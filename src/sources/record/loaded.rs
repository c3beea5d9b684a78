use xdscope_wire::Frame;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Time};

/// The content of a source that was read from a file of any format.
pub struct Loaded {
    /// The content that the frames refer to.
    pub catalog: Catalog,
    /// The meaning of the times: dates, or offsets from the start.
    pub clock: Clock,
    /// All frames, in recorded order.
    pub frames: Vec<Frame>,
    /// The time at which the source ends, which may be later than the last frame.
    pub end: Time,
    /// Messages to the user: damage, a truncated end, skipped lines.
    pub notices: Vec<String>,
    /// Whether the recording was made with `--keep-secrets`.
    pub secrets: bool,
}
