//! Texts with and without secrets, as peers, servers and users write them.

use serde_json::json;

use super::{bytes, holds, redactor};
use xdscope_wire::content::Redact;

const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";

/// Text, and the part that must not stay.
const SECRETS: [(&str, &str); 52] = [
    ("bad request: https://a/cb%3Fcode%3D4aXbC9dEf012", "4aXbC9dEf012"),
    ("redirect=https%253A%252F%252Fu%253Ahunter2xQ9%2540db%252Fx", "hunter2xQ9"),
    ("{\"msg\":\"{\\\"password\\\":\\\"hunter2xQ9\\\"}\"}", "hunter2xQ9"),
    (
        "{\"msg\":\"{\\\"msg\\\":\\\"{\\\\\\\"password\\\\\\\":\\\\\\\"hunter2xQ9\\\\\\\"}\\\"}\"}",
        "hunter2xQ9",
    ),
    ("config: \"password: hunter2xQ9\\nuser: a\"", "hunter2xQ9"),
    ("config: \"password:\\n  value: hunter2xQ9\\nuser: a\"", "hunter2xQ9"),
    ("config: \"a: b\\npassword: |\\n  hunter2xQ9\\nuser: a\"", "hunter2xQ9"),
    ("&lt;password&gt;hunter2xQ9&lt;/password&gt;", "hunter2xQ9"),
    ("%3Cpassword%3Ehunter2xQ9%3C%2Fpassword%3E", "hunter2xQ9"),
    ("\\x3cpassword\\x3ehunter2xQ9\\x3c/password\\x3e", "hunter2xQ9"),
    ("body=%7B%22client_secret%22%3A%22hunter2xQ9%22%7D", "hunter2xQ9"),
    ("body=%7B%5C%22client_secret%5C%22%3A%5C%22hunter2xQ9%5C%22%7D", "hunter2xQ9"),
    ("client_secret%20%3D%20hunter2xQ9", "hunter2xQ9"),
    ("client_secret\\u003dhunter2xQ9", "hunter2xQ9"),
    ("client_secret\\075hunter2xQ9", "hunter2xQ9"),
    ("Authorization:%20Bearer%20hunter2xQ9", "hunter2xQ9"),
    ("Authorization%253A%2520Basic%2520aHVudGVyMnhROTo=", "aHVudGVyMnhROTo"),
    ("Authorization: Basic\\u0020aHVudGVyMnhROTo=", "aHVudGVyMnhROTo"),
    ("cookie%3A%20sid%3D0a1b2c3d4e5f%3B%20theme%3Ddark", "0a1b2c3d4e5f"),
    ("x-api-key: hunter2xQ9", "hunter2xQ9"),
    ("X-Api-Key=hunter2xQ9&b=1", "hunter2xQ9"),
    ("h%75nter: pass%77ord%3Dhunter2xQ9", "hunter2xQ9"),
    ("p&#97;ssword=hunter2xQ9", "hunter2xQ9"),
    ("p&#x61;ssword&#61;hunter2xQ9", "hunter2xQ9"),
    ("password&#58; hunter2xQ9", "hunter2xQ9"),
    ("password\\t:\\thunter2xQ9", "hunter2xQ9"),
    ("redis://:hunter2xQ9@cache:6379/0 refused", "hunter2xQ9"),
    ("amqp%3A%2F%2Fguest%3Ahunter2xQ9%40mq", "hunter2xQ9"),
    ("mongodb+srv:\\/\\/me:hunter2xQ9@db\\/x", "hunter2xQ9"),
    ("postgres:\\u002f\\u002fme\\u003ahunter2xQ9\\u0040db", "hunter2xQ9"),
    ("jdbc:mysql://h/db?user=a&password=hunter2xQ9", "hunter2xQ9"),
    ("jdbc:sqlserver://h;user=a;password=hunter2xQ9;encrypt=true", "hunter2xQ9"),
    ("at /v1/AKI+AIOSFODNN7ABCDEFG/x", "IOSFODNN7ABC"),
    ("k=AKI+AIOSFODNN7ABCDEFG%26", "IOSFODNN7ABC"),
    ("a-ey+JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.Ab3dEf6hIj9kLm2nOp5q", "eyJzdWIi"),
    ("t=ey+JhbGciOiJIUzI1NiJ9%2EeyJzdWIiOiIxMjM0NTY3ODkwIn0%2EAb3dEf6hIj9kLm2nOp5q", "eyJzdWIi"),
    ("-----BEGIN%20PRIVATE%20KEY-----%0AMIIEvQIBADANBgkq%0A-----END%20PRIVATE%20KEY-----", "MIIEvQIBADAN"),
    ("-----BEGIN PRIVATE KEY-----\\u000aMIIEvQIBADANBgkq\\u000a", "MIIEvQIBADAN"),
    ("-----BEGIN PRIVATE KEY-----&#10;MIIEvQIBADANBgkq&#10;", "MIIEvQIBADAN"),
    ("-----BEGIN RSA PRIVATE KEY-----\\r\\nMIIEvQIBADANBgkq\\r\\n", "MIIEvQIBADAN"),
    (
        "{\"k\":\"-----BEGIN EC PRIVATE KEY-----\\\\nMHcCAQEEIAb3dEf6\\\\n-----END EC PRIVATE KEY-----\\\\n\"}",
        "MHcCAQEEIAb3",
    ),
    ("token [hunter2xQ9] is expired", "hunter2xQ9"),
    ("invalid token \"hunter2xQ9\"", "hunter2xQ9"),
    ("secret: 'correct horse battery staple'", "battery"),
    ("password: \"is it wrong horse\"", "horse"),
    ("headers: [[\\\"authorization\\\", \\\"hunter2xQ9\\\"]]", "hunter2xQ9"),
    ("--token%3Dhunter2xQ9", "hunter2xQ9"),
    ("set-cookie: id=0a1b2c3d4e5f; Path=/", "0a1b2c3d4e5f"),
    ("GET /x?sig=aBc%2Bd9%2Fe%3D HTTP/1.1", "aBc%2Bd9"),
    ("SharedAccessKey%3DaB3dEf6hIj9kLm2n%3D%3BEntity", "aB3dEf6hIj9"),
    ("{\\\"kty\\\":\\\"oct\\\",\\\"k\\\":\\\"aB3dEf6hIj9kLm2n\\\"}", "aB3dEf6hIj9"),
    ("%7B%22kty%22%3A%22oct%22%2C%22k%22%3A%22aB3dEf6hIj9kLm2n%22%7D", "aB3dEf6hIj9"),
];

