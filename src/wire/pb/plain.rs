//! Values without tags, for storage within the process.

use super::{put_varint, read_varint};

/// Appends values.
#[derive(Default)]
pub struct Put(pub Vec<u8>);

impl Put {
    /// Appends a number.
    pub fn number(&mut self, value: u64) {
        put_varint(&mut self.0, value);
    }

    /// Appends a boolean.
    pub fn flag(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    /// Appends bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Appends an optional value with `put`.
    pub fn maybe<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Put, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
    }

    /// Appends a list of values, each with `put`.
    pub fn each<T>(&mut self, values: impl ExactSizeIterator<Item = T>, mut put: impl FnMut(&mut Put, T)) {
        self.number(values.len() as u64);
        values.for_each(|value| put(self, value));
    }

    /// Appends ids as differences, because consecutive ids are usually close to each other.
    pub fn ids(&mut self, ids: impl ExactSizeIterator<Item = u32>) {
        let mut last = 0;
        self.each(ids, |put, id| {
            let step = i64::from(id) - i64::from(last);
            put.number((step << 1 ^ step >> 63) as u64);
            last = id;
        });
    }
}

/// Reads values in the order in which [`Put`] wrote them. `None` means malformed bytes.
pub struct Take<'a>(&'a [u8]);

impl<'a> Take<'a> {
    /// Creates a reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Take<'a> {
        Take(bytes)
    }

    /// Reads a number.
    pub fn number(&mut self) -> Option<u64> {
        let (value, len) = read_varint(self.0)?;
        self.0 = &self.0[len..];
        Some(value)
    }

    /// Reads a number of 32 bits.
    pub fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// Reads a boolean.
    pub fn flag(&mut self) -> Option<bool> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first != 0)
    }

    /// Reads bytes.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads a text.
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// Reads an optional value with `take`.
    pub fn maybe<T>(&mut self, take: impl FnOnce(&mut Take<'a>) -> Option<T>) -> Option<Option<T>> {
        Some(if self.flag()? { Some(take(self)?) } else { None })
    }

    /// Reads a list of values, each with `take`.
    pub fn each<T>(&mut self, mut take: impl FnMut(&mut Take<'a>) -> Option<T>) -> Option<Vec<T>> {
        let len = usize::try_from(self.number()?).ok()?;
        // Each value takes at least one byte.
        let mut out = Vec::with_capacity(len.min(self.0.len()));
        for _ in 0..len {
            out.push(take(self)?);
        }
        Some(out)
    }

    /// Reads ids.
    pub fn ids(&mut self) -> Option<Vec<u32>> {
        let mut last = 0u32;
        self.each(|take| {
            let step = take.number()?;
            last = last.wrapping_add((step >> 1) as u32 ^ (step & 1).wrapping_neg() as u32);
            Some(last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_values_that_were_written() {
        let ids = [7, 8, 9, 0, u32::MAX, 3, 3];
        let mut put = Put::default();
        put.number(u64::MAX);
        put.ids(ids.into_iter());
        put.text("né");
        put.maybe(Some(&b"x"[..]), Put::bytes);
        put.maybe(None, Put::bytes);
        let mut take = Take::new(&put.0);
        assert_eq!(take.number(), Some(u64::MAX));
        assert_eq!(take.ids().as_deref(), Some(&ids[..]));
        assert_eq!(take.text(), Some("né"));
        assert_eq!(take.maybe(Take::bytes), Some(Some(&b"x"[..])));
        assert_eq!(take.maybe(Take::bytes), Some(None));
        assert_eq!(take.number(), None);
        for end in 0..put.0.len() {
            let mut take = Take::new(&put.0[..end]);
            let all = (|| {
                take.number()?;
                take.ids()?;
                take.text()?;
                take.maybe(Take::bytes)?;
                take.maybe(Take::bytes)
            })();
            assert_eq!(all, None, "cut at {end}");
        }
    }
}
