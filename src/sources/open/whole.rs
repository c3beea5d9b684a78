//! Sources that are in memory as a whole, and their limits.

use std::io::{self, Read};
use std::path::Path;

use super::{MAX_RESPONSE_BYTES, SourceError, Spec, files};
use crate::script::{self, Script};
use xdscope_schema::limits::MIN_TREE_LIMIT;
use xdscope_wire::text::has_utf16_mark;

/// Memory of a file of resources per byte of its text: the text, its tree and the messages.
/// Measured with config dumps.
pub const RESPONSE_MEMORY_PER_BYTE: u64 = 10;

/// Memory that any script may take, in bytes.
pub const MIN_SCRIPT_MEMORY: u64 = 64 << 20;

/// Reads a file of resources, or the dump of a client, that may take `memory` bytes as a whole.
///
/// # Errors
/// The file cannot be read, needs more memory, or is a text in UTF-16.
pub fn read_resources(path: &Path, memory: usize) -> Result<Vec<u8>, SourceError> {
    let spec = Spec { memory: Some(memory), ..Spec::new(path) };
    let file = files::open(path).map_err(|source| SourceError::Io { name: spec.name.clone(), source })?;
    WholeSource::new(&spec.name, &spec).response(file, files::size_of(path))
}

/// Returns the most bytes of a file of resources, or of a dump, that may take `memory` bytes.
pub fn max_response_bytes(memory: usize) -> u64 {
    let memory = memory.max(MIN_TREE_LIMIT) as u64;
    MAX_RESPONSE_BYTES.min(memory / RESPONSE_MEMORY_PER_BYTE)
}

/// A source that is read to its end, unless it needs too much memory.
pub(super) struct WholeSource<'a> {
    /// Name for messages.
    name: &'a str,
    /// Bytes of memory that the source may take.
    memory: u64,
}

impl<'a> WholeSource<'a> {
    pub(super) fn new(name: &'a str, spec: &Spec) -> WholeSource<'a> {
        WholeSource { name, memory: spec.memory.map_or(u64::MAX, |memory| memory as u64) }
    }

    /// Reads an arrow script. `size` is the length of its file in bytes, 0 if it is not known.
    pub(super) fn script(&self, input: impl Read, size: u64) -> Result<Script, SourceError> {
        let limit = self.memory.max(MIN_SCRIPT_MEMORY);
        let text = self.text(input.take(limit))?;
        let (needed, read) = (script::memory_of(&text) as u128, text.len().max(1) as u128);
        // A part was read of a longer text.
        let needed = needed * u128::from(size).max(read) / read;
        self.check(u64::try_from(needed).unwrap_or(u64::MAX), limit)?;
        let name = self.name.to_owned();
        let text = std::str::from_utf8(&text);
        let text = text.map_err(|source| SourceError::Text { name: name.clone(), source })?;
        script::parse(text, self.name).map_err(|source| SourceError::Script { name, source })
    }

    /// Reads a file of resources, or the dump of a client. `size` is the length of its file in
    /// bytes, 0 if it is not known.
    pub(super) fn response(&self, input: impl Read, size: u64) -> Result<Vec<u8>, SourceError> {
        let limit = self.memory.max(MIN_TREE_LIMIT as u64);
        let check = |bytes: u64| self.check(bytes.saturating_mul(RESPONSE_MEMORY_PER_BYTE), limit);
        check(size.min(MAX_RESPONSE_BYTES))?;
        let content = self.text(input.take(MAX_RESPONSE_BYTES.min(limit)))?;
        check(content.len() as u64)?;
        Ok(content)
    }

    fn text(&self, mut input: impl Read) -> Result<Vec<u8>, SourceError> {
        let mut text = Vec::new();
        let failed = |source: io::Error| SourceError::Io { name: self.name.to_owned(), source };
        input.read_to_end(&mut text).map_err(failed)?;
        check_encoding(self.name, &text)?;
        Ok(text)
    }

    fn check(&self, needed: u64, limit: u64) -> Result<(), SourceError> {
        if needed > limit {
            return Err(SourceError::TooLarge { name: self.name.to_owned(), needed, limit });
        }
        Ok(())
    }
}

/// Refuses a text in UTF-16.
pub(super) fn check_encoding(name: &str, head: &[u8]) -> Result<(), SourceError> {
    if has_utf16_mark(head) {
        return Err(SourceError::Utf16 { name: name.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(memory: usize) -> WholeSource<'static> {
        WholeSource::new("a", &Spec { memory: Some(memory), ..Spec::new("a") })
    }

    #[test]
    fn refuses_scripts_that_need_more_memory() {
        let line = "< cds v=1 n=1 [a]\n";
        let text = format!("stream 1 ads\n{}", line.repeat(100_000));
        let needed = |memory, size| match whole(memory).script(text.as_bytes(), size) {
            Err(SourceError::TooLarge { needed, limit, .. }) => Some((needed >> 20, limit >> 20)),
            Ok(script) => {
                assert_eq!(script.lines.len(), 100_001);
                None
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(needed(1 << 20, 0), Some((167, 64)));
        assert_eq!(needed(1 << 20, 10 * text.len() as u64), Some((1672, 64)), "of a part");
        assert_eq!(needed(256 << 20, 0), None);
    }

    #[test]
    fn refuses_files_of_resources_that_need_more_memory() {
        let text = vec![b' '; 30 << 20];
        let refused = |memory, size| whole(memory).response(&text[..], size).is_err();
        assert!(refused(1 << 20, 0) && refused(1 << 20, text.len() as u64));
        assert!(!refused(512 << 20, text.len() as u64));
    }

    #[test]
    fn accepts_a_byte_order_mark_of_utf8_only() {
        let script = whole(1 << 20).script("\u{feff}stream 1 ads\n> cds\n".as_bytes(), 0).expect("a script");
        assert_eq!(script.lines.len(), 2);
        let refused = whole(1 << 20).script(&b"\xff\xfes\0"[..], 0).expect_err("UTF-16");
        assert_eq!(refused.to_string(), "cannot read a: the text is in UTF-16, and xdscope reads UTF-8");
    }
}
