//! `export --to md`: a bug report about one problem, with the messages that show it as an arrow
//! script.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use xdscope_engine::analysis::Analysis;
use xdscope_engine::lint::Finding;
use xdscope_engine::made::owners_of_problem;
use xdscope_engine::nack::{NackGroup, RefusedResource, nack_groups, nack_report};
use xdscope_engine::problems::{Problem, ProblemFact, problems_of};
use xdscope_engine::store::{MessageFact, MessageKind, Store, StreamFact};
use xdscope_present::body_comparison::BodyComparison;
use xdscope_present::table::{Columns, Style};
use xdscope_present::text::{markdown, shell_word};
use xdscope_present::{node, report};
use xdscope_schema::Schema;
use xdscope_sources::ReplayPosition;
use xdscope_sources::record::Loaded;
use xdscope_wire::event::StreamId;
use xdscope_wire::text::{count, display_safe, plural, size, type_label};

use super::reproduction::{Identity, MAX_SCRIPT_BYTES, Reproduction, SessionParts, fold};
use crate::cli::args::{ExportArgs, Global, TimeFormat};
use crate::cli::error::{CliError, Exit};
use crate::cli::output::message_line::{DEFAULT_COLUMNS, RowLayout};
use crate::cli::output::output_file;
use crate::cli::source;
use crate::cli::source::select::{Picked, Selected};
use crate::cli::terminal::io::Io;
use crate::cli::terminal::progress::Busy;

/// Owners of the table.
const MAX_OWNERS: usize = 3;
/// Nodes of the table, besides that of the first message.
const MAX_NODES: usize = 20;
/// Lines of a comparison.
const MAX_DIFF_LINES: usize = 60;
/// Messages of the table, the last ones.
const MAX_MESSAGES: usize = 16;

pub(crate) fn run(args: &ExportArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    check_flags(args)?;
    let opened = source::open(&args.source, global, io)?.with_messages()?;
    let name = &args.source.source;
    if opened.loaded.secrets || args.source.keep_secrets {
        let error =
            CliError::usage(format!("{name} contains secrets, and a bug report is made to be passed on"));
        return Err(error.next(format!("xdscope redact {} --output redacted.xdsrec", shell_word(name))));
    }
    let (schema, form) = (opened.schema.clone(), opened.format.word());
    let Loaded { catalog, clock, frames, end, .. } = opened.loaded;
    let facts = fold(catalog, clock, &frames, end, &args.source.timers, &schema);
    let picked = Picked::of(args.streams.pick().as_ref(), &facts)?;
    let selected = Selected::of(&facts, facts.findings(), None, |stream, _| picked.has(stream));
    let wrong: Vec<&ProblemFact> = selected.problems.iter().filter(|problem| problem.is_wrong()).collect();
    let number = args.problem.unwrap_or(1) as usize;
    let Some(problem) = wrong.get(number - 1).map(|problem| (*problem).clone()) else {
        let what = match wrong.len() {
            0 => "no problems: there is nothing to report".to_owned(),
            n => format!("no problem {number}: the source has {}", plural(n as u64, "problem")),
        };
        return Err(CliError::new(Exit::No, what).next(format!("xdscope status {}", shell_word(name))));
    };
    let of_script = of_first_node(&problem, &facts);
    let identity = Identity::of(&of_script);
    let findings = &selected.findings;
    let bug = BugReport { problem: &problem, findings, facts: &facts, schema: &schema, form };
    let mut text = bug.text();
    let refused = bug.refused().into_iter().map(|resource| resource.name.value).collect();
    let streams = streams_of_client(&problem, &facts);
    let catalog = facts.into_parts().0.into_catalog();
    let parts = SessionParts {
        catalog: &catalog,
        frames: &frames,
        clock,
        end,
        schema: &schema,
        timers: &args.source.timers,
        refused,
    };
    let busy = Busy::start("looking for the messages that show the problem", global, io);
    let reproduction = parts.find(&of_script, &streams, &identity);
    drop(busy);
    script_section(&mut text, reproduction.as_ref(), name);
    let file = output_file::named(args.output.as_deref());
    match file {
        None => io.stdout.write_all(text.as_bytes())?,
        Some(path) => output_file::save(path, args.force, name, &text, io)?,
    }
    io.flush()?;
    if !global.quiet {
        let place = report::problem_place(&problem);
        let script = match reproduction {
            Some(found) => format!("with a script of {}", plural(found.messages, "message")),
            None => "without a script: no part of the session shows the problem again".to_owned(),
        };
        let to = file.map(|path| format!("{}: ", path.display())).unwrap_or_default();
        io.say(&display_safe(&format!("{to}problem {number} of {}, {place}, {script}", wrong.len())));
    }
    Ok(Exit::Yes)
}

