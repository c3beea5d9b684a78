//! `lint`: findings about the protocol and about good order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use xdscope_engine::analysis;
use xdscope_engine::lint::{self, Bootstrap, Finding, Rule, Severity};
use xdscope_engine::made::owners_of_finding;
use xdscope_engine::problems::{self, FindingGroup, ProblemFact};
use xdscope_engine::store::{ClientMarks, SchemaSemantics, SharedSemantics, Store};
use xdscope_present::json;
use xdscope_present::report;
use xdscope_present::table::{Columns, TableForm, TableLooks};
use xdscope_sources::{SchemaCodec, script};

use xdscope_present::text::shell_word;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Clock;
use xdscope_wire::text::plural;

use crate::app::process::open;
use crate::cli::args::{FailOn, Format, Global, LintArgs, LintFormat, SeverityWord, SourceArgs};
use crate::cli::command::suggest;
use crate::cli::error::{CliError, Exit};
use crate::cli::output::json_out::{ObjectLooks, Objects};
use crate::cli::output::lint_out;
use crate::cli::source;
use crate::cli::source::select::Picked;
use crate::cli::source::{offline, schema_flags};
use crate::cli::terminal::io::{Io, Style};

pub(crate) fn run(args: &LintArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    args.rule.iter().try_for_each(|pattern| known(pattern))?;
    if args.list_rules {
        list(args, io)?;
        return Ok(Exit::Yes);
    }
    let source = SourceArgs {
        source: args.source.clone().unwrap_or_default(),
        ask: Vec::new(),
        timeout: None,
        client: args.client.clone(),
        keep_secrets: false,
        accept_broken: true,
        timers: args.limits,
        descriptors: args.descriptors.clone(),
    };
    if args.expect {
        return expect(args, &source, global, io);
    }
    if let Some(file) = bootstrap(&source.source, io)? {
        let mut findings = file.findings();
        findings.retain(|f| is_selected(args, f.rule.id) && f.severity >= severity(args.severity));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let store =
            Store::new(Catalog::in_memory(), Clock { epoch: None, untimed: true }, Default::default());
        return print(args, &source, &Report { findings, problems: Vec::new(), store: &store }, global, io);
    }
    let rules = |schema: &_| options(args, schema);
    let folded = source::analyse_at(&source, &args.at, rules, global, io)?.with_messages()?;
    let (store, lint) = folded.facts.into_parts();
    let picked = Picked::of(args.streams.pick().as_ref(), &store)?;
    let all = problems::problems(&store, lint.findings());
    let about = problems::findings_about(&all, lint.findings(), |stream, _| picked.has(stream)).into_iter();
    let wanted = about.filter_map(|at| lint.findings().get(at)).filter(|finding| wanted(args, finding));
    let mut findings: Vec<Finding> = wanted.cloned().collect();
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.first, finding.at));
    let mut problems = problems::problems_of(&store, &findings, None, |stream, _| picked.has(stream));
    // `--rule` asks about rules, not about states that broke none.
    let is_wanted = |problem: &ProblemFact| args.rule.is_empty() || !problem.findings.is_empty();
    problems.retain(is_wanted);
    print(args, &source, &Report { findings, problems, store: &store }, global, io)
}

/// Reads SOURCE as a bootstrap, if it is one. No other verb reads bootstraps.
pub(crate) fn bootstrap(source: &str, io: &Io<'_>) -> Result<Option<Bootstrap>, CliError> {
    if source == "-" {
        return Ok(None);
    }
    if offline::is_server(source) {
        return Ok(None);
    }
    let path = offline::find(source, io)?;
    let text = |ending: &str| matches!(ending, "json" | "yaml" | "yml");
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !text(ending) {
        return Ok(None);
    }
    let read = open::bootstrap(&path).ok();
    Ok(read.and_then(|text| Bootstrap::read(&text)))
}

/// The findings to print, and the problems that they belong to.
struct Report<'a> {
    findings: Vec<Finding>,
    problems: Vec<ProblemFact>,
    store: &'a Store,
}

