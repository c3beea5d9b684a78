//! Redaction of secrets before anything is stored.
//!
//! In messages, the API's descriptors mark the secret fields, and names tell of secret headers and
//! members of a `Struct`. In texts from peers, redaction looks for known secrets, PEM blocks, and
//! values behind names such as `private_key`, and prefers to redact too much. In undecodable bytes,
//! redaction looks for PEM blocks only. Undecodable parts of a field that may hold a secret are
//! overwritten entirely. `docs/secrets.md` has the policy.

mod encoded_keys;
mod escapes;
mod forms;
mod jwks;
mod jwt;
mod known;
mod logins;
mod members;
mod message;
mod nested;
mod parts;
mod plain;
mod raw;
mod readings;
mod references;
mod schemes;
mod shown;
mod structs;
mod text;
mod texts;
mod url;
mod values;
mod wordings;

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use twox_hash::XxHash3_64;

use super::table::MessageTable;
use super::{MAX_DEPTH, Schema};
use crate::json::walk::redacted;
use crate::pools::pool::Pool;
use xdscope_wire::content::Redact;
use xdscope_wire::pb::{Value, WIRE_LEN, WireField, rebuild};

pub use super::secret_names::{NameError, SecretNames};
use known::KnownSecrets;
use readings::TextReading;
use references::is_reference;

/// A redactor for resources and texts. With equal seeds, equal secrets get equal ids.
pub struct Redactor {
    schema: Arc<Schema>,
    seed: u64,
    /// Redacted secrets, to redact in texts.
    known: Mutex<KnownSecrets>,
}

/// Fields of a `DataSource` with the location of a secret rather than the secret.
const LOCATION_FIELDS: [&str; 3] = ["filename", "environment_variable", "watched_directory"];

/// Numbers of `resource_name` and `metadata` in a `Resource`.
const WRAPPER_NAME: u32 = 8;
const WRAPPER_METADATA: u32 = 9;

/// The number of the parameters in a `ResourceLocator`, and of their constraints in a
/// `ResourceName`.
const PARAMETERS: u32 = 2;

/// The number of the cluster in a `Node`.
const NODE_CLUSTER: u32 = 2;

/// Headers with the authority of a URL, which may have a password, and the address of a client.
const AUTHORITY_HEADERS: [&str; 3] = [":authority", "host", "peer"];

/// Texts for which all searches are prepared: one without secrets, in the letters of usual
/// configurations, and one for which no search ends early.
const SAMPLES: [&str; 2] = [
    "type.googleapis.com/envoy.config.cluster.v3.Cluster \n outbound|8443||cluster-01.example.svc.local \x12 \
     round_robin least_request 127.0.0.1:18000 http2_protocol_options QUXZ_@{}[]()<>.*+$^~%,;! ' /healthz",
    "https://user:letters@127.0.0.1/path?token=value Authorization: Bearer abcdefgh; password is \"QRST\" \
     --api-key x <secret>y</secret> {\"kty\": \"oct\", \"k\": \"AbCd\"} \\u0070in=1 LS0tLS1CRUdJTi",
];

/// Levels that redaction may still descend, and whether the message is part of a secret.
#[derive(Clone, Copy)]
struct Depth {
    levels: u32,
    /// Unknown fields are secret: a newer API may put a secret there.
    is_in_secret: bool,
    definitions: Definitions,
}

/// The definition of a type that redaction follows if several sets define the type.
#[derive(Clone, Copy)]
enum Definitions {
    /// The built-in one: a set from a user or a server may define a built-in type without its
    /// secrets.
    BuiltIn,
    /// That of a user: a newer API may have further secret fields.
    User,
}

impl Depth {
    const TOP: Depth = Depth { levels: MAX_DEPTH, is_in_secret: false, definitions: Definitions::BuiltIn };

    fn below(self) -> Depth {
        Depth { levels: self.levels.saturating_sub(1), ..self }
    }

    fn is_exceeded(self) -> bool {
        self.levels == 0
    }
}

/// Returns the placeholder for a secret of `len` bytes. Equal ids stand for equal secrets.
fn placeholder(len: usize, hash: u64) -> String {
    format!("[redacted {len} B, id {:04x}]", hash & 0xffff)
}

