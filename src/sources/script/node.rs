use serde_json::{Map, Number, Value};

use super::ast::ScriptNode;
use super::error::EncodeError;
use super::parse::locality;
use xdscope_wire::discovery::encode::NodeFields;
use xdscope_wire::discovery::fields::node;
use xdscope_wire::pb::{self, Fields, put_len_field, put_tag, put_varint};

impl ScriptNode {
    /// Encodes the API's `Node` message.
    pub(super) fn encode(&self) -> Vec<u8> {
        let metadata = self.meta.as_ref().and_then(Value::as_object).map(struct_bytes);
        let (agent, version) = self.agent.split_once('/').unwrap_or((&self.agent, ""));
        let fields = NodeFields {
            id: &self.id,
            cluster: &self.cluster,
            metadata: metadata.as_deref(),
            locality: self.locality.each_ref().map(String::as_str),
            user_agent_name: agent,
            user_agent_version: version,
            client_features: self.features.iter().map(String::as_str).collect(),
        };
        fields.encode()
    }

    /// Decodes a node. Returns `None` if a script can't express all of it.
    pub(super) fn decode(bytes: &[u8]) -> Option<ScriptNode> {
        let mut out = ScriptNode::default();
        let mut version = String::new();
        for field in Fields::new(bytes) {
            let field = field.ok()?;
            let text = || String::from_utf8(field.bytes().to_vec()).ok();
            match field.number {
                node::ID => out.id = text()?,
                node::CLUSTER => out.cluster = text()?,
                node::METADATA => out.meta = Some(Value::Object(read_struct(field.bytes(), MAX_DEPTH)?)),
                node::LOCALITY => {
                    for part in Fields::new(field.bytes()) {
                        let part = part.ok()?;
                        *out.locality.get_mut((part.number as usize).checked_sub(1)?)? =
                            part.text().into_owned();
                    }
                }
                node::USER_AGENT_NAME => out.agent = text()?,
                node::USER_AGENT_VERSION => version = text()?,
                node::CLIENT_FEATURES => out.features.push(text()?),
                _ => return None,
            }
        }
        if !version.is_empty() {
            out.agent = format!("{}/{version}", out.agent);
        }
        let is_expressible = !out.locality.iter().any(|part| part.contains('/')) && !out.id.is_empty();
        (is_expressible && out.encode() == bytes).then_some(out)
    }

    /// Returns the node with some fields changed, as `node={…}` on a message does.
    pub(super) fn with(&self, changes: &Value) -> Result<ScriptNode, EncodeError> {
        let mut node = self.clone();
        for (key, value) in changes.as_object().into_iter().flatten() {
            let word = || match value {
                Value::String(text) => Ok(text.clone()),
                Value::Number(number) => Ok(number.to_string()),
                _ => Err(EncodeError::NodeFieldType(key.clone())),
            };
            match key.as_str() {
                "id" => node.id = word()?,
                "cluster" => node.cluster = word()?,
                "agent" => node.agent = word()?,
                "locality" => {
                    node.locality = locality(&word()?).ok_or(EncodeError::Locality)?;
                }
                "feature" => {
                    let features = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                    node.features = features.iter().filter_map(Value::as_str).map(String::from).collect();
                }
                "meta" | "metadata" if value.is_object() => node.meta = Some(value.clone()),
                _ => {
                    return Err(EncodeError::UnknownNodeField(key.clone()));
                }
            }
        }
        Ok(node)
    }
}

/// Deepest nesting of structs that is decoded.
const MAX_DEPTH: usize = 40;

/// Encodes a `google.protobuf.Struct`.
pub(super) fn struct_bytes(map: &Map<String, Value>) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in map {
        let mut entry = Vec::new();
        put_len_field(&mut entry, 1, key.as_bytes());
        put_len_field(&mut entry, 2, &value_bytes(value));
        put_len_field(&mut out, 1, &entry);
    }
    out
}

