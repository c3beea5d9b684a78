//! A resource breaks a constraint that the API states.
//!
//! Why: Messages of the API carry constraints (protoc-gen-validate) for checks at the client. Envoy checks them and refuses
//! the resource; gRPC does not check. Constraints change between releases, so the client may hold others than these
//! descriptors: a note, until the client refuses the resource.
//!
//! Example:
//! ```text
//! < cds v=1 n=1 [c{connect_timeout: 0s}]
//! ```
//!
//! Instead: hold what is sent against the constraints, at the release of the client.
//!
//! Protocol: "xDS API validation"; rows J-01, J-02, J-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "pgv-violation",
    severity: Severity::Info,
    rows: "J-01, J-02, J-05",
    source: include_str!("pgv_violation.rs"),
    on: &[On::Response(check), On::Request(refused)],
};

use super::super::memo::RESPONSES;
use crate::wire::event::Sym;

/// Resources of one response that get a finding of their own; the rest are counted with the last.
const MOST: usize = 16;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if case.options.constraints.is_none() {
        return;
    }
    let catalog = case.catalog();
    let mut found: Vec<(Sym, String)> = Vec::new();
    for id in answer.view.resources.blobs() {
        let name = crate::engine::session::key(catalog, *id);
        // The names of a list's entries have a rule of their own (row K-14).
        if answer.scan.collections.iter().any(|(list, _)| *list == name) {
            continue;
        }
        let payload = catalog.entry(*id).payload;
        let broken = payload.and_then(|payload| case.world.broken.get(&payload)?.clone());
        let Some([first, rest @ ..]) = broken.as_deref() else { continue };
        let more = if rest.is_empty() { String::new() } else { format!("; and {} more", rest.len()) };
        found.push((name, format!("{first}{more}")));
        if found.len() == MOST {
            break;
        }
    }
    let Some(seq) = case.seq else { return };
    for (name, text) in found {
        let names = if name == Sym::EMPTY { Vec::new() } else { vec![name] };
        let text = format!("breaks a constraint of the API: {text}");
        let part = text.clone();
        let found =
            Found { blame: Blame::Server, text, names: &names, part: &part, guess: true, ..Found::default() };
        let Some(finding) = case.raise(&RULE, found) else { continue };
        if case.memo.broken.len() == RESPONSES {
            case.memo.broken.pop_front();
        }
        case.memo.broken.push_back((seq, finding));
    }
}

/// The client refuses the response: now it does harm.
fn refused(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(answered) = asking.outcome.answers.filter(|_| asking.refuses()) else { return };
    for (_, finding) in case.memo.broken.iter().filter(|(seq, _)| *seq == answered) {
        case.findings.harden(*finding, "; the client refused it");
    }
}
