//! Runs with faults that end by themselves, between `xdscope serve` and `xdscope watch`.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{
    process::Child,
    tap::{Recording, Tap, xdscope},
    wait::wait_for,
};

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const EDS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
const LDS: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";

/// A control plane with the clusters `reviews` and `cart`, their endpoints, and a listener.
pub struct Plane {
    serve: Tap,
    folder: tempfile::TempDir,
}

/// Writes the resources of the control plane.
fn resources(folder: &Path) {
    let file = |name: &str, resources: &str| {
        fs::write(folder.join(name), format!("version_info: \"1\"\nresources:\n{resources}"))
            .expect("written");
    };
    let cluster = |name: &str| {
        format!(
            "- \"@type\": {CDS}\n  name: {name}\n  type: EDS\n  connect_timeout: 1s\n  eds_cluster_config: {{eds_config: {{ads: {{}}}}}}\n"
        )
    };
    let endpoints = |name: &str| format!("- \"@type\": {EDS}\n  cluster_name: {name}\n");
    fs::create_dir_all(folder).expect("a folder");
    file("cds.yaml", &["reviews", "cart"].map(cluster).concat());
    file("eds.yaml", &["reviews", "cart"].map(endpoints).concat());
    file("lds.yaml", &format!("- \"@type\": {LDS}\n  name: web\n"));
}

impl Plane {
    pub fn start() -> Plane {
        Plane::with(&[])
    }

    fn with(args: &[&str]) -> Plane {
        let folder = tempfile::tempdir().expect("a folder");
        resources(&folder.path().join("resources"));
        let serve = Tap::serve(folder.path(), &folder.path().join("resources"), args);
        Plane { serve, folder }
    }

