//! Tests of `info`, and of files that are found by name.

use super::{Environment, Exit, TOUR, objects, run, show};

#[test]
fn describes_a_file() {
    insta::assert_snapshot!(show(&["info", TOUR]));
    let streams = objects(&["info", TOUR, "-o", "jsonl"]);
    assert_eq!(streams.iter().map(|stream| &stream["stream"]).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn describes_a_file_that_status_cannot_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.xdsrec");
    let path = path.to_str().unwrap();
    run(&["export", TOUR, "--to", "xdsrec", "--output", path, "-q"]);
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(200).unwrap();
    let output = run(&["status", path]);
    assert_eq!((output.exit, output.out.as_str()), (Exit::Unreadable, ""), "{}", output.err);
    assert!(output.err.contains("can't be read"), "{}", output.err);
    assert_eq!(run(&["info", path]).exit, Exit::Yes, "what is known of it can be asked");
}

#[test]
fn finds_sessions_by_bare_name() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().to_str().unwrap().to_owned();
    std::fs::create_dir(dir.path().join("xdscope")).unwrap();
    let kept = dir.path().join("xdscope/session-1.xdsrec");
    assert_eq!(run(&["export", TOUR, "--to", "xdsrec", "--output", kept.to_str().unwrap()]).exit, Exit::Yes);
    let env: &'static [_] = vec![("XDG_STATE_HOME", &*state.leak())].leak();
    let environment = || Environment { env, ..Environment::default() };
    for name in ["session-1", "session-1.xdsrec"] {
        assert_eq!(environment().run(&["info", name]).exit, Exit::Yes, "{name}");
    }
    let missing = environment().run(&["info", "session-2"]);
    assert_eq!(missing.exit, Exit::Unreadable);
}
