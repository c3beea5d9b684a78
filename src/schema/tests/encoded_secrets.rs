//! Secrets behind percent-encodings, escapes and signs, and reasons that look like secrets.

use serde_json::json;

use super::{bytes, field, holds, packed, redactor};
use crate::Schema;
use xdscope_wire::content::Redact;

const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";
const LETTERS: &str = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb7dEf0hIj3kLm6nOp9qRs2tUv5wXy8z";
const HEX: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";

/// Tokens in two parts, because scanners of repositories would take a whole token for a secret.
const TOKENS: [(&str, &str); 27] = [
    ("ghp_", "LETTERS"),
    ("hvs.", "CAESILETTERS"),
    ("SG.", "Ab3dEf6hIj9kLm2nOp5qRs.LETTERS"),
    ("ya29.", "a0Af-LETTERS_LETTERS"),
    ("AGE-", "SECRET-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE"),
    ("pul-", "HEX01234567"),
    ("key-", "HEX"),
    ("SK", "HEX"),
    ("sk-", "proj-LETTERS"),
    ("sk-", "ant-api03-LETTERS"),
    ("AKIA", "IOSFODNN7ABCDEFG"),
    ("AIza", "SyA1b2C3d4E5f6G7h8I9j0KlMnOpQrStUvW"),
    ("dapi", "HEX"),
    ("ATATT3", "xFfGF0LETTERS"),
    ("eyJhbGci", "OiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.LETTERS"),
    // Forms of further issuers.
    ("sk-Ab3dEf6hIj9kLm2nOp5q", "T3BlbkFJAb3dEf6hIj9kLm2nOp5q"),
    ("sq0csp-", "LETTERS"),
    ("sq0atp-", "Ab3dEf6hIj9kLm2nOp5qRs"),
    ("lin_api_", "LETTERS"),
    ("dp.pt.", "LETTERS"),
    ("dp.st.", "prd.LETTERS"),
    ("rubygems_", "HEX0123456789abcdef"),
    ("ops_eyJ", "zaWduSW5BZGRyZXNzIjoibLETTERS"),
    ("HRKU-", "AALETTERS"),
    ("HRKU-", "0a1b2c3d-1234-1234-1234-0a1b2c3d4e5f"),
    ("access-sandbox-", "0a1b2c3d-1234-1234-1234-0a1b2c3d4e5f"),
    ("access-production-", "0a1b2c3d-1234-1234-1234-0a1b2c3d4e5f"),
];

/// Texts with secrets in place of `HERE`, some of which hold signs that URLs encode.
const TEXTS: [(&str, &str); 10] = [
    ("postgres://u:HERE@db/x", "PwDb8s7df6sdf"),
    ("admin:HERE@host", "PW"),
    ("https://hooks.slack.com/HERE", "services/T0123ABCD/B0123ABCD/LETTERS"),
    ("https://hooks.slack.com/HERE", "workflows/T0123ABCD/A0123ABCD/123/LETTERS"),
    ("https://discord.com/api/webhooks/HERE", "123456789012345678/LETTERS"),
    ("https://api.telegram.org/botHERE/getMe", "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"),
    ("-----BEGIN EC PRIVATE KEY-----\nHERE\n-----END EC PRIVATE KEY-----", "MHcCAQEEILETTERS\nLETTERS"),
    (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nHERE\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
        "lQOYBFLETTERS\nLETTERS",
    ),
    ("Private-Lines: 1\nHERE\nPrivate-MAC: 0a1b", "AAAAIQCvRlBLETTERS=="),
    ("{\"password\": \"HERE\"}", "hunter2 of the tests"),
];

fn filled(text: &str) -> String {
    text.replace("LETTERS", LETTERS).replace("HEX", HEX)
}

fn each(text: &str, escape: impl Fn(u8) -> String) -> String {
    text.bytes().map(escape).collect()
}

fn percent(byte: u8) -> String {
    format!("%{byte:02X}")
}

/// Encodes the signs of a text, as in a query.
fn query(text: &str) -> String {
    each(text, |byte| if byte.is_ascii_alphanumeric() { char::from(byte).into() } else { percent(byte) })
}

