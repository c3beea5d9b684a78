//! The filter behind `/`: searched while it is typed, with completion, history and suggestions.

use std::collections::BTreeSet;

use crate::data::{AppliedFilter, Data};
use xdscope_engine::filter::{FilterField, state_words};
use xdscope_engine::lint;
use xdscope_engine::store::MessageKind;
use xdscope_present::json::type_word;
use xdscope_wire::event::{Dir, Kind};
use xdscope_wire::text::near::nearest;

use crate::shell::model::{self, Model, remember};
use crate::shell::overlay::{FilterPrompt, Overlay};

/// Values that a hint lists.
const MAX_LISTED_VALUES: usize = 12;
/// Resource names that are looked at for suggestions and completions.
const MAX_KNOWN_NAMES: usize = 2_000;
/// Fields whose value names a thing as a whole, so that a part of the value is still incomplete.
const NAMING_FIELDS: [&str; 5] = ["node", "name", "version", "nonce", "rule"];

/// The last term of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastTerm<'a> {
    /// The expression before the term.
    head: &'a str,
    /// The field and its operator, if there is one.
    field: Option<&'a str>,
    /// The value, or a word without a field.
    value: &'a str,
    /// The value is quoted, or a regex, or has a glob.
    is_pattern: bool,
}

impl LastTerm<'_> {
    /// Finds the last term of an input, outside of quotes.
    fn parse(input: &str) -> LastTerm<'_> {
        let mut start = 0;
        let mut quote: Option<char> = None;
        for (at, c) in input.char_indices() {
            match quote {
                Some(end) if c == end => quote = None,
                Some(_) => {}
                None if c == '"' => quote = Some('"'),
                None if c == '/' && (at == start || input[..at].ends_with(':')) => quote = Some('/'),
                None if c.is_whitespace() || matches!(c, '|' | '(' | ')' | '!') => start = at + c.len_utf8(),
                None => {}
            }
        }
        let (head, term) = input.split_at(start);
        let letters = term.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(term.len());
        let rest = &term[letters..];
        let operator = rest.len() - rest.trim_start_matches([':', '=', '<', '>']).len();
        let (field, value) = match letters > 0 && operator > 0 && !rest.starts_with("://") {
            true => (Some(&term[..letters]), &term[letters + operator..]),
            false => (None, term),
        };
        LastTerm { head, field, value, is_pattern: value.contains(['"', '/', '*']) }
    }

    /// The expression before the term, without operators that wait for the term.
    fn complete_head(&self) -> &str {
        self.head.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '|' | '!' | '('))
    }

    /// The words that complete the term.
    fn completions(&self, known: &KnownValues) -> Vec<String> {
        let words = match self.field {
            None => FilterField::WORDS.iter().map(|(word, _)| format!("{word}:")).collect(),
            Some(field) => known.values(field),
        };
        let value = self.value.to_lowercase();
        words.into_iter().filter(|word| word.to_lowercase().starts_with(&value)).collect()
    }

    /// No type, node or rule of the source begins with the value.
    fn is_unknown(&self, known: &KnownValues) -> bool {
        matches!(self.field, Some("type" | "node" | "rule")) && self.completions(known).is_empty()
    }

    /// The term may become another one with the next character: the beginning of a field, a field
    /// without a value, a beginning of one of the field's words.
    fn is_incomplete(&self, known: &KnownValues) -> bool {
        match self.field {
            None => {
                let is_word = !self.value.is_empty() && self.value.chars().all(|c| c.is_ascii_lowercase());
                is_word && FilterField::WORDS.iter().any(|(word, _)| word.starts_with(self.value))
            }
            Some(_) if self.value.is_empty() => true,
            Some(field @ ("type" | "kind" | "state" | "dir")) => {
                let words = known.values(field);
                let is_start = |word: &String| word.starts_with(self.value) && word != self.value;
                !self.is_pattern && words.iter().any(is_start) && !words.iter().any(|word| word == self.value)
            }
            Some(_) => false,
        }
    }
}

/// The values of fields that the source knows.
struct KnownValues<'a> {
    data: &'a dyn Data,
    model: &'a Model,
}

