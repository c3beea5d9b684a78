//! Header blocks that refer to no table.

use bytes::Bytes;
use loona_hpack::encoder::encode_integer;

use super::{CONTINUATION, END_HEADERS, HEADERS};

/// Largest frame payload that every peer accepts, in bytes.
pub(super) const MAX_FRAME_BYTES: usize = 16 << 10;

/// The name and value of a header field.
pub(super) type HeaderField = (Vec<u8>, Vec<u8>);

/// Appends fields as literals.
///
/// Never indexes a field: the decoder does not report which fields the sender marked as never
/// indexed, and a secret must not enter a table behind the receiver.
pub(super) fn put_literals(out: &mut Vec<u8>, fields: &[HeaderField]) {
    for (name, value) in fields {
        out.push(0x10);
        for text in [name, value] {
            out.extend(encode_integer(text.len(), 7));
            out.extend(text);
        }
    }
}

/// Returns the table size updates at the start of a readable header block.
pub(super) fn size_updates(block: &[u8]) -> &[u8] {
    let mut rest = block;
    while let Some((first, tail)) = rest.split_first()
        && first & 0xe0 == 0x20
    {
        let more = match first & 0x1f {
            0x1f => tail.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1,
            _ => 0,
        };
        rest = tail.get(more..).unwrap_or_default();
    }
    &block[..block.len() - rest.len()]
}

/// Returns the frames of a header block. `payload` begins with the priority fields that `flags`
/// announces.
pub(super) fn block_frames(stream: u32, flags: u8, payload: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(payload.len() + 9 * (payload.len() / MAX_FRAME_BYTES + 1));
    let (mut kind, mut flags, mut rest) = (HEADERS, flags, payload);
    loop {
        let (now, later) = rest.split_at(rest.len().min(MAX_FRAME_BYTES));
        flags |= if later.is_empty() { END_HEADERS } else { 0 };
        put_head(&mut out, now.len(), kind, flags, stream);
        out.extend_from_slice(now);
        if later.is_empty() {
            return out.into();
        }
        (kind, flags, rest) = (CONTINUATION, 0, later);
    }
}

/// Appends the head of a frame.
pub(super) fn put_head(out: &mut Vec<u8>, len: usize, kind: u8, flags: u8, stream: u32) {
    out.extend_from_slice(&(len as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}
