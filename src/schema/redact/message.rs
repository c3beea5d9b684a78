//! Redaction of messages by their descriptors.

use super::references::is_reference;
use super::schemes::{scheme_len, starts_with_header_scheme};
use super::values::has_credential;
use super::{Depth, LOCATION_FIELDS, Redactor, jwks, overwrite, overwrite_rest, shown};
use crate::message_name;
use crate::pools::pool::Pool;
use crate::table::{FieldInfo, FieldKind, JsonForm, MessageTable};
use xdscope_wire::pb::{Fields, Value, WireField, field_bit, rebuild};
use xdscope_wire::xdstp::locator::entry_text;

/// The type of redirects, and of the locators in lists.
const LOCATOR: &str = "xds.core.v3.ResourceLocator";

/// Messages with a `Struct` that stands for a message of another type.
const TYPED_STRUCTS: [&str; 2] = ["xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct"];

impl Redactor {
    /// Returns the pool and index of the type of an `Any`, if the type is known.
    fn payload_type(&self, any: &[u8], depth: Depth) -> Option<(&Pool, u32)> {
        let url = Fields::new(any).map_while(Result::ok).filter(|field| field.number == 1).last()?;
        self.find(message_name(std::str::from_utf8(url.bytes()).ok()?), depth)
    }

