//! A rule of the catalog: its id, severity, manual, and what ends its findings.

pub(super) mod catalog;
pub(super) mod check;
pub(super) mod options;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Legal but notable, or ambiguous.
    Info,
    /// Breach of a recommendation, a harmful pattern, or a breach that rests on a timer.
    Warn,
    /// Certain breach of a hard rule by one identified side.
    Error,
}

impl Severity {
    /// All severities, worst first.
    pub const ALL: [Severity; 3] = [Severity::Error, Severity::Warn, Severity::Info];

    /// Returns the severity as the command line and JSON spell it.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warn => "warn",
            Severity::Error => "error",
        }
    }
}

/// A message that keeps a rule which an earlier message has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CorrectMessage {
    /// A response with new, changed or removed resources.
    Response,
    /// An ACK of a later response.
    Ack,
}

/// The end of findings of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The finding is about an event that no message mends. The finding ends once the next stream
    /// of the client runs without such an event.
    NextStream,
    /// The finding is about the content of a message, and does not end.
    OfContent,
    /// The end of the state that the rule reports with its findings.
    State,
    /// As many messages of the same side that keep the rule as messages broke it.
    Message(CorrectMessage),
    /// One such message, also after a loop that broke the rule many times.
    Loop(CorrectMessage),
    /// The client accepts other contents in the place of those that break the rule, or gives up
    /// their names.
    Content,
    /// The client accepts a later response about each of the names that keeps the rule, or gives up
    /// the names.
    Names,
    /// The client accepts a later response. Each of the resources by itself is in order.
    Response,
}

/// The subject of a rule, by which its findings join problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A request, a response, or what they contain.
    Exchange,
    /// A NACK: a fact, and not a fault of the protocol.
    Nack,
    /// A request that may be meant for a response, but does not answer it: with a nonce that no
    /// response of the type has, or with an error and no nonce.
    StrayVerdict,
    /// A request for a type that no server can answer.
    UnanswerableRequest,
    /// A fault of a server that no client refuses a response for: a NACK of the response has
    /// another cause.
    AcceptedFault,
    /// A message that cannot be decoded.
    UndecodableMessage,
    /// A resource that was requested with other context parameters.
    ContextParameters,
    /// A name that begins like a structured name and does not have its form.
    MalformedName,
    /// A part of a resource without a name: findings about other parts have other causes.
    NamelessPart,
    /// A file whose content is not in use.
    UnusedFile,
    /// Resources that wait for others.
    Warming,
    /// A cluster that routes point to and that the client does not have.
    MissingCluster,
    /// A cluster that is removed while routes point to it.
    RemovedCluster,
    /// Streams that end before a response, or are cut off.
    FailedStream,
}

/// The parts of a finding that the sentences of a rule have already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sentence {
    /// Neither the names nor the number of occurrences.
    Plain,
    /// The names of the resources.
    WithNames,
    /// The number of occurrences.
    WithCount,
}

/// One rule of the catalog.
#[derive(Debug)]
pub struct Rule {
    /// The id, as in `sotw-nonce-regression`.
    pub id: &'static str,
    /// The severity, unless circumstances change it.
    pub severity: Severity,
    /// Rows of `docs/protocol.md`: `E-10`, or `E-43, F-29`.
    pub rows: &'static str,
    /// The subject of the rule.
    pub subject: Subject,
    /// The parts of a finding that the sentences of the rule have already.
    pub sentence: Sentence,
    /// The source of the rule, whose first comment is the manual.
    pub(super) source: &'static str,
    /// The end of findings.
    pub(super) ending: Ending,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl Rule {
    /// Describes a rule; `source` is the text of its file, and `rows` those of `docs/protocol.md`.
    pub(super) const fn new(
        severity: Severity,
        id: &'static str,
        rows: &'static str,
        source: &'static str,
    ) -> Rule {
        let (subject, sentence, ending) = (Subject::Exchange, Sentence::Plain, Ending::NextStream);
        Rule { id, severity, rows, subject, sentence, source, ending }
    }

    /// Sets the subject.
    pub(super) const fn about(self, subject: Subject) -> Rule {
        Rule { subject, ..self }
    }

    /// Sets the parts of a finding that the sentences have already.
    pub(super) const fn worded(self, sentence: Sentence) -> Rule {
        Rule { sentence, ..self }
    }

    /// Sets what ends findings.
    pub(super) const fn ends(self, ending: Ending) -> Rule {
        Rule { ending, ..self }
    }

    /// Whether the rule is about a state, or about one message, that can be over.
    pub fn is_lasting(&self) -> bool {
        matches!(self.ending, Ending::State | Ending::Message(_) | Ending::Loop(_))
    }

    /// Whether an accepted message with other content ends the findings of the rule.
    pub fn ends_with_other_content(&self) -> bool {
        matches!(self.ending, Ending::Content | Ending::Names | Ending::Response)
    }

    /// Whether the rule is about the content of messages, whenever they come.
    pub(super) fn is_about_content(&self) -> bool {
        self.ends_with_other_content() || self.ending == Ending::OfContent
    }

    /// Returns the manual: title, reason, example, advice and public reference, as lines of text.
    pub fn manual(&self) -> String {
        let lines = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        let mut out = String::new();
        for line in lines.filter(|line| !line.starts_with("```")) {
            out.push_str(line);
            out.push('\n');
        }
        out
    }

    /// Returns the public document that the manual cites: `xDS protocol, "Incremental xDS"`.
    pub fn reference(&self) -> String {
        let manual = self.manual();
        let reference = manual.split_once("\nReference: ").map_or("", |(_, reference)| reference);
        reference.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
    }

    /// Returns the first sentence of the manual.
    pub fn title(&self) -> &'static str {
        let first = self.source.lines().next().unwrap_or_default();
        first.trim_start_matches("//!").trim().trim_end_matches('.')
    }
}
