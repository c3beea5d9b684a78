//! Bytes to xDS messages, and back.
//!
//! The crate owns the encodings: protobuf scanning ([`pb`]), HTTP/2 and HTTP/1 ([`h2`],
//! [`http1`]), gRPC framing, the four discovery messages ([`discovery`]), the syntax of `xdstp`
//! names ([`xdstp`]), the catalog that stores each content once ([`content`]), ids and times
//! ([`event`]), and helpers for texts ([`text`]). Observers are fed the bytes that passed on a
//! connection and report the messages in them; original bytes are kept. Only
//! [`h2::HeaderSplicer`] and [`h2::Splicer`] change what passes.
//!
//! The crate must not touch descriptors, files, sockets, clocks, threads and async code: the
//! caller hands in bytes and times.
//!
//! Begin reading at [`Message`], the view of one message that all other crates use, and at
//! [`Frame`], one event of a stream.
//!
//! ```
//! use xdscope_wire::content::Catalog;
//! use xdscope_wire::discovery::encode::RequestFields;
//! use xdscope_wire::{Message, MessageShape};
//!
//! let names = vec!["cart"];
//! let fields = RequestFields { version_info: "7", names, ..RequestFields::default() };
//! let bytes = fields.encode(false);
//! let mut catalog = Catalog::in_memory();
//! let message = Message::parse(MessageShape::SotwRequest, &bytes, &mut catalog);
//! assert_eq!(message.bytes(&catalog), Some(bytes), "every byte is kept");
//! ```

#![cfg_attr(not(test), warn(unreachable_pub, clippy::type_complexity))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(missing_docs)]

mod assembler;
mod builder;
mod clean;
pub mod content;
pub mod discovery;
pub mod event;
mod frame;
mod grpc;
pub mod h2;
pub mod http1;
mod intervention;
mod kept_intervention;
pub mod limits;
mod pack;
pub mod pb;
mod shared;
pub mod text;
mod tls;
pub mod xdstp;

pub use assembler::{Assembler, Gap};
pub use builder::{MessageBuilder, Oversized};
pub use clean::clean_open;
pub use discovery::{
    DeltaRequest, DeltaResponse, ErrorDetail, MAX_MESSAGE_BYTES, Message, MessageBody, MessageShape,
    NodeInfo, RequestView, ResourceError, ResponseView, Segment, SotwRequest, SotwResponse,
};
pub use frame::{End, Frame, FramePayload, GapCause, MAX_COUNT, Open, Profile};
pub use grpc::{DEFAULT_RECEIVE_LIMIT, Messages, MissedMessage, Piece, UnpackBudget};
pub use intervention::{Interference, Intervention, InterventionFacts};
pub use shared::SharedValues;
pub use tls::{Certificate, Secured, Tls, date};
