use crate::wire::event::{Dir, Method};

/// The type of a discovery message.
///
/// Follows from the method and the direction. It is never guessed from bytes, because the messages
/// use the same field numbers for different fields (docs/protocol.md#b-05).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `DiscoveryRequest`.
    SotwRequest,
    /// `DiscoveryResponse`.
    SotwResponse,
    /// `DeltaDiscoveryRequest`.
    DeltaRequest,
    /// `DeltaDiscoveryResponse`.
    DeltaResponse,
}

impl Shape {
    /// Returns the shape of the messages of a method in one direction.
    pub fn of(method: &Method, dir: Dir) -> Shape {
        match (method.variant.is_delta(), dir) {
            (false, Dir::Req) => Shape::SotwRequest,
            (false, Dir::Resp) => Shape::SotwResponse,
            (true, Dir::Req) => Shape::DeltaRequest,
            (true, Dir::Resp) => Shape::DeltaResponse,
        }
    }

    /// Returns the direction of the messages.
    pub fn dir(self) -> Dir {
        match self {
            Shape::SotwRequest | Shape::DeltaRequest => Dir::Req,
            Shape::SotwResponse | Shape::DeltaResponse => Dir::Resp,
        }
    }

    /// The message's name in `envoy.service.discovery.v3`.
    pub fn message(self) -> &'static str {
        match self {
            Shape::SotwRequest => "DiscoveryRequest",
            Shape::SotwResponse => "DiscoveryResponse",
            Shape::DeltaRequest => "DeltaDiscoveryRequest",
            Shape::DeltaResponse => "DeltaDiscoveryResponse",
        }
    }
}
