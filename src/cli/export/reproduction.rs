//! The smallest part of a session that shows a problem, as an arrow script.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::sync::Arc;

use xdscope_engine::analysis;
use xdscope_engine::analysis::Analysis;
use xdscope_engine::problems::{ProblemFact, ProblemKind, problems};
use xdscope_present::report;
use xdscope_schema::Schema;
use xdscope_sources::record::{self, Loaded};
use xdscope_sources::{SchemaCodec, Spec, script};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Seq, StreamId, Time};
use xdscope_wire::{Frame, FramePayload};

use crate::cli::args::TimerFlags;
use crate::cli::source::offline;

/// Longest script in a bug report, in bytes. Issue trackers take about 65,000 characters.
pub(crate) const MAX_SCRIPT_BYTES: usize = 48_000;
/// Parts of a session that are tried to find the fewest messages.
const MAX_TRIES: usize = 96;

/// The traits that tell a problem from others, in any part of a session.
#[derive(PartialEq, Eq)]
pub(crate) struct Identity {
    word: &'static str,
    place: String,
    /// The sentence without numbers and times.
    sentence: String,
}

impl Identity {
    pub(crate) fn of(problem: &ProblemFact) -> Identity {
        // A part of a session has fewer clients.
        let problem = &ProblemFact { others: Vec::new(), ..problem.clone() };
        let mut sentence = String::new();
        // The script has no dates, so that its times are written in another form.
        let clock = Clock { epoch: None, untimed: true };
        let words = report::problem(problem, &clock);
        let words = match problem.kind {
            // A broken rule is the same one if fewer resources break the rule, on fewer streams.
            ProblemKind::Rule(_) => {
                let first = words.split("; ").next().unwrap_or(&words);
                first.rsplit_once(", on ").map_or(first, |(first, _)| first)
            }
            _ => &words,
        };
        for c in words.chars() {
            let is_figure = c.is_ascii_digit() || matches!(c, '+' | ':' | '.');
            match is_figure {
                true if sentence.ends_with('0') => {}
                true => sentence.push('0'),
                false => sentence.push(c),
            }
        }
        let word = report::problem_word(problem).0;
        let stream = format!(" #{}", problem.stream.0);
        Identity { word, place: report::problem_place(problem).replace(&stream, ""), sentence }
    }
}

/// A part of a session that shows a problem.
pub(crate) struct Reproduction {
    pub script: String,
    pub messages: u64,
    /// The names of the resources in responses.
    resources: BTreeSet<String>,
    /// Whether the part is all of the session.
    pub is_whole: bool,
    /// Whether responses lack resources that the problem does not need.
    pub lacks_resources: bool,
}

/// Whether a frame belongs to a part of a session.
type FrameFilter<'a> = dyn Fn(&Frame, Seq) -> bool + 'a;

/// The parts of a session.
pub(crate) struct SessionParts<'a> {
    pub catalog: &'a Catalog,
    pub frames: &'a [Frame],
    pub clock: Clock,
    pub end: Time,
    pub schema: &'a Arc<Schema>,
    pub timers: &'a TimerFlags,
    /// The names of the resources that the problem says are refused. Scripts keep them.
    pub refused: BTreeSet<String>,
}

