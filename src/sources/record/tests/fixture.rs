//! One recording per format version, which opens for ever. A new version adds a file and a test.

use std::path::PathBuf;

use super::sample::*;
use crate::open_recording as open;
use crate::record::{FileFormat, detect, read};
use xdscope_wire::content::{Catalog, MemoryBodies};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/recordings").join(name)
}

/// To make the fixture of a new version, run this test with `WRITE_FIXTURE` set to its path.
#[test]
fn opens_version_1() {
    let mut catalog = Catalog::new(42, None, Box::new(MemoryBodies::default()));
    let frames = session(&mut catalog);
    if let Some(path) = std::env::var_os("WRITE_FIXTURE") {
        std::fs::write(path, record(&frames, &catalog, 4)).unwrap();
    }
    let loaded = open(&path("v1.xdsrec")).unwrap();
    assert_eq!(loaded.notices, Vec::<String>::new());
    assert_eq!(describe(&loaded.frames, &loaded.catalog), describe(&frames, &catalog));
}

#[test]
fn detects_format_by_content() {
    let raw = br#"{"t":0,"stream":1,"dir":"close"}"#;
    assert_eq!(detect(raw), FileFormat::Raw);
    assert_eq!(read(&raw[..]).unwrap().frames.len(), 2);
    assert_eq!(
        detect(br#"{"dir":"s2c","raw":"AAAA"#),
        FileFormat::Raw,
        "a line longer than what is looked at"
    );
    for other in ["A -> B", "{\"static_resources\":{}}", "{\n  \"dir\": 1\n}", "[]", "node:\n  id: x\n"] {
        assert_eq!(detect(other.as_bytes()), FileFormat::Other, "{other}");
    }
}