fn check_flags(args: &ExportArgs) -> Result<(), CliError> {
    let is_part = !matches!(args.from, ReplayPosition::Start) || !matches!(args.until, ReplayPosition::End);
    for (flag, is_set) in [("--filter", args.filter.is_some()), ("--from and --until", is_part)] {
        if is_set {
            let error = CliError::usage(format!("{flag} select messages, and a bug report chooses its own"));
            return Err(error.next("--problem N, --node NAME or --stream '#N'"));
        }
    }
    Ok(())
}

/// Returns a problem as the messages of the first of its nodes show it.
fn of_first_node(problem: &ProblemFact, facts: &Analysis) -> ProblemFact {
    if problem.others.is_empty() {
        return problem.clone();
    }
    let alone = problems_of(facts, facts.findings(), None, |stream, _| stream == problem.stream);
    let is_same = |other: &ProblemFact| (other.kind, other.at) == (problem.kind, problem.at);
    alone.into_iter().find(is_same).unwrap_or_else(|| problem.clone())
}

/// Returns the streams of the client that has a problem.
fn streams_of_client(problem: &ProblemFact, store: &Store) -> Vec<StreamId> {
    let node = problem.node.as_deref();
    let is_own = |stream: &StreamFact| {
        stream.stream == problem.stream
            || (node.is_some() && crate::cli::source::select::node(stream) == node)
    };
    store.streams().iter().filter(|stream| is_own(stream)).map(|stream| stream.stream).collect()
}

/// The words of a bug report.
struct BugReport<'a> {
    problem: &'a ProblemFact,
    /// The findings to which the indices of the problem belong.
    findings: &'a [Finding],
    facts: &'a Analysis,
    schema: &'a Arc<Schema>,
    form: &'static str,
}

