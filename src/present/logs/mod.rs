//! Explanations of log lines of Envoy, istioctl, go-control-plane and the gRPC clients.
//!
//! The tables `forms`, `stream_forms` and `nack_forms` have one entry for each known text: a
//! pattern with its variable parts, what the text means, and where to look. The texts are those of
//! Envoy 1.40, istioctl, go-control-plane, gRPC C-core, grpc-go, grpc-java and grpc-js. Lines that
//! match none of the patterns are unknown.
//!
//! ```
//! let line = "StreamAggregatedResources gRPC config stream closed: 14, no connection";
//! let found = xdscope_present::logs::explain(line);
//! assert_eq!(found[0].who, "Envoy");
//! assert!(found[0].notes[0].starts_with("status 14 UNAVAILABLE"));
//! assert!(xdscope_present::logs::explain("all is well").is_empty());
//! ```

mod codes;
mod forms;
mod nack_forms;
mod stream_forms;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use regex::{Captures, Regex};

use xdscope_wire::event::{Kind, Method};
use xdscope_wire::text::display_safe;

/// The program whose tables have states of clients: [`Meaning::who`].
pub const ISTIO: &str = forms::ISTIO;

/// A text that a peer logs.
struct Form {
    /// The program that logs it.
    who: &'static str,
    /// The text with its variable parts in capitals, as `explain` lists it.
    title: &'static str,
    /// Groups `url` (a type URL or a path of REST), `type` (a message or short word), `name`,
    /// `code`, `text`, `size`, `max`.
    pattern: &'static str,
    /// The type that the text is about, if the text does not name it.
    kind: Option<Kind>,
    /// The meaning of the text.
    means: &'static str,
    /// Commands and screens that help; `{type}` and `{name}` are replaced by the parts of the line.
    look: &'static [&'static str],
}

/// An explanation of a log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The program that logs it.
    pub who: &'static str,
    /// The text with its variable parts in capitals.
    pub title: &'static str,
    /// The meaning of the text.
    pub means: &'static str,
    /// The variable parts of this line: type, resource, status.
    pub notes: Vec<String>,
    /// Commands and screens that help, with the parts of the line filled in.
    pub look: Vec<String>,
}

static PATTERNS: LazyLock<Vec<(Option<Regex>, &'static Form)>> =
    LazyLock::new(|| all().map(|form| (Regex::new(form.pattern).ok(), form)).collect());

/// The known texts in the order of the tables.
fn all() -> impl Iterator<Item = &'static Form> {
    forms::FORMS.iter().chain(stream_forms::FORMS).chain(nack_forms::FORMS)
}

/// Bytes of a line that are searched.
const MAX_LINE_BYTES: usize = 16 << 10;

/// Prefix that loggers write before a text: a time, a level, a thread, the place in the code.
static PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let parts = [
        r"\[(?:\d[^\]]*|[\w./ -]*(?::\d+)?)\]",
        r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[\w.,:+-]*",
        r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+:\d+\]",
        r"(?i:trace|debug|info|notice|warn|warning|error|critical|fatal)\b:?",
        r"[\w.-]+/[\w./-]+:\d+:?",
        r"envoy [\w-]+(?:\t|\s{2,})",
    ];
    Regex::new(&format!(r"^(?:(?:{})\s*)+", parts.join("|"))).ok()
});

/// Returns a line without what loggers write before its text.
fn without_prefix(line: &str) -> &str {
    let prefix = PREFIX.as_ref().and_then(|prefix| prefix.find(line));
    prefix.and_then(|prefix| line.get(prefix.end()..)).filter(|rest| !rest.is_empty()).unwrap_or(line)
}

/// Explains a line: one explanation for each pattern that it matches, none if it is unknown.
///
/// Without an explanation, the line is read without its time and level.
pub fn explain(line: &str) -> Vec<Meaning> {
    let line = line.get(..line.floor_char_boundary(MAX_LINE_BYTES)).unwrap_or(line);
    let found = matches(line);
    let text = without_prefix(line);
    if found.is_empty() && text != line { matches(text) } else { found }
}

/// Returns an explanation for each pattern that a text matches.
fn matches(line: &str) -> Vec<Meaning> {
    let found = PATTERNS.iter().filter_map(|(pattern, form)| {
        let parts = pattern.as_ref()?.captures(line)?;
        Some(meaning(form, &parts))
    });
    found.collect()
}

/// The program and the title of each known text, in the order of the table.
pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    all().map(|form| (form.who, form.title))
}

/// Explains the known texts whose titles contain `words`, in any case.
pub fn with_words(words: &str) -> Vec<Meaning> {
    let words = words.to_lowercase();
    let found = all().filter(|form| form.title.to_lowercase().contains(&words));
    let meaning = |form: &Form| Meaning {
        who: form.who,
        title: form.title,
        means: form.means,
        notes: Vec::new(),
        look: looks(form, form.kind, Some("NAME")),
    };
    found.map(meaning).collect()
}

/// The commands and screens of a form, with the type and the name filled in. Commands that need a
/// type or a name which the line does not state are left out.
fn looks(form: &Form, kind: Option<Kind>, name: Option<&str>) -> Vec<String> {
    let fill = |look: &&str| {
        let look = match kind {
            Some(kind) => look.replace("{type}", kind.word()),
            // Filters of a type only make the answer shorter.
            None => look.replace("'type:{type} kind:nack'", "kind:nack").replace(" --filter type:{type}", ""),
        };
        let look = name.map_or(look.clone(), |name| look.replace("{name}", name));
        (!look.contains("{type}") && !look.contains("{name}")).then_some(look)
    };
    form.look.iter().filter_map(fill).collect()
}

/// Returns a text without the quotes around it. A quote at one end only belongs to the text.
fn unquoted(text: &str) -> &str {
    let within = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    ['"', '\'', '`'].into_iter().find_map(within).unwrap_or(text)
}

fn meaning(form: &Form, parts: &Captures<'_>) -> Meaning {
    let part = |name: &str| {
        let text = unquoted(parts.name(name)?.as_str().trim());
        (!text.is_empty()).then(|| display_safe(text).into_owned())
    };
    let (name, text) = (part("name"), part("text"));
    let url = part("url").or_else(|| part("type"));
    let of_path = |path: &str| Method::of_path(path)?.kind;
    let kind = url.as_deref().and_then(|url| Kind::parse(url).or_else(|| of_path(url))).or(form.kind);
    let mut notes = Vec::new();
    if let Some(code) = part("code").and_then(|code| codes::status(&code, text.is_some())) {
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
        notes.push(format!("{size} bytes, above the limit of {max}"));
    }
    notes.extend(text.map(|text| format!("details: {text}")));
    let look = looks(form, kind, name.map(|name| quoted(&name)).as_deref());
    Meaning { who: form.who, title: form.title, means: form.means, notes, look }
}

/// Quotes a part of a command for a shell.
fn quoted(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
