//! A client writes the JSON of its polls with the field names of the .proto files.
//!
//! Why: The proto3 JSON mapping writes `versionInfo`; readers must take `version_info` too, but not every server uses a
//! protobuf library.
//!
//! Example:
//! ```text
//! POST /v3/discovery:clusters
//! {"version_info": "1"}
//! ```
//!
//! Instead: write JSON names; read both.
//!
//! Protocol: "REST-JSON polling subscriptions"; row D-04.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "rest-noncanonical",
    severity: Severity::Info,
    rows: "D-04",
    source: include_str!("rest_noncanonical.rs"),
    on: &[On::Open(check)],
};

use crate::wire::Open;
use crate::wire::event::Variant;

fn check(case: &mut RuleContext<'_>) {
    let polls = case.stream.variant() == Some(Variant::Rest);
    if polls && case.stream.open.fact(Open::JSON_NAMES) == Some("proto") {
        let text = "writes field names as in the .proto files".to_owned();
        case.raise(&RULE, Found { text, ..Found::default() });
    }
}
