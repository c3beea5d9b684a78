//! A file that holds one DiscoveryResponse, as a stream without requests (group C).

use crate::schema::{FileFormat, FormatError, Schema};
use crate::wire::content::Catalog;
use crate::wire::event::{ApiVersion, Kind, StreamId, Time};
use crate::wire::{Frame, FramePayload, Message, Open, Shape};

/// What the file should hold.
const RESPONSE: &str = "envoy.service.discovery.v3.DiscoveryResponse";

/// Turns each reading of one file into frames: the stream's opening with the first, then a response, or a message that
/// can't be decoded, per reading.
#[derive(Clone, Debug)]
pub struct ResponseFile {
    stream: StreamId,
    /// As typed.
    name: String,
    open: bool,
}

impl ResponseFile {
    pub fn new(stream: StreamId, name: impl Into<String>) -> ResponseFile {
        ResponseFile { stream, name: name.into(), open: false }
    }

    /// Takes the content of the file as it was read at `at`; appends frames. Says why if it is in no format that is known:
    /// then the frame holds what was read.
    pub fn read(
        &mut self,
        at: Time,
        content: &[u8],
        schema: &Schema,
        catalog: &mut Catalog,
        out: &mut Vec<Frame>,
    ) -> Result<FileFormat, FormatError> {
        let ending = FileFormat::from_file_name(&self.name);
        let read = schema.read_file(RESPONSE, ending, content);
        let bytes = match &read {
            Ok(message) => message.bytes.as_slice(),
            // An empty file is no empty message.
            Err(_) if content.is_empty() => b"\n",
            Err(_) => content,
        };
        let message = Message::parse(Shape::SotwResponse, bytes, catalog);
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
        ending: Option<FileFormat>,
        format: Option<FileFormat>,
        catalog: &Catalog,
    ) -> Open {
        let stated = message.type_url().as_str().to_owned();
        // A response need not say its type where its resources do.
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
    fn a_stream_opens_once_and_each_reading_is_a_message() {
        let (frames, read) = frames(&[GOOD, b"resources: [", GOOD]);
        assert_eq!(read, [true, false, true]);
        let [open, messages @ ..] = frames.as_slice() else { panic!("{frames:?}") };
        let FramePayload::Open(open) = &open.what else { panic!("{open:?}") };
        assert_eq!(open.method, "file:type.googleapis.com/envoy.config.cluster.v3.Cluster");
        assert_eq!(messages.len(), 3);
        let undecodable = |frame: &Frame| matches!(&frame.what, FramePayload::Message(m) if matches!(m.body, crate::wire::Body::Undecodable { .. }));
        assert_eq!(messages.iter().map(undecodable).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn a_file_without_content_is_no_message() {
        let (frames, read) = frames(&[b""]);
        assert_eq!((frames.len(), read), (2, vec![false]));
    }
}
