mod folded;
mod undecodable;
mod xdscope;

use crate::store::NoCodec;
use xdscope_engine::lint::{self, Blame, Finding, Lint, Severity};
use xdscope_engine::problems::*;
use xdscope_engine::store::{Options, Store};
use xdscope_present::report;
use xdscope_sources::script;

/// Returns the store after a script, and the findings of the rules.
#[track_caller]
fn analyse(text: &str) -> (Store, Vec<Finding>) {
    let script = script::parse(text, "test.xds").unwrap_or_else(|error| panic!("{error:?}"));
    let loaded = script::load(&script, &NoCodec).unwrap_or_else(|error| panic!("{error}"));
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    let mut lint = Lint::new(lint::Options::default());
    for frame in loaded.frames {
        lint.handle(&mut store, frame);
    }
    lint.advance(&mut store, loaded.end);
    (store, lint.findings().to_vec())
}

/// Returns word, sentence and rules of each problem of a script.
#[track_caller]
fn all_problems(text: &str) -> Vec<(String, String, Vec<&'static str>)> {
    let (store, findings) = analyse(text);
    let rules = |problem: &ProblemFact| {
        let mut rules: Vec<_> = problem.findings.iter().map(|index| findings[*index].rule.id).collect();
        rules.dedup();
        rules
    };
    let problems = problems(&store, &findings);
    let word = |problem: &ProblemFact| problem.kind.word().to_owned();
    problems.iter().map(|p| (word(p), report::problem(p, &store.clock()), rules(p))).collect()
}

/// Returns word, sentence and message of each problem of a script, without broken rules.
#[track_caller]
fn states(text: &str) -> Vec<(String, String, Option<u64>)> {
    let (store, _) = analyse(text);
    let sentence = |problem: &ProblemFact| report::problem(problem, &store.clock());
    let problems = problems(&store, &[]);
    problems.iter().map(|p| (p.kind.word().into(), sentence(p), p.at.map(|n| n.0))).collect()
}

/// A server sends responses that cannot be decoded, and the client resets its streams.
#[test]
fn sentences_name_who_owes_what() {
    let found = states(
        "stream 1 ads
         +0s > cds
         +0s < cds v=41 n=a [A]
         +0s > cds v=41 n=a
         +1s < cds v=42 n=b [A~2]
         +1s > cds v=41 n=b nack=\"bad\"
         +2s < cds v=42 n=c [A~2]
         +2s > cds v=41 n=c nack=\"bad\"
         +3s > eds names=[x y]
         +4s < eds v=1 n=d [x]
         +4s > eds v=1 n=d names=[x y]
         +5s > rds names=[r]
         +6s < rds v=17 n=e [r]
         +7s > lds
         advance 13s
        ",
    );
    let word = |word: &str, text: &str, at| (word.to_owned(), text.to_owned(), Some(at));
    assert_eq!(
        found,
        [
            word("nack", "client refused CDS 42, 2 times since +1.0s; pushed again; version 41 in force", 7),
            word("stale", "client owes an answer to RDS 17 (#12), neither ACK nor NACK", 12),
            word("miss", "server owes EDS y, asked in #8", 8),
            word("wait", "server owes LDS for the wildcard, nothing sent yet (limit 15s)", 13),
        ]
    );
}

#[test]
fn counts_requests_that_ask_and_not_verdicts() {
    let found = states(
        "stream 1 ads
         +0s > eds names=[x y]
         +1s < eds v=1 n=a [x]
         +1s > eds v=1 n=a names=[x y]
         +2s < eds v=2 n=b [x~2]
         +2s > eds v=2 n=b names=[x y]
         +3s > eds v=2 n=b names=[x y]
         +4s < eds v=3 n=c [x~3]
         +4s > eds v=2 n=c names=[x y] nack=\"bad\"
         +5s < eds v=4 n=d [x~4]
         +5s > eds v=4 n=d names=[x y]
         advance 20s
        ",
    );
    assert_eq!(found, [("miss".to_owned(), "server owes EDS y, asked twice (#1 #6)".to_owned(), Some(1))]);
}

