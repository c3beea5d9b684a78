use serde_json::Value;

use crate::wire::event::Variant;
use crate::wire::pb::Fields;

/// Fields that hold the `ConfigSource` of what is named beside them.
pub(super) const CONFIG_SOURCE_FIELDS: [&str; 4] =
    ["config_source", "eds_config", "sds_config", "leds_config"];

// Fields of `ConfigSource` and `ApiConfigSource`, and the values of `api_type`. A test holds them against the descriptors.
const PATH: u32 = 1;
const API_CONFIG_SOURCE: u32 = 2;
const ADS: u32 = 3;
const SELF: u32 = 5;
const PATH_CONFIG_SOURCE: u32 = 8;
const API_TYPE: u32 = 1;
const REST: u64 = 1;
const GRPC: u64 = 2;
const DELTA_GRPC: u64 = 3;
const AGGREGATED_GRPC: u64 = 5;
const AGGREGATED_DELTA_GRPC: u64 = 6;

/// What kind of source a resource names for another one: the `ConfigSource` beside the name (rows I-05, I-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// `ads`, and an `api_config_source` of an aggregated type.
    Ads,
    /// `self`: the source that the resource itself came from.
    Own,
    /// A stream of the type's own.
    Grpc,
    /// The same, delta.
    DeltaGrpc,
    Rest,
    /// A file.
    Path,
}

impl SourceKind {
    pub const ALL: [SourceKind; 6] = [
        SourceKind::Ads,
        SourceKind::Own,
        SourceKind::Grpc,
        SourceKind::DeltaGrpc,
        SourceKind::Rest,
        SourceKind::Path,
    ];

    /// As a `ConfigSource` says it.
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

    /// Whether a subscription of this variant is one to such a source; `None` where it can't be told.
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

    /// Of a `ConfigSource` in protobuf JSON with the API's own field names.
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

    /// Of the bytes of a `ConfigSource`.
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
        // Of a oneof the last stands.
        kinds.last().flatten()
    }
}

/// The `ConfigSource` that stands beside a reference: `value` is the message that refers.
pub(super) fn config_source_of(value: &Value) -> Option<&Value> {
    CONFIG_SOURCE_FIELDS.iter().find_map(|field| value.get(field))
}

/// How the server for a structured name is found: by the authority in it (rows K-23 and K-24).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorityLookup {
    /// The source beside the name lists its authority.
    ConfigSource { authority: String },
    /// It does not, so the bootstrap tells.
    Bootstrap { authority: String },
}

impl AuthorityLookup {
    /// `config` is the `ConfigSource` beside the name.
    pub(super) fn of(name: &str, config: Option<&Value>) -> Option<AuthorityLookup> {
        let authority = name.strip_prefix("xdstp://")?.split('/').next().unwrap_or_default().to_owned();
        let listed = config.and_then(|config| config.get("authorities")).and_then(Value::as_array);
        let is_it = |one: &Value| one.get("name").and_then(Value::as_str).unwrap_or_default() == authority;
        Some(match listed.is_some_and(|all| all.iter().any(is_it)) {
            true => AuthorityLookup::ConfigSource { authority },
            false => AuthorityLookup::Bootstrap { authority },
        })
    }
}

impl std::fmt::Display for AuthorityLookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AuthorityLookup::ConfigSource { authority } => {
                write!(f, "by the source beside it, which lists authority `{authority}`")
            }
            AuthorityLookup::Bootstrap { authority } => {
                write!(f, "by the bootstrap's authority `{authority}`")
            }
        }
    }
}
