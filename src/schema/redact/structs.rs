//! Redaction of `google.protobuf.Struct`: values behind names of secrets, and structs that stand
//! for a typed message.

use std::borrow::Cow;

use super::references::is_reference;
use super::values::has_credential;
use super::{Depth, LOCATION_FIELDS, Redactor, jwks, overwrite, overwrite_rest};
use crate::json::named_value::{VALUE_FIELDS, is_key_set_name};
use crate::message_name;
use crate::pools::pool::Pool;
use crate::table::{FieldKind, JsonForm};
use xdscope_wire::pb::{Fields, Value, WireField, put_len_field, rebuild};

/// Field numbers of `Struct`, `Value` and `ListValue`.
const FIELDS: u32 = 1;
const NUMBER_VALUE: u32 = 2;
const STRING_VALUE: u32 = 3;
const STRUCT_VALUE: u32 = 5;
const LIST_VALUE: u32 = 6;
const LIST_VALUES: u32 = 1;

/// Members with the name of another member's value.
const NAME_MEMBERS: [&str; 6] = ["key", "name", "header", "header_name", "headerName", "field"];

/// The meaning of a value in a `Struct`.
#[derive(Clone, Copy)]
pub(super) enum Meaning<'a> {
    /// Nothing is known.
    Unknown,
    /// A secret.
    Secret,
    /// A JSON Web Key Set.
    KeySet,
    /// A message of this type.
    Message(&'a Pool, u32),
    /// A map with values of this kind.
    Map(&'a Pool, &'a FieldKind),
    /// A value of a known field that is not secret.
    Plain,
}

