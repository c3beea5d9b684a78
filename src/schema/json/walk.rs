use std::borrow::Cow;
use std::ops::Range;

use super::sink::JsonSink;
use super::size::MAX_SHOWN_VALUES;
use crate::fault::{Fault, Faults, FieldPath, PathElement};
use crate::pools::builtin;
use crate::pools::pool::Pool;
use crate::table::{FieldInfo, FieldKind, JsonForm, MessageTable};
use crate::{FieldNames, MAX_DEPTH, Schema};
use xdscope_wire::pb::{Fields, Value, read_varint};

/// A decoder that reads messages from their bytes and writes protobuf JSON into a [`JsonSink`].
///
/// Visits each byte of the input a bounded number of times, whatever the input. Undecodable parts
/// are written with markers such as `@damaged_at`.
pub(crate) struct Walker<'s, 'b, S> {
    pub schema: &'s Schema,
    pub sink: &'s mut S,
    pub names: FieldNames,
    /// Fields of the enclosing messages, innermost last.
    scratch: Vec<RawField<'b>>,
    pub faults: Faults<'s>,
}

#[derive(Clone, Copy)]
pub(crate) struct RawField<'b> {
    /// Index of the field in the message table, or [`UNKNOWN`].
    order: u32,
    pub number: u32,
    pub value: Value<'b>,
}

/// The last member of a oneof in a message.
struct OneofWinner {
    /// Index of the oneof in the message.
    oneof: u16,
    /// Index of the member in the message table.
    order: u32,
    /// Whether the member has replaced another member.
    has_replaced: bool,
}

/// Sorts unknown fields last.
const UNKNOWN: u32 = u32::MAX;

impl<'s, 'b, S: JsonSink> Walker<'s, 'b, S> {
    pub(crate) fn new(schema: &'s Schema, sink: &'s mut S, names: FieldNames, faults: Faults<'s>) -> Self {
        Walker { schema, sink, names, scratch: Vec::new(), faults }
    }

    /// Writes a message as one JSON value.
    pub(crate) fn message(
        &mut self,
        pool: &'s Pool,
        table: &'s MessageTable,
        bytes: &'b [u8],
        path: &FieldPath,
    ) {
        if path.depth > MAX_DEPTH {
            self.faults.add(path, || Fault::TooDeep);
            return self.opaque("@too_deep", bytes);
        }
        match table.form {
            JsonForm::Plain => self.plain(pool, table, bytes, path),
            JsonForm::Any => self.any(pool, table, bytes, path),
            _ => self.well_known(pool, table, bytes, path),
        }
    }

    pub(crate) fn plain(
        &mut self,
        pool: &'s Pool,
        table: &'s MessageTable,
        bytes: &'b [u8],
        path: &FieldPath,
    ) {
        self.sink.begin_object();
        self.members(pool, table, bytes, path);
        self.sink.end_object();
    }

    /// Writes the fields of a message as members of the current object.
    pub(crate) fn members(
        &mut self,
        pool: &'s Pool,
        table: &'s MessageTable,
        bytes: &'b [u8],
        path: &FieldPath,
    ) {
        let base = self.scratch.len();
        let damage = self.read_fields(table, bytes);
        let mut at = base;
        while let Some(raw) = self.scratch.get(at).copied().filter(|raw| raw.order != UNKNOWN) {
            let more = self.scratch.iter().skip(at).take_while(|other| other.order == raw.order).count();
            if let Some(field) = table.fields.get(raw.order as usize) {
                self.field(pool, field, at..at + more, raw, path);
            }
            at += more;
        }
        if at < self.scratch.len() {
            let mut unknown = self.scratch.split_off(at);
            self.faults.add(path, || Fault::UnknownFields(unknown.len()));
            self.sink.name("@unknown");
            self.sink.begin_object();
            self.wire_fields(&mut unknown, path.depth);
            self.sink.end_object();
        }
        if let Some(offset) = damage {
            self.faults.add(path, || Fault::Damaged { offset });
            self.damage(bytes, offset);
        }
        self.scratch.truncate(base);
    }

