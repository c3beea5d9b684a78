//! Checks of decoded messages against their rules.

use std::collections::HashMap;

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, ReflectMessage, Value as Val};

use super::super::pool::Pool;
use super::super::{MAX_DEPTH, Schema, message_name};
use super::compile::{CheckedField, number};
use super::rules::*;
use super::{MAX_VIOLATIONS, Violation, demands};
use crate::wire::pb::Fields;

pub(super) const ANY: &str = "google.protobuf.Any";

/// Maximum number of values checked in a message.
const MAX_VALUES: usize = 1 << 22;

/// Maximum number of items checked for duplicates in a list.
const MAX_UNIQUE_ITEMS: usize = 1 << 12;

/// The check of one message.
pub(super) struct Check<'s> {
    schema: &'s Schema,
    pub(super) found: Vec<Violation>,
    /// Path of the current field.
    path: String,
    checked_values: usize,
}

/// Splits an `Any` into type URL and value. Returns `None` if the bytes cannot be decoded.
pub(super) fn any_parts(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (mut url, mut value) = (String::new(), &[][..]);
    for field in Fields::new(bytes) {
        let field = field.ok()?;
        match field.number {
            1 => url = field.text().into_owned(),
            2 => value = field.bytes(),
            _ => {}
        }
    }
    Some((url, value))
}

