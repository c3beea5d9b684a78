//! JSON from files and peers, whose tree must fit into memory.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

use xdscope_wire::text::{json_safe, without_mark};

/// Memory that the tree of any text may take, in bytes; longer texts may take more.
pub const MIN_TREE_LIMIT: usize = 256 << 20;
/// Memory that a tree may take per byte of its text, in bytes. Configurations need 2 to 12 bytes,
/// lists of zeros need 75.
pub const TREE_BYTES_PER_TEXT_BYTE: usize = 16;

/// Estimates of the memory of values, in bytes, with room for growth.
const ARRAY_BYTES: usize = 400;
const OBJECT_BYTES: usize = 600;
const MEMBER_BYTES: usize = 200;

/// Parses JSON. Refuses text whose tree needs far more memory than configurations do. Skips a byte
/// order mark.
///
/// # Errors
///
/// The text is not JSON of a `T`, or its tree is too large.
pub fn read_json<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, serde_json::Error> {
    let text = without_mark(text);
    let limit = text.len().saturating_mul(TREE_BYTES_PER_TEXT_BYTE).max(MIN_TREE_LIMIT);
    if exceeds(text, limit) {
        let limit = limit >> 20;
        return Err(serde_json::Error::custom(format!("the values need more than {limit} MB of memory")));
    }
    serde_json::from_slice(text)
}

/// Whether the tree of a JSON text may need more than `limit` bytes of memory.
pub fn exceeds(text: &[u8], limit: usize) -> bool {
    // A byte of text is at most one character of a text, and each element needs a comma.
    if text.len().saturating_mul(OBJECT_BYTES) <= limit {
        return false;
    }
    let (mut bytes, mut at) = (text.len(), 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.iter().position(|byte| is_counted(*byte))) {
        at += found + 1;
        bytes += match text.get(at - 1) {
            Some(b'{') => OBJECT_BYTES,
            Some(b'[') => ARRAY_BYTES,
            Some(b',') => MEMBER_BYTES,
            _ => {
                at += text_len(text.get(at..).unwrap_or_default());
                0
            }
        };
        if bytes > limit {
            return true;
        }
    }
    false
}

fn is_counted(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b',' | b'"')
}

/// Returns the length of a JSON string up to and including its closing quote.
fn text_len(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', rest.get(at..).unwrap_or_default()) {
        at += found + 1;
        if rest.get(at - 1) == Some(&b'"') {
            return at;
        }
        at += 1;
    }
    rest.len()
}

/// Formats JSON with indentation. Escapes control characters and invisible ones.
pub fn to_pretty_json(value: &Value) -> String {
    format!("{value:#}").lines().map(|line| format!("{}\n", json_safe(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_trees_that_outgrow_their_text() {
        for bomb in ["0,", "[0],", "{},", "{\"\":0},"] {
            let text = format!("[{}0]", bomb.repeat(2_000_000));
            let error = read_json::<Value>(text.as_bytes()).expect_err("a bomb").to_string();
            assert!(error.contains("256 MB"), "{bomb}: {error}");
        }
        // Commas and brackets in strings do not count.
        let text = format!("[\"{}\", \"\\\"[[\"]", "{[,".repeat(1_000_000));
        assert!(read_json::<Value>(text.as_bytes()).is_ok());
        let cluster = r#"{"name": "cluster-1", "connect_timeout": "0.25s", "eds_cluster_config": {"x": 1}}"#;
        let text = format!("[{}]", vec![cluster; 100_000].join(","));
        assert!(read_json::<Value>(text.as_bytes()).is_ok());
    }

    #[test]
    fn limits_depend_on_values() {
        let text = format!("[{}0]", "0,".repeat(10_000));
        assert!(exceeds(text.as_bytes(), 1 << 20));
        assert!(!exceeds(text.as_bytes(), 4 << 20));
        assert!(read_json::<Value>(b"[1").is_err_and(|error| error.is_eof()));
        assert!(read_json::<Value>(b"\xef\xbb\xbf[1]").is_ok(), "a byte order mark");
    }
}
