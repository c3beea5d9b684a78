//! Envoy's bootstrap: `dynamic_resources`, and the static cluster or google_grpc target behind them.

use serde_json::Value;

use super::{Identity, Upstream, field, list, text, unsupported};
use crate::event::{Kind, Variant};
use crate::filter::duration;
use crate::net::bootstrap::{BootstrapError, endpoint, plain_uri};
use crate::net::tls::{ClientOptions, Pem};
use crate::schema::base64;

/// Endpoints of a cluster that are tried.
const ENDPOINTS: usize = 16;

/// A source of listeners or clusters, or the ADS.
struct Source<'a> {
    /// Its place in the bootstrap.
    place: String,
    /// An `ApiConfigSource`.
    api: &'a Value,
    aggregated: bool,
}

pub(super) fn read(root: &Value) -> Result<Identity, BootstrapError> {
    let dynamic = field(root, "dynamic_resources");
    let mut identity = Identity { node: root["node"].clone(), ..Identity::default() };
    let mut found: Option<Source<'_>> = None;
    // Authorities next to the sources of listeners and clusters (row K-23).
    let mut beside = Vec::new();
    for (kind, place, locator) in [
        (Kind::Lds, "lds_config", "lds_resources_locator"),
        (Kind::Cds, "cds_config", "cds_resources_locator"),
    ] {
        let config = field(dynamic, place);
        let locator = text(field(dynamic, locator));
        if config.is_null() && locator.is_none() {
            continue;
        }
        identity.roots.push((kind, locator));
        let Some(source) = source(place, config, dynamic)? else { continue };
        beside.extend(authorities(config).map(|name| (name, servers(root, &source))));
        match &found {
            Some(first)
                if !std::ptr::eq(first.api, source.api)
                    && field(first.api, "grpc_services") != field(source.api, "grpc_services") =>
            {
                identity.notes.push(format!(
                    "{} and {place} have servers of their own; that of {} is asked for both",
                    first.place, first.place
                ));
            }
            Some(_) => {}
            None => found = Some(source),
        }
    }
    let ads = field(dynamic, "ads_config");
    let ads = Source { place: "ads_config".into(), api: ads, aggregated: true };
    let main = found.or_else(|| ads.api.is_object().then_some(ads));
    if let Some(source) = &main {
        identity.variant = Some(variant(source)?);
        identity.servers = servers(root, source)?;
        let time = |name| field(source.api, name).as_str().and_then(duration);
        (identity.poll_delay, identity.poll_timeout) = (time("refresh_delay"), time("request_timeout"));
    }
    for (name, servers) in beside {
        identity.authorities.push((name, servers?));
    }
    config_sources(root, dynamic, &mut identity)?;
    own_first(&mut identity);
    Ok(identity)
}

/// `config_sources` and `default_config_source`: who answers for which authority (rows K-24, K-25).
fn config_sources(root: &Value, dynamic: &Value, identity: &mut Identity) -> Result<(), BootstrapError> {
    let listed = list(field(root, "config_sources")).iter().enumerate();
    let listed = listed.map(|(at, config)| (format!("config_sources[{at}]"), config));
    let default = field(root, "default_config_source");
    let default = (!default.is_null()).then(|| ("default_config_source".to_owned(), default));
    for (place, config) in listed.chain(default) {
        let is_default = place == "default_config_source";
        let Some(source) = source(&place, config, dynamic)? else { continue };
        let variant = variant(&source)?;
        if !matches!(variant, Variant::Ads | Variant::DeltaAds) {
            return unsupported(format!(
                "{place}: its api_type is AGGREGATED_GRPC or AGGREGATED_DELTA_GRPC only"
            ));
        }
        let servers = servers(root, &source)?;
        let names: Vec<String> = authorities(config).collect();
        if names.is_empty() && !is_default {
            return unsupported(format!("{place} has no authorities"));
        }
        for name in names {
            // The first that lists an authority has it.
            if !identity.authorities.iter().any(|(known, _)| *known == name) {
                identity.authorities.push((name, servers.clone()));
            }
        }
        match identity.variant {
            None => identity.variant = Some(variant),
            Some(first) if first != variant => identity.notes.push(format!(
                "{place} is {}, what comes before it {}: all are asked in one way, --variant says in which",
                variant.word(),
                first.word()
            )),
            Some(_) => {}
        }
        if is_default {
            identity.others = Some(servers);
        } else if identity.servers.is_empty() {
            identity.servers = servers;
        }
    }
    Ok(())
}

