//! Secrets in fields that the API does not mark: headers, structs, key sets, unknown fields, URLs.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{bytes, field, holds, packed, redactor};
use crate::Schema;
use crate::redact::{Redactor, SecretNames};
use xdscope_wire::content::Redact;
use xdscope_wire::pb::{put_tag, put_varint};

const HUNTER: &str = "hunter2-of-the-tests";
const CLUSTER: &str = "envoy.config.cluster.v3.Cluster";
const ROUTES: &str = "envoy.config.route.v3.RouteConfiguration";
const SECRET: &str = "envoy.extensions.transport_sockets.tls.v3.Secret";

/// Redacts a resource with the secret and returns its JSON.
fn clean(redactor: &Redactor, name: &str, value: &Json) -> Json {
    let schema = Schema::builtin();
    let bytes = bytes(name, value);
    assert!(holds(&bytes, HUNTER), "{value}");
    let clean = redactor.resource(&bytes).unwrap_or_else(|| panic!("no secret found in {value}"));
    assert!(!holds(&clean, HUNTER), "{}", schema.any_to_json(&clean));
    assert_eq!(redactor.resource(&clean), None, "redaction is idempotent: {}", schema.any_to_json(&clean));
    assert_eq!(schema.faults("google.protobuf.Any", &clean), [], "{value}");
    let text = redactor.text(&format!("refused: {HUNTER}")).unwrap_or_default();
    assert!(text.contains("[redacted ") && !text.contains(HUNTER), "{text}");
    schema.any_to_json(&clean)
}

fn typed(name: &str, mut value: Json) -> Json {
    value["@type"] = json!(format!("type.googleapis.com/{name}"));
    value
}

/// A cluster whose transport socket is configured by this message.
fn socket(config: Json) -> Json {
    json!({"name": "c", "transport_socket": {"name": "x", "typed_config": config}})
}

#[test]
fn redacts_values_of_secret_headers() {
    let header = |key: &str| json!({"key": key, "value": HUNTER});
    let option = |key: &str| json!([{"header": header(key)}, {"header": {"key": "x-env", "value": "prod"}}]);
    for name in ["authorization", "x-api-key", "X-Auth-Token", "x-jwt-assertion", "x-vault-namespace"] {
        let routes = json!({"name": "r", "request_headers_to_add": option(name)});
        let after = clean(&redactor(), ROUTES, &routes).to_string();
        assert!(after.contains("prod") && after.contains(name), "{after}");
        let check = json!({"timeout": "1s", "interval": "1s", "unhealthy_threshold": 1, "healthy_threshold": 1,
            "http_health_check": {"path": "/", "request_headers_to_add": option(name)}});
        clean(&redactor(), CLUSTER, &json!({"name": "c", "health_checks": [check]}));
        let service = json!({"envoy_grpc": {"cluster_name": "x"}, "initial_metadata": [header(name)]});
        let ads =
            json!({"eds_config": {"api_config_source": {"api_type": "GRPC", "grpc_services": [service]}}});
        clean(&redactor(), CLUSTER, &json!({"name": "c", "eds_cluster_config": ads}));
    }
    let raw =
        json!([{"header": {"key": "cookie", "raw_value": crate::json::base64::encode(HUNTER.as_bytes())}}]);
    clean(&redactor(), ROUTES, &json!({"name": "r", "response_headers_to_add": raw}));
    let bearer = json!([{"header": {"key": "x-other", "value": format!("Bearer {HUNTER}")}}]);
    let after = Schema::builtin().any_to_json(
        &redactor().resource(&bytes(ROUTES, &json!({"request_headers_to_add": bearer}))).unwrap(),
    );
    assert!(!after.to_string().contains(HUNTER), "{after}");
    let matchers = json!([{"name": "x-api-key", "string_match": {"exact": HUNTER}},
        {"name": "authorization", "string_match": {"prefix": "Bearer "}}]);
    let hosts =
        json!([{"name": "h", "domains": ["*"], "routes": [{"match": {"prefix": "/", "headers": matchers}}]}]);
    let after = clean(&redactor(), ROUTES, &json!({"virtual_hosts": hosts})).to_string();
    assert!(after.contains("\"Bearer \""), "{after}");
}

