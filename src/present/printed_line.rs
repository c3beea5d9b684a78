//! Lines that xdscope has printed: rows of `status` and `lint`, verdicts, and lines of live runs.
//!
//! ```
//! let line = "NACK  edge-gw-1 CDS  8s  client refused CDS 42; version 41 in force";
//! let found = xdscope_present::printed_line::read(line).expect("a row of status");
//! assert_eq!(found.words, ["NACK"]);
//! assert!(xdscope_present::printed_line::read("all is well").is_none());
//! ```

use std::sync::LazyLock;

use regex::Regex;

use xdscope_engine::lint;
use xdscope_engine::store::TypeState;
use xdscope_wire::event::{Kind, Variant};

use crate::report::{PROBLEM_WORDS, STATES, state_word};

/// A line that xdscope has printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedLine {
    /// The words of the states and problems that the line is about: `NACK`, `FAILING`.
    pub words: Vec<&'static str>,
    /// The rules that the line names.
    pub rules: Vec<&'static str>,
    /// The type that the line is about.
    pub kind: Option<Kind>,
}

/// Words of severities in rows of `lint`.
const SEVERITIES: [&str; 3] = ["error", "warn", "info"];

/// Words of problems that begin lines of other programs too.
const USUAL_WORDS: [&str; 2] = ["ERROR", "WARN"];

/// Sentences about problems: a pattern, and the word of the problem. The more specific ones come
/// first.
const SENTENCES: [(&str, &str); 16] = [
    (r"\bstill refuses [A-Z]+DS ", "REFUSED"),
    (r", but not by a valid NACK", "STALE"),
    (r"\bowes an answer to |\bhas not polled since ", "STALE"),
    (r"\brefused (?:[A-Z]+DS\b|\w+ in several versions)", "NACK"),
    (r"\bfile: \S+ .*\brejected\b", "REJECTED"),
    (r"\bowed .* when the stream closed|\bclosed the stream after .*, without an answer", "OWED"),
    (r"\b(?:cluster|listener|route|scope) \S+ (?:waits for|is in use without) [A-Z]+DS ", "WARMING"),
    (r"\bno problem yet: |\bnothing sent yet\b|\bserver owes .*\(limit ", "WAIT"),
    (r"\bserver owes |\bclient waits for |\b(?:is|are) not sent(?:, \x22| \()|\bserver says that ", "MISS"),
    (r"\bcan't be reached\b|\bclient can't connect\b", "DOWN"),
    (r"\brejects the stream\b|\bends? (?:each|the) stream\b|\bended the stream, and ", "FAILING"),
    (r"\bstreams? fails?\b|\bthe stream failed\b|\bended [\d,]+ streams\b|\bfails every poll\b", "FAILING"),
    (r"\bcuts off each stream\b|\bdoes not answer PINGs\b", "FAILING"),
    (r", but its dump differs: ", "DIFFERS"),
    (r"\bnodes? in sync\b", "SYNCED"),
    (r"^\W*\w\S*(?: \S+)?: (?:client and server|server|client): ", "WARN"),
];