impl Redactor {
    /// Creates a redactor. `seed` keys the ids, which are therefore meaningless in other sessions.
    pub fn new(schema: Arc<Schema>, seed: u64) -> Redactor {
        Redactor { schema, seed, known: Mutex::new(KnownSecrets::new(seed)) }
    }

    /// Number of redacted secrets that texts are no longer searched for.
    pub fn forgotten_secrets(&self) -> u64 {
        self.known().forgotten()
    }

    fn names(&self) -> &SecretNames {
        self.schema.secret_names()
    }

    fn known(&self) -> MutexGuard<'_, KnownSecrets> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn placeholder(&self, secret: &[u8]) -> String {
        placeholder(secret.len(), XxHash3_64::oneshot_with_seed(self.seed, secret))
    }

    /// Returns the placeholder for a secret, or `None` for an empty or redacted value.
    fn replace(&self, secret: &[u8]) -> Option<Vec<u8>> {
        if secret.is_empty() || redacted(secret).is_some() {
            return None;
        }
        self.known().add(secret);
        Some(self.placeholder(secret).into_bytes())
    }

    /// Overwrites secrets that a text shows by their form. Returns `None` if there are none.
    fn shown(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.overwritten(text, shown::find(text, self.names(), false))
    }

    /// Whether the value of a binary header, which is base64, contains secrets.
    fn has_secrets_in_binary(&self, name: &str, value: &[u8]) -> bool {
        let has_secret = |part: &[u8]| {
            let bytes = TextReading::of_base64(part);
            let text = String::from_utf8_lossy(&bytes);
            !shown::find(text.as_bytes(), self.names(), true).is_empty() || self.raw(&bytes).is_some()
        };
        // A comma joins the values of several headers with the same name.
        name.ends_with("-bin") && value.split(|byte| *byte == b',').any(has_secret)
    }

    /// Overwrites parts of a text. Returns `None` if there are none.
    fn overwritten(&self, text: &[u8], mut found: Vec<Range<usize>>) -> Option<Vec<u8>> {
        if found.is_empty() {
            return None;
        }
        let mut out = text.to_vec();
        // One secret may be a part of another: the credential in the value of a header.
        found.sort_by_key(|place| (place.start, Reverse(place.end)));
        let mut end = 0;
        for place in found {
            self.known().add(&text[place.clone()]);
            let rest = place.start.max(end)..place.end;
            if !rest.is_empty() {
                end = rest.end;
                let hash = XxHash3_64::oneshot_with_seed(self.seed, &text[rest.clone()]);
                shown::fill(&mut out[rest], hash);
            }
        }
        Some(out)
    }

    /// Redacts a message whose type has this full name.
    fn typed(&self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let (pool, place) = self.find(name, Depth::TOP)?;
        let mut clean = self.message(pool, place, bytes, Depth::TOP);
        if self.schema.has_user_sets() {
            let depth = Depth { definitions: Definitions::User, ..Depth::TOP };
            let (pool, place) = self.find(name, depth)?;
            clean = self.message(pool, place, clean.as_deref().unwrap_or(bytes), depth).or(clean);
        }
        self.shown_secrets(Some((pool, place)), clean.as_deref().unwrap_or(bytes), Depth::TOP).or(clean)
    }

    /// Returns the pool and index of the type with this full name, if the type is known.
    fn find(&self, name: &str, depth: Depth) -> Option<(&Pool, u32)> {
        match depth.definitions {
            Definitions::BuiltIn => {
                self.schema.find_builtin(name).or_else(|| self.schema.find_in_user_sets(name))
            }
            Definitions::User => self.schema.find_message(name),
        }
    }

    /// Returns the definition to follow for a message in a pool.
    fn definition<'a>(
        &'a self,
        pool: &'a Pool,
        place: u32,
        depth: Depth,
    ) -> Option<(&'a Pool, u32, &'a MessageTable)> {
        let table = pool.table(place)?;
        let builtin = match depth.definitions {
            Definitions::BuiltIn if pool.is_user_set() => self.schema.find_builtin(&table.name),
            _ => None,
        };
        match builtin {
            Some((pool, place)) => Some((pool, place, pool.table(place)?)),
            None => Some((pool, place, table)),
        }
    }
}

/// Overwrites all bytes after the first `kept`. Returns `None` if nothing changes.
fn overwrite(bytes: &[u8], kept: usize) -> Option<Vec<u8>> {
    let mut out = bytes.to_vec();
    out.get_mut(kept..)?.fill(b'*');
    (out != bytes).then_some(out)
}

