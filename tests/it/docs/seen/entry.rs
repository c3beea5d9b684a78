//! Entries of the column `seen`: a view, and text that the view must show.

use serde_json::Value;

/// A cell of the column `seen`.
pub enum Seen {
    /// Nothing can be seen, with the reason.
    Nowhere(String),
    In(Vec<SeenEntry>),
}

/// `VIEW: TEXT` or `VIEW @FIXTURE: TEXT`.
pub struct SeenEntry {
    /// A verb with flags, or `screen` with keys.
    pub view: String,
    /// The fixture, where the fixtures of the row do not show the fact.
    pub fixture: Option<String>,
    text: String,
}

impl Seen {
    pub fn parse(cell: &str) -> Result<Seen, String> {
        if let Some(reason) = cell.strip_prefix("none: ") {
            return Ok(Seen::Nowhere(reason.into()));
        }
        cell.split(" ; ").map(SeenEntry::parse).collect::<Result<_, _>>().map(Seen::In)
    }

    /// The sentence of `docs/protocol.md`.
    pub fn sentence(&self) -> String {
        match self {
            Seen::Nowhere(reason) => format!("Not seen: {reason}."),
            Seen::In(entries) => {
                let shown = entries.iter().filter(|entry| !entry.is_missing());
                let mut views: Vec<String> = shown.map(SeenEntry::view_in_words).collect();
                views.dedup();
                let missing = self.missing().join("; ");
                match (views.is_empty(), missing.is_empty()) {
                    (false, true) => format!("Seen in {}.", views.join(", ")),
                    (true, _) => format!("Not shown yet: {missing}."),
                    (false, false) => format!("Seen in {}. Not shown yet: {missing}.", views.join(", ")),
                }
            }
        }
    }

    /// Facts of the row that xdscope derives, and that no view shows yet.
    pub fn missing(&self) -> Vec<&str> {
        match self {
            Seen::Nowhere(_) => Vec::new(),
            Seen::In(entries) => {
                let missing = entries.iter().filter(|entry| entry.is_missing());
                missing.map(|entry| entry.text.as_str()).collect()
            }
        }
    }
}

impl SeenEntry {
    fn parse(entry: &str) -> Result<SeenEntry, String> {
        let (view, text) = entry.split_once(": ").ok_or(format!("`{entry}` is not VIEW: TEXT"))?;
        let (view, fixture) = match view.split_once(" @") {
            Some((view, fixture)) => (view, Some(fixture.to_owned())),
            None => (view, None),
        };
        if text.trim().is_empty() {
            return Err(format!("`{entry}` has no text"));
        }
        Ok(SeenEntry { view: view.into(), fixture, text: text.into() })
    }

    /// The keys of a screen: `screen 4 j enter` is `4`, `j` and Enter.
    pub fn screen(&self) -> Option<String> {
        let keys = self.view.strip_prefix("screen ")?;
        Some(keys.split(' ').map(|key| if key == "enter" { "\n" } else { key }).collect())
    }

    pub fn is_missing(&self) -> bool {
        self.view == "missing"
    }

    /// The path and name of a test that reads the view, in place of a fixture.
    pub fn test(&self) -> Option<(&str, &str)> {
        self.fixture.as_deref()?.split_once("::")
    }

    /// The arguments of a verb; SOURCE follows the verb.
    pub fn arguments(&self, source: &str) -> Vec<String> {
        let mut words: Vec<String> = self.view.split(' ').map(str::to_owned).collect();
        words.insert(1, source.to_owned());
        words
    }

    /// Fails with the nearest line if `shown` lacks the text.
    pub fn check(&self, shown: &str) -> Result<(), String> {
        let is_json = self.view.contains("-o json") && self.test().is_none();
        let matching = if is_json { matching_conditions } else { matching_parts };
        let is_shown = |line: &str| matching(line, &self.text);
        let wanted = self.text.split(if is_json { " & " } else { " .. " }).count();
        let lines = || shown.lines().filter(|line| !line.trim().is_empty());
        if lines().any(|line| is_shown(line) == wanted) {
            return Ok(());
        }
        let nearest = lines().rev().max_by_key(|line| (is_shown(line), shared_words(line, &self.text)));
        let nearest: String = nearest.unwrap_or("nothing is shown").chars().take(400).collect();
        Err(format!("`{}` does not show `{}`\n    nearest: {nearest}", self.view, self.text))
    }

    fn view_in_words(&self) -> String {
        match self.screen() {
            Some(keys) => {
                let digit = keys.chars().next().and_then(|key| key.to_digit(10)).unwrap_or(1);
                let screens = xdscope_tui::ScreenId::ALL;
                let title = screens.get(digit as usize - 1).map_or("", |screen| screen.title());
                format!("screen {title}")
            }
            None => format!("`{}`", self.view),
        }
    }
}

/// One blank between words, as many as a table has.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Counts the leading parts of `a .. b .. c` that the line has in this order.
fn matching_parts(line: &str, text: &str) -> usize {
    let line = squeezed(line);
    let mut rest = line.as_str();
    let mut matching = 0;
    for part in text.split(" .. ") {
        let Some(at) = rest.find(part) else { break };
        rest = &rest[at + part.len()..];
        matching += 1;
    }
    matching
}

/// Counts the conditions of `path=value & path=value` that hold for an object.
fn matching_conditions(line: &str, text: &str) -> usize {
    let Ok(object) = serde_json::from_str::<Value>(line.trim_end_matches(',')) else { return 0 };
    let holds = |condition: &&str| {
        let (path, wanted) = condition.split_once('=').unwrap_or((condition, ""));
        has_value(&object, path, wanted)
    };
    text.split(" & ").filter(holds).count()
}

/// Whether the value at a path, or an element of a list on the way, is `wanted`.
fn has_value(value: &Value, path: &str, wanted: &str) -> bool {
    if let Value::Array(elements) = value {
        return elements.iter().any(|element| has_value(element, path, wanted));
    }
    if path.is_empty() {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return shown == wanted;
    }
    let (field, rest) = path.split_once('.').unwrap_or((path, ""));
    value.get(field).is_some_and(|value| has_value(value, rest, wanted))
}

fn shared_words(line: &str, text: &str) -> usize {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty() && line.contains(word)).count()
}
