//! The search for places by name: nodes, types, resources, rules, states, fields, sessions.
//!
//! A source may have 100,000 resource names on each of many streams. Names are read and compared in
//! slices, so that no frame waits for a full search, and up to a limit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::common::Common;
use crate::data::Data;
use crate::screens::screen::Destination;
use crate::screens::shared::problem_place;
use xdscope_engine::lint;
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::store::{StreamFact, TypeState};
use xdscope_present::report::{self, client_name, type_order};
use xdscope_wire::event::{Clock, Kind, StreamId, TypeUrl};
use xdscope_wire::text::near::distance;
use xdscope_wire::text::{count, type_label};

/// Resource names that are read, over all streams and types.
const MAX_NAMES: usize = 400_000;
/// Places that are shown.
const MAX_FOUND: usize = 100;
/// Longest text that is compared with names letter by letter, in bytes.
const MAX_MISTYPED_BYTES: usize = 60;
/// Bytes of a name in which a letter of the text has to be found.
const MAX_SPREAD: usize = 3;
/// How well a word of a problem matches: it comes after what has the name itself.
const PROBLEM_CLASS: u8 = 4;
/// The fewest letters that are searched in the words of problems.
const MIN_WORD: usize = 3;
/// Words of a name that are compared with the first letter.
const MAX_STARTS: usize = 16;

/// The order of lines: how well the name matches, then the kind of the line, then the length of the
/// name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u8, u8, usize);

impl Rank {
    pub(crate) const EXACT: Rank = Rank(0, 0, 0);
    pub(crate) const COMMAND_PREFIX: Rank = Rank(1, 0, 0);
    pub(crate) const COMMAND_PART: Rank = Rank(1, 0, 1);
    /// After a state of exactly this name.
    pub(crate) const COMMAND_ANSWER: Rank = Rank(1, 8, 0);
    /// Inside a word, after names that begin with it.
    pub(crate) const COMMAND_INSIDE: Rank = Rank(4, 0, 0);
    pub(crate) const COMMAND_DOC: Rank = Rank(5, 0, 0);
    pub(crate) const COMMAND_LETTERS: Rank = Rank(5, 0, 1);
}

/// A place that a name leads to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    Node {
        stream: StreamId,
        name: String,
    },
    Type {
        stream: StreamId,
        type_url: TypeUrl,
    },
    Resource {
        stream: StreamId,
        type_url: TypeUrl,
        name: Arc<str>,
    },
    Rule(&'static str),
    State(TypeState),
    Field {
        type_url: String,
        path: String,
    },
    Session(String),
    /// A name in the words of a problem, such as a resource that does not exist.
    Problem {
        name: String,
        words: String,
        destination: Box<Destination>,
    },
}

impl Place {
    /// The name that is searched and shown.
    pub(crate) fn name(&self) -> String {
        match self {
            Place::Node { name, .. } | Place::Session(name) | Place::Problem { name, .. } => name.clone(),
            Place::Type { type_url, .. } => xdscope_present::json::type_word(type_url).to_owned(),
            Place::Resource { name, .. } => name.to_string(),
            Place::Rule(id) => (*id).to_owned(),
            Place::State(state) => state.word().to_owned(),
            Place::Field { type_url, path } => {
                let message = type_url.rsplit('.').next().unwrap_or(type_url);
                format!("{message}.{path}")
            }
        }
    }

    /// The effect of choosing the place. `clients` are the clients of streams.
    fn doc(&self, clients: &HashMap<StreamId, String>) -> String {
        match self {
            Place::Node { stream, .. } => format!("node: open its newest stream #{}", stream.0),
            Place::Type { stream, .. } => format!("type: open its resources on stream #{}", stream.0),
            Place::Resource { stream, type_url, .. } => {
                let client = clients.get(stream).map_or("another client", String::as_str);
                format!("{} resource: open that of {client}", type_label(type_url.as_str()))
            }
            Place::Rule(_) => "rule: show its findings".to_owned(),
            Place::State(_) => "state: show the nodes in it".to_owned(),
            Place::Field { .. } => "field: show its documentation, and the resources that have it".to_owned(),
            Place::Session(_) => "recording: copy the command that opens it".to_owned(),
            Place::Problem { words, .. } => format!("problem: {words}"),
        }
    }

