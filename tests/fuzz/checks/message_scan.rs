use std::sync::{Arc, LazyLock};

use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::pb::{Fields, SplitError, Splitter, Value};
use xdscope_wire::{Message, MessageBody, MessageBuilder, MessageShape};

use super::Input;

const SHAPES: [MessageShape; 4] = [
    MessageShape::SotwRequest,
    MessageShape::SotwResponse,
    MessageShape::DeltaRequest,
    MessageShape::DeltaResponse,
];

/// Checks that a discovery message reads the same for any division and when repeated; that its
/// segments join to its bytes; and that it reads the same from its segments, as in a recording.
///
/// Input: a byte of setup (bits 0 and 1: the shape, bit 2: remove secrets, the others the step),
/// the message.
pub fn message_scan(data: &[u8]) {
    let mut input = Input(data);
    let setup = input.byte();
    let bytes = input.0;
    let step = 1 + usize::from(setup >> 3) * 3;
    fields(bytes);
    for limit in [1 << 20, 64] {
        split(bytes, step, limit);
    }
    message(SHAPES[usize::from(setup & 3)], bytes, step, setup & 4 != 0);
}

/// Asserts that fields are consecutive and payloads lie within their fields, up to the first
/// invalid byte.
fn fields(bytes: &[u8]) {
    let mut at = 0;
    for field in Fields::new(bytes) {
        match field {
            Ok(field) => {
                assert_eq!(bytes[at..].as_ptr(), field.raw.as_ptr());
                at += field.raw.len();
                if let Value::Len(inner) = field.value {
                    assert!(field.raw.ends_with(inner));
                }
            }
            Err(error) => {
                assert_eq!(error.offset, at);
                return;
            }
        }
    }
    assert_eq!(at, bytes.len(), "without an error all is read");
}

fn split(bytes: &[u8], step: usize, limit: usize) {
    let (whole, rest, result) = splitter(bytes, usize::MAX, limit);
    assert_eq!(splitter(bytes, step, limit), (whole.clone(), rest.clone(), result), "in steps of {step}");
    assert_eq!([whole.concat(), rest.clone()].concat(), bytes, "no byte is lost");
    let all: Vec<_> = Fields::new(bytes).map_while(Result::ok).map(|field| field.raw.to_vec()).collect();
    assert!(all.starts_with(&whole), "the fields in memory are those of the stream");
    if result.is_ok() {
        assert_eq!(all.len(), whole.len());
        assert_eq!(rest.is_empty(), Fields::new(bytes).all(|field| field.is_ok()));
    }
}

type Split = (Vec<Vec<u8>>, Vec<u8>, Result<(), SplitError>);

/// Returns the fields, the rest, and the reason of the end.
fn splitter(bytes: &[u8], step: usize, limit: usize) -> Split {
    let mut splitter = Splitter::default();
    let mut out = Vec::new();
    let mut at = 0;
    for chunk in bytes.chunks(step) {
        at += chunk.len();
        if let Err(error) = splitter.push(chunk, limit, |field| out.push(field.to_vec())) {
            return (out, [splitter.rest(), &bytes[at..]].concat(), Err(error));
        }
        // Tag and length before the longest field.
        assert!(splitter.rest().len() <= limit + 20, "no more is held than one field");
    }
    (out, splitter.rest().to_vec(), Ok(()))
}

static REDACTOR: LazyLock<Arc<dyn Redact>> =
    LazyLock::new(|| Arc::new(Redactor::new(Arc::new(Schema::default()), 7)));

fn catalog(redact: bool) -> Catalog {
    Catalog::new(7, redact.then(|| REDACTOR.clone()), Box::new(MemoryBodies::default()))
}

fn message(shape: MessageShape, bytes: &[u8], step: usize, redact: bool) {
    let mut whole = catalog(redact);
    let message = Message::parse(shape, bytes, &mut whole);
    let mut cut = catalog(redact);
    let mut builder = MessageBuilder::new(shape);
    bytes.chunks(step).for_each(|chunk| builder.push(chunk, &mut cut));
    let again = builder.finish(&mut cut).expect("within the limits");
    assert_eq!(format!("{again:?}"), format!("{message:?}"), "in steps of {step}");
    assert_eq!(message.size, bytes.len() as u64);
    // A repeated entry is recognised by its neighbours.
    for _ in 0..2 {
        let mut builder = MessageBuilder::new(shape);
        bytes.chunks(step).for_each(|chunk| builder.push(chunk, &mut cut));
        let repeated = builder.finish(&mut cut).expect("within the limits");
        assert_eq!(format!("{repeated:?}"), format!("{again:?}"), "sent again");
    }

    let kept = message.bytes(&whole).expect("all bodies are there");
    assert_eq!(again.bytes(&cut).as_ref(), Some(&kept));
    if !message.redacted {
        assert!(kept == bytes, "joined, the segments are the message");
    }
    for blob in message.resources().iter().flat_map(|list| list.blobs()) {
        let entry = whole.entry(*blob);
        assert!(whole.text(entry.name).len() <= 3 * bytes.len(), "a name comes from the message");
        assert!(entry.payload.is_none_or(|payload| whole.bytes(payload).is_some()));
    }

    let mut builder = MessageBuilder::new(shape);
    let read = whole.with_clean(|whole| {
        for segment in &message.segments {
            builder.push_segment(segment.clone(), whole);
        }
        assert_eq!(builder.size(), kept.len() as u64);
        builder.finish(whole).expect("within the limits")
    });
    assert_eq!(read.bytes(&whole), Some(kept));
    let damaged = [&read, &message].map(|message| matches!(message.body, MessageBody::Undecodable { .. }));
    assert_eq!(damaged[0], damaged[1], "read from segments: {read:?}, not {message:?}");
    // The position of damage depends on the division of the preceding bytes.
    if !damaged[0] {
        assert_eq!(format!("{:?}", read.body), format!("{:?}", message.body), "read from segments");
    }
}
