use crate::discovery::fields::{NAME, any, duration, resource};
use crate::event::{Sym, TYPE_PREFIX};
use crate::pb::{Fields, Value};

use super::BlobId;

/// Full names of the wrapper message in v3 and v2.
const RESOURCE: [&str; 2] = ["envoy.service.discovery.v3.Resource", "envoy.api.v2.Resource"];

/// The fields of a `Resource` wrapper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrapper {
    /// Name of the resource; empty if unset.
    pub name: Sym,
    /// Version of the resource; empty if unset.
    pub version: Sym,
    /// The payload's blob; `None` while unset, as in a heartbeat or a not-found
    /// (docs/protocol.md#g-11).
    pub payload: Option<BlobId>,
    /// Time to live in nanoseconds; `None` without the field. Invalid values are kept
    /// (docs/protocol.md#g-02).
    pub ttl: Option<i64>,
    /// Other names of the resource, in order.
    pub aliases: Box<[Sym]>,
    /// The wrapper is in an `Any` of a SotW response (docs/protocol.md#g-08).
    pub in_any: bool,
}

/// One entry of a response, in either form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseEntry<'a> {
    /// Name of the resource; empty if there is none.
    pub name: Sym,
    /// The wrapper's version; empty for a bare `Any`, which has the version of the response.
    pub version: Sym,
    /// Type URL of the payload; empty if unset.
    pub type_url: Sym,
    /// The payload's blob: equal ids mean equal bytes, whichever form carried them.
    pub payload: Option<BlobId>,
    /// Time to live in nanoseconds.
    pub ttl: Option<i64>,
    /// Other names of the resource.
    pub aliases: &'a [Sym],
    /// The entry is a `Resource` in an `Any` of a SotW response.
    pub wrapped: bool,
}

/// Returns `type_url` and `value` of an `Any`. As everywhere in protobuf, the last field wins.
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

/// Whether an `Any` with this type URL holds a `Resource` wrapper.
pub(super) fn is_wrapper(type_url: &[u8]) -> bool {
    let Ok(url) = std::str::from_utf8(type_url) else { return false };
    RESOURCE.contains(&url.strip_prefix(TYPE_PREFIX).unwrap_or(url))
}

/// The unparsed fields of a `Resource`.
#[derive(Default)]
pub(super) struct RawWrapper<'a> {
    pub name: &'a [u8],
    pub version: &'a [u8],
    pub aliases: Vec<&'a [u8]>,
    pub ttl: Option<i64>,
    /// `name` of the structured `resource_name`.
    pub structured_name: Option<&'a [u8]>,
    /// Range of the payload field in the message, and the payload.
    pub payload: Option<(std::ops::Range<usize>, &'a [u8])>,
    pub payloads: usize,
}

/// Reads the fields of a resource wrapper.
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

/// Reads a `google.protobuf.Duration` as nanoseconds, saturating.
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
