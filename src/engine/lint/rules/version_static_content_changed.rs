//! Content changed, and the version did not.
//!
//! Why: The version of a type changes whenever any resource of it changes. A client may skip what has the
//! version that it holds, and after a reconnect it gets nothing new. Over different streams of a server it is a
//! warning: there may be several servers behind it.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=1 n=a [foo]
//! > eds v=1 n=a names=[foo]
//! < eds v=1 n=b [foo~2]
//! ```
//!
//! Instead: derive the version from the content, or count it up with each change.
//!
//! Protocol: "Resource versions"; rows E-15, L-04.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "version-static-content-changed",
    severity: Severity::Error,
    rows: "E-15, L-04",
    source: include_str!("version_static_content_changed.rs"),
    on: &[On::Response(check)],
};

use crate::engine::session::{Presence, ResourceEntry};
use crate::wire::Profile;
use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.view.is_delta || answer.view.version.is_empty() {
        return;
    }
    let bare = |name: &&Sym| !answer.scan.wrapped.contains(*name);
    let mut names: Vec<Sym> = answer.outcome.rewritten.iter().filter(bare).copied().collect();
    let before = case.memo.previous.as_ref().filter(|_| answer.full() && !answer.heartbeat() && case.whole());
    if before.is_some_and(|before| before.version == *answer.view.version) && !case.memo.changed_since {
        // A name asked for lately is the answer to that, though another response, to what was asked before, came first.
        let lately = |at| case.at.since(at) < case.options.timers.answer;
        let asked = case.memo.added_at.is_some_and(lately);
        let late = |name: &&Sym| !(asked && answer.track.want.names.contains(**name));
        names.extend(answer.outcome.added.iter().filter(late).chain(&answer.outcome.removed));
    }
    raise(case, answer, &names, None);
    if case.profile() != Profile::P002 {
        let names: Vec<_> =
            before_it(case, answer).into_iter().filter(|name| !names.contains(name)).collect();
        raise(case, answer, &names, Some(Severity::Warn));
    }
}

fn raise(
    case: &mut RuleContext<'_>,
    answer: &ResponseContext<'_>,
    names: &[Sym],
    severity: Option<Severity>,
) {
    if names.is_empty() {
        return;
    }
    let text = match severity {
        None => format!("content changed, version {} did not", answer.view.version),
        Some(_) => format!("version {} had other content on the stream before", answer.view.version),
    };
    let evidence: Vec<_> = case.memo.previous.iter().map(|before| before.seq).collect();
    let blame = Blame::Server;
    case.raise(&RULE, Found { blame, text, names, evidence: &evidence, severity, ..Found::default() });
}

/// Names that the stream before was sent at this version with other content.
fn before_it(case: &RuleContext<'_>, answer: &ResponseContext<'_>) -> Vec<Sym> {
    let Some(prior) = case.prior(&answer.track.type_url) else { return Vec::new() };
    let catalog = case.catalog();
    let slot = |track: &crate::engine::session::Track, name| track.sent.get(catalog, name);
    let other = |name: &&Sym| {
        let was: Option<ResourceEntry> = slot(prior, **name).filter(|was| was.state == Presence::Present);
        let is = slot(answer.track, **name);
        was.zip(is).is_some_and(|(was, is)| {
            let content = |slot: &ResourceEntry| slot.blob.map(|blob| catalog.entry(blob));
            let (a, b) = (content(&was), content(&is));
            let differ = a.and_then(|a| a.payload) != b.and_then(|b| b.payload);
            was.version == is.version && differ && !b.is_some_and(|b| b.wrapped)
        })
    };
    answer.outcome.added.iter().chain(&answer.outcome.changed).filter(other).copied().collect()
}
