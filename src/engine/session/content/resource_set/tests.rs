//! Resource sets compared with a plain map.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::session::content::compare::hollow;
use crate::session::content::responses::Order;
use xdscope_wire::content::List;
use xdscope_wire::event::{ApiVersion, Kind};
use xdscope_wire::pb::put_len_field;

#[derive(Clone, Debug)]
enum Op {
    Full(Vec<(u16, u8)>),
    Partial(Vec<(u16, u8)>),
    Remove(u16),
    Accept,
}

fn items(max: usize) -> impl Strategy<Value = Vec<(u16, u8)>> {
    // In order, shuffled, with repeats; many unchanged from one list to the next.
    let content = prop_oneof![8 => Just(0u8), 1 => 0..3u8];
    let list = prop::collection::vec((0..200u16, content), 0..max);
    (list, any::<bool>()).prop_map(|(mut list, sorted)| {
        if sorted {
            list.sort_by_key(|(name, _)| *name);
        }
        list
    })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        items(250).prop_map(Op::Full),
        items(20).prop_map(Op::Partial),
        items(250).prop_map(Op::Partial),
        (0..200u16).prop_map(Op::Remove),
        Just(Op::Accept),
    ]
}

fn list(catalog: &mut Catalog, items: &[(u16, u8)]) -> Arc<List> {
    let url = Kind::Cds.type_url(ApiVersion::V3).unwrap();
    let blobs = items.iter().map(|(name, content)| {
        let (mut cluster, mut any) = (Vec::new(), Vec::new());
        put_len_field(&mut cluster, 1, format!("c{name}").as_bytes());
        put_len_field(&mut cluster, 28, &[*content]);
        put_len_field(&mut any, 1, url.as_str().as_bytes());
        put_len_field(&mut any, 2, &cluster);
        catalog.intern_entry(&any, false, None)
    });
    let blobs = blobs.collect();
    catalog.intern_list(blobs)
}

type Model = BTreeMap<u16, (u8, String)>;

/// The contents of a set as a plain map. Checks the invariants of the set.
fn seen(catalog: &Catalog, set: &ResourceSet) -> Model {
    check_invariants(catalog, set);
    let mut out = Model::new();
    for (name, entry) in set.entries(catalog) {
        assert_eq!(set.get(catalog, name), Some(entry), "{}", catalog.text(name));
        if entry.is_present() {
            let number = catalog.text(name)[1..].parse().unwrap();
            let body = catalog.bytes(entry.blob.unwrap()).unwrap();
            let was = out.insert(number, (*body.last().unwrap(), catalog.text(entry.version).to_owned()));
            assert!(was.is_none(), "{number} twice");
        }
    }
    assert_eq!(set.count(), out.len());
    out
}

/// Checks the invariants that the module lists.
fn check_invariants(catalog: &Catalog, set: &ResourceSet) {
    let base = set.base.as_ref();
    let entries = base.map_or(&[][..], |base| base.list.blobs());
    let keys: BTreeSet<Sym> = entries.iter().map(|id| key(catalog, *id)).collect();
    assert_eq!(keys.len(), entries.len(), "repeated key in base");
    assert!(entries.iter().all(|id| !hollow(catalog, *id)), "entry without payload in base");
    assert!(!keys.contains(&Sym::EMPTY) && !set.patch.contains_key(&Sym::EMPTY), "empty name as key");
    if let Some(base) = base {
        assert!(matches!(base.state, Presence::Present | Presence::Kept), "{:?}", base.state);
        assert!(base.versions.as_ref().is_none_or(|versions| versions.len() == entries.len()));
    }
    let differs = |(name, entry): &(&Sym, &ResourceEntry)| entry.is_present() || keys.contains(*name);
    assert!(set.dirty >= set.patch.iter().filter(differs).count(), "dirty is too small");
    if set.dirty == 0 {
        assert_eq!(set.count, entries.len(), "clean set differs from base");
    }
}

fn texts(catalog: &Catalog, names: &[Sym]) -> BTreeSet<u16> {
    let set: BTreeSet<u16> = names.iter().map(|name| catalog.text(*name)[1..].parse().unwrap()).collect();
    assert_eq!(set.len(), names.len(), "named once");
    set
}

#[test]
fn keeps_resource_until_removal_is_acknowledged() {
    let large = (1..10).map(|name| (name, 0)).collect();
    check(&[Op::Partial(vec![(0, 0)]), Op::Accept, Op::Full(vec![]), Op::Partial(large), Op::Accept])
        .unwrap();
}

proptest! {
    #[test]
    fn matches_plain_map(ops in prop::collection::vec(op(), 1..25)) {
        check(&ops)?;
    }
}

