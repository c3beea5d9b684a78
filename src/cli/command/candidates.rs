//! Names for the completion of a command line: quick, bounded, and silent about failures.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::app::demo::Scenario;
use crate::app::recording::session_dir;
use xdscope_engine::lint;
use xdscope_engine::store::{MessageKind, Options};
use xdscope_present::{json, report};
use xdscope_schema::Schema;
use xdscope_sources::{Limit, Spec};
use xdscope_tui::ScreenId;
use xdscope_wire::event::{ApiVersion, Kind};
use xdscope_wire::text::must_escape;

use super::help;
use crate::cli::source::prefixes::PREFIXES;
use crate::cli::source::target::GetTarget;

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
pub(crate) enum Names {
    /// Files, kept sessions and the prefixes of other sources.
    Sources,
    /// Kept sessions.
    Sessions,
    /// Types, and resources of a type.
    Resources,
    Nodes,
    Streams,
    Rules,
    /// Resources, and after one of them its versions.
    Compared,
    /// Positions in a recording.
    Moments,
    /// Words that `explain` knows: fields behind a message, else states, rules and messages.
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
pub(crate) struct Candidates {
    /// The file of the source that the command line names.
    source: Option<PathBuf>,
    /// Types on the command line, for names after them.
    last_type: Option<Kind>,
    /// The resource on the command line, for versions after it.
    resource: Option<GetTarget>,
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
    /// Versions of the resource on the command line.
    versions: Vec<String>,
    /// Messages that refuse a push, the newest first.
    refusals: Vec<String>,
}

impl Candidates {
    pub(crate) fn new(words: &[OsString], state_dir: Option<PathBuf>, must_quote: bool) -> Candidates {
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
        let mut targets =
            typed.iter().filter(|word| !Path::new(word).is_file()).map(|word| GetTarget::parse(word));
        let resource = targets.rfind(|target| target.kind.is_some() && target.name.is_some());
        Candidates { source, last_type, resource, state_dir, must_quote }
    }

    /// Returns the names that begin with `current`.
    pub(crate) fn find(&self, names: Names, current: &str) -> Vec<String> {
        let current = current.trim_start_matches(['\'', '"']);
        let all: Vec<String> = match names {
            Names::Sources => {
                let prefixes = PREFIXES.iter().map(|prefix| prefix.text.to_owned());
                self.sessions().into_iter().chain(prefixes).chain(files(current)).collect()
            }
            Names::Sessions => self.sessions().into_iter().chain(["last".to_owned()]).collect(),
            Names::Resources => self.resources(current),
            Names::Nodes => self.of_source().nodes.into_iter().collect(),
            Names::Streams => self.of_source().streams,
            Names::Rules => lint::rules().map(|rule| rule.id.to_owned()).collect(),
            Names::Compared if self.resource.is_some() => self.of_source().versions,
            Names::Compared => self.resources(current),
            Names::Moments => {
                let words = ["start", "end", "nack"].map(str::to_owned).into_iter();
                words.chain(self.of_source().refusals).collect()
            }
            Names::Words => match current.rsplit_once('.') {
                Some((message, _)) => fields(message),
                None => words_to_explain(),
            },
            Names::Screens => ScreenId::ALL.into_iter().map(|screen| screen.title().to_lowercase()).collect(),
            Names::Topics => help::words(),
            Names::Scenarios => {
                Scenario::ALL.into_iter().map(|scenario| scenario.word().to_owned()).collect()
            }
            Names::Conditions => ["synced", "nack"].map(str::to_owned).to_vec(),
            Names::Filters => self.filters(current),
        };
        // A shell prints control characters unescaped, and an escaped name would match nothing.
        let is_shown = |name: &String| name.starts_with(current) && !name.contains(must_escape);
        let fitting = all.into_iter().filter(is_shown).take(MAX_CANDIDATES);
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
        if let Some(kind) = self.last_type
            && !current.contains('/')
        {
            let prefix = format!("{}/", kind.word());
            let of_type = names.resources.iter().filter_map(|name| name.strip_prefix(&prefix));
            return of_type.map(str::to_owned).chain(types).collect();
        }
        let nodes = self.source.is_some().then(|| crate::cli::read::nodes::WORD.to_owned());
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
        let resource = self.resource.clone();
        let started = reader.spawn(move || {
            if let Some(names) = read(&path, resource.as_ref()) {
                // Nobody waits any more if reading took too long.
                let _ = send.send(names);
            }
        });
        let names = started.ok().and_then(|_| receive.recv_timeout(MAX_TIME).ok());
        names.unwrap_or_default()
    }
}

/// Returns the states, rules and messages that `explain` knows.
fn words_to_explain() -> Vec<String> {
    let states = report::STATES.into_iter().map(|(state, _)| state.word());
    let messages = Kind::all().filter_map(|kind| kind.message(ApiVersion::V3)?.rsplit('.').next());
    let words = states.chain(lint::rules().map(|rule| rule.id)).chain(messages);
    words.map(str::to_owned).collect()
}

/// Returns the fields of a message, or of the message that a field holds: `Cluster.name`.
fn fields(path: &str) -> Vec<String> {
    let schema = Schema::default();
    let fields = schema.field_names_in(path).unwrap_or_default();
    fields.iter().map(|field| format!("{path}.{field}")).collect()
}

/// Reads the names of a file, and the versions of a resource.
fn read(path: &Path, resource: Option<&GetTarget>) -> Option<SourceNames> {
    let spec = Spec { memory: Some(Options::default().history), ..Spec::new(path) };
    let source = xdscope_sources::open(&spec, &Default::default()).ok()?;
    let (store, _) = xdscope_sources::replay(source, Options::default(), &Limit::All);
    let mut names = SourceNames::default();
    for stream in store.streams() {
        names.streams.push(format!("#{}", stream.stream.0));
        names.nodes.extend(crate::cli::source::select::node(&stream).map(str::to_owned));
    }
    for state in store.states() {
        let word = json::type_word(&state.summary.type_url);
        names.types.insert(word.to_owned());
        let resources = store.resources(state.summary.stream, &state.summary.type_url).into_iter();
        names.resources.extend(resources.map(|fact| format!("{word}/{}", fact.name)));
        let Some((of, name)) = resource.and_then(|of| Some((of, of.name.as_deref()?))) else { continue };
        if of.is_type(&state.summary.type_url) {
            let versions = store.versions(state.summary.stream, &state.summary.type_url, name);
            names.versions.extend(versions.iter().map(|version| version.version.to_string()));
        }
    }
    names.versions.sort();
    names.versions.dedup();
    let refusals = (0..store.rows()).rev().filter_map(|row| match store.kind_of(row)? {
        (Some(n), MessageKind::Nack) => Some(format!("#{}", n.0)),
        _ => None,
    });
    names.refusals.extend(refusals.take(MAX_CANDIDATES));
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
