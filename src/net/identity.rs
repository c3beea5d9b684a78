//! Who a bootstrap says a client is, and whom it asks: Envoy's (YAML or JSON) and gRPC's (JSON).

use serde_json::{Map, Value};

use super::bootstrap::{BootstrapError, endpoint, get, plain_uri, sources};
use crate::event::Variant;

/// What is read of a bootstrap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// Its `node`, as it stands; null where there is none.
    pub node: Value,
    /// The xDS server's address: `host:port` or `unix:/path`; the first, if there are several. With `https://` before
    /// it where the bootstrap has TLS.
    pub server: Option<String>,
    /// How it asks for listeners and clusters.
    pub variant: Option<Variant>,
}

/// Reads a bootstrap (rows I-08, I-09).
///
/// # Errors
/// It is neither JSON nor YAML, or no bootstrap.
pub fn read(text: &str) -> Result<Identity, BootstrapError> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => serde_saphyr::from_str(text).map_err(|error| BootstrapError::Syntax(error.to_string()))?,
    };
    let root = value.as_object().ok_or(BootstrapError::NoBootstrap)?;
    let node = root.get("node").cloned().unwrap_or_default();
    if let Some(servers) = get(root, "xds_servers") {
        let server = &servers[0];
        let secure = server["channel_creds"][0]["type"].as_str() == Some("tls");
        let server = server["server_uri"].as_str().map(|uri| with_scheme(&plain_uri(uri), secure));
        return Ok(Identity { node, server, variant: Some(Variant::Ads) });
    }
    let dynamic = get(root, "dynamic_resources").and_then(Value::as_object);
    if dynamic.is_none() && get(root, "static_resources").is_none() {
        return Err(BootstrapError::NoBootstrap);
    }
    let dynamic = dynamic.cloned().unwrap_or_default();
    let of = |name: &str| get(&dynamic, name).and_then(Value::as_object);
    let own =
        |name: &str| of(name).and_then(|source| get(source, "api_config_source")).and_then(Value::as_object);
    // Clusters and listeners by streams of their own win over an ADS that nothing uses.
    let source = own("cds_config").or_else(|| own("lds_config")).map(|source| (source, false));
    let Some((source, aggregated)) = source.or_else(|| of("ads_config").map(|source| (source, true))) else {
        return Ok(Identity { node, server: None, variant: None });
    };
    let delta = get(source, "api_type").and_then(Value::as_str).is_some_and(|word| word.contains("DELTA"));
    let variant = match (aggregated, delta) {
        (true, false) => Variant::Ads,
        (true, true) => Variant::DeltaAds,
        (false, false) => Variant::Sotw,
        (false, true) => Variant::Delta,
    };
    Ok(Identity { node, server: server_of(root, source), variant: Some(variant) })
}

fn with_scheme(address: &str, secure: bool) -> String {
    if secure { format!("https://{address}") } else { address.to_owned() }
}

/// Where the first cluster of an ApiConfigSource, or its google_grpc, leads to.
fn server_of(root: &Map<String, Value>, source: &Map<String, Value>) -> Option<String> {
    let services = get(source, "grpc_services")?;
    let service = services.get(0).unwrap_or(services).as_object()?;
    if let Some(google) = get(service, "google_grpc").and_then(Value::as_object) {
        let secure = get(google, "channel_credentials").is_some();
        return get(google, "target_uri")?.as_str().map(|uri| with_scheme(&plain_uri(uri), secure));
    }
    let mut names = std::collections::BTreeSet::new();
    sources(source, &mut names);
    let clusters = get(root, "static_resources")?.get("clusters")?.as_array()?;
    let cluster =
        clusters.iter().find(|cluster| cluster["name"].as_str().is_some_and(|name| names.contains(name)));
    let cluster = cluster?.as_object()?;
    let address = first_address(&Value::Object(cluster.clone()))?;
    Some(with_scheme(&address, get(cluster, "transport_socket").is_some()))
}

/// The first `address` below a cluster.
fn first_address(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("address").filter(|address| address.is_object()).and_then(endpoint);
            own.or_else(|| fields.values().find_map(first_address))
        }
        Value::Array(items) => items.iter().find_map(first_address),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_say_who_and_whom() {
        let envoy = read(include_str!("../../examples/bootstraps/envoy-ads.yaml")).unwrap();
        assert_eq!(envoy.server.as_deref(), Some("127.0.0.1:18000"));
        assert_eq!(envoy.variant, Some(Variant::Ads));
        assert!(envoy.node["id"].is_string(), "{}", envoy.node);
        let grpc = read(include_str!("../../examples/bootstraps/grpc.json")).unwrap();
        assert_eq!(grpc.server.as_deref(), Some("127.0.0.1:18000"));
        assert!(grpc.node["id"].is_string(), "{}", grpc.node);
    }

    #[test]
    fn variants_tls_and_google_grpc_are_read() {
        let text = r#"{"dynamic_resources":{"cds_config":{"api_config_source":{"api_type":"DELTA_GRPC",
            "grpc_services":[{"google_grpc":{"target_uri":"dns:///cp:1","channel_credentials":{}}}]}}}}"#;
        let read = read(text).unwrap();
        assert_eq!((read.server.as_deref(), read.variant), (Some("https://cp:1"), Some(Variant::Delta)));
    }

    #[test]
    fn what_is_no_bootstrap_is_refused() {
        assert_eq!(read("a: 1"), Err(BootstrapError::NoBootstrap));
        assert!(matches!(read("{"), Err(BootstrapError::Syntax(_))));
    }
}