/// What the first server answers for is told by an empty list; so is the authority of a locator that nothing else says
/// anything of: its `ConfigSource` is asked, whatever the authority.
fn own_first(identity: &mut Identity) {
    if identity.servers.is_empty() {
        identity.servers = identity.others.clone().unwrap_or_default();
    }
    let servers = &identity.servers;
    let own = identity.authorities.iter_mut().map(|(_, own)| own).chain(&mut identity.others);
    own.filter(|own| *own == servers).for_each(Vec::clear);
    if identity.authorities.is_empty() || identity.others.is_some() {
        return;
    }
    let locators = identity.roots.iter().filter_map(|(_, locator)| locator.as_deref());
    let authorities = locators.filter_map(|url| url.strip_prefix("xdstp://")?.split('/').next());
    for name in authorities.map(str::to_owned).collect::<Vec<_>>() {
        if !identity.authorities.iter().any(|(known, _)| *known == name) {
            identity.authorities.push((name, Vec::new()));
        }
    }
}

/// The authorities that a `ConfigSource` lists.
fn authorities(config: &Value) -> impl Iterator<Item = String> {
    list(field(config, "authorities")).iter().map(|one| text(field(one, "name")).unwrap_or_default())
}

/// What a `ConfigSource` leads to; `None`: it is not there.
fn source<'a>(
    place: &str,
    config: &'a Value,
    dynamic: &'a Value,
) -> Result<Option<Source<'a>>, BootstrapError> {
    if config.is_null() {
        return Ok(None);
    }
    let api = field(config, "api_config_source");
    // One that is aggregated and has no servers means the ADS.
    let aggregated = field(api, "api_type").as_str().is_some_and(|word| word.starts_with("AGGREGATED_"));
    let shared = aggregated && list(field(api, "grpc_services")).is_empty();
    if api.is_object() && !shared {
        return Ok(Some(Source { place: place.to_owned(), api, aggregated: false }));
    }
    if shared || field(config, "ads").is_object() {
        let api = field(dynamic, "ads_config");
        return match api.is_object() {
            true => Ok(Some(Source { place: "ads_config".into(), api, aggregated: true })),
            false => unsupported(format!("{place} is to come over ADS, and there is no ads_config")),
        };
    }
    let path =
        text(field(field(config, "path_config_source"), "path")).or_else(|| text(field(config, "path")));
    match path {
        Some(path) => {
            unsupported(format!("{place} is read from the file {path}: `xdscope watch {path}` shows it"))
        }
        None => unsupported(format!("{place} has no api_config_source, no ads and no path_config_source")),
    }
}

fn variant(source: &Source<'_>) -> Result<Variant, BootstrapError> {
    let api = field(source.api, "api_type").as_str().unwrap_or_default();
    Ok(match (api, source.aggregated) {
        ("GRPC", true) | ("AGGREGATED_GRPC", _) => Variant::Ads,
        ("DELTA_GRPC", true) | ("AGGREGATED_DELTA_GRPC", _) => Variant::DeltaAds,
        ("GRPC", false) => Variant::Sotw,
        ("DELTA_GRPC", false) => Variant::Delta,
        ("REST", false) => Variant::Rest,
        (other, _) => return unsupported(format!("{}: api_type `{other}` is not supported", source.place)),
    })
}

