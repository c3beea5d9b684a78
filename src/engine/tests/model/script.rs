//! Sessions as data, and as arrow scripts for people.

use std::fmt;

/// Names, versions and nonces come from fixed pools.
pub(super) type Text = &'static str;

/// The types of a session: one with full state, two without.
pub(super) const TYPES: [Text; 3] = ["cds", "eds", "rds"];

/// Whether a SotW response for the type lists all resources (docs/protocol.md#e-32).
pub(super) fn is_full_state(kind: usize) -> bool {
    kind == 0
}

/// One event of a session.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Milliseconds since the step before.
    pub(super) wait: u64,
    pub(super) stream: usize,
    pub(super) event: StepEvent,
}

#[derive(Clone, Debug)]
pub(super) enum StepEvent {
    Open { delta: bool, partial: bool },
    Request { kind: usize, ask: Ask },
    Response { kind: usize, push: Push },
    Gap,
    Close,
}

/// A request of either variant.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    pub(super) version: Text,
    pub(super) nonce: Text,
    /// Whether the request has an `error_detail`.
    pub(super) error: bool,
    /// SotW: `resource_names`. Delta: `resource_names_subscribe`.
    pub(super) names: Vec<Text>,
    pub(super) unsubscribe: Vec<Text>,
    /// `initial_resource_versions`.
    pub(super) claims: Vec<(Text, Text)>,
}

/// A response of either variant.
#[derive(Clone, Debug, Default)]
pub(super) struct Push {
    pub(super) version: Text,
    pub(super) nonce: Text,
    pub(super) entries: Vec<Entry>,
    pub(super) removed: Vec<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: Text,
    /// Delta: the version of the resource.
    pub(super) version: Text,
    pub(super) content: u8,
}

/// A session as an arrow script.
pub(super) struct SessionScript<'a>(pub(super) &'a [Step]);

impl fmt::Display for SessionScript<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut delta = [false; 64];
        let mut at = 0;
        for step in self.0 {
            at += step.wait;
            let stream = step.stream;
            match &step.event {
                StepEvent::Open { delta: is_delta, partial } => {
                    delta[stream] = *is_delta;
                    let variant = if *is_delta { "delta-ads" } else { "ads" };
                    writeln!(f, "+{at}ms stream {} {variant}", stream + 1)?;
                    if *partial {
                        writeln!(f, "partial {}", stream + 1)?;
                    }
                }
                StepEvent::Request { kind, ask } => {
                    write!(f, "+{at}ms {} > {}", stream + 1, TYPES[*kind])?;
                    request(f, ask, delta[stream])?;
                }
                StepEvent::Response { kind, push } => {
                    write!(f, "+{at}ms {} < {} n={}", stream + 1, TYPES[*kind], push.nonce)?;
                    response(f, push, delta[stream])?;
                }
                StepEvent::Gap => writeln!(f, "# gap on stream {}", stream + 1)?,
                StepEvent::Close => writeln!(f, "+{at}ms {} close", stream + 1)?,
            }
        }
        Ok(())
    }
}

fn request(f: &mut fmt::Formatter<'_>, ask: &Ask, delta: bool) -> fmt::Result {
    if !delta {
        write!(f, " v={}", ask.version)?;
    }
    let list = if delta { "sub" } else { "names" };
    write!(f, " n={} {list}=[{}]", ask.nonce, ask.names.join(" "))?;
    if !ask.unsubscribe.is_empty() {
        write!(f, " unsub=[{}]", ask.unsubscribe.join(" "))?;
    }
    if !ask.claims.is_empty() {
        let claims: Vec<_> = ask.claims.iter().map(|(name, version)| format!("{name}:{version}")).collect();
        write!(f, " irv={{{}}}", claims.join(" "))?;
    }
    writeln!(f, "{}", if ask.error { " nack=\"bad\"" } else { "" })
}

fn response(f: &mut fmt::Formatter<'_>, push: &Push, delta: bool) -> fmt::Result {
    let entries = push.entries.iter().map(|entry| match delta {
        true => format!("{}~{}@{}", entry.name, entry.content, entry.version),
        false => format!("{}~{}", entry.name, entry.content),
    });
    let version = if delta { "sys" } else { "v" };
    write!(f, " {version}={} [{}]", push.version, entries.collect::<Vec<_>>().join(" "))?;
    if !push.removed.is_empty() {
        write!(f, " rm=[{}]", push.removed.join(" "))?;
    }
    writeln!(f)
}
