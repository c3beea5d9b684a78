//! Flags of the verbs that run until they are stopped: `tap`, `demo` and `serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::*;
use crate::app::demo::Scenario;
use crate::peers::server::PlaybackSpeed;
use crate::sources::ReplayPosition;

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

/// TLS of the verbs that listen.
#[derive(Clone, Debug, Args)]
pub struct ListenFlags {
    /// Listen with TLS: the certificate that clients get (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires = "listen_key")]
    pub listen_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub listen_key: Option<PathBuf>,
    /// Clients must present a certificate of these CAs (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub listen_client_ca: Option<PathBuf>,
}

/// `tap`: proxy streams to a control plane, show and record them.
#[derive(Clone, Debug, Args)]
pub struct TapArgs {
    /// The control plane: host:port or unix:/path
    #[arg(value_name = "SERVER", required_unless_present = "map")]
    pub server: Option<String>,
    /// Where clients connect to
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:18001")]
    pub listen: String,
    #[command(flatten)]
    pub secure: ListenFlags,
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

/// `serve`: be the control plane.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// A recording, raw JSONL, an arrow script, a file or a directory of resources; `-` is stdin, a bare name a kept
    /// session
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Where clients connect to: host:port or unix:/path
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:18000")]
    pub listen: String,
    #[command(flatten)]
    pub secure: ListenFlags,
    /// snapshot: what the server had sent last, to whatever client asks; script: the recorded responses, as they were
    #[arg(long, value_name = "MODE", default_value = "snapshot")]
    pub mode: ServeMode,
    /// As of when: start, end, nack, #487, 14:02:08, +30s. A script ends there
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub at: ReplayPosition,
    /// Of this recorded stream or node, to all clients. Without it a node gets its own, others get the union
    #[arg(long, value_name = "NODE|#N")]
    pub stream: Option<StreamPick>,
    /// How fast a script is played: so many times the recorded speed, or `max`: as fast as the client takes it. 1 unless
    /// said
    #[arg(long, value_name = "TIMES", value_parser = pace, conflicts_with = "step")]
    pub speed: Option<PlaybackSpeed>,
    /// One response of a script at a time: Enter on stdin sends the next
    #[arg(long)]
    pub step: bool,
    /// Read SOURCE again when it changes, and push what changed
    #[arg(long)]
    pub reload: bool,
    #[command(flatten)]
    pub live: LiveFlags,
}

/// What `serve` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ServeMode {
    Snapshot,
    Script,
}

fn pace(text: &str) -> Result<PlaybackSpeed, String> {
    if text == "max" {
        return Ok(PlaybackSpeed::Full);
    }
    let times = text.trim_end_matches('x').parse().ok().filter(|times| (0.01..=1000.0).contains(times));
    times.map(PlaybackSpeed::Times).ok_or_else(|| "expected a number from 0.01 to 1000, or max".into())
}

/// `demo`: a built-in control plane and clients on loopback.
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

fn scenario(text: &str) -> Result<Scenario, String> {
    Scenario::ALL.into_iter().find(|scenario| scenario.word() == text).ok_or_else(|| {
        let words: Vec<_> = Scenario::ALL.iter().map(|scenario| scenario.word()).collect();
        format!("one of {}", words.join(", "))
    })
}