    fn kind_order(&self) -> u8 {
        match self {
            Place::Resource { .. } => 1,
            Place::Node { .. } => 2,
            Place::Type { .. } => 3,
            Place::Rule(_) => 4,
            Place::Field { .. } => 5,
            Place::State(_) => 6,
            Place::Session(_) => 7,
            Place::Problem { .. } => 8,
        }
    }

    /// The rank of a place whose name matches.
    fn rank(&self, class: u8, name: &str) -> Rank {
        // A command with the word in its name comes before a state of that name.
        let is_word = matches!(self, Place::State(_));
        Rank(class.max(u8::from(is_word)), self.kind_order(), name.len())
    }
}

/// How well a name matches what is typed, in lower case: 0 for the name itself. `None` if the name
/// does not match.
fn class_of(name: &str, wanted: &str) -> Option<u8> {
    if name.eq_ignore_ascii_case(wanted) {
        return Some(0);
    }
    let (name, wanted) = (name.as_bytes(), wanted.as_bytes());
    match find_ignoring_case(name, wanted) {
        Some(0) => Some(2),
        Some(at) if !name.get(at - 1).is_some_and(u8::is_ascii_alphanumeric) => Some(3),
        Some(_) => Some(4),
        None if is_mistyped(name, wanted) => Some(5),
        None if wanted.len() > 2 && has_letters_in_order(name, wanted) => Some(6),
        None => None,
    }
}

/// Whether a name differs from what is typed by a letter or two after the first.
fn is_mistyped(name: &[u8], wanted: &[u8]) -> bool {
    let edits = wanted.len() / 3;
    let is_first = name.first().zip(wanted.first()).is_some_and(|(a, b)| a.eq_ignore_ascii_case(b));
    let may_be = is_first
        && (1..MAX_MISTYPED_BYTES / 3).contains(&edits)
        && name.len().abs_diff(wanted.len()) <= edits;
    let words = || Some((std::str::from_utf8(name).ok()?, std::str::from_utf8(wanted).ok()?));
    may_be && words().is_some_and(|(name, wanted)| distance(name, wanted) <= edits.min(2))
}

/// The offset of the first occurrence, in any case.
fn find_ignoring_case(name: &[u8], wanted: &[u8]) -> Option<usize> {
    name.windows(wanted.len().max(1)).position(|part| part.eq_ignore_ascii_case(wanted))
}

/// Whether a name has the letters in order and near each other, the first one at the start of a
/// word.
fn has_letters_in_order(name: &[u8], wanted: &[u8]) -> bool {
    let Some(first) = wanted.first() else { return false };
    let is_start = |at: usize| at == 0 || !name.get(at - 1).is_some_and(u8::is_ascii_alphanumeric);
    let starts = (0..name.len()).filter(|at| name[*at].eq_ignore_ascii_case(first) && is_start(*at));
    let has_rest = |at: usize| {
        let part = &name[at..name.len().min(at + wanted.len() * MAX_SPREAD)];
        let mut letters = part.iter();
        wanted.iter().all(|wanted| letters.any(|letter| letter.eq_ignore_ascii_case(wanted)))
    };
    starts.take(MAX_STARTS).any(has_rest)
}

