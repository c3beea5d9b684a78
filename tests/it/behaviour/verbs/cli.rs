//! Runs the program as a process: exit codes, pipes, stdout and stderr.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::screen::Terminal;

const TOUR: &str = "tests/fixtures/cli/tour.xds";

fn xdscope() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xdscope"));
    command.env_clear().env("LANG", "C.UTF-8").env("TZ", "UTC").stdin(Stdio::null());
    command
}

#[test]
fn returns_documented_exit_codes() {
    for (args, code) in [
        (&[][..], 0),
        (&["--help"], 0),
        (&["--version"], 0),
        (&["log", TOUR], 0),
        (&["status", TOUR], 1),
        (&["status", "--frobnicate"], 2),
        (&["frobnicate"], 2),
        (&[TOUR], 0),
        (&["-q", TOUR], 0),
        (&["no-such-file.xdsrec"], 2),
        (&["replay", TOUR, "--at", "nack"], 0),
        (&["replay", TOUR, "--speed", "0"], 2),
        (&["replay", "-", "--follow"], 2),
        (&["log", "-", "--follow"], 2),
        (&["replay", "examples/missing-name.xds", "--at", "nack"], 2),
        (&["log", TOUR, "--filter", "("], 2),
        (&["get", TOUR, "cds/nothing"], 4),
        (&["diff", TOUR, "cds/reviews", "41", "42"], 1),
        (&["diff", TOUR, "cds/reviews", "41", "41", "--stat", "-q"], 0),
        (&["diff", TOUR], 2),
        (&["diff", TOUR, "cds/reviews", "41", "77"], 4),
        (&["diff", TOUR, "no-such-file.xdsrec"], 5),
        (&["status", "no-such-file.xdsrec"], 5),
        (&["status", "Cargo.lock"], 5),
    ] {
        let output = xdscope().args(args).output().expect("xdscope runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        let mut lines = text.lines().filter(|line| !line.contains(" problems, the worst: "));
        assert_eq!(
            lines.next().is_some_and(|line| line.starts_with("xdscope: ")),
            code != 0,
            "{args:?}: {text}"
        );
        assert_eq!(output.stdout.is_empty(), code > 1, "{args:?}: data on stdout, messages on stderr");
    }
}

#[test]
fn ends_quietly_when_reader_closes_pipe() {
    let mut child = xdscope()
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("xdscope runs");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    assert_eq!((child.wait().expect("an end").code(), said.as_str()), (Some(0), ""));
}

#[test]
fn reads_session_from_pipe() {
    let mut child = xdscope()
        .args(["log", "-", "-o", "name", "--filter", "kind:nack"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("xdscope runs");
    let script = std::fs::read(TOUR).expect("the tour");
    child.stdin.take().expect("piped").write_all(&script).expect("written");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "#18\n#20\n");
}

#[test]
fn flags_override_environment() {
    let status = |env: &str, args: &[&str]| {
        let output = xdscope()
            .env("XDSCOPE_STALE_AFTER", env)
            .args(["status", TOUR, "--stream", "#2"])
            .args(args)
            .output();
        output.expect("xdscope runs").status.code()
    };
    assert_eq!(status("1m", &[]), Some(0));
    assert_eq!(status("1m", &["--stale-after", "5s"]), Some(1));
    assert_eq!(status("soon", &[]), Some(2));
}

/// Compares one session in each of its formats, and a recording that continued.
#[test]
fn compares_recording_with_script_and_capture() {
    const SCRIPT: &str = "tests/fixtures/cli/diff.xds";
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let run = |args: &[&str]| {
        let output = xdscope().args(args).output().expect("xdscope runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let export = |to: &str, name: &str, more: &[&str]| {
        let path = path(name);
        let (code, _, said) = run(&[&["export", SCRIPT, "--to", to, "--output", &path, "-q"], more].concat());
        assert_eq!((code, said.as_str()), (Some(0), ""));
        path
    };
    let recording = export("xdsrec", "all.xdsrec", &[]);
    let early = export("xdsrec", "early.xdsrec", &["--until", "#12"]);
    let raw = export("raw", "all.jsonl", &[]);
    for other in [SCRIPT, &raw] {
        for (a, b) in [(&*recording, other), (other, &recording)] {
            let (code, out, said) = run(&["diff", a, b, "--stream", "#1"]);
            assert_eq!((code, &*out), (Some(0), ""), "{a} {b} {said}");
            assert!(said.starts_with("xdscope: no difference\n"), "{said}");
        }
    }
    let (code, out, _) = run(&["diff", &early, &recording, "cds", "--stream", "#1", "-o", "jsonl"]);
    let ops: Vec<(String, String)> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an object"))
        .map(|object| (object["name"].to_string(), object["op"].to_string()))
        .collect();
    let named = |name: &str, op: &str| (format!("\"{name}\""), format!("\"{op}\""));
    assert_eq!(
        (code, ops),
        (Some(1), vec![named("ledger", "added"), named("reviews", "changed"), named("search", "removed")])
    );
    let (code, out, _) = run(&["diff", &recording, "@#12", "@end", "--stat", "-q"]);
    assert_eq!(
        (code, out.as_str()),
        (Some(1), "CDS  +1  ~1  -1  =1\nRDS  +0  ~1  -0  =0\nSDS  +0  ~1  -0  =0\n")
    );
}

#[test]
fn tap_rejects_client_flags() {
    for (args, wanted) in [
        (&["--token-file", "t"][..], "next   -H \"authorization: Bearer $(cat FILE)\""),
        (&["--token-env", "HOME"], "--token-env does nothing on a tap: the streams are those of its clients"),
        (&["-H", "x-a"], "-H wants a name, a colon and a value: there is no colon"),
        (&["-H", "x a: b"], "the text before the colon is not a header name"),
        (&["-H", ":path: /"], "-H cannot set pseudo-headers"),
        (&["-H", "TE: gzip"], "-H cannot change `te`: in HTTP/2 it can only say `trailers`"),
        (&["-H", "te: gzip"], "next   omit it: the client's own header is passed on"),
        (&["-H", "content-length: 3"], "it is the length of what the client sends"),
        (&["-H", "Upgrade: h2c"], "-H cannot change `upgrade`: HTTP/2 forbids it"),
        (&["-H", "Host: cp"], "next   --authority HOST:PORT"),
        (
            &["-H", "Trace-Bin: aa"],
            "not the name of a text header: `Trace-Bin`; headers that end in -bin are binary",
        ),
        (&["--authority", "a b"], "not an authority: `a b`"),
        (&["--plaintext", "--insecure"], "cannot be used with"),
        (&["--cert", "a.pem"], "--key <FILE>"),
        (&["--listen-cert", "a.pem"], "--listen-key <FILE>"),
        (&["--listen-client-ca", "a.pem"], "--listen-cert <FILE>"),
    ] {
        let output = xdscope().args(["tap", "127.0.0.1:1", "--no-tui"]).args(args).output().expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(wanted), "{args:?}: {error}");
    }
    for secret in ["Bearer hunter2", "x-token: hunter2\u{1}", "hunter2 x: y"] {
        let output = xdscope().args(["tap", "127.0.0.1:1", "-H", secret]).output().expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let missing = ["--cacert", "no/such.pem"];
    let output = xdscope().args(["tap", "127.0.0.1:1", "--no-tui"]).args(missing).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{error}");
    assert!(error.contains("cannot read the certificates of no/such.pem"), "{error}");
}

#[test]
fn writes_log_to_requested_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.log");
    let file = file.to_str().expect("a path");
    let run = |more: &[&str]| {
        let output = xdscope().args(["get", "127.0.0.1:1", "cds"]).args(more).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (_, plain) = run(&[]);
    assert!(!plain.contains("DEBUG"), "{plain}");
    let (_, told) = run(&["-v"]);
    assert!(told.contains("DEBUG") && told.contains("server=127.0.0.1:1"), "{told}");
    let (_, kept) = run(&["-v", "--log-file", file]);
    assert!(!kept.contains("DEBUG"), "{kept}");
    let log = std::fs::read_to_string(file).expect("a log");
    assert!(log.contains("connecting") && log.contains("server=127.0.0.1:1"), "{log}");
    let (code, error) = run(&["--log-file", "no/such/folder/own.log"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("--log-file: cannot write no/such/folder/own.log"), "{error}");
}

fn printed(args: &[&str]) -> String {
    let output = xdscope().args(args).output().expect("xdscope runs");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn replay_without_terminal_prints_log() {
    let log = printed(&["log", TOUR, "-o", "jsonl"]);
    assert_eq!(printed(&["replay", TOUR, "-o", "jsonl"]), log);
    assert_eq!(printed(&[TOUR, "-o", "jsonl"]), log, "a file alone is replayed");
    let until = printed(&["replay", TOUR, "-o", "jsonl", "--at", "nack"]);
    assert!(log.starts_with(&until), "{until}");
    assert!(until.lines().last().is_some_and(|line| line.contains(r#""n":18,"#)), "{until}");
    let refused = printed(&["replay", TOUR, "--no-tui", "--filter", "kind:nack"]);
    let rows = refused.lines().filter(|line| line.contains("└ NACK #"));
    assert_eq!(rows.count(), 2, "{refused}");
}

#[test]
fn follows_growing_file() {
    for verb in ["replay", "log"] {
        follows(verb);
    }
}

#[test]
fn following_ends_with_the_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ended.xdsrec");
    let export = xdscope().args(["export", TOUR, "--to", "xdsrec", "--output"]).arg(&file).output();
    assert!(export.expect("xdscope runs").status.success());
    // The tour has problems, which `status` ends with whether it watches or not.
    for (args, exit) in [
        (&["log", "-f"][..], 0),
        (&["replay", "--no-tui", "-f"], 0),
        (&["status", "-w"], 1),
        (&["get", "cds", "-w"], 0),
    ] {
        let output = xdscope().arg(args[0]).arg(&file).args(&args[1..]).output().expect("xdscope runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(exit), "{args:?}: {text}");
        assert!(text.contains("is complete: no more messages come"), "{text}");
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
}

fn follows(verb: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("growing.xds");
    let tour = std::fs::read_to_string(TOUR).expect("the tour");
    let head: Vec<&str> = tour.lines().take(14).collect();
    std::fs::write(&file, head.join("\n")).expect("written");
    let mut child = xdscope()
        .args([verb, "--follow", "-o", "jsonl"])
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("xdscope runs");
    let out = std::io::BufReader::new(child.stdout.take().expect("piped"));
    let (send, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::BufRead::lines(out).map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    let limit = crate::support::wait::PATIENCE;
    let log = printed(&["log", TOUR, "-o", "jsonl"]);
    let (mut seen, mut written) = (String::new(), false);
    while seen.len() < log.len() {
        let line = lines.recv_timeout(limit).expect("a line in time");
        seen.push_str(&line);
        seen.push('\n');
        if !written {
            std::fs::write(&file, &tour).expect("written");
            written = true;
        }
    }
    child.kill().expect("killed");
    child.wait().expect("an end");
    assert_eq!(seen, log);
}

#[test]
fn states_reason_of_end_last() {
    for signal in ["TERM", "HUP"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = xdscope()
            .args(["tap", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--no-tui", "--record"])
            .arg(folder.path().join("kept.xdsrec"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("xdscope runs");
        let err = std::io::BufReader::new(child.stderr.take().expect("piped"));
        let (send, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in std::io::BufRead::lines(err).map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        let limit = crate::support::wait::PATIENCE;
        let first = lines.recv_timeout(limit).expect("a line in time");
        assert!(first.contains("listening on"), "{first}");
        let killed = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        let mut said = Vec::new();
        while let Ok(line) = lines.recv_timeout(limit) {
            said.push(line);
        }
        let _ = child.kill();
        child.wait().expect("an end");
        assert!(killed.is_ok_and(|status| status.success()), "kill -{signal}");
        let last = format!("xdscope: ended by SIG{signal}");
        assert_eq!(said.last().map(String::as_str), Some(last.as_str()), "{said:?}");
        assert!(said.iter().any(|line| line.contains("session kept")), "{said:?}");
    }
}

/// Bash splits words at `:` and `=`.
#[test]
fn bash_completes_terms_of_filters() {
    let folder = tempfile::tempdir().expect("a folder");
    let startup = folder.path().join("startup");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_xdscope"));
    let bin = program.parent().expect("a folder").display();
    let root = env!("CARGO_MANIFEST_DIR");
    let script =
        format!("cd '{root}'\nPATH='{bin}':$PATH\nPS1='READY '\nsource <(xdscope completions bash)\n");
    std::fs::write(&startup, script).expect("written");
    let startup = startup.to_str().expect("text");
    for (typed, wanted) in [
        ("--filter kind:nac\t|", "--filter kind:nack |"),
        ("--filter=kind:nac\t|", "--filter=kind:nack |"),
        ("--filter kin\tnac\t|", "--filter kind:nack |"),
        ("--filter 'kind:nac\t|", "--filter 'kind:nack' |"),
        ("--filter 'type:cds' --node edge\t|", "--filter 'type:cds' --node edge-gw-1 |"),
    ] {
        let mut terminal = Terminal::start("/bin/bash", &["--rcfile", startup, "-i"]);
        terminal.until("READY");
        terminal.press(&format!("xdscope log {TOUR} {typed}"));
        terminal.until(wanted);
    }
}
