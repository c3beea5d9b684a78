use super::*;

/// Splits one message that arrives in chunks into its top-level fields, holding at most one field at a time.
///
/// A field that lies within a chunk is handed on in place; only one that a chunk boundary cuts is copied.
#[derive(Debug, Default)]
pub struct Splitter {
    /// Bytes of a field that the last chunk left unfinished.
    cut: Vec<u8>,
    /// How long `cut` must grow before it can hold a whole field; zero while that is not known.
    want: usize,
    /// `cut` became a whole field, and was handed on.
    given: bool,
}

/// Why a message can't be split further. The bytes that were not handed on are in [`Splitter::rest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    #[error("not a protobuf field")]
    Malformed,
    #[error("a single field of {0} bytes is over the limit")]
    TooLarge(u64),
}

enum Need {
    /// The first field ends here.
    Whole(usize),
    /// This many bytes at least are needed.
    More(usize),
}

/// How long the field at the start of `bytes` is.
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
        // Groups do not occur in the discovery messages; one is as good as damage here.
        _ => return Err(SplitError::Malformed),
    };
    Ok(if end <= bytes.len() { Need::Whole(end) } else { Need::More(end) })
}

impl Splitter {
    /// Takes the next chunk; calls `field` with each whole field (tag included) in order. `limit` bounds the
    /// length of a single field, so also what is held here.
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

    /// The next whole field (tag included); `chunk` keeps what follows it. `None`: the chunk is used up, and the next
    /// one goes on where it ends. After an error nothing of it is left.
    pub fn field<'a, 'c: 'a>(
        &'a mut self,
        chunk: &mut &'c [u8],
        limit: usize,
    ) -> Result<Option<&'a [u8]>, SplitError> {
        if self.given {
            self.given = false;
            self.cut.clear();
            self.want = 0;
        }
        while !self.cut.is_empty() && !chunk.is_empty() {
            let need = if self.want > self.cut.len() { self.want - self.cut.len() } else { 1 };
            let (part, rest) = chunk.split_at(need.min(chunk.len()));
            self.cut.extend_from_slice(part);
            *chunk = rest;
            if self.cut.len() < self.want {
                break;
            }
            match measure(&self.cut, limit) {
                Ok(Need::Whole(_)) => {
                    self.given = true;
                    return Ok(Some(&self.cut));
                }
                Ok(Need::More(want)) => self.want = want,
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
            Ok(Need::More(want)) => {
                self.cut.extend_from_slice(chunk);
                self.want = want;
                *chunk = &[];
                Ok(None)
            }
            Err(error) => Err(self.fail(chunk, error)),
        }
    }

    fn fail(&mut self, chunk: &mut &[u8], error: SplitError) -> SplitError {
        self.cut.extend_from_slice(chunk);
        *chunk = &[];
        error
    }

    /// What has arrived and was not handed on: empty after a message that ended where a field ends.
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
    fn every_chunking_gives_the_same_fields() {
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
    fn damage_keeps_every_byte() {
        let mut splitter = Splitter::default();
        let mut seen = Vec::new();
        let result = splitter.push(b"\x0a\x02ok\x07rest", 100, |f| seen.extend_from_slice(f));
        assert_eq!(result, Err(SplitError::Malformed));
        assert_eq!((seen.as_slice(), splitter.rest()), (&b"\x0a\x02ok"[..], &b"\x07rest"[..]));
    }

    #[test]
    fn a_field_over_the_limit_is_refused_before_it_is_held() {
        let mut splitter = Splitter::default();
        let result = splitter.push(b"\x0a\xff\xff\xff\xff\x0f", 1000, |_| ());
        assert_eq!(result, Err(SplitError::TooLarge(0xffff_ffff)));
    }
}
