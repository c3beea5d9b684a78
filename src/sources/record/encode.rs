//! Encodes the records of `proto/recording.proto`, one function per record.

use super::header::{put_u64, zigzag};
use super::tls;
use xdscope_wire::GapCause;
use xdscope_wire::content::{Blob, BlobForm, Catalog, Strings};
use xdscope_wire::event::{Dir, Side};
use xdscope_wire::pb::{WIRE_LEN, WIRE_VARINT, put_len_field, put_tag, put_varint, tag_len};
use xdscope_wire::{End, Intervention, InterventionFacts, Message, MessageShape, Open, Profile, Segment};

pub(super) const START: u32 = 1;
pub(super) const BLOB: u32 = 2;
pub(super) const OPEN: u32 = 3;
pub(super) const REOPEN: u32 = 4;
pub(super) const MESSAGE: u32 = 5;
pub(super) const OPAQUE: u32 = 6;
pub(super) const GAP: u32 = 7;
pub(super) const END: u32 = 8;
pub(super) const FINISH: u32 = 9;
pub(super) const INTERCEPTED: u32 = 10;

pub(super) fn put_text(out: &mut Vec<u8>, number: u32, text: &str) {
    if !text.is_empty() {
        put_len_field(out, number, text.as_bytes());
    }
}

/// Writes a varint even if it is zero, because its presence has a meaning.
fn put_optional(out: &mut Vec<u8>, number: u32, value: Option<u64>) {
    if let Some(value) = value {
        put_tag(out, number, WIRE_VARINT);
        put_varint(out, value);
    }
}

fn put_packed(out: &mut Vec<u8>, number: u32, values: impl Iterator<Item = u64>) {
    let mut packed = Vec::new();
    values.for_each(|value| put_varint(&mut packed, value));
    if !packed.is_empty() {
        put_len_field(out, number, &packed);
    }
}

/// Encodes an open. A repeated open has no `node_hint` and no TLS facts.
pub(super) fn open(out: &mut Vec<u8>, open: &Open, first: bool) {
    put_text(out, 3, &open.method);
    for (number, address) in [(4, &open.peer), (5, &open.server)] {
        if let Some(address) = address {
            put_len_field(out, number, address.as_bytes());
        }
    }
    for (name, value) in &open.metadata {
        let mut pair = Vec::new();
        put_text(&mut pair, 1, name);
        put_text(&mut pair, 2, value);
        put_len_field(out, 6, &pair);
    }
    if first && let Some(node) = &open.node_hint {
        put_len_field(out, 7, node);
    }
    put_u64(out, 8, open.partial.into());
    let profile = match open.profile {
        None => 0,
        Some(Profile::Current) => 1,
        Some(Profile::P003) => 2,
        Some(Profile::P002) => 3,
    };
    put_u64(out, 9, profile);
    if first {
        tls::put(out, &open.tls);
    }
}

pub(super) fn opaque(out: &mut Vec<u8>, dir: Dir, messages: u64, bytes: u64) {
    put_u64(out, 3, (dir == Dir::Resp).into());
    gap(out, messages, bytes);
}

pub(super) fn gap(out: &mut Vec<u8>, messages: u64, bytes: u64) {
    put_u64(out, 4, messages);
    put_u64(out, 5, bytes);
}

pub(super) fn gap_cause(out: &mut Vec<u8>, cause: GapCause) {
    let number = GapCause::ALL.iter().position(|known| *known == cause);
    put_u64(out, 6, number.unwrap_or_default() as u64);
}

pub(super) fn gap_dir(out: &mut Vec<u8>, dir: Option<Dir>) {
    let number = match dir {
        None => 0,
        Some(Dir::Req) => 1,
        Some(Dir::Resp) => 2,
    };
    put_u64(out, 7, number);
}

pub(super) fn intercepted(out: &mut Vec<u8>, what: &Intervention) {
    let InterventionFacts { interference, dir, is_delta, type_url, version, nonce, by } = &what.facts;
    put_text(out, 3, interference.word());
    put_u64(out, 4, (*dir == Dir::Resp).into());
    for (number, text) in [(5, type_url.as_str()), (6, version), (7, nonce), (8, by)] {
        put_text(out, number, text);
    }
    for (number, bytes) in [(9, &what.original), (10, &what.sent)] {
        if let Some(bytes) = bytes {
            put_len_field(out, number, bytes);
        }
    }
    put_u64(out, 11, (what.sent_dir == Dir::Resp).into());
    put_u64(out, 12, (*is_delta).into());
}

pub(super) fn end(out: &mut Vec<u8>, end: &End) {
    let by = match end.by {
        None => 0,
        Some(Side::Client) => 1,
        Some(Side::Server) => 2,
    };
    put_u64(out, 3, by);
    if let Some((code, message)) = &end.status {
        put_optional(out, 4, Some(zigzag(code.0.into())));
        put_text(out, 5, message);
    }
    put_optional(out, 6, end.reset.map(u64::from));
    if let Some(note) = &end.note {
        put_len_field(out, 7, note.as_bytes());
    }
}

/// The parts of a blob record.
pub(super) struct BlobRecord<'a> {
    pub blob: &'a Blob,
    pub texts: &'a Strings,
    /// How many blobs back the payload is.
    pub payload: Option<u32>,
    pub body: Option<&'a [u8]>,
    /// Whether hash and lengths can be computed from the content of the segment.
    pub is_computable: bool,
}

