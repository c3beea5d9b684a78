//! Secrets that texts of resources, details and wrappers show by their form.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{bytes, field, holds, packed, redactor};
use crate::Schema;
use crate::json::base64;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::{Message, MessageShape};

const HUNTER: &str = "hUnter2-of-the-tests";
const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";
const ROUTES: &str = "envoy.config.route.v3.RouteConfiguration";

/// Redacts a resource with the secret.
fn clean(name: &str, value: &Json) -> String {
    let redactor = redactor();
    let bytes = bytes(name, value);
    assert!(holds(&bytes, HUNTER), "{value}");
    let clean = redactor.resource(&bytes).unwrap_or_else(|| panic!("no secret found in {value}"));
    assert!(!holds(&clean, HUNTER), "{}", String::from_utf8_lossy(&clean));
    assert_eq!(redactor.resource(&clean), None, "redaction is idempotent");
    assert_eq!(Schema::builtin().faults("google.protobuf.Any", &clean), []);
    Schema::builtin().any_to_json(&clean).to_string()
}

/// Texts with the secret, and the texts without it.
fn texts() -> Vec<(String, String)> {
    let stars = "***????*************";
    [
        "Bearer HERE",
        "abc; bearer HERE, more",
        "Basic HERE",
        "Token HERE",
        "ApiKey HERE",
        "Digest username=\"u\", response=\"HERE\"",
        "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=HERE",
        "curl -H 'Authorization: Bearer HERE' x",
        "{\"db\":{\"password\":\"HERE\",\"x\":1}}",
        "{\\\"password\\\":\\\"HERE\\\"}",
        "a: b\napi_key: HERE\nc: d",
        "user=a password=\"HERE\" required",
        "password=HERE user=a",
        "Endpoint=sb://a/;SharedAccessKey=HERE",
        "local token = \"HERE\"",
        "[[\"authorization\",\"HERE\"],[\"x-zone\",\"a\"]]",
        "headers:add(\"authorization\", \"HERE\")",
        "headers:replace('x-api-key', 'HERE')",
        "a: b\npassword: |\n  HERE\nc: d",
        "- db:\n    password: >-\n      HERE\n    zone: a",
        "invalid token Bearer HERE",
        "bad token Bearer HERE",
        "invalid bearer token HERE",
        "header was Bearer \"HERE\"",
        "Token 'HERE'",
        "Bearer\nHERE",
        "Bearer%20HERE",
        "Authorization%3A%20Bearer%20HERE",
        "ApiKey Bearer HERE",
        "bearer bearer HERE",
        "token Basic HERE",
        "curl -H \"Authorization: Bearer HERE\" x",
        "http.Header{\"Authorization\":[]string{\"HERE\"}}",
        "map[authorization:[Bearer HERE] user-agent:[x]]",
        "map[x-api-key:[HERE]]",
        "{\"authorization\":[\"HERE\"]}",
        "{\"password\":{\"value\":\"HERE\"}}",
        "{\\\"password\\\":{\\\"value\\\":[\\\"HERE\\\"]}}",
        "{\"passwords\":{\"alice\":\"HERE\"},\"zone\":\"a\"}",
        "{\"key\":\"authorization\",\"value\":\"HERE\"}",
        "{\"value\":\"HERE\",\"name\":\"x-api-key\"}",
        "[{\"name\":\"DB_PASSWORD\",\"value\":\"HERE\"},{\"name\":\"ZONE\",\"value\":\"a\"}]",
        "[{\"value\":\"a\",\"name\":\"ZONE\"},{\"value\":\"HERE\",\"name\":\"DB_PASSWORD\"}]",
        "{\"private_key\":{\"inline_string\":\"HERE\"}}",
        "{\"private_key\":{\"filename\":\"/etc/key1\"},\"password\":{\"inline_string\":\"HERE\"}}",
        "password: {inline_string: \"HERE\"}",
        "password: {inline_string: HERE, environment_variable: A1B2C3}",
        "header { key: \"authorization\" value: \"HERE\" }",
        "private_key { inline_string: \"HERE\" }",
        "_Metadatum(key='authorization', value='HERE')",
        "a: b\ntokens:\n- HERE\nc: d",
        "password:\n  inline_string: HERE\nc: d",
        "- db:\n    password:\n      value: HERE\n    zone: a",
        "- name: DB_PASSWORD\n  value: HERE\n- name: ZONE\n  value: a",
        "[\"run\",\"--token\",\"HERE\",\"--zone\",\"a\"]",
        "run --token HERE --zone a",
        "run --api-key HERE",
        "<password>HERE</password>",
        "password => HERE",
        "password := HERE",
        "pass\u{200b}word=HERE",
        "\u{ff50}assword=HERE",
        "u:HERE@tcp(h:3306)/db",
        "https://HERE@github.com/x",
        "a%3Ftoken%3DHERE%26b%3Dc",
        "invalid api key HERE",
        "{\"accessKeys\":[{\"secret\":\"HERE\"}]}",
        "the password is HERE",
        "token was HERE, and now is none",
        "the password is \"HERE\"",
        "wrong password 'HERE' for a",
        "password(HERE) of a",
        "user(a) password('HERE')",
        "mysql -u a -pHERE db",
        "mysql -u a -p'HERE' db",
        "mysqldump --host=a -p HERE",
        "exec [\"mongosh\", \"-u\", \"a\", \"-p\", \"HERE\"]",
        "sshpass -p HERE ssh a",
        "docker login -u a -p HERE b",
        "redis-cli -h a -a HERE ping",
        "curl -u a:HERE b",
        "run --password HERE --zone a",
        "CREATE USER 'a' IDENTIFIED BY 'HERE'",
        "create user a identified with caching_sha2_password by 'HERE' require ssl",
        "CREATE USER a WITH PASSWORD 'HERE'",
        "machine a login b password HERE",
        "default login b password HERE",
        "machine a\n  login b\n  password HERE\nmachine c",
        "{\"\\u0070assword\":\"HERE\"}",
        "{\"pass\\u0077ord\":\"HERE\"}",
        "{\\\"pass\\\\u0077ord\\\":\\\"HERE\\\"}",
        "/a?%70assword=HERE&b=1",
        "/a?b=1&pass%77ord=HERE",
        "/a?pass%2577ord=HERE",
        "pass&#119;ord=HERE",
        "pass\\x77ord=HERE",
        "{\"kty\":\"oct\",\"k\":\"HERE\"}",
        "{\"password\":\n\"HERE\"}",
        "data['password'] = 'HERE'",
        "\\\\\\\"password\\\\\\\":\\\\\\\"HERE\\\\\\\"",
        "private_key <\n  inline_string: \"HERE\"\n>",
        "credentials{user: a, password: HERE}",
        "got authorization: Bearer HERE",
        "the API key is HERE",
        "the password HERE is wrong",
        "<password><![CDATA[HERE]]></password>",
        "password <- \"HERE\"",
    ]
    .into_iter()
    .map(|text| (text.replace("HERE", HUNTER), text.replace("HERE", stars)))
    .collect()
}

