//! Sources with nothing of xDS in them: every verb that reads one refuses it.

use super::{Environment, Exit, run};

/// Writes a file for one test, and returns its path.
fn file(name: &str, content: &[u8]) -> String {
    let dir = std::env::temp_dir().join(format!("xdscope-empty-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let path = dir.join(name);
    std::fs::write(&path, content).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn every_verb_refuses_an_empty_source() {
    let sources = [
        file("empty.xdsrec", b""),
        file("empty.jsonl", b""),
        file("comments.xds", b"# nothing happens here\n"),
        file("silent.xds", b"node n\nstream 1 ads\n"),
    ];
    for source in &sources {
        let output = format!("{source}.out");
        let verbs: [&[&str]; 15] = [
            &["status", source],
            &["get", source],
            &["get", source, "--at", "start"],
            &["lint", source],
            &["log", source],
            &["diff", source, "examples/nack.xds"],
            &["diff", "examples/nack.xds", source],
            &["diff", source, "@start", "@end"],
            &["wait", source, "synced", "--timeout", "50ms"],
            &["replay", source, "--no-tui"],
            &["redact", source, "--output", &output],
            &["serve", source, "--no-tui", "--no-record"],
            &["serve", source, "--mode", "script", "--no-tui", "--no-record"],
            &["export", source, "--to", "raw"],
            &["export", source, "--to", "dot"],
        ];
        for verb in verbs {
            let result = run(verb);
            assert_eq!(result.exit, Exit::Unreadable, "{verb:?}: {}", result.all());
            assert!(result.err.contains(" holds no xDS message: "), "{verb:?}: {}", result.err);
            assert!(result.err.contains("xdscope tap SERVER --record"), "{verb:?}: {}", result.err);
        }
        assert!(!std::path::Path::new(&output).exists(), "{output}");
        let info = run(&["info", source]);
        assert!(info.err.contains(" holds no xDS message: "), "{}", info.err);
    }
}

#[test]
fn empty_standard_input_is_refused() {
    let result = Environment::default().run(&["status", "-"]);
    assert_eq!(result.exit, Exit::Unreadable, "{}", result.all());
    assert!(result.err.contains("holds no xDS message"), "{}", result.err);
}

#[test]
fn refused_streams_are_content() {
    let source = file("refused.xds", b"node n\nstream 1 ads\nclose status=14 \"refused\"\n");
    assert_ne!(run(&["status", &source]).exit, Exit::Unreadable);
}

#[test]
fn folder_of_messages_names_its_files() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().to_str().expect("a path");
    let raw = run(&["export", "examples/nack.xds", "--to", "raw"]).out;
    for name in ["a.jsonl", "b.jsonl"] {
        std::fs::write(dir.path().join(name), &raw).expect("written");
    }
    let result = run(&["status", path]);
    assert_eq!(result.exit, Exit::Unreadable, "{}", result.all());
    let wanted = [
        format!("{path} is a folder with 2 files of messages: name a file"),
        format!("xdscope status {path}/a.jsonl"),
        format!("cat {path}/*.jsonl | xdscope status -"),
    ];
    assert!(wanted.iter().all(|text| result.err.contains(text)), "{}", result.err);
    std::fs::write(dir.path().join("c.xds"), "stream 1 ads\n> cds\n").expect("written");
    let result = run(&["status", path]);
    assert!(result.err.contains("3 files of messages") && !result.err.contains("cat "), "{}", result.err);
}
