//! A running Envoy.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{http, peers::Peers, process::Child, wait::wait_for};

pub struct Envoy {
    pub child: Child,
    admin: SocketAddr,
}

impl Envoy {
    /// Starts the Envoy at `program`.
    pub(super) fn start(program: &Path, folder: &Path, node: &str, bootstrap: &Value) -> Self {
        let file = |ending: &str| -> PathBuf { folder.join(format!("{node}{ending}")) };
        let (config, admin) = (file(".json"), file(".admin"));
        fs::write(&config, bootstrap.to_string()).expect("a bootstrap");
        // Removes the files of an earlier Envoy of this name.
        let _ = fs::remove_file(&admin);
        let mut command = Command::new(program);
        command.args(["--disable-hot-restart", "--concurrency", "1", "--log-level", "info"]);
        // Without this flag Envoy delays the end of a stream by half a minute.
        command.args(["--component-log-level", "config:debug"]);
        command.arg("--config-path").arg(config).arg("--admin-address-path").arg(&admin);
        // Access logs with a relative path belong to the test.
        command.current_dir(folder);
        let mut child = Child::start(&mut command, &file(".log"));
        let admin = wait_for("Envoy's admin address", || {
            child.assert_running();
            fs::read_to_string(&admin).ok()?.parse().ok()
        });
        Self { child, admin }
    }

    /// Returns Envoy's own reason for rejecting a bootstrap.
    pub(super) fn refusal(peers: &Peers, folder: &Path, bootstrap: &Value) -> Option<String> {
        let config = folder.join("validated.json");
        fs::write(&config, bootstrap.to_string()).expect("a bootstrap");
        let mut command = Command::new(&peers.envoy);
        command.args(["--mode", "validate", "--log-level", "error", "--config-path"]).arg(config);
        let log = folder.join("validated.log");
        // The log would continue the one of an earlier bootstrap.
        let _ = fs::remove_file(&log);
        let mut child = Child::start(&mut command, &log);
        (child.finish() != Some(0)).then(|| child.log())
    }

    /// Returns the address of the admin interface, which answers HTTP in any configuration.
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// Returns the body of an admin page.
    pub fn get(&self, path: &str) -> String {
        http::get(self.admin, path).expect("Envoy's admin interface").body
    }

    /// Waits until Envoy has all requested resources and serves.
    pub fn wait_live(&mut self) {
        wait_for("LIVE on Envoy's /ready", || {
            self.child.assert_running();
            (self.get("/ready").trim() == "LIVE").then_some(())
        });
    }

    /// Waits for the listener `name` and returns its address.
    pub fn listener(&self, name: &str) -> SocketAddr {
        wait_for(&format!("the listener {name}"), || {
            let all: Value = serde_json::from_str(&self.get("/listeners?format=json")).ok()?;
            let one = all["listener_statuses"].as_array()?.iter().find(|l| l["name"] == name)?;
            let address = &one["local_address"]["socket_address"];
            format!("{}:{}", address["address"].as_str()?, address["port_value"]).parse().ok()
        })
    }
}
