//! Watches files that contain a DiscoveryResponse.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::support::{
    process::Child,
    snapshot::{CLUSTER, LISTENER},
    tap::{Recording, xdscope},
    wait::wait_for,
};

/// Returns a new folder for a test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("files")).expect("a folder for the test");
    folder
}

struct Watch {
    child: Child,
    recording: PathBuf,
}

impl Watch {
    fn start(folder: &Path, path: &Path) -> Watch {
        let recording = folder.join("watch.xdsrec");
        let mut command = xdscope(folder);
        command.arg("watch").arg(path).args(["--no-tui", "--record"]).arg(&recording);
        Watch { child: Child::start(&mut command, &folder.join("watch.log")), recording }
    }

    fn wait_for(&self, text: &str) {
        wait_for(text, || self.child.log().contains(text).then_some(()));
    }

    fn stop(self) -> Recording {
        self.child.interrupt();
        Recording { file: self.recording }
    }
}

fn response(type_url: &str, version: &str, names: &[&str]) -> String {
    let resources: Vec<_> = names.iter().map(|name| json!({ "@type": type_url, "name": name })).collect();
    json!({ "version_info": version, "resources": resources }).to_string()
}

/// Replaces a file by renaming, as most tools do.
fn rename_over(path: &Path, text: &str) {
    let new = path.with_file_name(".new");
    fs::write(&new, text).expect("a file");
    fs::rename(&new, path).expect("a rename");
}

fn rules(recording: &Recording) -> Vec<String> {
    let findings = recording.objects("lint", &[]);
    findings.iter().filter_map(|finding| finding["rule"].as_str()).map(str::to_owned).collect()
}

/// The columns KIND and VER of a row.
fn row(kind: &str, version: &str) -> String {
    format!("{kind:<15}{version}")
}

fn push(version: &str) -> String {
    row("push", version)
}

#[test]
fn rereads_changed_file() {
    let folder = folder("rereads_changed_file");
    let path = folder.join("files/cds.json");
    fs::write(&path, response(CLUSTER, "1", &["a"])).expect("a file");
    let watch = Watch::start(&folder, &path);
    watch.wait_for(&push("1"));
    rename_over(&path, &response(CLUSTER, "2", &["a", "b"]));
    watch.wait_for(&push("2"));
    // The file is overwritten in place.
    fs::write(&path, response(CLUSTER, "3", &["b"])).expect("a file");
    watch.wait_for(&push("3"));
    // Other formats are detected by content (docs/protocol.md#c-03).
    let text = format!("version_info: \"4\"\nresources {{ [{CLUSTER}] {{ name: \"c\" }} }}");
    rename_over(&path, &text);
    watch.wait_for(&push("4"));
    rename_over(&path, &format!("version_info: \"5\"\nresources:\n- {{\"@type\": {CLUSTER}, name: d}}\n"));
    watch.wait_for(&push("5"));
    let recording = watch.stop();
    let state = recording.state("cds");
    assert_eq!((&state["variant"], &state["in_force"]), (&json!("file"), &json!("5")), "{state:#}");
    let kinds: Vec<_> = recording.messages().iter().map(|message| message["kind"].clone()).collect();
    assert_eq!(kinds, ["push"; 5], "a file is never answered (docs/protocol.md#c-04)");
    assert_eq!(rules(&recording), [""; 0]);
}

/// docs/protocol.md#c-05: the previous resources stay in force.
#[test]
fn rejects_unreadable_files() {
    let folder = folder("rejects_unreadable_files");
    let path = folder.join("files/cds.json");
    let whole = response(CLUSTER, "2", &["a"]);
    fs::write(&path, response(CLUSTER, "1", &["a"])).expect("a file");
    let watch = Watch::start(&folder, &path);
    watch.wait_for(&push("1"));
    let (half, _) = whole.split_at(40);
    fs::write(&path, half).expect("a file");
    watch.wait_for("rejected: not a DiscoveryResponse: JSON: ");
    watch.wait_for("what was in force stays so");
    fs::write(&path, &whole).expect("a file");
    watch.wait_for(&row("resend", "2"));
    fs::remove_file(&path).expect("a file to remove");
    watch.wait_for("is gone; what was in force stays so");
    let recording = watch.stop();
    assert_eq!(recording.state("cds")["in_force"], "2");
    let found = rules(&recording);
    assert!(
        ["fs-parse-error", "fs-update-rejected"].iter().all(|rule| found.iter().any(|f| f == rule)),
        "{found:?}"
    );
}