impl KnownValues<'_> {
    /// Returns the values with which a field can be completed.
    fn values(&self, field: &str) -> Vec<String> {
        let own = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
        match field {
            "type" => {
                let used = self.data.summaries().into_iter().map(|cell| type_word(&cell.type_url).to_owned());
                sorted(used.chain(Kind::all().map(|kind| kind.word().to_owned())))
            }
            "kind" => own(MessageKind::ALL.iter().map(|kind| kind.word()).collect()),
            "dir" => own(vec![Dir::Req.word(), Dir::Resp.word()]),
            "state" => own(state_words().collect()),
            "rule" => own(lint::rules().map(|rule| rule.id).collect()),
            "node" => {
                let streams = self.data.streams().into_iter();
                sorted(streams.filter_map(|stream| stream.node.map(|node| node.id.clone())))
            }
            "name" => self.names(),
            _ => Vec::new(),
        }
    }

    /// Names of the current stream.
    fn names(&self) -> Vec<String> {
        let stream = self.model.common.current_stream.or_else(|| self.data.stream_ids().first().copied());
        let Some(stream) = stream else { return Vec::new() };
        let store = self.data.store();
        let types = store.summaries_of(stream).into_iter();
        let names =
            types.flat_map(|cell| store.first_resource_names(stream, &cell.type_url, MAX_KNOWN_NAMES));
        sorted(names.take(MAX_KNOWN_NAMES).map(|name| name.to_string()))
    }
}

