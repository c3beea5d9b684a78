use crate::schema::{ExplainError, Schema};

#[test]
fn explains_field_with_type_docs_and_rules() {
    let schema = Schema::builtin();
    for path in [
        "Cluster.connect_timeout",
        "cds.connectTimeout",
        "envoy.config.cluster.v3.Cluster.connect_timeout",
        "type.googleapis.com/envoy.config.cluster.v3.Cluster.connect_timeout",
    ] {
        let text = schema.explain(path).expect(path);
        assert!(text.starts_with("envoy.config.cluster.v3.Cluster.connect_timeout\n"), "{text}");
        assert!(text.contains("google.protobuf.Duration, field 4\n"), "{text}");
        assert!(text.contains("rule: duration.gt = 0s"), "{text}");
        assert!(text.contains("timeout for new network connections"), "{text}");
        assert!(!text.contains("secret:") && !text.contains("deprecated\n"), "{text}");
    }
}

#[test]
fn follows_paths_through_lists_maps_and_messages() {
    let schema = Schema::builtin();
    let name = |path| {
        let text = schema.explain(path).expect(path);
        text.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        name("Cluster.circuit_breakers.thresholds.max_connections"),
        "envoy.config.cluster.v3.CircuitBreakers.Thresholds.max_connections"
    );
    assert_eq!(name("Cluster.typed_extension_protocol_options.type_url"), "google.protobuf.Any.type_url");
    assert_eq!(name("envoy.api.v2.Cluster.name"), "envoy.api.v2.Cluster.name");
}

#[test]
fn explains_secrets_oneofs_and_enum_values() {
    let schema = Schema::builtin();
    let text = |path| schema.explain(path).expect(path);
    assert!(text("TlsCertificate.private_key").contains("secret: its value is redacted"));
    let choice = text("Cluster.type");
    assert!(choice.contains("one of cluster_discovery_type: excludes cluster_type"), "{choice}");
    assert!(choice.contains("values: STATIC, STRICT_DNS"), "{choice}");
    let cluster = text("Cluster");
    assert!(cluster.contains("4    connect_timeout  google.protobuf.Duration"), "{cluster}");
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
