//! Flags of xdscope as a client, and of `watch` and `wait`, which only a client has.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::*;
use xdscope_wire::event::ApiVersion;

/// Identity and behaviour of xdscope as a client.
///
/// Offline sources ignore these flags; the default is for them.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Client")]
pub struct ClientFlags {
    /// Protocol variant: SotW or delta, aggregated or one stream per type, or REST polling
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<VariantWord>,
    /// API version of the discovery services
    #[arg(long, value_name = "VERSION", default_value = "v3", visible_alias = "api")]
    pub transport_api_version: ApiWord,
    /// API version of the requested types [default: that of the services]
    #[arg(long, value_name = "VERSION")]
    pub resource_api_version: Option<ApiWord>,
    /// Delay between REST polls, plus up to a quarter [default: the bootstrap's, or 1s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub poll_delay: Option<Duration>,
    /// How long a server may hold a REST poll [default: the bootstrap's, or 60s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub poll_timeout: Option<Duration>,
    /// Send REST polls with field names of .proto files (version_info), as Envoy does
    #[arg(long)]
    pub poll_proto_names: bool,
    /// Take node, server and variant from an Envoy or gRPC bootstrap; flags override it
    #[arg(long, value_name = "FILE")]
    pub bootstrap: Option<PathBuf>,
    /// Whether the server comes from the bootstrap because SOURCE is missing.
    #[arg(skip)]
    pub server_of_bootstrap: bool,
    /// Take node, variant and subscriptions from a recorded client; STREAM is a number or a node
    #[arg(long, value_name = "RECORDING#STREAM")]
    pub like: Option<String>,
    /// Read the node from a JSON or YAML file
    #[arg(long, value_name = "FILE")]
    pub node_file: Option<PathBuf>,
    /// Announce a client feature; repeatable
    #[arg(long, value_name = "NAME")]
    pub client_feature: Vec<String>,
    /// The node of a pod, once kubectl has found it.
    #[arg(skip)]
    pub node_of_pod: Option<serde_json::Value>,
    /// Node id [default: xdscope-PID]
    #[arg(long, value_name = "ID", visible_alias = "service-node")]
    pub node_id: Option<String>,
    /// Node cluster
    #[arg(long, value_name = "NAME", visible_alias = "service-cluster")]
    pub node_cluster: Option<String>,
    /// Node locality
    #[arg(long, value_name = "REGION/ZONE/SUBZONE")]
    pub node_locality: Option<String>,
    /// Add a string to the node metadata; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub node_metadata: Vec<String>,
    /// Also subscribe to what resources refer to, as Envoy does; the default without WHAT
    #[arg(long, conflicts_with = "no_expand")]
    pub expand: bool,
    /// Subscribe to WHAT only
    #[arg(long)]
    pub no_expand: bool,
    /// Subscribe to everything with an empty list, as Envoy does; the default in SotW
    #[arg(long, conflicts_with = "explicit_wildcard")]
    pub legacy_wildcard: bool,
    /// Subscribe to everything with the name `*`; the default in delta
    #[arg(long)]
    pub explicit_wildcard: bool,
    /// Follow redirects and lists of xdstp: names; the default if WHAT has such a name
    #[arg(long)]
    pub xdstp: bool,
    /// Server of an authority of xdstp: names; other authorities then have none; repeatable
    #[arg(long, value_name = "NAME=SERVER")]
    pub xdstp_authority: Vec<String>,
    /// How to answer pushes; validate also NACKs what cannot be decoded or breaks a constraint
    #[arg(long, value_name = "WHO", default_value = "auto")]
    pub ack: AckWord,
    /// Delay of each ACK and NACK
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    pub ack_delay: Duration,
    /// NACK responses that match, with this text: 'type:cds version:42 => not today'
    #[arg(long, value_name = "EXPR => TEXT")]
    pub nack: Vec<String>,
    /// Timeout of each step of connecting
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub connect_timeout: Duration,
    /// Interval of HTTP/2 keepalive pings; 0s for none
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub keepalive: Duration,
    /// Timeout of a keepalive ping
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub keepalive_timeout: Duration,
    /// Size limit of a received message
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = bytes)]
    pub max_message_size: u64,
}

/// `--variant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VariantWord {
    Ads,
    DeltaAds,
    Sotw,
    Delta,
    Rest,
}

/// `--transport-api-version`, `--resource-api-version`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ApiWord {
    #[value(alias = "V2")]
    V2,
    #[default]
    #[value(alias = "V3")]
    V3,
}

impl From<ApiWord> for ApiVersion {
    fn from(word: ApiWord) -> ApiVersion {
        match word {
            ApiWord::V2 => ApiVersion::V2,
            ApiWord::V3 => ApiVersion::V3,
        }
    }
}

/// `--ack`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AckWord {
    #[default]
    Auto,
    Validate,
    Ask,
    Never,
}

/// `watch`: be a client and stay subscribed.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("node_file", |arg| arg.alias("node")))]
pub struct WatchArgs {
    /// Control plane (host:port, http://, https://, unix:/path), or a file or directory of
    /// responses
    #[arg(value_name = "SERVER", required_unless_present_any = ["bootstrap", "like"], value_parser = source)]
    pub server: Option<String>,
    /// TYPE or TYPE/NAME: cds, cds/reviews, eds/* [default: all listeners and clusters, expanded]
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,
    /// Exit with success when this condition holds (without screens), as in `wait`
    #[arg(long, value_name = "CONDITION")]
    pub until: Option<String>,
    #[command(flatten)]
    pub client: ClientFlags,
    #[command(flatten)]
    pub live: LiveFlags,
}

/// `wait`: block until a condition holds.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("node_file", |arg| arg.alias("node")))]
pub struct WaitArgs {
    /// Condition: synced, nack, or a filter over resources ('type:cds name:reviews version:43')
    #[arg(value_name = "CONDITION", index = 2, default_value = "", hide_default_value = true)]
    #[arg(required_unless_present = "bootstrap")]
    pub condition: String,
    /// Give up after this time
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub timeout: Duration,
    /// Require all of this many nodes to meet the condition, in a growing recording
    #[arg(long, value_name = "N")]
    pub nodes: Option<u64>,
    #[command(flatten)]
    pub source: SourceArgs,
}
