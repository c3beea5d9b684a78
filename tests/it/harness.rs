//! The harness itself, where it does not need a peer.

use std::{env, panic::catch_unwind, path::Path, process::Command, time::Duration};

use crate::support::{
    peers::{is_off, step},
    process::{Child, Talker, free_port},
    wait::{wait_for, wait_within},
};

#[test]
fn a_missing_program_fails_with_the_step_the_remedy_and_the_switch() {
    let error = step("ask for the moon", "install a ladder", &mut Command::new("no-such-program"), None);
    let error = error.expect_err("a step that cannot work");
    for part in ["ask for the moon", "no-such-program", "install a ladder", "XDSCOPE_PEERS=off"] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn a_failing_program_is_quoted() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo to out; echo to err >&2; exit 3"]);
    let error = step("fail", "nothing", &mut command, None).expect_err("a step that fails");
    for part in ["exit status: 3", "to out", "to err"] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn a_step_returns_what_was_written_from_where_it_ran() {
    let said = step("ask where", "nothing", &mut Command::new("pwd"), Some(Path::new("/")));
    assert_eq!(said, Ok("/\n".to_owned()));
}

#[test]
fn the_switch_knows_off_and_refuses_the_rest() {
    assert!(!is_off(None));
    assert!(is_off(Some("off")));
    assert!(catch_unwind(|| is_off(Some("no"))).is_err());
}

/// A test which is left out passes, so the note must get past the harness, which hides output of what passes.
#[test]
fn a_test_that_is_left_out_says_so() {
    let mut tests = Command::new(env::current_exe().expect("this program"));
    tests.args(["--exact", "peers_direct::envoy_over_ads"]).env("XDSCOPE_PEERS", "off");
    let ran = tests.output().expect("a run of one test");
    assert!(ran.status.success());
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"));
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "left out by XDSCOPE_PEERS=off: envoy_over_ads\n");
}

#[test]
fn a_dropped_child_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Child::start(Command::new("sleep").arg("600"), &folder.path().join("log"));
    let process = Path::new("/proc").join(child.id().to_string());
    child.assert_running();
    assert!(process.exists());
    drop(child);
    assert!(!process.exists());
}

#[test]
fn a_child_that_ended_is_found_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child =
        Child::start(Command::new("sh").args(["-c", "echo last words"]), &folder.path().join("log"));
    wait_for("the last words", || child.log().contains("last words").then_some(()));
    let found = wait_within(Duration::from_secs(10), || {
        catch_unwind(std::panic::AssertUnwindSafe(|| child.assert_running())).err()
    });
    assert!(found.is_some());
}

#[test]
fn a_talker_answers_by_lines() {
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
fn a_free_port_can_be_listened_on() {
    let port = free_port();
    assert_ne!(port, 0);
    std::net::TcpListener::bind(("127.0.0.1", port)).expect("a free port");
}

#[test]
fn waiting_ends() {
    let mut looks = 0;
    let found = wait_within(Duration::ZERO, || -> Option<()> {
        looks += 1;
        None
    });
    assert_eq!((found, looks), (None, 1));
}