/// docs/protocol.md#c-06: a message that breaks the protocol is rejected.
#[test]
fn rejects_duplicate_names() {
    let folder = folder("rejects_duplicate_names");
    let path = folder.join("files/cds.json");
    fs::write(&path, response(CLUSTER, "1", &["a"])).expect("a file");
    let watch = Watch::start(&folder, &path);
    watch.wait_for(&push("1"));
    rename_over(&path, &response(CLUSTER, "2", &["b", "b"]));
    watch.wait_for("rejected: b: duplicate resource name");
    let recording = watch.stop();
    let state = recording.state("cds");
    assert_eq!((&state["in_force"], &state["offered"]), (&json!("1"), &json!("2")), "{state:#}");
    let found = rules(&recording);
    let wanted = ["duplicate-resource-name", "fs-update-rejected"];
    assert!(wanted.iter().all(|rule| found.iter().any(|f| f == rule)), "{found:?}");
    assert!(recording.text("status", &["-o", "wide"]).contains("REJECTED"));
}

/// A violation of type constraints is rejected with the path of its field; `lint` reports it too.
#[test]
fn rejects_constraint_violations() {
    let folder = folder("rejects_constraint_violations");
    let path = folder.join("files/cds.json");
    let bad = json!({ "version_info": "2", "resources": [
        { "@type": CLUSTER, "name": "b", "connect_timeout": "0s" },
    ]});
    fs::write(&path, response(CLUSTER, "1", &["a"])).expect("a file");
    let watch = Watch::start(&folder, &path);
    watch.wait_for(&push("1"));
    rename_over(&path, &bad.to_string());
    watch.wait_for("rejected: b: connect_timeout");
    watch.wait_for("what was in force stays so");
    let recording = watch.stop();
    let state = recording.state("cds");
    assert_eq!((&state["in_force"], &state["offered"]), (&json!("1"), &json!("2")), "{state:#}");
    let found = rules(&recording);
    assert_eq!(found, ["fs-update-rejected"], "one slip is one finding");
    let refused = |name: &str| {
        let all = recording.objects("get", &["cds"]);
        all.iter().find(|one| one["name"] == name).expect("a cluster")["acked_version"].clone()
    };
    assert_eq!((refused("a"), refused("b")), (json!("1"), json!(null)));
    // The finding appears once, for the current file.
    let run = |args: &[&str]| {
        let output = xdscope(&folder).args(args).output().expect("xdscope runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let file = path.to_str().expect("a path");
    let (code, out) = run(&["lint", file]);
    assert!(code == Some(0) && out.contains("pgv-violation") && out.contains("connect_timeout"), "{out}");
    let (code, out) = run(&["status", file]);
    assert!(code == Some(1) && out.contains("REJECTED"), "{out}");
}

/// Reads a directory of responses and hand-written resources; bootstraps and dumps are skipped.
#[test]
fn verbs_accept_directory_as_source() {
    let folder = folder("verbs_accept_directory_as_source");
    let files = folder.join("files");
    fs::create_dir(files.join("more")).expect("a directory");
    let yaml = format!(
        "\"@type\": {CLUSTER}\nname: one\n---\n- \"@type\": {CLUSTER}\n  name: two\n  connect_timeout: 0s\n- \"@type\": \
         {LISTENER}\n  name: in\n"
    );
    let bootstrap = include_str!("../../../../examples/bootstraps/envoy-ads.yaml");
    for (name, text) in [
        ("cds.json", response(CLUSTER, "7", &["three"])),
        ("more/mine.yaml", yaml),
        ("envoy.yaml", bootstrap.to_owned()),
        ("broken.json", "{".to_owned()),
        (".hidden.json", "{".to_owned()),
        ("notes.txt", "no part of it".to_owned()),
    ] {
        fs::write(files.join(name), text).expect("a file");
    }
    let run = |args: &[&str]| {
        let output = xdscope(&folder).args(args).output().expect("xdscope runs");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let source = files.to_str().expect("a path");
    let (code, out, err) = run(&["get", source, "cds", "-o", "name"]);
    let mut names: Vec<&str> = out.lines().collect();
    names.sort_unstable();
    assert_eq!((code, &names[..]), (Some(0), &["cds/one", "cds/three", "cds/two"][..]), "{out}{err}");
    // A file with an invalid cluster is rejected as a whole, as a client does.
    let (_, out, _) = run(&["get", source, "cds", "-o", "jsonl"]);
    assert_eq!(out.matches("\"acked_version\":null").count(), 2, "{out}");
    assert!(err.contains("envoy.yaml is a bootstrap, and skipped") && err.contains("broken.json: "), "{err}");
    assert!(!err.contains("hidden") && !err.contains("notes"), "{err}");
    let (_, out, _) = run(&["get", source, "lds", "-o", "name"]);
    assert_eq!(out, "lds/in\n");
    let (code, out, _) = run(&["lint", source]);
    assert!(code == Some(1) && out.contains("pgv-violation") && out.contains("fs-parse-error"), "{out}");
    let (code, out, _) = run(&["status", source]);
    assert!(code == Some(1) && out.contains("REJECTED"), "{out}");
    let (code, out, _) = run(&["info", source]);
    assert!(code == Some(0) && out.contains("directory of files with resources"), "{out}");
    assert!(out.contains("mine.yaml"), "{out}");
    let empty = folder.join("files/more");
    fs::remove_file(empty.join("mine.yaml")).expect("a file");
    let (code, _, err) = run(&["lint", empty.to_str().expect("a path")]);
    assert!(code == Some(5) && err.contains("no files of resources in"), "{err}");
}

/// The symlink changes as for a mounted ConfigMap in Kubernetes.
#[test]
fn follows_directory_swapped_behind_symlink() {
    let folder = folder("follows_directory_swapped_behind_symlink");
    let at = |name: &str| folder.join("files").join(name);
    for (name, version) in [("..1", "1"), ("..2", "2")] {
        fs::create_dir(at(name)).expect("a directory");
        fs::write(at(name).join("cds.json"), response(CLUSTER, version, &[version])).expect("a file");
        fs::write(at(name).join("lds.json"), response(LISTENER, "7", &["in"])).expect("a file");
    }
    symlink("..1", at("..data")).expect("a link");
    symlink("..data/cds.json", at("cds.json")).expect("a link");
    symlink("..data/lds.json", at("lds.json")).expect("a link");
    let watch = Watch::start(&folder, &folder.join("files"));
    watch.wait_for(&push("1"));
    watch.wait_for(&push("7"));
    symlink("..2", at("..new")).expect("a link");
    fs::rename(at("..new"), at("..data")).expect("a swap");
    watch.wait_for(&push("2"));
    let recording = watch.stop();
    assert_eq!(recording.state("cds")["in_force"], "2");
    assert_eq!(recording.state("lds")["in_force"], "7");
    assert_eq!(recording.messages().len(), 3, "unchanged files are not read again");
    assert_eq!(rules(&recording), [""; 0]);
}

#[test]
fn refuses_to_watch_other_messages() {
    let folder = folder("refuses_to_watch_other_messages");
    let run = |args: &[&str]| {
        let output = xdscope(&folder).args(args).output().expect("xdscope runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/nack.xds");
    let (code, err) = run(&["watch", script]);
    assert_eq!((code, err.contains("xdscope replay")), (Some(2), true), "{err}");
    let file = folder.join("files/cds.json");
    fs::write(&file, response(CLUSTER, "1", &["a"])).expect("a file");
    let (code, err) = run(&["watch", &file.display().to_string(), "cds"]);
    assert_eq!((code, err.contains("WHAT needs a server")), (Some(2), true), "{err}");
    let (code, err) =
        run(&["watch", &file.display().to_string(), "--no-record", "--until", "type:cds name:a"]);
    assert_eq!(code, Some(0), "{err}");
}
