//! Soak of an armed tap with screens that go back in time, under load and attacks.
//!
//! `cargo test` runs it for some seconds. For an hour, of a release build:
//!
//! ```text
//! XDSCOPE_SOAK_SECONDS=3600 cargo test --release --test it armed_soak -- --nocapture
//! ```

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::behaviour::hostile::armed::made_you_reset;
use crate::behaviour::verbs::screen::Terminal;
use crate::support::bombs;
use crate::support::process::free_port;
use crate::support::soak::{self, Load};
use crate::support::tap::process_memory;
use crate::support::wait::{pass, wait_for, wait_within};

/// The environment variable with the time of the soak, and the time without one.
const SECONDS: &str = "XDSCOPE_SOAK_SECONDS";
const SHORT: f64 = 8.0;

/// The environment variable that has the screens go back all the time, not in the first quarter
/// only.
const JUMPS: &str = "XDSCOPE_SOAK_JUMPS";

/// A soak of this time and more has a first quarter with which the last one is compared.
const LONG: f64 = 90.0;

/// Samples of a soak.
const SAMPLES: u32 = 60;

/// `--memory` of the tap, and what it may have beyond that.
const BUDGET: usize = 64 << 20;
const MAX_EXTRA: usize = 64 << 20;

/// `--drain` of the tap, and what a busy machine may add.
const DRAIN: &str = "2s";
const MAX_END: Duration = Duration::from_secs(2 + 3);

/// Time within which a screen is back at the present, and time for an attack.
const KEY_TIME: Duration = Duration::from_secs(5);
const ATTACK_TIME: Duration = Duration::from_secs(1);

/// The word in the title of screens that have gone back.
const REWOUND: &str = "REWOUND";

/// Faults for one half of the streams.
const FAULTS: [&str; 6] = [
    "node:odd-* kind:nack => drop nth=1",
    "node:odd-* kind:push => duplicate every=11",
    "node:odd-* kind:push => drop every=29",
    "node:odd-* kind:push => bounce refused every=13",
    "node:odd-* => reset every=401",
    "node:odd-* kind:push => delay 40ms",
];

/// The state of the tap at one moment.
struct Sample {
    /// Memory without the pages of the program file, in bytes.
    own: usize,
    resident: usize,
    descriptors: usize,
    threads: usize,
}

impl Sample {
    fn take(process: u32) -> Sample {
        let count =
            |what: &str| std::fs::read_dir(format!("/proc/{process}/{what}")).map_or(0, Iterator::count);
        Sample {
            own: process_memory(process, "RssAnon:").expect("a process"),
            resident: process_memory(process, "VmRSS:").expect("a process"),
            descriptors: count("fd"),
            threads: count("task"),
        }
    }
}

/// Sends one of the attacks, as far as the tap reads.
fn attack(tap: SocketAddr, number: u32) {
    let bytes = match number % 6 {
        0 => made_you_reset(2_000),
        1 => bombs::connection(&bombs::header_references()),
        2 => bombs::connection(&bombs::names()),
        3 => bombs::connection(&bombs::open_streams()),
        4 => bombs::connection(&bombs::empty_features()),
        _ => bombs::connection(&bombs::unfinished_messages(20)),
    };
    let Ok(mut client) = TcpStream::connect(tap) else { return };
    client.set_write_timeout(Some(ATTACK_TIME)).expect("a timeout");
    // The tap may slow a client that floods, or end its connection.
    let _ = client.write_all(&bytes);
}

/// Goes back some messages, and then to the present.
fn jump(terminal: &mut Terminal) {
    terminal.press("3,");
    // The first jump reads the session file.
    let _ = wait_within(KEY_TIME, || terminal.text().contains(REWOUND).then_some(()));
    terminal.press(",,");
    terminal.press("f");
    let _ = wait_within(KEY_TIME, || (!terminal.text().contains(REWOUND)).then_some(()));
    terminal.press("1");
}