#[test]
fn missing_resource_stays_a_problem_after_the_end() {
    let text = "node n\nstream 1 ads\n+0s > eds names=[x]\n+16s close status=14 \"bye\"\n+60s stream 2 ads\n";
    let found = all_problems(text);
    let [(word, text, rules)] = found.as_slice() else { panic!("one cause: {found:#?}") };
    assert_eq!(word, "failing");
    assert_eq!(
        text,
        "server rejects the stream: UNAVAILABLE bye; last request EDS #1; server owed EDS x (#1)"
    );
    assert_eq!(rules, &["name-not-delivered"], "the rule about the missing name has this cause");
    let closed = "stream 1 ads\n+0s > eds names=[x]\n< eds v=1 n=a [y]\n+16s 1 close\n";
    let closed = all_problems(&format!("node n agent=\"envoy/1.40.0\"\n{closed}"));
    let owed: Vec<_> = closed.iter().filter(|(word, ..)| word == "owed").map(|(_, text, _)| text).collect();
    assert_eq!(
        owed,
        [
            "client owed an answer to EDS 1 (#2) when the stream closed",
            "server owed EDS x (#1) when the stream closed"
        ]
    );
}

#[test]
fn only_regular_refusals_have_a_period() {
    let refused = |pauses: &[u32]| {
        let mut text = "stream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n".to_owned();
        for (n, pause) in pauses.iter().enumerate() {
            text.push_str(&format!(
                "advance {pause}s\n< cds v=2 n=b{n} [A~2]\n> cds v=1 n=b{n} nack=\"bad\"\n"
            ));
        }
        states(&text).remove(0).1
    };
    let start = "client refused CDS 2, 4 times since +1.1s";
    assert_eq!(refused(&[1, 10, 10, 10]), format!("{start}, every 10s; pushed again; version 1 in force"));
    assert_eq!(refused(&[1, 1, 30, 2]), format!("{start}; pushed again; version 1 in force"));
}

#[test]
fn problems_of_two_streams_of_a_node_are_told_apart() {
    let stream = |n| format!("stream {n} ads\n{n} > eds names=[x]\n");
    let (store, findings) = analyse(&format!("node n\n{}{}advance 20s\n", stream(1), stream(2)));
    let problems = problems(&store, &findings);
    let misses = problems.iter().filter(|problem| problem.kind.word() == "miss");
    let mut places: Vec<String> = misses.map(report::problem_place).collect();
    places.sort();
    assert_eq!(places, ["n #1 EDS", "n #2 EDS"]);
    let (store, findings) = analyse(&format!("node n\n{}advance 20s\n", stream(1)));
    let problems = xdscope_engine::problems::problems(&store, &findings);
    assert_eq!(report::problem_place(&problems[0]), "n EDS");
}

#[test]
fn each_stream_of_a_failing_client_selects_its_problem() {
    let attempt = |n| format!("stream {n} ads\n> cds\n{n} close status=16 \"jwt expired\"\nadvance 1s\n");
    let text = format!("node e\n{}{}node f\n{}", attempt(1), attempt(2), attempt(3));
    let (store, findings) = analyse(&text);
    for (stream, node) in [(1, "e"), (2, "e"), (3, "f")] {
        let selected = problems_of(&store, &findings, None, |id, _| id.0 == stream);
        let places: Vec<String> = selected.iter().map(report::problem_place).collect();
        assert_eq!(places, [node], "stream {stream}");
    }
}

#[test]
fn refusal_stays_a_problem_after_the_end() {
    let text = "node n agent=\"envoy/1.40.0\"
        stream 1 ads
        > cds
        < cds v=1 n=a [A]
        > cds n=a nack=\"bad\"
        1 close";
    let found = all_problems(text);
    assert_eq!(found[0].0, "nack", "{found:#?}");
    assert_eq!(found[0].1, "client refused CDS 1 before the stream closed; none in force");
    let reconnected = format!("{text}\nstream 2 ads\n> cds\n< cds v=2 n=b [A~2]\n> cds v=2 n=b");
    assert_eq!(all_problems(&reconnected), [], "the next stream accepted a later version");
    let of_tool = text.replace(" agent=\"envoy/1.40.0\"", "");
    assert_eq!(all_problems(&of_tool), [], "a tool that has left has no old configuration");
}

