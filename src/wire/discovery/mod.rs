//! The four discovery messages: their contents, their encoding, and one view of both forms.

mod body;
pub mod encode;
pub mod fields;
pub(crate) mod kept_text;
mod message;
mod node;
mod shape;
mod status;
mod view;

pub use body::{DeltaRequest, DeltaResponse, MessageBody, SotwRequest, SotwResponse};
pub use message::{MAX_MESSAGE_BYTES, Message, Segment};
pub use node::NodeInfo;
pub use shape::MessageShape;
pub use status::{ErrorDetail, ResourceError};
pub use view::{RequestView, ResponseView};