#[test]
fn redacts_secrets_in_structs() {
    let metadata = |value: Json| json!({"name": "c", "metadata": {"filter_metadata": {"acme": value}}});
    for key in ["password", "token", "client_secret", "clientSecret", "api_key", "AWS_SECRET_ACCESS_KEY"] {
        for value in [
            json!({key: HUNTER, "zone": "a"}),
            json!({"deep": [{"deeper": {key: HUNTER}}], "zone": "a"}),
            json!({key: {"inline_string": HUNTER, "filename": "/etc/x"}, "zone": "a"}),
            json!({key: ["x", HUNTER], "zone": "a"}),
            json!({"env": [{"name": key, "value": HUNTER}], "zone": "a"}),
            json!({"headers": [{"key": key, "value": {"string": HUNTER}}], "zone": "a"}),
        ] {
            let after = clean(&redactor(), CLUSTER, &metadata(value.clone()));
            let acme = &after["metadata"]["filter_metadata"]["acme"];
            assert_eq!(acme["zone"], "a", "{acme}");
            assert!(!acme[key].is_object() || acme[key]["filename"] == "/etc/x", "{acme}");
        }
    }
    let numbers = metadata(json!({"password": 1234567, "max_tokens": 5, "enabled": true}));
    let after = redactor().resource(&bytes(CLUSTER, &numbers)).expect("a number");
    let after = Schema::builtin().any_to_json(&after);
    let acme = &after["metadata"]["filter_metadata"]["acme"];
    assert!(acme["password"].as_str().is_some_and(|text| text.starts_with("[redacted ")), "{acme}");
    assert_eq!((&acme["max_tokens"], &acme["enabled"]), (&json!(5), &json!(true)));
    let plain = metadata(json!({"token_bucket": {"fill_interval": "1s"}, "key": "x", "secret_name": "y"}));
    assert_eq!(redactor().resource(&bytes(CLUSTER, &plain)), None);
}

#[test]
fn redacts_structs_that_stand_for_messages() {
    let certificate =
        json!({"private_key": {"inline_string": HUNTER}, "certificate_chain": {"filename": "/c"}});
    let other_names = json!({"privateKey": {"inlineString": HUNTER}, "certificateChain": {"filename": "/c"}});
    for holder in ["xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct"] {
        for certificate in [&certificate, &other_names] {
            let context = json!({"common_tls_context": {"tls_certificates": [certificate]}});
            for (name, value) in [
                (SECRET, json!({"name": "s", "tls_certificate": certificate})),
                ("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", context.clone()),
                (
                    "envoy.extensions.transport_sockets.tap.v3.Tap",
                    json!({"transport_socket": {"name": "t",
                    "typed_config": typed("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", context)}}),
                ),
                (SECRET, json!({"name": "s", "from_the_future": {"x": [HUNTER]}, "c": "/c"})),
            ] {
                let any =
                    typed(holder, json!({"type_url": format!("type.googleapis.com/{name}"), "value": value}));
                let after = clean(&redactor(), CLUSTER, &socket(any)).to_string();
                assert!(after.contains("[redacted ") && (after.contains("/c") || name == SECRET), "{after}");
            }
        }
        // Types that are not known: the names of members count.
        let any = typed(holder, json!({"type_url": "x/acme.Unknown", "value": {"db": {"password": HUNTER}}}));
        clean(&redactor(), CLUSTER, &socket(any));
        let route =
            json!({"request_headers_to_add": [{"header": {"key": "authorization", "value": HUNTER}}]});
        let any = typed(holder, json!({"type_url": format!("x/{ROUTES}"), "value": route}));
        clean(&redactor(), CLUSTER, &socket(any));
    }
}

#[test]
fn redacts_secrets_of_maps_key_sets_and_lambdas() {
    let environment =
        json!({"vm_config": {"environment_variables": {"key_values": {"DB_PASSWORD": HUNTER, "A": "b"}}}});
    let plugin = typed("envoy.extensions.wasm.v3.PluginConfig", environment);
    assert!(clean(&redactor(), CLUSTER, &socket(plugin)).to_string().contains("\"A\":\"b\""));
    for (name, value) in [
        (
            "envoy.extensions.filters.http.aws_lambda.v3.Config",
            json!({"credentials": {"access_key_id": HUNTER}}),
        ),
        (
            "envoy.extensions.filters.http.aws_lambda.v3.Config",
            json!({"credentials": {"secret_access_key": HUNTER}}),
        ),
        (
            "envoy.extensions.filters.http.aws_lambda.v3.Config",
            json!({"credentials": {"session_token": HUNTER}}),
        ),
    ] {
        clean(&redactor(), CLUSTER, &socket(typed(name, value)));
    }
    let set =
        |key: Json| json!({"keys": [key, {"kty": "RSA", "n": "public-modulus", "e": "AQAB"}]}).to_string();
    for key in [json!({"kty": "oct", "k": HUNTER}), json!({"kty": "EC", "crv": "P-256", "d": HUNTER})] {
        for source in [
            json!({"inline_string": set(key.clone())}),
            json!({"inline_bytes": crate::json::base64::encode(set(key.clone()).as_bytes())}),
        ] {
            let provider = json!({"providers": {"p": {"issuer": "i", "local_jwks": source}}});
            let any = typed("envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication", provider.clone());
            let after = clean(&redactor(), CLUSTER, &socket(any));
            let kept = &after["transport_socket"]["typed_config"]["providers"]["p"]["local_jwks"];
            let kept = match (&kept["inline_string"], &kept["inline_bytes"]) {
                (Json::String(text), _) => text.clone(),
                (_, bytes) => format!("{bytes}"),
            };
            assert!(kept.contains("public-modulus") || !kept.contains("kty"), "{kept}");
            let any = json!({"type_url": "x/acme.Unknown", "value": provider});
            if source["inline_string"].is_string() {
                clean(&redactor(), CLUSTER, &socket(typed("xds.type.v3.TypedStruct", any)));
            }
        }
    }
}