/// Texts without a secret.
const HARMLESS: [&str; 62] = [
    "outbound|80|v1|a.b",
    "outbound_.8080_._.reviews.default.svc.cluster.local",
    "inbound|9080||",
    "spiffe://cluster.local/ns/default/sa/bookinfo-reviews",
    "SDS: secret spiffe://cluster.local/ns/default/sa/app not found",
    "kubernetes://istio-system/ingress-cert",
    "Unknown static secret: kubernetes://edge-cert",
    "2026-11-30T04:28:00Z/1234",
    "version_info: \"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
    "nonce 5fX1kPpW0Ns=1732940000 is stale",
    "nonce: 8d1f6c9e-2a4b-4c57-9b0e-3f2a1d0c9b8a",
    "9f86d081884c7d659a2feaa0c55ad015",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "request id 8d1f6c9e-2a4b-4c57-9b0e-3f2a1d0c9b8a timed out",
    "sidecar~10.4.1.7~reviews-v1-75b979578c-8nqzq.default~default.svc.cluster.local",
    "%REQ(X-FORWARDED-FOR)% %PROTOCOL% %RESPONSE_CODE% \"%REQ(:AUTHORITY)%\"",
    "authorization: Bearer %REQ(X-TOKEN)%",
    "x-api-key: %DYNAMIC_METADATA(envoy.lua:key)%",
    "x-auth: %CEL(request.headers['x-token'])%",
    "x-token: %ENVIRONMENT(TOKEN)%",
    "token: %ACCESS_LOG_TYPE%",
    "password: %DEFAULT_PASSWORD%",
    "Error adding/updating listener(s) https: Unknown static secret: server-cert",
    "Failed to load certificate chain from <inline>, only RSA and ECDSA certificates are supported",
    "Failed to load incomplete private key from path: /etc/certs/key.pem",
    "Proto constraint validation failed (SecretValidationError.TlsCertificate: value is required)",
    "Proto constraint validation failed (ClusterValidationError.Name: value length must be at least 1 characters)",
    "paths must refer to an existing path in the system: '/etc/token' does not exist",
    "jwt_authn: provider 'auth0' not found in providers",
    "Jwt verification fails with status: Jwt is expired",
    "Jwks remote fetch is failed: audience mismatch",
    "oauth2: token endpoint returned 401",
    "gRPC config for type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret rejected: x",
    "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.GenericSecret",
    "envoy.extensions.filters.http.credential_injector.v3.CredentialInjector: unknown field",
    "rpc error: code = Unauthenticated desc = token expired",
    "rpc error: code = PermissionDenied desc = authentication failure: no token",
    "rpc error: code = Unavailable desc = secret: NOT_FOUND",
    "secret \"server-cert\" was not found in namespace \"default\"",
    "secret default/server-cert not found",
    "failed to get secret server-cert: secrets \"server-cert\" not found",
    "password authentication is not supported",
    "auth: basic is required",
    "token: unexpected end of input",
    "token: INVALID_ARGUMENT",
    "tls: bad certificate: x509: certificate signed by unknown authority",
    "remote error: tls: handshake failure (key: RSA)",
    "private_key_provider: cryptomb is not available",
    "cannot parse \"%zz\" in URL: invalid escape \"%zz\"",
    "invalid URL escape \"%2\"",
    "regex '^/a/(?P<id>\\d+)\\.json$' is invalid: missing )",
    "line 3:\\n\\tfield \\\"name\\\" must not be empty\\n",
    "route \\\"/a%20b\\\" duplicates \\\"/a b\\\"",
    "path \\\\srv\\\\x64\\\\tokens\\\\name not found",
    "https://a.b/c?x=1&y=%7B%22z%22%3A1%7D",
    "a &amp;&amp; b &lt; c &#39;d&#39;",
    "user:admin@example.com is not allowed",
    "serviceAccount:ci@prod.iam.gserviceaccount.com",
    "image app:1.2.3@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "redis:6379@primary is down",
    "session ticket keys: size mismatch, expected 80",
    "caused by envoy.http.oauth2 cookie_names: bearer_token must not be empty",
];

