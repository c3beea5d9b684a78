//! Runs every example at the end of `--help`, and checks how signals end each verb.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::support::process::{Child, reopened};
use crate::support::tap::xdscope;
use crate::support::wait::{quiet_for, wait_for, wait_within};

/// A control plane with a cluster that needs nothing else.
const CLUSTERS: &str = "version_info: \"1\"\nresources:\n- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  \
                        name: reviews\n  type: STATIC\n  connect_timeout: 1s\n";
const LISTENERS: &str = "version_info: \"1\"\nresources:\n- \"@type\": type.googleapis.com/envoy.config.listener.v3.Listener\n  \
                         name: web\n";

/// Returns the text of a call.
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = xdscope(folder).args(args).output().expect("xdscope runs");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the examples of all verbs.
fn examples() -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let all = printed(folder.path(), &["--help"]);
    let (_, verbs) = all.split_once("Verbs:\n").expect("verbs");
    let verbs: Vec<&str> = verbs
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.len() > 20, "{verbs:?}");
    let sessions = ["name", "open", "remove"].map(|verb| vec!["sessions", verb]);
    let descriptors = ["build", "check", "list"].map(|verb| vec!["descriptors", verb]);
    let calls = verbs.into_iter().map(|verb| vec![verb]).chain(sessions).chain(descriptors);
    let help = |call: Vec<&str>| printed(folder.path(), &[&call[..], &["--help"]].concat());
    let texts: Vec<String> = calls.map(help).collect();
    let lines = texts.iter().filter_map(|text| text.split_once("\nExamples:\n")).flat_map(|of| of.1.lines());
    let calls = lines.filter_map(|line| line.strip_prefix("  xdscope"));
    let mut calls: Vec<String> =
        calls.map(|call| format!("xdscope{}", call.split("  #").next().unwrap_or(call).trim_end())).collect();
    calls.sort();
    calls.dedup();
    calls
}

/// Makes the files that examples name.
fn files(folder: &Path, server: &str) {
    let at = |name: &str| folder.join(name);
    let sessions = at("xdscope");
    fs::create_dir(&sessions).expect("a folder");
    for to in [at("session.xdsrec"), sessions.join("session-20260302-140208.xdsrec")] {
        let made = xdscope(folder)
            .args(["export", "tests/fixtures/cli/tour.xds", "--to", "xdsrec", "--output"])
            .arg(to)
            .status();
        assert!(made.expect("xdscope runs").success());
    }
    fs::create_dir(at("resources")).expect("a folder");
    fs::write(at("resources/cds.yaml"), CLUSTERS).expect("written");
    fs::write(at("resources/lds.yaml"), LISTENERS).expect("written");
    fs::copy("tests/fixtures/recordings/istio.xdsrec", at("istio.xdsrec")).expect("a recording of Istio");
    fs::copy("tests/fixtures/cli/config_dump.json", at("config_dump.json")).expect("a config dump");
    let envoy = fs::read_to_string("examples/bootstraps/envoy-ads.yaml").expect("the example bootstrap");
    let (_, port) = server.rsplit_once(':').expect("a port");
    let envoy = envoy.replace("port_value: 18000", &format!("port_value: {port}"));
    fs::write(at("envoy.yaml"), envoy).expect("written");
}

