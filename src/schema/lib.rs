//! Descriptors of the xDS API, and everything that needs them to read and write resources.
//!
//! The crate owns the whole Envoy API, compressed and loaded file by file when a type is needed,
//! with separate pools for v3 and v2; descriptor sets and `.proto` files of users, which take
//! precedence; the search for secrets ([`redact`]); references between resources ([`links`]); and
//! the bootstraps of clients ([`bootstrap`]). Decoding is bounded and never fails: unknown types,
//! damage, unknown fields, deep nesting and invalid UTF-8 appear in the output under names that
//! begin with `@`.
//!
//! The crate must not touch sockets, clocks and threads, nor any file but the `.proto` files that
//! a user names.
//!
//! Begin reading at [`Schema`].
//!
//! ```
//! use serde_json::json;
//! use xdscope_schema::{FieldNames, Schema};
//!
//! let schema = Schema::builtin();
//! let cluster = json!({"name": "cart", "connect_timeout": "5s"});
//! let bytes = schema.encode("envoy.config.cluster.v3.Cluster", &cluster).unwrap();
//! let tree = schema.tree("envoy.config.cluster.v3.Cluster", &bytes, FieldNames::Original);
//! assert_eq!(tree, cluster);
//! ```

#![cfg_attr(not(test), warn(unreachable_pub, clippy::type_complexity))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(missing_docs)]

pub mod bootstrap;
pub mod certificate;
mod differ;
mod encode;
mod explain;
mod fault;
mod field_at;
mod file;
mod json;
pub mod limits;
pub mod links;
pub mod owners;
mod parse_error;
mod pools;
pub mod redact;
mod resolve;
mod secret_names;
mod table;
mod validate;

use std::io;
use std::sync::{Arc, OnceLock};

use prost_reflect::MessageDescriptor;
use serde_json::Value;

pub use encode::{EncodeError, LenientEncoding};
pub use explain::{ExplainError, Explanation, FieldDocs, FieldSummary, FieldType, MessageDocs, OneofDocs};
pub use fault::{Fault, FaultAt};
pub use file::{FileMessage, FormatAttempt, FormatError, MessageFormat, ReadError};
pub use json::base64;
pub use json::json_text::{exceeds, read_json, to_pretty_json};
pub use json::yaml::{YamlError, from_yaml, to_yaml};
pub use parse_error::{without_values, yaml_error};
pub use pools::builtin::PACKAGES as BUILT_IN_PACKAGES;
pub use pools::descriptor_set::DescriptorSetError;
pub use pools::user::UserSetError;
pub use validate::{
    Bound, Demand, LengthLimit, Number, Range, Scalar, Unchecked, Unit, Violation, WellKnown, list_violations,
};

use fault::{Faults, FieldPath};
use json::sink::{DiscardSink, JsonSink, JsonWriter, TreeBuilder};
use json::size::{MAX_CHECKED_VALUES, MAX_SHOWN_VALUES};
use json::walk::Walker;
use pools::descriptors::Descriptors;
use pools::pool::Pool;
use secret_names::SecretNames;
use table::MessageTable;
use validate::any_parts;

/// Maximum nesting of messages, including `Any` and `Struct` levels. Deeper messages stay
/// undecoded.
pub const MAX_DEPTH: u32 = 100;

/// The spelling of field names in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldNames {
    /// `connectTimeout`, as in protobuf JSON.
    Json,
    /// `connect_timeout`, as in the API documentation and Envoy's configuration files.
    #[default]
    Original,
}

/// All known message types, by name.
#[derive(Debug, Default)]
pub struct Schema {
    /// Descriptor sets from users, in order of precedence.
    user_pools: Vec<Pool>,
    /// All sets as one, once a message needs types of several sets.
    joined_sets: OnceLock<Option<Descriptors>>,
    names: Arc<SecretNames>,
    /// The built-in types, if names of their fields were added.
    named: Option<Box<NamedTypes>>,
}

/// The built-in types with added names of secrets.
#[derive(Debug)]
struct NamedTypes {
    v3: Pool,
    v2: OnceLock<Pool>,
}

/// Returns the message name in a type URL.
///
/// A name without `/` is returned unchanged: grpc-js sends such type URLs.
pub fn message_name(type_url: &str) -> &str {
    memchr::memrchr(b'/', type_url.as_bytes()).map_or(type_url, |slash| &type_url[slash + 1..])
}

impl Schema {
    /// Returns the built-in types. Loads nothing until a type is used.
    pub fn builtin() -> Arc<Schema> {
        Arc::default()
    }

    /// Adds names of secrets, which redaction removes.
    pub fn add_secret_names(&mut self, names: SecretNames) {
        self.names = Arc::new(names);
        let names = || self.names.clone();
        self.user_pools =
            std::mem::take(&mut self.user_pools).into_iter().map(|pool| pool.with_names(names())).collect();
        self.named = self.names.has_fields().then(|| {
            let v3 = Pool::new(crate::pools::builtin::v3().descriptors.clone()).with_names(names());
            Box::new(NamedTypes { v3, v2: OnceLock::new() })
        });
    }

    /// The added names of secrets.
    pub(crate) fn secret_names(&self) -> &Arc<SecretNames> {
        &self.names
    }

    /// Whether a user or a server supplied types.
    fn has_user_sets(&self) -> bool {
        !self.user_pools.is_empty()
    }

