use serde_json::{Value as Json, json};

use super::*;
use xdscope_wire::pb::put_len_field;

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg'kqhki\"G9w0BAQ\n-----END PRIVATE KEY-----\n";

fn redactor() -> Redactor {
    Redactor::new(Schema::builtin(), 7)
}

fn any(name: &str, json: &Json) -> Vec<u8> {
    let value = Schema::builtin().encode(name, json).unwrap();
    let mut out = Vec::new();
    put_len_field(&mut out, 1, format!("type.googleapis.com/{name}").as_bytes());
    put_len_field(&mut out, 2, &value);
    out
}

const SECRET: &str = "envoy.extensions.transport_sockets.tls.v3.Secret";

fn secret(key: &str) -> Json {
    json!({"name": "edge-cert", "tls_certificate": {
        "certificate_chain": {"inline_string": "public"}, "private_key": {"inline_string": key}}})
}

#[test]
fn redacts_private_key_and_keeps_the_rest() {
    let clean = redactor().resource(&any(SECRET, &secret(KEY))).expect("a redacted resource");
    let shown = Schema::builtin().any_to_json(&clean);
    assert_eq!(shown["tls_certificate"]["certificate_chain"]["inline_string"], "public");
    let key = shown["tls_certificate"]["private_key"]["inline_string"].as_str().unwrap();
    assert!(key.starts_with(&format!("[redacted {} B, id ", KEY.len())), "{key}");
}

#[test]
fn equal_secrets_have_equal_ids() {
    let redactor = redactor();
    let clean = |key: &str| redactor.resource(&any(SECRET, &secret(key)));
    assert_eq!(clean(KEY), clean(KEY));
    assert_ne!(clean(KEY), clean("another key altogether"));
    let other = Redactor::new(Schema::builtin(), 8).resource(&any(SECRET, &secret(KEY)));
    assert_ne!(clean(KEY), other, "ids differ between sessions");
}

#[test]
fn redacts_key_in_any_of_cluster() {
    let context = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";
    let cluster = |tls: Json| {
        any(
            "envoy.config.cluster.v3.Cluster",
            &json!({"name": "c", "transport_socket": {"name": "tls",
            "typed_config": {"@type": context, "common_tls_context": tls}}}),
        )
    };
    let bytes = cluster(json!({"tls_certificates": [
        {"private_key": {"inline_bytes": "c2VjcmV0LWtleS1ieXRlcw=="}, "password": {"inline_string": "hunter22"}},
        {"private_key": {"filename": "/etc/key.pem"}}]}));
    let clean = redactor().resource(&bytes).expect("a redacted resource");
    for secret in ["secret-key-bytes", "hunter22"] {
        assert!(!clean.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret}");
    }
    let shown = Schema::builtin().any_to_json(&clean);
    let certificates = &shown["transport_socket"]["typed_config"]["common_tls_context"]["tls_certificates"];
    assert_eq!(certificates[1]["private_key"]["filename"], "/etc/key.pem");
    assert_eq!(redactor().resource(&cluster(json!({"alpn_protocols": ["h2"]}))), None);
}

#[test]
fn keeps_values_without_secrets() {
    let redactor = redactor();
    assert_eq!(
        redactor.resource(&any("envoy.config.cluster.v3.Cluster", &json!({"name": "private_key"}))),
        None
    );
    assert_eq!(redactor.resource(b"\xff\xff garbage"), None);
    assert_eq!(redactor.text("Error adding/updating cluster(s) a: connect_timeout must be > 0s"), None);
}