fn shell(folder: &Path, command: &str) -> Command {
    let bin = PathBuf::from(env!("CARGO_BIN_EXE_xdscope"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        // A test run in the background passes an ignored SIGINT on.
        .args(["-c", &format!("exec env --default-signal=INT {command}")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", bin.parent().expect("a folder").display()))
        .env("XDG_STATE_HOME", folder)
        .env("XDG_CONFIG_HOME", folder);
    shell
}

/// Whether a call runs until it is stopped.
fn is_live(command: &str) -> bool {
    let runs =
        ["demo", "tap", "serve", "watch"].iter().any(|verb| command.starts_with(&format!("xdscope {verb}")));
    let ends = ["--rewrite-bootstrap", "--check-config", "--list", "--until"];
    let ends = command.split(' ').any(|word| ends.contains(&word));
    follows(command) || (runs && !ends)
}

/// Whether a call waits for a recording to grow, or for a client.
fn follows(command: &str) -> bool {
    let is_viewer = command.starts_with("xdscope attach");
    is_viewer
        || [" --client", " --watch", " --follow", " -f ", " -w"].iter().any(|flag| command.contains(flag))
}

/// Time within which a call that does not run until it is stopped would end.
const END_TIME: Duration = Duration::from_millis(500);

/// Time within which a call prints something, unless only its end does.
const PRINT_TIME: Duration = Duration::from_secs(20);

/// Whether a process handles a signal itself.
fn handles(process: u32, signal: &str) -> bool {
    let number = match signal {
        "HUP" => 1,
        "INT" => 2,
        "TERM" => 15,
        other => panic!("unknown signal {other}"),
    };
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the state of a process");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("its signals");
    u64::from_str_radix(caught.trim(), 16).expect("a mask") & (1 << (number - 1)) != 0
}

/// Waits until a call runs, and checks that it goes on.
///
/// A call that waits for a recording to grow leaves signals to the system: it runs once it has
/// printed something.
fn assert_goes_on(
    child: &mut std::process::Child,
    command: &str,
    signal: &str,
    printed: impl Fn() -> String,
) {
    let leaves_signals = follows(command) || command.starts_with("xdscope wait");
    let process = child.id();
    let mut has_ended = || child.try_wait().expect("its state").is_some();
    wait_for(&format!("a start of {command}"), || {
        assert!(!has_ended(), "{command} ended: {}", printed());
        let is_running = if leaves_signals { !printed().is_empty() } else { handles(process, signal) };
        is_running.then_some(())
    });
    quiet_for(END_TIME, &format!("the end of {command}"), has_ended);
}

/// Sends a signal, and waits for the end.
fn stop(child: &mut std::process::Child, signal: &str) -> ExitStatus {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{signal}");
    wait_for("the end of a stopped call", || child.try_wait().expect("its state"))
}

/// The exit code that a shell shows.
fn shell_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal))
}

#[test]
fn runs_every_example() {
    let home = tempfile::tempdir().expect("a folder");
    let source = home.path().join("resources");
    fs::create_dir(&source).expect("a folder");
    fs::write(source.join("cds.yaml"), CLUSTERS).expect("written");
    fs::write(source.join("lds.yaml"), LISTENERS).expect("written");
    let log = home.path().join("serve.log");
    let mut serve = xdscope(home.path());
    serve.args(["serve", "--listen", "127.0.0.1:0", "--no-tui", "--no-record"]).arg(&source);
    let mut serve = Child::start(&mut serve, &log);
    let server = wait_for("the server", || {
        serve.assert_running();
        let log = serve.log();
        let (_, rest) = log.split_once("listening on ")?;
        rest.split_whitespace().next().map(str::to_owned)
    });
    let socket = format!("unix:{}", home.path().join("view.sock").display());
    let mut demo = xdscope(home.path());
    demo.args(["demo", "--no-tui", "--attach", &socket]);
    let mut demo = Child::start(&mut demo, &home.path().join("demo.log"));
    wait_for("the demo", || {
        demo.assert_running();
        demo.log().contains("NACK").then_some(())
    });
    let examples = examples();
    assert!(examples.len() > 55, "{}", examples.len());
    for example in examples {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        files(folder, &server);
        if example.contains("before-upgrade") && !example.contains(" name ") {
            let kept = folder.join("xdscope/before-upgrade.xdsrec");
            fs::copy(folder.join("session.xdsrec"), kept).expect("a session");
        }
        let mut command =
            example.replace("cp.mesh:15010", &server).replace("unix:/run/xdscope.sock", &socket);
        if command.starts_with("xdscope tap") || command.starts_with("xdscope serve") {
            command.push_str(" --listen 127.0.0.1:0");
        }
        let _writer = follows(&command).then(|| reopened(&folder.join("session.xdsrec")));
        let (out, err) = (folder.join("out"), folder.join("err"));
        let create = |path: &Path| fs::File::create(path).expect("a file");
        let mut call = shell(folder, &command);
        call.stdin(Stdio::null()).stdout(create(&out)).stderr(create(&err));
        let mut child = call.spawn().expect("a shell");
        let status = if is_live(&command) {
            let printed = || read(&out) + &read(&err);
            assert_goes_on(&mut child, &command, "INT", printed);
            // A call that prints nothing until its end prints its result then.
            let _ = wait_within(PRINT_TIME, || (!printed().is_empty()).then_some(()));
            stop(&mut child, "INT")
        } else {
            wait_for(&example, || child.try_wait().expect("its state"))
        };
        let wanted: &[i32] = match is_live(&command) {
            true if follows(&command) => &[130],
            true => &[0],
            false => &[0, 1],
        };
        let code = shell_code(status);
        assert!(code.is_some_and(|code| wanted.contains(&code)), "{example}: {code:?} {}", read(&err));
        assert!(!(read(&out).is_empty() && read(&err).is_empty()), "{example} prints nothing");
    }
}

fn read(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // A call may be writing a line.
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn signals_give_the_exit_codes_that_shells_expect() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    files(folder, "127.0.0.1:1");
    for (command, signal, wanted) in [
        ("xdscope tap 127.0.0.1:1 --no-tui --no-record --listen 127.0.0.1:0", "INT", 0),
        ("xdscope tap 127.0.0.1:1 --no-tui --no-record --listen 127.0.0.1:0", "TERM", 143),
        ("xdscope serve session.xdsrec --no-tui --no-record --listen 127.0.0.1:0", "HUP", 129),
        ("xdscope watch 127.0.0.1:1 --no-tui --no-record", "INT", 0),
        ("xdscope watch 127.0.0.1:1 --no-tui --no-record --until synced", "INT", 130),
        ("xdscope log 127.0.0.1:1 --follow", "INT", 130),
        ("xdscope log session.xdsrec --follow", "INT", 130),
        ("xdscope log session.xdsrec --follow", "TERM", 143),
        ("xdscope status session.xdsrec --watch", "INT", 130),
        ("xdscope get session.xdsrec cds -w", "TERM", 143),
        ("xdscope wait 127.0.0.1:1 synced", "INT", 130),
    ] {
        let writer = follows(command).then(|| reopened(&folder.join("session.xdsrec")));
        let mut call = shell(folder, command);
        let log = folder.join("log");
        let output = fs::File::create(&log).expect("a file");
        let errors = output.try_clone().expect("a file");
        let mut child = call.stdin(Stdio::null()).stdout(output).stderr(errors).spawn().expect("a shell");
        assert_goes_on(&mut child, command, signal, || read(&log));
        assert_eq!(shell_code(stop(&mut child, signal)), Some(wanted), "{command} {signal}");
        drop(writer);
    }
    // A reader that has enough.
    let shown = shell(folder, "xdscope log session.xdsrec -o jsonl").stdout(Stdio::piped()).spawn();
    let mut shown = shown.expect("a shell");
    drop(shown.stdout.take());
    assert_eq!(shell_code(shown.wait().expect("an end")), Some(0));
}

#[test]
fn watches_a_growing_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("growing.xds");
    let tour = fs::read_to_string("tests/fixtures/cli/tour.xds").expect("the tour");
    let head: Vec<&str> = tour.lines().take(14).collect();
    let follow = |args: &[&str], first: &str, later: &str| {
        fs::write(&file, head.join("\n")).expect("written");
        let log = folder.path().join(format!("{}.log", args[0]));
        let mut command = xdscope(folder.path());
        let mut child = Child::start(command.args(args).arg(&file).args(["-w"]), &log);
        wait_for(first, || child.log().contains(first).then_some(()));
        let before = child.log().len();
        fs::write(&file, &tour).expect("written");
        wait_for(later, || child.log().get(before..).is_some_and(|text| text.contains(later)).then_some(()));
        child.assert_running();
        let log = child.log();
        assert_eq!(log.matches("NODE").count() + log.matches("TYPE  NAME").count(), 1, "titles once: {log}");
    };
    follow(&["status"], "edge-gw-1", "NACK");
    let mut get = xdscope(folder.path());
    fs::write(&file, head.join("\n")).expect("written");
    let log = folder.path().join("get.log");
    let mut child = Child::start(get.arg("get").arg(&file).args(["cds", "-w", "--json"]), &log);
    wait_for("the first clusters", || child.log().contains("\"reviews\"").then_some(()));
    let before = child.log().len();
    fs::write(&file, &tour).expect("written");
    wait_for("the new cluster", || child.log().get(before..)?.contains("\"ledger\"").then_some(()));
    child.assert_running();
}
