//! A message on an aggregated stream without a type URL.
//!
//! Why: On ADS the type URL tells which conversation a message belongs to. In delta it may be left out if all
//! names are structured ones, which say it themselves.
//!
//! Example:
//! ```text
//! stream 1 ads
//! > type=""
//! ```
//!
//! Instead: fill `type_url` in every message on ADS.
//!
//! Protocol: "Aggregated Discovery Service"; row I-02.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ads-type-url-missing",
    severity: Severity::Error,
    rows: "I-02",
    source: include_str!("ads_type_url_missing.rs"),
    on: &[On::Message(check)],
};

use crate::wire::Body;

fn check(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    let readable = super::super::undecodable(message).is_none();
    if !case.is_aggregated() || !message.type_url().is_empty() || !readable {
        return;
    }
    let structured = match &message.body {
        Body::DeltaRequest(m) => {
            let mut names = m.subscribe.iter().chain(m.unsubscribe.iter()).peekable();
            names.peek().is_some() && names.all(|name| case.text(*name).starts_with("xdstp:"))
        }
        _ => false,
    };
    let severity = structured.then_some(Severity::Info);
    let text = "message on an aggregated stream without a type URL".to_owned();
    case.raise(&RULE, Found { blame: super::sender(message), text, severity, ..Found::default() });
}
