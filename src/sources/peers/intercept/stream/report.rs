//! Reports of what was done to messages.

use std::sync::Arc;

use bytes::Bytes;

use super::Step;
use crate::peers::intercept::contents::WireContents;
use xdscope_wire::event::Dir;
use xdscope_wire::{Interference, Intervention, InterventionFacts};

/// Returns the facts of what a fault does to a message.
fn facts(contents: &WireContents, interference: Interference, by: &Arc<str>) -> InterventionFacts {
    InterventionFacts {
        interference,
        dir: contents.shape.dir(),
        is_delta: contents.is_delta(),
        type_url: contents.type_url.clone(),
        version: contents.version.as_str().into(),
        nonce: contents.nonce.as_str().into(),
        by: by.clone(),
    }
}

/// Reports what was done to a message.
pub(super) fn report(contents: &WireContents, interference: Interference, by: &Arc<str>) -> Step {
    report_instead(contents, interference, by, None, contents.shape.dir())
}

/// Reports what was done to a message, and the message that is sent instead.
pub(super) fn report_sent(
    contents: &WireContents,
    interference: Interference,
    by: &Arc<str>,
    sent: &Bytes,
    sent_dir: Dir,
) -> Step {
    report_instead(contents, interference, by, Some(sent.clone()), sent_dir)
}

/// Reports what was done to a message, and the message that is sent instead, if any.
pub(super) fn report_instead(
    contents: &WireContents,
    interference: Interference,
    by: &Arc<str>,
    sent: Option<Bytes>,
    sent_dir: Dir,
) -> Step {
    let facts = facts(contents, interference, by);
    let original = Some(contents.bytes.clone());
    Step::Report(Box::new(Intervention { facts, original, sent, sent_dir }))
}
