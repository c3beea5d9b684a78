//! Field numbers of the discovery messages and of the messages that they contain.
//!
//! Taken from `envoy/service/discovery/v3/discovery.proto`, `envoy/config/core/v3/base.proto`,
//! `google/rpc/status.proto` and `google/protobuf/any.proto`. Every reader and writer uses this
//! table. The names are those of the fields.

#![allow(missing_docs)]

use super::shape::MessageShape;

/// A field of one of the four discovery messages, by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryField {
    /// `version_info`, or `system_version_info` of a delta response.
    Version,
    Node,
    /// `resource_names`, or `resource_names_subscribe` of a delta request.
    Names,
    Unsubscribe,
    InitialVersions,
    TypeUrl,
    /// `response_nonce` of a request, `nonce` of a response.
    Nonce,
    ErrorDetail,
    /// `resource_locators`, or `resource_locators_subscribe` of a delta request.
    Locators,
    LocatorsUnsubscribe,
    Resources,
    Canary,
    ControlPlane,
    /// `removed_resources`, a list of names.
    Removed,
    /// `removed_resource_names`, a list of `ResourceName`.
    RemovedNames,
    ResourceErrors,
}

/// `resources`, which has the same number in both responses.
pub const RESOURCES: u32 = 2;

impl DiscoveryField {
    /// Whether each occurrence of the field holds a name, except for [`DiscoveryField::Names`],
    /// whose names come in runs.
    pub(crate) const fn holds_name(self) -> bool {
        matches!(
            self,
            DiscoveryField::Unsubscribe
                | DiscoveryField::InitialVersions
                | DiscoveryField::Locators
                | DiscoveryField::LocatorsUnsubscribe
                | DiscoveryField::Removed
                | DiscoveryField::RemovedNames
                | DiscoveryField::ResourceErrors
        )
    }
}

macro_rules! discovery_messages {
    ($($shape:ident { $($field:ident = $number:tt,)* })*) => {
        impl DiscoveryField {
            /// The field with this number; `None` if the published message does not have it.
            pub const fn of(shape: MessageShape, number: u32) -> Option<DiscoveryField> {
                match (shape, number) {
                    $($((MessageShape::$shape, $number) => Some(DiscoveryField::$field),)*)*
                    _ => None,
                }
            }

            /// The number of this field; `None` if the message does not have the field.
            pub const fn number(self, shape: MessageShape) -> Option<u32> {
                match (shape, self) {
                    $($((MessageShape::$shape, DiscoveryField::$field) => Some($number),)*)*
                    _ => None,
                }
            }
        }
    };
}

discovery_messages! {
    SotwRequest {
        Version = 1,
        Node = 2,
        Names = 3,
        TypeUrl = 4,
        Nonce = 5,
        ErrorDetail = 6,
        Locators = 7,
    }
    SotwResponse {
        Version = 1,
        Resources = RESOURCES,
        Canary = 3,
        TypeUrl = 4,
        Nonce = 5,
        ControlPlane = 6,
        ResourceErrors = 7,
    }
    DeltaRequest {
        Node = 1,
        TypeUrl = 2,
        Names = 3,
        Unsubscribe = 4,
        InitialVersions = 5,
        Nonce = 6,
        ErrorDetail = 7,
        Locators = 8,
        LocatorsUnsubscribe = 9,
    }
    DeltaResponse {
        Version = 1,
        Resources = RESOURCES,
        TypeUrl = 4,
        Nonce = 5,
        Removed = 6,
        ControlPlane = 7,
        RemovedNames = 8,
        ResourceErrors = 9,
    }
}

/// `envoy.service.discovery.v3.Resource`, an entry of a delta response.
pub mod resource {
    pub const VERSION: u32 = 1;
    /// The payload, an `Any`.
    pub const RESOURCE: u32 = 2;
    pub const NAME: u32 = 3;
    pub const ALIASES: u32 = 4;
    pub const TTL: u32 = 6;
    /// The structured name, a `ResourceName`.
    pub const RESOURCE_NAME: u32 = 8;
}

/// The single text of `ResourceLocator` and `ResourceName` (`name`) and `ControlPlane`
/// (`identifier`).
pub const NAME: u32 = 1;

/// An entry of `resource_errors`.
pub mod resource_error {
    pub const RESOURCE_NAME: u32 = 1;
    pub const ERROR_DETAIL: u32 = 2;
}

/// An entry of any protobuf map, such as `initial_resource_versions`.
pub mod map_entry {
    pub const KEY: u32 = 1;
    pub const VALUE: u32 = 2;
}

/// `envoy.config.core.v3.Node`. The fields that v2 has too have the same numbers there.
pub mod node {
    pub const ID: u32 = 1;
    pub const CLUSTER: u32 = 2;
    pub const METADATA: u32 = 3;
    pub const LOCALITY: u32 = 4;
    /// `build_version`, in v2 only.
    pub(crate) const BUILD_VERSION: u32 = 5;
    pub const USER_AGENT_NAME: u32 = 6;
    pub const USER_AGENT_VERSION: u32 = 7;
    pub const USER_AGENT_BUILD_VERSION: u32 = 8;
    pub const CLIENT_FEATURES: u32 = 10;
}

/// `envoy.config.core.v3.BuildVersion`.
pub(crate) mod build_version {
    pub(crate) const VERSION: u32 = 1;
}

/// `google.rpc.Status`.
pub mod status {
    pub const CODE: u32 = 1;
    pub const MESSAGE: u32 = 2;
    pub const DETAILS: u32 = 3;
}

/// `google.protobuf.Any`.
pub mod any {
    pub const TYPE_URL: u32 = 1;
    pub const VALUE: u32 = 2;
}

/// `google.protobuf.Duration`.
pub mod duration {
    pub const SECONDS: u32 = 1;
    pub(crate) const NANOS: u32 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [MessageShape; 4] = [
        MessageShape::SotwRequest,
        MessageShape::SotwResponse,
        MessageShape::DeltaRequest,
        MessageShape::DeltaResponse,
    ];

    #[test]
    fn lookup_by_number_and_by_field_agree() {
        for shape in SHAPES {
            for number in 0..64 {
                if let Some(field) = DiscoveryField::of(shape, number) {
                    assert_eq!(field.number(shape), Some(number), "{field:?} of {shape:?}");
                }
            }
        }
    }
}
