//! Takes secrets out, before anything is kept.
//!
//! In resources by the descriptors: the API marks what is secret. In texts that peers write by what is known to be
//! secret, by PEM blocks, and by the names that secrets stand under; there too much is better than too little.

mod text;

use std::sync::{Arc, Mutex};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::pool::Pool;
use super::table::{Kind, Shape, Table};
use super::{LIMIT, Schema, message_name};
use crate::content::Redact;
use crate::pb::{Fields, Value, put_len_field};

/// Redacts by a schema. Equal secrets of one seed get equal ids.
pub struct Redactor {
    schema: Arc<Schema>,
    seed: u64,
    /// Secrets seen in resources, to be found again in texts. Shorter ones would be found everywhere.
    known: Mutex<Vec<Vec<u8>>>,
}

/// Secrets that are looked for in texts, at most; the oldest go first.
const KNOWN: usize = 128;
/// The shortest secret that is looked for in texts.
const SHORTEST: usize = 8;

/// What replaces a secret of `len` bytes; equal hashes, equal secrets.
fn mark(len: usize, hash: u64) -> String {
    format!("[redacted {len} B, id {:04x}]", hash & 0xffff)
}

/// The value of a metadata entry without its secret, or `None` if it has none. `name` is in lower case.
pub fn metadata(name: &str, value: &str) -> Option<String> {
    let whole = ["authorization", "proxy-authorization", "cookie", "set-cookie"].contains(&name);
    let part =
        ["token", "secret", "password", "api-key", "apikey", "credential"].iter().any(|p| name.contains(p));
    (whole || part).then(|| format!("[redacted {} B]", value.len()))
}

impl Redactor {
    /// `seed` keys the ids, so that they mean nothing outside of the session.
    pub fn new(schema: Arc<Schema>, seed: u64) -> Redactor {
        Redactor { schema, seed, known: Mutex::default() }
    }

    fn mark(&self, secret: &[u8]) -> String {
        mark(secret.len(), xxh3_64_with_seed(secret, self.seed))
    }

    fn remember(&self, secret: &[u8]) {
        if secret.len() < SHORTEST {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !known.iter().any(|old| old == secret) {
            if known.len() == KNOWN {
                known.remove(0);
            }
            known.push(secret.to_vec());
        }
    }

    /// An `Any` without its secrets, or `None` if it has none.
    fn any(&self, bytes: &[u8], depth: u32) -> Option<Vec<u8>> {
        if depth == 0 {
            return None;
        }
        let mut url = String::new();
        for field in Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == 1) {
            url = field.text().into_owned();
        }
        let name = message_name(&url);
        let pool = self.schema.pool_of(name)?;
        let place = pool.place(name).filter(|place| pool.reaches_secret(*place))?;
        rebuild(bytes, |number, value| match value {
            Value::Len(value) if number == 2 => self.message(pool, place, value, depth - 1),
            _ => None,
        })
    }

    /// A message without its secrets, or `None` if it has none.
    fn message(&self, pool: &Pool, place: u32, bytes: &[u8], depth: u32) -> Option<Vec<u8>> {
        if depth == 0 {
            return None;
        }
        let table = pool.table(place)?;
        if table.shape == Shape::Any {
            return self.any(bytes, depth);
        }
        rebuild(bytes, |number, value| {
            let (field, Value::Len(value)) = (table.field(number)?, value) else { return None };
            if field.sensitive {
                return self.secret(pool, &field.kind, value, depth);
            }
            match &field.kind {
                Kind::Message(inner) if pool.reaches_secret(*inner) => {
                    self.message(pool, *inner, value, depth - 1)
                }
                Kind::Map(entry) => match &entry.1 {
                    Kind::Message(inner) if pool.reaches_secret(*inner) => {
                        rebuild(value, |number, value| match value {
                            Value::Len(value) if number == 2 => self.message(pool, *inner, value, depth - 1),
                            _ => None,
                        })
                    }
                    _ => None,
                },
                _ => None,
            }
        })
    }

    /// A secret value: texts and bytes are replaced, in a message all of them but where a file is named.
    fn secret(&self, pool: &Pool, kind: &Kind, value: &[u8], depth: u32) -> Option<Vec<u8>> {
        match kind {
            Kind::String | Kind::Bytes if value.is_empty() => None,
            Kind::String | Kind::Bytes => {
                self.remember(value);
                Some(self.mark(value).into_bytes())
            }
            Kind::Message(place) if depth > 0 => {
                let table = pool.table(*place)?;
                rebuild(value, |number, value| {
                    let Value::Len(value) = value else { return None };
                    let field = table.field(number)?;
                    if names_a_place(table, &field.name) {
                        return None;
                    }
                    self.secret(pool, &field.kind, value, depth - 1)
                })
            }
            Kind::Map(entry) => rebuild(value, |number, value| match value {
                Value::Len(value) if number == 2 => self.secret(pool, &entry.1, value, depth.checked_sub(1)?),
                _ => None,
            }),
            _ => None,
        }
    }
}

/// A `DataSource` says where the secret is; only one that holds it is to be emptied.
fn names_a_place(table: &Table, field: &str) -> bool {
    table.name.ends_with(".DataSource") && matches!(field, "filename" | "environment_variable")
}

/// The message with some length-delimited fields replaced; `None` if `clean` replaces none.
fn rebuild(bytes: &[u8], mut clean: impl FnMut(u32, Value<'_>) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    for field in Fields::new(bytes).map_while(Result::ok) {
        match (clean(field.number, field.value), &mut out) {
            (Some(value), Some(out)) => put_len_field(out, field.number, &value),
            (Some(value), None) => {
                let mut start = bytes[..at].to_vec();
                put_len_field(&mut start, field.number, &value);
                out = Some(start);
            }
            (None, Some(out)) => out.extend_from_slice(field.raw),
            (None, None) => {}
        }
        at += field.raw.len();
    }
    // Bytes after damage can't be understood, so they can't be cleaned; with a secret before them they go.
    out
}

impl Redact for Redactor {
    fn resource(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.any(bytes, LIMIT)
    }

    fn text(&self, text: &str) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        text::clean(text, &known, &|secret| self.mark(secret))
    }
}

#[cfg(test)]
mod tests;