    /// Adds the fields of a message to `scratch`, in the order of the message table.
    ///
    /// Returns the byte offset of the damage if the message is damaged.
    fn read_fields(&mut self, table: &MessageTable, bytes: &'b [u8]) -> Option<usize> {
        let base = self.scratch.len();
        let (mut ascending, mut last, mut conflict, mut oneofs) = (true, 0, false, 0u64);
        let mut damage = None;
        for field in Fields::new(bytes) {
            let field = match field {
                Ok(field) => field,
                Err(error) => {
                    damage = Some(error.offset);
                    break;
                }
            };
            let known =
                table.index_of(field.number).and_then(|at| Some((at, table.fields.get(at as usize)?)));
            let order = match known {
                Some((at, known)) if known.fits(&field.value) => {
                    if let Some(oneof) = known.oneof {
                        let bit = 1 << (oneof & 63);
                        conflict |= oneofs & bit != 0;
                        oneofs |= bit;
                    }
                    at
                }
                _ => UNKNOWN,
            };
            ascending &= order >= last;
            last = order;
            self.scratch.push(RawField { order, number: field.number, value: field.value });
        }
        if table.has_oneofs && conflict {
            self.resolve_oneofs(table, base);
        }
        if !ascending && let Some(fields) = self.scratch.get_mut(base..) {
            fields.sort_by_key(|raw| raw.order);
        }
        damage
    }

    /// Keeps only the last member of each oneof, as protobuf parsers do.
    fn resolve_oneofs(&mut self, table: &MessageTable, base: usize) {
        let fields = self.scratch.split_off(base);
        let mut winners: Vec<OneofWinner> = Vec::new();
        let mut kept: Vec<RawField> = Vec::with_capacity(fields.len());
        for raw in fields.into_iter().rev() {
            if let Some(oneof) = table.fields.get(raw.order as usize).and_then(|field| field.oneof) {
                match winners.iter_mut().find(|winner| winner.oneof == oneof) {
                    None => winners.push(OneofWinner { oneof, order: raw.order, has_replaced: false }),
                    Some(winner) => {
                        // Earlier values of the member were discarded with the replaced member.
                        winner.has_replaced |= winner.order != raw.order;
                        if winner.has_replaced {
                            continue;
                        }
                    }
                }
            }
            kept.push(raw);
        }
        self.scratch.extend(kept.into_iter().rev());
    }

    fn field(
        &mut self,
        pool: &'s Pool,
        field: &'s FieldInfo,
        run: Range<usize>,
        first: RawField<'b>,
        path: &FieldPath,
    ) {
        let here = path.field(&field.name);
        let name = match self.names {
            FieldNames::Json => &field.json_name,
            FieldNames::Original => &field.name,
        };
        if let FieldKind::Map(kinds) = &field.kind {
            self.sink.name(name);
            return self.map(pool, kinds, run, &here);
        }
        if field.repeated {
            return self.list(pool, field, name, run, &here);
        }
        let last = self.scratch.get(run.end - 1).map_or(first.value, |raw| raw.value);
        if !field.has_presence && is_zero(&last) {
            return;
        }
        self.sink.name(name);
        if let FieldKind::Message(place) = &field.kind
            && run.len() > 1
        {
            // Concatenating the occurrences of a message field merges the messages.
            let pieces = self.scratch.get(run).unwrap_or_default();
            let merged: Vec<u8> = pieces.iter().flat_map(|raw| message_bytes(&raw.value)).copied().collect();
            let faults = self.faults.reborrow();
            let mut inner = Walker {
                schema: self.schema,
                sink: self.sink,
                names: self.names,
                scratch: Vec::new(),
                faults,
            };
            return inner.nested(pool, *place, &merged, &here);
        }
        self.value(pool, &field.kind, last, &here);
    }

    fn nested(&mut self, pool: &'s Pool, place: u32, bytes: &'b [u8], path: &FieldPath) {
        match pool.table(place) {
            Some(table) => self.message(pool, table, bytes, path),
            None => self.opaque("@undecoded", bytes),
        }
    }

    fn list(
        &mut self,
        pool: &'s Pool,
        field: &'s FieldInfo,
        name: &str,
        run: Range<usize>,
        path: &FieldPath,
    ) {
        let packed = field.kind.is_packable();
        let empty = |raw: &RawField| packed && matches!(raw.value, Value::Len([]));
        if self.scratch.get(run.clone()).is_none_or(|run| run.iter().all(empty)) {
            return;
        }
        self.sink.name(name);
        self.sink.begin_array();
        let mut index = 0;
        for at in run {
            let Some(raw) = self.scratch.get(at).copied() else { break };
            match raw.value {
                Value::Len(bytes) if packed => self.packed(pool, &field.kind, bytes, path),
                value => {
                    self.value(pool, &field.kind, value, &path.child(PathElement::Index(index)));
                    index += 1;
                }
            }
        }
        self.sink.end_array();
    }

