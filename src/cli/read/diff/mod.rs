//! `diff`: changes between versions of a resource, two moments, or two sources.

mod columns;
mod moments;
mod places;
mod print;
mod resources;
mod side;
#[cfg(test)]
mod tests;
mod words;

use crate::cli::source::{offline, schema_flags};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use xdscope_engine::diff::{Comparison, DiffPath, Op, Options, compare, diff_sets};
use xdscope_present::json;
use xdscope_present::report::type_order;
use xdscope_present::text::shell_word;
use xdscope_schema::Schema;
use xdscope_schema::owners::Owner;
use xdscope_sources::{BoundedCatalog, Limit, Passes};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{StreamId, TypeUrl};
use xdscope_wire::text::{display_safe, plural};

use crate::cli::args::{DiffArgs, Global, SourceArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::source;
use crate::cli::source::select::Picked;
use crate::cli::source::target::GetTarget;
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Progress;
use moments::{Moments, TakenMoments};
use print::Printer;
use side::{Content, Member, Side};
use words::{ComparisonRequest, Place};

/// A resource that differs.
struct Difference {
    type_url: TypeUrl,
    name: Arc<str>,
    op: Op,
    from: Option<Arc<str>>,
    to: Option<Arc<str>>,
    /// The Kubernetes objects that the newer content was made from.
    owners: Vec<Owner>,
    /// The comparison, if both sides have content that can be read.
    comparison: Option<Comparison>,
    /// Nodes that have the difference, if moments of a session are compared.
    nodes: Vec<String>,
}

/// Number of resources of a type by outcome.
#[derive(Clone, Copy, Default)]
struct Count {
    added: u64,
    changed: u64,
    removed: u64,
    same: u64,
}

/// Counts by type, in the order of the screens.
type Counts = BTreeMap<((usize, String), TypeUrl), Count>;

/// Notes about resources that are equal or uncertain.
#[derive(Default)]
struct DiffNotes {
    same_meaning: Vec<String>,
    reordered: Vec<String>,
    uncertain: Vec<String>,
}

pub(crate) fn run(args: &DiffArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let options =
        Options { strict_order: args.strict_order, ignore: args.ignore.clone(), has_foreign_seed: false };
    let mut work = DiffRun {
        args,
        global,
        options,
        found: Vec::new(),
        counts: Counts::new(),
        aside: DiffNotes::default(),
    };
    match words::read(&args.source.source, &args.words, io)? {
        ComparisonRequest::Versions { what, from, to } => {
            let list = format!("xdscope get {}", shell_word(&args.source.source));
            let result = work.versions(&what, &from, &to, io);
            result.map_err(|error| if error.next.is_empty() { error.next(list) } else { error })
        }
        ComparisonRequest::Moments { from, to, whats } => {
            let (mut passes, _) = source::passes(&args.source, global, io)?;
            let from = source::limit(&mut passes, &from, global, io)?;
            let to = source::limit(&mut passes, &to, global, io)?;
            work.moments(passes, (from, to), [None, None], &whats, io)
        }
        ComparisonRequest::Pushes { what, from, to } => {
            let (mut passes, _) = source::passes(&args.source, global, io)?;
            let pick = args.streams.pick();
            let (timers, places) = (offline::options(&args.source.timers), [&from, &to]);
            let mut progress = Progress::new(&args.source.source, global, io);
            let folded = passes.fold(&mut progress, |catalog, _| {
                let contents = BoundedCatalog::new(catalog, timers.history);
                places::Pushes::new(contents, &what, places, pick.as_ref())
            })?;
            drop(progress);
            let (found, catalog) = folded.facts.into_parts();
            passes.give_back(catalog);
            let [from, to] = found;
            if from.is_missing()
                && let Some(words) = words::with_name(&args.words)
                && let Ok(ComparisonRequest::Versions { what, from, to }) =
                    words::read_versions(&args.source.source, &words)
            {
                match work.versions(&what, &from, &to, io) {
                    // Neither a version nor like a name: the error is about the version.
                    Err(error) if error.exit == Exit::Never && error.next.is_empty() => {}
                    result => return result,
                }
            }
            let (from, old) = from.limit(&what, &args.source.source)?;
            let (to, new) = to.limit(&what, &args.source.source)?;
            work.moments(passes, (from, to), [old, new], &[what], io)
        }
        ComparisonRequest::Sources { other, whats } => work.sources(other, &whats, io),
    }
}

struct DiffRun<'a> {
    args: &'a DiffArgs,
    global: &'a Global,
    options: Options,
    found: Vec<Difference>,
    counts: Counts,
    aside: DiffNotes,
}

