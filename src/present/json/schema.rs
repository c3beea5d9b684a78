//! The JSON Schema derived from the table of fields.

use serde_json::{Map, Value, json};

use super::SCHEMA;
use super::contract::Presence::{self, Always, Messages, Requests, Responses};
use super::contract::Shape::{self, Any, Bool, Count, Integer, List, Number, Object, Text, Time, Words};
use super::contract::{Field, OBJECTS};
use xdscope_wire::event::Dir;

/// Returns the JSON Schema (draft 2020-12) of one printed object.
pub fn schema() -> Value {
    let mut defs = Map::new();
    defs.insert(
        "time".into(),
        json!({
            "description": "RFC 3339 in UTC; seconds from the start if the source has no dates; null if it has no \
                            timestamps",
            "type": ["string", "number", "null"],
        }),
    );
    for (name, doc, fields) in OBJECTS {
        let mut object = object(fields);
        let own = [
            ("schema", json!({ "const": SCHEMA, "description": "version of this contract" })),
            ("object", json!({ "const": name })),
        ];
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            let rest = std::mem::take(properties);
            properties.extend(own.map(|(key, value)| (key.to_owned(), value)));
            properties.extend(rest);
        }
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required.splice(0..0, [json!("schema"), json!("object")]);
        }
        let mut def = Map::from_iter([("description".to_owned(), json!(doc))]);
        def.extend(object);
        defs.insert((*name).into(), Value::Object(def));
    }
    let one_of = OBJECTS.iter().map(|(name, ..)| json!({ "$ref": format!("#/$defs/{name}") }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One object that xdscope prints: a line of -o jsonl, an item of the array of -o json",
        "oneOf": one_of.collect::<Vec<_>>(),
        "$defs": defs,
    })
}

fn object(fields: &[Field]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), described(field))).collect();
    let mut out = Map::new();
    out.insert("type".into(), json!("object"));
    out.insert("properties".into(), properties.into());
    out.insert("required".into(), required(fields, Always));
    out.insert("additionalProperties".into(), json!(false));
    let when = |condition: Value, presence| {
        let names = required(fields, presence);
        let some = names.as_array().is_some_and(|names| !names.is_empty());
        some.then(|| json!({ "if": condition, "then": { "required": names } }))
    };
    let on_the_wire = ["open", "close", "unchanged", "intercepted", "gap"]
        .map(|kind| json!({ "properties": { "kind": { "const": kind } } }));
    let dir = |dir: Dir| json!({ "properties": { "dir": { "const": dir.word() } }, "required": ["dir"] });
    let rules: Vec<Value> = [
        when(json!({ "not": { "anyOf": on_the_wire } }), Messages),
        when(dir(Dir::Req), Requests),
        when(dir(Dir::Resp), Responses),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !rules.is_empty() {
        out.insert("allOf".into(), rules.into());
    }
    out
}

fn required(fields: &[Field], presence: Presence) -> Value {
    fields.iter().filter(|field| field.presence == presence).map(|field| field.name).collect()
}

fn described(field: &Field) -> Value {
    let mut out = Map::from_iter([("description".to_owned(), json!(field.doc))]);
    let shape = shape(field.shape);
    if !field.null {
        out.extend(shape);
    } else if let Some(Value::String(word)) = shape.get("type")
        && shape.len() == 1
    {
        out.insert("type".into(), json!([word, "null"]));
    } else {
        out.insert("anyOf".into(), json!([shape, { "type": "null" }]));
    }
    Value::Object(out)
}

fn shape(of: Shape) -> Map<String, Value> {
    let one = |key: &str, value: Value| Map::from_iter([(key.to_owned(), value)]);
    match of {
        Text => one("type", json!("string")),
        Count => Map::from_iter([("type".to_owned(), json!("integer")), ("minimum".to_owned(), json!(0))]),
        Integer => one("type", json!("integer")),
        Number => one("type", json!("number")),
        Bool => one("type", json!("boolean")),
        Time => one("$ref", json!("#/$defs/time")),
        Any => Map::new(),
        Words(words) => one("enum", words().into()),
        List(of) => {
            let mut out = one("type", json!("array"));
            out.insert("items".into(), Value::Object(shape(*of)));
            out
        }
        Object(fields) => object(fields),
    }
}
