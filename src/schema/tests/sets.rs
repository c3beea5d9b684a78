use std::path::PathBuf;
use std::process::Command;

use prost::Message;
use prost_reflect::DescriptorPool;
use serde_json::json;

use super::packed;
use crate::pools::builtin;
use crate::redact::Redactor;
use crate::{MessageFormat, Schema};
use xdscope_wire::content::Redact;
use xdscope_wire::event::{ApiVersion, Kind};

/// docs/protocol.md#j-05
#[test]
fn built_in_packages_have_their_locked_versions() {
    let lock = include_str!("../../../Cargo.lock");
    for (name, version) in crate::BUILT_IN_PACKAGES {
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry), "{name} has another version than {version} in Cargo.lock");
    }
}

/// Returns the descriptor set that protoc made from the same sources, from the locked package.
fn protoc_set() -> Vec<u8> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked", "--offline"]);
    let run = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo metadata");
    let metadata: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|package| package["name"] == "envoy-types").expect("locked");
    let manifest = PathBuf::from(package["manifest_path"].as_str().expect("a path"));
    std::fs::read(manifest.with_file_name("src/generated/types.bin")).expect("the package carries the set")
}

#[test]
fn builtin_set_matches_protoc() {
    let theirs = DescriptorPool::decode(protoc_set().as_slice()).expect("a descriptor set");
    let schema = Schema::builtin();
    let mut fields = 0;
    for message in theirs.all_messages().filter(|m| !m.full_name().starts_with("google.protobuf.")) {
        let name = message.full_name();
        let ours = schema.message(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(ours.fields().len(), message.fields().len(), "{name}");
        for field in message.fields() {
            let our = ours.get_field(field.number()).unwrap_or_else(|| panic!("{}", field.full_name()));
            let shape = |field: &prost_reflect::FieldDescriptor| {
                (
                    field.full_name().to_owned(),
                    field.json_name().to_owned(),
                    format!("{:?}", field.kind()),
                    field.cardinality(),
                    field.supports_presence(),
                    field.containing_oneof().map(|oneof| oneof.full_name().to_owned()),
                    field.options().encode_to_vec(),
                )
            };
            assert_eq!(shape(&our), shape(&field));
            fields += 1;
        }
    }
    for item in theirs.all_enums().filter(|item| !item.full_name().starts_with("google.protobuf.")) {
        let mut pools = [builtin::v3(), builtin::v2()].into_iter();
        let ours = pools.find_map(|pool| pool.descriptors.all().get_enum_by_name(item.full_name()));
        let values = |item: &prost_reflect::EnumDescriptor| {
            item.values().map(|value| (value.name().to_owned(), value.number())).collect::<Vec<_>>()
        };
        assert_eq!(ours.as_ref().map(values), Some(values(&item)), "{}", item.full_name());
    }
    assert!(fields > 5_000, "{fields} fields compared");
}

#[test]
fn contains_both_versions_and_the_extensions() {
    let schema = Schema::builtin();
    for name in [
        "envoy.config.listener.v3.Listener",
        "envoy.api.v2.Listener",
        "envoy.api.v2.auth.Secret",
        "envoy.config.filter.network.http_connection_manager.v2.HttpConnectionManager",
        "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "envoy.service.discovery.v3.DeltaDiscoveryResponse",
        "envoy.service.status.v3.ClientStatusResponse",
        "envoy.extensions.filters.http.squash.v3.Squash",
        "xds.type.v3.TypedStruct",
        "udpa.type.v1.TypedStruct",
        "xds.data.orca.v3.OrcaLoadReport",
        "envoy.config.trace.v3.OpenCensusConfig",
        "google.protobuf.Empty",
    ] {
        assert!(schema.message(name).is_some(), "{name}");
    }
    for kind in Kind::all() {
        for version in [ApiVersion::V2, ApiVersion::V3] {
            if let Some(name) = kind.message(version) {
                assert!(schema.message(name).is_some(), "{name}");
            }
        }
    }
    assert!(builtin::v3().messages().len() > 1_500 && builtin::v2().messages().len() > 500);
}

#[test]
fn encoded_descriptor_set_decodes() {
    let set = Schema::builtin().descriptor_set();
    let pool = DescriptorPool::decode(set.as_slice()).expect("other tools can read it");
    assert!(pool.get_message_by_name("envoy.api.v2.Cluster").is_some());
    let cluster = pool.get_message_by_name("envoy.config.cluster.v3.Cluster").expect("v3");
    let rules = pool.get_extension_by_name("validate.rules").expect("options are kept");
    assert!(cluster.get_field_by_name("connect_timeout").is_some_and(|f| f.options().has_extension(&rules)));
}

fn write(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
fn user_protos_import_each_other_and_the_api() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = "syntax = \"proto3\"; package acme.base; message Size { uint32 bytes = 1; }";
    write(&folder, "acme/base.proto", base);
    let file = write(
        &folder,
        "acme/widget.proto",
        r#"syntax = "proto3";
           package acme.v1;
           import "acme/base.proto";
           import "envoy/config/core/v3/base.proto";
           import "udpa/annotations/sensitive.proto";
           message Widget {
             base.Size size = 1;
             envoy.config.core.v3.Node node = 2;
             string pin = 3 [(udpa.annotations.sensitive) = true];
           }"#,
    );
    let schema = Schema::with(&[], &[file], &[folder.path().to_owned()]).expect("it compiles");
    let value = json!({"@type": "type.googleapis.com/acme.v1.Widget", "size": {"bytes": 3}, "node": {"id": "n"}, "pin": "1234"});
    let widget = json!({"size": {"bytes": 3}, "node": {"id": "n"}, "pin": "1234"});
    let bytes = packed("acme.v1.Widget", &schema.encode("acme.v1.Widget", &widget).expect("known"));
    assert_eq!(schema.any_to_json(&bytes), value);
    // The type is also known inside a built-in message, and its secrets are redacted.
    let mut socket = Vec::new();
    xdscope_wire::pb::put_len_field(&mut socket, 3, &bytes);
    let shown = schema.message_to_json("envoy.config.core.v3.TransportSocket", &socket);
    assert_eq!(shown, json!({"typed_config": value}));
    let clean = Redactor::new(schema, 1).resource(&packed("envoy.config.core.v3.TransportSocket", &socket));
    assert!(!String::from_utf8_lossy(&clean.expect("a secret")).contains("1234"));
}

/// Reads a cluster with an `Any` of a user's type in each format.
#[test]
fn files_of_built_in_messages_have_types_of_users() {
    let folder = tempfile::tempdir().expect("a folder");
    let widget = "syntax = \"proto3\"; package acme.v1; message Widget { string pin = 1; }";
    let gadget = "syntax = \"proto3\"; package acme.v1; message Gadget { string pin = 1; }";
    let gadget = Schema::with(&[], &[write(&folder, "gadget.proto", gadget)], &[]).expect("it compiles");
    let sets = [("gadget.bin".to_owned(), gadget.user_pools[0].descriptors.all().encode_to_vec())];
    let schema = Schema::with(&sets, &[write(&folder, "widget.proto", widget)], &[]).expect("sets");

    let any = |name: &str| json!({"@type": format!("type.googleapis.com/{name}"), "pin": "1"});
    let cluster = json!({
        "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
        "transport_socket": {"name": "a", "typed_config": any("acme.v1.Widget")},
        "metadata": {"typed_filter_metadata": {"b": any("acme.v1.Gadget")}},
    });
    let value = json!({"type_url": "x", "resources": [cluster]});
    let response = "envoy.service.discovery.v3.DiscoveryResponse";
    let text = r#"type_url: "x" resources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] {
        transport_socket { name: "a" typed_config { [type.googleapis.com/acme.v1.Widget] { pin: "1" } } }
        metadata { typed_filter_metadata { key: "b" value { [type.googleapis.com/acme.v1.Gadget] { pin: "1" } } } }
    } }"#;
    let yaml = crate::to_yaml(&value);
    for (format, content) in [
        (MessageFormat::Json, value.to_string()),
        (MessageFormat::Yaml, yaml),
        (MessageFormat::Text, text.into()),
    ] {
        let bytes = schema.read_as(response, format, content.as_bytes());
        let bytes = bytes.unwrap_or_else(|error| panic!("{format:?}: {error}"));
        assert_eq!(schema.message_to_json(response, &bytes), value, "{format:?}");
    }
    let any = packed(
        "envoy.config.cluster.v3.Cluster",
        &schema
            .encode(
                "envoy.config.cluster.v3.Cluster",
                &json!({
                    "transport_socket": {"typed_config": any("acme.v1.Widget")},
                }),
            )
            .expect("known"),
    );
    let shown = schema.text_format(&any).expect("a text");
    assert!(shown.contains("[type.googleapis.com/acme.v1.Widget]"), "{shown}");
}