/// A resource name that was read.
#[derive(Clone, Debug)]
struct ReadName {
    /// The index of its stream and type.
    track: usize,
    name: Arc<str>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct NameSearch {
    /// The text to search for, in lower case.
    wanted: String,
    /// The type of the resources to search, from `cds/reviews`.
    kind: Option<Kind>,
    /// Nodes, types, rules, states, fields, sessions.
    fixed: Vec<Place>,
    /// Problems, in whose words a name may stand.
    problems: Vec<ProblemFact>,
    clock: Clock,
    /// The names of the clients of all streams.
    clients: HashMap<StreamId, String>,
    /// Streams and types, those of the current stream first.
    tracks: Vec<(StreamId, TypeUrl)>,
    /// The next stream and type to read names of, and the number of its names read.
    next: (usize, usize),
    names: Vec<ReadName>,
    /// Names compared with what is typed.
    compared: usize,
    found: Vec<(Rank, Place)>,
}

impl NameSearch {
    /// Names read or compared in one step.
    pub(crate) const NAMES_PER_STEP: usize = 4096;

    /// A search that knows the streams, nodes and types of a source. No name is read yet.
    ///
    /// A name that several streams have is that of the current stream if it is open, else that of
    /// the worst problem, else that of the newest stream.
    pub(crate) fn new(data: &dyn Data, common: &Common) -> NameSearch {
        let mut streams = data.streams();
        streams.sort_by_key(|fact| std::cmp::Reverse(fact.stream));
        let open: HashSet<StreamId> =
            streams.iter().filter(|fact| fact.closed.is_none()).map(|fact| fact.stream).collect();
        let current = common.current_stream.filter(|stream| open.contains(stream));
        let problems = common.problems.all.clone();
        let mut tracks: Vec<(StreamId, TypeUrl)> =
            data.summaries().into_iter().map(|cell| (cell.stream, cell.type_url)).collect();
        tracks.sort_by_cached_key(|(stream, url)| {
            let is_about = |problem: &ProblemFact| problem.stream == *stream && problem.type_url == *url;
            let problem = problems.iter().position(is_about).unwrap_or(usize::MAX);
            (
                Some(*stream) != current,
                problem,
                !open.contains(stream),
                std::cmp::Reverse(*stream),
                type_order(url),
            )
        });
        let mut fixed: Vec<Place> = Vec::new();
        for fact in &streams {
            let Some(node) = fact.node.as_ref().filter(|node| !node.id.is_empty()) else { continue };
            let place = Place::Node { stream: fact.stream, name: node.id.clone() };
            if !fixed.iter().any(|known| matches!(known, Place::Node { name, .. } if *name == node.id)) {
                fixed.push(place);
            }
        }
        let marks = data.store().client_marks();
        let client = |fact: &StreamFact| {
            let node = fact.node.as_ref().map(|node| node.id.as_str());
            (fact.stream, client_name(node, fact.stream, &marks))
        };
        let clients = streams.iter().map(client).collect();
        let mut types: Vec<&TypeUrl> = Vec::new();
        for (stream, url) in &tracks {
            if !types.contains(&url) {
                types.push(url);
                fixed.push(Place::Type { stream: *stream, type_url: url.clone() });
                let fields = data.schema().field_names(url.as_str()).into_iter();
                fixed.extend(fields.map(|path| Place::Field { type_url: url.to_string(), path }));
            }
        }
        fixed.extend(lint::rules().map(|rule| Place::Rule(rule.id)));
        fixed.extend(TypeState::ALL.into_iter().map(Place::State));
        fixed.extend(common.info.sessions.iter().cloned().map(Place::Session));
        NameSearch { fixed, problems, clock: common.clock, clients, tracks, ..NameSearch::default() }
    }

