use xdscope_wire::event::{Dir, Side};
use xdscope_wire::h2::{ConnectionObserver, Event};

use super::{Input, PREFACE, http2_frame};

/// Bytes of the header fields of a request that are kept.
const MAX_KEPT_BYTES: usize = 80 << 10;

/// Checks that header blocks do not depend on their division into frames, and that a request holds
/// no more than the limit.
///
/// The blocks of a connection share a table, so that later blocks refer to fields of earlier ones.
///
/// Input: a byte with the length of fragments, then blocks: a length in two bytes and as many bytes.
pub fn header_block(data: &[u8]) {
    let mut input = Input(data);
    let step = usize::from(input.byte()) + 1;
    let mut blocks = Vec::new();
    while !input.is_empty() {
        let len = usize::from(input.byte()) | usize::from(input.byte() & 0x0f) << 8;
        blocks.push(input.bytes(len));
    }
    let whole = observe(&blocks, usize::MAX);
    assert_eq!(observe(&blocks, step), whole, "in fragments of {step}");
}

/// Returns the events of a connection with one request for each block.
fn observe(blocks: &[&[u8]], step: usize) -> Vec<String> {
    const HEADERS: u8 = 1;
    const CONTINUATION: u8 = 9;
    const END_HEADERS: u8 = 4;
    let mut connection = ConnectionObserver::default();
    let mut words = Vec::new();
    let mut see = |event: Event<'_>| {
        if let Event::Open { head, .. } = &event {
            let kept: usize = head.metadata.iter().map(|(name, value)| name.len() + value.len()).sum();
            assert!(kept <= 4 * MAX_KEPT_BYTES, "{kept} bytes");
        }
        words.push(format!("{event:?}"));
    };
    connection.feed(Dir::Req, PREFACE, &mut see);
    for (stream, block) in (1..).step_by(2).zip(blocks) {
        let mut parts = block.chunks(step.min(block.len().max(1))).peekable();
        let first = parts.next().unwrap_or_default();
        let flags = |is_last: bool| if is_last { END_HEADERS } else { 0 };
        let head = http2_frame(HEADERS, flags(parts.peek().is_none()), stream, first);
        connection.feed(Dir::Req, &head, &mut see);
        while let Some(part) = parts.next() {
            let next = http2_frame(CONTINUATION, flags(parts.peek().is_none()), stream, part);
            connection.feed(Dir::Req, &next, &mut see);
        }
    }
    connection.close(Some(Side::Client), None, &mut see);
    words
}