fn servers(root: &Value, source: &Source<'_>) -> Result<Vec<Upstream>, BootstrapError> {
    let services = field(source.api, "grpc_services");
    let services = if services.is_array() { list(services) } else { std::slice::from_ref(services) };
    let mut out = Vec::new();
    for service in services.iter().filter(|service| service.is_object()) {
        let headers = list(field(service, "initial_metadata")).iter();
        let headers = headers.filter_map(|pair| Some((text(&pair["key"])?, text(&pair["value"])?)));
        let headers: Vec<_> = headers.collect();
        let (google, envoy) = (field(service, "google_grpc"), field(service, "envoy_grpc"));
        if google.is_object() {
            out.push(google_grpc(google, headers)?);
        } else if let Some(name) = field(envoy, "cluster_name").as_str() {
            let authority = text(field(envoy, "authority"));
            out.extend(cluster(root, &source.place, name, authority, &headers)?);
        } else {
            return unsupported(format!(
                "{}: a grpc_service without envoy_grpc and google_grpc",
                source.place
            ));
        }
    }
    for name in list(field(source.api, "cluster_names")).iter().filter_map(Value::as_str) {
        out.extend(cluster(root, &source.place, name, None, &[])?);
    }
    match out.is_empty() {
        true => Err(BootstrapError::NoServer),
        false => Ok(out),
    }
}

/// The endpoints of a static cluster, and its TLS.
fn cluster(
    root: &Value,
    place: &str,
    name: &str,
    authority: Option<String>,
    headers: &[(String, String)],
) -> Result<Vec<Upstream>, BootstrapError> {
    let clusters = list(&field(root, "static_resources")["clusters"]);
    let Some(cluster) = clusters.iter().find(|cluster| cluster["name"] == name) else {
        return unsupported(format!(
            "{place} names the cluster {name}, and static_resources has none of that name"
        ));
    };
    let mut addresses = Vec::new();
    endpoints(cluster, &mut addresses);
    if addresses.is_empty() {
        return unsupported(format!("the cluster {name} has no endpoint in the bootstrap"));
    }
    let tls = transport_socket(cluster, name)?;
    let upstream = |address| Upstream {
        address,
        tls: tls.clone(),
        authority: authority.clone(),
        headers: headers.to_vec(),
    };
    Ok(addresses.into_iter().take(ENDPOINTS).map(upstream).collect())
}

/// Every `address` below a cluster, in order.
fn endpoints(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            match fields.get("address").filter(|address| address.is_object()).and_then(endpoint) {
                Some(address) if !out.contains(&address) => out.push(address),
                Some(_) => {}
                None => fields.values().for_each(|value| endpoints(value, out)),
            }
        }
        Value::Array(items) => items.iter().for_each(|value| endpoints(value, out)),
        _ => {}
    }
}