/// Returns the visits for each name, while this many names are added by responses of `step` names,
/// and accepted.
fn visits_per_name(names: usize, step: usize, removed: usize) -> u64 {
    let mut catalog = Catalog::in_memory();
    let (mut sent, mut accepted) = (ResourceSet::default(), ResourceSet::default());
    let before = visits::total();
    for (order, first) in (1..).zip((0..names).step_by(step)) {
        let url = Kind::Cds.type_url(ApiVersion::V3).expect("a type");
        let blobs = (first..first + step).map(|name| {
            let (mut cluster, mut any) = (Vec::new(), Vec::new());
            put_len_field(&mut cluster, 1, format!("c{name}").as_bytes());
            put_len_field(&mut any, 1, url.as_str().as_bytes());
            put_len_field(&mut any, 2, &cluster);
            catalog.intern_entry(&any, false, None)
        });
        let blobs = blobs.collect();
        let list = catalog.intern_list(blobs);
        let version = catalog.intern(&format!("v{order}"));
        let incoming = IncomingResponse { list: &list, version, order };
        let change = sent.apply_partial(&mut catalog, None, incoming);
        assert_eq!(change.added.len(), step);
        accepted.accept(&mut catalog, &sent, incoming, false);
        for old in first.saturating_sub(step)..first.saturating_sub(step) + removed.min(first) {
            let name = catalog.intern(&format!("c{old}"));
            let entry = ResourceEntry { state: Presence::Removed, blob: None, version, order };
            sent.put(&mut catalog, name, entry);
            accepted.put(&mut catalog, name, entry);
        }
    }
    if removed == 0 {
        assert_eq!((sent.count(), accepted.count()), (names, names));
        check_invariants(&catalog, &sent);
    }
    (visits::total() - before) / names as u64
}

#[test]
fn partial_responses_cost_the_same_in_sets_of_any_size() {
    for (step, removed) in [(20, 0), (100, 0), (100, 100), (2000, 0)] {
        let (small, large) = (visits_per_name(10_000, step, removed), visits_per_name(80_000, step, removed));
        assert!(large < 60, "{large} visits for each name, {step} at a time");
        assert!(large <= small * 2, "{small} visits for each name, then {large}, {step} at a time");
    }
}

fn check(ops: &[Op]) -> Result<(), TestCaseError> {
    let mut catalog = Catalog::in_memory();
    let (mut sent, mut accepted) = (ResourceSet::default(), ResourceSet::default());
    let (mut model, mut taken_in) = (Model::new(), Model::new());
    let mut last: Option<(Arc<List>, Sym, Order, bool)> = None;
    for (order, op) in ops.iter().enumerate() {
        let order = order as Order + 1;
        let version = catalog.intern(&format!("v{order}"));
        let (items, full) = match op {
            Op::Full(items) => (items, true),
            Op::Partial(items) => (items, false),
            Op::Remove(name) => {
                let sym = catalog.intern(&format!("c{name}"));
                let entry = ResourceEntry { state: Presence::Removed, blob: None, version, order };
                sent.put(&mut catalog, sym, entry);
                model.remove(name);
                last = None;
                prop_assert_eq!(seen(&catalog, &sent), model.clone());
                continue;
            }
            Op::Accept => {
                if let Some((list, version, order, full)) = last.take() {
                    let incoming = IncomingResponse { list: &list, version, order };
                    accepted.accept(&mut catalog, &sent, incoming, full);
                    let names: Model = seen(&catalog, &accepted);
                    prop_assert_eq!(names, taken_in.clone());
                }
                continue;
            }
        };
        let list = list(&mut catalog, items);
        let wanted: Model =
            items.iter().map(|(name, content)| (*name, (*content, format!("v{order}")))).collect();
        let incoming = IncomingResponse { list: &list, version, order };
        let change = match full {
            true => sent.apply_full(&mut catalog, None, incoming, |_| true),
            false => sent.apply_partial(&mut catalog, None, incoming),
        };
        let added = wanted.keys().filter(|name| !model.contains_key(name)).copied().collect();
        let differs = |name: &&u16| model.get(name).is_some_and(|was| was.0 != wanted[*name].0);
        let changed: BTreeSet<u16> = wanted.keys().filter(differs).copied().collect();
        prop_assert_eq!(texts(&catalog, &change.added), added);
        prop_assert_eq!(change.same as usize, wanted.len() - change.added.len() - changed.len());
        prop_assert_eq!(texts(&catalog, &change.changed), changed);
        if full {
            let removed = model.keys().filter(|name| !wanted.contains_key(name)).copied().collect();
            prop_assert_eq!(texts(&catalog, &change.removed), removed);
            model.clear();
        }
        let mut count = BTreeMap::new();
        items.iter().for_each(|(name, _)| *count.entry(*name).or_insert(0) += 1);
        let duplicates = count.iter().filter(|(_, n)| **n > 1).map(|(name, _)| *name).collect();
        prop_assert_eq!(texts(&catalog, &change.duplicates), duplicates);
        model.extend(wanted.clone());
        // The accepted set has the acknowledged responses only.
        if full {
            taken_in = wanted;
        } else {
            taken_in = seen(&catalog, &accepted);
            taken_in.extend(wanted);
        }
        last = Some((list, version, order, full));
        prop_assert_eq!(seen(&catalog, &sent), model.clone());
    }
    Ok(())
}
