//! Conversion of `validate.rules` options to the rules of a message.

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, Value as Val};
use regex::RegexBuilder;

use super::super::pool::Pool;
use super::rules::*;

/// The constraints of one message type.
#[derive(Debug, Default)]
pub(in crate::schema) struct MessageRules {
    /// Names and members of the oneofs that must be set.
    pub(super) oneofs: Vec<(String, Vec<FieldDescriptor>)>,
    /// Fields with rules, and fields that contain messages.
    pub(super) fields: Vec<CheckedField>,
}

/// A field to check.
#[derive(Debug)]
pub(super) struct CheckedField {
    pub(super) descriptor: FieldDescriptor,
    pub(super) rules: Rules,
}

/// Maximum size of a compiled pattern. Ignores larger patterns; the API's patterns are far smaller.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Maximum nesting of rules for items, keys and values.
const MAX_RULE_DEPTH: usize = 4;

impl MessageRules {
    pub(in crate::schema) fn new(pool: &Pool, message: &MessageDescriptor) -> MessageRules {
        let mut out = MessageRules::default();
        let of = |name: &str| pool.descriptors.get_extension_by_name(name);
        let on = |options: &DynamicMessage, name: &str| {
            of(name).is_some_and(|option| options.get_extension(&option).as_bool() == Some(true))
        };
        let options = message.options();
        if on(&options, "validate.disabled") || on(&options, "validate.ignored") {
            return out;
        }
        for oneof in message.oneofs().filter(|oneof| on(&oneof.options(), "validate.required")) {
            out.oneofs.push((oneof.name().to_owned(), oneof.fields().collect()));
        }
        let rules = of("validate.rules");
        for field in message.fields() {
            let options = field.options();
            let stated = rules.as_ref().filter(|rules| options.has_extension(rules));
            let mut rules = match stated.map(|rules| options.get_extension(rules)).as_deref() {
                Some(Val::Message(stated)) => read(stated, MAX_RULE_DEPTH),
                _ => Rules::default(),
            };
            // The value may be redacted.
            if pool.is_secret(&field) {
                rules.value = ValueRule::Anything;
            }
            let inside = match field.kind() {
                Kind::Message(entry) if field.is_map() => {
                    matches!(entry.map_entry_value_field().kind(), Kind::Message(_))
                }
                kind => matches!(kind, Kind::Message(_)),
            };
            if !rules.is_empty() || inside {
                out.fields.push(CheckedField { descriptor: field, rules });
            }
        }
        out.fields.sort_by_key(|field| field.descriptor.number());
        out
    }
}

/// Reads a `FieldRules` message.
fn read(stated: &DynamicMessage, depth: usize) -> Rules {
    let mut out = Rules::default();
    if depth == 0 {
        return out;
    }
    for (field, value) in stated.fields() {
        let Val::Message(rules) = value else { continue };
        let rules = RuleMessage(rules);
        match field.name() {
            "message" => {
                out.skip = rules.is("skip");
                out.required |= rules.is("required");
            }
            "bool" => {
                out.value =
                    rules.get("const").and_then(Val::as_bool).map_or(ValueRule::Anything, ValueRule::Bool)
            }
            "string" | "bytes" => out.value = ValueRule::Text(rules.text(field.name() == "string")),
            "enum" => {
                let numbers = |name: &str| rules.list(name).filter_map(Val::as_i32).collect();
                out.value = ValueRule::Enum(EnumRule {
                    is: rules.get("const").and_then(Val::as_i32),
                    defined_only: rules.is("defined_only"),
                    one_of: numbers("in"),
                    none_of: numbers("not_in"),
                });
            }
            "repeated" => {
                out.value = ValueRule::List {
                    items: rules.lengths("", "min_items", "max_items"),
                    unique: rules.is("unique"),
                    each: Box::new(rules.nested("items", depth)),
                    ignore_empty: rules.is("ignore_empty"),
                };
            }
            // `no_sparse` concerns nil values in a program, which cannot occur on the wire.
            "map" => {
                out.value = ValueRule::Map {
                    pairs: rules.lengths("", "min_pairs", "max_pairs"),
                    keys: Box::new(rules.nested("keys", depth)),
                    values: Box::new(rules.nested("values", depth)),
                    ignore_empty: rules.is("ignore_empty"),
                };
            }
            "any" => {
                out.required |= rules.is("required");
                let urls =
                    |name: &str| rules.list(name).filter_map(|url| Some(url.as_str()?.to_owned())).collect();
                out.value = ValueRule::Any { one_of: urls("in"), none_of: urls("not_in") };
            }
            "duration" | "timestamp" => {
                out.required |= rules.is("required");
                // `lt_now` and similar rules need a clock, and the API does not use them.
                out.value = ValueRule::Number(NumberRule { is_time: true, ..rules.range() });
            }
            _ => out.value = ValueRule::Number(rules.range()),
        }
    }
    out
}

