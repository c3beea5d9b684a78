//! What log lines, admin texts and access logs of peers mean, and where the answer is to be seen.
//!
//! Data, in `forms`: each form of a text is a pattern with its variable parts named, what it means and what to look
//! at. A form says whose words it is; texts are those of Envoy 1.40, istioctl, go-control-plane, and of the gRPC
//! clients (C-core, grpc-go, grpc-java, grpc-js). Nothing else is guessed: a line that has none of the forms is
//! unknown.
//!
//! ```
//! let found = xdscope::present::logs::explain("StreamAggregatedResources gRPC config stream closed: 14, no connection");
//! assert_eq!(found[0].who, "Envoy");
//! assert!(found[0].notes[0].starts_with("status 14 UNAVAILABLE"));
//! assert!(xdscope::present::logs::explain("all is well").is_empty());
//! ```

mod codes;
mod forms;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::wire::event::Kind;
use crate::wire::text::display_safe;

/// One text that peers write.
struct Form {
    /// Whose words it is.
    who: &'static str,
    /// The text with its variable parts in capitals, as `explain` lists it.
    title: &'static str,
    /// Groups `url` (a type URL), `type` (a message or short word), `name`, `code`, `text`, `size`, `max`.
    pattern: &'static str,
    /// The type that it speaks of, where the text does not say so.
    kind: Option<Kind>,
    means: &'static str,
    /// What to type or to look at; `{type}`, `{name}` stand for the parts of the line.
    look: &'static [&'static str],
}

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    pub who: &'static str,
    pub title: &'static str,
    pub means: &'static str,
    /// What the variable parts of this line say: the type, the resource, the status.
    pub notes: Vec<String>,
    /// Commands and screens that answer it, with the parts of the line put in.
    pub look: Vec<String>,
}

static PATTERNS: LazyLock<Vec<(Option<Regex>, &'static Form)>> =
    LazyLock::new(|| forms::FORMS.iter().map(|form| (Regex::new(form.pattern).ok(), form)).collect());

/// Longest line that is looked at; what stands behind is left out.
const LONGEST: usize = 16 << 10;

/// What is known of a line, of each form that it has; empty if it is unknown.
pub fn explain(line: &str) -> Vec<Meaning> {
    let line = line.get(..line.floor_char_boundary(LONGEST)).unwrap_or(line);
    let found = PATTERNS.iter().filter_map(|(pattern, form)| {
        let parts = pattern.as_ref()?.captures(line)?;
        Some(meaning(form, &parts))
    });
    found.collect()
}

/// Whose words and which texts are known, in the order of the table.
pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    forms::FORMS.iter().map(|form| (form.who, form.title))
}

/// The texts that have these words in them, whatever their variable parts.
pub fn with_words(words: &str) -> Vec<Meaning> {
    let words = words.to_lowercase();
    let found = forms::FORMS.iter().filter(|form| form.title.to_lowercase().contains(&words));
    let meaning = |form: &Form| Meaning {
        who: form.who,
        title: form.title,
        means: form.means,
        notes: Vec::new(),
        look: looks(form, form.kind, "NAME"),
    };
    found.map(meaning).collect()
}

/// What to look at, with the type and the name put in.
fn looks(form: &Form, kind: Option<Kind>, name: &str) -> Vec<String> {
    let kind = kind.map_or("TYPE", Kind::word);
    form.look.iter().map(|look| look.replace("{type}", kind).replace("{name}", name)).collect()
}

fn meaning(form: &Form, parts: &Captures<'_>) -> Meaning {
    let part = |name: &str| {
        let text = parts.name(name)?.as_str().trim().trim_matches(['"', '\'', '`']);
        (!text.is_empty()).then(|| display_safe(text).into_owned())
    };
    let (name, text) = (part("name"), part("text"));
    let url = part("url").or_else(|| part("type"));
    let kind = url.as_deref().and_then(Kind::parse).or(form.kind);
    let mut notes = Vec::new();
    if let Some(code) = part("code").and_then(|code| codes::status(&code)) {
        notes.push(format!("status {} {}: {}", code.0, code.1, code.2));
    }
    match (kind, &url) {
        (Some(kind), Some(url)) if *url != kind.word() => notes.push(format!("type {}: {url}", kind.word())),
        (Some(kind), _) => notes.push(format!("type {}", kind.word())),
        (None, Some(url)) => notes.push(format!("type {url}")),
        (None, None) => {}
    }
    notes.extend(name.as_ref().map(|name| format!("resource {name}")));
    if let (Some(size), Some(max)) = (part("size"), part("max")) {
        notes.push(format!("{size} bytes, of {max} that are taken"));
    }
    notes.extend(text.map(|text| format!("said: {text}")));
    let look = looks(form, kind, &name.map_or_else(|| "NAME".to_owned(), |name| quoted(&name)));
    Meaning { who: form.who, title: form.title, means: form.means, notes, look }
}

/// A part of a command as a shell takes it.
fn quoted(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
