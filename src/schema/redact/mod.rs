//! Redaction of secrets before anything is stored.
//!
//! In resources, the API's descriptors mark the secret fields. In texts from peers, redaction looks
//! for known secrets, PEM blocks, and values behind names such as `private_key`, and prefers to
//! redact too much. In undecodable bytes, redaction looks for PEM blocks only. Undecodable parts of
//! a field that may hold a secret are overwritten entirely.

mod raw;
mod text;

use std::sync::{Arc, Mutex};

use twox_hash::XxHash3_64;

use super::pool::Pool;
use super::table::{FieldKind, JsonForm, MessageTable};
use super::walk::redacted;
use super::{MAX_DEPTH, Schema, message_name};
use crate::wire::content::Redact;
use crate::wire::pb::{Fields, Value, WIRE_LEN, WireField, field_bit, rebuild};

/// A redactor for resources and texts. With equal seeds, equal secrets get equal ids.
pub struct Redactor {
    schema: Arc<Schema>,
    seed: u64,
    /// Secrets from resources, to redact in texts. Excludes short secrets, which would match
    /// ordinary text.
    known: Mutex<Vec<Vec<u8>>>,
}

/// Maximum number of secrets to look for in texts. Drops the oldest first.
const MAX_REMEMBERED_SECRETS: usize = 128;
/// Length of the shortest secret to look for in texts, in bytes.
const MIN_REMEMBERED_BYTES: usize = 8;

/// Returns the placeholder for a secret of `len` bytes. Equal ids stand for equal secrets.
fn placeholder(len: usize, hash: u64) -> String {
    format!("[redacted {len} B, id {:04x}]", hash & 0xffff)
}

/// Redacts the value of a metadata entry. Returns `None` if the value is not a secret.
///
/// `name` must be in lower case.
pub fn metadata(name: &str, value: &str) -> Option<String> {
    let is_credential = ["authorization", "proxy-authorization", "cookie", "set-cookie"].contains(&name);
    let has_secret_word =
        ["token", "secret", "password", "api-key", "apikey", "credential"].iter().any(|p| name.contains(p));
    let is_redacted = redacted(value.as_bytes()).is_some();
    ((is_credential || has_secret_word) && !is_redacted).then(|| format!("[redacted {} B]", value.len()))
}

impl Redactor {
    /// Creates a redactor. `seed` keys the ids, which are therefore meaningless in other sessions.
    pub fn new(schema: Arc<Schema>, seed: u64) -> Redactor {
        Redactor { schema, seed, known: Mutex::default() }
    }

    fn placeholder(&self, secret: &[u8]) -> String {
        placeholder(secret.len(), XxHash3_64::oneshot_with_seed(self.seed, secret))
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

    /// Returns the pool and index of the type of an `Any`, if the type is known.
    fn payload_type(&self, any: &[u8]) -> Option<(&Pool, u32)> {
        let url = Fields::new(any).map_while(Result::ok).filter(|field| field.number == 1).last()?;
        self.schema.find_message(message_name(std::str::from_utf8(url.bytes()).ok()?))
    }

    /// Redacts an `Any`. Returns `None` if there is no secret.
    fn any(&self, bytes: &[u8], depth: u32) -> Option<Vec<u8>> {
        let (pool, place) = self.payload_type(bytes).filter(|(pool, place)| pool.can_hold_secret(*place))?;
        let clean = |field: &WireField<'_>| match field.value {
            Value::Len(value) if field.number == 2 => self.message(pool, place, value, depth - 1),
            _ => None,
        };
        rebuild(bytes, clean, |rest| overwrite_rest(rest, |number| number == 2))
    }