/// Harmless texts that are removed from resources, where nobody writes sentences.
const REDACTED_IN_RESOURCES: [&str; 3] = [
    "Error adding/updating listener(s) https: Unknown static secret: server-cert",
    "oauth2: token endpoint returned 401",
    "private_key_provider: cryptomb is not available",
];

/// Texts with a secret `HERE` whose signs are escaped one by one.
const PLAIN: [&str; 29] = [
    "password=HERE&b=1",
    "a: b\npassword: HERE\nc: d",
    "a: b\npassword: |\n  HERE\nc: d",
    "a: b\npassword:\n  inline_string: HERE\nc: d",
    "pin = HERE",
    "a\npin: HERE",
    "{\"x\": 1, \"client_secret\": \"HERE\"}",
    "{\"name\": \"x-api-key\", \"value\": \"HERE\"}",
    "- name: DB_PASSWORD\n  value: HERE\n- name: ZONE",
    "[\"authorization\", \"HERE\"]",
    "map[authorization:[HERE] a:[b]]",
    "<password>HERE</password>",
    "Authorization: Bearer HERE",
    "invalid api key HERE",
    "said Digest username=\"u\", response=\"HEREHERE\"",
    "the password is HERE",
    "wrong password 'HERE' for a",
    "run --password HERE --zone a",
    "mysql -u a -pHERE db",
    "create user a identified by 'HERE'",
    "machine a login b password HERE",
    "https://a/b?x=1&code=HERE",
    "https://a/b?assertion=HERE",
    "postgres://u:HERE@db/x",
    "see https://HEREHERE@github.com/x",
    "u:HERE@tcp(h:3306)/db",
    "of admin:HERE@host",
    "{\"kty\": \"oct\", \"k\": \"HERE\"}",
    "a /v1/ghp_HEREHEREHEREHEREHERE/x",
];

fn secret_texts() -> impl Iterator<Item = (String, &'static str)> {
    SECRETS.iter().map(|(text, part)| (text.replace("AKI+A", "AKIA").replace("ey+J", "eyJ"), *part))
}

/// Returns a cluster with a text in its metadata.
fn cluster(text: &str) -> Vec<u8> {
    let metadata = json!({"filter_metadata": {"acme": {"note": text}}});
    bytes(CLUSTER, &json!({"name": "c", "metadata": metadata}))
}

#[test]
fn removes_secrets() {
    for (text, part) in secret_texts() {
        let clean = redactor().text(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(!clean.contains(part), "{text}: {clean}");
        assert_eq!(redactor().text(&clean), None, "redaction is idempotent: {text}");
        let clean = redactor().resource(&cluster(&text)).unwrap_or_else(|| panic!("{text}"));
        assert!(!holds(&clean, part), "{text}: {}", String::from_utf8_lossy(&clean));
        assert_eq!(redactor().resource(&clean), None, "redaction is idempotent: {text}");
    }
}

/// Escapes of one sign in each text must not hide the secret.
#[test]
fn removes_secrets_beside_escapes() {
    let mut left = Vec::new();
    for text in PLAIN {
        let mut signs: Vec<char> = text.chars().filter(|c| !c.is_ascii_alphanumeric()).collect();
        signs.sort_unstable();
        signs.dedup();
        for sign in signs {
            let code = u32::from(sign);
            let short = match sign {
                '\n' => "\\n".to_owned(),
                '/' => "\\/".to_owned(),
                _ => format!("%{code:02x}"),
            };
            for escape in [
                short,
                format!("%{code:02X}"),
                format!("%25{code:02X}"),
                format!("\\u{code:04x}"),
                format!("\\x{code:02x}"),
                format!("\\{code:03o}"),
                format!("&#{code};"),
            ] {
                let text = text.replace(sign, &escape).replace("HERE", "hunTer2xQ9");
                let clean = redactor().text(&text).unwrap_or_else(|| text.clone());
                if clean.contains("hunTer2xQ9") {
                    left.push(format!("text {text}"));
                }
                let cluster = cluster(&text);
                if holds(&redactor().resource(&cluster).unwrap_or(cluster), "hunTer2xQ9") {
                    left.push(format!("resource {text}"));
                }
            }
        }
    }
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn keeps_texts_without_secrets() {
    for text in HARMLESS {
        assert_eq!(redactor().text(text), None, "{text}");
        if !REDACTED_IN_RESOURCES.contains(&text) {
            assert_eq!(redactor().resource(&cluster(text)), None, "{text}");
        }
    }
}
