//! Texts in the place of a value that name a secret or stand for it: commands of Envoy's format
//! strings, directives of logs, and URIs of secrets.

use super::schemes::scheme_len;

/// Longest command, in bytes.
const MAX_COMMAND_BYTES: usize = 512;

/// Beginnings of the names of secrets in SPIFFE, Istio and Envoy Gateway.
const NAMES: [&[u8]; 6] =
    [b"builtin://", b"configmap://", b"file-cert:", b"kubernetes-gateway://", b"kubernetes://", b"spiffe://"];

/// Whether a text is the name of a secret.
pub(super) fn names_secret(text: &[u8]) -> bool {
    NAMES.iter().any(|start| text.starts_with(start))
}

/// Whether a value is a reference: nothing but commands, such as `%REQ(X-TOKEN)%`, directives such
/// as `{}` and `%s`, and schemes.
pub(super) fn is_reference(value: &[u8]) -> bool {
    reference_len(value).is_some_and(|len| len >= value.len())
}

/// Whether a text begins with a reference of at least `len` bytes.
pub(super) fn starts_reference(text: &[u8], len: usize) -> bool {
    // The end of a command may be behind the value: `(` ends a value.
    let text = &text[..text.len().min(len + MAX_COMMAND_BYTES)];
    reference_len(text).is_some_and(|reference| reference >= len)
}

/// Returns the length of the reference that a text begins with.
fn reference_len(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut has_command = false;
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let command = command_len(rest);
        has_command |= command > 0;
        at += match byte {
            _ if command > 0 => command,
            b' ' | b'/' | b':' | b',' | b'.' | b'-' | b'_' => 1,
            _ => match scheme_len(rest) {
                0 => break,
                len => len,
            },
        };
    }
    has_command.then_some(at)
}

/// Returns the length of the command or directive that a text begins with, or 0.
fn command_len(text: &[u8]) -> usize {
    match text {
        [b'{', b'}', ..] => 2,
        [b'{', b'0'..=b'9', b'}', ..] => 3,
        [b'%', b'd' | b'q' | b's' | b'u' | b'v', next, ..] if next.is_ascii_alphanumeric() => 0,
        [b'%', b'd' | b'q' | b's' | b'u' | b'v', ..] => 2,
        [b'%', ..] => envoy_command_len(text),
        _ => 0,
    }
}

/// Returns the length of the command of Envoy that a text begins with, or 0: `%NAME%`,
/// `%NAME(arguments)%` or `%NAME(arguments):length%`.
fn envoy_command_len(text: &[u8]) -> usize {
    let text = &text[..text.len().min(MAX_COMMAND_BYTES)];
    let in_name = |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b'_';
    let mut end = 1 + text[1..].iter().take_while(in_name).count();
    // Two digits are a percent-encoded byte.
    if end < 4 {
        return 0;
    }
    if text.get(end) == Some(&b'(') {
        let Some(close) = text[end..].iter().position(|byte| *byte == b')') else { return 0 };
        end += close + 1;
    }
    if text.get(end) == Some(&b':') {
        end += 1 + text[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
    if text.get(end) == Some(&b'%') { end + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_references_from_values() {
        for text in [
            "%REQ()%",
            "%REQ(X-TOKEN?AUTHORIZATION):20%",
            "%DYNAMIC_METADATA(envoy.filters.http.jwt_authn:payload:sub)%",
            "%ENVIRONMENT(TOKEN)%",
            "%DOWNSTREAM_PEER_SUBJECT%",
            "Bearer %REQ(X-TOKEN)%",
            "%REQ(A)%:%REQ(B)%",
            "{}",
            "%s/%s",
        ] {
            assert!(is_reference(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "Bearer ",
            "%41%42%",
            "%REQ(X)",
            "%REQ(X)%hunter2x",
            "hunter2x%REQ(X)%",
            "Bearer hunter2x %REQ(X)%",
            "%sunrise",
            "{hunter2x}",
            "%REQ(",
            "%",
        ] {
            assert!(!is_reference(text.as_bytes()), "{text}");
        }
    }
}
