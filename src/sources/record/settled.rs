use std::io::Read;

use super::block::{BlockScanner, ScannedItem};
use super::error::RecordReadError;
use super::header::Header;
use super::recording_reader::MAX_UNSETTLED_BYTES;

/// Returns the offset up to which the writer of a recording leaves it as it is.
///
/// `input` is the recording from `from` on, which is 0 or such an offset. Blocks that wait for
/// their place follow it.
///
/// # Errors
///
/// The input can't be read, or its header is damaged.
pub fn settled_end(mut input: impl Read, from: u64) -> Result<u64, RecordReadError> {
    let mut end = if from == 0 { Header::read(&mut input)?.1 } else { from };
    let mut blocks = BlockScanner::new(input, end);
    let mut has_gap = false;
    loop {
        match blocks.next()? {
            ScannedItem::Block(block, packed) if !block.is_loose => {
                // Behind so many bytes, the writer has given up what waits for its place.
                if !has_gap || block.start() - end > MAX_UNSETTLED_BYTES as u64 {
                    end = block.offset + packed.len() as u64;
                    has_gap = false;
                }
            }
            ScannedItem::End | ScannedItem::Cut { .. } => return Ok(end),
            _ => has_gap = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::{BlockKind, encode};
    use super::*;

    #[test]
    fn ends_before_what_is_written_again() {
        let header = Header { created: 1, seed: 2, ..Header::default() }.encode();
        let packed = encode(BlockKind::Packed, true, b"one", 3);
        let loose = encode(BlockKind::Loose, false, b"two", 3);
        let moving = encode(BlockKind::Moving(9), false, &packed, 3);
        let settled = (header.len() + packed.len()) as u64;
        for rest in [&[][..], &loose, &moving, &loose[..9], b"junk", &[&loose[..], &packed].concat()] {
            let file = [&header[..], &packed, rest].concat();
            assert_eq!(settled_end(&file[..], 0).unwrap(), settled, "{rest:?}");
            assert_eq!(settled_end(&file[settled as usize..], settled).unwrap(), settled, "{rest:?}");
        }
        assert_eq!(settled_end(&header[..], 0).unwrap(), header.len() as u64);
        assert!(settled_end(&header[..9], 0).is_err());
    }

    #[test]
    fn loose_blocks_far_behind_are_given_up() {
        let header = Header::default().encode();
        let loose = encode(BlockKind::Loose, true, &[7; 1 << 20], 1 << 20);
        let packed = encode(BlockKind::Packed, true, b"one", 3);
        let file = [&header[..], &loose.repeat(5), &packed].concat();
        assert_eq!(settled_end(&file[..], 0).unwrap(), file.len() as u64);
    }
}
