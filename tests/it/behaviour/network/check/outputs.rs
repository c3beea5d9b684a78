//! The outputs of `check`, and its exit codes.

use super::flawed_server::{Flaw, FlawedServer};
use super::{RESOURCES, check, folder};
use crate::support::process::free_port;
use crate::support::tap::xdscope;

/// Runs `check` and returns its exit code and output.
fn run(test: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let output = xdscope(&folder(test)).arg("check").args(args).output().expect("a run");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const LIMITS: [&str; 4] = ["--timeout", "600ms", "--settle", "200ms"];

#[test]
fn failed_row_names_rule_source_and_exchange() {
    let server = FlawedServer::start(RESOURCES, Flaw::ResendsRefused);
    let rows = ["--row", "nack-loop", "--row", "wildcard", "--row", "change", "--variant", "ads"];
    let args = [&[server.address.as_str()][..], &rows, &LIMITS].concat();
    let (code, out, err) = run("failed_row_names_rule_source_and_exchange", &args);
    assert_eq!(code, Some(1), "{out}{err}");
    for part in [
        "nack-loop  failed",
        "wildcard   passed",
        "change     not run",
        "nack-loop (ads): failed\n  expected: a refused response is not sent again unchanged\n  nack-resend-loop: ",
        "  rule: A refused payload that is sent again unchanged makes a loop.\n",
        "  source: follows from xDS protocol, \"When to send an update\"\n",
        "1 passed, 1 failed, 0 unanswered, 1 not run\nnot run: 1 row: needs --change\n",
    ] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    assert!(!out.contains("exchanged:"));
    let (_, out, _) =
        run("failed_row_names_rule_source_and_exchange", &[&args[..], &["-o", "wide"]].concat());
    assert!(
        out.contains("  exchanged:\n    node ") && out.contains("nack=\"refused by xdscope check\""),
        "{out}"
    );
}

/// The script in the result shows the finding again.
#[test]
fn script_of_a_failed_row_breaks_the_rule_again() {
    let server = FlawedServer::start(RESOURCES, Flaw::OneNonce);
    let folder = folder("script_of_a_failed_row_breaks_the_rule_again");
    let args = [server.address.as_str(), "--row", "nonces", "--variant", "delta-ads"];
    let (_, results, err) = check(&folder, &[&args[..], &LIMITS].concat());
    let script = results[0]["script"].as_str().unwrap_or_else(|| panic!("{results:?} {err}"));
    std::fs::write(folder.join("row.xds"), script).expect("a file");
    let lint = xdscope(&folder).args(["lint", "row.xds"]).current_dir(&folder).output().expect("a run");
    let out = String::from_utf8_lossy(&lint.stdout).into_owned();
    assert!(lint.status.code() == Some(1) && out.contains("nonce-reused"), "{out}");
}

#[test]
fn junit_has_failures_skipped_cases_and_exchanges() {
    let server = FlawedServer::start(RESOURCES, Flaw::NoNonce);
    let rows = ["--row", "nonces", "--row", "wildcard", "--row", "change", "--variant", "delta-ads"];
    let args = [&[server.address.as_str()][..], &rows, &LIMITS, &["-o", "junit"]].concat();
    let (code, out, err) = run("junit_has_failures_skipped_cases_and_exchanges", &args);
    assert_eq!(code, Some(1), "{err}");
    for part in [
        "<testsuite name=\"server\" tests=\"3\" failures=\"1\">",
        "<testcase classname=\"xdscope.check\" name=\"wildcard (delta-ads)\"/>",
        "<failure type=\"failed\" message=\"delta-nonce-missing: ",
        "<system-out>\nnode ",
        "<skipped message=\"needs --change\"/>",
    ] {
        assert!(out.contains(part), "{part}\n{out}");
    }
}

#[test]
fn unreachable_server_and_unserved_variants_have_codes_of_their_own() {
    let address = format!("127.0.0.1:{}", free_port());
    let test = "unreachable_server_and_unserved_variants_have_codes_of_their_own";
    let (code, _, err) = run(test, &[&address, "--timeout", "2s"]);
    assert!(code == Some(3) && err.contains("cannot reach"), "{err}");
    let server = FlawedServer::start(RESOURCES, Flaw::SilentLater(0));
    let args = [&[server.address.as_str(), "--variant", "ads"][..], &LIMITS].concat();
    let (code, out, err) = run(test, &args);
    assert!(code == Some(4) && out.contains("WHAT names those to ask for"), "{out}{err}");
}

#[test]
fn wrong_words_are_usage_errors() {
    let test = "wrong_words_are_usage_errors";
    let (code, _, err) = run(test, &["127.0.0.1:1", "--row", "nack-lop"]);
    assert!(
        code == Some(2) && err.contains("unknown row `nack-lop`") && err.contains("--row nack-loop"),
        "{err}"
    );
    let (code, _, err) = run(test, &["127.0.0.1:1", "--client", "127.0.0.1:0"]);
    assert!(code == Some(2), "{err}");
    let (code, out, _) = run(test, &["--list-rows"]);
    assert!(code == Some(0) && out.contains("nack-loop") && out.contains("reconnect-versions"), "{out}");
}
