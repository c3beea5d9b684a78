use prost::Message;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};
use serde_json::{Value as Json, json};

use super::random::Random;
use super::{field, packed};
use crate::Schema;
use crate::pools::builtin;
use crate::redact::Redactor;
use xdscope_wire::content::Redact;

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQ==\n-----END PRIVATE KEY-----\n";
const SECRET: &str = "envoy.extensions.transport_sockets.tls.v3.Secret";
const HUNTER: &str = "hunter2-of-the-tests";

fn redactor() -> Redactor {
    Redactor::new(Schema::builtin(), 42)
}

fn holds(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

/// Redacts a resource, which must contain a secret, and returns its JSON.
fn clean(redactor: &Redactor, name: &str, value: &Json) -> Json {
    let schema = Schema::builtin();
    let bytes = packed(name, &schema.encode(name, value).expect("a message"));
    let clean = redactor.resource(&bytes).expect("a secret");
    assert_eq!(redactor.resource(&clean), None, "redaction is idempotent");
    assert_eq!(schema.faults("google.protobuf.Any", &clean), []);
    schema.any_to_json(&clean)
}

/// Creates a value of the field with the secret in all texts, except for the location of a
/// `DataSource`.
fn secret(field: &FieldDescriptor, depth: u32) -> Option<Value> {
    Some(match field.kind() {
        _ if ["filename", "environment_variable", "watched_directory"].contains(&field.name()) => {
            return None;
        }
        Kind::String => Value::String(HUNTER.into()),
        Kind::Bytes => Value::Bytes(HUNTER.as_bytes().into()),
        Kind::Message(_) if depth == 0 => return None,
        Kind::Message(inner) => Value::Message(full(&inner, depth - 1)),
        _ => return None,
    })
}

fn full(desc: &MessageDescriptor, depth: u32) -> DynamicMessage {
    let mut message = DynamicMessage::new(desc.clone());
    if desc.full_name() == "google.protobuf.Any" {
        let inner = field(1, &[field(1, b"k"), field(2, &field(3, HUNTER.as_bytes()))].concat());
        let url = "type.googleapis.com/google.protobuf.Struct";
        message.set_field_by_name("type_url", Value::String(url.into()));
        message.set_field_by_name("value", Value::Bytes(inner.into()));
        return message;
    }
    for field in desc.fields() {
        put(&mut message, &field, depth);
    }
    message
}

fn put(message: &mut DynamicMessage, field: &FieldDescriptor, depth: u32) {
    if let (true, Kind::Message(entry)) = (field.is_map(), field.kind()) {
        if let Some(value) = secret(&entry.map_entry_value_field(), depth) {
            message.set_field(field, Value::Map([(MapKey::String("k".into()), value)].into()));
        }
    } else if let Some(value) = secret(field, depth) {
        message.set_field(field, if field.is_list() { Value::List(vec![value]) } else { value });
    }
}

#[test]
fn redacts_every_secret_field() {
    let (schema, redactor) = (Schema::builtin(), redactor());
    let mut found = 0;
    for pool in [builtin::v3(), builtin::v2()] {
        for message in pool.messages() {
            for field in message.fields().filter(|field| pool.is_secret(field)) {
                let mut holder = DynamicMessage::new(message.clone());
                put(&mut holder, &field, 4);
                let bytes = packed(message.full_name(), &holder.encode_to_vec());
                assert!(holds(&bytes, HUNTER), "{}", field.full_name());
                let clean = redactor.resource(&bytes).unwrap_or_else(|| panic!("{}", field.full_name()));
                assert!(!holds(&clean, HUNTER), "{}", field.full_name());
                assert!(holds(&clean, "[redacted "), "{}", field.full_name());
                assert_eq!(schema.faults("google.protobuf.Any", &clean), [], "{}", field.full_name());
                assert_eq!(
                    redactor.resource(&clean),
                    None,
                    "redaction of {} is idempotent",
                    field.full_name()
                );
                found += 1;
            }
        }
    }
    assert!(found > 30, "{found} fields");
}

#[test]
fn recognizes_names_of_secret_fields_in_texts() {
    let mut missed = std::collections::BTreeSet::new();
    for pool in [builtin::v3(), builtin::v2()] {
        for field in pool.messages().iter().flat_map(|message| message.fields().collect::<Vec<_>>()) {
            // The name of the provider marks its fields as secret.
            if !pool.is_secret(&field) || ["typed_config", "config"].contains(&field.name()) {
                continue;
            }
            // Use a new redactor for each, because a redactor finds known secrets under any name.
            for name in [field.name(), field.json_name()] {
                let text = format!("{name} {{ inline_string: \"{HUNTER}\" }}");
                if redactor().text(&text).is_none_or(|shown| shown.contains(HUNTER)) {
                    missed.insert(field.full_name().to_owned());
                }
            }
        }
    }
    assert_eq!(missed, Default::default());
}

#[test]
fn redacted_random_messages_stay_valid() {
    let (schema, redactor) = (Schema::builtin(), redactor());
    let mut random = Random(11);
    let mut changed = 0;
    let messages = builtin::v3().messages();
    let messages = messages.iter().filter(|m| m.full_name().starts_with("envoy."));
    for message in messages.cycle().take(6_000) {
        let bytes = packed(message.full_name(), &random.message(message, 4).encode_to_vec());
        let Some(clean) = redactor.resource(&bytes) else { continue };
        changed += 1;
        assert_eq!(schema.faults("google.protobuf.Any", &clean), [], "{}", message.full_name());
        assert_eq!(redactor.resource(&clean), None, "{}", message.full_name());
    }
    assert!(changed > 20, "{changed}");
}

#[test]
fn redacts_secrets_in_any_and_map() {
    let typed = |name: &str, mut value: Json| {
        value["@type"] = json!(format!("type.googleapis.com/{name}"));
        value
    };
    let context = typed(
        "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        json!({"common_tls_context": {"tls_certificates": [{"password": {"inline_string": HUNTER}}]}}),
    );
    let inner = typed(
        "envoy.extensions.transport_sockets.tap.v3.Tap",
        json!({"transport_socket": {"name": "tls", "typed_config": context}}),
    );
    let socket = typed("envoy.config.core.v3.TransportSocket", json!({"name": "t", "typed_config": inner}));
    let cluster = json!({"name": "c", "metadata": {"typed_filter_metadata": {"m": socket}}});
    let after = clean(&redactor(), "envoy.config.cluster.v3.Cluster", &cluster).to_string();
    assert!(after.contains("[redacted ") && !after.contains(HUNTER), "{after}");
}

#[test]
fn overwrites_private_keys_in_unmarked_fields() {
    let redactor = redactor();
    let metadata = json!({"filter_metadata": {"x": {"note": KEY}}});
    let after = clean(&redactor, "envoy.config.core.v3.Metadata", &metadata).to_string();
    assert!(after.contains("[redacted ") && !after.contains("MIIE") && !after.contains("BKcw"), "{after}");
    assert!(after.contains("note"), "{after}");
    let unknown = packed("acme.Vault", &[field(1, KEY.as_bytes()), field(2, b"stays")].concat());
    let after = redactor.resource(&unknown).expect("a key");
    assert_eq!(after.len(), unknown.len());
    assert!(!holds(&after, "MIIE") && holds(&after, "\x12\x05stays"));
}

#[test]
fn redacts_damage_and_unknown_fields_in_secrets() {
    let redactor = redactor();
    let mut certificate = field(2, &field(77, b"future secret"));
    certificate.extend(b"\x12\x7fbroken secret");
    let bytes = packed(SECRET, &field(2, &certificate));
    let after = redactor.resource(&bytes).expect("secrets");
    assert!(!holds(&after, "future") && !holds(&after, "broken"), "{after:?}");
    assert_eq!(redactor.resource(&after), None);
    let faults = Schema::builtin().faults("google.protobuf.Any", &after);
    assert!(
        faults.iter().any(|at| at.to_string().contains("not a protobuf field")),
        "damage stays: {faults:?}"
    );
}

#[test]
fn redacts_truncated_secrets() {
    let redactor = redactor();
    let certificate = [field(1, &field(3, b"public")), field(2, &field(3, HUNTER.as_bytes()))].concat();
    let whole = packed(SECRET, &[field(1, b"edge"), field(2, &certificate)].concat());
    for cut in 0..=whole.len() {
        let after = redactor.resource(&whole[..cut]);
        let after = after.as_deref().unwrap_or(&whole[..cut]);
        assert!(!holds(after, "hun"), "cut at {cut}");
    }
    // Truncation inside of complete messages.
    for cut in 0..certificate.len() {
        let bytes = packed(SECRET, &field(2, &certificate[..cut]));
        let after = redactor.resource(&bytes).unwrap_or(bytes);
        assert!(!holds(&after, "hun"), "cut at {cut}");
    }
    // Truncation outside of secrets changes nothing.
    let name = &packed("envoy.config.cluster.v3.Cluster", b"\x0a\x20the name")[..];
    assert_eq!(redactor.resource(name), None);
}

#[test]
fn overwrites_messages_beyond_the_depth_limit() {
    let mut bytes = packed(SECRET, &field(5, &field(1, &field(3, HUNTER.as_bytes()))));
    assert!(redactor().resource(&bytes).is_some_and(|clean| !holds(&clean, HUNTER)));
    for _ in 0..150 {
        bytes = packed("envoy.config.core.v3.TypedExtensionConfig", &field(2, &bytes));
    }
    assert!(redactor().resource(&bytes).is_some_and(|clean| !holds(&clean, HUNTER)));
}

#[test]
fn overwrites_keys_in_raw_bytes_with_and_without_pem_lines() {
    let redactor = redactor();
    let rsa = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,0F\n\nMIIEabcd+/==\n-----END RSA PRIVATE KEY-----";
    let escaped = KEY.replace('\n', "\\n");
    for text in [KEY, rsa, &escaped, &KEY[..50], &KEY[40..], &KEY.repeat(2), &KEY[..60].repeat(3)] {
        let bytes = [b"\xff\x00 before ", text.as_bytes(), b"\x00 after \xfe"].concat();
        let after = redactor.raw(&bytes).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(after.len(), bytes.len());
        for part in ["MIIE", "vQIB", "BKcw", "Q==", "abcd"] {
            assert!(!holds(&after, part), "{part} in {}", String::from_utf8_lossy(&after));
        }
        assert!(after.starts_with(b"\xff\x00 before ") || !text.starts_with('-'), "{after:?}");
        assert!(after.ends_with(b"\x00 after \xfe"), "{after:?}");
        assert_eq!(redactor.raw(&after), None, "redaction is idempotent");
    }
    for text in ["-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "PRIVATE KEY-----", ""] {
        assert_eq!(redactor.raw(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn redacts_hostile_texts_in_linear_time() {
    let redactor = redactor();
    let start = std::time::Instant::now();
    for piece in [
        "private_key {",
        "private_key: \"",
        "\\",
        "PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----",
        "[redacted ",
    ] {
        let text = piece.repeat(3_000);
        redactor.text(&text);
        redactor.raw(text.repeat(30).as_bytes());
    }
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn redacts_tokens_in_texts() {
    let redactor = redactor();
    for text in [
        format!("refused: token={HUNTER}, try again"),
        format!("api_key: {HUNTER}"),
        format!("x-api-key={HUNTER}"),
        format!("authorization: Bearer {HUNTER}"),
        format!("the bearer {HUNTER}9 has expired"),
        format!("password == {HUNTER}"),
    ] {
        let shown = redactor.text(&text).unwrap_or_default();
        assert!(!shown.is_empty() && !shown.contains(HUNTER), "{text}: {shown}");
    }
    let shown = redactor.text(&format!("refused: token={HUNTER}, try again")).unwrap_or_default();
    assert!(shown.starts_with("refused: token=[redacted ") && shown.ends_with(", try again"), "{shown}");
}

#[test]
fn keeps_texts_without_secrets() {
    let redactor = redactor();
    for text in [
        "Error adding/updating cluster(s) reviews: Proto constraint validation failed (ClusterValidationError.ConnectTimeout: value must be greater than 0s)",
        "xDS response validation errors: [resource index 0: c: INVALID_ARGUMENT: [field:load_assignment error:no]]",
        "key: \"x-env\" value: \"prod\"",
        "a bearer token is required",
        "key=x-env value=prod",
        "-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----",
        "",
    ] {
        assert_eq!(redactor.text(text), None, "{text}");
    }
}