static PATTERNS: LazyLock<Vec<(Option<Regex>, &'static str)>> =
    LazyLock::new(|| SENTENCES.iter().map(|(pattern, word)| (Regex::new(pattern).ok(), *word)).collect());

/// An age: `8s`, `1m53s`.
static AGE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$").ok());

/// Reads a line; `None` if it is none of xdscope's.
pub fn read(line: &str) -> Option<PrintedLine> {
    let tokens: Vec<&str> = line.split_whitespace().collect();
    if tokens.len() < 2 {
        return None;
    }
    let kind = tokens.iter().find_map(|token| kind_of(token));
    let rules = rules(&tokens);
    let words = match rules.is_empty() {
        true => words(line, &tokens),
        false => Vec::new(),
    };
    (!rules.is_empty() || !words.is_empty()).then_some(PrintedLine { words, rules, kind })
}

/// Returns commands and screens that say more about a problem. Without a type, filters of types are
/// left out.
pub fn looks(word: &str, kind: Option<Kind>) -> Vec<String> {
    let looks: &[&str] = match word {
        "NACK" | "REJECTED" | "REFUSED" => &[
            "xdscope log SESSION --filter 'type:{type} kind:nack' --body",
            "screen 6, NACK: the refused field beside its last accepted value",
        ],
        "MISS" | "WAIT" => &[
            "xdscope get SESSION {type} --subscriptions      which names were requested and not sent",
            "screen 7, Subs: which client asked for it, since when, and which side has to answer",
        ],
        "STALE" | "SENT" | "OWED" => &["xdscope log SESSION --filter type:{type}"],
        "WARMING" => &[
            "xdscope get SESSION -o tree",
            "screen 8, Graph: which resources are warming, and what they wait for",
        ],
        "FAILING" | "DOWN" | "closed" => &[
            "xdscope log SESSION --filter kind:close      how each stream ended, and which side ended it",
            "screen 2, Stream: its age, the silence before its end, the streams after it",
        ],
        "DIFFERS" => &["xdscope status SESSION --applied DUMP -o wide"],
        "ERROR" | "WARN" => &["xdscope lint SESSION      the broken rules, by cause"],
        _ => &[],
    };
    let fill = |look: &&str| match kind {
        Some(kind) => Some(look.replace("{type}", kind.word())),
        None => {
            let look = look.replace("'type:{type} kind:nack'", "kind:nack");
            (!look.contains("{type}")).then_some(look)
        }
    };
    looks.iter().filter_map(fill).collect()
}

/// Returns the type that a word is the label of: `CDS`.
fn kind_of(token: &str) -> Option<Kind> {
    let word = token.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let is_label = !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase());
    if is_label { Kind::parse(&word.to_ascii_lowercase()) } else { None }
}

/// Returns the rules that a line names, each once. The rule `nack` is named only behind its
/// severity.
fn rules(tokens: &[&str]) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut before = "";
    for token in tokens {
        // An annotation has `title=RULE::`, JSON has `"rule":"RULE"`.
        for word in token.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            let is_behind_severity = SEVERITIES.contains(&before);
            let rule = lint::rule(word).filter(|rule| rule.id.contains('-') || is_behind_severity);
            if let Some(rule) = rule
                && !found.contains(&rule.id)
            {
                found.push(rule.id);
            }
        }
        before = token;
    }
    found
}

/// Returns the states and problems that a line is about: the one that it begins with, those of a
/// row of the matrix, or the one that its sentence tells.
fn words(line: &str, tokens: &[&str]) -> Vec<&'static str> {
    let mut signed = tokens.iter().skip_while(|token| !token.contains(char::is_alphanumeric));
    let first = signed.next().and_then(|token| word_of(token));
    let is_age = |token: &&str| AGE.as_ref().is_some_and(|age| age.is_match(token));
    let has_side = ["server: ", "client: ", "client and server: "].iter().any(|side| line.contains(side));
    if let Some(word) = first
        && (!USUAL_WORDS.contains(&word) || has_side || tokens.iter().take(5).any(is_age))
    {
        return vec![word];
    }
    if tokens.iter().any(|token| Variant::ALL.iter().any(|variant| variant.word() == *token)) {
        let mut states: Vec<&str> = tokens.iter().filter_map(|token| word_of(token)).collect();
        states.dedup();
        if !states.is_empty() {
            return states;
        }
    }
    let told = PATTERNS.iter().find(|(pattern, _)| pattern.as_ref().is_some_and(|is| is.is_match(line)));
    told.map(|(_, word)| *word).into_iter().collect()
}

