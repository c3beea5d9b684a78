//! Rules in sessions with lost messages, and in captures that begin midway.

use super::*;
use xdscope_wire::GapCause;

/// Rules that compare messages, or wait for one: silent if a message between them may be lost.
const NEED_MESSAGES_BETWEEN: &[&str] = &[
    "response-before-request",
    "response-unanswered",
    "ack-skipped",
    "node-missing",
    "nonce-unknown",
    "sotw-answer-to-stale",
    "version-churn",
    "reconnect-new-name-unsent",
    "nack-version-refused",
    "sotw-needless-update",
    "names-shrunk-on-ack",
    "full-state-flap",
    "name-not-delivered",
    "unrequested-resource",
    "new-name-not-resent",
    "empty-treated-as-wildcard",
    "delta-stale-sub-ignored",
    "delta-subscribe-unanswered",
    "delta-irv-first-stream",
    "delta-phantom-unsub",
    "delta-wildcard-unsub-unanswered",
    "delta-removed-unknown",
    "delta-redundant-resource",
    "ttl-expired",
    "response-type-unrequested",
    "not-resubscribed",
    "rest-unchanged-response",
    "xdstp-context-mismatch",
    "xdstp-empty-glob-silent",
    "version-static-content-changed",
];

/// Returns a session with a gap before the message of that number, or at the end.
fn with_gap(text: &str, before: u64) -> xdscope_sources::record::Loaded {
    let mut loaded = frames(text);
    let is_message = |frame: &&Frame| matches!(frame.what, FramePayload::Message(_));
    let place = loaded.frames.iter().position(|frame| {
        is_message(&frame) && {
            let number = loaded.frames.iter().take_while(|other| !std::ptr::eq(*other, frame));
            number.filter(is_message).count() as u64 + 1 == before
        }
    });
    let place = place.unwrap_or(loaded.frames.len());
    let next = loaded.frames.get(place).or(loaded.frames.last()).expect("a frame").clone();
    let gap =
        Frame { what: FramePayload::Gap { dir: None, messages: 1, bytes: 9, cause: GapCause::Lost }, ..next };
    loaded.frames.insert(place, gap);
    loaded
}

/// Returns the first message of which a finding of the rule cannot be certain if it comes after a
/// gap: the one that completes the finding, or the one after its evidence.
fn last_message_of(text: &str, id: &str) -> u64 {
    let loaded = frames(text);
    let mut store = Store::new(loaded.catalog, loaded.clock, xdscope_engine::store::Options::default());
    let mut lint = Lint::new(Options::default());
    loaded.frames.into_iter().for_each(|frame| lint.handle(&mut store, frame));
    lint.advance(&mut store, loaded.end);
    let finding = lint.findings().iter().find(|finding| finding.rule.id == id);
    let finding = finding.unwrap_or_else(|| panic!("{id}"));
    let after_evidence = finding.messages.last().map_or(u64::MAX, |last| last.0 + 1);
    finding.at.map_or(after_evidence, |at| at.0)
}

#[test]
fn is_silent_after_lost_messages() {
    let fixtures = fixtures();
    let mut wrong = Vec::new();
    for id in NEED_MESSAGES_BETWEEN {
        let text = &fixtures[&format!("{id}.bad.xds")];
        let gap = last_message_of(text, id);
        if found(with_gap(text, gap), |_| None).contains(id) {
            wrong.push(format!("{id} with a gap before #{gap}"));
        }
    }
    // Lost on the stream before.
    if found(with_gap(&fixtures["irv-version-surprise.bad.xds"], 3), |_| None)
        .contains("irv-version-surprise")
    {
        wrong.push("irv-version-surprise".to_owned());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Rules that are certain of what comes after a gap.
const CERTAIN_AFTER_GAP: &[&str] = &[
    "response-unanswered",
    "ack-skipped",
    "version-churn",
    "sotw-needless-update",
    "sotw-answer-to-stale",
    "names-shrunk-on-ack",
    "full-state-flap",
    "name-not-delivered",
    "unrequested-resource",
    "new-name-not-resent",
    "delta-irv-late",
    "delta-subscribe-unanswered",
    "delta-redundant-resource",
    "ttl-expired",
    "rest-unchanged-response",
    "xdstp-empty-glob-silent",
    "version-static-content-changed",
];

#[test]
fn is_certain_of_what_comes_after_a_gap() {
    let fixtures = fixtures();
    let is_silent = |id: &&&str| {
        let text = &fixtures[&format!("{id}.bad.xds")];
        !found(with_gap(text, 1), |_| None).contains(**id)
    };
    let silent: Vec<&&str> = CERTAIN_AFTER_GAP.iter().filter(is_silent).collect();
    assert!(silent.is_empty(), "{silent:#?}");
}

/// The findings of a fixture as if its recording had begun after the opening of its streams.
fn found_in_partial_capture(text: &str) -> BTreeSet<&'static str> {
    let mut loaded = frames(text);
    for frame in &mut loaded.frames {
        if let FramePayload::Open(open) = &mut frame.what {
            open.partial = true;
        }
    }
    found(loaded, |_| None)
}

#[test]
fn is_silent_in_partial_captures() {
    let fixtures = fixtures();
    let ids = [
        "response-before-request",
        "node-missing",
        "nonce-unknown",
        "nack-without-nonce",
        "delta-irv-first-stream",
        "delta-first-unsub-only",
        "delta-phantom-unsub",
        "response-type-unrequested",
    ];
    let is_found = |id: &&&str| found_in_partial_capture(&fixtures[&format!("{id}.bad.xds")]).contains(**id);
    let wrong: Vec<&&str> = ids.iter().filter(is_found).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn is_certain_of_a_track_whose_first_request_was_seen() {
    let fixtures = fixtures();
    let ids = [
        "nack-version-refused",
        "delta-irv-late",
        "delta-wildcard-unsub-unanswered",
        "unrequested-resource",
        "name-not-delivered",
    ];
    let is_silent =
        |id: &&&str| !found_in_partial_capture(&fixtures[&format!("{id}.bad.xds")]).contains(**id);
    let silent: Vec<&&str> = ids.iter().filter(is_silent).collect();
    assert!(silent.is_empty(), "{silent:#?}");
}
