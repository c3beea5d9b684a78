//! Names for the completion of a command line: quick, bounded, and silent about failures.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::app::demo::Scenario;
use crate::app::session_dir;
use crate::engine::lint;
use crate::engine::store::{MessageKind, Options};
use crate::present::{json, report};
use crate::sources::{self, Limit, Spec};
use crate::tui::ScreenId;
use crate::wire::event::Kind;

use super::help;

/// Largest file that is read for its names, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Time for reading a file. A user waits meanwhile.
const MAX_TIME: Duration = Duration::from_millis(600);
/// Number of candidates.
const MAX_CANDIDATES: usize = 200;

/// Characters that a shell reads as more than text.
const SHELL_CHARACTERS: &str = " \t|&;<>()$`\\\"'*?[]#~{}!";

/// The kinds of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Files and kept sessions.
    Sources,
    /// Kept sessions.
    Sessions,
    /// Types, and resources of a type.
    Resources,
    Nodes,
    Streams,
    Rules,
    /// Words that `explain` knows.
    Words,
    Screens,
    Topics,
    /// Scenarios of the demo.
    Scenarios,
    /// Conditions of `wait`.
    Conditions,
    /// Terms of filters: `kind:nack`, `type:cds`, `node:edge-gw-1`.
    Filters,
}

/// Finds the names that can continue a command line.
pub(super) struct Candidates {
    /// The file of the source that the command line names.
    source: Option<PathBuf>,
    /// Types on the command line, for names after them.
    last_type: Option<Kind>,
    state_dir: Option<PathBuf>,
    /// Whether the shell inserts a candidate as it stands.
    must_quote: bool,
}

/// The names of a source.
#[derive(Default)]
struct SourceNames {
    nodes: BTreeSet<String>,
    streams: Vec<String>,
    /// Words of types.
    types: BTreeSet<String>,
    /// Resources as `cds/reviews`.
    resources: BTreeSet<String>,
}

impl Candidates {
    pub(super) fn new(words: &[OsString], state_dir: Option<PathBuf>, must_quote: bool) -> Candidates {
        // The last word is being typed.
        let typed = words.get(1..words.len().saturating_sub(1)).unwrap_or_default();
        let typed: Vec<&str> = typed.iter().filter_map(|word| word.to_str()).collect();
        let file = |word: &&str| {
            let path = PathBuf::from(word.strip_prefix("file:").unwrap_or(word));
            match path.is_file() {
                true => Some(path),
                false => session_dir::find(state_dir.as_deref()?, &path),
            }
        };
        let source = typed.iter().filter(|word| !word.starts_with('-')).find_map(file);
        let last_type = typed.last().and_then(|word| Kind::parse(word));
        Candidates { source, last_type, state_dir, must_quote }
    }

    /// Returns the names that begin with `current`.
    pub(super) fn find(&self, names: Names, current: &str) -> Vec<String> {
        let current = current.trim_start_matches(['\'', '"']);
        let all: Vec<String> = match names {
            Names::Sources => self.sessions().into_iter().chain(files(current)).collect(),
            Names::Sessions => self.sessions().into_iter().chain(["last".to_owned()]).collect(),
            Names::Resources => self.resources(current),
            Names::Nodes => self.of_source().nodes.into_iter().collect(),
            Names::Streams => self.of_source().streams,
            Names::Rules => lint::rules().map(|rule| rule.id.to_owned()).collect(),
            Names::Words => {
                let states = report::STATES.into_iter().map(|(state, _)| state.word());
                states.chain(lint::rules().map(|rule| rule.id)).map(str::to_owned).collect()
            }
            Names::Screens => ScreenId::ALL.into_iter().map(|screen| screen.title().to_lowercase()).collect(),
            Names::Topics => help::words(),
            Names::Scenarios => {
                Scenario::ALL.into_iter().map(|scenario| scenario.word().to_owned()).collect()
            }
            Names::Conditions => ["synced", "nack"].map(str::to_owned).to_vec(),
            Names::Filters => self.filters(current),
        };
        let fitting = all.into_iter().filter(|name| name.starts_with(current)).take(MAX_CANDIDATES);
        fitting.map(|name| self.quoted(name)).collect()
    }

    fn quoted(&self, name: String) -> String {
        if !self.must_quote || !name.contains(|c| SHELL_CHARACTERS.contains(c)) {
            return name;
        }
        format!("'{}'", name.replace('\'', "'\\''"))
    }