impl BugReport<'_> {
    fn text(&self) -> String {
        let (problem, store): (_, &Store) = (self.problem, self.facts);
        let (word, _) = report::problem_word(problem);
        let clock = store.clock();
        let mut out = format!("# {}: {word}\n\n", markdown(&report::problem_place(problem)));
        let day = |at| {
            let at = jiff::Timestamp::from_second(clock.unix_seconds(at)?).ok()?;
            Some(at.strftime("%Y-%m-%d %H:%M:%S").to_string())
        };
        let start = store.line(store.first_row()).and_then(|line| day(line.at));
        if let Some((start, end)) = start.zip(day(store.now())) {
            let _ = writeln!(out, "Times are UTC, from {start} to {end}; ages count back from the end.\n");
        }
        let _ = writeln!(out, "{}.\n", markdown(&report::problem_with_reason(problem, &clock)));
        if let Some(quote) = problem.quote() {
            out.push_str("The client says:\n\n");
            block(&mut out, "text", quote);
        }
        self.versions(&mut out);
        self.comparisons(&mut out);
        self.messages(&mut out);
        out
    }

    /// Adds who takes part, in which versions, and since when.
    fn versions(&self, out: &mut String) {
        let (problem, store): (_, &Store) = (self.problem, self.facts);
        let mut rows: Vec<(&'static str, String)> = Vec::new();
        let since = report::problem_since(problem, &store.clock(), store.now(), &jiff::tz::TimeZone::UTC);
        rows.push(("since", since));
        rows.push(("blame", problem.blame.word().to_owned()));
        let stream = store.stream(problem.stream);
        if let Some(node) = stream.as_ref().and_then(|stream| stream.node.as_ref()) {
            rows.push(("node", node.id.clone()));
            let others: BTreeSet<Arc<str>> = problem.others.iter().filter_map(|of| of.node.clone()).collect();
            let others: Vec<Arc<str>> = others.into_iter().filter(|other| **other != *node.id).collect();
            rows.push(("other nodes", report::names(&others, MAX_NODES)));
            rows.push((
                "client",
                format!("{} {}", node.user_agent, node.user_agent_version).trim().to_owned(),
            ));
            rows.push(("locality", node::locality(&node.locality)));
            rows.push(("features", node.client_features.join(" ")));
        }
        if let Some(stream) = &stream {
            rows.push(("variant", stream.variant.map_or("opaque", |variant| variant.word()).to_owned()));
            rows.push(("control plane", stream.control_plane.as_deref().unwrap_or_default().to_owned()));
        }
        let owners = owners_of_problem(store, problem);
        rows.extend(owners.iter().take(MAX_OWNERS).map(|owner| ("owner", report::owner_line(owner))));
        let rules = problem.findings.iter().filter_map(|index| self.findings.get(*index));
        let mut rules: Vec<&str> = rules.map(|finding| finding.rule.id).collect();
        rules.sort_unstable();
        rules.dedup();
        rows.push(("rules", rules.join(", ")));
        rows.push(("seen by", format!("xdscope {} ({})", env!("CARGO_PKG_VERSION"), self.form)));
        rows.retain(|(_, text)| !text.is_empty() && text != "-");
        let columns = Columns::new()
            .text("", |(label, _): &(&'static str, String)| *label)
            .text("", |(_, text)| text.clone());
        out.push_str(&columns.markdown(&rows));
        out.push('\n');
    }

    /// Returns the resources that a NACK refuses, with their last good contents.
    fn refused(&self) -> Vec<RefusedResource> {
        let (problem, store): (_, &Store) = (self.problem, self.facts);
        if problem.quote().is_none() {
            return Vec::new();
        }
        let is_own =
            |group: &NackGroup| (group.stream, &group.type_url) == (problem.stream, &problem.type_url);
        let Some(group) = nack_groups(store).into_iter().find(is_own) else { return Vec::new() };
        nack_report(store, self.schema, group.stream, &group.type_url, &group.nacks).subjects
    }

    /// Adds the refused content beside the last good one.
    fn comparisons(&self, out: &mut String) {
        let problem = self.problem;
        for subject in self.refused() {
            let compared = BodyComparison::new(&subject);
            let mut lines = String::new();
            for pair in compared.pairs.iter().filter(|pair| pair.is_shown).take(MAX_DIFF_LINES) {
                let (good, refused) = (compared.good_line(pair), compared.refused_line(pair));
                if !pair.differs {
                    let _ = writeln!(lines, "  {}", refused.or(good).unwrap_or_default());
                    continue;
                }
                good.into_iter().for_each(|line| lines.push_str(&format!("- {line}\n")));
                refused.into_iter().for_each(|line| lines.push_str(&format!("+ {line}\n")));
            }
            if !lines.is_empty() {
                let good = compared.good_title().unwrap_or_else(|| "nothing good is known".to_owned());
                let label = type_label(problem.type_url.as_str());
                let _ = writeln!(
                    out,
                    "{}: {} (-), refused (+)\n",
                    markdown(&format!("{label} {}", compared.name)),
                    markdown(&good)
                );
                block(out, "diff", &lines);
            }
        }
    }

    /// Adds the evidence, as `log` prints it.
    fn messages(&self, out: &mut String) {
        let store: &Store = self.facts;
        let mut rows: Vec<usize> = self.problem.messages.iter().filter_map(|n| store.row_of(*n)).collect();
        // The evidence of streams that fail is how they end.
        if let Problem::Failing(_) = self.problem.problem {
            let streams = streams_of_client(self.problem, store);
            let is_close = |row: &usize| {
                let line = store.line(*row);
                line.is_some_and(|line| line.kind == MessageKind::Close && streams.contains(&line.stream))
            };
            rows.extend((store.first_row()..store.rows()).filter(is_close));
        }
        rows.sort_unstable();
        rows.dedup();
        let first = rows.len().saturating_sub(MAX_MESSAGES);
        let facts: Vec<MessageFact> = rows.into_iter().skip(first).filter_map(|row| store.row(row)).collect();
        if facts.is_empty() {
            return;
        }
        let layout = RowLayout {
            time: TimeFormat::Utc,
            zone: jiff::tz::TimeZone::UTC,
            style: Style::PLAIN,
            has_nodes: false,
            is_cut: false,
            columns: DEFAULT_COLUMNS,
        };
        let mut lines = layout.titles();
        for fact in &facts {
            let _ = write!(lines, "\n{}", layout.row(fact, None, store));
        }
        out.push_str("## Messages\n\n");
        if self.problem.count > 1 {
            let times = plural(self.problem.count, "time");
            let _ = writeln!(out, "The problem occurred {times}; these are the newest messages about it.\n");
        }
        block(out, "text", &lines);
    }
}

/// Adds the script, or how to get one.
fn script_section(out: &mut String, found: Option<&Reproduction>, source: &str) {
    out.push_str("## Reproduce\n\n");
    let Some(found) = found else {
        out.push_str("No part of the session shows the problem as an arrow script; attach the recording.\n");
        return;
    };
    if found.script.len() > MAX_SCRIPT_BYTES {
        let _ = writeln!(
            out,
            "The arrow script of the problem has {}; `xdscope export {} --to script --output problem.xds` writes \
             the session, to attach to this report.",
            size(found.script.len() as u64),
            markdown(&shell_word(source))
        );
        return;
    }
    let what = match (found.is_whole, found.lacks_resources) {
        (true, _) => "the session",
        (false, false) => "the messages that show the problem",
        (false, true) => "the messages and resources that show the problem",
    };
    let _ = writeln!(
        out,
        "An arrow script with {what} ({}). Save it as `problem.xds`: `xdscope status problem.xds` prints the \
         problem, `xdscope replay problem.xds` shows it, and `xdscope serve problem.xds --mode script` sends the \
         responses to a client.\n",
        count(found.messages)
    );
    block(out, "text", &found.script);
}

/// Adds a block of text, in a fence that the text does not contain.
fn block(out: &mut String, kind: &str, text: &str) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let lines: Vec<_> = text.lines().map(display_safe).collect();
    let _ = writeln!(out, "{fence}{kind}\n{}\n{fence}\n", lines.join("\n"));
}