fn median(samples: &[Sample], figure: fn(&Sample) -> usize) -> usize {
    let mut figures: Vec<_> = samples.iter().map(figure).collect();
    figures.sort_unstable();
    figures[figures.len() / 2]
}

/// Compares the last quarter with the second one. Returns words for each figure, and whether the
/// last quarter has at most a little more.
fn growth(samples: &[Sample]) -> Vec<(String, bool)> {
    let quarter = samples.len() / 4;
    let (early, late) = (&samples[quarter..2 * quarter], &samples[samples.len() - quarter..]);
    let figures: [(&str, fn(&Sample) -> usize, usize); 3] = [
        ("bytes of memory", |sample| sample.own, 12 << 20),
        ("descriptors", |sample| sample.descriptors, 16),
        ("threads", |sample| sample.threads, 2),
    ];
    let compare = |(what, figure, more): (&str, fn(&Sample) -> usize, usize)| {
        let (early, late) = (median(early, figure), median(late, figure));
        let words = format!("{what}: {early} in the second quarter, {late} in the last one");
        (words, late <= early + more)
    };
    figures.into_iter().map(compare).collect()
}

#[test]
fn armed_soak() {
    let seconds = std::env::var(SECONDS).ok().map_or(SHORT, |text| text.parse().expect("seconds"));
    let jumps_on = std::env::var_os(JUMPS).is_some();
    let folder = tempfile::tempdir().expect("a folder");
    let (plane, listen) = (soak::control_plane().to_string(), format!("127.0.0.1:{}", free_port()));
    let folder = folder.path().to_str().expect("a path");
    let mut args = vec!["tap", &plane, "--listen", &listen, "--record", folder];
    args.extend(["--record-max", "16MB", "--keep", "4", "--memory", "64MB", "--drain", DRAIN]);
    args.extend(FAULTS.iter().flat_map(|fault| ["--fault", fault]));
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_xdscope"), &args);
    let tap: SocketAddr = listen.parse().expect("an address");
    wait_for("the tap to listen", || TcpStream::connect(tap).ok());
    let (load, process) = (Load::start(tap), terminal.process());
    let (start, step) = (Instant::now(), Duration::from_secs_f64(seconds) / SAMPLES);
    let mut samples = Vec::new();
    eprintln!("seconds  own MB  RSS MB  descriptors  threads  responses");
    for number in 0..SAMPLES {
        if seconds >= LONG || number % 20 == 0 {
            attack(tap, number);
        }
        if jumps_on || number < SAMPLES / 4 && number % 5 == 0 {
            jump(&mut terminal);
        }
        pass((step * (number + 1)).saturating_sub(start.elapsed()));
        let sample = Sample::take(process);
        eprintln!(
            "{:<8.0} {:<7.1} {:<7.1} {:<12} {:<8} {}",
            start.elapsed().as_secs_f64(),
            sample.own as f64 / 1e6,
            sample.resident as f64 / 1e6,
            sample.descriptors,
            sample.threads,
            load.received(),
        );
        samples.push(sample);
    }
    assert!(load.received() > 0, "clients receive pushes");
    // The streams are open, and go on until the signal.
    terminal.signal("TERM");
    let signalled = Instant::now();
    assert_eq!(terminal.end(), 143);
    let ended = signalled.elapsed();
    eprintln!("ended {ended:.1?} after SIGTERM");
    load.stop();
    terminal.assert_restored();
    assert!(ended < MAX_END, "{ended:?} with --drain {DRAIN}");
    let most = samples.iter().map(|sample| sample.own).max().expect("samples");
    assert!(most < BUDGET + MAX_EXTRA, "{most} bytes with --memory 64MB");
    let growth = if seconds >= LONG { growth(&samples) } else { Vec::new() };
    growth.iter().for_each(|(words, _)| eprintln!("{words}"));
    assert!(growth.iter().all(|(_, is_flat)| *is_flat), "{growth:?}");
}
