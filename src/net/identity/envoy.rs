//! Envoy's bootstrap: `dynamic_resources`, and the static cluster or google_grpc target behind them.

use serde_json::Value;

use super::{Identity, Source, Upstream, field, list, text, unsupported};
use crate::engine::filter::duration;
use crate::net::bootstrap::{BootstrapError, endpoint, plain_uri};
use crate::net::tls::{ClientOptions, Pem};
use crate::peers::client::FallbackServer;
use crate::schema::base64;
use crate::wire::event::{Kind, Variant};

/// Endpoints of a cluster that are tried.
const ENDPOINTS: usize = 16;

/// An `ApiConfigSource`, and where it stands in the bootstrap.
#[derive(Clone, Copy)]
struct Api<'a> {
    place: &'a str,
    value: &'a Value,
    /// It is the ADS.
    aggregated: bool,
}

/// Where a `ConfigSource` leads to.
enum Found<'a> {
    Nowhere,
    Ads,
    Own(Api<'a>),
    File(String),
}

/// What listeners lead to, and clusters. A `ConfigSource` in a resource tells only whether that comes over the ADS: if
/// not, or if there is none, it is taken to come from where listeners or clusters do.
const OF_LISTENERS: [Kind; 4] = [Kind::Rds, Kind::Srds, Kind::Vhds, Kind::Ecds];
const OF_CLUSTERS: [Kind; 2] = [Kind::Eds, Kind::Leds];

/// As Envoy 1.40 reads it.
pub(super) fn read(root: &Value) -> Result<Identity, BootstrapError> {
    let dynamic = field(root, "dynamic_resources");
    let mut identity = Identity { node: root["node"].clone(), ..Identity::default() };
    let ads = Some(field(dynamic, "ads_config")).filter(|ads| ads.is_object());
    if let Some(value) = ads {
        own(root, Api { place: "ads_config", value, aggregated: true }, &mut identity)?;
    }
    let mut files = Vec::new();
    for (kind, place, at, kin) in [
        (Kind::Lds, "lds_config", "lds_resources_locator", &OF_LISTENERS[..]),
        (Kind::Cds, "cds_config", "cds_resources_locator", &OF_CLUSTERS),
    ] {
        let (config, locator) = (field(dynamic, place), text(field(dynamic, at)));
        let number = match found(place, config)? {
            Found::Nowhere if locator.is_none() => continue,
            // Row K-24 has its authority decide.
            Found::Nowhere => {
                identity.notes.push(format!("{at} has no {place} beside it: Envoy would not start"));
                identity.roots.push((kind, locator));
                continue;
            }
            Found::File(path) => {
                files.push(format!("{place} is read from the file {path}: `xdscope watch {path}` shows it"));
                continue;
            }
            Found::Ads if ads.is_none() => {
                return unsupported(format!("{place} is to come over ADS, and there is no ads_config"));
            }
            Found::Ads => 0,
            Found::Own(api) if is_aggregated(api.value) => {
                aggregated(root, api, ads.is_some(), &locator, &mut identity)?
            }
            Found::Own(api) => own(root, api, &mut identity)?,
        };
        if number > 0 {
            identity.kinds.push((kind, number));
            let kin = kin.iter().map(|kind| (*kind, number));
            if ads.is_some() { &mut identity.own } else { &mut identity.kinds }.extend(kin);
        }
        identity.beside.extend(locator.iter().map(|locator| (locator.clone(), number)));
        identity.roots.push((kind, locator));
    }
    if identity.roots.is_empty() && !files.is_empty() {
        return unsupported(files.join("; "));
    }
    identity.notes.append(&mut files);
    config_sources(root, &mut identity)?;
    Ok(identity)
}

/// The number of a source with servers of its own.
fn own(root: &Value, api: Api<'_>, identity: &mut Identity) -> Result<u32, BootstrapError> {
    let source = Source { variant: variant(api)?, servers: servers(root, api)? };
    if identity.poll_delay.is_none() && identity.poll_timeout.is_none() {
        let time = |name| field(api.value, name).as_str().and_then(duration);
        (identity.poll_delay, identity.poll_timeout) = (time("refresh_delay"), time("request_timeout"));
    }
    Ok(identity.number(source))
}

fn is_aggregated(api: &Value) -> bool {
    field(api, "api_type").as_str().is_some_and(|word| word.starts_with("AGGREGATED_"))
}

/// Its `grpc_services`; YAML may have one without a list.
fn services(api: &Value) -> &[Value] {
    match field(api, "grpc_services") {
        one @ Value::Object(_) => std::slice::from_ref(one),
        all => list(all),
    }
}

/// A source that is aggregated means the ADS, even if it names servers (row K-25), and is for a locator only.
fn aggregated(
    root: &Value,
    api: Api<'_>,
    has_ads: bool,
    locator: &Option<String>,
    identity: &mut Identity,
) -> Result<u32, BootstrapError> {
    let (place, word) = (api.place, field(api.value, "api_type").as_str().unwrap_or_default());
    let shared = services(api.value).is_empty();
    if locator.is_none() {
        let note =
            format!("{place} is {word} without a locator: Envoy would not start, it takes `ads: {{}}`");
        identity.notes.push(note);
    }
    match (has_ads, shared) {
        (true, true) => Ok(0),
        (true, false) => {
            let note = format!("{place} is {word}: the ADS is asked, as Envoy does, not its grpc_services");
            identity.notes.push(note);
            Ok(0)
        }
        (false, true) => unsupported(format!("{place} is to come over ADS, and there is no ads_config")),
        (false, false) => {
            let note = format!("{place} is {word}, and there is no ads_config: Envoy would have none of it");
            identity.notes.push(note);
            own(root, api, identity)
        }
    }
}

