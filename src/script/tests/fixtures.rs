use super::files::scripts;
use super::*;
use crate::store::Options;

#[test]
fn every_expectation_of_every_script_holds() {
    let mut wrong = Vec::new();
    let mut expectations = 0;
    for (path, text) in scripts() {
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let script = parse(&text, &file).unwrap_or_else(|error| panic!("{error}"));
        expectations += script.lines.iter().filter(|line| matches!(line.item, Item::Expect(_))).count();
        for outcome in
            check(&script, &Plain, Options::default(), None).unwrap_or_else(|error| panic!("{error}"))
        {
            match outcome {
                Outcome::Failed(failure) => wrong.push(format!("{file}: {failure}")),
                Outcome::Unchecked { line } => wrong.push(format!("{file}: line {line} speaks of findings")),
            }
        }
    }
    assert!(expectations > 200, "the scripts say what they expect");
    assert!(wrong.is_empty(), "{} of {expectations} do not hold:\n{}", wrong.len(), wrong.join("\n"));
}
