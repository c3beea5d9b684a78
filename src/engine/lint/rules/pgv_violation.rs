//! A resource breaks a constraint of the API.
//!
//! Why: Messages of the API carry constraints (protoc-gen-validate) for checks at the client.
//! Envoy checks them and rejects the resource; gRPC does not. Constraints change between releases,
//! so the client may have others than the bundled descriptors: the finding is info until the
//! client rejects this resource for a field that breaks a constraint.
//!
//! Example:
//! ```text
//! < cds v=1 n=1 [c{connect_timeout: 0s}]
//! ```
//!
//! Advice: Check resources against the constraints of the release of the client.
//!
//! Reference: xDS protocol, "Protoc-Gen-Validate Annotations".

use std::sync::Arc;

use crate::lint::memory::track::{ConstraintFinding, MAX_RESPONSES};
use crate::lint::prelude::*;
use crate::{nack, session};
use xdscope_schema::{Violation, list_violations};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::Sym;

rule! {
    pgv-violation: Info, rows "J-01, J-02, J-05",
    ends(Ending::Content);
    checks: Response(check), Request(check_refused)
}

/// Fields with the name of a resource.
const NAME_FIELDS: [&str; 2] = ["name", "cluster_name"];
/// Resources of one response that get a finding.
const MAX_FINDINGS: usize = 16;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    // `fs-update-rejected` covers a file that breaks a constraint after a valid one.
    let is_update_of_file = ctx.is_file() && ctx.stream_state.has_valid_content;
    if ctx.options.constraints.is_none() || is_update_of_file {
        return;
    }
    let catalog = ctx.catalog();
    let mut found: Vec<(Sym, Arc<[Violation]>)> = Vec::new();
    for id in response.view.resources.blobs() {
        let name = session::key(catalog, *id);
        // `xdstp-entry-name` covers the entries of a list.
        if response.scan.collections.iter().any(|(list, _)| *list == name) {
            continue;
        }
        let Some(violations) = ctx.violations(*id) else { continue };
        // `resource-name-empty` covers an empty name.
        let is_of_name = |violation: &Violation| NAME_FIELDS.contains(&violation.path.as_str());
        let is_covered = response.scan.nameless.contains(id) && violations.iter().all(is_of_name);
        if violations.is_empty() || is_covered {
            continue;
        }
        found.push((name, violations.clone()));
        if found.len() == MAX_FINDINGS {
            break;
        }
    }
    let Some(seq) = ctx.seq else { return };
    for (name, violations) in found {
        let names = if name == Sym::EMPTY { Vec::new() } else { vec![name] };
        let constraints = if violations.len() == 1 { "a constraint" } else { "constraints" };
        let text = format!("breaks {constraints} of the API: {}", list_violations(&violations));
        let part = text.clone();
        let draft =
            FindingDraft { part: &part, guess: true, ..FindingDraft::new(Blame::Server, text, &names) };
        let Some(finding) = ctx.report(&RULE, draft) else { continue };
        if ctx.state.open_findings.constraint_findings.len() == MAX_RESPONSES {
            ctx.state.open_findings.constraint_findings.pop_front();
        }
        let finding = ConstraintFinding { seq, name, violations, finding };
        ctx.state.open_findings.constraint_findings.push_back(finding);
    }
}

/// Hardens the findings about resources that the client rejects for a field that breaks a
/// constraint.
fn check_refused(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let (Some(answered), Some(error)) = (request.outcome.answers, request.message.error_detail()) else {
        return;
    };
    let Some(sent) = ctx.state.pending(answered) else { return };
    if !request.is_nack() {
        return;
    }
    let catalog = ctx.catalog();
    let blobs = sent.list.blobs();
    let names: Vec<Arc<str>> =
        blobs.iter().map(|id| Arc::from(catalog.text(session::key(catalog, *id)))).collect();
    let is_refused = |known: &ConstraintFinding| {
        let name = catalog.text(known.name);
        let mut fields = known.violations.iter().map(|violation| &violation.path);
        fields.any(|field| nack::refuses_field(&error.message, &names, name, field))
    };
    let mut refused: Vec<(usize, Option<(Sym, BlobId)>)> = Vec::new();
    for known in ctx.state.open_findings.constraint_findings.iter().filter(|known| known.seq == answered) {
        if is_refused(known) {
            let blob = blobs.iter().copied().find(|id| session::key(catalog, *id) == known.name);
            let content = if known.name == Sym::EMPTY { None } else { blob };
            refused.push((known.finding, content.map(|blob| (known.name, blob))));
        }
    }
    for (finding, content) in refused {
        ctx.findings.harden(finding, "; the client rejected the resource");
        ctx.follow_refused(finding, answered, content);
    }
}
