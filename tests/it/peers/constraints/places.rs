//! Places in resources where Envoy checks the constraints of a message.

use std::collections::{HashSet, VecDeque};

use prost_reflect::prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};
use serde_json::{Value as Json, json};
use xdscope_schema::Schema;

use super::values::Values;

pub const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";
pub const LISTENER: &str = "envoy.config.listener.v3.Listener";
pub const BOOTSTRAP: &str = "envoy.config.bootstrap.v3.Bootstrap";
const MANAGER: &str = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";

/// A step from a message to a message inside it.
#[derive(Clone)]
pub struct Step {
    field: FieldDescriptor,
    /// The type of the payload, if the field is an `Any`.
    payload: Option<MessageDescriptor>,
}

/// A message and the way to it from a resource.
#[derive(Clone)]
pub struct Place {
    pub root: &'static str,
    pub steps: Vec<Step>,
    pub message: MessageDescriptor,
}

/// An `Any` that takes the extensions of a category: the resource, the fields, and the category in
/// Envoy's list of extensions.
///
/// `HTTP` continues into the HTTP connection manager.
const EXTENSION_POINTS: [(&str, &str, &str); 12] = [
    (LISTENER, "filter_chains.filters.typed_config", "envoy.filters.network"),
    (LISTENER, "filter_chains.filters.typed_config HTTP.http_filters.typed_config", "envoy.filters.http"),
    (LISTENER, "listener_filters.typed_config", "envoy.filters.listener"),
    (LISTENER, "filter_chains.transport_socket.typed_config", "envoy.transport_sockets.downstream"),
    (LISTENER, "access_log.typed_config", "envoy.access_loggers"),
    (
        LISTENER,
        "filter_chains.filters.typed_config HTTP.route_config.virtual_hosts.typed_per_filter_config",
        "envoy.filters.http",
    ),
    (
        LISTENER,
        "filter_chains.filters.typed_config HTTP.route_config.virtual_hosts.routes.route.retry_policy.retry_priority.typed_config",
        "envoy.retry_priorities",
    ),
    (
        LISTENER,
        "filter_chains.filters.typed_config HTTP.original_ip_detection_extensions.typed_config",
        "envoy.http.original_ip_detection",
    ),
    (CLUSTER, "transport_socket.typed_config", "envoy.transport_sockets.upstream"),
    (CLUSTER, "cluster_type.typed_config", "envoy.clusters"),
    (
        CLUSTER,
        "load_balancing_policy.policies.typed_extension_config.typed_config",
        "envoy.load_balancing_policies",
    ),
    (CLUSTER, "typed_extension_protocol_options", "envoy.upstream_options"),
];

/// An extension whose valid configurations can end Envoy.
const ENDS_ENVOY: &str = "envoy.extensions.filters.network.reverse_tunnel.v3.DrainAwareHttpConnectionManager";

/// Returns the resources themselves, and the extensions in them that Envoy may take.
///
/// `extensions` are the categories and types that Envoy knows.
pub fn starts(schema: &Schema, extensions: &[(String, Vec<String>)]) -> Vec<Place> {
    let root = |root: &'static str| Place { root, steps: Vec::new(), message: message(schema, root) };
    let mut starts = vec![root(CLUSTER), root(LISTENER)];
    for (root, path, category) in EXTENSION_POINTS {
        let types = extensions.iter().filter(|(known, _)| known == category).flat_map(|(_, types)| types);
        let payloads = types.filter(|name| *name != ENDS_ENVOY).filter_map(|name| schema.message(name));
        starts.extend(payloads.map(|payload| extension(schema, root, path, payload)));
    }
    starts
}

/// Fields of a bootstrap whose kinds of rules occur in no resource.
const BOOTSTRAP_FIELDS: [&str; 3] = [
    "stats_config.stats_tags",
    "stats_config.histogram_bucket_settings",
    "overload_manager.resource_monitors.typed_config",
];

/// The resource monitor with a kind of rule that occurs in no resource.
const RESOURCE_MONITOR: &str =
    "envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig";

const RESOURCE_MONITOR_NAME: &str = "envoy.resource_monitors.global_downstream_max_connections";

/// Kinds of rules that occur in no resource.
const BOOTSTRAP_KINDS: [&str; 5] = [
    "duration.gte in a oneof",
    "int64.gt",
    "repeated.items.double.gt",
    "repeated.unique=true",
    "string.max_bytes in a oneof",
];

/// Whether to compare a kind of rule in bootstraps.
pub fn occurs_in_bootstraps_only(kind: &str) -> bool {
    BOOTSTRAP_KINDS.contains(&kind)
}

/// Returns places in a bootstrap with kinds of rules that occur in no resource.
pub fn in_bootstrap(schema: &Schema) -> Vec<Place> {
    let root = Place { root: BOOTSTRAP, steps: Vec::new(), message: message(schema, BOOTSTRAP) };
    let place = |path: &&str| {
        let payload = path.ends_with("typed_config").then(|| message(schema, RESOURCE_MONITOR));
        inside(schema, BOOTSTRAP, path, payload)
    };
    std::iter::once(root).chain(BOOTSTRAP_FIELDS.iter().map(place)).collect()
}