/// A payload has the type of the set that takes precedence, as when it is decoded.
#[test]
fn payloads_have_the_types_of_user_sets() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "syntax = \"proto3\"; package envoy.config.cluster.v3; message Cluster { string label = 1; }";
    let schema = Schema::with(&[], &[write(&folder, "own.proto", text)], &[]).expect("it compiles");
    let cluster = json!({"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "label": "x"});
    let response = json!({"resources": [cluster]});
    let name = "envoy.service.discovery.v3.DiscoveryResponse";
    let bytes = schema.encode(name, &response).expect("known");
    assert_eq!(schema.message_to_json(name, &bytes), response);
    let old = json!({"@type": "type.googleapis.com/envoy.api.v2.Cluster", "name": "x"});
    let response = json!({"resources": [old]});
    let bytes = schema.encode(name, &response).expect("known");
    assert_eq!(schema.message_to_json(name, &bytes), response);
}

#[test]
fn user_sets_take_precedence_over_builtin_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "syntax = \"proto3\"; package envoy.config.cluster.v3; message Cluster { string label = 1; }";
    let file = write(&folder, "own.proto", text);
    let own = Schema::with(&[], &[file], &[]).expect("it compiles");
    let pool = own.user_pools[0].descriptors.all();
    let schema = Schema::with(&[("own.bin".to_owned(), pool.encode_to_vec())], &[], &[]).expect("a set");
    let shown = schema.message_to_json("envoy.config.cluster.v3.Cluster", b"\x0a\x01x");
    assert_eq!(shown, json!({"label": "x"}));
    assert_eq!(schema.messages()[0], ("user", "envoy.config.cluster.v3.Cluster".to_owned()));
}

