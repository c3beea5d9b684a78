//! A wildcard for a type other than LDS and CDS.
//!
//! Why: Only listeners and clusters are published with a wildcard. Servers may answer with everything, with
//! nothing, or not at all.
//!
//! Example:
//! ```text
//! > eds names=[*]
//! ```
//!
//! Instead: ask for names.
//!
//! Protocol: "How the client specifies what resources to return"; rows E-42, L-07.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "wildcard-other-type",
    severity: Severity::Info,
    rows: "E-42, L-07",
    source: include_str!("wildcard_other_type.rs"),
    on: &[On::Request(check)],
};

use crate::engine::session::Wildcard;
use crate::wire::event::Kind;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    // Scoped routes, virtual hosts and endpoints of localities are used this way.
    let named =
        matches!(asking.track.kind, Some(Kind::Rds | Kind::Eds | Kind::Sds | Kind::Rtds | Kind::Ecds));
    let begins = asking.outcome.was == Wildcard::None && asking.track.want.is_wildcard();
    if named && begins && !asking.outcome.partial {
        let text = format!("wildcard for {}", super::label(&asking.track.type_url));
        case.raise(&RULE, Found { text, ..Found::default() });
    }
}