/// Replaces the ids of secrets.
fn without_ids(text: &str) -> String {
    let pattern = regex::Regex::new(r"\*\*\*[0-9a-f]{4}\*").expect("a pattern");
    pattern.replace_all(text, "***????*").into_owned()
}

#[test]
fn overwrites_secrets_of_texts_in_any_field() {
    for (text, wanted) in texts() {
        let metadata = json!({"filter_metadata": {"acme": {"note": text}}});
        let after = clean(CLUSTER, &json!({"name": "c", "metadata": metadata}));
        let wanted_json = json!(wanted).to_string();
        assert!(without_ids(&after).contains(&wanted_json), "{wanted_json}: {after}");
        let body = json!({"match": {"prefix": "/"}, "direct_response": {"status": 200, "body": {"inline_string": text}}});
        clean(ROUTES, &json!({"virtual_hosts": [{"name": "h", "domains": ["*"], "routes": [body]}]}));
        let header = redactor().metadata("x-other", &text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(without_ids(&header), wanted);
        let nack = redactor().text(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(!nack.contains(HUNTER), "{nack}");
    }
    let pem = base64::encode(b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n");
    let metadata = json!({"filter_metadata": {"acme": {"note": pem}}});
    let after = redactor().resource(&bytes(CLUSTER, &json!({"name": "c", "metadata": metadata})));
    assert!(!holds(&after.expect("a key"), &pem[40..60]));
}

/// Words that no digit and no capital tells from other words.
#[test]
fn removes_plain_words_behind_names_in_errors() {
    for text in [
        "password=melonfish",
        "password: melonfish, user: a",
        "password=(melonfish)",
        "password=!melonfish",
        "password: *melonfish",
        "password=melon\"fish",
        "password=melon'fish",
        "password=melon;fish&a",
        "password=melon&fish",
        "password:\n  melonfish",
        "Pwd=melonfish;",
        "API key: melonfish",
        "authorization: Bearer melonfish",
        "Cookie: theme=dark; id=melonfish",
        "token_data_source: {inline_string: melonfish}",
        "auth_username: melonfish",
        "private_key{inline_string:\"melonfish\"}",
        "users { inline_string: \"melonfish\" }",
        "--password melonfish",
        "cannot connect to u:melonfish1@h.test",
        "password: \u{201c}melonfish\u{201d}",
        "\u{201c}password\u{201d}: melonfish",
    ] {
        let clean = redactor().text(text).unwrap_or_else(|| panic!("{text}"));
        assert!(!clean.contains("melon") && !clean.contains("fish"), "{clean}");
    }
}

/// Passwords in base64 that end in the letters that fill a group, and a scheme in each position.
#[test]
fn overwrites_basic_credentials_with_any_ending() {
    for secret in [
        "dTpxN2hmZ3RyZXd6eHBsbWtvMQ==",
        "YWRtaW46azltdnFqN3R6eA==",
        "dXM6cTdoZmd0cmV3enhwbG1rbzE=",
        "YWRtaW46bXZxanR6eA==",
    ] {
        for text in [
            format!("upstream refused Authorization: Basic {secret}"),
            format!("Basic {secret}"),
            format!("\"Basic {secret}\""),
            format!("Basic {secret}, more"),
        ] {
            let metadata = json!({"filter_metadata": {"acme": {"note": text}}});
            let bytes = bytes(CLUSTER, &json!({"name": "c", "metadata": metadata}));
            let after = redactor().resource(&bytes).unwrap_or_else(|| panic!("{text}"));
            assert!(!holds(&after, secret), "{text}");
            let after = redactor().text(&text).unwrap_or_else(|| panic!("{text}"));
            assert!(!after.contains(secret), "{after}");
            let after = redactor().metadata("x-other", &text).unwrap_or_else(|| panic!("{text}"));
            assert!(!after.contains(secret), "{after}");
        }
    }
    for text in
        ["Bearer realm=\"api\"", "Digest username=\"me\", realm=\"api\"", "Bearer error=\"invalid_token\""]
    {
        assert_eq!(redactor().metadata("www-authenticate", text), None);
    }
}

#[test]
fn removes_values_behind_names_in_lists() {
    for (list, kept) in [
        (json!(["run", "--token", HUNTER, "--zone", "a"]), json!(["--zone", "a"])),
        (json!(["-api-key", HUNTER]), json!(["-api-key"])),
        (json!(["authorization", HUNTER]), json!(["authorization"])),
        (json!([["x-zone", "a"], ["x-api-key", HUNTER]]), json!([["x-zone", "a"]])),
    ] {
        let after =
            clean(CLUSTER, &json!({"name": "c", "metadata": {"filter_metadata": {"acme": {"args": list}}}}));
        let kept = kept.to_string();
        assert!(after.contains(kept.trim_matches(['[', ']'])), "{after}");
    }
    for list in [
        json!(["authorization", "x-request-id"]),
        json!(["authorization", "a", "b"]),
        json!(["--token", "--zone", "a"]),
        json!(["run", "token", "a1b2c3"]),
    ] {
        let metadata = json!({"filter_metadata": {"acme": {"args": list}}});
        let cluster = bytes(CLUSTER, &json!({"name": "c", "metadata": metadata}));
        assert_eq!(redactor().resource(&cluster), None, "{list}");
    }
}

#[test]
fn keeps_texts_without_secrets() {
    for text in [
        "%REQ(AUTHORIZATION)%",
        "authorization=%REQ(AUTHORIZATION)% user=%REQ(X-USER)%",
        "local token = request:headers():get('authorization')",
        "token bucket of 10",
        "basic authentication",
        "max_tokens: 5",
        "outbound|8080||reviews.default.svc.cluster.local",
        "xdstp://authority/envoy.config.cluster.v3.Cluster/a?b=1",
        "key: value",
        "password: null",
        "tokens: []",
        "{\"tokens\":[],\"password\":{\"filename\":\"/etc/a1\"}}",
        "password: {{ .Values.password }}",
        "- name: token\n- name: zone\n  value: a1b2c3",
        "{\"name\":\"token\"},{\"value\":\"a1b2c3\"}",
        "-- token of a",
        "https://user@github.com/x",
        "tokens:\nzone: a1b2c3",
    ] {
        let metadata = json!({"filter_metadata": {"acme": {"note": text}}});
        let cluster = bytes(CLUSTER, &json!({"name": "c", "metadata": metadata}));
        assert_eq!(redactor().resource(&cluster), None, "{text}");
    }
    for text in [
        "transport: authentication handshake failed: EOF",
        "oauth2: cannot fetch token: connection refused",
        "no basic auth credentials",
        "invalid token bucket: max_tokens must be > 0",
        "flag --token is required",
        "unexpected token 'listener'",
        "invalid token:\n  at line 12, column 3",
        "password (optional) is unset",
        "basic\nauthentication",
        "token is expired",
        "the token is invalid: expired",
        "password is required",
        "password is not set",
        "secret is not found",
        "secret: not found",
        "token: unexpected end",
        "token=expired",
        "Key is missing",
        "private_key: embedded message failed validation",
        "SecretValidationError.Password: value length must be at least 1 characters",
        "use --password or --password-file",
        "--token must be set",
        "docker run -p 8080:80 a",
        "mysql -p",
        "password(s) missing",
        "invalid tokens(2)",
        "secret \"server_cert\" is not found",
        "authorization: Bearer token is required",
        "authorization: missing",
        "identified by its name",
        "machine a has no password set",
        "token == nil",
        "unexpected token: }",
        "unexpected token: '}'",
        "token -> listener",
        "image app:v1.2.345@sha256:0123 is missing",
        "mailto:bob2024@acme.test",
        "the password policy requires digits",
        "Token::Ident",
        "no password for user 'a'",
        "/a?%62=1&c%3Dd",
    ] {
        assert_eq!(redactor().text(text), None, "{text}");
    }
}

#[test]
fn removes_secrets_of_all_matchers_and_arguments() {
    let regex = json!({"google_re2": {}, "regex": HUNTER});
    for matcher in [
        json!({"name": "x-api-key", "prefix_match": HUNTER}),
        json!({"name": "x-api-key", "suffix_match": HUNTER}),
        json!({"name": "x-api-key", "contains_match": HUNTER}),
        json!({"name": "x-api-key", "safe_regex_match": regex}),
        json!({"name": "x-api-key", "string_match": {"prefix": HUNTER}}),
        json!({"name": "x-api-key", "string_match": {"suffix": HUNTER}}),
        json!({"name": "x-api-key", "string_match": {"contains": HUNTER}}),
        json!({"name": "x-api-key", "string_match": {"safe_regex": regex}}),
        json!({"name": "authorization", "prefix_match": format!("Bearer {HUNTER}")}),
    ] {
        let route = json!({"match": {"prefix": "/", "headers": [matcher]}});
        clean(ROUTES, &json!({"virtual_hosts": [{"name": "h", "domains": ["*"], "routes": [route]}]}));
    }
    let query = json!({"name": "token", "string_match": {"prefix": HUNTER}});
    let route = json!({"match": {"prefix": "/", "query_parameters": [query]}});
    clean(ROUTES, &json!({"virtual_hosts": [{"name": "h", "domains": ["*"], "routes": [route]}]}));
    let rule = json!({"metadata": {"filter": "f", "path": [{"key": "a"}, {"key": "api_key"}],
        "value": {"string_match": {"exact": HUNTER}}}});
    let policy = json!({"permissions": [rule], "principals": [{"any": true}]});
    clean("envoy.config.rbac.v3.RBAC", &json!({"policies": {"p": policy}}));
    let arguments =
        json!({"args": {"grpc.password": {"string_value": HUNTER}, "grpc.x": {"string_value": "kept"}}});
    let google = json!({"target_uri": "x", "stat_prefix": "x", "channel_args": arguments});
    let ads = json!({"api_config_source": {"api_type": "GRPC", "grpc_services": [{"google_grpc": google}]}});
    let after = clean(CLUSTER, &json!({"name": "c", "eds_cluster_config": {"eds_config": ads}}));
    assert!(after.contains("kept"), "{after}");
}

#[test]
fn removes_secrets_of_details_of_any_type() {
    let any = |name: &str, value: Vec<u8>| packed(name, &value);
    let entry = [field(1, b"token"), field(2, HUNTER.as_bytes())].concat();
    let redactor = redactor();
    redactor.resource(&bytes(
        "envoy.extensions.transport_sockets.tls.v3.Secret",
        &json!({"name": "s", "generic_secret": {"secret": {"inline_string": "the-known-secret-0"}}}),
    ));
    for (detail, kept) in [
        (any("google.rpc.ErrorInfo", [field(1, b"REASON"), field(3, &entry)].concat()), "REASON"),
        (
            any(
                "google.rpc.DebugInfo",
                field(2, format!("Authorization: Bearer {HUNTER} the-known-secret-0").as_bytes()),
            ),
            "Authorization",
        ),
        (any("google.rpc.DebugInfo", field(1, b"at f(the-known-secret-0)")), "at f("),
        (
            any("acme.Unknown", field(1, &field(2, &field(3, format!("password={HUNTER}").as_bytes())))),
            "password",
        ),
    ] {
        let after = redactor.detail(&detail).expect("a secret");
        assert!(
            !holds(&after, HUNTER) && !holds(&after, "known-secret"),
            "{}",
            String::from_utf8_lossy(&after)
        );
        assert!(holds(&after, kept), "{}", String::from_utf8_lossy(&after));
        assert_eq!(redactor.detail(&after), None);
    }
    let plain = any("google.rpc.ErrorInfo", [field(1, b"REASON"), field(2, b"acme.test")].concat());
    assert_eq!(redactor.detail(&plain), None);
}

#[test]
fn removes_secrets_of_parameters_and_keeps_names() {
    let schema = Schema::builtin();
    let constraint = json!({"constraint": {"key": "token", "value": HUNTER}});
    let name = json!({"name": "c?token=x", "dynamic_parameter_constraints": {"or_constraints": {"constraints": [constraint]}}});
    let wrapper = json!({"version": "1", "resource_name": name});
    let bytes = schema.encode("envoy.service.discovery.v3.Resource", &wrapper).expect("a resource");
    let after = redactor().wrapper(&bytes).expect("a secret");
    assert!(!holds(&after, HUNTER) && holds(&after, "c?token=x"));
    assert_eq!(redactor().wrapper(&after), None);

    let locator = json!({"name": "c?token=x", "dynamic_parameters": {"token": HUNTER, "zone": "a"}});
    let bytes = schema.encode("envoy.service.discovery.v3.ResourceLocator", &locator).expect("a locator");
    let after = redactor().parameters(&bytes).expect("a secret");
    assert!(!holds(&after, HUNTER) && holds(&after, "c?token=x") && holds(&after, "zone"));
    let request = field(8, &bytes);
    let mut catalog = Catalog::new(1, Some(Arc::new(redactor())), Box::new(MemoryBodies::default()));
    let message = Message::parse(MessageShape::DeltaRequest, &request, &mut catalog);
    assert!(message.redacted && !holds(&message.bytes(&catalog).expect("kept"), HUNTER));
}

#[test]
fn removes_secrets_of_the_metadata_of_wrappers() {
    let schema = Schema::builtin();
    let metadata = json!({"filter_metadata": {"acme": {"password": HUNTER, "zone": "a"}}});
    let wrapper = json!({"name": "c", "version": "1", "metadata": metadata,
        "resource": {"@type": format!("type.googleapis.com/{CLUSTER}"), "name": "c"}});
    let bytes = schema.encode("envoy.service.discovery.v3.Resource", &wrapper).expect("a resource");
    let after = redactor().wrapper(&bytes).expect("a secret");
    assert!(!holds(&after, HUNTER) && holds(&after, "zone"));
    assert_eq!(redactor().wrapper(&after), None);
}
