//! Texts on the configuration that a client has applied.

use std::sync::Arc;

use xdscope_engine::applied::{AppliedDiff, DumpNotice, DumpedResource};
use xdscope_wire::text::{count, plural, type_label};

/// Returns a notice about a part of a dump that was left out.
pub fn dump_notice(notice: &DumpNotice) -> String {
    match notice {
        DumpNotice::InvalidNode(error) => format!("invalid node: {error}"),
        DumpNotice::UnknownField(resource, error) => {
            format!("{}: left out an unknown field: {error}", dumped_resource(resource))
        }
        DumpNotice::InvalidResource(resource, error) => {
            format!("{} is invalid: {error}", dumped_resource(resource))
        }
        DumpNotice::UnreadPod { pod, why } => format!("pod {pod} is not in the table: {why}"),
        DumpNotice::More => "further parts of the dump are invalid".to_owned(),
    }
}

fn dumped_resource(resource: &DumpedResource) -> String {
    let name = resource.name.as_deref().unwrap_or("without a name");
    format!("{} {name}", type_label(&resource.type_url))
}

/// Summarizes a comparison, such as `118 of 119, 1 warming`.
pub fn applied_summary(diff: &AppliedDiff) -> String {
    let mut text = if diff.applied == diff.total {
        count(diff.total)
    } else {
        format!("{} of {}", count(diff.applied), count(diff.total))
    };
    for (names, state) in states(diff) {
        if !names.is_empty() {
            text.push_str(&format!(", {} {state}", count(names.len() as u64)));
        }
    }
    text
}

/// Returns a heading such as `1 resource warming`, and the names, for each state with resources.
pub fn applied_lines(diff: &AppliedDiff) -> Vec<(String, &[Arc<str>])> {
    let states = states(diff).into_iter().filter(|(names, _)| !names.is_empty());
    states
        .map(|(names, state)| (format!("{} {state}", plural(names.len() as u64, "resource")), names))
        .collect()
}

fn states(diff: &AppliedDiff) -> [(&[Arc<str>], &'static str); 6] {
    [
        (&diff.warming, "warming"),
        (&diff.refused, "refused"),
        (&diff.differing, "with different content"),
        (&diff.missing, "missing"),
        (&diff.despite_nack, "despite a NACK"),
        (&diff.extra, "not sent"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_schema::EncodeError;

    #[test]
    fn names_the_omitted_part() {
        let resource = |name: Option<&str>| DumpedResource {
            type_url: "type.googleapis.com/envoy.config.cluster.v3.Cluster".into(),
            name: name.map(Arc::from),
        };
        let error = || EncodeError::UnknownType("x".into());
        let notices = [
            DumpNotice::UnknownField(resource(Some("a")), error()),
            DumpNotice::InvalidResource(resource(None), error()),
            DumpNotice::UnreadPod { pod: "shop/a".into(), why: "refused".into() },
        ];
        assert_eq!(
            notices.each_ref().map(dump_notice),
            [
                "CDS a: left out an unknown field: unknown type x",
                "CDS without a name is invalid: unknown type x",
                "pod shop/a is not in the table: refused"
            ]
        );
    }

    #[test]
    fn summarizes_each_state() {
        let name = || vec![Arc::from("a")];
        let diff = AppliedDiff {
            total: 4,
            applied: 1,
            warming: name(),
            differing: name(),
            missing: name(),
            extra: name(),
            ..AppliedDiff::default()
        };
        let summary = applied_summary(&diff);
        assert_eq!(summary, "1 of 4, 1 warming, 1 with different content, 1 missing, 1 not sent");
        assert_eq!(applied_lines(&diff)[1].0, "1 resource with different content");
    }
}
