//! A resource breaks a constraint of the API.
//!
//! Why: Messages of the API carry constraints (protoc-gen-validate) for checks at the client.
//! Envoy checks them and rejects the resource; gRPC does not. Constraints change between releases,
//! so the client may have others than the bundled descriptors: the finding is info until the
//! client rejects the resource.
//!
//! Example:
//! ```text
//! < cds v=1 n=1 [c{connect_timeout: 0s}]
//! ```
//!
//! Advice: Check resources against the constraints of the release of the client.
//!
//! Reference: xDS protocol, "Protoc-Gen-Validate Annotations".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "pgv-violation", "J-01, J-02, J-05", include_str!("pgv_violation.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check), Check::Request(refused)];

use super::super::state::MAX_RESPONSES;
use crate::wire::event::Sym;

/// Resources of one response that get a finding.
const MAX_FINDINGS: usize = 16;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if ctx.options.constraints.is_none() {
        return;
    }
    let catalog = ctx.catalog();
    let mut found: Vec<(Sym, String)> = Vec::new();
    for id in response.view.resources.blobs() {
        let name = crate::engine::session::key(catalog, *id);
        // `xdstp-entry-name` covers the entries of a list.
        if response.scan.collections.iter().any(|(list, _)| *list == name) {
            continue;
        }
        let payload = catalog.entry(*id).payload;
        let broken =
            payload.and_then(|payload| ctx.source_state.constraint_violations.get(&payload)?.clone());
        let Some([first, rest @ ..]) = broken.as_deref() else { continue };
        let more = if rest.is_empty() { String::new() } else { format!("; and {} more", rest.len()) };
        found.push((name, format!("{first}{more}")));
        if found.len() == MAX_FINDINGS {
            break;
        }
    }
    let Some(seq) = ctx.seq else { return };
    for (name, text) in found {
        let names = if name == Sym::EMPTY { Vec::new() } else { vec![name] };
        let text = format!("breaks a constraint of the API: {text}");
        let part = text.clone();
        let draft =
            FindingDraft { part: &part, guess: true, ..FindingDraft::new(Blame::Server, text, &names) };
        let Some(finding) = ctx.report(&RULE, draft) else { continue };
        if ctx.state.constraint_findings.len() == MAX_RESPONSES {
            ctx.state.constraint_findings.pop_front();
        }
        ctx.state.constraint_findings.push_back((seq, finding));
    }
}

/// Hardens the findings of a response that the client rejects.
fn refused(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(answered) = request.outcome.answers.filter(|_| request.is_nack()) else { return };
    for (_, finding) in ctx.state.constraint_findings.iter().filter(|(seq, _)| *seq == answered) {
        ctx.findings.harden(*finding, "; the client rejected the resource");
    }
}
