//! Envoy's bootstrap: `dynamic_resources`, `config_sources`, and the static clusters or
//! `google_grpc` targets that they lead to.

use serde_json::Value;

use super::config::FallbackServer;
use super::config::{BootstrapConfig, BootstrapError, ConfigSource, XdsServer, unsupported};
use super::envoy_tls::{google_grpc, transport_socket};
use crate::bootstrap::fields::{self, field, list, text};
use crate::bootstrap::{Document, address_text, grpc_services};
use xdscope_wire::event::{Kind, Variant};
use xdscope_wire::text::parse_duration;

/// Endpoints of an xDS cluster that are tried.
const MAX_ENDPOINTS: usize = 16;

/// An `ApiConfigSource` and its path in the bootstrap.
#[derive(Clone, Copy)]
struct ApiSource<'a> {
    path: &'a str,
    value: &'a Value,
    is_ads: bool,
}

/// The place that a `ConfigSource` leads to.
enum Origin<'a> {
    Unset,
    Ads,
    Api(ApiSource<'a>),
    File(String),
}

/// Types that listeners refer to.
///
/// A `ConfigSource` in a resource tells only whether the referenced resource comes over the ADS. If
/// not, or if there is no ADS, xdscope asks the source of the listeners or of the clusters.
const LISTENER_TYPES: [Kind; 4] = [Kind::Rds, Kind::Srds, Kind::Vhds, Kind::Ecds];

/// Types that clusters refer to.
const CLUSTER_TYPES: [Kind; 2] = [Kind::Eds, Kind::Leds];

/// The fields of `dynamic_resources` for one type.
struct RootType {
    kind: Kind,
    config: &'static str,
    locator: &'static str,
    referenced: &'static [Kind],
}

const ROOT_TYPES: [RootType; 2] = [
    RootType {
        kind: Kind::Lds,
        config: "lds_config",
        locator: "lds_resources_locator",
        referenced: &LISTENER_TYPES,
    },
    RootType {
        kind: Kind::Cds,
        config: "cds_config",
        locator: "cds_resources_locator",
        referenced: &CLUSTER_TYPES,
    },
];

/// Reads a bootstrap as Envoy 1.40 does.
pub(super) fn read(document: &Document) -> Result<BootstrapConfig, BootstrapError> {
    let config = BootstrapConfig { node: document.node().clone(), ..BootstrapConfig::default() };
    let mut reader = Reader { document, config, files: Vec::new() };
    if let Some(value) = document.ads_config() {
        reader.add_api_source(ApiSource { path: fields::ADS_CONFIG, value, is_ads: true })?;
    }
    for root_type in &ROOT_TYPES {
        reader.read_root_type(root_type)?;
    }
    if reader.config.initial_types.is_empty() && !reader.files.is_empty() {
        return unsupported(reader.files.join("; "));
    }
    reader.config.notes.append(&mut reader.files);
    reader.read_config_sources()?;
    reader.read_clusters();
    Ok(reader.config)
}

struct Reader<'a> {
    document: &'a Document,
    config: BootstrapConfig,
    /// Notes about types that are read from files.
    files: Vec<String>,
}

impl<'a> Reader<'a> {
    fn has_ads(&self) -> bool {
        self.document.ads_config().is_some()
    }

