//! Nonces that do not tell responses apart, and streams whose start is missing.

use super::{holds, replay};
use xdscope_present::report::row_note;

#[test]
fn reads_first_request_with_issued_nonce_as_verdict() {
    holds(
        "stream 1 ads
         > cds
         < eds v=1 n=b [foo]
         > eds v=1 n=b names=[foo]
         expect message 3 ack answers=2 class=newest_nonce
         expect state 1 eds synced in_force=1 pending=[] missing=[]
         < rds v=1 n=c [r]
         > rds v= n=c names=[r] nack=\"bad\"
         expect message 5 nack answers=4 implied=false
         stream 2 delta-ads
         > cds
         < eds n=b [foo@1]
         > eds n=b sub=[foo]
         expect message 8 ack answers=7 class=ack
         expect resource 2 eds foo present acked_version=1",
    );
}

#[test]
fn acks_by_version_when_all_nonces_are_equal() {
    holds(
        "stream 1 sotw eds
         > names=[foo]
         < v=1 n=1 [foo]
         > v=1 n=1 names=[foo]
         expect message 3 ack answers=2
         < v=2 n=1 [foo~2]
         < v=3 n=1 [foo~3]
         > v=2 n=1 names=[foo]
         expect message 6 ack answers=4
         expect state 1 eds sent in_force=2
         > v=3 n=1 names=[foo]
         expect message 7 ack answers=5
         expect state 1 eds synced in_force=3 nack_count=0",
    );
}

#[test]
fn derives_no_refusal_from_repeated_nonce() {
    holds(
        "stream 1 sotw eds
         > names=[foo]
         < v=1 n=1 [foo]
         > v=1 n=1 names=[foo]
         < v=2 n=1 [foo~2]
         > v=1 n=1 names=[foo bar]
         expect message 5 subscribe implied=false
         expect state 1 eds sent nack_count=0 in_force=1
         > v=2 n=1 names=[foo bar]
         expect message 6 ack answers=4
         expect no implicit-nack",
    );
}

#[test]
fn takes_oldest_response_for_nack_with_repeated_nonce() {
    holds(
        "stream 1 sotw eds
         > names=[foo]
         < v=1 n=1 [foo]
         < v=2 n=1 [foo~2]
         > n=1 names=[foo] nack=\"bad\"
         expect message 4 nack answers=2
         > v=2 n=1 names=[foo]
         expect message 5 ack answers=3
         expect state 1 eds synced in_force=2 open_nack=",
    );
}

#[test]
fn acks_response_without_nonce() {
    holds(
        "stream 1 sotw eds
         > names=[foo]
         < v=1 n= [foo]
         > v=1 n= names=[foo]
         expect message 3 ack answers=2 class=newest_nonce
         expect state 1 eds synced in_force=1
         < v=2 n= [foo~2]
         > v=1 n= names=[foo] nack=\"bad\"
         expect message 5 nack answers=4
         expect no nack-without-nonce
         stream 2 delta eds
         > sub=[foo]
         < n= [foo@1]
         > n=
         expect message 8 ack answers=7
         < n= [foo~2@2]
         > n= sub=[bar]
         expect message 10 subscribe",
    );
}

#[test]
fn turns_nack_by_version_into_ack() {
    holds(
        "stream 1 sotw eds
         > names=[foo]
         < v=1 n=a [foo]
         > v= n=a names=[foo bar]
         expect message 3 nack implied=true answers=2
         expect state 1 eds nack nack_count=1
         > v=1 n=a names=[foo bar]
         expect message 4 ack answers=2
         expect state 1 eds wait in_force=1 nack_count=0 open_nack=
         expect resource 1 eds foo present acked_version=1 refused=false",
    );
}

#[test]
fn does_not_call_unseen_wildcard_legacy() {
    holds(
        "stream 1 sotw cds
         partial 1
         > v=7 n=old
         expect state 1 cds synced wildcard=unknown
         < v=8 n=new [A]
         expect resource 1 cds A present
         > v=8 n=new names=[A]
         expect state 1 cds wildcard=none names=[A]
         > v=8 n=new
         expect state 1 cds wildcard=none
         stream 2 delta cds
         partial 2
         > n=old
         expect state 2 cds wildcard=unknown
         > sub=[A]
         expect state 2 cds wildcard=unknown names=[A]
         > unsub=[*]
         expect state 2 cds wildcard=none names=[A]
         expect no wildcard-dropped-by-names",
    );
}

#[test]
fn accepts_nonces_from_gap_and_rejects_others() {
    holds(
        "stream 1 sotw eds
         partial 1
         > v=7 n=old names=[foo]
         expect message 1 class=
         < v=8 n=new [foo]
         > v=8 n=new names=[foo]
         > v=8 n=older names=[foo]
         expect message 4 class=unknown_nonce
         expect lint nonce-unknown at 4",
    );
}

#[test]
fn applies_verdicts_in_order_of_responses() {
    holds(
        "stream 1 delta eds
         > sub=[a]
         < n=1 sys=s1 [a@1]
         < n=2 sys=s2 [a~2@2]
         > n=2
         > n=1
         expect state 1 eds synced in_force=s2
         expect resource 1 eds a present acked_version=2",
    );
}

/// Returns the remarks on the messages of a script.
fn notes(text: &str) -> Vec<String> {
    let store = replay(text);
    let rows = (0..store.rows()).filter_map(|index| store.row(index));
    rows.filter(|row| row.n.is_some()).filter_map(|row| row.note.as_deref().map(row_note)).collect()
}

#[test]
fn shows_both_readings() {
    let constant = notes(
        "stream 1 sotw eds
         > names=[foo]
         < v=1 n=1 [foo]
         < v=2 n=1 [foo~2]
         > n=1 names=[foo] nack=\"bad\"
         > v=1 n=1 names=[foo bar]
        ",
    );
    let expected = [
        "nonce issued before",
        "repeated nonce: counts for #2, may mean #3",
        "repeated nonce: not a verdict on #3, or a refusal by version",
    ];
    assert_eq!(constant, expected);
    let empty = notes(
        "stream 1 delta eds
         > sub=[foo]
         < n= [foo@1]
         > n= sub=[bar]
         stream 2 sotw eds
         > names=[foo]
         < v= n= [foo]
         > names=[foo bar]
        ",
    );
    let expected = [
        "no nonce: changes names, may also accept #2",
        "no nonce and no version: accepts #5, or was sent before it",
    ];
    assert_eq!(empty, expected);
}
