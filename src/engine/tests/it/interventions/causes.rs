//! Which intervention has caused what, and copies of messages.

use super::*;
use xdscope_engine::lint::{Blame, Severity};
use xdscope_engine::recovery::recoveries;
use xdscope_engine::store::TypeState;
use xdscope_present::report;

use Interference as I;

const ALONE: &str = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n";

/// Returns the open divergences, as a view shows them.
fn divergences(store: &Store) -> Vec<String> {
    let diverged = store.states().into_iter().filter_map(|state| state.diverged);
    diverged.map(|diverged| report::intervention(&diverged.facts)).collect()
}

#[test]
fn copies_of_a_push_are_settled_by_their_answers() {
    let both = "< cds v=2 n=b [A~2]\n< cds v=2 n=b [A~2]\n";
    let acts = [(3, facts_by(1, I::Duplicated, (Dir::Resp, Kind::Cds, "b")))];
    let (store, _) = analyse_armed(&format!("{ALONE}{both}"), &acts);
    assert_eq!(divergences(&store), ["push duplicated by fault 1"], "no copy is answered");
    let (store, _) = analyse_armed(&format!("{ALONE}{both}> cds v=2 n=b\n"), &acts);
    assert_eq!(divergences(&store), ["push duplicated by fault 1"], "one copy is answered");
    for answer in ["> cds v=2 n=b\n", "> cds v=1 n=b nack=\"no\"\n"] {
        let answers = answer.repeat(2);
        let second = (7, facts_by(1, I::Dropped, (Dir::Req, Kind::Cds, "b")));
        let acts = [acts[0].clone(), second];
        let (store, findings) = analyse_armed(&format!("{ALONE}{both}{answers}"), &acts);
        assert_eq!(divergences(&store), Vec::<String>::new(), "{answers}");
        assert!(recoveries(&store).iter().all(|client| client.is_recovered()), "{answers}");
        let peers = findings.iter().filter(|finding| finding.rule.id != "nack");
        assert!(peers.clone().all(|finding| finding.blame == Blame::Xdscope), "{answers} {findings:?}");
    }
}

#[test]
fn announced_copy_is_settled_by_its_own_answer() {
    let acts = [(3, facts_by(1, I::Duplicated, (Dir::Resp, Kind::Cds, "b")))];
    let both = "< cds v=2 n=b [A~2]\n< cds v=2 n=b-again [A~2]\n> cds v=2 n=b\n";
    let (store, _) = analyse_armed(&format!("{ALONE}{both}"), &acts);
    assert_eq!(divergences(&store), ["push duplicated by fault 1"], "the copy is not answered");
    let (store, _) = analyse_armed(&format!("{ALONE}{both}> cds v=2 n=b-again\n"), &acts);
    assert_eq!(divergences(&store), Vec::<String>::new());
    assert!(recoveries(&store)[0].longest.is_some());
}

#[test]
fn second_answer_to_a_doubled_request_is_not_the_fault_of_the_server() {
    let twice = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n\
                 < cds v=1 n=b [A]\n> cds v=1 n=b\n";
    let (_, findings) = analyse_armed(twice, &[]);
    assert!(findings.iter().any(|finding| finding.blame == Blame::Server), "{findings:?}");
    let acts = [(1, facts_by(1, I::Duplicated, (Dir::Req, Kind::Cds, "")))];
    let (store, findings) = analyse_armed(twice, &acts);
    assert!(!findings.is_empty());
    for finding in &findings {
        assert_eq!((finding.blame, finding.severity), (Blame::Xdscope, Severity::Info), "{finding:?}");
        let text = report::finding(finding, "×");
        assert!(text.ends_with("; caused by xdscope: request duplicated by fault 1"), "{text}");
    }
    assert_eq!(divergences(&store), Vec::<String>::new(), "the server has what the client sent");
    assert!(recoveries(&store)[0].is_recovered());
    // A later one is the server's own.
    let again = format!("{twice}< cds v=1 n=c [A]\n> cds v=1 n=c\n");
    let (_, findings) = analyse_armed(&again, &acts);
    assert!(findings.iter().any(|finding| finding.blame == Blame::Server), "{findings:?}");
}

