//! Arguments of `diff` after SOURCE.

use crate::cli::source::{offline, prefixes};
use xdscope_present::text::shell_word;
use xdscope_sources::ReplayPosition;
use xdscope_wire::event::Seq;

use crate::cli::error::CliError;
use crate::cli::source::target::{GetTarget, join_names};
use crate::cli::terminal::io::Io;

/// A version as typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `41`: the newest with this version text.
    Version(String),
    /// `#487`: the last one sent up to this message.
    Message(Seq),
    /// Missing: the newest.
    Newest,
    /// Missing: the content before the other one.
    Before,
}

pub(super) enum ComparisonRequest {
    Versions {
        what: GetTarget,
        from: Place,
        to: Place,
    },
    /// Responses of a type, by their versions.
    Pushes {
        what: GetTarget,
        from: Place,
        to: Place,
    },
    Moments {
        from: ReplayPosition,
        to: ReplayPosition,
        whats: Vec<GetTarget>,
    },
    Sources {
        other: String,
        whats: Vec<GetTarget>,
    },
}

/// Parses the arguments: a second SOURCE compares sources, `@` compares moments, anything else
/// compares versions of a resource or type.
pub(super) fn read(first: &str, words: &[String], io: &Io<'_>) -> Result<ComparisonRequest, CliError> {
    if let Some((other, rest)) = words.split_first().filter(|(word, rest)| is_source(word, rest.len(), io)) {
        let (places, whats) = split(rest)?;
        if !places.is_empty() {
            return Err(CliError::usage("`@` compares moments of one source: two sources are given")
                .next(format!("xdscope diff {} @start @end", shell_word(first))));
        }
        return Ok(ComparisonRequest::Sources { other: other.clone(), whats });
    }
    if let [_, _, _, _] = words
        && let Some(words) = with_name(words).filter(|_| !words.iter().any(|word| word.starts_with('@')))
    {
        return read_versions(first, &words);
    }
    read_versions(first, words)
}

/// Parses the arguments if the first one is not a second SOURCE.
pub(super) fn read_versions(first: &str, words: &[String]) -> Result<ComparisonRequest, CliError> {
    let (mut places, mut whats) = split_first(words)?;
    if places.iter().any(|place| place.starts_with('@')) {
        let mut moments = places.iter().map(|place| moment(place));
        let from = moments.next().unwrap_or(Ok(ReplayPosition::Start))?;
        let to = moments.next().unwrap_or(Ok(ReplayPosition::End))?;
        return match moments.next() {
            Some(_) => Err(CliError::usage("`@` compares two moments: more are given")),
            None => Ok(ComparisonRequest::Moments { from, to, whats }),
        };
    }
    let usage = || {
        CliError::usage("nothing to compare: a version, a moment or a second source is missing")
            .next(format!("xdscope diff {} cds/NAME V1 V2", shell_word(first)))
            .next(format!("xdscope diff {} @start @end", shell_word(first)))
            .next(format!("xdscope diff {} OTHER", shell_word(first)))
    };
    if places.len() > 2 || whats.len() != 1 {
        return Err(usage());
    }
    let Some(what) = whats.pop() else { return Err(usage()) };
    let to = if places.len() == 2 { places.pop() } else { None };
    let from = places.pop().map_or(Place::Before, |word| version(&word));
    let to = to.map_or(Place::Newest, |word| version(&word));
    Ok(match what.name {
        Some(_) => ComparisonRequest::Versions { what, from, to },
        None if from == Place::Before => return Err(usage()),
        None => ComparisonRequest::Pushes { what, from, to },
    })
}

/// Joins a type and the word after the type: `cds reviews 41` becomes `cds/reviews 41`. `None` if
/// the words do not begin with a type.
pub(super) fn with_name(words: &[String]) -> Option<Vec<String>> {
    let [kind, name, rest @ ..] = words else { return None };
    let is_type = GetTarget::parse(kind).name.is_none();
    is_type.then(|| [&[format!("{kind}/{name}")], rest].concat())
}

/// Parses `TYPE[/NAME]` with versions, or moments with any number of `TYPE[/NAME]`.
fn split_first(words: &[String]) -> Result<(Vec<String>, Vec<GetTarget>), CliError> {
    if words.iter().any(|word| word.starts_with('@')) {
        return split(words);
    }
    let whats = words.first().map(|word| GetTarget::parse(word));
    Ok((words.iter().skip(1).cloned().collect(), whats.into_iter().collect()))
}

/// Parses moments, and what to compare in them.
fn split(words: &[String]) -> Result<(Vec<String>, Vec<GetTarget>), CliError> {
    let (places, whats): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('@'));
    let whats = join_names(&whats.into_iter().cloned().collect::<Vec<String>>());
    let whats: Vec<GetTarget> = whats.iter().map(|word| GetTarget::parse(word)).collect();
    if let Some(what) = whats.iter().find(|what| what.kind.is_none() && !what.text.contains('.')) {
        let error = CliError::usage(format!("`{}` is neither a type nor a source", what.text));
        return Err(error.next("a type: cds, clusters, Cluster, or its full name; cds/NAME"));
    }
    Ok((places.into_iter().cloned().collect(), whats))
}

fn moment(word: &str) -> Result<ReplayPosition, CliError> {
    let text = word.strip_prefix('@').unwrap_or(word);
    text.parse().map_err(|why| CliError::usage(format!("`{word}`: {why}")))
}

fn version(word: &str) -> Place {
    match word.strip_prefix('#').and_then(|number| number.parse().ok()) {
        Some(n) => Place::Message(Seq(n)),
        None => Place::Version(word.to_owned()),
    }
}

/// Whether a word is a SOURCE; `after` are the words that follow. An existing file wins; a type is
/// not a SOURCE.
fn is_source(word: &str, after: usize, io: &Io<'_>) -> bool {
    if word == "-" || prefixes::split(word).is_some() {
        return true;
    }
    if word.starts_with('@') {
        return false;
    }
    if offline::is_server(word) {
        return true;
    }
    if std::path::Path::new(word).exists() || offline::find(word, io).is_ok() {
        return true;
    }
    if ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start)) {
        return true;
    }
    // `acme.v1.Widget/w 1 2` is a resource of a type without a short word.
    let what = GetTarget::parse(word);
    what.kind.is_none() && !(what.name.is_some() && after > 0)
}