/// Returns the places of the messages in `starts`, each message once, in the order of distance.
pub fn all(starts: Vec<Place>) -> Vec<Place> {
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for start in starts {
        let mut queue = VecDeque::from([start]);
        while let Some(place) = queue.pop_front() {
            if !seen.insert(place.message.full_name().to_owned()) {
                continue;
            }
            for field in place.message.fields() {
                if let Some(message) = inner(&field) {
                    let mut steps = place.steps.clone();
                    steps.push(Step { field, payload: None });
                    queue.push_back(Place { root: place.root, steps, message });
                }
            }
            out.push(place);
        }
    }
    out
}

fn message(schema: &Schema, name: &str) -> MessageDescriptor {
    schema.message(name).unwrap_or_else(|| panic!("no {name}"))
}

/// Returns the message that a field holds, unless the message is well-known.
fn inner(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    let kind = match field.kind() {
        Kind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
        kind => kind,
    };
    let message = kind.as_message().cloned()?;
    (!message.full_name().starts_with("google.")).then_some(message)
}

fn extension(schema: &Schema, root: &'static str, path: &str, payload: MessageDescriptor) -> Place {
    inside(schema, root, path, Some(payload))
}

/// Returns the place at a path, whose last field is an `Any` with this payload if there is one.
fn inside(schema: &Schema, root: &'static str, path: &str, payload: Option<MessageDescriptor>) -> Place {
    let mut steps = Vec::new();
    let mut at = message(schema, root);
    for name in path.split('.') {
        let (name, payload) = match name.split_once(' ') {
            Some((name, _)) => (name, Some(message(schema, MANAGER))),
            None => (name, None),
        };
        let field = at.get_field_by_name(name).unwrap_or_else(|| panic!("no {name} in {}", at.full_name()));
        at = payload.clone().or_else(|| inner(&field)).unwrap_or(at);
        steps.push(Step { field, payload });
    }
    if let Some((last, payload)) = steps.last_mut().zip(payload) {
        at = payload.clone();
        last.payload = Some(payload);
    }
    Place { root, steps, message: at }
}

impl Place {
    /// Returns the resource with `message` at this place, which is valid otherwise, except that
    /// Envoy cannot use it: what Envoy rejects has no effects.
    pub fn resource(
        &self,
        values: &mut Values<'_>,
        schema: &Schema,
        message: DynamicMessage,
    ) -> DynamicMessage {
        let mut inside = message;
        for step in self.steps.iter().rev() {
            let parent = step.field.parent_message();
            let mut outside = if parent.full_name() == self.root {
                unusable(schema, self.root)
            } else {
                values.valid(parent)
            };
            if step.payload.as_ref().is_some_and(|payload| payload.full_name() == RESOURCE_MONITOR) {
                // Envoy finds this extension by its name.
                outside.set_field_by_name("name", Value::String(RESOURCE_MONITOR_NAME.to_owned()));
            }
            put(&mut outside, step, inside);
            inside = outside;
        }
        inside
    }

    /// Whether the place is a resource itself.
    pub fn is_resource(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the valid message for this place: the unusable resource for a resource.
    pub fn base(&self, values: &mut Values<'_>, schema: &Schema) -> DynamicMessage {
        if self.steps.is_empty() { unusable(schema, self.root) } else { values.valid(&self.message) }
    }
}

/// Puts a message into a field: in front of the items of a list, or as an entry of a map.
fn put(outside: &mut DynamicMessage, step: &Step, inside: DynamicMessage) {
    let mut value = Value::Message(inside);
    if let (Some(payload), Value::Message(inside)) = (&step.payload, &value) {
        let pool = payload.parent_pool();
        let mut any = DynamicMessage::new(pool.get_message_by_name("google.protobuf.Any").expect("Any"));
        any.set_field_by_name(
            "type_url",
            Value::String(format!("type.googleapis.com/{}", payload.full_name())),
        );
        any.set_field_by_name("value", Value::Bytes(inside.encode_to_vec().into()));
        value = Value::Message(any);
    }
    if step.field.is_map() {
        let name = step.payload.as_ref().map_or("k", |payload| payload.full_name());
        let entry = (MapKey::String(name.to_owned()), value);
        outside.set_field(&step.field, Value::Map([entry].into()));
    } else if step.field.is_list() {
        let mut items = vec![value];
        items.extend(outside.get_field(&step.field).as_list().into_iter().flatten().cloned());
        outside.set_field(&step.field, Value::List(items));
    } else {
        outside.set_field(&step.field, value);
    }
}

/// Returns a resource that breaks no constraint, but that Envoy rejects as one of the last steps.
fn unusable(schema: &Schema, root: &str) -> DynamicMessage {
    let address = |address: &str| json!({ "socket_address": { "address": address, "port_value": 1 } });
    let body: Json = match root {
        CLUSTER => json!({
            "name": "c",
            "type": "STATIC",
            "load_assignment": {
                "cluster_name": "c",
                "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": address("nowhere") } }] }],
            },
        }),
        BOOTSTRAP => json!({}),
        _ => json!({
            "name": "l",
            "address": address("127.0.0.1"),
            "filter_chains": [{ "filters": [{ "name": "unknown" }] }],
        }),
    };
    let bytes = schema.encode(root, &body).expect("a resource");
    DynamicMessage::decode(message(schema, root), bytes.as_slice()).expect("a resource")
}
