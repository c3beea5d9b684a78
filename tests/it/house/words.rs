//! Checks the parts of `docs/style.md` that a machine can check.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::{code, source_texts};

/// Widest comment line, in characters.
const MAX_COMMENT_COLUMNS: usize = 100;

/// Longest function outside tests, in lines.
const MAX_FUNCTION_LINES: usize = 80;

/// Type names that several rooms may define.
const SHARED_NAMES: [&str; 3] = ["Config", "Error", "Options"];

/// Fails with a list of places unless it is empty.
fn assert_none(wrong: &[String], rule: &str) {
    assert!(wrong.is_empty(), "{rule} ({} places):\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns each comment line of the sources with its place and its text.
fn comments() -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (file, text) in source_texts() {
        for (index, line) in text.lines().enumerate() {
            let trimmed = line.trim_start();
            if trimmed.starts_with("//") {
                let words = trimmed.trim_start_matches(['/', '!']).trim().to_owned();
                found.push((format!("{}:{}", file.display(), index + 1), line.to_owned(), words));
            }
        }
    }
    found
}

#[test]
fn comment_lines_end_before_the_limit() {
    let long = comments().into_iter().filter(|(_, line, _)| line.chars().count() > MAX_COMMENT_COLUMNS);
    let wrong: Vec<_> = long.map(|(place, ..)| place).collect();
    assert_none(&wrong, "comment lines have at most 100 columns");
}

#[test]
fn comments_begin_with_a_noun_or_a_verb() {
    let opening = Regex::new(r"^(What|Of|The same|It|So|Who|Where|Whoever|Whatever) ").expect("a pattern");
    let mut wrong = Vec::new();
    let mut ends_sentence = true;
    for (place, _, words) in comments() {
        if ends_sentence && opening.is_match(&words) {
            wrong.push(format!("{place}: {words}"));
        }
        ends_sentence = words.is_empty() || words.ends_with(['.', ':', '`', '?', '|']);
    }
    assert_none(&wrong, "comments begin with the thing or the action (docs/style.md)");
}

#[test]
fn messages_say_not_a_in_place_of_is_no() {
    let is_no = Regex::new(r#""[^"\n]*\b(is|are) no [a-z{`][^"\n]*""#).expect("a pattern");
    let usual = Regex::new(r"\bthere (is|are) no ").expect("a pattern");
    let mut wrong = Vec::new();
    for (_, file, text) in code() {
        for line in text.lines().filter(|line| is_no.is_match(&usual.replace_all(line, ""))) {
            wrong.push(format!("{}: {}", file.display(), line.trim()));
        }
    }
    assert_none(&wrong, "messages say `not a` or `without a` (docs/style.md)");
}

#[test]
fn code_cites_only_documents_of_the_tree() {
    let absent =
        Regex::new(r"\b(rows? [A-P]-[0-9]{2}|section [0-9]+\.[0-9]|group [A-P]\b|ux\.md|checklist M)")
            .expect("a pattern");
    let mut wrong = Vec::new();
    for (place, _, words) in comments() {
        if absent.is_match(&words) {
            wrong.push(format!("{place}: {words}"));
        }
    }
    assert_none(&wrong, "code cites docs/protocol.md#ID or public documents");
}

/// A named fault of the tap, which is called like the rule that it breaks.
const RULE_AND_FAULT: &str = "over-4mib";

#[test]
fn only_rules_name_rules() {
    let names: BTreeSet<&str> = xdscope_engine::lint::rules().map(|rule| rule.id).collect();
    let quoted = Regex::new(r#""([a-z0-9]+(?:-[a-z0-9]+)+)""#).expect("a pattern");
    let mut wrong = Vec::new();
    for (_, file, text) in code() {
        if file.starts_with("./src/engine/lint") {
            continue;
        }
        let quoted = quoted.captures_iter(&text).map(|found| found[1].to_owned());
        let named = quoted.filter(|name| names.contains(name.as_str()) && name != RULE_AND_FAULT);
        wrong.extend(named.map(|name| format!("{}: {name}", file.display())));
    }
    assert_none(&wrong, "what others need to know of a rule is a property of the rule (`Subject`)");
}

#[test]
fn type_names_stand_for_one_idea() {
    // Associated types (`type Err`) are indented, and belong to their trait.
    let define = Regex::new(
        r"(?m)^(?:\s*(?:pub(?:\([a-z :]+\))? )?(?:struct|enum|trait)|(?:pub(?:\([a-z :]+\))? )?type) ([A-Z]\w*)",
    );
    let define = define.expect("a pattern");
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (room, _, text) in code() {
        for found in define.captures_iter(&text) {
            rooms.entry(found[1].to_owned()).or_default().insert(room.clone());
        }
    }
    let shared =
        rooms.iter().filter(|(name, rooms)| rooms.len() > 2 && !SHARED_NAMES.contains(&name.as_str()));
    let wrong: Vec<_> = shared.map(|(name, rooms)| format!("{name}: {rooms:?}")).collect();
    assert_none(&wrong, "a type name is defined in at most two rooms");
}

#[test]
fn functions_fit_the_limit() {
    let start =
        Regex::new(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)").expect("a pattern");
    let mut wrong = Vec::new();
    for (file, text) in source_texts() {
        if file.components().any(|part| part.as_os_str() == "tests") || file.ends_with("tests.rs") {
            continue;
        }
        let lines: Vec<_> = text.lines().collect();
        for (first, line) in lines.iter().enumerate() {
            let Some(found) = start.captures(line) else { continue };
            let end = format!("{}}}", &found[1]);
            let Some(length) = lines[first..].iter().position(|line| *line == end) else { continue };
            let is_declaration = lines[first..].iter().position(|line| line.ends_with(';')) == Some(0);
            if !is_declaration && length + 1 > MAX_FUNCTION_LINES {
                wrong.push(format!(
                    "{}:{}: {} has {} lines",
                    file.display(),
                    first + 1,
                    &found[2],
                    length + 1
                ));
            }
        }
    }
    assert_none(&wrong, "functions have at most 80 lines");
}