/// Encodes a value as `google.protobuf.Value`.
fn value_bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let mut varint = |number, value| {
        put_tag(&mut out, number, pb::WIRE_VARINT);
        put_varint(&mut out, value);
    };
    match value {
        Value::Null => varint(1, 0),
        Value::Bool(value) => varint(4, u64::from(*value)),
        Value::Number(number) => {
            put_tag(&mut out, 2, pb::WIRE_I64);
            out.extend_from_slice(&number.as_f64().unwrap_or_default().to_le_bytes());
        }
        Value::String(text) => put_len_field(&mut out, 3, text.as_bytes()),
        Value::Object(map) => put_len_field(&mut out, 5, &struct_bytes(map)),
        Value::Array(items) => {
            let mut list = Vec::new();
            for item in items {
                put_len_field(&mut list, 1, &value_bytes(item));
            }
            put_len_field(&mut out, 6, &list);
        }
    }
    out
}

/// Reads a `google.protobuf.Struct`, nested up to a depth.
fn read_struct(bytes: &[u8], depth: usize) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    for entry in Fields::new(bytes) {
        let (mut key, mut value) = (String::new(), Value::Null);
        for part in Fields::new(entry.ok()?.bytes()) {
            let part = part.ok()?;
            match part.number {
                1 => key = part.text().into_owned(),
                _ => value = read_value(part.bytes(), depth.checked_sub(1)?)?,
            }
        }
        map.insert(key, value);
    }
    Some(map)
}

/// Reads a `google.protobuf.Value`, nested up to a depth.
fn read_value(bytes: &[u8], depth: usize) -> Option<Value> {
    let field = Fields::new(bytes).next()?.ok()?;
    Some(match (field.number, field.value) {
        (2, pb::Value::I64(bits)) => {
            let number = f64::from_bits(bits);
            let whole = number.trunc() == number && number.abs() < 9e15;
            Value::Number(if whole { Number::from(number as i64) } else { Number::from_f64(number)? })
        }
        (3, _) => Value::String(field.text().into_owned()),
        (4, _) => Value::Bool(field.varint() != 0),
        (5, _) => Value::Object(read_struct(field.bytes(), depth)?),
        (6, _) => {
            let items = Fields::new(field.bytes());
            Value::Array(
                items
                    .map(|item| read_value(item.ok()?.bytes(), depth.checked_sub(1)?))
                    .collect::<Option<_>>()?,
            )
        }
        _ => Value::Null,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use xdscope_wire::NodeInfo;

    fn sample() -> ScriptNode {
        ScriptNode {
            id: "edge".into(),
            cluster: "c".into(),
            locality: ["r".into(), String::new(), "s".into()],
            agent: "envoy/1.40.0".into(),
            features: vec!["f1".into(), "f2".into()],
            meta: Some(json!({ "a": [1, -2.5, null, true], "b": { "c": "d" } })),
        }
    }

    #[test]
    fn encodes_all_node_fields() {
        let info = NodeInfo::parse(&sample().encode());
        assert_eq!((info.id.as_str(), info.cluster.as_str()), ("edge", "c"));
        assert_eq!(info.locality, ["r", "", "s"].map(String::from));
        assert_eq!((info.user_agent.as_str(), info.user_agent_version.as_str()), ("envoy", "1.40.0"));
        assert_eq!(info.client_features, ["f1", "f2"]);
    }

    #[test]
    fn decodes_expressible_nodes_only() {
        assert_eq!(ScriptNode::decode(&sample().encode()), Some(sample()));
        let mut more = sample().encode();
        put_len_field(&mut more, 9, b"an extension");
        assert_eq!(ScriptNode::decode(&more), None);
    }

    #[test]
    fn changes_single_node_fields() {
        let other = sample().with(&json!({ "cluster": "x", "metadata": { "k": 1 } })).expect("known fields");
        assert_eq!(other, ScriptNode { cluster: "x".into(), meta: Some(json!({ "k": 1 })), ..sample() });
        assert!(sample().with(&json!({ "colour": "x" })).is_err());
    }
}
