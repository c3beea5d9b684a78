//! Measures the time for `xdscope watch` to receive, verify and ACK a push of 100,000 clusters, as
//! ratios to a tonic client that decodes it with prost, counts the resources and sends an ACK in
//! the same run.
//!
//! `cargo bench --bench client` prints one table; `-- --quick` runs less. Each client is a separate
//! process, and the control plane is this one. Rounds alternate between the clients; figures are
//! medians over rounds.

#[path = "../clusters/mod.rs"]
mod clusters;
mod counts;
mod server;

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use server::Server;

/// The client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Counts with tonic and prost.
    Tonic,
    /// `xdscope watch` with its rules, without a session file.
    Watch,
    /// `xdscope watch` with a session file.
    Recording,
}

const ALL: [Who; 3] = [Who::Tonic, Who::Watch, Who::Recording];

impl Who {
    fn word(self) -> &'static str {
        match self {
            Who::Tonic => "tonic, counts",
            Who::Watch => "watch",
            Who::Recording => "watch, records",
        }
    }

    fn start(self, server: SocketAddr, folder: &std::path::Path) -> Child {
        let server = server.to_string();
        let mut command = match self {
            Who::Tonic => {
                let mut command = Command::new(std::env::current_exe().expect("this program"));
                command.args(["counts", &server]);
                command
            }
            Who::Watch | Who::Recording => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_xdscope"));
                command.args(["watch", &server, "cds", "--no-expand", "--no-tui", "--quiet"]);
                command.env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder);
                if self == Who::Watch {
                    command.arg("--no-record");
                }
                command
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("a client")
    }
}

/// Returns the peak memory of a process in bytes.
fn peak(process: &Child) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib =
        line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|kib| kib.trim().parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib * 1024.0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Times from push to ACK, for the first push and for one changed cluster, and the peak memory.
#[derive(Default)]
struct Figures {
    first: Vec<f64>,
    again: Vec<f64>,
    memory: Vec<f64>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [word, server] = args.as_slice()
        && word == "counts"
    {
        counts::run(server);
        return ExitCode::SUCCESS;
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    let (count, rounds) = if quick { (10_000, 1) } else { (100_000, 7) };
    let pushes = [clusters::push(count, 1, 0), clusters::push(count, 2, count / 2)];
    let size = pushes[0].len() as f64;
    let folder = std::env::temp_dir().join(format!("xdscope-bench-client-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let mut figures: Vec<Figures> = ALL.iter().map(|_| Figures::default()).collect();
    for _ in 0..rounds {
        for (who, figures) in ALL.into_iter().zip(&mut figures) {
            let server = Server::start(pushes.to_vec());
            let mut client = who.start(server.address, &folder);
            let next = || server.acked.recv_timeout(Duration::from_secs(60)).map(|took| took.as_secs_f64());
            let (first, again) = (next(), next());
            figures.memory.push(peak(&client) / size);
            let _ = client.kill();
            let _ = client.wait();
            let (Ok(first), Ok(again)) = (first, again) else {
                let _ = writeln!(std::io::stderr(), "{} did not answer", who.word());
                return ExitCode::FAILURE;
            };
            figures.first.push(first);
            figures.again.push(again);
        }
    }
    let _ = fs::remove_dir_all(&folder);
    table(&figures, count, size);
    ExitCode::SUCCESS
}

fn table(figures: &[Figures], count: usize, size: f64) {
    let mut out = std::io::stdout().lock();
    let mut line = |text: String| writeln!(out, "{text}").expect("stdout");
    line(format!(
        "receive, verify and ACK {count} clusters in {:.1} MB (aims: time 1.3 x tonic, memory 2.5 x the message)",
        size / 1e6
    ));
    line(format!("{:<16}{:>12}{:>9}{:>12}{:>9}{:>11}", "", "first ms", "x", "again ms", "x", "memory x"));
    let base =
        |of: fn(&Figures) -> &Vec<f64>| figures.first().map_or(f64::NAN, |tonic| median(of(tonic).clone()));
    let (first_base, again_base) = (base(|of| &of.first), base(|of| &of.again));
    for (who, of) in ALL.into_iter().zip(figures) {
        let (first, again, memory) =
            (median(of.first.clone()), median(of.again.clone()), median(of.memory.clone()));
        line(format!(
            "{:<16}{:>12.1}{:>9.2}{:>12.1}{:>9.2}{:>11.2}",
            who.word(),
            first * 1e3,
            first / first_base,
            again * 1e3,
            again / again_base,
            memory
        ));
    }
}
