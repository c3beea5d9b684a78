//! A client repeats a request.
//!
//! Why: A request that changes no names and answers no response carries no information. Three in a
//! second look like a loop.
//!
//! Example:
//! ```text
//! > eds v=1 n=a names=[foo]
//! > eds v=1 n=a names=[foo]
//! > eds v=1 n=a names=[foo]
//! ```
//!
//! Advice: Send a request when the names change or when a response needs a verdict.
//!
//! Reference: xDS protocol, "Resource updates".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "request-repeat", "E-50", include_str!("request_repeat.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Request(check)];

use std::time::Duration;

use crate::session::{MessageKind, RequestClass};

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !ctx.has_timestamps()
        || !request.has_class(RequestClass::NewestNonce)
        || request.outcome.kind != MessageKind::Repeat
        || !ctx.is_grpc()
    {
        return;
    }
    let at = ctx.at;
    ctx.state.recent_repeats.retain(|then| at.since(*then) <= Duration::from_secs(1));
    ctx.state.recent_repeats.push_back(at);
    if ctx.state.recent_repeats.len() > 3 {
        ctx.state.recent_repeats.pop_front();
    }
    if ctx.state.recent_repeats.len() == 3 {
        let text = "identical request three times in a second".to_owned();
        ctx.report(&RULE, FindingDraft { text, ..FindingDraft::default() });
    }
}
