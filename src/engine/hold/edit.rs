//! A held message as YAML to edit, and back.
//!
//! Resources that the person did not touch keep their bytes, also if their type is unknown.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::Value;

use crate::hold::HeldFact;
use xdscope_schema::{FieldNames, Schema, Violation, from_yaml, to_yaml};
use xdscope_wire::MessageShape;
use xdscope_wire::discovery::encode::encode_any;
use xdscope_wire::discovery::fields::{RESOURCES, resource};
use xdscope_wire::pb::{Fields, put_len_field};
use xdscope_wire::text::{display_safe, shown_name, type_label};

/// The member with the resources of a push.
const RESOURCES_MEMBER: &str = "resources";

/// Warnings about one message that are listed.
const MAX_WARNINGS: usize = 8;

/// A message that was edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The message to send.
    pub bytes: Bytes,
    /// Constraints of the API that changed resources break.
    pub warnings: Vec<String>,
}

/// A text that is not the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct EditError {
    /// The line, if known.
    pub line: Option<usize>,
    /// The reason.
    pub reason: String,
}

/// Returns a message as YAML, below lines that explain what will happen.
pub fn text_of(fact: &HeldFact, schema: &Schema) -> String {
    let (way, peer) = if fact.is_push() { ("push", "to") } else { ("request", "from") };
    let node = fact.node.as_deref().unwrap_or("a client without node id");
    let label = type_label(fact.type_url.as_str());
    let head = format!(
        "# {}: {label} {way} {} {peer} {}. Save and leave the editor to see the difference;\n\
         # nothing is sent before you confirm it. An unchanged or empty file leaves the message held.\n",
        fact.id,
        display_safe(&fact.version),
        display_safe(node)
    );
    format!("{head}{}", to_yaml(&tree(fact, schema)))
}

fn tree(fact: &HeldFact, schema: &Schema) -> Value {
    schema.tree(&fact.message_name(), &fact.bytes, FieldNames::Original)
}

/// Reads an edited text. `None`: the text is empty, or says what the message says.
///
/// # Errors
///
/// The text is not YAML, or does not fit the descriptors.
pub fn parse(fact: &HeldFact, text: &str, schema: &Schema) -> Result<Option<Edited>, EditError> {
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_comment) {
        return Ok(None);
    }
    let edited = from_yaml(text).map_err(|error| {
        let reason = error.to_string();
        EditError { line: stated_line(&reason), reason }
    })?;
    if !edited.is_object() {
        return Err(EditError { line: None, reason: "not a message: fields such as version_info".into() });
    }
    let (original, typed) = (tree(fact, schema), edited.clone());
    if edited == original {
        return Ok(None);
    }
    let encoded = if fact.is_push() {
        push(fact, &original, edited, schema)
    } else {
        let encoded = schema.encode(&fact.message_name(), &edited).map_err(|error| error.to_string());
        encoded.map(|bytes| Edited { bytes: bytes.into(), warnings: Vec::new() })
    };
    encoded.map(Some).map_err(|reason| {
        let line = line_of(text, &reason).or_else(|| {
            let (member, value) = misfit(&fact.message_name(), &mut Vec::new(), &typed, schema)?;
            line_with(text, &member, &value)
        });
        EditError { line, reason }
    })
}

/// Encodes a push. Resources that are not edited keep their bytes.
fn push(fact: &HeldFact, original: &Value, mut edited: Value, schema: &Schema) -> Result<Edited, String> {
    let (mut head, mut raw) = (Vec::new(), Vec::new());
    for field in Fields::new(&fact.bytes).map_while(Result::ok) {
        if field.number == RESOURCES {
            raw.push(field.bytes().to_vec());
        } else {
            head.extend_from_slice(field.raw);
        }
    }
    let mut rest = original.clone();
    let old = take_resources(&mut rest)?;
    let new = take_resources(&mut edited)?;
    let known: HashMap<String, &Vec<u8>> = match old.len() == raw.len() {
        true => old.iter().map(Value::to_string).zip(&raw).collect(),
        false => HashMap::new(),
    };
    let mut out = if edited == rest {
        head
    } else {
        schema.encode(&fact.message_name(), &edited).map_err(|error| error.to_string())?
    };
    let mut warnings = Vec::new();
    for item in new {
        if let Some(bytes) = known.get(&item.to_string()) {
            put_len_field(&mut out, RESOURCES, bytes);
            continue;
        }
        let name = name_of(&item).unwrap_or_default();
        let bytes = entry(fact, item, schema)?;
        if warnings.len() < MAX_WARNINGS {
            warnings.extend(broken_constraints(fact, &bytes, &name, schema));
        }
        put_len_field(&mut out, RESOURCES, &bytes);
    }
    warnings.truncate(MAX_WARNINGS);
    Ok(Edited { bytes: out.into(), warnings })
}

