//! Runs every console line of the README and of the book.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::certs::Ca;
use crate::support::process::{Child, free_port};
use crate::support::tap::xdscope;
use crate::support::wait::wait_for;

/// Returns the commands of the console blocks of the README and of the book, without their remarks.
///
/// `fault_recipes` runs those of the recipes, with a control plane and a client.
fn commands() -> Vec<String> {
    let book = ["docs", "docs/reference"].map(|folder| fs::read_dir(folder).expect("the book"));
    let book = book.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut pages: Vec<_> =
        book.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    pages.retain(|page| !page.ends_with("fault-recipes.md"));
    pages.push("README.md".into());
    let mut commands = std::collections::BTreeSet::new();
    for page in pages {
        let text = fs::read_to_string(page).expect("a page");
        let is_code = |line: &&str| line.starts_with("    ");
        let lines = text.lines().filter(is_code).filter_map(|line| line.trim_start().strip_prefix("$ "));
        commands.extend(lines.map(|line| line.split("  #").next().unwrap_or(line).trim().to_owned()));
    }
    commands.into_iter().collect()
}

/// Returns a folder for the commands: recordings, a config dump, a bootstrap, certificates, the
/// examples.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let made = xdscope(folder.path())
        .args(["export", "tests/fixtures/cli/tour.xds", "--to", "xdsrec", "--output"])
        .arg(at("session.xdsrec"))
        .status();
    assert!(made.expect("xdscope runs").success());
    fs::copy("tests/fixtures/recordings/istio.xdsrec", at("istio.xdsrec")).expect("a recording of Istio");
    fs::copy("tests/fixtures/cli/session.pcap", at("session.pcap")).expect("a capture");
    fs::copy("tests/fixtures/cli/config_dump.json", at("config_dump.json")).expect("a config dump");
    fs::copy("examples/bootstraps/envoy-ads.yaml", at("envoy.yaml")).expect("the example bootstrap");
    Ca::new(folder.path(), "ca").issue("tap", &["cp.mesh"]);
    for shown in ["examples", "tests"] {
        let target = fs::canonicalize(shown).expect("a folder of the repository");
        std::os::unix::fs::symlink(target, at(shown)).expect("a link");
    }
    folder
}

/// Returns a shell in that folder, with `xdscope` on its path.
fn shell(folder: &Path, command: &str) -> Command {
    let bin = PathBuf::from(env!("CARGO_BIN_EXE_xdscope"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("exec {command}")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", bin.parent().expect("a folder").display()))
        .env("XDG_STATE_HOME", folder)
        .env("XDG_CONFIG_HOME", folder);
    shell
}

/// Whether the command runs until interrupted when there is no terminal.
fn is_live(command: &str) -> bool {
    let tap = command.starts_with("xdscope tap")
        && !["--rewrite-bootstrap", "--check-config"].iter().any(|flag| command.contains(flag));
    tap || command.starts_with("xdscope demo")
}

#[test]
fn runs_every_console_line() {
    let folder = folder();
    let folder = folder.path();
    let mut seen = 0;
    for written in commands() {
        let command = match written.strip_prefix("cargo ") {
            // `cargo test` inside a test would run all tests again.
            Some("test") => continue,
            Some(run) => format!("xdscope {}", run.split_once("-- ").expect("arguments").1),
            // External commands may not be installed.
            None if written.starts_with("tcpdump ") => continue,
            None => written.clone(),
        };
        // The addresses of the README do not exist here.
        let command = command.replace("cp.mesh:15010", &format!("127.0.0.1:{}", free_port()));
        let command = command.replace("--listen 127.0.0.1:18001", "--listen 127.0.0.1:0");
        let command = command.replace("/var/lib/xdscope/a/", ".").replace("/var/lib/xdscope/b/", ".");
        seen += 1;
        if is_live(&command) {
            let log = folder.join(format!("{seen}.log"));
            let mut child = Child::start(&mut shell(folder, &command), &log);
            wait_for("it to listen", || {
                child.assert_running();
                child.log().contains("listening on ").then_some(())
            });
            // A later line reads the session of the demo.
            if command.starts_with("xdscope demo") {
                wait_for("a message", || {
                    let status = shell(folder, "xdscope status last").output().expect("a shell");
                    matches!(status.status.code(), Some(0 | 1)).then_some(())
                });
            }
            child.interrupt();
        } else {
            let output = shell(folder, &command).output().expect("a shell");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{written}: {said}");
            // Some commands print data, others messages.
            let silent = output.stdout.is_empty() && said.is_empty();
            assert!(written.contains(" > ") || !silent, "{written}: prints nothing");
        }
    }
    assert!(seen > 30, "README and book have console lines: {seen}");
    let tapped = fs::read_to_string(folder.join("tapped.yaml")).expect("the rewritten bootstrap");
    assert!(tapped.contains("127.0.0.1"), "{tapped}");
}
