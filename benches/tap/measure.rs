//! Rounds, medians and tables.

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::child::Hop;
use crate::data;
use crate::ends::{DEFAULT_WINDOW, Pace, Server, Workload};
use crate::secure::Certs;

/// The traffic that is pushed through the hops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// One cluster, push to ACK, everything on one CPU.
    Ping,
    /// 1,000 delta updates a second, everything on one CPU.
    Delta,
    /// 100,000 clusters in one message.
    Push,
    /// 50 pushes of 10,000 clusters, one changed each.
    Churn,
    /// 50 pushes of 10,000 clusters with HTTP/2's default windows.
    Windows,
    /// 1,000 connections that start at once, and an update.
    Fleet,
    /// 50,000 delta updates that do not wait for ACKs.
    Flood,
}

impl Scenario {
    pub const ALL: [Scenario; 7] = [
        Scenario::Ping,
        Scenario::Delta,
        Scenario::Push,
        Scenario::Churn,
        Scenario::Windows,
        Scenario::Fleet,
        Scenario::Flood,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Scenario::Ping => "ping",
            Scenario::Delta => "delta",
            Scenario::Push => "push",
            Scenario::Churn => "churn",
            Scenario::Windows => "windows",
            Scenario::Fleet => "fleet",
            Scenario::Flood => "flood",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Scenario::Ping => "one-cluster push to ACK (aims on one CPU: p50 1.10, p99 1.15)",
            Scenario::Delta => "1,000 delta updates a second (aim on one CPU: p50 1.12)",
            Scenario::Push => "push of 100,000 clusters (aims: p50 1.20 and 1.1 x h2, memory 64 MB)",
            Scenario::Churn => "churn, 50 pushes of 10,000 clusters (aims: wall 1.25, CPU 1.3 x h2)",
            Scenario::Windows => "churn with windows of 65,535 bytes (aim: wall 1.05)",
            Scenario::Fleet => {
                "1,000 connections, start of four types and an update (aims: wall 1.35, peak 64 KB each)"
            }
            Scenario::Flood => "50,000 delta updates at once (aim: wall 1.18, which is 0.85 of its rate)",
        }
    }

    /// Whether everything runs on one CPU, unless `plan` says.
    fn one_cpu(self, plan: Plan) -> bool {
        plan.one_cpu.unwrap_or(matches!(self, Scenario::Ping | Scenario::Delta))
    }

    fn work(self, plan: Plan) -> Workload {
        let churn = || (1..=50).map(|v| data::push(plan.clusters / 10, v, v * 7)).collect();
        let delta = |count| (1..=count).map(|v| data::delta_push(v, v)).collect();
        let base = Workload::acked(Vec::new());
        match self {
            Scenario::Ping => Workload::acked((1..=plan.pings).map(|v| data::push(1, v, 0)).collect()),
            Scenario::Delta => {
                let pace = Pace::Every(Duration::from_millis(1));
                Workload { pushes: delta(plan.pings / 2), pace, delta: true, ..base }
            }
            Scenario::Push => Workload::acked(vec![data::push(plan.clusters, 1, 0)]),
            Scenario::Churn => Workload::acked(churn()),
            Scenario::Windows => Workload { window: DEFAULT_WINDOW, ..Workload::acked(churn()) },
            Scenario::Fleet => {
                Workload { connections: plan.clusters / 100, ..Workload::acked(data::start(100)) }
            }
            Scenario::Flood => {
                Workload { pushes: delta(plan.clusters / 2), pace: Pace::Flood, delta: true, ..base }
            }
        }
    }
}

/// Number of repetitions.
#[derive(Clone, Copy)]
pub struct Plan {
    rounds: usize,
    pings: usize,
    clusters: usize,
    quick: bool,
    /// TLS on both legs.
    tls: bool,
    /// Whether everything runs on one CPU; `None`: as the scenario says.
    pub one_cpu: Option<bool>,
}

impl Plan {
    pub fn new(quick: bool, tls: bool) -> Plan {
        if quick {
            Plan { rounds: 1, pings: 200, clusters: 10_000, quick, tls, one_cpu: None }
        } else {
            Plan { rounds: 7, pings: 5_000, clusters: 100_000, quick, tls, one_cpu: None }
        }
    }
}

/// The relay is the reference of time; `h2` is the reference of CPU.
const HOPS: [&str; 5] = ["direct", "relay", "h2", "tap", "armed"];
/// With TLS the relay is the reference of both.
const TLS_HOPS: [&str; 4] = ["direct", "relay", "tap", "armed"];

/// Figures of one hop in one round.
#[derive(Clone, Copy, Default)]
struct Figures {
    p50: f64,
    p99: f64,
    wall: f64,
    cpu: f64,
    memory: f64,
}

