//! Findings of rules, merged where they repeat.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::lint::rule::{Ending, Rule, Severity, Subject};
use xdscope_wire::InterventionFacts;
use xdscope_wire::event::{Seq, Side, StreamId, Sym, Time, TypeUrl};

/// The cause of findings about clients that have clusters and request no listeners.
pub(crate) const NO_LISTENERS: &str = "no listeners";

/// The side that breaks the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The client.
    #[default]
    Client,
    /// The server.
    Server,
    /// Both sides, or either.
    Both,
    /// The tap that changed or withheld messages.
    Xdscope,
}

impl Blame {
    /// All sides.
    pub const ALL: [Blame; 4] = [Blame::Client, Blame::Server, Blame::Both, Blame::Xdscope];

    /// Returns the side at fault; either, if it is not known.
    pub(crate) fn of_side(side: Option<Side>) -> Blame {
        match side {
            Some(Side::Client) => Blame::Client,
            Some(Side::Server) => Blame::Server,
            None => Blame::Both,
        }
    }

    /// Returns the side as the command line and JSON spell it.
    pub fn word(self) -> &'static str {
        match self {
            Blame::Client => "client",
            Blame::Server => "server",
            Blame::Both => "both",
            Blame::Xdscope => "xdscope",
        }
    }
}

/// A broken rule, once or repeatedly (`finding` in JSON).
#[derive(Clone, Debug)]
pub struct Finding {
    /// The broken rule.
    pub rule: &'static Rule,
    /// The severity of the rule, unless circumstances change it.
    pub severity: Severity,
    /// The way in which the rule was broken, if the rule tells several apart.
    pub cause: Option<&'static str>,
    /// The reason of a client, which tells apart findings that are no repetitions of each other.
    pub reason: Option<Arc<str>>,
    /// The side that broke the rule.
    pub blame: Blame,
    /// The intervention of xdscope that has caused it.
    pub caused_by: Option<Arc<InterventionFacts>>,
    /// The stream.
    pub stream: StreamId,
    /// The node id of the client.
    pub node: Option<Arc<str>>,
    /// The resource type; empty if the finding is about the whole stream.
    pub type_url: TypeUrl,
    /// Names of resources, at most `MAX_FINDING_NAMES`.
    pub names: Vec<Arc<str>>,
    /// The message that completed the first occurrence; none for a timer.
    pub at: Option<Seq>,
    /// Evidence: at most `MAX_EVIDENCE` messages, among them the first and the last.
    pub messages: Vec<Seq>,
    /// Time of the first occurrence.
    pub first: Time,
    /// Time of the last occurrence.
    pub last: Time,
    /// Number of occurrences.
    pub count: u64,
    /// When the state ended that the finding is about. `None` if it lasts, and for a single event.
    pub over: Option<Time>,
    /// The shortest and the longest interval between occurrences.
    pub intervals: Option<(Duration, Duration)>,
    /// One sentence, about the first occurrence.
    pub text: String,
    /// Whether the sentence of another occurrence differs, for example in a nonce.
    pub varies: bool,
    /// Whether the finding rests on a guess.
    pub guess: bool,
    /// Place in a bootstrap, such as `static_resources.clusters[1]`. Then there is no stream.
    pub place: Option<Arc<str>>,
}

impl Finding {
    /// Returns the key that sorts findings of one cause: the severest first, then what lasts.
    pub(crate) fn rank(&self) -> (Reverse<Severity>, bool) {
        (Reverse(self.severity), self.over.is_some())
    }

    /// Whether the finding is a problem that is not over.
    pub(crate) fn is_wrong(&self) -> bool {
        self.is_rated() && self.over.is_none()
    }

    /// Whether the finding is about a state that has not ended, and not about an event.
    pub(crate) fn lasts(&self) -> bool {
        self.over.is_none() && matches!(self.rule.ending, Ending::State | Ending::Content)
    }

    /// Whether the finding is about a request that reports an error, but is no NACK of a response.
    pub fn is_stray_refusal(&self) -> bool {
        self.reason.is_some() && self.rule.subject != Subject::Nack
    }

