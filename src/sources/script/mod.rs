//! Arrow scripts: a session as text, short enough for a bug report and exact enough for a test.
//!
//! [`parse`] and [`write()`] convert text to a [`Script`] and back. [`load`] makes the frames that
//! any other source would yield, [`from_frames`] writes frames as a script, and [`check`] replays a
//! script into a store and compares its expectations. A [`Codec`] encodes content given as protobuf
//! JSON.

mod ast;
mod check;
mod codec;
mod encode;
mod error;
mod export;
mod flow;
mod lex;
mod load;
mod memory;
mod node;
mod parse;
mod payload;
mod short;
#[cfg(test)]
mod tests;
mod timeline;
mod write;

pub use ast::{
    Expectation, ExpectedValue, FindingPattern, MessageBody, NodeUse, ResourceContent, Script, ScriptEntry,
    ScriptGap, ScriptLine, ScriptNode, ScriptRequest, ScriptResource, ScriptResponse, ScriptStream,
    Statement, StreamEnd, Ttl, TypeRef,
};
pub use check::{UnmetExpectation, check};
pub use codec::{Codec, CodecError};
pub use error::EncodeError;
pub use export::{Exported, ScriptWriter, from_frames};
pub use lex::ScriptError;
pub use load::{LoadError, load, load_into};
pub use memory::memory_of;
pub use parse::parse;
pub use write::write;
