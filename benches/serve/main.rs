//! Measures how fast `xdscope serve --mode script` sends a recording.
//!
//! At full speed, as a ratio to a bare h2 server that sends the same prepared bytes to the same
//! counting client in the same run; at the recorded pace, as the delay of each response.
//!
//! `cargo bench --bench serve` prints one line per figure; `-- --quick` runs less. Each server is a
//! separate process, and the client is this one. Rounds alternate between the servers; figures are
//! medians over rounds.

mod bare;
mod client;
#[path = "../clusters/mod.rs"]
mod clusters;
mod recording;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use recording::Load;

/// Interval between two responses at the recorded pace.
const PACE: Duration = Duration::from_millis(10);

/// Time for a new server to finish reading descriptors in the background.
const SETTLE: Duration = Duration::from_millis(300);

/// The server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Only h2, with all bytes prepared.
    Bare,
    /// `xdscope serve` without a session file.
    Serve,
    /// `xdscope serve` with a session file.
    Recording,
}

const ALL: [Who; 3] = [Who::Bare, Who::Serve, Who::Recording];

impl Who {
    fn word(self) -> &'static str {
        match self {
            Who::Bare => "bare h2",
            Who::Serve => "serve",
            Who::Recording => "serve, records",
        }
    }

    /// Starts the server and returns its address.
    fn start(self, load: Load, speed: &str, folder: &Path) -> Option<(Child, SocketAddr)> {
        let mut command = match self {
            Who::Bare => {
                let mut command = Command::new(std::env::current_exe().expect("this program"));
                command.args(["bare", load.word()]).stderr(Stdio::piped());
                command
            }
            Who::Serve | Who::Recording => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_xdscope"));
                command.arg("serve").arg(load.file(folder));
                command.args(["--listen", "127.0.0.1:0", "--mode", "script", "--speed", speed, "--no-tui"]);
                command.env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder);
                if self == Who::Serve {
                    command.arg("--no-record");
                }
                command
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a server");
        let says = |line: String| line.split_once("listening on ")?.1.split(' ').next()?.parse().ok();
        let find = |stderr| BufReader::new(stderr).lines().map_while(Result::ok).find_map(says);
        let address = child.stderr.take().and_then(find);
        match address {
            Some(address) => {
                std::thread::sleep(SETTLE);
                Some((child, address))
            }
            None => {
                end(child);
                None
            }
        }
    }
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [word, load] = args.as_slice()
        && word == "bare"
        && let Some(load) = Load::parse(load)
    {
        bare::run(load.pushes());
        return ExitCode::SUCCESS;
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    let rounds = if quick { 1 } else { 7 };
    let folder = std::env::temp_dir().join(format!("xdscope-bench-serve-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let done = full(rounds, &folder).and_then(|()| paced(&folder));
    let _ = fs::remove_dir_all(&folder);
    if done.is_none() {
        let _ = writeln!(std::io::stderr(), "a server did not answer");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn line(text: &str) {
    writeln!(std::io::stdout(), "{text}").expect("stdout");
}

/// Measures the time from the request to the last byte.
fn full(rounds: usize, folder: &Path) -> Option<()> {
    for load in [Load::Large, Load::Small] {
        let bytes: usize = load.pushes().iter().map(|push| push.len()).sum();
        load.record(folder, Duration::from_micros(1));
        let mut figures: Vec<Vec<f64>> = ALL.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (who, figures) in ALL.into_iter().zip(&mut figures) {
                let (child, address) = who.start(load, "max", folder)?;
                let took = client::take(address, bytes);
                end(child);
                figures.push(took?.as_secs_f64());
            }
        }
        line(&format!(
            "{}, {:.1} MB, as fast as the client takes it (aim: 0.85 x)",
            load.about(),
            bytes as f64 / 1e6
        ));
        let base = figures.first().map_or(f64::NAN, |bare| median(bare.clone()));
        for (who, of) in ALL.into_iter().zip(figures) {
            let took = median(of);
            line(&format!(
                "  {:<16}{:>9.1} ms{:>9.0} MB/s{:>8.2} x",
                who.word(),
                took * 1e3,
                bytes as f64 / took / 1e6,
                base / took
            ));
        }
    }
    Some(())
}

/// Returns the times at which a thread wakes that only sleeps until each deadline.
fn bare_timer(rounds: usize) -> Vec<Duration> {
    let start = Instant::now();
    let wake = |i: usize| {
        std::thread::sleep((start + PACE * i as u32).saturating_duration_since(Instant::now()));
        start.elapsed()
    };
    (1..=rounds).map(wake).collect()
}

/// Returns the delays relative to the smallest one, in milliseconds: p50, p99, maximum.
fn lateness(times: &[Duration]) -> [f64; 3] {
    let after = |i: usize| PACE.as_secs_f64() * i as f64;
    let offsets: Vec<f64> = times.iter().enumerate().map(|(i, at)| at.as_secs_f64() - after(i)).collect();
    let least = offsets.iter().copied().fold(f64::INFINITY, f64::min);
    let mut late: Vec<f64> = offsets.iter().map(|offset| (offset - least) * 1e3).collect();
    late.sort_by(f64::total_cmp);
    let of = |share: f64| late.get((late.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
    [of(0.5), of(0.99), of(0.999_999)]
}

/// Measures the delays of responses against the recording, next to the machine's own timer as the
/// lower bound.
fn paced(folder: &Path) -> Option<()> {
    let load = Load::Paced;
    load.record(folder, PACE);
    let sizes: Vec<usize> = load.pushes().iter().map(|push| push.len()).collect();
    let (child, address) = Who::Recording.start(load, "1", folder)?;
    let arrived = client::arrivals(address, &sizes);
    end(child);
    let late = lateness(&arrived?);
    let bare = lateness(&bare_timer(sizes.len()));
    line(&format!("{}, one each {PACE:?}, at the recorded pace (aim: p99 1 ms)", load.about()));
    let row = |what: &str, [p50, p99, most]: [f64; 3]| {
        line(&format!("  {what:<16}{p50:>9.3} ms p50{p99:>9.3} ms p99{most:>9.3} ms at most"));
    };
    row("bare timer", bare);
    row("late", late);
    row("late, less bare", std::array::from_fn(|i| late[i] - bare[i]));
    Some(())
}
