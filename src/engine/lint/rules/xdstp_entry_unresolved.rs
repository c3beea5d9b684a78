//! A reference selects an inline entry that the list does not have.
//!
//! Why: `collection#entry=NAME`, in a locator or in a field of a resource, refers to an entry of
//! the delivered list. The list has no entry of that name.
//!
//! Example:
//! ```text
//! < n=1 ["xdstp://a/T/x"=>"xdstp://a/TCollection/c#entry=nobody"@1]
//! ```
//!
//! Advice: Refer to existing entries. Entries without a name cannot be referred to.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use std::collections::{BTreeSet, HashMap, HashSet};
use std::iter::once;

use super::support::{and_more, inline_names, locators, new_names_with_payload, sort_unique, type_label};
use crate::lint::findings::finding::Finding;
use crate::lint::memory::entry_references::{EntryReference, SentResource};
use crate::lint::memory::structured_contents::hash;
use crate::lint::prelude::*;
use crate::lint::structured::{self, ListEntry};
use crate::session::{ResourceEntry, SymSet, Track, key};
use xdscope_wire::event::Sym;
use xdscope_wire::text::shown_name;
use xdscope_wire::xdstp::Name;

rule! {
    xdstp-entry-unresolved: Warn, rows "K-15",
    ends(Ending::Content);
    checks: Response(check), Request(forget_unsubscribed), Close(forget_stream), ClientFault(has_fault)
}

/// Hashes of the names of the entries in lists, by the hash of the list; `None` for a list that
/// the client does not have.
type Lists = HashMap<u64, Option<HashSet<u64>>>;

/// A reference in a response, with the canonical name of its list.
type NewReference = (EntryReference, String);

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(track) = ctx.track_index else { return };
    let (place, client) = ((ctx.stream_index, track), ctx.client());
    let names: SymSet = replaced(ctx, response).collect();
    ctx.source_state.entry_references.forget(&client, place, &names);
    let delivered = delivered_lists(ctx, response);
    let mut lists = entries_of(response, &delivered);
    let mut own: Vec<EntryReference> = Vec::new();
    let mut of_others: Vec<EntryReference> = Vec::new();
    for (reference, is_unresolved) in ctx.source_state.entry_references.of_client(&client) {
        if !lists.contains_key(&reference.list) {
            continue;
        }
        *is_unresolved = lacks(&lists, reference);
        if *is_unresolved {
            let list = if reference.resource.place == place { &mut own } else { &mut of_others };
            list.push(reference.clone());
        }
    }
    for (reference, list) in new_references(ctx, response, place) {
        lists.entry(reference.list).or_insert_with(|| sent_list(ctx, response.track, &list));
        let is_unresolved = lacks(&lists, &reference);
        if is_unresolved {
            own.push(reference.clone());
        }
        ctx.source_state.entry_references.insert(&client, reference, is_unresolved);
    }
    if !own.is_empty() {
        let mut names: Vec<Sym> = own.iter().map(|reference| reference.resource.name).collect();
        sort_unique(&mut names);
        let text = refers_to(&own);
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
    report_lists(ctx, &delivered, &of_others);
}

/// Returns `refers to an entry that the list does not have: nobody`.
fn refers_to(references: &[EntryReference]) -> String {
    let entries: BTreeSet<&str> = references.iter().map(|reference| &*reference.entry).collect();
    let first = entries.first().map_or("", |entry| *entry);
    let more = and_more(entries.len() - 1);
    format!("refers to an entry that the list does not have: {}{more}", shown_name(first))
}

/// Reports lists without an entry to which resources of other types refer.
fn report_lists(ctx: &mut RuleContext<'_>, delivered: &HashMap<u64, Sym>, references: &[EntryReference]) {
    let Some(first) = references.first() else { return };
    let lists = references.iter().filter_map(|reference| delivered.get(&reference.list).copied());
    let mut names: Vec<Sym> = lists.collect();
    sort_unique(&mut names);
    let (stream, track) = first.resource.place;
    let track = ctx.store.engine().streams().get(stream).and_then(|stream| stream.tracks.get(track));
    let label = track.map_or("", |track| type_label(&track.type_url));
    let more = and_more(references.len() - 1);
    let text =
        format!("{label} {}{more}: {}", shown_name(ctx.text(first.resource.name)), refers_to(references));
    ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
}

/// Forgets the references of resources that the client gives up, and the lists among them.
fn forget_unsubscribed(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let (Some(track), client) = (ctx.track_index, ctx.client()) else { return };
    if request.outcome.removed.is_empty() || !ctx.source_state.entry_references.has_client(&client) {
        return;
    }
    let catalog = ctx.catalog();
    let is_wanted = |name: Sym| {
        let entry = request.track.sent.get(catalog, name);
        request.track.covers(catalog, name, entry.as_ref())
    };
    let names: SymSet = request.outcome.removed.iter().copied().filter(|name| !is_wanted(*name)).collect();
    let lists: HashSet<u64> = names.iter().filter_map(|name| list_hash(ctx.text(*name))).collect();
    let known = &mut ctx.source_state.entry_references;
    known.forget(&client, (ctx.stream_index, track), &names);
    for (reference, is_unresolved) in known.of_client(&client) {
        *is_unresolved &= !lists.contains(&reference.list);
    }
}

