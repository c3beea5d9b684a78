use crate::{ExplainError, Explanation, FieldDocs, FieldType, Schema};

fn field(path: &str) -> FieldDocs {
    match Schema::builtin().explain(path) {
        Ok(Explanation::Field(field)) => field,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn explains_field_with_type_docs_and_rules() {
    for path in [
        "Cluster.connect_timeout",
        "cds.connectTimeout",
        "envoy.config.cluster.v3.Cluster.connect_timeout",
        "type.googleapis.com/envoy.config.cluster.v3.Cluster.connect_timeout",
    ] {
        let field = field(path);
        assert_eq!(field.full_name, "envoy.config.cluster.v3.Cluster.connect_timeout");
        assert_eq!(field.field_type, FieldType::Single("google.protobuf.Duration".into()));
        assert_eq!((field.number, field.rules.as_slice()), (4, ["duration.gt = 0s".to_owned()].as_slice()));
        assert!(field.comment.is_some_and(|text| text.contains("timeout for new network connections")));
        assert!(!field.is_secret && !field.is_deprecated);
    }
}

#[test]
fn follows_paths_through_lists_maps_and_messages() {
    assert_eq!(
        field("Cluster.circuit_breakers.thresholds.max_connections").full_name,
        "envoy.config.cluster.v3.CircuitBreakers.Thresholds.max_connections"
    );
    assert_eq!(
        field("Cluster.typed_extension_protocol_options.type_url").full_name,
        "google.protobuf.Any.type_url"
    );
    assert_eq!(field("envoy.api.v2.Cluster.name").full_name, "envoy.api.v2.Cluster.name");
}

#[test]
fn explains_secrets_oneofs_and_enum_values() {
    assert!(field("TlsCertificate.private_key").is_secret);
    let choice = field("Cluster.type");
    let oneof = choice.oneof.expect("a oneof");
    assert_eq!(oneof.name, "cluster_discovery_type");
    assert_eq!(oneof.others, ["cluster_type"]);
    assert_eq!(choice.enum_values.get(..2), Some(["STATIC".to_owned(), "STRICT_DNS".to_owned()].as_slice()));
    let Ok(Explanation::Message(cluster)) = Schema::builtin().explain("Cluster") else {
        panic!("no message")
    };
    let timeout = cluster.fields.iter().find(|field| field.number == 4).expect("a field");
    assert_eq!(timeout.name, "connect_timeout");
}

#[test]
fn rejects_unknown_names() {
    let schema = Schema::builtin();
    let error = |path| schema.explain(path).expect_err(path);
    let ExplainError::NoField { message, field, known } = error("Cluster.conect_timeout") else { panic!() };
    assert_eq!((message.as_str(), field.as_str()), ("envoy.config.cluster.v3.Cluster", "conect_timeout"));
    assert!(known.contains("connect_timeout"), "{known}");
    let inside = ExplainError::NoInside("envoy.config.cluster.v3.Cluster.name".into());
    assert_eq!(error("Cluster.name.x"), inside);
    assert_eq!(error("Nonsense"), ExplainError::NoMessage("Nonsense".into()));
    assert_eq!(error(""), ExplainError::NoMessage(String::new()));
    assert!(matches!(error("...."), ExplainError::NoMessage(_)));
}
