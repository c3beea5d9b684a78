//! Parts of secrets that were redacted before, to find them in texts.

use std::collections::HashMap;
use std::ops::Range;

use twox_hash::XxHash3_64;

use super::readings::TextReading;

/// Length of a part, in bytes. Shorter parts match ordinary text.
const PART_BYTES: usize = 12;

/// Length of the shortest secret that is recognized by its parts, in bytes.
const MIN_SECRET_BYTES: usize = 16;

/// Fewest different bytes of a part.
const MIN_DIFFERENT: usize = 5;

/// Parts that are kept of one secret.
const MAX_PARTS_PER_SECRET: usize = 256;

/// Parts in each of the two generations.
const MAX_PARTS: usize = 1 << 18;

/// Keyed hashes of the parts of secrets, without regard to case.
///
/// Two generations bound the memory: once the newer one is full, it replaces the older one.
#[derive(Default)]
pub(super) struct KnownParts {
    newer: HashMap<u64, Secret>,
    older: HashMap<u64, Secret>,
}

/// The length and the hash of a secret.
pub(super) type Secret = (u32, u64);

impl KnownParts {
    /// Adds the parts of a secret.
    pub(super) fn add(&mut self, seed: u64, bytes: &[u8], secret: Secret) {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`{}[]()<>,;\\".contains(byte);
        let mut left = MAX_PARTS_PER_SECRET;
        for word in bytes.split(ends).filter(|word| is_token(word)) {
            let reading = TextReading::of(word);
            for part in reading.bytes.windows(PART_BYTES).filter(|part| is_telling(part)).take(left) {
                if self.newer.len() >= MAX_PARTS {
                    self.older = std::mem::take(&mut self.newer);
                }
                self.newer.insert(hash(seed, part), secret);
                left -= 1;
            }
        }
    }

    /// Returns the ranges of a reading that are parts of secrets, in order.
    pub(super) fn find(&self, seed: u64, reading: &[u8]) -> Vec<(Range<usize>, Secret)> {
        let mut found: Vec<(Range<usize>, Secret)> = Vec::new();
        if self.newer.is_empty() && self.older.is_empty() {
            return found;
        }
        for (at, part) in reading.windows(PART_BYTES).enumerate() {
            let hash = hash(seed, part);
            let Some(secret) = self.newer.get(&hash).or_else(|| self.older.get(&hash)) else { continue };
            let end = at + PART_BYTES;
            match found.last_mut() {
                Some((last, of)) if of == secret && last.end >= at => last.end = end,
                _ => found.push((at..end, *secret)),
            }
        }
        found
    }
}

fn hash(seed: u64, part: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, part)
}

/// Whether a word of a secret is a secret rather than a word, a URL or the head of a block.
fn is_token(word: &[u8]) -> bool {
    word.len() >= MIN_SECRET_BYTES
        && !word.starts_with(b"-----")
        && !word.windows(3).any(|three| three == b"://")
        && word.iter().any(u8::is_ascii_digit)
}

/// Whether a part has enough different bytes to tell one secret from another.
fn is_telling(part: &[u8]) -> bool {
    let mut seen = [false; 256];
    part.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count() >= MIN_DIFFERENT
}
