//! Decodes the records of a segment. Unknown fields are ignored, and no length is trusted.

use std::sync::Arc;
use xdscope_wire::GapCause;

use bytes::Bytes;

use super::header::unzigzag;
use super::tls;
use xdscope_wire::event::{Code, Dir, Side, StreamId, TypeUrl};
use xdscope_wire::pb::{Fields, Value, WireField, read_varint};
use xdscope_wire::{
    End, Interference, Intervention, InterventionFacts, MAX_COUNT, MessageShape, Open, Profile,
};

pub(super) fn fields(bytes: &[u8]) -> impl Iterator<Item = WireField<'_>> {
    Fields::new(bytes).map_while(Result::ok)
}

fn u32_of(field: &WireField<'_>) -> u32 {
    u32::try_from(field.varint()).unwrap_or(u32::MAX)
}

pub(super) fn text(field: &WireField<'_>) -> String {
    field.text().into_owned()
}

/// Returns the numbers of a packed field.
fn packed(mut rest: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let (value, len) = read_varint(rest)?;
        rest = rest.get(len..)?;
        Some(value)
    })
}

/// The position at the beginning of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SegmentStart {
    pub blobs: u32,
    pub frames: u64,
    pub messages: u64,
    pub micros: u64,
}

pub(super) fn start(bytes: &[u8]) -> SegmentStart {
    let mut start = SegmentStart::default();
    for field in fields(bytes) {
        match field.number {
            1 => start.blobs = u32_of(&field),
            2 => start.frames = field.varint(),
            3 => start.messages = field.varint(),
            4 => start.micros = field.varint(),
            _ => {}
        }
    }
    start
}

/// Returns the stream, if it differs from the previous frame's, and the microseconds since then.
pub(super) fn stream_and_micros(bytes: &[u8]) -> (Option<StreamId>, u64) {
    let (mut stream, mut micros) = (None, 0);
    for field in fields(bytes) {
        match field.number {
            1 => stream = Some(StreamId(u32_of(&field))),
            2 => micros = field.varint(),
            _ => {}
        }
    }
    (stream, micros)
}

/// The record of a blob. Texts are borrowed from the segment.
#[derive(Default)]
pub(super) struct BlobRecord<'a> {
    pub form: u64,
    pub type_url: &'a [u8],
    pub name: &'a [u8],
    pub version: &'a [u8],
    pub payload: Option<u32>,
    pub ttl: Option<i64>,
    pub aliases: Vec<&'a [u8]>,
    pub in_any: bool,
    pub head: u32,
    pub body: Option<&'a [u8]>,
    pub hash: Option<u128>,
    pub size: u32,
    pub kept: u32,
    pub redacted: bool,
}

pub(super) fn blob(bytes: &[u8]) -> BlobRecord<'_> {
    let mut blob = BlobRecord::default();
    for field in fields(bytes) {
        match field.number {
            1 => blob.form = field.varint(),
            2 => blob.type_url = field.bytes(),
            3 => blob.name = field.bytes(),
            4 => blob.version = field.bytes(),
            5 => blob.payload = Some(u32_of(&field)),
            6 => blob.ttl = Some(unzigzag(field.varint())),
            7 => blob.aliases.push(field.bytes()),
            8 => blob.in_any = field.varint() != 0,
            9 => blob.head = u32_of(&field),
            10 => blob.body = Some(field.bytes()),
            11 => blob.hash = field.bytes().try_into().ok().map(u128::from_be_bytes),
            12 => blob.size = u32_of(&field),
            13 => blob.kept = u32_of(&field),
            14 => blob.redacted = field.varint() != 0,
            _ => {}
        }
    }
    blob
}

pub(super) fn open(bytes: &[u8]) -> Open {
    let mut open = Open::default();
    for field in fields(bytes) {
        match field.number {
            3 => open.method = text(&field),
            4 => open.peer = Some(text(&field)),
            5 => open.server = Some(text(&field)),
            6 => {
                let part = |number| {
                    fields(field.bytes()).find(|f| f.number == number).map(|f| text(&f)).unwrap_or_default()
                };
                open.metadata.push((part(1), part(2)));
            }
            7 => open.node_hint = Some(field.bytes().to_vec()),
            8 => open.partial = field.varint() != 0,
            9 => {
                open.profile = match field.varint() {
                    1 => Some(Profile::Current),
                    2 => Some(Profile::P003),
                    3 => Some(Profile::P002),
                    _ => None,
                }
            }
            tls::CLIENT_LEG => open.tls.client = Some(Arc::new(tls::leg(field.bytes()))),
            tls::SERVER_LEG => open.tls.server = Some(Arc::new(tls::leg(field.bytes()))),
            _ => {}
        }
    }
    open
}

/// The fields of a message record in front of its segments.
pub(super) struct MessageHead {
    pub shape: MessageShape,
    pub redacted: bool,
    pub size: Option<u64>,
    /// The number of segments that follow.
    pub parts: usize,
}

pub(super) fn message(bytes: &[u8]) -> MessageHead {
    let mut head = MessageHead { shape: MessageShape::SotwRequest, redacted: false, size: None, parts: 0 };
    for field in fields(bytes) {
        match field.number {
            3 => {
                head.shape = match field.varint() {
                    1 => MessageShape::SotwResponse,
                    2 => MessageShape::DeltaRequest,
                    3 => MessageShape::DeltaResponse,
                    _ => MessageShape::SotwRequest,
                }
            }
            4 => head.redacted = field.varint() != 0,
            5 => head.size = Some(field.varint().min(MAX_COUNT)),
            6..=9 => head.parts += 1,
            _ => {}
        }
    }
    head
}