    fn v3(&self) -> &Pool {
        self.named.as_ref().map_or_else(|| crate::pools::builtin::v3(), |named| &named.v3)
    }

    fn v2(&self) -> &Pool {
        let Some(named) = &self.named else { return crate::pools::builtin::v2() };
        named.v2.get_or_init(|| {
            Pool::new(crate::pools::builtin::v2().descriptors.clone()).with_names(self.names.clone())
        })
    }

    /// Loads the types that each first request has, and determines which of them can hold secrets.
    ///
    /// Other types are loaded when they are needed: an idle tap must not hold them.
    pub fn warm(&self) {
        let v3 = self.v3();
        if let Some(node) = v3.index_of("envoy.config.core.v3.Node") {
            v3.can_hold_secret(node);
        }
    }

    fn find(&self, name: &str) -> Option<(&Pool, &MessageTable)> {
        let (pool, place) = self.find_message(name)?;
        Some((pool, pool.table(place)?))
    }

    /// Returns the first pool that contains the message, and the index of the message in that
    /// pool.
    fn find_message(&self, name: &str) -> Option<(&Pool, u32)> {
        self.find_in_user_sets(name).or_else(|| self.find_builtin(name))
    }

    /// Like [`Schema::find_message`], for types of users only.
    fn find_in_user_sets(&self, name: &str) -> Option<(&Pool, u32)> {
        self.user_pools.iter().find_map(|pool| Some((pool, pool.index_of(name)?)))
    }

    /// Like [`Schema::find_message`], for built-in types only.
    fn find_builtin(&self, name: &str) -> Option<(&Pool, u32)> {
        let index = |pool| Pool::index_of(pool, name).map(|index| (pool, index));
        // Only the Envoy API has a v2.
        index(self.v3()).or_else(|| name.starts_with("envoy.").then(|| self.v2()).and_then(index))
    }

    /// Whether there is a message, by type URL or full name. Loads nothing.
    pub fn has_message(&self, type_url_or_name: &str) -> bool {
        self.find_message(message_name(type_url_or_name)).is_some()
    }

    /// Returns the descriptor of a message, by type URL or full name.
    ///
    /// The pool of the descriptor has the types that were needed so far. Keep the descriptor for
    /// one task only: loading further types copies a pool that is in use.
    pub fn message(&self, type_url_or_name: &str) -> Option<MessageDescriptor> {
        let (pool, place) = self.find_message(message_name(type_url_or_name))?;
        pool.message_at(place)
    }

    /// Like [`Schema::message`], with all types of its set and of those of users in the pool.
    fn message_among_all(&self, type_url_or_name: &str) -> Option<MessageDescriptor> {
        let name = message_name(type_url_or_name);
        let (pool, _) = self.find_message(name)?;
        let joined = if self.has_user_sets() { self.joined_sets() } else { None };
        let message_in = |set: &Descriptors| set.all().get_message_by_name(name);
        joined.and_then(message_in).or_else(|| message_in(&pool.descriptors))
    }

    /// Decodes a serialized `Any` to protobuf JSON with the original field names.
    pub fn any_to_json(&self, any: &[u8]) -> Value {
        self.message_to_json("google.protobuf.Any", any)
    }

    /// Decodes a serialized message to protobuf JSON with the original field names.
    ///
    /// `name` may be a type URL. For an unknown type the members are field numbers.
    pub fn message_to_json(&self, name: &str, bytes: &[u8]) -> Value {
        self.tree(name, bytes, FieldNames::Original)
    }

    /// Decodes a serialized message to protobuf JSON with the chosen field names.
    pub fn tree(&self, name: &str, bytes: &[u8], names: FieldNames) -> Value {
        let mut tree = TreeBuilder::default();
        self.walk(name, bytes, names, &mut tree, Faults::ignore());
        tree.finish()
    }

    /// Decodes a serialized message and writes compact JSON to `out`, without building a tree.
    ///
    /// # Errors
    ///
    /// Returns the first error of `out`.
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

    /// Returns the fields of a message that do not match the descriptor, at most 100.
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
            Some((pool, table)) => {
                let place = pool.index_of(name);
                if pool.has_more_values(place, bytes, MAX_SHOWN_VALUES) {
                    return walk.opaque("@too_large", bytes);
                }
                walk.message(pool, table, bytes, &FieldPath::root());
            }
            None => {
                walk.faults.add(&FieldPath::root(), || Fault::UnknownType(name.to_owned()));
                walk.wire_message(bytes, 0);
            }
        }
    }

    /// Whether two serialized `Any`s decode to equal JSON.
    ///
    /// The bytes may differ in the order of map entries and fields and in the encoding of values.
    /// Messages of more than 500,000 values are not compared.
    pub fn same_meaning(&self, a: &[u8], b: &[u8]) -> bool {
        let is_small = |any| any_parts(any).is_none_or(|(url, value)| !self.is_too_large(&url, value));
        a == b
            || !self.definitely_differ(a, b)
                && is_small(a)
                && is_small(b)
                && self.any_to_json(a) == self.any_to_json(b)
    }

    /// Whether a message has too many values to be compared.
    fn is_too_large(&self, type_url: &str, bytes: &[u8]) -> bool {
        self.find_message(message_name(type_url))
            .is_some_and(|(pool, place)| pool.has_more_values(Some(place), bytes, MAX_CHECKED_VALUES))
    }
}

#[cfg(test)]
mod tests;
