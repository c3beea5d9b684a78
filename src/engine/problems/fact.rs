//! A problem: the defect, the side at fault, its times, and the evidence.

use std::sync::Arc;
use std::time::Duration;

use crate::lint::{Blame, Finding, Severity};
use crate::nack::{Extracted, StatedFaults};
use crate::session::{PushedVersion, RequestSpan};
use crate::store::{
    ClientMark, FailingStream, OwedAtEnd, RefusedBy, RowNote, TypeState, UnreachablePeer, WarmingFact,
    WarmingUser,
};
use xdscope_wire::InterventionFacts;
use xdscope_wire::event::{Code, Seq, StreamId, Time, TypeUrl};

/// Urgency of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A broken rule whose consequence has ended.
    Over,
    /// An answer or a resource that is still in time: nothing is wrong yet.
    Pending,
    /// A problem that may need action.
    Warning,
    /// A problem that needs action.
    Error,
}

impl Urgency {
    /// All urgencies.
    pub const ALL: [Urgency; 4] = [Urgency::Over, Urgency::Pending, Urgency::Warning, Urgency::Error];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Urgency::Over => "over",
            Urgency::Pending => "pending",
            Urgency::Warning => "warning",
            Urgency::Error => "error",
        }
    }
}

/// The kind of a problem, which its word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The state of a type on a stream, or of a connection.
    State(TypeState),
    /// The streams of a client fail.
    Failing,
    /// An answer was owed when a stream closed.
    Owed,
    /// A client does not use what it has accepted.
    NotApplied,
    /// Resources stay refused although the client has accepted a later response.
    StillRefused,
    /// A rule of the protocol was broken.
    Rule(Severity),
}

impl ProblemKind {
    /// Returns all kinds.
    pub fn all() -> impl Iterator<Item = ProblemKind> {
        let others =
            [ProblemKind::Failing, ProblemKind::Owed, ProblemKind::NotApplied, ProblemKind::StillRefused];
        let rules = [Severity::Error, Severity::Warn].map(ProblemKind::Rule);
        TypeState::ALL.into_iter().map(ProblemKind::State).chain(others).chain(rules)
    }

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            ProblemKind::State(state) => state.word(),
            ProblemKind::Failing => "failing",
            ProblemKind::Owed => "owed",
            ProblemKind::NotApplied => "not_applied",
            ProblemKind::StillRefused => "refused",
            ProblemKind::Rule(severity) => severity.word(),
        }
    }
}

/// A problem, or an answer that is still in time.
#[derive(Clone, Debug)]
pub struct ProblemFact {
    /// The kind of the problem.
    pub kind: ProblemKind,
    /// How urgent the problem is.
    pub urgency: Urgency,
    /// The side that caused the problem, or owes the answer.
    pub blame: Blame,
    /// When the problem began.
    pub since: Time,
    /// When the answer that one side owes is or was due; when the server refused it. `None` for
    /// other problems, and without a limit.
    pub due: Option<Time>,
    /// When the problem was seen last, if it occurred more than once.
    pub last: Option<Time>,
    /// Number of occurrences: refusals, ends of streams, broken rules.
    pub count: u64,
    /// The interval between the occurrences, if it is regular, from the third on.
    pub period: Option<Duration>,
    /// The stream; for an unreachable peer the newest attempt.
    pub stream: StreamId,
    /// Number of streams that have the problem.
    pub streams: u64,
    /// The other streams on which the same rule was broken in the same way, or on which other nodes
    /// refuse resources for one cause.
    pub others: Vec<ProblemPlace>,
    /// Whether the node has such a problem on another stream too, so that the node alone does not
    /// tell them apart.
    pub has_twin: bool,
    /// Whether the problem is in the dump of a client, which has no messages.
    pub is_dump: bool,
    /// The mark that tells the client from another with the node id.
    pub mark: Option<ClientMark>,
    /// The node id; for an unreachable peer the address.
    pub node: Option<Arc<str>>,
    /// Empty if the problem is about a whole stream.
    pub type_url: TypeUrl,
    /// The message to look at.
    pub at: Option<Seq>,
    /// The evidence: at most `MAX_EVIDENCE` messages.
    pub messages: Vec<Seq>,
    /// Indices of the findings that have the same cause: a NACK that names resource and field
    /// first, then the most severe.
    pub findings: Vec<usize>,
    /// Whether the problem lasts: a rule that a message has broken does not.
    pub lasts: bool,
    /// When the stream closed, if it has.
    pub closed: Option<Time>,
    /// When the consequence of a broken rule ended, if it has.
    pub over: Option<Time>,
    /// The intervention of xdscope in messages that the problem is about.
    pub diverged: Option<Arc<InterventionFacts>>,
    /// The defect.
    pub problem: Problem,
}

