//! A virtual host is asked for by a name without a slash.
//!
//! Why: Names of virtual hosts are the name of the route configuration, a slash, and the host. A server can't
//! find one by another name.
//!
//! Example:
//! ```text
//! stream 1 delta vhds
//! > sub=[foo.com]
//! ```
//!
//! Instead: subscribe to ROUTE_CONFIGURATION/HOST.
//!
//! Protocol: "Virtual Host Discovery Service"; row A-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "vhds-name-form",
    severity: Severity::Info,
    rows: "A-05",
    source: include_str!("vhds_name_form.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if asking.track.kind != Some(crate::wire::event::Kind::Vhds) {
        return;
    }
    let plain = |name: &crate::wire::event::Sym| {
        let text = case.text(*name);
        text != "*" && !text.starts_with("xdstp:") && !text.contains('/')
    };
    let names: Vec<_> = asking.outcome.added.iter().copied().filter(plain).collect();
    if !names.is_empty() {
        let text = "virtual host asked for by a name without ROUTE_CONFIGURATION/".to_owned();
        case.raise(&RULE, Found { text, names: &names, ..Found::default() });
    }
}
