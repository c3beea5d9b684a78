//! Checks of decoded messages against their rules.

use std::collections::{HashMap, HashSet};

use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, OneofDescriptor, ReflectMessage, Value as Val,
};

use super::super::{MAX_DEPTH, Schema, message_name};
use super::compile::{CheckedOneof, number};
use super::demand::{Demand, Scalar, Unit};
use super::rules::*;
use super::{MAX_VIOLATIONS, Violation};
use crate::json::size::MAX_CHECKED_VALUES;
use crate::json::walk::redacted;
use crate::pools::pool::Pool;
use xdscope_wire::pb::Fields;

pub(super) const ANY: &str = "google.protobuf.Any";
const DURATION: &str = "google.protobuf.Duration";

/// Fields with extensions whose constraints Envoy does not check when it takes a resource: load
/// balancing policies, and retry priorities, which Envoy creates for a request.
const UNCHECKED_EXTENSIONS: [&str; 2] = [
    "envoy.config.cluster.v3.LoadBalancingPolicy.Policy.typed_extension_config",
    "envoy.config.route.v3.RetryPolicy.retry_priority",
];

/// The extensions in these fields whose constraints Envoy checks nevertheless.
const CHECKED_EXTENSIONS: [&str; 1] =
    ["envoy.extensions.load_balancing_policies.override_host.v3.OverrideHost"];

/// Fields of unchecked extensions whose durations Envoy does not check either.
const UNCHECKED_DURATIONS: [&str; 1] =
    ["envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig.slow_start_window"];

/// Maximum number of values checked in a message.
const MAX_VALUES: usize = 1 << 22;

/// The check of one message.
pub(super) struct Check<'s> {
    schema: &'s Schema,
    pub(super) found: Vec<Violation>,
    /// Path of the current field.
    path: String,
    checked_values: usize,
    /// How far the constraints at the current path are checked.
    scope: Scope,
}

/// The constraints that apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// All constraints.
    All,
    /// All constraints, except in the payload of the next `Any`.
    ExceptPayload,
    /// Only that durations are valid.
    Durations,
}