/// Words in order, each once.
fn sorted(words: impl Iterator<Item = String>) -> Vec<String> {
    words.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Opens the prompt. It is empty; the filter in force stays until something is typed.
pub(crate) fn open(model: &mut Model) {
    let before = model.common.filter.clone();
    let hint = before
        .as_ref()
        .map(|filter| format!("in force: {}   Up edits it, Enter clears it, Esc keeps it", filter.text));
    model.overlays.push(Overlay::Filter(Box::new(FilterPrompt {
        input: String::new(),
        error: None,
        hint,
        before,
        recalled: None,
    })));
}

fn prompt(model: &mut Model) -> Option<&mut FilterPrompt> {
    match model.overlays.last_mut() {
        Some(Overlay::Filter(prompt)) => Some(prompt),
        _ => None,
    }
}

/// Takes in what is typed: applies the expression as far as it is complete. The list stays as it is
/// while a term is incomplete or wrong.
pub(crate) fn check(model: &mut Model, data: &dyn Data) {
    let Some(FilterPrompt { input, before, .. }) = prompt(model).cloned() else { return };
    let (mut error, mut hint, mut filter) = (None, None, None);
    let known = KnownValues { data, model };
    let term = LastTerm::parse(&input);
    let read = |text: &str| {
        let text = text.trim().to_owned();
        data.read_filter(&text).map(|filter| (!text.is_empty()).then_some(AppliedFilter { text, filter }))
    };
    if input.trim().is_empty() {
        filter = Some(None);
    } else if term.is_incomplete(&known) {
        hint = completion_hint(&term, &known);
        let head = term.complete_head();
        filter = if head.trim().is_empty() { Some(before) } else { read(head).ok() };
    } else {
        match read(&input) {
            Ok(applied) => {
                hint = suggestion(&term, &known);
                let is_open = term.field.is_some_and(|field| NAMING_FIELDS.contains(&field));
                // A name that is being typed matches by its beginning.
                let beginning = (is_open && !term.is_pattern).then(|| read(&format!("{input}*")).ok());
                let matched = beginning.flatten().flatten().or(applied);
                filter = (hint.is_none() || !term.is_unknown(&known)).then_some(matched);
            }
            // An expression that ends too early continues with the next character.
            Err(why) if why.at >= input.trim_end().len() => hint = Some(why.reason),
            Err(why) => error = Some(why),
        }
    }
    if let Some(filter) = filter {
        model.common.filter = filter;
    }
    if let Some(prompt) = prompt(model) {
        (prompt.error, prompt.hint) = (error, hint);
    }
}

/// `type: cds eds lds`.
fn completion_hint(term: &LastTerm<'_>, known: &KnownValues<'_>) -> Option<String> {
    let words = term.completions(known);
    let more = if words.len() > MAX_LISTED_VALUES { " ..." } else { "" };
    let listed = words.into_iter().take(MAX_LISTED_VALUES).collect::<Vec<_>>().join(" ");
    if listed.is_empty() { None } else { Some(format!("Tab completes: {listed}{more}")) }
}

/// Names what is near, if the value of a field is unknown.
fn suggestion(term: &LastTerm<'_>, known: &KnownValues<'_>) -> Option<String> {
    let field = term.field?;
    if term.is_pattern || term.value.is_empty() || !["type", "node", "name", "rule"].contains(&field) {
        return None;
    }
    let values = known.values(field);
    if values.iter().any(|value| value.eq_ignore_ascii_case(term.value)) || values.is_empty() {
        return None;
    }
    let near = nearest(term.value, values.iter().map(String::as_str), 4);
    Some(match near.as_slice() {
        [] => format!("no {field} {} is known here", term.value),
        near => format!("no {field} {}; near: {}", term.value, near.join(" ")),
    })
}

/// Completes the last term: as far as all candidates agree.
pub(crate) fn complete(model: &mut Model, data: &dyn Data) {
    let Some(FilterPrompt { input, .. }) = prompt(model).cloned() else { return };
    let known = KnownValues { data, model };
    let term = LastTerm::parse(&input);
    let words = term.completions(&known);
    let Some(first) = words.first() else {
        return model.say("nothing completes this");
    };
    let is_shared =
        |len: &usize| first.get(..*len).is_some_and(|start| words.iter().all(|word| word.starts_with(start)));
    let shared = (0..=first.len()).rev().find(is_shared).unwrap_or(0);
    let is_longer = shared > term.value.len();
    let value = if is_longer { first[..shared].to_owned() } else { first.clone() };
    let before = &input[..input.len() - term.value.len()];
    let completed = format!("{before}{value}");
    if let Some(prompt) = prompt(model) {
        prompt.input = completed;
    }
    check(model, data);
}

/// Recalls an older or a newer filter.
pub(crate) fn recall(model: &mut Model, by: isize, data: &dyn Data) {
    let mut history = model.filters.clone();
    let Some(prompt) = prompt(model) else { return };
    // The filter in force comes first, wherever it is from.
    if let Some(before) = prompt.before.as_ref().filter(|before| history.last() != Some(&before.text)) {
        history.push(before.text.clone());
    }
    if !model::recall(&history, &mut prompt.input, &mut prompt.recalled, by) {
        return model.say("no older filter");
    }
    check(model, data);
}

/// Applies what is typed as it stands, and closes the prompt. A wrong expression stays open.
pub(crate) fn accept(model: &mut Model, data: &dyn Data) {
    let Some(FilterPrompt { input, before, .. }) = prompt(model).cloned() else { return };
    let text = input.trim().to_owned();
    match data.read_filter(&text) {
        Err(why) => {
            if let Some(prompt) = prompt(model) {
                (prompt.error, prompt.hint) = (Some(why), None);
            }
            let old = before.map_or_else(|| "none".to_owned(), |before| before.text);
            model.say(format!("not a filter; Esc returns to the one before: {old}"));
        }
        Ok(filter) => {
            let known = KnownValues { data, model };
            let others = model.screen.others_for(&filter);
            let unused = others.map(|others| format!("the filter is for {others}; this list stays whole"));
            let hint = unused.or_else(|| suggestion(&LastTerm::parse(&input), &known));
            model.overlays.pop();
            model.common.filter = (!text.is_empty()).then(|| AppliedFilter { text: text.clone(), filter });
            remember(&mut model.filters, &text);
            if let Some(hint) = hint {
                model.say(hint);
            }
        }
    }
}

/// Closes the prompt; the filter before is in force again.
pub(crate) fn cancel(model: &mut Model) {
    if let Some(Overlay::Filter(prompt)) = model.overlays.pop() {
        model.common.filter = prompt.before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_the_last_term() {
        let term = |input| {
            let LastTerm { head, field, value, .. } = LastTerm::parse(input);
            (head, field, value)
        };
        assert_eq!(term("type:cds ki"), ("type:cds ", None, "ki"));
        assert_eq!(term("type:cds kind:na"), ("type:cds ", Some("kind"), "na"));
        assert_eq!(term("(a|size>1M"), ("(a|", Some("size"), "1M"));
        assert_eq!(term("\"two words"), ("", None, "\"two words"));
        assert_eq!(term("name:/a b"), ("", Some("name"), "/a b"));
        assert_eq!(term("xdstp://a/b"), ("", None, "xdstp://a/b"));
        assert_eq!(LastTerm::parse("type:cds | !").complete_head(), "type:cds");
    }
}
