use prost_reflect::{FieldDescriptor, Kind as FieldKind, MessageDescriptor};
use serde_json::Value;

use crate::Schema;
use xdscope_wire::event::Kind;

use super::source::config_source_of;
use super::{AuthorityLookup, Link, OtherSource, SourceKind};

/// Fields that hold a name or list of names: message, field, type of the named resource.
pub(super) const NAME_FIELDS: [(&str, &str, Kind); 16] = [
    ("envoy.extensions.filters.network.http_connection_manager.v3.Rds", "route_config_name", Kind::Rds),
    ("envoy.config.route.v3.ScopedRouteConfiguration", "route_configuration_name", Kind::Rds),
    ("envoy.config.route.v3.RouteAction", "cluster", Kind::Cds),
    ("envoy.config.route.v3.WeightedCluster.ClusterWeight", "name", Kind::Cds),
    ("envoy.config.route.v3.RouteAction.RequestMirrorPolicy", "cluster", Kind::Cds),
    ("envoy.config.cluster.v3.Cluster.EdsClusterConfig", "service_name", Kind::Eds),
    ("envoy.extensions.clusters.aggregate.v3.ClusterConfig", "clusters", Kind::Cds),
    ("envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", "cluster", Kind::Cds),
    (
        "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.WeightedCluster.ClusterWeight",
        "name",
        Kind::Cds,
    ),
    ("envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig", "cluster", Kind::Cds),
    ("envoy.extensions.filters.udp.udp_proxy.v3.Route", "cluster", Kind::Cds),
    ("envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.PrefixRoutes.Route", "cluster", Kind::Cds),
    (
        "envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.PrefixRoutes.Route.RequestMirrorPolicy",
        "cluster",
        Kind::Cds,
    ),
    ("envoy.extensions.filters.network.thrift_proxy.v3.RouteAction", "cluster", Kind::Cds),
    ("envoy.extensions.filters.network.thrift_proxy.v3.WeightedCluster.ClusterWeight", "name", Kind::Cds),
    ("envoy.config.endpoint.v3.LedsClusterLocalityConfig", "leds_collection_name", Kind::Leds),
];

/// Messages of the v2 API that refer to resources, with the equivalent messages of the v3 API.
pub(super) const V2_MESSAGES: [(&str, &str); 18] = [
    (
        "envoy.config.filter.network.http_connection_manager.v2.Rds",
        "envoy.extensions.filters.network.http_connection_manager.v3.Rds",
    ),
    (
        "envoy.config.filter.network.http_connection_manager.v2.ScopedRoutes",
        "envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes",
    ),
    ("envoy.api.v2.ScopedRouteConfiguration", "envoy.config.route.v3.ScopedRouteConfiguration"),
    ("envoy.api.v2.RouteConfiguration", "envoy.config.route.v3.RouteConfiguration"),
    ("envoy.api.v2.route.RouteAction", "envoy.config.route.v3.RouteAction"),
    (
        "envoy.api.v2.route.RouteAction.RequestMirrorPolicy",
        "envoy.config.route.v3.RouteAction.RequestMirrorPolicy",
    ),
    (
        "envoy.api.v2.route.WeightedCluster.ClusterWeight",
        "envoy.config.route.v3.WeightedCluster.ClusterWeight",
    ),
    ("envoy.api.v2.Cluster", "envoy.config.cluster.v3.Cluster"),
    ("envoy.api.v2.Cluster.EdsClusterConfig", "envoy.config.cluster.v3.Cluster.EdsClusterConfig"),
    ("envoy.api.v2.auth.SdsSecretConfig", "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig"),
    (
        "envoy.config.cluster.aggregate.v2alpha.ClusterConfig",
        "envoy.extensions.clusters.aggregate.v3.ClusterConfig",
    ),
    (
        "envoy.config.filter.network.tcp_proxy.v2.TcpProxy",
        "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
    ),
    (
        "envoy.config.filter.network.tcp_proxy.v2.TcpProxy.WeightedCluster.ClusterWeight",
        "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.WeightedCluster.ClusterWeight",
    ),
    (
        "envoy.config.filter.udp.udp_proxy.v2alpha.UdpProxyConfig",
        "envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig",
    ),
    (
        "envoy.config.filter.network.redis_proxy.v2.RedisProxy.PrefixRoutes.Route",
        "envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.PrefixRoutes.Route",
    ),
    (
        "envoy.config.filter.network.redis_proxy.v2.RedisProxy.PrefixRoutes.Route.RequestMirrorPolicy",
        "envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.PrefixRoutes.Route.RequestMirrorPolicy",
    ),
    (
        "envoy.config.filter.network.thrift_proxy.v2alpha1.RouteAction",
        "envoy.extensions.filters.network.thrift_proxy.v3.RouteAction",
    ),
    (
        "envoy.config.filter.network.thrift_proxy.v2alpha1.WeightedCluster.ClusterWeight",
        "envoy.extensions.filters.network.thrift_proxy.v3.WeightedCluster.ClusterWeight",
    ),
];

/// Returns the full name of a message, or of the equivalent message of the v3 API.
pub(super) fn v3_name(message: &str) -> &str {
    V2_MESSAGES.iter().find(|(v2, _)| *v2 == message).map_or(message, |(_, v3)| v3)
}