/// A stream that a problem is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemPlace {
    /// The stream.
    pub stream: StreamId,
    /// The node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// The mark that tells the client from another with the node id.
    pub mark: Option<ClientMark>,
}

impl ProblemFact {
    /// Returns a problem that lasts and was seen once, on a stream.
    pub fn new(
        kind: ProblemKind,
        (urgency, blame): (Urgency, Blame),
        since: Time,
        stream: StreamId,
        problem: Problem,
    ) -> ProblemFact {
        ProblemFact {
            kind,
            urgency,
            blame,
            since,
            due: None,
            last: None,
            count: 1,
            period: None,
            stream,
            streams: 1,
            others: Vec::new(),
            has_twin: false,
            is_dump: false,
            mark: None,
            node: None,
            type_url: TypeUrl::default(),
            at: None,
            messages: Vec::new(),
            findings: Vec::new(),
            lasts: true,
            closed: None,
            over: None,
            diverged: None,
            problem,
        }
    }

    /// Returns the streams that the problem is about, each with its client.
    pub fn places(&self) -> impl Iterator<Item = ProblemPlace> {
        let own = ProblemPlace { stream: self.stream, node: self.node.clone(), mark: self.mark.clone() };
        std::iter::once(own).chain(self.others.iter().cloned())
    }

    /// Returns the streams that the problem is about, each once.
    pub fn all_streams(&self) -> impl Iterator<Item = StreamId> {
        std::iter::once(self.stream).chain(self.others.iter().map(|place| place.stream))
    }

    /// Returns the state of the type, if the problem is a state.
    pub fn state(&self) -> Option<TypeState> {
        match self.kind {
            ProblemKind::State(state) => Some(state),
            _ => None,
        }
    }

    /// Returns the reason of the client in one line: resource, field, and what is wrong.
    pub fn reason(&self) -> Option<String> {
        if let Problem::NotApplied(unapplied) = &self.problem {
            return unapplied.reason.as_ref().map(|text| StatedFaults::read(text, &[]).to_string());
        }
        self.faults().filter(|faults| !faults.is_empty()).map(StatedFaults::to_string)
    }

    /// Whether a client refuses a resource for a field, and its NACK names both.
    pub(crate) fn states_field(&self) -> bool {
        let is_stated = |part: Option<&Extracted>| part.is_some_and(|part| !part.guessed);
        let mut faults = self.faults().into_iter().flat_map(|faults| &faults.listed);
        faults.any(|fault| is_stated(fault.name.as_ref()) && is_stated(fault.field.as_ref()))
    }

    fn faults(&self) -> Option<&StatedFaults> {
        match &self.problem {
            Problem::Refused(refused) => Some(&refused.faults),
            Problem::StillRefused(refused) => Some(&refused.faults),
            _ => None,
        }
    }

    /// Returns the names of the resources that the problem is about; of a refused push those that
    /// the NACK states.
    pub fn resource_names(&self) -> Vec<Arc<str>> {
        match &self.problem {
            Problem::Refused(_) => {
                let faults = self.faults().into_iter().flat_map(|faults| &faults.listed);
                let names = faults.filter_map(|fault| fault.name.as_ref()).filter(|name| !name.guessed);
                names.map(|name| Arc::from(name.value.as_str())).collect()
            }
            Problem::StillRefused(refused) => vec![refused.first.name.clone()],
            Problem::Warming(warming) => vec![warming.first.name.clone()],
            Problem::Owed(owed) => owed.names.clone(),
            Problem::Reported(reported) => reported.names.clone(),
            Problem::NotApplied(unapplied) => unapplied.names.clone(),
            Problem::Broken(finding) => finding.names.clone(),
            Problem::Unanswered { .. }
            | Problem::Unreachable(_)
            | Problem::Failing(_)
            | Problem::OwedAtEnd(_) => Vec::new(),
        }
    }

    /// Returns the words of the client, if it sent any.
    pub fn quote(&self) -> Option<&Arc<str>> {
        match &self.problem {
            Problem::Refused(refused) => refused.message.as_ref(),
            Problem::StillRefused(refused) => refused.message.as_ref(),
            Problem::NotApplied(unapplied) => unapplied.reason.as_ref(),
            _ => None,
        }
    }

