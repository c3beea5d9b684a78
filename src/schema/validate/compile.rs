//! Conversion of `validate.rules` options to the rules of a message.

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, Value as Val};
use regex::RegexBuilder;

use super::demand::{Bound, Number, Range, WellKnown};
use super::rules::*;

/// The constraints of one message type.
///
/// Lists fields and oneofs in Envoy's order: as declared, with fields before oneofs and `optional`
/// fields between them.
#[derive(Debug, Default)]
pub(crate) struct MessageRules {
    /// Fields outside oneofs that have rules or contain messages.
    pub(super) fields: Vec<CheckedField>,
    /// Oneofs that must be set, or with such fields.
    pub(super) oneofs: Vec<CheckedOneof>,
}

/// A field to check.
#[derive(Debug)]
pub(super) struct CheckedField {
    /// A descriptor would keep its whole pool in memory.
    pub(super) number: u32,
    pub(super) rules: Rules,
}

/// A oneof to check.
#[derive(Debug)]
pub(super) struct CheckedOneof {
    /// Index of the oneof in the message.
    pub(super) index: usize,
    pub(super) is_required: bool,
    /// Members that have rules or contain messages.
    pub(super) members: Vec<CheckedField>,
}

/// Maximum size of a compiled pattern. Ignores larger patterns; the API's patterns are far smaller.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Maximum nesting of rules for items, keys and values.
const MAX_RULE_DEPTH: usize = 4;

impl MessageRules {
    pub(crate) fn new(message: &MessageDescriptor) -> MessageRules {
        let mut out = MessageRules::default();
        let of = |name: &str| message.parent_pool().get_extension_by_name(name);
        let on = |options: &DynamicMessage, name: &str| {
            of(name).is_some_and(|option| options.get_extension(&option).as_bool() == Some(true))
        };
        let options = message.options();
        if on(&options, "validate.disabled") || on(&options, "validate.ignored") {
            return out;
        }
        let rules = of("validate.rules");
        let checked = |field: FieldDescriptor| {
            let options = field.options();
            let stated = rules.as_ref().filter(|rules| options.has_extension(rules));
            let rules = match stated.map(|rules| options.get_extension(rules)).as_deref() {
                Some(Val::Message(stated)) => read(stated, Holder::of(&field), MAX_RULE_DEPTH),
                _ => Rules::default(),
            };
            let is_checked = !rules.is_empty() || holds_messages(&field);
            is_checked.then_some(CheckedField { number: field.number(), rules })
        };
        let (outside, optional): (Vec<_>, Vec<_>) = message
            .fields()
            .filter(|field| field.containing_oneof().is_none_or(|oneof| oneof.is_synthetic()))
            .partition(|field| field.containing_oneof().is_none());
        out.fields = outside.into_iter().chain(optional).filter_map(checked).collect();
        for (index, oneof) in message.oneofs().enumerate().filter(|(_, oneof)| !oneof.is_synthetic()) {
            let is_required = on(&oneof.options(), "validate.required");
            let members: Vec<_> = oneof.fields().filter_map(checked).collect();
            if is_required || !members.is_empty() {
                out.oneofs.push(CheckedOneof { index, is_required, members });
            }
        }
        out
    }
}

/// Whether a field contains messages, which may have rules of their own.
fn holds_messages(field: &FieldDescriptor) -> bool {
    match field.kind() {
        Kind::Message(entry) if field.is_map() => {
            matches!(entry.map_entry_value_field().kind(), Kind::Message(_))
        }
        kind => matches!(kind, Kind::Message(_)),
    }
}

/// The holder of the values that rules apply to. Rules about messages apply to some holders only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// A singular field with a message.
    Message,
    /// A list or map, whose items have rules of their own.
    Collection,
    /// An item of a list, or a key or value of a map.
    Item,
    /// Any other field.
    Scalar,
}

impl Holder {
    fn of(field: &FieldDescriptor) -> Holder {
        match field.kind() {
            _ if field.is_list() || field.is_map() => Holder::Collection,
            Kind::Message(_) => Holder::Message,
            _ => Holder::Scalar,
        }
    }
}

