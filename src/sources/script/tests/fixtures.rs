use std::sync::Arc;

use super::files::scripts;
use super::*;
use crate::app::analysis;
use crate::engine::store::Options;
use crate::schema::Schema;

/// Content by the descriptors.
struct Real(Arc<Schema>);

impl Codec for Real {
    fn encode(&self, message: &str, json: &Value) -> Result<Vec<u8>, String> {
        self.0.encode(message, json).map_err(|error| error.to_string())
    }

    fn decode(&self, message: &str, bytes: &[u8]) -> Option<Value> {
        Some(self.0.message_to_json(message, bytes))
    }
}

#[test]
fn every_expectation_of_every_script_holds() {
    let schema = Schema::builtin();
    let mut wrong = Vec::new();
    let mut expectations = 0;
    for (path, text) in scripts() {
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let script = parse(&text, &file).unwrap_or_else(|error| panic!("{error}"));
        expectations += script.lines.iter().filter(|line| matches!(line.item, Item::Expect(_))).count();
        let failures =
            check(&script, &Real(schema.clone()), Options::default(), analysis::rules(&schema), None);
        let failures = failures.unwrap_or_else(|error| panic!("{error}"));
        wrong.extend(failures.into_iter().map(|failure| format!("{file}: {failure}")));
    }
    assert!(expectations > 200, "the scripts say what they expect");
    assert!(wrong.is_empty(), "{} of {expectations} do not hold:\n{}", wrong.len(), wrong.join("\n"));
}