    /// Whether the finding is about routes to clusters that the client does not have, and has not
    /// ended: requests fail.
    pub fn is_traffic_gap(&self) -> bool {
        let is_gap = matches!(self.rule.subject, Subject::MissingCluster | Subject::RemovedCluster);
        is_gap && self.over.is_none()
    }

    /// Whether the finding is or was a problem, and not just a note.
    pub(crate) fn is_rated(&self) -> bool {
        self.severity > Severity::Info
    }

    /// Occurrences per second, if the finding is a loop that lasts a second or more, or has many
    /// occurrences.
    pub fn rate(&self) -> Option<f64> {
        let secs = self.last.since(self.first).as_secs_f64();
        let is_loop = self.count > 2 && secs >= 1.0;
        let is_fast = self.count >= MIN_FAST_OCCURRENCES && secs >= MIN_RATED_SECONDS;
        (is_loop || is_fast).then(|| (self.count - 1) as f64 / secs)
    }
}

/// Occurrences of a loop that lasts less than a second.
const MIN_FAST_OCCURRENCES: u64 = 10;
/// Shortest time that has a rate.
const MIN_RATED_SECONDS: f64 = 0.001;
/// Names in a finding.
const MAX_FINDING_NAMES: usize = 1000;
/// Memory of a name besides its text, in bytes, in the list and in the set of names.
const NAME_BYTES: usize = 64;
/// Messages in a finding.
const MAX_EVIDENCE: usize = 16;
/// Separate findings of one rule about one stream and type; further ones are merged.
const MAX_DISTINCT_FINDINGS: u32 = 64;
/// Findings of a source; beyond it each rule has one more.
const MAX_FINDINGS: usize = 10_000;
/// Bytes of texts and names of all findings; beyond it a finding has [`MIN_FINDING_NAMES`] names.
const MAX_FINDING_BYTES: usize = 8 << 20;
/// Names in a finding, if findings take much memory.
const MIN_FINDING_NAMES: usize = 3;

/// The report of a rule.
#[derive(Default)]
pub(crate) struct FindingDraft<'a> {
    pub(crate) blame: Blame,
    pub(crate) text: String,
    pub(crate) names: &'a [Sym],
    /// Messages besides the one that completes the finding.
    pub(crate) evidence: &'a [Seq],
    pub(crate) severity: Option<Severity>,
    pub(crate) cause: Option<&'static str>,
    /// Tells apart findings about equal names, for example by a version.
    pub(crate) part: &'a str,
    /// The reason of a client; findings with another one have another cause.
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) guess: bool,
    /// The intervention of xdscope that has caused it.
    pub(crate) caused_by: Option<Arc<InterventionFacts>>,
}

impl<'a> FindingDraft<'a> {
    /// A report about `names`, without evidence besides the current message.
    pub(crate) fn new(blame: Blame, text: impl Into<String>, names: &'a [Sym]) -> FindingDraft<'a> {
        FindingDraft { blame, text: text.into(), names, ..FindingDraft::default() }
    }

    /// Adds messages besides the one that completes the finding.
    pub(crate) fn evidence(self, evidence: &'a [Seq]) -> FindingDraft<'a> {
        FindingDraft { evidence, ..self }
    }

    /// Replaces the severity of the rule, unless given `None`.
    pub(crate) fn severity(self, severity: Option<Severity>) -> FindingDraft<'a> {
        FindingDraft { severity, ..self }
    }

    /// Says that the finding rests on a guess.
    pub(crate) fn guessed(self) -> FindingDraft<'a> {
        FindingDraft { guess: true, ..self }
    }

    /// Returns the report as a note about what an intervention of xdscope caused, if one did.
    pub(crate) fn caused_by(self, cause: Option<&Arc<InterventionFacts>>) -> FindingDraft<'a> {
        let Some(cause) = cause else { return self };
        let caused_by = Some(cause.clone());
        FindingDraft { blame: Blame::Xdscope, severity: Some(Severity::Info), caused_by, ..self }
    }
}

/// A series of occurrences up to the current message, which replaces the first text of a finding.
pub(crate) struct Restated {
    pub(crate) text: String,
    /// Time of the first occurrence.
    pub(crate) first: Time,
    /// Number of occurrences.
    pub(crate) count: u64,
}

