//! The JSON objects, from the schema that `help json` prints.

use serde_json::Value;

use super::{code, prose, table};

/// Names the shape of a value; objects add their fields to `objects`.
fn shape(field: &Value, path: &str, objects: &mut Vec<(String, Value)>) -> String {
    if let Some(words) = field["enum"].as_array() {
        let words: Vec<String> = words.iter().filter_map(Value::as_str).map(code).collect();
        return words.join(", ");
    }
    if let Some(options) = field["anyOf"].as_array() {
        let options: Vec<String> = options.iter().map(|option| shape(option, path, objects)).collect();
        return options.join(" or ");
    }
    if field["$ref"].is_string() {
        return "time".to_owned();
    }
    let Some(kind) = field.get("type") else { return "any JSON".to_owned() };
    if let Some(kinds) = kind.as_array() {
        return kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ");
    }
    match kind.as_str().unwrap_or_default() {
        "array" => format!("list of {}", shape(&field["items"], path, objects)),
        "object" => {
            objects.push((path.to_owned(), field.clone()));
            "object".to_owned()
        }
        other => other.to_owned(),
    }
}

/// Returns when a field is present, from the lists of required fields.
fn presence(object: &Value, name: &str) -> String {
    let requires = |part: &Value| {
        let names = part["required"].as_array();
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    if requires(object) {
        return "always".to_owned();
    }
    let conditions = object["allOf"].as_array().into_iter().flatten();
    let condition = conditions.into_iter().find(|condition| requires(&condition["then"]));
    let when = condition.map(|condition| match condition["if"]["properties"]["dir"]["const"].as_str() {
        Some("req") => "requests",
        Some(_) => "responses",
        None => "messages",
    });
    when.unwrap_or("if it applies").to_owned()
}

/// Formats the fields of an object, and then the objects within it.
fn describe(object: &Value, path: &str, out: &mut String) {
    let mut objects = Vec::new();
    let fields = object["properties"].as_object().into_iter().flatten();
    let rows = fields.filter(|(name, _)| !matches!(name.as_str(), "schema" | "object"));
    let rows = rows.map(|(name, field)| {
        let inner = format!("{path}.{name}");
        let doc = field["description"].as_str().unwrap_or_default();
        let shape = shape(field, &inner, &mut objects);
        [code(name), shape, presence(object, name), prose(doc)]
    });
    let rows: Vec<_> = rows.collect();
    out.push_str(&format!("\n{}", table(["field", "value", "present", "meaning"], rows)));
    for (path, object) in objects {
        out.push_str(&format!("\n### {path}\n"));
        describe(&object, &path, out);
    }
}

pub(super) fn generate() -> String {
    let schema = xdscope_present::json::schema();
    let mut out = String::new();
    for (name, object) in schema["$defs"].as_object().into_iter().flatten() {
        if object["type"] == "object" {
            let doc = object["description"].as_str().unwrap_or_default();
            out.push_str(&format!("\n## {name}\n\n{}.\n", prose(doc)));
            describe(object, name, &mut out);
        }
    }
    out.push('\n');
    out
}