/// Writes findings in the format of `-o`, and returns the exit code.
fn print(
    args: &LintArgs,
    source: &SourceArgs,
    report: &Report<'_>,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Exit, CliError> {
    let Report { findings, problems, store } = report;
    let groups = problems::findings_by_cause(problems, findings);
    let failing = findings.iter().filter(|finding| fails(finding, args.fail_on)).count();
    // Findings with one cause are one row.
    let rows: Vec<LintRow> = match args.format {
        LintFormat::Text | LintFormat::Md => {
            groups.iter().filter_map(|group| LintRow::of_group(group, findings)).collect()
        }
        LintFormat::Wide => {
            let row = |finding: &Finding| LintRow { finding: finding.clone(), others: Vec::new(), nodes: 1 };
            groups.iter().flatten().filter_map(|index| findings.get(*index)).map(row).collect()
        }
        _ => Vec::new(),
    };
    let looks = looks(args, io.style(global));
    let out = &mut *io.stdout;
    match args.format {
        LintFormat::Text | LintFormat::Wide | LintFormat::Md => table(&rows, store, &io.zone, looks, out)?,
        LintFormat::Json | LintFormat::Jsonl | LintFormat::Columns(_) => {
            let mut objects = objects(args, looks, out);
            for (finding, group) in findings.iter().zip(problems::group_numbers(&groups, findings.len())) {
                let mut object = json::finding(finding, Some(group), &store.clock());
                json::add_owners(&mut object, &owners_of_finding(store, finding));
                objects.put(&object)?;
            }
            objects.finish()?;
        }
        LintFormat::Sarif => lint_out::sarif(&source.source, findings, store, out)?,
        LintFormat::Junit => {
            let failing: Vec<&Finding> =
                findings.iter().filter(|finding| fails(finding, args.fail_on)).collect();
            lint_out::junit(&source.source, &failing, store, out)?;
        }
        LintFormat::Github => lint_out::github(&source.source, findings, store, out)?,
    }
    if matches!(args.format, LintFormat::Text | LintFormat::Wide) && !global.quiet {
        io.flush()?;
        // Problems of states that broke no rule.
        for problem in problems.iter().filter(|of| of.is_wrong() && of.findings.is_empty()) {
            io.say(&xdscope_wire::text::display_safe(&format!(
                "{}: {}",
                report::problem_place(problem),
                report::problem(problem, &store.clock())
            )));
        }
        let severities: Vec<Severity> = rows.iter().map(|row| row.finding.severity).collect();
        let lead = groups.first().and_then(|group| findings.get(*group.first()?));
        io.say(&summary(problems, (findings, lead), &severities, failing > 0));
    }
    Ok(if failing > 0 { Exit::No } else { Exit::Yes })
}

/// Refuses a rule that does not exist, or a glob without a match, and suggests similar rules.
fn known(pattern: &str) -> Result<(), CliError> {
    if lint::rules().any(|rule| suggest::is_match(pattern, rule.id)) {
        return Ok(());
    }
    let what = if pattern.contains('*') { "no rule matches" } else { "unknown rule" };
    let near: Vec<String> = match pattern.split_once('*') {
        Some((start, "")) if !start.is_empty() => near_globs(start),
        _ => {
            let near = suggest::near(pattern.trim_matches('*'), lint::rules().map(|rule| rule.id));
            near.into_iter().map(str::to_owned).collect()
        }
    };
    let next = near.iter().map(|rule| format!("--rule {}", shell_word(rule))).collect();
    let error = CliError { next, ..CliError::usage(format!("{what} `{pattern}`")) };
    Err(error.next("xdscope lint --list-rules"))
}

/// Returns globs of rules whose first words resemble `start`: `nack-*` for `nak-`.
fn near_globs(start: &str) -> Vec<String> {
    let starts: BTreeSet<&str> = lint::rules()
        .flat_map(|rule| rule.id.match_indices('-').filter_map(|(at, _)| rule.id.get(..at)))
        .collect();
    let near = suggest::near(start.trim_end_matches('-'), starts).into_iter();
    near.map(|start| format!("{start}-*")).collect()
}

/// Whether `--rule` selects a rule.
fn is_selected(args: &LintArgs, id: &str) -> bool {
    args.rule.is_empty() || args.rule.iter().any(|pattern| suggest::is_match(pattern, id))
}

fn severity(word: SeverityWord) -> Severity {
    match word {
        SeverityWord::Error => Severity::Error,
        SeverityWord::Warn => Severity::Warn,
        SeverityWord::Info => Severity::Info,
    }
}

/// Whether a finding fails the check.
fn fails(finding: &Finding, fail_on: FailOn) -> bool {
    match fail_on {
        FailOn::Error => finding.severity >= Severity::Error,
        FailOn::Warn => finding.severity >= Severity::Warn,
        FailOn::Info => finding.severity >= Severity::Info,
        FailOn::Never => false,
    }
}

