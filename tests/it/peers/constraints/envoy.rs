//! An Envoy that judges resources, one response each.

use bytes::Bytes;
use prost_reflect::prost::Message as _;
use prost_reflect::{DynamicMessage, Value};
use serde_json::json;
use xdscope_schema::Schema;
use xdscope_wire::content::Catalog;
use xdscope_wire::{Message, MessageBody, MessageShape};

use super::places::{CLUSTER, LISTENER, Place};
use super::values::Values;
use crate::support::bootstrap::{self, Variant};
use crate::support::envoy::Envoy;
use crate::support::scripted::{Opened, Plane};
use crate::support::wait::PATIENCE;
use crate::support::world::World;

/// Field 1000 with the value 1.
const UNKNOWN_FIELD: [u8; 3] = [0xc0, 0x3e, 0x01];

/// Envoy's verdict on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A constraint is broken, or a duration is invalid. The text names one, if it is not cut off.
    Broken(String),
    /// The resource is rejected for another reason.
    Unusable(String),
    Accepted,
}

impl Verdict {
    /// Whether Envoy rejected the resource before checking the constraints of an extension.
    pub fn is_unreached(&self) -> bool {
        matches!(self, Verdict::Unusable(text) if text.contains("LB policy ROUND_ROBIN is not valid"))
    }
}

/// Returns Envoy's verdict on a bootstrap.
pub fn verdict_on_bootstrap(world: &World, body: &serde_json::Value) -> Verdict {
    match world.envoy_refusal(body) {
        None => Verdict::Accepted,
        Some(text)
            if text.contains("Proto constraint validation failed") || text.contains("Invalid duration: ") =>
        {
            Verdict::Broken(text)
        }
        Some(text) => Verdict::Unusable(text),
    }
}

/// A request of Envoy.
struct Request {
    type_url: String,
    nonce: String,
    error: Option<String>,
    bytes: Bytes,
}

/// An Envoy and its control plane.
pub struct Judge<'s> {
    schema: &'s Schema,
    _plane: Plane,
    _envoy: Envoy,
    stream: Opened,
    /// Types of each category of extensions that Envoy knows.
    pub extensions: Vec<(String, Vec<String>)>,
    nonce: u64,
}

impl<'s> Judge<'s> {
    pub fn start(world: &World, schema: &'s Schema) -> Self {
        let plane = Plane::start();
        let address = plane.address.parse().expect("an address");
        let mut config = bootstrap::envoy("judge", Variant::Ads, address, None);
        config["dynamic_resources"]["ads_config"]["set_node_on_first_message_only"] = json!(true);
        config["layered_runtime"] = json!({ "layers": [{ "name": "all", "static_layer": {
            "envoy.features.enable_all_deprecated_features": true,
        }}]});
        let envoy = world.envoy_of("judge", &config);
        let stream = plane.opened.recv_timeout(PATIENCE).expect("a stream");
        let mut judge =
            Judge { schema, _plane: plane, _envoy: envoy, stream, extensions: Vec::new(), nonce: 0 };
        let first = judge.request();
        judge.extensions = extensions(schema, &first.bytes);
        // Envoy requests listeners once the clusters are there.
        judge.respond(CLUSTER, None);
        while judge.request().type_url != url(LISTENER) {}
        judge.respond(LISTENER, None);
        judge
    }

    /// Returns Envoy's verdict on a resource.
    pub fn verdict(&mut self, name: &str, resource: &[u8]) -> Verdict {
        // Envoy may answer several responses with one request, so each waits for its answer.
        let nonce = self.respond(name, Some(resource));
        loop {
            let request = self.request();
            if request.nonce == nonce {
                return match request.error {
                    None => Verdict::Accepted,
                    Some(text) if is_about_constraint(&text) => Verdict::Broken(text),
                    Some(text) => Verdict::Unusable(text),
                };
            }
        }
    }

    /// Whether Envoy takes the extension at a place.
    pub fn takes(&mut self, place: &Place, values: &mut Values<'_>) -> bool {
        // Envoy ignores the type of an extension without content: add an unknown field.
        let mut bytes = place.base(values, self.schema).encode_to_vec();
        bytes.extend(UNKNOWN_FIELD);
        let payload = DynamicMessage::decode(place.message.clone(), bytes.as_slice()).expect("a message");
        let resource = place.resource(values, self.schema, payload).encode_to_vec();
        let verdict = self.verdict(place.root, &resource);
        !matches!(verdict, Verdict::Unusable(text) if text.contains("Unable to unpack as"))
    }

    fn request(&mut self) -> Request {
        let (bytes, _) = self.stream.request().expect("a request");
        // Envoy's error texts may not be valid UTF-8.
        let message = Message::parse(MessageShape::SotwRequest, &bytes, &mut Catalog::in_memory());
        let MessageBody::SotwRequest(body) = &message.body else { panic!("not a request: {message:?}") };
        Request {
            type_url: message.type_url().to_string(),
            nonce: body.response_nonce.to_string(),
            error: message.error_detail().map(|error| error.message.to_string()),
            bytes,
        }
    }

    /// Sends a response with one resource or none, and returns its nonce.
    fn respond(&mut self, name: &str, resource: Option<&[u8]>) -> String {
        self.nonce += 1;
        let nonce = self.nonce.to_string();
        let of = |name: &str| DynamicMessage::new(self.schema.message(name).expect("a type"));
        let mut response = of("envoy.service.discovery.v3.DiscoveryResponse");
        let mut resources = Vec::new();
        if let Some(bytes) = resource {
            let mut any = of("google.protobuf.Any");
            any.set_field_by_name("type_url", Value::String(url(name)));
            any.set_field_by_name("value", Value::Bytes(bytes.to_vec().into()));
            resources.push(Value::Message(any));
        }
        response.set_field_by_name("version_info", Value::String(nonce.clone()));
        response.set_field_by_name("type_url", Value::String(url(name)));
        response.set_field_by_name("nonce", Value::String(nonce.clone()));
        response.set_field_by_name("resources", Value::List(resources));
        let bytes = Bytes::from(response.encode_to_vec());
        self.stream.responses.blocking_send(Ok(bytes)).expect("an open stream");
        nonce
    }
}

fn url(name: &str) -> String {
    format!("type.googleapis.com/{name}")
}

/// Whether a text is about a constraint. The text begins with a dump of the message, which Envoy cuts
/// off if it is long, together with the reason behind it.
fn is_about_constraint(text: &str) -> bool {
    let reason = text.strip_prefix("Error adding/updating ").and_then(|rest| Some(rest.split_once(": ")?.1));
    let reason = reason.unwrap_or(text);
    reason.contains("Proto constraint validation failed")
        || reason.starts_with("goo.gle/debug")
        || reason.starts_with("Invalid duration: ")
}

fn text(message: &DynamicMessage, field: &str) -> String {
    message.get_field_by_name(field).and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

/// Returns the categories and types of the extensions in the node of a request.
fn extensions(schema: &Schema, request: &[u8]) -> Vec<(String, Vec<String>)> {
    let message = schema.message("envoy.service.discovery.v3.DiscoveryRequest").expect("a type");
    let request = DynamicMessage::decode(message, request).expect("a request");
    let node = request.get_field_by_name("node").expect("a node");
    let listed = node.as_message().and_then(|node| node.get_field_by_name("extensions")).expect("extensions");
    let of = |extension: &Value| {
        let extension = extension.as_message().expect("an extension");
        let types = extension.get_field_by_name("type_urls").expect("types");
        let types = types.as_list().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        (text(extension, "category"), types.collect())
    };
    listed.as_list().into_iter().flatten().map(of).collect()
}
