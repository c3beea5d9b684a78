//! Flags of the verbs that run until they are stopped: `tap`, `demo` and `serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::*;
use crate::app::demo::Scenario;
use crate::app::tap::DRAIN_TIME;
use crate::cli::command::suggest;
use xdscope_sources::ReplayPosition;
use xdscope_sources::peers::server::PlaybackSpeed;

/// Flags of the verbs that run until they are stopped.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Live")]
pub struct LiveFlags {
    /// Print one line (text) or object (jsonl) per event; text is the default without a terminal
    #[arg(short = 'o', long, value_name = "FORMAT", alias = "output")]
    #[arg(value_parser = formats(&[Format::Text, Format::Jsonl]))]
    pub format: Option<Format>,
    /// Print one line per event instead of opening screens
    #[arg(long, visible_alias = "headless")]
    pub no_tui: bool,
    /// Screen to open first
    #[arg(long, value_name = "SCREEN", conflicts_with = "no_tui")]
    pub view: Option<String>,
    /// Disable keys that change what goes on the wire
    #[arg(long)]
    pub read_only: bool,
    /// Select events that match (`xdscope help filter`)
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Show times of day, or seconds since the start or since the row before
    #[arg(long, value_name = "FORMAT", default_value = "local")]
    pub time: TimeFormat,
    /// Session file, or directory for a file of each run, as a supervisor needs [default: a new one
    /// among the kept sessions]
    #[arg(long, value_name = "FILE", conflicts_with = "no_record")]
    pub record: Option<PathBuf>,
    /// Overwrite the recording that --record names
    #[arg(long)]
    pub force: bool,
    /// Go on in another session file at this size or age (100MB, 1h); each is readable alone
    #[arg(long, value_name = "SIZE|AGE", value_parser = record_max, conflicts_with = "no_record")]
    pub record_max: Vec<RecordMax>,
    /// Number of session files of this run to keep [default: all]
    #[arg(long, value_name = "N", requires = "record_max")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Keep no session file
    #[arg(long)]
    pub no_record: bool,
    /// Leave private keys, tokens and other secrets in place
    #[arg(long)]
    pub keep_secrets: bool,
    /// Config dump, CSDS response or admin port (envoy:host:port) to compare with what the client
    /// was sent; read again when it changes
    #[arg(long, value_name = "FILE")]
    pub applied: Option<PathBuf>,
    #[command(flatten)]
    pub service: ServiceFlags,
    #[command(flatten)]
    pub screens: ScreenFlags,
    #[command(flatten)]
    pub timers: TimerFlags,
    #[command(flatten)]
    pub descriptors: DescriptorFlags,
}

/// Metrics, and the form of the log.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Service")]
pub struct ServiceFlags {
    /// Read flags from this file in TOML, by their long names; those of the command line win
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Serve metrics for Prometheus (/metrics) and probes (/livez, /readyz, /healthz) over HTTP:
    /// host:port or unix:/path
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// Let viewers elsewhere read the session (`xdscope attach`): unix:/path, or host:port with a
    /// token or client certificates
    #[arg(long, value_name = "ADDRESS")]
    pub attach: Option<String>,
    /// Viewers send the token in this file, read again for each
    #[arg(long, value_name = "FILE", requires = "attach")]
    pub attach_token_file: Option<PathBuf>,
    /// Present this certificate to viewers (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires_all = ["attach", "attach_key"])]
    pub attach_cert: Option<PathBuf>,
    /// Private key of the certificate for viewers (PEM)
    #[arg(long, value_name = "FILE", requires = "attach_cert")]
    pub attach_key: Option<PathBuf>,
    /// Require viewers to present certificates of these CAs (PEM)
    #[arg(long, value_name = "FILE", requires = "attach_cert")]
    pub attach_client_ca: Option<PathBuf>,
}

/// Limits of the verbs that copy traffic.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Copies")]
pub struct CopyFlags {
    /// Disk space for traffic that is not analysed yet, in an unlinked file; 0: drop messages
    /// instead
    #[arg(long, value_name = "SIZE", default_value = "4GB", value_parser = bytes)]
    pub spool: u64,
    /// Time at the end for traffic that is not recorded or analysed yet; a run that hangs ends then
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub drain: Duration,
}

impl Default for CopyFlags {
    fn default() -> Self {
        CopyFlags { spool: DEFAULT_SPOOL_BYTES, drain: DRAIN_TIME }
    }
}

/// Default of `--spool`.
const DEFAULT_SPOOL_BYTES: u64 = 4_000_000_000;

/// TLS of the verbs that listen.
#[derive(Clone, Debug, Args)]
pub struct ListenFlags {
    /// Listen with TLS, and present this certificate (PEM, with its chain)
    #[arg(long, value_name = "FILE", requires = "listen_key")]
    pub listen_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub listen_key: Option<PathBuf>,
    /// Require client certificates of these CAs (PEM)
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    pub listen_client_ca: Option<PathBuf>,
}