/// Covers the known and expected forms in which peers print a key.
#[test]
fn redacts_all_forms_of_a_key_in_texts() {
    let escaped = KEY.escape_default().to_string();
    let base64 = "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2UUlCQURBTkJn";
    let texts = [
        format!(
            "bad secret: goo.gle/debugonly  name: \"k\"\ntls_certificate {{\n  private_key {{\n    inline_string: \"{escaped}\"\n  }}\n}}\n"
        ),
        format!(
            "debugproto tls_certificate {{ private_key {{ inline_bytes: '{escaped}' }} password {{ inline_string: \"MIIEvQIBADANBg\" }} }}"
        ),
        format!("{{\"tlsCertificate\":{{\"privateKey\":{{\"inlineBytes\":\"{base64}\"}}}}}}"),
        format!("tls_certificate:{{private_key:{{inline_string:\"{escaped}\"}}}}"),
        format!("it said {KEY} and went on"),
        format!("cut short: {}", &KEY[..45]),
        "private_key { inline_string: \"MIIEvQIBADANBg".to_owned(),
        "{\\\"private_key\\\":{\\\"inline_string\\\":\\\"MIIEvQIBADANBg\\\"}}".to_owned(),
        "?json=%7B%22password%22%3A%22MIIEvQIBADANBg%22%7D".to_owned(),
        "?json=%257B%2522password%2522%253A%2522MIIEvQIBADANBg%2522%257D".to_owned(),
        "<td>{&quot;password&quot;: &quot;MIIEvQIBADANBg&quot;}</td>".to_owned(),
        "{\\u0022client_secret\\u0022:\\u0022MIIEvQIBADANBg\\u0022}".to_owned(),
        "password: MIIEvQIBADANBg rest".to_owned(),
    ];
    for text in texts {
        let clean = redactor().text(&text).unwrap_or_else(|| panic!("not found in {text}"));
        for part in ["MIIEvQIBADANBg", "TUlJRXZRSUJBREFOQmc", "k1JSUV2UUlCQURBTkJn"] {
            assert!(!clean.contains(part), "{clean}");
        }
        assert!(clean.contains("[redacted "), "{clean}");
    }
}

#[test]
fn redacts_secrets_of_resources_in_texts() {
    let redactor = redactor();
    redactor.resource(&any(SECRET, &secret("an unusual \"secret\" value")));
    for text in [
        "not a key: an unusual \"secret\" value",
        "dump: an unusual \\\"secret\\\" value",
        "b64 YW4gdW51c3VhbCAic2VjcmV0IiB2YWx1ZQ==",
    ] {
        let clean = redactor.text(text).unwrap_or_else(|| panic!("not found in {text}"));
        assert!(!clean.contains("unusual") && !clean.contains("YW4gdW51"), "{clean}");
    }
}

#[test]
fn redacts_authenticating_metadata() {
    let redactor = redactor();
    for name in ["authorization", "x-goog-api-key", "x-auth-token", "cookie"] {
        assert_eq!(redactor.metadata(name, "Bearer x").as_deref(), Some("[redacted 8 B]"), "{name}");
    }
    assert_eq!(redactor.metadata("user-agent", "grpc"), None);
    assert_eq!(redactor.metadata(":path", "/a?token=abc").as_deref(), Some("/a?token=***"));
    redactor.metadata("authorization", "Bearer qwertyuiop");
    redactor.metadata("cookie", "theme=dark; id=zxcvbnm-zxcvbnm");
    for (text, secret) in [("expired: qwertyuiop", "qwertyuiop"), ("zxcvbnm-zxcvbnm?", "zxcvbnm-zxcvbnm")] {
        let clean = redactor.text(text).expect("a known token");
        assert!(!clean.contains(secret), "{clean}");
    }
}

proptest::proptest! {
    #[test]
    fn accepts_any_text(text in "(private_key|[\\\\\"'{}<>: a]|\u{e9}|-----BEGIN PRIVATE KEY-----){0,40}") {
        let _ = redactor().text(&text);
    }
}

#[test]
fn reads_long_texts_of_names_in_linear_time() {
    let redactor = redactor();
    for part in [
        "token:",
        "token=",
        "\"token\":\"a\":",
        "token:(",
        "token: |\n",
        "{\"name\":\"token\",",
        "Bearer ",
        "token%3Dab%26",
        "token%3DBearer%20",
        "x%26token%3Dbasic%20",
    ] {
        let text = format!("{} password=hunter2x", part.repeat(30_000));
        let clean = redactor.text(&text).expect("a secret");
        assert!(!clean.contains("hunter2x"), "{part}");
    }
}
