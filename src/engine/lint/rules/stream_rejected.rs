//! A server or proxy ends or refuses the streams of a client again and again.
//!
//! Why: A client without a stream keeps the last configuration that it accepted and receives no
//! update. A stream that is cut off regularly loses updates until the client has reconnected.
//!
//! Severity: `error` if streams end with an error before a response; `warn` if each stream is
//! answered first, if no end is an error, or if the client gives up itself. Streams that end at one
//! age of 10 s or more, without an error, are a maximum connection age: `regular-stream-age`. One
//! end without a text is no failure if everything was answered and accepted. Three
//! streams in a row are a fault at any ages below 60 s if the server closes their connections
//! without a status and without a GOAWAY. A client that ends each stream after a push, without an
//! answer, or in the middle of one, is at fault itself, and so is one that ends ten young streams
//! in a row although nothing is wrong, and opens the next one at once.
//!
//! Example:
//! ```text
//! stream 1 ads
//! > cds
//! 1 close status=16 "token expired"
//! stream 2 ads
//! > cds
//! 2 close status=16 "token expired"
//! ```
//!
//! Advice: Read the code and the text of the status. UNAUTHENTICATED and PERMISSION_DENIED: renew
//! the token or certificate of the client. UNIMPLEMENTED: the server does not offer the method.
//! UNAVAILABLE or a refused connection: the server or a proxy before the server is down. GOAWAY
//! ENHANCE_YOUR_CALM or `too_many_pings`: the client sends keepalives more often than the server
//! allows: raise the keepalive interval of the client, or lower the minimum of the server. A cut
//! after a fixed silence is an idle timeout: raise the timeout of the proxy, or send keepalives. A
//! client that ends each stream after a push cannot read the response: see the log of the client,
//! and its limit on the size of messages.
//!
//! Reference: gRPC documentation, "Status codes and their use in gRPC".

use crate::lint::findings::failed_series::{FailedClient, FailedSeries};
use crate::lint::findings::finding::Restated;
use crate::lint::prelude::*;
use crate::session::StreamKey;
use crate::store::{EndFact, FailingStream, StreamFailure, UnreachablePeer};
use xdscope_wire::Open;
use xdscope_wire::event::{Code, Side};
use xdscope_wire::h2::reset_words;
use xdscope_wire::text::{count, period, type_label};

rule! {
    stream-rejected: Error, rows "P",
    ends(Ending::State), about(Subject::FailedStream), worded(Sentence::WithCount);
    checks: Close(check), Request(note_request), Response(note_response), Alarm(Alarm::Outlived, check_age)
}

const UNAVAILABLE: Code = Code(14);

/// Ends before a response that count as repeated.
const MIN_REJECTIONS: u64 = 2;

/// Ends with UNAVAILABLE, or without a status, that count as repeated: a restart causes one or two.
const MIN_OUTAGES: u64 = 3;

fn check(ctx: &mut RuleContext<'_>) {
    if ctx.stream.open.method == Open::NOTHING {
        return check_unreachable(ctx);
    }
    let Some(failing) = ctx.store.ended().failure_at(ctx.stream) else {
        return end_series(ctx, "a later stream ended in order");
    };
    let is_outage = failing.end.code.is_none_or(|code| code == UNAVAILABLE);
    let least = if is_outage { MIN_OUTAGES } else { MIN_REJECTIONS };
    let is_answered =
        matches!(failing.failure, StreamFailure::Cut | StreamFailure::Aborted | StreamFailure::Left);
    if !is_answered && failing.rejected < least {
        return;
    }
    let by = failing.at_fault();
    let is_warning = is_answered || failing.is_graceful || by == Some(Side::Client);
    let last_request = failing.last_request.as_ref().map(|(seq, _)| *seq);
    let draft = FindingDraft {
        blame: Blame::of_side(by),
        evidence: last_request.as_slice(),
        severity: is_warning.then_some(Severity::Warn),
        cause: Some(match failing.failure {
            StreamFailure::Cut => "cut",
            StreamFailure::Aborted => "aborted",
            StreamFailure::Left => "left",
            StreamFailure::Rejected | StreamFailure::Lost => "rejected",
        }),
        ..FindingDraft::default()
    };
    let draft = draft.caused_by(failing.caused_by.as_ref());
    let restated =
        Restated { text: text(&failing, Tense::Present), first: failing.first, count: failing.count };
    let finding = ctx.report_series(&RULE, failing.first_stream, draft, restated);
    if let Some(finding) = finding {
        let client = FailedClient::Stream(StreamKey::from_stream(ctx.stream));
        let text = text(&failing, Tense::Past);
        ctx.source_state.failures.follow(client, FailedSeries { finding, first: failing.first, text });
    }
}

