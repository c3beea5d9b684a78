use std::hash::Hasher;
use std::io::{self, Read};

use memchr::memmem;
use twox_hash::XxHash3_64;

const MARKER: [u8; 2] = [0xd5, 0xb1];
/// Bytes in front of a block's content: marker, kind, two lengths, checksum.
const HEADER_BYTES: usize = 13;
/// Bytes in front of the content of a moving block: its destination.
const DESTINATION_BYTES: usize = 8;
/// Most bytes of a block, compressed or not.
const MAX_BLOCK_BYTES: usize = 1 << 20;
/// False block starts after which the rest of a file is skipped. A hostile file may consist of
/// nothing else. A start with a checksum over many bytes counts several times.
const MAX_FALSE_STARTS: u32 = 100_000;
const BYTES_PER_FALSE_START: u32 = 4096;

/// The position of a block in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The offset and length of the compressed bytes.
    pub offset: u64,
    pub packed_len: u32,
    /// The length of the uncompressed bytes.
    pub raw_len: u32,
    /// Whether the block is the first of a segment.
    pub starts_segment: bool,
    /// Whether the bytes are uncompressed, until a compressed block replaces the loose one.
    pub is_loose: bool,
}

impl Block {
    /// Returns the offset of the block's marker.
    pub(super) fn start(&self) -> u64 {
        self.offset - HEADER_BYTES as u64
    }

    /// Returns the length of the block in the file.
    pub(super) fn len(&self) -> u64 {
        HEADER_BYTES as u64 + u64::from(self.packed_len)
    }
}

/// The kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Packed,
    Loose,
    /// Complete compressed blocks on their way to this offset, where they replace loose blocks.
    Moving(u64),
}

/// Encodes a block as it is written to the file. Neither length may exceed 1 MiB.
pub(super) fn encode(kind: BlockKind, first: bool, packed: &[u8], raw: usize) -> Vec<u8> {
    let (number, home) = match &kind {
        BlockKind::Packed => (1, None),
        BlockKind::Loose => (3, None),
        BlockKind::Moving(home) => (5, Some(home.to_le_bytes())),
    };
    let home = home.as_ref().map_or(&[][..], |home| home);
    let mut out = Vec::with_capacity(HEADER_BYTES + home.len() + packed.len());
    out.extend_from_slice(&MARKER);
    out.push(if first { number } else { number + 1 });
    out.extend_from_slice(&((home.len() + packed.len()) as u32).to_le_bytes()[..3]);
    out.extend_from_slice(&(raw as u32).to_le_bytes()[..3]);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(home);
    out.extend_from_slice(packed);
    let sum = checksum(&out);
    out[9..HEADER_BYTES].copy_from_slice(&sum);
    out
}

/// Computes the checksum of a block, over everything but the checksum field.
fn checksum(block: &[u8]) -> [u8; 4] {
    let mut hash = XxHash3_64::new();
    hash.write(&block[..9]);
    hash.write(&block[HEADER_BYTES..]);
    (hash.finish() as u32).to_le_bytes()
}

/// The next item found in a file.
pub(super) enum ScannedItem {
    Block(Block, Vec<u8>),
    /// Compressed blocks whose destination is the offset `home`; this copy begins at `at`.
    Moving {
        destination: u64,
        at: u64,
        blocks: Vec<u8>,
    },
    /// Bytes that are not a block. A block or the end of the file follows.
    Damage {
        at: u64,
        bytes: u64,
    },
    /// The file ends within a block that begins at `at`.
    Cut {
        at: u64,
        bytes: u64,
    },
    End,
}

/// A reader of blocks in file order, which skips damage.
pub(super) struct BlockScanner<R> {
    input: R,
    /// Bytes read from the input; those from `from` on are unused. That position is `at` in the
    /// file.
    buffer: Vec<u8>,
    from: usize,
    at: u64,
    false_starts: u32,
}

enum BlockAttempt {
    Complete(BlockKind, Block),
    NotABlock,
    /// The file ends within the block. The content of a `sealed` block is not searched for blocks.
    Truncated {
        sealed: bool,
    },
}