/// Checks that a secret is removed from a text of a peer, texts of a resource, and a node.
fn assert_removed(text: &str, secret: &str) {
    let part = &secret[secret.len() / 3..secret.len() - secret.len() / 3];
    let nack = redactor().text(text).unwrap_or_else(|| panic!("{text}"));
    assert!(nack.contains("[redacted ") && !nack.contains(part), "{text}: {nack}");
    let metadata = json!({"filter_metadata": {"acme": {"note": text}}});
    let known = bytes(CLUSTER, &json!({"name": "c", "metadata": metadata}));
    let unknown = packed("acme.Unknown", &field(7, text.as_bytes()));
    let nested = packed("google.protobuf.Any", &unknown);
    for resource in [known, unknown, nested] {
        let after = redactor().resource(&resource).unwrap_or_else(|| panic!("{text}"));
        assert!(!holds(&after, part), "{text}: {}", String::from_utf8_lossy(&after));
        assert_eq!(redactor().resource(&after), None, "redaction is idempotent: {text}");
    }
    let node = json!({"id": "n", "metadata": {"note": text}, "user_agent_name": text});
    let node = Schema::builtin().encode("envoy.config.core.v3.Node", &node).expect("a node");
    let after = redactor().node(&node).unwrap_or_else(|| panic!("{text}"));
    assert!(!holds(&after, part), "{text}: {}", String::from_utf8_lossy(&after));
    assert_eq!(redactor().node(&after), None, "redaction is idempotent: {text}");
}

#[test]
fn removes_encoded_tokens() {
    for (start, rest) in TOKENS {
        let token = filled(&format!("{start}{rest}"));
        let (front, back) = (&token[..1], &token[2..]);
        let second = token.as_bytes()[1];
        for secret in [
            each(&token, percent),
            each(&token, |byte| format!("\\u{byte:04x}")),
            each(&token, |byte| format!("\\x{byte:02x}")),
            each(&token, |byte| format!("\\{byte:03o}")),
            each(&token, |byte| format!("&#{byte};")),
            each(&each(&token, percent), percent),
            each(&each(&token, |byte| format!("\\u{byte:04x}")), percent),
            query(&query(&token)),
            token.replacen('.', "\\u002e", 1).replacen('-', "\\u002d", 1),
            token.replacen('.', "%2E", 1).replacen('-', "%2d", 1),
            format!("{front}\\x{second:02x}{back}"),
            format!("{front}\\{second:03o}{back}"),
            format!("{front}%{second:02x}{back}"),
        ] {
            for text in ["HERE", "refused: HERE, try again", "\"HERE\""] {
                assert_removed(&text.replace("HERE", &secret), &secret);
            }
        }
    }
}

#[test]
fn removes_tokens_behind_signs() {
    for (start, rest) in TOKENS {
        let token = filled(&format!("{start}{rest}"));
        let is_word = ["key-", "SK"].contains(&start);
        for text in ["/v1/HERE/rest", "q=say+HERE", "a\\/HERE", "a\\nHERE\\nb", "id-HERE", "prefix_HERE"] {
            // Short prefixes are parts of many names.
            if !is_word || !text.contains("id-") && !text.contains('_') {
                assert_removed(&text.replace("HERE", &token), &token);
            }
        }
    }
}

#[test]
fn removes_other_encoded_secrets() {
    for (text, secret) in TEXTS {
        let secret = filled(secret);
        let text = text.replace("HERE", &secret);
        for (encoded, part) in [
            (query(&text), query(&secret)),
            (query(&query(&text)), query(&query(&secret))),
            (text.replace(' ', "+"), secret.replace(' ', "+")),
            (each(&text, percent), each(&secret, percent)),
            (each(&text, |byte| format!("\\u{byte:04x}")), each(&secret, |byte| format!("\\u{byte:04x}"))),
        ] {
            let is_login = text.contains("admin") || secret.contains(' ');
            for around in ["https://a/x?next=HERE", "GET /r?u=HERE&b=1 failed"] {
                let text = around.replace("HERE", &encoded);
                // In resources, the password of a login must look like a credential.
                match is_login {
                    true if encoded.contains(['%', '\\']) => {
                        let nack = redactor().text(&text).unwrap_or_else(|| panic!("{text}"));
                        assert!(!nack.contains(&part) || part.len() == 2, "{text}: {nack}");
                    }
                    true => {}
                    false => assert_removed(&text, &part),
                }
            }
        }
    }
}

/// Escapes in texts without secrets.
#[test]
fn keeps_escaped_texts_without_secrets() {
    for text in [
        "https://a/x?next=https%3A%2F%2Fb%2Fc%3Fd%3D1",
        "GET /a%20b%2Fc%26d failed",
        "field \\\"name\\\": \\\"a\\\"\\n  in line 3",
        "C:\\new\\table\\x64\\users",
        "^/v1/\\d+\\.json$",
        "%REQ(X-A)% %CEL(request.path)% %DOWNSTREAM_PEER_SUBJECT%",
        "a &lt;b&gt; &amp; c",
        "token%3Dexpired",
        "jwt%3A%20issuer%20mismatch",
        "100%25 of 20%20",
    ] {
        assert_eq!(redactor().text(text), None, "{text}");
        let metadata = json!({"filter_metadata": {"acme": {"note": text}}});
        if !text.contains("token") && !text.contains("jwt") {
            let cluster = bytes(CLUSTER, &json!({"name": "c", "metadata": metadata}));
            assert_eq!(redactor().resource(&cluster), None, "{text}");
        }
    }
}

