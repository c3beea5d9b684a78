use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::Rule;
use crate::wire::event::{Seq, StreamId, Time, TypeUrl};

/// How bad it is (section 0.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Legal but notable, or ambiguous.
    Info,
    /// Breach of a recommendation, a harmful pattern, or a hard rule whose breach rests on a timer.
    Warn,
    /// Certain breach of a hard rule by one identified side.
    Error,
}

impl Severity {
    pub const ALL: [Severity; 3] = [Severity::Error, Severity::Warn, Severity::Info];

    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warn => "warn",
            Severity::Error => "error",
        }
    }
}

/// Whose doing it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Blame {
    #[default]
    Client,
    Server,
    Both,
}

impl Blame {
    pub const ALL: [Blame; 3] = [Blame::Client, Blame::Server, Blame::Both];

    pub fn word(self) -> &'static str {
        match self {
            Blame::Client => "client",
            Blame::Server => "server",
            Blame::Both => "both",
        }
    }
}

/// A rule that was broken, once or in a loop (`finding` of the JSON contract).
#[derive(Clone, Debug)]
pub struct Finding {
    pub rule: &'static Rule,
    /// The rule's own, or what the circumstances make of it.
    pub severity: Severity,
    /// Which of the ways in which the rule can be broken.
    pub cause: Option<&'static str>,
    pub blame: Blame,
    pub stream: StreamId,
    pub node: Option<Arc<str>>,
    /// Empty where it is about the stream as a whole.
    pub type_url: TypeUrl,
    /// At most `NAMES` of them.
    pub names: Vec<Arc<str>>,
    /// The message that completed it when it was first made; none for one from a timer.
    pub at: Option<Seq>,
    /// Evidence: at most `EVIDENCE` messages, the first and the last among them.
    pub messages: Vec<Seq>,
    pub first: Time,
    pub last: Time,
    /// How often it happened.
    pub count: u64,
    /// One sentence.
    pub text: String,
    /// It rests on a guess.
    pub guess: bool,
    /// The place in a file that is no session: `static_resources.clusters[1]`. Then there is no stream.
    pub place: Option<Arc<str>>,
}

impl Finding {
    /// Times per second, where it is a loop.
    pub fn rate(&self) -> Option<f64> {
        let secs = self.last.since(self.first).as_secs_f64();
        (self.count > 2 && secs > 0.0).then(|| (self.count - 1) as f64 / secs)
    }
}

/// Names that a finding keeps.
pub const NAMES: usize = 1000;
/// Messages that a finding keeps.
pub const EVIDENCE: usize = 16;
/// Findings of one rule about one stream and type that are told apart; what is more is one finding.
const APART: u32 = 64;
/// Findings of a source; beyond it there is one more per rule.
const ALL: usize = 10_000;

/// What a rule says.
#[derive(Default)]
pub(super) struct Found<'a> {
    pub(super) blame: Blame,
    pub(super) text: String,
    pub(super) names: &'a [crate::wire::event::Sym],
    /// Beside the message that completes it.
    pub(super) evidence: &'a [Seq],
    pub(super) severity: Option<Severity>,
    pub(super) cause: Option<&'static str>,
    /// What tells it from other findings of the rule about the same names, such as a version.
    pub(super) part: &'a str,
    pub(super) guess: bool,
}

/// Where and when.
pub(super) struct Place {
    pub(super) stream: StreamId,
    pub(super) track: Option<usize>,
    pub(super) node: Option<Arc<str>>,
    pub(super) type_url: TypeUrl,
    pub(super) at: Time,
    pub(super) seq: Option<Seq>,
}

/// Findings, the same ones merged.
#[derive(Clone, Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
    by_key: HashMap<u64, usize>,
    /// How many of a rule, stream and type there are.
    apart: HashMap<u64, u32>,
}

fn hash(value: impl Hash) -> u64 {
    // Of fixed keys: the same source gives the same findings.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Findings {
    pub(super) fn all(&self) -> &[Finding] {
        &self.all
    }

    pub(super) fn add(
        &mut self,
        rule: &'static Rule,
        found: Found<'_>,
        place: Place,
        text_of: impl Fn(crate::wire::event::Sym) -> Arc<str>,
    ) -> Option<usize> {
        let severity = found.severity.unwrap_or(rule.severity);
        let family = hash((rule.id, place.stream, place.track));
        let mut key = hash((family, found.cause, severity, found.names, found.part));
        let apart = self.apart.entry(family).or_default();
        if !self.by_key.contains_key(&key) {
            match () {
                () if self.all.len() >= ALL => key = hash(rule.id),
                () if *apart >= APART => key = family,
                () => *apart += 1,
            }
        }
        let messages = found.evidence.iter().copied().chain(place.seq);
        if let Some(known) = self.by_key.get(&key).and_then(|index| self.all.get_mut(*index)) {
            known.count += 1;
            known.last = known.last.max(place.at);
            for seq in messages {
                if known.messages.len() >= EVIDENCE {
                    known.messages.pop();
                }
                if !known.messages.contains(&seq) {
                    known.messages.push(seq);
                }
            }
            for name in found.names.iter().take(NAMES - known.names.len().min(NAMES)) {
                let name = text_of(*name);
                if !known.names.contains(&name) {
                    known.names.push(name);
                }
            }
            return self.by_key.get(&key).copied();
        }
        let mut messages: Vec<Seq> = messages.collect();
        messages.dedup();
        messages.truncate(EVIDENCE);
        self.by_key.insert(key, self.all.len());
        self.all.push(Finding {
            rule,
            severity,
            cause: found.cause,
            blame: found.blame,
            stream: place.stream,
            node: place.node,
            type_url: place.type_url,
            names: found.names.iter().take(NAMES).map(|name| text_of(*name)).collect(),
            at: place.seq,
            messages,
            first: place.at,
            last: place.at,
            count: 1,
            text: found.text,
            guess: found.guess,
            place: None,
        });
        self.all.len().checked_sub(1)
    }

    /// What a finding was about is over; the note is added once.
    pub(super) fn end(&mut self, index: usize, at: Time, note: &str) {
        if let Some(finding) = self.all.get_mut(index) {
            finding.last = finding.last.max(at);
            if finding.count == 1 {
                finding.text.push_str(note);
            }
        }
    }

    /// A finding turned out to do harm.
    pub(super) fn harden(&mut self, index: usize, note: &str) {
        let Some(finding) = self.all.get_mut(index).filter(|finding| finding.severity == Severity::Info)
        else {
            return;
        };
        finding.severity = Severity::Warn;
        finding.text.push_str(note);
    }

    /// A finding turned out to be no more than a note.
    pub(super) fn soften(&mut self, index: usize, note: &str) {
        if let Some(finding) = self.all.get_mut(index).filter(|finding| finding.count == 1) {
            finding.severity = Severity::Info;
            finding.text.push_str(note);
        }
    }
}