    fn packed(&mut self, pool: &'s Pool, kind: &'s FieldKind, bytes: &'b [u8], path: &FieldPath) {
        use FieldKind::*;
        let mut rest = bytes;
        while !rest.is_empty() {
            let read = match kind {
                Double | Fixed64 | Sfixed64 => {
                    rest.split_first_chunk().map(|(head, rest)| (Value::I64(u64::from_le_bytes(*head)), rest))
                }
                Float | Fixed32 | Sfixed32 => {
                    rest.split_first_chunk().map(|(head, rest)| (Value::I32(u32::from_le_bytes(*head)), rest))
                }
                _ => {
                    read_varint(rest).and_then(|(value, len)| Some((Value::Varint(value), rest.get(len..)?)))
                }
            };
            match read {
                Some((value, after)) => {
                    self.value(pool, kind, value, path);
                    rest = after;
                }
                None => {
                    self.faults.add(path, || Fault::Damaged { offset: bytes.len() - rest.len() });
                    return self.opaque("@undecoded", rest);
                }
            }
        }
    }

    fn map(
        &mut self,
        pool: &'s Pool,
        kinds: &'s (FieldKind, FieldKind),
        run: Range<usize>,
        path: &FieldPath,
    ) {
        let (key_kind, value_kind) = kinds;
        let runs = self.scratch.get(run).unwrap_or_default();
        let entries: Vec<_> =
            runs.iter().map(|raw| read_map_entry(key_kind, message_bytes(&raw.value))).collect();
        let entries = sort_entries(entries);
        self.sink.begin_object();
        for entry in entries {
            let here = path.child(PathElement::Key(&entry.key));
            if let Some(fault) = entry.fault {
                self.faults.add(&here, || fault);
            }
            self.sink.key(&entry.key);
            match entry.value {
                Some(value) if value_kind.fits(&value) => self.value(pool, value_kind, value, &here),
                Some(value) => self.wire_value(value, here.depth),
                None => self.zero(pool, value_kind, &here),
            }
        }
        self.sink.end_object();
    }

    /// Writes the default value of a kind, for a map entry or wrapper without a value.
    pub(crate) fn zero(&mut self, pool: &'s Pool, kind: &'s FieldKind, path: &FieldPath) {
        let zero = match kind {
            FieldKind::Double | FieldKind::Fixed64 | FieldKind::Sfixed64 => Value::I64(0),
            FieldKind::Float | FieldKind::Fixed32 | FieldKind::Sfixed32 => Value::I32(0),
            FieldKind::String | FieldKind::Bytes | FieldKind::Message(_) | FieldKind::Map(_) => {
                Value::Len(&[])
            }
            _ => Value::Varint(0),
        };
        self.value(pool, kind, zero, path);
    }

    /// Writes one value. Values that do not fit `kind` are written without a descriptor.
    pub(crate) fn value(&mut self, pool: &'s Pool, kind: &'s FieldKind, value: Value<'b>, path: &FieldPath) {
        match (kind, value) {
            (FieldKind::Message(place), value) => self.nested(pool, *place, message_bytes(&value), path),
            (FieldKind::String, Value::Len(bytes)) => self.text(bytes, path),
            (FieldKind::Bytes, Value::Len(bytes)) => match redacted(bytes) {
                Some(text) => self.sink.string(text),
                None => self.sink.bytes(bytes),
            },
            (FieldKind::Bool, Value::Varint(value)) => self.sink.bool(value != 0),
            (FieldKind::Enum(values), Value::Varint(value)) => match values.name(value as i32) {
                _ if values.is_null => self.sink.null(),
                Some(name) => self.sink.string(name),
                None => self.sink.int(i64::from(value as i32)),
            },
            (FieldKind::Int32, Value::Varint(value)) => self.sink.int(i64::from(value as i32)),
            (FieldKind::Uint32, Value::Varint(value)) => self.sink.uint(u64::from(value as u32)),
            (FieldKind::Int64, Value::Varint(value)) => self.sink.text_int(i128::from(value as i64)),
            (FieldKind::Uint64, Value::Varint(value)) => self.sink.text_int(i128::from(value)),
            (FieldKind::Sint32, Value::Varint(value)) => self.sink.int(zigzag(u64::from(value as u32))),
            (FieldKind::Sint64, Value::Varint(value)) => self.sink.text_int(i128::from(zigzag(value))),
            (FieldKind::Fixed32, Value::I32(value)) => self.sink.uint(u64::from(value)),
            (FieldKind::Sfixed32, Value::I32(value)) => self.sink.int(i64::from(value as i32)),
            (FieldKind::Fixed64, Value::I64(value)) => self.sink.text_int(i128::from(value)),
            (FieldKind::Sfixed64, Value::I64(value)) => self.sink.text_int(i128::from(value as i64)),
            (FieldKind::Double, Value::I64(value)) => self.float(f64::from_bits(value)),
            (FieldKind::Float, Value::I32(value)) => self.float(widen(f32::from_bits(value))),
            (_, value) => self.wire_value(value, path.depth),
        }
    }