pub fn percentile(sorted: &[Duration], part: f64) -> f64 {
    let at = ((sorted.len() - 1) as f64 * part).round() as usize;
    sorted[at].as_secs_f64() * 1e6
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn words_of(kind: &str, upstream: SocketAddr, certs: Option<&Certs>) -> Vec<String> {
    let folder = certs.map(|certs| certs.folder().display().to_string());
    ["hop".to_owned(), kind.to_owned(), upstream.to_string()].into_iter().chain(folder).collect()
}

fn round(server: &Server, hop: Option<&Hop>, work: &Workload) -> Figures {
    let to = hop.map_or(server.address, |hop| hop.address);
    let idle = hop.map_or(0.0, |hop| hop.memory("VmRSS"));
    let before = hop.map_or(0.0, Hop::cpu);
    if let Some(hop) = hop {
        hop.forget_peak();
    }
    let times = server.run(to, work.clone());
    // The remaining queue of the hop is part of its cost.
    std::thread::sleep(Duration::from_millis(300));
    let cpu = hop.map_or(0.0, Hop::cpu) - before;
    let memory = hop.map_or(0.0, |hop| hop.memory("VmHWM")) - idle;
    let wall = times.wall.as_secs_f64() * 1e6;
    let mut answers = times.answers;
    answers.sort_unstable();
    Figures { p50: percentile(&answers, 0.5), p99: percentile(&answers, 0.99), wall, cpu, memory }
}

/// Runs scenarios in this process and prints one table for each.
pub fn run(scenarios: &[Scenario], plan: Plan) -> ExitCode {
    let mut out = std::io::stdout();
    let hops: &[&str] = if plan.tls { &TLS_HOPS } else { &HOPS };
    let folder = tempfile::tempdir().expect("a folder");
    let certs = plan.tls.then(|| Certs::make(folder.path()));
    for scenario in scenarios {
        let work = scenario.work(plan);
        let bytes = work.pushes.iter().map(|push| push.len()).sum::<usize>() * work.connections;
        let server = Server::start(certs.as_ref().map(Certs::load));
        let mut all: Vec<Vec<Figures>> = vec![Vec::new(); hops.len()];
        let mut said = String::new();
        for _ in 0..plan.rounds {
            for (i, kind) in hops.iter().enumerate() {
                let hop =
                    (*kind != "direct").then(|| Hop::start(&words_of(kind, server.address, certs.as_ref())));
                if let Some(hop) = &hop {
                    // Warm-up: the first connection pays for threads and pages.
                    server.run(hop.address, Workload::acked(vec![data::push(1, 1, 0); 20]));
                }
                all[i].push(round(&server, hop.as_ref(), &work));
                if let Some(hop) = hop {
                    let words = hop.stop();
                    if !words.is_empty() {
                        said = words;
                    }
                }
            }
        }
        let of = |i: usize, figure: fn(&Figures) -> f64| median(all[i].iter().map(figure).collect());
        let (p50, p99, wall) = (of(1, |f| f.p50), of(1, |f| f.p99), of(1, |f| f.wall));
        let cpu_hop = if plan.tls { 1 } else { 2 };
        let secure = if plan.tls { ", TLS on both legs" } else { "" };
        let cpu = of(cpu_hop, |f| f.cpu).max(1e-6);
        let cpus = std::thread::available_parallelism().expect("their number");
        let mut table =
            format!("\n{}, CPUs: {cpus}{secure} ({:.1} MB)\n", scenario.title(), bytes as f64 / 1e6);
        table += "hop      p50 µs     x relay   p99 µs     x relay   wall ms    x relay   CPU s   ";
        table += &format!("x {:<5} peak MB\n", hops[cpu_hop]);
        for (i, kind) in hops.iter().enumerate() {
            let mine = (
                of(i, |f| f.p50),
                of(i, |f| f.p99),
                of(i, |f| f.wall),
                of(i, |f| f.cpu),
                of(i, |f| f.memory),
            );
            table += &format!(
                "{kind:<8} {:<10.1} {:<9.2} {:<10.1} {:<9.2} {:<10.1} {:<9.2} {:<7.3} {:<7.2} {:<.1}\n",
                mine.0,
                mine.0 / p50,
                mine.1,
                mine.1 / p99,
                mine.2 / 1e3,
                mine.2 / wall,
                mine.3,
                mine.3 / cpu,
                mine.4
            );
        }
        table += &format!("tap: {said}\n");
        out.write_all(table.as_bytes()).expect("somebody reads");
    }
    ExitCode::SUCCESS
}

/// Runs scenarios; those for one CPU run in a pinned child process.
pub fn all(scenarios: &[Scenario], plan: Plan) -> ExitCode {
    let mut free = Vec::new();
    for scenario in scenarios {
        if !scenario.one_cpu(plan) {
            free.push(*scenario);
            continue;
        }
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(program).args([
            "one-cpu",
            scenario.word(),
            if plan.quick { "quick" } else { "full" },
            if plan.tls { "tls" } else { "plain" },
        ]);
        match command.status() {
            Ok(status) => assert!(status.success(), "the one-CPU part failed: {status}"),
            Err(error) => panic!("the one-CPU part needs taskset (util-linux): {error}"),
        }
    }
    run(&free, plan)
}