/// Takes the resources out of a push.
fn take_resources(push: &mut Value) -> Result<Vec<Value>, String> {
    match push.as_object_mut().and_then(|members| members.shift_remove(RESOURCES_MEMBER)) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(format!("`{RESOURCES_MEMBER}` is not a list")),
    }
}

/// Encodes an entry of the resources of a push.
fn entry(fact: &HeldFact, mut item: Value, schema: &Schema) -> Result<Vec<u8>, String> {
    if fact.shape == MessageShape::DeltaResponse {
        let wrapper = fact.message_name().replace("DeltaDiscoveryResponse", "Resource");
        return schema.encode(&wrapper, &item).map_err(|error| error.to_string());
    }
    let members = item.as_object_mut().ok_or("a resource is not an object")?;
    let url = members.shift_remove("@type").ok_or("a resource has no `@type`")?;
    let url = url.as_str().ok_or("the `@type` of a resource is not a text")?;
    let bytes = schema.encode(url, &item).map_err(|error| error.to_string())?;
    Ok(encode_any(url, &bytes))
}

/// Returns the name in an entry of the resources.
fn name_of(item: &Value) -> Option<String> {
    let named = ["name", "cluster_name"].into_iter().find_map(|member| item.get(member)?.as_str());
    named.map(str::to_owned)
}

/// Returns the constraints that the payload of an entry breaks, with the name of the resource.
fn broken_constraints(fact: &HeldFact, entry: &[u8], name: &str, schema: &Schema) -> Vec<String> {
    let payload = match fact.shape {
        MessageShape::DeltaResponse => {
            let mut fields = Fields::new(entry).map_while(Result::ok);
            fields.find(|field| field.number == resource::RESOURCE).map(|field| field.bytes().to_vec())
        }
        _ => Some(entry.to_vec()),
    };
    let violations = payload.and_then(|any| schema.violations("google.protobuf.Any", &any).ok());
    let text = |violation: &Violation| format!("{}: {violation}", shown_name(name));
    violations.unwrap_or_default().iter().map(text).collect()
}