/// Without it Envoy 1.40 connects to `config_sources`, and asks them for nothing.
const GUARD: &str = "envoy.reloadable_features.xdstp_based_config_singleton_subscriptions";

/// What the runtime of a bootstrap says of a feature.
fn runtime(root: &Value, name: &str) -> Option<bool> {
    let layers = list(field(field(root, "layered_runtime"), "layers")).iter().rev();
    layers.filter_map(|layer| field(layer, "static_layer").get(name)).find_map(|value| match value {
        Value::Bool(on) => Some(*on),
        Value::String(word) => word.parse().ok(),
        _ => None,
    })
}

/// `config_sources` and `default_config_source`: who answers for which authority (row K-24). Each has a stream of its
/// own (row K-25). What is of no authority of theirs is asked where a resource says.
fn config_sources(root: &Value, identity: &mut Identity) -> Result<(), BootstrapError> {
    let listed = list(field(root, "config_sources")).iter().enumerate();
    let listed = listed.map(|(at, config)| (format!("config_sources[{at}]"), config));
    let default = field(root, "default_config_source");
    let default = (!default.is_null()).then(|| ("default_config_source".to_owned(), default));
    let all: Vec<(String, &Value)> = listed.chain(default).collect();
    match runtime(root, GUARD) {
        _ if all.is_empty() => return Ok(()),
        Some(true) => {}
        Some(false) => {
            identity.notes.push(format!("config_sources have no effect: {GUARD} is false"));
            return Ok(());
        }
        None => identity.notes.push(format!(
            "config_sources are asked; Envoy 1.40 asks them only if its runtime has {GUARD}, and the bootstrap does not \
             say so"
        )),
    }
    if identity.sources.is_empty() {
        identity.others = FallbackServer::Nobody;
    }
    for (place, config) in all {
        let is_default = place == "default_config_source";
        let Found::Own(api) = found(&place, config)? else {
            return unsupported(format!("{place} is an api_config_source only"));
        };
        if !is_aggregated(api.value) {
            return unsupported(format!(
                "{place}: its api_type is AGGREGATED_GRPC or AGGREGATED_DELTA_GRPC only"
            ));
        }
        if services(api.value).is_empty() {
            return unsupported(format!("{place} has no grpc_services"));
        }
        let names: Vec<String> = authorities(config).collect();
        if names.is_empty() && !is_default {
            return unsupported(format!("{place} has no authorities"));
        }
        let source = Source { variant: variant(api)?, servers: servers(root, api)? };
        let number = identity.add(source);
        for name in names {
            // The first that lists an authority has it.
            if !identity.authorities.iter().any(|(known, _)| *known == name) {
                identity.authorities.push((name, number));
            }
        }
        if is_default {
            identity.others = FallbackServer::Server(number);
        }
    }
    Ok(())
}

/// The authorities that a `ConfigSource` lists.
fn authorities(config: &Value) -> impl Iterator<Item = String> {
    list(field(config, "authorities")).iter().map(|one| text(field(one, "name")).unwrap_or_default())
}

fn found<'a>(place: &'a str, config: &'a Value) -> Result<Found<'a>, BootstrapError> {
    if config.is_null() {
        return Ok(Found::Nowhere);
    }
    let value = field(config, "api_config_source");
    if value.is_object() {
        return Ok(Found::Own(Api { place, value, aggregated: false }));
    }
    if field(config, "ads").is_object() {
        return Ok(Found::Ads);
    }
    let path =
        text(field(field(config, "path_config_source"), "path")).or_else(|| text(field(config, "path")));
    match path {
        Some(path) => Ok(Found::File(path)),
        None => unsupported(format!("{place} has no api_config_source, no ads and no path_config_source")),
    }
}

fn variant(source: Api<'_>) -> Result<Variant, BootstrapError> {
    let api = field(source.value, "api_type").as_str().unwrap_or_default();
    Ok(match (api, source.aggregated) {
        ("GRPC", true) | ("AGGREGATED_GRPC", _) => Variant::Ads,
        ("DELTA_GRPC", true) | ("AGGREGATED_DELTA_GRPC", _) => Variant::DeltaAds,
        ("GRPC", false) => Variant::Sotw,
        ("DELTA_GRPC", false) => Variant::Delta,
        ("REST", false) => Variant::Rest,
        (other, _) => return unsupported(format!("{}: api_type `{other}` is not supported", source.place)),
    })
}

fn servers(root: &Value, source: Api<'_>) -> Result<Vec<Upstream>, BootstrapError> {
    let mut out = Vec::new();
    for service in services(source.value).iter().filter(|service| service.is_object()) {
        let headers = list(field(service, "initial_metadata")).iter();
        let headers = headers.filter_map(|pair| Some((text(&pair["key"])?, text(&pair["value"])?)));
        let headers: Vec<_> = headers.collect();
        let (google, envoy) = (field(service, "google_grpc"), field(service, "envoy_grpc"));
        if google.is_object() {
            out.push(google_grpc(google, headers)?);
        } else if let Some(name) = field(envoy, "cluster_name").as_str() {
            let authority = text(field(envoy, "authority"));
            out.extend(cluster(root, source.place, name, authority, &headers)?);
        } else {
            return unsupported(format!(
                "{}: a grpc_service without envoy_grpc and google_grpc",
                source.place
            ));
        }
    }
    for name in list(field(source.value, "cluster_names")).iter().filter_map(Value::as_str) {
        out.extend(cluster(root, source.place, name, None, &[])?);
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
