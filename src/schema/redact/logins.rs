//! Users and passwords in front of a host, without the scheme of a URL: `user:password@host`.

use std::ops::Range;

use super::values::is_credential;

/// Longest user and password, in bytes.
const MAX_USER_BYTES: usize = 64;
const MAX_PASSWORD_BYTES: usize = 128;

/// Most digits of a port.
const MAX_PORT_DIGITS: usize = 5;

/// Users of servers. The password of such a user may be any word.
const USERS: [&[u8]; 13] = [
    b"admin",
    b"administrator",
    b"elastic",
    b"guest",
    b"mongo",
    b"mysql",
    b"postgres",
    b"rabbitmq",
    b"redis",
    b"root",
    b"sa",
    b"user",
    b"username",
];

/// Words in front of `:` and an address.
const LABELS: [&[u8]; 22] = [
    b"acct",
    b"author",
    b"bcc",
    b"cc",
    b"contact",
    b"e-mail",
    b"email",
    b"from",
    b"group",
    b"im",
    b"mail",
    b"mailto",
    b"maintainer",
    b"owner",
    b"pres",
    b"principal",
    b"serviceaccount",
    b"sip",
    b"sips",
    b"subject",
    b"to",
    b"xmpp",
];

/// Text after a host.
#[derive(PartialEq, Eq)]
enum HostEnd {
    Domain,
    Port,
    Other,
}

/// Whether bytes contain such a password. Takes little time.
pub(super) fn has_passwords(bytes: &[u8], is_sentence: bool) -> bool {
    memchr::memchr_iter(b'@', bytes).any(|at| password(bytes, at, is_sentence).is_some())
}

/// Collects all such passwords.
pub(super) fn find(text: &[u8], is_sentence: bool, found: &mut Vec<Range<usize>>) {
    found.extend(memchr::memchr_iter(b'@', text).filter_map(|at| password(text, at, is_sentence)));
}

/// Returns the password in front of the `@` at `at`.
///
/// In a sentence, the password of any user must look like a credential. Elsewhere a name of a
/// resource looks like a login, so that the password must have several kinds of letters.
fn password(text: &[u8], at: usize, is_sentence: bool) -> Option<Range<usize>> {
    let in_password = |byte: &&u8| {
        !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b":@/\"'<>,;()[]{}|".contains(byte)
    };
    let in_user = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte);
    let count = text[..at].iter().rev().take(MAX_PASSWORD_BYTES + 1).take_while(in_password).count();
    let colon = at.checked_sub(count + 1)?;
    if !(2..=MAX_PASSWORD_BYTES).contains(&count) || text[colon] != b':' {
        return None;
    }
    let word = &text[colon + 1..at];
    let len = text[..colon].iter().rev().take(MAX_USER_BYTES).take_while(in_user).count();
    let user = text[colon - len..colon].to_ascii_lowercase();
    let is_reference = word.starts_with(b"$") || word.starts_with(b"%") && word.ends_with(b"%");
    let is_port = word.len() <= MAX_PORT_DIGITS && word.iter().all(u8::is_ascii_digit);
    if user.is_empty() || LABELS.contains(&&*user) || is_reference || is_port || is_version(word) {
        return None;
    }
    let end = host_end(&text[at + 1..])?;
    let is_known_user = USERS.contains(&&*user);
    // The identities of Google Cloud begin with `user:`.
    let is_identity = user == b"user" && end == HostEnd::Domain;
    let is_secret = match end {
        _ if is_sentence && is_known_user && !is_identity => true,
        _ if !is_sentence && is_known_user => is_credential(word),
        HostEnd::Domain | HostEnd::Port if is_sentence => is_credential(word),
        _ => is_strong(word),
    };
    is_secret.then_some(colon + 1..at)
}

/// Returns what follows a host, or `None` if a text does not begin with a host.
fn host_end(text: &[u8]) -> Option<HostEnd> {
    let in_host = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
    let len = text.iter().take(MAX_USER_BYTES).take_while(in_host).count();
    let host = &text[..len];
    let is_digest = host.starts_with(b"sha") && text.get(len) == Some(&b':');
    if host.is_empty() || is_digest {
        return None;
    }
    let next = text.get(len + 1).copied().unwrap_or(b' ');
    Some(match text.get(len) {
        Some(b'.') => HostEnd::Domain,
        Some(b':') if next.is_ascii_digit() => HostEnd::Port,
        _ if host == b"localhost" => HostEnd::Domain,
        _ => HostEnd::Other,
    })
}

/// Whether a word is a version, such as the tag of an image: `v1.2.3`.
fn is_version(word: &[u8]) -> bool {
    let mut parts = word.strip_prefix(b"v").unwrap_or(word).split(|byte| *byte == b'.');
    let mut is_number =
        || parts.next().is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    is_number() && is_number()
}

/// Whether a word has letters of three kinds.
fn is_strong(word: &[u8]) -> bool {
    let kinds: [fn(&u8) -> bool; 4] =
        [u8::is_ascii_digit, u8::is_ascii_lowercase, u8::is_ascii_uppercase, |byte| {
            b"!#$%^&*+=?~".contains(byte)
        }];
    word.len() >= 6 && kinds.iter().filter(|is_kind| word.iter().any(is_kind)).count() >= 3
}
