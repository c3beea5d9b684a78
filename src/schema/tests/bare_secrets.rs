//! Secrets without a name: tokens of issuers, JWTs, key blocks, logins and authorization codes.

use serde_json::json;

use super::{bytes, field, holds, packed, redactor};
use crate::json::base64;
use xdscope_wire::content::Redact;

const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";

/// Letters of a token, with digits.
const LETTERS: &str = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb7dEf0hIj3kLm6nOp9qRs2tUv5wXy8z";
const HEX: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9";

/// The beginnings of tokens, and their other letters. In two parts, because scanners of
/// repositories would take a whole token for a secret.
const TOKENS: [(&str, &str); 56] = [
    ("ghp_", "LETTERS"),
    ("gho_", "LETTERS"),
    ("ghu_", "LETTERS"),
    ("ghs_", "LETTERS"),
    ("ghr_", "LETTERS"),
    ("github_pat_", "11ABCDEFG0LETTERS_LETTERS"),
    ("glpat-", "LETTERS"),
    ("glpat-", "x7_Kd93-LmQw2ZpT4bRv"),
    ("gldt-", "LETTERS"),
    ("glrt-", "t1_LETTERS"),
    ("glptt-", "HEX"),
    ("xoxb-", "123456789012-1234567890123-LETTERS"),
    ("xoxp-", "123456789012-1234567890123-HEX"),
    ("xoxa-", "2-LETTERS"),
    ("xoxe-", "1-LETTERS"),
    ("xapp-", "1-A0123456789-1234567890123-HEX"),
    ("sk_live_", "LETTERS"),
    ("sk_test_", "LETTERS"),
    ("rk_live_", "LETTERS"),
    ("whsec_", "LETTERS"),
    ("AIza", "SyLETTERS"),
    ("ya29.", "a0Af-LETTERS_LETTERS"),
    ("GOCSPX-", "LETTERS"),
    ("hvs.", "CAESILETTERS_LETTERS"),
    ("hvb.", "AAAAAQLETTERS"),
    ("npm_", "LETTERS"),
    ("pypi-AgE", "IcHlwaS5vcmcLETTERS"),
    ("SG.", "Ab3dEf6hIj9kLm2nOp5qRs.LETTERS"),
    ("dop_v1_", "HEX"),
    ("doo_v1_", "HEX"),
    ("dor_v1_", "HEX"),
    ("shpat_", "HEX"),
    ("shpca_", "HEX"),
    ("shppa_", "HEX"),
    ("shpss_", "HEX"),
    ("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE"),
    ("AGE-SECRET-KEY-PQ-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    ("123456789:AA", "LETTERS"),
    ("sk-proj-", "LETTERS"),
    ("sk-ant-", "api03-LETTERS"),
    ("AKIA", "IOSFODNN7ABCDEFG"),
    ("ASIA", "IOSFODNN7ABCDEFG"),
    ("hf_", "LETTERS"),
    ("dckr_pat_", "LETTERS"),
    ("glsa_", "LETTERS_0a1b2c3d"),
    ("dapi", "HEX"),
    ("ATATT3", "xFfGF0LETTERS"),
    ("tskey-", "auth-kLETTERS"),
    ("pul-", "HEX"),
    ("NRAK-", "ABCDEFGHIJ0123456789ABCDEFG"),
    // Tokens of JSON Web Signature and Encryption, and claims without a signature.
    ("eyJhbGci", "OiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.LETTERS"),
    ("eyJhbGci", "OiJub25lIn0.eyJzdWIiOiIxIn0."),
    ("eyJhbGci", "OiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..48V1_ALb6US04U3b.LETTERS.XFBoMYUZodetZdvTiFvSkQ"),
    ("eyJhbGci", "OiJSU0EtT0FFUCJ9.LETTERS.48V1_ALb6US04U3b.LETTERS.XFBoMYUZodetZdvTiFvSkQ"),
    ("eyJhbGci", "OiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0"),
    ("eyJhbGci", "OiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x"),
];

/// Texts with a secret in place of `HERE`, and the secret.
const OTHERS: [(&str, &str); 24] = [
    ("post https://hooks.slack.com/HERE failed", "services/T0123ABCD/B0123ABCD/LETTERS"),
    ("post https://hooks.slack.com/HERE failed", "workflows/T0123ABCD/A0123ABCD/123/LETTERS"),
    ("post https://discord.com/api/webhooks/HERE failed", "123456789012345678/LETTERS"),
    ("post https://acme.webhook.office.com/HERE failed", "webhookb2/0a1b2c3d@0a1b/IncomingWebhook/HEX"),
    ("https://api.telegram.org/botHERE/getMe", "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"),
    ("https://api.telegram.org/file/botHERE/a", "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"),
    ("https://bots.acme.test/botHERE/getMe", "123456789:AALETTERS"),
    ("user:HERE@host", "pw"),
    ("cannot reach admin:HERE@db: refused", "hunter2"),
    ("cannot reach root:HERE@db/app", "melonfish"),
    ("cannot reach me:HERE@db/app", "Hunter2-x"),
    ("dial me:HERE@10.0.0.1:6379", "hunter2x"),
    ("dial me:HERE@db:6379", "hunter2x"),
    ("dial me:HERE@localhost", "hunter2x"),
    ("GET /callback?code=HERE&state=1", "4/0AX4XfWhAb3dEf6h"),
    ("GET /callback?state=1&code=HERE", "SplxlOBeZQQYbYS6WxSbIA"),
    ("a%3Fcode%3DHERE%26state%3D1", "SplxlOBeZQQYbYS6WxSbIA"),
    ("/token?code_verifier=HERE", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
    ("/token?assertion=HERE", "PHNhbWxwOl"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----HERE-----END PGP PRIVATE KEY BLOCK-----", "\n\nlQOYBF\n=abcd\n"),
    (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----HERE-----END PGP PRIVATE KEY BLOCK-----",
        "\nVersion: GnuPG v2.0.22 (GNU/Linux)\nComment: me <me@acme.test>\n\nlQOYBF\n=abcd\n",
    ),
    ("Private-Lines: 1\nHERE\nPrivate-MAC: 0a1b", "AAAAIQCvRlBLETTERS=="),
    ("Private-Lines: 2\\r\\nHERE\\r\\nPrivate-MAC: 0a1b", "AAAAIQCvRlBLETTERS\\r\\nLETTERS=="),
    ("x: HERE", "UHVUVFktVXNlci1LZXktRmlsZS0zOiBzc2gtZWQyNTUxOQ=="),
];

fn filled(text: &str) -> String {
    text.replace("LETTERS", LETTERS).replace("HEX", HEX)
}

/// Checks that a secret is removed from a text of a peer, a header, and texts of a resource.
fn assert_removed(text: &str, secret: &str) {
    let nack = redactor().text(text).unwrap_or_else(|| panic!("{text}"));
    assert!(nack.contains("[redacted ") && !nack.contains(secret), "{text}: {nack}");
    let metadata = json!({"filter_metadata": {"acme": {"note": text}}});
    let known = bytes(CLUSTER, &json!({"name": "c", "metadata": metadata}));
    for resource in [known, packed("acme.Unknown", &field(7, text.as_bytes()))] {
        let after = redactor().resource(&resource).unwrap_or_else(|| panic!("{text}"));
        assert!(!holds(&after, secret), "{text}: {}", String::from_utf8_lossy(&after));
        assert_eq!(redactor().resource(&after), None, "redaction is idempotent: {text}");
    }
}

#[test]
fn removes_tokens_by_their_form() {
    for (start, rest) in TOKENS {
        let secret = filled(&format!("{start}{rest}"));
        for text in [
            "HERE",
            "refused: HERE, try again",
            "it said \"HERE\".",
            "[\"HERE\"]",
            "x%3DHERE%26b",
            "a\\nHERE\\nb",
            "a\\u003dHERE",
            "<td>HERE</td>",
        ] {
            assert_removed(&text.replace("HERE", &secret), &secret);
        }
        let header = redactor().metadata("x-other", &secret).unwrap_or_else(|| panic!("{secret}"));
        assert!(header.starts_with("***"), "{header}");
    }
}

#[test]
fn removes_other_secrets_by_their_form() {
    for (text, secret) in OTHERS {
        let secret = filled(secret);
        let text = text.replace("HERE", &secret);
        // The rules of sentences find some logins only.
        match text.contains('@') && !text.contains("office") && !text.contains("PGP") {
            true => {
                let nack = redactor().text(&text).unwrap_or_else(|| panic!("{text}"));
                assert!(!nack.contains(&format!(":{secret}@")), "{text}: {nack}");
            }
            false => assert_removed(&text, secret.trim()),
        }
    }
}

#[test]
fn removes_key_blocks_in_hexadecimal() {
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n";
    let hex = |separator: &str| {
        let bytes: Vec<String> = key.bytes().map(|byte| format!("{byte:02x}")).collect();
        bytes.join(separator)
    };
    for hex in [hex(""), hex(":"), hex(" "), hex("").to_uppercase(), hex(":").to_uppercase()] {
        assert_removed(&format!("key {hex}, refused"), &hex[60..80]);
    }
    let public =
        key.replace("PRIVATE", "PUBLIC").bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(redactor().text(&public), None);
}

#[test]
fn removes_binary_headers_with_secrets() {
    for (content, is_secret) in [
        ("password=hunter2x", true),
        ("\x0a\x11password=hunter2x", true),
        ("{\"token\": \"hunter2x\"}", true),
        ("zone=a", false),
        ("", false),
    ] {
        let encoded = base64::encode(content.as_bytes());
        for value in [encoded.clone(), encoded.trim_end_matches('=').to_owned(), format!("AAAA,{encoded}")] {
            let after = redactor().metadata("x-context-bin", &value);
            let wanted = format!("[redacted {} B]", value.len());
            assert_eq!(after, is_secret.then_some(wanted), "{content}");
            assert_eq!(redactor().metadata("x-context", &value), None, "{content}");
        }
    }
}

/// Names, digests and addresses that look like tokens or logins.
#[test]
fn keeps_names_that_look_like_secrets() {
    for text in [
        "outbound|80||svc.default.svc.cluster.local",
        "outbound_.8080_.v1_.reviews.default.svc.cluster.local",
        "image@sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "image registry:5000/app:v1.2.3@sha256:0a1b2c3d",
        "image app:v1.2.345@prod.acme.test",
        "alice@acme.test",
        "mailto:alice2024@acme.test, sip:alice2024@acme.test:5060",
        "email:alice2024@acme.test owner:Alice2024@acme.test",
        "serviceAccount:app-1@acme-123.iam.gserviceaccount.com user:alice@acme.test",
        "git@github.com:acme/app.git",
        "a:b@c",
        "zone:us-east1@edge",
        "spiffe://cluster.local/ns/default/sa/a:b@c",
        "127.0.0.1:8080@zone",
        "user:$DB_PASSWORD@db",
        "user:%REQ(X)%@db",
        "/callback?code=404&status=503",
        "/callback?code=UNAVAILABLE",
        "npm_config_registry npm_lifecycle_event",
        "hvs.example.com and hvs.cluster-a.svc.cluster.local",
        "SG.group-1 SG.a.b",
        "xoxb-",
        "sk_live_ keys and ghp_ tokens",
        "glpat-example",
        "dapi-server-1 dapi.example.com",
        "hf_transfer_worker_1",
        "AKIA is a prefix",
        "ASIAPACIFICSOUTHEAST1",
        "b+/AIzaAb3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z+c",
        "https://hooks.slack.com/services/",
        "eyJ.eyJ.x",
        "eyJhbGciOiJIUzI1NiJ9 is a header",
        "eyJhbGciOiJIUzI1NiJ9.json",
        "PuTTY-User-Key-File-3: ssh-ed25519",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENBF\n-----END PGP PUBLIC KEY BLOCK-----",
        "2d2d2d2d2d424547494e2043455254494649434154452d2d2d2d2d",
    ] {
        assert_eq!(redactor().text(text), None, "{text}");
        let metadata = json!({"filter_metadata": {"acme": {"note": text}}});
        let cluster = bytes(CLUSTER, &json!({"name": text, "metadata": metadata}));
        assert_eq!(redactor().resource(&cluster), None, "{text}");
    }
}

#[test]
fn reads_long_texts_of_prefixes_in_linear_time() {
    let redactor = redactor();
    for part in [
        "ghp_",
        "SG.",
        "ya29.",
        "xoxb-",
        "ghs_.",
        "eyJ",
        "eyJ.",
        "eyJhbGciOi.",
        "1:AA",
        "@",
        "a:b@",
        ":Ab1!xy@",
        "2d2d2d2d2d42",
        "PRIVATE KEY BLOCK-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        "Private-Lines: 1\n",
        "%REQ(",
        "%s ",
        "{}",
        "?code=",
        "?code=x",
        "code%3Dx%26",
        "code=",
        "LS0tLS1CRUdJTi",
        "hooks.slack.com/",
    ] {
        let text = format!("{} password=hunter2x", part.repeat(300_000 / part.len()));
        let start = std::time::Instant::now();
        let clean = redactor.text(&text).expect("a secret");
        redactor.resource(&packed(CLUSTER, &field(1, text.as_bytes())));
        assert!(!clean.contains("hunter2x"), "{part}");
        assert!(start.elapsed().as_secs() < 30, "{part}: {:?}", start.elapsed());
    }
}
