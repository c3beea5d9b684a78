//! Arrow scripts: a session as text, small enough for a bug report and exact enough to be a test.
//!
//! [`parse`] and [`write()`] turn text into a [`Script`] and back. [`load`] makes the frames that any other source
//! would yield, [`from_frames`] writes a source's frames as a script, and [`check`] replays a script into a store
//! and compares its expectations. Owns the grammar and the bytes that short forms stand for; content given in
//! protobuf JSON is encoded by whoever implements [`Codec`] over descriptors.

mod ast;
use crate::schema::base64;
mod check;
mod encode;
mod export;
mod flow;
mod lex;
mod load;
use crate::engine::session::locator;
mod node;
mod parse;
mod payload;
mod short;
#[cfg(test)]
mod tests;
mod timeline;
mod write;

pub use ast::{
    Body, Content, Ending, Entry, Expect, Item, Line, Node, NodeUse, Pick, Request, Resource, Response,
    Script, Stream, Ttl, TypeRef, Want,
};
pub use check::{Failure, check};
pub use export::{Exported, from_frames};
pub use lex::ScriptError;
pub use load::{LoadError, load, load_into};
pub use parse::parse;
pub use write::write;

/// Messages between protobuf JSON and bytes, by descriptors.
pub trait Codec {
    /// The bytes of `message` (a full name) that a JSON object describes; an error in words.
    fn encode(&self, message: &str, json: &serde_json::Value) -> Result<Vec<u8>, String>;
    /// The JSON of a message; `None` if it can't be decoded.
    fn decode(&self, message: &str, bytes: &[u8]) -> Option<serde_json::Value>;
}
