//! Recordings of 1 GB of traffic: opening, seeking, replaying.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use xdscope::app::replay::{Cursor, Reading};
use xdscope_engine::analysis;
use xdscope_engine::store::Options;
use xdscope_schema::Schema;
use xdscope_sources::{SchemaCodec, Spec};
use xdscope_wire::event::Seq;

use crate::{say, traffic};

/// Costs of a process: seconds until its end, peak memory in megabytes, megabytes held at the end
/// (for seeks: the median in seconds), and its own measurement.
pub struct Took {
    pub wall: f64,
    pub peak: f64,
    pub held: f64,
    pub own: f64,
}

/// Returns a line of `/proc/self/status` in megabytes.
fn memory(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("0");
    let kb = line.trim_start_matches(':').split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1000.0
}

/// The default of `--memory`.
const MEMORY: usize = 512_000_000;

/// Reads the whole file as the screens of `replay` do, with all rules.
fn replay(file: &str) -> Cursor {
    let schema = Schema::builtin();
    let codec = SchemaCodec(schema.clone());
    let recording = xdscope_sources::start(&Spec::new(file), &codec).expect("readable").expect("a recording");
    let options = Options { history: MEMORY, ..Options::default() };
    let meaning = xdscope::app::tap::meaning(schema.clone());
    let read = Cursor::read(recording, &Reading::new(options, meaning, analysis::bounded(&schema)), None);
    let ((cursor, _), _) = read.expect("all of it");
    cursor
}

/// Performs one operation on one file and prints its costs.
pub fn child(work: &str, file: &str) -> ExitCode {
    let idle = memory("RssAnon");
    let start = Instant::now();
    let mut own = 0.0;
    let mut held = 0.0;
    match work {
        "status" | "info" | "lint" => drop(xdscope::cli::run(["xdscope", work, "-q", file].map(Into::into))),
        "status --memory 32MB" => {
            xdscope::cli::run(["xdscope", "status", "-q", "--memory", "32MB", file].map(Into::into));
        }
        "log" => drop(xdscope::cli::run(["xdscope", "log", "--tail", "1", file].map(Into::into))),
        "replay" => {
            let cursor = replay(file);
            own = start.elapsed().as_secs_f64();
            held = memory("RssAnon") - idle;
            drop(cursor);
        }
        "seek" => {
            let mut cursor = replay(file);
            let mut dice = traffic::Dice(5);
            let mut seeks = Vec::new();
            for _ in 0..200 {
                let within = cursor.messages() - cursor.before();
                let n = Seq(1 + cursor.before() + dice.roll(within as usize) as u64);
                let start = Instant::now();
                cursor.seek(cursor.of_message(n).expect("a place"));
                let store = cursor.store();
                let row = store.row_of(n).and_then(|row| store.row(row)).expect("a row");
                let bytes = store.message(n).expect("the message").bytes(store.catalog());
                assert_eq!(bytes.expect("its bytes").len() as u64, row.size);
                seeks.push(start.elapsed().as_secs_f64());
            }
            seeks.sort_by(f64::total_cmp);
            (held, own) = (seeks[seeks.len() / 2], seeks[seeks.len() - 1]);
        }
        _ => return ExitCode::FAILURE,
    }
    writeln!(std::io::stderr(), "{} {held} {own}", memory("VmHWM")).expect("somebody reads");
    ExitCode::SUCCESS
}

/// Runs [`child`] in a separate process.
pub fn run(work: &str, file: &Path) -> Took {
    let program = std::env::current_exe().expect("this program");
    let start = Instant::now();
    let mut command = Command::new(program);
    command.args(["child", work]).arg(file).stdout(Stdio::null());
    let output = command.output().expect("a process");
    let wall = start.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let mut figures = said.lines().last().unwrap_or("").split(' ').map(|n| n.parse().expect("a figure"));
    let mut next = || figures.next().expect("three figures");
    let (peak, held, own) = (next(), next(), next());
    Took { wall, peak, held, own }
}

pub fn median(mut runs: Vec<Took>) -> Took {
    runs.sort_by(|a, b| a.wall.total_cmp(&b.wall));
    runs.swap_remove(runs.len() / 2)
}

/// Writes a recording to a path; returns the bytes of traffic and of the file.
type WriteTraffic<'a> = &'a dyn Fn(&Path) -> (u64, u64);

pub fn open(quick: bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let by = if quick { 50 } else { 1 };
    let kinds: [(&str, WriteTraffic<'_>); 4] = [
        ("10,000 clusters, one changed a push", &|path| traffic::churn(path, 10_000 / by, 256, false)),
        ("100,000 clusters, one changed a push", &|path| traffic::churn(path, 100_000 / by, 26, false)),
        ("10,000 clusters in random order", &|path| traffic::churn(path, 10_000 / by, 256, true)),
        ("delta updates, all content new", &|path| {
            traffic::deltas(path, 5000, 1_700_000 / by, 1000, &mut |_| ())
        }),
    ];
    for (word, write) in kinds {
        let path = dir.path().join("large.xdsrec");
        let start = Instant::now();
        let (raw, size) = write(&path);
        say(&format!(
            "{word}: {:.2} GB of traffic in {:.1} KB, written in {:.1} s",
            raw as f64 / 1e9,
            size as f64 / 1e3,
            start.elapsed().as_secs_f64()
        ));
        let crashed = crashed(&path, size);
        let rounds = |work: &str, path: &Path| median((0..5).map(|_| run(work, path)).collect());
        let status = rounds("status", &path);
        say(&format!("  status: {:.0} ms, peak {:.0} MB", status.wall * 1e3, status.peak));
        let status = rounds("status", &crashed);
        say(&format!("  status after a crash: {:.0} ms, peak {:.0} MB", status.wall * 1e3, status.peak));
        let replay = rounds("replay", &path);
        let speed = raw as f64 / 1e6 / replay.own;
        say(&format!("  replay, rules on: {speed:.0} MB/s of traffic, peak {:.0} MB", replay.peak));
        let seek = run("seek", &path);
        say(&format!(
            "  seek to a message, its body and all that is known then: p50 {:.1} ms, at most {:.1} ms, peak {:.0} MB",
            seek.held * 1e3,
            seek.own * 1e3,
            seek.peak
        ));
        for work in ["status --memory 32MB", "info", "log", "lint"] {
            let took = run(work, &path);
            say(&format!("  {work}: {:.0} ms, peak {:.0} MB", took.wall * 1e3, took.peak));
        }
    }
}

/// Returns the file as a killed recorder leaves it.
fn crashed(path: &Path, size: u64) -> PathBuf {
    let crashed = path.with_extension("crashed.xdsrec");
    std::fs::copy(path, &crashed).expect("a copy");
    let file = std::fs::OpenOptions::new().write(true).open(&crashed).expect("the copy");
    file.set_len(size - 20).expect("a shorter copy");
    crashed
}