/// Sets the timer of a new stream, and ends the findings about streams before it.
fn note_request(ctx: &mut RuleContext<'_>, _: &RequestContext<'_>) {
    end_series(ctx, "a later stream worked");
    end_replaced(ctx);
    wait_for_age(ctx);
}

fn note_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.track.traffic.pushes == 1 {
        end_series(ctx, "a stream was answered");
        end_replaced(ctx);
    }
}

/// Ends the findings about streams that this one has outlived.
fn check_age(ctx: &mut RuleContext<'_>) {
    end_series(ctx, "a later stream outlived them");
    wait_for_age(ctx);
}

/// Sets the timer for the age at which the stream may have outlived those that failed.
fn wait_for_age(ctx: &mut RuleContext<'_>) {
    let failures = &ctx.source_state.failures;
    if failures.is_empty() || !failures.has(&FailedClient::Stream(StreamKey::from_stream(ctx.stream))) {
        return;
    }
    if let Some(at) = ctx.store.ended().outlives_failures_at(ctx.stream, ctx.at) {
        ctx.arm(Alarm::Outlived, at);
    }
}

/// Ends the findings about failures of the stream's client that are over.
fn end_series(ctx: &mut RuleContext<'_>, reason: &str) {
    if ctx.source_state.failures.is_empty() {
        return;
    }
    let own = FailedClient::Stream(StreamKey::from_stream(ctx.stream));
    for client in FailedClient::all_of(ctx.stream) {
        let still_fails = match client == own {
            true => ctx.store.ended().still_fails(ctx.stream_index, ctx.stream, ctx.at),
            false => !ctx.stream.traffic.has_response,
        };
        if !still_fails {
            finish(ctx, &client, reason);
        }
    }
}

/// Ends the findings about failures at other servers, or with other methods, that the stream
/// replaces.
fn end_replaced(ctx: &mut RuleContext<'_>) {
    if ctx.source_state.failures.is_empty() || !ctx.stream.traffic.has_response {
        return;
    }
    for (failed, first) in ctx.source_state.failures.at_other_endpoints(ctx.stream) {
        if ctx.store.ended().is_replaced_by(&failed, first, ctx.stream) {
            finish(ctx, &FailedClient::Stream(failed), "a stream was answered");
        }
    }
}

/// Ends the finding about a client.
fn finish(ctx: &mut RuleContext<'_>, client: &FailedClient, reason: &str) {
    let Some(series) = ctx.source_state.failures.take(client) else { return };
    let duration = ctx.at.since(series.first).as_secs_f64();
    let text = format!("{}; {reason} after {duration:.1}s", series.text);
    ctx.findings.finish(series.finding, ctx.at, &text);
}

/// Reports connections that never had a stream.
fn check_unreachable(ctx: &mut RuleContext<'_>) {
    let Some(attempts) = ctx.store.ended().failed_attempts_at(ctx.stream) else { return };
    let UnreachablePeer { is_client, attempts: times, first, first_stream, reason, .. } = attempts;
    if times < MIN_OUTAGES {
        return;
    }
    let who = if is_client { "client cannot connect" } else { "server cannot be reached" };
    let draft = FindingDraft {
        blame: if is_client { Blame::Client } else { Blame::Server },
        cause: Some("unreachable"),
        ..FindingDraft::default()
    };
    let text = format!("{who}, {} attempts: {reason}", count(times));
    let finding = ctx.report_series(&RULE, first_stream, draft, Restated { text, first, count: times });
    if let (Some(finding), Some(server)) = (finding, ctx.stream.open.server.clone()) {
        let host = if is_client { ctx.stream.host().map(str::to_owned) } else { None };
        let who = if is_client { "client could not connect" } else { "server could not be reached" };
        let text = format!("{who}, {} attempts: {reason}", count(times));
        let client = FailedClient::Connection { server, host };
        ctx.source_state.failures.follow(client, FailedSeries { finding, first, text });
    }
}