    /// Starts again with another text. What is known at once is found at once, also a resource of
    /// exactly this name.
    pub(crate) fn start(&mut self, input: &str, data: &dyn Data) {
        let typed = input.trim().split_once('/').and_then(|(word, name)| Some((Kind::parse(word)?, name)));
        let name = typed.map_or(input.trim(), |(_, name)| name);
        self.kind = typed.map(|(kind, _)| kind);
        self.wanted = name.to_lowercase();
        self.compared = 0;
        self.found.clear();
        if self.wanted.is_empty() {
            return;
        }
        if self.kind.is_none() {
            let fixed = std::mem::take(&mut self.fixed);
            for place in &fixed {
                if let Some(class) = class_of(&place.name(), &self.wanted) {
                    self.add(class, place.clone());
                }
            }
            self.fixed = fixed;
            self.find_in_problems();
        }
        let exact: Vec<(StreamId, TypeUrl)> = self
            .tracks
            .iter()
            .filter(|(_, url)| self.is_wanted(url))
            .take(MAX_FOUND)
            .filter(|(stream, url)| data.store().resource(*stream, url, name).is_some())
            .cloned()
            .collect();
        for (stream, type_url) in exact {
            self.add(0, Place::Resource { stream, type_url, name: name.into() });
        }
    }

    /// Finds what is typed in the words of problems: also names of resources that do not exist.
    fn find_in_problems(&mut self) {
        let wanted = self.wanted.clone();
        if wanted.len() < MIN_WORD {
            return;
        }
        for problem in std::mem::take(&mut self.problems) {
            let words = report::problem_with_reason(&problem, &self.clock);
            let trim = |word: &str| word.trim_matches(|c: char| c.is_ascii_punctuation()).to_owned();
            let mut names = words.split_whitespace().map(trim);
            if let Some(name) = names.find(|word| class_of(word, &wanted).is_some_and(|class| class < 4)) {
                let destination = Box::new(problem_place::destination(&problem));
                self.add(PROBLEM_CLASS, Place::Problem { name, words, destination });
            }
            self.problems.push(problem);
        }
    }

    /// There are names to read or to compare.
    pub(crate) fn is_searching(&self) -> bool {
        !self.wanted.is_empty() && (self.has_more_to_read() || self.compared < self.names.len())
    }

    fn has_more_to_read(&self) -> bool {
        self.next.0 < self.tracks.len() && self.names.len() < MAX_NAMES
    }

    /// Compares or reads more names. Returns whether places were found.
    pub(crate) fn step(&mut self, data: &dyn Data) -> bool {
        if !self.is_searching() {
            return false;
        }
        if self.compared >= self.names.len() {
            self.read(data);
        }
        let end = self.names.len().min(self.compared + NameSearch::NAMES_PER_STEP);
        let mut is_changed = false;
        for at in self.compared..end {
            let Some(read) = self.names.get(at) else { break };
            let Some(class) = class_of(&read.name, &self.wanted).filter(|class| self.has_room(*class)) else {
                continue;
            };
            let ReadName { track, name } = read.clone();
            let track = self.tracks.get(track).filter(|(_, url)| self.is_wanted(url));
            let Some((stream, type_url)) = track.cloned() else { continue };
            self.add(class, Place::Resource { stream, type_url, name });
            is_changed = true;
        }
        self.compared = end;
        is_changed
    }

    /// Whether resources of this type are searched.
    fn is_wanted(&self, url: &TypeUrl) -> bool {
        self.kind.is_none_or(|wanted| Kind::of_type_url(url.as_str()).is_some_and(|(kind, _)| kind == wanted))
    }

    /// Reads more names of the next stream and type.
    fn read(&mut self, data: &dyn Data) {
        let (track, from) = self.next;
        let Some((stream, url)) = self.tracks.get(track) else { return };
        let names = data.store().resource_names_from(*stream, url, from, NameSearch::NAMES_PER_STEP);
        let is_last = names.len() < NameSearch::NAMES_PER_STEP;
        self.next = if is_last { (track + 1, 0) } else { (track, from + names.len()) };
        self.names.extend(names.into_iter().map(|name| ReadName { track, name }));
    }

    /// A name that matches so well may be among the places that are shown.
    fn has_room(&self, class: u8) -> bool {
        self.found.len() < MAX_FOUND || self.found.last().is_some_and(|(worst, _)| worst.0 >= class)
    }

