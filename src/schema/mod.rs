//! What the bytes mean: descriptors, lookup by type URL, protobuf JSON both ways, docs, redaction.
//!
//! The whole Envoy API is built in, compressed, and loaded when a type is first asked for: v3 by itself, v2
//! in a pool of its own when a v2 type is met. Users' sets come first. Reading is bounded and never fails:
//! an unknown type, damage, unknown fields, deep nesting and invalid UTF-8 are shown as what they are, under
//! names that begin with `@`.

pub mod bootstrap;
mod builtin;
mod differ;
mod encode;
mod explain;
mod fault;
mod field_at;
mod file;
pub mod links;
mod pool;
mod raw;
pub mod redact;
mod resolve;
mod sink;
mod table;
mod user;
mod validate;
mod walk;
mod wellknown;
mod yaml;

pub mod base64;

use std::io;
use std::sync::Arc;

use prost_reflect::MessageDescriptor;
use serde_json::Value;

pub use explain::ExplainError;
pub use fault::{Fault, FaultAt};
pub use file::{FileFormat, FormatError};
pub use user::UserSetError;
pub use validate::{Unchecked, Violation};
pub use yaml::to_yaml;

use fault::{Faults, FieldPath};
use pool::Pool;
use sink::{DiscardSink, JsonSink, JsonWriter, TreeBuilder};
use table::MessageTable;
use walk::Walker;

/// Messages, `Any` and `Struct` levels included, that may be open at once; deeper ones are not looked into.
const MAX_DEPTH: u32 = 100;

/// Which names JSON members have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldNames {
    /// `connectTimeout`, as protobuf JSON has it.
    Json,
    /// `connect_timeout`, as the API's documentation and Envoy's own configuration have it.
    #[default]
    Original,
}

/// All types that are known, by their names.
#[derive(Debug, Default)]
pub struct Schema {
    /// Users' sets, those to be asked first in front.
    user: Vec<Pool>,
}

/// The message name in a type URL; a name without «/» is taken as it is (seen of grpc-js).
pub fn message_name(type_url: &str) -> &str {
    memchr::memrchr(b'/', type_url.as_bytes()).map_or(type_url, |slash| &type_url[slash + 1..])
}

impl Schema {
    /// The built-in types. Cheap: nothing is loaded before it is needed.
    pub fn builtin() -> Arc<Schema> {
        Arc::default()
    }

    /// Loads the built-in v3 types on this thread, if no other has, and finds out which of them can hold secrets: what
    /// the first resource would wait for.
    pub fn warm(&self) {
        builtin::v3().can_hold_secret(0);
    }

    fn find(&self, name: &str) -> Option<(&Pool, &MessageTable)> {
        let (pool, place) = self.find_message(name)?;
        Some((pool, pool.table(place)?))
    }

    /// The first pool that knows the message, and its place there.
    fn find_message(&self, name: &str) -> Option<(&Pool, u32)> {
        let place = |pool| Pool::index_of(pool, name).map(|place| (pool, place));
        let user = self.user.iter().find_map(place);
        // Only the Envoy API has a second version.
        user.or_else(|| place(builtin::v3()))
            .or_else(|| name.starts_with("envoy.").then(builtin::v2).and_then(place))
    }

    /// The descriptor of a message, by type URL or full name.
    pub fn message(&self, type_url_or_name: &str) -> Option<MessageDescriptor> {
        let name = message_name(type_url_or_name);
        let (pool, place) = self.find_message(name)?;
        pool.messages().get(place as usize).cloned()
    }

    /// A serialized `Any` as protobuf JSON with the API's own field names.
    pub fn any_to_json(&self, any: &[u8]) -> Value {
        self.message_to_json("google.protobuf.Any", any)
    }

    /// A serialized message as protobuf JSON with the API's own field names. `name` may be a type URL. Of an
    /// unknown type, the fields by their numbers.
    pub fn message_to_json(&self, name: &str, bytes: &[u8]) -> Value {
        self.tree(name, bytes, FieldNames::Original)
    }

    /// The same with the field names of choice.
    pub fn tree(&self, name: &str, bytes: &[u8], names: FieldNames) -> Value {
        let mut tree = TreeBuilder::default();
        self.walk(name, bytes, names, &mut tree, Faults::ignore());
        tree.finish()
    }

    /// The same as compact JSON text, without a tree in between. Fails only if `out` does.
    pub fn write_json<W: io::Write>(
        &self,
        name: &str,
        bytes: &[u8],
        names: FieldNames,
        out: W,
    ) -> io::Result<W> {
        let mut writer = JsonWriter::new(out);
        self.walk(name, bytes, names, &mut writer, Faults::ignore());
        writer.finish()
    }

    /// What of a message can't be read as its type says, at most a hundred places.
    pub fn faults(&self, name: &str, bytes: &[u8]) -> Vec<FaultAt> {
        let mut found = Vec::new();
        self.walk(name, bytes, FieldNames::Original, &mut DiscardSink, Faults::collect(&mut found));
        found
    }

    fn walk<S: JsonSink>(
        &self,
        name: &str,
        bytes: &[u8],
        names: FieldNames,
        sink: &mut S,
        faults: Faults<'_>,
    ) {
        let name = message_name(name);
        let mut walk = Walker::new(self, sink, names, faults);
        match self.find(name) {
            Some((pool, table)) => walk.message(pool, table, bytes, &FieldPath::root()),
            None => {
                walk.faults.add(&FieldPath::root(), || Fault::UnknownType(name.to_owned()));
                walk.wire_message(bytes, 0);
            }
        }
    }

    /// Whether two serialized `Any`s say the same although their bytes may differ: maps in another order,
    /// fields in another order or encoding.
    pub fn same_meaning(&self, a: &[u8], b: &[u8]) -> bool {
        a == b || !self.definitely_differ(a, b) && self.any_to_json(a) == self.any_to_json(b)
    }
}

#[cfg(test)]
mod tests;
