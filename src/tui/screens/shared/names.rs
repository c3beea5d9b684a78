//! The names of a list that match a filter, found in slices so that no frame waits for a full
//! search.

use std::sync::Arc;
use std::time::Duration;

use xdscope_engine::store::Store;
use xdscope_wire::event::{StreamId, Time, TypeUrl};

use crate::data::{AppliedFilter, Contents};

/// Names matched in one step.
const NAMES_PER_STEP: usize = 256;
/// The interval at which names are matched again, because their contents may have changed.
const RENEW_INTERVAL: Duration = Duration::from_secs(1);
/// Matches by name alone that are shown while the search continues.
const MAX_PREVIEW: usize = 4096;

/// Names, and their concatenation, so that a word is found in all of them at once.
#[derive(Clone, Debug, Default)]
struct NameList {
    all: Vec<Arc<str>>,
    /// The names in lower case, each with a line end.
    text: String,
    /// The offset of the end of each name in `text`.
    ends: Vec<usize>,
}

impl NameList {
    fn new(all: Vec<Arc<str>>) -> NameList {
        let mut text = String::with_capacity(all.iter().map(|name| name.len() + 1).sum());
        let mut ends = Vec::with_capacity(all.len());
        for name in &all {
            text.push_str(name);
            text.push('\n');
            ends.push(text.len());
        }
        text.make_ascii_lowercase();
        NameList { all, text, ends }
    }

    /// The indices of the first names that contain a word.
    fn containing(&self, word: &str) -> Vec<u32> {
        let finder = memchr::memmem::Finder::new(word);
        let (mut from, mut out) = (0, Vec::new());
        while out.len() < MAX_PREVIEW
            && let Some(at) = self.text.as_bytes().get(from..).and_then(|rest| finder.find(rest))
        {
            let index = self.ends.partition_point(|end| *end <= from + at);
            let Some(end) = self.ends.get(index) else { break };
            out.push(u32::try_from(index).unwrap_or(u32::MAX));
            from = *end;
        }
        out
    }
}

/// Contents of a type at a time, by a number that changes whenever they may have changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContentsVersion {
    pub mark: u64,
    pub at: Time,
}

impl ContentsVersion {
    pub(crate) fn new(store: &Store, stream: StreamId, type_url: &TypeUrl) -> ContentsVersion {
        ContentsVersion { mark: store.mark(stream, type_url), at: store.now() }
    }
}

/// Names of which those that match a filter are shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilteredNames {
    names: NameList,
    /// The indices of the matches among the first `searched` names; `None` without a filter.
    matching: Option<Vec<u32>>,
    searched: usize,
    /// Shown until the search ends: names that match by name alone, or the previous matches.
    preview: Option<Vec<u32>>,
    version: ContentsVersion,
}

impl FilteredNames {
    pub(crate) fn new(
        names: Vec<Arc<str>>,
        filter: Option<&AppliedFilter>,
        version: ContentsVersion,
    ) -> FilteredNames {
        let mut filtered = FilteredNames { names: NameList::new(names), ..FilteredNames::default() };
        filtered.filter(filter, version);
        filtered
    }

    /// Starts a search. The preview is ready at once, because it needs no contents.
    pub(crate) fn filter(&mut self, filter: Option<&AppliedFilter>, version: ContentsVersion) {
        let word = filter.and_then(|applied| applied.filter.plain_word());
        let preview = word.filter(|word| !word.contains('\n')).map(|word| self.names.containing(word));
        self.matching = filter.map(|_| Vec::new());
        self.preview = preview.filter(|preview| !preview.is_empty());
        (self.searched, self.version) = (0, version);
    }

    /// Starts the search again if the contents changed, at most once per [`RENEW_INTERVAL`].
    pub(crate) fn renew(&mut self, version: ContentsVersion) {
        let (then, now) = (self.version.at, version.at);
        let is_due = now < then || now.since(then) >= RENEW_INTERVAL;
        let is_changed = self.version.mark != version.mark;
        if self.matching.is_some() && !self.is_searching() && is_changed && is_due {
            self.preview = self.matching.replace(Vec::new());
            (self.searched, self.version) = (0, version);
        }
    }

    pub(crate) fn is_searching(&self) -> bool {
        self.matching.is_some() && self.searched < self.all().len()
    }

    /// Matches more names.
    pub(crate) fn search(
        &mut self,
        contents: Contents<'_>,
        stream: StreamId,
        url: &TypeUrl,
        applied: &AppliedFilter,
    ) {
        let (names, Some(matching)) = (&self.names.all, &mut self.matching) else { return };
        let end = names.len().min(self.searched + NAMES_PER_STEP);
        let slice = names.get(self.searched..end).unwrap_or_default();
        let found = contents.pick(stream, url, slice, applied).into_iter().map(|at| at + self.searched);
        matching.extend(found.map(|at| u32::try_from(at).unwrap_or(u32::MAX)));
        self.searched = end;
        if self.searched >= names.len() {
            self.preview = None;
        }
    }

    /// The names, whether or not they match.
    pub(crate) fn all(&self) -> &[Arc<str>] {
        &self.names.all
    }

    pub(crate) fn into_all(self) -> Vec<Arc<str>> {
        self.names.all
    }

    /// The indices of the names to show; `None` is all.
    fn shown(&self) -> Option<&[u32]> {
        self.preview.as_ref().or(self.matching.as_ref()).map(Vec::as_slice)
    }

    /// The number of names to show.
    pub(crate) fn len(&self) -> usize {
        self.shown().map_or(self.all().len(), <[u32]>::len)
    }

    /// One of the names to show.
    pub(crate) fn get(&self, at: usize) -> Option<&Arc<str>> {
        let at = match self.shown() {
            Some(shown) => *shown.get(at)? as usize,
            None => at,
        };
        self.all().get(at)
    }

    /// The index of a name among sorted names to show, or the index at which it would be inserted.
    pub(crate) fn rank(&self, name: &str) -> Result<usize, usize> {
        let names = self.all();
        match self.shown() {
            Some(shown) => shown.binary_search_by(|at| names.get(*at as usize).map_or("", |n| n).cmp(name)),
            None => names.binary_search_by(|known| (**known).cmp(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_word_in_names_of_any_case() {
        let names = ["a-Service", "b", "", "service", "SERVICE-ice", "serv", "ice"].map(Arc::from);
        let names = NameList::new(names.to_vec());
        for (word, places) in
            [("service", vec![0, 3, 4]), ("ice", vec![0, 3, 4, 6]), ("x", vec![]), ("b", vec![1])]
        {
            assert_eq!(names.containing(word), places, "{word}");
        }
        let many: Vec<Arc<str>> = (0..2 * MAX_PREVIEW).map(|i| format!("name-{i}").into()).collect();
        assert_eq!(NameList::new(many).containing("name").len(), MAX_PREVIEW);
    }
}