    pub(crate) fn float(&mut self, value: f64) {
        if value.is_finite() {
            self.sink.float(value);
        } else if value.is_nan() {
            self.sink.string("NaN");
        } else {
            self.sink.string(if value > 0.0 { "Infinity" } else { "-Infinity" });
        }
    }

    pub(crate) fn text(&mut self, bytes: &[u8], path: &FieldPath) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.sink.string(text),
            Err(_) => {
                self.faults.add(path, || Fault::InvalidUtf8);
                self.sink.begin_object();
                self.sink.name("@invalid_utf8");
                self.sink.string(&String::from_utf8_lossy(bytes));
                self.sink.name("@bytes");
                self.sink.bytes(bytes);
                self.sink.end_object();
            }
        }
    }

    fn any(&mut self, pool: &'s Pool, table: &'s MessageTable, bytes: &'b [u8], path: &FieldPath) {
        let (mut url, mut value) = (&[][..], &[][..]);
        for field in Fields::new(bytes) {
            match field.map(|field| (field.number, field.value)) {
                Ok((1, Value::Len(text))) => url = text,
                Ok((2, Value::Len(payload))) => value = payload,
                // Not a regular `Any`: write a plain message.
                _ => return self.plain(pool, table, bytes, path),
            }
        }
        let Ok(url) = std::str::from_utf8(url) else { return self.plain(pool, table, bytes, path) };
        self.sink.begin_object();
        if !url.is_empty() || !value.is_empty() {
            self.sink.name("@type");
            self.sink.string(url);
            self.payload(url, value, path);
        }
        self.sink.end_object();
    }

    fn payload(&mut self, url: &str, bytes: &'b [u8], path: &FieldPath) {
        let name = crate::message_name(url);
        let pool = self.schema.find(name).map_or(builtin::v3(), |(pool, _)| pool);
        if pool.has_more_values(pool.index_of(name), bytes, MAX_SHOWN_VALUES) {
            return self.opaque_members("@too_large", bytes);
        }
        let here = path.child(PathElement::Any(name)).deeper();
        match self.schema.find(name) {
            Some((pool, table)) if table.form == JsonForm::Plain && here.depth <= MAX_DEPTH => {
                self.members(pool, table, bytes, &here);
            }
            Some((pool, table)) => {
                self.sink.name("value");
                self.message(pool, table, bytes, &here);
            }
            None => {
                self.faults.add(path, || Fault::UnknownType(url.to_owned()));
                self.sink.name("@undecoded");
                self.sink.string("no descriptor for this type: --protoset adds one");
                self.sink.name("@size");
                self.sink.uint(bytes.len() as u64);
                self.sink.name("@wire");
                self.wire_message(bytes, here.depth);
            }
        }
    }

    /// Writes undecoded bytes as an object with a marker that names the reason.
    pub(crate) fn opaque(&mut self, mark: &str, bytes: &[u8]) {
        self.sink.begin_object();
        self.opaque_members(mark, bytes);
        self.sink.end_object();
    }

    fn opaque_members(&mut self, mark: &str, bytes: &[u8]) {
        self.sink.name(mark);
        self.sink.uint(bytes.len() as u64);
        self.sink.name("@bytes");
        self.sink.bytes(bytes);
    }

    /// Writes the offset at which a message became undecodable, and the remaining bytes.
    pub(crate) fn damage(&mut self, bytes: &[u8], offset: usize) {
        self.sink.name("@damaged_at");
        self.sink.uint(offset as u64);
        self.sink.name("@rest");
        self.sink.bytes(bytes.get(offset..).unwrap_or_default());
    }
}

