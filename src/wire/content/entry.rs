use crate::wire::discovery::fields::{NAME, any, duration, resource};
use crate::wire::event::{Sym, TYPE_PREFIX};
use crate::wire::pb::{Fields, Value};

use super::BlobId;

/// The full name of the wrapper message, in both API versions.
const RESOURCE: [&str; 2] = ["envoy.service.discovery.v3.Resource", "envoy.api.v2.Resource"];

/// What the `Resource` wrapper says about one entry (checklist M.5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrapper {
    pub name: Sym,
    pub version: Sym,
    /// The payload's blob; `None` while unset (a heartbeat or a not-found, row G-11).
    pub payload: Option<BlobId>,
    /// Nanoseconds; negative and absurd values are kept as they are (row G-02). `None`: no `ttl` field.
    pub ttl: Option<i64>,
    pub aliases: Box<[Sym]>,
    /// The wrapper stands in an `Any` of a SotW response (row G-08), not in a delta response.
    pub in_any: bool,
}

/// One entry of a response, whichever form it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub name: Sym,
    /// The wrapper's version; empty for a bare `Any`, whose version is the response's.
    pub version: Sym,
    /// Type URL of the payload; empty if unset.
    pub type_url: Sym,
    /// The payload's blob: equal ids are equal bytes, whatever form they came in.
    pub payload: Option<BlobId>,
    pub ttl: Option<i64>,
    pub aliases: &'a [Sym],
    /// A `Resource` inside an `Any` of a SotW response.
    pub wrapped: bool,
}

/// `type_url` and `value` of an `Any`; the last of each wins, as everywhere in protobuf.
pub(super) fn any_parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut url, mut value) = (&[][..], &[][..]);
    for field in Fields::new(bytes) {
        let field = field.ok()?;
        match field.number {
            any::TYPE_URL => url = field.bytes(),
            any::VALUE => value = field.bytes(),
            _ => {}
        }
    }
    Some((url, value))
}

/// Whether an `Any` of this type URL is the `Resource` wrapper.
pub(super) fn is_wrapper(type_url: &[u8]) -> bool {
    let Ok(url) = std::str::from_utf8(type_url) else { return false };
    RESOURCE.contains(&url.strip_prefix(TYPE_PREFIX).unwrap_or(url))
}

/// The raw parts of a `Resource` message.
#[derive(Default)]
pub(super) struct RawWrapper<'a> {
    pub name: &'a [u8],
    pub version: &'a [u8],
    pub aliases: Vec<&'a [u8]>,
    pub ttl: Option<i64>,
    /// `name` of the structured `resource_name` (M-34).
    pub structured_name: Option<&'a [u8]>,
    /// The payload field: its place in the message, and its bytes.
    pub payload: Option<(std::ops::Range<usize>, &'a [u8])>,
    pub payloads: usize,
}

pub(super) fn raw_wrapper(bytes: &[u8]) -> Option<RawWrapper<'_>> {
    let mut raw = RawWrapper::default();
    let mut at = 0;
    for field in Fields::new(bytes) {
        let field = field.ok()?;
        let place = at..at + field.raw.len();
        at = place.end;
        match field.number {
            resource::VERSION => raw.version = field.bytes(),
            resource::RESOURCE => {
                raw.payloads += 1;
                raw.payload = Some((place, field.bytes()));
            }
            resource::NAME => raw.name = field.bytes(),
            resource::ALIASES => raw.aliases.push(field.bytes()),
            resource::TTL => raw.ttl = Some(nanoseconds(field.bytes())),
            resource::RESOURCE_NAME => raw.structured_name = Some(inner_name(field.bytes())),
            _ => {}
        }
    }
    Some(raw)
}

/// Returns the `name` of a `ResourceName`.
fn inner_name(bytes: &[u8]) -> &[u8] {
    let fields = Fields::new(bytes).map_while(Result::ok);
    fields.filter(|field| field.number == NAME).last().map_or(&[], |field| field.bytes())
}

/// A `google.protobuf.Duration` in nanoseconds, saturating.
fn nanoseconds(bytes: &[u8]) -> i64 {
    let (mut secs, mut nanos) = (0i64, 0i64);
    for field in Fields::new(bytes).map_while(Result::ok) {
        if let Value::Varint(value) = field.value {
            match field.number {
                duration::SECONDS => secs = value as i64,
                duration::NANOS => nanos = value as i64,
                _ => {}
            }
        }
    }
    secs.saturating_mul(1_000_000_000).saturating_add(nanos)
}
