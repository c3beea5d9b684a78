//! Field numbers of the discovery messages and of the messages that they contain.
//!
//! Taken from `envoy/service/discovery/v3/discovery.proto`, `envoy/config/core/v3/base.proto`,
//! `google/rpc/status.proto` and `google/protobuf/any.proto`. Every reader and writer uses this
//! table.

use super::shape::MessageShape;

/// A field of one of the four discovery messages, by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryField {
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
pub(crate) const RESOURCES: u32 = 2;

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
            pub(crate) const fn of(shape: MessageShape, number: u32) -> Option<DiscoveryField> {
                match (shape, number) {
                    $($((MessageShape::$shape, $number) => Some(DiscoveryField::$field),)*)*
                    _ => None,
                }
            }

            /// The number of this field; `None` if the message does not have the field.
            pub(crate) const fn number(self, shape: MessageShape) -> Option<u32> {
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
pub(crate) mod resource {
    pub(crate) const VERSION: u32 = 1;
    /// The payload, an `Any`.
    pub(crate) const RESOURCE: u32 = 2;
    pub(crate) const NAME: u32 = 3;
    pub(crate) const ALIASES: u32 = 4;
    pub(crate) const TTL: u32 = 6;
    /// The structured name, a `ResourceName`.
    pub(crate) const RESOURCE_NAME: u32 = 8;
}

/// The single text of `ResourceLocator` and `ResourceName` (`name`) and `ControlPlane`
/// (`identifier`).
pub(crate) const NAME: u32 = 1;

/// An entry of `resource_errors`.
pub(crate) mod resource_error {
    pub(crate) const RESOURCE_NAME: u32 = 1;
    pub(crate) const ERROR_DETAIL: u32 = 2;
}

/// An entry of any protobuf map, such as `initial_resource_versions`.
pub(crate) mod map_entry {
    pub(crate) const KEY: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
}

/// `envoy.config.core.v3.Node`. The fields that v2 has too have the same numbers there.
pub(crate) mod node {
    pub(crate) const ID: u32 = 1;
    pub(crate) const CLUSTER: u32 = 2;
    pub(crate) const METADATA: u32 = 3;
    pub(crate) const LOCALITY: u32 = 4;
    /// `build_version`, in v2 only.
    pub(crate) const BUILD_VERSION: u32 = 5;
    pub(crate) const USER_AGENT_NAME: u32 = 6;
    pub(crate) const USER_AGENT_VERSION: u32 = 7;
    pub(crate) const USER_AGENT_BUILD_VERSION: u32 = 8;
    pub(crate) const CLIENT_FEATURES: u32 = 10;
}

/// `envoy.config.core.v3.BuildVersion`.
pub(crate) mod build_version {
    pub(crate) const VERSION: u32 = 1;
}

/// `google.rpc.Status`.
pub(crate) mod status {
    pub(crate) const CODE: u32 = 1;
    pub(crate) const MESSAGE: u32 = 2;
    pub(crate) const DETAILS: u32 = 3;
}

/// `google.protobuf.Any`.
pub(crate) mod any {
    pub(crate) const TYPE_URL: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
}

/// `google.protobuf.Duration`.
pub(crate) mod duration {
    pub(crate) const SECONDS: u32 = 1;
    pub(crate) const NANOS: u32 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

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

    #[test]
    fn table_matches_published_descriptors() {
        let names = |shape: MessageShape, field: DiscoveryField| -> &'static str {
            let delta = matches!(shape, MessageShape::DeltaRequest | MessageShape::DeltaResponse);
            let request = matches!(shape, MessageShape::SotwRequest | MessageShape::DeltaRequest);
            match field {
                DiscoveryField::Version if delta => "system_version_info",
                DiscoveryField::Version => "version_info",
                DiscoveryField::Node => "node",
                DiscoveryField::Names if delta => "resource_names_subscribe",
                DiscoveryField::Names => "resource_names",
                DiscoveryField::Unsubscribe => "resource_names_unsubscribe",
                DiscoveryField::InitialVersions => "initial_resource_versions",
                DiscoveryField::TypeUrl => "type_url",
                DiscoveryField::Nonce if request => "response_nonce",
                DiscoveryField::Nonce => "nonce",
                DiscoveryField::ErrorDetail => "error_detail",
                DiscoveryField::Locators if delta => "resource_locators_subscribe",
                DiscoveryField::Locators => "resource_locators",
                DiscoveryField::LocatorsUnsubscribe => "resource_locators_unsubscribe",
                DiscoveryField::Resources => "resources",
                DiscoveryField::Canary => "canary",
                DiscoveryField::ControlPlane => "control_plane",
                DiscoveryField::Removed => "removed_resources",
                DiscoveryField::RemovedNames => "removed_resource_names",
                DiscoveryField::ResourceErrors => "resource_errors",
            }
        };
        for shape in SHAPES {
            let full_name = format!("envoy.service.discovery.v3.{}", shape.message());
            let message = Schema::builtin().message(&full_name).expect("a built-in message");
            for field in message.fields() {
                let known = DiscoveryField::of(shape, field.number());
                let known = known.unwrap_or_else(|| panic!("{} is missing", field.full_name()));
                assert_eq!(names(shape, known), field.name(), "{full_name}");
            }
        }
    }

    #[test]
    fn nested_tables_match_published_descriptors() {
        let tables: [(&str, &[(&str, u32)]); 7] = [
            (
                "envoy.service.discovery.v3.Resource",
                &[
                    ("version", resource::VERSION),
                    ("resource", resource::RESOURCE),
                    ("name", resource::NAME),
                    ("aliases", resource::ALIASES),
                    ("ttl", resource::TTL),
                    ("resource_name", resource::RESOURCE_NAME),
                ],
            ),
            ("envoy.service.discovery.v3.ResourceName", &[("name", NAME)]),
            ("envoy.service.discovery.v3.ResourceLocator", &[("name", NAME)]),
            ("envoy.config.core.v3.ControlPlane", &[("identifier", NAME)]),
            (
                "envoy.service.discovery.v3.ResourceError",
                &[
                    ("resource_name", resource_error::RESOURCE_NAME),
                    ("error_detail", resource_error::ERROR_DETAIL),
                ],
            ),
            (
                "envoy.config.core.v3.Node",
                &[
                    ("id", node::ID),
                    ("cluster", node::CLUSTER),
                    ("metadata", node::METADATA),
                    ("locality", node::LOCALITY),
                    ("user_agent_name", node::USER_AGENT_NAME),
                    ("user_agent_version", node::USER_AGENT_VERSION),
                    ("user_agent_build_version", node::USER_AGENT_BUILD_VERSION),
                    ("client_features", node::CLIENT_FEATURES),
                ],
            ),
            (
                "google.rpc.Status",
                &[("code", status::CODE), ("message", status::MESSAGE), ("details", status::DETAILS)],
            ),
        ];
        for (name, fields) in tables {
            let message = Schema::builtin().message(name).unwrap_or_else(|| panic!("{name} is missing"));
            for (field, number) in fields {
                let known = message.get_field_by_name(field).unwrap_or_else(|| panic!("{name}.{field}"));
                assert_eq!(known.number(), *number, "{name}.{field}");
            }
        }
    }
}
