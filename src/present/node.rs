//! The node of a client: identity, locality, features, metadata and extensions.

use serde_json::Value;

use xdscope_engine::store::StreamFact;
use xdscope_schema::{Schema, to_yaml};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::ApiVersion;
use xdscope_wire::text::count;

/// Lines of metadata or extensions in a card; more are counted.
const MAX_LINES: usize = 400;

/// Returns the node of a stream as protobuf JSON with the field names of the API.
///
/// `None` if the node is unknown, or its bytes were discarded.
pub fn decoded(catalog: &Catalog, schema: &Schema, stream: &StreamFact) -> Option<Value> {
    let bytes = catalog.bytes(stream.node.as_ref()?.blob?)?;
    let name = match stream.transport {
        Some(ApiVersion::V2) => "envoy.api.v2.core.Node",
        _ => "envoy.config.core.v3.Node",
    };
    Some(schema.message_to_json(name, &bytes))
}

/// Returns the node as labelled lines: identity first, then features, metadata and extensions.
/// `body` is the decoded node.
pub fn lines(stream: &StreamFact, body: Option<&Value>) -> Vec<(&'static str, String)> {
    let Some(node) = &stream.node else { return Vec::new() };
    let mut lines = vec![("id", node.id.clone()), ("cluster", node.cluster.clone())];
    lines.push(("locality", locality(&node.locality)));
    lines.push(("user agent", format!("{} {}", node.user_agent, node.user_agent_version).trim().to_owned()));
    if let Some(from) = stream.node_from {
        lines.push(("stated by", format!("#{}", from.0)));
    }
    lines.retain(|(_, text)| !text.is_empty());
    lines.extend(node.client_features.iter().map(|feature| ("feature", feature.clone())));
    for (label, field) in [("metadata", "metadata"), ("extensions", "extensions")] {
        if let Some(value) = body.and_then(|body| body.get(field)) {
            add_yaml(&mut lines, label, value);
        }
    }
    lines
}

/// Returns region, zone and sub-zone: `eu-west-1/a`.
pub fn locality(parts: &[String; 3]) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

fn add_yaml(lines: &mut Vec<(&'static str, String)>, label: &'static str, value: &Value) {
    let text = to_yaml(value);
    let all = text.lines().count();
    for (at, line) in text.lines().take(MAX_LINES).enumerate() {
        lines.push((if at == 0 { label } else { "" }, line.to_owned()));
    }
    if all > MAX_LINES {
        lines.push(("", format!("{} more lines", count((all - MAX_LINES) as u64))));
    }
}
