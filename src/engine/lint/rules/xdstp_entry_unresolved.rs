//! A locator refers to an inline entry that the list does not have.
//!
//! Why: `collection#entry=NAME` refers to an entry of the delivered list. The list has no entry of
//! that name.
//!
//! Example:
//! ```text
//! < n=1 ["xdstp://a/T/x"=>"xdstp://a/TCollection/c#entry=nobody"@1]
//! ```
//!
//! Advice: Refer to existing entries. Entries without a name cannot be referred to.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "xdstp-entry-unresolved", "K-15", include_str!("xdstp_entry_unresolved.rs"))
        .ends(Ending::Content);

pub(super) static CHECKS: &[Check] = &[Check::Response(check), Check::Fault(has_fault)];

use std::collections::{HashMap, HashSet};

use super::super::structured::{self, ListEntry, Locator};
use crate::lint::findings::finding::Finding;
use crate::lint::memory::state::{EntryReference, MAX_NAMES};
use crate::lint::memory::structured_contents::hash;
use crate::session::{SymSet, Track, key};
use xdscope_wire::event::Sym;
use xdscope_wire::xdstp::Name;

/// Hashes of the names of the entries in lists, by the hash of the list; `None` for a list that
/// was not sent.
type Lists = HashMap<u64, Option<HashSet<u64>>>;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.structured.is_empty() {
        return;
    }
    let mut lists = Lists::new();
    for (list, entries) in &response.scan.collections {
        if let Some(list) = Name::parse(ctx.text(*list)) {
            lists.insert(hash(list.canonical()), Some(names_of(entries)));
        }
    }
    forget_references(ctx, response);
    let mut names: Vec<Sym> = Vec::new();
    if !lists.is_empty() {
        let known = ctx.state.entry_references.iter_mut();
        for (reference, is_unresolved) in known.filter(|(reference, _)| lists.contains_key(&reference.list)) {
            *is_unresolved = lacks(&lists, reference);
            names.extend(is_unresolved.then_some(reference.of));
        }
    }
    for (reference, locator) in references(response) {
        lists.entry(reference.list).or_insert_with(|| sent_list(ctx, response, &locator.target()));
        let is_unresolved = lacks(&lists, &reference);
        names.extend(is_unresolved.then_some(reference.of));
        if ctx.state.entry_references.len() < MAX_NAMES {
            ctx.state.entry_references.insert(reference, is_unresolved);
        }
    }
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        let text = "refers to an entry that the list does not have".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}

/// Whether a resource of the finding still refers to an entry that its list does not have.
fn has_fault(ctx: &RuleContext<'_>, _: &Track, finding: &Finding) -> bool {
    let is_of_finding = |of: Sym| finding.names.iter().any(|name| **name == *ctx.text(of));
    let mut references = ctx.state.entry_references.iter();
    references.any(|(reference, is_unresolved)| *is_unresolved && is_of_finding(reference.of))
}

/// Whether the list of a reference was sent, and lacks the entry.
fn lacks(lists: &Lists, reference: &EntryReference) -> bool {
    let entries = lists.get(&reference.list).and_then(Option::as_ref);
    entries.is_some_and(|entries| !entries.contains(&reference.entry))
}

/// Forgets the references of the resources that a response replaces or removes.
fn forget_references(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if ctx.state.entry_references.is_empty() {
        return;
    }
    let catalog = ctx.catalog();
    let sent = response.scan.structured.iter().map(|id| key(catalog, *id));
    let replaced: SymSet = sent.chain(response.view.removed.iter().copied()).collect();
    ctx.state.entry_references.retain(|reference, _| !replaced.contains(&reference.of));
}

/// Returns the references to entries of lists in a response.
fn references<'a>(response: &'a ResponseContext<'_>) -> impl Iterator<Item = (EntryReference, &'a Locator)> {
    let redirects = response.scan.redirects.iter().map(|(of, locator)| (*of, locator));
    let lists = response.scan.collections.iter().flat_map(|(of, entries)| {
        entries.iter().filter_map(|entry| match entry {
            ListEntry::Locator(locator) => Some((*of, locator)),
            _ => None,
        })
    });
    redirects.chain(lists).filter_map(|(of, locator)| {
        let entry = hash(locator.entry()?.as_str());
        Some((EntryReference { of, list: hash(locator.target()), entry }, locator))
    })
}

fn names_of(entries: &[ListEntry]) -> HashSet<u64> {
    super::support::inline_names(entries).map(hash).collect()
}

/// Returns the entries of a list that was sent before.
fn sent_list(ctx: &RuleContext<'_>, response: &ResponseContext<'_>, list: &str) -> Option<HashSet<u64>> {
    let catalog = ctx.catalog();
    let list = catalog.first_spelling(catalog.strings().find(list)?);
    let slot = response.track.sent.get(catalog, list).filter(|slot| slot.is_present())?;
    let payload = catalog.entry(slot.blob?).payload?;
    let bytes = catalog.bytes(payload)?;
    Some(names_of(&structured::entries(structured::value(&bytes))))
}