impl SessionParts<'_> {
    /// Finds the smallest part that shows the problem: its evidence, the messages of its type, its
    /// stream, its client, everything.
    pub(crate) fn find(
        &self,
        problem: &ProblemFact,
        streams: &[StreamId],
        wanted: &Identity,
    ) -> Option<Reproduction> {
        let is_of_stream = |frame: &Frame| frame.stream == problem.stream;
        let is_of_type = |frame: &Frame| match &frame.what {
            FramePayload::Message(message) => {
                // The method of a stream can imply the type.
                let url = message.type_url();
                url.is_empty() || url == problem.type_url
            }
            _ => true,
        };
        let has_type = !problem.type_url.is_empty();
        let evidence = |frame: &Frame, n: Seq| is_of_stream(frame) && problem.messages.contains(&n);
        let of_type = |frame: &Frame, _: Seq| is_of_stream(frame) && (!has_type || is_of_type(frame));
        let of_stream = |frame: &Frame, _: Seq| is_of_stream(frame);
        let of_client = |frame: &Frame, _: Seq| streams.contains(&frame.stream);
        let all = |_: &Frame, _: Seq| true;
        let parts: [&FrameFilter<'_>; 5] = [&evidence, &of_type, &of_stream, &of_client, &all];
        let last = parts.len() - 1;
        parts.iter().enumerate().find_map(|(at, part)| {
            let found = self.script(part, at == last, None).filter(|found| self.shows(found, wanted))?;
            let (found, kept) = self.with_fewest_messages(found, part, wanted);
            match found.script.len() {
                0..=MAX_SCRIPT_BYTES => Some(found),
                _ => Some(self.with_fewest_resources(found, &kept, problem, wanted)),
            }
        })
    }

    /// Whether a script shows the problem.
    fn shows(&self, found: &Reproduction, wanted: &Identity) -> bool {
        self.problems_of(&found.script).is_some_and(|shown| shown.contains(wanted))
    }

    /// Leaves out messages of a part while the rest shows the problem. Returns the messages that
    /// are left, too.
    fn with_fewest_messages(
        &self,
        found: Reproduction,
        part: &FrameFilter<'_>,
        wanted: &Identity,
    ) -> (Reproduction, Vec<Seq>) {
        let mut n = Seq(0);
        let messages = self.frames.iter().filter(|frame| xdscope_sources::is_message(frame));
        let kept: Vec<Seq> = messages
            .filter_map(|frame| {
                n.0 += 1;
                part(frame, n).then_some(n)
            })
            .collect();
        reduce(kept, found, |fewer| {
            let script = self.script(&|_, n| fewer.binary_search(&n).is_ok(), false, None);
            script.filter(|script| self.shows(script, wanted))
        })
    }

    /// Leaves out resources of these messages while the rest shows the problem, and no other one.
    /// Refused resources stay: without them the refusal has no cause.
    fn with_fewest_resources(
        &self,
        found: Reproduction,
        messages: &[Seq],
        problem: &ProblemFact,
        wanted: &Identity,
    ) -> Reproduction {
        let keep = |_: &Frame, n: Seq| messages.binary_search(&n).is_ok();
        let problems = self.problems_of(&found.script).map_or(0, |problems| problems.len());
        let has_unknown_content = problem.quote().is_some() && self.refused.is_empty();
        if has_unknown_content {
            return found;
        }
        let names = found.resources.difference(&self.refused).cloned().collect();
        let (found, _) = reduce(names, found, |fewer| {
            let kept: BTreeSet<String> = fewer.iter().chain(&self.refused).cloned().collect();
            let script = self.script(&keep, false, Some(&kept))?;
            let shown = self.problems_of(&script.script)?;
            (shown.contains(wanted) && shown.len() <= problems).then_some(script)
        });
        found
    }

    /// Writes a part of the session. With `names`, responses have only the resources of these
    /// names.
    fn script(
        &self,
        keep: &FrameFilter<'_>,
        is_whole: bool,
        names: Option<&BTreeSet<String>>,
    ) -> Option<Reproduction> {
        let mut frames = self.frames.to_vec();
        let messages = match is_whole {
            true => frames.iter().filter(|frame| xdscope_sources::is_message(frame)).count() as u64,
            false => record::retain_part(&mut frames, self.catalog, |frame, n| {
                !xdscope_sources::is_message(frame) || keep(frame, n)
            }),
        };
        if messages == 0 {
            return None;
        }
        let codec = SchemaCodec(self.schema.clone());
        let mut made = script::from_frames(frames.iter(), self.catalog, self.clock, self.end, &codec).script;
        if let Some(names) = names {
            made.retain_resources(|name| names.contains(name));
        }
        let script = script::write(&made);
        let lacks_resources = names.is_some();
        let resources = made.resource_names();
        Some(Reproduction { script, messages, is_whole, lacks_resources, resources })
    }

    /// Returns the problems that a script shows.
    fn problems_of(&self, text: &str) -> Option<Vec<Identity>> {
        let source = xdscope_sources::read(&mut Cursor::new(text), &Spec::new("-"), self.schema).ok()?;
        let Loaded { catalog, clock, frames, end, .. } = source.loaded;
        let facts = fold(catalog, clock, &frames, end, self.timers, self.schema);
        let found = problems(&facts, facts.findings());
        let found = found.iter().filter(|problem| problem.is_wrong());
        Some(found.map(Identity::of).collect())
    }
}

/// Replays frames to their end, with all rules.
pub(crate) fn fold(
    catalog: Catalog,
    clock: Clock,
    frames: &[Frame],
    end: Time,
    timers: &TimerFlags,
    schema: &Arc<Schema>,
) -> Analysis {
    let store = xdscope_sources::store(offline::options(timers), catalog, clock, schema);
    let mut facts = Analysis::new(store, analysis::rules(schema));
    frames.iter().cloned().for_each(|frame| facts.handle(frame));
    facts.advance(end);
    facts
}

/// Leaves out items of a list, first many at once, as long as `find` has a result for the rest.
/// Returns the last result, and the items that are left.
fn reduce<T: Clone, R>(
    mut items: Vec<T>,
    mut best: R,
    mut find: impl FnMut(&[T]) -> Option<R>,
) -> (R, Vec<T>) {
    let (mut tries, mut chunk) = (MAX_TRIES, items.len() / 2);
    while chunk > 0 {
        let mut from = 0;
        while from < items.len() && tries > 0 {
            tries -= 1;
            let mut fewer = items.clone();
            fewer.drain(from..(from + chunk).min(items.len()));
            match find(&fewer) {
                Some(found) => (items, best) = (fewer, found),
                None => from += chunk,
            }
        }
        chunk /= 2;
    }
    (best, items)
}
