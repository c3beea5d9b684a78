//! Which names of a list a filter means, found in slices so that no frame waits for a whole search.

use std::sync::Arc;
use std::time::Duration;

use crate::wire::event::{StreamId, Time, TypeUrl};

use crate::tui::data::{Applied, Contents};

/// Names looked at in one step.
const SLICE: usize = 256;
/// What a name has to do with a filter may change with its content: it is looked at again this often.
const AGAIN: Duration = Duration::from_secs(1);
/// Matches by a name alone that are shown while the search goes on.
const SURE: usize = 4096;

/// Names, and the same as one text, so that a word is found in all of them at once.
#[derive(Clone, Debug, Default)]
pub struct Names {
    all: Vec<Arc<str>>,
    /// In lower case, one after the other, each with a line end.
    text: String,
    /// Where each ends in it.
    ends: Vec<usize>,
}

impl Names {
    pub fn new(all: Vec<Arc<str>>) -> Names {
        let mut text = String::with_capacity(all.iter().map(|name| name.len() + 1).sum());
        let mut ends = Vec::with_capacity(all.len());
        for name in &all {
            text.push_str(name);
            text.push('\n');
            ends.push(text.len());
        }
        text.make_ascii_lowercase();
        Names { all, text, ends }
    }

    pub fn into_all(self) -> Vec<Arc<str>> {
        self.all
    }

    pub fn all(&self) -> &[Arc<str>] {
        &self.all
    }

    /// Places of the first names that have the word.
    fn with(&self, word: &str) -> Vec<u32> {
        let finder = memchr::memmem::Finder::new(word);
        let (mut from, mut out) = (0, Vec::new());
        while out.len() < SURE
            && let Some(at) = self.text.as_bytes().get(from..).and_then(|rest| finder.find(rest))
        {
            let place = self.ends.partition_point(|end| *end <= from + at);
            let Some(end) = self.ends.get(place) else { break };
            out.push(u32::try_from(place).unwrap_or(u32::MAX));
            from = *end;
        }
        out
    }
}

#[derive(Clone, Debug, Default)]
pub struct Narrowed {
    /// Places of those that match, among the first `looked`; `None` without a filter.
    matching: Option<Vec<u32>>,
    looked: usize,
    /// Shown until all were looked at: the first that match by their name alone, or what matched before.
    meanwhile: Option<Vec<u32>>,
    /// The contents that the search began with, and when.
    mark: u64,
    began: Time,
}

impl Narrowed {
    /// Looks at nothing but the names, and so is there at once.
    pub fn new(names: &Names, filter: Option<&Applied>, (mark, now): (u64, Time)) -> Narrowed {
        let word = filter.and_then(|applied| applied.filter.plain_word());
        let sure = word.filter(|word| !word.contains('\n')).map(|word| names.with(word));
        Narrowed {
            matching: filter.map(|_| Vec::new()),
            looked: 0,
            meanwhile: sure.filter(|sure| !sure.is_empty()),
            mark,
            began: now,
        }
    }

    /// Begins again if the contents have changed, when it is time to.
    pub fn renew(&mut self, total: usize, (mark, now): (u64, Time)) {
        let due = now < self.began || now.since(self.began) >= AGAIN;
        if self.matching.is_some() && !self.searching(total) && self.mark != mark && due {
            self.meanwhile = self.matching.replace(Vec::new());
            (self.looked, self.mark, self.began) = (0, mark, now);
        }
    }

    pub fn searching(&self, total: usize) -> bool {
        self.matching.is_some() && self.looked < total
    }

    /// Looks at more of the names.
    pub fn search(
        &mut self,
        contents: Contents<'_>,
        (stream, url): (StreamId, &TypeUrl),
        names: &[Arc<str>],
        applied: &Applied,
    ) {
        let Some(matching) = &mut self.matching else { return };
        let end = names.len().min(self.looked + SLICE);
        let slice = names.get(self.looked..end).unwrap_or_default();
        let found = contents.pick(stream, url, slice, applied).into_iter().map(|at| at + self.looked);
        matching.extend(found.map(|at| u32::try_from(at).unwrap_or(u32::MAX)));
        self.looked = end;
        if self.looked >= names.len() {
            self.meanwhile = None;
        }
    }

    /// Places of the names that are shown; `None`: all.
    pub fn shown(&self) -> Option<&[u32]> {
        self.meanwhile.as_ref().or(self.matching.as_ref()).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_in_the_names_that_have_it() {
        let names = ["a-Service", "b", "", "service", "SERVICE-ice", "serv", "ice"].map(Arc::from);
        let names = Names::new(names.to_vec());
        for (word, places) in
            [("service", vec![0, 3, 4]), ("ice", vec![0, 3, 4, 6]), ("x", vec![]), ("b", vec![1])]
        {
            assert_eq!(names.with(word), places, "{word}");
        }
        let many: Vec<Arc<str>> = (0..2 * SURE).map(|i| format!("name-{i}").into()).collect();
        assert_eq!(Names::new(many).with("name").len(), SURE);
    }
}
