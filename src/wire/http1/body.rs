use super::error::Http1Error;
use super::head::Head;

/// The body of a message, up to what has arrived.
#[derive(Debug)]
pub(super) struct BodyReader {
    bytes: Vec<u8>,
    rest: Rest,
}

/// The part of the body that comes next.
#[derive(Debug, PartialEq, Eq)]
enum Rest {
    Bytes(usize),
    /// The line with the size of the next chunk.
    Chunk,
    /// The rest of a chunk, and the line end after it.
    InChunk(usize),
    /// Trailers, up to an empty line.
    Trailers,
    /// All bytes until the connection ends.
    UntilClose,
}

/// Longest chunk size line or trailer, in bytes.
const MAX_LINE_BYTES: usize = 8 << 10;

/// Longest body of a request or a response, in bytes. Bodies are held until they are complete, and
/// decoded at once.
pub const MAX_BODY_BYTES: usize = 16 << 20;

impl BodyReader {
    pub(super) fn of_request(head: &Head) -> Result<BodyReader, Http1Error> {
        BodyReader::new(head, Rest::Bytes(0))
    }

    /// Creates the body of a response, which is empty if the request was a HEAD.
    pub(super) fn of_response(head: &Head, is_head: bool) -> Result<BodyReader, Http1Error> {
        let none = is_head || matches!(head.status(), Some(100..200 | 204 | 304));
        if none {
            Ok(BodyReader { bytes: Vec::new(), rest: Rest::Bytes(0) })
        } else {
            BodyReader::new(head, Rest::UntilClose)
        }
    }

    fn new(head: &Head, without: Rest) -> Result<BodyReader, Http1Error> {
        let chunked = head.field("transfer-encoding").is_some_and(|codings| {
            codings.rsplit(',').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("chunked"))
        });
        let rest = match (chunked, head.field("content-length")) {
            (true, _) => Rest::Chunk,
            (false, Some(length)) => Rest::Bytes(length.parse().map_err(|_| Http1Error::ContentLength)?),
            (false, None) => without,
        };
        Ok(BodyReader { bytes: Vec::new(), rest })
    }

    pub(super) fn is_whole(&self) -> bool {
        self.rest == Rest::Bytes(0)
    }

    pub(super) fn until_close(&self) -> bool {
        self.rest == Rest::UntilClose
    }

    /// Memory of the body so far, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Reads the bytes at the start of `buffer` that belong to the body, and returns their number.
    pub(super) fn take(&mut self, buffer: &[u8]) -> Result<usize, Http1Error> {
        let mut used = 0;
        loop {
            let input = buffer.get(used..).unwrap_or_default();
            let before = used;
            match &mut self.rest {
                Rest::Bytes(left) => {
                    let taken = (*left).min(input.len());
                    *left -= taken;
                    self.bytes.extend_from_slice(input.get(..taken).unwrap_or_default());
                    return Ok(used + taken).and_then(|used| self.within(used));
                }
                Rest::UntilClose => {
                    self.bytes.extend_from_slice(input);
                    return self.within(buffer.len());
                }
                Rest::Chunk => {
                    if let Some(line) = line(input)? {
                        used += line.len() + 2;
                        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
                        let digits = String::from_utf8_lossy(digits);
                        let size =
                            usize::from_str_radix(digits.trim(), 16).map_err(|_| Http1Error::ChunkSize)?;
                        self.rest = if size == 0 { Rest::Trailers } else { Rest::InChunk(size) };
                    }
                }
                Rest::InChunk(0) => {
                    if input.len() >= 2 {
                        used += 2;
                        self.rest = Rest::Chunk;
                    }
                }
                Rest::InChunk(left) => {
                    let taken = (*left).min(input.len());
                    *left -= taken;
                    used += taken;
                    self.bytes.extend_from_slice(input.get(..taken).unwrap_or_default());
                }
                Rest::Trailers => {
                    if let Some(line) = line(input)? {
                        used += line.len() + 2;
                        if line.is_empty() {
                            self.rest = Rest::Bytes(0);
                            return Ok(used);
                        }
                    }
                }
            }
            self.within(used)?;
            if used == before {
                return Ok(used);
            }
        }
    }

    fn within(&self, used: usize) -> Result<usize, Http1Error> {
        if self.bytes.len() > MAX_BODY_BYTES { Err(Http1Error::LargeBody) } else { Ok(used) }
    }
}

/// Returns the line at the start of `input` without its end; `None` while incomplete.
fn line(input: &[u8]) -> Result<Option<&[u8]>, Http1Error> {
    match memchr::memmem::find(input, b"\r\n") {
        Some(end) => Ok(input.get(..end)),
        None if input.len() > MAX_LINE_BYTES => Err(Http1Error::LongLine),
        None => Ok(None),
    }
}