    /// Redacts an `Any`. Returns `None` if there is no secret.
    pub(super) fn any(&self, bytes: &[u8], depth: Depth) -> Option<Vec<u8>> {
        let (pool, place) =
            self.payload_type(bytes, depth).filter(|(pool, place)| pool.can_hold_secret(*place))?;
        let clean = |field: &WireField<'_>| match field.value {
            Value::Len(value) if field.number == 2 => self.message(pool, place, value, depth.below()),
            _ => None,
        };
        rebuild(bytes, clean, |rest| overwrite_rest(rest, |number| number == 2))
    }

    /// Redacts a message. Returns `None` if there is no secret.
    pub(super) fn message(&self, pool: &Pool, place: u32, bytes: &[u8], depth: Depth) -> Option<Vec<u8>> {
        if depth.is_exceeded() {
            return overwrite(bytes, 0);
        }
        let (pool, place, table) = self.definition(pool, place, depth)?;
        match table.form {
            JsonForm::Any => return self.any(bytes, depth),
            form if form.can_hold_anything() => return self.struct_form(form, bytes, depth),
            // The locator of an entry may be the text of a URI: docs/protocol.md#l-24
            _ if &*table.name == LOCATOR && entry_text(bytes).is_some() => return None,
            _ if TYPED_STRUCTS.contains(&&*table.name) => return self.typed_struct(bytes, depth),
            _ => {}
        }
        let depth = Depth { is_in_secret: depth.is_in_secret || table.is_secret, ..depth };
        let named = self.secret_values(table, bytes);
        let fields = if depth.is_in_secret { u64::MAX } else { pool.secret_fields(place) | named };
        let may_hold = |number| {
            named & field_bit(number) != 0
                || table.field(number).is_none_or(|field| {
                    field.is_secret || field.is_key_set || pool.kind_can_hold_secret(&field.kind)
                })
        };
        let clean = |field: &WireField<'_>| {
            if fields & field_bit(field.number) == 0 {
                return None;
            }
            match table.field(field.number) {
                Some(known) if known.fits(&field.value) => {
                    let is_named = named & field_bit(field.number) != 0;
                    self.field(pool, known, is_named, field, depth)
                }
                // The value has another type than in the descriptor.
                Some(_) if depth.is_in_secret => (!field.bytes().is_empty() || !is_len(field)).then(Vec::new),
                None if depth.is_in_secret => self.unknown(field),
                _ => None,
            }
        };
        rebuild(bytes, clean, |rest| overwrite_rest(rest, may_hold))
    }

    /// Returns the bits of the fields with the value of a header or the like, if the value is a
    /// secret.
    fn secret_values(&self, table: &MessageTable, bytes: &[u8]) -> u64 {
        let Some(named) = &table.named_value else { return 0 };
        let values = named.values.iter().fold(0, |bits, number| bits | field_bit(*number));
        let mut names_session = false;
        let is_secret = |field: WireField<'_>| {
            let Value::Len(text) = field.value else { return false };
            if field.number == named.name {
                let name = String::from_utf8_lossy(if named.is_path { last_text(text) } else { text });
                let is_session = self.names().is_session(&name);
                names_session |= is_session;
                return !is_session && self.names().is_header(&name);
            }
            named.values.contains(&field.number) && starts_with_header_scheme(text)
        };
        if Fields::new(bytes).map_while(Result::ok).any(is_secret) {
            return values;
        }
        let is_credential =
            |field: WireField<'_>| named.values.contains(&field.number) && has_credential(field.bytes());
        let is_secret = names_session && Fields::new(bytes).map_while(Result::ok).any(is_credential);
        if is_secret { values } else { 0 }
    }

    /// Returns the redacted value of a field, or `None` to keep the value.
    fn field(
        &self,
        pool: &Pool,
        known: &FieldInfo,
        is_named_secret: bool,
        field: &WireField<'_>,
        depth: Depth,
    ) -> Option<Vec<u8>> {
        let (Value::Len(value) | Value::Group(value)) = field.value else { return None };
        match &known.kind {
            kind if known.is_secret => self.secret(pool, kind, value, depth),
            kind if is_named_secret => self.named_secret(pool, kind, value, depth),
            FieldKind::Message(inner) if known.is_key_set => self.key_set(pool, *inner, value, depth),
            FieldKind::Message(inner) if depth.is_in_secret || pool.can_hold_secret(*inner) => {
                self.message(pool, *inner, value, depth.below())
            }
            FieldKind::Map(entry) => self.map_entry(pool, &entry.1, value, depth),
            _ => None,
        }
    }

    /// Redacts an entry of a map.
    fn map_entry(&self, pool: &Pool, kind: &FieldKind, entry: &[u8], depth: Depth) -> Option<Vec<u8>> {
        let is_text = match kind {
            FieldKind::String | FieldKind::Bytes => true,
            FieldKind::Message(place) => pool.is_channel_argument(*place),
            _ => false,
        };
        if !is_text && !depth.is_in_secret && !pool.kind_can_hold_secret(kind) {
            return None;
        }
        let mut keys = Fields::new(entry).map_while(Result::ok).filter(|field| field.number == 1);
        let is_secret = is_text && keys.any(|key| self.names().is_header(&key.text()));
        let clean = |field: &WireField<'_>| match (field.value, kind) {
            (Value::Len(value), FieldKind::Message(_)) if field.number == 2 && is_secret => {
                self.secret(pool, kind, value, depth.below())
            }
            (Value::Len(value), FieldKind::Message(inner)) if field.number == 2 => {
                self.message(pool, *inner, value, depth.below())
            }
            (Value::Len(value), _) if field.number == 2 && is_secret && !is_reference(value) => {
                self.replace(value)
            }
            _ => None,
        };
        rebuild(entry, clean, |rest| overwrite_rest(rest, |number| number == 2))
    }

    /// Redacts the secret value of a header or the like. Keeps matchers of nothing but a scheme.
    fn named_secret(&self, pool: &Pool, kind: &FieldKind, value: &[u8], depth: Depth) -> Option<Vec<u8>> {
        let FieldKind::Message(place) = kind else {
            return if names_credential(value) { None } else { self.replace(value) };
        };
        let (pool, _, table) = self.definition(pool, *place, depth)?;
        if table.form == JsonForm::Value {
            return self.struct_value(super::structs::Meaning::Secret, value, depth.below());
        }
        if !table.name.ends_with(".StringMatcher") {
            return self.secret(pool, kind, value, depth);
        }
        let clean = |field: &WireField<'_>| match (field.value, &table.field(field.number)?.kind) {
            (Value::Len(text), FieldKind::String) if !names_credential(text) => self.replace(text),
            (Value::Len(inner), kind @ FieldKind::Message(_)) => {
                self.secret(pool, kind, inner, depth.below())
            }
            _ => None,
        };
        rebuild(value, clean, |rest| overwrite_rest(rest, |_| true))
    }

    /// Redacts the `DataSource` of a JSON Web Key Set.
    fn key_set(&self, pool: &Pool, place: u32, source: &[u8], depth: Depth) -> Option<Vec<u8>> {
        let (_, _, table) = self.definition(pool, place, depth)?;
        let clean = |field: &WireField<'_>| match (field.value, table.field(field.number)) {
            (Value::Len(_), Some(known)) if is_data_source_location(table, &known.name) => None,
            (Value::Len(set), _) => jwks::clean(set, &|secret| self.replace(secret)),
            _ => None,
        };
        rebuild(source, clean, |rest| overwrite_rest(rest, |_| true))
    }

    /// Redacts an unknown field of a message with secrets, whatever the value is.
    fn unknown(&self, field: &WireField<'_>) -> Option<Vec<u8>> {
        match field.value {
            Value::Len(value) => self.replace(value),
            _ => Some(self.placeholder(field.raw).into_bytes()),
        }
    }

    /// Redacts a secret value.
    ///
    /// In a message, replaces all texts and bytes except for the location of a `DataSource`.
    pub(super) fn secret(
        &self,
        pool: &Pool,
        kind: &FieldKind,
        value: &[u8],
        depth: Depth,
    ) -> Option<Vec<u8>> {
        let all = |rest| overwrite_rest(rest, |_| true);
        match kind {
            FieldKind::String | FieldKind::Bytes => self.replace(value),
            FieldKind::Message(_) | FieldKind::Map(_) if depth.is_exceeded() => overwrite(value, 0),
            FieldKind::Message(place) => {
                let (pool, _, table) = self.definition(pool, *place, depth)?;
                if table.form == JsonForm::Any {
                    return self.secret_any(value, depth);
                }
                let clean = |field: &WireField<'_>| match table.field(field.number) {
                    Some(known) if known.fits(&field.value) => match field.value {
                        _ if is_data_source_location(table, &known.name) => None,
                        Value::Len(value) | Value::Group(value) => {
                            self.secret(pool, &known.kind, value, depth.below())
                        }
                        _ => None,
                    },
                    Some(_) => (!field.bytes().is_empty() || !is_len(field)).then(Vec::new),
                    None => self.unknown(field),
                };
                rebuild(value, clean, all)
            }
            FieldKind::Map(entry) => {
                let clean = |field: &WireField<'_>| match field.value {
                    Value::Len(value) if field.number == 2 => {
                        self.secret(pool, &entry.1, value, depth.below())
                    }
                    _ => None,
                };
                rebuild(value, clean, all)
            }
            _ => None,
        }
    }

    /// Redacts an `Any` that is a secret, except for the type URL.
    fn secret_any(&self, any: &[u8], depth: Depth) -> Option<Vec<u8>> {
        let known = self.payload_type(any, depth);
        let clean = |field: &WireField<'_>| match (field.number, field.value, known) {
            (1, ..) => None,
            (2, Value::Len(value), Some((pool, place))) => {
                self.secret(pool, &FieldKind::Message(place), value, depth.below())
            }
            (_, Value::Len(value), _) => self.replace(value),
            _ => None,
        };
        rebuild(any, clean, |rest| overwrite_rest(rest, |number| number != 1))
    }

    /// Overwrites secrets that the texts of a message show by their form, whatever their field.
    pub(super) fn shown_secrets(
        &self,
        kind: Option<(&Pool, u32)>,
        bytes: &[u8],
        depth: Depth,
    ) -> Option<Vec<u8>> {
        if depth.is_exceeded() || !shown::may_have_secrets(bytes, self.names(), false) {
            return None;
        }
        let table = kind
            .and_then(|(pool, place)| self.definition(pool, place, depth))
            .map(|(pool, _, table)| (pool, table));
        let payload = match table {
            Some((_, table)) if table.form == JsonForm::Any => self.payload_type(bytes, depth),
            _ => None,
        };
        let clean = |field: &WireField<'_>| {
            let (Value::Len(value) | Value::Group(value)) = field.value else { return None };
            let known = table.and_then(|(pool, table)| Some((pool, table.form, table.field(field.number)?)));
            match known {
                Some((_, JsonForm::Any, _)) if field.number == 2 => match payload {
                    Some(_) => self.shown_secrets(payload, value, depth.below()),
                    None => self.shown_in_unknown(value, depth),
                },
                Some((pool, _, known)) => match &known.kind {
                    FieldKind::String | FieldKind::Bytes => self.shown(value),
                    FieldKind::Message(inner) => {
                        self.shown_secrets(Some((pool, *inner)), value, depth.below())
                    }
                    FieldKind::Map(entry) => {
                        let clean = |field: &WireField<'_>| match (field.value, &entry.1) {
                            (Value::Len(value), FieldKind::Message(inner)) if field.number == 2 => {
                                self.shown_secrets(Some((pool, *inner)), value, depth.below())
                            }
                            (Value::Len(value), _) => self.shown(value),
                            _ => None,
                        };
                        rebuild(value, clean, |rest| self.shown(rest))
                    }
                    _ => None,
                },
                None => self.shown_in_unknown(value, depth),
            }
        };
        rebuild(bytes, clean, |rest| self.shown(rest))
    }

    /// Overwrites such secrets in a value of unknown type: a text, or else a message.
    fn shown_in_unknown(&self, value: &[u8], depth: Depth) -> Option<Vec<u8>> {
        let is_text = std::str::from_utf8(value)
            .is_ok_and(|text| !text.contains(|c: char| c < ' ' && !c.is_whitespace()));
        let is_message = Fields::new(value).all(|field| field.is_ok());
        let clean = if is_text || !is_message { self.shown(value) } else { None };
        if !is_message {
            return clean;
        }
        // A short text in a field is a text with its tag and length, which hide its first word.
        self.shown_secrets(None, clean.as_deref().unwrap_or(value), depth.below()).or(clean)
    }
}

/// Whether a text holds no secret: a reference, or a scheme and a space without a credential.
fn names_credential(text: &[u8]) -> bool {
    !text.is_empty() && scheme_len(text) == text.len() || is_reference(text)
}

/// Returns the last text of a message: the key of a segment of a path.
fn last_text(segment: &[u8]) -> &[u8] {
    Fields::new(segment).map_while(Result::ok).last().map_or(&[], |field| field.bytes())
}

fn is_len(field: &WireField<'_>) -> bool {
    matches!(field.value, Value::Len(_))
}

/// Whether a field of a `DataSource` names the location of a secret rather than the secret.
fn is_data_source_location(table: &MessageTable, field: &str) -> bool {
    table.name.ends_with(".DataSource") && LOCATION_FIELDS.contains(&field)
}
