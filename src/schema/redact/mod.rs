//! Takes secrets out, before anything is kept.
//!
//! In resources by the descriptors: the API marks what is secret. In texts that peers write by what is known to be
//! secret, by PEM blocks, and by the names that secrets stand under; there too much is better than too little. In what
//! can't be read, by PEM blocks alone; where a secret may stand and can't be read, everything goes.

mod raw;
mod text;

use std::sync::{Arc, Mutex};

use twox_hash::XxHash3_64;

use super::pool::Pool;
use super::table::{FieldKind, JsonForm, MessageTable};
use super::walk::redacted;
use super::{MAX_DEPTH, Schema, message_name};
use crate::wire::content::Redact;
use crate::wire::pb::{Field, Fields, Value, WIRE_LEN, field_bit, rebuild};

/// Redacts by a schema. Equal secrets of one seed get equal ids.
pub struct Redactor {
    schema: Arc<Schema>,
    seed: u64,
    /// Secrets seen in resources, to be found again in texts. Shorter ones would be found everywhere.
    known: Mutex<Vec<Vec<u8>>>,
}

/// Secrets that are looked for in texts, at most; the oldest go first.
const MAX_REMEMBERED_SECRETS: usize = 128;
/// The shortest secret that is looked for in texts.
const MIN_REMEMBERED_BYTES: usize = 8;

/// What replaces a secret of `len` bytes; equal hashes, equal secrets.
fn mark(len: usize, hash: u64) -> String {
    format!("[redacted {len} B, id {:04x}]", hash & 0xffff)
}

/// The value of a metadata entry without its secret, or `None` if it has none. `name` is in lower case.
pub fn metadata(name: &str, value: &str) -> Option<String> {
    let whole = ["authorization", "proxy-authorization", "cookie", "set-cookie"].contains(&name);
    let part =
        ["token", "secret", "password", "api-key", "apikey", "credential"].iter().any(|p| name.contains(p));
    let clean = redacted(value.as_bytes()).is_some();
    ((whole || part) && !clean).then(|| format!("[redacted {} B]", value.len()))
}

impl Redactor {
    /// `seed` keys the ids, so that they mean nothing outside of the session.
    pub fn new(schema: Arc<Schema>, seed: u64) -> Redactor {
        Redactor { schema, seed, known: Mutex::default() }
    }

    fn mark(&self, secret: &[u8]) -> String {
        mark(secret.len(), XxHash3_64::oneshot_with_seed(self.seed, secret))
    }

    fn remember(&self, secret: &[u8]) {
        if secret.len() < MIN_REMEMBERED_BYTES {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !known.iter().any(|old| old == secret) {
            if known.len() == MAX_REMEMBERED_SECRETS {
                known.remove(0);
            }
            known.push(secret.to_vec());
        }
    }

    /// What an `Any` holds: the pool and place of its type, if that is known.
    fn payload_type(&self, any: &[u8]) -> Option<(&Pool, u32)> {
        let url = Fields::new(any).map_while(Result::ok).filter(|field| field.number == 1).last()?;
        self.schema.find_message(message_name(std::str::from_utf8(url.bytes()).ok()?))
    }

    /// An `Any` without its secrets, or `None` if it has none.
    fn any(&self, bytes: &[u8], depth: u32) -> Option<Vec<u8>> {
        let (pool, place) = self.payload_type(bytes).filter(|(pool, place)| pool.can_hold_secret(*place))?;
        let clean = |field: &Field<'_>| match field.value {
            Value::Len(value) if field.number == 2 => self.message(pool, place, value, depth - 1),
            _ => None,
        };
        rebuild(bytes, clean, |rest| overwrite_rest(rest, |number| number == 2))
    }