#[test]
fn reflected_set_comes_after_user_sets_and_keeps_secrets_redacted() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = r#"syntax = "proto3"; package acme.v1;
        message One { string own = 1; } message Two { string own = 1; }"#;
    let own = Schema::with(&[], &[write(&folder, "own.proto", text)], &[]).expect("it compiles");
    let own = ("own.bin".to_owned(), own.user_pools[0].descriptors.all().encode_to_vec());
    // The server's version of the file, and of the Secret's file, without `sensitive` options.
    let text = text.replace("own = 1", "theirs = 1").replace("package", "import \"secret.proto\"; package");
    let secret = r#"syntax = "proto3"; package envoy.extensions.transport_sockets.tls.v3;
        message GenericSecret { DataSource secret = 1; } message DataSource { string inline_string = 3; }
        message Secret { string name = 1; GenericSecret generic_secret = 5; }"#;
    write(&folder, "secret.proto", secret);
    let theirs = write(&folder, "theirs.proto", &text);
    let theirs = Schema::with(&[], &[theirs], &[folder.path().to_owned()]).expect("it compiles");
    let theirs = ("cp:1".to_owned(), theirs.user_pools[0].descriptors.all().encode_to_vec());

    let schema = Schema::with_reflected(&[own], &[], &[], Some(&theirs)).expect("sets");
    assert_eq!(schema.message_to_json("acme.v1.One", b"\x0a\x01x"), json!({"own": "x"}));
    let name = "envoy.extensions.transport_sockets.tls.v3.Secret";
    let value = json!({"name": "a", "generic_secret": {"secret": {"inline_string": "hunter2-of-the-tests"}}});
    let bytes = packed(name, &schema.encode(name, &value).expect("known"));
    let clean = Redactor::new(schema, 1).resource(&bytes).expect("a secret");
    assert!(!String::from_utf8_lossy(&clean).contains("hunter2"), "the built-in option applies");

    let broken = ("cp:1".to_owned(), b"garbage".to_vec());
    let error = Schema::with_reflected(&[], &[], &[], Some(&broken)).expect_err("no set").to_string();
    assert!(error.contains("the reflection service of cp:1"), "{error}");
}

