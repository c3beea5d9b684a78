//! A name that begins as a structured one and has not its form.
//!
//! Why: `xdstp://AUTHORITY/TYPE/ID` needs a type and an id; clients and servers refuse what they can't read.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a"]
//! ```
//!
//! Instead: write authority, type and id; the authority may be empty.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-02.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-malformed",
    severity: Severity::Error,
    rows: "K-02",
    source: include_str!("xdstp_malformed.rs"),
    on: &[On::Request(asked), On::Response(answered)],
};

use crate::engine::session::{Name, is_structured};
use crate::wire::event::Sym;

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    check(case, Blame::Client, asking.outcome.added.iter().copied());
}

fn answered(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let catalog = case.catalog();
    check(case, Blame::Server, answer.scan.structured.iter().map(|id| catalog.entry(*id).name));
}

fn check(case: &mut RuleContext<'_>, blame: Blame, names: impl Iterator<Item = Sym>) {
    let bad = |text: &str| is_structured(text) && Name::parse(text).is_none();
    let names: Vec<_> = names.filter(|name| bad(case.text(*name))).collect();
    if !names.is_empty() {
        let text = "not of the form xdstp://AUTHORITY/TYPE/ID".to_owned();
        case.raise(&RULE, Found { blame, text, names: &names, ..Found::default() });
    }
}
