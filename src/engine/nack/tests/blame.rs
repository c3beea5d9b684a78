use std::sync::Arc;

use crate::nack::{read, refuses_field};
use xdscope_schema::Schema;
use xdscope_wire::event::Kind;

/// Whether a text rejects the resource `b`, one of `a` and `b`, for the field at a path.
fn refuses(text: &str, path: &str) -> bool {
    refuses_field(text, &[Arc::from("aa"), Arc::from("bb")], "bb", path)
}

const TIMEOUT: &str = "Proto constraint validation failed (ClusterValidationError.ConnectTimeout: value must be greater than 0s)";

#[test]
fn matches_resource_and_field_of_envoys_texts() {
    let text = format!("Error adding/updating cluster(s) bb: {TIMEOUT}");
    assert!(refuses(&text, "connect_timeout"));
    assert!(!refuses(&text, "lb_policy"));
    assert!(!refuses(&text, "load_assignment.connect_timeout.seconds"));
    let other = format!("Error adding/updating cluster(s) aa: {TIMEOUT}, bb: unknown extension");
    assert!(!refuses(&other, "connect_timeout"));
    // Nothing in the text names the resource.
    assert!(!refuses(TIMEOUT, "connect_timeout"));
    assert!(refuses_field(TIMEOUT, &[Arc::from("bb")], "bb", "connect_timeout"));
}

#[test]
fn matches_nested_fields_items_and_oneofs() {
    let text = |part: &str| {
        format!("Error adding/updating listener(s) bb: Proto constraint validation failed ({part})")
    };
    let nested = text(
        "HttpConnectionManagerValidationError.RouteConfig: embedded message failed validation | caused by \
         RouteConfigurationValidationError.VirtualHosts[1]: embedded message failed validation | caused by \
         VirtualHostValidationError.Name: value length must be at least 1 characters",
    );
    let path = "filter_chains[0].filters[0].typed_config.route_config.virtual_hosts";
    assert!(refuses(&nested, &format!("{path}[1].name")));
    assert!(!refuses(&nested, &format!("{path}[0].name")));
    let oneof = text(
        "RouteValidationError.Match: embedded message failed validation | caused by field: \
         \"path_specifier\", reason: is required",
    );
    assert!(refuses(&oneof, "routes[0].match.path_specifier"));
    assert!(!refuses(&oneof, "routes[0].match.prefix"));
    assert!(refuses(&text("field: \"action\", reason: is required"), "action"));
}

#[test]
fn takes_ordinary_words_as_fields_only_if_marked() {
    let text = |why: &str| format!("Error adding/updating cluster(s) bb: {why}");
    assert!(refuses(&text("connect_timeout must be positive"), "connect_timeout"));
    assert!(refuses(&text("lbPolicy is unknown"), "lb_policy"));
    assert!(!refuses(&text("no cluster of that name"), "name"));
    assert!(refuses(&text("field 'name' is empty"), "name"));
    assert!(refuses(&text("endpoints.priority is too high"), "load_assignment.endpoints[0].priority"));
}

#[test]
fn reads_unset_oneofs() {
    let text = "Error adding/updating cluster(s) bb: Proto constraint validation failed \
                (ClusterValidationError.EdsClusterConfig: embedded message failed validation | caused by \
                EdsClusterConfigValidationError.EdsConfig: embedded message failed validation | caused by field: \
                \"config_source_specifier\", reason: is required)";
    let push = super::pushed(Kind::Cds, serde_json::json!([{"name": "bb"}]));
    let nack = read(text, &push, &Schema::builtin());
    let field = nack.entries[0].field.clone().expect("a field");
    assert_eq!(field.value, "eds_cluster_config.eds_config.config_source_specifier");
    assert!(!field.guessed);
    assert_eq!(nack.entries[0].reason, "is required");
}
