use std::time::Duration;

use serde_json::Value;

use xdscope_wire::event::Variant;
use xdscope_wire::pb::{Fields, Value as FieldValue};

/// Fields that hold the `ConfigSource` of the names beside them.
pub(super) const CONFIG_SOURCE_FIELDS: [&str; 4] =
    ["config_source", "eds_config", "sds_config", "leds_config"];

// Field numbers of `ConfigSource`, `ApiConfigSource` and `Duration`, and values of `api_type`. The
// tests of `ReferenceFinder` compare them with the descriptors.
const PATH: u32 = 1;
const API_CONFIG_SOURCE: u32 = 2;
const ADS: u32 = 3;
const INITIAL_FETCH_TIMEOUT: u32 = 4;
const SELF: u32 = 5;
const PATH_CONFIG_SOURCE: u32 = 8;
const API_TYPE: u32 = 1;
const CLUSTER_NAMES: u32 = 2;
const GRPC_SERVICES: u32 = 4;
const ENVOY_GRPC: u32 = 1;
const CLUSTER_NAME: u32 = 1;
const SECONDS: u32 = 1;
const NANOS: u32 = 2;
const REST: u64 = 1;
const GRPC: u64 = 2;
const DELTA_GRPC: u64 = 3;
const AGGREGATED_GRPC: u64 = 5;
const AGGREGATED_DELTA_GRPC: u64 = 6;

/// The kind of a `ConfigSource` (`docs/protocol.md#i-05`, `docs/protocol.md#i-06`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// `ads`, or an `api_config_source` with an aggregated `api_type`.
    Ads,
    /// `self`: the source of the referring resource.
    Own,
    /// A separate SotW stream for the type.
    Grpc,
    /// A separate delta stream for the type.
    DeltaGrpc,
    /// Polling with HTTP requests.
    Rest,
    /// A watched file.
    Path,
}

impl SourceKind {
    /// All kinds of sources.
    pub const ALL: [SourceKind; 6] = [
        SourceKind::Ads,
        SourceKind::Own,
        SourceKind::Grpc,
        SourceKind::DeltaGrpc,
        SourceKind::Rest,
        SourceKind::Path,
    ];

    /// Returns the field name or `api_type` that stands for the kind in a `ConfigSource`.
    pub fn word(self) -> &'static str {
        match self {
            SourceKind::Ads => "ads",
            SourceKind::Own => "self",
            SourceKind::Grpc => "GRPC",
            SourceKind::DeltaGrpc => "DELTA_GRPC",
            SourceKind::Rest => "REST",
            SourceKind::Path => "path",
        }
    }

    /// Whether a subscription of this protocol variant uses a source of this kind. `None` if
    /// unknown.
    pub fn matches_variant(self, variant: Variant) -> Option<bool> {
        Some(match self {
            SourceKind::Ads => variant.is_aggregated(),
            SourceKind::Own => return None,
            SourceKind::Grpc => variant == Variant::Sotw,
            SourceKind::DeltaGrpc => variant == Variant::Delta,
            SourceKind::Rest => variant == Variant::Rest,
            SourceKind::Path => variant == Variant::File,
        })
    }

    /// Returns the kind of a `ConfigSource` in protobuf JSON with the original field names.
    pub fn of(config: &Value) -> Option<SourceKind> {
        if config.get("ads").is_some() {
            return Some(SourceKind::Ads);
        }
        if config.get("self").is_some() {
            return Some(SourceKind::Own);
        }
        if config.get("path").is_some() || config.get("path_config_source").is_some() {
            return Some(SourceKind::Path);
        }
        match config.get("api_config_source")?.get("api_type")?.as_str()? {
            "GRPC" => Some(SourceKind::Grpc),
            "DELTA_GRPC" => Some(SourceKind::DeltaGrpc),
            "AGGREGATED_GRPC" | "AGGREGATED_DELTA_GRPC" => Some(SourceKind::Ads),
            "REST" => Some(SourceKind::Rest),
            _ => None,
        }
    }

    /// Whether resources of this source come neither with the referring resource nor over ADS.
    pub fn is_other(self) -> bool {
        !matches!(self, SourceKind::Ads | SourceKind::Own)
    }

    /// Returns the kind of a serialized `ConfigSource`.
    pub(super) fn from_bytes(config: &[u8]) -> Option<SourceKind> {
        let kinds = Fields::new(config).map_while(Result::ok).filter_map(|field| match field.number {
            PATH | PATH_CONFIG_SOURCE => Some(Some(SourceKind::Path)),
            ADS => Some(Some(SourceKind::Ads)),
            SELF => Some(Some(SourceKind::Own)),
            API_CONFIG_SOURCE => {
                let api = Fields::new(field.bytes()).map_while(Result::ok);
                let api_type = api.filter(|field| field.number == API_TYPE).last();
                Some(match api_type.map(|field| field.varint()) {
                    Some(REST) => Some(SourceKind::Rest),
                    Some(GRPC) => Some(SourceKind::Grpc),
                    Some(DELTA_GRPC) => Some(SourceKind::DeltaGrpc),
                    Some(AGGREGATED_GRPC | AGGREGATED_DELTA_GRPC) => Some(SourceKind::Ads),
                    _ => None,
                })
            }
            _ => None,
        });
        // The last member of a oneof wins.
        kinds.last().flatten()
    }
}

