use xdscope_wire::content::{BlobForm, BlobId, Catalog, List, UsedContent};
use xdscope_wire::discovery::fields::any;
use xdscope_wire::event::Sym;
use xdscope_wire::pb::Fields;

use super::names::{SymMap, SymSet};
use crate::session::DynSemantics;
use crate::session::engine::visits;

/// Entries ahead that are searched for a moved name before the lists are compared by name.
const LOOK_AHEAD_ENTRIES: usize = 16;
/// Fruitless searches in a row after which no entry is searched for ahead.
const MAX_MISSES: usize = 256;
/// Entries out of order from which on common entries are found by number.
const MIN_BITMAP_ENTRIES: usize = 64;
/// Range of numbers per entry up to which a bitmap is used.
const MAX_BITMAP_SPREAD: usize = 256;

/// Returns the key of an entry: the first spelling of its name, or its content if it has no known
/// name.
pub(crate) fn key(catalog: &Catalog, id: BlobId) -> Sym {
    // `Catalog::entry` would read the payload too, which lies elsewhere in memory.
    let name = match &catalog.blob(id).form {
        BlobForm::Any { name, .. } => *name,
        BlobForm::Wrapper { wrapper, .. } => wrapper.name,
        BlobForm::Other => Sym::EMPTY,
    };
    if name == Sym::EMPTY { Sym(NAMELESS | id.0) } else { catalog.first_spelling(name) }
}

/// Returns the version of an entry, empty if the version of the response applies.
pub(crate) fn version(catalog: &Catalog, id: BlobId) -> Sym {
    match &catalog.blob(id).form {
        BlobForm::Wrapper { wrapper, .. } => wrapper.version,
        _ => Sym::EMPTY,
    }
}

/// Flag of keys that stand for content without a name.
const NAMELESS: u32 = 1 << 31;

/// Returns the content that a key without a name stands for.
pub(crate) fn nameless(key: Sym) -> Option<BlobId> {
    (key.0 & NAMELESS != 0).then_some(BlobId(key.0 & !NAMELESS))
}

/// Marks the name or the content that a key stands for as used.
pub(crate) fn mark_key(used: &mut UsedContent, key: Sym) {
    match nameless(key) {
        Some(blob) => used.blob(blob),
        None => used.name(key),
    }
}

/// Whether an entry has no payload: a heartbeat, or a resource that does not exist
/// (docs/protocol.md#g-11).
pub(crate) fn hollow(catalog: &Catalog, id: BlobId) -> bool {
    matches!(&catalog.blob(id).form, BlobForm::Wrapper { wrapper, .. } if wrapper.payload.is_none())
}

/// Whether a list has entries, and none of them has a payload.
pub(crate) fn is_all_hollow(catalog: &Catalog, list: &List) -> bool {
    !list.is_empty() && list.blobs().iter().all(|id| hollow(catalog, *id))
}

/// How contents are compared whose bytes differ.
#[derive(Clone, Copy)]
pub(crate) struct Compare<'a> {
    pub(crate) semantics: &'a DynSemantics,
    /// In a replay, equal contents are noted in the catalog already and are not compared again.
    pub(crate) is_replay: bool,
}

/// Whether two entries have the same content: equal payload bytes, or equal messages. `a` is the
/// earlier entry.
///
/// Redacted contents are compared only by the bytes that were on the wire.
pub(crate) fn same_content(catalog: &Catalog, compare: Option<Compare<'_>>, a: BlobId, b: BlobId) -> bool {
    if a == b {
        return true;
    }
    let names = (catalog.name(a), catalog.name(b));
    let (Some(a), Some(b)) = (catalog.entry(a).payload, catalog.entry(b).payload) else { return false };
    if a == b {
        return true;
    }
    let is_replay = compare.is_some_and(|compare| compare.is_replay);
    if is_replay && catalog.is_noted_same(a, b) {
        return true;
    }
    if catalog.blob(a).redacted || catalog.blob(b).redacted {
        return false;
    }
    if names.0 != names.1 && is_same_but_name(catalog, (a, names.0), (b, names.1)) {
        catalog.note_same(a, b);
        return true;
    }
    let Some(Compare { semantics, is_replay: false }) = compare else { return false };
    let same = match (catalog.compared_before(a), catalog.compared(b)) {
        (Some(a), Some(b)) => semantics.same(&a, &b),
        _ => false,
    };
    if same {
        catalog.note_same(a, b);
    }
    same
}

