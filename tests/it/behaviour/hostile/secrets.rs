//! Checks that a private key and two tokens, which pass a tap and the client, are in nothing that
//! is written, printed or drawn.
//!
//! Recordings are searched uncompressed.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use xdscope_engine::store::{self, Store};
use xdscope_schema::Schema;
use xdscope_tui::{Info, StoreData};

use crate::support::{
    base64,
    bootstrap::Variant,
    certs::Ca,
    control_plane::Flags,
    faulty::{Fault, Faulty},
    process::Child,
    screens,
    snapshot::{CLUSTER, SECRET, Snapshot, bad_secret, cluster_with_secret},
    tap::{Recording, xdscope},
    wait::wait_for,
    world::World,
};

const TOKEN: &str = "token-of-0123456789abcdef";
const API_KEY: &str = "api-key-of-fedcba9876543210";
const MARK: &[u8] = b"[redacted ";

/// Returns all secrets: the tokens, and each line of the key.
fn secrets(key: &str) -> Vec<String> {
    let lines = key.lines().filter(|line| !line.starts_with("-----")).map(str::to_owned);
    lines.chain([TOKEN.to_owned(), API_KEY.to_owned()]).collect()
}

pub(crate) fn assert_none(place: &str, bytes: &[u8], secrets: &[String]) {
    for secret in secrets {
        let found = memchr::memmem::find(bytes, secret.as_bytes());
        assert_eq!(found, None, "{place} has {secret}");
    }
}

/// Returns the uncompressed blocks of a recording, read by `proto/recording.proto` and not by the
/// product's reader.
pub(crate) fn unpacked(path: &Path) -> Vec<u8> {
    let file = std::fs::read(path).expect("a recording");
    let three = |at: usize| u32::from_le_bytes([file[at], file[at + 1], file[at + 2], 0]) as usize;
    let mut at = 18 + u32::from_le_bytes(file[10..14].try_into().expect("four bytes")) as usize;
    let (mut out, mut segment) = (file[..at].to_vec(), Vec::new());
    let unpack = |segment: &mut Vec<u8>, out: &mut Vec<u8>| {
        let mut stream = zstd::stream::write::Decoder::new(Vec::new()).expect("a decoder");
        std::io::Write::write_all(&mut stream, segment).expect("zstd");
        std::io::Write::flush(&mut stream).expect("zstd");
        out.extend_from_slice(stream.get_ref());
        segment.clear();
    };
    while at < file.len() {
        assert_eq!(file[at..at + 2], [0xd5, 0xb1], "a block at {at}");
        let (kind, len) = (file[at + 2], three(at + 3));
        let body = &file[at + 13..at + 13 + len];
        match kind {
            1 => {
                unpack(&mut segment, &mut out);
                segment.extend_from_slice(body);
            }
            2 => segment.extend_from_slice(body),
            3 | 4 => out.extend_from_slice(body),
            other => panic!("a block of kind {other} in a file that was finished"),
        }
        at += 13 + len;
    }
    unpack(&mut segment, &mut out);
    out
}

/// Draws every screen of a recording at its end.
pub(crate) fn drawn(recording: &Recording) -> String {
    let loaded = xdscope_sources::open_recording(&recording.file).expect("a recording");
    let mut store = Store::new(loaded.catalog, loaded.clock, store::Options::default());
    loaded.frames.into_iter().for_each(|frame| store.handle(frame));
    store.advance(loaded.end);
    let bodies = xdscope_tui::Decoded(Schema::builtin());
    let data = StoreData { store: &store, findings: &[], bodies: &bodies, applied: None };
    screens::all(&Info::default(), &data).into_values().flatten().collect::<Vec<_>>().join("\n")
}

