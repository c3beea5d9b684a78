use super::{holds, replay};
use xdscope_engine::store::{ReconnectCounts, Store};
use xdscope_wire::event::StreamId;

const S01: &str = "node n cluster=c
     stream 1 sotw eds
     > names=[foo bar]
     < v=X n=A [foo bar]
     > v=X n=A names=[foo bar]
     close status=14 \"bye\"
     stream 2 sotw eds
     ";

#[test]
fn ignores_nonce_of_previous_stream() {
    holds(&format!(
        "{S01}> v=X n=A names=[foo bar]
         expect message 4 subscribe class=initial answers=
         expect state 1 eds closed last_state=synced in_force=X
         expect state 2 eds idle reported=X in_force=X offered= missing=[]
         expect resource 2 eds foo kept version=X acked_version=X"
    ));
}

#[test]
fn keeps_resources_after_reconnect() {
    holds(&format!(
        "{S01}> v=X names=[foo bar baz]
         expect state 2 eds wait missing=[baz] in_force=X
         expect resource 2 eds foo kept
         expect resource 2 eds baz waiting
         advance 15s
         expect state 2 eds miss missing=[baz]
         expect resource 2 eds bar kept
         expect resource 2 eds baz absent absent_by=timer"
    ));
    let store = replay(&format!("{S01}> v=X names=[foo]\n< v=Y n=B [foo~2]\n"));
    let stream = store.stream(StreamId(2)).unwrap();
    assert_eq!(stream.reconnect_of, Some(StreamId(1)));
    let counts = ReconnectCounts { claimed: 2, resent: 1, removed: 0, left_behind: 1, owed: 0, unclaimed: 0 };
    assert_eq!(counts.kept(), 0);
    assert_eq!(account_of(&store), (counts, vec!["bar".to_owned()]));
    assert_eq!(store.stream(StreamId(1)).unwrap().account, None);
}

#[test]
fn trusts_claim_on_first_recorded_stream() {
    holds(
        "stream 1 sotw eds
         > v=7 names=[foo bar]
         expect state 1 eds synced missing=[] in_force=7 reported=7 resources=2
         expect resource 1 eds foo kept version=7
         advance 20s
         expect state 1 eds synced missing=[]
         < v=8 n=a [foo]
         expect resource 1 eds foo present
         expect resource 1 eds bar kept",
    );
}

#[test]
fn client_without_claim_has_nothing() {
    holds(&format!(
        "{S01}> names=[foo bar]
         expect state 2 eds wait missing=[foo bar]
         < v=X n=B [foo bar]
         expect message 5 push added=[foo bar]"
    ));
}

#[test]
fn compares_full_state_after_reconnect_with_kept_resources() {
    holds(
        "node n
         stream 1 ads
         > cds
         < cds v=1 n=a [A B C]
         > cds v=1 n=a
         close
         stream 2 ads
         > cds v=1
         expect state 2 cds synced wildcard=legacy resources=3
         expect resource 2 cds B kept origin=wildcard
         < cds v=2 n=a [A B~2 D]
         expect message 5 push added=[D] changed=[B] removed=[C] same=1
         expect resource 2 cds B present version=2 acked_version=1
         expect resource 2 cds C removed",
    );
}

const S25: &str = "node n
     stream 1 delta cds
     > sub=[wa wb]
     < n=1 [wa@1 wb@1]
     > n=1
     < n=2 [wb~2@2]
     > n=2 nack=\"bad\"
     > sub=[wc]
     < n=3 [wc@1]
     > n=3
     close
     stream 2 delta cds
     ";

#[test]
fn keeps_claimed_resources_after_delta_reconnect() {
    holds(&format!(
        "{S25}> sub=[wa wb wc] irv={{wa:1 wb:1 wc:1}}
         expect message 9 subscribe class=initial
         expect state 2 cds missing=[]
         expect resource 2 cds wa kept version=1
         expect resource 2 cds wc kept
         < n=1 [wb~3@3] rm=[wc]
         expect message 10 push removed=[wc]
         > n=1
         expect state 2 cds synced missing=[] absent=[wc]
         expect resource 2 cds wa kept version=1 acked_version=1
         expect resource 2 cds wb present version=3 acked_version=3
         expect resource 2 cds wc removed"
    ));
    let store = replay(&format!("{S25}> sub=[wa wb] irv={{wa:1 wb:2}}\n< n=1 [wb~3@3]\n"));
    let counts = ReconnectCounts { claimed: 2, resent: 1, removed: 0, left_behind: 0, owed: 0, unclaimed: 1 };
    assert_eq!((account_of(&store), counts.kept()), ((counts, vec!["wc".to_owned()]), 1));
}