/// Appends a blob as field `number`, and copies a large body once only.
pub(super) fn put_blob(out: &mut Vec<u8>, number: u32, record: BlobRecord<'_>) {
    let (head, tail) = (blob_head(&record), blob_tail(&record));
    let body = record.body.map_or(0, |body| tag_len(BODY, body.len()) + body.len());
    let len = head.len() + body + tail.len();
    if len >= LARGE_BYTES {
        // Growing by doubling takes twice the memory.
        out.reserve_exact(len + tag_len(number, len));
    }
    put_tag(out, number, WIRE_LEN);
    put_varint(out, len as u64);
    out.extend_from_slice(&head);
    if let Some(body) = record.body {
        put_len_field(out, BODY, body);
    }
    out.extend_from_slice(&tail);
}

/// The field number of the body of a blob.
const BODY: u32 = 10;

/// Bytes of a large blob.
const LARGE_BYTES: usize = 128 << 10;

/// Encodes the fields in front of the body.
fn blob_head(record: &BlobRecord<'_>) -> Vec<u8> {
    let BlobRecord { blob, texts, .. } = record;
    let mut out = Vec::new();
    // Skip what the bytes themselves say.
    let named = blob.redacted || record.body.is_none();
    match &blob.form {
        BlobForm::Any { type_url, name } if named => {
            put_text(&mut out, 2, texts.get(*type_url));
            put_text(&mut out, 3, texts.get(*name));
        }
        BlobForm::Any { .. } => {}
        BlobForm::Wrapper { wrapper, head } => {
            put_u64(&mut out, 1, 1);
            if named {
                put_text(&mut out, 3, texts.get(wrapper.name));
                put_text(&mut out, 4, texts.get(wrapper.version));
                put_optional(&mut out, 6, wrapper.ttl.map(zigzag));
                for alias in &wrapper.aliases {
                    put_len_field(&mut out, 7, texts.get(*alias).as_bytes());
                }
            }
            put_optional(&mut out, 5, record.payload.map(u64::from));
            put_u64(&mut out, 8, wrapper.in_any.into());
            put_u64(&mut out, 9, (*head).into());
        }
        BlobForm::Other => put_u64(&mut out, 1, 2),
    }
    out
}

/// Encodes the fields behind the body.
fn blob_tail(record: &BlobRecord<'_>) -> Vec<u8> {
    let blob = record.blob;
    let mut out = Vec::new();
    if !record.is_computable {
        put_len_field(&mut out, 11, &blob.hash.to_be_bytes());
        put_u64(&mut out, 12, blob.size.into());
        put_u64(&mut out, 13, blob.kept.into());
    }
    put_u64(&mut out, 14, blob.redacted.into());
    out
}

/// Encodes a message up to its segments. `size` is set only if it differs from the sum of the
/// segments.
pub(super) fn message(out: &mut Vec<u8>, message: &Message, size: Option<u64>) {
    let shape = match message.shape {
        MessageShape::SotwRequest => 0,
        MessageShape::SotwResponse => 1,
        MessageShape::DeltaRequest => 2,
        MessageShape::DeltaResponse => 3,
    };
    put_u64(out, 3, shape);
    put_u64(out, 4, message.redacted.into());
    put_optional(out, 5, size);
}

/// Encodes a field. `blob` counts backwards from the next blob.
pub(super) fn field(out: &mut Vec<u8>, number: u32, blob: u64) {
    let mut field = Vec::new();
    put_u64(&mut field, 1, number.into());
    put_u64(&mut field, 2, blob);
    put_len_field(out, 7, &field);
}

/// Returns the redacted length of a segment.
pub(super) fn redacted_len(segment: &Segment, catalog: &Catalog) -> u64 {
    let field = |number: u32, kept: u32| (tag_len(number, kept as usize) + kept as usize) as u64;
    match segment {
        Segment::Inline(bytes) => bytes.len() as u64,
        Segment::Run(blob) => catalog.blob(*blob).kept.into(),
        Segment::Field { number, blob } => field(*number, catalog.blob(*blob).kept),
        Segment::List { number, list } => {
            list.blobs().iter().map(|id| field(*number, catalog.blob(*id).kept)).sum()
        }
    }
}

fn list_field(field: u32) -> Vec<u8> {
    let mut out = Vec::new();
    put_u64(&mut out, 1, if field == 2 { 0 } else { field.into() });
    out
}

pub(super) fn same_list(field: u32, back: u32) -> Vec<u8> {
    let mut out = list_field(field);
    put_u64(&mut out, 2, back.into());
    out
}

/// Encodes a list. `ids` are written as differences, starting from the next blob's number.
pub(super) fn list(
    field: u32,
    base: Option<u32>,
    runs: &[u64],
    ids: impl Iterator<Item = u32>,
    order: &[u8],
    next: u32,
) -> Vec<u8> {
    let mut out = list_field(field);
    put_optional(&mut out, 3, base.map(u64::from));
    put_packed(&mut out, 4, runs.iter().copied());
    let mut last = i64::from(next);
    let deltas = ids.map(|id| {
        let delta = i64::from(id) - last;
        last = id.into();
        zigzag(delta)
    });
    put_packed(&mut out, 5, deltas);
    if !order.is_empty() {
        put_len_field(&mut out, 6, order);
    }
    out
}
