//! Flags of `check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::*;
use xdscope_wire::event::Variant;

/// `check`: a conformance check of a control plane or of a client.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("node_file", |arg| arg.alias("node")))]
pub struct CheckArgs {
    /// Control plane to check (host:port, http://, https://, unix:/path)
    #[arg(value_name = "SERVER", required_unless_present_any = ["listen", "list_rows", "bootstrap"])]
    #[arg(value_parser = source)]
    pub server: Option<String>,
    /// TYPE/NAME to ask for, of a server without wildcards: cds/reviews cds/cart
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,
    /// Check the client that connects to this address, with a control plane that misbehaves
    #[arg(long = "client", value_name = "LISTEN", conflicts_with_all = ["server", "bootstrap"])]
    pub listen: Option<String>,
    /// Variant to check; repeatable [default: all four]
    #[arg(long, value_name = "VARIANT", conflicts_with = "listen")]
    pub variant: Vec<CheckVariant>,
    /// Row to check; repeatable [default: all]
    #[arg(long, value_name = "ID")]
    pub row: Vec<String>,
    /// Print all rows, with the rule of the protocol that each one tests, and exit
    #[arg(long)]
    pub list_rows: bool,
    /// Command that changes the server; XDSCOPE_CHANGE_KIND says how: update, remove or restore
    #[arg(long, value_name = "CMD", conflicts_with = "listen")]
    pub change: Option<String>,
    /// How long the peer may take for an answer that must come
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub timeout: Duration,
    /// How long to wait for a message that must not come
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = time)]
    pub settle: Duration,
    /// With --client: how long the client may take to connect, at first and again
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time, requires = "listen")]
    pub connect_within: Duration,
    /// Print a table, all with the exchanges of rows that have not passed, JSON, or JUnit
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output", default_value = "table")]
    pub format: CheckFormat,
    /// Take server and node from an Envoy or gRPC bootstrap
    #[arg(long, value_name = "FILE", help_heading = "Client")]
    pub bootstrap: Option<PathBuf>,
    /// Read the node from a JSON or YAML file
    #[arg(long, value_name = "FILE", conflicts_with = "listen", help_heading = "Client")]
    pub node_file: Option<PathBuf>,
    /// Node id [default: xdscope-PID]
    #[arg(long, value_name = "ID", conflicts_with = "listen", help_heading = "Client")]
    pub node_id: Option<String>,
    /// Node cluster
    #[arg(long, value_name = "NAME", conflicts_with = "listen", help_heading = "Client")]
    pub node_cluster: Option<String>,
    /// Add a string to the node metadata; repeatable
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "listen", help_heading = "Client")]
    pub node_metadata: Vec<String>,
    #[command(flatten)]
    pub secure: ListenFlags,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// `--variant` of `check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckVariant {
    Ads,
    DeltaAds,
    Sotw,
    Delta,
}

impl CheckVariant {
    /// Returns the word of `--variant` that a client has for it.
    pub fn client_word(of: Variant) -> VariantWord {
        match of {
            Variant::DeltaAds => VariantWord::DeltaAds,
            Variant::Sotw => VariantWord::Sotw,
            Variant::Delta => VariantWord::Delta,
            _ => VariantWord::Ads,
        }
    }
}

impl From<CheckVariant> for Variant {
    fn from(word: CheckVariant) -> Variant {
        match word {
            CheckVariant::Ads => Variant::Ads,
            CheckVariant::DeltaAds => Variant::DeltaAds,
            CheckVariant::Sotw => Variant::Sotw,
            CheckVariant::Delta => Variant::Delta,
        }
    }
}

/// Formats of `check -o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    Table,
    Wide,
    Json,
    Jsonl,
    Junit,
}