fn options(args: &LintArgs, schema: &std::sync::Arc<xdscope_schema::Schema>) -> lint::Options {
    lint::Options { timers: args.timers, profile: args.profile.edition(), ..analysis::rules(schema) }
}

fn wanted(args: &LintArgs, finding: &Finding) -> bool {
    is_selected(args, finding.rule.id) && finding.severity >= severity(args.severity)
}

fn looks(args: &LintArgs, style: Style) -> TableLooks {
    let form = if args.format == LintFormat::Md { TableForm::Markdown } else { TableForm::Text };
    TableLooks { style, has_titles: !args.no_headers, form }
}

/// Returns the writer of objects in the format of `-o`.
fn objects<'a>(args: &LintArgs, table: TableLooks, out: &'a mut dyn std::io::Write) -> Objects<'a> {
    let format = match args.format {
        LintFormat::Json => Format::Json,
        LintFormat::Columns(columns) => Format::Columns(columns),
        _ => Format::Jsonl,
    };
    Objects::new(out, format, ObjectLooks { table, terminal: false })
}

/// Writes each rule with the first sentence of its manual.
fn list(args: &LintArgs, io: &mut Io<'_>) -> Result<(), CliError> {
    let rules = lint::rules().filter(|rule| rule.severity >= severity(args.severity));
    let rules = rules.filter(|rule| is_selected(args, rule.id));
    let looks = looks(args, Style::PLAIN);
    if matches!(args.format, LintFormat::Json | LintFormat::Jsonl | LintFormat::Columns(_)) {
        let mut objects = objects(args, looks, &mut *io.stdout);
        for rule in rules {
            let (id, severity, rows) = (rule.id, rule.severity.word(), rule.rows);
            objects.put(&serde_json::json!({
                "schema": json::SCHEMA, "object": "rule", "rule": id, "severity": severity, "row": rows,
                "source": rule.reference(), "title": rule.title(),
            }))?;
        }
        return Ok(objects.finish()?);
    }
    let columns = Columns::new()
        .text("SEV", |rule: &&'static Rule| rule.severity.word())
        .text("RULE", |rule| rule.id)
        .text("ABOUT", |rule| rule.title());
    Ok(columns.write_with_titles(&rules.collect::<Vec<_>>(), looks, &mut *io.stdout)?)
}

/// Checks the `expect` lines of a script.
fn expect(args: &LintArgs, source: &SourceArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let schema = schema_flags::schema(&source.descriptors, global)?;
    let spec = offline::spec(source, 0, &offline::find(&source.source, io)?);
    let script = xdscope_sources::open_script(&spec)?;
    let options = (offline::options(&source.timers), options(args, &schema));
    let meaning: SharedSemantics = std::sync::Arc::new(SchemaSemantics::new(schema.clone()));
    let failures = script::check(&script, &SchemaCodec(schema), options.0, options.1, Some(meaning))
        .map_err(|error| CliError::unreadable(format!("cannot read {}", source.source)).because(error))?;
    for failure in &failures {
        writeln!(io.stdout, "{}: {}", source.source, xdscope_wire::text::display_safe(&failure.to_string()))?;
    }
    let all =
        script.lines.iter().filter(|line| matches!(line.statement, script::Statement::Expect(_))).count()
            as u64;
    if !global.quiet {
        io.flush()?;
        let failed = failures.len() as u64;
        io.say(&match failed {
            0 if all == 1 => "1 expectation holds".to_owned(),
            0 => format!("{} hold", plural(all, "expectation")),
            failed => format!("{failed} of {} failed", plural(all, "expectation")),
        });
    }
    Ok(if failures.is_empty() { Exit::Yes } else { Exit::No })
}

/// A row of the table: findings with one cause, or one finding.
struct LintRow {
    /// The first finding, with the highest severity of all, and the names and times of those like
    /// it.
    finding: Finding,
    /// Other rules that were broken with this cause: `nack`, or `nack on 5 nodes`.
    others: Vec<String>,
    /// Number of nodes on which the rule was broken.
    nodes: usize,
}

impl LintRow {
    fn of_group(group: &FindingGroup, findings: &[Finding]) -> Option<LintRow> {
        let mut of_group = group.iter().filter_map(|index| findings.get(*index));
        let lead = of_group.next()?;
        let finding = problems::merged(lead, of_group.clone());
        let mut nodes: BTreeMap<&'static str, BTreeSet<&str>> = BTreeMap::new();
        for each in of_group.chain([lead]) {
            nodes.entry(each.rule.id).or_default().extend(each.node.as_deref());
        }
        let own = nodes.remove(lead.rule.id).unwrap_or_default();
        let other = |(id, nodes): (&&str, &BTreeSet<&str>)| match nodes.len() {
            _ if nodes.is_subset(&own) => (*id).to_owned(),
            number => format!("{id} on {}", plural(number as u64, "node")),
        };
        Some(LintRow { finding, others: nodes.iter().map(other).collect(), nodes: own.len() })
    }

    /// Returns the client and the type: `edge-1 CDS`, `5 nodes CDS`.
    fn place(&self, marks: &ClientMarks) -> String {
        if self.nodes < 2 {
            return report::place(&self.finding, marks);
        }
        let node = Some(std::sync::Arc::from(format!("{} nodes", self.nodes)));
        report::place(&Finding { node, ..self.finding.clone() }, &ClientMarks::default())
    }
}

fn table(
    rows: &[LintRow],
    store: &Store,
    zone: &jiff::tz::TimeZone,
    looks: TableLooks,
    out: &mut dyn std::io::Write,
) -> Result<(), CliError> {
    let (marks, clock) = (store.client_marks(), store.clock());
    let since = |row: &LintRow| match clock.untimed {
        true => "-".to_owned(),
        false => xdscope_wire::text::time_of_day(row.finding.first, clock, zone),
    };
    let text = |row: &LintRow| {
        let owner = report::owner_clause(&owners_of_finding(store, &row.finding));
        let text = report::finding(&row.finding, looks.style.pick("×", "x")) + &owner;
        match row.others.is_empty() {
            true => text,
            false => format!("{text}; also {}", row.others.join(", ")),
        }
    };
    let columns = Columns::new()
        .text("SEV", |row: &LintRow| {
            let severity = row.finding.severity;
            (severity.word(), report::severity_role(severity))
        })
        .text("RULE", |row| row.finding.rule.id)
        .text("WHERE", |row| row.place(&marks))
        .text("AT", |row| row.finding.at.map_or("-".to_owned(), |at| format!("#{}", at.0)))
        .text("SINCE", since)
        .text("FINDING", text);
    Ok(columns.write_with_titles(rows, looks, out)?)
}

/// Formats a finding on one line, for live runs.
pub(crate) fn line(finding: &Finding, store: &Store, zone: &jiff::tz::TimeZone, style: Style) -> String {
    let time = xdscope_wire::text::time_of_day(finding.first, store.clock(), zone);
    let at = finding.at.map(|at| format!("#{}  ", at.0)).unwrap_or_default();
    let (severity, rule) = (finding.severity.word(), finding.rule.id);
    // Marks cost a look at each stream, which is too much for each line.
    let place = report::place(finding, &ClientMarks::default());
    let text = report::finding(finding, style.pick("×", "x"));
    let line = format!("{time}  {at}{place}  lint {severity} {rule}  {text}");
    xdscope_wire::text::display_safe(&line).into_owned()
}

/// Counts problems, and the rows by severity: `1 problem; 2 findings (-o wide: 3 one by one):
/// 1 error, 1 info; xdscope explain node-missing says more`.
///
/// `lead`: the finding of the first row. `is_failing`: the exit code tells of broken rules, even if
/// no problem lasts.
fn summary(
    problems: &[ProblemFact],
    (findings, lead): (&[Finding], Option<&Finding>),
    rows: &[Severity],
    is_failing: bool,
) -> String {
    let count = |severity| rows.iter().filter(|row| **row == severity).count() as u64;
    let parts = [Severity::Error, Severity::Warn, Severity::Info].map(|of| (count(of), of.word()));
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let mut shown = plural(rows.len() as u64, "finding");
    if rows.len() < findings.len() {
        shown.push_str(&format!(" (-o wide: {} one by one)", findings.len()));
    }
    let count = report::problem_count(problems);
    let problems = match count.strip_prefix("no problems") {
        Some(over) if is_failing => format!("rules were broken{over}"),
        _ => count,
    };
    match lead {
        Some(lead) => {
            let parts = parts.join(", ");
            format!("{problems}; {shown}: {parts}; xdscope explain {} says more", lead.rule.id)
        }
        None => format!("{problems}, no finding"),
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::Exit;
    use crate::cli::tests::{objects, run, show};

    const STALE: &str = "tests/fixtures/scripts/S-10b.xds";

    #[test]
    fn prints_findings_and_a_count() {
        insta::assert_snapshot!(show(&["lint", STALE]));
    }

    #[test]
    fn exit_code_depends_on_findings_that_count() {
        assert_eq!(run(&["lint", STALE]).exit, Exit::No);
        assert_eq!(run(&["lint", STALE, "--fail-on", "error"]).exit, Exit::Yes);
        assert_eq!(run(&["lint", "tests/fixtures/scripts/S-09.xds"]).exit, Exit::Yes, "a note only");
        assert_eq!(run(&["lint", "tests/fixtures/scripts/S-09.xds", "--fail-on", "info"]).exit, Exit::No);
        assert_eq!(run(&["lint", STALE, "--rule", "sotw-stale-nonce"]).exit, Exit::Yes);
        assert_eq!(run(&["lint", STALE, "--rule", "no-such-rule"]).exit, Exit::Usage);
        assert_eq!(run(&["lint"]).exit, Exit::Usage);
        assert_eq!(run(&["lint", "no-such-file.xdsrec"]).exit, Exit::Unreadable);
    }

    /// The row has the highest severity of its findings.
    #[test]
    fn begins_with_the_problem_that_status_begins_with() {
        for path in ["tests/fixtures/tui/gateway.xds", "tests/fixtures/views/worst-first.xds"] {
            let status = run(&["status", path]).out;
            let place = status.lines().nth(1).unwrap().split_whitespace().skip(1).take(2);
            let place: Vec<&str> = place.collect();
            for format in ["text", "wide"] {
                let lint = run(&["lint", path, "-o", format]).out;
                let row: Vec<&str> = lint.lines().nth(1).unwrap().split_whitespace().collect();
                let severity = if format == "text" { "warn" } else { "info" };
                assert_eq!(row[..2], [severity, "nack"], "{lint}");
                assert_eq!(row[2..4], place[..], "{lint}");
            }
        }
    }

    /// A row counts the nodes on which its rule was broken, and not those of the refusal.
    #[test]
    fn rows_count_the_nodes_of_their_rule() {
        let push = |n: u32, nonce: &str| {
            format!("{n} < cds v=1 n={nonce} [pay]\n{n} > cds n={nonce} nack=\"pay: bad\"\n")
        };
        let client = |n: u32, pushes: &[&str]| {
            let pushes: String = pushes.iter().map(|nonce| push(n, nonce)).collect();
            format!("node n{n}\nstream {n} ads\n{n} > cds\n{pushes}")
        };
        let text = [client(1, &["a", "b", "c"]), client(2, &["a", "b"]), client(3, &["a"])].concat();
        let script = crate::cli::tests::script_file(&text);
        let lint = run(&["lint", script.path().to_str().unwrap()]).out;
        let row = lint.lines().find(|row| row.contains("nack-resend-loop")).unwrap_or_default();
        assert!(row.contains("  2 nodes CDS  ") && row.ends_with("; also nack on 3 nodes"), "{lint}");
    }

    #[test]
    fn rejects_unknown_rules() {
        let output = run(&["lint", STALE, "--rule", "relay-leek"]);
        assert_eq!(output.exit, Exit::Usage);
        assert!(output.err.contains("unknown rule `relay-leek`"), "{}", output.err);
    }

    #[test]
    fn prints_finding_objects() {
        let found = objects(&["lint", STALE, "-o", "jsonl", "--rule", "sotw-answer-to-stale"]);
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        let keys: Vec<&str> =
            finding.as_object().map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default();
        assert_eq!(
            keys.join(" "),
            "schema object rule row source severity blame stream node type names at messages first last count text varies guess group"
        );
        assert_eq!((&finding["at"], &finding["blame"]), (&7.into(), &"server".into()));
        assert_eq!(finding["messages"], serde_json::json!([5, 7]));
    }

    #[test]
    fn other_tools_read_it() {
        let sarif: serde_json::Value =
            serde_json::from_str(&run(&["lint", STALE, "-o", "sarif"]).out).unwrap();
        assert_eq!(sarif["version"], "2.1.0");
        assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(3));
        let ids = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().map(Vec::len);
        assert_eq!(ids, Some(super::lint::rules().count()));
        let junit = run(&["lint", STALE, "-o", "junit"]).out;
        assert!(
            junit.contains("failures=\"2\"") && junit.contains("name=\"sotw-answer-to-stale\">"),
            "{junit}"
        );
        let github = run(&["lint", STALE, "-o", "github"]).out;
        assert!(
            github.starts_with("::warning file=tests/fixtures/scripts/S-10b.xds,title=sotw-"),
            "{github}"
        );
    }

    #[test]
    fn checks_expectations() {
        let output = run(&["lint", "examples/nack.xds", "--expect"]);
        assert_eq!((output.exit, output.out.as_str()), (Exit::Yes, ""), "{}", output.err);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wrong.xds");
        std::fs::write(&path, "node a\nstream 1 ads\n> cds nonode\nexpect lint none\n").unwrap();
        let output = run(&["lint", path.to_str().unwrap(), "--expect"]);
        assert_eq!(output.exit, Exit::No);
        assert!(output.out.contains("line 4") && output.out.contains("node-missing at 1"), "{}", output.out);
        let recording = run(&["lint", "tests/fixtures/recordings/v1.xdsrec", "--expect"]);
        assert!(matches!(recording.exit, Exit::Usage | Exit::Unreadable), "{}", recording.err);
    }

    #[test]
    fn lists_and_explains_rules() {
        let list = run(&["lint", "--list-rules", "--no-headers"]).out;
        assert_eq!(list.lines().count(), super::lint::rules().count());
        for rule in super::lint::rules() {
            let output = run(&["explain", rule.id]);
            assert!(output.exit == Exit::Yes && !output.out.is_empty(), "{}", rule.id);
        }
        insta::assert_snapshot!(show(&["explain", "sotw-nonce-regression"]));
    }

    #[test]
    fn reads_a_bootstrap_and_names_places_in_it() {
        let file = "tests/fixtures/lint/bootstrap-ads-missing.bad.yaml";
        let output = run(&["lint", file, "--no-headers"]);
        assert_eq!(output.exit, Exit::No);
        assert!(
            output.out.contains("bootstrap-ads-missing")
                && output.out.contains("dynamic_resources.cds_config"),
            "{}",
            output.out
        );
        let found = objects(&["lint", file, "-o", "jsonl"]);
        assert_eq!(found[0]["place"], "dynamic_resources.cds_config");
        assert_eq!(run(&["lint", "examples/bootstraps/envoy-ads.yaml", "--fail-on", "info"]).exit, Exit::Yes);
        let output = run(&["status", file]);
        assert!(output.exit == Exit::Usage && output.err.contains("is a bootstrap"), "{}", output.err);
    }

    #[test]
    fn accepts_a_file_with_a_response() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let yaml = "version_info: \"1\"\nresources:\n- {\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: c}\n";
        let good = write("cds.yaml", yaml);
        assert_eq!(run(&["lint", &good, "--fail-on", "info"]).exit, Exit::Yes);
        assert_eq!(run(&["get", &good, "-o", "name"]).out, "cds/c\n");
        let wrong = write("cds.json", yaml);
        assert_eq!(objects(&["lint", &wrong, "-o", "jsonl"])[0]["rule"], "fs-format-mismatch");
        let broken = write("half.json", "{\"resources\": [");
        let output = run(&["lint", &broken]);
        assert!(output.exit == Exit::No && output.out.contains("fs-parse-error"), "{}", output.out);
        assert!(output.err.contains("JSON: "), "{}", output.err);
    }

    #[test]
    fn finds_references_by_descriptors() {
        for id in ["S-34", "S-34b", "S-34c", "S-34d", "S-35", "S-35b", "S-35c", "S-35d", "S-35e", "S-35f"] {
            let output = run(&["lint", &format!("tests/fixtures/scripts/{id}.xds"), "--expect"]);
            assert_eq!((output.exit, output.out.as_str()), (Exit::Yes, ""), "{id}");
        }
    }

    #[test]
    fn parses_timers() {
        let late = "tests/fixtures/scripts/S-20.xds";
        assert!(run(&["lint", late]).out.contains("name-not-delivered"));
        assert!(!run(&["lint", late, "--timers", "exist=60s"]).out.contains("name-not-delivered"));
        assert_eq!(run(&["lint", late, "--timers", "other=1s"]).exit, Exit::Usage);
    }
}
