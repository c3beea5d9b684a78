//! Flags of xdscope as a client, and the verbs that only a client has: `watch` and `wait`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::*;
use crate::wire::event::ApiVersion;

/// Who xdscope is as a client, and how it behaves. The default is for sources that are no servers: nobody reads it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Client")]
pub struct ClientFlags {
    /// How the protocol is spoken: state of the world or delta, one stream or one for each type; or polls in JSON
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<VariantWord>,
    /// The version of the services that are asked
    #[arg(long, value_name = "VERSION", default_value = "v3", visible_alias = "api")]
    pub transport_api_version: ApiWord,
    /// The version of the types that are asked for, where it is not that of the services
    #[arg(long, value_name = "VERSION")]
    pub resource_api_version: Option<ApiWord>,
    /// Over REST: between polls that have nothing new to say, and up to a quarter more; the bootstrap's, else 1s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub poll_delay: Option<Duration>,
    /// Over REST: how long a server may hold a poll; the bootstrap's, else 60s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub poll_timeout: Option<Duration>,
    /// Over REST: name fields as .proto files do (version_info), as Envoy does in spite of the protocol's text, and as
    /// servers need that take nothing else
    #[arg(long)]
    pub poll_proto_names: bool,
    /// An Envoy or gRPC bootstrap: its node, server and variant, where flags don't say otherwise
    #[arg(long, value_name = "FILE")]
    pub bootstrap: Option<PathBuf>,
    /// The server is the bootstrap's too: none was typed.
    #[arg(skip)]
    pub server_of_bootstrap: bool,
    /// Be a recorded client: its node, variant and subscriptions, where flags don't say otherwise. STREAM is a number or a
    /// node
    #[arg(long, value_name = "RECORDING#STREAM")]
    pub like: Option<String>,
    /// The node, in JSON or YAML
    #[arg(long, value_name = "FILE")]
    pub node: Option<PathBuf>,
    /// A feature to announce, beside our own; may stand several times
    #[arg(long, value_name = "NAME")]
    pub client_feature: Vec<String>,
    /// The node's id; without it one of our own
    #[arg(long, value_name = "ID", visible_alias = "service-node")]
    pub node_id: Option<String>,
    /// The node's cluster
    #[arg(long, value_name = "NAME", visible_alias = "service-cluster")]
    pub node_cluster: Option<String>,
    /// Where the node says it is
    #[arg(long, value_name = "REGION/ZONE/SUBZONE")]
    pub node_locality: Option<String>,
    /// A text in the node's metadata; may stand several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub node_metadata: Vec<String>,
    /// Subscribe to what resources refer to, as Envoy does; the default where no WHAT is given
    #[arg(long, conflicts_with = "no_expand")]
    pub expand: bool,
    /// Subscribe to WHAT and nothing else
    #[arg(long)]
    pub no_expand: bool,
    /// Ask for everything by an empty list; the default in state of the world, as Envoy does
    #[arg(long, conflicts_with = "explicit_wildcard")]
    pub legacy_wildcard: bool,
    /// Ask for everything by the name `*`; the default in delta
    #[arg(long)]
    pub explicit_wildcard: bool,
    /// Structured names (xdstp:) are more than text: redirects and lists are followed; the default where WHAT has one
    #[arg(long)]
    pub xdstp: bool,
    /// The server that answers for an authority of structured names; may stand several times. Other authorities have
    /// none then
    #[arg(long, value_name = "NAME=SERVER")]
    pub xdstp_authority: Vec<String>,
    /// Who answers pushes. validate refuses what can't be decoded or breaks its type's rules; ask and never leave them open
    #[arg(long, value_name = "WHO", default_value = "auto")]
    pub ack: AckWord,
    /// How long each answer waits
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    pub ack_delay: Duration,
    /// Refuse pushes that match, with this text: 'type:cds version:42 => no thanks'
    #[arg(long, value_name = "EXPR => TEXT")]
    pub nack: Vec<String>,
    /// How long each step of connecting may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub connect_timeout: Duration,
    /// How often the server is asked whether it is still there; 0s: never
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub keepalive: Duration,
    /// How long it may take to answer that
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub keepalive_timeout: Duration,
    /// The largest message that is taken
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
pub struct WatchArgs {
    /// The control plane: host:port, http://, https:// or unix:/path; or a file with a DiscoveryResponse, or a directory
    /// of them, to read as they change
    #[arg(value_name = "SERVER", required_unless_present_any = ["bootstrap", "like"])]
    pub server: Option<String>,
    /// TYPE or TYPE/NAME: cds, cds/reviews, eds/*. Nothing: all listeners and clusters, and what they refer to
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,
    /// Without screens: end with success once this is so, as `wait` says it
    #[arg(long, value_name = "CONDITION")]
    pub until: Option<String>,
    #[command(flatten)]
    pub client: ClientFlags,
    #[command(flatten)]
    pub live: LiveFlags,
}

/// `wait`: block until a condition holds.
#[derive(Clone, Debug, Args)]
pub struct WaitArgs {
    /// synced: all that is subscribed is; nack: something is refused; or an expression over resources or states
    /// ('type:cds name:reviews version:43')
    #[arg(value_name = "CONDITION", index = 2, default_value = "", hide_default_value = true)]
    #[arg(required_unless_present = "bootstrap")]
    pub condition: String,
    /// How long to wait
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub timeout: Duration,
    /// It must hold for so many nodes, all of them; on a recording that is still growing
    #[arg(long, value_name = "N")]
    pub nodes: Option<u64>,
    #[command(flatten)]
    pub source: SourceArgs,
}
