//! Flags of the verbs that run until they are stopped: `tap` and `demo`.

use std::path::PathBuf;
#[cfg(feature = "net")]
use std::time::Duration;

use clap::Args;

use super::*;
#[cfg(feature = "net")]
use crate::net::demo::Scenario;

/// Flags of the verbs that run until they are stopped.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Live")]
pub struct LiveFlags {
    /// Print one line per event (text, the default without a terminal) or object per line
    #[arg(short, long, value_name = "FORMAT")]
    #[arg(value_parser = formats(&[Format::Text, Format::Jsonl]))]
    pub output: Option<Format>,
    /// No screens: one line per event
    #[arg(long, visible_alias = "headless")]
    pub no_tui: bool,
    /// The screen to begin with
    #[arg(long, value_name = "SCREEN", conflicts_with = "no_tui")]
    pub view: Option<String>,
    /// No key changes what goes on the wire (a tap's never do)
    #[arg(long)]
    pub read_only: bool,
    /// Only events that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Times of day, or seconds from the start, or from the row before
    #[arg(long, value_name = "FORM", default_value = "local")]
    pub time: TimeFormat,
    /// The session file; without it a new one among the kept sessions
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    pub record: Option<PathBuf>,
    /// Keep no session file
    #[arg(long)]
    pub no_record: bool,
    /// Keep private keys, tokens and the like as they are
    #[arg(long)]
    pub keep_secrets: bool,
    /// What a client has applied, beside what it is sent on the Stream screen: a config dump of Envoy, or a CSDS answer;
    /// read again when it changes
    #[arg(long, value_name = "FILE")]
    pub applied: Option<PathBuf>,
    #[command(flatten)]
    pub screens: ScreenFlags,
    #[command(flatten)]
    pub timers: TimerFlags,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// `tap`: proxy streams to a control plane, show and record them.
#[cfg(feature = "net")]
#[derive(Clone, Debug, Args)]
pub struct TapArgs {
    /// The control plane: host:port or unix:/path
    #[arg(value_name = "SERVER", required_unless_present = "map")]
    pub server: Option<String>,
    /// Where clients connect to
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:18001")]
    pub listen: String,
    /// Listen with TLS: the certificate that clients get (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires = "listen_key")]
    pub listen_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub listen_key: Option<PathBuf>,
    /// Clients must present a certificate of these CAs (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub listen_client_ca: Option<PathBuf>,
    /// LISTEN=UPSTREAM; once for each pair
    #[arg(long, value_name = "LISTEN=UPSTREAM")]
    pub map: Vec<String>,
    /// Print this Envoy or gRPC bootstrap with its servers replaced by the tap, and end
    #[arg(long, value_name = "FILE")]
    pub rewrite_bootstrap: Option<PathBuf>,
    /// Forward and count only: nothing is decoded, shown or recorded
    #[arg(long, conflicts_with_all = ["record", "view", "filter", "output"])]
    pub no_decode: bool,
    /// How long a connection to the control plane may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub connect_timeout: Duration,
    #[command(flatten)]
    pub live: LiveFlags,
}

/// `demo`: a built-in control plane and clients on loopback.
#[cfg(feature = "net")]
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Which of its nodes take part (`--list`)
    #[arg(long, value_name = "NAME", default_value = "tour", value_parser = scenario)]
    pub scenario: Scenario,
    /// Print the scenarios
    #[arg(long)]
    pub list: bool,
    /// Another seed, other resources
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub live: LiveFlags,
}

#[cfg(feature = "net")]
fn scenario(text: &str) -> Result<Scenario, String> {
    Scenario::ALL.into_iter().find(|scenario| scenario.word() == text).ok_or_else(|| {
        let words: Vec<_> = Scenario::ALL.iter().map(|scenario| scenario.word()).collect();
        format!("one of {}", words.join(", "))
    })
}