/// Whether two payloads differ only in the spelling of their name (docs/protocol.md#k-08).
fn is_same_but_name(catalog: &Catalog, a: (BlobId, Sym), b: (BlobId, Sym)) -> bool {
    let (Some(any), Some(other)) = (catalog.bytes(a.0), catalog.bytes(b.0)) else { return false };
    let value = |any: &[u8]| {
        let fields = Fields::new(any).map_while(Result::ok);
        fields.filter(|field| field.number == any::VALUE).last().map(|field| field.bytes().to_vec())
    };
    let (Some(value), Some(other_value)) = (value(&any), value(&other)) else { return false };
    let (mut fields, mut others) = (Fields::new(&value), Fields::new(&other_value));
    loop {
        match (fields.next(), others.next()) {
            (None, None) => return true,
            (Some(Ok(field)), Some(Ok(other))) if field.number == other.number => {
                let has_name = |text: &[u8], name: Sym| text == catalog.text(name).as_bytes();
                let is_name = || has_name(field.bytes(), a.1) && has_name(other.bytes(), b.1);
                if field != other && !is_name() {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// The difference between a list of entries and an older one.
#[derive(Debug, Default)]
pub(crate) struct Aligned {
    /// Old and new entry of each name whose entry differs.
    pub(crate) pairs: Vec<(BlobId, BlobId)>,
    /// Entries whose name is not in the old list.
    pub(crate) fresh: Vec<BlobId>,
    /// Entries whose name is not in the new list.
    pub(crate) gone: Vec<BlobId>,
    /// Number of entries that are in both lists.
    pub(crate) same: u64,
    /// Names that the new list has more than once (docs/protocol.md#e-43).
    pub(crate) duplicates: Vec<Sym>,
    /// The new list without repeated names, if there are any.
    pub(crate) unique: Option<Vec<BlobId>>,
}

/// Compares two lists by name. `old` must not repeat a name.
///
/// Lists are usually in one order: then the comparison is one pass over two arrays, and only
/// entries out of order are looked up by name.
pub(crate) fn align(catalog: &Catalog, old: &[BlobId], new: &[BlobId]) -> Aligned {
    visits::count_many(old.len() + new.len());
    let out = line_up(catalog, old, new);
    // Each old entry has at most one partner, so repeated names show up among the fresh entries.
    let mut fresh: SymMap<u32> = out.fresh.iter().map(|id| (key(catalog, *id), 0)).collect();
    if fresh.is_empty() {
        return out;
    }
    let mut repeats = false;
    for id in new {
        if let Some(count) = fresh.get_mut(&key(catalog, *id)) {
            *count += 1;
            repeats |= *count > 1;
        }
    }
    if !repeats {
        return out;
    }
    let (unique, duplicates) = without_repeats(catalog, new);
    Aligned { duplicates, ..Aligned { unique: Some(unique.clone()), ..line_up(catalog, old, &unique) } }
}

/// Returns the list with the last entry of each name, as protobuf does for fields, and the repeated
/// names.
pub(crate) fn without_repeats(catalog: &Catalog, list: &[BlobId]) -> (Vec<BlobId>, Vec<Sym>) {
    if list.len() < 2 {
        return (list.to_vec(), Vec::new());
    }
    let mut seen = SymSet::default();
    let mut repeated = SymSet::default();
    let (mut unique, mut duplicates) = (Vec::new(), Vec::new());
    for id in list.iter().rev() {
        let name = key(catalog, *id);
        if seen.insert(name) {
            unique.push(*id);
        } else if repeated.insert(name) {
            duplicates.push(name);
        }
    }
    unique.reverse();
    duplicates.reverse();
    (unique, duplicates)
}

/// Pairs entries of equal names in one pass; entries out of order by name.
fn line_up(catalog: &Catalog, old: &[BlobId], new: &[BlobId]) -> Aligned {
    let mut out = Aligned::default();
    let (mut left_old, mut left_new) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    // In lists of different order the search ahead is expensive and finds nothing.
    let mut misses = 0;
    while let (Some(a), Some(b)) = (old.get(i), new.get(j)) {
        if a == b {
            out.same += 1;
            misses = 0;
        } else if key(catalog, *a) == key(catalog, *b) {
            out.pairs.push((*a, *b));
        } else if misses > MAX_MISSES {
            left_old.push(*a);
            left_new.push(*b);
        } else if let Some(step) = ahead(new, j, *a) {
            left_new.extend_from_slice(&new[j..j + step]);
            j += step;
            continue;
        } else if let Some(step) = ahead(old, i, *b) {
            left_old.extend_from_slice(&old[i..i + step]);
            i += step;
            continue;
        } else {
            misses += 1;
            left_old.push(*a);
            left_new.push(*b);
        }
        i += 1;
        j += 1;
    }
    left_old.extend_from_slice(old.get(i..).unwrap_or_default());
    left_new.extend_from_slice(new.get(j..).unwrap_or_default());
    if left_old.is_empty() {
        out.fresh = left_new;
        return out;
    }
    out.same += take_common(&mut left_old, &mut left_new);
    let mut by_name: SymMap<BlobId> = left_old.iter().map(|id| (key(catalog, *id), *id)).collect();
    for id in left_new {
        match by_name.remove(&key(catalog, id)) {
            Some(was) if was == id => out.same += 1,
            Some(was) => out.pairs.push((was, id)),
            None => out.fresh.push(id),
        }
    }
    out.gone = left_old.into_iter().filter(|id| by_name.contains_key(&key(catalog, *id))).collect();
    out
}

/// Removes the entries that both lists have, and returns their number.
///
/// Lists of different order share most entries; a bitmap of entry numbers finds them without names.
fn take_common(old: &mut Vec<BlobId>, new: &mut Vec<BlobId>) -> u64 {
    let (Some(first), Some(last)) = (old.iter().min().copied(), old.iter().max()) else { return 0 };
    let span = (last.0 - first.0) as usize + 1;
    if old.len() < MIN_BITMAP_ENTRIES || span > old.len().saturating_mul(MAX_BITMAP_SPREAD) {
        return 0;
    }
    let place = |id: BlobId| {
        let at = id.0.checked_sub(first.0).map(|at| at as usize).filter(|at| *at < span)?;
        Some((at / 64, 1u64 << (at % 64)))
    };
    let mut only_old = vec![0u64; span.div_ceil(64)];
    for (word, bit) in old.iter().copied().filter_map(place) {
        only_old[word] |= bit;
    }
    let before = new.len();
    new.retain(|id| match place(*id) {
        Some((word, bit)) if only_old[word] & bit != 0 => {
            only_old[word] &= !bit;
            false
        }
        _ => true,
    });
    old.retain(|id| place(*id).is_some_and(|(word, bit)| only_old[word] & bit != 0));
    (before - new.len()) as u64
}

/// Returns the distance from `at` to the entry.
fn ahead(list: &[BlobId], at: usize, entry: BlobId) -> Option<usize> {
    let end = (at + 1 + LOOK_AHEAD_ENTRIES).min(list.len());
    list.get(at + 1..end)?.iter().position(|id| *id == entry).map(|step| step + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The remaining entries, by comparing one by one.
    fn slowly(old: &[u32], new: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let (mut old, mut left) = (old.to_vec(), Vec::new());
        for id in new {
            match old.iter().position(|other| other == id) {
                Some(at) => drop(old.remove(at)),
                None => left.push(*id),
            }
        }
        (old, left)
    }

    proptest! {
        #[test]
        fn removes_common_entries_by_number(
            old in prop::collection::hash_set(1000u32..1400, 0..200),
            new in prop::collection::vec(900u32..1500, 0..300),
        ) {
            let old: Vec<u32> = old.into_iter().collect();
            let ids = |list: &[u32]| list.iter().copied().map(BlobId).collect::<Vec<_>>();
            let (mut left_old, mut left_new) = (ids(&old), ids(&new));
            let same = take_common(&mut left_old, &mut left_new);
            if old.len() < MIN_BITMAP_ENTRIES {
                prop_assert_eq!((same, left_old, left_new), (0, ids(&old), ids(&new)));
            } else {
                let (slow_old, slow_new) = slowly(&old, &new);
                prop_assert_eq!(same as usize, old.len() - slow_old.len());
                prop_assert_eq!((left_old, left_new), (ids(&slow_old), ids(&slow_new)));
            }
        }
    }

    #[test]
    fn reordering_is_not_a_change() {
        let mut catalog = Catalog::in_memory();
        let entry = |catalog: &mut Catalog, name: usize, content: u8| {
            let mut resource = Vec::new();
            xdscope_wire::pb::put_len_field(&mut resource, 3, format!("name-{name}").as_bytes());
            xdscope_wire::pb::put_len_field(&mut resource, 1, &[b'a' + content]);
            catalog.intern_entry(&resource, true, None)
        };
        let old: Vec<BlobId> = (0..1000).map(|name| entry(&mut catalog, name, 0)).collect();
        // Steps of 7, which is coprime to 1000; one entry is changed, one new, one gone.
        let mut new: Vec<BlobId> =
            (0..1000).map(|i| old[i * 7 % 1000]).filter(|id| *id != old[500]).collect();
        let changed = new.iter().position(|id| *id == old[300]).expect("it is there");
        new[changed] = entry(&mut catalog, 300, 1);
        new.insert(400, entry(&mut catalog, 1000, 0));
        let found = align(&catalog, &old, &new);
        assert_eq!(found.pairs, [(old[300], new[if changed >= 400 { changed + 1 } else { changed }])]);
        assert_eq!((found.fresh, found.gone, found.same), (vec![new[400]], vec![old[500]], 998));
    }
}