/// A rules message such as `StringRules`.
struct RuleMessage<'a>(&'a DynamicMessage);

impl<'a> RuleMessage<'a> {
    /// Returns a field that is set, without defaults.
    fn get(&self, name: &str) -> Option<&'a Val> {
        let mut fields = self.0.fields();
        fields.find(|(field, _)| field.name() == name).map(|(_, value)| value)
    }

    fn is(&self, name: &str) -> bool {
        self.get(name).and_then(Val::as_bool) == Some(true)
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &'a Val> {
        self.get(name).and_then(Val::as_list).into_iter().flatten()
    }

    fn lengths(&self, is: &str, min: &str, max: &str) -> LengthRule {
        let get = |name: &str| self.get(name).and_then(Val::as_u64);
        LengthRule { is: get(is), min: get(min), max: get(max) }
    }

    fn nested(&self, name: &str, depth: usize) -> Rules {
        match self.get(name) {
            Some(Val::Message(rules)) => read(rules, depth - 1),
            _ => Rules::default(),
        }
    }

    fn range(&self) -> NumberRule {
        let get = |name: &str| self.get(name).and_then(number);
        let bound = |open: &str, closed: &str| {
            let exclusive = get(open).map(|value| Bound { value, is_inclusive: false });
            exclusive.or_else(|| get(closed).map(|value| Bound { value, is_inclusive: true }))
        };
        NumberRule {
            is: get("const"),
            upper: bound("lt", "lte"),
            lower: bound("gt", "gte"),
            one_of: self.list("in").filter_map(number).collect(),
            none_of: self.list("not_in").filter_map(number).collect(),
            ignore_empty: self.is("ignore_empty"),
            is_time: false,
        }
    }

    fn well_known(&self) -> Option<WellKnown> {
        if let Some((_, form)) = WELL_KNOWN_RULES.into_iter().find(|(rule, _)| self.is(rule)) {
            return Some(form);
        }
        let strict = self.get("strict").and_then(Val::as_bool) != Some(false);
        match self.get("well_known_regex").and_then(Val::as_enum_number)? {
            1 => Some(WellKnown::HeaderName { strict }),
            2 => Some(WellKnown::HeaderValue { strict }),
            _ => None,
        }
    }

    fn text(&self, is_string: bool) -> TextRule {
        let get = |name: &str| self.get(name).and_then(text_bytes);
        let pattern = self.get("pattern").and_then(Val::as_str);
        let chars = self.lengths("len", "min_len", "max_len");
        TextRule {
            is: get("const"),
            chars: if is_string { chars } else { LengthRule::default() },
            bytes: if is_string { self.lengths("len_bytes", "min_bytes", "max_bytes") } else { chars },
            // Ignore invalid patterns.
            pattern: pattern
                .and_then(|pattern| RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().ok()),
            prefix: get("prefix"),
            suffix: get("suffix"),
            contains: get("contains"),
            not_contains: get("not_contains"),
            one_of: self.list("in").filter_map(text_bytes).collect(),
            none_of: self.list("not_in").filter_map(text_bytes).collect(),
            well_known: self.well_known(),
            ignore_empty: self.is("ignore_empty"),
        }
    }
}

/// The rules that select a well-known form.
const WELL_KNOWN_RULES: [(&str, WellKnown); 9] = [
    ("email", WellKnown::Email),
    ("hostname", WellKnown::Hostname),
    ("ip", WellKnown::Ip),
    ("ipv4", WellKnown::Ipv4),
    ("ipv6", WellKnown::Ipv6),
    ("uri", WellKnown::Uri),
    ("uri_ref", WellKnown::UriRef),
    ("address", WellKnown::Address),
    ("uuid", WellKnown::Uuid),
];

/// Returns the bytes of a string or bytes value.
pub(super) fn text_bytes(value: &Val) -> Option<Vec<u8>> {
    match value {
        Val::String(text) => Some(text.as_bytes().to_vec()),
        Val::Bytes(bytes) => Some(bytes.to_vec()),
        _ => None,
    }
}

/// Returns a number, or the nanoseconds of a `Duration` or `Timestamp`.
pub(super) fn number(value: &Val) -> Option<Number> {
    Some(match value {
        Val::I32(n) => Number::Int((*n).into()),
        Val::I64(n) => Number::Int((*n).into()),
        Val::U32(n) => Number::Int((*n).into()),
        Val::U64(n) => Number::Int((*n).into()),
        Val::F32(n) => Number::Float((*n).into()),
        Val::F64(n) => Number::Float(*n),
        Val::Message(time) => {
            let get = |name: &str| number(&*time.get_field_by_name(name)?);
            match (get("seconds"), get("nanos")) {
                (Some(Number::Int(seconds)), Some(Number::Int(nanos))) => {
                    Number::Int(seconds * 1_000_000_000 + nanos)
                }
                _ => return None,
            }
        }
        _ => return None,
    })
}