/// TLS of a cluster (`UpstreamTlsContext`).
fn transport_socket(cluster: &Value, name: &str) -> Result<Option<ClientOptions>, BootstrapError> {
    let socket = field(cluster, "transport_socket");
    if socket.is_null() {
        return match field(cluster, "tls_context").is_null() {
            true => Ok(None),
            false => unsupported(format!("the cluster {name} has a tls_context: use a transport_socket")),
        };
    }
    let config = field(socket, "typed_config");
    let url = config["@type"].as_str().unwrap_or_default();
    match url.rsplit('.').next().unwrap_or_default() {
        "UpstreamTlsContext" => {}
        "RawBuffer" => return Ok(None),
        _ => {
            let kind = if url.is_empty() { socket["name"].as_str().unwrap_or_default() } else { url };
            return unsupported(format!(
                "the transport socket `{kind}` of the cluster {name} is not supported"
            ));
        }
    }
    let common = field(config, "common_tls_context");
    for sds in [
        "tls_certificate_sds_secret_configs",
        "validation_context_sds_secret_config",
        "tls_certificate_provider_instance",
        "custom_validator_config",
    ] {
        if !field(common, sds).is_null() {
            return unsupported(format!(
                "the cluster {name} has {sds}: only certificates in files or inline are read"
            ));
        }
    }
    let place = |what: &str| format!("{what} of the cluster {name}");
    let combined = field(common, "combined_validation_context");
    if !field(combined, "validation_context_sds_secret_config").is_null() {
        return unsupported(place("the validation_context_sds_secret_config"));
    }
    let validation = [field(common, "validation_context"), field(combined, "default_validation_context")];
    let validation = validation.into_iter().find(|context| context.is_object()).unwrap_or(&Value::Null);
    let cacert = pem(field(validation, "trusted_ca"), &place("trusted_ca"))?;
    let (mut cert, mut key) = (None, None);
    if let Some(own) = list(field(common, "tls_certificates")).first() {
        cert = pem(field(own, "certificate_chain"), &place("certificate_chain"))?;
        key = pem(field(own, "private_key"), &place("private_key"))?;
        if cert.is_none() || key.is_none() {
            return unsupported(format!("a certificate of the cluster {name} lacks its chain or its key"));
        }
    }
    let names =
        ["match_typed_subject_alt_names", "match_subject_alt_names"].map(|of| list(field(validation, of)));
    let exact = names.iter().copied().flatten().find_map(|matcher| {
        let inner = if matcher["matcher"].is_object() { &matcher["matcher"] } else { matcher };
        text(&inner["exact"])
    });
    let any_name = names.iter().all(|names| names.is_empty());
    if !any_name && exact.is_none() {
        return unsupported(place("match_typed_subject_alt_names that are not exact"));
    }
    // Envoy verifies nothing without a CA, and names only where it is told which.
    let servername = if any_name { text(&config["sni"]) } else { exact };
    Ok(Some(ClientOptions { insecure: cacert.is_none(), cacert, cert, key, servername, any_name }))
}

/// A `DataSource`.
fn pem(source: &Value, place: &str) -> Result<Option<Pem>, BootstrapError> {
    if source.is_null() {
        return Ok(None);
    }
    if let Some(path) = text(field(source, "filename")) {
        return Ok(Some(Pem::File(path.into())));
    }
    if let Some(inline) = text(field(source, "inline_string")) {
        return Ok(Some(Pem::Inline(inline.into_bytes())));
    }
    match field(source, "inline_bytes").as_str().map(base64::decode) {
        Some(Some(bytes)) => Ok(Some(Pem::Inline(bytes))),
        Some(None) => unsupported(format!("{place}: inline_bytes are no base64")),
        None => unsupported(format!("{place} is neither a file nor inline")),
    }
}

/// A `GoogleGrpc`: a target with credentials.
fn google_grpc(google: &Value, mut headers: Vec<(String, String)>) -> Result<Upstream, BootstrapError> {
    let Some(target) = field(google, "target_uri").as_str() else {
        return unsupported("google_grpc without a target_uri");
    };
    let credentials = field(google, "channel_credentials");
    let ssl = field(credentials, "ssl_credentials");
    let tls = if ssl.is_object() {
        let place = |what: &str| format!("{what} of google_grpc");
        let cacert = pem(field(ssl, "root_certs"), &place("root_certs"))?;
        let cert = pem(field(ssl, "cert_chain"), &place("cert_chain"))?;
        let key = pem(field(ssl, "private_key"), &place("private_key"))?;
        Some(ClientOptions { cacert, cert, key, ..ClientOptions::default() })
    } else {
        for refused in ["google_default", "local_credentials"] {
            if !field(credentials, refused).is_null() {
                return unsupported(format!("google_grpc: {refused} is not supported, only ssl_credentials"));
            }
        }
        None
    };
    for call in list(field(google, "call_credentials")) {
        match text(field(call, "access_token")) {
            Some(token) => headers.push(("authorization".into(), format!("Bearer {token}"))),
            None => {
                let kind = call.as_object().and_then(|call| call.keys().next().cloned()).unwrap_or_default();
                return unsupported(format!(
                    "google_grpc: call_credentials with {kind} are not supported: --token-file FILE"
                ));
            }
        }
    }
    Ok(Upstream { address: plain_uri(target), tls, authority: None, headers })
}
