//! Soak: a recording tap between ends that come and go, refuse, push 39 MB and attack.
//!
//! Memory, descriptors, threads and latency must stay flat, and each message that an end received
//! must be in the recording or in a gap.

#[path = "../../../tests/it/support/bombs.rs"]
mod bombs;
mod load;
#[path = "../../../tests/it/support/raw_h2.rs"]
mod raw_h2;
mod recorded;

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use xdscope::app::recording::recording_file;
use xdscope::app::recording::recording_file::{Rotation, SessionFile};
use xdscope_engine::store;

use self::load::{Clients, Counts};
use crate::child::Hop;
use crate::data;
use crate::ends::{Pace, Server, Workload};
use crate::hop::{self, say};
use crate::measure::{median, percentile};

/// Minutes of a whole soak.
pub const MINUTES: f64 = 60.0;

/// `--memory` of the tap.
const BUDGET: usize = 128 << 20;

/// `--record-max`: the session goes on in another file after these bytes.
const MAX_FILE_BYTES: u64 = 64_000_000;

/// Lines of the report before the last one.
const REPORTS: u32 = 60;

/// Updates of a probe of the latency, and the rounds of a probe.
const PROBED_UPDATES: usize = 200;
const PROBE_ROUNDS: usize = 3;

/// Runs the tap of a soak until standard input closes: `upstreams` are the control plane, the server
/// that measures latency, and the target of attacks.
pub fn tap(folder: &str, upstreams: &[&str]) -> ExitCode {
    let path = Path::new(folder).join("soak.xdsrec");
    let file = recording_file::create(&path).expect("a file");
    let rotation = Rotation { max_bytes: Some(MAX_FILE_BYTES), ..Rotation::default() };
    let limits = store::Options { history: BUDGET, ..store::Options::default() };
    let running = hop::start_tap(upstreams, SessionFile { path, file, rotation }, None, limits, None);
    let addresses: Vec<String> = running.tap.listening.iter().map(ToString::to_string).collect();
    hop::say(&addresses.join(" "));
    hop::wait();
    running.stop();
    hop::say("stopped");
    ExitCode::SUCCESS
}

/// One line of the report.
struct Sample {
    resident: f64,
    descriptors: f64,
    threads: f64,
    /// Median and 99th percentile of push to ACK, divided by those of a plain relay.
    p50: f64,
    p99: f64,
}

/// Runs a soak and prints a line for each 60th of its time.
pub fn run(minutes: f64) -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    let counts: Arc<Counts> = Arc::default();
    let plane = load::control_plane(counts.clone());
    let probed = Server::start(None);
    let sink = sink();
    let upstreams = [plane, probed.address, sink].map(|address| address.to_string());
    let words = ["soak-tap".to_owned(), folder.path().display().to_string()];
    let tap = Hop::start(&words.into_iter().chain(upstreams).collect::<Vec<_>>());
    let relay = Hop::start(&["hop".to_owned(), "relay".to_owned(), probed.address.to_string()]);
    let clients = Clients::start(tap.addresses[0], counts.clone());
    let step = Duration::from_secs_f64(minutes * 60.0) / REPORTS;
    let (start, mut samples) = (Instant::now(), Vec::new());
    say("minute  RSS MB  peak MB  descriptors  threads  CPU %  messages  p50 x relay  p99 x relay");
    for number in 0..REPORTS {
        let (cpu, from) = (tap.cpu(), Instant::now());
        tap.forget_peak();
        attack(tap.addresses[2], number);
        load::large_pushes(tap.addresses[0], &counts);
        std::thread::sleep((step * number + step * 4 / 5).saturating_sub(start.elapsed()));
        let (p50, p99) = probe(&probed, tap.addresses[1], relay.address, &counts);
        std::thread::sleep((step * (number + 1)).saturating_sub(start.elapsed()));
        let sample = Sample {
            resident: tap.memory("VmRSS"),
            descriptors: tap.count("fd") as f64,
            threads: tap.count("task") as f64,
            p50,
            p99,
        };
        say(&format!(
            "{:<7.1} {:<7.0} {:<8.0} {:<12} {:<8} {:<6.1} {:<9} {p50:<12.2} {p99:.2}",
            start.elapsed().as_secs_f64() / 60.0,
            sample.resident,
            tap.memory("VmHWM"),
            sample.descriptors,
            sample.threads,
            (tap.cpu() - cpu) / from.elapsed().as_secs_f64() * 100.0,
            counts.received.load(Ordering::Relaxed),
        ));
        samples.push(sample);
    }
    clients.stop();
    let said = tap.stop();
    relay.stop();
    summary(&samples);
    let received = counts.received.load(Ordering::Relaxed);
    let recorded = recorded::count(folder.path(), sink);
    say(&format!(
        "{} streams, {} connections; the ends received {received} messages; the recording has {} of them and \
         gaps of {}: {}; of attacks, {} messages and these gaps: {}; tap: {said}",
        counts.streams.load(Ordering::Relaxed),
        counts.connections.load(Ordering::Relaxed),
        recorded.traffic.messages,
        recorded.traffic.lost,
        if recorded.traffic.messages + recorded.traffic.lost >= received {
            "nothing is lost"
        } else {
            "LOST"
        },
        recorded.attacks.messages,
        recorded.attacks.gaps(),
    ));
    ExitCode::SUCCESS
}