impl DiffRun<'_> {
    /// Compares two versions of a resource.
    fn versions(
        &mut self,
        what: &GetTarget,
        from: &Place,
        to: &Place,
        io: &mut Io<'_>,
    ) -> Result<Exit, CliError> {
        let (name, pick) = (what.name.as_deref().unwrap_or_default(), self.args.streams.pick());
        let timers = &self.args.source.timers;
        let folded = source::fold(&self.args.source, self.global, io, |catalog, clock, schema: &_| {
            let store = xdscope_sources::store(offline::options(timers), catalog, clock, schema);
            places::VersionSink::new(store, what, pick.as_ref())
        })?;
        let schema = folded.schema.clone();
        let (store, known) = folded.facts.finish();
        source::say_dropped(&store, &self.args.source, self.global, io);
        Picked::of(pick.as_ref(), &store)?;
        let source = &self.args.source.source;
        if known.is_empty() {
            return Err(places::never_sent(what, &store, source));
        }
        // The default is the newest change on any stream.
        let change = places::changed(&known).filter(|_| (from, to) == (&Place::Before, &Place::Newest));
        let new = change.map_or_else(|| places::pick(&known, [from, to], 1, None, what, source), Ok)?;
        let old = places::pick(&known, [from, to], 0, Some(new), what, source)?;
        if !self.global.quiet {
            for note in places::ambiguous(&known, &[(from, old), (to, new)]) {
                io.say(&note);
            }
        }
        let store = Rc::new(store);
        let old = Side::of_version(old, name, &store);
        let new = Side::of_version(new, name, &store);
        self.report(&old, &new, &schema, &[], io)
    }

    /// Compares the resources of a source at two moments.
    fn moments(
        &mut self,
        mut passes: Passes,
        (from, to): (Limit, Limit),
        // Streams of the responses, if versions of a type are compared.
        only: [Option<StreamId>; 2],
        whats: &[GetTarget],
        io: &mut Io<'_>,
    ) -> Result<Exit, CliError> {
        let timers = &self.args.source.timers;
        let schema = passes.schema().clone();
        let mut progress = Progress::new(&self.args.source.source, self.global, io);
        let folded = passes.fold(&mut progress, |catalog, clock| {
            let store = xdscope_sources::store(offline::options(timers), catalog, clock, &schema);
            Moments::new(store, [from, to], whats, self.args.streams.pick())
        })?;
        drop(progress);
        offline::say(&folded.notices, self.global, io);
        let TakenMoments { store, clients, members } = folded.facts.finish()?;
        source::say_dropped(&store, &self.args.source, self.global, io);
        let store = Rc::new(store);
        let [old, new] = members.map(|members| Side::at(members, &clients, only, &store));
        self.report(&old, &new, &schema, whats, io)
    }

    /// Compares the resources of two sources.
    fn sources(&mut self, other: String, whats: &[GetTarget], io: &mut Io<'_>) -> Result<Exit, CliError> {
        let schema = schema_flags::schema(&self.args.source.descriptors, self.global)?;
        // WHAT, if a source is a server.
        let ask: Vec<String> = whats.iter().map(|what| what.text.clone()).collect();
        let first = &SourceArgs { ask, ..self.args.source.clone() };
        let second = SourceArgs { source: other, ..first.clone() };
        // A recording has its own key for the ids of secrets; use that key for the other source.
        let swap = !side::is_keyed(&first.source, io) && side::is_keyed(&second.source, io);
        let (one, two) = if swap { (&second, first) } else { (first, &second) };
        let one = side::open(one, schema_flags::seed()?, self.args, whats, self.global, io)?;
        let two = side::open(two, one.seed, self.args, whats, self.global, io)?;
        let (first, second) = if swap { (two, one) } else { (one, two) };
        self.report(&first, &second, &schema, whats, io)
    }

    /// Compares two sides, and prints the differences.
    fn report(
        &mut self,
        old: &Side,
        new: &Side,
        schema: &Arc<Schema>,
        whats: &[GetTarget],
        io: &mut Io<'_>,
    ) -> Result<Exit, CliError> {
        for what in whats.iter().filter(|what| what.name.is_some()) {
            if !old.members.iter().chain(&new.members).any(|member| member.is(what)) {
                let error = CliError::new(Exit::Never, format!("{} is on neither side", what.text));
                return Err(error.next(format!("xdscope get {}", shell_word(&self.args.source.source))));
            }
        }
        self.compare(old, new, schema);
        let differs = !self.found.is_empty();
        let printer = Printer {
            args: self.args,
            style: io.style(self.global),
            width: columns::width(io),
            terminal: io.stdout_is_terminal,
        };
        printer.print(&self.found, &self.counts, &mut *io.stdout)?;
        if !self.global.quiet {
            io.flush()?;
            match self.found.len() as u64 {
                0 => io.say("no difference"),
                1 => io.say("1 resource differs"),
                n => io.say(&format!("{} differ", plural(n, "resource"))),
            }
            self.aside.lines().iter().for_each(|line| io.say(line));
        }
        Ok(if differs { Exit::No } else { Exit::Yes })
    }

    fn compare(&mut self, old: &Side, new: &Side, schema: &Arc<Schema>) {
        let (olds, news) = (&old.members, &new.members);
        let keys = |members: &[Member]| members.iter().map(Member::key).collect::<Vec<_>>();
        let found = diff_sets(&keys(olds), &keys(news), |i, j| match (olds.get(i), news.get(j)) {
            (Some(a), Some(b)) => side::same(old, a, new, b),
            _ => false,
        });
        let mut merged = HashMap::new();
        let two = !old.is_same_source(new);
        let foreign = two && old.seed != new.seed;
        for member in found.removed.iter().filter_map(|at| olds.get(*at)) {
            self.put(Op::Removed, Some((old, member)), None, None, &mut merged);
        }
        for member in found.added.iter().filter_map(|at| news.get(*at)) {
            self.put(Op::Added, None, Some((new, member)), None, &mut merged);
        }
        for (i, j) in &found.changed {
            let (Some(a), Some(b)) = (olds.get(*i), news.get(*j)) else { continue };
            let (Some(from), Some(to)) = (old.tree(a, schema), new.tree(b, schema)) else {
                // Without content only the versions tell that the resource differs.
                self.put(Op::Changed, Some((old, a)), Some((new, b)), None, &mut merged);
                continue;
            };
            // Ids of secrets from an earlier session have another key.
            self.options.has_foreign_seed = foreign || (two && (old.is_marked(a) || new.is_marked(b)));
            let mut comparison = compare(&from, &to, &self.options);
            if !self.args.unified && !self.args.side_by_side {
                // Only line formats need the full trees, and there may be 100,000.
                (comparison.old, comparison.new) = Default::default();
            }
            self.aside.note(b, &comparison);
            match comparison.op() {
                Some(op) => self.put(op, Some((old, a)), Some((new, b)), Some(comparison), &mut merged),
                None => {
                    if comparison.reordered.is_empty() && comparison.uncertain.is_empty() && from == to {
                        self.aside.same_meaning.push(b.label());
                    }
                    self.count(b).same += 1;
                }
            }
        }
        let differ: HashSet<usize> =
            found.changed.iter().map(|(_, new)| *new).chain(found.added.iter().copied()).collect();
        // Count a resource once for each node.
        let mut same = HashSet::new();
        for (_, member) in news.iter().enumerate().filter(|(at, _)| !differ.contains(at)) {
            if same.insert((&member.type_url, &member.name, member.blob())) {
                self.count(member).same += 1;
            }
        }
        self.found.sort_by_cached_key(|found| (type_order(&found.type_url), found.name.clone()));
    }

    fn count(&mut self, member: &Member) -> &mut Count {
        let url = member.type_url.clone();
        self.counts.entry((type_order(&url), url)).or_default()
    }

    /// Counts and stores a difference. Equal differences of several nodes are stored once.
    fn put(
        &mut self,
        op: Op,
        old: Option<(&Side, &Member)>,
        new: Option<(&Side, &Member)>,
        comparison: Option<Comparison>,
        merged: &mut Merged,
    ) {
        let Some((side, member)) = new.or(old) else { return };
        let [old, new] = [old, new].map(|place| place.map(|(_, member)| member));
        let blob = |side: Option<&Member>| side.and_then(Member::blob);
        let node = member.session.map(|_| member.node_name());
        let key = (member.type_url.clone(), member.name.clone(), blob(old), blob(new));
        if let Some(before) = merged.get(&key).and_then(|at| self.found.get_mut(*at)) {
            before.nodes.extend(node);
            return;
        }
        let count = self.count(member);
        match op {
            Op::Added => count.added += 1,
            Op::Removed => count.removed += 1,
            Op::Changed | Op::Reordered => count.changed += 1,
        }
        merged.insert(key, self.found.len());
        self.found.push(Difference {
            type_url: member.type_url.clone(),
            name: member.name.clone(),
            op,
            from: old.and_then(|member| member.version.clone()),
            to: new.and_then(|member| member.version.clone()),
            owners: side.owners(member),
            comparison,
            nodes: node.into_iter().collect(),
        });
    }
}