#[test]
fn removes_unknown_fields_of_secrets() {
    let mut number = Vec::new();
    put_tag(&mut number, 99, 0);
    put_varint(&mut number, 0x1234_5678_9abc);
    let unknown =
        [field(98, HUNTER.as_bytes()), field(97, &field(1, HUNTER.as_bytes())), number.clone()].concat();
    let inner = field(2, &[field(1, &unknown), field(2, &unknown), unknown.clone()].concat());
    let bytes = packed(SECRET, &[field(1, b"edge"), inner, unknown.clone()].concat());
    let redactor = redactor();
    let after = redactor.resource(&bytes).expect("unknown fields");
    assert!(!holds(&after, HUNTER) && !after.windows(number.len()).any(|part| part == number), "{after:?}");
    assert!(holds(&after, "edge"));
    assert_eq!(redactor.resource(&after), None);
    // A known field in another encoding counts as unknown.
    let mut odd = field(1, b"edge");
    put_tag(&mut odd, 2, 0);
    put_varint(&mut odd, 0x1234_5678_9abc);
    let after = redactor.resource(&packed(SECRET, &odd)).expect("a number");
    assert!(!after.windows(6).any(|part| part == &number[number.len() - 6..]), "{after:?}");
    assert_eq!(redactor.resource(&after), None);
    // Unknown fields outside of secrets stay.
    assert_eq!(redactor.resource(&packed(CLUSTER, &field(999, HUNTER.as_bytes()))), None);
}

#[test]
fn overwrites_tokens_that_urls_show() {
    let url = format!("https://user:{HUNTER}@acme.test/jwks?b=1&token={HUNTER}&c=2");
    let check = json!({"timeout": "1s", "interval": "1s", "unhealthy_threshold": 1, "healthy_threshold": 1,
        "http_health_check": {"path": format!("/health?api_key={HUNTER}")}});
    let cluster =
        json!({"name": "c", "health_checks": [check], "metadata": {"filter_metadata": {"a": {"url": url}}}});
    let before = bytes(CLUSTER, &cluster);
    let unknown = [before.clone(), packed("acme.Unknown", &field(7, url.as_bytes()))];
    for before in unknown {
        let after = redactor().resource(&before).expect("tokens");
        assert!(!holds(&after, HUNTER) && after.len() == before.len(), "{}", String::from_utf8_lossy(&after));
        assert_eq!(redactor().resource(&after), None);
    }
}

#[test]
fn redacts_nodes() {
    let metadata =
        json!({"labels": {"app": "x"}, "db": {"password": HUNTER}, "url": format!("/?token={HUNTER}")});
    let node = json!({"id": "n", "cluster": "c", "metadata": metadata});
    let node = Schema::builtin().encode("envoy.config.core.v3.Node", &node).unwrap();
    let after = redactor().node(&node).expect("secrets");
    assert!(!holds(&after, HUNTER) && holds(&after, "app") && holds(&after, "/?token=***"));
    assert_eq!(redactor().node(&after), None);
}

#[test]
fn finds_secrets_in_texts_after_many_others() {
    let redactor = redactor();
    let secret =
        |i: u32| json!({"generic_secret": {"secret": {"inline_string": format!("{HUNTER}-{i:05}")}}});
    for i in 0..5_000 {
        redactor.resource(&bytes(SECRET, &secret(i))).expect("a secret");
    }
    for i in [0, 127, 128, 4_999] {
        let text = redactor.text(&format!("cannot use '{HUNTER}-{i:05}' here")).expect("a known secret");
        assert!(text.starts_with("cannot use '[redacted 26 B, id ") && text.ends_with("' here"), "{text}");
    }
}