/// Returns the word of a state or a problem that a word of a line is, without its count: `NACK×3`.
fn word_of(token: &str) -> Option<&'static str> {
    let word = token.split(['×', '(']).next().unwrap_or_default().trim_end_matches(':');
    let states = STATES.iter().map(|(state, _)| state_word(*state).0);
    let problems = PROBLEM_WORDS.iter().map(|(word, _)| *word);
    let is_known = |known: &&str| *known == word && known.chars().all(|c| c.is_ascii_uppercase());
    states.chain(problems).find(is_known).or_else(|| {
        // Without the sign of a count, as in ASCII.
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        (bare == "NACKx").then(|| state_word(TypeState::Nack).0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_about(line: &str, words: &[&str]) {
        assert_eq!(read(line).map(|found| found.words).unwrap_or_default(), words, "{line}");
    }

    #[test]
    fn reads_rows_of_status() {
        is_about("NACK  edge-gw-1 CDS  8s  client refused CDS 42: reviews: no type", &["NACK"]);
        is_about("FAILING flapping 1m server rejects the stream: 6 times since +12.0s", &["FAILING"]);
        is_about("WARN  n1 EDS  3s  server: b: sent again without a change ×3", &["WARN"]);
        is_about("edge-gw-1  ads  SYNCED 9m  NACK×3 8s  MISS 1/119 22s", &["SYNCED", "NACK", "MISS"]);
        is_about("edge-gw-1  ads  NACKx3 8s", &["NACK"]);
        let kind = read("MISS  n1 EDS  22s  server owes EDS ledger-v2").and_then(|found| found.kind);
        assert_eq!(kind, Some(Kind::Eds));
    }

    #[test]
    fn reads_rows_of_lint() {
        for line in [
            "warn  nack-resend-loop  edge-gw-1 CDS  #20  14:02:08  version 42 has the content",
            "14:02:08  #20  edge-gw-1 CDS  lint warn nack-resend-loop  version 42 has the content",
            "::warning file=a.xds,title=nack-resend-loop::edge-gw-1 CDS: version 42",
            r#"{"schema":1, "object":"finding","rule":"nack-resend-loop"}"#,
        ] {
            assert_eq!(read(line).map(|found| found.rules), Some(vec!["nack-resend-loop"]), "{line}");
        }
        let nack = read("info  nack  edge-gw-1 CDS  #20  14:02:08  refused");
        assert_eq!(nack.map(|found| found.rules), Some(vec!["nack"]));
    }

    #[test]
    fn reads_verdicts() {
        for (line, word) in [
            ("✗ edge-gw-1 refused CDS 42 since 14:02:08: reviews: connect_timeout: no", "NACK"),
            ("2 nodes refused CDS in several versions: why", "NACK"),
            ("edge-gw-1: server owes EDS ledger-v2, asked twice (#489 #491)", "MISS"),
            ("⋯ no problem; n: server owes LDS for the wildcard, nothing sent yet (limit 15s)", "WAIT"),
            ("n owes an answer to CDS 42 (#7), neither ACK nor NACK", "STALE"),
            ("n: server owed EDS ledger for the wildcard (#2) when the stream closed", "OWED"),
            ("n: cluster reviews waits for EDS reviews (asked in #4): the server owes it", "WARMING"),
            ("n still refuses EDS b 2 (#5), though it accepted a later response", "REFUSED"),
            ("n: server rejects the stream: 240 times since 14:02:08, every 250ms", "FAILING"),
            ("n: client ended 12 streams, each after a push, the last CDS 5 (#24)", "FAILING"),
            ("no problem yet: the recording ends 1ms after the request", "WAIT"),
            ("✓ all 6 nodes in sync; last push 3s ago", "SYNCED"),
            ("! edge: server: route r points to cluster fraud, which the client does not have", "WARN"),
            ("client accepted CDS ledger, but its dump differs: 3 missing", "DIFFERS"),
        ] {
            is_about(line, &[word]);
        }
    }

    #[test]
    fn leaves_lines_of_other_programs() {
        for line in [
            "2026-11-22T16:04:53Z ERROR xds: connection refused",
            "ERROR something failed",
            "WARN  [agent.envoy] a warning",
            "stuck in warming",
            "not listed",
            "gRPC config stream closed: 14, no connection",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn compiles_every_pattern() {
        assert!(AGE.is_some() && PATTERNS.iter().all(|(pattern, _)| pattern.is_some()));
    }
}
