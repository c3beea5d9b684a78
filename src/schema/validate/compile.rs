//! Out of the options in descriptors: the rules of each field of a message.

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, Value as Val};
use regex::RegexBuilder;

use super::super::pool::Pool;
use super::rules::*;

/// What is demanded of one message type.
#[derive(Debug, Default)]
pub(in crate::schema) struct MessageRules {
    /// Name of each oneof that must be set, and its members.
    pub(super) oneofs: Vec<(String, Vec<FieldDescriptor>)>,
    /// The fields with rules, and those with messages inside.
    pub(super) fields: Vec<(FieldDescriptor, Rules)>,
}

/// Compiled patterns larger than this are not applied; the API's are far smaller.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Lists of lists of rules that are read.
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
            // What stood there may have been taken out.
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
                out.fields.push((field, rules));
            }
        }
        out.fields.sort_by_key(|(field, _)| field.number());
        out
    }
}

/// A `FieldRules`.
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
                out.value = ValueRule::Enum {
                    is: rules.get("const").and_then(Val::as_i32),
                    defined_only: rules.is("defined_only"),
                    one_of: numbers("in"),
                    none_of: numbers("not_in"),
                };
            }
            "repeated" => {
                out.value = ValueRule::List {
                    items: rules.lengths("", "min_items", "max_items"),
                    unique: rules.is("unique"),
                    each: Box::new(rules.nested("items", depth)),
                    ignore_empty: rules.is("ignore_empty"),
                };
            }
            // `no_sparse` is about values that are nil in a program; on the wire there are none.
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
                // `lt_now` and its kin need a clock; the API does not use them.
                out.value = ValueRule::Number(NumberRule { time: true, ..rules.range() });
            }
            _ => out.value = ValueRule::Number(rules.range()),
        }
    }
    out
}

/// The rules of one kind, as the descriptors state them.
struct RuleMessage<'a>(&'a DynamicMessage);

impl<'a> RuleMessage<'a> {
    /// What is stated, not what would hold by default.
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

    fn lengths(&self, is: &str, least: &str, most: &str) -> LengthRule {
        let get = |name: &str| self.get(name).and_then(Val::as_u64);
        LengthRule { is: get(is), least: get(least), most: get(most) }
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
            get(open).map(|bound| (bound, false)).or_else(|| get(closed).map(|bound| (bound, true)))
        };
        NumberRule {
            is: get("const"),
            below: bound("lt", "lte"),
            above: bound("gt", "gte"),
            one_of: self.list("in").filter_map(number).collect(),
            none_of: self.list("not_in").filter_map(number).collect(),
            ignore_empty: self.is("ignore_empty"),
            time: false,
        }
    }

    fn text(&self, string: bool) -> TextRule {
        let get = |name: &str| self.get(name).and_then(raw);
        let pattern = self.get("pattern").and_then(Val::as_str);
        let chars = self.lengths("len", "min_len", "max_len");
        let strict = self.get("strict").and_then(Val::as_bool) != Some(false);
        let well_known = || {
            Some(match () {
                () if self.is("email") => WellKnown::Email,
                () if self.is("hostname") => WellKnown::Hostname,
                () if self.is("ip") => WellKnown::Ip,
                () if self.is("ipv4") => WellKnown::Ipv4,
                () if self.is("ipv6") => WellKnown::Ipv6,
                () if self.is("uri") => WellKnown::Uri,
                () if self.is("uri_ref") => WellKnown::UriRef,
                () if self.is("address") => WellKnown::Address,
                () if self.is("uuid") => WellKnown::Uuid,
                () => match self.get("well_known_regex").and_then(Val::as_enum_number)? {
                    1 => WellKnown::HeaderName { strict },
                    2 => WellKnown::HeaderValue { strict },
                    _ => return None,
                },
            })
        };
        TextRule {
            is: get("const"),
            chars: if string { chars } else { LengthRule::default() },
            bytes: if string { self.lengths("len_bytes", "min_bytes", "max_bytes") } else { chars },
            // A pattern that can't be compiled is no reason to call anything wrong.
            pattern: pattern
                .and_then(|pattern| RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().ok()),
            prefix: get("prefix"),
            suffix: get("suffix"),
            contains: get("contains"),
            not_contains: get("not_contains"),
            one_of: self.list("in").filter_map(raw).collect(),
            none_of: self.list("not_in").filter_map(raw).collect(),
            well_known: well_known(),
            ignore_empty: self.is("ignore_empty"),
        }
    }
}

/// The bytes of a text.
pub(super) fn raw(value: &Val) -> Option<Vec<u8>> {
    match value {
        Val::String(text) => Some(text.as_bytes().to_vec()),
        Val::Bytes(bytes) => Some(bytes.to_vec()),
        _ => None,
    }
}

/// A number, or the nanoseconds of a `Duration` or `Timestamp`.
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