#[test]
fn repaired_intervention_is_not_named_any_more() {
    let acts = [
        (3, facts_by(1, I::Dropped, (Dir::Resp, Kind::Cds, "b"))),
        (4, facts_by(2, I::Delayed, (Dir::Req, Kind::Cds, "a"))),
        (5, facts_by(2, I::Released, (Dir::Req, Kind::Cds, "a"))),
    ];
    let text = format!("{ALONE}> cds v=1 n=a names=[x]\n> cds v=1 n=a names=[x y]\n");
    let (store, _) = analyse_armed(&text, &acts[..2]);
    assert_eq!(divergences(&store), ["request delayed by fault 2"]);
    let (store, _) = analyse_armed(&text, &acts);
    assert_eq!(divergences(&store), ["push dropped by fault 1"]);
    let line = report::recovery(&recoveries(&store)[0]);
    assert!(line.ends_with("not recovered: CDS; caused by xdscope: push dropped by fault 1"), "{line}");
}

#[test]
fn types_with_different_causes_are_told_apart() {
    let text = "node n1\nstream 1 ads\n> cds\n> eds names=[x]\n> rds names=[r]\n";
    let acts = [
        (1, facts_by(1, I::Dropped, (Dir::Resp, Kind::Cds, "a"))),
        (2, facts_by(2, I::Dropped, (Dir::Resp, Kind::Eds, "a"))),
        (3, facts_by(1, I::Dropped, (Dir::Resp, Kind::Rds, "a"))),
    ];
    let (store, _) = analyse_armed(text, &acts);
    let line = report::recovery(&recoveries(&store)[0]);
    let wanted = "not recovered: CDS, RDS; caused by xdscope: push dropped by fault 1; \
                  not recovered: EDS; caused by xdscope: push dropped by fault 2";
    assert!(line.ends_with(wanted), "{line}");
}

#[test]
fn finding_and_problem_name_the_fault_of_their_message() {
    // Fault 1 has changed the push that the client refuses, fault 2 delays the NACK.
    let text = format!("{ALONE}< cds v=2 n=b [A~2 A~3]\n> cds v=1 n=b nack=\"no\"\n");
    let acts = [
        (3, facts_by(1, I::Changed, (Dir::Resp, Kind::Cds, "b"))),
        (5, facts_by(2, I::Delayed, (Dir::Req, Kind::Cds, "b"))),
    ];
    let (store, findings) = analyse_armed(&text, &acts);
    assert_eq!(divergences(&store), ["request delayed by fault 2"], "the newest");
    let found = findings.iter().find(|finding| finding.rule.id == "duplicate-resource-name");
    let cause = found.and_then(|finding| finding.caused_by.as_ref()).map(|facts| &*facts.by);
    assert_eq!(cause, Some("fault 1"), "{findings:?}");
    let problems = xdscope_engine::problems::problems(&store, &findings);
    let texts: Vec<String> = problems.iter().map(|of| report::problem(of, &store.clock())).collect();
    let refused = texts.iter().find(|text| text.starts_with("client refused")).expect("a NACK");
    assert!(refused.ends_with("; caused by xdscope: push changed by fault 1"), "{texts:?}");
}

#[test]
fn warming_resource_names_the_fault_of_what_it_waits_for() {
    // Fault 1 has changed routes, fault 2 has dropped the endpoints that the cluster needs.
    let text = "node n1
        stream 1 ads
        > cds
        > rds names=[r]
        < rds v=2 n=r [r]
        > rds v=2 n=r names=[r]
        < cds v=1 n=a [A{eds}]
        > cds v=1 n=a
        > eds names=[A]
        advance 20s
        ";
    let acts = [
        (2, facts_by(1, I::Changed, (Dir::Resp, Kind::Rds, "r"))),
        (7, facts_by(2, I::Dropped, (Dir::Resp, Kind::Eds, "e"))),
    ];
    let (store, findings) = analyse_armed(text, &acts);
    let warming = store.warming();
    assert_eq!(warming.len(), 1, "{warming:?}");
    let line = report::warming(&warming[0], None);
    assert!(line.ends_with("; caused by xdscope: push dropped by fault 2"), "{line}");
    let problems = xdscope_engine::problems::problems(&store, &findings);
    assert!(!problems.is_empty());
    for problem in problems {
        let text = report::problem(&problem, &store.clock());
        assert!(text.ends_with("; caused by xdscope: push dropped by fault 2"), "{text}");
        assert_eq!(text.matches("caused by").count(), 1, "{text}");
    }
}

