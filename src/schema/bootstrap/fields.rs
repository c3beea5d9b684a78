//! The names of bootstrap fields that more than one reader looks at, and access by name.

use serde_json::{Map, Value};

pub const NODE: &str = "node";
pub const DYNAMIC_RESOURCES: &str = "dynamic_resources";
pub const ADS_CONFIG: &str = "ads_config";
pub const STATIC_RESOURCES: &str = "static_resources";
pub const CLUSTERS: &str = "clusters";
pub const API_CONFIG_SOURCE: &str = "api_config_source";
pub const API_TYPE: &str = "api_type";
pub const GRPC_SERVICES: &str = "grpc_services";
pub const ENVOY_GRPC: &str = "envoy_grpc";
pub const GOOGLE_GRPC: &str = "google_grpc";
pub const TARGET_URI: &str = "target_uri";
pub const CLUSTER_NAME: &str = "cluster_name";
pub const CLUSTER_NAMES: &str = "cluster_names";
pub const TRANSPORT_SOCKET: &str = "transport_socket";
pub const ADDRESS: &str = "address";
pub const SOCKET_ADDRESS: &str = "socket_address";
pub const PORT_VALUE: &str = "port_value";
pub const PIPE: &str = "pipe";
pub const XDS_SERVERS: &str = "xds_servers";
pub const AUTHORITIES: &str = "authorities";
pub const SERVER_URI: &str = "server_uri";
pub const CHANNEL_CREDS: &str = "channel_creds";

/// Returns a field by its proto name or its JSON name.
pub fn get<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).or_else(|| fields.get(&json_name(name)))
}

/// Returns a field by its proto name or its JSON name, to change it.
pub fn get_mut<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Value> {
    let key = if fields.contains_key(name) { name.to_owned() } else { json_name(name) };
    fields.get_mut(&key)
}

/// Returns a field of an object; null where there is no such field or `value` is not an object.
pub fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.as_object().and_then(|fields| get(fields, name)).unwrap_or(&Value::Null)
}

/// Returns the items of an array; none for any other value.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a string that is not empty.
pub fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// `xds_servers` as `xdsServers`.
fn json_name(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let (head, tail) = part.split_at_checked(1).unwrap_or((part, ""));
        all + &head.to_ascii_uppercase() + tail
    })
}
