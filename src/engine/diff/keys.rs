//! Keys of list items.

use std::collections::HashSet;

use serde_json::Value;

use super::path::ListKey;

/// Keyed lists whose order matters: filters run and routes match in this order.
const ORDERED: [&str; 5] = ["filters", "http_filters", "upstream_http_filters", "listener_filters", "routes"];

/// Whether the order of a list in this field matters.
pub(super) fn is_ordered(field: &str) -> bool {
    ORDERED.contains(&field)
}

/// Returns the first key that all items of both lists have, with no duplicates in either list.
///
/// `field` is the name of the field with the lists.
pub(super) fn common_key(field: &str, old: &[Value], new: &[Value]) -> Option<ListKey> {
    if old.is_empty() && new.is_empty() {
        return None;
    }
    ListKey::ALL.into_iter().find(|by| is_unique(*by, field, old) && is_unique(*by, field, new))
}

fn is_unique(by: ListKey, field: &str, items: &[Value]) -> bool {
    let mut seen = HashSet::new();
    items.iter().all(|item| key(by, field, item).is_some_and(|key| seen.insert(key)))
}

/// Returns the key of an item, or `None` if the item lacks the key.
pub(super) fn key(by: ListKey, field: &str, item: &Value) -> Option<String> {
    if !item.is_object() {
        return None;
    }
    match by {
        ListKey::Name => text(item.get("name")?),
        ListKey::Key => text(item.get("key").or_else(|| item.get("header")?.get("key"))?),
        ListKey::Domains => {
            let domains: Option<Vec<String>> = item.get("domains")?.as_array()?.iter().map(text).collect();
            Some(domains?.join(","))
        }
        ListKey::Address => {
            if let Some(prefix) = item.get("address_prefix") {
                let len = item.get("prefix_len").and_then(text).unwrap_or_else(|| "0".to_owned());
                return Some(format!("{}/{len}", text(prefix)?));
            }
            address(item.get("endpoint").and_then(|endpoint| endpoint.get("address")))
                .or_else(|| address(item.get("address")))
        }
        ListKey::Locality => {
            let locality = item.get("locality")?.as_object()?;
            let part = |name: &str| locality.get(name).and_then(text).unwrap_or_default();
            let mut key = format!("{}/{}/{}", part("region"), part("zone"), part("sub_zone"));
            if let Some(priority) = item.get("priority").and_then(text) {
                key.push_str(&format!(":{priority}"));
            }
            Some(key)
        }
        // The content omits the default priority.
        ListKey::Priority => match (item.get("priority"), field) {
            (Some(priority), _) => text(priority),
            (None, "thresholds" | "per_host_thresholds") => Some("DEFAULT".to_owned()),
            (None, "endpoints") => Some("0".to_owned()),
            (None, _) => None,
        },
    }
}

/// Formats an `envoy.config.core.v3.Address` on one line.
fn address(value: Option<&Value>) -> Option<String> {
    let value = value?;
    if let Some(socket) = value.get("socket_address") {
        let host = text(socket.get("address")?)?;
        let port = socket.get("port_value").or_else(|| socket.get("named_port")).and_then(text);
        return Some(format!("{host}:{}", port.unwrap_or_else(|| "0".to_owned())));
    }
    if let Some(pipe) = value.get("pipe") {
        return text(pipe.get("path")?);
    }
    if let Some(internal) = value.get("envoy_internal_address") {
        let id = internal.get("endpoint_id").and_then(text).unwrap_or_default();
        return Some(format!("{}/{id}", text(internal.get("server_listener_name")?)?));
    }
    text(value)
}

/// Formats a text or number as a key.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