/// A config source apart from ADS and from the source of the referring resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSource {
    /// The kind of the source.
    pub kind: SourceKind,
    /// The file, or the cluster or target URI of the server. `None` if the source states none.
    pub place: Option<String>,
}

impl OtherSource {
    /// Returns the source that a `ConfigSource` in protobuf JSON with the original field names
    /// states. `None` for ADS and `self`.
    pub(super) fn of(config: &Value) -> Option<OtherSource> {
        let kind = SourceKind::of(config).filter(|kind| kind.is_other())?;
        let path = || config.get("path").or_else(|| config.get("path_config_source")?.get("path"));
        let server = || {
            let api = config.get("api_config_source")?;
            let service = api.get("grpc_services").and_then(|services| services.get(0));
            let envoy = service.and_then(|service| service.get("envoy_grpc")?.get("cluster_name"));
            let google = service.and_then(|service| service.get("google_grpc")?.get("target_uri"));
            envoy.or(google).or_else(|| api.get("cluster_names")?.get(0))
        };
        let place = if kind == SourceKind::Path { path() } else { server() };
        let place = place.and_then(Value::as_str).filter(|place| !place.is_empty());
        Some(OtherSource { kind, place: place.map(str::to_owned) })
    }
}

/// Returns the cluster that a serialized `ConfigSource` names in its `api_config_source`.
pub(super) fn cluster_from_bytes(config: &[u8]) -> Option<Box<str>> {
    let api = last_member(config, API_CONFIG_SOURCE)?;
    let service = last_member(api, GRPC_SERVICES).and_then(|service| last_member(service, ENVOY_GRPC));
    let name = match service {
        Some(envoy) => last_member(envoy, CLUSTER_NAME),
        None => last_member(api, CLUSTER_NAMES),
    };
    let name = std::str::from_utf8(name?).ok()?;
    (!name.is_empty()).then(|| name.into())
}

/// Returns the `initial_fetch_timeout` that a serialized `ConfigSource` states.
pub(super) fn timeout_from_bytes(config: &[u8]) -> Option<Duration> {
    let stated = last_member(config, INITIAL_FETCH_TIMEOUT)?;
    let (mut seconds, mut nanos) = (0, 0);
    for field in Fields::new(stated).map_while(Result::ok) {
        match field.number {
            SECONDS => seconds = field.varint(),
            NANOS => nanos = field.varint(),
            _ => {}
        }
    }
    Some(Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos)))
}

/// Returns the bytes of the last field with this number.
fn last_member(message: &[u8], number: u32) -> Option<&[u8]> {
    let fields = Fields::new(message).map_while(Result::ok);
    let last = fields.filter(|field| field.number == number).last()?;
    match last.value {
        FieldValue::Len(bytes) => Some(bytes),
        _ => None,
    }
}

/// Returns the `ConfigSource` in a message that refers to a resource.
pub(super) fn config_source_of(value: &Value) -> Option<&Value> {
    CONFIG_SOURCE_FIELDS.iter().find_map(|field| value.get(field))
}

/// The lookup of the server for an `xdstp://` name by the authority in the name.
///
/// See `docs/protocol.md#k-23` and `docs/protocol.md#k-24`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorityLookup {
    /// The config source beside the name lists the authority.
    ConfigSource {
        /// The authority in the name, which may be empty.
        authority: String,
    },
    /// The config source does not list the authority, so the client looks in its bootstrap.
    Bootstrap {
        /// The authority in the name, which may be empty.
        authority: String,
    },
}

impl AuthorityLookup {
    /// Returns the lookup for a name with the `ConfigSource` beside the name. `None` if the name
    /// has no authority.
    pub fn of(name: &str, config: Option<&Value>) -> Option<AuthorityLookup> {
        let authority = name.strip_prefix("xdstp://")?.split('/').next().unwrap_or_default().to_owned();
        let listed = config.and_then(|config| config.get("authorities")).and_then(Value::as_array);
        let is_authority =
            |one: &Value| one.get("name").and_then(Value::as_str).unwrap_or_default() == authority;
        Some(if listed.is_some_and(|all| all.iter().any(is_authority)) {
            AuthorityLookup::ConfigSource { authority }
        } else {
            AuthorityLookup::Bootstrap { authority }
        })
    }
}
