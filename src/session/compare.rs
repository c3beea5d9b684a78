use crate::content::{BlobId, Catalog, Form};
use crate::event::Sym;

use super::Same;
use super::names::{SymMap, SymSet};

/// How far ahead a name that moved is looked for before the tables are asked.
const WINDOW: usize = 16;
/// How often in a row that is done in vain.
const MISSES: usize = 256;

/// The key under which an entry is held: its name, or for one without a known name its content.
pub(crate) fn key(catalog: &Catalog, id: BlobId) -> Sym {
    // Not by `entry`: that looks at the payload, too, which lies elsewhere.
    let name = match &catalog.blob(id).form {
        Form::Any { name, .. } => *name,
        Form::Wrapper { wrapper, .. } => wrapper.name,
        Form::Other => Sym::EMPTY,
    };
    if name == Sym::EMPTY { Sym(NAMELESS | id.0) } else { name }
}

/// The version of an entry itself; empty where it has that of its response.
pub(crate) fn version(catalog: &Catalog, id: BlobId) -> Sym {
    match &catalog.blob(id).form {
        Form::Wrapper { wrapper, .. } => wrapper.version,
        _ => Sym::EMPTY,
    }
}

/// Keys from here on stand for content without a name.
const NAMELESS: u32 = 1 << 31;

/// The content that a nameless key stands for.
pub(crate) fn nameless(key: Sym) -> Option<BlobId> {
    (key.0 & NAMELESS != 0).then_some(BlobId(key.0 & !NAMELESS))
}

/// An entry without a payload: a heartbeat, or a not-found in the 003 style (row G-11).
pub(crate) fn hollow(catalog: &Catalog, id: BlobId) -> bool {
    matches!(&catalog.blob(id).form, Form::Wrapper { wrapper, .. } if wrapper.payload.is_none())
}

/// Whether two entries hold the same content: equal payload bytes, or equal by meaning. What a redaction
/// changed is compared by the bytes that were on the wire only.
pub(crate) fn same_content(catalog: &Catalog, meaning: Option<&Same>, a: BlobId, b: BlobId) -> bool {
    if a == b {
        return true;
    }
    let (Some(a), Some(b)) = (catalog.entry(a).payload, catalog.entry(b).payload) else { return false };
    if a == b {
        return true;
    }
    let Some(meaning) = meaning else { return false };
    if catalog.blob(a).redacted || catalog.blob(b).redacted {
        return false;
    }
    match (catalog.compared(a), catalog.compared(b)) {
        (Some(a), Some(b)) => meaning.same(&a, &b),
        _ => false,
    }
}

/// How a list of entries differs from an older one.
#[derive(Debug, Default)]
pub(crate) struct Aligned {
    /// Same name, other entry: old and new.
    pub(crate) pairs: Vec<(BlobId, BlobId)>,
    /// Entries whose name the older one lacks.
    pub(crate) fresh: Vec<BlobId>,
    /// Entries whose name the newer one lacks.
    pub(crate) gone: Vec<BlobId>,
    /// Entries that are in both.
    pub(crate) same: u64,
    /// Names that the newer one holds more than once (row E-43).
    pub(crate) twice: Vec<Sym>,
    /// Then the newer one without repeats.
    pub(crate) unique: Option<Vec<BlobId>>,
}

/// Compares two lists by name. Both in the same order, which is the rule, is one pass over two arrays; only
/// what does not line up is looked up by name. No name stands twice in `old`.
pub(crate) fn align(catalog: &Catalog, old: &[BlobId], new: &[BlobId]) -> Aligned {
    let out = line_up(catalog, old, new);
    // Each old entry finds at most one partner, so a name that is repeated shows among the fresh ones.
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
    let (unique, twice) = without_repeats(catalog, new);
    Aligned { twice, ..Aligned { unique: Some(unique.clone()), ..line_up(catalog, old, &unique) } }
}

/// The list with the last entry of each name, as everywhere in protobuf, and the names that stood twice.
pub(crate) fn without_repeats(catalog: &Catalog, list: &[BlobId]) -> (Vec<BlobId>, Vec<Sym>) {
    if list.len() < 2 {
        return (list.to_vec(), Vec::new());
    }
    let mut seen = SymSet::default();
    let mut repeated = SymSet::default();
    let (mut unique, mut twice) = (Vec::new(), Vec::new());
    for id in list.iter().rev() {
        let name = key(catalog, *id);
        if seen.insert(name) {
            unique.push(*id);
        } else if repeated.insert(name) {
            twice.push(name);
        }
    }
    unique.reverse();
    twice.reverse();
    (unique, twice)
}

fn line_up(catalog: &Catalog, old: &[BlobId], new: &[BlobId]) -> Aligned {
    let mut out = Aligned::default();
    let (mut left_old, mut left_new) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    // In another order nothing is near, and looking is what costs.
    let mut misses = 0;
    while let (Some(a), Some(b)) = (old.get(i), new.get(j)) {
        if a == b {
            out.same += 1;
            misses = 0;
        } else if key(catalog, *a) == key(catalog, *b) {
            out.pairs.push((*a, *b));
        } else if misses > MISSES {
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

/// How far ahead of `at` the entry stands.
fn ahead(list: &[BlobId], at: usize, entry: BlobId) -> Option<usize> {
    let end = (at + 1 + WINDOW).min(list.len());
    list.get(at + 1..end)?.iter().position(|id| *id == entry).map(|step| step + 1)
}
