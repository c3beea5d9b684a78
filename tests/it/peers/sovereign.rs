//! Polls Sovereign, a control plane in Python without gRPC.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{self, Command, Stdio},
};

use serde_json::json;

use crate::behaviour::network::client::{assert_clean, run};
use crate::support::{
    peers,
    process::{Child, free_port},
    tap::{Recording, xdscope},
    wait::wait_for,
    world::World,
};

/// A running Sovereign. Dropping it ends the process and its workers.
struct Sovereign {
    process: process::Child,
    address: SocketAddr,
}

impl Sovereign {
    fn start(folder: &Path) -> Sovereign {
        for file in ["sovereign.yaml", "clusters.yaml", "listeners.yaml", "routes.yaml", "instances.yaml"] {
            fs::copy(peers::sources().join("sovereign").join(file), folder.join(file)).expect("a copy");
        }
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let log = || fs::File::options().create(true).append(true).open(folder.join("sovereign.log"));
        let mut command = Command::new(peers::sovereign());
        command.current_dir(folder).process_group(0).stdin(Stdio::null());
        command.stdout(log().expect("a log")).stderr(log().expect("a log"));
        for (name, value) in [
            ("SOVEREIGN_HOST", "127.0.0.1".to_owned()),
            ("SOVEREIGN_PORT", address.port().to_string()),
            ("SOVEREIGN_WORKERS", "1".to_owned()),
            ("SOVEREIGN_CONFIG", "file://sovereign.yaml".to_owned()),
        ] {
            command.env(name, value);
        }
        Sovereign { process: command.spawn().expect("sovereign starts"), address }
    }
}

impl Drop for Sovereign {
    fn drop(&mut self) {
        let group = format!("-{}", self.process.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.process.wait();
    }
}

#[test]
fn polls_sovereign() {
    let Some(world) = World::open("polls_sovereign") else { return };
    let server = Sovereign::start(world.folder());
    let address = server.address.to_string();
    let names = |args: &[&str]| {
        let all = [&["get", &address, "-o", "name", "--variant", "rest"][..], args].concat();
        let (code, out, err) = run(&world, &all);
        let mut names: Vec<String> = out.lines().map(str::to_owned).collect();
        names.sort_unstable();
        (code, names, err)
    };
    // The server takes a while to start.
    let found = wait_for("the first answer", || {
        let found = names(&["--poll-proto-names"]);
        (found.0 == Some(0) && !found.1.is_empty()).then_some(found.1)
    });
    assert_eq!(found, ["cds/web", "lds/in", "rds/r-in"]);

    // The client follows a change. Sovereign reads neither versions nor verdicts under their JSON
    // names, which Envoy does not send either.
    let recording = world.folder().join("watch.xdsrec");
    let mut command = xdscope(world.folder());
    command.args(["watch", &address, "--variant", "rest", "--poll-delay", "200ms", "--poll-proto-names"]);
    let child = Child::start(
        command.args(["--no-tui", "--record"]).arg(&recording),
        &world.folder().join("watch.log"),
    );
    wait_for("the first clusters", || child.log().contains("└ ack").then_some(()));
    let more =
        "- {name: web, port: 9, service_clusters: ['*']}\n- {name: more, port: 9, service_clusters: ['*']}\n";
    fs::write(world.folder().join("instances.yaml"), more).expect("another file");
    wait_for("the second cluster", || child.log().contains("2 +1").then_some(()));
    child.interrupt();
    let recording = Recording { file: recording };
    let state = recording.state("cds");
    assert_eq!((&state["last_state"], &state["resources"]), (&json!("synced"), &json!(2)), "{state:#}");
    assert_clean(&recording, &[]);

    // By the protocol each response answers a first poll; the finding blames the server.
    let (code, out, err) = run(&world, &["lint", &address, "--variant", "rest"]);
    assert!(code == Some(1) && out.contains("rest-unchanged-response"), "{out}{err}");
    // A missing resource is an error of Sovereign's own format.
    let (code, _, err) = names(&["eds/nothing"]);
    assert!(code == Some(3) && err.contains("HTTP status 500"), "{err}");
}