/// Reasons, codes, counts and ports behind names and signs of secrets.
#[test]
fn keeps_reasons_that_look_like_secrets() {
    for text in [
        "signing key: RS256 not supported",
        "jwt: ES384 is not allowed",
        "secret: NOT_FOUND",
        "token: DEADLINE_EXCEEDED",
        "secret: NotFound",
        "jwt: 'issuer' is not allowed",
        "auth: \"basic\" expected",
        "Pass: 3, Fail: 4",
        "sid: spire",
        "redis:6379@primary",
        "admin:8080@cluster1",
    ] {
        assert_eq!(redactor().text(text), None, "{text}");
    }
    for text in [
        "invalid password: too short",
        "unexpected token: '}' at line 3",
        "tls_certificates: token: not set",
        "authorization: missing",
        "redis:6379@primary",
        "admin:8080@cluster1",
    ] {
        assert_eq!(redactor().text(text), None, "{text}");
        let metadata = json!({"filter_metadata": {"acme": {"note": text}}});
        let cluster = bytes(CLUSTER, &json!({"name": "c", "metadata": metadata}));
        assert_eq!(redactor().resource(&cluster), None, "{text}");
    }
    for (text, secret) in [
        ("secret: NOT_FOUND_2", "FOUND_2"),
        ("jwt: 'hunter2x' is not allowed", "hunter2x"),
        ("{\"auth\": \"melonfish\"}", "melonfish"),
        ("pass: 1234", "1234"),
        ("sid: 0a1b2c3d", "0a1b2c3d"),
        ("redis:637900@primary", "637900"),
        ("redis://:6379@primary", "6379"),
        ("redis://a:6379@primary", "6379"),
    ] {
        let clean = redactor().text(text).unwrap_or_else(|| panic!("{text}"));
        assert!(!clean.contains(secret), "{text}: {clean}");
    }
}

/// Texts that stay whatever the secrets of resources are.
#[test]
fn secrets_of_resources_do_not_hide_reasons() {
    let texts = [
        "Error adding listener: duplicate Listener configuration, validation of connection failed",
        "Unknown static secret: server-cert",
        "SDS: secret spiffe://cluster.local/ns/default/sa/app not found",
        "reverse_tunnel: jwt: issuer mismatch",
        "basic auth: duplicate users",
        "Invalid private key: key data is corrupted or malformed.",
        "melonfishes, Melonfish and MELONFISH are in melonfish_sea",
    ];
    let redactor = redactor();
    let words = texts.iter().flat_map(|text| text.split([' ', ',', '.', ':'])).filter(|word| {
        word.bytes().all(|byte| byte.is_ascii_alphabetic()) && !word.to_lowercase().contains("melon")
    });
    let phrases = ["issuer mismatch", "duplicate users", "Unknown static secret: server-cert", "melonfish"];
    for word in words.chain(phrases) {
        let yaml = json!({"name": "c", "alt_stat_name": format!("password: {word}"),
            "metadata": {"filter_metadata": {"acme": {"password": word}}}});
        redactor.resource(&bytes(CLUSTER, &yaml));
    }
    // Many secrets with one beginning.
    for start in ["configur", "duplicat", "validati"] {
        let secrets: Vec<String> = (0..50).map(|len| format!("{start}{}", "x".repeat(len))).collect();
        let metadata = json!({"filter_metadata": {"acme": {"passwords": secrets}}});
        redactor.resource(&bytes(CLUSTER, &json!({"name": "c", "metadata": metadata})));
    }
    for text in texts {
        assert_eq!(redactor.text(text), None, "{text}");
    }
    for text in ["cannot use melonfish", "melonfish", "got 'melonfish'.", "token bWVsb25maXNo refused"] {
        let clean = redactor.text(text).unwrap_or_else(|| panic!("{text}"));
        assert!(!clean.contains("melonfish") && !clean.contains("bWVsb25"), "{text}: {clean}");
    }
}

#[test]
fn reads_long_texts_of_escapes_in_linear_time() {
    let redactor = redactor();
    for part in
        ["%", "%25", "%2525", "\\", "\\\\u", "\\u002d", "&#", "&#45;", "%2DeyJ", "eyJ-", "eyJ_eyJ.", "+AIza"]
    {
        let text = format!("{} password=hunter2x", part.repeat(300_000 / part.len()));
        let start = std::time::Instant::now();
        let clean = redactor.text(&text).expect("a secret");
        redactor.resource(&packed(CLUSTER, &field(1, text.as_bytes())));
        assert!(!clean.contains("hunter2x"), "{part}");
        assert!(start.elapsed().as_secs() < 30, "{part}: {:?}", start.elapsed());
    }
}