    fn read_root_type(&mut self, root_type: &RootType) -> Result<(), BootstrapError> {
        let RootType { kind, config: path, locator, referenced } = *root_type;
        let (config, name) = (self.document.dynamic(path), text(self.document.dynamic(locator)));
        let number = match origin(path, config)? {
            Origin::Unset if name.is_none() => return Ok(()),
            // The authority of the name decides (docs/protocol.md#k-24).
            Origin::Unset => {
                let note = format!("{locator} has no {path} beside it: Envoy would not start");
                self.config.notes.push(note);
                self.config.initial_types.push((kind, name));
                return Ok(());
            }
            Origin::File(file) => {
                let note = format!("{path} is read from the file {file}: `xdscope watch {file}` shows it");
                self.files.push(note);
                return Ok(());
            }
            Origin::Ads if !self.has_ads() => return needs_ads(path),
            Origin::Ads => 0,
            Origin::Api(api) if is_aggregated(api.value) => self.add_aggregated(api, name.is_some())?,
            Origin::Api(api) => self.add_api_source(api)?,
        };
        if number > 0 {
            self.config.type_sources.push((kind, number));
            let has_ads = self.has_ads();
            let BootstrapConfig { type_sources, non_ads_type_sources, .. } = &mut self.config;
            let sources = if has_ads { non_ads_type_sources } else { type_sources };
            sources.extend(referenced.iter().map(|kind| (*kind, number)));
        }
        self.config.locator_sources.extend(name.iter().map(|name| (name.clone(), number)));
        self.config.initial_types.push((kind, name));
        Ok(())
    }

    /// Returns the number of a source with servers of its own.
    fn add_api_source(&mut self, api: ApiSource<'_>) -> Result<u32, BootstrapError> {
        let source = self.config_source(api)?;
        let config = &mut self.config;
        if config.poll_delay.is_none() && config.poll_timeout.is_none() {
            let time = |name| field(api.value, name).as_str().and_then(parse_duration);
            config.poll_delay = time("refresh_delay");
            config.poll_timeout = time("request_timeout");
        }
        Ok(config.find_or_add(source))
    }

    /// Returns the number of the source for an aggregated `api_type`, which means the ADS even if
    /// it names servers, and which needs a locator (`docs/protocol.md#k-25`).
    fn add_aggregated(&mut self, api: ApiSource<'_>, has_locator: bool) -> Result<u32, BootstrapError> {
        let (path, api_type) = (api.path, api_type(api.value));
        if !has_locator {
            self.config.notes.push(format!(
                "{path} is {api_type} without a locator: Envoy would not start; use `ads: {{}}`"
            ));
        }
        let has_servers = !services(api.value).is_empty();
        match (self.has_ads(), has_servers) {
            (true, false) => Ok(0),
            (true, true) => {
                self.config.notes.push(format!(
                    "{path} is {api_type}: the ADS is asked, as Envoy does, not its grpc_services"
                ));
                Ok(0)
            }
            (false, false) => needs_ads(path),
            (false, true) => {
                self.config
                    .notes
                    .push(format!("{path} is {api_type}, and there is no ads_config: Envoy would not start"));
                self.add_api_source(api)
            }
        }
    }

    /// Reads `config_sources` and `default_config_source`, which serve authorities
    /// (`docs/protocol.md#k-24`). Each has a stream of its own (`docs/protocol.md#k-25`). Names of
    /// other authorities are asked for where the referring resource says.
    fn read_config_sources(&mut self) -> Result<(), BootstrapError> {
        let root = self.document.root();
        let listed = list(field(root, "config_sources")).iter().enumerate();
        let listed = listed.map(|(index, config)| (format!("config_sources[{index}]"), config));
        let default = field(root, DEFAULT_CONFIG_SOURCE);
        let default = (!default.is_null()).then(|| (DEFAULT_CONFIG_SOURCE.to_owned(), default));
        let all: Vec<(String, &Value)> = listed.chain(default).collect();
        match runtime_flag(root, CONFIG_SOURCES_FLAG) {
            _ if all.is_empty() => return Ok(()),
            Some(true) => {}
            Some(false) => {
                let note = format!("config_sources have no effect: {CONFIG_SOURCES_FLAG} is false");
                self.config.notes.push(note);
                return Ok(());
            }
            None => self.config.notes.push(format!(
                "config_sources are asked; Envoy 1.40 asks them only if its runtime has \
                 {CONFIG_SOURCES_FLAG}, which this bootstrap does not set"
            )),
        }
        if self.config.sources.is_empty() {
            self.config.fallback = FallbackServer::Nobody;
        }
        for (path, config) in all {
            self.add_authority_source(&path, config)?;
        }
        Ok(())
    }

