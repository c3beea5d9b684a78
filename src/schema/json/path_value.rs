//! Whether a field of a message can have a value.

use prost_reflect::{Kind, MessageDescriptor};
use serde_json::{Map, Value};

use crate::{EncodeError, Schema, message_name};
use xdscope_wire::text::near::nearest;

/// Fields that resemble a mistyped one.
const MAX_NEAR: usize = 3;

/// Messages whose JSON has members of its own.
const FREE_MESSAGES: [&str; 3] = ["google.protobuf.Any", "google.protobuf.Struct", "google.protobuf.Value"];

impl Schema {
    /// Checks that a field of a message can have a value. A path has the names of fields, keys of
    /// maps and indexes of lists; behind an `Any` or a `Struct` everything is possible.
    ///
    /// # Errors
    ///
    /// The type is unknown, has no such field, or the value does not fit the field.
    pub fn check_value(&self, name: &str, path: &[String], value: &Value) -> Result<(), EncodeError> {
        let name = message_name(name);
        let descriptor = self.message(name).ok_or_else(|| EncodeError::UnknownType(name.to_owned()))?;
        match json_of(&descriptor, path, value)? {
            Some(json) => self.encode(name, &json).map(drop),
            None => Ok(()),
        }
    }
}

/// Returns the message in which only this field is set; `None`: everything is possible.
fn json_of(
    message: &MessageDescriptor,
    path: &[String],
    value: &Value,
) -> Result<Option<Value>, EncodeError> {
    let Some((first, rest)) = path.split_first() else { return Ok(Some(value.clone())) };
    if FREE_MESSAGES.contains(&message.full_name()) {
        return Ok(None);
    }
    let field = message.get_field_by_name(first).or_else(|| message.get_field_by_json_name(first));
    let field = field.ok_or_else(|| unknown_field(message, first))?;
    let within = |kind: &Kind, rest: &[String]| match kind.as_message() {
        Some(inner) => json_of(inner, rest, value),
        None if rest.is_empty() => Ok(Some(value.clone())),
        None => Err(EncodeError::Invalid(format!("`{first}` has no fields"))),
    };
    let kind = field.kind();
    let inner = match (rest.split_first(), kind.as_message().filter(|_| field.is_map())) {
        (None, _) => Some(value.clone()),
        (Some((key, rest)), Some(entry)) => {
            let inner = within(&entry.map_entry_value_field().kind(), rest)?;
            inner.map(|inner| Value::Object(Map::from_iter([(key.clone(), inner)])))
        }
        (Some((index, rest)), None) if field.is_list() => {
            if index.parse::<usize>().is_err() {
                let what = format!("`{first}` is a list: `{first}.0.{index}` is in its first entry");
                return Err(EncodeError::Invalid(what));
            }
            within(&kind, rest)?.map(|inner| Value::Array(vec![inner]))
        }
        (Some(_), None) => within(&kind, rest)?,
    };
    Ok(inner.map(|inner| Value::Object(Map::from_iter([(first.clone(), inner)]))))
}

fn unknown_field(message: &MessageDescriptor, typed: &str) -> EncodeError {
    let fields: Vec<String> = message.fields().map(|field| field.name().to_owned()).collect();
    let near = nearest(typed, fields.iter().map(String::as_str), MAX_NEAR);
    let near = if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) };
    EncodeError::Invalid(format!("{} has no field `{typed}`{near}", message.full_name()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

    fn check(path: &str, value: Value) -> Result<(), String> {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        Schema::builtin().check_value(CLUSTER, &path, &value).map_err(|error| error.to_string())
    }

    #[test]
    fn accepts_values_that_fit() {
        for (path, value) in [
            ("connect_timeout", json!("5s")),
            ("connectTimeout", json!("0.1s")),
            ("lb_policy", json!("RING_HASH")),
            ("lb_policy", json!(2)),
            ("load_assignment.endpoints.0.lb_endpoints.0.load_balancing_weight", json!(3)),
            ("common_lb_config.healthy_panic_threshold.value", json!(50)),
            ("metadata.filter_metadata.envoy.lb.x", json!(1)),
            ("transport_socket.typed_config.sni", json!("x")),
            (
                "typed_extension_protocol_options.x",
                json!({"@type": "type.googleapis.com/google.protobuf.Empty"}),
            ),
        ] {
            assert_eq!(check(path, value), Ok(()), "{path}");
        }
    }

    #[test]
    fn refuses_what_cannot_be() {
        let near = "envoy.config.cluster.v3.Cluster has no field `conect_timeout`; near: connect_timeout";
        assert_eq!(check("conect_timeout", json!("1s")), Err(near.into()));
        let list = "`endpoints` is a list: `endpoints.0.priority` is in its first entry";
        assert_eq!(check("load_assignment.endpoints.priority", json!(1)), Err(list.into()));
        assert_eq!(check("name.x", json!(1)), Err("`name` has no fields".into()));
        for (path, value) in [
            ("connect_timeout", json!("abc")),
            ("lb_policy", json!("NOPE")),
            ("name", json!(5)),
            ("name", json!({})),
        ] {
            assert!(check(path, value.clone()).is_err(), "{path} {value}");
        }
    }
}