impl<R: Read> BlockScanner<R> {
    /// `at` is the offset of `input` in the file.
    pub(super) fn new(input: R, at: u64) -> Self {
        BlockScanner { input, buffer: Vec::new(), from: 0, at, false_starts: 0 }
    }

    /// Buffers at least `len` unused bytes, or fewer at the end of the file.
    fn fill(&mut self, len: usize) -> io::Result<()> {
        if self.buffer.len() - self.from >= len {
            return Ok(());
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        let more = (len - self.buffer.len()).max(64 << 10) as u64;
        (&mut self.input).take(more).read_to_end(&mut self.buffer)?;
        Ok(())
    }

    fn unused(&self) -> &[u8] {
        &self.buffer[self.from..]
    }

    fn skip(&mut self, bytes: usize) {
        self.from += bytes;
        self.at += bytes as u64;
    }

    fn attempt(&mut self) -> io::Result<BlockAttempt> {
        self.fill(HEADER_BYTES)?;
        let Some(head) = self.unused().first_chunk::<HEADER_BYTES>() else {
            let rest = self.unused();
            let shared = rest.len().min(MARKER.len());
            return Ok(if rest[..shared] == MARKER[..shared] {
                BlockAttempt::Truncated { sealed: false }
            } else {
                BlockAttempt::NotABlock
            });
        };
        let &[m0, m1, kind, p0, p1, p2, r0, r1, r2, ..] = head;
        let (packed, raw) = (u32::from_le_bytes([p0, p1, p2, 0]), u32::from_le_bytes([r0, r1, r2, 0]));
        if [m0, m1] != MARKER || !matches!(kind, 1..=6) || packed.max(raw) as usize > MAX_BLOCK_BYTES {
            return Ok(BlockAttempt::NotABlock);
        }
        let loose = matches!(kind, 3 | 4);
        let len = HEADER_BYTES + packed as usize;
        self.fill(len)?;
        let Some(block) = self.unused().get(..len) else {
            return Ok(BlockAttempt::Truncated { sealed: kind >= 3 });
        };
        if checksum(block)[..] != block[9..HEADER_BYTES] {
            self.false_starts += packed / BYTES_PER_FALSE_START;
            return Ok(BlockAttempt::NotABlock);
        }
        let block = Block {
            offset: self.at + HEADER_BYTES as u64,
            packed_len: packed,
            raw_len: raw,
            starts_segment: kind % 2 == 1,
            is_loose: loose,
        };
        if kind < 5 {
            return Ok(BlockAttempt::Complete(BlockKind::Packed, block));
        }
        let Some((home, _)) = self.unused()[HEADER_BYTES..len].split_first_chunk::<DESTINATION_BYTES>()
        else {
            return Ok(BlockAttempt::NotABlock);
        };
        let (at, packed) =
            (block.offset + DESTINATION_BYTES as u64, block.packed_len - DESTINATION_BYTES as u32);
        Ok(BlockAttempt::Complete(
            BlockKind::Moving(u64::from_le_bytes(*home)),
            Block { offset: at, packed_len: packed, ..block },
        ))
    }

    pub(super) fn next(&mut self) -> io::Result<ScannedItem> {
        let start = self.at;
        self.fill(HEADER_BYTES)?;
        if self.unused().is_empty() {
            return Ok(ScannedItem::End);
        }
        let mut cut = false;
        loop {
            match self.attempt()? {
                BlockAttempt::Complete(..) if self.at > start => break,
                BlockAttempt::Complete(kind, block) => {
                    self.skip((block.offset - self.at) as usize);
                    let packed = self.unused()[..block.packed_len as usize].to_vec();
                    self.skip(packed.len());
                    return Ok(match kind {
                        BlockKind::Moving(home) => {
                            ScannedItem::Moving { destination: home, at: block.offset, blocks: packed }
                        }
                        _ => ScannedItem::Block(block, packed),
                    });
                }
                // Loose blocks hold data from peers as received, so a block found within one is
                // forged. Blocks within a moving block are copies of the loose ones. If only the
                // length of this block is damaged, nothing usable follows: it ends its segment.
                BlockAttempt::Truncated { sealed: true } if self.at > start => break,
                BlockAttempt::Truncated { sealed: true } => {
                    cut = true;
                    self.skip(self.unused().len());
                    break;
                }
                // At the end of the file, the block is unfinished; elsewhere, its length is
                // damaged.
                BlockAttempt::Truncated { sealed: false } => cut |= self.at == start,
                BlockAttempt::NotABlock => {}
            }
            if !self.skip_to_marker()? {
                break;
            }
        }
        let (at, bytes) = (start, self.at - start);
        let ended = self.unused().is_empty();
        Ok(if cut && ended { ScannedItem::Cut { at, bytes } } else { ScannedItem::Damage { at, bytes } })
    }

    /// Skips to the next possible marker. Returns false if there is none.
    fn skip_to_marker(&mut self) -> io::Result<bool> {
        self.false_starts += 1;
        let given_up = self.false_starts > MAX_FALSE_STARTS;
        self.skip(1.min(self.unused().len()));
        loop {
            self.fill(HEADER_BYTES)?;
            if self.unused().len() < MARKER.len() {
                self.skip(self.unused().len());
                return Ok(false);
            }
            let found = if given_up { None } else { memmem::find(self.unused(), &MARKER) };
            match found {
                Some(place) => {
                    self.skip(place);
                    return Ok(true);
                }
                // The last byte may be the first byte of a marker.
                None => self.skip(self.unused().len() - 1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(bytes: &[u8]) -> Vec<String> {
        let mut blocks = BlockScanner::new(bytes, 0);
        let mut out = Vec::new();
        loop {
            out.push(match blocks.next().unwrap() {
                ScannedItem::Block(block, packed) => {
                    assert_eq!(&bytes[block.offset as usize..][..packed.len()], packed);
                    String::from_utf8(packed).unwrap()
                }
                ScannedItem::Moving { .. } => "moving".to_owned(),
                ScannedItem::Damage { at, bytes } => format!("damage {at}+{bytes}"),
                ScannedItem::Cut { at, bytes } => format!("cut {at}+{bytes}"),
                ScannedItem::End => return out,
            });
        }
    }

    #[test]
    fn ignores_blocks_within_truncated_loose_block() {
        let inner = encode(BlockKind::Packed, true, b"forged", 6);
        let loose = encode(BlockKind::Loose, true, &[&inner[..], b"more"].concat(), inner.len() + 4);
        for before in [encode(BlockKind::Packed, true, b"one", 3), b"junk".to_vec()] {
            let file = [&before[..], &loose].concat();
            for end in before.len() + HEADER_BYTES..file.len() {
                let found = scan(&file[..end]);
                let cut = format!("cut {}+{}", before.len(), end - before.len());
                assert_eq!(found.last(), Some(&cut), "{found:?}");
                assert_eq!(found.len(), 2, "{found:?}");
            }
        }
    }

    #[test]
    fn skips_damaged_blocks_only() {
        let block = |first, text: &[u8]| encode(BlockKind::Packed, first, text, text.len());
        let file = [block(true, b"one"), block(false, b"two"), block(true, b"three")].concat();
        assert_eq!(scan(&file), ["one", "two", "three"]);
        for at in 16..32 {
            let mut bad = file.clone();
            bad[at] ^= 0x10;
            assert_eq!(scan(&bad), ["one", "damage 16+16", "three"], "byte {at}");
        }
        for end in 33..file.len() {
            assert_eq!(scan(&file[..end]), ["one", "two", &format!("cut 32+{}", end - 32)], "cut at {end}");
        }
        let junk = [&file[..16], b"\xd5\xb1 no block \xd5", &file[16..]].concat();
        assert_eq!(scan(&junk), ["one", "damage 16+13", "two", "three"]);
    }
}
