//! Streams that fail again and again, and answers owed at their end.

use std::time::Duration;

use super::replay;
use crate::engine::store::{Debt, FailingStream, StreamFailure};
use crate::wire::event::{Clock, Code, StreamId};

fn one(text: &str) -> FailingStream {
    let mut found = replay(text).failing_streams();
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

fn sentence(fact: &FailingStream) -> String {
    crate::present::report::failing_stream(fact, &Clock { epoch: None, untimed: false })
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

#[test]
fn ends_with_an_answered_stream() {
    let failing = rejected(6, "close status=14 \"refused\"");
    assert_eq!(one(&failing).count, 6);
    let unanswered = format!("{failing}+2s stream 7 ads\n> cds\n");
    assert_eq!(one(&unanswered).count, 6);
    assert!(replay(&format!("{unanswered}< cds v=1 n=a [A]\n")).failing_streams().is_empty());
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
    assert_eq!(fact.first, crate::wire::event::Time::ZERO.after(Duration::from_secs(60)));
}

#[test]
fn clean_end_is_not_a_failure() {
    let ended =
        |end: &str| replay(&format!("stream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n1 {end}"));
    assert!(ended("close").failing_streams().is_empty());
    assert!(ended("close status=0").failing_streams().is_empty());
    assert!(ended("reset client").failing_streams().is_empty());
    assert_eq!(ended("reset server").failing_streams().len(), 1);
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

#[test]
fn names_the_silence_before_cuts() {
    let fact = one(&cut("reset server"));
    assert_eq!((fact.failure, fact.count), (StreamFailure::Cut, 4));
    assert_eq!(fact.cut_age, None);
    let text = sentence(&fact);
    assert!(
        text.starts_with("server cuts off each stream: 4 × 300s after the last message: RST_STREAM"),
        "{text}"
    );
}

#[test]
fn cuts_last_until_a_stream_outlives_them() {
    let back = format!("{}stream 5 ads\n> cds\n< cds v=2 n=c [A]\n> cds v=2 n=c\n", cut("close status=14"));
    assert_eq!(replay(&format!("{back}advance 100s")).failing_streams().len(), 1);
    assert!(replay(&format!("{back}advance 2000s")).failing_streams().is_empty());
}

#[test]
fn maximum_connection_age_is_not_a_failure() {
    let mut text = "node edge\n".to_owned();
    for stream in 1..=4 {
        text.push_str(&format!("stream {stream} ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n"));
        text.push_str(&format!("advance 1800s\n{stream} close status=14\n"));
    }
    text.push_str("stream 5 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n");
    assert!(replay(&text).failing_streams().is_empty());
}

#[test]
fn answers_owed_at_the_end_stay() {
    let text = "node edge
        stream 1 ads
        > cds
        < cds v=1 n=a [A]
        > eds names=[foo bar]
        1 close";
    let owed = replay(text).owed_at_end();
    assert_eq!(owed.len(), 2, "{owed:#?}");
    assert!(matches!(&owed[0].debt, Debt::Verdict { version, responses: 1 } if &**version == "1"));
    assert!(matches!(&owed[1].debt, Debt::Resources { names, more: 0 } if names.len() == 2));
    let texts: Vec<String> = owed.iter().map(crate::present::report::owed_at_end).collect();
    assert_eq!(
        texts,
        [
            "client owed an answer to CDS 1 (#2) when the stream closed",
            "server owed EDS foo, bar (#3) when the stream closed"
        ]
    );
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
    let owed = replay(text).owed_at_end();
    assert_eq!(owed.iter().map(|owed| owed.stream.0).collect::<Vec<_>>(), [2]);
    let healthy = format!("{text}\nstream 3 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a");
    assert!(replay(&healthy).owed_at_end().is_empty());
}

#[test]
fn counts_many_short_streams() {
    let store = replay(&rejected(20_000, "close status=14 \"refused\""));
    assert_eq!(store.failing_streams()[0].count, 20_000);
    assert!(crate::engine::problems::problems(&store, &[]).iter().all(|problem| problem.closed.is_some()));
}
