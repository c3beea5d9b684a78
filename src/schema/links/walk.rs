use prost_reflect::{FieldDescriptor, Kind as FieldKind, MessageDescriptor};
use serde_json::Value;

use crate::schema::Schema;
use crate::wire::event::Kind;

use super::source::config_source_of;
use super::{AuthorityLookup, Link, SourceKind};

/// Fields that hold the name of a resource (or a list of names): message, field, type referred to.
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

/// Levels that are looked into; deeper ones are not opened by the reader either.
const MAX_DEPTH: usize = 100;

pub(super) fn message(
    schema: &Schema,
    value: &Value,
    message: &MessageDescriptor,
    path: &mut String,
    depth: usize,
    out: &mut Vec<Link>,
) {
    let (Value::Object(members), true) = (value, depth < MAX_DEPTH) else { return };
    let inside = (message.full_name() == "google.protobuf.Any")
        .then(|| members.get("@type").and_then(Value::as_str).and_then(|url| schema.message(url)))
        .flatten();
    let here = inside.as_ref().unwrap_or(message);
    composite_links(value, here, path, out);
    for (name, member) in members {
        let Some(field) = here.get_field_by_name(name) else { continue };
        let length = path.len();
        push_field(path, name);
        field_links(here, &field, (value, member), path, out);
        if let Some(inner) = inner_message(&field) {
            for_each_item(member, field.is_map(), path, &mut |item, path| {
                self::message(schema, item, &inner, path, depth + 1, out);
            });
        }
        path.truncate(length);
    }
}

/// References that a message makes by more than one of its fields.
fn composite_links(value: &Value, message: &MessageDescriptor, path: &mut String, out: &mut Vec<Link>) {
    let text = |field: &str| value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut add = |field: &str, kind, name: String, config: Option<&Value>| {
        let length = path.len();
        push_field(path, field);
        out.push(link(path, kind, name, config));
        path.truncate(length);
    };
    let inside = |field: &str| value.get(field).and_then(config_source_of);
    match message.full_name() {
        // The endpoints of a cluster go by its own name unless another is given.
        "envoy.config.cluster.v3.Cluster" => {
            let eds = value.get("eds_cluster_config");
            let own = eds.is_some_and(|eds| eds.get("service_name").is_none_or(|name| name == ""));
            if let (true, Some(name)) = (own, text("name")) {
                add("eds_cluster_config", Kind::Eds, name.to_owned(), inside("eds_cluster_config"));
            }
        }
        // Without a source the secret is one of the bootstrap's.
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
        // A filter whose configuration is discovered is a resource of the filter's name.
        name if message.get_field_by_name("config_discovery").is_some() => {
            let filter = name.ends_with("Filter");
            if let (true, Some(_), Some(name)) = (filter, value.get("config_discovery"), text("name")) {
                add("config_discovery", Kind::Ecds, name.to_owned(), inside("config_discovery"));
            }
        }
        _ => {}
    }
}

/// `config` is the `ConfigSource` that is said for it.
fn link(path: &str, kind: Kind, name: String, config: Option<&Value>) -> Link {
    let way = AuthorityLookup::of(&name, config);
    Link { path: path.to_owned(), kind, name, source: config.and_then(SourceKind::of), way }
}

fn field_links(
    message: &MessageDescriptor,
    field: &FieldDescriptor,
    (whole, value): (&Value, &Value),
    path: &mut String,
    out: &mut Vec<Link>,
) {
    let named = NAME_FIELDS.iter().find(|(of, name, _)| *of == message.full_name() && *name == field.name());
    let Some((_, _, kind)) = named else { return };
    for_each_item(value, false, path, &mut |item, path| {
        if let Some(name) = item.as_str().filter(|name| !name.is_empty()) {
            out.push(link(path, *kind, name.to_owned(), config_source_of(whole)));
        }
    });
}

/// The items of a list, the values of a map, or the value itself, each with its path.
fn for_each_item(value: &Value, map: bool, path: &mut String, see: &mut dyn FnMut(&Value, &mut String)) {
    let length = path.len();
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push_str(&format!("[{i}]"));
                see(item, path);
                path.truncate(length);
            }
        }
        Value::Object(members) if map => {
            for (key, item) in members {
                path.push_str(&format!("[\"{key}\"]"));
                see(item, path);
                path.truncate(length);
            }
        }
        value => see(value, path),
    }
}

fn push_field(path: &mut String, field: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(field);
}

/// The message in a field, of a map its value.
pub(super) fn inner_message(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    let kind = match field.kind() {
        FieldKind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
        kind => kind,
    };
    match kind {
        FieldKind::Message(message) => Some(message),
        _ => None,
    }
}