    /// Adds a place, unless the place is there already.
    fn add(&mut self, class: u8, place: Place) {
        let rank = place.rank(class, &place.name());
        let is_known = self.found.iter().any(|(_, known)| match (known, &place) {
            (
                Place::Resource { type_url: known_type, name: known_name, .. },
                Place::Resource { type_url, name, .. },
            ) => known_type == type_url && known_name == name,
            (known, place) => known == place,
        });
        if is_known {
            return;
        }
        let at = self.found.partition_point(|(known, _)| *known <= rank);
        self.found.insert(at, (rank, place));
        self.found.truncate(MAX_FOUND);
    }

    /// The places found with the effect of each, the best first.
    pub(crate) fn found(&self) -> impl Iterator<Item = (Rank, &Place, String)> {
        self.found.iter().map(|(rank, place)| (*rank, place, place.doc(&self.clients)))
    }

    /// How far the search is, while it continues, or where it ended early.
    pub(crate) fn progress(&self) -> Option<String> {
        if self.wanted.is_empty() {
            return None;
        }
        if self.is_searching() {
            return Some(format!("{} names searched", count(self.compared as u64)));
        }
        let is_cut = self.next.0 < self.tracks.len();
        is_cut.then(|| format!("the first {} names were searched", count(self.names.len() as u64)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use jiff::tz::TimeZone;

    use super::*;
    use crate::tests::script::{ScriptedStore, large};
    use crate::widgets::theme::Theme;

    fn names(search: &NameSearch) -> Vec<String> {
        search.found().map(|(_, place, _)| place.name()).collect()
    }

    #[test]
    fn ranks_names_by_how_well_they_match() {
        let class = |name| class_of(name, "rev");
        let classes =
            ["rev", "reviews", "a-reviews", "areviews", "rew", "r-e-v", "r-a-t-e-s-v", "xyz"].map(class);
        assert_eq!(classes, [Some(0), Some(2), Some(3), Some(4), Some(5), Some(6), None, None]);
        assert_eq!(class_of("edge-gw-1", "edge-gw-2"), Some(5));
    }

    #[test]
    fn finds_every_kind_of_place() {
        let source = ScriptedStore::gateway();
        let mut search = NameSearch::new(&source.data(), &Common::new((80, 24), Theme::MONO, TimeZone::UTC));
        let mut first = |text: &str| {
            search.start(text, &source.data());
            while search.is_searching() {
                search.step(&source.data());
            }
            search.found().next().map(|(_, place, _)| place.clone())
        };
        let name = |place: Option<Place>| place.map(|place| (place.kind_order(), place.name()));
        assert_eq!(name(first("reviews")), Some((1, "reviews".into())));
        assert_eq!(name(first("gw-2")), Some((2, "edge-gw-2".into())));
        assert_eq!(name(first("cds")), Some((3, "cds".into())));
        assert_eq!(name(first("route-unknown")), Some((4, "route-unknown-cluster".into())));
        assert_eq!(name(first("lb_policy")), Some((5, "Cluster.lb_policy".into())));
        assert_eq!(name(first("stale")).map(|(kind, _)| kind), Some(6));
        assert_eq!(first("no such thing"), None);
    }

    #[test]
    fn searches_many_names_in_slices() {
        let source = large(9_000, 10);
        let mut search = NameSearch::new(&source.data(), &Common::new((80, 24), Theme::MONO, TimeZone::UTC));
        search.start("c8999", &source.data());
        assert_eq!(names(&search), ["c8999"], "a name itself is found at once");
        search.start("8998", &source.data());
        assert_eq!(names(&search), [""; 0]);
        let mut steps = 0;
        let mut longest = Duration::ZERO;
        while search.is_searching() {
            let start = Instant::now();
            search.step(&source.data());
            longest = longest.max(start.elapsed());
            steps += 1;
        }
        assert_eq!(names(&search), ["c8998"]);
        assert!((3..20).contains(&steps), "{steps}");
        assert!(longest < Duration::from_millis(200), "{longest:?}");
    }
}
