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

use crate::lint::prelude::*;

rule! {
    pgv-violation: Info, rows "J-01, J-02, J-05",
    ends(Ending::Content);
    checks: Response(check), Request(refused)
}

use std::sync::Arc;

use crate::lint::memory::state::{ConstraintFinding, MAX_RESPONSES};
use crate::{nack, session};
use xdscope_schema::{Violation, list_violations};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Sym, Variant};

/// Fields with the name of a resource.
const NAME_FIELDS: [&str; 2] = ["name", "cluster_name"];
/// Resources of one response that get a finding.
const MAX_FINDINGS: usize = 16;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    // `fs-update-rejected` covers a file that breaks a constraint after a valid one.
    let is_update_of_file = ctx.stream.variant() == Some(Variant::File) && ctx.stream_state.has_valid_content;
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
        let payload = catalog.entry(*id).payload;
        let broken =
            payload.and_then(|payload| ctx.source_state.constraint_violations.get(&payload)?.clone());
        let Some(broken) = broken.filter(|broken| !broken.is_empty()) else { continue };
        // `resource-name-empty` covers an empty name.
        let is_of_name = |violation: &Violation| NAME_FIELDS.contains(&violation.path.as_str());
        if response.scan.nameless.contains(id) && broken.iter().all(is_of_name) {
            continue;
        }
        found.push((name, broken));
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
        if ctx.state.constraint_findings.len() == MAX_RESPONSES {
            ctx.state.constraint_findings.pop_front();
        }
        let finding = ConstraintFinding { seq, name, violations, finding };
        ctx.state.constraint_findings.push_back(finding);
    }
}

/// Hardens the findings about resources that the client rejects for a field that breaks a
/// constraint.
fn refused(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(answered) = request.outcome.answers.filter(|_| request.is_nack()) else { return };
    let Some(sent) = ctx.state.pending(answered) else { return };
    let Some(error) = request.message.error_detail() else { return };
    let catalog = ctx.catalog();
    let names: Vec<Arc<str>> =
        sent.list.blobs().iter().map(|id| Arc::from(catalog.text(session::key(catalog, *id)))).collect();
    let is_refused = |known: &&ConstraintFinding| {
        let name = catalog.text(known.name);
        known.seq == answered
            && known
                .violations
                .iter()
                .any(|violation| nack::refuses_field(&error.message, &names, name, &violation.path))
    };
    let contents = |name| sent.list.blobs().iter().copied().find(|id| session::key(catalog, *id) == name);
    let refused = ctx.state.constraint_findings.iter().filter(is_refused);
    let refused: Vec<(usize, Sym, Option<BlobId>)> =
        refused.map(|known| (known.finding, known.name, contents(known.name))).collect();
    for (finding, name, content) in refused {
        ctx.findings.harden(finding, "; the client rejected the resource");
        let content = content.filter(|_| name != Sym::EMPTY).map(|content| (name, content));
        ctx.follow_refused(finding, answered, content);
    }
}
