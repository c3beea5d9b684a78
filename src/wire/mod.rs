//! Bytes, gRPC frames and typed discovery messages.
//!
//! Observers are fed the bytes that passed on a connection and report the messages in them;
//! original bytes are kept. Only [`h2::Rewrite`] and [`h2::Splicer`] change what passes. No
//! channels, no clock, no async.

#![warn(missing_docs)]

mod assembler;
mod builder;
mod clean;
pub mod content;
pub(crate) mod discovery;
pub mod event;
mod frame;
mod grpc;
pub mod h2;
pub mod http1;
mod intervention;
mod kept_intervention;
mod pack;
pub mod pb;
mod shared;
pub mod text;
mod tls;
pub mod xdstp;

pub use assembler::Assembler;
pub use builder::{MessageBuilder, Oversized};
pub use clean::clean_open;
pub use discovery::{
    DeltaRequest, DeltaResponse, ErrorDetail, MAX_MESSAGE_BYTES, Message, MessageBody, MessageShape,
    NodeInfo, RequestView, ResourceError, ResponseView, Segment, SotwRequest, SotwResponse,
};
pub use frame::{End, Frame, FramePayload, GapCause, MAX_COUNT, Open, Profile};
pub use grpc::{DEFAULT_RECEIVE_LIMIT, Messages, MissedMessage, Piece, UnpackBudget};
pub use intervention::{Interference, Intervention, InterventionFacts};
pub(crate) use shared::SharedValues;
pub use tls::{Certificate, Secured, Tls, date};
