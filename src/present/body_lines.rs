//! The lines of a body in YAML, with their fields and folds.

use std::collections::HashSet;

use serde_json::Value;

use xdscope_schema::to_yaml;
use xdscope_wire::text::{count, plural, size};

/// The number of values under a field above which the field is folded at first.
const MAX_UNFOLDED_VALUES: usize = 60;
/// The number of characters above which a text is cut at first.
const MAX_UNCUT_CHARS: usize = 400;
/// Lines of a body.
const MAX_LINES: usize = 200_000;

/// The values that are unfolded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    /// No value is folded at first.
    pub all_open: bool,
    /// Paths that the user folded or unfolded.
    pub turned: HashSet<String>,
}

impl Folds {
    fn open(&self, path: &str, large: bool) -> bool {
        (self.all_open || !large) != self.turned.contains(path)
    }

    /// Folds a value, or unfolds one that is folded.
    pub fn turn(&mut self, path: &str) {
        if !self.turned.remove(path) {
            self.turned.insert(path.to_owned());
        }
    }
}

/// A line of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLine {
    /// The text, with its indent.
    pub text: String,
    /// The path of the field, `a.b[0].c`; for an item of a list, of its first field.
    pub path: String,
    /// The path of the value that can be folded on this line, and whether the value is unfolded.
    pub fold: Option<(String, bool)>,
}

/// Returns the lines of a body, without its `@type`.
pub fn lines(body: &Value, folds: &Folds) -> Vec<TreeLine> {
    let mut tree = Tree { folds, out: Vec::new() };
    match body {
        Value::Object(members) => {
            tree.members(members.iter().filter(|(key, _)| *key != "@type"), String::new(), 0, "")
        }
        other => tree.value(other, String::new(), 0, ""),
    }
    tree.out
}

struct Tree<'a> {
    folds: &'a Folds,
    out: Vec<TreeLine>,
}

impl Tree<'_> {
    fn members<'v>(
        &mut self,
        members: impl Iterator<Item = (&'v String, &'v Value)>,
        lead: String,
        indent: usize,
        path: &str,
    ) {
        let mut lead = lead;
        for (key, value) in members {
            let dot = if path.is_empty() { "" } else { "." };
            let here = format!("{path}{dot}{key}");
            lead.push_str(to_yaml(&Value::from(key.as_str())).trim_end());
            lead.push(':');
            self.value(value, lead, indent, &here);
            lead = " ".repeat(indent);
        }
    }

    /// Adds a value after the text `lead` of its line.
    fn value(&mut self, value: &Value, lead: String, indent: usize, path: &str) {
        if self.out.len() >= MAX_LINES {
            return;
        }
        let parts = match value {
            Value::Object(members) => members.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        if parts == 0 {
            return self.leaf(value, &lead, path);
        }
        let large = !path.is_empty() && weight(value) > MAX_UNFOLDED_VALUES;
        let open = self.folds.open(path, large);
        let dash = lead.ends_with("- ");
        let fold = Some((path.to_owned(), open));
        if !open {
            let inside = match value {
                Value::Object(_) => format!("{{… {}}}", plural(parts as u64, "field")),
                _ => format!("[… {}]", plural(parts as u64, "item")),
            };
            let gap = if dash || lead.is_empty() { "" } else { " " };
            return self.push(format!("{lead}{gap}{inside}"), path, fold);
        }
        match value {
            Value::Object(members) if dash => self.members(members.iter(), lead, indent + 2, path),
            Value::Object(members) => {
                self.push(lead, path, fold);
                self.members(members.iter(), " ".repeat(indent + 2), indent + 2, path);
            }
            Value::Array(items) => {
                let below = if dash { indent + 2 } else { indent };
                self.push(lead.trim_end().to_owned(), path, fold);
                for (i, item) in items.iter().enumerate() {
                    self.value(item, format!("{}- ", " ".repeat(below)), below, &format!("{path}[{i}]"));
                }
            }
            _ => {}
        }
    }

    fn leaf(&mut self, value: &Value, lead: &str, path: &str) {
        let gap = if lead.is_empty() || lead.ends_with(' ') { "" } else { " " };
        let mut text = to_yaml(value).trim_end().to_owned();
        let mut fold = None;
        let letters = text.chars().count();
        if letters > MAX_UNCUT_CHARS {
            let open = self.folds.open(path, true);
            if !open {
                let bytes = text.len() as u64;
                text = format!("{}… {}", text.chars().take(80).collect::<String>(), size(bytes));
            }
            fold = Some((path.to_owned(), open));
        }
        self.push(format!("{lead}{gap}{text}"), path, fold);
    }

    fn push(&mut self, text: String, path: &str, fold: Option<(String, bool)>) {
        if self.out.len() == MAX_LINES {
            return;
        }
        if self.out.len() + 1 == MAX_LINES {
            let text = format!("# only {} lines are shown: v shows all in hex", count(MAX_LINES as u64));
            return self.out.push(TreeLine { text, path: String::new(), fold: None });
        }
        self.out.push(TreeLine { text, path: path.to_owned(), fold });
    }
}

/// The number of values in a value, counted up to the limit for folding.
fn weight(value: &Value) -> usize {
    let mut todo = vec![value];
    let mut seen = 0;
    while let Some(value) = todo.pop() {
        seen += 1;
        if seen > MAX_UNFOLDED_VALUES {
            break;
        }
        match value {
            Value::Object(members) => todo.extend(members.values()),
            Value::Array(items) => todo.extend(items.iter().take(MAX_UNFOLDED_VALUES + 1)),
            _ => {}
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(lines: &[TreeLine]) -> String {
        lines.iter().map(|line| format!("{}\n", line.text)).collect()
    }

    fn body() -> Value {
        json!({"name": "r", "list": [{"a": 1, "b": ["x", {"c": 2}]}, [1, [2]]], "empty": {}, "map": {"k.1": "v"}})
    }

    #[test]
    fn lines_parse_as_the_same_yaml() {
        assert_eq!(
            text(&lines(&body(), &Folds::default())).replace(" \n", "\n").lines().next(),
            Some("name: r")
        );
        let back: Value = serde_saphyr::from_str(&text(&lines(&body(), &Folds::default()))).unwrap();
        assert_eq!(back, body());
    }

    #[test]
    fn lines_have_paths() {
        let lines = lines(&body(), &Folds::default());
        for (path, line) in [("list[0].a", "- a: 1"), ("list[0].b[1].c", "  - c: 2"), ("empty", "empty: {}")]
        {
            let found = lines.iter().find(|line| line.path == path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(found.text, line);
        }
    }

    #[test]
    fn folds_large_values_at_first() {
        let many: Vec<u32> = (0..100).collect();
        let body = json!({"@type": "t", "many": many, "long": "x".repeat(1000)});
        let mut folds = Folds::default();
        let folded = lines(&body, &folds);
        assert_eq!(folded.len(), 2);
        assert_eq!(folded[0].text, "many: [… 100 items]");
        assert!(folded[1].text.ends_with("… 1.0 kB"), "{}", folded[1].text);
        folds.turn("many");
        assert_eq!(lines(&body, &folds).len(), 102);
        folds.turn("many");
        folds.all_open = true;
        assert_eq!(lines(&body, &folds).len(), 102);
    }
}
