//! Tests the harness itself, as far as it needs no peer.

use std::{env, panic::catch_unwind, path::Path, process::Command, time::Duration};

use crate::support::{
    peers::{is_off, step},
    process::{Child, Talker, free_port},
    wait::{PATIENCE, quiet_for, wait_for, wait_within},
};

#[test]
fn missing_program_names_step_remedy_and_switch() {
    let error = step("ask for the moon", "install a ladder", &mut Command::new("no-such-program"), None);
    let error = error.expect_err("a step that cannot work");
    for part in ["ask for the moon", "no-such-program", "install a ladder", "XDSCOPE_PEERS=off"] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn quotes_output_of_failing_program() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo to out; echo to err >&2; exit 3"]);
    let error = step("fail", "nothing", &mut command, None).expect_err("a step that fails");
    for part in ["exit status: 3", "to out", "to err"] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn step_returns_output_of_its_folder() {
    let said = step("ask where", "nothing", &mut Command::new("pwd"), Some(Path::new("/")));
    assert_eq!(said, Ok("/\n".to_owned()));
}

#[test]
fn switch_accepts_off_only() {
    assert!(!is_off(None));
    assert!(is_off(Some("off")));
    assert!(catch_unwind(|| is_off(Some("no"))).is_err());
}

/// The note must get past the test harness, which hides the output of passing tests.
#[test]
fn skipped_test_prints_note() {
    let mut tests = Command::new(env::current_exe().expect("this program"));
    tests.args(["--exact", "peers::direct::envoy_over_ads"]).env("XDSCOPE_PEERS", "off");
    let ran = tests.output().expect("a run of one test");
    assert!(ran.status.success());
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"));
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "left out by XDSCOPE_PEERS=off: envoy_over_ads\n");
}

#[test]
fn dropping_child_kills_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Child::start(Command::new("sleep").arg("600"), &folder.path().join("log"));
    let process = Path::new("/proc").join(child.id().to_string());
    child.assert_running();
    assert!(process.exists());
    drop(child);
    assert!(!process.exists());
}

#[test]
fn detects_ended_child() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child =
        Child::start(Command::new("sh").args(["-c", "echo last words"]), &folder.path().join("log"));
    wait_for("the last words", || child.log().contains("last words").then_some(()));
    let found =
        wait_within(PATIENCE, || catch_unwind(std::panic::AssertUnwindSafe(|| child.assert_running())).err());
    assert!(found.is_some());
}

#[test]
fn talker_exchanges_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let mut cat = Talker::start(&mut Command::new("cat"), &log);
    cat.tell("one");
    cat.tell("two");
    wait_for("two lines", || (cat.count() == 2).then_some(()));
    assert_eq!(cat.lines(1), ["two"]);
    assert_eq!(cat.child.log(), "one\ntwo\n");
}

#[test]
fn can_listen_on_free_port() {
    let port = free_port();
    assert_ne!(port, 0);
    std::net::TcpListener::bind(("127.0.0.1", port)).expect("a free port");
    assert_ne!(free_port(), port, "nobody else gets it");
}

#[test]
fn wait_ends_at_limit() {
    let mut looks = 0;
    let found = wait_within(Duration::ZERO, || -> Option<()> {
        looks += 1;
        None
    });
    assert_eq!((found, looks), (None, 1));
}

#[test]
fn quiet_time_ends_with_what_must_not_happen() {
    let mut looks = 0;
    let quiet = catch_unwind(std::panic::AssertUnwindSafe(|| {
        quiet_for(PATIENCE, "a third look", || {
            looks += 1;
            looks == 3
        });
    }));
    assert_eq!((quiet.is_err(), looks), (true, 3));
    quiet_for(Duration::from_millis(1), "nothing", || false);
}
