//! Reading of a message from a file in any of four formats (`docs/protocol.md#c-03`).

use prost::Message as _;
use prost_reflect::DynamicMessage;
use serde_json::Value;

use super::encode::EncodeError;
use super::parse_error::without_values;
use super::{Fault, FaultAt, MAX_DEPTH, Schema, from_yaml, read_json};
use xdscope_wire::text::{has_utf16_mark, without_mark};

/// The format of a message in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageFormat {
    /// Protobuf JSON.
    Json,
    /// Protobuf JSON in YAML syntax.
    Yaml,
    /// The protobuf text format.
    Text,
    /// Serialized protobuf.
    Binary,
}

impl MessageFormat {
    /// All formats, in the order in which they are tried.
    pub const ALL: [MessageFormat; 4] =
        [MessageFormat::Json, MessageFormat::Yaml, MessageFormat::Text, MessageFormat::Binary];

    /// Returns the name of the format for messages to users.
    pub fn word(self) -> &'static str {
        match self {
            MessageFormat::Json => "JSON",
            MessageFormat::Yaml => "YAML",
            MessageFormat::Text => "protobuf text",
            MessageFormat::Binary => "binary protobuf",
        }
    }

    /// Returns the format that a file name extension stands for.
    pub fn from_file_name(name: &str) -> Option<MessageFormat> {
        Some(match name.rsplit_once('.')?.1 {
            "json" => MessageFormat::Json,
            "yaml" | "yml" => MessageFormat::Yaml,
            "pb_text" | "pbtxt" | "textproto" | "txtpb" | "prototxt" => MessageFormat::Text,
            "pb" | "binpb" | "bin" => MessageFormat::Binary,
            _ => return None,
        })
    }
}

/// A file that contains the message in none of the known formats.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a {message} in any known format: {}", .attempts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct FormatError {
    /// Full name of the message.
    pub message: String,
    /// Starts with the format that the file name extension stands for.
    pub attempts: Vec<FormatAttempt>,
}

/// A failed attempt to read a message in one format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {error}", .format.word())]
pub struct FormatAttempt {
    /// The format that was tried.
    pub format: MessageFormat,
    /// The error of this format.
    pub error: ReadError,
}

/// An error of reading a message in one format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The file is empty.
    #[error("empty")]
    Empty,
    /// The text begins with a byte order mark of UTF-16.
    #[error("the text is in UTF-16, and must be in UTF-8")]
    Utf16,
    /// The JSON or YAML value is not an object.
    #[error("not an object")]
    NotAnObject,
    /// The reason of the parser.
    #[error("{0}")]
    Syntax(String),
    /// The value does not fit the message type.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The bytes do not match the descriptor.
    #[error("{0}")]
    Fault(FaultAt),
}

impl ReadError {
    fn syntax(error: impl ToString) -> ReadError {
        ReadError::Syntax(without_values(error))
    }
}

/// A message read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMessage {
    /// The format of the file.
    pub format: MessageFormat,
    /// The serialized message.
    pub bytes: Vec<u8>,
}

impl Schema {
    /// Reads a message from the content of a file.
    ///
    /// Tries the format of the file name extension first, then the other formats.
    ///
    /// # Errors
    ///
    /// Returns the error of each format if none fits.
    pub fn read_file(
        &self,
        message: &str,
        extension: Option<MessageFormat>,
        content: &[u8],
    ) -> Result<FileMessage, FormatError> {
        let rest = MessageFormat::ALL.into_iter().filter(|format| Some(*format) != extension);
        let mut attempts = Vec::new();
        for format in extension.into_iter().chain(rest) {
            match self.read_as(message, format, content) {
                Ok(bytes) => return Ok(FileMessage { format, bytes }),
                Err(error) => attempts.push(FormatAttempt { format, error }),
            }
        }
        Err(FormatError { message: message.to_owned(), attempts })
    }

