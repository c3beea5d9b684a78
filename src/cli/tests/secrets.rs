//! Secrets appear in no output, unless flags ask for them.

use std::io::Cursor;

use serde_json::json;

use super::{Environment, GATEWAY, TOUR, run, show};
use crate::cli::Exit;

const KEY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";

/// A client that receives a private key, and prints it in its NACK and in the end of its stream.
fn script_with_a_secret() -> String {
    let pem = format!("-----BEGIN PRIVATE KEY-----\\n{KEY}\\n-----END PRIVATE KEY-----\\n");
    let secret = format!(
        "{{tls_certificate: {{private_key: {{inline_string: \"{pem}\"}}, password: {{inline_string: \"hunter2-hunter2\"}}}}}}"
    );
    // An Any of acme.v1.Widget that cannot be decoded, and a message that is cut.
    let any = "CiJ0eXBlLmdvb2dsZWFwaXMuY29tL2FjbWUudjEuV2lkZ2V0EgQKAncx";
    format!(
        "node edge\nstream 1 delta-ads\n> sds sub=[edge-cert]\n< sds n=a [edge-cert{secret}@1]\n\
         > sds n=a nack=\"bad key: hunter2-hunter2 private_key {{ inline_string: \\\"{pem}\\\" }}\" code=13\n\
         < raw=CgF2Bw==\nstream 2 sotw sds\n> names=[edge-cert]\n< v=1 n=b [edge-cert{secret} raw:{any}]\n\
         > v=1 n=b names=[edge-cert]\n2 close status=13 \"saw hunter2-hunter2\"\n"
    )
}

#[test]
fn no_verb_prints_secrets_of_a_script() {
    let environment =
        || Environment { stdin: Box::new(Cursor::new(script_with_a_secret())), ..Environment::default() };
    let shown: &[&[&str]] = &[
        &["status", "-", "-o", "wide"],
        &["status", "-", "-o", "json"],
        &["log", "-"],
        &["log", "-", "-o", "jsonl"],
        &["get", "-", "sds", "-o", "yaml"],
        &["get", "-", "sds", "-o", "json"],
        &["info", "-"],
        &["export", "-", "--to", "script"],
        &["export", "-", "--to", "raw"],
        &["export", "-", "--to", "jsonl"],
    ];
    for args in shown {
        let output = environment().run(args);
        assert!(matches!(output.exit, Exit::Yes | Exit::No), "{args:?}: {}", output.err);
        let all = output.all();
        assert!(!all.contains(KEY) && !all.contains("hunter2"), "{args:?}: {all}");
        for line in output.out.lines().filter(|line| line.contains("\"raw\"")) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let bytes = xdscope_schema::base64::decode(line["raw"].as_str().unwrap()).unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!text.contains(KEY) && !text.contains("hunter2"), "{text}");
        }
    }
    for args in [&["get", "-", "sds", "-o", "yaml"][..], &["export", "-", "--to", "script"]] {
        let kept = environment().run(&[args, &["--keep-secrets"]].concat()).out;
        assert!(kept.contains(KEY) && kept.contains("hunter2"), "they are there if they are to be: {kept}");
    }
    let get = environment().run(&["get", "-", "sds", "-o", "yaml"]).out;
    assert!(get.contains("[redacted 15 B, id ") && get.contains("edge-cert"), "{get}");
}

#[test]
fn names_undecoded_parts_before_they_are_passed_on() {
    let environment =
        |script: String| Environment { stdin: Box::new(Cursor::new(script)), ..Environment::default() };
    let notice = "may contain secrets: 1 message and 1 resource could not be decoded";
    let info = environment(script_with_a_secret()).run(&["info", "-"]).out;
    assert!(info.contains("secrets   taken out of ") && info.contains(notice), "{info}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.xdsrec");
    let to = ["export", "-", "--to", "xdsrec", "--output", path.to_str().unwrap()];
    let export = environment(script_with_a_secret()).run(&to);
    assert!(export.err.contains(notice), "{}", export.err);
    let bytes = std::fs::read(&path).unwrap();
    assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
    let again = run(&["info", path.to_str().unwrap()]).out;
    assert!(again.contains(notice), "a recording says so too: {again}");
    let script = run(&["export", path.to_str().unwrap(), "--to", "script"]).out;
    assert!(script.contains("[redacted 15 B, id ") && !script.contains("hunter2"), "{script}");
    let quiet = environment(script_with_a_secret()).run(&[&to[..], &["--keep-secrets"]].concat());
    assert!(!quiet.err.contains("may contain"), "{}", quiet.err);
    assert!(!run(&["info", TOUR]).out.contains("may contain"));
}

