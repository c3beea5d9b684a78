use std::sync::Arc;

use super::files::scripts;
use super::*;
use crate::SchemaCodec;
use xdscope_engine::analysis;
use xdscope_engine::session::ResourceSemantics;
use xdscope_engine::store::{Options, SchemaSemantics};
use xdscope_schema::Schema;
use xdscope_schema::links::FoundReference;

/// Compares bytes, and reads references by the descriptors.
struct ReferencesOnly(SchemaSemantics);

impl ResourceSemantics for ReferencesOnly {
    fn same(&self, _a: &[u8], _b: &[u8]) -> bool {
        false
    }

    fn references(&self, any: &[u8]) -> Vec<FoundReference> {
        self.0.references(any)
    }
}

#[test]
fn repository_scripts_meet_their_expectations() {
    let schema = Schema::builtin();
    let mut wrong = Vec::new();
    let mut expectations = 0;
    for (path, text) in scripts() {
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let script = parse(&text, &file).unwrap_or_else(|error| panic!("{error}"));
        expectations +=
            script.lines.iter().filter(|line| matches!(line.statement, Statement::Expect(_))).count();
        let meaning = Arc::new(ReferencesOnly(SchemaSemantics::new(schema.clone())));
        let failures = check(
            &script,
            &SchemaCodec(schema.clone()),
            Options::default(),
            analysis::rules(&schema),
            Some(meaning),
        );
        let failures = failures.unwrap_or_else(|error| panic!("{error}"));
        wrong.extend(failures.into_iter().map(|failure| format!("{file}: {failure}")));
    }
    assert!(expectations > 200, "only {expectations} expectations found");
    assert!(
        wrong.is_empty(),
        "{} of {expectations} expectations failed:
    {}",
        wrong.len(),
        wrong.join(
            "
    "
        )
    );
}
