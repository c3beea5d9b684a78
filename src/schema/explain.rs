//! Documentation of messages and fields, from the descriptors.

use prost_reflect::{Cardinality, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage, Value};

use super::Schema;
use crate::pools::builtin;
use crate::pools::pool::Pool;

/// A path that names no message or field.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The path starts with an unknown message.
    #[error("unknown message {0}")]
    NoMessage(String),
    /// A message lacks the field.
    #[error("{message} has no field {field}; its fields are {known}")]
    NoField {
        /// Full name of the message.
        message: String,
        /// The unknown field.
        field: String,
        /// The fields of the message, separated by commas.
        known: String,
    },
    /// The path continues behind a field that is not a message.
    #[error("{0} is not a message and has no fields")]
    NoInside(String),
}

/// The documentation of a message or a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explanation {
    /// A message.
    Message(MessageDocs),
    /// A field.
    Field(FieldDocs),
}

/// The documentation of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageDocs {
    /// Full name of the message.
    pub full_name: String,
    /// The comment in the API, if known.
    pub comment: Option<&'static str>,
    /// The fields, as declared.
    pub fields: Vec<FieldSummary>,
}

impl MessageDocs {
    fn names(&self) -> Vec<String> {
        self.fields.iter().map(|field| field.name.clone()).collect()
    }
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSummary {
    /// Number of the field.
    pub number: u32,
    /// Name of the field.
    pub name: String,
    /// Type of the field.
    pub field_type: FieldType,
}

/// The documentation of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDocs {
    /// Full name of the field.
    pub full_name: String,
    /// Type of the field.
    pub field_type: FieldType,
    /// Number of the field.
    pub number: u32,
    /// The oneof of the field, if the oneof has other members.
    pub oneof: Option<OneofDocs>,
    /// The constraints, such as `duration.gt = 0s`.
    pub rules: Vec<String>,
    /// Whether the value is a secret, which is redacted.
    pub is_secret: bool,
    /// Whether the API marks the field as deprecated.
    pub is_deprecated: bool,
    /// The comment in the API, if known.
    pub comment: Option<&'static str>,
    /// Names of the values of an enum.
    pub enum_values: Vec<String>,
}

/// The oneof of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneofDocs {
    /// Name of the oneof.
    pub name: String,
    /// The members that cannot be set together with the field.
    pub others: Vec<String>,
}

/// The type of a field, by the names of messages, enums and scalar types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// One value.
    Single(String),
    /// A list of values.
    List(String),
    /// A map.
    Map {
        /// Type of the keys.
        key: String,
        /// Type of the values.
        value: String,
    },
}

impl Schema {
    /// Describes a message or field: type, number, constraints and API documentation.
    ///
    /// `path` is a message (`Cluster`, a full name or a type URL), optionally followed by field
    /// names at any depth (`Cluster.connect_timeout`).
    ///
    /// # Errors
    ///
    /// Returns an error if the message or a field is unknown.
    pub fn explain(&self, path: &str) -> Result<Explanation, ExplainError> {
        let (pool, message, rest) = self.split_message(path)?;
        let mut place = (message, None::<FieldDescriptor>);
        for name in rest {
            let inside = match &place.1 {
                None => place.0.clone(),
                Some(field) => match value_kind(field) {
                    Kind::Message(message) => message,
                    _ => return Err(ExplainError::NoInside(field.full_name().to_owned())),
                },
            };
            let field = inside.get_field_by_name(name).or_else(|| inside.get_field_by_json_name(name));
            let field = field.ok_or_else(|| {
                let known: Vec<_> = inside.fields().map(|field| field.name().to_owned()).collect();
                let (message, field) = (inside.full_name().to_owned(), name.to_owned());
                ExplainError::NoField { message, field, known: known.join(", ") }
            })?;
            place = (inside, Some(field));
        }
        Ok(match place {
            (_, Some(field)) => Explanation::Field(field_docs(pool, &field)),
            (message, None) => Explanation::Message(message_docs(&message)),
        })
    }

    /// Returns the names of the fields of a message, or of the message in a field, by a path as in
    /// [`explain`](Schema::explain).
    ///
    /// # Errors
    ///
    /// Returns an error if the message or a field is unknown, or if the field is no message.
    pub fn field_names_in(&self, path: &str) -> Result<Vec<String>, ExplainError> {
        let message = match self.explain(path)? {
            Explanation::Message(message) => return Ok(message.names()),
            Explanation::Field(field) => field.field_type,
        };
        let (FieldType::Single(name) | FieldType::List(name) | FieldType::Map { value: name, .. }) = message;
        match self.explain(&name) {
            Ok(Explanation::Message(message)) => Ok(message.names()),
            _ => Err(ExplainError::NoInside(path.to_owned())),
        }
    }

