//! The place that a problem points to.

use crate::common::Scope;
use crate::screens::screen::Destination;
use xdscope_engine::problems::{Problem, ProblemFact};

/// Returns where the evidence of a problem is: the card of a refusal, the message that broke a rule
/// or waits for a verdict, the name that is missing, the resource that warms, the streams that
/// fail; else the state of the type.
pub(crate) fn destination(fact: &ProblemFact) -> Destination {
    let stream = fact.stream;
    let type_url = Some(fact.type_url.clone()).filter(|type_url| !type_url.is_empty());
    // Messages of other types belong to the evidence too.
    let messages = |n| Destination::Messages { scope: Scope { stream: Some(stream), type_url: None }, n };
    match (&fact.problem, type_url) {
        (Problem::Refused(_) | Problem::StillRefused(_), type_url) => match fact.at {
            Some(n) => Destination::Nack { stream, n },
            None => Destination::Stream { stream, type_url },
        },
        (Problem::Unanswered { response, .. }, _) => messages(Some(fact.at.unwrap_or(*response))),
        (Problem::Broken(_) | Problem::OwedAtEnd(_), _) if fact.at.is_some() => messages(fact.at),
        (Problem::Warming(warming), _) => {
            let first = &warming.first;
            Destination::Graph { stream: first.stream, kind: first.kind, name: first.name.clone() }
        }
        (Problem::Owed(owed), Some(type_url)) => {
            Destination::Subscription { stream, type_url, name: owed.names.first().cloned() }
        }
        (Problem::Reported(_), _) => messages(fact.at),
        (Problem::Failing(_) | Problem::Unreachable(_), _) => Destination::Streams { stream },
        (_, type_url) => Destination::Stream { stream, type_url },
    }
}