/// Asserts that a recording, its exports, and all output about it have no secrets.
fn assert_copies_have_none(recording: &Recording, secrets: &[String]) {
    let file = unpacked(&recording.file);
    assert!(memchr::memmem::find(&file, MARK).is_some(), "the redaction is marked");
    assert_none("the recording", &file, secrets);
    for (verb, args) in [
        ("status", &["-o", "wide"][..]),
        ("status", &["-o", "json"]),
        ("log", &["--body"]),
        ("log", &["--body", "-o", "json"]),
        ("log", &["--body", "-o", "yaml"]),
        ("log", &["--filter", "kind:nack", "--body"]),
        ("get", &["sds", "-o", "yaml"]),
        ("get", &["sds", "-o", "json"]),
        ("get", &["-o", "tree"]),
        ("lint", &["-o", "json"]),
        ("info", &["-o", "json"]),
        ("export", &["--to", "jsonl"]),
        ("export", &["--to", "script"]),
    ] {
        let text = recording.text(verb, args);
        assert!(!text.is_empty(), "{verb} {args:?}");
        assert_none(&format!("{verb} {args:?}"), text.as_bytes(), secrets);
    }
    for line in recording.text("export", &["--to", "raw"]).lines() {
        assert_none("raw JSONL", line.as_bytes(), secrets);
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_none("a raw message", &base64(line["raw"].as_str().unwrap_or_default()), secrets);
    }
    let again = recording.file.with_extension("again.xdsrec");
    recording.run("export", &["--to", "xdsrec", "--output", again.to_str().expect("text")]);
    assert_none("an exported recording", &unpacked(&again), secrets);
    let screens = drawn(recording);
    assert!(screens.contains("[redacted "), "a key was to be seen");
    assert_none("a screen", screens.as_bytes(), secrets);
}

#[test]
fn key_and_tokens_appear_nowhere() {
    let Some(world) = World::open("key_and_tokens_appear_nowhere") else { return };
    let mut plane = world.control_plane(Flags::default());
    let tap = world.tap(plane.address(), &[]);
    let pair = Ca::new(world.folder(), "root").issue("edge", &["edge.test"]);
    let key = std::fs::read_to_string(pair.key).expect("a key");
    let secrets = secrets(&key);
    assert!(secrets.len() > 4, "{key}");
    plane.set(
        &Snapshot::default()
            .with(CLUSTER, "1", vec![cluster_with_secret("safe", "key-1", Variant::DeltaAds)])
            .with(SECRET, "1", vec![bad_secret("key-1", &key)]),
    );
    // Envoy quotes the key in its NACK; the client quotes all secrets in its own NACK, and sends
    // the tokens.
    let _envoy = world.envoy("edge-1", Variant::DeltaAds, tap.address());
    plane.wait_for(0, "a NACK", |e| e.is_nack(SECRET));
    let mark = plane.mark();
    let own = world.folder().join("own.xdsrec");
    let refusal = format!("type:sds => private_key: {key} token={TOKEN} api_key: {API_KEY}");
    let mut watch: Command = xdscope(world.folder());
    watch.args([
        "watch",
        &tap.address().to_string(),
        "cds/safe",
        "sds/key-1",
        "--no-tui",
        "--token-env",
        "XDS_TOKEN",
    ]);
    watch.args(["-H", &format!("x-api-key: {API_KEY}"), "--nack", &refusal, "--record"]).arg(&own);
    let watch = Child::start(watch.env("XDS_TOKEN", TOKEN), &world.folder().join("watch.log"));
    let nack = plane.wait_for(mark, "our own NACK", |e| {
        e.is_nack(SECRET) && e.error.as_ref().is_some_and(|error| error.message.contains(API_KEY))
    });
    let said = nack.error.map(|error| error.message).unwrap_or_default();
    assert!(secrets.iter().all(|secret| said.contains(secret)), "{said}");
    wait_for("both NACKs among the tap's lines", || {
        (tap.log().matches("NACK").count() > 1 && watch.log().contains("NACK")).then_some(())
    });
    assert_none("the tap's lines", tap.log().as_bytes(), &secrets);
    assert_none("the client's lines", watch.log().as_bytes(), &secrets);
    watch.interrupt();
    for recording in [tap.stop(), Recording { file: own }] {
        assert_copies_have_none(&recording, &secrets);
    }
}