    /// Reads a message in one format.
    pub fn read_as(
        &self,
        message: &str,
        format: MessageFormat,
        content: &[u8],
    ) -> Result<Vec<u8>, ReadError> {
        if has_utf16_mark(content) {
            return Err(ReadError::Utf16);
        }
        let content = without_mark(content);
        let text = || std::str::from_utf8(content).map_err(ReadError::syntax);
        let encode_object = |value: Value| {
            if value.is_object() { Ok(self.encode(message, &value)?) } else { Err(ReadError::NotAnObject) }
        };
        match format {
            MessageFormat::Json => encode_object(read_json(content).map_err(ReadError::syntax)?),
            MessageFormat::Yaml => encode_object(from_yaml(text()?).map_err(ReadError::syntax)?),
            MessageFormat::Text => {
                let descriptor = self.message_among_all(message);
                let descriptor = descriptor.ok_or_else(|| EncodeError::UnknownType(message.to_owned()))?;
                let text = text()?;
                if text.trim().is_empty() {
                    return Err(ReadError::Empty);
                }
                if is_nested_too_deeply(text) {
                    return Err(ReadError::Syntax(format!("messages are nested more than {MAX_DEPTH} deep")));
                }
                let read = DynamicMessage::parse_text_format(descriptor, text);
                Ok(read.map_err(ReadError::syntax)?.encode_to_vec())
            }
            MessageFormat::Binary if content.is_empty() => Err(ReadError::Empty),
            MessageFormat::Binary => match self.faults(message, content).into_iter().next() {
                Some(fault) if !matches!(fault.fault, Fault::UnknownType(_)) => Err(ReadError::Fault(fault)),
                _ => Ok(content.to_vec()),
            },
        }
    }
}

/// Whether text has more than [`MAX_DEPTH`] levels of messages or lists.
///
/// The parser of prost-reflect recurses without a limit.
fn is_nested_too_deeply(text: &str) -> bool {
    let mut bytes = text.bytes();
    let mut depth = 0_u32;
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'<' | b'[' => depth += 1,
            b'}' | b'>' | b']' => depth = depth.saturating_sub(1),
            b'#' => _ = bytes.find(|byte| *byte == b'\n'),
            quote @ (b'"' | b'\'') => {
                while let Some(byte) = bytes.next().filter(|byte| *byte != quote) {
                    if byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESPONSE: &str = "envoy.service.discovery.v3.DiscoveryResponse";

    fn read(name: &str, content: &[u8]) -> Result<(MessageFormat, Vec<u8>), FormatError> {
        let read = Schema::builtin().read_file(RESPONSE, MessageFormat::from_file_name(name), content);
        read.map(|message| (message.format, message.bytes))
    }

    // docs/protocol.md#c-03
    #[test]
    fn reads_the_same_message_in_all_formats() {
        let json = br#"{"versionInfo": "1", "resources": [{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "c"}]}"#;
        let (format, bytes) = read("x.json", json).unwrap();
        assert_eq!(format, MessageFormat::Json);
        let yaml = b"version_info: \"1\"\nresources:\n- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: c\n";
        assert_eq!(read("x.yaml", yaml).unwrap(), (MessageFormat::Yaml, bytes.clone()));
        let text = b"version_info: \"1\"\nresources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] { name: \"c\" } }";
        assert_eq!(read("x.pb_text", text).unwrap(), (MessageFormat::Text, bytes.clone()));
        assert_eq!(read("x.pb", &bytes).unwrap(), (MessageFormat::Binary, bytes.clone()));
        // The extension is wrong or missing.
        assert_eq!(read("x.json", yaml).unwrap(), (MessageFormat::Yaml, bytes.clone()));
        assert_eq!(read("x", &bytes).unwrap(), (MessageFormat::Binary, bytes.clone()));
        assert_eq!(read("x.pb", text).unwrap().0, MessageFormat::Text);
        // A byte order mark.
        for (name, content) in [("x.json", &json[..]), ("x.yaml", yaml), ("x.pb_text", text)] {
            assert_eq!(read(name, &[b"\xef\xbb\xbf", content].concat()).unwrap().1, bytes, "{name}");
        }
        let utf16 = read("x.json", b"\xff\xfe{\0}\0").unwrap_err();
        assert!(utf16.to_string().contains("the text is in UTF-16, and must be in UTF-8"), "{utf16}");
    }

    #[test]
    fn refuses_deeply_nested_text() {
        let nested = |levels: usize| {
            let (open, close) = ("struct_value { fields { value { ".repeat(levels), "} } }".repeat(levels));
            Schema::builtin().read_as(
                "google.protobuf.Value",
                MessageFormat::Text,
                (open + &close).as_bytes(),
            )
        };
        assert!(nested(30).is_ok());
        assert!(nested(20_000).is_err_and(|error| error.to_string().contains("nested")));
        let quoted = format!("type_url: \"\\\"{0}\" value: '{0}' # {0}", "{[<".repeat(100));
        assert!(!is_nested_too_deeply(&quoted), "{quoted}");
    }

    #[test]
    fn reports_the_error_of_each_format() {
        let error = read("x.yaml", b"{\"resources\": [").unwrap_err();
        assert_eq!(error.attempts.first().map(|attempt| attempt.format), Some(MessageFormat::Yaml));
        assert_eq!(error.attempts.len(), 4);
        for bytes in [b"" as &[u8], b"\xff\xff", b"resources: 1", b"null"] {
            assert!(read("x", bytes).is_err(), "{bytes:?}");
        }
    }
}
