//! The documentation of a message or field as text.

use std::fmt::Write as _;

use xdscope_schema::{Explanation, FieldDocs, FieldType, MessageDocs};

/// Formats the documentation of a message or field, in several lines.
pub fn text(explanation: &Explanation) -> String {
    match explanation {
        Explanation::Message(message) => about_message(message),
        Explanation::Field(field) => about_field(field),
    }
}

fn type_name(field: &FieldType) -> String {
    match field {
        FieldType::Single(name) => name.clone(),
        FieldType::List(name) => format!("list of {name}"),
        FieldType::Map { key, value } => format!("map of {key} to {value}"),
    }
}

fn about_field(field: &FieldDocs) -> String {
    let mut out =
        format!("{}\n  {}, field {}\n", field.full_name, type_name(&field.field_type), field.number);
    if let Some(oneof) = &field.oneof {
        let _ = writeln!(out, "  one of {}: excludes {}", oneof.name, oneof.others.join(", "));
    }
    for rule in &field.rules {
        let _ = writeln!(out, "  rule: {rule}");
    }
    if field.is_secret {
        out.push_str("  secret: its value is redacted\n");
    }
    if field.is_deprecated {
        out.push_str("  deprecated\n");
    }
    comment(field.comment, &mut out);
    if !field.enum_values.is_empty() {
        let _ = writeln!(out, "\n  values: {}", field.enum_values.join(", "));
    }
    out
}

fn about_message(message: &MessageDocs) -> String {
    let mut out = format!("{}\n", message.full_name);
    comment(message.comment, &mut out);
    out.push_str("\nfields\n");
    for field in &message.fields {
        let _ = writeln!(out, "  {:<4} {}  {}", field.number, field.name, type_name(&field.field_type));
    }
    out
}

fn comment(text: Option<&str>, out: &mut String) {
    if let Some(text) = text {
        out.push('\n');
        for line in text.trim().lines() {
            let _ = writeln!(out, "  {}", line.trim());
        }
    }
}

#[cfg(test)]
mod tests {
    use xdscope_schema::Schema;

    fn text(path: &str) -> String {
        super::text(&Schema::builtin().explain(path).expect(path))
    }

    #[test]
    fn shows_type_rules_and_comment_of_a_field() {
        let text = text("Cluster.connect_timeout");
        assert!(text.starts_with("envoy.config.cluster.v3.Cluster.connect_timeout\n"), "{text}");
        assert!(text.contains("google.protobuf.Duration, field 4\n"), "{text}");
        assert!(text.contains("rule: duration.gt = 0s"), "{text}");
        assert!(text.contains("timeout for new network connections"), "{text}");
        assert!(!text.contains("secret:") && !text.contains("deprecated\n"), "{text}");
    }

    #[test]
    fn shows_secrets_oneofs_enum_values_and_fields() {
        assert!(text("TlsCertificate.private_key").contains("secret: its value is redacted"));
        let choice = text("Cluster.type");
        assert!(choice.contains("one of cluster_discovery_type: excludes cluster_type"), "{choice}");
        assert!(choice.contains("values: STATIC, STRICT_DNS"), "{choice}");
        let cluster = text("Cluster");
        assert!(cluster.contains("4    connect_timeout  google.protobuf.Duration"), "{cluster}");
        let map = "map of string to google.protobuf.Any";
        assert!(cluster.contains(&format!("typed_extension_protocol_options  {map}")), "{cluster}");
        assert!(cluster.contains("health_checks  list of envoy.config.core.v3.HealthCheck"), "{cluster}");
    }
}
