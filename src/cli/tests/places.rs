//! Each place that can hold a secret or hostile text, in each output of each verb that reads files.

use std::io::Cursor;
use std::path::Path;

use serde_json::{Value, json};

use super::{Environment, TOUR};
use crate::cli::Exit;
use xdscope_schema::Schema;
use xdscope_schema::base64;
use xdscope_wire::pb::put_len_field;
use xdscope_wire::text::must_escape;

const HUNTER: &str = "hunter2-of-the-tests";

/// Text that moves the cursor, reorders and hides.
const EVIL: &str =
    "ev\u{1b}[2J\u{9b}2J\u{7f}\u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\u{e0041}\u{fe0f}\u{3164}il";

const ADS: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

/// A session as raw JSONL.
struct Session {
    lines: Vec<Value>,
}

impl Session {
    fn open(path: &str, metadata: Value) -> Session {
        let peer = format!("192.0.2.1:1?token={HUNTER}");
        let open =
            json!({"dir": "open", "t": 0, "stream": 1, "method": path, "metadata": metadata, "peer": peer});
        Session { lines: vec![open] }
    }

    fn send(&mut self, dir: &str, message: &str, value: Value) {
        let name = format!("envoy.service.discovery.v3.{message}");
        let bytes =
            Schema::builtin().encode(&name, &value).unwrap_or_else(|error| panic!("{value}: {error}"));
        let t = self.lines.len();
        self.lines.push(json!({"dir": dir, "t": t, "stream": 1, "raw": base64::encode(&bytes)}));
    }

    /// A push, and the ACK or NACK of it.
    fn push(&mut self, type_url: &str, resources: Value, error: Option<&str>) {
        let n = self.lines.len().to_string();
        self.send(
            "s2c",
            "DiscoveryResponse",
            json!({"type_url": type_url, "version_info": n, "nonce": n, "resources": resources}),
        );
        let mut answer = json!({"type_url": type_url, "version_info": n, "response_nonce": n});
        if let Some(error) = error {
            answer["version_info"] = json!("");
            answer["error_detail"] = json!({"code": 13, "message": error});
        }
        self.send("c2s", "DiscoveryRequest", answer);
    }

    /// A NACK with details of types that have no descriptor.
    fn reject_with_details(&mut self, type_url: &str, details: &[(&str, Vec<u8>)]) {
        let n = self.lines.len().to_string();
        self.push(type_url, json!([]), None);
        let request = json!({"type_url": type_url, "response_nonce": n, "error_detail": {"code": 3, "message": "see details"}});
        let mut bytes =
            Schema::builtin().encode("envoy.service.discovery.v3.DiscoveryRequest", &request).unwrap();
        let mut status = vec![0x08, 3];
        put_len_field(&mut status, 2, b"see details");
        for (name, value) in details {
            let mut any = Vec::new();
            put_len_field(&mut any, 1, format!("type.googleapis.com/{name}").as_bytes());
            put_len_field(&mut any, 2, value);
            put_len_field(&mut status, 3, &any);
        }
        put_len_field(&mut bytes, 6, &status);
        let t = self.lines.len();
        self.lines.push(json!({"dir": "c2s", "t": t, "stream": 1, "raw": base64::encode(&bytes)}));
    }