#[test]
fn intervention_of_an_earlier_push_is_repaired_by_the_ack_of_a_later_changed_one() {
    let text = format!("{ALONE}< cds v=2 n=c [A~2]\n> cds v=2 n=c\n");
    let acts = [
        (3, facts_by(1, I::Dropped, (Dir::Resp, Kind::Cds, "b"))),
        (3, facts_by(2, I::Changed, (Dir::Resp, Kind::Cds, "c"))),
    ];
    let (store, _) = analyse_armed(&text, &acts);
    assert_eq!(divergences(&store), ["push changed by fault 2"]);
    let (store, _) = analyse_armed(&format!("{text}< cds v=3 n=d [A~3]\n> cds v=3 n=d\n"), &acts);
    assert_eq!(divergences(&store), Vec::<String>::new());
}

/// Returns the findings about streams that end in a way, because of the fault with a number if any.
fn ended(faults: [Option<u32>; 3], (end, interference): (&str, Interference)) -> Vec<Finding> {
    let stream = |n: u64| {
        let end = format!("+{}ms {n} {end}\n", n * 100 + 50);
        format!("stream {n} ads\n+{}ms {n} > cds\n{end}", n * 100)
    };
    let text = format!("node n1\n{}", (1..=3).map(stream).collect::<String>());
    let act = |fault| facts_by(fault, interference, (Dir::Req, Kind::Cds, ""));
    let acts = (1..).zip(faults).filter_map(|(n, fault)| Some((n, act(fault?))));
    analyse_armed(&text, &acts.collect::<Vec<_>>()).1
}

#[test]
fn streams_that_faults_end_are_not_rejected_by_the_server() {
    let rejected_by = |faults, end| {
        let found = ended(faults, end).into_iter().filter(|finding| finding.rule.id == "stream-rejected");
        let by = |finding: Finding| {
            let by = finding.caused_by.map(|facts| facts.by.to_string());
            (finding.blame, finding.severity == Severity::Info, finding.count, by)
        };
        found.map(by).collect::<Vec<_>>()
    };
    let status = ("close status=16 \"no\"", I::Ended);
    let rejected = |faults| rejected_by(faults, status);
    let of_fault = |n: u32, count| (Blame::Xdscope, true, count, Some(format!("fault {n}")));
    assert_eq!(rejected([None; 3]), [(Blame::Server, false, 3, None)]);
    for end in [status, ("reset server", I::Ended), ("close", I::GoAway)] {
        assert_eq!(rejected_by([Some(1); 3], end), [of_fault(1, 3)], "{end:?}");
        assert!(rejected_by([None; 3], end).iter().all(|found| found.0 != Blame::Xdscope), "{end:?}");
    }
    assert_eq!(rejected([Some(1), Some(1), None]), [of_fault(1, 2)]);
    assert_eq!(rejected([Some(1), Some(2), Some(2)]), [of_fault(2, 2)]);
    assert_eq!(rejected([None, None, Some(1)]), [(Blame::Server, false, 2, None)]);
    assert_eq!(rejected([None, Some(1), None]), [(Blame::Server, false, 2, None)]);
}

/// The server sends endpoints again after their cluster, which the client has not got yet.
#[test]
fn endpoints_before_a_held_cluster_are_not_needless() {
    let text = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=a [A{eds}]\n> cds v=1 n=a\n> eds names=[A]\n\
                < eds v=1 n=c [A]\n> eds v=1 n=c names=[A]\n+10s < eds v=1 n=d [A]\n";
    // Behind the ACK of the endpoints, and never.
    for hold in [6, 0] {
        let acts = [(hold, facts_by(1, I::Held, (Dir::Resp, Kind::Cds, "b")))];
        let (_, findings) = analyse_armed(text, &acts);
        let needless = findings.iter().find(|finding| finding.rule.id == "sotw-needless-update");
        let blame = needless.map(|finding| (finding.blame, finding.severity));
        let expected = match hold {
            0 => (Blame::Server, Severity::Warn),
            _ => (Blame::Xdscope, Severity::Info),
        };
        assert_eq!(blame, Some(expected), "{findings:?}");
    }
}

#[test]
fn first_push_after_a_held_request_needs_no_answer_of_a_client_that_has_left() {
    // Envoy answers before it leaves.
    let left = "node n1 agent=\"envoy/1.40.0\"\nstream 1 ads\n> cds\n+2s < cds v=1 n=a [A]\n+2.1s 1 close\n";
    for (acts, blame) in [(vec![], Blame::Client), (vec![1], Blame::Xdscope)] {
        let acts: Vec<_> =
            acts.into_iter().map(|n| (n, facts_by(1, I::Held, (Dir::Req, Kind::Cds, "")))).collect();
        let (store, findings) = analyse_armed(left, &acts);
        let problems = xdscope_engine::problems::problems(&store, &findings);
        let blames: Vec<Blame> = problems.iter().map(|problem| problem.blame).collect();
        assert_eq!(blames, [blame]);
    }
}

