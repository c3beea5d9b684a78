//! Runs the client against a server that plays scripts, for behaviour that real control planes do
//! not have.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{
    process::Child,
    scripted::{play, serve},
    tap::{Recording, xdscope},
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/client")
}

/// One thread for each script: they mostly wait.
#[test]
fn client_follows_scripts() {
    let only = std::env::var("XDSCOPE_SCRIPT").ok();
    let mut running = Vec::new();
    for entry in fs::read_dir(folder()).expect("the scripts").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let text = fs::read_to_string(entry.path()).expect("a script");
        let thread = std::thread::Builder::new().name(name.clone());
        let thread = thread.spawn(move || play(&name, &text)).expect("a thread");
        running.push(thread);
    }
    let failed: Vec<String> = running
        .into_iter()
        .filter_map(|thread| {
            let name = thread.thread().name().unwrap_or_default().to_owned();
            thread.join().err().map(|_| name)
        })
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// Gets a structured name as WHAT, as typed by a user.
#[test]
fn gets_xdstp_names() {
    const SCRIPT: &str = r#"
node me
stream 1 delta-ads
> cds sub=["xdstp://a/envoy.config.cluster.v3.Cluster/foo?a=1&b=2"]
< cds n=1 ["xdstp://a/envoy.config.cluster.v3.Cluster/foo?a=1&b=2"@1]
"#;
    let folder = tempfile::tempdir().expect("a folder");
    let (child, _stage) = serve("get", SCRIPT, |address| {
        let mut command = xdscope(folder.path());
        let name = "xdstp://a/envoy.config.cluster.v3.Cluster/foo?b=2&a=1";
        command.args(["get", address, name, "-o", "name", "--variant", "delta-ads"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("xdscope runs")
    });
    let output = child.wait_with_output().expect("its end");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "cds/xdstp://a/envoy.config.cluster.v3.Cluster/foo?a=1&b=2\n", "{err}");
    let refused = |args: &[&str]| {
        let mut command = xdscope(folder.path());
        let output = command.args(["get", "127.0.0.1:9"]).args(args).output().expect("xdscope runs");
        (output.status.code(), text(&output.stderr))
    };
    let glob = "xdstp://a/envoy.config.cluster.v3.Cluster/x/*";
    for (args, why) in [
        (&[glob][..], "--variant delta-ads"),
        (&["xdstp://a"], "not a structured name"),
        (
            &[glob, "--variant", "delta", "--xdstp-authority", "b=127.0.0.1:9"],
            "--xdstp-authority NAME=SERVER",
        ),
    ] {
        let (code, err) = refused(args);
        assert!(code == Some(2) && err.contains(why), "{args:?}: {code:?} {err}");
    }
}

/// A debug type of Istio is asked for once, without an ACK, and its content is of another type.
#[test]
fn gets_debug_types_of_istio() {
    const SCRIPT: &str = r#"
node me
stream 1 ads
> istio.io/debug/syncz
< istio.io/debug/syncz v=1 n=a [raw:Cjh0eXBlLmdvb2dsZWFwaXMuY29tL2Vudm95LnNlcnZpY2Uuc3RhdHVzLnYzLkNsaWVudENvbmZpZxIOCgwKCndlYi0xLnNob3A=]
"#;
    let folder = tempfile::tempdir().expect("a folder");
    let (child, _stage) = serve("get", SCRIPT, |address| {
        let mut command = xdscope(folder.path());
        command.args(["get", address, "istio.io/debug/syncz", "-o", "yaml"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("xdscope runs")
    });
    let output = child.wait_with_output().expect("its end");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && !out.contains("NACK") && err.is_empty(), "{out}{err}");
    assert!(out.contains("envoy.service.status.v3.ClientConfig") && out.contains("id: web-1.shop"), "{out}");
}

/// docs/protocol.md#k-24: a redirect to an authority without a server is reported and not followed.
#[test]
fn reports_authority_without_server() {
    let cluster = |authority: &str| format!("xdstp://{authority}/envoy.config.cluster.v3.Cluster/foo");
    let (asked, target) = (cluster("a"), cluster("b"));
    let text = format!(
        "node me\nstream 1 delta-ads\n> cds sub=[{asked:?}]\n< cds n=1 [{asked:?}=>{target:?}@1]\n> cds n=1\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let ask = |verb: &str, address: &str| {
        let mut command = xdscope(folder.path());
        command.args([verb, address, &asked, "--variant", "delta-ads"]);
        command.arg("--xdstp-authority").arg(format!("a={address}"));
        command
    };
    let (child, _stage) = serve("get", &text, |address| {
        let mut command = ask("get", address);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("xdscope runs")
    });
    let output = child.wait_with_output().expect("its end");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains(&format!("not followed: {target}: no server for its authority")), "{err}");

    let file = folder.path().join("watch.xdsrec");
    let (child, _stage) = serve("watch", &text, |address| {
        let mut command = ask("watch", address);
        command.args(["--no-tui", "--record"]).arg(&file);
        Child::start(&mut command, &folder.path().join("watch.log"))
    });
    child.interrupt();
    let findings = Recording { file }.objects("lint", &["--rule", "xdstp-authority-unmapped"]);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0]["names"], serde_json::json!([asked]));
    assert!(findings[0]["text"].as_str().is_some_and(|text| text.contains("authority `b`")), "{findings:#?}");
}

#[test]
fn client_rows_have_valid_proofs() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let table = read("tests/client_rows.txt");
    let lines: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split(" | ").collect())
        .collect();
    let ids: Vec<String> = lines.iter().map(|line| line[0].to_owned()).collect();
    let groups = [
        ('A', 19),
        ('B', 7),
        ('C', 6),
        ('D', 7),
        ('E', 51),
        ('F', 36),
        ('G', 12),
        ('H', 12),
        ('I', 14),
        ('J', 5),
        ('K', 33),
        ('L', 24),
    ];
    let all = groups.iter().flat_map(|(group, rows)| (1..=*rows).map(move |n| format!("{group}-{n:02}")));
    assert_eq!(ids, all.collect::<Vec<_>>());
    let mut used = BTreeSet::new();
    for line in &lines {
        let [id, does, held] = line[..] else { panic!("three columns: {line:?}") };
        assert!(does.len() > 5, "{id}");
        if let Some(why) = held.strip_prefix("none: ") {
            assert!(why.len() > 20, "{id} says why");
            continue;
        }
        for proof in held.split(' ') {
            if let Some(name) = proof.strip_prefix("client/") {
                let text = read(&format!("tests/fixtures/client/{name}.xds"));
                let first = text.lines().next().unwrap_or_default();
                let mut words = first.split(|c: char| !c.is_alphanumeric() && c != '-');
                assert!(words.any(|word| word.eq_ignore_ascii_case(id)), "{name} does not name {id}");
                used.insert(name.to_owned());
            } else {
                let (path, function) = proof.split_once("::").expect("PATH::FN");
                assert!(read(path).contains(&format!("fn {function}(")), "{id}: no {proof}");
            }
        }
    }
    // Scripts of groups without client rows cite a row of their own.
    for entry in fs::read_dir(folder()).expect("the scripts").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(entry.path()).expect("a script");
        let first = text.lines().next().unwrap_or_default();
        let own = used.contains(name.trim_end_matches(".xds"));
        assert!(
            own || ["protocol.md#i-", "protocol.md#b-", "protocol.md#m-"]
                .iter()
                .any(|row| first.contains(row)),
            "{name}: {first}"
        );
    }
}
