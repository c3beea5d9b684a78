//! Values at and around the boundaries of constraints, and messages that fulfil all constraints.

use std::collections::HashMap;

use prost_reflect::prost::Message as _;
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value,
};
use xdscope_schema::Schema;

use super::{ROUTES, rules};

/// Texts around the forms that patterns and well-known forms require.
const TEXTS: [&str; 26] = [
    "x y", "x\0y", "x\ny", "x\ry", "x\ty", "x\u{7f}y", "x\u{1}y", "x\u{80}y", "x,y", "x:y", ":x", ":", "x@y",
    "X-Y_z.1", "/", "/x", "x/", "/x/", "x?y", "#", "a.mmdb", "a.mmdb\n", ".mmdb", "a.mmdb.x", "\"x\"", "é",
];

/// Longest list, text and the like to build.
const MAX_LENGTH: i128 = 20_000;

/// The seconds of the longest `Duration` whose nanoseconds fit in 64 bits.
const MAX_SECONDS: i64 = 9_223_372_035;

/// The members of required oneofs to set first, where the first member is not the best.
const PREFERRED_MEMBERS: [&str; 2] = ["route_config", "inline_string"];

/// Builds values by the descriptors.
pub struct Values<'a> {
    schema: &'a Schema,
    valid: HashMap<String, Option<DynamicMessage>>,
}

impl<'a> Values<'a> {
    pub fn new(schema: &'a Schema) -> Self {
        Values { schema, valid: HashMap::new() }
    }

    /// Returns a message that fulfils its constraints. A message that contains itself may not.
    pub fn valid(&mut self, message: &MessageDescriptor) -> DynamicMessage {
        let name = message.full_name().to_owned();
        match self.valid.get(&name) {
            Some(Some(known)) => return known.clone(),
            // The message contains itself.
            Some(None) => return DynamicMessage::new(message.clone()),
            None => {}
        }
        self.valid.insert(name.clone(), None);
        let mut out = DynamicMessage::new(message.clone());
        for field in message.fields().filter(|field| rules::oneof_of(field).is_none()) {
            if rules::of_field(&field).is_some() && !self.fits(&out, field.name()) {
                self.fill(&mut out, &field);
            }
        }
        for oneof in rules::required_oneofs(message) {
            let mut members: Vec<_> = oneof.fields().collect();
            members.sort_by_key(|member| {
                let is_preferred = PREFERRED_MEMBERS.contains(&member.name());
                (!is_preferred, matches!(member.kind(), Kind::Message(_)))
            });
            for member in members {
                self.fill(&mut out, &member);
                if out.has_field(&member) && self.fits(&out, member.name()) && self.fits(&out, oneof.name()) {
                    break;
                }
            }
        }
        if name == ROUTES {
            // Envoy checks the names of clusters before some extensions.
            let value = message.get_field_by_name("validate_clusters").map(|field| field.kind());
            let off = value.and_then(|kind| Some(DynamicMessage::new(kind.as_message()?.clone())));
            out.set_field_by_name("validate_clusters", Value::Message(off.expect("a wrapper")));
        }
        self.valid.insert(name, Some(out.clone()));
        out
    }

    /// Sets a field to its first valid value.
    fn fill(&mut self, message: &mut DynamicMessage, field: &FieldDescriptor) {
        for value in self.candidates(field).into_iter().flatten() {
            message.set_field(field, value);
            if self.fits(message, field.name()) {
                return;
            }
        }
        message.clear_field(field);
    }