#[test]
fn endpoints_that_overtake_a_delayed_cluster_are_not_owed_by_the_server() {
    let start = "node n1 agent=\"envoy/1.40.0\"\nstream 1 ads\n> cds\n< cds v=1 n=a [c{eds}]\n> cds v=1 n=a\n\
                 > eds names=[c]\n< eds v=1 n=b [c]\n> eds v=1 n=b names=[c]\n";
    let late = format!(
        "{start}< eds v=2 n=d [c~2]\n> eds v=2 n=d names=[c]\n< cds v=2 n=e [c{{eds}}~2]\n> cds v=2 n=e\nadvance 20s\n"
    );
    for (is_delayed, severity) in [(false, Severity::Warn), (true, Severity::Info)] {
        let act = (9, facts_by(1, I::Delayed, (Dir::Resp, Kind::Cds, "e")));
        let acts: Vec<_> = is_delayed.then_some(act).into_iter().collect();
        let (_, findings) = analyse_armed(&late, &acts);
        let stuck: Vec<_> = findings.iter().filter(|finding| finding.rule.id == "warming-stuck").collect();
        assert_eq!(stuck.len(), 1, "{findings:?}");
        assert_eq!(stuck[0].severity, severity);
        let is_own = stuck[0].blame == Blame::Xdscope;
        assert_eq!(is_own, is_delayed);
    }
}

#[test]
fn refusal_of_a_delayed_push_is_not_caused_by_the_delay() {
    let text = format!("{ALONE}< cds v=2 n=b [A~2]\n> cds v=1 n=b nack=\"A: no\"\nadvance 1s\n");
    for (interference, blame) in [(I::Delayed, Blame::Both), (I::Changed, Blame::Xdscope)] {
        let acts = [(3, facts_by(1, interference, (Dir::Resp, Kind::Cds, "b")))];
        let (store, findings) = analyse_armed(&text, &acts);
        let problems = xdscope_engine::problems::problems(&store, &findings);
        let nack = findings.iter().find(|finding| finding.rule.id == "nack").expect("a finding");
        assert_eq!((nack.blame, problems[0].blame), (blame, blame), "{interference:?}");
    }
}

#[test]
fn server_whose_push_was_withheld_does_not_reject_the_stream() {
    let text = "node n1\nstream 1 ads\n> cds\n+2s 1 close status=14 \"bye\"\nadvance 20s\n";
    for (acts, word) in [(vec![], "rejects"), (vec![1], "ended")] {
        let acts: Vec<_> =
            acts.into_iter().map(|n| (n, facts_by(1, I::Dropped, (Dir::Resp, Kind::Cds, "a")))).collect();
        let (store, findings) = analyse_armed(text, &acts);
        let problems = xdscope_engine::problems::problems(&store, &findings);
        let text = report::problem(&problems[0], &store.clock());
        assert!(text.starts_with(&format!("server {word} the stream")), "{text}");
    }
}

/// The push of clusters that xdscope keeps back after a reconnect would bring the cluster.
#[test]
fn cluster_in_a_held_push_is_not_missing_because_of_the_server() {
    let text = "node n1\nstream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n1 close\n\
                stream 2 ads\n> cds v=1\n> rds names=[r]\n< rds v=1 n=b [r{to: [B]}]\n\
                > rds v=1 n=b names=[r]\n";
    for (hold, blame, state) in [(4, Blame::Xdscope, TypeState::Sent), (0, Blame::Server, TypeState::Synced)]
    {
        let acts = [(hold, facts_by(1, I::Held, (Dir::Resp, Kind::Cds, "c")))];
        let rules = xdscope_engine::analysis::rules(&xdscope_schema::Schema::builtin());
        let (store, findings) = analyse_armed_by(text, &acts, rules);
        let unknown = findings.iter().find(|finding| finding.rule.id == "route-unknown-cluster");
        assert_eq!(unknown.map(|finding| finding.blame), Some(blame), "{findings:?}");
        let problems = xdscope_engine::problems::problems(&store, &findings);
        assert_eq!(problems.iter().any(|problem| problem.blame == Blame::Server), hold == 0, "{problems:?}");
        let states = store.states();
        let clusters =
            states.iter().find(|of| of.summary.stream == StreamId(2) && of.summary.type_url.as_str() == CDS);
        assert_eq!(clusters.map(|of| of.summary.state), Some(state));
    }
}