#[test]
fn rules_about_a_refusal_belong_to_it() {
    let found = all_problems(
        "node n
         stream 1 ads
         +0s > cds
         +0s < cds v=1 n=a [A]
         +0s > cds v=1 n=a
         +1s < cds v=2 n=b [A~2 B]
         +1s > cds v=1 n=b nack=\"bad\"
         +2s < cds v=2 n=c [A~2 B]
         +2s > cds v=1 n=c nack=\"bad\"
         +3s < cds v=2 n=d [A~2 B]
         +3s > cds v=1 n=d nack=\"bad\"
        ",
    );
    let [(word, text, rules)] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(word, "nack");
    assert_eq!(
        text,
        "client refused CDS 2, 3 times since +1.0s, every 1.0s; pushed again; version 1 in force"
    );
    assert!(rules.contains(&"nack-resend-loop"), "{rules:?}");
}

#[test]
fn one_slip_of_the_server_is_one_problem_for_all_clients() {
    let mut text = String::new();
    for stream in 1..=3 {
        text.push_str(&format!(
            "node n{stream}\nstream {stream} ads\n{stream} > cds\n{stream} < cds v=1 n=a{stream} [A A B]\n"
        ));
        text.push_str(&format!("{stream} > cds v=1 n=a{stream}\n"));
    }
    let found = all_problems(&text);
    let duplicates: Vec<_> =
        found.iter().filter(|(.., rules)| rules.contains(&"duplicate-resource-name")).collect();
    let [(word, text, _)] = duplicates.as_slice() else { panic!("{found:#?}") };
    assert_eq!(word, "error");
    assert!(text.starts_with("server: A: ") && text.ends_with("on n1, n2, n3"), "{text}");
}

