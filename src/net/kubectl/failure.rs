//! Errors of kubectl in its own words, and the right that is missing.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::process::ChildStderr;
use std::sync::{Arc, Mutex};

use super::objects::is_object_name;
use crate::net::lock;
use crate::net::own_secrets::OwnSecrets;
use xdscope_wire::text::display_safe;

/// Bytes of the end of stderr that are kept.
const MAX_TAIL_BYTES: usize = 4 << 10;

/// Bytes of stderr after which a process is not read any more.
const MAX_ERROR_BYTES: u64 = 4 << 20;

/// Lines of stderr that an error shows.
const MAX_SHOWN_LINES: usize = 2;

/// Characters of a line of stderr that an error shows.
const MAX_SHOWN_CHARS: usize = 400;

/// A command of kubectl that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kubectl {what}: {text}")]
pub struct Failure {
    /// The first words of the command.
    pub what: String,
    /// The words of kubectl, escaped and without secrets.
    pub text: String,
    /// The right that kubectl says is missing.
    pub right: Option<Box<MissingRight>>,
    /// Whether there is no such program.
    pub is_not_installed: bool,
}

impl Failure {
    /// The failure of a command that said `text`.
    pub(super) fn new(what: &str, text: String) -> Failure {
        let right = MissingRight::read(&text).map(Box::new);
        Failure { what: display_safe(what).into_owned(), text, right, is_not_installed: false }
    }

    /// The failure of a command that did not begin.
    pub(super) fn not_started(what: &str, error: &io::Error) -> Failure {
        match error.kind() {
            ErrorKind::NotFound => {
                let text = "there is no program of this name in PATH".to_owned();
                Failure { is_not_installed: true, ..Failure::new(what, text) }
            }
            _ => Failure::new(what, error.to_string()),
        }
    }

    /// Whether the API server has no such object.
    pub fn is_not_found(&self) -> bool {
        self.text.contains("(NotFound)") || self.text.ends_with("not found")
    }

    /// Returns what to type next, where the failure says so.
    pub fn next(&self) -> Option<String> {
        match &self.right {
            Some(right) => Some(right.question()),
            None if self.is_not_installed => Some("kubectl version --client".to_owned()),
            None => None,
        }
    }
}

/// A right that a user of a cluster does not have: `create pods/portforward in shop`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRight {
    /// The verb: `create`.
    pub verb: String,
    /// The resource with its subresource: `pods/portforward`.
    pub resource: String,
    /// The namespace. `None`: in all of them.
    pub namespace: Option<String>,
}

impl MissingRight {
    /// Reads the message of the API server: `User "jane" cannot create resource
    /// "pods/portforward" in API group "" in the namespace "shop"`.
    fn read(text: &str) -> Option<MissingRight> {
        let (_, rest) = text.split_once(" cannot ")?;
        let (verb, rest) = rest.split_once(" resource \"")?;
        let (resource, rest) = rest.split_once('"')?;
        let is_word = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || b"/.-".contains(&byte))
        };
        if !is_word(verb) || !is_word(resource) {
            return None;
        }
        let namespace = rest.split_once("in the namespace \"").and_then(|(_, rest)| rest.split_once('"'));
        let namespace =
            namespace.map(|(namespace, _)| namespace.to_owned()).filter(|name| is_object_name(name));
        Some(MissingRight { verb: verb.to_owned(), resource: resource.to_owned(), namespace })
    }

    /// Returns the command that asks whether the user has the right.
    pub fn question(&self) -> String {
        let MissingRight { verb, resource, namespace } = self;
        match namespace {
            Some(namespace) => format!("kubectl auth can-i {verb} {resource} -n {namespace}"),
            None => format!("kubectl auth can-i {verb} {resource} -A"),
        }
    }
}

impl fmt::Display for MissingRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MissingRight { verb, resource, namespace } = self;
        match namespace {
            Some(namespace) => write!(f, "the right to {verb} {resource} in the namespace {namespace}"),
            None => write!(f, "the right to {verb} {resource} in all namespaces"),
        }
    }
}

/// The end of what a process has written to stderr.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    total: u64,
}

impl Tail {
    /// Adds bytes. Returns whether to read on.
    fn add(&mut self, bytes: &[u8]) -> bool {
        self.bytes.extend_from_slice(bytes);
        let extra = self.bytes.len().saturating_sub(MAX_TAIL_BYTES);
        self.bytes.drain(..extra);
        self.total = self.total.saturating_add(bytes.len() as u64);
        self.total <= MAX_ERROR_BYTES
    }