fn forget_stream(ctx: &mut RuleContext<'_>) {
    let client = ctx.client();
    ctx.source_state.entry_references.end_stream(&client, ctx.stream_index);
}

/// Whether a resource of the finding refers to an entry that its list does not have, or a list of
/// the finding lacks an entry to which a resource refers.
fn has_fault(ctx: &RuleContext<'_>, finding: &Finding) -> bool {
    let client = ctx.client();
    let lists: HashSet<u64> = finding.names.iter().filter_map(|name| list_hash(name)).collect();
    let is_of_finding = |resource: Sym| finding.names.iter().any(|name| **name == *ctx.text(resource));
    let mut unresolved = ctx.source_state.entry_references.unresolved(&client);
    unresolved.any(|reference| lists.contains(&reference.list) || is_of_finding(reference.resource.name))
}

/// Whether the client has the list of a reference, and the list lacks the entry.
fn lacks(lists: &Lists, reference: &EntryReference) -> bool {
    let entries = lists.get(&reference.list).and_then(Option::as_ref);
    entries.is_some_and(|entries| !entries.contains(&hash(&*reference.entry)))
}

/// Returns the hash of the canonical form of a structured name.
fn list_hash(name: &str) -> Option<u64> {
    Name::parse(name).map(|name| hash(name.canonical()))
}

/// Returns the resources whose references a response replaces or removes.
fn replaced(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> impl Iterator<Item = Sym> {
    let (catalog, outcome) = (ctx.catalog(), response.outcome);
    let is_known = ctx.source_state.entry_references.has_client(&ctx.client());
    let sent = response.scan.structured.iter().map(move |id| key(catalog, *id));
    let changed = outcome.changed.iter().chain(&outcome.removed).chain(response.view.removed).copied();
    sent.chain(changed).filter(move |_| is_known)
}

/// Returns the lists that a response delivers or removes, by the hash of their names.
fn delivered_lists(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> HashMap<u64, Sym> {
    let sent = response.scan.collections.iter().map(|(list, _)| *list);
    let names = sent.chain(response.outcome.removed.iter().copied());
    names.filter_map(|list| Some((list_hash(ctx.text(list))?, list))).collect()
}

/// Returns the entries of the lists that a response delivers; `None` for those that it removes.
fn entries_of(response: &ResponseContext<'_>, delivered: &HashMap<u64, Sym>) -> Lists {
    let entries = |list: Sym| {
        let mut sent = response.scan.collections.iter().filter(|(name, _)| *name == list);
        sent.next_back().map(|(_, entries)| names_of(entries))
    };
    delivered.iter().map(|(hash, list)| (*hash, entries(*list))).collect()
}

/// Returns the references to entries of lists in a response: those of redirects and lists, and of
/// fields of resources.
fn new_references(
    ctx: &RuleContext<'_>,
    response: &ResponseContext<'_>,
    place: (usize, usize),
) -> Vec<NewReference> {
    let mut found: Vec<NewReference> = Vec::new();
    let mut add = |name: Sym, list: String, entry: &str| {
        let resource = SentResource { place, name };
        found.push((EntryReference { resource, list: hash(list.as_str()), entry: entry.into() }, list));
    };
    let redirects = response.scan.redirects.iter().map(|(name, locator)| (*name, locator));
    let lists = response.scan.collections.iter();
    let members = lists.flat_map(|(name, entries)| locators(entries).map(move |locator| (*name, locator)));
    for (name, locator) in redirects.chain(members) {
        if let Some(entry) = locator.entry() {
            add(name, locator.target(), &entry);
        }
    }
    let names = new_names_with_payload(ctx, response, &ctx.source_state.graphs.with_entries);
    for (name, refs) in ctx.references_of(response.track, &names) {
        for to in refs.iter().filter(|to| to.entry != Sym::EMPTY) {
            add(name, ctx.text(to.name).to_owned(), ctx.text(to.entry));
        }
    }
    found
}

fn names_of(entries: &[ListEntry]) -> HashSet<u64> {
    inline_names(entries).map(hash).collect()
}

/// Returns the entries of a list that the client was sent before, on any of its streams.
fn sent_list(ctx: &RuleContext<'_>, own: &Track, list: &str) -> Option<HashSet<u64>> {
    let catalog = ctx.catalog();
    let list = catalog.first_spelling(catalog.strings().find(list)?);
    let open = ctx.store.engine().open_of_client(ctx.stream)?;
    let tracks = once(own).chain(open.flat_map(|(_, stream)| stream.known_tracks()));
    let sent = |track: &Track| track.sent.get(catalog, list).filter(ResourceEntry::is_present)?.blob;
    let payload = tracks.filter_map(sent).find_map(|blob| catalog.entry(blob).payload)?;
    let bytes = catalog.bytes(payload)?;
    Some(names_of(&structured::entries(structured::value(&bytes))))
}
