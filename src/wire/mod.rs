//! Bytes, gRPC frames and typed discovery messages, original bytes kept.
//!
//! It is fed what goes by and says what it was, and but for [`h2::Rewrite`] it leaves that alone. No channels, no clock, no
//! async.

mod assembler;
mod builder;
pub mod content;
pub(crate) mod discovery;
pub mod event;
mod frame;
mod grpc;
pub mod h2;
pub mod http1;
mod pack;
pub mod pb;
mod shared;
pub mod text;
mod tls;

pub use assembler::Assembler;
pub use builder::{MAX_FIELD, MessageBuilder};
pub use discovery::{
    Body, DeltaRequest, DeltaResponse, ErrorDetail, Message, NodeInfo, RequestView, ResourceError,
    ResponseView, Segment, Shape, SotwRequest, SotwResponse,
};
pub use frame::{End, Frame, FramePayload, Open, Profile};
pub use grpc::{Messages, Piece};
pub(crate) use shared::Shared;
pub use tls::{Certificate, Secured, Tls, date};