    /// Returns the last lines on one line, escaped and without secrets.
    ///
    /// Lines of the log of kubectl repeat what its last line says in words.
    fn text(&self) -> String {
        let text = OwnSecrets::new(&[]).clean(String::from_utf8_lossy(&self.bytes).into_owned());
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut shown: Vec<&str> = lines().filter(|line| logged(line).is_none()).collect();
        if shown.is_empty() {
            shown = lines().filter_map(logged).collect();
        }
        let first = shown.len().saturating_sub(MAX_SHOWN_LINES);
        let cut = |line: &&str| line.chars().take(MAX_SHOWN_CHARS).collect::<String>();
        let shown: Vec<String> = shown.iter().skip(first).map(cut).collect();
        display_safe(&shown.join("; ")).into_owned()
    }
}

/// Returns the message of a line of the log of kubectl:
/// `E1130 19:12:11.123456 12345 file.go:42] …`.
fn logged(line: &str) -> Option<&str> {
    let is_level = line.starts_with(['E', 'W', 'I', 'F']);
    let is_date = line.get(1..5).is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()));
    let (_, text) = line.split_once("] ").filter(|_| is_level && is_date)?;
    Some(text.strip_prefix("\"Unhandled Error\" err=").unwrap_or(text))
}

/// A tail that a thread fills.
#[derive(Clone, Default)]
pub(super) struct SharedTail(Arc<Mutex<Tail>>);

impl SharedTail {
    /// Reads errors to their end. Returns whether they have one within the limit.
    pub(super) fn read(&self, mut stderr: ChildStderr) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match stderr.read(&mut buffer) {
                Ok(0) => return true,
                Ok(count) => {
                    if !lock(&self.0).add(buffer.get(..count).unwrap_or_default()) {
                        return false;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
    }

    /// Returns the last lines on one line, escaped and without secrets.
    pub(super) fn text(&self) -> String {
        lock(&self.0).text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(stderr: &str) -> String {
        let mut tail = Tail::default();
        tail.add(stderr.as_bytes());
        tail.text()
    }

    #[test]
    fn errors_keep_the_words_of_kubectl() {
        let refused = "E1130 19:12:11.123456   12345 memcache.go:265] \"Unhandled Error\" err=\"couldn't get \
                       current server API group list\"\nThe connection to the server localhost:8080 was \
                       refused - did you specify the right host or port?\n";
        assert!(text(refused).starts_with("The connection to the server localhost:8080 was refused"));
        let logged = "E1130 19:12:11.123456   12345 portforward.go:424] \"Unhandled Error\" err=\"an error \
                      occurred forwarding 40123 -> 15000: connection refused\"\n";
        assert!(text(logged).starts_with("\"an error occurred forwarding"), "{}", text(logged));
        assert_eq!(text("\u{1b}[2Jbad\u{7}\n"), "\\x1b[2Jbad\\x07");
        assert_eq!(text(""), "");
        let token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQifQ.c2lnbmF0dXJlc2lnbmF0dXJl";
        assert!(!text(&format!("error: bad token {token}\n")).contains(token));
    }

    #[test]
    fn tails_are_bounded() {
        let mut tail = Tail::default();
        let mut reads = 0;
        while tail.add(&[b'x'; 4096]) {
            reads += 1;
            assert!(reads < 10_000, "endless");
        }
        assert!(tail.bytes.len() <= MAX_TAIL_BYTES && tail.text().len() <= MAX_SHOWN_CHARS);
    }

    #[test]
    fn missing_rights_are_read() {
        let text = "error: error upgrading connection: pods \"reviews-1\" is forbidden: User \"jane\" cannot \
                    create resource \"pods/portforward\" in API group \"\" in the namespace \"shop\"";
        let failure = Failure::new("port-forward", text.to_owned());
        let right = failure.right.expect("a right");
        assert_eq!(right.to_string(), "the right to create pods/portforward in the namespace shop");
        assert_eq!(right.question(), "kubectl auth can-i create pods/portforward -n shop");
        let text = "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" at the cluster scope";
        let right = MissingRight::read(text).expect("a right");
        assert_eq!(right.question(), "kubectl auth can-i list pods -A");
        for other in ["", "cannot connect", "User \"x\" cannot $(rm) resource \"pods\" in"] {
            assert_eq!(MissingRight::read(other), None, "{other}");
        }
    }
}
