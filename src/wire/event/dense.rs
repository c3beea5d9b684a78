use std::hash::{BuildHasherDefault, Hasher};

/// Hasher for maps whose keys are dense numbers, such as [`Sym`](super::Sym) and blob ids.
///
/// Only spreads the bits: peers do not choose the numbers, so nothing stronger is needed.
#[derive(Clone, Default)]
pub struct DenseHasher(u64);

impl Hasher for DenseHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Builds hashers for maps whose keys are dense numbers.
pub type DenseHash = BuildHasherDefault<DenseHasher>;
