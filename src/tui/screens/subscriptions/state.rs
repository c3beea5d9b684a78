//! The state of Subscriptions: types, names, and the requests behind them.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::data::{AppliedFilter, Data};
use crate::lists::Sort;
use crate::screens::shared::members::CountedMembers;
use crate::screens::shared::missing_answers::MissingAnswers;
use crate::screens::shared::names::{ContentsVersion, FilteredNames};
use crate::widgets::list::{ListRow, SelectionList};
use xdscope_engine::store::{ClaimFact, PendingNameFact, ReconnectFact, ResourceFact, SummaryFact, Wildcard};
use xdscope_engine::structured::Members;
use xdscope_present::json::type_word;
use xdscope_wire::event::{Dir, Seq, StreamId, Time, TypeUrl};

/// Rows searched for requests in one step.
const ROWS_PER_STEP: usize = 1024;
/// Changes of a subscription that are remembered.
const MAX_CHANGES: usize = 1000;

/// A type of the stream.
#[derive(Clone, Debug)]
pub struct SubscribedType {
    pub fact: SummaryFact,
    pub wildcard: Wildcard,
    /// Number of globs among the names.
    pub globs: u64,
    /// Fates of the resources that the client had before the stream.
    pub brought: Option<ReconnectFact>,
}

impl ListRow for SubscribedType {
    type Key = TypeUrl;

    fn key(&self) -> TypeUrl {
        self.fact.type_url.clone()
    }
}

/// A request that changed the subscription.
#[derive(Clone, Debug)]
pub struct SubscriptionChange {
    pub n: Seq,
    pub at: Time,
    pub added: u64,
    pub removed: u64,
    /// The first names added or removed.
    pub names: Vec<Arc<str>>,
}

/// A name on the screen.
#[derive(Clone, Debug)]
pub struct NameRow {
    pub name: Arc<str>,
    pub fact: Option<ResourceFact>,
    /// Waits for other resources.
    pub is_warming: bool,
    /// The request for the name, while it is not answered.
    pub waits: Option<PendingNameFact>,
    pub asked: Option<(Seq, Time)>,
    /// The time of the first response after the request.
    pub came: Option<Time>,
    /// The version that the client states to have in its first request.
    pub claim: Option<ClaimFact>,
    /// The members of a collection.
    pub members: Option<Members>,
}

/// The names that are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamesKey {
    pub stream: StreamId,
    pub type_url: TypeUrl,
    /// Changes with the names of the type.
    mark: u64,
}

#[derive(Clone, Debug, Default)]
pub struct SubscriptionsScreen {
    pub(super) stream: Option<StreamId>,
    pub types: SelectionList<SubscribedType>,
    pub(super) loaded: Option<NamesKey>,
    pub(super) sort: Sort,
    /// Names of the selected type, in display order.
    pub(super) names: FilteredNames,
    /// The names are sorted by name alone.
    pub(super) is_by_name: bool,
    pub missing: usize,
    pub(super) filter: Option<String>,
    pub(super) name: Option<Arc<str>>,
    /// The name to select once the names are loaded.
    pub(super) wanted_name: Option<Arc<str>>,
    pub at: usize,
    pub top: usize,
    pub window: Vec<NameRow>,
    pub(super) members: CountedMembers,
    pub(super) missing_answers: MissingAnswers,
    /// The likely reason why the selected name is missing.
    pub why: Option<String>,
    /// The alternative in place of the selected name, or the names that it stands in for.
    pub(super) alternatives: Vec<(&'static str, String)>,
    /// Changes of the selected type, oldest first.
    pub changes: Vec<SubscriptionChange>,
    /// Rows of the source that were searched.
    pub(super) scanned: usize,
    pub(super) total: usize,
    pub(super) asked: HashMap<Arc<str>, (Seq, Time)>,
    pub(super) came: HashMap<Arc<str>, Time>,
}

impl SubscriptionsScreen {
    /// Selects a type, and a name of it.
    pub fn select_name(&mut self, type_url: &TypeUrl, name: Option<Arc<str>>) {
        self.types.selected = Some(type_url.clone());
        self.wanted_name = name;
    }

