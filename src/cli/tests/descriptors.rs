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