/// Whether a series of ends continues.
#[derive(Clone, Copy, PartialEq)]
enum Tense {
    Present,
    Past,
}

/// `240 streams end before a response, every 250ms: UNAUTHENTICATED token expired (last request:
/// EDS)`.
fn text(failing: &FailingStream, tense: Tense) -> String {
    let (end, gives, are, fail) = match tense {
        Tense::Present => ("end", "gives", "are", "fail"),
        Tense::Past => ("ended", "gave", "were", "failed"),
    };
    let times = count(failing.count);
    let mut text = match (failing.failure, failing.cut_idle, failing.cut_age) {
        (StreamFailure::Cut, Some(idle), Some(age)) => {
            let (idle, age) = (period(idle), period(age));
            format!(
                "streams {are} cut off {times} times, each {idle} after the last message and at an age of {age}"
            )
        }
        (StreamFailure::Cut, Some(idle), None) => {
            format!("streams {are} cut off {times} times, each {} after the last message", period(idle))
        }
        (StreamFailure::Cut, None, Some(age)) => {
            format!("streams {are} cut off {times} times, each at an age of {}", period(age))
        }
        (StreamFailure::Cut, None, None) if failing.is_polling => format!("{times} polls in a row {fail}"),
        (StreamFailure::Cut, None, None) => format!("{times} streams in a row {are} cut off"),
        (StreamFailure::Aborted, ..) if failing.is_in_response() => {
            format!("client ended {times} streams, each in the middle of a response")
        }
        (StreamFailure::Aborted, ..) => format!("client ended {times} streams, each after a push"),
        (StreamFailure::Left, _, age) => {
            let age = age.map(|age| format!(", each at an age of {}", period(age))).unwrap_or_default();
            format!("client ended {times} streams in a row, and opened the next one at once{age}")
        }
        _ if failing.end.is_keepalive_timeout() => format!("{times} streams {end} with an unanswered PING"),
        _ if failing.by() == Some(Side::Client) => {
            format!("client {gives} up {times} streams without a response")
        }
        _ if failing.rejected > 0 && failing.rejected < failing.count => {
            format!("{times} streams {end} with an error, {} before a response", count(failing.rejected))
        }
        _ if failing.is_polling => format!("{times} polls in a row {fail}"),
        _ => format!("{times} streams {end} before a response"),
    };
    match (failing.period, failing.back_off) {
        (Some(every), _) => text.push_str(&format!(", every {}", period(every))),
        (None, Some(last)) => text.push_str(&format!(", with back-off, last after {}", period(last))),
        (None, None) => {}
    }
    let causes = failing.causes.iter().map(|(cause, times)| format!("{} {cause}", count(*times)));
    let causes: Vec<String> = causes.collect();
    let reason = reason(&failing.end);
    match (causes.is_empty(), reason.is_empty()) {
        (true, true) => {}
        (true, false) => text.push_str(&format!(": {reason}")),
        (false, true) => text.push_str(&format!(": {}", causes.join(", "))),
        (false, false) => text.push_str(&format!(": {}; last {reason}", causes.join(", "))),
    }
    if let Some((_, type_url)) = &failing.last_request {
        text.push_str(&format!(" (last request: {})", type_label(type_url.as_str())));
    }
    text
}

/// The code and the text of an end.
fn reason(end: &EndFact) -> String {
    let code = end.code.map(|code| code.to_string());
    let is_noted = end.note.as_deref().is_some_and(|note| note.starts_with("RST_STREAM"));
    let reset = if is_noted { None } else { end.reset.map(reset_words) };
    let words = [code, end.message.clone(), reset, end.note.clone()];
    let words: Vec<String> = words.into_iter().flatten().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}