impl Redactor {
    /// Redacts a `TypedStruct`: the type URL is field 1, the `Struct` field 2.
    pub(super) fn typed_struct(&self, bytes: &[u8], depth: Depth) -> Option<Vec<u8>> {
        let url = Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == 1).last();
        let means = url.map_or(Meaning::Unknown, |url| self.meaning_of(&url.text(), depth));
        let clean = |field: &WireField<'_>| match field.value {
            Value::Len(value) if field.number == 2 => self.structure(means, value, depth.below()),
            _ => None,
        };
        rebuild(bytes, clean, |rest| overwrite_rest(rest, |number| number == 2))
    }

    fn meaning_of(&self, type_url: &str, depth: Depth) -> Meaning<'_> {
        let found = self.find(message_name(type_url), depth);
        found.map_or(Meaning::Unknown, |(pool, place)| Meaning::Message(pool, place))
    }

    /// Redacts a `Struct`.
    pub(super) fn structure(&self, means: Meaning<'_>, bytes: &[u8], depth: Depth) -> Option<Vec<u8>> {
        if depth.is_exceeded() {
            return overwrite(bytes, 0);
        }
        let facts = self.facts(bytes);
        let means = match (means, &facts.type_url) {
            (Meaning::Secret, _) | (_, None) => means,
            (_, Some(url)) => self.meaning_of(url, depth),
        };
        let clean = |field: &WireField<'_>| match field.value {
            Value::Len(entry) if field.number == FIELDS => self.member(means, &facts, entry, depth),
            _ => None,
        };
        rebuild(bytes, clean, |rest| overwrite_rest(rest, |number| number == FIELDS))
    }

    /// Reads the members that tell what the others mean.
    fn facts(&self, bytes: &[u8]) -> StructFacts {
        let mut facts = StructFacts::default();
        let mut names_session = false;
        for entry in Fields::new(bytes).map_while(Result::ok).filter(|field| field.number == FIELDS) {
            let (mut key, mut value) = (None, None);
            for field in Fields::new(entry.bytes()).map_while(Result::ok) {
                match field.number {
                    1 => key = Some(field),
                    2 => value = Some(field),
                    _ => {}
                }
            }
            let Some(key) = key.filter(|key| key.bytes().len() <= "header_name".len()) else { continue };
            let key = key.text();
            facts.has_key_type |= key == "kty";
            let is_name = NAME_MEMBERS.contains(&&*key);
            if !is_name && key != "@type" {
                continue;
            }
            let text = value.and_then(|value| {
                Fields::new(value.bytes()).map_while(Result::ok).filter(|f| f.number == STRING_VALUE).last()
            });
            match text {
                Some(text) if is_name && self.names().is_session(&text.text()) => names_session = true,
                Some(text) if is_name => facts.names_secret |= self.names().is_header(&text.text()),
                Some(text) => facts.type_url = Some(text.text().into_owned()),
                None => {}
            }
        }
        facts.names_secret |= names_session && has_credential(bytes);
        facts
    }

    /// Redacts a member of a `Struct`.
    fn member(&self, of: Meaning<'_>, facts: &StructFacts, entry: &[u8], depth: Depth) -> Option<Vec<u8>> {
        let keys = Fields::new(entry).map_while(Result::ok).filter(|field| field.number == 1);
        // The last of several keys counts, but each may tell of a secret.
        let mut means = Meaning::Unknown;
        for key in keys {
            let key = key.text();
            let is_word = self.names().is_session(&key) && has_word(entry);
            means = match (means, self.member_meaning(of, facts, &key, depth)) {
                (_, Meaning::Secret) if is_word && !matches!(of, Meaning::Secret) => Meaning::Unknown,
                (Meaning::Secret, _) => Meaning::Secret,
                (_, newer) => newer,
            };
        }
        let clean = |field: &WireField<'_>| match field.value {
            Value::Len(value) if field.number == 2 => self.struct_value(means, value, depth.below()),
            _ => None,
        };
        rebuild(entry, clean, |rest| overwrite_rest(rest, |number| number == 2))
    }

    fn member_meaning<'a>(
        &'a self,
        of: Meaning<'a>,
        facts: &StructFacts,
        key: &str,
        depth: Depth,
    ) -> Meaning<'a> {
        let is_secret = || {
            self.names().is_key(key)
                || facts.names_secret && VALUE_FIELDS.iter().any(|name| same_name(name, key))
                || facts.has_key_type && jwks::is_secret_member(key)
        };
        match of {
            Meaning::Secret if LOCATION_FIELDS.iter().any(|name| same_name(name, key)) => Meaning::Plain,
            Meaning::Secret => Meaning::Secret,
            Meaning::Map(pool, kind) => match kind {
                FieldKind::Message(place) => Meaning::Message(pool, *place),
                _ if self.names().is_header(key) => Meaning::Secret,
                _ => Meaning::Plain,
            },
            Meaning::Message(pool, place) => {
                let definition = self.definition(pool, place, depth);
                let (pool, table) = definition.map_or((pool, None), |(pool, _, table)| (pool, Some(table)));
                let is_open = table.is_none_or(|table| table.form.can_hold_anything());
                let field = table.and_then(|table| {
                    table.fields.iter().find(|field| *field.name == *key || *field.json_name == *key)
                });
                match field {
                    _ if is_open => {
                        if is_secret() {
                            Meaning::Secret
                        } else {
                            Meaning::Unknown
                        }
                    }
                    Some(field) if field.is_secret => Meaning::Secret,
                    Some(field) if facts.names_secret && VALUE_FIELDS.contains(&&*field.name) => {
                        Meaning::Secret
                    }
                    Some(field) if field.is_key_set => Meaning::KeySet,
                    Some(field) => match &field.kind {
                        FieldKind::Message(place) => Meaning::Message(pool, *place),
                        FieldKind::Map(entry) => Meaning::Map(pool, &entry.1),
                        _ => Meaning::Plain,
                    },
                    None if table.is_some_and(|table| table.is_secret) && key != "@type" => Meaning::Secret,
                    None => {
                        if is_secret() {
                            Meaning::Secret
                        } else {
                            Meaning::Unknown
                        }
                    }
                }
            }
            Meaning::KeySet if is_secret() => Meaning::Secret,
            Meaning::KeySet => Meaning::KeySet,
            Meaning::Unknown | Meaning::Plain if is_secret() => Meaning::Secret,
            Meaning::Unknown | Meaning::Plain if is_key_set_name(key) => Meaning::KeySet,
            Meaning::Unknown | Meaning::Plain => Meaning::Unknown,
        }
    }

    /// Redacts a `Value`.
    pub(super) fn struct_value(&self, means: Meaning<'_>, bytes: &[u8], depth: Depth) -> Option<Vec<u8>> {
        if depth.is_exceeded() {
            return overwrite(bytes, 0);
        }
        let is_secret = matches!(means, Meaning::Secret);
        let mut fields = Fields::new(bytes).map_while(Result::ok);
        if is_secret && let Some(number) = fields.find(|field| matches!(field.value, Value::I64(_))) {
            // A number has no room for a mark.
            let mut out = Vec::new();
            put_len_field(&mut out, STRING_VALUE, self.placeholder(number.raw).as_bytes());
            return Some(out);
        }
        let clean = |field: &WireField<'_>| match (field.number, field.value) {
            (STRING_VALUE, Value::Len(text)) => match means {
                Meaning::Secret if is_reference(text) => None,
                Meaning::Secret => self.replace(text),
                Meaning::KeySet => jwks::clean(text, &|secret| self.replace(secret)),
                _ => None,
            },
            (STRUCT_VALUE, Value::Len(inner)) => self.structure(means, inner, depth.below()),
            (LIST_VALUE, Value::Len(list)) => self.list(means, list, depth.below()),
            (NUMBER_VALUE, _) | (_, Value::Varint(_)) => None,
            (_, Value::Len(other)) if is_secret => self.replace(other),
            _ => None,
        };
        let may_hold = |number| is_secret || [STRUCT_VALUE, LIST_VALUE].contains(&number);
        rebuild(bytes, clean, |rest| overwrite_rest(rest, may_hold))
    }

    /// Redacts a `ListValue`.
    pub(super) fn list(&self, means: Meaning<'_>, bytes: &[u8], depth: Depth) -> Option<Vec<u8>> {
        let is_pair = Fields::new(bytes).map_while(Result::ok).take(3).count() == 2;
        let mut is_named = false;
        let clean = |field: &WireField<'_>| match field.value {
            Value::Len(value) if field.number == LIST_VALUES => {
                let text = string_value(value);
                let text = text.as_deref().unwrap_or_default();
                let means = if is_named && !is_name(text) { Meaning::Secret } else { means };
                is_named = self.names_next(text, is_pair);
                self.struct_value(means, value, depth)
            }
            _ => None,
        };
        rebuild(bytes, clean, |rest| overwrite_rest(rest, |_| true))
    }

    /// Whether an element of a list is the name of the secret behind it: an option of a command
    /// line, or the name of a header in a pair.
    fn names_next(&self, element: &str, is_pair: bool) -> bool {
        match element.strip_prefix('-') {
            Some(option) => self.names().is_key(option),
            None => is_pair && self.names().is_header(element),
        }
    }

    /// Redacts a message of a type in `google/protobuf/struct.proto`.
    pub(super) fn struct_form(&self, form: JsonForm, bytes: &[u8], depth: Depth) -> Option<Vec<u8>> {
        match form {
            JsonForm::Struct => self.structure(Meaning::Unknown, bytes, depth),
            JsonForm::Value => self.struct_value(Meaning::Unknown, bytes, depth),
            _ => self.list(Meaning::Unknown, bytes, depth),
        }
    }
}