    /// A message without its secrets, or `None` if it has none.
    fn message(&self, pool: &Pool, place: u32, bytes: &[u8], depth: u32) -> Option<Vec<u8>> {
        if depth == 0 {
            return overwrite(bytes, 0);
        }
        let table = pool.table(place)?;
        if table.shape == JsonForm::Any {
            return self.any(bytes, depth);
        }
        let may_hold = |number| {
            table.field(number).is_none_or(|field| field.sensitive || pool.kind_can_hold_secret(&field.kind))
        };
        let fields = pool.secret_fields(place);
        let clean = |field: &Field<'_>| {
            (fields & field_bit(field.number) != 0).then(|| self.field(pool, table, field, depth)).flatten()
        };
        rebuild(bytes, clean, |rest| overwrite_rest(rest, may_hold))
    }

    /// What a field of a message is to hold instead.
    fn field(&self, pool: &Pool, table: &MessageTable, field: &Field<'_>, depth: u32) -> Option<Vec<u8>> {
        let (Value::Len(value) | Value::Group(value)) = field.value else { return None };
        let known = table.field(field.number)?;
        match &known.kind {
            kind if known.sensitive => self.secret(pool, kind, value, depth),
            kind if !pool.kind_can_hold_secret(kind) => None,
            FieldKind::Message(inner) => self.message(pool, *inner, value, depth - 1),
            FieldKind::Map(entry) => {
                let FieldKind::Message(inner) = entry.1 else { return None };
                let clean = |field: &Field<'_>| match field.value {
                    Value::Len(value) if field.number == 2 => self.message(pool, inner, value, depth - 1),
                    _ => None,
                };
                rebuild(value, clean, |rest| overwrite_rest(rest, |number| number == 2))
            }
            _ => None,
        }
    }

    /// A secret value: texts and bytes are replaced, in a message all of them but where a file is named.
    fn secret(&self, pool: &Pool, kind: &FieldKind, value: &[u8], depth: u32) -> Option<Vec<u8>> {
        let all = |rest| overwrite_rest(rest, |_| true);
        match kind {
            FieldKind::String | FieldKind::Bytes => self.replace(value),
            FieldKind::Message(_) | FieldKind::Map(_) if depth == 0 => overwrite(value, 0),
            FieldKind::Message(place) => {
                let table = pool.table(*place)?;
                if table.shape == JsonForm::Any {
                    return self.secret_any(value, depth);
                }
                let clean = |field: &Field<'_>| {
                    let (Value::Len(value) | Value::Group(value)) = field.value else { return None };
                    match table.field(field.number) {
                        Some(known) if names_a_place(table, &known.name) => None,
                        Some(known) => self.secret(pool, &known.kind, value, depth - 1),
                        None => self.replace(value),
                    }
                };
                rebuild(value, clean, all)
            }
            FieldKind::Map(entry) => {
                let clean = |field: &Field<'_>| match field.value {
                    Value::Len(value) if field.number == 2 => self.secret(pool, &entry.1, value, depth - 1),
                    _ => None,
                };
                rebuild(value, clean, all)
            }
            _ => None,
        }
    }

    /// An `Any` that is a secret as a whole: its type stays.
    fn secret_any(&self, any: &[u8], depth: u32) -> Option<Vec<u8>> {
        let known = self.payload_type(any);
        let clean = |field: &Field<'_>| match (field.number, field.value, known) {
            (1, ..) => None,
            (2, Value::Len(value), Some((pool, place))) => {
                self.secret(pool, &FieldKind::Message(place), value, depth - 1)
            }
            (_, Value::Len(value), _) => self.replace(value),
            _ => None,
        };
        rebuild(any, clean, |rest| overwrite_rest(rest, |number| number != 1))
    }

    /// The mark instead of a secret. What is a mark already stays.
    fn replace(&self, secret: &[u8]) -> Option<Vec<u8>> {
        if secret.is_empty() || redacted(secret).is_some() {
            return None;
        }
        self.remember(secret);
        Some(self.mark(secret).into_bytes())
    }
}

/// A `DataSource` says where the secret is; only one that holds it is to be emptied.
fn names_a_place(table: &MessageTable, field: &str) -> bool {
    table.name.ends_with(".DataSource")
        && matches!(field, "filename" | "environment_variable" | "watched_directory")
}

/// The bytes with all after the first `kept` overwritten; `None` if that changes nothing.
fn overwrite(bytes: &[u8], kept: usize) -> Option<Vec<u8>> {
    let mut out = bytes.to_vec();
    out.get_mut(kept..)?.fill(b'*');
    (out != bytes).then_some(out)
}

/// The same for bytes that begin with a field that can't be read, its tag and length kept: damage stays damage. Not
/// if they all belong to a field that can hold no secret.
fn overwrite_rest(rest: &[u8], may_hold: impl FnOnce(u32) -> bool) -> Option<Vec<u8>> {
    let (tag, kept) = raw::unreadable_head(rest);
    if tag & 7 == u64::from(WIRE_LEN) && !u32::try_from(tag >> 3).is_ok_and(may_hold) {
        return None;
    }
    overwrite(rest, kept)
}

impl Redact for Redactor {
    fn resource(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = self.any(bytes, MAX_DEPTH);
        // Keys also stand where nobody marks them, and in what no descriptor knows.
        self.raw(clean.as_deref().unwrap_or(bytes)).or(clean)
    }

    fn text(&self, text: &str) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let clean = text::clean(text, &known, &|secret| self.mark(secret));
        // Of a key that began in another text only the rest is here.
        let rest = self.raw(clean.as_deref().unwrap_or(text).as_bytes());
        rest.and_then(|rest| String::from_utf8(rest).ok()).or(clean)
    }

    fn raw(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        raw::clean(bytes, &|secret| self.mark(secret))
    }

    fn fields(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        raw::clean_fields(bytes, &|secret| self.mark(secret))
    }
}

#[cfg(test)]
mod tests;