    /// Whether the sentence of another occurrence of a broken rule differs.
    pub fn varies(&self) -> bool {
        matches!(&self.problem, Problem::Broken(finding) if finding.varies)
    }

    /// Whether the problem is uncertain.
    pub fn is_guess(&self) -> bool {
        match &self.problem {
            Problem::Refused(refused) => refused.is_guess,
            Problem::StillRefused(refused) => refused.is_guess,
            Problem::Broken(finding) => finding.guess,
            Problem::Unanswered { is_guess, .. } => *is_guess,
            Problem::Owed(owed) => owed.is_guess || owed.has_gap,
            _ => false,
        }
    }

    /// Returns the number of contents that the client still refuses.
    pub fn open_refusals(&self) -> usize {
        match &self.problem {
            Problem::Refused(refused) => refused.open,
            Problem::StillRefused(refused) => refused.open,
            _ => 0,
        }
    }

    /// Whether something is wrong, and neither in time nor over.
    pub fn is_wrong(&self) -> bool {
        self.urgency > Urgency::Pending
    }
}

/// A defect of a type on a stream, of a connection, or of a client's streams.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The client refuses what the server pushes.
    Refused(RefusedPush),
    /// The client has neither accepted nor refused a response in time.
    Unanswered {
        /// Version of the response.
        version: PushedVersion,
        /// The response.
        response: Seq,
        /// The client polls over REST: its next poll is the answer.
        is_polling: bool,
        /// A later request with a nonce that is not of this type, or an error without a nonce: the
        /// verdict went astray.
        stray: Option<StrayAnswer>,
        /// An ACK may accept the response: its nonce fits another one too.
        is_guess: bool,
        /// The response of this version that the client had not answered either when it ended an
        /// earlier stream.
        left: Option<Seq>,
    },
    /// Resources of the type wait for others that the server has not sent, although the client has
    /// what it asked for, or withholds its verdict.
    Warming(WarmingResources),
    /// The server has not sent resources that the client asked for.
    Owed(OwedResources),
    /// The server reports errors in place of resources that the client asked for.
    Reported(ReportedErrors),
    /// Connections to a server, or of a client, end before there is a stream.
    Unreachable(UnreachablePeer),
    /// Streams of a client end with an error, without a healthy one since.
    Failing(Box<FailingStream>),
    /// An answer was owed when the stream closed.
    OwedAtEnd(Box<OwedAtEnd>),
    /// A dump of the client lacks or refuses accepted resources, or has other content.
    NotApplied(UnappliedResources),
    /// Resources of a refused response have no accepted content since, although the client has
    /// accepted a later response (docs/protocol.md#f-34).
    StillRefused(RefusedResources),
    /// A rule was broken: the most severe finding, with the names and times of those like it.
    Broken(Box<Finding>),
}

/// A request that does not answer the response that it seems to be about.
#[derive(Clone, Debug)]
pub struct StrayAnswer {
    /// The request.
    pub n: Seq,
    /// Note about its nonce.
    pub note: Option<Arc<RowNote>>,
    /// The faults that its error states, if it has one.
    pub faults: Option<StatedFaults>,
}

/// The newest NACK of a type, and the NACKs before it since the last ACK.
#[derive(Clone, Debug)]
pub struct RefusedPush {
    /// Version of the refused response, or of the first resource in it that the NACK names.
    pub version: PushedVersion,
    /// The newest NACK carries an older version, but no `error_detail`.
    pub implied: bool,
    /// An earlier NACK of the content has an `error_detail`.
    pub is_explained: bool,
    /// NACKs since the last ACK.
    pub times: u64,
    /// Contents that the client still refuses: runs of NACKs of one version.
    pub open: usize,
    /// When the first of these NACKs came.
    pub first: Time,
    /// The server sent one content again after each of these NACKs: all of them refuse it.
    pub is_resent: bool,
    /// The version that the client keeps, if it has accepted any; on a delta stream that of the
    /// first refused resource.
    pub in_force: Option<Arc<str>>,
    /// Whether the client keeps nothing if no such version is known.
    pub knows_in_force: bool,
    /// The message of the newest `error_detail` that refuses the content, unless it is empty.
    pub message: Option<Arc<str>>,
    /// The faults that this message states, or the only resource of the response.
    pub faults: StatedFaults,
    /// The content is that of a file, which no client refuses.
    pub is_file: bool,
    /// The nonce fits another response too, so that the refused one is a guess.
    pub is_guess: bool,
    /// The newest response with the refused version, while the client has not answered it.
    pub unanswered: Option<Seq>,
    /// Delta: number of other clusters or listeners in the response that are not used either.
    pub unused: usize,
    /// The listeners, or other resources, that refer to the refused extension configuration.
    pub users: Vec<Arc<str>>,
    /// The rule that the server broke with the refused response, unless the NACK names a field.
    pub broken: Option<Box<Finding>>,
    /// The versions that the nodes refuse and keep, if the nodes differ in them.
    pub by_version: Vec<NodesOfVersion>,
}