#[test]
fn each_stated_version_has_an_outcome() {
    let store = replay(&format!(
        "{S25}> sub=[wa wb other] irv={{wa:1 wb:1 wc:1 other:5 gone:7}}\n< n=1 [wb~3@3] rm=[other]\n> n=1\n"
    ));
    let cds = store.states().pop().unwrap().summary.type_url;
    let claims = store.claims(StreamId(2), &cds);
    let claims: Vec<_> = claims
        .iter()
        .map(|claim| (&*claim.name, &*claim.version, claim.known.as_deref(), claim.outcome.word()))
        .collect();
    assert_eq!(
        claims,
        [
            ("gone", "7", None, "left_behind"),
            ("other", "5", None, "removed"),
            ("wa", "1", Some("1"), "kept"),
            ("wb", "1", Some("2"), "resent"),
            ("wc", "1", Some("1"), "left_behind"),
        ]
    );
    let counts = ReconnectCounts { claimed: 5, resent: 1, removed: 1, left_behind: 2, owed: 0, unclaimed: 0 };
    let left = vec!["gone".to_owned(), "wc".to_owned()];
    let (found, mut names) = account_of(&store);
    names.sort();
    assert_eq!((found, names, counts.kept()), (counts, left, 1));
    assert_eq!(store.claim(StreamId(2), &cds, "wb").map(|claim| claim.outcome.word()), Some("resent"));
    assert_eq!(store.claim(StreamId(1), &cds, "wb"), None);
}

#[test]
fn resends_of_claims_from_an_unseen_stream_are_counted() {
    let store = replay("stream 1 sotw eds\n> v=7 names=[foo bar]\n< v=8 n=a [foo]\n");
    let account = store.stream(StreamId(1)).unwrap().account.unwrap().counts;
    assert_eq!((account.claimed, account.resent, account.kept()), (2, 1, 1));
}

/// The account of stream 2, with the names that it left behind.
fn account_of(store: &Store) -> (ReconnectCounts, Vec<String>) {
    let account = store.stream(StreamId(2)).unwrap().account.unwrap();
    (account.counts, account.left.iter().map(|left| left.name.to_string()).collect())
}

#[test]
fn counts_unrequested_types_as_left_behind() {
    let store = replay(
        "node n
         stream 1 ads
         > cds
         < cds v=1 n=a [A B]
         > cds v=1 n=a
         > eds names=[A]
         < eds v=1 n=b [A]
         > eds v=1 n=b names=[A]
         close
         stream 2 ads
         > cds v=1
        ",
    );
    let counts = ReconnectCounts { claimed: 2, resent: 0, removed: 0, left_behind: 0, owed: 0, unclaimed: 1 };
    assert_eq!(account_of(&store), (counts, vec!["A".to_owned()]));
}

#[test]
fn separates_sessions_by_node_and_server() {
    for between in ["node other", "server elsewhere"] {
        let text = S01.replace("stream 2", &format!("{between}\nstream 2"));
        let store = replay(&format!("{text}> v=X names=[foo]\n"));
        assert_eq!(store.stream(StreamId(2)).unwrap().reconnect_of, None, "{between}");
    }
}

/// docs/protocol.md#f-18: a server may remove what the client states and does not subscribe to.
#[test]
fn stated_name_that_the_server_removes_is_not_left_behind() {
    let script = "node n
         stream 1 delta eds
         > sub=[a b]
         < n=1 [a@1 b@1]
         > n=1
         close
         stream 2 delta eds
         > sub=[a] irv={a:1 b:1}
         ";
    let counts = |left_behind, removed| ReconnectCounts {
        claimed: 2,
        resent: 0,
        removed,
        left_behind,
        owed: 0,
        unclaimed: 0,
    };
    assert_eq!(account_of(&replay(script)), (counts(1, 0), vec!["b".to_owned()]));
    let store = replay(&format!("{script}< n=1 rm=[b]\n> n=1\n"));
    assert_eq!(account_of(&store), (counts(0, 1), Vec::new()));
}
