//! Random secrets in all places of a session are in no output of any verb, in no form.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Exit, run};
use crate::cli::command::command_line;
use xdscope_schema::Schema;
use xdscope_schema::base64;
use xdscope_wire::pb::put_len_field;

const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";
const WIDGET: &str = "type.googleapis.com/acme.v1.Widget";

/// Verbs that print nothing of a source that a test can give, or that print what the user types.
const OTHER_VERBS: [&str; 16] = [
    "attach",
    "check",
    "demo",
    "fleet",
    "tap",
    "serve",
    "watch",
    "wait",
    "replay",
    "redact",
    "sessions",
    "explain",
    "doctor",
    "completions",
    "man",
    "help",
];

/// Secrets, and where each is.
struct Planted {
    random: String,
    places: BTreeMap<String, String>,
}

impl Planted {
    /// Returns a new secret for a place.
    fn secret(&mut self, place: &str) -> String {
        let secret = format!("{}{:03}x", self.random, self.places.len());
        self.places.insert(secret.clone(), place.to_owned());
        secret
    }

    /// Puts a secret into each `HERE` of a text.
    fn text(&mut self, text: &str) -> String {
        let parts: Vec<&str> = text.split("HERE").collect();
        let mut out = parts[0].to_owned();
        for part in &parts[1..] {
            out += &self.secret(text);
            out += part;
        }
        out
    }

    /// Puts a secret into each text with `HERE`.
    fn json(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(values) => values.into_iter().map(|value| self.json(value)).collect(),
            Value::Object(members) => {
                members.into_iter().map(|(key, value)| (key, self.json(value))).collect()
            }
            other => other,
        }
    }
}

fn field(number: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, payload);
    out
}

fn cluster(version: u32) -> Value {
    json!({"@type": CLUSTER, "name": "c1", "alt_stat_name": format!("v{version}"),
        "metadata": {"filter_metadata": {"acme": {
            "password": "HERE", "deep": [{"api_key": ["HERE"]}], "args": ["--token", "HERE"],
            "note": "the password is HERE", "json": "{\"pass\\u0077ord\":\"HERE\"}",
            "dsn": "mysql://root:HERE@tcp(h)/db", "header": {"name": "x-api-key", "value": "HERE"}}}},
        "transport_socket": {"name": "t", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "common_tls_context": {"tls_certificates": [
                {"private_key": {"inline_string": "HERE"}, "password": {"inline_string": "HERE"}}]}}},
        "typed_extension_protocol_options": {"x": {"@type": "type.googleapis.com/xds.type.v3.TypedStruct",
            "type_url": "type.googleapis.com/acme.Unknown", "value": {"db": {"secret": "HERE"}}}},
        "health_checks": [{"timeout": "1s", "interval": "1s", "unhealthy_threshold": 1, "healthy_threshold": 1,
            "http_health_check": {"path": "/h?token=HERE",
                "request_headers_to_add": [{"header": {"key": "authorization", "value": "HERE"}}]}}]})
}

/// Returns the field `error_detail` with secrets in its details: an `ErrorInfo`.
fn error_detail(planted: &mut Planted, text: &str) -> Vec<u8> {
    let mut entry = |key: &str, value: &str| {
        field(3, &[field(1, key.as_bytes()), field(2, planted.text(value).as_bytes())].concat())
    };
    let info = [field(1, b"REASON"), entry("token", "HERE"), entry("x", "pass%77ord=HERE")].concat();
    let any = [field(1, b"type.googleapis.com/google.rpc.ErrorInfo"), field(2, &info)].concat();
    field(6, &[b"\x08\x03".to_vec(), field(2, planted.text(text).as_bytes()), field(3, &any)].concat())
}

