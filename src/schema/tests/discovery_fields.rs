//! The field numbers of discovery messages are those of the published descriptors.

use crate::Schema;
use xdscope_wire::MessageShape;
use xdscope_wire::discovery::fields::*;

const SHAPES: [MessageShape; 4] = [
    MessageShape::SotwRequest,
    MessageShape::SotwResponse,
    MessageShape::DeltaRequest,
    MessageShape::DeltaResponse,
];

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
