//! Resolution of versions to messages.

use std::collections::BTreeMap;

use crate::engine::diff::ResourceVersion;
use crate::sources::{Limit, Source};
use crate::wire::event::{Dir, Method, Seq, StreamId, TypeUrl};
use crate::wire::text::display_safe;
use crate::wire::{FramePayload as Frames, Message};

use super::super::args::StreamPick;
use super::super::error::{CliError, Exit};
use super::super::target::GetTarget;

use super::words::Place;

/// Finds a version. `other` is the version to compare with.
pub(super) fn pick<'a>(
    known: &'a [ResourceVersion],
    place: &Place,
    other: Option<&ResourceVersion>,
    what: &GetTarget,
    source: &str,
) -> Result<&'a ResourceVersion, CliError> {
    let mut newest_first = known.iter().rev();
    let found = match place {
        Place::Version(wanted) => newest_first.find(|version| *version.version == **wanted),
        Place::Message(n) => newest_first.find(|version| version.n <= *n),
        Place::Newest => newest_first.next(),
        Place::Before => newest_first.find(|version| {
            other.is_some_and(|other| {
                version.n < other.n && version.stream == other.stream && version.content != other.content
            })
        }),
    };
    found.ok_or_else(|| {
        let message = match place {
            _ if known.is_empty() => format!("{} was never sent", what.text),
            Place::Version(wanted) => format!("{} was never sent with version {wanted}", what.text),
            Place::Message(n) => format!("{} was not sent up to #{}", what.text, n.0),
            Place::Newest | Place::Before => format!("{} was sent with one content only", what.text),
        };
        let mut next: Vec<String> = Vec::new();
        for version in known.iter().rev().filter(|version| version.content.is_some()) {
            let command = format!("xdscope diff {source} {} {}", what.text, version.version);
            if next.len() < 5 && !next.contains(&command) && known.len() > 1 {
                next.push(command);
            }
        }
        if next.is_empty() {
            next.push(format!(
                "xdscope log {source} --filter 'name:{}'",
                what.name.as_deref().unwrap_or("*")
            ));
        }
        CliError { next, ..CliError::new(Exit::Never, message) }
    })
}

/// Finds the newest version whose content differs from an earlier one on its stream.
pub(super) fn changed(known: &[ResourceVersion]) -> Option<&ResourceVersion> {
    let differs =
        |new: &ResourceVersion, old: &ResourceVersion| old.stream == new.stream && old.content != new.content;
    let (at, _) = known.iter().enumerate().rev().find(|(at, new)| {
        known.get(..*at).is_some_and(|before| before.iter().any(|old| differs(new, old)))
    })?;
    known.get(at)
}

/// Warns if a version was sent with more than one content, since version texts are opaque.
pub(super) fn ambiguous(known: &[ResourceVersion], meant: &[(&Place, &ResourceVersion)]) -> Vec<String> {
    let mut out = Vec::new();
    for (place, found) in meant {
        let another = known.iter().rev().find(|version| {
            version.version == found.version && version.content.is_some() && version.content != found.content
        });
        if let (Place::Version(_), Some(another)) = (place, another) {
            out.push(format!(
                "version {} was sent with more than one content; #{} on stream #{} is meant, not #{} on stream #{}",
                display_safe(&found.version),
                found.n.0,
                found.stream.0,
                another.n.0,
                another.stream.0,
            ));
        }
    }
    out
}

/// Finds the newest response of a type with a version: its position and its stream.
pub(super) fn push(
    what: &GetTarget,
    place: &Place,
    pick: Option<&StreamPick>,
    source: &Source,
) -> Result<(Limit, Option<StreamId>), CliError> {
    let wanted = match place {
        Place::Version(wanted) => wanted,
        Place::Message(n) => return Ok((Limit::Message(*n), None)),
        Place::Newest | Place::Before => return Ok((Limit::All, None)),
    };
    let mut implied: BTreeMap<StreamId, TypeUrl> = BTreeMap::new();
    let mut nodes: BTreeMap<StreamId, String> = BTreeMap::new();
    let (mut n, mut found) = (Seq(0), None);
    for frame in &source.loaded.frames {
        match &frame.what {
            Frames::Open(open) => {
                let url = Method::parse(&open.method).and_then(|method| method.implied_type());
                implied.extend(url.map(|url| (frame.stream, url)));
            }
            Frames::Message(message) => {
                n.0 += 1;
                nodes.extend(message.node().map(|node| (frame.stream, node.id.clone())));
                let own = message.type_url();
                let url = if own.is_empty() { implied.get(&frame.stream).unwrap_or(&own) } else { &own };
                let picked = match pick {
                    None => true,
                    Some(StreamPick::Stream(number)) => frame.stream.0 == *number,
                    Some(StreamPick::Node(node)) => nodes.get(&frame.stream) == Some(node),
                };
                if picked
                    && message.dir() == Dir::Resp
                    && what.is_type(url)
                    && version(message) == Some(wanted)
                {
                    found = Some((Limit::Message(n), Some(frame.stream)));
                }
            }
            _ => {}
        }
    }
    found.ok_or_else(|| {
        CliError::new(Exit::Never, format!("no push of {} has version {wanted}", what.text))
            .next(format!("xdscope log {} --filter type:{}", source.name, what.text))
    })
}

fn version(message: &Message) -> Option<&str> {
    Some(message.response()?.version.as_str())
}
