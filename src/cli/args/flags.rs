//! Groups of flags that several verbs share.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use xdscope_present::text::shell_word;
use xdscope_tui::Themes;

use super::values::*;
use super::{ClientFlags, KubernetesFlags};

/// Appearance of the screens.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Screens")]
pub struct ScreenFlags {
    /// Colour theme; `default` has the terminal's own colours, and [themes.NAME] in config.toml
    /// adds themes
    #[arg(long, value_name = "THEME", default_value = "default")]
    #[arg(value_parser = PossibleValuesParser::new(Themes::BUILT_IN.map(|(name, _)| name)))]
    pub theme: String,
    /// Draw at most five frames per second
    #[arg(long)]
    pub slow_link: bool,
    /// Use the mouse: tabs, rows, panes, wheel; Shift and drag still selects text
    #[arg(long)]
    pub mouse: bool,
    /// Announce a new problem: by the terminal's bell, or by a notification of the desktop (OSC 9)
    #[arg(long, value_name = "HOW", default_value = "off")]
    pub notify: NotifyWord,
}

/// The ways to announce a new problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NotifyWord {
    Off,
    Bell,
    Osc9,
}

/// SOURCE of a verb, and how to read it: a recorded source, or a server that is asked now.
#[derive(Clone, Debug, Args)]
pub struct SourceArgs {
    /// Server (host:port, http://, https://, unix:/path), admin port (envoy:host:port), pods
    /// (k8s:namespace/pod), recording, capture, script, or file or directory of resources; `-` is
    /// stdin, a bare name a kept session; optional with --bootstrap (`xdscope help sources`)
    #[arg(value_name = "SOURCE", index = 1)]
    #[arg(default_value = "", hide_default_value = true, required_unless_present = "bootstrap")]
    #[arg(value_parser = source)]
    pub source: String,
    /// WHAT to request from a server, for verbs that have it.
    #[arg(skip)]
    pub ask: Vec<String>,
    /// Whether a file without a readable resource is accepted, so that the verb can report why.
    #[arg(skip)]
    pub accept_broken: bool,
    /// Timeout of a server, for verbs that set it.
    #[arg(skip)]
    pub timeout: Option<Duration>,
    #[command(flatten)]
    pub client: ClientFlags,
    /// Leave secrets in place when reading a source other than a recording
    #[arg(long, help_heading = "Source")]
    pub keep_secrets: bool,
    #[command(flatten)]
    pub timers: TimerFlags,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// Limits of states and of memory.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Source")]
pub struct TimerFlags {
    /// Report a requested name as MISS after this time without a response
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    pub resource_timeout: Duration,
    /// Report a response as STALE after this time without an ACK or NACK
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub stale_after: Duration,
    /// Memory for messages; beyond it the oldest lose their content, and a live tap drops them
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = bytes)]
    pub memory: u64,
}

/// Descriptors that add to the built-in ones. Later ones win: built-in, reflection, proto,
/// protoset.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Descriptors")]
pub struct DescriptorFlags {
    /// Descriptor set to add (protoc --descriptor_set_out, buf build -o)
    #[arg(long, value_name = "FILE")]
    pub protoset: Vec<PathBuf>,
    /// .proto file to add
    #[arg(long, value_name = "FILE")]
    pub proto: Vec<PathBuf>,
    /// Directory to search for imported .proto files
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// Server to ask for its types by gRPC reflection (v1 or v1alpha); `auto`: the server that the
    /// verb connects to, if it has reflection
    #[arg(long, value_name = "SERVER", value_parser = source)]
    pub reflection: Option<String>,
    /// Type to ask the server for, in addition to those of its services
    #[arg(long, value_name = "TYPE", requires = "reflection")]
    pub reflection_symbol: Vec<String>,
    #[command(flatten)]
    pub connect: ConnectFlags,
}

/// Selection of streams, by number or by node.
#[derive(Clone, Debug, Default, Args)]
pub struct StreamFlags {
    /// Select one stream by its number
    #[arg(long, value_name = "#N", conflicts_with = "node")]
    pub stream: Option<StreamPick>,
    /// Select the streams of a node by its id, or of the nodes that match a glob such as 'edge-*'
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
}

impl StreamFlags {
    /// The selection; `None` selects all streams.
    pub fn pick(&self) -> Option<StreamPick> {
        self.stream.clone().or_else(|| self.node.clone().map(StreamPick::Node))
    }

    /// The flags again, for a command line: ` --node edge-1`; empty without a selection.
    pub fn again(&self) -> String {
        match self.pick() {
            Some(StreamPick::Stream(number)) => format!(" --stream '#{number}'"),
            Some(StreamPick::Node(node)) => format!(" --node {}", shell_word(&node)),
            None => String::new(),
        }
    }
}

/// Selection and layout of rows.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Rows")]
pub struct RowArgs {
    #[command(flatten)]
    pub streams: StreamFlags,
    /// Select rows that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Print no column titles
    #[arg(long)]
    pub no_headers: bool,
}

/// Connection to a server: the upstream of a tap, a control plane, or the server of --reflection.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectFlags {
    /// Connect without TLS; the default for loopback and unix sockets
    #[arg(long, conflicts_with_all = ["insecure", "cacert", "cert", "servername"])]
    pub plaintext: bool,
    /// Connect with TLS, and accept any certificate
    #[arg(long, conflicts_with = "cacert")]
    pub insecure: bool,
    /// Connect with TLS, and trust these CAs (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Connect with TLS, and present this certificate (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Connect with TLS, and send (SNI) and verify this name
    #[arg(long, value_name = "NAME")]
    pub servername: Option<String>,
    /// Send this HTTP/2 :authority; a tap replaces that of its clients
    #[arg(long, value_name = "NAME")]
    pub authority: Option<String>,
    /// Send this header (`name: value`); a tap replaces that of its clients
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub header: Vec<String>,
    /// Send the bearer token in this file, read again for each stream; not for a tap
    #[arg(long, value_name = "FILE", conflicts_with = "token_env")]
    pub token_file: Option<PathBuf>,
    /// Send the bearer token in this environment variable; not for a tap
    #[arg(long, value_name = "NAME")]
    pub token_env: Option<String>,
    #[command(flatten)]
    pub kubernetes: KubernetesFlags,
}