/// `tap`: proxies streams to a control plane, and shows and records them.
#[derive(Clone, Debug, Args)]
pub struct TapArgs {
    /// Control plane: host:port or unix:/path
    #[arg(value_name = "SERVER", required_unless_present = "map", value_parser = source)]
    pub server: Option<String>,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:18001")]
    pub listen: String,
    #[command(flatten)]
    pub secure: ListenFlags,
    /// Address to listen on and server to forward to; repeatable
    #[arg(long, value_name = "LISTEN=UPSTREAM")]
    pub map: Vec<String>,
    /// Check all flags and the files that they name, say what a run would do, and exit
    #[arg(long, conflicts_with = "rewrite_bootstrap", help_heading = "Service")]
    pub check_config: bool,
    /// Print this Envoy or gRPC bootstrap with its servers replaced by the tap, and exit
    #[arg(long, value_name = "FILE")]
    pub rewrite_bootstrap: Option<PathBuf>,
    /// Forward and count bytes only, without decoding, screens or recording
    #[arg(long, conflicts_with_all = ["record", "view", "filter", "format", "until", "max_time", "fault_plan"])]
    pub no_decode: bool,
    /// Timeout of a connection to the control plane
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub connect_timeout: Duration,
    #[command(flatten)]
    pub faults: FaultFlags,
    #[command(flatten)]
    pub end: EndFlags,
    #[command(flatten)]
    pub hold: HoldFlags,
    #[command(flatten)]
    pub copies: CopyFlags,
    #[command(flatten)]
    pub live: LiveFlags,
}

/// The end of a run by itself.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "End")]
pub struct EndFlags {
    /// Exit with success when this condition holds (without screens), as in `wait`
    #[arg(long, value_name = "CONDITION")]
    pub until: Option<String>,
    /// End after this time (without screens): exit code 4 if the condition of --until does not hold
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub max_time: Option<Duration>,
    /// Write the results to this file for CI systems, in the format of JUnit
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// Faults of a tap or of a control plane.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Faults")]
pub struct FaultFlags {
    /// Act on matching messages, such as 'type:cds kind:push => drop times=1', or a named fault;
    /// @FILE reads one fault a line; repeatable (`xdscope help faults`)
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<String>,
    /// Run stages of faults, such as 'for 5m: type:eds => delay 2s', and end with a summary
    #[arg(long, value_name = "FILE")]
    pub fault_plan: Option<PathBuf>,
    /// Seed of the chances of `p=`
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub fault_seed: u64,
    /// Allow faults and held messages while others than this machine can connect
    #[arg(long)]
    pub i_know: bool,
}

/// `serve`: acts as a control plane.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Recording, raw JSONL, script, or file or directory of resources; `-` is stdin, a bare name a
    /// kept session
    #[arg(value_name = "SOURCE", value_parser = source)]
    pub source: String,
    /// Address to listen on: host:port or unix:/path
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:18000")]
    pub listen: String,
    #[command(flatten)]
    pub secure: ListenFlags,
    /// snapshot: each node gets its last state, other clients the union; script: recorded responses
    #[arg(long, value_name = "MODE", default_value = "snapshot")]
    pub mode: ServeMode,
    /// State to serve, or end of the script: start, end, nack, #487, 14:02:08, +30s
    #[arg(long, value_name = "WHEN", default_value = "end")]
    pub at: ReplayPosition,
    #[command(flatten)]
    pub streams: StreamFlags,
    /// Speed of a script: a factor of the recorded speed, or max [default: 1]
    #[arg(long, value_name = "TIMES", value_parser = playback_speed, conflicts_with = "step")]
    pub speed: Option<PlaybackSpeed>,
    /// Send one response of a script for each Enter on stdin
    #[arg(long)]
    pub step: bool,
    /// Read SOURCE again when it changes, and push the changes
    #[arg(long)]
    pub reload: bool,
    #[command(flatten)]
    pub faults: FaultFlags,
    #[command(flatten)]
    pub end: EndFlags,
    #[command(flatten)]
    pub copies: CopyFlags,
    #[command(flatten)]
    pub live: LiveFlags,
}

/// Modes of `serve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ServeMode {
    Snapshot,
    Script,
}

fn playback_speed(text: &str) -> Result<PlaybackSpeed, ValueError> {
    if text == "max" {
        return Ok(PlaybackSpeed::Full);
    }
    let times = text.trim_end_matches('x').parse().ok().filter(|times| (0.01..=1000.0).contains(times));
    times.map(PlaybackSpeed::Times).ok_or(ValueError::ScriptSpeed)
}

/// `demo`: a built-in control plane and clients on loopback.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Scenario to run (see --list)
    #[arg(long, value_name = "NAME", default_value = "tour", value_parser = scenario)]
    pub scenario: Scenario,
    /// Print the scenarios
    #[arg(long)]
    pub list: bool,
    /// Seed of the generated resources
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub live: LiveFlags,
}

fn scenario(text: &str) -> Result<Scenario, ValueError> {
    Scenario::ALL.into_iter().find(|scenario| scenario.word() == text).ok_or_else(|| {
        let words: Vec<_> = Scenario::ALL.iter().map(|scenario| scenario.word()).collect();
        let near = suggest::near(text, words.iter().copied());
        let near = if near.is_empty() { String::new() } else { format!("near: {}; ", near.join(", ")) };
        ValueError::UnknownScenario { near, known: words.join(", ") }
    })
}
