use super::*;

#[test]
fn exports_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let log = run(&["log", TOUR, "--body", "-o", "jsonl"]).out;
    for (to, name) in [("raw", "a.jsonl"), ("script", "a.xds"), ("xdsrec", "a.xdsrec")] {
        let path = dir.path().join(name);
        let path = path.to_str().unwrap();
        let said = run(&["export", TOUR, "--to", to, "--output", path]);
        assert_eq!(said.exit, Exit::Yes, "{to}: {}", said.err);
        assert_eq!(said.err, format!("xdscope: 20 of 20 messages written to {path}\n"));
        assert_eq!(run(&["log", path, "--body", "-o", "jsonl"]).out, log, "{to}");
        let on_stdin =
            World { stdin: Box::new(Cursor::new(std::fs::read(path).unwrap())), ..World::default() };
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
fn an_export_does_not_write_over_what_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("a.xdsrec"), dir.path().join("b.raw"));
    let path = file.to_str().unwrap();
    run(&["export", TOUR, "--to", "xdsrec", "--output", path]);
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let before = std::fs::read(&file).unwrap();
    for to in ["xdsrec", "raw", "jsonl"] {
        for output in [&file, &link] {
            let said = run(&["export", path, "--to", to, "--output", output.to_str().unwrap()]);
            assert_eq!(said.exit, Exit::Usage, "{}", said.err);
            assert!(said.err.contains("is the source"), "{}", said.err);
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn exports_can_be_a_part() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part.jsonl");
    let path = path.to_str().unwrap();
    let names = |args: &[&str]| {
        let said = run(&[&["export", TOUR, "--to", "raw", "--output", path, "-q"], args].concat());
        assert_eq!((said.err.as_str(), said.exit), ("", Exit::Yes));
        run(&["log", path, "-o", "jsonl"]).out.lines().filter(|line| line.contains("\"n\":")).count()
    };
    assert_eq!(names(&["--stream", "#2"]), 4);
    assert_eq!(names(&["--filter", "kind:nack | kind:resend"]), 3);
    assert_eq!(names(&["--from", "#17", "--until", "#18"]), 2);
    assert_eq!(names(&["--until", "+1s"]), 10);
}
