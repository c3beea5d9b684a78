use super::files::scripts;
use super::*;
use crate::app::analysis;
use crate::engine::store::Options;
use crate::schema::Schema;
use crate::sources::SchemaCodec;

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
        let failures =
            check(&script, &SchemaCodec(schema.clone()), Options::default(), analysis::rules(&schema), None);
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
