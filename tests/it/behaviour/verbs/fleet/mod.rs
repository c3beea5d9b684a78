//! Session files as tables: what is written, and what is left after failures.

mod queries;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use xdscope_sources::record::Header;

use crate::support::tap::xdscope;

/// Runs xdscope in a folder, and returns what it says.
fn run(folder: &Path, args: &[&str]) -> Output {
    xdscope(folder).args(args).output().expect("xdscope runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Makes a recording of an arrow script, whose time zero is this number of seconds after
/// 2026-03-02T14:00:00Z.
fn recording(folder: &Path, script: &str, after: u64) -> PathBuf {
    let name = Path::new(script).file_stem().expect("a name").to_string_lossy().into_owned();
    let path = folder.join(format!("{name}.xdsrec"));
    let output = path.to_str().expect("text");
    let fixture = Path::new("tests/fixtures").join(script).display().to_string();
    let made = run(folder, &["export", &fixture, "--to", "xdsrec", "--output", output]);
    assert!(made.status.success(), "{script}: {}", said(&made));
    let mut bytes = fs::read(&path).expect("a recording");
    let (mut header, end) = Header::read(&mut &bytes[..]).expect("a header");
    let zero = (1_772_460_000 + after) * 1_000_000_000;
    (header.created, header.clock.epoch) = (zero, Some(zero.into()));
    // The fixtures state no time zero of their own.
    header.source = "tap 127.0.0.1:18001 → 10.0.0.7:15010".to_owned();
    bytes.splice(..usize::try_from(end).expect("a length"), header.encode());
    fs::write(&path, bytes).expect("written");
    path
}

/// Lists all files below a folder, by their paths from there, with their bytes.
fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").display().to_string();
                found.push((name, fs::read(path).expect("readable")));
            }
        }
    }
    found.sort();
    found
}

fn names(files: &[(String, Vec<u8>)]) -> Vec<&str> {
    files.iter().map(|(name, _)| name.as_str()).filter(|name| !name.contains("/schema-")).collect()
}

const BATCH: &str = "tap-127.0.0.1-18001-10.0.0.7-15010";

#[test]
fn second_export_adds_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = recording(folder.path(), "cli/tour.xds", 0);
    let session = session.to_str().expect("text");
    let export = |source: &str| {
        let output = folder.path().join("fleet");
        run(folder.path(), &["export", source, "--to", "parquet", "--output", output.to_str().expect("text")])
    };
    let first = export(session);
    assert!(first.status.success(), "{}", said(&first));
    assert!(said(&first).contains("1 session file written to "), "{}", said(&first));
    let files = tree(&folder.path().join("fleet"));
    let named = names(&files);
    assert!(named.iter().all(|name| name.contains("/day=2026-03-02/") && name.contains(BATCH)), "{named:#?}");
    for table in ["messages", "resources", "contents", "verdicts", "streams", "problems", "findings"] {
        assert!(
            named.iter().any(|name| name.starts_with(&format!("landing/{table}/"))),
            "{table}: {named:#?}"
        );
    }
    // A copy under another name is the same session.
    let copy = folder.path().join("copy.xdsrec");
    fs::copy(session, &copy).expect("a copy");
    for source in [session, copy.to_str().expect("text")] {
        let again = export(source);
        assert!(said(&again).contains(", 1 there before"), "{}", said(&again));
        assert_eq!(tree(&folder.path().join("fleet")), files);
    }
}

#[test]
fn manifest_lists_files_with_checksums() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = recording(folder.path(), "cli/tour.xds", 0);
    let fleet = folder.path().join("fleet");
    let args = ["--to", "parquet", "--tap", "../a b", "--output", fleet.to_str().expect("text")];
    let exported = run(folder.path(), &[&["export", session.to_str().expect("text")], &args[..]].concat());
    assert!(exported.status.success(), "{}", said(&exported));
    let files = tree(&fleet);
    let (name, manifest) = files.iter().find(|(name, _)| name.starts_with("manifests/")).expect("a manifest");
    assert!(name.starts_with("manifests/day=2026-03-02/a-b-"), "{name}");
    let manifest: Value = serde_json::from_slice(manifest).expect("JSON");
    assert_eq!((&manifest["schema_version"], &manifest["tap"]), (&1.into(), &"a-b".into()));
    let listed = manifest["files"].as_array().expect("files");
    assert_eq!(listed.len(), names(&files).len() - 1, "all but the manifest");
    for file in listed {
        let (_, bytes) = files.iter().find(|(name, _)| file["path"] == *name).expect("a listed file");
        assert_eq!(file["bytes"], bytes.len());
        assert_eq!(file["sha256"], format!("{:x}", <sha2::Sha256 as sha2::Digest>::digest(bytes)));
        assert!(file["rows"].as_u64() > Some(0), "{file}");
    }
}

/// A writer that is killed leaves files without a manifest. The next export completes the batch.
#[test]
fn batch_without_manifest_is_completed() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = recording(folder.path(), "cli/tour.xds", 0);
    let fleet = folder.path().join("fleet");
    let output = fleet.to_str().expect("text");
    let export = || {
        run(
            folder.path(),
            &["export", session.to_str().expect("text"), "--to", "parquet", "--output", output],
        )
    };
    export();
    let whole = tree(&fleet);
    for (name, _) in
        whole.iter().filter(|(name, _)| name.starts_with("manifests/") || name.contains("/verdicts/day=2"))
    {
        fs::remove_file(fleet.join(name)).expect("removed");
    }
    fs::write(fleet.join("landing/verdicts/day=2026-03-02/.killed.part"), "half").expect("written");
    assert!(said(&export()).contains("1 session file written"));
    fs::remove_file(fleet.join("landing/verdicts/day=2026-03-02/.killed.part")).expect("left alone");
    assert_eq!(tree(&fleet), whole);
}