/// The place and the time of a finding.
pub(crate) struct FindingOrigin {
    pub(crate) stream: StreamId,
    pub(crate) track: Option<usize>,
    pub(crate) node: Option<Arc<str>>,
    pub(crate) type_url: TypeUrl,
    pub(crate) at: Time,
    pub(crate) seq: Option<Seq>,
}

/// All findings of a source.
#[derive(Clone, Default)]
pub(crate) struct Findings {
    all: Vec<Finding>,
    by_key: HashMap<u64, usize>,
    /// Number of separate findings by rule, stream and type.
    distinct: HashMap<u64, u32>,
    /// The names of findings that have occurred again, by the index of the finding.
    names: HashMap<usize, HashSet<Arc<str>>>,
    /// Occurrences that turned out to be harmless, by the index of the finding.
    withdrawn: HashMap<usize, u64>,
    /// Bytes of texts and names.
    bytes: usize,
}

fn hash(value: impl Hash) -> u64 {
    // Fixed keys: the same source gives the same findings.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Finding {
    fn new(rule: &'static Rule, draft: FindingDraft<'_>, origin: FindingOrigin) -> Finding {
        let mut messages: Vec<Seq> = draft.evidence.iter().copied().chain(origin.seq).collect();
        messages.dedup();
        messages.truncate(MAX_EVIDENCE);
        Finding {
            rule,
            severity: draft.severity.unwrap_or(rule.severity),
            cause: draft.cause,
            reason: draft.reason,
            blame: draft.blame,
            caused_by: draft.caused_by,
            stream: origin.stream,
            node: origin.node,
            type_url: origin.type_url,
            names: Vec::new(),
            at: origin.seq,
            messages,
            first: origin.at,
            last: origin.at,
            count: 1,
            over: None,
            intervals: None,
            text: draft.text,
            varies: false,
            guess: draft.guess,
            place: None,
        }
    }

    /// Counts another occurrence.
    fn repeat(&mut self, at: Time, messages: impl Iterator<Item = Seq>) {
        self.count += 1;
        let interval = at.since(self.last);
        let (shortest, longest) = self.intervals.unwrap_or((interval, interval));
        self.intervals = Some((shortest.min(interval), longest.max(interval)));
        self.last = self.last.max(at);
        self.note_messages(messages);
    }

    /// Adds evidence; of much, the first messages and the last one stay.
    fn note_messages(&mut self, messages: impl Iterator<Item = Seq>) {
        for seq in messages {
            if self.messages.len() >= MAX_EVIDENCE {
                self.messages.pop();
            }
            if !self.messages.contains(&seq) {
                self.messages.push(seq);
            }
        }
    }
}

impl Findings {
    pub(crate) fn all(&self) -> &[Finding] {
        &self.all
    }

