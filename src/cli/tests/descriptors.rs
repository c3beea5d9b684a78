//! Tests of `descriptors`.

use std::io::Cursor;

use super::{Environment, Exit, TOUR, run};

const PROTO: &str =
    "syntax = \"proto3\"; package acme.v1; message Widget { string name = 1; string color = 2; }";

#[test]
fn adds_descriptors_of_proto_files_and_sets() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("widget.proto"), PROTO).unwrap();
    let known = |args: &[&str]| run(&[&["descriptors", "list", "acme.v1"], args].concat()).out;
    assert_eq!(known(&["--proto", &path("widget.proto")]), "FROM  MESSAGE\nuser  acme.v1.Widget\n");
    assert_eq!(known(&[]), "");
    let built =
        run(&["descriptors", "build", "--proto", &path("widget.proto"), "-o", &path("set.binpb"), "-q"]);
    assert_eq!((built.err.as_str(), built.exit), ("", Exit::Yes));
    assert!(known(&["--protoset", &path("set.binpb")]).contains("user  acme.v1.Widget"));
    let broken = run(&["descriptors", "list", "--protoset", TOUR]);
    assert_eq!(broken.exit, Exit::Unreadable);
    assert_eq!(run(&["descriptors", "check", TOUR]).exit, Exit::Yes);
}

#[test]
fn proto_files_are_text_of_a_limited_size() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.proto");
    let list = |content: &[u8]| {
        std::fs::write(&path, content).unwrap();
        run(&["descriptors", "list", "acme.v1", "--proto", path.to_str().unwrap()])
    };
    let marked = list(&[b"\xef\xbb\xbf", PROTO.as_bytes()].concat());
    assert_eq!(marked.out, "FROM  MESSAGE\nuser  acme.v1.Widget\n", "{}", marked.err);
    let refused = |content: &[u8]| {
        let refused = list(content);
        assert_eq!(refused.exit, Exit::Unreadable);
        refused.err
    };
    let values: String = (1..60_000).map(|n| format!("V{n} = {n};\n")).collect();
    let many = refused(format!("{PROTO}\nenum E {{ ZERO = 0;\n{values}}}").as_bytes());
    assert!(many.contains("a.proto: the .proto files have more than 50000 declarations"), "{many}");
    assert!(many.contains("makes a set for --protoset"), "{many}");
    let long = refused(format!("{PROTO}\n// {}", "a".repeat(16 << 20)).as_bytes());
    assert!(long.contains("the .proto files are longer than 16 MB"), "{long}");
    assert!(refused(b"\xff\xfes\0").contains("the text is in UTF-16, and must be in UTF-8"));
}

#[test]
fn check_lists_types_without_a_descriptor() {
    // An Any of acme.v1.Widget with a name.
    let any = "CiJ0eXBlLmdvb2dsZWFwaXMuY29tL2FjbWUudjEuV2lkZ2V0EgQKAncx";
    let script = format!("node a\nstream 1 ads\n+0s 1 > cds\n1 < cds v=1 n=a [raw:{any}]\n");
    let environment =
        || Environment { stdin: Box::new(Cursor::new(script.clone())), ..Environment::default() };
    let output = environment().run(&["descriptors", "check", "-"]);
    assert_eq!(
        (output.out.as_str(), output.exit),
        ("type.googleapis.com/acme.v1.Widget  1 resource\n", Exit::No)
    );
    let dir = tempfile::tempdir().unwrap();
    let proto = dir.path().join("widget.proto");
    std::fs::write(&proto, PROTO).unwrap();
    let output = environment().run(&["descriptors", "check", "-", "--proto", proto.to_str().unwrap()]);
    assert_eq!(output.exit, Exit::Yes, "{}", output.err);
}