/// Maximum nesting of messages. The decoder does not decode deeper messages either.
const MAX_DEPTH: usize = 100;

pub(super) fn message(
    schema: &Schema,
    value: &Value,
    message: &MessageDescriptor,
    path: &mut String,
    depth: usize,
    out: &mut Vec<Link>,
) {
    let Some(members) = value.as_object().filter(|_| depth < MAX_DEPTH) else { return };
    let payload = (message.full_name() == "google.protobuf.Any")
        .then(|| members.get("@type").and_then(Value::as_str).and_then(|url| schema.message(url)))
        .flatten();
    let descriptor = payload.as_ref().unwrap_or(message);
    composite_links(value, descriptor, path, out);
    for (name, member) in members {
        let Some(field) = descriptor.get_field_by_name(name) else { continue };
        let length = path.len();
        push_field(path, name);
        if let Some(kind) = name_field_kind(descriptor.full_name(), field.name()) {
            name_links(kind, member, config_source_of(value), path, out);
        }
        if let Some(inner) = inner_message(&field) {
            for_each_item(member, field.is_map(), path, &mut |item, path| {
                self::message(schema, item, &inner, path, depth + 1, out);
            });
        }
        path.truncate(length);
    }
}

/// Adds the references that consist of several fields of a message.
fn composite_links(value: &Value, message: &MessageDescriptor, path: &mut String, out: &mut Vec<Link>) {
    let text = |field: &str| value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut add = |field: &str, kind, name: String, config: Option<&Value>| {
        let length = path.len();
        push_field(path, field);
        out.push(link(path, kind, name, config));
        path.truncate(length);
    };
    let inside = |field: &str| value.get(field).and_then(config_source_of);
    match v3_name(message.full_name()) {
        // EDS resources have the name of the cluster unless `service_name` is set.
        "envoy.config.cluster.v3.Cluster" => {
            let eds = value.get("eds_cluster_config");
            let has_own_name = eds.is_some_and(|eds| eds.get("service_name").is_none_or(|name| name == ""));
            if let Some(name) = text("name").filter(|_| has_own_name) {
                add("eds_cluster_config", Kind::Eds, name.to_owned(), inside("eds_cluster_config"));
            }
        }
        // Without a config source the secret is in the bootstrap.
        "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig" if value.get("sds_config").is_some() => {
            if let Some(name) = text("name") {
                add("name", Kind::Sds, name.to_owned(), config_source_of(value));
            }
        }
        "envoy.config.route.v3.RouteConfiguration" if value.get("vhds").is_some() => {
            if let Some(name) = text("name") {
                add("vhds", Kind::Vhds, format!("{name}/*"), inside("vhds"));
            }
        }
        "envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes"
            if value.get("scoped_rds").is_some() =>
        {
            let source = value.get("scoped_rds").and_then(|scoped| scoped.get("scoped_rds_config_source"));
            add("scoped_rds", Kind::Srds, "*".to_owned(), source);
        }
        // A discovered filter configuration is a resource with the name of the filter.
        name if message.get_field_by_name("config_discovery").is_some() => {
            let is_discovered = name.ends_with("Filter") && value.get("config_discovery").is_some();
            if let Some(name) = text("name").filter(|_| is_discovered) {
                add("config_discovery", Kind::Ecds, name.to_owned(), inside("config_discovery"));
            }
        }
        _ => {}
    }
}

/// Creates a link. `config` is the `ConfigSource` of the referenced resource.
fn link(path: &str, kind: Kind, name: String, config: Option<&Value>) -> Link {
    let authority = AuthorityLookup::of(&name, config);
    let (source, other_source) = (config.and_then(SourceKind::of), config.and_then(OtherSource::of));
    Link { path: path.to_owned(), kind, name, source, other_source, authority }
}

/// Adds a link for each name in `value`. `config` is the `ConfigSource` of the named resources.
fn name_links(kind: Kind, value: &Value, config: Option<&Value>, path: &mut String, out: &mut Vec<Link>) {
    for_each_item(value, false, path, &mut |item, path| {
        if let Some(name) = item.as_str().filter(|name| !name.is_empty()) {
            out.push(link(path, kind, name.to_owned(), config));
        }
    });
}

/// Returns the type of the resources that a field names.
pub(super) fn name_field_kind(message: &str, field: &str) -> Option<Kind> {
    let message = v3_name(message);
    let found = NAME_FIELDS.iter().find(|(of, name, _)| *of == message && *name == field);
    found.map(|(_, _, kind)| *kind)
}

/// Calls `visit` with the items of a list, the values of a map, or the value itself, with its path.
fn for_each_item(value: &Value, is_map: bool, path: &mut String, visit: &mut dyn FnMut(&Value, &mut String)) {
    let length = path.len();
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push_str(&format!("[{i}]"));
                visit(item, path);
                path.truncate(length);
            }
        }
        Value::Object(members) if is_map => {
            for (key, item) in members {
                path.push_str(&format!("[\"{key}\"]"));
                visit(item, path);
                path.truncate(length);
            }
        }
        value => visit(value, path),
    }
}

fn push_field(path: &mut String, field: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(field);
}

/// Returns the message type of a field, or of the values of a map.
pub fn inner_message(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    let kind = match field.kind() {
        FieldKind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
        kind => kind,
    };
    match kind {
        FieldKind::Message(message) => Some(message),
        _ => None,
    }
}
