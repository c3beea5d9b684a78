use crate::event::{Dir, Method};

/// The type of a discovery message.
///
/// Follows from the method and the direction. It is never guessed from bytes, because the messages
/// use the same field numbers for different fields (docs/protocol.md#b-05).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageShape {
    /// `DiscoveryRequest`.
    SotwRequest,
    /// `DiscoveryResponse`.
    SotwResponse,
    /// `DeltaDiscoveryRequest`.
    DeltaRequest,
    /// `DeltaDiscoveryResponse`.
    DeltaResponse,
}

impl MessageShape {
    /// Returns the shape of the messages of a method in one direction.
    pub fn of(method: &Method, dir: Dir) -> MessageShape {
        MessageShape::new(method.variant.is_delta(), dir)
    }

    /// Returns the shape of the messages in one direction, of delta or of SotW.
    pub fn new(is_delta: bool, dir: Dir) -> MessageShape {
        match (is_delta, dir) {
            (false, Dir::Req) => MessageShape::SotwRequest,
            (false, Dir::Resp) => MessageShape::SotwResponse,
            (true, Dir::Req) => MessageShape::DeltaRequest,
            (true, Dir::Resp) => MessageShape::DeltaResponse,
        }
    }

    /// Returns the direction of the messages.
    pub fn dir(self) -> Dir {
        match self {
            MessageShape::SotwRequest | MessageShape::DeltaRequest => Dir::Req,
            MessageShape::SotwResponse | MessageShape::DeltaResponse => Dir::Resp,
        }
    }

    /// The message's name in `envoy.service.discovery.v3`.
    pub fn message(self) -> &'static str {
        match self {
            MessageShape::SotwRequest => "DiscoveryRequest",
            MessageShape::SotwResponse => "DiscoveryResponse",
            MessageShape::DeltaRequest => "DeltaDiscoveryRequest",
            MessageShape::DeltaResponse => "DeltaDiscoveryResponse",
        }
    }
}