#[test]
fn copies_of_recordings_with_secrets_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["kept.xdsrec", "copy.xdsrec"].map(|name| dir.path().join(name));
    let [kept, copy] = paths.each_ref().map(|path| path.to_str().unwrap());
    let environment =
        Environment { stdin: Box::new(Cursor::new(script_with_a_secret())), ..Environment::default() };
    environment.run(&["export", "-", "--to", "xdsrec", "--output", kept, "--keep-secrets"]);
    run(&["export", kept, "--to", "xdsrec", "--output", copy]);
    for path in [kept, copy] {
        let output = run(&["info", path]);
        assert!([output.out, output.err].concat().contains("the file contains secrets"), "{path}");
    }
}

#[test]
fn raw_jsonl_omits_secrets_of_metadata_and_status() {
    let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
    let lines = [
        json!({"dir": "open", "t": 0.0, "stream": 1, "method": method,
            "metadata": {"Authorization": "Bearer hunter2-hunter2", "user-agent": "grpc"}}),
        json!({"dir": "c2s", "t": 0.1, "stream": 1, "raw": "CgE3"}),
        json!({"dir": "status", "t": 0.2, "stream": 1, "code": 7, "message": "no: password: hunter2-hunter2"}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n");
    let export = |more: &[&str]| {
        let environment =
            Environment { stdin: Box::new(Cursor::new(text.clone())), ..Environment::default() };
        environment.run(&[&["export", "-", "--to", "raw"], more].concat()).out
    };
    let clean = export(&[]);
    assert!(!clean.contains("hunter2") && clean.contains("[redacted 22 B]"), "{clean}");
    assert!(clean.contains("grpc"), "{clean}");
    assert_eq!(export(&["--keep-secrets"]).matches("hunter2-hunter2").count(), 2);
}

#[test]
fn raw_jsonl_omits_credentials_of_addresses() {
    let lines = [
        json!({"dir": "open", "t": 0.2, "stream": 2, "method": "/v3/discovery:endpoints?token=hunter2-a",
            "server": "https://u:hunter2-b@cp:1/?token=hunter2-c", "peer": "u:hunter2-d@h:1"}),
        json!({"dir": "c2s", "t": 0.3, "stream": 2, "method": "/v3/discovery:endpoints?token=hunter2-a", "raw": "CgE3"}),
        json!({"dir": "c2s", "t": 0.4, "stream": 3, "method": "/v3/discovery:clusters?token=hunter2-e", "raw": "CgE3"}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n");
    for args in [&["export", "-", "--to", "raw"][..], &["status", "-", "-o", "json"], &["info", "-"]] {
        let environment =
            Environment { stdin: Box::new(Cursor::new(text.clone())), ..Environment::default() };
        let all = environment.run(args).all();
        assert!(!all.contains("hunter2"), "{args:?}: {all}");
    }
}

#[test]
fn prints_no_private_key() {
    const KEY: &str = "the private key of edge-cert";
    for args in [
        &["get", GATEWAY, "sds", "-o", "yaml"][..],
        &["get", GATEWAY, "-o", "tree"],
        &["get", GATEWAY, "-o", "json"],
        &["log", GATEWAY, "--body"],
        &["log", GATEWAY, "--body", "-o", "jsonl"],
        &["export", GATEWAY, "--to", "script"],
    ] {
        let output = show(args);
        assert!(output.contains("exit 0") && !output.contains(KEY), "{args:?} {output}");
    }
    assert!(show(&["get", GATEWAY, "sds", "-o", "yaml"]).contains("[redacted"));
    assert!(show(&["get", GATEWAY, "sds", "-o", "yaml", "--keep-secrets"]).contains(KEY));
}
