//! Tests of `export`.

use std::io::Cursor;

use super::*;

#[test]
fn exports_can_be_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let log = run(&["log", TOUR, "--body", "-o", "jsonl"]).out;
    for (to, name) in [("raw", "a.jsonl"), ("script", "a.xds"), ("xdsrec", "a.xdsrec")] {
        let path = dir.path().join(name);
        let path = path.to_str().unwrap();
        let result = run(&["export", TOUR, "--to", to, "--output", path]);
        assert_eq!(result.exit, Exit::Yes, "{to}: {}", result.err);
        assert_eq!(result.err, format!("xdscope: 20 of 20 messages written to {path}\n"));
        assert_eq!(run(&["log", path, "--body", "-o", "jsonl"]).out, log, "{to}");
        let on_stdin = Environment {
            stdin: Box::new(Cursor::new(std::fs::read(path).unwrap())),
            ..Environment::default()
        };
        assert_eq!(on_stdin.run(&["log", "-", "--body", "-o", "jsonl"]).out, log, "{to} on stdin");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
    assert_eq!(run(&["export", TOUR, "--to", "jsonl"]).out, log);
}

#[test]
fn refuses_to_overwrite_the_source() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("a.xdsrec"), dir.path().join("b.raw"));
    let path = file.to_str().unwrap();
    run(&["export", TOUR, "--to", "xdsrec", "--output", path]);
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let before = std::fs::read(&file).unwrap();
    for to in ["xdsrec", "raw", "jsonl"] {
        for output in [&file, &link] {
            let result = run(&["export", path, "--to", to, "--output", output.to_str().unwrap()]);
            assert_eq!(result.exit, Exit::Usage, "{}", result.err);
            assert!(result.err.contains("is the source"), "{}", result.err);
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn exports_selected_messages() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part.jsonl");
    let path = path.to_str().unwrap();
    let names = |args: &[&str]| {
        let result =
            run(&[&["export", TOUR, "--to", "raw", "--output", path, "--force", "-q"], args].concat());
        assert_eq!((result.err.as_str(), result.exit), ("", Exit::Yes));
        run(&["log", path, "-o", "jsonl"]).out.lines().filter(|line| line.contains("\"n\":")).count()
    };
    assert_eq!(names(&["--stream", "#2"]), 4);
    assert_eq!(names(&["--filter", "kind:nack | kind:resend"]), 3);
    assert_eq!(names(&["--from", "#17", "--until", "#18"]), 2);
    assert_eq!(names(&["--until", "+1s"]), 10);
}

/// A script has the gaps of its source, so that the same findings are reported.
#[test]
fn scripts_have_the_gaps_of_their_source() {
    let dir = tempfile::tempdir().unwrap();
    let (source, script) = (dir.path().join("gap.jsonl"), dir.path().join("gap.xds"));
    let (source, script) = (source.to_str().unwrap(), script.to_str().unwrap());
    let raw = run(&["export", TOUR, "--to", "raw"]).out;
    let lines: Vec<serde_json::Value> = raw.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_message = |line: &serde_json::Value| ["c2s", "s2c"].iter().any(|dir| line["dir"] == *dir);
    let messages: Vec<usize> = (0..lines.len()).filter(|at| is_message(&lines[*at])).collect();
    assert!(messages.len() > 10, "{raw}");
    for lost in messages {
        let mut with_gap = lines.clone();
        let (at, stream) = (with_gap[lost]["t"].clone(), with_gap[lost]["stream"].clone());
        with_gap[lost] =
            serde_json::json!({"dir": "gap", "t": at, "stream": stream, "messages": 1, "bytes": 90});
        let text: Vec<String> = with_gap.iter().map(serde_json::Value::to_string).collect();
        std::fs::write(source, text.join("\n")).unwrap();
        let result = run(&["export", source, "--to", "script", "--output", script, "--force", "-q"]);
        assert_eq!((result.exit, result.err.as_str()), (Exit::Yes, ""));
        assert!(std::fs::read_to_string(script).unwrap().contains(" gap messages=1 bytes=90\n"));
        let [of_source, of_script] = [source, script].map(|path| run(&["lint", path, "-o", "jsonl"]).out);
        assert_eq!(of_script, of_source, "without message {lost}");
        let [of_source, of_script] = [source, script].map(|path| run(&["status", path]).out);
        assert_eq!(of_script, of_source, "without message {lost}");
    }
}

/// A missing part of a recording is not a finding about its peers.
#[test]
fn parts_name_their_clients_and_have_no_findings() {
    let dir = tempfile::tempdir().unwrap();
    for (to, name) in [("xdsrec", "part.xdsrec"), ("raw", "part.jsonl"), ("script", "part.xds")] {
        let path = dir.path().join(name);
        let path = path.to_str().unwrap();
        for cut in [&["--from", "#7"][..], &["--from", "#12", "--until", "#18"], &["--filter", "type:eds"]] {
            let result =
                run(&[&["export", TOUR, "--to", to, "--output", path, "--force", "-q"], cut].concat());
            assert_eq!(result.exit, Exit::Yes, "{to} {cut:?} {}", result.err);
            let status = run(&["status", path]).out;
            assert!(status.contains("edge-gw-1"), "{to} {cut:?} {status}");
            let lint = run(&["lint", path, "--fail-on", "error"]);
            assert_eq!(lint.exit, Exit::Yes, "{to} {cut:?} {}", lint.out);
        }
    }
    let part = dir.path().join("part.xdsrec");
    let part = part.to_str().unwrap();
    run(&["export", TOUR, "--to", "xdsrec", "--output", part, "-q", "--until", "#12"]);
    let objects = |args: &[&str]| run(args).out;
    assert!(!objects(&["status", part, "-o", "jsonl"]).contains("\"closed\""), "nothing later is in it");
}

#[test]
fn refuses_to_write_a_recording_to_a_terminal() {
    let environment = Environment { terminal: true, ..Environment::default() };
    let result = environment.run(&["export", TOUR, "--to", "xdsrec"]);
    assert_eq!((result.out.as_str(), result.exit), ("", Exit::Usage));
    assert!(result.err.contains("--output"), "{}", result.err);
}

#[test]
fn scripts_last_as_long_as_their_source() {
    let waiting = "tests/fixtures/views/unrequested-routes.xds";
    let script = run(&["export", waiting, "--to", "script"]).out;
    assert!(script.ends_with("\nadvance 40s\n"), "{script}");
    let untimed = Environment {
        stdin: Box::new(Cursor::new("notime\nstream 1 ads\n> cds\n")),
        ..Environment::default()
    };
    let script = untimed.run(&["export", "-", "--to", "script"]).out;
    assert!(!script.contains("advance"), "{script}");
}