    fn add_authority_source(&mut self, path: &str, config: &Value) -> Result<(), BootstrapError> {
        let is_default = path == DEFAULT_CONFIG_SOURCE;
        let Origin::Api(api) = origin(path, config)? else {
            return unsupported(format!("{path} is not an api_config_source; others are not supported"));
        };
        if !is_aggregated(api.value) {
            return unsupported(format!(
                "{path}: its api_type is not AGGREGATED_GRPC or AGGREGATED_DELTA_GRPC"
            ));
        }
        if services(api.value).is_empty() {
            return unsupported(format!("{path} has no grpc_services"));
        }
        let authorities = list(field(config, fields::AUTHORITIES)).iter();
        let names: Vec<_> =
            authorities.map(|authority| text(field(authority, "name")).unwrap_or_default()).collect();
        if names.is_empty() && !is_default {
            return unsupported(format!("{path} has no authorities"));
        }
        let source = self.config_source(api)?;
        let number = self.config.add(source);
        let known = &mut self.config.authority_sources;
        for name in names {
            // The first source that lists an authority serves it.
            if !known.iter().any(|(other, _)| *other == name) {
                known.push((name, number));
            }
        }
        if is_default {
            self.config.fallback = FallbackServer::Server(number);
        }
        Ok(())
    }

    /// Reads the static clusters that can be asked. Others cannot be sources either.
    fn read_clusters(&mut self) {
        for cluster in self.document.static_clusters() {
            let Some(name) = field(cluster, "name").as_str() else { continue };
            if let Ok(servers) = self.cluster("static_resources", name, None, &[]) {
                self.config.clusters.push((name.to_owned(), servers));
            }
        }
    }

    fn config_source(&self, api: ApiSource<'_>) -> Result<ConfigSource, BootstrapError> {
        Ok(ConfigSource { variant: variant(api)?, servers: self.servers(api)? })
    }

    fn servers(&self, api: ApiSource<'_>) -> Result<Vec<XdsServer>, BootstrapError> {
        let mut out = Vec::new();
        for service in services(api.value).iter().filter(|service| service.is_object()) {
            let headers = list(field(service, "initial_metadata")).iter();
            let headers = headers.filter_map(|pair| Some((text(&pair["key"])?, text(&pair["value"])?)));
            let headers: Vec<_> = headers.collect();
            let google = field(service, fields::GOOGLE_GRPC);
            let envoy = field(service, fields::ENVOY_GRPC);
            if google.is_object() {
                out.push(google_grpc(google, headers)?);
            } else if let Some(name) = field(envoy, fields::CLUSTER_NAME).as_str() {
                let authority = text(field(envoy, "authority"));
                out.extend(self.cluster(api.path, name, authority, &headers)?);
            } else {
                return unsupported(format!(
                    "{}: a grpc_service without envoy_grpc and google_grpc",
                    api.path
                ));
            }
        }
        let names = list(field(api.value, fields::CLUSTER_NAMES)).iter();
        for name in names.filter_map(Value::as_str) {
            out.extend(self.cluster(api.path, name, None, &[])?);
        }
        if out.is_empty() { Err(BootstrapError::NoServer) } else { Ok(out) }
    }

    /// The endpoints of a static cluster, with its TLS settings.
    fn cluster(
        &self,
        path: &str,
        name: &str,
        authority: Option<String>,
        headers: &[(String, String)],
    ) -> Result<Vec<XdsServer>, BootstrapError> {
        let mut clusters = self.document.static_clusters().iter();
        let Some(cluster) = clusters.find(|cluster| cluster["name"] == name) else {
            return unsupported(format!(
                "{path} names the cluster {name}, which is missing in static_resources"
            ));
        };
        let mut addresses = Vec::new();
        collect_addresses(cluster, &mut addresses);
        if addresses.is_empty() {
            return unsupported(format!("the cluster {name} has no endpoint in the bootstrap"));
        }
        let tls = transport_socket(cluster, name)?;
        let server = |address| XdsServer {
            address,
            tls: tls.clone(),
            authority: authority.clone(),
            headers: headers.to_vec(),
        };
        Ok(addresses.into_iter().take(MAX_ENDPOINTS).map(server).collect())
    }
}