/// Prints the medians of the first and the last quarter; the first samples are a warm-up.
fn summary(samples: &[Sample]) {
    let quarter = samples.len() / 4;
    let (first, last) = (&samples[quarter / 3..quarter], &samples[samples.len() - quarter..]);
    let of = |part: &[Sample], figure: fn(&Sample) -> f64| median(part.iter().map(figure).collect());
    for (word, figure) in [
        ("RSS MB", (|s| s.resident) as fn(&Sample) -> f64),
        ("descriptors", |s| s.descriptors),
        ("threads", |s| s.threads),
        ("p50 x relay", |s| s.p50),
        ("p99 x relay", |s| s.p99),
    ] {
        let (first, last) = (of(first, figure), of(last, figure));
        say(&format!(
            "{word}: {first:.2} in the first quarter, {last:.2} in the last, ratio {:.2}",
            last / first
        ));
    }
}

/// Returns the median and the 99th percentile of push to ACK through the tap, divided by those of
/// the relay.
fn probe(server: &Server, tap: SocketAddr, relay: SocketAddr, counts: &Counts) -> (f64, f64) {
    let pushes: Vec<_> = (1..=PROBED_UPDATES).map(|version| data::delta_push(version, version)).collect();
    let pace = Pace::Every(Duration::from_millis(2));
    let work = Workload { pushes, pace, delta: true, ..Workload::acked(Vec::new()) };
    let (mut through_tap, mut through_relay) = (Vec::new(), Vec::new());
    for _ in 0..PROBE_ROUNDS {
        through_relay.extend(server.run(relay, work.clone()).answers);
        through_tap.extend(server.run(tap, work.clone()).answers);
        // The first request, the pushes and their ACKs.
        counts.received.fetch_add(1 + 2 * PROBED_UPDATES as u64, Ordering::Relaxed);
    }
    through_tap.sort_unstable();
    through_relay.sort_unstable();
    let ratio = |part| percentile(&through_tap, part) / percentile(&through_relay, part);
    (ratio(0.5), ratio(0.99))
}

/// Starts a server that reads whatever comes.
fn sink() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a stream");
            std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
        }
    });
    address
}

/// Sends one of the attacks.
fn attack(to: SocketAddr, number: u32) {
    let frames = match number % 6 {
        0 => bombs::names(),
        1 => bombs::header_references(),
        2 => bombs::unknown_fields(),
        3 => bombs::open_streams(),
        4 => bombs::empty_features(),
        _ => bombs::unfinished_messages(100),
    };
    let mut client = TcpStream::connect(to).expect("a connection");
    // A tap may not end an attack, but the bench goes on if one does.
    if let Err(error) = client.write_all(&bombs::connection(&frames)) {
        say(&format!("attack {}: {error}", number % 6));
    }
}