/// Returns the text of a `Value`.
fn string_value(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = Fields::new(value).map_while(Result::ok).filter(|field| field.number == STRING_VALUE).last();
    text.map(|text| String::from_utf8_lossy(text.bytes()))
}

/// Whether the value of a member is a text that does not look like a credential.
fn has_word(entry: &[u8]) -> bool {
    let value = Fields::new(entry).map_while(Result::ok).filter(|field| field.number == 2).last();
    let text = value.and_then(|value| string_value(value.bytes()).map(Cow::into_owned));
    text.is_some_and(|text| !has_credential(text.as_bytes()))
}

/// Whether an element of a list is an option of a command line or the name of a header rather than
/// a value.
fn is_name(element: &str) -> bool {
    let is_header = element.contains('-') && element.bytes().all(|c| c.is_ascii_lowercase() || c == b'-');
    is_header || element.starts_with('-')
}

/// Facts that members of a `Struct` tell about each other.
#[derive(Default)]
struct StructFacts {
    /// The member `@type`.
    type_url: Option<String>,
    /// A member is the name of a secret, such as a header's.
    names_secret: bool,
    /// The `Struct` is a JSON Web Key.
    has_key_type: bool,
}

/// Whether a key is a field name in either spelling.
fn same_name(field: &str, key: &str) -> bool {
    let letters = |text: &'_ str| {
        text.bytes().filter(|c| *c != b'_').map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>()
    };
    key.len() <= field.len() && letters(field) == letters(key)
}
