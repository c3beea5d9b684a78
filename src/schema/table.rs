use std::sync::Arc;

use prost_reflect::{Cardinality, EnumDescriptor, FieldDescriptor, MessageDescriptor};

use crate::wire::pb::Value;

/// What the walker needs to know of one message type.
#[derive(Debug)]
pub(super) struct Table {
    pub name: Box<str>,
    pub shape: Shape,
    /// In order of their numbers.
    pub fields: Box<[Field]>,
    /// Place in `fields` plus one, by number; zero where there is none.
    dense: Box<[u16]>,
    /// There is a oneof that more than one field belongs to.
    pub oneofs: bool,
}

/// How a message is written in protobuf JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Plain,
    Any,
    Duration,
    Timestamp,
    FieldMask,
    Struct,
    Value,
    ListValue,
    /// `google.protobuf.StringValue` and its kin: the value of field 1, also when it is zero.
    Wrapper,
}

#[derive(Debug)]
pub(super) struct Field {
    pub number: u32,
    pub name: Box<str>,
    pub json_name: Box<str>,
    pub kind: Kind,
    pub repeated: bool,
    /// Absent differs from zero.
    pub presence: bool,
    /// Number of the oneof in its message.
    pub oneof: Option<u16>,
    /// The API marks its value as secret.
    pub sensitive: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
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
    Enum(Arc<Enum>),
    /// Place of the message in its pool.
    Message(u32),
    /// Kinds of key and value.
    Map(Box<(Kind, Kind)>),
}

#[derive(Debug)]
pub(super) struct Enum {
    /// In order of their numbers; of aliases the first declared, as protobuf JSON has it.
    values: Box<[(i32, Box<str>)]>,
    /// `google.protobuf.NullValue`, which is `null` in JSON.
    pub null: bool,
}

impl Enum {
    pub fn name(&self, number: i32) -> Option<&str> {
        let at = self.values.binary_search_by_key(&number, |value| value.0).ok()?;
        self.values.get(at).map(|value| &*value.1)
    }
}

/// Numbers below this are looked up directly.
const DENSE: u32 = 256;

impl Table {
    pub fn new(
        message: &MessageDescriptor,
        place: &dyn Fn(&MessageDescriptor) -> u32,
        sensitive: &dyn Fn(&FieldDescriptor) -> bool,
    ) -> Table {
        let mut fields: Vec<Field> =
            message.fields().map(|field| Field::new(&field, place, sensitive(&field))).collect();
        fields.sort_by_key(|field| field.number);
        let top = fields.iter().map(|field| field.number).filter(|number| *number < DENSE).max();
        let mut dense = vec![0; top.map_or(0, |top| top as usize + 1)];
        for (i, field) in fields.iter().enumerate() {
            if let Some(slot) = dense.get_mut(field.number as usize) {
                *slot = i as u16 + 1;
            }
        }
        Table {
            name: message.full_name().into(),
            shape: Shape::of(message.full_name()),
            fields: fields.into(),
            dense: dense.into(),
            oneofs: message.oneofs().any(|oneof| oneof.fields().len() > 1),
        }
    }

    /// Place in `fields` of the field with this number.
    pub fn place(&self, number: u32) -> Option<u32> {
        match self.dense.get(number as usize) {
            Some(0) => None,
            Some(place) => Some(u32::from(*place) - 1),
            None => self.fields.binary_search_by_key(&number, |field| field.number).ok().map(|at| at as u32),
        }
    }

    pub fn field(&self, number: u32) -> Option<&Field> {
        self.fields.get(self.place(number)? as usize)
    }
}

