//! A file that holds one DiscoveryResponse, as a stream without requests.

use xdscope_schema::{FormatError, MessageFormat, Schema};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{ApiVersion, Kind, StreamId, Time};
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

/// The message that the file should hold.
const RESPONSE: &str = "envoy.service.discovery.v3.DiscoveryResponse";

/// Turns each reading of one file into frames: first the opening of the stream, then one response
/// per reading, or a message that can't be decoded.
#[derive(Clone, Debug)]
pub struct ResponseFile {
    stream: StreamId,
    /// The file name as the user typed it.
    name: String,
    open: bool,
}

impl ResponseFile {
    /// Creates a file that was not read yet, whose responses belong to `stream`.
    pub fn new(stream: StreamId, name: impl Into<String>) -> ResponseFile {
        ResponseFile { stream, name: name.into(), open: false }
    }

    /// Decodes the content of the file, read at `at`, and appends frames.
    ///
    /// # Errors
    ///
    /// The content is in none of the known formats. The frame then holds it undecoded.
    pub fn read(
        &mut self,
        at: Time,
        content: &[u8],
        schema: &Schema,
        catalog: &mut Catalog,
        out: &mut Vec<Frame>,
    ) -> Result<MessageFormat, FormatError> {
        let ending = MessageFormat::from_file_name(&self.name);
        let read = schema.read_file(RESPONSE, ending, content);
        let bytes = match &read {
            Ok(message) => message.bytes.as_slice(),
            // An empty file is not an empty message.
            Err(_) if content.is_empty() => b"\n",
            Err(_) => content,
        };
        let message = Message::parse(MessageShape::SotwResponse, bytes, catalog);
        if !self.open {
            self.open = true;
            let open =
                self.opening(&message, ending, read.as_ref().ok().map(|message| message.format), catalog);
            out.push(Frame { at, stream: self.stream, what: FramePayload::Open(Box::new(open)) });
        }
        out.push(Frame { at, stream: self.stream, what: FramePayload::Message(message.into()) });
        read.map(|message| message.format)
    }

    fn opening(
        &self,
        message: &Message,
        ending: Option<MessageFormat>,
        format: Option<MessageFormat>,
        catalog: &Catalog,
    ) -> Open {
        let stated = message.type_url().as_str().to_owned();
        // A response may leave out its type if its resources state theirs.
        let first = || {
            let entry = catalog.entry(*message.resources()?.blobs().first()?);
            Some(catalog.text(entry.type_url).to_owned())
        };
        let url = if stated.is_empty() { first().unwrap_or_default() } else { stated };
        let known = Kind::of_type_url(&url).is_some_and(|(_, version)| version == ApiVersion::V3);
        let facts = [(Open::FORMAT, format), (Open::ENDING, ending)];
        let facts = facts
            .iter()
            .filter_map(|(name, format)| Some(((*name).to_owned(), (*format)?.word().to_owned())));
        Open {
            method: if known { format!("file:{url}") } else { "file:".to_owned() },
            server: Some(self.name.clone()),
            metadata: facts.collect(),
            ..Open::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(contents: &[&[u8]]) -> (Vec<Frame>, Vec<bool>) {
        let (schema, mut catalog) = (Schema::builtin(), Catalog::in_memory());
        let mut file = ResponseFile::new(StreamId(1), "clusters.yaml");
        let mut out = Vec::new();
        let read = contents
            .iter()
            .map(|content| file.read(Time::ZERO, content, &schema, &mut catalog, &mut out).is_ok());
        let read = read.collect();
        (out, read)
    }

    const GOOD: &[u8] =
        b"resources:\n- {\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: c}\n";

    #[test]
    fn opens_stream_once_and_adds_message_per_reading() {
        let (frames, read) = frames(&[GOOD, b"resources: [", GOOD]);
        assert_eq!(read, [true, false, true]);
        let [open, messages @ ..] = frames.as_slice() else { panic!("{frames:?}") };
        let FramePayload::Open(open) = &open.what else { panic!("{open:?}") };
        assert_eq!(open.method, "file:type.googleapis.com/envoy.config.cluster.v3.Cluster");
        assert_eq!(messages.len(), 3);
        let undecodable = |frame: &Frame| matches!(&frame.what, FramePayload::Message(m) if matches!(m.body, xdscope_wire::MessageBody::Undecodable { .. }));
        assert_eq!(messages.iter().map(undecodable).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn reads_empty_file_as_undecodable() {
        let (frames, read) = frames(&[b""]);
        assert_eq!((frames.len(), read), (2, vec![false]));
    }
}
