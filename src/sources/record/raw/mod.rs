//! Raw JSONL, the interchange format: one JSON object per line, in order of time.
//!
//! | `dir` | keys |
//! |---|---|
//! | `open` | `t stream method`, optional `metadata peer server node_hint` |
//! | `c2s`, `s2c` | `t stream method raw`, optional `http_status`, `body` |
//! | `status` | `t stream code message` |
//! | `close` | `t stream`, optional `by reset` |
//! | `gap` | `t stream messages bytes` |
//!
//! Three keys are extensions that other tools ignore: `partial` on an `open` that only names the
//! node, `opaque` (`c2s`, `s2c`) on a `gap` that counts traffic of a stream that is not xDS, and
//! `note` on a `close`.

mod held;
mod lengths;
mod line_error;
mod reader;
mod session;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::{LineReader, Options, read, read_with, start};
pub use writer::Writer;

use serde_json::Value;

use xdscope_schema::base64;

/// Conversion of protobuf JSON, for nodes and the bodies of REST polls.
pub trait JsonCodec {
    /// Encodes JSON as the message of this full name; `None` if the JSON does not fit.
    fn encode(&self, message: &str, json: &Value) -> Option<Vec<u8>>;
    /// Decodes a message to protobuf JSON.
    fn decode(&self, message: &str, bytes: &[u8]) -> Option<Value>;
}

/// The full name of the `node_hint` message.
const NODE: &str = "envoy.config.core.v3.Node";