/// Index of a difference, by name and both contents.
type Merged = HashMap<(TypeUrl, Arc<str>, Option<BlobId>, Option<BlobId>), usize>;

impl DiffNotes {
    fn note(&mut self, member: &Member, comparison: &Comparison) {
        let places = |paths: &[DiffPath]| -> Vec<String> {
            paths.iter().map(|path| format!("{} {path}", member.label())).collect()
        };
        self.reordered.extend(places(&comparison.reordered));
        self.uncertain.extend(places(&comparison.uncertain));
    }

    fn lines(&self) -> Vec<String> {
        let mut out = Vec::new();
        let mut say = |what: String, places: &[String], after: &str| {
            if let Some(first) = places.first() {
                let more = if places.len() > 1 { ", …" } else { "" };
                out.push(format!("{what}{}{more}{after}", display_safe(first)));
            }
        };
        let number = |list: &[String], noun| plural(list.len() as u64, noun);
        let count = number(&self.same_meaning, "resource");
        say(format!("bytes differ, same meaning, {count}: "), &self.same_meaning, "");
        let count = number(&self.reordered, "keyed list");
        say(format!("order ignored, {count}: "), &self.reordered, " (--strict-order compares it)");
        let count = number(&self.uncertain, "secret");
        say(format!("can't be compared, {count} redacted by two sessions: "), &self.uncertain, "");
        out
    }
}

impl Member {
    /// The content, if it is in the catalog of the source.
    fn blob(&self) -> Option<BlobId> {
        match &self.content {
            Content::Blob(id) => Some(*id),
            _ => None,
        }
    }

    /// Formats `cds/reviews`.
    fn label(&self) -> String {
        format!("{}/{}", json::type_word(&self.type_url), self.name)
    }
}
