//! The tree of types and names.
//!
//! A type may have 100,000 resources, so only names are loaded, and facts only for rows on the
//! screen.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::data::{AppliedFilter, Contents};
use crate::screens::shared::members::CountedMembers;
use crate::screens::shared::names::{ContentsVersion, FilteredNames};
use crate::widgets::list::scroll;
use xdscope_engine::store::{ResourceFact, SummaryFact};
use xdscope_present::report::type_order;
use xdscope_present::structured::present_members;
use xdscope_wire::event::{StreamId, TypeUrl};

use super::path::TreePath;

/// The number of names up to which a type is unfolded at first.
const MAX_OPEN_NAMES: usize = 12;

/// The names of one type.
#[derive(Clone, Debug)]
pub struct TypeList {
    pub fact: SummaryFact,
    /// Changes whenever the names do.
    mark: u64,
    /// Sorted.
    names: FilteredNames,
}

impl TypeList {
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn total(&self) -> usize {
        self.names.all().len()
    }

    /// The number of names with a beginning.
    fn count_with_prefix(&self, prefix: &str) -> usize {
        let first = self.names.rank(prefix).unwrap_or_else(|at| at);
        let (mut low, mut high) = (first, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.names.get(middle).is_some_and(|name| name.starts_with(prefix)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low - first
    }
}

/// A row of the tree.
#[derive(Clone, Debug)]
pub enum ResourceRow {
    Type {
        place: TreePath,
        list: usize,
        open: bool,
    },
    /// Heads the names of an authority. Cannot be selected.
    Authority {
        authority: String,
        names: usize,
    },
    Resource {
        place: TreePath,
        fact: Option<Box<ResourceFact>>,
        /// Waits for other resources.
        is_warming: bool,
        /// How many members of a collection the client has.
        members: Option<String>,
    },
}

impl ResourceRow {
    pub fn place(&self) -> Option<&TreePath> {
        match self {
            ResourceRow::Type { place, .. } | ResourceRow::Resource { place, .. } => Some(place),
            ResourceRow::Authority { .. } => None,
        }
    }
}

/// Returns the part of an `xdstp` name up to the end of its authority: `xdstp://a/`.
///
/// All names with this beginning are neighbours in a sorted list.
fn authority_prefix(name: &str) -> Option<&str> {
    let end = name.strip_prefix(AUTHORITY_MARK)?.find('/')?;
    name.get(..=AUTHORITY_MARK.len() + end)
}

/// Whether the tree shows a name below the heading of its authority.
pub(super) fn is_below_authority(name: &str) -> bool {
    authority_prefix(name).is_some()
}

/// The beginning of a name with an authority.
const AUTHORITY_MARK: &str = "xdstp://";

#[derive(Clone, Debug, Default)]
pub struct ResourceTree {
    stream: Option<StreamId>,
    pub types: Vec<TypeList>,
    /// The type of the selection is unfolded once its names are loaded.
    unfolds_selected: bool,
    /// Types that the user folded or unfolded.
    turned: HashSet<TypeUrl>,
    /// Types that the user folded since the filter was applied.
    folded: HashSet<TypeUrl>,
    /// The filter of the lists.
    filter: Option<String>,
    pub selected: Option<TreePath>,
    pub top: usize,
    /// The rows on the screen.
    pub window: Vec<ResourceRow>,
    members: CountedMembers,
}

impl ResourceTree {
    pub fn stream(&self) -> Option<StreamId> {
        self.stream
    }

    /// Whether the names of a type are unfolded.
    fn is_open(&self, list: &TypeList) -> bool {
        let is_turned = |types: &HashSet<TypeUrl>| types.contains(&list.fact.type_url);
        match self.filter {
            // A filter unfolds what matches.
            Some(_) => list.len() > 0 && !is_turned(&self.folded),
            None => (list.total() <= MAX_OPEN_NAMES) != is_turned(&self.turned),
        }
    }

    /// Updates the lists to the source.
    pub fn load(
        &mut self,
        contents: Contents<'_>,
        stream: StreamId,
        only: Option<&TypeUrl>,
        filter: Option<&AppliedFilter>,
    ) {
        if self.stream != Some(stream) {
            self.types.clear();
            self.stream = Some(stream);
        }
        let text = filter.map(|filter| filter.text.clone());
        let fresh = std::mem::replace(&mut self.filter, text) != filter.map(|filter| filter.text.clone());
        if fresh {
            self.folded.clear();
        }
        let mut facts = contents.store.summaries_of(stream);
        facts.retain(|fact| only.is_none_or(|url| *url == fact.type_url));
        facts.sort_by_cached_key(|fact| type_order(&fact.type_url));
        let mut known = std::mem::take(&mut self.types);
        for fact in facts {
            let mark = contents.store.names_mark(stream, &fact.type_url);
            let since = ContentsVersion::new(contents.store, stream, &fact.type_url);
            let old = known.iter().position(|list| list.fact.type_url == fact.type_url);
            let list = match old.map(|at| known.swap_remove(at)) {
                Some(mut list) if list.mark == mark => {
                    if fresh {
                        list.names.filter(filter, since);
                    } else {
                        list.names.renew(since);
                    }
                    TypeList { fact, ..list }
                }
                _ => {
                    let mut names = contents.store.resource_names(stream, &fact.type_url);
                    names.sort_unstable();
                    TypeList { fact, mark, names: FilteredNames::new(names, filter, since) }
                }
            };
            self.types.push(list);
        }
        if std::mem::take(&mut self.unfolds_selected)
            && let Some(TreePath { type_url, name: Some(_) }) = self.selected.clone()
            && self.types.iter().any(|list| list.fact.type_url == type_url && !self.is_open(list))
        {
            self.turn(&type_url);
        }
        self.narrow(contents, filter);
    }

    /// Names are still matched against the filter.
    pub fn is_searching(&self) -> bool {
        self.types.iter().any(|list| list.names.is_searching())
    }

    /// Matches more names. Returns whether there are more.
    pub fn search(&mut self, contents: Contents<'_>, filter: Option<&AppliedFilter>) -> bool {
        self.narrow(contents, filter);
        self.is_searching()
    }

    fn narrow(&mut self, contents: Contents<'_>, filter: Option<&AppliedFilter>) {
        let (Some(filter), Some(stream)) = (filter, self.stream) else { return };
        if let Some(list) = self.types.iter_mut().find(|list| list.names.is_searching()) {
            list.names.search(contents, stream, &list.fact.type_url, filter);
        }
    }

    /// Rows of a type and its names.
    fn rows_of(&self, list: &TypeList) -> usize {
        1 + if self.is_open(list) { list.len() } else { 0 }
    }

    /// Rows of the tree.
    pub fn len(&self) -> usize {
        self.types.iter().map(|list| self.rows_of(list)).sum()
    }

    /// Returns the place at a row, and the index of its type.
    fn at(&self, row: usize) -> Option<(TreePath, usize)> {
        let mut left = row;
        for (i, list) in self.types.iter().enumerate() {
            let rows = self.rows_of(list);
            if left < rows {
                let name = left.checked_sub(1).and_then(|at| list.names.get(at)).cloned();
                return Some((TreePath { type_url: list.fact.type_url.clone(), name }, i));
            }
            left -= rows;
        }
        None
    }

    /// The row of the selection, or the row nearest to it.
    pub fn position(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        let mut before = 0;
        for list in &self.types {
            if list.fact.type_url == selected.type_url {
                return Some(before + self.row_in(list, selected.name.as_deref()));
            }
            before += self.rows_of(list);
        }
        None
    }

    /// The row of a name below its type, or of the name nearest to it; 0 is that of the type.
    fn row_in(&self, list: &TypeList, name: Option<&str>) -> usize {
        match name.map(|name| list.names.rank(name)) {
            Some(Ok(at)) if self.is_open(list) => at + 1,
            Some(Err(at)) if self.is_open(list) => (at + 1).min(list.len()),
            _ => 0,
        }
    }

    pub fn select(&mut self, row: usize) {
        let row = row.min(self.len().saturating_sub(1));
        self.selected = self.at(row).map(|(place, _)| place);
    }

    /// Selects a path and unfolds its type.
    pub fn reveal(&mut self, place: TreePath) {
        let folded = |list: &&TypeList| list.fact.type_url == place.type_url && !self.is_open(list);
        let folded = self.types.iter().find(folded).map(|list| list.fact.type_url.clone());
        if let (Some(url), Some(_)) = (folded, &place.name) {
            self.turn(&url);
        }
        self.selected = Some(place);
        self.unfolds_selected = true;
    }

    /// Folds or unfolds a type.
    pub fn turn(&mut self, url: &TypeUrl) {
        let turned = if self.filter.is_some() { &mut self.folded } else { &mut self.turned };
        if !turned.remove(url) {
            turned.insert(url.clone());
        }
    }

    /// Folds or unfolds the selected type. Returns false if nothing changed.
    pub fn fold(&mut self, open: bool) -> bool {
        let Some(selected) = self.selected.clone() else { return false };
        let Some(list) = self.types.iter().find(|list| list.fact.type_url == selected.type_url) else {
            return false;
        };
        if self.is_open(list) == open {
            return false;
        }
        self.turn(&selected.type_url);
        if !open {
            self.selected = Some(TreePath { name: None, ..selected });
        }
        true
    }

    /// Updates selection and window to the rows.
    pub fn settle(&mut self, contents: Contents<'_>, height: usize) {
        if self.position().is_none() {
            // The first type that has a resource.
            let first = self.types.iter().position(|list| self.is_open(list) && list.len() > 0);
            let before = self.types.iter().take(first.unwrap_or(0));
            let row: usize = before.map(|list| self.rows_of(list)).sum();
            self.select(row + usize::from(first.is_some()));
        }
        let at = self.position().unwrap_or(0);
        self.select(at);
        self.top = scroll(self.top, at, height, self.len());
        self.window = self.rows_from(self.top, height);
        // The headings of authorities take rows too.
        while self.top < at && !self.is_in_window() {
            self.top += 1;
            self.window = self.rows_from(self.top, height);
        }
        let Some(stream) = self.stream else { return };
        let mut names: BTreeMap<TypeUrl, Vec<Arc<str>>> = BTreeMap::new();
        for place in self.window.iter().filter_map(ResourceRow::place) {
            names.entry(place.type_url.clone()).or_default().extend(place.name.clone());
        }
        for (url, names) in &mut names {
            *names = contents.store.warming_among(stream, url, names);
        }
        let structured = contents.structured_names();
        for row in &mut self.window {
            if let ResourceRow::Resource { place, fact, is_warming, members } = row
                && let Some(name) = &place.name
            {
                *fact = contents.store.resource(stream, &place.type_url, name).map(Box::new);
                let counted =
                    fact.as_ref().and_then(|fact| self.members.count(contents.store, &structured, fact));
                *members = counted.as_ref().map(present_members);
                *is_warming = names.get(&place.type_url).is_some_and(|warming| warming.contains(name));
            }
        }
    }

    fn is_in_window(&self) -> bool {
        self.window.iter().any(|row| row.place().is_some() && row.place() == self.selected.as_ref())
    }

    /// The rows from `top` on, without the facts of the resources.
    fn rows_from(&self, top: usize, height: usize) -> Vec<ResourceRow> {
        let mut rows = Vec::with_capacity(height);
        let mut prefix: Option<String> = None;
        for (place, list) in (top..top + height).map_while(|row| self.at(row)) {
            if rows.len() >= height {
                break;
            }
            let Some((list, name)) = self.types.get(list).zip(place.name.clone()) else {
                prefix = None;
                let open = self.types.get(list).is_some_and(|list| self.is_open(list));
                rows.push(ResourceRow::Type { open, place, list });
                continue;
            };
            let own = authority_prefix(&name).map(str::to_owned);
            if own != prefix
                && let Some(own) = &own
            {
                let authority = own.trim_start_matches(AUTHORITY_MARK).trim_end_matches('/').to_owned();
                rows.push(ResourceRow::Authority { authority, names: list.count_with_prefix(own) });
            }
            prefix = own;
            rows.push(ResourceRow::Resource { place, fact: None, is_warming: false, members: None });
        }
        rows.truncate(height);
        rows
    }
}
