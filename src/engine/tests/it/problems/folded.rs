//! Problems of several nodes, or of several streams of a client, in one line.

use super::*;

/// Returns the sentences about a script without broken rules.
#[track_caller]
fn sentences(text: &str) -> Vec<String> {
    states(text).into_iter().map(|(_, sentence, _)| sentence).collect()
}

fn refusal(stream: u32, node: &str, kept: &str, refused: &str) -> String {
    let kept = match kept {
        "" => format!("node {node}\nstream {stream} ads\n{stream} > cds\n"),
        kept => format!(
            "node {node}\nstream {stream} ads\n{stream} > cds\n{stream} < cds v={kept} n=a [x]\n\
             {stream} > cds v={kept} n=a\n"
        ),
    };
    format!("{kept}{stream} < cds v={refused} n=b [x~2]\n{stream} > cds n=b nack=\"x: no type\"\n")
}

#[test]
fn nodes_with_one_refusal_tell_their_versions() {
    let text = [refusal(1, "n1", "1", "2"), refusal(2, "n2", "1", "2")].concat();
    assert_eq!(sentences(&text), ["client refused CDS 2; version 1 in force, on n1, n2"]);
    let text = [refusal(1, "n1", "1", "2"), refusal(2, "n2", "1", "3"), refusal(3, "n3", "1", "3")].concat();
    assert_eq!(
        sentences(&text),
        ["client refused CDS in several versions; version 1 in force; 2 on n1, 3 on n2, n3, on n1, n2, n3"]
    );
    let text = [refusal(1, "n1", "1", "2"), refusal(2, "n2", "", "2")].concat();
    assert_eq!(sentences(&text), ["client refused CDS 2, on n1, n2"]);
    let many: String = (1..=9).map(|n| refusal(n, &format!("n{n}"), "1", &format!("{}", 10 + n))).collect();
    let [sentence] = &sentences(&many)[..] else { panic!("{many}") };
    assert!(sentence.contains("; 11 on n1, 12 on n2, 13 on n3, 14 on n4 and 5 more, on "), "{sentence}");
}

/// Clients that die on one push, each again and again.
#[test]
fn clients_that_hang_up_on_one_push_are_one_problem() {
    let stream = |n: u32, node: &str| {
        format!(
            "node {node}\nstream {n} ads\n{n} > cds\n{n} < cds v=5-bad n=a [A]\nadvance 2s\n{n} reset client\n"
        )
    };
    let text: String =
        (0..9).map(|n| stream(n + 1, ["n1", "n2", "n3"].get(n as usize % 3).expect("a node"))).collect();
    let [sentence] = &sentences(&text)[..] else { panic!("{:#?}", sentences(&text)) };
    assert!(
        sentence.starts_with("client ended 9 streams, each after a push, the last CDS 5-bad (#"),
        "{sentence}"
    );
    assert!(sentence.ends_with(", on n1, n2, n3"), "{sentence}");
    // A client that has answered before owes the answer after one hang-up.
    let hang_up = |n: u32, node: &str| {
        let answered = format!("{n} < cds v=4 n=z [A~4]\n{n} > cds v=4 n=z\n{n} < cds v=5-bad");
        stream(n, node).replacen(&format!("{n} < cds v=5-bad"), &answered, 1)
    };
    let text = format!("{text}{}", hang_up(10, "n4"));
    let [sentence] = &sentences(&text)[..] else { panic!("{:#?}", sentences(&text)) };
    assert!(sentence.starts_with("client ended 10 streams, ") && sentence.ends_with(", n4"), "{sentence}");
    let once: String = (1..=3).map(|n| hang_up(n, &format!("n{n}"))).collect();
    assert_eq!(
        sentences(&once),
        ["client closed the stream after CDS 5-bad (#4), without an answer, on n1, n2, n3"]
    );
    let text = format!("{once}{}", hang_up(4, "n4").replace("5-bad", "6"));
    assert_eq!(sentences(&text).len(), 2, "{:#?}", sentences(&text));
}

#[test]
fn answer_owed_on_two_streams_is_one_problem() {
    let text = "node n agent=\"envoy/1.33.0\"\nstream 1 ads\n+0s > eds names=[a]\n< eds v=1 n=1 [a]\n\
                > eds v=1 n=1 names=[a]\n+60s 1 < eds v=2 n=2 [a~2]\n+60.1s 1 reset client\n+61s stream 2 ads\n\
                2 > eds names=[a]\n2 < eds v=2 n=1 [a~2]\nadvance 1m\n";
    assert_eq!(
        sentences(text),
        [
            "client owes an answer to EDS 2 (#6), neither ACK nor NACK; it left #4 without one too, when a stream \
             closed"
        ]
    );
}

#[test]
fn refusal_whose_content_comes_again_after_a_reconnect_is_one_problem() {
    let text = "node n agent=\"envoy/1.33.0\"\nstream 1 ads\n> cds\n< cds v=1 n=a [x]\n> cds v=1 n=a\n\
                < cds v=2 n=b [x~2]\n> cds v=1 n=b nack=\"x: no type\"\nclose status=14 \"gone\"\n+2s stream 2 ads\n\
                2 > cds v=1\n2 < cds v=2 n=a [x~2]\nadvance 1m\n";
    assert_eq!(
        sentences(text),
        [
            "client refused CDS 2 before the stream closed; pushed again, not answered yet (#7); version 1 in force"
        ]
    );
}
