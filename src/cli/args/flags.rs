//! Groups of flags that several verbs take.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::ClientFlags;
use super::values::*;

/// How the screens look.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Screens")]
pub struct ScreenFlags {
    /// Colours and weights: the terminal's own, none, or bright and bold
    #[arg(long, value_name = "THEME", default_value = "default")]
    pub theme: ThemeWord,
    /// At most five frames a second
    #[arg(long)]
    pub slow_link: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeWord {
    Default,
    Mono,
    Contrast,
}

/// The source of a verb that looks at what was recorded, or at what a server says now.
#[derive(Clone, Debug, Args)]
pub struct SourceArgs {
    /// A server (host:port, http://, https://, unix:/path), a recording, raw JSONL, an arrow script, a file or a
    /// directory of resources; `-` is stdin, a bare name a kept session. With --bootstrap the server is that of it
    #[arg(value_name = "SOURCE", index = 1)]
    #[arg(default_value = "", hide_default_value = true, required_unless_present = "bootstrap")]
    pub source: String,
    /// What to ask a server for, where the verb has words for that.
    #[arg(skip)]
    pub ask: Vec<String>,
    /// What is no response is looked at too: what is wrong with it is what is asked for.
    #[arg(skip)]
    pub accept_broken: bool,
    /// How long a server may take, where the verb says so.
    #[arg(skip)]
    pub patience: Option<Duration>,
    #[command(flatten)]
    pub client: ClientFlags,
    /// Leave secrets in what raw JSONL and scripts hold; recordings have none left
    #[arg(long, help_heading = "Source")]
    pub keep_secrets: bool,
    #[command(flatten)]
    pub timers: TimerFlags,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// Limits of what is seen and kept.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Source")]
pub struct TimerFlags {
    /// A name asked for and not delivered for this long is MISS
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    pub resource_timeout: Duration,
    /// A push without an answer for this long is STALE
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub stale_after: Duration,
    /// Messages kept at hand; beyond it the oldest lose their bodies, never their rows
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = bytes)]
    pub memory: u64,
}

/// Descriptors beside the built-in ones. Later wins in the order built-in, reflection, proto, protoset.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Descriptors")]
pub struct DescriptorFlags {
    /// A descriptor set beside the built-in one (protoc --descriptor_set_out, buf build -o)
    #[arg(long, value_name = "FILE")]
    pub protoset: Vec<PathBuf>,
    /// A .proto file
    #[arg(long, value_name = "FILE")]
    pub proto: Vec<PathBuf>,
    /// A directory to find .proto files in
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// A server to ask for its types (gRPC server reflection, v1 or v1alpha)
    #[arg(long, value_name = "SERVER")]
    pub reflection: Option<String>,
    /// A type to ask it for beside those of its services, such as what it puts into an Any
    #[arg(long, value_name = "TYPE", requires = "reflection")]
    pub reflection_symbol: Vec<String>,
    #[command(flatten)]
    pub connect: ConnectFlags,
}

/// Which rows, and how they stand.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Rows")]
pub struct RowArgs {
    /// Only this stream or node
    #[arg(long, value_name = "NODE|#N")]
    pub stream: Option<StreamPick>,
    /// Only rows that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// No line of column titles
    #[arg(long)]
    pub no_headers: bool,
}

/// How servers are connected to: the upstreams of a tap, and the server of --reflection.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectFlags {
    /// No TLS to the server; the default is TLS, but for loopback and unix sockets
    #[arg(long, conflicts_with_all = ["insecure", "cacert", "cert", "servername"])]
    pub plaintext: bool,
    /// TLS, and any certificate will do
    #[arg(long, conflicts_with = "cacert")]
    pub insecure: bool,
    /// TLS, and trust these CAs (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// TLS, with this client certificate (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// TLS, with this name to ask for (SNI) and to verify
    #[arg(long, value_name = "NAME")]
    pub servername: Option<String>,
    /// The HTTP/2 :authority to ask for; on a tap in place of its clients'
    #[arg(long, value_name = "NAME")]
    pub authority: Option<String>,
    /// A header to add (`name: value`); on a tap in place of what its clients send under that name
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub header: Vec<String>,
    /// A file with a bearer token to send; read again for each stream; not on a tap
    #[arg(long, value_name = "FILE", conflicts_with = "token_env")]
    pub token_file: Option<PathBuf>,
    /// An environment variable that holds the bearer token; not on a tap
    #[arg(long, value_name = "NAME")]
    pub token_env: Option<String>,
}
