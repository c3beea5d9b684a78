//! Messages that consist of a name and a value, such as headers and query parameters.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

/// Names of the field with the name.
const NAME_FIELDS: [&str; 6] = ["key", "name", "header", "header_name", "descriptor_key", "tag"];

/// Names of the fields with the value.
pub(crate) const VALUE_FIELDS: [&str; 15] = [
    "value",
    "raw_value",
    "string_value",
    "exact_match",
    "exact",
    "string_match",
    "prefix_match",
    "suffix_match",
    "contains_match",
    "safe_regex_match",
    "regex_match",
    "regex",
    "default_value",
    "descriptor_value",
    "literal",
];

/// The fields of a message that is a value with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedValue {
    /// Number of the field with the name.
    pub name: u32,
    /// Numbers of the fields with the value.
    pub values: Vec<u32>,
    /// The name is the path to a value in metadata.
    pub is_path: bool,
}

impl NamedValue {
    /// Returns the fields of a message; `None` if the message is not a value with a name.
    pub(crate) fn of(message: &MessageDescriptor) -> Option<NamedValue> {
        if message.name() == "MetadataMatcher" {
            let (path, value) = (message.get_field_by_name("path")?, message.get_field_by_name("value")?);
            return Some(NamedValue { name: path.number(), values: vec![value.number()], is_path: true });
        }
        let name = NAME_FIELDS.iter().find_map(|name| message.get_field_by_name(name))?;
        let can_hold_text = |field: &FieldDescriptor| match field.kind() {
            Kind::String | Kind::Bytes => true,
            Kind::Message(inner) => is_value(inner.full_name()),
            _ => false,
        };
        let values = VALUE_FIELDS.iter().filter_map(|name| message.get_field_by_name(name));
        let values: Vec<u32> = values.filter(can_hold_text).map(|field| field.number()).collect();
        (name.kind() == Kind::String && !values.is_empty()).then(|| NamedValue {
            name: name.number(),
            values,
            is_path: false,
        })
    }
}

/// Whether messages with this name are values, or matchers of values.
fn is_value(name: &str) -> bool {
    let ends = [".AnyValue", ".StringMatcher", ".RegexMatcher", ".CustomTag.Literal"];
    name == "google.protobuf.Value" || ends.iter().any(|end| name.ends_with(end))
}

/// Whether messages with this name are arguments of a Google gRPC channel, which have a name.
pub(crate) fn is_channel_argument(name: &str) -> bool {
    name.ends_with(".ChannelArgs.Value")
}

/// Whether a field may contain a JSON Web Key Set, which is not marked as secret.
pub(crate) fn is_key_set(field: &FieldDescriptor) -> bool {
    is_key_set_name(field.name())
        && matches!(field.kind(), Kind::Message(inner) if inner.name() == "DataSource")
}

/// Whether values with this name are JSON Web Key Sets.
pub(crate) fn is_key_set_name(name: &str) -> bool {
    name.get(name.len().saturating_sub(4)..).is_some_and(|end| end.eq_ignore_ascii_case("jwks"))
}

/// Whether a message is a secret as a whole.
pub(crate) fn is_secret_message(message: &MessageDescriptor) -> bool {
    ["envoy.extensions.transport_sockets.tls.v3.Secret", "envoy.api.v2.auth.Secret"]
        .contains(&message.full_name())
}