/// Nodes that refuse one version, and keep one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodesOfVersion {
    /// The refused version.
    pub version: PushedVersion,
    /// The version that the nodes keep, if they have accepted any.
    pub in_force: Option<Arc<str>>,
    /// Whether the nodes keep nothing if no such version is known.
    pub knows_in_force: bool,
    /// The nodes, the first one to refuse first.
    pub nodes: Vec<Arc<str>>,
}

/// Resources that stay refused after a later response was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedResources {
    /// The first resource, and the number of others.
    pub first: RefusedBy,
    /// Whether the NACK names the first resource, or none at all; else the resource came with one
    /// that the NACK names.
    pub is_named: bool,
    /// The response with the refused content.
    pub response: Seq,
    /// Whether the NACK came on an earlier stream of the client.
    pub is_earlier: bool,
    /// Contents that the client still refuses: runs of NACKs of one version.
    pub open: usize,
    /// The message of `error_detail`, unless it is empty.
    pub message: Option<Arc<str>>,
    /// The faults that this message states.
    pub faults: StatedFaults,
    /// The nonce fits another response too, or an unknown client may use what its NACK does not
    /// name.
    pub is_guess: bool,
}

/// Resources of a type that wait for others, which one side owes or has to request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmingResources {
    /// The resource that has waited longest.
    pub first: Box<WarmingFact>,
    /// How many more resources there are.
    pub more: usize,
    /// The time limit, while it is not over.
    pub limit: Option<Duration>,
}

/// Resources that the client asked for and the server has not sent.
#[derive(Clone, Debug)]
pub struct OwedResources {
    /// The first names; none for a wildcard.
    pub names: Vec<Arc<str>>,
    /// How many more names there are.
    pub more: usize,
    /// The requests for the first name, once the time limit has ended.
    pub requests: Option<RequestSpan>,
    /// The client continues with another version of the first resource than the server sent
    /// last.
    pub has_older: bool,
    /// The server has removed the resources before the stream, and the client states them.
    pub is_removal: bool,
    /// The request on an earlier stream with which the wait for the first name began.
    pub earlier: Option<Seq>,
    /// The client has the resources, and has requested them again.
    pub is_resend: bool,
    /// The server has not sent a response of this type on the stream.
    pub is_first: bool,
    /// The newest response since the request that cannot be decoded, or whose type is unknown.
    pub unreadable: Option<Seq>,
    /// Whether messages are missing since the request: one of them may be the answer.
    pub has_gap: bool,
    /// The time limit, while it is not over.
    pub limit: Option<Duration>,
    /// The resource that warms until the first name arrives.
    pub needed_by: Option<WarmingUser>,
    /// The rules that were broken about the names, and may be why they do not come: the first
    /// finding of each, the most severe first.
    pub broken: Vec<Finding>,
    /// The newest of the first requests for the names, if that is not the request for all of them.
    pub newest_request: Option<Seq>,
    /// Whether the client may not mean the wildcard (docs/protocol.md#f-21).
    pub is_guess: bool,
    /// Whether a dump of the client lists the resources as requested and not received.
    pub is_dumped: bool,
}

/// Resources that the server does not send, for the reason that it states
/// (docs/protocol.md#m-14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedErrors {
    /// The first names.
    pub names: Vec<Arc<str>>,
    /// How many more names there are.
    pub more: usize,
    /// The gRPC code.
    pub code: Code,
    /// The text of the server.
    pub message: Arc<str>,
    /// Whether the client keeps an earlier version of the first resource.
    pub is_kept: bool,
}

/// Accepted resources that a dump of the client lacks, refuses, or has with other content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnappliedResources {
    /// The first names.
    pub names: Vec<Arc<str>>,
    /// How many more names there are.
    pub more: usize,
    /// Number of resources that the dump lacks.
    pub missing: u64,
    /// Number of resources that the dump has with other content.
    pub differing: u64,
    /// Number of resources that the client refuses by its dump.
    pub refused: u64,
    /// Why the client refuses the first of them.
    pub reason: Option<Arc<str>>,
}