    /// Whether a field breaks no constraint.
    fn fits(&self, message: &DynamicMessage, field: &str) -> bool {
        let bytes = message.encode_to_vec();
        let found = self.schema.violations(message.descriptor().full_name(), &bytes).expect("a known type");
        !found.iter().any(|violation| {
            let rest = violation.path.strip_prefix(field);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// Returns values of a field to try, valid and not. `None` leaves the field unset.
    pub fn candidates(&mut self, field: &FieldDescriptor) -> Vec<Option<Value>> {
        let rules = rules::of_field(field);
        let stated = rules.as_ref().and_then(type_rules);
        let values = if field.is_map() {
            self.maps(field, stated)
        } else if field.is_list() {
            self.lists(field, stated)
        } else {
            self.singles(&field.kind(), stated)
        };
        std::iter::once(None).chain(values.into_iter().map(Some)).collect()
    }

    fn singles(&mut self, kind: &Kind, stated: Option<&DynamicMessage>) -> Vec<Value> {
        let Kind::Message(message) = kind else { return scalars(kind, stated) };
        if let Some(field) = rules::wrapped(message) {
            let wrap = |value| {
                let mut wrapper = DynamicMessage::new(message.clone());
                wrapper.set_field(&field, value);
                Value::Message(wrapper)
            };
            return scalars(&field.kind(), stated).into_iter().map(wrap).collect();
        }
        let of = |fields: &[(&str, Value)]| {
            let mut value = DynamicMessage::new(message.clone());
            for (name, field) in fields {
                value.set_field_by_name(name, field.clone());
            }
            Value::Message(value)
        };
        match message.full_name() {
            "google.protobuf.Duration" => durations(stated)
                .into_iter()
                .map(|(seconds, nanos)| of(&[("seconds", Value::I64(seconds)), ("nanos", Value::I32(nanos))]))
                .collect(),
            "google.protobuf.Any" => {
                let url = "type.googleapis.com/google.protobuf.Empty".to_owned();
                vec![of(&[("type_url", Value::String(url))]), of(&[])]
            }
            _ => vec![of(&[]), Value::Message(self.valid(message))],
        }
    }

    fn lists(&mut self, field: &FieldDescriptor, stated: Option<&DynamicMessage>) -> Vec<Value> {
        let items = stated.and_then(|stated| nested(stated, "items"));
        let values = self.singles(&field.kind(), items.as_ref().and_then(type_rules));
        let mut lists: Vec<Vec<Value>> = values.iter().map(|value| vec![value.clone()]).collect();
        let first = values.last().cloned();
        let of_length =
            |n: i128| first.iter().cycle().take(usize::try_from(n).unwrap_or(0)).cloned().collect();
        let lengths = stated.map(|stated| numbers(stated, &["min_items", "max_items"])).unwrap_or_default();
        lists.extend(around(&lengths).into_iter().map(of_length));
        if let [a, b, ..] = values.as_slice() {
            lists.push(vec![a.clone(), b.clone()]);
            lists.push(vec![a.clone(), b.clone(), a.clone()]);
        }
        lists.into_iter().map(Value::List).collect()
    }

    fn maps(&mut self, field: &FieldDescriptor, stated: Option<&DynamicMessage>) -> Vec<Value> {
        let Kind::Message(entry) = field.kind() else { return Vec::new() };
        let of = |name: &str| stated.and_then(|stated| nested(stated, name));
        let (key_rules, value_rules) = (of("keys"), of("values"));
        let (key, value) = (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
        let keys: Vec<MapKey> = self
            .singles(&key, key_rules.as_ref().and_then(type_rules))
            .into_iter()
            .filter_map(Value::into_map_key)
            .collect();
        let values = self.singles(&value, value_rules.as_ref().and_then(type_rules));
        let (Some(last_key), Some(last)) = (keys.last(), values.last()) else { return Vec::new() };
        let mut maps: Vec<HashMap<MapKey, Value>> = Vec::new();
        maps.extend(keys.iter().map(|key| HashMap::from([(key.clone(), last.clone())])));
        maps.extend(values.iter().map(|value| HashMap::from([(last_key.clone(), value.clone())])));
        maps.push(keys.iter().map(|key| (key.clone(), last.clone())).collect());
        maps.into_iter().map(Value::Map).collect()
    }
}

/// Returns the rules for the type of a field, such as `StringRules`.
fn type_rules(rules: &DynamicMessage) -> Option<&DynamicMessage> {
    let mut all = rules.fields().filter(|(field, _)| field.name() != "message");
    all.find_map(|(_, value)| value.as_message())
}

fn nested(rules: &DynamicMessage, name: &str) -> Option<DynamicMessage> {
    let value = rules.has_field_by_name(name).then(|| rules.get_field_by_name(name)).flatten()?;
    value.as_message().cloned()
}

fn integer(value: &Value) -> Option<i128> {
    Some(match value {
        Value::I32(n) | Value::EnumNumber(n) => (*n).into(),
        Value::I64(n) => (*n).into(),
        Value::U32(n) => (*n).into(),
        Value::U64(n) => (*n).into(),
        Value::F32(n) => *n as i128,
        Value::F64(n) => *n as i128,
        _ => return None,
    })
}

/// Returns the numbers of rules, of those with these names or of all.
fn numbers(rules: &DynamicMessage, names: &[&str]) -> Vec<i128> {
    let of = |value: &Value| match value {
        Value::List(items) => items.iter().filter_map(integer).collect(),
        one => integer(one).into_iter().collect::<Vec<_>>(),
    };
    let wanted = rules.fields().filter(|(field, _)| names.is_empty() || names.contains(&field.name()));
    wanted.flat_map(|(_, value)| of(value)).collect()
}

/// Returns each number with its neighbours.
fn around(numbers: &[i128]) -> Vec<i128> {
    let mut all: Vec<i128> =
        numbers.iter().flat_map(|n| [n - 1, *n, n + 1]).filter(|n| *n <= MAX_LENGTH).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn texts_of(rules: &DynamicMessage, name: &str) -> Vec<String> {
    match rules.get_field_by_name(name).as_deref() {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::List(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn texts(stated: Option<&DynamicMessage>) -> Vec<String> {
    let mut out = vec!["x".to_owned(), String::new()];
    let Some(rules) = stated else { return out };
    for listed in ["const", "in", "not_in"].into_iter().flat_map(|name| texts_of(rules, name)).take(4) {
        out.push(format!("{listed}x"));
        out.push(listed);
    }
    let affix = |name: &str| texts_of(rules, name).into_iter().next().unwrap_or_default();
    let (prefix, suffix) = (affix("prefix"), affix("suffix"));
    if !prefix.is_empty() || !suffix.is_empty() {
        out.extend([
            prefix.clone(),
            format!("{prefix}x{suffix}"),
            format!("{prefix}x"),
            format!("x{suffix}"),
            format!("x{prefix}{suffix}x"),
        ]);
    }
    let lengths = ["len", "min_len", "max_len", "len_bytes", "min_bytes", "max_bytes"];
    for n in around(&numbers(rules, &lengths)).into_iter().filter_map(|n| usize::try_from(n).ok()) {
        let middle = n.saturating_sub(prefix.len() + suffix.len());
        out.extend([format!("{prefix}{}{suffix}", "x".repeat(middle)), "é".repeat(n), "é".repeat(n / 2)]);
    }
    if rules.has_field_by_name("pattern") || rules.has_field_by_name("well_known_regex") {
        out.extend(TEXTS.into_iter().map(str::to_owned));
    }
    out
}

fn scalars(kind: &Kind, stated: Option<&DynamicMessage>) -> Vec<Value> {
    let stated_numbers = || stated.map(|rules| numbers(rules, &[])).unwrap_or_default();
    let integers = |least: i128, most: i128| {
        let mut all: Vec<i128> = stated_numbers().iter().flat_map(|n| [n - 1, *n, n + 1]).collect();
        all.extend([0, least, most]);
        all.retain(|n| (least..=most).contains(n));
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    };
    match kind {
        Kind::Bool => vec![Value::Bool(true), Value::Bool(false)],
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => {
            integers(i32::MIN.into(), i32::MAX.into()).map(|n| Value::I32(n as i32)).collect()
        }
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => {
            integers(i64::MIN.into(), i64::MAX.into()).map(|n| Value::I64(n as i64)).collect()
        }
        Kind::Uint32 | Kind::Fixed32 => integers(0, u32::MAX.into()).map(|n| Value::U32(n as u32)).collect(),
        Kind::Uint64 | Kind::Fixed64 => integers(0, u64::MAX.into()).map(|n| Value::U64(n as u64)).collect(),
        Kind::Double => floats(stated).into_iter().map(Value::F64).collect(),
        Kind::Float => floats(stated).into_iter().map(|n| Value::F32(n as f32)).collect(),
        Kind::String => texts(stated).into_iter().map(Value::String).collect(),
        Kind::Bytes => texts(stated).into_iter().map(|text| Value::Bytes(text.into_bytes().into())).collect(),
        Kind::Enum(values) => {
            let defined = values.values().map(|value| value.number()).take(8);
            let all = stated_numbers().into_iter().filter_map(|n| i32::try_from(n).ok());
            all.chain(defined).chain([-1, 9999]).map(Value::EnumNumber).collect()
        }
        Kind::Message(_) => Vec::new(),
    }
}

fn floats(stated: Option<&DynamicMessage>) -> Vec<f64> {
    let mut out = vec![0.5, 1.5, 0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE];
    for (_, value) in stated.iter().flat_map(|rules| rules.fields()) {
        let bound = match value {
            Value::F64(n) => *n,
            Value::F32(n) => f64::from(*n),
            _ => continue,
        };
        out.extend([bound, bound.next_down(), bound.next_up(), bound - 1.0, bound + 1.0]);
    }
    out
}

/// Returns the seconds and nanoseconds of durations, invalid ones too.
fn durations(stated: Option<&DynamicMessage>) -> Vec<(i64, i32)> {
    const BILLION: i128 = 1_000_000_000;
    let mut out = vec![
        (5, 0),
        (0, 0),
        (0, 1),
        (-1, 0),
        (1, -999_999_999),
        (0, 1_000_000_000),
        (5, -1_000_000_000),
        (MAX_SECONDS, 999_999_999),
        (MAX_SECONDS + 1, 0),
        (i64::MAX, 0),
    ];
    for (_, value) in stated.iter().flat_map(|rules| rules.fields()) {
        let Some(bound) = value.as_message() else { continue };
        let part = |name: &str| bound.get_field_by_name(name).and_then(|part| integer(&part)).unwrap_or(0);
        let nanos = part("seconds") * BILLION + part("nanos");
        for nanos in [nanos - 1, nanos, nanos + 1] {
            out.push(((nanos / BILLION) as i64, (nanos % BILLION) as i32));
        }
    }
    out
}
