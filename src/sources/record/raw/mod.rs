//! Raw JSONL, the interchange form: one JSON object a line, in order of time, without descriptors.
//!
//! | `dir` | keys |
//! |---|---|
//! | `open` | `t stream method`, optional `metadata peer server node_hint` |
//! | `c2s`, `s2c` | `t stream method raw`, optional `http_status`, `body` |
//! | `status` | `t stream code message` |
//! | `close` | `t stream`, optional `by reset` |
//! | `gap` | `t stream messages bytes` |
//!
//! Three keys are ours, and mean nothing to others: `partial` on an `open` that only names the node, `opaque`
//! (`c2s`, `s2c`) on a `gap` that stands for uncounted traffic of a stream that is not xDS, `note` on a `close`.

use crate::schema::base64;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::{Options, read, read_with};
pub use writer::Writer;

use serde_json::Value;

/// Protobuf JSON, where a file has it: a node, the body of a REST poll. Implemented over the descriptors.
pub trait Json {
    /// The message of this full name in binary protobuf; `None` if the JSON is not one.
    fn encode(&self, message: &str, json: &Value) -> Option<Vec<u8>>;
    /// The message in protobuf JSON.
    fn decode(&self, message: &str, bytes: &[u8]) -> Option<Value>;
}

/// The message of `node_hint`.
const NODE: &str = "envoy.config.core.v3.Node";
