use super::*;

/// Splits a message that arrives in chunks into its top-level fields.
///
/// Holds at most one field. A field within a chunk is returned in place; only a field that a chunk
/// boundary cuts is copied.
#[derive(Debug, Default)]
pub struct Splitter {
    /// Bytes of a field that the previous chunk left incomplete.
    cut: Vec<u8>,
    /// Bytes that `cut` needs before it can hold a complete field; zero if not known yet.
    needed: usize,
    /// `cut` holds a complete field that was returned already.
    given: bool,
}

/// Bytes by which the memory of an incomplete field grows at least, unless fewer complete it.
const MIN_GROWTH_BYTES: usize = 16 << 10;

/// The reason why a message cannot be split. [`Splitter::rest`] has the remaining bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// The bytes are not a protobuf field.
    #[error("not a protobuf field")]
    Malformed,
    /// A field is longer than the limit; its length in bytes.
    #[error("a single field of {0} bytes is over the limit")]
    TooLarge(u64),
}

enum Need {
    /// The first field ends at this offset.
    Whole(usize),
    /// At least this many bytes are needed.
    More(usize),
}

/// Measures the field at the start of `bytes`.
fn measure(bytes: &[u8], limit: usize) -> Result<Need, SplitError> {
    let Some((tag, at)) = read_varint(bytes) else {
        return if bytes.len() >= 10 { Err(SplitError::Malformed) } else { Ok(Need::More(bytes.len() + 1)) };
    };
    if tag >> 3 == 0 || tag >> 3 >= 1 << 29 {
        return Err(SplitError::Malformed);
    }
    let end = match (tag & 7) as u8 {
        WIRE_VARINT => match read_varint(&bytes[at..]) {
            Some((_, used)) => at + used,
            None if bytes.len() - at >= 10 => return Err(SplitError::Malformed),
            None => return Ok(Need::More(bytes.len() + 1)),
        },
        WIRE_I64 => at + 8,
        WIRE_I32 => at + 4,
        WIRE_LEN => match read_varint(&bytes[at..]) {
            Some((len, used)) if len <= limit as u64 => at + used + len as usize,
            Some((len, _)) => return Err(SplitError::TooLarge(len)),
            None if bytes.len() - at >= 10 => return Err(SplitError::Malformed),
            None => return Ok(Need::More(bytes.len() + 1)),
        },
        // The discovery messages have no groups: treat one as malformed.
        _ => return Err(SplitError::Malformed),
    };
    Ok(if end <= bytes.len() { Need::Whole(end) } else { Need::More(end) })
}

impl Splitter {
    /// Reads the next chunk and calls `field` with each complete field, tag included, in order.
    ///
    /// `limit` bounds the length of a single field in bytes, and with it the memory in use.
    ///
    /// # Errors
    ///
    /// If the bytes are not protobuf fields, or a field is longer than `limit`.
    pub fn push(
        &mut self,
        mut chunk: &[u8],
        limit: usize,
        mut field: impl FnMut(&[u8]),
    ) -> Result<(), SplitError> {
        while let Some(raw) = self.field(&mut chunk, limit)? {
            field(raw);
        }
        Ok(())
    }

    /// Returns the next complete field, tag included, and advances `chunk` past it.
    ///
    /// `None` when the chunk is used up; the next chunk continues there.
    ///
    /// # Errors
    ///
    /// Like [`push`](Splitter::push). The chunk is used up then, too.
    pub fn field<'a, 'c: 'a>(
        &'a mut self,
        chunk: &mut &'c [u8],
        limit: usize,
    ) -> Result<Option<&'a [u8]>, SplitError> {
        if self.given {
            self.given = false;
            self.cut.clear();
            self.needed = 0;
        }
        while !self.cut.is_empty() && !chunk.is_empty() {
            let need = if self.needed > self.cut.len() { self.needed - self.cut.len() } else { 1 };
            let (part, rest) = chunk.split_at(need.min(chunk.len()));
            self.extend(part);
            *chunk = rest;
            if self.cut.len() < self.needed {
                break;
            }
            match measure(&self.cut, limit) {
                Ok(Need::Whole(_)) => {
                    self.given = true;
                    return Ok(Some(&self.cut));
                }
                Ok(Need::More(needed)) => self.needed = needed,
                Err(error) => return Err(self.fail(chunk, error)),
            }
        }
        if chunk.is_empty() {
            return Ok(None);
        }
        match measure(chunk, limit) {
            Ok(Need::Whole(end)) => {
                let (field, rest) = chunk.split_at(end);
                *chunk = rest;
                Ok(Some(field))
            }
            Ok(Need::More(needed)) => {
                self.needed = needed;
                self.extend(chunk);
                *chunk = &[];
                Ok(None)
            }
            Err(error) => Err(self.fail(chunk, error)),
        }
    }

    /// Appends to the incomplete field. Doubling its memory each time would take twice what the
    /// limits allow.
    fn extend(&mut self, part: &[u8]) {
        let len = self.cut.len();
        if self.cut.capacity() - len < part.len() {
            let left = self.needed.saturating_sub(len).max(part.len());
            self.cut.reserve_exact((len / 4).max(MIN_GROWTH_BYTES).max(part.len()).min(left));
        }
        self.cut.extend_from_slice(part);
    }

    fn fail(&mut self, chunk: &mut &[u8], error: SplitError) -> SplitError {
        self.cut.extend_from_slice(chunk);
        *chunk = &[];
        error
    }

    /// Returns the bytes that were not part of a complete field; empty after a complete message.
    pub fn rest(&self) -> &[u8] {
        if self.given { &[] } else { &self.cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(bytes: &[u8], step: usize) -> Vec<Vec<u8>> {
        let mut splitter = Splitter::default();
        let mut out = Vec::new();
        for chunk in bytes.chunks(step) {
            splitter.push(chunk, 1 << 20, |field| out.push(field.to_vec())).expect("whole fields");
        }
        assert!(splitter.rest().is_empty());
        out
    }

    #[test]
    fn splits_the_same_fields_in_any_chunks() {
        let mut bytes = Vec::new();
        put_len_field(&mut bytes, 1, b"version");
        put_len_field(&mut bytes, 2, &[7; 300]);
        put_tag(&mut bytes, 3, WIRE_VARINT);
        put_varint(&mut bytes, 1 << 40);
        put_len_field(&mut bytes, 200, b"");
        let whole: Vec<_> =
            Fields::new(&bytes).map(|f| f.map(|f| f.raw.to_vec()).unwrap_or_default()).collect();
        for step in 1..bytes.len() + 1 {
            assert_eq!(split(&bytes, step), whole, "chunks of {step}");
        }
    }

    #[test]
    fn keeps_every_byte_after_malformed_field() {
        let mut splitter = Splitter::default();
        let mut seen = Vec::new();
        let result = splitter.push(b"\x0a\x02ok\x07rest", 100, |f| seen.extend_from_slice(f));
        assert_eq!(result, Err(SplitError::Malformed));
        assert_eq!((seen.as_slice(), splitter.rest()), (&b"\x0a\x02ok"[..], &b"\x07rest"[..]));
    }

    #[test]
    fn refuses_field_over_limit_without_holding_it() {
        let mut splitter = Splitter::default();
        let result = splitter.push(b"\x0a\xff\xff\xff\xff\x0f", 1000, |_| ());
        assert_eq!(result, Err(SplitError::TooLarge(0xffff_ffff)));
    }
}