/// Redacts files recorded with `--keep-secrets`.
#[test]
fn redact_removes_secrets_from_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (key, password) = ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "hunter2-hunter2");
    let pem = format!("-----BEGIN PRIVATE KEY-----\\n{key}\\n-----END PRIVATE KEY-----\\n");
    let secret = format!(
        "{{tls_certificate: {{private_key: {{inline_string: \"{pem}\"}}, password: {{inline_string: \"{password}\"}}}}}}"
    );
    let script = format!(
        "node edge\nstream 1 delta-ads\n> sds sub=[edge-cert]\n< sds n=a [edge-cert{secret}@1]\n\
         > sds n=a nack=\"bad password: {password}\" code=13\n1 close status=13 \"saw {password}\"\n"
    );
    std::fs::write(at("session.xds"), script).expect("a disk");
    let run = |args: &[&str]| {
        let output =
            xdscope(folder.path()).args(args).current_dir(folder.path()).output().expect("xdscope runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let secrets = [key.to_owned(), password.to_owned()];
    for (form, name) in [("xdsrec", "kept.xdsrec"), ("raw", "kept.jsonl")] {
        let out = name.replace("kept", "clean");
        let (code, said) = run(&["export", "session.xds", "--keep-secrets", "--to", form, "--output", name]);
        assert_eq!(code, Some(0), "{said}");
        let bytes = |name: &str| match form {
            "xdsrec" => unpacked(&at(name)),
            _ => {
                let text = std::fs::read_to_string(at(name)).expect("a file");
                let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
                let raw = |line: Value| base64(line["raw"].as_str().unwrap_or_default());
                [lines.flat_map(raw).collect(), text.as_bytes().to_vec()].concat()
            }
        };
        let kept = std::fs::read(at(name)).expect("a file");
        assert!(memchr::memmem::find(&bytes(name), key.as_bytes()).is_some(), "{name} has the key");
        let (code, said) = run(&["redact", name, "--output", &out]);
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains("secrets taken out of 1 resource in 2 messages, and of 1 other value"),
            "{said}"
        );
        assert_none(&out, &bytes(&out), &secrets);
        assert!(memchr::memmem::find(&bytes(&out), MARK).is_some(), "{out} says so");
        // A second run finds nothing, and changes only the mark of the file.
        let (_, said) = run(&["redact", &out, "--output", &format!("again-{out}")]);
        assert!(said.contains("no secrets found"), "{said}");
        let (code, said) = run(&["redact", name, "--output", &format!("./{name}")]);
        assert_eq!((code, said.contains("is the source")), (Some(2), true), "{said}");
        assert_eq!(std::fs::read(at(name)).expect("a file"), kept);
        let log = |name: &str| Recording { file: at(name) }.text("log", &[]);
        assert_eq!(log(&out).lines().count(), log(name).lines().count());
    }
    let (code, said) = run(&["redact", "session.xds", "--output", "clean.xds"]);
    assert_eq!((code, said.contains("arrow script")), (Some(2), true), "{said}");
    assert!(!at("clean.xds").exists());
}

/// A server that repeats the client's token in its errors.
#[test]
fn tokens_that_a_server_repeats_appear_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, TOKEN).expect("a disk");
    let fields = || {
        let text = format!("refused: {TOKEN} and {API_KEY}");
        vec![("grpc-status", "16".to_owned()), ("grpc-message", text)]
    };
    let token_file = token_file.to_str().expect("text");
    let secrets = [TOKEN.to_owned(), API_KEY.to_owned()];
    let recording = folder.path().join("own.xdsrec");
    let verbs: [&[&str]; 6] = [
        &["watch", "SERVER", "cds", "--no-tui", "--record", "own.xdsrec"],
        &["get", "SERVER", "cds"],
        &["status", "SERVER", "-o", "json"],
        &["wait", "SERVER", "synced", "--timeout", "10s"],
        &["doctor", "SERVER"],
        &["descriptors", "build", "--reflection", "SERVER", "--output", "set.bin"],
    ];
    for token in [&["--token-env", "XDS_TOKEN"][..], &["--token-file", token_file]] {
        for verb in verbs {
            let server = Faulty::start(vec![Fault::Headers(200, fields()); 40]);
            let address = server.address.to_string();
            let args = verb.iter().map(|arg| if *arg == "SERVER" { address.as_str() } else { arg });
            let mut command: Command = xdscope(folder.path());
            command.current_dir(folder.path()).args(args).args(token).env("XDS_TOKEN", TOKEN);
            command.args(["-H", &format!("x-api-key: {API_KEY}"), "--log-file", "xdscope.log", "-v"]);
            let log = folder.path().join("verb.log");
            let mut child = Child::start(&mut command, &log);
            let said = wait_for("the server's error", || {
                let said = child.log();
                said.contains("refused").then_some(said)
            });
            let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            child.finish();
            assert_none(&format!("{verb:?}"), said.as_bytes(), &secrets);
            assert!(said.contains("[redacted "), "{said}");
        }
    }
    let log = std::fs::read(folder.path().join("xdscope.log")).expect("a log");
    assert_none("the log", &log, &secrets);
    assert_none("the recording", &unpacked(&recording), &secrets);
}
