use std::sync::Arc;

use prost_reflect::{Cardinality, EnumDescriptor, FieldDescriptor, MessageDescriptor};

use crate::json::named_value::{NamedValue, is_key_set, is_secret_message};
use xdscope_wire::pb::Value;

/// The parts of a message descriptor that the walker needs.
#[derive(Debug)]
pub(super) struct MessageTable {
    pub name: Box<str>,
    pub form: JsonForm,
    /// Sorted by number.
    pub fields: Box<[FieldInfo]>,
    /// By field number, the index in `fields` plus one. Zero for unknown numbers.
    dense: Box<[u16]>,
    /// Whether a oneof has more than one member.
    pub has_oneofs: bool,
    /// The fields of a value with a name, such as a header.
    pub named_value: Option<NamedValue>,
    /// Whether a field is secret. Unknown fields then may be secret, too.
    pub is_secret: bool,
}

/// The form of a message in protobuf JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonForm {
    Plain,
    Any,
    Duration,
    Timestamp,
    FieldMask,
    Struct,
    Value,
    ListValue,
    /// `google.protobuf.StringValue` and the other wrappers: the value of field 1, even if zero.
    Wrapper,
}

#[derive(Debug)]
pub(super) struct FieldInfo {
    pub number: u32,
    pub name: Box<str>,
    pub json_name: Box<str>,
    pub kind: FieldKind,
    pub repeated: bool,
    /// Whether an absent field differs from a field that is zero.
    pub has_presence: bool,
    /// Index of the oneof in the message.
    pub oneof: Option<u16>,
    /// Whether the value is a secret.
    pub is_secret: bool,
    /// Whether the value may be a JSON Web Key Set.
    pub is_key_set: bool,
}

#[derive(Clone, Debug)]
pub(super) enum FieldKind {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    String,
    Bytes,
    Enum(Arc<EnumTable>),
    /// Index of the message in the pool.
    Message(u32),
    /// The kinds of key and value.
    Map(Box<(FieldKind, FieldKind)>),
}

#[derive(Debug)]
pub(super) struct EnumTable {
    /// Sorted by number. Of several names for a number, the first in the declaration, as in
    /// protobuf JSON.
    values: Box<[(i32, Box<str>)]>,
    /// Whether the enum is `google.protobuf.NullValue`, which is `null` in JSON.
    pub is_null: bool,
}

impl EnumTable {
    pub(super) fn name(&self, number: i32) -> Option<&str> {
        let at = self.values.binary_search_by_key(&number, |value| value.0).ok()?;
        self.values.get(at).map(|value| &*value.1)
    }
}

/// Field numbers below this limit are looked up in an array.
const MAX_DENSE_NUMBER: u32 = 256;

impl MessageTable {
    pub(super) fn new(
        message: &MessageDescriptor,
        place: &dyn Fn(&MessageDescriptor) -> u32,
        sensitive: &dyn Fn(&FieldDescriptor) -> bool,
    ) -> MessageTable {
        let mut fields: Vec<FieldInfo> =
            message.fields().map(|field| FieldInfo::new(&field, place, sensitive(&field))).collect();
        fields.sort_by_key(|field| field.number);
        let top = fields.iter().map(|field| field.number).filter(|number| *number < MAX_DENSE_NUMBER).max();
        let mut dense = vec![0; top.map_or(0, |top| top as usize + 1)];
        for (i, field) in fields.iter().enumerate() {
            if let Some(slot) = dense.get_mut(field.number as usize) {
                *slot = i as u16 + 1;
            }
        }
        MessageTable {
            name: message.full_name().into(),
            form: JsonForm::of(message.full_name()),
            fields: fields.into(),
            dense: dense.into(),
            has_oneofs: message.oneofs().any(|oneof| oneof.fields().len() > 1),
            named_value: NamedValue::of(message),
            is_secret: message.fields().any(|field| sensitive(&field)) || is_secret_message(message),
        }
    }

    /// Returns the index in `fields` of the field with this number.
    pub(super) fn index_of(&self, number: u32) -> Option<u32> {
        match self.dense.get(number as usize) {
            Some(0) => None,
            Some(place) => Some(u32::from(*place) - 1),
            None => self.fields.binary_search_by_key(&number, |field| field.number).ok().map(|at| at as u32),
        }
    }

    pub(super) fn field(&self, number: u32) -> Option<&FieldInfo> {
        self.fields.get(self.index_of(number)? as usize)
    }
}

/// Whether messages of this name have a JSON form of their own.
pub(super) fn has_own_json(name: &str) -> bool {
    JsonForm::of(name) != JsonForm::Plain
}

