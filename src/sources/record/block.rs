use std::hash::Hasher;
use std::io::{self, Read};

use memchr::memmem;
use twox_hash::XxHash3_64;

const MARKER: [u8; 2] = [0xd5, 0xb1];
/// Marker, kind, two lengths, check.
const HEAD: usize = 13;
/// In front of the packed bytes of a moving block: where it goes.
const HOME: usize = 8;
/// No block is longer, packed or not.
const MAX: usize = 1 << 20;
/// Places that look like a block and are none, after which the rest of a file is given up: a hostile file could
/// be made of nothing else.
const MAX_FALSE: u32 = 100_000;

/// A block's place in the file, for reading it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The packed bytes' offset in the file, and their length.
    pub at: u64,
    pub packed: u32,
    /// Length unpacked.
    pub raw: u32,
    /// The first of a segment.
    pub first: bool,
    /// Holds its bytes as they are, until a packed block takes its place.
    pub loose: bool,
}

impl Block {
    /// Where a block begins that is in its place.
    pub(super) fn start(&self) -> u64 {
        self.at - HEAD as u64
    }

    /// Its length in its place.
    pub(super) fn len(&self) -> u64 {
        HEAD as u64 + u64::from(self.packed)
    }
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Packed,
    Loose,
    /// Packed blocks, whole, that are on their way to this offset, where they take the place of loose ones.
    Moving(u64),
}

/// A whole block as it stands in the file. Both lengths must be at most a mebibyte.
pub(super) fn encode(kind: Kind, first: bool, packed: &[u8], raw: usize) -> Vec<u8> {
    let (number, home) = match &kind {
        Kind::Packed => (1, None),
        Kind::Loose => (3, None),
        Kind::Moving(home) => (5, Some(home.to_le_bytes())),
    };
    let home = home.as_ref().map_or(&[][..], |home| home);
    let mut out = Vec::with_capacity(HEAD + home.len() + packed.len());
    out.extend_from_slice(&MARKER);
    out.push(if first { number } else { number + 1 });
    out.extend_from_slice(&((home.len() + packed.len()) as u32).to_le_bytes()[..3]);
    out.extend_from_slice(&(raw as u32).to_le_bytes()[..3]);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(home);
    out.extend_from_slice(packed);
    let sum = sum(&out);
    out[9..HEAD].copy_from_slice(&sum);
    out
}

/// The check of a block: of everything but the check itself.
fn sum(block: &[u8]) -> [u8; 4] {
    let mut hash = XxHash3_64::new();
    hash.write(&block[..9]);
    hash.write(&block[HEAD..]);
    (hash.finish() as u32).to_le_bytes()
}

/// What comes next in a file.
pub(super) enum Next {
    Block(Block, Vec<u8>),
    /// Packed blocks that were on their way to the offset `home`. Here they begin at `at`.
    Moving {
        home: u64,
        at: u64,
        blocks: Vec<u8>,
    },
    /// These bytes are no block; one or the end follows.
    Damage {
        at: u64,
        bytes: u64,
    },
    /// The file ends within a block, which began at `at`.
    Cut {
        at: u64,
        bytes: u64,
    },
    End,
}

/// Reads blocks in order, over damage.
pub(super) struct Blocks<R> {
    input: R,
    /// Bytes read and not used, from `from` on; that one is at `at` in the file.
    held: Vec<u8>,
    from: usize,
    at: u64,
    false_starts: u32,
}

enum Try {
    Whole(Kind, Block),
    Not,
    /// The file ends within it. `sealed`: what it holds is not searched for blocks.
    Short {
        sealed: bool,
    },
}

impl<R: Read> Blocks<R> {
    /// `at`: where in the file `input` stands.
    pub(super) fn new(input: R, at: u64) -> Self {
        Blocks { input, held: Vec::new(), from: 0, at, false_starts: 0 }
    }

    /// Holds at least `want` unused bytes, unless the file ends before.
    fn fill(&mut self, want: usize) -> io::Result<()> {
        if self.held.len() - self.from >= want {
            return Ok(());
        }
        self.held.drain(..self.from);
        self.from = 0;
        let more = (want - self.held.len()).max(64 << 10) as u64;
        (&mut self.input).take(more).read_to_end(&mut self.held)?;
        Ok(())
    }

    fn rest(&self) -> &[u8] {
        &self.held[self.from..]
    }

    fn skip(&mut self, bytes: usize) {
        self.from += bytes;
        self.at += bytes as u64;
    }