/// Overwrites bytes that begin with an undecodable field, except for the tag and length of the
/// field.
///
/// The message remains undecodable at the same offset. Keeps the bytes of a field that cannot hold
/// a secret.
fn overwrite_rest(rest: &[u8], may_hold: impl FnOnce(u32) -> bool) -> Option<Vec<u8>> {
    let (tag, kept) = raw::unreadable_head(rest);
    if tag & 7 == u64::from(WIRE_LEN) && !u32::try_from(tag >> 3).is_ok_and(may_hold) {
        return None;
    }
    overwrite(rest, kept)
}

impl Redact for Redactor {
    fn warm(&self) {
        self.schema.warm();
        for sample in SAMPLES {
            // Only the searches matter.
            let _ = self.text(sample);
            let _ = self.shown(sample.as_bytes());
        }
    }

    fn resource(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = self.typed("google.protobuf.Any", bytes);
        // Private keys also occur in unmarked fields and in unknown types.
        self.raw(clean.as_deref().unwrap_or(bytes)).or(clean)
    }

    fn wrapper(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = |field: &WireField<'_>| match (field.number, field.value) {
            (WRAPPER_NAME, Value::Len(name)) => self.parameters(name),
            (WRAPPER_METADATA, Value::Len(metadata)) => {
                let clean = self.typed("envoy.config.core.v3.Metadata", metadata);
                self.raw(clean.as_deref().unwrap_or(metadata)).or(clean)
            }
            _ => None,
        };
        rebuild(bytes, clean, |_| None)
    }

    fn parameters(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = |field: &WireField<'_>| match (field.number, field.value) {
            (PARAMETERS, Value::Len(entry)) => self.texts(entry, Depth::TOP),
            _ => None,
        };
        rebuild(bytes, clean, |_| None)
    }

    fn node(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = self.typed("envoy.config.core.v3.Node", bytes);
        let cluster = |field: &WireField<'_>| match (field.number, field.value) {
            (NODE_CLUSTER, Value::Len(name)) => {
                self.overwritten(name, shown::authority_password(name).into_iter().collect())
            }
            _ => None,
        };
        let clean = rebuild(clean.as_deref().unwrap_or(bytes), cluster, |_| None).or(clean);
        self.fields(clean.as_deref().unwrap_or(bytes)).or(clean)
    }

    fn metadata(&self, name: &str, value: &str) -> Option<String> {
        if redacted(value.as_bytes()).is_some() {
            return None;
        }
        let name = name.to_ascii_lowercase();
        if !self.names().is_header(&name) {
            let text = value.as_bytes();
            if self.has_secrets_in_binary(&name, text) {
                return Some(format!("[redacted {} B]", value.len()));
            }
            let mut found = shown::find(text, self.names(), false);
            found.extend(shown::authority_password(text).filter(|_| AUTHORITY_HEADERS.contains(&&*name)));
            return String::from_utf8(self.overwritten(text, found)?).ok();
        }
        if is_reference(value.as_bytes()) {
            return None;
        }
        let mut known = self.known();
        known.add(value.as_bytes());
        // A peer may repeat a token without its scheme, or one of several cookies.
        let parts = value.split(|c: char| c.is_whitespace() || c == ';' || c == ',');
        for part in parts.filter(|part| part.len() < value.len()) {
            known.add(part.as_bytes());
            known.add(part.split_once('=').map_or("", |(_, value)| value).as_bytes());
        }
        Some(format!("[redacted {} B]", value.len()))
    }

    fn text(&self, text: &str) -> Option<String> {
        let known = self.known().find(text);
        let clean = text::clean(text, known, self.names(), &|secret| self.placeholder(secret));
        // The text may contain the end of a key that began in another text.
        let rest = self.raw(clean.as_deref().unwrap_or(text).as_bytes());
        rest.and_then(|rest| String::from_utf8(rest).ok()).or(clean)
    }

    fn detail(&self, any: &[u8]) -> Option<Vec<u8>> {
        let clean = self.resource(any);
        self.texts(clean.as_deref().unwrap_or(any), Depth::TOP).or(clean)
    }

    fn raw(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        raw::clean(bytes, &|secret| self.placeholder(secret))
    }

    fn fields(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        raw::clean_fields(bytes, &|secret| self.placeholder(secret))
    }
}

#[cfg(test)]
mod tests;