impl JsonForm {
    pub(super) fn of(name: &str) -> JsonForm {
        match name.strip_prefix("google.protobuf.") {
            Some("Any") => JsonForm::Any,
            Some("Duration") => JsonForm::Duration,
            Some("Timestamp") => JsonForm::Timestamp,
            Some("FieldMask") => JsonForm::FieldMask,
            Some("Struct") => JsonForm::Struct,
            Some("Value") => JsonForm::Value,
            Some("ListValue") => JsonForm::ListValue,
            Some(
                "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value" | "UInt32Value"
                | "BoolValue" | "StringValue" | "BytesValue",
            ) => JsonForm::Wrapper,
            _ => JsonForm::Plain,
        }
    }

    /// Whether messages of this form may contain values of any meaning.
    pub(super) fn can_hold_anything(self) -> bool {
        matches!(self, JsonForm::Any | JsonForm::Struct | JsonForm::Value | JsonForm::ListValue)
    }
}

impl FieldInfo {
    fn new(field: &FieldDescriptor, place: &dyn Fn(&MessageDescriptor) -> u32, is_secret: bool) -> FieldInfo {
        let kind = match field.kind() {
            prost_reflect::Kind::Message(entry) if field.is_map() => FieldKind::Map(Box::new((
                FieldKind::of(entry.map_entry_key_field().kind(), place),
                FieldKind::of(entry.map_entry_value_field().kind(), place),
            ))),
            kind => FieldKind::of(kind, place),
        };
        let oneof = field.containing_oneof();
        let index = oneof
            .filter(|oneof| oneof.fields().len() > 1)
            .and_then(|oneof| field.parent_message().oneofs().position(|other| other.name() == oneof.name()));
        FieldInfo {
            number: field.number(),
            name: field.name().into(),
            json_name: field.json_name().into(),
            kind,
            repeated: field.cardinality() == Cardinality::Repeated && !field.is_map(),
            has_presence: field.supports_presence(),
            oneof: index.and_then(|index| u16::try_from(index).ok()),
            is_secret,
            is_key_set: is_key_set(field),
        }
    }

    /// Whether a value on the wire can belong to the field. Other values count as unknown fields.
    pub(super) fn fits(&self, value: &Value<'_>) -> bool {
        self.kind.fits(value) || self.repeated && self.kind.is_packable() && matches!(value, Value::Len(_))
    }
}

impl FieldKind {
    fn of(kind: prost_reflect::Kind, place: &dyn Fn(&MessageDescriptor) -> u32) -> FieldKind {
        match kind {
            prost_reflect::Kind::Double => FieldKind::Double,
            prost_reflect::Kind::Float => FieldKind::Float,
            prost_reflect::Kind::Int32 => FieldKind::Int32,
            prost_reflect::Kind::Int64 => FieldKind::Int64,
            prost_reflect::Kind::Uint32 => FieldKind::Uint32,
            prost_reflect::Kind::Uint64 => FieldKind::Uint64,
            prost_reflect::Kind::Sint32 => FieldKind::Sint32,
            prost_reflect::Kind::Sint64 => FieldKind::Sint64,
            prost_reflect::Kind::Fixed32 => FieldKind::Fixed32,
            prost_reflect::Kind::Fixed64 => FieldKind::Fixed64,
            prost_reflect::Kind::Sfixed32 => FieldKind::Sfixed32,
            prost_reflect::Kind::Sfixed64 => FieldKind::Sfixed64,
            prost_reflect::Kind::Bool => FieldKind::Bool,
            prost_reflect::Kind::String => FieldKind::String,
            prost_reflect::Kind::Bytes => FieldKind::Bytes,
            prost_reflect::Kind::Message(message) => FieldKind::Message(place(&message)),
            prost_reflect::Kind::Enum(item) => FieldKind::Enum(Arc::new(EnumTable::new(&item))),
        }
    }

    pub(super) fn fits(&self, value: &Value<'_>) -> bool {
        use FieldKind::*;
        match value {
            Value::Varint(_) => {
                matches!(self, Int32 | Int64 | Uint32 | Uint64 | Sint32 | Sint64 | Bool | Enum(_))
            }
            Value::I64(_) => matches!(self, Double | Fixed64 | Sfixed64),
            Value::I32(_) => matches!(self, Float | Fixed32 | Sfixed32),
            Value::Len(_) => matches!(self, String | Bytes | Message(_) | Map(_)),
            Value::Group(_) => matches!(self, Message(_)),
        }
    }

    /// Whether repeated fields of this kind can be packed: numbers, booleans and enums.
    pub(super) fn is_packable(&self) -> bool {
        !matches!(self, FieldKind::String | FieldKind::Bytes | FieldKind::Message(_) | FieldKind::Map(_))
    }
}

impl EnumTable {
    fn new(item: &EnumDescriptor) -> EnumTable {
        // `EnumDescriptor::values` does not keep the order of the declaration for aliases.
        let declared = &item.enum_descriptor_proto().value;
        let mut values: Vec<(i32, Box<str>)> =
            declared.iter().map(|value| (value.number(), value.name().into())).collect();
        values.sort_by_key(|value| value.0);
        values.dedup_by_key(|value| value.0);
        EnumTable { values: values.into(), is_null: item.full_name() == "google.protobuf.NullValue" }
    }
}
