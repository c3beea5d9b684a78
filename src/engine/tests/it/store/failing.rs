//! Streams that fail again and again, and answers owed at their end.

use std::time::Duration;

use super::{replay, replay_edited};
use xdscope_engine::store::{Debt, FailingStream, OwedAtEnd, StreamFailure};
use xdscope_wire::FramePayload;
use xdscope_wire::event::{Clock, Code, Side, StreamId};

fn one(text: &str) -> FailingStream {
    let mut found = replay(text).ended().failing_streams();
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

fn sentence(fact: &FailingStream) -> String {
    xdscope_present::report::failing_stream(fact, &Clock { epoch: None, untimed: false })
}

/// Streams that are rejected with `end` every 250 ms.
fn rejected(times: u32, end: &str) -> String {
    let stream = |n| format!("+{}ms stream {n} ads\n> cds\n+{}ms {n} {end}\n", n * 250, n * 250 + 100);
    format!("node edge\n{}", (1..=times).map(stream).collect::<String>())
}

#[test]
fn counts_rejections_and_their_period() {
    let fact = one(&rejected(240, "close status=16 \"token expired\""));
    assert_eq!((fact.failure, fact.count), (StreamFailure::Rejected, 240));
    assert_eq!((fact.stream, fact.first_stream), (StreamId(240), StreamId(1)));
    assert_eq!(fact.end.code, Some(Code(16)));
    assert_eq!(fact.period, Some(Duration::from_millis(250)));
    assert_eq!(
        sentence(&fact),
        "server rejects the stream: 240 times since +0.3s, every 250ms: UNAUTHENTICATED token expired; \
         last request CDS #240"
    );
}

/// Returns the failing streams after a script, in which the client resets streams with an error.
fn with_errors_of_client(text: &str) -> Vec<FailingStream> {
    const INTERNAL_ERROR: u32 = 2;
    let edit = |what: &mut FramePayload| match what {
        FramePayload::End(end) if end.by == Some(Side::Client) => end.reset = Some(INTERNAL_ERROR),
        _ => {}
    };
    replay_edited(text, edit).ended().failing_streams()
}

#[test]
fn resets_by_the_client_are_not_counted_with_ends_by_the_server() {
    let rejected = rejected(2, "close status=14");
    let text = format!("{rejected}+2s stream 3 ads\n> cds\n+3s reset client\n");
    let failing = with_errors_of_client(&text);
    assert_eq!(failing.len(), 1, "{failing:#?}");
    let fact = &failing[0];
    assert_eq!((fact.count, fact.stream, fact.at_fault()), (2, StreamId(2), Some(Side::Server)));
    let answered =
        |n| format!("+{n}s stream {n} ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n{n} reset client\n");
    let text = format!("node edge\n{}", (1..=5).map(answered).collect::<String>());
    let failing = with_errors_of_client(&text);
    assert!(failing.iter().all(|fact| fact.failure != StreamFailure::Cut), "{failing:#?}");
}

#[test]
fn ends_with_an_answered_stream() {
    let failing = rejected(6, "close status=14 \"refused\"");
    assert_eq!(one(&failing).count, 6);
    let unanswered = format!("{failing}+2s stream 7 ads\n> cds\n");
    assert_eq!(one(&unanswered).count, 6);
    assert!(replay(&format!("{unanswered}< cds v=1 n=a [A]\n")).ended().failing_streams().is_empty());
}

#[test]
fn begins_with_the_end_of_an_answered_stream() {
    let text = "node edge
        stream 1 ads
        > cds
        < cds v=1 n=a [A]
        > cds v=1 n=a
        +60s 1 close status=16 \"token expired\"";
    let fact = one(text);
    assert_eq!((fact.failure, fact.count), (StreamFailure::Lost, 1));
    let fact = one(&format!("{text}\n+61s stream 2 ads\n> cds\nclose status=16 \"token expired\""));
    assert_eq!((fact.failure, fact.count), (StreamFailure::Rejected, 2));
    assert_eq!(fact.first, xdscope_wire::event::Time::ZERO.after(Duration::from_secs(60)));
}

#[test]
fn clean_end_is_not_a_failure() {
    let ended =
        |end: &str| replay(&format!("stream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n1 {end}"));
    assert!(ended("close").ended().failing_streams().is_empty());
    assert!(ended("close status=0").ended().failing_streams().is_empty());
    assert!(ended("reset client").ended().failing_streams().is_empty());
    assert_eq!(ended("reset server").ended().failing_streams().len(), 1);
}

/// A stream whose response was accepted, and that ends with UNAVAILABLE after 60 s; a later stream
/// opens 1 s after that.
const LOST: &str = "node edge
    stream 1 ads
    > cds
    < cds v=1 n=a [A]
    > cds v=1 n=a
    +60s 1 close status=14 \"bye\"
    +61s stream 2 ads
    ";

/// [`LOST`] in the delta variant.
fn lost_delta() -> String {
    let text = LOST.replace("ads", "delta cds").replace("cds v=1 n=a [A]", "n=a [A@1]");
    text.replace("> cds v=1 n=a", "> n=a").replace("> cds", "> sub=[A]").replace("< cds", "<")
}

#[test]
fn ends_with_a_silent_stream_that_is_owed_nothing() {
    let failing = |text: &str| replay(&format!("{LOST}{text}")).ended().failing_streams().len();
    assert_eq!(failing("> cds v=1\nadvance 1s"), 0, "the server may stay silent");
    assert_eq!(failing("> cds v=1\nadvance 16s"), 0);
    assert_eq!(failing("> cds\nadvance 10s"), 1, "the server is in time");
    assert_eq!(failing("> cds v=7\n< cds v=1 n=b [A]\nadvance 16s"), 0, "the server has sent it");
    assert_eq!(failing("advance 4s"), 1, "the client is in time");
    assert_eq!(failing("advance 16s"), 0, "the client owes its first request");
    let delta = lost_delta();
    let failing = |text: &str| replay(&format!("{delta}{text}")).ended().failing_streams().len();
    assert_eq!(failing("> sub=[A] irv={A:1}\nadvance 16s"), 0);
}

/// One silence is one problem: what the server owes.
#[test]
fn silence_of_an_open_stream_is_not_that_streams_end() {
    let words = |text: &str| {
        let problems = xdscope_engine::problems::problems(&replay(text), &[]);
        problems.iter().map(|problem| problem.kind.word()).collect::<Vec<_>>()
    };
    let lost = |text: &str| words(&format!("{LOST}{text}\nadvance 16s"));
    assert_eq!(lost("> cds"), ["miss"], "the server owes everything");
    assert_eq!(lost("> cds v=1\n> eds names=[x]"), ["miss"], "the server owes an endpoint");
    assert_eq!(lost("> cds v=7"), ["miss"], "the server owes the newest version");
    let delta = lost_delta();
    let owed = words(&format!("{delta}> sub=[A]\nadvance 16s"));
    assert_eq!(owed, ["miss"], "delta: the client states no version of A");
    assert!(lost("").is_empty(), "`not-resubscribed` blames the client");
    let rejected = rejected(5, "close status=14 \"refused\"");
    assert_eq!(words(&format!("{rejected}+2s stream 7 ads\n> cds\nadvance 10s")), ["failing", "wait"]);
    assert_eq!(words(&format!("{rejected}+2s stream 7 ads\n> cds\nadvance 16s")), ["miss"]);
    let closed = format!("{LOST}> cds v=1\n> eds names=[x]\n+120s 2 close status=14 \"bye\"");
    assert_eq!(one(&closed).rejected, 0, "the server had accepted the version of the clusters");
}

#[test]
fn a_stream_to_another_server_replaces_the_one_that_ended() {
    let served = |at: u32, requests: &str| {
        format!("server cp2\n+{at}s stream 2 ads\n{requests}\n< cds v=z n=a [B]\n> cds v=z n=a\nadvance 60s")
    };
    let lost = LOST.replace("stream 1", "server cp1\nstream 1").replace("+61s stream 2 ads\n", "");
    let after = format!("{lost}{}", served(61, "> cds v=1"));
    assert!(replay(&after).ended().failing_streams().is_empty());
    let named = lost.replace("> cds\n", "> cds\n> eds names=[x]\n");
    let fact = one(&format!("{named}{}", served(61, "> cds v=1")));
    let sentence = sentence(&fact);
    assert!(
        sentence.starts_with("server cp1 ended the stream, and the client has opened none to it since"),
        "{sentence}"
    );
    assert!(
        replay(&format!("{named}{}", served(61, "> cds v=1\n> eds names=[x]")))
            .ended()
            .failing_streams()
            .is_empty()
    );
}

#[test]
fn a_client_owes_no_answer_if_the_server_cuts_the_stream_at_once() {
    let owed = |wait: u32, end: &str| {
        let answered = "node edge\nstream 1 ads\n> lds\n< lds v=1 n=z [l]\n> lds v=1 n=z\n";
        let text = format!("{answered}> cds\n< cds v=1 n=a [A]\nadvance {wait}s\n1 {end}");
        replay(&text).ended().owed_at_end().len()
    };
    assert_eq!(owed(1, "close status=14 \"bye\""), 0);
    assert_eq!(owed(11, "close status=14 \"bye\""), 1);
    assert_eq!(owed(1, "reset client"), 1);
}

#[test]
fn silent_stream_outlives_short_ones() {
    let text = rejected(5, "close status=14 \"refused\"");
    let back = |claim: &str, wait: &str| {
        let store =
            replay(&format!("stream 90 ads\n{text}+2s stream 91 ads\n91 > eds {claim}\nadvance {wait}"));
        store.ended().failing_streams().len()
    };
    assert_eq!(back("v=1 names=[]", "150ms"), 1);
    assert_eq!(back("v=1 names=[]", "250ms"), 0);
    assert_eq!(back("names=[x]", "250ms"), 1);
}

#[test]
fn end_of_a_silent_stream_is_no_rejection() {
    let text = format!("{LOST}> cds v=1\n+200s 2 close status=14 \"bye\"\n");
    let fact = one(&text);
    assert_eq!((fact.failure, fact.count, fact.rejected), (StreamFailure::Lost, 1, 0));
}

#[test]
fn client_that_ends_each_stream_after_a_push_fails() {
    let stream = |n: u32, end: &str| {
        let at = n * 2;
        format!("+{at}s stream {n} ads\n> cds\n< cds v=1 n=a [A]\n+{}ms {n} {end}\n", at * 1000 + 100)
    };
    let text = |times: u32, end: &str| (1..=times).map(|n| stream(n, end)).collect::<String>();
    let text = |times, end: &str| format!("node edge\n{}", text(times, end));
    assert!(replay(&text(2, "reset client")).ended().failing_streams().is_empty());
    let failing = text(5, "reset client");
    let fact = one(&failing);
    assert_eq!((fact.failure, fact.count, fact.at_fault()), (StreamFailure::Aborted, 5, Some(Side::Client)));
    assert_eq!(
        sentence(&fact),
        "client ended 5 streams, each after a push, the last CDS 1 (#10), every 2.0s: RST_STREAM CANCEL; \
         last request CDS #9"
    );
    let open = format!("{failing}+12s stream 6 ads\n> cds\n< cds v=1 n=b [A]\n");
    assert_eq!(one(&open).count, 5);
    assert!(replay(&format!("{open}> cds v=1 n=b\n")).ended().failing_streams().is_empty());
}

#[test]
fn ends_are_counted_by_code() {
    let mut text = "node edge\n".to_owned();
    for n in 1..=6 {
        let end = if n % 2 == 1 { "status=16 \"expired\"" } else { "status=14 \"gone\"" };
        text.push_str(&format!("+{n}s stream {n} ads\n> cds\n{n} close {end}\n"));
    }
    assert_eq!(
        sentence(&one(&text)),
        "server rejects the stream: 6 times since +1.0s, every 1.0s: 3 UNAUTHENTICATED, 3 UNAVAILABLE; last \
         UNAVAILABLE gone; last request CDS #6"
    );
}

#[test]
fn growing_intervals_are_a_back_off() {
    let mut text = "node edge\n".to_owned();
    for (n, at) in [0, 1, 3, 7, 15, 31].into_iter().enumerate() {
        text.push_str(&format!("+{at}s stream {0} ads\n> cds\n{0} close status=14 \"gone\"\n", n + 1));
    }
    let fact = one(&text);
    assert_eq!((fact.period, fact.back_off), (None, Some(Duration::from_secs(16))));
    assert!(
        sentence(&fact).contains(": 6 times since +0.0s, with back-off, last after 16s: UNAVAILABLE gone")
    );
}

/// Answered streams with `messages` more pushes 10 s apart, cut 300 s after the last message.
fn cut(end: &str) -> String {
    let mut text = "node edge\n".to_owned();
    for stream in 1..=4 {
        text.push_str(&format!("stream {stream} ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n"));
        for push in 0..stream {
            text.push_str(&format!("advance 40s\n< cds v=2 n=b{push} [A~{push}]\n> cds v=2 n=b{push}\n"));
        }
        text.push_str(&format!("advance 300s\n{stream} {end}\n"));
    }
    text
}

/// Returns the failing streams after the server has closed the connections of answered streams of
/// these ages, with `note` and without a status.
fn abandoned(ages: &[u64], note: &str) -> Vec<FailingStream> {
    let mut text = "node edge\n".to_owned();
    for (stream, age) in (1..).zip(ages) {
        text.push_str(&format!("stream {stream} ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n"));
        text.push_str(&format!("advance {age}s\n{stream} close status=14\n"));
    }
    let edit = |what: &mut FramePayload| {
        if let FramePayload::End(end) = what {
            (end.status, end.note) = (None, Some(note.to_owned()));
        }
    };
    replay_edited(&text, edit).ended().failing_streams()
}

#[test]
fn server_that_closes_young_connections_cuts_streams_off_at_any_ages() {
    const CLOSED: &str = "the connection was closed";
    let failing = abandoned(&[4, 1, 7], CLOSED);
    assert_eq!(failing.len(), 1, "{failing:#?}");
    assert_eq!((failing[0].failure, failing[0].count), (StreamFailure::Cut, 3));
    assert_eq!(failing[0].at_fault(), Some(Side::Server));
    let is_cut = |ages: &[u64], note: &str| {
        let failing = abandoned(ages, note);
        failing.iter().any(|failing| failing.failure == StreamFailure::Cut)
    };
    assert!(!is_cut(&[4, 1], CLOSED), "two ends may be a restart");
    assert!(!is_cut(&[90, 70, 300], CLOSED), "long connections may have a maximum age");
    assert!(!is_cut(&[12, 30, 20], "GOAWAY NO_ERROR"), "the server has announced the ends");
}

#[test]
fn names_the_silence_before_cuts() {
    let fact = one(&cut("reset server"));
    assert_eq!((fact.failure, fact.count), (StreamFailure::Cut, 4));
    assert_eq!(fact.cut_age, None);
    let text = sentence(&fact);
    assert!(
        text.starts_with(
            "server cuts off each stream: 4 times, each 300s after the last message: RST_STREAM"
        ),
        "{text}"
    );
}

#[test]
fn cuts_last_until_a_stream_outlives_them() {
    let back = format!("{}stream 5 ads\n> cds\n< cds v=2 n=c [A]\n> cds v=2 n=c\n", cut("close status=14"));
    assert_eq!(replay(&format!("{back}advance 100s")).ended().failing_streams().len(), 1);
    assert!(replay(&format!("{back}advance 2000s")).ended().failing_streams().is_empty());
}

#[test]
fn maximum_connection_age_is_not_a_failure() {
    let mut text = "node edge\n".to_owned();
    for stream in 1..=4 {
        text.push_str(&format!("stream {stream} ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n"));
        text.push_str(&format!("advance 1800s\n{stream} close status=14\n"));
    }
    text.push_str("stream 5 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n");
    assert!(replay(&text).ended().failing_streams().is_empty());
}

#[test]
fn answers_owed_at_the_end_stay() {
    let text = "node edge agent=\"envoy/1.40.0\"
        stream 1 ads
        > cds
        < cds v=1 n=a [A]
        > eds names=[foo bar]
        +20s 1 close";
    let owed = replay(text).ended().owed_at_end();
    assert_eq!(owed.len(), 2, "{owed:#?}");
    assert!(matches!(&owed[0].debt, Debt::Verdict { version, responses: 1 } if version.to_string() == "1"));
    assert!(matches!(&owed[1].debt, Debt::Resources { names, more: 0, .. } if names.len() == 2));
    let texts: Vec<String> = owed.iter().map(xdscope_present::report::owed_at_end).collect();
    assert_eq!(
        texts,
        [
            "client owed an answer to CDS 1 (#2) when the stream closed",
            "server owed EDS foo, bar (#3) when the stream closed"
        ]
    );
    // A tool, which states no versions and asks once, owes no verdicts.
    let owed = replay(&text.replace(" agent=\"envoy/1.40.0\"", "")).ended().owed_at_end();
    assert!(matches!(owed.as_slice(), [OwedAtEnd { debt: Debt::Resources { .. }, .. }]), "{owed:#?}");
}

#[test]
fn answered_successor_replaces_owed_answers() {
    let text = "node edge
        stream 1 ads
        > cds
        1 close status=14
        stream 2 ads
        > cds
        2 close status=14";
    let owed = replay(text).ended().owed_at_end();
    assert_eq!(owed.iter().map(|owed| owed.stream.0).collect::<Vec<_>>(), [2]);
    let healthy = format!("{text}\nstream 3 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a");
    assert!(replay(&healthy).ended().owed_at_end().is_empty());
}

#[test]
fn counts_many_short_streams() {
    let store = replay(&rejected(20_000, "close status=14 \"refused\""));
    assert_eq!(store.ended().failing_streams()[0].count, 20_000);
    assert!(xdscope_engine::problems::problems(&store, &[]).iter().all(|problem| problem.closed.is_some()));
}

#[test]
fn side_that_does_not_answer_a_ping_is_at_fault() {
    let mut fact = one(&rejected(4, "reset server"));
    fact.end.note = Some("keepalive: no answer to a PING in 20s".to_owned());
    (fact.end.by, fact.end.reset) = (Some(Side::Client), None);
    assert_eq!((fact.by(), fact.at_fault()), (Some(Side::Client), Some(Side::Server)));
    assert!(sentence(&fact).starts_with("server does not answer PINGs: 4 times since +0.3s, every 250ms:"));
}

#[test]
fn restated_types_owe_nothing_at_the_end() {
    let text = "node edge
        stream 1 ads
        > cds
        < cds v=1 n=a [A]
        > eds names=[foo]
        +20s 1 close
        stream 2 ads
        > cds v=1
        ";
    let owed = |text: &str| replay(text).ended().owed_at_end().len();
    assert_eq!(owed(text), 1, "the endpoint");
    assert_eq!(owed(&format!("{text}> eds names=[foo]")), 0, "the later stream owes it");
}

#[test]
fn failed_polls_fail_until_one_is_answered() {
    let poll = |n: u32, answer: &str| format!("+{n}s stream {n} rest cds\n> v=1\n{n} {answer}\n");
    let failed = |n| poll(n, "close status=14 \"HTTP status 503\"");
    let polls: String = (1..=4).map(failed).collect();
    let fact = one(&format!("node edge\n{polls}"));
    assert_eq!(
        sentence(&fact),
        "server fails every poll: 4 times since +1.0s, every 1.0s: UNAVAILABLE HTTP status 503; last request \
         CDS #4"
    );
    let unchanged = format!("node edge\n{polls}{}", poll(5, "< http=304"));
    assert_eq!(replay(&unchanged).ended().failing_streams().len(), 0, "answered without a message");
}

/// Returns the answers owed, and the failing streams, after streams of a client that asks once,
/// reads the answer and ends each stream.
fn after_queries(node: &str, times: u32, end: &str) -> (usize, usize) {
    let stream =
        |n: u32| format!("+{0}s stream {n} ads\n> cds\n< cds v=1 n=a [A]\n+{0}.1s {n} {end}\n", n * 10);
    let store = replay(&format!("node {node}\n{}", (1..=times).map(stream).collect::<String>()));
    (store.ended().owed_at_end().len(), store.ended().failing_streams().len())
}

#[test]
fn client_that_reads_an_answer_and_leaves_owes_nothing() {
    assert_eq!(after_queries("tool", 1, "close"), (0, 0));
    assert_eq!(after_queries("tool", 5, "close"), (0, 0), "a tool comes again");
    assert_eq!(after_queries("tool", 1, "reset client"), (0, 0));
    assert_eq!(after_queries("tool", 3, "reset client"), (1, 1), "a client that comes back");
    assert_eq!(after_queries("x agent=\"xdscope/1\"", 5, "reset client"), (0, 0), "a verb of xdscope");
    assert_eq!(after_queries("edge agent=\"envoy/1.40.0\"", 1, "close"), (1, 0), "Envoy is not a tool");
}

#[test]
fn client_that_leaves_before_an_answer_is_late_is_owed_nothing() {
    let owed = |node: &str, wait: u32, end: &str| {
        let text = format!("node {node}\nstream 1 ads\n> cds\n+{wait}ms 1 {end}\nadvance 60s");
        let store = replay(&text);
        (store.ended().owed_at_end().len(), store.ended().failing_streams().len())
    };
    assert_eq!(owed("tool", 10, "close"), (0, 0));
    assert_eq!(owed("tool", 10, "reset client"), (0, 0));
    assert_eq!(owed("tool", 16_000, "close"), (1, 0), "the answer was late");
    assert_eq!(owed("tool", 10, "close status=14"), (1, 1), "the server ended the stream");
    assert_eq!(owed("edge agent=\"envoy/1.40.0\"", 10, "close"), (0, 0), "an Envoy that is stopped");
    assert_eq!(owed("edge agent=\"envoy/1.40.0\"", 16_000, "close"), (1, 0));
    assert_eq!(owed("x agent=\"xdscope/1\"", 10, "close"), (0, 0), "a verb of xdscope");
}

#[test]
fn verdict_is_owed_after_a_hang_up_until_a_later_stream_settles_it() {
    let hung_up = "node edge
        stream 1 ads
        > lds
        < lds v=4 n=a [l]
        > lds v=4 n=a
        > rds names=[r]
        < rds v=5-bad n=b [r]
        +1s 1 close
        ";
    let back = format!("{hung_up}+2s stream 2 ads\n2 > lds v=4\n2 < lds v=4 n=c [l]\n2 > lds v=4 n=c\n");
    let owed = |text: &str| {
        let owed = replay(text).ended().owed_at_end();
        owed.iter().map(xdscope_present::report::owed_at_end).collect::<Vec<_>>()
    };
    let answer = ["client owed an answer to RDS 5-bad (#5) when the stream closed"];
    assert_eq!(owed(hung_up), answer);
    assert_eq!(owed(&back), answer, "another type was answered");
    let again = format!("{back}2 > rds names=[r]\n2 < rds v=5-bad n=d [r]\n");
    assert_eq!(owed(&again), answer, "the client has not answered since");
    assert!(owed(&format!("{again}2 > rds v=5-bad n=d names=[r]\n")).is_empty());
    assert!(owed(&format!("{back}advance 20s")).is_empty(), "the client does without routes");
}

#[test]
fn failure_of_an_unknown_side_names_no_side() {
    let hide_side = |what: &mut FramePayload| {
        if let FramePayload::End(end) = what {
            end.by = None;
        }
    };
    let words = |text: &str| {
        let failing = replay_edited(text, hide_side).ended().failing_streams();
        failing.iter().map(sentence).collect::<Vec<_>>().join("; ")
    };
    for text in [rejected(4, "close status=16 \"token expired\""), LOST.to_owned(), cut("reset server")] {
        let words = words(&text);
        assert!(!words.is_empty() && !words.contains("server"), "{words}");
    }
}

#[test]
fn one_end_in_order_is_no_failure() {
    let ended = |end: &str| {
        let text = format!("node edge\nstream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n+90s 1 {end}");
        replay(&text).ended().failing_streams().len()
    };
    for end in ["close status=13", "close status=14", "close status=13 \"goaway received\"", "close status=0"]
    {
        assert_eq!(ended(end), 0, "{end}");
    }
    for end in ["close status=16", "close status=14 \"no route\"", "reset server"] {
        assert_eq!(ended(end), 1, "{end}");
    }
}

#[test]
fn stream_that_ends_like_those_before_has_not_outlived_them() {
    let stream = |(n, age): (u64, u64)| {
        let at = n * 300;
        format!("+{at}ms stream {n} ads\n> cds v=1\n+{}ms {n} close status=16 \"no\"\n", at + age)
    };
    let ages = [40, 50, 45, 140, 30, 50, 45, 250, 40];
    let text: String = (1..).zip(ages).map(stream).collect();
    let fact = one(&format!("node edge\n{text}"));
    assert_eq!((fact.failure, fact.count), (StreamFailure::Rejected, 9));
}

#[test]
fn too_many_pings_have_a_remedy() {
    let mut fact = one(&rejected(4, "reset server"));
    (fact.end.reset, fact.end.note) = (None, Some("GOAWAY ENHANCE_YOUR_CALM (too_many_pings)".to_owned()));
    assert_eq!((fact.by(), fact.at_fault()), (Some(Side::Server), None));
    let words = sentence(&fact);
    assert!(words.starts_with("server rejects the stream: 4 times"), "{words}");
    assert!(words.contains("(too_many_pings): raise the keepalive interval of the client"), "{words}");
}
