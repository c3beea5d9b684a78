use super::replay;
use crate::engine::store::ProblemFact;
use crate::present::report;

#[track_caller]
fn problems(text: &str) -> Vec<(String, String, Option<u64>)> {
    let store = replay(text);
    let sentence = |problem: &ProblemFact| report::problem(problem, &store.clock());
    let problems = store.problems();
    problems.iter().map(|p| (p.state.word().into(), sentence(p), p.at.map(|n| n.0))).collect()
}

#[test]
fn sentences_name_who_owes_what() {
    let found = problems(
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
            word("stale", "client owes an answer to RDS 17 (#12), neither ACK nor NACK", 12),
            word("miss", "server owes EDS y, asked once (#8)", 8),
            word("nack", "CDS 42 refused 2 times since +1.0s; pushed again; 41 in force", 7),
            word("wait", "server owes LDS for the wildcard, nothing sent yet (limit 15s)", 13),
        ]
    );
}

#[test]
fn counts_requests_that_ask_and_not_verdicts() {
    let found = problems(
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
fn keeps_last_state_of_closed_stream_without_problems() {
    let store =
        replay("stream 1 ads\n+0s > eds names=[x]\n+16s close status=14 \"bye\"\n+60s stream 2 ads\n");
    assert!(store.problems().is_empty());
    let state = &store.states()[0];
    assert_eq!((state.state.word(), state.last_state.map(|s| s.word())), ("closed", Some("miss")));
    let note = store.row(2).and_then(|row| row.row.note);
    assert!(note.is_some_and(|note| note.contains("UNAVAILABLE bye")));
}