impl<'s> Check<'s> {
    pub(super) fn new(schema: &'s Schema) -> Check<'s> {
        Check { schema, found: Vec::new(), path: String::new(), checked_values: 0 }
    }

    fn add(&mut self, demand: impl Into<String>) {
        if self.found.len() < MAX_VIOLATIONS {
            self.found.push(Violation { path: self.path.clone(), demand: demand.into() });
        }
    }

    /// Runs a check with `step` appended to the path.
    fn at(&mut self, step: &str, run: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        run(self);
        self.path.truncate(length);
    }

    pub(super) fn message(&mut self, pool: &Pool, message: &DynamicMessage, depth: u32) {
        let descriptor = message.descriptor();
        if descriptor.full_name() == ANY {
            return self.any(message, depth);
        }
        let compiled = pool.index_of(descriptor.full_name()).and_then(|place| pool.rules(place));
        let Some(compiled) = compiled.filter(|_| depth < MAX_DEPTH && self.found.len() < MAX_VIOLATIONS)
        else {
            return;
        };
        for (name, members) in &compiled.oneofs {
            if !members.iter().any(|field| message.has_field(field)) {
                let names: Vec<&str> = members.iter().map(FieldDescriptor::name).collect();
                let demand = match names.as_slice() {
                    [one] => format!("must be set: {one}"),
                    _ => format!("must be set: one of {}", names.join(", ")),
                };
                self.at(name, |this| this.add(demand));
            }
        }
        for field in &compiled.fields {
            if !self.take_value() {
                return;
            }
            let is_set = message.has_field(&field.descriptor);
            if is_set || !field.rules.is_empty() {
                self.at(field.descriptor.name(), |this| this.field(pool, field, message, depth));
            }
        }
    }

    /// Counts a value. Returns false once a limit is reached.
    fn take_value(&mut self) -> bool {
        self.checked_values += 1;
        self.checked_values <= MAX_VALUES && self.found.len() < MAX_VIOLATIONS
    }

    fn field(&mut self, pool: &Pool, field: &CheckedField, message: &DynamicMessage, depth: u32) {
        let CheckedField { descriptor, rules } = field;
        let is_set = message.has_field(descriptor);
        // Check only the member of a oneof that is set.
        if !is_set && descriptor.containing_oneof().is_some_and(|oneof| !oneof.is_synthetic()) {
            return;
        }
        if rules.required && !is_set {
            return self.add("must be set");
        }
        // Fields without presence always have a value.
        if !is_set && descriptor.supports_presence() {
            return;
        }
        let value = message.get_field(descriptor);
        self.value(pool, descriptor.kind(), rules, &value, depth);
    }

    fn value(&mut self, pool: &Pool, kind: Kind, rules: &Rules, value: &Val, depth: u32) {
        match (&rules.value, value) {
            (_, Val::List(items)) => self.list(pool, &kind, rules, items, depth),
            (_, Val::Map(entries)) => self.map(pool, &kind, rules, entries, depth),
            (_, Val::Message(inner)) => {
                self.message_value(rules, inner);
                self.inside(pool, rules, value, depth);
            }
            (ValueRule::Number(range), value) => {
                if let Some(demand) = number(value).and_then(|number| range.demand(number)) {
                    self.add(demand);
                }
            }
            (ValueRule::Bool(wanted), Val::Bool(is)) if wanted != is => {
                self.add(format!("must be {wanted}"));
            }
            (ValueRule::Text(text), Val::String(is)) => self.text(text, is.as_bytes(), Some(is)),
            (ValueRule::Text(text), Val::Bytes(is)) => self.text(text, is, None),
            (ValueRule::Enum(rule), Val::EnumNumber(number)) => self.enumeration(&kind, rule, *number),
            _ => {}
        }
    }

    fn list(&mut self, pool: &Pool, kind: &Kind, rules: &Rules, items: &[Val], depth: u32) {
        let ValueRule::List { items: lengths, unique, each, ignore_empty } = &rules.value else {
            for (i, item) in items.iter().enumerate().filter(|(_, item)| matches!(item, Val::Message(_))) {
                self.at(&format!("[{i}]"), |this| this.inside(pool, rules, item, depth));
            }
            return;
        };
        if *ignore_empty && items.is_empty() {
            return;
        }
        self.count(*lengths, items.len(), "item");
        if *unique && has_duplicates(items) {
            self.add("must not contain duplicate items");
        }
        for (i, item) in items.iter().enumerate() {
            if !self.take_value() {
                return;
            }
            self.at(&format!("[{i}]"), |this| this.value(pool, kind.clone(), each, item, depth));
        }
    }

    fn map(&mut self, pool: &Pool, kind: &Kind, rules: &Rules, entries: &HashMap<MapKey, Val>, depth: u32) {
        let no_rules = Rules::default();
        let (keys, values) = match &rules.value {
            ValueRule::Map { pairs, keys, values, ignore_empty } => {
                if *ignore_empty && entries.is_empty() {
                    return;
                }
                self.count(*pairs, entries.len(), "entry");
                (&**keys, &**values)
            }
            _ => (&no_rules, &no_rules),
        };
        let Kind::Message(entry) = kind else { return };
        let (key_kind, value_kind) =
            (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
        let mut entries: Vec<_> = entries.iter().collect();
        entries.sort_by_key(|(key, _)| key_text(key));
        for (key, item) in entries {
            if !self.take_value() {
                return;
            }
            self.at(&format!("[{:?}]", key_text(key)), |this| {
                this.value(pool, key_kind.clone(), keys, &Val::from(key.clone()), depth);
                this.value(pool, value_kind.clone(), values, item, depth);
            });
        }
    }

    fn enumeration(&mut self, kind: &Kind, rule: &EnumRule, number: i32) {
        let Kind::Enum(values) = kind else { return };
        let known = values.get_value(number);
        let is_forbidden = rule.is.is_some_and(|is| is != number)
            || (!rule.one_of.is_empty() && !rule.one_of.contains(&number))
            || rule.none_of.contains(&number);
        if rule.defined_only && known.is_none() {
            self.add(format!("must be a defined value, not {number}"));
        } else if is_forbidden {
            let name = known.map_or_else(|| number.to_string(), |value| value.name().to_owned());
            self.add(format!("must not be {name}"));
        }
    }

    /// Checks the rules on a message as a value: on the value of a wrapper, a time, or the type of
    /// an `Any`.
    fn message_value(&mut self, rules: &Rules, inner: &DynamicMessage) {
        let descriptor = inner.descriptor();
        match &rules.value {
            ValueRule::Any { one_of, none_of } => {
                let url = inner.get_field_by_name("type_url");
                let url = url.as_deref().and_then(Val::as_str).unwrap_or_default();
                if !one_of.is_empty() && !one_of.iter().any(|one| one == url) {
                    self.add(format!("must be of type {}", one_of.join(" or ")));
                } else if none_of.iter().any(|one| one == url) {
                    self.add(format!("must not be of type {url}"));
                }
            }
            ValueRule::Number(range) if range.is_time => {
                if let Some(demand) = number(&Val::Message(inner.clone())).and_then(|n| range.demand(n)) {
                    self.add(demand);
                }
            }
            ValueRule::Number(range) => {
                let wrapped = wrapped(descriptor.full_name(), inner);
                if let Some(demand) = wrapped.as_ref().and_then(number).and_then(|n| range.demand(n)) {
                    self.add(demand);
                }
            }
            ValueRule::Text(text) => match wrapped(descriptor.full_name(), inner) {
                Some(Val::String(is)) => self.text(text, is.as_bytes(), Some(&is)),
                Some(Val::Bytes(is)) => self.text(text, &is, None),
                _ => {}
            },
            ValueRule::Bool(wanted)
                if wrapped(descriptor.full_name(), inner).and_then(|is| is.as_bool()) == Some(!wanted) =>
            {
                self.add(format!("must be {wanted}"));
            }
            _ => {}
        }
    }

    /// Checks the fields of a message value.
    fn inside(&mut self, pool: &Pool, rules: &Rules, value: &Val, depth: u32) {
        if let (Val::Message(inner), false) = (value, rules.skip) {
            self.message(pool, inner, depth + 1);
        }
    }

    fn any(&mut self, any: &DynamicMessage, depth: u32) {
        let url = any.get_field_by_name("type_url");
        let value = any.get_field_by_name("value");
        let (Some(url), Some(Val::Bytes(bytes))) = (url.as_deref().and_then(Val::as_str), value.as_deref())
        else {
            return;
        };
        let name = message_name(url);
        let Some((pool, place)) = self.schema.find_message(name).filter(|_| depth < MAX_DEPTH) else {
            return;
        };
        let Some(descriptor) = pool.messages().get(place as usize).cloned() else { return };
        if let Ok(inner) = DynamicMessage::decode(descriptor, bytes.clone()) {
            self.message(pool, &inner, depth + 1);
        }
    }

    fn count(&mut self, lengths: LengthRule, count: usize, what: &str) {
        if let Some(demand) = lengths.demand(count as u64, what) {
            self.add(demand);
        }
    }

    fn text(&mut self, rules: &TextRule, bytes: &[u8], text: Option<&str>) {
        if let Some(demand) = demands::text_demand(rules, bytes, text) {
            self.add(demand);
        }
    }
}

/// Returns the value of a wrapper such as `google.protobuf.UInt32Value`.
fn wrapped(name: &str, message: &DynamicMessage) -> Option<Val> {
    let wrapper = name.starts_with("google.protobuf.") && name.ends_with("Value");
    Some(message.get_field_by_name("value").filter(|_| wrapper)?.into_owned())
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

/// Whether a list contains equal items. Checks the first [`MAX_UNIQUE_ITEMS`] items only.
fn has_duplicates(items: &[Val]) -> bool {
    let mut texts: Vec<String> =
        items.iter().take(MAX_UNIQUE_ITEMS).map(|item| format!("{item:?}")).collect();
    let all = texts.len();
    texts.sort_unstable();
    texts.dedup();
    texts.len() < all
}