    pub fn address(&self) -> SocketAddr {
        self.serve.address()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a tap and a client, and waits for the end of the tap. Returns the exit code, the
    /// output and the recording.
    fn run(&self, args: &[&str]) -> (Option<i32>, String, Recording) {
        let folder = tempfile::tempdir_in(self.folder()).expect("a folder").keep();
        let tap = Tap::start(&folder, self.address(), args);
        let client = watch(&folder, tap.address());
        let log = folder.join("tap.log");
        let (code, recording) = tap.wait();
        drop(client);
        (code, fs::read_to_string(log).expect("the output"), recording)
    }
}

/// Starts a client of a control plane.
pub fn watch(folder: &Path, server: SocketAddr) -> Child {
    let mut command = xdscope(folder);
    command.args(["watch", &server.to_string(), "--plaintext", "--no-tui", "--no-record"]);
    Child::start(&mut command, &folder.join("watch.log"))
}

/// Runs a tap that must not start.
fn refused(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let fixed = ["tap", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--no-tui", "--no-record"];
    xdscope(folder.path()).args([&fixed[..], args].concat()).output().expect("xdscope runs")
}

fn junit(folder: &Path) -> String {
    fs::read_to_string(folder.join("results.xml")).expect("the results")
}

/// Returns the seconds after these words. Busy cores make a run longer than its times.
fn seconds_after(log: &str, words: &str) -> Option<f64> {
    let rest = log.split_once(words)?.1;
    rest.split_once('s')?.0.parse().ok()
}

#[test]
fn condition_ends_the_tap() {
    let plane = Plane::start();
    let results = plane.folder().join("results.xml");
    let results = results.to_str().expect("a path");
    for faults in [&[][..], &["--fault", "type:cds kind:push => delay 500ms"]] {
        let until = ["--until", "synced", "--max-time", "150s", "--junit", results];
        let (code, log, recording) = plane.run(&[faults, &until].concat());
        assert_eq!(code, Some(0), "{log}");
        assert!(log.contains("condition met: `synced`"), "{log}");
        assert_eq!(recording.state("cds")["state"], "synced");
        let recovered = seconds_after(&log, "; recovered within ");
        assert_eq!(recovered.is_some_and(|time| time >= 0.5), !faults.is_empty(), "{log}");
        assert_eq!(recovered.is_some(), !faults.is_empty(), "{log}");
        let tests = 1 + usize::from(!faults.is_empty());
        let junit = junit(plane.folder());
        assert!(junit.contains(&format!("<testsuites tests=\"{tests}\" failures=\"0\">")), "{junit}");
    }
}

#[test]
fn time_ends_the_tap() {
    let plane = Plane::start();
    let results = plane.folder().join("results.xml");
    let results = results.to_str().expect("a path");
    let never = ["--until", "type:cds name:nowhere", "--max-time", "1s", "--junit", results];
    let (code, log, _) = plane.run(&never);
    assert_eq!(code, Some(4), "{log}");
    let waited = seconds_after(&log, "timed out: `type:cds name:nowhere` did not hold within ");
    assert!(waited.is_some_and(|time| time >= 1.0), "{log}");
    assert!(junit(plane.folder()).contains("failures=\"1\""));
    // On busy cores a client may need more time than the run has.
    let is_synced_after = |time: &str| {
        let (code, log, recording) = plane.run(&["--max-time", time]);
        assert_eq!(code, Some(0), "{log}");
        // The file is no recording before its first message.
        let status =
            xdscope(plane.folder()).arg("status").arg(&recording.file).args(["-o", "jsonl"]).output();
        let lines = String::from_utf8(status.expect("xdscope runs").stdout).expect("text");
        let mut objects = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        objects.any(|object| object["type"] == "cds" && object["state"] == "synced")
    };
    assert!(["2s", "10s", "60s"].into_iter().any(is_synced_after), "clusters in sync");
}

#[test]
fn plan_ends_with_what_clients_did() {
    let plane = Plane::start();
    let file = plane.folder().join("plan.txt");
    let path = file.to_str().expect("a path");
    fs::write(&file, "for 500ms: token-expired times=1\nfor 500ms\n").expect("written");
    let (code, log, recording) = plane.run(&["--fault-plan", path, "-o", "jsonl"]);
    assert_eq!(code, Some(0), "{log}");
    let object = log.lines().find(|line| line.contains("\"object\":\"recovery\"")).expect("a summary");
    let object: Value = serde_json::from_str(object).expect("JSON");
    assert_eq!(object["interventions"], 1, "{object}");
    assert_eq!((&object["reconnects"], &object["recovered"]), (&1.into(), &true.into()), "{object}");
    let shown = recording.text("status", &[]);
    assert!(shown.contains("1 intervention, 0 NACKs, 1 reconnect; recovered within"), "{shown}");

    fs::write(&file, "for 5s: type:cds kind:ack => delay 500ms\n").expect("written");
    let (code, log, recording) = plane.run(&["--fault-plan", path]);
    assert_eq!(code, Some(0), "{log}");
    let recovered = seconds_after(&log, "1 intervention, 0 NACKs, 0 reconnects; recovered within ");
    assert!(recovered.is_some_and(|time| time >= 0.5), "{log}");
    assert_eq!(crate::peers::intercept::words(&recording), ["delayed", "released"]);

    fs::write(&file, "for 3s: type:cds kind:push => drop\n").expect("written");
    let (code, log, _) = plane.run(&["--fault-plan", path, "--max-time", "10s"]);
    assert_eq!(code, Some(4), "{log}");
    assert!(log.contains("1 intervention, 0 NACKs, 0 reconnects; not recovered: CDS"), "{log}");
    let waited = seconds_after(&log, "timed out: not all clients have recovered within ");
    assert!(waited.is_some_and(|time| time >= 10.0), "{log}");
}

#[test]
fn wrong_plans_and_flags_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.txt");
    let path = file.to_str().expect("a path");
    fs::write(&file, "for 1s\n  type:cds => explode\n").expect("written");
    let text = |output: Output| String::from_utf8(output.stderr).expect("text");
    let wrong = refused(&["--fault-plan", path]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(wrong).contains("plan.txt, line 2: unknown action `explode`"));
    fs::write(&file, vec![b'#'; (1 << 20) + 1]).expect("written");
    assert!(text(refused(&["--fault-plan", path])).contains("at most 1 MB"));
    assert!(text(refused(&["--junit", path])).contains("--junit needs a run that ends"));
    let late = folder.path().join("late.txt");
    fs::write(&late, "for 1s: type:cds => drop after=2s\n").expect("written");
    let late = late.to_str().expect("a path");
    for (args, reason) in [
        (["--fault", "type:cd => drop"], "no type is called `cd`; near: cds"),
        (
            ["--fault", "kind:ack => bounce no"],
            "`bounce` is for pushes (kind:push), which the expression leaves out",
        ),
        (["--fault", "type:cds => set conect_timeout=1s"], "near: connect_timeout"),
        (
            ["--fault", "type:cds => set lb_policy=NOPE"],
            "fault 1: type:cds => set lb_policy=NOPE: CDS cannot",
        ),
        (["--fault", "type:cds type:eds => drop"], "no message can match: the terms exclude each other"),
        (["--fault", "type:cds => drop p=0"], "`p=0` leaves no chance to act"),
        (["--fault-plan", late], "late.txt, line 1: `after` is not before the end of the stage"),
        (["--hold-timeout", "0s"], "expected a time above 0"),
    ] {
        let output = refused(&args);
        let code = output.status.code();
        let text = text(output);
        assert!(code == Some(2) && text.contains(reason), "{args:?}: {code:?} {text}");
    }
    let read_only = refused(&["--fault-plan", path, "--read-only"]);
    assert!(text(read_only).contains("which --read-only forbids"));
}

#[test]
fn control_plane_acts_with_faults() {
    let plane = Plane::with(&["--fault", "type:cds kind:push => delay 1s times=1", "--until", "synced"]);
    let address = plane.address();
    let client = watch(plane.folder(), address);
    let Plane { serve, folder: _folder } = plane;
    let (code, recording) = serve.wait();
    drop(client);
    assert_eq!(code, Some(0));
    let state = recording.state("cds");
    assert_eq!(state["state"], "synced", "{state}");
    let done = crate::peers::intercept::words(&recording);
    assert_eq!(done, ["delayed"]);
}

#[test]
fn script_states_the_faults_of_its_control_plane() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("faults.xds");
    let text = "node a\nstream 1 ads\n> cds\n< cds v=1 n=a [x]\n> cds v=1 n=a\n\
                fault \"type:cds kind:push => set connect_timeout=9s\"\n";
    fs::write(&script, text).expect("written");
    let serve = Tap::serve(folder.path(), &script, &["--reload"]);
    let address = serve.address().to_string();
    let get = |timeout: &str| {
        wait_for(timeout, || {
            let output =
                xdscope(folder.path()).args(["get", &address, "cds", "--plaintext", "-o", "yaml"]).output();
            let text = String::from_utf8(output.expect("xdscope runs").stdout).expect("text");
            text.contains(timeout).then_some(())
        });
    };
    get("connect_timeout: 9s");
    fs::write(&script, text.replace("=9s", "=8s")).expect("written");
    get("connect_timeout: 8s");
    let recording = serve.stop();
    assert!(crate::peers::intercept::words(&recording).iter().all(|word| word == "changed"));
}