impl Shape {
    fn of(name: &str) -> Shape {
        match name.strip_prefix("google.protobuf.") {
            Some("Any") => Shape::Any,
            Some("Duration") => Shape::Duration,
            Some("Timestamp") => Shape::Timestamp,
            Some("FieldMask") => Shape::FieldMask,
            Some("Struct") => Shape::Struct,
            Some("Value") => Shape::Value,
            Some("ListValue") => Shape::ListValue,
            Some(
                "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value" | "UInt32Value"
                | "BoolValue" | "StringValue" | "BytesValue",
            ) => Shape::Wrapper,
            _ => Shape::Plain,
        }
    }
}

impl Field {
    fn new(field: &FieldDescriptor, place: &dyn Fn(&MessageDescriptor) -> u32, sensitive: bool) -> Field {
        let kind = match field.kind() {
            prost_reflect::Kind::Message(entry) if field.is_map() => Kind::Map(Box::new((
                Kind::of(entry.map_entry_key_field().kind(), place),
                Kind::of(entry.map_entry_value_field().kind(), place),
            ))),
            kind => Kind::of(kind, place),
        };
        let oneof = field.containing_oneof();
        let index = oneof
            .filter(|oneof| oneof.fields().len() > 1)
            .and_then(|oneof| field.parent_message().oneofs().position(|other| other.name() == oneof.name()));
        Field {
            number: field.number(),
            name: field.name().into(),
            json_name: field.json_name().into(),
            kind,
            repeated: field.cardinality() == Cardinality::Repeated && !field.is_map(),
            presence: field.supports_presence(),
            oneof: index.and_then(|index| u16::try_from(index).ok()),
            sensitive,
        }
    }

    /// Whether a value of this wire form can be one of the field's; any other is an unknown field.
    pub fn fits(&self, value: &Value<'_>) -> bool {
        self.kind.fits(value) || self.repeated && self.kind.scalar() && matches!(value, Value::Len(_))
    }
}

impl Kind {
    fn of(kind: prost_reflect::Kind, place: &dyn Fn(&MessageDescriptor) -> u32) -> Kind {
        match kind {
            prost_reflect::Kind::Double => Kind::Double,
            prost_reflect::Kind::Float => Kind::Float,
            prost_reflect::Kind::Int32 => Kind::Int32,
            prost_reflect::Kind::Int64 => Kind::Int64,
            prost_reflect::Kind::Uint32 => Kind::Uint32,
            prost_reflect::Kind::Uint64 => Kind::Uint64,
            prost_reflect::Kind::Sint32 => Kind::Sint32,
            prost_reflect::Kind::Sint64 => Kind::Sint64,
            prost_reflect::Kind::Fixed32 => Kind::Fixed32,
            prost_reflect::Kind::Fixed64 => Kind::Fixed64,
            prost_reflect::Kind::Sfixed32 => Kind::Sfixed32,
            prost_reflect::Kind::Sfixed64 => Kind::Sfixed64,
            prost_reflect::Kind::Bool => Kind::Bool,
            prost_reflect::Kind::String => Kind::String,
            prost_reflect::Kind::Bytes => Kind::Bytes,
            prost_reflect::Kind::Message(message) => Kind::Message(place(&message)),
            prost_reflect::Kind::Enum(item) => Kind::Enum(Arc::new(Enum::new(&item))),
        }
    }

    pub fn fits(&self, value: &Value<'_>) -> bool {
        use Kind::*;
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

    /// Numbers, booleans and enums: what a packed list may hold.
    pub fn scalar(&self) -> bool {
        !matches!(self, Kind::String | Kind::Bytes | Kind::Message(_) | Kind::Map(_))
    }
}

impl Enum {
    fn new(item: &EnumDescriptor) -> Enum {
        // From the declaration: `EnumDescriptor::values` has aliases in an order of its own.
        let declared = &item.enum_descriptor_proto().value;
        let mut values: Vec<(i32, Box<str>)> =
            declared.iter().map(|value| (value.number(), value.name().into())).collect();
        values.sort_by_key(|value| value.0);
        values.dedup_by_key(|value| value.0);
        Enum { values: values.into(), null: item.full_name() == "google.protobuf.NullValue" }
    }
}