#[test]
fn other_rows_of_a_batch_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = recording(folder.path(), "cli/tour.xds", 0);
    let fleet = folder.path().join("fleet");
    let args = [
        "export",
        session.to_str().expect("text"),
        "--to",
        "parquet",
        "--output",
        fleet.to_str().expect("text"),
    ];
    run(folder.path(), &args);
    let before = tree(&fleet);
    let other = run(folder.path(), &[&args[..], &["--stale-after", "300h"]].concat());
    assert_eq!(other.status.code(), Some(5), "{}", said(&other));
    assert!(said(&other).contains("was written with other rows"), "{}", said(&other));
    assert_eq!(tree(&fleet), before);
}

/// A file that grows beyond the limit of the system fails like one on a full disk.
#[test]
fn full_disk_leaves_no_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = recording(folder.path(), "cli/tour.xds", 0);
    let fleet = folder.path().join("fleet");
    fs::create_dir(&fleet).expect("a folder");
    // A first export writes the files without rows.
    run(
        folder.path(),
        &[
            "export",
            session.to_str().expect("text"),
            "--to",
            "parquet",
            "--output",
            fleet.to_str().expect("text"),
        ],
    );
    fs::remove_dir_all(fleet.join("manifests")).expect("removed");
    for table in fs::read_dir(fleet.join("landing")).expect("a folder").flatten() {
        fs::remove_dir_all(table.path().join("day=2026-03-02")).ok();
    }
    let script = "ulimit -f 1; exec \"$0\" export \"$1\" --to parquet --output \"$2\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_xdscope")]).arg(&session).arg(&fleet);
    let full = shell.env("XDG_STATE_HOME", folder.path()).output().expect("a shell");
    assert_eq!(full.status.code(), Some(5), "{}", said(&full));
    for part in ["the batch is not complete", "cannot write", "too large"] {
        assert!(said(&full).contains(part), "{part}: {}", said(&full));
    }
    let left = tree(&fleet);
    assert!(!names(&left).iter().any(|name| name.starts_with("manifests/")), "{:?}", names(&left));
    assert!(!left.iter().any(|(name, _)| name.ends_with(".part")), "{:?}", names(&left));
}

#[test]
fn folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = recording(folder.path(), "cli/tour.xds", 0);
    let file = folder.path().join("file");
    File::create(&file).expect("a file");
    let failed = run(
        folder.path(),
        &[
            "export",
            session.to_str().expect("text"),
            "--to",
            "parquet",
            "--output",
            file.to_str().expect("text"),
        ],
    );
    assert_eq!(failed.status.code(), Some(5), "{}", said(&failed));
    assert!(
        said(&failed).contains("cannot write") && said(&failed).contains("landing/"),
        "{}",
        said(&failed)
    );
}

/// One unreadable file does not keep the others of a folder from their batches.
#[test]
fn exports_folders_and_names_what_is_not_a_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = folder.path().join("sessions");
    fs::create_dir(&sessions).expect("a folder");
    recording(&sessions, "cli/tour.xds", 0);
    recording(&sessions, "views/made.xds", 60);
    fs::write(sessions.join("bad.xdsrec"), "not a recording").expect("written");
    let fleet = folder.path().join("fleet");
    let exported = run(
        folder.path(),
        &[
            "export",
            sessions.to_str().expect("text"),
            "--to",
            "parquet",
            "--output",
            fleet.to_str().expect("text"),
        ],
    );
    assert_eq!(exported.status.code(), Some(5), "{}", said(&exported));
    assert!(said(&exported).contains("bad.xdsrec is not a recording"), "{}", said(&exported));
    assert!(said(&exported).contains("2 session files written"), "{}", said(&exported));
    let undated =
        run(folder.path(), &["export", "tests/fixtures/cli/tour.xds", "--to", "parquet", "--output", "x"]);
    assert!(said(&undated).contains("tour.xds is not a recording"), "{}", said(&undated));
}

#[test]
fn recording_with_secrets_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("kept.xdsrec");
    let kept = kept.to_str().expect("text");
    let args =
        ["export", "tests/fixtures/cli/tour.xds", "--to", "xdsrec", "--keep-secrets", "--output", kept];
    assert!(run(folder.path(), &args).status.success());
    let refused = run(folder.path(), &["export", kept, "--to", "parquet", "--output", "x"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("kept.xdsrec holds secrets"), "{}", said(&refused));
    assert!(said(&refused).contains("xdscope redact "), "{}", said(&refused));
}

/// Files are for the group of the folder, like those of other programs: engines read them.
#[test]
fn files_have_the_usual_mode() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = recording(folder.path(), "cli/tour.xds", 0);
    let fleet = folder.path().join("fleet");
    run(
        folder.path(),
        &[
            "export",
            session.to_str().expect("text"),
            "--to",
            "parquet",
            "--output",
            fleet.to_str().expect("text"),
        ],
    );
    let usual = folder.path().join("usual");
    File::create(&usual).expect("a file");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode();
    for (name, _) in tree(&fleet) {
        assert_eq!(mode(&fleet.join(&name)), mode(&usual), "{name}");
    }
}