    /// Redacts a message. Returns `None` if there is no secret.
    fn message(&self, pool: &Pool, place: u32, bytes: &[u8], depth: u32) -> Option<Vec<u8>> {
        if depth == 0 {
            return overwrite(bytes, 0);
        }
        let table = pool.table(place)?;
        if table.form == JsonForm::Any {
            return self.any(bytes, depth);
        }
        let may_hold = |number| {
            table.field(number).is_none_or(|field| field.is_secret || pool.kind_can_hold_secret(&field.kind))
        };
        let fields = pool.secret_fields(place);
        let clean = |field: &WireField<'_>| {
            (fields & field_bit(field.number) != 0).then(|| self.field(pool, table, field, depth)).flatten()
        };
        rebuild(bytes, clean, |rest| overwrite_rest(rest, may_hold))
    }

    /// Returns the redacted value of a field, or `None` to keep the value.
    fn field(&self, pool: &Pool, table: &MessageTable, field: &WireField<'_>, depth: u32) -> Option<Vec<u8>> {
        let (Value::Len(value) | Value::Group(value)) = field.value else { return None };
        let known = table.field(field.number)?;
        match &known.kind {
            kind if known.is_secret => self.secret(pool, kind, value, depth),
            kind if !pool.kind_can_hold_secret(kind) => None,
            FieldKind::Message(inner) => self.message(pool, *inner, value, depth - 1),
            FieldKind::Map(entry) => {
                let FieldKind::Message(inner) = entry.1 else { return None };
                let clean = |field: &WireField<'_>| match field.value {
                    Value::Len(value) if field.number == 2 => self.message(pool, inner, value, depth - 1),
                    _ => None,
                };
                rebuild(value, clean, |rest| overwrite_rest(rest, |number| number == 2))
            }
            _ => None,
        }
    }

    /// Redacts a secret value.
    ///
    /// In a message, replaces all texts and bytes except for the location of a `DataSource`.
    fn secret(&self, pool: &Pool, kind: &FieldKind, value: &[u8], depth: u32) -> Option<Vec<u8>> {
        let all = |rest| overwrite_rest(rest, |_| true);
        match kind {
            FieldKind::String | FieldKind::Bytes => self.replace(value),
            FieldKind::Message(_) | FieldKind::Map(_) if depth == 0 => overwrite(value, 0),
            FieldKind::Message(place) => {
                let table = pool.table(*place)?;
                if table.form == JsonForm::Any {
                    return self.secret_any(value, depth);
                }
                let clean = |field: &WireField<'_>| {
                    let (Value::Len(value) | Value::Group(value)) = field.value else { return None };
                    match table.field(field.number) {
                        Some(known) if is_data_source_location(table, &known.name) => None,
                        Some(known) => self.secret(pool, &known.kind, value, depth - 1),
                        None => self.replace(value),
                    }
                };
                rebuild(value, clean, all)
            }
            FieldKind::Map(entry) => {
                let clean = |field: &WireField<'_>| match field.value {
                    Value::Len(value) if field.number == 2 => self.secret(pool, &entry.1, value, depth - 1),
                    _ => None,
                };
                rebuild(value, clean, all)
            }
            _ => None,
        }
    }

    /// Redacts an `Any` that is a secret, except for the type URL.
    fn secret_any(&self, any: &[u8], depth: u32) -> Option<Vec<u8>> {
        let known = self.payload_type(any);
        let clean = |field: &WireField<'_>| match (field.number, field.value, known) {
            (1, ..) => None,
            (2, Value::Len(value), Some((pool, place))) => {
                self.secret(pool, &FieldKind::Message(place), value, depth - 1)
            }
            (_, Value::Len(value), _) => self.replace(value),
            _ => None,
        };
        rebuild(any, clean, |rest| overwrite_rest(rest, |number| number != 1))
    }

    /// Returns the placeholder for a secret, or `None` for an empty or redacted value.
    fn replace(&self, secret: &[u8]) -> Option<Vec<u8>> {
        if secret.is_empty() || redacted(secret).is_some() {
            return None;
        }
        self.remember(secret);
        Some(self.placeholder(secret).into_bytes())
    }
}

/// Whether a field of a `DataSource` names the location of a secret rather than the secret.
fn is_data_source_location(table: &MessageTable, field: &str) -> bool {
    table.name.ends_with(".DataSource")
        && matches!(field, "filename" | "environment_variable" | "watched_directory")
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
    fn resource(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = self.any(bytes, MAX_DEPTH);
        // Private keys also occur in unmarked fields and in unknown types.
        self.raw(clean.as_deref().unwrap_or(bytes)).or(clean)
    }

    fn text(&self, text: &str) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let clean = text::clean(text, &known, &|secret| self.placeholder(secret));
        // The text may contain the end of a key that began in another text.
        let rest = self.raw(clean.as_deref().unwrap_or(text).as_bytes());
        rest.and_then(|rest| String::from_utf8(rest).ok()).or(clean)
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
