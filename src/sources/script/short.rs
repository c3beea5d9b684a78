use serde_json::{Value, json};

use super::error::EncodeError;
use super::payload::smallest;
use xdscope_wire::discovery::encode::encode_any;
use xdscope_wire::event::{Kind, TYPE_PREFIX};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::xdstp::locator;

/// Returns the item type of the collection in an `xdstp` name: `…v3.Listener` for
/// `…v3.ListenerCollection`.
pub(super) fn collection(name: &str) -> Option<String> {
    let ty = name.strip_prefix("xdstp://")?.split('/').nth(1)?;
    ty.strip_suffix("Collection").map(String::from)
}

/// Encodes a collection: `{entries: [{locator: URI}, {inline: NAME, version: V}, {}]}`.
///
/// See `docs/protocol.md#k-12`.
pub(super) fn entries(item: &str, fields: Option<&Value>) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    let Some(fields) = fields else { return Ok(out) };
    let list = match fields.as_object().map(|map| (map.len(), map.get("entries"))) {
        Some((1, Some(Value::Array(list)))) => list,
        _ => return Err(EncodeError::CollectionFields),
    };
    for value in list {
        let mut entry = Vec::new();
        let get = |key: &str| value.get(key).map(word);
        match (get("locator"), get("inline"), get("version")) {
            (Some(uri), None, None) => put_len_field(&mut entry, 1, &locator::encode(&uri)?),
            (None, Some(name), version) => {
                let mut inline = Vec::new();
                let version = version.unwrap_or_default();
                for (number, text) in [(1, &name), (2, &version)] {
                    if !text.is_empty() {
                        put_len_field(&mut inline, number, text.as_bytes());
                    }
                }
                let Some((kind, _)) = Kind::of_message(item) else {
                    return Err(EncodeError::InlineType(item.to_owned()));
                };
                put_len_field(
                    &mut inline,
                    3,
                    &encode_any(&format!("{TYPE_PREFIX}{item}"), &smallest(kind, &name)),
                );
                put_len_field(&mut entry, 2, &inline);
            }
            (None, None, None) if value.as_object().is_some_and(|map| map.is_empty()) => {}
            _ => return Err(EncodeError::CollectionEntry),
        }
        put_len_field(&mut out, 1, &entry);
    }
    Ok(out)
}

/// Returns a scalar as it was written; null is empty.
fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the fields of a short form, or `None` if the mapping is not one.
pub(super) fn expand(kind: Kind, message: &str, name: &str, fields: &Value) -> Option<Value> {
    let map = fields.as_object().filter(|map| map.len() == 1)?;
    let (key, value) = map.iter().next()?;
    let v2 = !message.contains(".v3.");
    Some(match (kind, key.as_str()) {
        (Kind::Rds, "to") => json!({ "virtual_hosts": [virtual_host(name, value)?] }),
        (Kind::Lds, "to") => {
            let routes = json!({ "name": name, "virtual_hosts": [virtual_host(name, value)?] });
            listener(name, "route_config", routes, v2)
        }
        (Kind::Lds, "rds") => {
            let rds = json!({ "config_source": ads(v2), "route_config_name": word(value) });
            listener(name, "rds", rds, v2)
        }
        (Kind::Cds, "eds") => {
            let mut eds = json!({ "eds_config": ads(v2) });
            if !value.is_null() {
                eds["service_name"] = word(value).into();
            }
            json!({ "type": "EDS", "eds_cluster_config": eds })
        }
        (Kind::Sds, "key") => {
            json!({ "tls_certificate": { "private_key": { "inline_string": format!("the private key of {name}") } } })
        }
        _ => return None,
    })
}

fn ads(v2: bool) -> Value {
    if v2 { json!({ "ads": {} }) } else { json!({ "ads": {}, "resource_api_version": "V3" }) }
}

/// Builds one route per cluster. A single cluster gets every path.
fn virtual_host(name: &str, clusters: &Value) -> Option<Value> {
    let clusters = clusters.as_array()?;
    let routes = clusters.iter().map(|cluster| {
        let prefix = if clusters.len() == 1 { "/".into() } else { format!("/{}", word(cluster)) };
        json!({ "match": { "prefix": prefix }, "route": { "cluster": word(cluster) } })
    });
    Some(json!({ "name": name, "domains": ["*"], "routes": routes.collect::<Vec<_>>() }))
}

/// Returns a listener whose only filter is an HTTP connection manager.
fn listener(name: &str, key: &str, routes: Value, v2: bool) -> Value {
    let url = if v2 {
        "type.googleapis.com/envoy.config.filter.network.http_connection_manager.v2.HttpConnectionManager"
    } else {
        "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    };
    let manager = json!({ "@type": url, "stat_prefix": name, key: routes });
    let filter = json!({ "name": "envoy.filters.network.http_connection_manager", "typed_config": manager });
    json!({ "filter_chains": [{ "filters": [filter] }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_short_form_only_if_alone() {
        let eds = expand(Kind::Cds, "envoy.config.cluster.v3.Cluster", "c", &json!({ "eds": null }));
        assert_eq!(eds.as_ref().and_then(|v| v["type"].as_str()), Some("EDS"));
        assert_eq!(eds.and_then(|v| v["eds_cluster_config"].get("service_name").cloned()), None);
        assert_eq!(
            expand(Kind::Cds, "envoy.config.cluster.v3.Cluster", "c", &json!({ "eds": null, "x": 1 })),
            None
        );
        assert_eq!(expand(Kind::Eds, "x.v3.Y", "c", &json!({ "to": ["a"] })), None);
        let routes = expand(Kind::Rds, "x.v3.Y", "r", &json!({ "to": ["a", "b"] })).expect("a short form");
        assert_eq!(routes["virtual_hosts"][0]["routes"][1]["route"]["cluster"], "b");
        assert_eq!(routes["virtual_hosts"][0]["routes"][1]["match"]["prefix"], "/b");
    }

    #[test]
    fn recognizes_collections_in_xdstp_names_only() {
        let name = "xdstp://a/envoy.config.listener.v3.ListenerCollection/c";
        assert_eq!(collection(name).as_deref(), Some("envoy.config.listener.v3.Listener"));
        assert_eq!(collection("ListenerCollection"), None);
        assert!(entries("x.Y", Some(&json!({ "entries": [{ "what": 1 }] }))).is_err());
    }
}
