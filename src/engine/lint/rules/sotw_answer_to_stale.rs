//! A response that repeats the one before it, and answers nothing but stale requests.
//!
//! Why: A server should not answer a request with a stale nonce: the client has said nothing yet of the newer
//! response.
//!
//! Example:
//! ```text
//! < eds v=Y n=B [foo bar]
//! > eds v=X n=A names=[foo bar]
//! < eds v=Y n=B2 [foo bar]
//! ```
//!
//! Instead: ignore requests until one bears the newest nonce.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row E-12.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "sotw-answer-to-stale",
    severity: Severity::Warn,
    rows: "E-12",
    source: include_str!("sotw_answer_to_stale.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let stale = case.memo.stale_since > 0 && case.memo.stale_since == case.memo.requests_since;
    if stale && super::sotw_needless_update::repeats(case, answer) {
        let evidence: Vec<_> = case.memo.previous.iter().map(|before| before.seq).collect();
        let text = format!("version {} sent again in answer to a stale request", answer.view.version);
        case.raise(&RULE, Found { blame: Blame::Server, text, evidence: &evidence, ..Found::default() });
    }
}