    pub fn has_more_to_search(&self) -> bool {
        self.scanned < self.total || self.names.is_searching()
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The number of names without the filter.
    pub fn all(&self) -> usize {
        self.names.all().len()
    }

    pub fn selected_type(&self) -> Option<&SubscribedType> {
        self.types.row()
    }

    /// The selected name.
    pub fn row(&self) -> Option<&NameRow> {
        self.window.get(self.at.checked_sub(self.top)?)
    }

    pub fn type_word(&self) -> Option<&str> {
        Some(type_word(self.types.selected.as_ref()?))
    }

    pub(super) fn choose(&mut self, at: usize) {
        self.at = at.min(self.len().saturating_sub(1));
        self.name = self.names.get(self.at).cloned();
    }

    /// Loads the names of the selected type, unless they are unchanged.
    pub(super) fn load(
        &mut self,
        data: &dyn Data,
        stream: StreamId,
        sort: &Sort,
        filter: Option<&AppliedFilter>,
    ) {
        let store = data.store();
        let Some(url) = self.types.selected.clone() else { return };
        let key = NamesKey { stream, type_url: url.clone(), mark: store.names_mark(stream, &url) };
        let since = ContentsVersion::new(store, stream, &url);
        if self.loaded.as_ref() == Some(&key) && self.sort == *sort {
            return self.names.renew(since);
        }
        let previous_sort = std::mem::replace(&mut self.sort, sort.clone());
        if self.loaded.as_ref().is_none_or(|old| old.stream != stream || old.type_url != url) {
            (self.name, self.top) = (None, 0);
            self.forget_requests();
        }
        let Some(state) = store.state(stream, &url) else { return };
        let missing: HashSet<&Arc<str>> =
            state.subscription.missing.iter().chain(&state.subscription.owed_again).collect();
        let by = sort.column().cloned();
        let by_title = by.as_ref().map(|by| &*by.title);
        let worst = match by_title {
            None => *sort != Sort::Name && !missing.is_empty(),
            Some(title) => title == "NOW" && !missing.is_empty(),
        };
        let newest = *sort == Sort::Newest && !self.asked.is_empty();
        let is_by_name = !worst && !newest && by.is_none();
        if previous_sort != *sort && self.loaded.as_ref() == Some(&key) && self.is_by_name && is_by_name {
            return self.names.renew(since);
        }
        let mut names = if self.loaded.as_ref() == Some(&key) {
            std::mem::take(&mut self.names).into_all()
        } else {
            state.subscription.names.iter().filter(|name| &***name != "*").cloned().collect()
        };
        if self.loaded.as_ref() != Some(&key) && state.subscription.wildcard != Wildcard::None {
            let asked: HashSet<Arc<str>> = names.iter().cloned().collect();
            let others = store.resource_names(stream, &url).into_iter();
            names.extend(others.filter(|name| asked.is_empty() || !asked.contains(name)));
        }
        names.sort_unstable();
        if worst {
            names.sort_by_cached_key(|name| !missing.contains(name));
        }
        if newest {
            names.sort_by_cached_key(|name| Reverse(self.asked.get(name).map(|(n, _)| *n)));
        }
        match by_title {
            Some("ASKED") => {
                names.sort_by_cached_key(|name| self.asked.get(name).map_or(u64::MAX, |(n, _)| n.0));
            }
            Some("FIRST") => names.sort_by_cached_key(|name| self.first_answer(name)),
            _ => {}
        }
        if by.is_some_and(|by| by.is_descending) {
            names.reverse();
        }
        (self.missing, self.is_by_name) = (missing.len(), is_by_name);
        self.names = FilteredNames::new(names, filter, since);
        self.loaded = Some(key);
    }

    /// Starts the search for requests again.
    fn forget_requests(&mut self) {
        self.scanned = 0;
        self.changes.clear();
        self.asked.clear();
        self.came.clear();
    }

    /// The time from the request for a name to its first response.
    fn first_answer(&self, name: &Arc<str>) -> Duration {
        let times = self.asked.get(name).zip(self.came.get(name));
        times.map_or(Duration::MAX, |((_, asked), came)| came.since(*asked))
    }

    /// Searches more rows, and matches more names against the filter.
    pub(super) fn scan(&mut self, data: &dyn Data, filter: Option<&AppliedFilter>) {
        let Some(NamesKey { stream, type_url: url, .. }) = self.loaded.clone() else { return };
        self.total = data.rows();
        // The time cursor went back.
        if self.scanned > self.total {
            self.forget_requests();
        }
        let end = self.total.min(self.scanned + ROWS_PER_STEP);
        for row in self.scanned..end {
            if data.place_of(row).is_none_or(|(own, type_url)| own != stream || type_url != url) {
                continue;
            }
            let Some(line) = data.line(row) else { continue };
            let Some(n) = line.n else { continue };
            if line.added + line.removed == 0 {
                continue;
            }
            let Some(fact) = data.row(row) else { continue };
            match line.dir {
                Some(Dir::Req) => {
                    let names = fact.added.iter().chain(&fact.removed).take(3).cloned().collect();
                    if self.changes.len() >= MAX_CHANGES {
                        self.changes.remove(1);
                    }
                    let (added, removed) = (line.added, line.removed);
                    self.changes.push(SubscriptionChange { n, at: line.at, added, removed, names });
                    for name in fact.added.into_iter().filter(|name| **name != *"*") {
                        self.came.remove(&name);
                        self.asked.insert(name, (n, line.at));
                    }
                }
                _ => {
                    for name in fact.added {
                        self.came.entry(name).or_insert(line.at);
                    }
                }
            }
        }
        self.scanned = end;
        if let Some(filter) = filter {
            self.names.search(data.contents(), stream, &url, filter);
        }
    }
}