#[test]
fn finds_headers_keys_and_urls_in_texts() {
    for text in [
        format!(
            "route r: request_headers_to_add {{ header {{ key: \"authorization\" value: \"{HUNTER}\" }} }}"
        ),
        format!("{{\"header\":{{\"key\":\"x-api-key\",\"value\":\"{HUNTER}\"}}}}"),
        format!("{{\\\"key\\\":\\\"x-api-key\\\",\\\"value\\\":\\\"{HUNTER}\\\"}}"),
        format!("fields {{ key: \"password\" value {{ string_value: \"{HUNTER}\" }} }}"),
        format!("x-jwt-assertion: {HUNTER}"),
        format!("x-session-id={HUNTER}"),
        format!("GET /a?token={HUNTER}&b=1"),
        format!("dial postgres://me:{HUNTER}@db: refused"),
        format!("{{\"keys\":[{{\"kty\":\"oct\",\"k\":\"{HUNTER}\"}}]}}"),
        format!("{{\\\"kty\\\":\\\"oct\\\",\\\"k\\\":\\\"{HUNTER}\\\"}}"),
        format!("aws_access_key_id: \"{HUNTER}\""),
    ] {
        let after = redactor().text(&text).unwrap_or_else(|| panic!("no secret found in {text}"));
        assert!(!after.contains(HUNTER), "{after}");
    }
}

#[test]
fn redacts_names_that_users_add() {
    let list = |name: &str| vec![name.to_owned()];
    let fields = list("envoy.config.cluster.v3.Cluster.alt_stat_name");
    let names = SecretNames::new(&list("X-Ticket"), &list("wifi_code"), &fields).unwrap();
    let mut schema = std::sync::Arc::into_inner(Schema::builtin()).unwrap();
    schema.add_secret_names(names);
    let redactor = Redactor::new(schema.into(), 42);
    let cluster = json!({"name": "c", "alt_stat_name": HUNTER, "metadata": {"filter_metadata": {"a": {"wifiCode": HUNTER}}},
        "http_protocol_options": {}});
    clean(&redactor, CLUSTER, &cluster);
    let headers = json!([{"header": {"key": "x-ticket", "value": HUNTER}}]);
    clean(&redactor, ROUTES, &json!({"request_headers_to_add": headers}));
    assert_eq!(redactor.metadata("x-ticket", "abc").as_deref(), Some("[redacted 3 B]"));
    for text in ["x-ticket: abcdef", "wifi-code=abcdef", "alt_stat_name: \"abcdef\""] {
        assert!(redactor.text(text).is_some_and(|text| !text.contains("abcdef")), "{text}");
    }
    let plain = super::secrets::redactor();
    assert_eq!(plain.resource(&bytes(CLUSTER, &json!({"name": "c", "alt_stat_name": HUNTER}))), None);
}

/// A struct with the secret behind a secret name, somewhere.
fn structs() -> impl Strategy<Value = Json> {
    let key = prop_oneof!["[a-z_]{1,9}", Just("name".to_owned()), Just("@type".to_owned())];
    let secret = prop::sample::select(vec!["password", "apiKey", "client-secret", "DB_TOKEN", "private_key"]);
    let leaf = prop_oneof![
        (secret, any::<bool>()).prop_map(|(key, is_list)| {
            let text = json!(format!("{HUNTER}-é\n\"x"));
            json!({ key: if is_list { json!([[text]]) } else { text } })
        }),
        any::<f64>().prop_map(|number| json!(number)),
        "[ -~]{0,9}".prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(key.clone(), inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn redacts_secrets_in_any_struct(value in structs()) {
        let redactor = redactor();
        let cluster = bytes(CLUSTER, &json!({"name": "c", "metadata": {"filter_metadata": {"a": {"v": value}}}}));
        let after = redactor.resource(&cluster);
        prop_assert!(after.is_some() || !holds(&cluster, HUNTER));
        if let Some(after) = after {
            prop_assert!(!holds(&after, HUNTER));
            prop_assert_eq!(redactor.resource(&after), None);
            prop_assert_eq!(Schema::builtin().faults("google.protobuf.Any", &after), []);
        }
    }

    #[test]
    fn redacts_damaged_structs(cut in 0usize..200, flip in 0usize..200) {
        let value = json!({"a": {"password": HUNTER, "b": [{"token": HUNTER}]}});
        let mut bytes = bytes(CLUSTER, &json!({"name": "c", "metadata": {"filter_metadata": {"a": value}}}));
        bytes.truncate(cut.max(60));
        let after = redactor().resource(&bytes);
        prop_assert!(!holds(after.as_deref().unwrap_or(&bytes), "hunter2-of"));
        // Any damage is read.
        let at = flip % bytes.len();
        bytes[at] ^= 0x55;
        let _ = redactor().resource(&bytes);
    }
}
