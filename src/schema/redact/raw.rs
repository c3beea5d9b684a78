//! Private keys in bytes of which nothing else is known: by the lines around them.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

/// What both lines of a PEM block of a private key end with, whatever the key's kind.
static LABEL: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("PRIVATE KEY-----"));

/// The longest known word before the label is `ENCRYPTED`.
const BEFORE: usize = 32;

/// The bytes with keys overwritten, or `None` if there are none. The length stays, and so does each byte that
/// can't be part of a key, so the messages around it can still be read. A key without its first or last line is
/// overwritten as far as it can reach.
pub(super) fn clean(bytes: &[u8], mark: &dyn Fn(&[u8]) -> String) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    for at in LABEL.find_iter(bytes) {
        let Some(place) = key(bytes, at).filter(|place| !place.is_empty()) else { continue };
        let secret = bytes.get(place.clone()).unwrap_or_default();
        let mut cover = mark(secret).into_bytes();
        if cover.len() > secret.len() {
            cover.clear();
        }
        cover.resize(secret.len(), b'*');
        if let Some(hole) = out.get_or_insert_with(|| bytes.to_vec()).get_mut(place) {
            hole.copy_from_slice(&cover);
        }
    }
    out
}

/// Where the key is that the label at `at` belongs to: after a BEGIN line, before an END line.
fn key(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let head = bytes.get(at.saturating_sub(BEFORE)..at)?;
    let begin = memmem::rfind(head, b"-----BEGIN ");
    let end = memmem::rfind(head, b"-----END ");
    if end > begin {
        let line = at.saturating_sub(BEFORE) + end?;
        let body = bytes.get(..line)?.iter().rev().take_while(|byte| of_body(**byte)).count();
        return Some(line - body..line);
    }
    begin?;
    let from = at + LABEL.needle().len();
    let rest = bytes.get(from..)?;
    let line = memmem::find(rest, b"-----").unwrap_or(rest.len());
    let body = rest.iter().take(line).take_while(|byte| of_body(**byte) || b":,-".contains(byte)).count();
    Some(from..from + body)
}

/// Base64, line ends plain and escaped, and the words of header lines.
fn of_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\r\n\t \\".contains(&byte)
}
