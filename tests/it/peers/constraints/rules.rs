//! The constraints in the descriptors, read from the options of fields and oneofs.

use std::collections::BTreeSet;

use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor, ReflectMessage, Value,
};
use xdscope_schema::Schema;

/// The kind of the rule that a oneof must be set.
pub const REQUIRED_ONEOF: &str = "oneof.required";

/// Returns all kinds of rules in the built-in descriptors.
pub fn all_kinds(schema: &Schema) -> BTreeSet<String> {
    let mut kinds = BTreeSet::new();
    for name in ["envoy.config.cluster.v3.Cluster", "envoy.api.v2.Cluster"] {
        let pool = schema.message(name).expect("a built-in type").parent_pool().clone();
        for message in pool.all_messages() {
            kinds.extend(message.fields().flat_map(|field| self::kinds(&field)));
            kinds.extend((!required_oneofs(&message).is_empty()).then(|| REQUIRED_ONEOF.to_owned()));
            for option in ["validate.disabled", "validate.ignored"] {
                let extension = pool.get_extension_by_name(option);
                let is_set = extension.is_some_and(|extension| message.options().has_extension(&extension));
                kinds.extend(is_set.then(|| option.to_owned()));
            }
        }
    }
    kinds
}

/// Returns the `FieldRules` of a field.
pub fn of_field(field: &FieldDescriptor) -> Option<DynamicMessage> {
    let extension = field.parent_pool().get_extension_by_name("validate.rules")?;
    let options = field.options();
    let rules = options.has_extension(&extension).then(|| options.get_extension(&extension).into_owned())?;
    rules.as_message().cloned()
}

/// Whether a oneof must be set.
pub fn is_required(oneof: &OneofDescriptor) -> bool {
    let extension = oneof.parent_pool().get_extension_by_name("validate.required");
    extension.is_some_and(|extension| oneof.options().get_extension(&extension).as_bool() == Some(true))
}

/// Returns the required oneofs of a message.
pub fn required_oneofs(message: &MessageDescriptor) -> Vec<OneofDescriptor> {
    message.oneofs().filter(is_required).collect()
}

/// Returns the oneof of a field, unless the oneof stands for `optional`.
pub fn oneof_of(field: &FieldDescriptor) -> Option<OneofDescriptor> {
    field.containing_oneof().filter(|oneof| !oneof.is_synthetic())
}

/// Returns the value field of a wrapper such as `google.protobuf.UInt32Value`.
pub fn wrapped(message: &MessageDescriptor) -> Option<FieldDescriptor> {
    let name = message.full_name();
    let is_wrapper =
        name.starts_with("google.protobuf.") && name.ends_with("Value") && name != "google.protobuf.Value";
    message.get_field_by_name("value").filter(|_| is_wrapper)
}

/// Returns the kinds of rules on a field, such as `repeated.items.string.min_len`.
pub fn kinds(field: &FieldDescriptor) -> Vec<String> {
    let mut paths = Vec::new();
    if let Some(rules) = of_field(field) {
        flatten("", &rules, &mut paths);
    }
    let shape = match field.kind() {
        Kind::Message(message) if wrapped(&message).is_some() => " of a wrapper",
        _ if oneof_of(field).is_some() => " in a oneof",
        _ => "",
    };
    paths.iter().map(|path| format!("{path}{shape}")).collect()
}

/// Lists the rules in a message by path. Flags and enum values are part of the path.
fn flatten(path: &str, rules: &DynamicMessage, paths: &mut Vec<String>) {
    for (field, value) in rules.fields() {
        let path = format!("{path}{}", field.name());
        match value {
            Value::Message(inner) if inner.descriptor().full_name().starts_with("validate.") => {
                flatten(&format!("{path}."), inner, paths);
            }
            Value::Bool(flag) => paths.push(format!("{path}={flag}")),
            Value::EnumNumber(number) => paths.push(format!("{path}={number}")),
            _ => paths.push(path),
        }
    }
}
