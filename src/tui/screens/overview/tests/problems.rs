//! Problems of the story.

use std::sync::Arc;
use std::time::Duration;

use crate::tests::story::{ERROR, at, url};
use xdscope_engine::lint::Blame;
use xdscope_engine::nack::StatedFaults;
use xdscope_engine::problems::{OwedResources, Problem, ProblemFact, ProblemKind, RefusedPush, Urgency};
use xdscope_engine::store::{PushedVersion, RequestSpan, TypeState};
use xdscope_wire::event::{Kind, Seq, StreamId};

/// A problem of `edge-gw-1` with its clusters.
fn problem(state: TypeState, since: &str, n: u64, problem: Problem) -> ProblemFact {
    let urgency = if state == TypeState::Wait { Urgency::Pending } else { Urgency::Error };
    let kind = ProblemKind::State(state);
    ProblemFact {
        node: Some(Arc::from("edge-gw-1")),
        type_url: url(Kind::Cds),
        at: Some(Seq(n)),
        messages: vec![Seq(n)],
        ..ProblemFact::new(kind, (urgency, Blame::Both), at(since), StreamId(1), problem)
    }
}

pub fn problems() -> Vec<ProblemFact> {
    let refused = RefusedPush {
        version: PushedVersion::Whole("42".into()),
        implied: false,
        is_explained: true,
        times: 3,
        open: 1,
        first: at("14:01:58"),
        is_resent: true,
        in_force: Some("41".into()),
        knows_in_force: true,
        message: Some(ERROR.into()),
        faults: StatedFaults::read(ERROR, &[]),
        is_file: false,
        is_guess: false,
        unanswered: None,
        unused: 0,
        users: Vec::new(),
        broken: None,
        by_version: Vec::new(),
    };
    let asked = RequestSpan { count: 2, first: Seq(489), last: Seq(491) };
    let owed = |name: &str| OwedResources {
        names: vec![name.into()],
        more: 0,
        requests: None,
        has_older: false,
        is_removal: false,
        earlier: None,
        is_resend: false,
        is_first: true,
        unreadable: None,
        has_gap: false,
        limit: None,
        needed_by: None,
        broken: Vec::new(),
        newest_request: None,
        is_guess: false,
        is_dumped: false,
    };
    let missing = OwedResources { requests: Some(asked), ..owed("ledger-v2") };
    let waiting = OwedResources { limit: Some(Duration::from_secs(15)), ..owed("cart-backend") };
    let unanswered = Problem::Unanswered {
        version: PushedVersion::Whole("17".into()),
        response: Seq(433),
        is_polling: false,
        stray: None,
        is_guess: false,
        left: None,
    };
    vec![
        problem(TypeState::Nack, "14:02:23", 498, Problem::Refused(refused)),
        ProblemFact {
            type_url: url(Kind::Eds),
            ..problem(TypeState::Miss, "14:02:09", 489, Problem::Owed(missing))
        },
        ProblemFact {
            stream: StreamId(2),
            node: Some(Arc::from("ratings-v1-77d0")),
            type_url: url(Kind::Rds),
            ..problem(TypeState::Stale, "14:01:50", 433, unanswered)
        },
        ProblemFact {
            stream: StreamId(3),
            node: Some(Arc::from("grpc-cart-0")),
            at: None,
            ..problem(TypeState::Wait, "14:02:25", 0, Problem::Owed(waiting))
        },
    ]
}
