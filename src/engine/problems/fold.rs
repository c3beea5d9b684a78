//! Groups findings that have one cause.

use std::collections::HashMap;
use std::sync::Arc;

use crate::lint::{Blame, Finding, Subject};
use xdscope_wire::event::{Seq, StreamId, TypeUrl};

/// Names of a finding that are compared with those of others.
const MAX_COMPARED_NAMES: usize = 32;

/// Findings with one cause: indices, the most severe first and, among equal ones, the oldest first.
pub type FindingGroup = Vec<usize>;

/// The fact that findings of one cause share.
#[derive(PartialEq, Eq, Hash)]
enum Shared<'a> {
    /// A rule that was broken in one way, again and again on a stream.
    Rule(RuleUse<'a>, StreamId),
    /// A rule that the server broke in one way, about one name, for several clients.
    ServerRule(RuleUse<'a>, Option<&'a Arc<str>>),
    /// Several rules about one name in one message.
    Message(Seq, &'a Arc<str>),
    /// Rules about the content of one file.
    Content(Seq),
}

/// A rule, the side that broke it, the way in which it was broken, the reason of the client, and a
/// type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RuleUse<'a> {
    rule: &'static str,
    blame: Blame,
    cause: Option<&'static str>,
    reason: Option<&'a Arc<str>>,
    type_url: &'a TypeUrl,
    place: Option<&'a Arc<str>>,
}

/// Groups findings that have one cause.
///
/// Two findings have one cause if one rule was broken in one way on a stream, if the server broke
/// one rule in one way towards several clients, or if two rules are about one name in one message.
/// The cost is linear in the messages and names of the findings.
pub fn group<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<FindingGroup> {
    let findings: Vec<&Finding> = findings.into_iter().collect();
    let mut sets = DisjointSets::new(findings.len());
    let mut first: HashMap<Shared<'_>, usize> = HashMap::new();
    for (index, finding) in findings.iter().enumerate() {
        let of_rule = RuleUse {
            rule: finding.rule.id,
            blame: finding.blame,
            cause: finding.cause,
            reason: finding.reason.as_ref(),
            type_url: &finding.type_url,
            place: finding.place.as_ref(),
        };
        let mut join = |shared| sets.join(index, *first.entry(shared).or_insert(index));
        join(Shared::Rule(of_rule, finding.stream));
        let is_server = finding.blame != Blame::Client;
        // One side is at fault after the other for a resource that warms for long.
        let is_of_client = finding.rule.subject == Subject::Warming && !is_server;
        if is_server && finding.names.is_empty() {
            join(Shared::ServerRule(of_rule, None));
        }
        if finding.rule.subject == Subject::UnusedFile {
            finding.messages.iter().for_each(|message| join(Shared::Content(*message)));
        }
        for name in finding.names.iter().take(MAX_COMPARED_NAMES) {
            if is_server {
                join(Shared::ServerRule(of_rule, Some(name)));
            }
            if !is_of_client && finding.rule.subject != Subject::NamelessPart {
                for message in &finding.messages {
                    join(Shared::Message(*message, name));
                }
            }
        }
    }
    let mut groups: HashMap<usize, FindingGroup> = HashMap::new();
    for index in 0..findings.len() {
        groups.entry(sets.find(index)).or_default().push(index);
    }
    let mut groups: Vec<FindingGroup> = groups.into_values().collect();
    let rank = |index: &usize| {
        let finding = findings.get(*index);
        (finding.map(|finding| finding.rank()), finding.map(|finding| finding.first), *index)
    };
    groups.iter_mut().for_each(|group| group.sort_by_key(rank));
    groups.sort_by_key(|group| group.first().map(rank));
    groups
}

/// Sets of numbers without a common element, which can be joined.
struct DisjointSets {
    parent: Vec<usize>,
}

impl DisjointSets {
    fn new(size: usize) -> DisjointSets {
        DisjointSets { parent: (0..size).collect() }
    }

    /// Returns the representative of an element's set.
    fn find(&mut self, mut element: usize) -> usize {
        while let Some(&parent) = self.parent.get(element) {
            if parent == element {
                break;
            }
            let next = self.parent.get(parent).copied().unwrap_or(parent);
            if let Some(slot) = self.parent.get_mut(element) {
                *slot = next;
            }
            element = next;
        }
        element
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(slot) = self.parent.get_mut(a.max(b)) {
            *slot = a.min(b);
        }
    }
}
