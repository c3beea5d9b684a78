//! Bodies of messages and contents as text for the screens.

use std::sync::Arc;

use super::{BodyFormat, BodyRenderer};
use xdscope_engine::filter::ContentLookup;
use xdscope_engine::store::{MessageFact, Store};
use xdscope_present::bodies;
use xdscope_schema::{FieldNames, Schema};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::Seq;
use xdscope_wire::text::{display_safe, hex};

/// Decodes bodies with the descriptors.
pub struct Decoded(pub Arc<Schema>);

impl BodyRenderer for Decoded {
    fn body(&self, store: &Store, n: Seq, format: BodyFormat, limit: usize) -> Vec<String> {
        let text = match format {
            BodyFormat::Hex => return hex(&bodies::message_bytes(store, n).unwrap_or_default(), limit),
            BodyFormat::Yaml | BodyFormat::Text => bodies::message(store, &self.0, n, FieldNames::Original)
                .map(|value| xdscope_schema::to_yaml(&value)),
            BodyFormat::Json => bodies::message(store, &self.0, n, FieldNames::Original)
                .and_then(|v| serde_json::to_string_pretty(&v).ok()),
        };
        match text {
            Some(text) => text.lines().take(limit).map(|line| display_safe(line).into_owned()).collect(),
            None => vec!["(the content of this message is not held any more)".into()],
        }
    }

    fn json(&self, store: &Store, fact: &MessageFact) -> String {
        xdscope_present::json::message(fact, &store.clock()).to_string()
    }

    fn content(&self, store: &Store, id: BlobId, format: BodyFormat, limit: usize) -> Vec<String> {
        let Some(bytes) = store.catalog().bytes(id) else {
            return vec!["(this content is not held any more)".into()];
        };
        let tree = |names| self.0.tree("google.protobuf.Any", &bytes, names);
        let text = match format {
            BodyFormat::Hex => return hex(&bytes, limit),
            BodyFormat::Text => self.0.text_format(&bytes),
            BodyFormat::Json => serde_json::to_string_pretty(&tree(FieldNames::Json)).ok(),
            BodyFormat::Yaml => None,
        };
        let text = text.unwrap_or_else(|| xdscope_schema::to_yaml(&tree(FieldNames::Original)));
        text.lines().take(limit).map(|line| display_safe(line).into_owned()).collect()
    }

    fn lookup<'a>(&'a self, store: &'a Store) -> Box<dyn ContentLookup + 'a> {
        Box::new(bodies::Contents { store, schema: &self.0 })
    }

    fn schema(&self) -> &Schema {
        &self.0
    }
}