#[test]
fn slips_in_one_message_stay_apart() {
    let found = all_problems(
        "node n
         stream 1 ads
         > cds
         < cds v=1 n=a [A A \"\"]
         > cds v=1 n=a
        ",
    );
    let rules: Vec<_> = found.iter().map(|(.., rules)| rules.join(" ")).collect();
    assert!(rules.iter().any(|rules| rules.contains("duplicate-resource-name")), "{found:#?}");
    assert!(rules.iter().any(|rules| rules.contains("resource-name-empty")), "{found:#?}");
    assert!(!rules.iter().any(|of| of.contains("duplicate") && of.contains("empty")), "{found:#?}");
}

#[test]
fn worst_problem_comes_first() {
    let found = all_problems(
        "node gone
         stream 1 ads
         +0s > cds
         +0s < cds v=1 n=a [A]
         +0s > cds v=1 n=a
         +1s 1 close status=14 \"keepalive timeout\"
         node n
         stream 2 ads
         +2s 2 > eds names=[x]
         +18s 2 > lds
        ",
    );
    let words: Vec<&str> = found.iter().map(|(word, ..)| word.as_str()).collect();
    assert_eq!(words, ["failing", "miss", "wait"], "{found:#?}");
}

#[test]
fn broken_rules_name_the_side() {
    let found = all_problems(
        "node n
         stream 1 sotw eds
         > names=[foo]
         < v=1 n=A [foo]
         > v=1 n=A names=[foo]
         < v=2 n=A [foo~2]
         > v=2 n=A names=[foo]
         < v=3 n=B [foo~3]
         > v=3 n=B names=[foo]
         < v=4 n=B [foo~4]
         > v=4 n=B names=[foo]
         > v=4 n=X names=[foo]
        ",
    );
    let texts: Vec<&str> = found.iter().map(|(_, text, _)| text.as_str()).collect();
    let unknown = "client: nonce X was never issued";
    assert_eq!(texts, [unknown, "server: nonce B was already used; 1 more like it"]);
}

#[test]
fn one_rule_broken_by_both_sides_is_two_problems() {
    let found = all_problems(
        "node n
         stream 1 delta lds
         > sub=[\"xdstp://a/envoy.config.listener.v3.Listener/x#alt=q\"]
         < n=1 [\"xdstp://a/envoy.config.listener.v3.Listener/x#alt=r\"@1]
         > n=1",
    );
    let sides: Vec<&str> = found.iter().filter_map(|(_, text, _)| text.split(':').next()).collect();
    assert!(sides.contains(&"client") && sides.contains(&"server"), "{found:#?}");
}

/// docs/protocol.md#f-03
#[test]
fn refusal_with_a_repeated_nonce_is_a_guess() {
    let found = all_problems(
        "node n
         stream 1 sotw eds
         > names=[a]
         < v=1 n=k [a]
         < v=2 n=k [a~2]
         > names=[a] n=k nack=\"bad\"",
    );
    assert_eq!(found[0].1, "client refused EDS 1 (guess); none in force", "{found:#?}");
}

#[test]
fn sentences_show_empty_names_and_single_resources() {
    let found = all_problems(
        "node n
         stream 1 ads
         +0s > eds names=[\"\"]
         +0s > lds
         +0s > rds names=[r]
         +0s < rds v=1 n=r [r]
         +0s > rds n=r nack=\" \" names=[r]
         +0s > cds
         +0s < cds v=1 n=a [A]
         +0s > cds v=1 n=a
         +1s < cds v=2 n=b []
         +1s > cds v=2 n=b
         advance 20s
        ",
    );
    let texts: Vec<&str> = found.iter().map(|(_, text, _)| text.as_str()).collect();
    for wanted in [
        "client refused RDS 1; none in force",
        "client: \"\": requested: no resource has an empty name",
        "server: A: empty response deletes the only resource (guess)",
    ] {
        assert!(texts.contains(&wanted), "{wanted}: {texts:#?}");
    }
    assert!(texts.iter().all(|text| text.starts_with("client") || text.starts_with("server")), "{texts:#?}");
}

#[test]
fn client_that_ends_each_stream_after_a_push_is_one_problem() {
    let stream = |n: u32| format!("stream {n} ads\n> cds\n< cds v=1 n=a [A]\nadvance 2s\n{n} reset client\n");
    let text = format!("node n\n{}", (1..=4).map(stream).collect::<String>());
    let (store, findings) = analyse(&text);
    let rejected: Vec<_> = findings.iter().filter(|finding| finding.rule.id == "stream-rejected").collect();
    let [rejected] = rejected[..] else { panic!("{rejected:#?}") };
    assert_eq!((rejected.blame, rejected.severity, rejected.count), (Blame::Client, Severity::Warn, 4));
    assert_eq!(
        rejected.text,
        "client ended 4 streams, each after a push, every 2.0s: RST_STREAM CANCEL (last request: CDS)"
    );
    let problems = problems(&store, &findings);
    let failing: Vec<_> = problems.iter().filter(|problem| problem.kind == ProblemKind::Failing).collect();
    let [failing] = failing[..] else { panic!("{problems:#?}") };
    assert_eq!((failing.blame, failing.urgency, failing.count), (Blame::Client, Urgency::Warning, 4));
    assert!(failing.findings.iter().any(|index| findings[*index].rule.id == "stream-rejected"));
}

/// docs/protocol.md#f-34
#[test]
fn refused_resources_of_a_delta_response_are_counted() {
    let text = |rest: &str| {
        let start = "stream 1 delta eds\n> sub=[a b]\n< n=1 [a@1 b@1]\n> n=1 nack=\"oops\"\n";
        states(&format!("{start}{rest}")).into_iter().map(|(_, text, _)| text).collect::<Vec<_>>()
    };
    assert_eq!(text(""), ["client refused EDS a 1 and 1 other; none in force"]);
    assert_eq!(text("> unsub=[a]\n"), ["client refused EDS b 1; none in force"]);
    assert!(text("> unsub=[a b]\n").is_empty(), "the client wants neither");
    let removal = "stream 1 delta cds\n> sub=[*]\n< n=1 [a@1]\n> n=1\n< n=2 rm=[a]\n> n=2 nack=\"no\"\n";
    let sentence = |text: &str| states(text).remove(0).1;
    assert_eq!(sentence(removal), "client refused CDS removal of a; version 1 in force");
    let later = format!("{removal}< n=3 [b@1]\n> n=3\n");
    let still =
        "client still refuses CDS removal of a (#4), though it accepted a later response; version 1 in force";
    assert_eq!(sentence(&later), still);
}

/// docs/protocol.md#e-31
#[test]
fn refusal_is_over_once_the_client_gives_up_the_names() {
    let refused = "stream 1 ads\n> eds names=[a b]\n< eds v=1 n=1 [a]\n> eds n=1 names=[a b] nack=\"bad\"\n";
    let words = |text: &str| states(text).into_iter().map(|(word, ..)| word).collect::<Vec<_>>();
    assert_eq!(words(refused), ["nack", "wait"]);
    assert_eq!(words(&format!("{refused}> eds n=1 names=[b]\n")), ["wait"]);
    let both = refused.replace("[a]\n", "[a b]\n");
    assert_eq!(words(&format!("{both}> eds n=1 names=[b]\n")), ["nack"], "the client refuses b too");
}

#[test]
fn unknown_versions_are_not_empty_ones() {
    let sentence = |text: &str| states(text).remove(0).1;
    let before = "stream 1 ads\npartial 1\n1 > cds v=7 n=x9 nack=\"bad\"\n";
    assert_eq!(sentence(before), "client refused CDS (unknown version); version 7 in force");
    let delta = "stream 1 delta cds\n> sub=[*]\n< n=1 [a@1]\nadvance 60s\n";
    assert_eq!(sentence(delta), "client owes an answer to CDS a 1 (#2), neither ACK nor NACK");
    let repeated = "stream 1 delta cds\n> sub=[*]\n< n=1 [a@1]\n< n=1 [b@1]\n> n=1\nadvance 60s\n";
    let guess = "client owes an answer to CDS b 1 (#3) (guess), neither ACK nor NACK";
    assert_eq!(sentence(repeated), guess, "the ACK may be that of #3");
    let empty = "stream 1 ads\n> cds\n< cds n=1 [a]\n> cds n=1 nack=\"bad\"\n";
    assert_eq!(sentence(empty), "client refused CDS a (no version); none in force");
    // A version that nobody sent is not in force.
    let never_sent = "stream 1 ads\n> cds\n< cds v=1 n=1 [a]\n> cds v=9 n=1\n";
    assert_eq!(sentence(never_sent), "client refused CDS 1 by version alone; none in force");
    let stated = "stream 1 ads\n> cds v=9\n< cds v=10 n=1 [a]\n> cds v=9 n=1 nack=\"bad\"\n";
    assert_eq!(sentence(stated), "client refused CDS 10; version 9 in force");
}

#[test]
fn missing_answer_says_how_long_it_was_missing() {
    let found = |text: &str| {
        let (_, findings) = analyse(text);
        let unanswered = findings.iter().filter(|finding| finding.rule.id == "response-unanswered");
        unanswered.map(|finding| (finding.text.clone(), finding.over.is_some())).collect::<Vec<_>>()
    };
    let start = "stream 1 ads\n+0s > cds\n+0s < cds v=1 n=a [A]\n";
    let open = "no verdict on response 1 within 5s";
    assert_eq!(found(&format!("{start}advance 60s\n")), [(open.to_owned(), false)]);
    let answered = found(&format!("{start}+30s > cds v=1 n=a\n"));
    assert_eq!(answered, [(format!("{open}; answered after 30.0s"), true)]);
    let skipped = found(&format!("{start}+20s < cds v=2 n=b [A~2]\n+20s > cds v=2 n=b\n"));
    assert_eq!(skipped, [(format!("{open}; the client skipped it after 20.0s"), true)]);
    let unasked = found("stream 1 ads\n> cds\n< eds v=1 n=1 [a]\nadvance 20s\n");
    assert!(unasked.is_empty(), "nobody asked for the type: {unasked:?}");
}

/// One cause is one problem: a verdict with a wrong nonce, and a refused push without an answer.
#[test]
fn a_response_without_a_verdict_is_told_once() {
    let astray = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=c1 [a]\n> cds v=1 n=c1\n> lds\n\
        < lds v=1 n=l1 [l]\n> lds v=1 n=c1\nadvance 20s\n";
    let found = all_problems(astray);
    let texts: Vec<&str> = found.iter().map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(
        texts,
        ["client owes an answer to LDS 1 (#5), neither ACK nor NACK; #6 carries another nonce"]
    );
    let again = "node n1\nstream 1 sotw eds\n> names=[x]\n< v=1 n=a [x]\n> n=a names=[x] nack=\"bad\"\n\
        < v=1 n=b [x]\nadvance 20s\n";
    let words: Vec<String> = all_problems(again).into_iter().map(|(word, ..)| word).collect();
    assert_eq!(words, ["nack"]);
}

#[test]
fn rule_broken_once_is_over_after_a_correct_message() {
    let words = |text: &str| {
        let (store, findings) = analyse(text);
        problems(&store, &findings).iter().map(|problem| problem.urgency.word()).collect::<Vec<_>>()
    };
    let start = "node n\nstream 1 ads\n> cds\n< cds v=1 n=1 [a]\n> cds v=1 n=1\n";
    let needless = format!("{start}< cds v=1 n=2 [a]\n> cds v=1 n=2\n");
    assert_eq!(words(&needless), ["warning"]);
    assert_eq!(
        words(&format!("{needless}< cds v=2 n=3 [a~3]\n> cds v=2 n=3\n")),
        ["over"],
        "needless update"
    );
    let twice = format!("{needless}< cds v=1 n=3 [a]\n> cds v=1 n=3\n< cds v=2 n=4 [a~4]\n");
    assert_eq!(words(&twice), ["warning"], "a server that does so again and again");
    let rewritten = format!("{start}< cds v=1 n=2 [a~2]\n> cds v=1 n=2\n");
    assert_eq!(words(&rewritten), ["error"]);
    assert_eq!(words(&format!("{rewritten}< cds v=2 n=3 [a~3]\n> cds v=2 n=3\n")), ["over"], "new version");
    assert_eq!(words(&format!("{rewritten}< cds v=1 n=3 [a~3]\n> cds v=1 n=3\n")), ["error"], "never new");
    let refused = "node n\nstream 1 ads\n> cds\n< cds v=1 n=1 [a]\n> cds n=1 nack=\"bad\"\n\
        < cds v=2 n=2 [a]\n> cds n=2 nack=\"bad\"\n";
    assert_eq!(words(refused), ["error"]);
    assert_eq!(words(&format!("{refused}< cds v=3 n=3 [a~3]\n> cds v=3 n=3\n")), ["over"], "mended loop");
}

/// A rule about a name that still waits is a problem at once, and one with the wait.
#[test]
fn broken_names_that_wait_are_problems() {
    let bad = |variant: &str, ask: &str| {
        let name = "\"xdstp://a/envoy.config.cluster.v3.Cluster/x/*/y\"";
        format!("node n\nstream 1 {variant} cds\n> {ask}=[{name}]\nadvance 5s\n")
    };
    for text in [bad("delta", "sub"), bad("sotw", "names")] {
        let (store, findings) = analyse(&text);
        let found = problems(&store, &findings);
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!((only.is_wrong(), only.blame, only.findings.len()), (true, Blame::Both, 1));
        let sentence = report::problem(only, &store.clock());
        assert_eq!(
            sentence,
            "server owes CDS xdstp://a/envoy.config.cluster.v3.Cluster/x/*/y, nothing sent yet (limit 15s); \
             client: asterisk elsewhere than in the last segment (#1)"
        );
    }
}

/// docs/protocol.md#k-17
#[test]
fn other_context_parameters_are_the_cause_of_a_missing_name() {
    let name = |context: &str| format!("\"xdstp://a/envoy.config.cluster.v3.Cluster/x?p={context}\"");
    let (asked, sent) = (name("1"), name("2"));
    let delta = format!("stream 1 delta cds\n> sub=[{asked}]\n< n=1 [{sent}@1]\n> n=1\n");
    let sotw =
        format!("stream 1 sotw cds\n> names=[{asked}]\n< v=1 n=1 [{sent}]\n> v=1 n=1 names=[{asked}]\n");
    for (text, kind) in [(&delta, "wait"), (&sotw, "wait"), (&delta, "miss"), (&sotw, "miss")] {
        let wait = if kind == "wait" { "5s" } else { "60s" };
        let found = all_problems(&format!("node n\n{text}advance {wait}\n"));
        let [(word, sentence, rules)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((word.as_str(), rules.first()), (kind, Some(&"xdstp-context-mismatch")));
        let end = "; server: xdstp://a/envoy.config.cluster.v3.Cluster/x?p=2: requested with other context \
                   parameters (#2)";
        assert!(sentence.starts_with("server owes CDS xdstp://a/") && sentence.ends_with(end), "{sentence}");
    }
}

/// A rule that was broken before the name was asked for has another cause.
#[test]
fn earlier_findings_stay_apart_from_a_wait() {
    let found = all_problems(
        "node n
         stream 1 delta eds
         > sub=[a b]
         < n=1 [a@1 a@1 b@1]
         > n=1
         > unsub=[a]
         > sub=[a]
         advance 5s
        ",
    );
    let words: Vec<&str> = found.iter().map(|(word, ..)| word.as_str()).collect();
    // The client has given up the name, so the error is over.
    assert_eq!(words, ["wait", "error"], "{found:?}");
}

/// docs/protocol.md#e-07
#[test]
fn names_what_is_refused_or_open_without_a_version() {
    let text = |end: &str| {
        format!(
            "node n
             stream 1 ads
             > cds
             < cds v= n=1 [a]
             > cds v= n=1
             < cds v= n=2 [a~2 b]
             {end}
             advance 12s
            "
        )
    };
    let sentence = |end: &str| states(&text(end)).remove(0).1;
    let refused = sentence("> cds v= n=2 nack=\"bad\"");
    assert_eq!(refused, "client refused CDS a (no version) and 1 other; (no version) in force");
    let open = sentence("");
    assert_eq!(open, "client owes an answer to CDS a (no version) and 1 other (#4), neither ACK nor NACK");
}

/// docs/protocol.md#e-26
#[test]
fn loop_of_refusals_is_one_problem_at_each_of_its_messages() {
    let mut text = "node n\nstream 1 ads\n+0s > cds\n+0s < cds v=1 n=1 [a]\n+0s > cds v=1 n=1\n".to_owned();
    for n in 2..30 {
        text.push_str(&format!("+{n}s < cds v=2 n={n} [a~2]\n"));
        for end in ["", "> cds v=1 n=N nack=\"bad\"\n"] {
            let whole = format!("{text}+{n}.5s {}", end.replace('N', &n.to_string()));
            let whole = if end.is_empty() { text.clone() } else { whole };
            let found = all_problems(&whole);
            let words: Vec<&str> = found.iter().map(|(word, ..)| word.as_str()).collect();
            assert!(n == 2 || words == ["nack"], "push {n}: {found:?}");
            text = whole;
        }
    }
}

/// docs/protocol.md#f-34
#[test]
fn times_are_those_of_what_is_named() {
    let push = |n: u32| format!("+{n}s < n={n} [x~{n}@{n}]\n+{n}s > n={n} nack=\"bad\"\n");
    let start = "node n\nstream 1 delta cds\n+0s > sub=[*]\n+0s < n=1 [x@1]\n+0s > n=1\n";
    let sentence = |text: String| states(&text).remove(0).1;
    let differing = sentence(format!("{start}{}{}{}", push(2), push(3), push(4)));
    assert_eq!(differing, "client refused CDS x 4; 3 refusals since +2.0s, every 1.0s; version 1 in force");
    let same = "+3s < n=3 [x~2@2]\n+3s > n=3 nack=\"bad\"\n";
    let same = sentence(format!("{start}{}{same}", push(2)));
    assert_eq!(same, "client refused CDS x 2, 2 times since +2.0s; pushed again; version 1 in force");
}

#[test]
fn expired_resource_is_not_in_force() {
    let found = states(
        "stream 1 delta cds
         +0s > sub=[r t]
         +1s < n=1 [r@1 ttl=10s]
         +1s > n=1
         +3s < n=2 [r~2@2 ttl=10s]
         +3s > n=2 nack=\"bad r\"
         +20s < n=3 [t@1]
         +20s > n=3
        ",
    );
    let sentence = found.iter().map(|(_, text, _)| text).find(|text| text.contains("refuses"));
    assert!(sentence.is_some_and(|text| text.contains("none in force")), "{found:?}");
}

/// A note about the server does not lead the refusal of a response that it is about.
#[test]
fn note_about_the_server_is_no_cause_of_a_refusal() {
    let found = all_problems(
        "node n
         stream 1 delta cds
         >
         < n=1 [a b]
         > n=1 nack=\"b: bad\"",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&*found[0].0, &found[0].2), ("nack", &vec!["nack"]));
}

/// A wildcard that is not requested on the next stream is a problem of the client.
#[test]
fn type_that_is_not_requested_again_is_a_problem() {
    let found = all_problems(
        "node n
         stream 1 ads
         > cds
         < cds v=1 n=1 [a]
         > cds v=1 n=1
         > lds
         < lds v=1 n=2 [l]
         > lds v=1 n=2
         close status=14
         stream 2 ads
         > lds v=1
         advance 60s",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    let (word, sentence, rules) = &found[0];
    assert_eq!((&**word, rules), ("warn", &vec!["not-resubscribed"]));
    assert!(sentence.contains("has not subscribed to CDS on its new stream"), "{sentence}");
}