#[test]
fn sets_cannot_make_secrets_of_built_in_types_plain() {
    let folder = tempfile::tempdir().expect("a folder");
    let tls = r#"syntax = "proto3"; package envoy.extensions.transport_sockets.tls.v3;
        message Secret { string name = 1; bytes generic_secret = 5; }"#;
    let cluster = r#"syntax = "proto3"; package envoy.config.cluster.v3;
        message Cluster { bytes transport_socket = 24; }"#;
    let own = r#"syntax = "proto3"; package acme.v1; import "tls.proto"; import "cluster.proto";
        message Wrap {
          envoy.extensions.transport_sockets.tls.v3.Secret secret = 1;
          map<string, envoy.config.cluster.v3.Cluster> clusters = 2;
        }"#;
    let files = [("tls.proto", tls), ("cluster.proto", cluster), ("own.proto", own)];
    let files = files.map(|(name, text)| write(&folder, name, text));
    let set = |files: &[PathBuf]| {
        let schema = Schema::with(&[], files, &[folder.path().to_owned()]).expect("it compiles");
        ("x".to_owned(), schema.user_pools[0].descriptors.all().encode_to_vec())
    };
    let (own, reflected) = (set(&files[1..]), set(&files[..1]));

    let builtin = Schema::builtin();
    let encode = |name: &str, value: serde_json::Value| builtin.encode(name, &value).expect("known");
    let secret_type = "envoy.extensions.transport_sockets.tls.v3.Secret";
    let value = json!({"name": "a", "generic_secret": {"secret": {"inline_string": "hunter2-of-the-tests"}}});
    let secret = encode(secret_type, value.clone());
    let context = json!({"@type": "x/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        "common_tls_context": {"tls_certificates": [{"password": {"inline_string": "hunter2-of-the-tests"}}]}});
    let socket = json!({"transport_socket": {"name": "x", "typed_config": context}});
    let cluster = encode("envoy.config.cluster.v3.Cluster", socket);
    let stands = json!({"type_url": format!("x/{secret_type}"), "value": value});
    let mut wrap = super::field(1, &secret);
    wrap.extend(super::field(2, &[super::field(1, b"k"), super::field(2, &cluster)].concat()));
    let schema = Schema::with_reflected(&[own], &[], &[], Some(&reflected)).expect("sets");
    assert!(schema.message_to_json(secret_type, &secret)["generic_secret"].is_string(), "bytes, in base64");
    for (name, message) in [
        (secret_type, secret),
        ("envoy.config.cluster.v3.Cluster", cluster),
        ("acme.v1.Wrap", wrap),
        ("xds.type.v3.TypedStruct", encode("xds.type.v3.TypedStruct", stands)),
    ] {
        let any = packed(name, &message);
        assert!(super::holds(&any, "hunter2"), "{name}");
        let clean = Redactor::new(schema.clone(), 1).resource(&any).expect("a secret");
        assert!(!super::holds(&clean, "hunter2"), "{name}");
    }
}

#[test]
fn sets_add_secrets_to_built_in_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = r#"syntax = "proto3"; package envoy.config.cluster.v3;
        import "udpa/annotations/sensitive.proto";
        message Cluster { string name = 1; string door = 999 [(udpa.annotations.sensitive) = true]; }"#;
    let schema = Schema::with(&[], &[write(&folder, "newer.proto", text)], &[]).expect("it compiles");
    let cluster =
        [super::field(1, b"name-of-the-tests"), super::field(999, b"hunter2-of-the-tests")].concat();
    let any = packed("envoy.config.cluster.v3.Cluster", &cluster);
    let clean = Redactor::new(schema, 1).resource(&any).expect("a secret");
    assert!(super::holds(&clean, "name-of-the-tests") && !super::holds(&clean, "hunter2"));
}

#[test]
fn proto_errors_have_position_and_hint() {
    let folder = tempfile::tempdir().expect("a folder");
    let compile = |text: &str| {
        let file = write(&folder, "bad.proto", text);
        Schema::with(&[], &[file], &[]).expect_err("it is wrong").to_string()
    };
    let missing = compile("syntax = \"proto3\";\nmessage A {\n  B b = 1;\n}\n");
    assert!(missing.contains("`B` is not defined here"), "{missing}");
    assert!(missing.contains("bad.proto"), "{missing}");
    let syntax = compile("syntax = \"proto3\";\nmessage A {\n  string = 1;\n}\n");
    assert!(syntax.contains("bad.proto"), "{syntax}");
    let import = compile("syntax = \"proto3\";\nimport \"acme/none.proto\";\n");
    assert!(import.contains("acme/none.proto") && import.contains("-I DIR"), "{import}");
    let garbage = Schema::with(&[("x.bin".to_owned(), b"garbage".to_vec())], &[], &[]).expect_err("no set");
    let garbage = garbage.to_string();
    assert!(garbage.contains("x.bin") && garbage.contains("--descriptor_set_out"), "{garbage}");
}
