//! The wildcard is given up by a list of names without `*`.
//!
//! Why: A list without `*` means these names and no others. Older servers ignore the names and stay with the
//! wildcard.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [A B]
//! > cds v=1 n=a names=[A]
//! ```
//!
//! Instead: add `*` to keep the wildcard; open a new stream to leave it with old servers.
//!
//! Protocol: "How the client specifies what resources to return"; rows E-41, L-06.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "wildcard-dropped-by-names",
    severity: Severity::Info,
    rows: "E-41, L-06",
    source: include_str!("wildcard_dropped_by_names.rs"),
    on: &[On::Request(check)],
};

use crate::session::Wildcard;

fn check(case: &mut Case<'_>, asking: &Asking<'_>) {
    let Some(request) = asking.sotw().filter(|request| !request.resource_names.is_empty()) else { return };
    let was = asking.outcome.was != Wildcard::None && !asking.outcome.first;
    if was && !asking.track.want.is_wildcard() {
        let text = "names without `*` end the wildcard".to_owned();
        case.raise(&RULE, Found { text, names: &request.resource_names, ..Found::default() });
    }
}