/// Reads a `FieldRules` message.
fn read(stated: &DynamicMessage, holder: Holder, depth: usize) -> Rules {
    let mut out = Rules::default();
    if depth == 0 {
        return out;
    }
    for (field, value) in stated.fields() {
        let Val::Message(rules) = value else { continue };
        let rules = RuleMessage(rules);
        match field.name() {
            "message" => {
                out.skip = matches!(holder, Holder::Message | Holder::Item) && rules.is("skip");
                // Rules on the value of a duration, a timestamp or an `Any` replace this rule.
                out.required = holder == Holder::Message && !has_own_required(stated) && rules.is("required");
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
                out.required = holder == Holder::Message && rules.is("required");
                let urls =
                    |name: &str| rules.list(name).filter_map(|url| Some(url.as_str()?.to_owned())).collect();
                out.value = ValueRule::Any { one_of: urls("in"), none_of: urls("not_in") };
            }
            "duration" | "timestamp" => {
                out.required = holder == Holder::Message && rules.is("required");
                // `lt_now` and similar rules need a clock, and the API does not use them.
                out.value = ValueRule::Number(rules.number());
            }
            _ => out.value = ValueRule::Number(rules.number()),
        }
    }
    out
}

/// Whether there are rules with a `required` of their own.
fn has_own_required(stated: &DynamicMessage) -> bool {
    stated.fields().any(|(field, _)| matches!(field.name(), "any" | "duration" | "timestamp"))
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
            Some(Val::Message(rules)) => read(rules, Holder::Item, depth - 1),
            _ => Rules::default(),
        }
    }

    fn number(&self) -> NumberRule {
        let get = |name: &str| self.get(name).and_then(number);
        let bound = |open: &str, closed: &str| {
            let exclusive = get(open).map(|value| Bound { value, is_inclusive: false });
            exclusive.or_else(|| get(closed).map(|value| Bound { value, is_inclusive: true }))
        };
        NumberRule {
            is: get("const"),
            range: Range { lower: bound("gt", "gte"), upper: bound("lt", "lte") },
            one_of: self.list("in").filter_map(number).collect(),
            none_of: self.list("not_in").filter_map(number).collect(),
            ignore_empty: self.is("ignore_empty"),
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
            pattern: pattern.and_then(whole_pattern),
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

/// Compiles a pattern for the whole text, in RE2's dialect. Returns `None` for an invalid pattern.
fn whole_pattern(stated: &str) -> Option<Pattern> {
    let pattern = format!("^(?:{})$", with_ascii_classes(stated));
    let whole = RegexBuilder::new(&pattern).size_limit(MAX_PATTERN_BYTES).build().ok()?;
    Some(Pattern { stated: stated.to_owned(), whole })
}

/// Replaces the classes that contain ASCII characters only in RE2, such as `\d`.
fn with_ascii_classes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next() } else { None };
        match escaped {
            Some('d') => out.push_str("[0-9]"),
            Some('D') => out.push_str("[^0-9]"),
            Some('w') => out.push_str("[0-9A-Za-z_]"),
            Some('W') => out.push_str("[^0-9A-Za-z_]"),
            Some('s') => out.push_str(r"[\t\n\f\r ]"),
            Some('S') => out.push_str(r"[^\t\n\f\r ]"),
            Some('b') => out.push_str(r"(?-u:\b)"),
            Some('B') => out.push_str(r"(?-u:\B)"),
            _ => {
                out.push(c);
                out.extend(escaped);
            }
        }
    }
    out
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

/// Returns a number, or the time of a `Duration` or `Timestamp`.
pub(super) fn number(value: &Val) -> Option<Number> {
    Some(match value {
        Val::I32(n) => Number::Int((*n).into()),
        Val::I64(n) => Number::Int((*n).into()),
        Val::U32(n) => Number::Int((*n).into()),
        Val::U64(n) => Number::Int((*n).into()),
        Val::F32(n) => Number::Float((*n).into()),
        Val::F64(n) => Number::Float(*n),
        Val::Message(time) => Number::Time {
            seconds: time.get_field_by_name("seconds")?.as_i64()?,
            nanos: time.get_field_by_name("nanos")?.as_i32()?,
        },
        _ => return None,
    })
}