    /// Estimates the memory of all findings, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes + self.all.len() * (size_of::<Finding>() + 256)
    }

    /// Returns how many names a finding can have.
    fn max_names(&self) -> usize {
        if self.bytes < MAX_FINDING_BYTES { MAX_FINDING_NAMES } else { MIN_FINDING_NAMES }
    }

    /// Adds a finding, or another occurrence of a known one. Returns its index.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        draft: FindingDraft<'_>,
        origin: FindingOrigin,
        text_of: impl Fn(Sym) -> Arc<str>,
    ) -> Option<usize> {
        let severity = draft.severity.unwrap_or(rule.severity);
        let family = hash((rule.id, origin.stream, origin.track));
        let by = draft.caused_by.as_ref().map(|facts| &facts.by);
        let part = (draft.names, draft.part, &draft.reason, by);
        let mut key = hash((family, draft.blame, draft.cause, severity, part));
        let max_names = self.max_names();
        let distinct = self.distinct.entry(family).or_default();
        if !self.by_key.contains_key(&key) {
            if self.all.len() >= MAX_FINDINGS {
                key = hash(rule.id);
            } else if *distinct >= MAX_DISTINCT_FINDINGS {
                key = family;
            } else {
                *distinct += 1;
            }
        }
        if let Some(index) = self.by_key.get(&key).copied()
            && let Some(known) = self.all.get_mut(index)
        {
            if self.withdrawn.contains_key(&index) {
                known.severity = severity;
            }
            // A note may follow the sentence.
            known.varies |= !known.text.starts_with(&draft.text);
            known.repeat(origin.at, draft.evidence.iter().copied().chain(origin.seq));
            if known.over.take().is_some() {
                (known.text, known.severity) = (draft.text, severity);
            }
            let room = max_names.saturating_sub(known.names.len());
            let names = self.names.entry(index).or_insert_with(|| known.names.iter().cloned().collect());
            for name in draft.names.iter().take(room).map(|name| text_of(*name)) {
                if names.insert(name.clone()) {
                    self.bytes += name.len() + NAME_BYTES;
                    known.names.push(name);
                }
            }
            return Some(index);
        }
        let names: Vec<Arc<str>> = draft.names.iter().take(max_names).map(|name| text_of(*name)).collect();
        self.bytes += draft.text.len() + names.iter().map(|name| name.len() + NAME_BYTES).sum::<usize>();
        self.by_key.insert(key, self.all.len());
        self.all.push(Finding { names, ..Finding::new(rule, draft, origin) });
        self.all.len().checked_sub(1)
    }

    /// Goes on with a finding on a later stream of the client.
    pub(crate) fn update_series(&mut self, index: usize, stream: StreamId, draft: FindingDraft<'_>) {
        if let Some(finding) = self.all.get_mut(index) {
            (finding.stream, finding.over, finding.text) = (stream, None, draft.text);
            finding.severity = draft.severity.unwrap_or(finding.rule.severity);
            finding.note_messages(draft.evidence.iter().copied());
        }
    }

    /// Updates a finding about a series that continues.
    pub(crate) fn restate(&mut self, index: usize, restated: Restated) {
        if let Some(finding) = self.all.get_mut(index) {
            let Restated { text, first, count } = restated;
            (finding.text, finding.first, finding.count) = (text, first, count);
        }
    }

    /// Ends a finding, and adds the note.
    pub(crate) fn end(&mut self, index: usize, at: Time, note: &str) {
        if let Some(finding) = self.all.get_mut(index) {
            finding.over = Some(at);
            finding.text.push_str(note);
        }
    }

    /// Ends a finding, and replaces its text.
    pub(crate) fn finish(&mut self, index: usize, at: Time, text: &str) {
        if let Some(finding) = self.all.get_mut(index) {
            finding.over = Some(at);
            finding.text = text.to_owned();
        }
    }

    /// Adds a note to a finding that occurred once.
    pub(crate) fn note(&mut self, index: usize, at: Time, note: &str) {
        if let Some(finding) = self.all.get_mut(index) {
            finding.last = finding.last.max(at);
            if finding.count == 1 {
                finding.text.push_str(note);
            }
        }
    }

    /// Raises an info finding that turned out to do harm to a warning.
    pub(crate) fn harden(&mut self, index: usize, note: &str) {
        let finding = self.all.get_mut(index).filter(|finding| finding.severity == Severity::Info);
        if let Some(finding) = finding {
            finding.severity = Severity::Warn;
            finding.text.push_str(note);
        }
    }

    /// Takes back an occurrence that turned out to be harmless. A finding without another
    /// occurrence becomes a note.
    pub(crate) fn withdraw(&mut self, index: usize, note: &str) {
        let Some(finding) = self.all.get_mut(index) else { return };
        let withdrawn = self.withdrawn.entry(index).or_default();
        *withdrawn += 1;
        if *withdrawn == 1 {
            finding.text.push_str(note);
        }
        if *withdrawn >= finding.count {
            finding.severity = Severity::Info;
        }
    }

    /// Takes the names for which the function returns false out of a finding that occurred once.
    pub(crate) fn retain_names(&mut self, index: usize, is_kept: impl Fn(&str) -> bool) {
        if let Some(finding) = self.all.get_mut(index).filter(|finding| finding.count == 1) {
            finding.names.retain(|name| is_kept(name));
        }
    }

    /// Lowers a finding that turned out to be harmless to info.
    pub(crate) fn soften(&mut self, index: usize, note: &str) {
        if let Some(finding) = self.all.get_mut(index).filter(|finding| finding.count == 1) {
            finding.severity = Severity::Info;
            finding.text.push_str(note);
        }
    }
}
