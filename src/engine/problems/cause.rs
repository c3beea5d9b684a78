//! The intervention of xdscope that has caused a problem.

use std::sync::Arc;

use crate::lint::Blame;
use crate::session::{Consequence, Stream, Track};
use crate::store::Debt;
use xdscope_wire::InterventionFacts;
use xdscope_wire::event::{Dir, Seq};

use super::fact::{Problem, ProblemFact};

/// Blames xdscope for a problem of messages that it changed or withheld.
pub(super) fn blame_xdscope(problem: &mut ProblemFact, stream: &Stream, track: &Track) {
    if let Some(facts) = cause(stream, track, problem).cloned() {
        problem.diverged = Some(facts);
        problem.blame = Blame::Xdscope;
    }
}

/// Returns the intervention of xdscope that has caused a problem.
fn cause<'a>(
    stream: &'a Stream,
    track: &'a Track,
    problem: &'a ProblemFact,
) -> Option<&'a Arc<InterventionFacts>> {
    let messages = &problem.messages[..];
    let resources = |names| {
        track.caused_by(&Consequence { names, messages, dir: Some(Dir::Resp), ..Consequence::default() })
    };
    match &problem.problem {
        Problem::Warming(warming) => warming.first.caused_by.as_ref(),
        Problem::Owed(owed) => resources(&owed.names),
        Problem::Unanswered { response, .. } => of_answer(track, *response),
        Problem::OwedAtEnd(owed) => {
            let cause = match &owed.debt {
                Debt::Warming(first) => first.caused_by.as_ref(),
                // A client may have ended its side before the first push, which came late.
                Debt::Verdict { .. } if track.traffic.pushes == 1 => {
                    of_answer(track, owed.at).or_else(|| stream.postponed_request(&track.type_url))
                }
                Debt::Verdict { .. } => of_answer(track, owed.at),
                Debt::Resources { names, .. } => resources(names),
            };
            cause.or_else(|| stream.ended_by_xdscope())
        }
        // A refusal is about the content.
        Problem::Refused(_) | Problem::StillRefused(_) => {
            let cause = track.caused_by(&Consequence { messages, ..Consequence::default() });
            cause.filter(|cause| !cause.interference.keeps_content())
        }
        _ => track.caused_by(&Consequence { messages, ..Consequence::default() }),
    }
}

/// Returns the intervention because of which a response has no answer.
fn of_answer(track: &Track, response: Seq) -> Option<&Arc<InterventionFacts>> {
    let pending = track.responses.pending().find(|pending| pending.seq == response);
    track.caused_by(&Consequence {
        messages: &[response],
        nonce: pending.map(|pending| pending.nonce.as_str()),
        dir: Some(Dir::Req),
        ..Consequence::default()
    })
}