/// A segment of a message. Blobs are numbered backwards from the next blob.
pub(super) enum MessagePart<'a> {
    Inline(&'a [u8]),
    Field { number: u32, back: u32 },
    Run { back: u32 },
    List(ListRecord<'a>),
}

/// Returns the segments of a message record.
pub(super) fn parts(bytes: &[u8]) -> impl Iterator<Item = MessagePart<'_>> {
    fields(bytes).filter_map(|field| match field.number {
        6 => Some(MessagePart::Inline(field.bytes())),
        7 => {
            let part = |number| fields(field.bytes()).find(|f| f.number == number).map_or(0, |f| u32_of(&f));
            Some(MessagePart::Field { number: part(1), back: part(2) })
        }
        8 => Some(MessagePart::List(list(field.bytes()))),
        9 => Some(MessagePart::Run { back: u32_of(&field) }),
        _ => None,
    })
}

#[derive(Debug, Default)]
pub(super) struct ListRecord<'a> {
    pub number: u32,
    pub same: Option<u32>,
    pub base: Option<u32>,
    pub runs: Vec<u64>,
    pub ids: &'a [u8],
    pub order: &'a [u8],
}

fn list(bytes: &[u8]) -> ListRecord<'_> {
    let mut list = ListRecord { number: 2, ..ListRecord::default() };
    for field in fields(bytes) {
        match field.number {
            1 => list.number = u32_of(&field),
            2 => list.same = Some(u32_of(&field)),
            3 => list.base = Some(u32_of(&field)),
            4 => list.runs.extend(packed(field.bytes())),
            5 => list.ids = field.bytes(),
            6 => list.order = field.bytes(),
            _ => {}
        }
    }
    list
}

/// Returns the blob numbers in the `ids` of a list. `next` is the number of the next blob.
pub(super) fn ids(ids: &[u8], next: u32) -> impl Iterator<Item = u32> {
    let mut last = i64::from(next);
    packed(ids).map(move |delta| {
        last = last.saturating_add(unzigzag(delta));
        u32::try_from(last).unwrap_or(u32::MAX)
    })
}

/// The size of traffic without content: of another protocol, or missing.
pub(super) struct TrafficCounts {
    /// Direction of traffic of another protocol.
    pub(super) dir: Dir,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// Cause of a gap.
    pub(super) cause: GapCause,
    /// Direction of a gap.
    pub(super) gap_dir: Option<Dir>,
}

pub(super) fn counts(bytes: &[u8]) -> TrafficCounts {
    let mut counts =
        TrafficCounts { dir: Dir::Req, messages: 0, bytes: 0, cause: GapCause::Lost, gap_dir: None };
    for field in fields(bytes) {
        match field.number {
            3 if field.varint() != 0 => counts.dir = Dir::Resp,
            4 => counts.messages = field.varint().min(MAX_COUNT),
            5 => counts.bytes = field.varint().min(MAX_COUNT),
            6 => counts.cause = gap_cause(field.varint()),
            7 => {
                counts.gap_dir = match field.varint() {
                    1 => Some(Dir::Req),
                    2 => Some(Dir::Resp),
                    _ => None,
                }
            }
            _ => {}
        }
    }
    counts
}

/// Returns the cause of a gap. An unknown number stands for a loss.
fn gap_cause(number: u64) -> GapCause {
    usize::try_from(number).ok().and_then(|at| GapCause::ALL.get(at).copied()).unwrap_or_default()
}

/// Returns `None` for an unknown kind of interference.
pub(super) fn intercepted(bytes: &[u8]) -> Option<Intervention> {
    let mut interference = None;
    let (mut texts, mut messages) = ([const { String::new() }; 4], [None, None]);
    let (mut dir, mut sent_dir, mut is_delta) = (Dir::Req, Dir::Req, false);
    for field in fields(bytes) {
        match field.number {
            3 => interference = Interference::parse(&field.text()),
            4 if field.varint() != 0 => dir = Dir::Resp,
            5..=8 => texts[field.number as usize - 5] = text(&field),
            9 | 10 if field.bytes().len() <= Intervention::MAX_BYTES => {
                messages[field.number as usize - 9] = Some(Bytes::copy_from_slice(field.bytes()));
            }
            11 if field.varint() != 0 => sent_dir = Dir::Resp,
            12 => is_delta = field.varint() != 0,
            _ => {}
        }
    }
    let [type_url, version, nonce, by] = texts;
    let [original, sent] = messages;
    let facts = InterventionFacts {
        interference: interference?,
        dir,
        is_delta,
        type_url: TypeUrl::from(type_url.as_str()),
        version: version.into(),
        nonce: nonce.into(),
        by: by.into(),
    };
    Some(Intervention { facts, original, sent, sent_dir })
}

pub(super) fn end(bytes: &[u8]) -> End {
    let mut end = End::default();
    let mut message = String::new();
    let mut code = None;
    for field in fields(bytes) {
        match (field.number, field.value) {
            (3, Value::Varint(1)) => end.by = Some(Side::Client),
            (3, Value::Varint(2)) => end.by = Some(Side::Server),
            (4, Value::Varint(value)) => code = Some(Code(unzigzag(value) as i32)),
            (5, _) => message = text(&field),
            (6, _) => end.reset = Some(u32_of(&field)),
            (7, _) => end.note = Some(text(&field)),
            _ => {}
        }
    }
    end.status = code.map(|code| (code, message));
    end
}