    fn sessions(&self) -> Vec<String> {
        let Some(dir) = &self.state_dir else { return Vec::new() };
        let found = session_dir::list(dir).unwrap_or_default();
        found.into_iter().map(|session| session.name).collect()
    }

    /// Returns terms of filters; nodes and names are those of the source.
    fn filters(&self, current: &str) -> Vec<String> {
        let terms = |field: &str, words: Vec<String>| -> Vec<String> {
            words.into_iter().map(|word| format!("{field}:{word}")).collect()
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match current.split_once(':').map(|(field, _)| field) {
            Some(field @ "kind") => {
                terms(field, MessageKind::ALL.into_iter().map(|kind| kind.word().to_owned()).collect())
            }
            Some(field @ "type") => terms(field, Kind::all().map(|kind| kind.word().to_owned()).collect()),
            Some(field @ "dir") => terms(field, words(&["req", "resp"])),
            Some(field @ "state") => {
                terms(field, report::STATES.iter().map(|(state, _)| state.word().to_owned()).collect())
            }
            Some(field @ "rule") => terms(field, lint::rules().map(|rule| rule.id.to_owned()).collect()),
            Some(field @ "node") => terms(field, self.of_source().nodes.into_iter().collect()),
            Some(_) => Vec::new(),
            None => words(&["kind:", "type:", "node:", "state:", "name:", "dir:", "stream:", "rule:"]),
        }
    }

    /// Returns types, resources as `cds/reviews`, and after a type the names alone.
    fn resources(&self, current: &str) -> Vec<String> {
        let names = self.of_source();
        let types = match names.types.is_empty() {
            true => Kind::all().map(|kind| kind.word().to_owned()).collect(),
            false => names.types,
        };
        if let Some(kind) = self.last_type.filter(|_| !current.contains('/')) {
            let prefix = format!("{}/", kind.word());
            let of_type = names.resources.iter().filter_map(|name| name.strip_prefix(&prefix));
            return of_type.map(str::to_owned).chain(types).collect();
        }
        let nodes = self.source.is_some().then(|| super::nodes::WORD.to_owned());
        match current.contains('/') {
            true => names.resources.into_iter().collect(),
            false => types.into_iter().chain(nodes).collect(),
        }
    }

    /// Reads the names of the source, unless reading takes too long.
    fn of_source(&self) -> SourceNames {
        let Some(path) = self.source.clone() else { return SourceNames::default() };
        if std::fs::metadata(&path).map_or(0, |file| file.len()) > MAX_FILE_BYTES {
            return SourceNames::default();
        }
        let (send, receive) = channel();
        // The process ends soon, and the thread with it.
        let reader = std::thread::Builder::new().name("names".into());
        let started = reader.spawn(move || drop(read(&path).map(|names| send.send(names))));
        let names = started.ok().and_then(|_| receive.recv_timeout(MAX_TIME).ok());
        names.unwrap_or_default()
    }
}

/// Reads the names of a file.
fn read(path: &Path) -> Option<SourceNames> {
    let source = sources::open(&Spec::new(path), &Default::default()).ok()?;
    let (store, _) = sources::replay(source, Options::default(), &Limit::All);
    let mut names = SourceNames::default();
    for stream in store.streams() {
        names.streams.push(format!("#{}", stream.stream.0));
        names.nodes.extend(super::select::node(&stream).map(str::to_owned));
    }
    for state in store.states() {
        let word = json::type_word(&state.type_url);
        names.types.insert(word.to_owned());
        let resources = store.resources(state.stream, &state.type_url).into_iter();
        names.resources.extend(resources.map(|fact| format!("{word}/{}", fact.name)));
    }
    Some(names)
}

/// Lists the files that continue a path.
fn files(current: &str) -> Vec<String> {
    let (folder, _) = current.rsplit_once('/').map_or(("", current), |(folder, name)| (folder, name));
    let prefix = if current.contains('/') { format!("{folder}/") } else { String::new() };
    let folder = match (folder.is_empty(), current.starts_with('/')) {
        (true, false) => Path::new("."),
        (true, true) => Path::new("/"),
        _ => Path::new(folder),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(MAX_CANDIDATES * 10).flatten();
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let end = if entry.path().is_dir() { "/" } else { "" };
        (!name.starts_with('.')).then(|| format!("{prefix}{name}{end}"))
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    names
}