impl<'b> RawField<'b> {
    pub(crate) fn unknown(number: u32, value: Value<'b>) -> Self {
        RawField { order: UNKNOWN, number, value }
    }
}

/// Returns the bytes of a message, length-delimited or group. Empty for other values.
pub(crate) fn message_bytes<'b>(value: &Value<'b>) -> &'b [u8] {
    match value {
        Value::Len(bytes) | Value::Group(bytes) => bytes,
        _ => &[],
    }
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Varint(value) | Value::I64(value) => *value == 0,
        Value::I32(value) => *value == 0,
        Value::Len(bytes) | Value::Group(bytes) => bytes.is_empty(),
    }
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Converts to the double with the same shortest decimal form: 0.1, not 0.10000000149011612.
fn widen(value: f32) -> f64 {
    if value.fract() == 0.0 || !value.is_finite() {
        return f64::from(value);
    }
    format!("{value:?}").parse().unwrap_or(f64::from(value))
}

/// Returns the text of a redaction placeholder, from xdscope or from Envoy's config dumps.
pub(crate) fn redacted(bytes: &[u8]) -> Option<&str> {
    if bytes == b"[redacted]" {
        return Some("[redacted]");
    }
    let bytes =
        (bytes.starts_with(b"[redacted ") && bytes.len() < 64 && bytes.ends_with(b"]")).then_some(bytes)?;
    std::str::from_utf8(bytes).ok()
}

pub(crate) struct MapEntry<'b> {
    pub key: Cow<'b, str>,
    pub value: Option<Value<'b>>,
    pub fault: Option<Fault>,
}

/// Reads a map entry: field 1 is the key, field 2 the value.
pub(crate) fn read_map_entry<'b>(key_kind: &FieldKind, bytes: &'b [u8]) -> MapEntry<'b> {
    let mut found = MapEntry { key: Cow::Borrowed(""), value: None, fault: None };
    let mut key = None;
    for field in Fields::new(bytes) {
        match field {
            Ok(field) if field.number == 1 && key_kind.fits(&field.value) => key = Some(field.value),
            Ok(field) if field.number == 2 => found.value = Some(field.value),
            Ok(_) => found.fault = Some(Fault::UnknownFields(1)),
            Err(error) => found.fault = Some(Fault::Damaged { offset: error.offset }),
        }
    }
    found.key = match (key_kind, key) {
        (FieldKind::String, Some(Value::Len(bytes))) => {
            let text = String::from_utf8_lossy(bytes);
            if matches!(text, Cow::Owned(_)) {
                found.fault = Some(Fault::InvalidUtf8);
            }
            text
        }
        (FieldKind::String, _) => Cow::Borrowed(""),
        (FieldKind::Bool, key) => {
            Cow::Borrowed(if key == Some(Value::Varint(0)) || key.is_none() { "false" } else { "true" })
        }
        (_, None) => Cow::Borrowed("0"),
        (FieldKind::Int32 | FieldKind::Int64, Some(Value::Varint(key))) => {
            Cow::Owned((key as i64).to_string())
        }
        (FieldKind::Sint32 | FieldKind::Sint64, Some(Value::Varint(key))) => {
            Cow::Owned(zigzag(key).to_string())
        }
        (FieldKind::Sfixed32, Some(Value::I32(key))) => Cow::Owned((key as i32).to_string()),
        (FieldKind::Sfixed64, Some(Value::I64(key))) => Cow::Owned((key as i64).to_string()),
        (_, Some(Value::Varint(key) | Value::I64(key))) => Cow::Owned(key.to_string()),
        (_, Some(Value::I32(key))) => Cow::Owned(key.to_string()),
        (_, Some(Value::Len(_) | Value::Group(_))) => Cow::Borrowed(""),
    };
    found
}

/// Sorts entries by key, because senders shuffle them, and keeps the last of equal keys.
pub(crate) fn sort_entries(mut entries: Vec<MapEntry<'_>>) -> Vec<MapEntry<'_>> {
    entries.reverse();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries.dedup_by(|later, kept| later.key == kept.key);
    entries
}