fn needs_ads<T>(path: &str) -> Result<T, BootstrapError> {
    unsupported(format!("{path} asks for ADS, and there is no ads_config"))
}

fn api_type(api: &Value) -> &str {
    field(api, fields::API_TYPE).as_str().unwrap_or_default()
}

fn is_aggregated(api: &Value) -> bool {
    api_type(api).starts_with("AGGREGATED_")
}

fn services(api: &Value) -> &[Value] {
    api.as_object().map_or(&[], grpc_services)
}

const DEFAULT_CONFIG_SOURCE: &str = "default_config_source";

/// The runtime flag without which Envoy 1.40 connects to `config_sources` and subscribes to
/// nothing.
const CONFIG_SOURCES_FLAG: &str = "envoy.reloadable_features.xdstp_based_config_singleton_subscriptions";

/// Returns a flag of the bootstrap's static runtime layers. The last layer wins.
fn runtime_flag(root: &Value, name: &str) -> Option<bool> {
    let layers = list(field(field(root, "layered_runtime"), "layers")).iter().rev();
    layers.filter_map(|layer| field(layer, "static_layer").get(name)).find_map(|value| match value {
        Value::Bool(on) => Some(*on),
        Value::String(word) => word.parse().ok(),
        _ => None,
    })
}

fn origin<'a>(path: &'a str, config: &'a Value) -> Result<Origin<'a>, BootstrapError> {
    if config.is_null() {
        return Ok(Origin::Unset);
    }
    let value = field(config, fields::API_CONFIG_SOURCE);
    if value.is_object() {
        return Ok(Origin::Api(ApiSource { path, value, is_ads: false }));
    }
    if field(config, "ads").is_object() {
        return Ok(Origin::Ads);
    }
    let file = text(field(field(config, "path_config_source"), "path"));
    match file.or_else(|| text(field(config, "path"))) {
        Some(file) => Ok(Origin::File(file)),
        None => unsupported(format!("{path} has no api_config_source, ads or path_config_source")),
    }
}

fn variant(api: ApiSource<'_>) -> Result<Variant, BootstrapError> {
    Ok(match (api_type(api.value), api.is_ads) {
        ("GRPC", true) | ("AGGREGATED_GRPC", _) => Variant::Ads,
        ("DELTA_GRPC", true) | ("AGGREGATED_DELTA_GRPC", _) => Variant::DeltaAds,
        ("GRPC", false) => Variant::Sotw,
        ("DELTA_GRPC", false) => Variant::Delta,
        ("REST", false) => Variant::Rest,
        (other, _) => return unsupported(format!("{}: api_type `{other}` is not supported", api.path)),
    })
}

/// Collects each `address` below a cluster, in order and once.
fn collect_addresses(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            // v2 lists the addresses themselves (docs/protocol.md#l-20).
            let hosts = object.get("hosts").map(list).unwrap_or_default();
            for address in hosts.iter().filter_map(address_text) {
                if !out.contains(&address) {
                    out.push(address);
                }
            }
            let address = object.get(fields::ADDRESS).filter(|address| address.is_object());
            match address.and_then(address_text) {
                Some(address) if !out.contains(&address) => out.push(address),
                Some(_) => {}
                None => object.values().for_each(|value| collect_addresses(value, out)),
            }
        }
        Value::Array(items) => items.iter().for_each(|value| collect_addresses(value, out)),
        _ => {}
    }
}
