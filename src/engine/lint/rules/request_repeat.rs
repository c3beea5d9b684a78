//! The same request again and again.
//!
//! Why: A request that changes no name and answers nothing says nothing. Three in a second look like a loop.
//!
//! Example:
//! ```text
//! > eds v=1 n=a names=[foo]
//! > eds v=1 n=a names=[foo]
//! > eds v=1 n=a names=[foo]
//! ```
//!
//! Instead: send a request when the names change or when a response wants a verdict.
//!
//! Protocol: "How the client specifies what resources to return"; row E-50.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "request-repeat",
    severity: Severity::Info,
    rows: "E-50",
    source: include_str!("request_repeat.rs"),
    on: &[On::Request(check)],
};

use std::time::Duration;

use crate::engine::session::{MessageKind, RequestClass};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if !case.timed()
        || !asking.is(RequestClass::NewestNonce)
        || asking.outcome.kind != MessageKind::Repeat
        || !case.is_grpc()
    {
        return;
    }
    let at = case.at;
    case.memo.repeats.retain(|then| at.since(*then) <= Duration::from_secs(1));
    case.memo.repeats.push_back(at);
    if case.memo.repeats.len() > 3 {
        case.memo.repeats.pop_front();
    }
    if case.memo.repeats.len() == 3 {
        let text = "the same request three times in a second".to_owned();
        case.raise(&RULE, Found { text, ..Found::default() });
    }
}
