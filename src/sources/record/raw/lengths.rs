//! Limits on the members of a line, which are checked before the line is parsed: a parser copies
//! texts.

use super::line_error::LineError;

/// Longest method, address and the like, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 64 << 10;

/// Most names and values of metadata together, in bytes. gRPC allows 8 KiB, Envoy 60 KiB.
pub(super) const MAX_METADATA_BYTES: usize = 1 << 20;

/// Longest other member, in bytes: a node, or the text of a status.
const MAX_MEMBER_BYTES: usize = 1 << 20;

/// Longest body of a poll, in bytes: docs/limits.md.
const MAX_BODY_BYTES: usize = 16 << 20;

/// Members with one of these keys are limited.
const LIMITED: [(&str, usize); 19] = [
    ("method", MAX_TEXT_BYTES),
    ("peer", MAX_TEXT_BYTES),
    ("server", MAX_TEXT_BYTES),
    ("type_url", MAX_TEXT_BYTES),
    ("metadata", MAX_METADATA_BYTES),
    ("body", MAX_BODY_BYTES),
    ("dir", MAX_MEMBER_BYTES),
    ("t", MAX_MEMBER_BYTES),
    ("stream", MAX_MEMBER_BYTES),
    ("node_hint", MAX_MEMBER_BYTES),
    ("code", MAX_MEMBER_BYTES),
    ("message", MAX_MEMBER_BYTES),
    ("by", MAX_MEMBER_BYTES),
    ("note", MAX_MEMBER_BYTES),
    ("opaque", MAX_MEMBER_BYTES),
    ("cause", MAX_MEMBER_BYTES),
    ("interference", MAX_MEMBER_BYTES),
    ("version", MAX_MEMBER_BYTES),
    ("nonce", MAX_MEMBER_BYTES),
];

/// Keys of messages in base64.
const MESSAGES: [&[u8]; 3] = [b"raw", b"original", b"sent"];

/// Checks the members of a line. `raw`, `original` and `sent` are not limited, because a parser
/// does not copy them, unless they have escapes: these may have `max_escaped` bytes.
///
/// Does not report damage: the parser does.
pub(super) fn check_lengths(line: &[u8], max_escaped: usize) -> Result<(), LineError> {
    if line.len() <= MAX_TEXT_BYTES {
        return Ok(());
    }
    for (key, value) in (Members { line, at: 0 }) {
        let limit = LIMITED.iter().find(|(name, _)| name.as_bytes() == key);
        match limit {
            Some((name, limit)) if value.len() > *limit => {
                return Err(LineError::TextTooLong(name, limit >> 10));
            }
            Some(_) => {}
            // A writer does not escape keys; a parser takes such a key for any of these.
            None if key.contains(&b'\\') && value.len() > MAX_TEXT_BYTES => {
                return Err(LineError::TextTooLong("a member whose key has escapes", MAX_TEXT_BYTES >> 10));
            }
            None if MESSAGES.contains(&key)
                && value.len() > max_escaped
                && memchr::memchr(b'\\', value).is_some() =>
            {
                return Err(LineError::EscapedTooLong(max_escaped >> 10));
            }
            None => {}
        }
    }
    Ok(())
}

/// The keys and values of an object, as they are written. Nothing behind damage is listed.
struct Members<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.at + memchr::memchr(b'"', self.line.get(self.at..)?)? + 1;
        let key_end = text_end(self.line, key);
        let value = key_end + memchr::memchr(b':', self.line.get(key_end..)?)? + 1;
        let mut at = value;
        let mut levels = 0_usize;
        while let Some(byte) = self.line.get(at) {
            at += 1;
            match byte {
                b'"' => at = text_end(self.line, at),
                b'{' | b'[' => levels += 1,
                b'}' | b']' if levels > 0 => levels -= 1,
                b'}' | b']' | b',' if levels == 0 => break,
                _ => {}
            }
        }
        self.at = at;
        let key = self.line.get(key..key_end.saturating_sub(1))?;
        Some((key, self.line.get(value..at)?))
    }
}

/// Returns the offset behind the closing quote of the text whose first character is at `from`.
fn text_end(line: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = line.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        if line[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_members_whose_keys_have_escapes() {
        for key in [r"method", r"m\u0065thod", r"\u0072aw"] {
            let line = format!("{{\"{key}\":\"{}\"}}", "x".repeat(MAX_TEXT_BYTES));
            assert!(check_lengths(line.as_bytes(), usize::MAX).is_err(), "{key}");
        }
    }

    #[test]
    fn lists_members_as_they_are_written() {
        let list = |line: &str| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let members = Members { line: line.as_bytes(), at: 0 };
            members.map(|(key, value)| format!("{}={}", text(key), text(value))).collect::<Vec<_>>()
        };
        assert_eq!(
            list(r#"{"a": "x\\\"}", "b":[1,{"c":2}],"d":3}"#),
            [r#"a= "x\\\"}","#, r#"b=[1,{"c":2}],"#, "d=3}"]
        );
        assert_eq!(list(r#"{"a":"x"#), [r#"a="x"#]);
        for damaged in ["", "{", "{\"", "{\"a", "{\"a\"", "\\", "x", "{\"a\\"] {
            assert_eq!(list(damaged), Vec::<String>::new());
        }
    }
}
