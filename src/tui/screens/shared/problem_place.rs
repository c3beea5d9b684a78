//! The place that a problem points to.

use crate::engine::problems::{Problem, ProblemFact};
use crate::tui::common::Scope;
use crate::tui::screens::screen::Destination;

/// Returns where a problem is seen: the NACK of a refusal, the message that broke a rule, else the
/// state of the type.
pub(crate) fn of(fact: &ProblemFact) -> Destination {
    let stream = fact.stream;
    let type_url = Some(fact.type_url.clone()).filter(|type_url| !type_url.is_empty());
    match fact.problem {
        Problem::Broken(_) | Problem::OwedAtEnd(_) | Problem::Failing(_) if fact.at.is_some() => {
            Destination::Messages { scope: Scope { stream: Some(stream), type_url }, n: fact.at }
        }
        Problem::Refused(_) | Problem::StillRefused(_) => match (fact.at, type_url) {
            (Some(n), Some(type_url)) => Destination::Nack { stream, type_url, n },
            (_, type_url) => Destination::Stream { stream, type_url },
        },
        _ => Destination::Stream { stream, type_url },
    }
}
