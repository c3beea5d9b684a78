//! Streams that began before the capture: their method is identified from their messages.

use xdscope_wire::MessageShape;
use xdscope_wire::discovery::fields::{DiscoveryField, RESOURCES, any, resource};
use xdscope_wire::event::Dir;
use xdscope_wire::pb::{Fields, Value};

const SOTW_TYPE_URL: Option<u32> = DiscoveryField::TypeUrl.number(MessageShape::SotwRequest);
const DELTA_TYPE_URL: Option<u32> = DiscoveryField::TypeUrl.number(MessageShape::DeltaRequest);

/// Most bytes buffered for one unidentified stream. Every request may repeat its node.
const MAX_BUFFERED_BYTES: usize = 256 << 10;
/// Memory of a piece besides its bytes. Pieces of the two directions may alternate.
const PIECE_OVERHEAD: usize = 64;
/// Messages after which an unidentified stream is taken not to be xDS.
const MAX_BUFFERED_MESSAGES: usize = 16;

/// A stream whose method is not known yet.
#[derive(Default)]
pub(super) struct UnidentifiedStream {
    /// Everything observed so far: pieces of a message, or its end.
    pub(super) pieces: Vec<(Dir, Option<Vec<u8>>)>,
    size: usize,
    ended_messages: usize,
}

/// The result of an attempt to identify a stream.
pub(super) enum Identification {
    Pending,
    /// An xDS stream, by the path of its method.
    Method(&'static str),
    /// A stream that is not xDS.
    NotXds,
}

const ADS: [&str; 2] = [
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
];
const ADS_V2: [&str; 2] = [
    "/envoy.service.discovery.v2.AggregatedDiscoveryService/StreamAggregatedResources",
    "/envoy.service.discovery.v2.AggregatedDiscoveryService/DeltaAggregatedResources",
];

impl UnidentifiedStream {
    /// Adds bytes of a message, and tells whether the stream can be identified.
    pub(super) fn data(&mut self, dir: Dir, bytes: &[u8]) -> Identification {
        self.size += bytes.len();
        // A message may arrive in pieces of one byte.
        match self.pieces.last_mut() {
            Some((last, Some(piece))) if *last == dir => piece.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => {
                self.size += PIECE_OVERHEAD;
                self.pieces.push((dir, Some(bytes.to_vec())));
            }
        }
        if self.size > MAX_BUFFERED_BYTES { self.identify(true) } else { Identification::Pending }
    }

    pub(super) fn message(&mut self, dir: Dir) -> Identification {
        self.ended_messages += 1;
        self.pieces.push((dir, None));
        self.identify(self.ended_messages >= MAX_BUFFERED_MESSAGES)
    }

    /// Drops the incomplete message of one direction, because part of it is missing.
    pub(super) fn drop_incomplete(&mut self, dir: Dir) {
        let ended = self.pieces.iter().rposition(|(of, bytes)| *of == dir && bytes.is_none());
        let mut at = 0;
        self.pieces.retain(|(of, _)| {
            at += 1;
            *of != dir || ended.is_some_and(|ended| at <= ended + 1)
        });
    }

    /// Identifies the stream from the buffered messages. `last`: no more messages will be buffered.
    fn identify(&self, last: bool) -> Identification {
        for dir in [Dir::Req, Dir::Resp] {
            let mut message = Vec::new();
            for (_, bytes) in self.pieces.iter().filter(|(of, _)| *of == dir) {
                match bytes {
                    Some(bytes) => message.extend_from_slice(bytes),
                    None => {
                        if let Some(path) = method_path(dir, &message) {
                            return Identification::Method(path);
                        }
                        message.clear();
                    }
                }
            }
            if let Some(path) = method_path(dir, &message) {
                return Identification::Method(path);
            }
        }
        if last { Identification::NotXds } else { Identification::Pending }
    }
}

/// Returns the method path that the fields of a message imply: the type URL of the message, or of
/// its first resource.
fn method_path(dir: Dir, message: &[u8]) -> Option<&'static str> {
    let strings = |bytes| {
        Fields::new(bytes).map_while(Result::ok).filter_map(|field| match field.value {
            Value::Len(value) => Some((field.number, value)),
            _ => None,
        })
    };
    let delta = |value: &[u8], delta: bool| {
        let url = value.strip_prefix(b"type.googleapis.com/")?;
        let paths = if url.starts_with(b"envoy.api.v2.") { ADS_V2 } else { ADS };
        Some(paths[usize::from(delta)])
    };
    strings(message).find_map(|(number, value)| match (dir, Some(number)) {
        (Dir::Req, SOTW_TYPE_URL) => delta(value, false),
        (Dir::Req, DELTA_TYPE_URL) => delta(value, true),
        (Dir::Resp, Some(RESOURCES)) => strings(value).find_map(|(number, inner)| match number {
            any::TYPE_URL => delta(inner, false),
            resource::RESOURCE => strings(inner)
                .find_map(|(number, url)| (number == any::TYPE_URL).then(|| delta(url, true))?),
            _ => None,
        }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_pieces_of_one_byte() {
        let mut stream = UnidentifiedStream::default();
        for _ in 0..1000 {
            assert!(matches!(stream.data(Dir::Req, b"x"), Identification::Pending));
            assert!(matches!(stream.data(Dir::Req, b""), Identification::Pending));
        }
        assert_eq!(stream.pieces.len(), 1);
        // Pieces that alternate between the directions count for their memory.
        let alternating = (0..MAX_BUFFERED_BYTES).take_while(|n| {
            let dir = if n % 2 == 0 { Dir::Resp } else { Dir::Req };
            matches!(stream.data(dir, b"x"), Identification::Pending)
        });
        assert!(alternating.count() <= MAX_BUFFERED_BYTES / PIECE_OVERHEAD);
    }
}