    /// Splits a path into the message at its start and the field names after it.
    ///
    /// A short name means the resource type with that name, or else the first message with that
    /// name.
    fn split_message<'a>(
        &self,
        path: &'a str,
    ) -> Result<(&Pool, MessageDescriptor, Vec<&'a str>), ExplainError> {
        let name = super::message_name(path);
        let parts: Vec<&str> = name.split('.').collect();
        for cut in (1..=parts.len()).rev() {
            let full_name = parts[..cut].join(".");
            if let Some((pool, _)) = self.find_message(&full_name)
                && let Some(message) = pool.message(&full_name)
            {
                return Ok((pool, message, parts[cut..].to_vec()));
            }
        }
        let first = parts[0];
        let resource = xdscope_wire::event::Kind::parse(first)
            .and_then(|kind| kind.message(xdscope_wire::event::ApiVersion::V3));
        let pools = self.user_pools.iter().chain([builtin::v3()]);
        for pool in pools {
            let found = resource.and_then(|name| pool.message(name));
            let is_short = |name: &&str| name.rsplit('.').next() == Some(first);
            let found = found.or_else(|| pool.message(pool.descriptors.names().find(is_short)?));
            if let Some(message) = found {
                return Ok((pool, message, parts[1..].to_vec()));
            }
        }
        Err(ExplainError::NoMessage(first.to_owned()))
    }
}

/// Returns the kind of a field, or the kind of its values for a map.
fn value_kind(field: &FieldDescriptor) -> Kind {
    match field.kind() {
        Kind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
        kind => kind,
    }
}

fn field_type(field: &FieldDescriptor) -> FieldType {
    let name = |kind: Kind| match kind {
        Kind::Message(message) => message.full_name().to_owned(),
        Kind::Enum(item) => item.full_name().to_owned(),
        other => format!("{other:?}").to_lowercase(),
    };
    match field.kind() {
        Kind::Message(entry) if field.is_map() => FieldType::Map {
            key: name(entry.map_entry_key_field().kind()),
            value: name(entry.map_entry_value_field().kind()),
        },
        kind if field.cardinality() == Cardinality::Repeated => FieldType::List(name(kind)),
        kind => FieldType::Single(name(kind)),
    }
}

fn field_docs(pool: &Pool, field: &FieldDescriptor) -> FieldDocs {
    let oneof = field.containing_oneof().filter(|oneof| oneof.fields().len() > 1).map(|oneof| OneofDocs {
        name: oneof.name().to_owned(),
        others: oneof.fields().filter(|o| o.name() != field.name()).map(|o| o.name().to_owned()).collect(),
    });
    let options = field.field_descriptor_proto().options.as_ref();
    let enum_values = match value_kind(field) {
        Kind::Enum(item) => item.values().map(|value| value.name().to_owned()).collect(),
        _ => Vec::new(),
    };
    FieldDocs {
        full_name: field.full_name().to_owned(),
        field_type: field_type(field),
        number: field.number(),
        oneof,
        rules: rules(field),
        is_secret: pool.is_secret(field),
        is_deprecated: options.is_some_and(|options| options.deprecated()),
        comment: comment(field.full_name()),
        enum_values,
    }
}

fn message_docs(message: &MessageDescriptor) -> MessageDocs {
    let field = |field: FieldDescriptor| FieldSummary {
        number: field.number(),
        name: field.name().to_owned(),
        field_type: field_type(&field),
    };
    MessageDocs {
        full_name: message.full_name().to_owned(),
        comment: comment(message.full_name()),
        fields: message.fields().map(field).collect(),
    }
}

fn comment(name: &str) -> Option<&'static str> {
    builtin::docs().get(name).copied()
}

/// Returns the protoc-gen-validate constraints of a field, such as `duration.gt = 0s`.
fn rules(field: &FieldDescriptor) -> Vec<String> {
    let Some(extension) = field.parent_pool().get_extension_by_name("validate.rules") else {
        return Vec::new();
    };
    let options = field.options();
    if !options.has_extension(&extension) {
        return Vec::new();
    }
    let mut out = Vec::new();
    flatten(String::new(), options.get_extension(&extension).as_ref(), &mut out);
    out
}

fn flatten(path: String, value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Message(message) if message.descriptor().full_name() == "google.protobuf.Duration" => {
            let number = |name: &str| {
                message.get_field_by_name(name).and_then(|v| v.as_i64().or(v.as_i32().map(i64::from)))
            };
            let (secs, nanos) = (number("seconds").unwrap_or(0), number("nanos").unwrap_or(0));
            out.push(format!("{path} = {}s", secs as f64 + nanos as f64 / 1e9));
        }
        Value::Message(message) => {
            for (field, value) in message.fields() {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(format!("{path}{dot}{}", field.name()), value, out);
            }
        }
        Value::List(items) => {
            let texts: Vec<String> = items.iter().map(plain).collect();
            out.push(format!("{path} = [{}]", texts.join(", ")));
        }
        other => out.push(format!("{path} = {}", plain(other))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Bool(b) => b.to_string(),
        Value::I32(n) | Value::EnumNumber(n) => n.to_string(),
        Value::I64(n) => n.to_string(),
        Value::U32(n) => n.to_string(),
        Value::U64(n) => n.to_string(),
        Value::F32(n) => n.to_string(),
        Value::F64(n) => n.to_string(),
        other => format!("{other:?}"),
    }
}