    fn end(mut self, text: &str) -> String {
        let t = self.lines.len();
        self.lines.push(json!({"dir": "status", "t": t, "stream": 1, "code": 16, "message": text}));
        self.lines.push(json!({"dir": "close", "t": t, "stream": 1, "note": text}));
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// Returns a session with a secret in each place.
fn session_with_secrets() -> String {
    let header = |key: &str| json!({"key": key, "value": HUNTER});
    let mut session = Session::open(
        ADS,
        json!({"authorization": format!("Bearer {HUNTER}"), "x-jwt-assertion": HUNTER, "x-vault-token": [HUNTER],
            ":authority": format!("me:{HUNTER}@cp"), "host": format!("me:{HUNTER}@cp"),
            "x-session-id": HUNTER, "x-auth-user": HUNTER, "x-other": format!("Bearer {HUNTER}"), "x-forwarded-uri": format!("/a?access_token={HUNTER}")}),
    );
    let node = json!({"id": "n", "metadata": {"db": {"password": HUNTER}, "tokens": [HUNTER]}});
    let locator =
        json!({"name": "l", "dynamic_parameters": {"token": HUNTER, "note": format!("password={HUNTER}")}});
    let request = json!({"type_url": CLUSTER, "node": node, "resource_locators": [locator]});
    session.send("c2s", "DiscoveryRequest", request);
    let plane = json!({"identifier": format!("istiod, password={HUNTER}")});
    let empty = json!({"type_url": CLUSTER, "version_info": "0", "nonce": "0", "control_plane": plane});
    session.send("s2c", "DiscoveryResponse", empty);
    let socket = |config: Value| json!({"name": "x", "typed_config": config});
    let certificate = json!({"private_key": {"inline_string": HUNTER}});
    let stands = json!({"@type": "x/xds.type.v3.TypedStruct", "type_url": SECRET,
        "value": {"name": "s", "tls_certificate": certificate, "unknown": HUNTER}});
    let keys = json!({"keys": [{"kty": "oct", "k": HUNTER}]}).to_string();
    let jwt = json!({"@type": "x/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
        "providers": {"p": {"issuer": "i", "local_jwks": {"inline_string": keys}}}});
    let lambda = json!({"@type": "x/envoy.extensions.filters.http.aws_lambda.v3.Config", "arn": "a",
        "credentials": {"access_key_id": HUNTER, "secret_access_key": HUNTER, "session_token": HUNTER}});
    let check = json!({"timeout": "1s", "interval": "1s", "unhealthy_threshold": 1, "healthy_threshold": 1,
        "http_health_check": {"path": format!("/?api_key={HUNTER}"), "request_headers_to_add": [{"header": header("x-api-key")}]}});
    let service = json!({"envoy_grpc": {"cluster_name": "x"}, "initial_metadata": [header("authorization")]});
    let ads = json!({"eds_config": {"api_config_source": {"api_type": "GRPC", "grpc_services": [service]}}});
    let cluster = |name: &str, more: Value| {
        let mut cluster = json!({"@type": CLUSTER, "name": name});
        cluster.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        cluster
    };
    let resources = json!([
        cluster("a", json!({"transport_socket": socket(stands)})),
        cluster("b", json!({"transport_socket": socket(jwt)})),
        cluster("c", json!({"transport_socket": socket(lambda)})),
        cluster("d", json!({"health_checks": [check]})),
        cluster("e", json!({"eds_cluster_config": ads})),
        cluster(
            "g",
            json!({"metadata": {"filter_metadata": {"acme": {"note": format!("{{\"password\":\"{HUNTER}\"}}")}}}})
        ),
        cluster(
            "h",
            json!({"metadata": {"filter_metadata": {"acme": {"note": format!("a: b\napi_key: {HUNTER}")}}}})
        ),
        cluster(
            "f",
            json!({"metadata": {"filter_metadata": {"acme": {"clientSecret": HUNTER, "pin": {"password": 1}}}}})
        ),
    ]);
    session.push(CLUSTER, resources.clone(), None);
    session.push(CLUSTER, resources, Some(&format!("cluster a: x-api-key: {HUNTER}, and {HUNTER}")));
    // Many secrets more.
    let other = |i: u32| {
        json!({"@type": SECRET, "name": format!("s{i}"),
        "generic_secret": {"secret": {"inline_string": format!("another-secret-{i:04}")}}})
    };
    session.push(SECRET, (0..300).map(other).collect(), Some("cannot use another-secret-0000"));
    session.push(SECRET, json!([other(0)]), Some(&format!("it is {HUNTER} and another-secret-0299")));
    let (mut entry, mut info, mut debug) = (Vec::new(), Vec::new(), Vec::new());
    put_len_field(&mut entry, 1, b"token");
    put_len_field(&mut entry, 2, HUNTER.as_bytes());
    put_len_field(&mut info, 3, &entry);
    put_len_field(&mut debug, 2, format!("Authorization: Bearer {HUNTER}, another-secret-0001").as_bytes());
    session.reject_with_details(
        "type.googleapis.com/envoy.config.listener.v3.Listener",
        &[("google.rpc.ErrorInfo", info), ("google.rpc.DebugInfo", debug)],
    );
    session.end(&format!("the token {HUNTER} has expired"))
}

/// Returns a session with hostile names, versions, errors and headers.
fn hostile_session() -> String {
    let mut session = Session::open(ADS, json!({"x-name": EVIL, EVIL: "x"}));
    let node = json!({"id": EVIL, "cluster": EVIL, "user_agent_name": EVIL, "metadata": {EVIL: EVIL}});
    session.send(
        "c2s",
        "DiscoveryRequest",
        json!({"type_url": CLUSTER, "node": node, "resource_names": [EVIL, "*"]}),
    );
    let cluster = json!({"@type": CLUSTER, "name": EVIL, "alt_stat_name": EVIL, "type": "EDS", "connect_timeout": "-1s",
        "eds_cluster_config": {"service_name": EVIL, "eds_config": {"ads": {}}}});
    session.send(
        "s2c",
        "DiscoveryResponse",
        json!({"type_url": CLUSTER, "version_info": EVIL, "nonce": EVIL,
        "resources": [cluster], "control_plane": {"identifier": EVIL}}),
    );
    session.send(
        "c2s",
        "DiscoveryRequest",
        json!({"type_url": CLUSTER, "version_info": EVIL, "response_nonce": EVIL}),
    );
    session.push(
        CLUSTER,
        json!([cluster, {"@type": CLUSTER, "name": "b"}]),
        Some(&format!("Error adding/updating cluster(s) {EVIL}: {EVIL}")),
    );
    session.push(&format!("x/{EVIL}"), json!([]), Some(EVIL));
    session.end(EVIL)
}

/// All forms of output of the verbs that read a file.
const CALLS: &[&str] = &[
    "status",
    "status -o wide",
    "status -o json",
    "log",
    "log -o wide",
    "log -o jsonl",
    "log -o json --body",
    "log -o yaml",
    "log --body",
    "log --ladder",
    "log --filter kind:nack --body",
    "get",
    "get -o wide",
    "get -o json",
    "get -o yaml",
    "get -o name",
    "get -o tree",
    "get nodes",
    "get nodes -o json",
    "get cds",
    "get cds -o yaml",
    "get cds -o json",
    "get sds -o yaml",
    "get cds --subscriptions",
    "blame",
    "lint",
    "lint -o json",
    "lint -o sarif",
    "lint -o junit",
    "lint -o github",
    "info",
    "info -o json",
    "diff @start @end",
    "diff @start @end -o json",
    "diff @start @end --stat",
    "export --to script",
    "export --to raw",
    "export --to jsonl",
    "export --to dot",
    "export --to mermaid",
    "export --to bootstrap",
    "descriptors check",
    "replay --no-tui",
];

/// Runs a call on a file. The file comes after the verb, or after `check`.
fn call(call: &str, file: &Path) -> super::CallOutput {
    let file = file.display().to_string();
    let mut args: Vec<&str> = call.split(' ').collect();
    args.insert(if args[0] == "descriptors" { 2 } else { 1 }, &file);
    Environment::default().run(&args)
}

/// Returns the messages in the lines of raw JSONL, decoded.
fn raw_messages(text: &str) -> String {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let raw = lines.filter_map(|line| base64::decode(line["raw"].as_str()?));
    raw.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

fn check(session: &str, calls: &[&str], is_good: impl Fn(&str, &str)) {
    let dir = tempfile::tempdir().unwrap();
    let raw = dir.path().join("x.jsonl");
    std::fs::write(&raw, session).unwrap();
    let recording = dir.path().join("x.xdsrec");
    let to = format!("export --to xdsrec --output {}", recording.display());
    let exported = call(&to, &raw);
    assert_eq!(exported.exit, Exit::Yes, "{}", exported.err);
    for file in [&raw, &recording] {
        for args in calls {
            let output = call(args, file);
            assert!(matches!(output.exit, Exit::Yes | Exit::No), "{args}: {}", output.all());
            assert!(!output.all().starts_with("exit"), "{args}");
            is_good(args, &output.out);
            is_good(args, &output.err);
            is_good(args, &raw_messages(&output.out));
        }
    }
}

#[test]
fn no_output_has_a_secret_of_any_place() {
    let session = session_with_secrets();
    assert!(session.contains(HUNTER) && raw_messages(&session).matches(HUNTER).count() > 12);
    check(&session, CALLS, |args, text| {
        for secret in [HUNTER, "another-secret-0"] {
            let at = text.find(secret);
            let around = at.map(|at| text.get(at.saturating_sub(200)..at + 20).unwrap_or(text));
            assert_eq!(around, None, "{args}");
        }
    });
    // The test finds secrets where they are kept.
    let input =
        || Environment { stdin: Box::new(Cursor::new(session_with_secrets())), ..Environment::default() };
    let kept = input().run(&["get", "-", "cds", "-o", "yaml", "--keep-secrets"]).out;
    assert!(kept.matches(HUNTER).count() > 8, "{kept}");
    let marked = input().run(&["get", "-", "cds", "-o", "yaml"]).out;
    assert!(marked.matches("[redacted ").count() > 8, "{marked}");
}

#[test]
fn no_error_quotes_the_text_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let any = format!("\"@type\":\"{SECRET}\",\"name\":\"s\"");
    let token = "hUnter2OfTheTests0123";
    for (name, text) in [
        ("a.yaml", format!("node:\n  id: x\n  metadata:\n    password: {token}\n   token: \"{token}\n")),
        ("b.json", format!("{{\"resources\":[{{{any},\"generic_secret\":{{\"secret\":\"{token}\"}}}}]}}")),
        (
            "c.yaml",
            format!(
                "resources:\n- \"@type\": {SECRET}\n  name: s\n  generic_secret: {{secret: {{inline_string: \"{token}}}}}\n"
            ),
        ),
        (
            "d.pb_text",
            format!("resources {{ [{SECRET}] {{ generic_secret {{ secret: '{token}' bogus: 1 }} }} }}"),
        ),
        (
            "e.xds",
            format!(
                "node n1\nstream 1 sotw sds\n> names=[a]\n< v=1 n=1 [a] password={token} Bearer {token}\n"
            ),
        ),
        (
            "f.jsonl",
            format!(
                "{{\"dir\":\"{token}\",\"t\":0}}\n{{\"dir\":\"open\",\"t\":\"{token}\",\"stream\":\"{token}\"}}\n{{\"dir\":\"open\",\"reset\":\"{token}\"}}\n{{\"dir\": \"open\", \"x\": \"{token}\n"
            ),
        ),
        ("g.json", format!("{{\"xds_servers\":[{{\"server_uri\":\"a:1\",\"channel_creds\":\"{token}\"}}]}}")),
        (
            "h.json",
            format!(
                "{{\"configs\": [{{\"@type\": \"x/envoy.admin.v3.SecretsConfigDump\", \"dynamic_active_secrets\": [\"{token}\"]"
            ),
        ),
    ] {
        let file = dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        for args in [
            "info",
            "log",
            "get",
            "lint",
            "status",
            "replay --no-tui",
            "diff @start @end",
            "export --to raw",
            "applied",
            "redact --output x.jsonl",
        ] {
            let output = call(args, &file);
            assert!(!output.all().contains("hUnter2"), "{name}: {args}: {}", output.all());
        }
        let path = file.display().to_string();
        for args in
            [["get", "127.0.0.1:1", "--bootstrap", &path], ["get", "127.0.0.1:1", "--node-file", &path]]
        {
            let output = super::run(&args);
            assert!(!output.all().contains("hUnter2"), "{name}: {args:?}: {}", output.all());
        }
    }
}

#[test]
fn no_error_has_the_password_of_a_server() {
    for server in [
        "http://me:hUnter2@127.0.0.1:1",
        "https://me:hUnter2@localhost:1/x?token=hUnter2",
        "http://127.0.0.1:1?token=hUnter2",
        "http://me:hUnter2@cp",
    ] {
        for args in [
            &["get", server, "cds", "-v"][..],
            &["status", server],
            &["doctor", server],
            &["tap", server, "--listen", "nowhere", "-v"],
        ] {
            let args = [args, &["--connect-timeout", "100ms"]].concat();
            let output = super::run(&args);
            assert!(!output.all().contains("hUnter2"), "{args:?}: {}", output.all());
        }
    }
}

#[test]
fn no_output_has_a_token_of_a_path() {
    let session = Session::open(&format!("{ADS}?token={HUNTER}"), json!({})).end("over");
    check(
        &session,
        &["status", "log", "log -o jsonl", "log --ladder", "info", "export --to raw"],
        |args, text| {
            assert!(!text.contains(HUNTER), "{args}: {text}");
        },
    );
}

#[test]
fn redact_takes_secrets_out_of_any_place() {
    let dir = tempfile::tempdir().unwrap();
    let (raw, clean) = (dir.path().join("x.jsonl"), dir.path().join("clean.jsonl"));
    std::fs::write(&raw, session_with_secrets()).unwrap();
    let output = call(&format!("redact --output {}", clean.display()), &raw);
    assert_eq!(output.exit, Exit::Yes, "{}", output.err);
    let text = std::fs::read_to_string(&clean).unwrap();
    let text = format!("{text}{}{}", raw_messages(&text), output.all());
    assert!(
        !text.contains(HUNTER) && !text.contains("another-secret-0") && text.contains("[redacted "),
        "{text}"
    );
}

#[test]
fn every_output_escapes_hostile_text() {
    let session = hostile_session();
    assert!(session.contains('\u{202e}') && raw_messages(&session).contains('\u{e0041}'));
    check(&session, CALLS, |args, text| {
        // Messages themselves stay as they are.
        if text.contains("type.googleapis.com/envoy.config.cluster.v3.Cluster\u{12}") {
            return;
        }
        let raw = text.lines().find(|line| line.chars().any(must_escape));
        assert_eq!(raw.map(|line| line.escape_unicode().to_string()), None, "{args}: {raw:?}");
    });
    let evil = format!("stream 1 sotw cds\n> names=[x{EVIL}]\n");
    let output =
        Environment { stdin: Box::new(Cursor::new(evil)), ..Environment::default() }.run(&["log", "-"]);
    assert!(!output.all().chars().any(|c| c != '\n' && must_escape(c)), "{:?}", output.all());
    let output = super::run(&["log", TOUR, "--filter", &format!("name:{EVIL}{EVIL} ((")]);
    assert!(!output.all().chars().any(|c| c != '\n' && must_escape(c)), "{:?}", output.all());
}
