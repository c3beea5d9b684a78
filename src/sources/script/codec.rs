//! The conversion of content that a script gives as JSON.

use xdscope_schema::Schema;

/// Conversion between protobuf JSON and bytes.
pub trait Codec {
    /// Encodes a JSON object as the message with this full name.
    ///
    /// # Errors
    ///
    /// The message is unknown, or the JSON does not fit it.
    fn encode(&self, message: &str, json: &serde_json::Value) -> Result<Vec<u8>, CodecError>;
    /// Decodes a message to JSON, or returns `None` if the bytes are damaged.
    fn decode(&self, message: &str, bytes: &[u8]) -> Option<serde_json::Value>;
    /// Returns the descriptors, by which references between resources are read.
    fn schema(&self) -> Option<&Schema> {
        None
    }
}

/// Why content given as JSON can't be encoded, as a message to the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(String);

impl CodecError {
    /// Creates an error with the text of `error`.
    pub fn new(error: impl ToString) -> CodecError {
        CodecError(error.to_string())
    }
}
