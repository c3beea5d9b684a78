//! A message in a file: which of four formats it is in, and its bytes (row C-03).

use prost::Message as _;
use prost_reflect::DynamicMessage;
use serde_json::Value;

use super::Schema;

/// What a file's content is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    Json,
    Yaml,
    Text,
    Binary,
}

impl FileFormat {
    pub const ALL: [FileFormat; 4] =
        [FileFormat::Json, FileFormat::Yaml, FileFormat::Text, FileFormat::Binary];

    pub fn word(self) -> &'static str {
        match self {
            FileFormat::Json => "JSON",
            FileFormat::Yaml => "YAML",
            FileFormat::Text => "protobuf text",
            FileFormat::Binary => "binary protobuf",
        }
    }

    /// What the ending of a file's name stands for; `None`: it says nothing.
    pub fn from_file_name(name: &str) -> Option<FileFormat> {
        Some(match name.rsplit_once('.')?.1 {
            "json" => FileFormat::Json,
            "yaml" | "yml" => FileFormat::Yaml,
            "pb_text" | "pbtxt" | "textproto" | "txtpb" | "prototxt" => FileFormat::Text,
            "pb" | "binpb" | "bin" => FileFormat::Binary,
            _ => return None,
        })
    }
}

/// A message in no format that is known: what each reader says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {message} in any format: {}", .tried.iter().map(|(format, why)| format!("{}: {why}", format.word())).collect::<Vec<_>>().join("; "))]
pub struct FormatError {
    pub message: String,
    /// The format that the ending stands for first.
    pub tried: Vec<(FileFormat, String)>,
}

impl Schema {
    /// Reads a message of that name out of a file's content: in the format that its ending stands for, else in the first
    /// that fits. Gives the format and the bytes of the message.
    pub fn read_file(
        &self,
        message: &str,
        ending: Option<FileFormat>,
        content: &[u8],
    ) -> Result<(FileFormat, Vec<u8>), FormatError> {
        let rest = FileFormat::ALL.into_iter().filter(|format| Some(*format) != ending);
        let mut tried = Vec::new();
        for format in ending.into_iter().chain(rest) {
            match self.read_as(message, format, content) {
                Ok(bytes) => return Ok((format, bytes)),
                Err(why) => tried.push((format, why)),
            }
        }
        Err(FormatError { message: message.to_owned(), tried })
    }

    /// The same in one format.
    pub(crate) fn read_as(
        &self,
        message: &str,
        format: FileFormat,
        content: &[u8],
    ) -> Result<Vec<u8>, String> {
        let text = || std::str::from_utf8(content).map_err(|error| error.to_string());
        let object = |value: Value| match value.is_object() {
            true => self.encode(message, &value),
            false => Err("not an object".to_owned()),
        };
        match format {
            FileFormat::Json => object(serde_json::from_slice(content).map_err(|error| error.to_string())?),
            FileFormat::Yaml => object(serde_saphyr::from_str(text()?).map_err(|error| error.to_string())?),
            FileFormat::Text => {
                let descriptor = self.message(message).ok_or("the type is not known")?;
                let text = text()?;
                if text.trim().is_empty() {
                    return Err("empty".into());
                }
                let read = DynamicMessage::parse_text_format(descriptor, text);
                Ok(read.map_err(|error| error.to_string())?.encode_to_vec())
            }
            FileFormat::Binary if content.is_empty() => Err("empty".into()),
            FileFormat::Binary => match self.faults(message, content).first() {
                Some(fault) if !matches!(fault.fault, super::Fault::UnknownType(_)) => Err(fault.to_string()),
                _ => Ok(content.to_vec()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESPONSE: &str = "envoy.service.discovery.v3.DiscoveryResponse";

    fn read(name: &str, content: &[u8]) -> Result<(FileFormat, Vec<u8>), FormatError> {
        Schema::builtin().read_file(RESPONSE, FileFormat::from_file_name(name), content)
    }

    /// Row C-03.
    #[test]
    fn all_four_formats_say_the_same() {
        let json = br#"{"versionInfo": "1", "resources": [{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "c"}]}"#;
        let (format, bytes) = read("x.json", json).unwrap();
        assert_eq!(format, FileFormat::Json);
        let yaml = b"version_info: \"1\"\nresources:\n- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: c\n";
        assert_eq!(read("x.yaml", yaml).unwrap(), (FileFormat::Yaml, bytes.clone()));
        let text = b"version_info: \"1\"\nresources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] { name: \"c\" } }";
        assert_eq!(read("x.pb_text", text).unwrap(), (FileFormat::Text, bytes.clone()));
        assert_eq!(read("x.pb", &bytes).unwrap(), (FileFormat::Binary, bytes.clone()));
        // The ending is wrong, or says nothing.
        assert_eq!(read("x.json", yaml).unwrap(), (FileFormat::Yaml, bytes.clone()));
        assert_eq!(read("x", &bytes).unwrap(), (FileFormat::Binary, bytes.clone()));
        assert_eq!(read("x.pb", text).unwrap().0, FileFormat::Text);
    }

    #[test]
    fn what_fits_no_format_says_why() {
        let error = read("x.yaml", b"{\"resources\": [").unwrap_err();
        assert_eq!(error.tried.first().map(|(format, _)| *format), Some(FileFormat::Yaml));
        assert_eq!(error.tried.len(), 4);
        for bytes in [b"" as &[u8], b"\xff\xff", b"resources: 1", b"null"] {
            assert!(read("x", bytes).is_err(), "{bytes:?}");
        }
    }
}