/// Returns the line that the error of a YAML parser states.
fn stated_line(reason: &str) -> Option<usize> {
    let (_, rest) = reason.split_once("line ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// Returns the first member whose value does not fit its field, and the value. `path` leads from
/// the message of this name to the node.
fn misfit(name: &str, path: &mut Vec<String>, node: &Value, schema: &Schema) -> Option<(String, Value)> {
    match node {
        Value::Object(members) => {
            if let Some(url) = members.get("@type").and_then(Value::as_str) {
                let rest = members.iter().filter(|(member, _)| *member != "@type");
                return rest
                    .into_iter()
                    .find_map(|(member, value)| misfit(url, &mut vec![member.clone()], value, schema));
            }
            members.iter().find_map(|(member, value)| {
                path.push(member.clone());
                let found = misfit(name, path, value, schema);
                path.pop();
                found
            })
        }
        Value::Array(items) if items.iter().any(Value::is_object) => items.iter().find_map(|item| {
            path.push("0".to_owned());
            let found = misfit(name, path, item, schema);
            path.pop();
            found
        }),
        value => match schema.check_value(name, path, value) {
            Ok(_) => None,
            Err(_) => Some((path.last()?.clone(), value.clone())),
        },
    }
}

/// Returns the line on which a member has a value.
fn line_with(text: &str, member: &str, value: &Value) -> Option<usize> {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_pair = |line: &str| {
        let (name, rest) = line.split_once(':').unwrap_or_default();
        name.trim_start_matches([' ', '-', '"']).trim_end_matches('"') == member
            && rest.trim().trim_matches(['"', '\'']) == value
    };
    text.lines().position(is_pair).map(|at| at + 1)
}

/// Returns the first line with the member that the error of an encoder names in quotes.
fn line_of(text: &str, reason: &str) -> Option<usize> {
    let quoted = reason.split(['\'', '`', '"']).skip(1).step_by(2);
    let line = |name: &str| {
        let is_member = |line: &str| {
            let line = line.trim_start().trim_start_matches("- ").trim_matches('"');
            line.strip_prefix(name).is_some_and(|rest| rest.trim_start_matches('"').starts_with(':'))
        };
        text.lines().position(is_member).or_else(|| text.lines().position(|line| line.contains(name)))
    };
    quoted.filter(|name| !name.is_empty()).find_map(line).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hold::HeldId;
    use xdscope_wire::discovery::encode::{ResourceFields, ResponseFields};

    const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

    fn held(is_delta: bool) -> HeldFact {
        let schema = Schema::builtin();
        let entries = ["cart", "reviews"].map(|name| {
            let json = serde_json::json!({ "name": name, "connect_timeout": "5s" });
            let any = encode_any(CLUSTER, &schema.encode(CLUSTER, &json).expect("a cluster"));
            if is_delta {
                ResourceFields { version: "1", payload: Some(&any), name, ..ResourceFields::default() }
                    .encode()
            } else {
                any
            }
        });
        let fields =
            ResponseFields { version: "43", type_url: CLUSTER, nonce: "a822", ..ResponseFields::default() };
        HeldFact {
            id: HeldId(1),
            shape: if is_delta { MessageShape::DeltaResponse } else { MessageShape::SotwResponse },
            is_v2: false,
            type_url: CLUSTER.into(),
            version: "43".into(),
            nonce: "a822".into(),
            node: Some("edge".into()),
            count: 2,
            bytes: fields.encode(is_delta, entries).into(),
        }
    }

    #[test]
    fn unchanged_text_changes_nothing() {
        let schema = Schema::builtin();
        for is_delta in [false, true] {
            let fact = held(is_delta);
            let text = text_of(&fact, &schema);
            assert!(text.starts_with("# h1: CDS push 43 to edge."), "{text}");
            assert_eq!(parse(&fact, &text, &schema), Ok(None));
            assert_eq!(parse(&fact, "# nothing\n\n", &schema), Ok(None));
        }
    }

    #[test]
    fn edited_resource_is_encoded_and_checked() {
        let schema = Schema::builtin();
        for is_delta in [false, true] {
            let fact = held(is_delta);
            let text = text_of(&fact, &schema).replacen("connect_timeout: 5s", "connect_timeout: 0s", 1);
            let edited = parse(&fact, &text, &schema).expect("it is read").expect("a change");
            let is_named = |text: &String| text.starts_with("cart: ") && text.contains("connect_timeout");
            assert!(edited.warnings.iter().any(is_named), "{edited:?}");
            let changed = HeldFact { bytes: edited.bytes, ..fact };
            let shown = text_of(&changed, &schema);
            assert_eq!(shown, text, "{is_delta}");
        }
    }

    #[test]
    fn unknown_fields_of_other_resources_stay() {
        let schema = Schema::builtin();
        let mut fact = held(false);
        let mut bytes = fact.bytes.to_vec();
        put_len_field(&mut bytes, 999, b"new");
        put_len_field(&mut bytes, RESOURCES, &encode_any("type.googleapis.com/acme.Unknown", b"\x0a\x01x"));
        fact.bytes = bytes.into();
        let text = text_of(&fact, &schema).replacen("connect_timeout: 5s", "connect_timeout: 7s", 1);
        let edited = parse(&fact, &text, &schema).expect("it is read").expect("a change");
        let has = |part: &[u8]| edited.bytes.windows(part.len()).any(|window| window == part);
        assert!(has(b"new") && has(b"acme.Unknown"), "{:?}", edited.bytes);
    }

    #[test]
    fn errors_name_the_line() {
        let schema = Schema::builtin();
        let fact = held(false);
        let text = text_of(&fact, &schema);
        let line =
            |wanted: &str, text: &str| text.lines().position(|line| line.contains(wanted)).map(|at| at + 1);
        let wrong = text.replacen("connect_timeout", "conect_timeout", 1);
        let error = parse(&fact, &wrong, &schema).expect_err("no such field");
        assert_eq!(error.line, line("conect_timeout", &wrong), "{error}");
        assert!(error.to_string().starts_with("line "), "{error}");
        for (value, fields) in [
            ("vv", "lb_policy: vv\n"),
            ("vv", "load_assignment:\n    policy: {}\n    endpoints:\n    - priority: vv\n"),
            ("NOPE", "type: NOPE\n"),
        ] {
            for is_delta in [false, true] {
                let fact = held(is_delta);
                let text = text_of(&fact, &schema);
                let indent = if is_delta { "    " } else { "  " };
                let fields = fields.replace("\n  ", &format!("\n{indent}"));
                let new = format!("name: reviews\n{indent}{fields}{indent}connect_timeout: 5s");
                let wrong = text.replacen(&format!("name: reviews\n{indent}connect_timeout: 5s"), &new, 1);
                assert_ne!(wrong, text, "{text}");
                let error = parse(&fact, &wrong, &schema).expect_err("no such value");
                assert_eq!(error.line, line(value, &wrong), "{error}\n{wrong}");
            }
        }
        let broken = text.replacen("version_info:", "version_info: [", 1);
        assert!(parse(&fact, &broken, &schema).expect_err("no YAML").line.is_some());
        assert!(parse(&fact, "just words", &schema).is_err());
    }
}