/// Splits an `Any` into type URL and value. Returns `None` if the bytes cannot be decoded.
pub(crate) fn any_parts(bytes: &[u8]) -> Option<(String, &[u8])> {
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
        Check { schema, found: Vec::new(), path: String::new(), checked_values: 0, scope: Scope::All }
    }

    fn add(&mut self, demand: Demand) {
        if self.found.len() < MAX_VIOLATIONS {
            self.found.push(Violation { path: self.path.clone(), demand });
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
        for field in &compiled.fields {
            if !self.take_value() {
                return;
            }
            let Some(known) = descriptor.get_field(field.number) else { continue };
            if message.has_field(&known) || !field.rules.is_empty() {
                self.at(known.name(), |this| this.field(pool, &known, &field.rules, message, depth));
            }
        }
        let oneofs: Vec<_> = descriptor.oneofs().collect();
        for checked in &compiled.oneofs {
            if let Some(oneof) = oneofs.get(checked.index) {
                self.oneof(pool, oneof, checked, message, depth);
            }
        }
    }

    /// Checks the member of a oneof that is set.
    fn oneof(
        &mut self,
        pool: &Pool,
        oneof: &OneofDescriptor,
        checked: &CheckedOneof,
        message: &DynamicMessage,
        depth: u32,
    ) {
        let Some(set) = oneof.fields().find(|member| message.has_field(member)) else {
            if checked.is_required && self.scope != Scope::Durations {
                let members = oneof.fields().map(|member| member.name().to_owned()).collect();
                self.at(oneof.name(), |this| this.add(Demand::OneOfSet(members)));
            }
            return;
        };
        let member = checked.members.iter().find(|member| member.number == set.number());
        if let Some(field) = member.filter(|_| self.take_value()) {
            self.at(set.name(), |this| this.field(pool, &set, &field.rules, message, depth));
        }
    }

    /// Counts a value. Returns false once a limit is reached.
    fn take_value(&mut self) -> bool {
        self.checked_values += 1;
        self.checked_values <= MAX_VALUES && self.found.len() < MAX_VIOLATIONS
    }

    fn field(
        &mut self,
        pool: &Pool,
        field: &FieldDescriptor,
        rules: &Rules,
        message: &DynamicMessage,
        depth: u32,
    ) {
        let (outer, name) = (self.scope, field.full_name());
        if outer == Scope::All && UNCHECKED_EXTENSIONS.contains(&name) {
            self.scope = Scope::ExceptPayload;
        }
        if outer == Scope::Durations && UNCHECKED_DURATIONS.contains(&name) {
            return;
        }
        if outer == Scope::Durations {
            self.field_value(pool, field, &Rules::default(), message, depth);
        } else {
            self.field_value(pool, field, rules, message, depth);
        }
        self.scope = outer;
    }

    fn field_value(
        &mut self,
        pool: &Pool,
        descriptor: &FieldDescriptor,
        rules: &Rules,
        message: &DynamicMessage,
        depth: u32,
    ) {
        let is_set = message.has_field(descriptor);
        // Fields without presence always have a value.
        if !is_set && descriptor.supports_presence() {
            let is_optional = descriptor.containing_oneof().is_some();
            if rules.required && !is_optional {
                self.add(Demand::Set);
            }
            return;
        }
        let value = message.get_field(descriptor);
        self.value(pool, descriptor.kind(), rules, &value, depth);
    }

    fn value(&mut self, pool: &Pool, kind: Kind, rules: &Rules, value: &Val, depth: u32) {
        match (&rules.value, value) {
            (_, Val::List(items)) => self.list(pool, &kind, rules, items, depth),
            (_, Val::Map(entries)) => self.map(pool, &kind, rules, entries, depth),
            (_, Val::Message(inner)) if is_invalid_duration(inner) => self.add(Demand::ValidDuration),
            (_, Val::Message(inner)) => {
                self.message_value(rules, inner);
                // Rules on the value of a message replace the rules of its fields.
                let is_any = inner.descriptor().full_name() == ANY;
                if is_any || matches!(rules.value, ValueRule::Anything) {
                    self.inside(pool, rules, value, depth);
                }
            }
            (ValueRule::Number(rule), value) => {
                if let Some(demand) = number(value).and_then(|number| rule.demand(number)) {
                    self.add(demand);
                }
            }
            (ValueRule::Bool(wanted), Val::Bool(is)) if wanted != is => {
                self.add(Demand::Equal(Scalar::Bool(*wanted)));
            }
            (ValueRule::Text(text), Val::String(is)) => self.text(text, is.as_bytes(), Some(is)),
            (ValueRule::Text(text), Val::Bytes(is)) => self.text(text, is, None),
            (ValueRule::Enum(rule), Val::EnumNumber(number)) => self.enumeration(&kind, rule, *number),
            _ => {}
        }
    }

    fn list(&mut self, pool: &Pool, kind: &Kind, rules: &Rules, items: &[Val], depth: u32) {
        let ValueRule::List { items: lengths, unique, each, ignore_empty } = &rules.value else {
            let no_rules = Rules::default();
            for (i, item) in items.iter().enumerate().filter(|(_, item)| matches!(item, Val::Message(_))) {
                self.at(&format!("[{i}]"), |this| this.value(pool, kind.clone(), &no_rules, item, depth));
            }
            return;
        };
        if *ignore_empty && items.is_empty() {
            return;
        }
        self.count(*lengths, items.len(), Unit::Item);
        let duplicate = unique.then(|| first_duplicate(items)).flatten();
        for (i, item) in items.iter().enumerate() {
            if !self.take_value() {
                return;
            }
            if duplicate == Some(i) {
                self.add(Demand::Unique);
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
                self.count(*pairs, entries.len(), Unit::Entry);
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
            self.add(Demand::DefinedEnumValue(number));
        } else if is_forbidden {
            let name = known.map_or_else(|| number.to_string(), |value| value.name().to_owned());
            self.add(Demand::OtherEnumValue(name));
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
                    self.add(Demand::TypeIn(one_of.clone()));
                } else if none_of.iter().any(|one| one == url) {
                    self.add(Demand::OtherType(url.to_owned()));
                }
            }
            ValueRule::Number(rule) => {
                let value = wrapped(descriptor.full_name(), inner);
                let number = number(&value.unwrap_or_else(|| Val::Message(inner.clone())));
                if let Some(demand) = number.and_then(|number| rule.demand(number)) {
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
                self.add(Demand::Equal(Scalar::Bool(*wanted)));
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
        if pool.has_more_values(Some(place), bytes, MAX_CHECKED_VALUES) {
            return;
        }
        let Some(descriptor) = pool.message_at(place) else { return };
        if let Ok(inner) = DynamicMessage::decode(descriptor, bytes.clone()) {
            let outer = self.scope;
            if outer == Scope::ExceptPayload {
                let is_checked = CHECKED_EXTENSIONS.contains(&name);
                self.scope = if is_checked { Scope::All } else { Scope::Durations };
            }
            self.message(pool, &inner, depth + 1);
            self.scope = outer;
        }
    }

    fn count(&mut self, lengths: LengthRule, count: usize, unit: Unit) {
        if let Some(demand) = lengths.demand(count as u64, unit) {
            self.add(demand);
        }
    }

    /// Checks a string or bytes value. The value of a redacted secret is unknown.
    fn text(&mut self, rules: &TextRule, bytes: &[u8], text: Option<&str>) {
        if let Some(demand) = rules.demand(bytes, text).filter(|_| redacted(bytes).is_none()) {
            self.add(demand);
        }
    }
}

fn is_invalid_duration(message: &DynamicMessage) -> bool {
    message.descriptor().full_name() == DURATION
        && number(&Val::Message(message.clone())).is_some_and(|duration| !duration.is_valid_duration())
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

/// Returns the index of the first item that equals an item before it.
fn first_duplicate(items: &[Val]) -> Option<usize> {
    let mut seen = HashSet::new();
    items.iter().position(|item| {
        let key = match item {
            // NaN equals nothing, and zeros of both signs are equal.
            Val::F32(n) if n.is_nan() => return false,
            Val::F64(n) if n.is_nan() => return false,
            Val::F32(n) => (n + 0.0).to_bits().to_string(),
            Val::F64(n) => (n + 0.0).to_bits().to_string(),
            other => format!("{other:?}"),
        };
        !seen.insert(key)
    })
}