    fn attempt(&mut self) -> io::Result<Try> {
        self.fill(HEAD)?;
        let Some(head) = self.rest().first_chunk::<HEAD>() else {
            let rest = self.rest();
            let shared = rest.len().min(MARKER.len());
            return Ok(if rest[..shared] == MARKER[..shared] {
                Try::Short { sealed: false }
            } else {
                Try::Not
            });
        };
        let &[m0, m1, kind, p0, p1, p2, r0, r1, r2, ..] = head;
        let (packed, raw) = (u32::from_le_bytes([p0, p1, p2, 0]), u32::from_le_bytes([r0, r1, r2, 0]));
        if [m0, m1] != MARKER || !matches!(kind, 1..=6) || packed.max(raw) as usize > MAX {
            return Ok(Try::Not);
        }
        let loose = matches!(kind, 3 | 4);
        let len = HEAD + packed as usize;
        self.fill(len)?;
        let Some(block) = self.rest().get(..len) else { return Ok(Try::Short { sealed: kind >= 3 }) };
        if sum(block)[..] != block[9..HEAD] {
            return Ok(Try::Not);
        }
        let block = Block { at: self.at + HEAD as u64, packed, raw, first: kind % 2 == 1, loose };
        if kind < 5 {
            return Ok(Try::Whole(Kind::Packed, block));
        }
        let Some((home, _)) = self.rest()[HEAD..len].split_first_chunk::<HOME>() else { return Ok(Try::Not) };
        let (at, packed) = (block.at + HOME as u64, block.packed - HOME as u32);
        Ok(Try::Whole(Kind::Moving(u64::from_le_bytes(*home)), Block { at, packed, ..block }))
    }

    pub(super) fn next(&mut self) -> io::Result<Next> {
        let start = self.at;
        self.fill(HEAD)?;
        if self.rest().is_empty() {
            return Ok(Next::End);
        }
        let mut cut = false;
        loop {
            match self.attempt()? {
                Try::Whole(..) if self.at > start => break,
                Try::Whole(kind, block) => {
                    self.skip((block.at - self.at) as usize);
                    let packed = self.rest()[..block.packed as usize].to_vec();
                    self.skip(packed.len());
                    return Ok(match kind {
                        Kind::Moving(home) => Next::Moving { home, at: block.at, blocks: packed },
                        _ => Next::Block(block, packed),
                    });
                }
                // A loose one holds what peers sent as it came, so it isn't searched: blocks in there are forged. Those in
                // a moving one are the loose ones' again. Nothing of worth can follow, if only its length is damaged:
                // that segment ends here.
                Try::Short { sealed: true } if self.at > start => break,
                Try::Short { sealed: true } => {
                    cut = true;
                    self.skip(self.rest().len());
                    break;
                }
                // At the very end this is a block that was not finished; elsewhere a length that is damaged.
                Try::Short { sealed: false } => cut |= self.at == start,
                Try::Not => {}
            }
            if !self.seek()? {
                break;
            }
        }
        let (at, bytes) = (start, self.at - start);
        let ended = self.rest().is_empty();
        Ok(if cut && ended { Next::Cut { at, bytes } } else { Next::Damage { at, bytes } })
    }

    /// Moves on to what may be the next marker. False: there is none, all is skipped.
    fn seek(&mut self) -> io::Result<bool> {
        self.false_starts += 1;
        let given_up = self.false_starts > MAX_FALSE;
        self.skip(1.min(self.rest().len()));
        loop {
            self.fill(HEAD)?;
            if self.rest().len() < MARKER.len() {
                self.skip(self.rest().len());
                return Ok(false);
            }
            let found = if given_up { None } else { memmem::find(self.rest(), &MARKER) };
            match found {
                Some(place) => {
                    self.skip(place);
                    return Ok(true);
                }
                // The last byte may be the first of a marker.
                None => self.skip(self.rest().len() - 1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(bytes: &[u8]) -> Vec<String> {
        let mut blocks = Blocks::new(bytes, 0);
        let mut out = Vec::new();
        loop {
            out.push(match blocks.next().unwrap() {
                Next::Block(block, packed) => {
                    assert_eq!(&bytes[block.at as usize..][..packed.len()], packed);
                    String::from_utf8(packed).unwrap()
                }
                Next::Moving { .. } => "moving".to_owned(),
                Next::Damage { at, bytes } => format!("damage {at}+{bytes}"),
                Next::Cut { at, bytes } => format!("cut {at}+{bytes}"),
                Next::End => return out,
            });
        }
    }

    #[test]
    fn no_block_is_found_within_a_loose_one_that_is_cut() {
        let inner = encode(Kind::Packed, true, b"forged", 6);
        let loose = encode(Kind::Loose, true, &[&inner[..], b"more"].concat(), inner.len() + 4);
        for before in [encode(Kind::Packed, true, b"one", 3), b"junk".to_vec()] {
            let file = [&before[..], &loose].concat();
            for end in before.len() + HEAD..file.len() {
                let found = scan(&file[..end]);
                let cut = format!("cut {}+{}", before.len(), end - before.len());
                assert_eq!(found.last(), Some(&cut), "{found:?}");
                assert_eq!(found.len(), 2, "{found:?}");
            }
        }
    }

    #[test]
    fn damage_costs_the_blocks_that_it_hits() {
        let block = |first, text: &[u8]| encode(Kind::Packed, first, text, text.len());
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
