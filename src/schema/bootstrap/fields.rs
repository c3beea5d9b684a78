//! Names of bootstrap fields, and access to fields of protobuf JSON by proto name or JSON name.

use serde_json::{Map, Value};

/// The node that the client sends to servers.
pub const NODE: &str = "node";
/// The config sources of an Envoy.
pub const DYNAMIC_RESOURCES: &str = "dynamic_resources";
/// The aggregated source of an Envoy, in `dynamic_resources`.
pub const ADS_CONFIG: &str = "ads_config";
/// The resources in an Envoy bootstrap.
pub const STATIC_RESOURCES: &str = "static_resources";
/// The clusters in `static_resources`.
pub const CLUSTERS: &str = "clusters";
/// A server, in a `ConfigSource`.
pub const API_CONFIG_SOURCE: &str = "api_config_source";
/// The protocol of an `ApiConfigSource`, such as `DELTA_GRPC`.
pub const API_TYPE: &str = "api_type";
/// The gRPC servers of an `ApiConfigSource`.
pub const GRPC_SERVICES: &str = "grpc_services";
/// A server that is a cluster, in a `GrpcService`.
pub const ENVOY_GRPC: &str = "envoy_grpc";
/// A server with a URI, in a `GrpcService`.
pub const GOOGLE_GRPC: &str = "google_grpc";
/// The URI of a `google_grpc` server.
pub const TARGET_URI: &str = "target_uri";
/// The cluster of an `envoy_grpc` server.
pub const CLUSTER_NAME: &str = "cluster_name";
/// The clusters of an `ApiConfigSource` for REST.
pub const CLUSTER_NAMES: &str = "cluster_names";
/// The TLS settings of a cluster.
pub const TRANSPORT_SOCKET: &str = "transport_socket";
/// An address, or the host of a socket address.
pub const ADDRESS: &str = "address";
/// A host and port, in an `Address`.
pub const SOCKET_ADDRESS: &str = "socket_address";
/// The port of a socket address.
pub const PORT_VALUE: &str = "port_value";
/// A Unix domain socket, in an `Address`.
pub const PIPE: &str = "pipe";
/// The servers of a gRPC client.
pub const XDS_SERVERS: &str = "xds_servers";
/// The servers of a gRPC client by the authority of `xdstp://` names.
pub const AUTHORITIES: &str = "authorities";
/// The target of a gRPC server.
pub const SERVER_URI: &str = "server_uri";
/// The credentials of a gRPC server, in order of preference.
pub const CHANNEL_CREDS: &str = "channel_creds";

/// Returns a field by its proto name or its JSON name.
pub fn get<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).or_else(|| fields.get(&json_name(name)))
}

/// Returns a field by its proto name or its JSON name, to change it.
pub fn get_mut<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Value> {
    let key = spelling(fields, name);
    fields.get_mut(&key)
}

/// Removes a field by its proto name or its JSON name.
pub fn remove(fields: &mut Map<String, Value>, name: &str) {
    let key = spelling(fields, name);
    fields.shift_remove(&key);
}

/// Returns a field of an object, or null if absent or if `value` is not an object.
pub fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.as_object().and_then(|fields| get(fields, name)).unwrap_or(&Value::Null)
}

/// Returns the items of an array. Empty for other values.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a string that is not empty.
pub fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the proto name if a field has that name, or else the JSON name.
fn spelling(fields: &Map<String, Value>, name: &str) -> String {
    if fields.contains_key(name) { name.to_owned() } else { json_name(name) }
}

/// Converts `xds_servers` to `xdsServers`.
fn json_name(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let (head, tail) = part.split_at_checked(1).unwrap_or((part, ""));
        all + &head.to_ascii_uppercase() + tail
    })
}
