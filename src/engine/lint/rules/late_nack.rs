//! A client rejects a response that it has accepted.
//!
//! Why: A response gets one verdict. A server that goes by the last request counts the response as
//! rejected, a server that goes by the first counts it as accepted; xdscope goes by the first.
//!
//! Example:
//! ```text
//! < cds v=2 n=b [reviews]
//! > cds v=2 n=b
//! > cds v=1 n=b nack="connect_timeout: value must be greater than 0s"
//! ```
//!
//! Advice: Send the verdict once the resources are validated, and only once.
//!
//! Reference: xDS protocol, "ACK and NACK semantics summary".

use crate::lint::prelude::*;
use crate::session::Status;

rule! {
    late-nack: Warn, rows "E-04, E-21, F-05",
    ends(Ending::Message(CorrectMessage::Ack));
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(rejected) = request.outcome.referenced else { return };
    if rejected.was != Status::Acked || !request.outcome.is_late_nack() {
        return;
    }
    let response = request.track.responses.get(rejected.order);
    let accepted_in = response.and_then(|response| response.settled_by);
    let place = accepted_in.map(|seq| format!(" in #{}", seq.0)).unwrap_or_default();
    let message = request.error().map_or("", |error| error.message.trim());
    let colon = if message.is_empty() { "" } else { ": " };
    let text = format!("rejects the response #{}, which it accepted{place}{colon}{message}", rejected.seq.0);
    let evidence: Vec<_> = [rejected.seq].into_iter().chain(accepted_in).collect();
    ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).evidence(&evidence));
}
