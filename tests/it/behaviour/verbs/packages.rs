//! `examples/release/build.sh`: what it packs can be installed and run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::docs::optional_tool;
use crate::support::process::Child;
use crate::support::wait::wait_for;

const TEST: &str = "release_files_can_be_installed_and_run";

/// Returns the only file of a folder with this ending.
fn file_with(folder: &Path, ending: &str) -> PathBuf {
    let files = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = files.filter(|file| file.display().to_string().ends_with(ending)).collect();
    assert_eq!(found.len(), 1, "{ending} in {}: {found:?}", folder.display());
    found.remove(0)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Checks the bill of materials, and that the licences are those of its packages.
fn check_bill(release: &Path) {
    let bill: Value = serde_json::from_str(&read(&file_with(release, ".cdx.json"))).expect("JSON");
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = bill["components"].as_array().expect("components");
    let product = &bill["metadata"]["component"];
    let known: BTreeSet<&str> =
        components.iter().chain([product]).map(|one| one["bom-ref"].as_str().expect("a reference")).collect();
    for entry in bill["dependencies"].as_array().expect("dependencies") {
        for name in entry["dependsOn"].as_array().expect("a list").iter().chain([&entry["ref"]]) {
            assert!(known.contains(name.as_str().expect("a reference")), "{name} is not a component");
        }
    }
    let licences = read(&file_with(release, "licences.txt"));
    assert!(licences.contains("Apache License"), "the texts are there");
    let named = |name: &str| components.iter().find(|one| one["name"] == name);
    let tokio = named("tokio").expect("tokio");
    assert_eq!(tokio["hashes"][0]["content"].as_str().map(str::len), Some(64), "{tokio}");
    assert!(licences.contains(&format!("tokio {}: MIT", tokio["version"].as_str().expect("a version"))));
    assert!(named("proptest").is_none(), "packages of tests do not belong to the program");
}

/// Runs the demo of an installed program until it listens.
fn run_demo(program: &Path, folder: &Path) {
    let mut demo = Command::new(program);
    demo.args(["demo", "--headless", "--no-record"]).env("XDG_STATE_HOME", folder).env("HOME", folder);
    let mut demo = Child::start(&mut demo, &folder.join("demo.log"));
    wait_for("the demo to listen", || {
        demo.assert_running();
        demo.log().contains("listening on ").then_some(())
    });
    demo.interrupt();
}

/// Checks the program, its manual and its service in the tree of a package.
fn check_tree(tree: &Path, folder: &Path) {
    run_demo(&tree.join("usr/bin/xdscope"), folder);
    let page = tree.join("usr/share/man/man1/xdscope-tap.1.gz");
    if let Some(man) = optional_tool::find("man", TEST) {
        let mut man = Command::new(man);
        let shown =
            optional_tool::output(man.arg("-l").arg(&page).env("MANPAGER", "cat").env("LC_ALL", "C.UTF-8"));
        assert!(shown.contains("--check-config"), "{shown}");
    }
    let unit = read(&tree.join("usr/lib/systemd/system/xdscope-tap.service"));
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/")).expect("a command");
    for path in start.split(' ').filter(|word| word.contains('/')) {
        let path = path.trim_start_matches('/');
        assert!(tree.join(path).is_file(), "the service needs {path}");
    }
    for path in
        ["bash-completion/completions/xdscope", "zsh/site-functions/_xdscope", "doc/xdscope/copyright"]
    {
        assert!(!read(&tree.join("usr/share").join(path)).is_empty(), "{path}");
    }
}

#[test]
fn release_files_can_be_installed_and_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let release = folder.path().join("release");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/release/build.sh");
    let mut build = Command::new("bash");
    build
        .arg(script)
        .arg("--quick")
        .args(["--binary", env!("CARGO_BIN_EXE_xdscope"), "--output"])
        .arg(&release);
    optional_tool::output(&mut build);
    let sums = read(&release.join("SHA256SUMS"));
    assert!(sums.lines().count() > 30, "{sums}");
    optional_tool::output(
        Command::new("sha256sum").args(["--quiet", "-c", "SHA256SUMS"]).current_dir(&release),
    );
    check_bill(&release);
    let archive = file_with(&release, ".tar.gz");
    let listed = optional_tool::output(Command::new("tar").arg("tzf").arg(archive));
    for name in ["xdscope", "LICENSE", "licences.txt", "man/xdscope.1", "completions/xdscope.fish"] {
        assert!(listed.lines().any(|line| line.ends_with(&format!("/{name}"))), "{name} in {listed}");
    }
    let Some(dpkg_deb) = optional_tool::find("dpkg-deb", TEST) else { return };
    let tree = folder.path().join("tree");
    optional_tool::output(Command::new(dpkg_deb).arg("-x").arg(file_with(&release, ".deb")).arg(&tree));
    check_tree(&tree, folder.path());
}