/// Returns a session in raw JSONL with secrets in all places.
fn session(planted: &mut Planted) -> String {
    let schema = Schema::builtin();
    let mut lines = Vec::new();
    let message = |name: &str, value: Value, more: &[u8]| {
        let bytes = schema.encode(&format!("envoy.service.discovery.v3.{name}"), &value).expect(name);
        let dir = if name == "DiscoveryRequest" { "c2s" } else { "s2c" };
        json!({"dir": dir, "t": 1.0, "stream": 1, "method": ADS, "raw": base64::encode(&[&bytes, more].concat())})
    };
    let nack = "c1: x-api-key: HERE; mysql -u a -pHERE; IDENTIFIED BY 'HERE'; Bearer HERE; https://u:HERE@h; \
                password(HERE); {\"token\":{\"value\":\"HERE\"}}; machine h login u password HERE";
    let open = json!({"dir": "open", "t": 0.0, "stream": 1, "method": ADS, "peer": "u:HERE@10.0.0.1:5",
        "server": "https://u:HERE@cp:1/x?token=HERE", "metadata": {"authorization": "Bearer HERE",
            "cookie": "a=1; id=HERE", "x-other": "token=HERE", ":authority": "u:HERE@h:1"}});
    lines.push(planted.json(open));
    let node = json!({"id": "n", "cluster": "u:HERE@h", "metadata": {"password": "HERE",
        "env": [{"name": "DB_PASSWORD", "value": "HERE"}], "url": "/?token=HERE"}});
    let first = planted.json(json!({"node": node, "type_url": CLUSTER}));
    lines.push(message("DiscoveryRequest", first, b""));
    for version in 1..3 {
        let control_plane = json!({"identifier": "cp token=HERE"});
        let response = json!({"version_info": version.to_string(), "nonce": version.to_string(), "type_url": CLUSTER,
            "resources": [cluster(version)], "control_plane": control_plane});
        lines.push(message("DiscoveryResponse", planted.json(response), b""));
        let request =
            json!({"version_info": "1", "response_nonce": version.to_string(), "type_url": CLUSTER});
        let error = if version == 1 { Vec::new() } else { error_detail(planted, nack) };
        lines.push(message("DiscoveryRequest", request, &error));
    }
    let request = json!({"type_url": SECRET, "resource_names": ["s"]});
    lines.push(message("DiscoveryRequest", request, b""));
    let secret =
        json!({"@type": SECRET, "name": "s", "generic_secret": {"secret": {"inline_string": "HERE"}}});
    let response = json!({"version_info": "1", "nonce": "s1", "type_url": SECRET, "resources": [secret]});
    lines.push(message("DiscoveryResponse", planted.json(response), b""));
    lines.push(message("DiscoveryRequest", json!({"type_url": WIDGET}), b""));
    let texts = planted.text("password=HERE https://u:HERE@h/");
    let widget = field(2, &[field(1, WIDGET.as_bytes()), field(2, &field(7, texts.as_bytes()))].concat());
    let response = [field(1, b"1"), widget, field(4, WIDGET.as_bytes()), field(5, b"w1")].concat();
    let raw = base64::encode(&response);
    lines.push(json!({"dir": "s2c", "t": 2.0, "stream": 1, "method": ADS, "raw": raw}));
    let status = "the api key is HERE, curl -u a:HERE; password: HERE";
    let status = json!({"dir": "status", "t": 3.0, "stream": 1, "code": 16, "message": status});
    lines.push(planted.json(status));
    let poll = json!({"dir": "open", "t": 4.0, "stream": 2, "method": "/v3/discovery:clusters?token=HERE"});
    lines.push(planted.json(poll));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Returns the values that an option of a verb takes.
fn forms(verb: &str, option: &str) -> Vec<String> {
    let command = command_line::command();
    let verb = command.find_subcommand(verb).expect("a verb");
    let option = verb.get_arguments().find(|known| known.get_long() == Some(option)).expect("an option");
    option.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
}

/// Returns the arguments of all calls: each verb with each form of its output.
pub(super) fn calls(source: &str, folder: &Path) -> Vec<Vec<String>> {
    let mut calls: Vec<Vec<String>> = Vec::new();
    let mut add = |args: &[&str]| calls.push(args.iter().map(|arg| (*arg).to_owned()).collect());
    for verb in ["status", "log", "get", "blame", "diff", "lint", "info"] {
        for form in forms(verb, "format") {
            let form = ["-o", form.as_str()];
            let variants: &[&[&str]] = match verb {
                "log" => &[&[], &["--body"]],
                "get" => &[&[], &["cds"], &["sds"], &["cds", "--subscriptions"]],
                "blame" => &[&[], &["*"]],
                "diff" => &[&["cds/c1"], &["@start", "@end"]],
                _ => &[&[]],
            };
            for more in variants {
                add(&[&[verb, source][..], more, &form].concat());
            }
        }
    }
    add(&["log", source, "--ladder"]);
    for screen in ["overview", "stream", "timeline", "resources", "diff", "nack", "subs", "graph", "lint"] {
        for form in forms("picture", "format") {
            add(&["picture", source, "--screen", screen, "--size", "200x60", "-o", &form]);
        }
    }
    // Tables are made from recordings only: `tests/it/behaviour/verbs/fleet` looks for secrets.
    for form in forms("export", "to").into_iter().filter(|form| form != "parquet") {
        let output = folder.join(&form);
        add(&[
            "export",
            source,
            "--to",
            &form,
            "--node",
            "n",
            "--output",
            output.to_str().expect("text"),
            "--force",
        ]);
    }
    add(&["report", source, "--output", "-"]);
    add(&["descriptors", "check", source]);
    calls
}

/// Appends a file, or all files of a folder, with what their base64 stands for.
fn put_files(path: &Path, out: &mut Vec<u8>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            put_files(&entry.expect("an entry").path(), out);
        }
        return;
    }
    let bytes = std::fs::read(path).expect("a file");
    out.extend_from_slice(&bytes);
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = serde_json::from_slice::<Value>(line).unwrap_or_default();
        out.extend(line["raw"].as_str().and_then(base64::decode).unwrap_or_default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]
    #[test]
    fn planted_secrets_are_in_no_output(random in "[a-z]{2,9}[A-Z][a-z0-9]{4,9}[0-9]q") {
        let mut planted = Planted { random, places: BTreeMap::new() };
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("planted.jsonl");
        std::fs::write(&source, session(&mut planted)).expect("a disk");
        let source = source.to_str().expect("text");
        let outputs = folder.path().join("outputs");
        std::fs::create_dir(&outputs).expect("a disk");
        // The secrets are in the session, except for those that are never kept.
        let kept = folder.path().join("kept.jsonl");
        let args = ["export", source, "--keep-secrets", "--to", "raw", "--output", kept.to_str().expect("text")];
        let said = run(&args).err;
        prop_assert!(!said.contains("skipped"), "{}", said);
        let mut bytes = Vec::new();
        put_files(&kept, &mut bytes);
        let missing: Vec<_> =
            planted.places.iter().filter(|(secret, _)| memchr::memmem::find(&bytes, secret.as_bytes()).is_none()).collect();
        prop_assert!(missing.len() < 8 && planted.places.len() > 45, "{:?} of {}", missing, planted.places.len());
        for call in calls(source, &outputs) {
            let args: Vec<&str> = call.iter().map(String::as_str).collect();
            let output = run(&args);
            prop_assert!(output.exit != Exit::Defect && output.exit != Exit::Unreadable, "{:?} {}", args, output.err);
            let mut bytes = output.all().into_bytes();
            put_files(&outputs, &mut bytes);
            for (secret, place) in &planted.places {
                let is_found = memchr::memmem::find(&bytes, secret.as_bytes()).is_some();
                prop_assert!(!is_found, "{:?} shows {}", args, place);
            }
            if args[..1] == ["export"] {
                prop_assert!(output.exit == Exit::Yes, "{:?} {}", args, output.err);
            }
        }
        let recording = outputs.join("xdsrec");
        let again = run(&["export", recording.to_str().expect("text"), "--to", "raw", "--output",
            outputs.join("again").to_str().expect("text")]);
        prop_assert_eq!(again.exit, Exit::Yes);
        let mut bytes = Vec::new();
        put_files(&outputs, &mut bytes);
        for (secret, place) in &planted.places {
            prop_assert!(memchr::memmem::find(&bytes, secret.as_bytes()).is_none(), "a recording has {}", place);
        }
    }
}

/// A new verb that prints something of a source is listed here or in [`calls`].
#[test]
fn calls_cover_all_verbs() {
    let calls = calls("x", Path::new("x"));
    for verb in command_line::command().get_subcommands() {
        let is_called = calls.iter().any(|call| call[0] == verb.get_name());
        assert_ne!(is_called, OTHER_VERBS.contains(&verb.get_name()), "{}", verb.get_name());
    }
}
