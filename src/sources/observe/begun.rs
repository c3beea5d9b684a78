//! Streams that began before what is seen of their connection: which method they are of is told by their messages.

use crate::wire::Shape;
use crate::wire::discovery::fields::{DiscoveryField, RESOURCES, any, resource};
use crate::wire::event::Dir;
use crate::wire::pb::{Fields, Value};

const SOTW_TYPE_URL: Option<u32> = DiscoveryField::TypeUrl.number(Shape::SotwRequest);
const DELTA_TYPE_URL: Option<u32> = DiscoveryField::TypeUrl.number(Shape::DeltaRequest);

/// What is kept of a stream until it is known, at most: a request may repeat its node.
const KEPT: usize = 256 << 10;
/// Messages after which a stream that is none of xDS is not one any more.
const MESSAGES: usize = 16;

/// A stream of which the method is not known yet.
#[derive(Default)]
pub(super) struct Begun {
    /// What has passed: bytes of a message, or its end.
    pub(super) passed: Vec<(Dir, Option<Vec<u8>>)>,
    size: usize,
    ended: usize,
}

/// What is known of it.
pub(super) enum Known {
    NotYet,
    /// The path of its method.
    Path(&'static str),
    /// It is none of xDS.
    Other,
}

const ADS: [&str; 2] = [
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
];
const ADS_V2: [&str; 2] = [
    "/envoy.service.discovery.v2.AggregatedDiscoveryService/StreamAggregatedResources",
    "/envoy.service.discovery.v2.AggregatedDiscoveryService/DeltaAggregatedResources",
];

impl Begun {
    pub(super) fn data(&mut self, dir: Dir, bytes: &[u8]) -> Known {
        self.size += bytes.len();
        self.passed.push((dir, Some(bytes.to_vec())));
        if self.size > KEPT { self.known(true) } else { Known::NotYet }
    }

    pub(super) fn message(&mut self, dir: Dir) -> Known {
        self.ended += 1;
        self.passed.push((dir, None));
        self.known(self.ended >= MESSAGES)
    }

    /// Part of the message that is passing is missing.
    pub(super) fn missing(&mut self, dir: Dir) {
        let ended = self.passed.iter().rposition(|(of, bytes)| *of == dir && bytes.is_none());
        let mut at = 0;
        self.passed.retain(|(of, _)| {
            at += 1;
            *of != dir || ended.is_some_and(|ended| at <= ended + 1)
        });
    }

    /// Tells by what there is; `last`: more would not help.
    fn known(&self, last: bool) -> Known {
        for dir in [Dir::Req, Dir::Resp] {
            let mut message = Vec::new();
            for (_, bytes) in self.passed.iter().filter(|(of, _)| *of == dir) {
                match bytes {
                    Some(bytes) => message.extend_from_slice(bytes),
                    None => {
                        if let Some(path) = path(dir, &message) {
                            return Known::Path(path);
                        }
                        message.clear();
                    }
                }
            }
            if let Some(path) = path(dir, &message) {
                return Known::Path(path);
            }
        }
        if last { Known::Other } else { Known::NotYet }
    }
}

/// The method by the beginning of a message: what it has the type URL in, or its resources.
fn path(dir: Dir, message: &[u8]) -> Option<&'static str> {
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
