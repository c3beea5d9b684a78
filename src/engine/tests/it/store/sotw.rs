use super::holds;

const EDS: &str = "node n cluster=c\nstream 1 sotw eds\n";

#[track_caller]
fn eds(text: &str) {
    holds(&format!("{EDS}{text}"));
}

#[test]
fn acks_response() {
    eds("> names=[foo bar]
         expect message 1 subscribe class=initial names=[foo bar] added=[foo bar] answers=
         expect state 1 eds wait in_force= offered= names=[foo bar] missing=[foo bar]
         < v=X n=A [foo bar]
         expect message 2 push answers=1 latency_ms=10 added=[foo bar] same=0
         expect state 1 eds sent offered=X in_force= pending=[A] nonce=A missing=[]
         expect resource 1 eds foo present version=X acked_version= origin=named
         > v=X n=A names=[foo bar]
         expect message 3 ack class=newest_nonce answers=2 latency_ms=10 added=[] removed=[]
         expect state 1 eds synced offered=X in_force=X reported=X pending=[] nack_count=0 resources=2
         expect resource 1 eds foo present version=X acked_version=X refused=false");
}

#[test]
fn acks_after_nack() {
    eds("> names=[foo bar]
         < v=X n=A [foo bar]
         > n=A names=[foo bar] nack=\"bad endpoint\"
         expect message 3 nack class=newest_nonce implied=false answers=2
         expect state 1 eds nack offered=X in_force= open_nack=3 nack_count=1 pending=[]
         expect resource 1 eds foo present version=X acked_version= refused=true
         < v=Y n=B [foo bar]
         expect message 4 resend same=2 added=[] changed=[]
         expect state 1 eds nack pending=[B]
         > v=Y n=B names=[foo bar]
         expect state 1 eds synced in_force=Y open_nack= nack_count=1 pending=[]
         expect resource 1 eds foo present version=Y acked_version=Y refused=false");
}

#[test]
fn detects_nack_at_unchanged_version() {
    eds("> names=[A]
         < v=1 n=1 [A]
         > v=1 n=1 names=[A]
         > v=1 n=1 names=[A B]
         expect message 4 subscribe class=newest_nonce added=[B] answers=
         expect state 1 eds wait missing=[B] in_force=1
         < v=1 n=2 [B]
         expect message 5 push answers=4 added=[B]
         > v=1 n=2 names=[A B] nack=\"B is invalid\"
         expect message 6 nack class=newest_nonce answers=5
         expect state 1 eds nack in_force=1 offered=1 open_nack=6
         expect resource 1 eds A present refused=false acked_version=1
         expect resource 1 eds B present refused=true acked_version=");
}

#[test]
fn detects_nack_by_version() {
    eds("> names=[foo]
         < v=X n=A [foo]
         > v=X n=A names=[foo]
         < v=Y n=B [foo]
         > v=X n=B names=[foo]
         expect message 5 nack class=newest_nonce implied=true answers=4
         expect state 1 eds nack in_force=X offered=Y open_nack=5 nack_count=1");
}

#[test]
fn one_response_answers_two_requests() {
    eds("> names=[foo]
         > names=[foo bar]
         expect message 2 subscribe class=before_first_response added=[bar]
         < v=X n=A [foo bar]
         expect message 3 push answers=2
         > v=X n=A names=[foo bar]
         expect message 4 ack class=newest_nonce
         expect state 1 eds synced names=[foo bar] missing=[]");
}

#[test]
fn separates_requests_of_two_streams() {
    holds(
        "node n
         stream 1 sotw eds
         stream 2 sotw eds
         1 > names=[foo]
         1 < v=X n=A [foo]
         1 > v=X n=A names=[foo]
         2 > names=[bar]
         2 < v=Y n=A [bar]
         2 > v=Y n=A names=[bar]
         expect message 6 ack answers=5
         expect state 1 eds synced in_force=X
         expect state 2 eds synced in_force=Y names=[bar]",
    );
}

#[test]
fn subscribes_with_newest_nonce() {
    holds(
        "node n
         stream 1 sotw eds
         1 > names=[foo]
         1 < v=X n=A [foo]
         1 > v=X n=A names=[foo]
         stream 2 sotw cds
         2 >
         2 < v=M n=D [foo bar]
         1 > v=X n=A names=[foo bar]
         expect message 6 subscribe class=newest_nonce added=[bar]
         expect state 1 eds wait in_force=X missing=[bar]
         expect resource 1 eds bar waiting
         advance 15s
         expect state 1 eds miss missing=[bar]
         expect resource 1 eds bar absent absent_by=timer",
    );
}

#[test]
fn tolerates_subscription_crossing_update() {
    eds("> names=[foo]
         < v=X n=A [foo]
         > v=X n=A names=[foo]
         < v=Y n=B [foo~2]
         expect message 4 push changed=[foo]
         > v=X n=A names=[foo bar]
         expect message 5 subscribe class=stale_nonce added=[bar] answers=
         expect state 1 eds names=[foo bar] effective=[foo] pending=[B]
         > v=Y n=B names=[foo bar]
         expect message 6 ack class=newest_nonce
         expect state 1 eds wait in_force=Y effective= missing=[bar]");
}

#[test]
fn detects_stale_requests() {
    eds("> names=[foo]
         < v=X n=A [foo]
         > v=X n=A names=[foo]
         > v=X n=A names=[foo bar]
         < v=Y n=B [foo bar]
         > v=X n=A names=[foo bar]
         expect message 6 repeat class=stale_nonce answers=
         > v=Y n=B names=[foo bar]
         expect message 7 ack class=newest_nonce
         < v=Z n=C [foo bar]
         expect message 8 resend answers= same=2
         expect state 1 eds sent offered=Z in_force=Y pending=[C]");
}

#[test]
fn detects_older_nonce() {
    eds("> names=[foo]
         < v=X n=A [foo]
         > v=X n=A names=[foo]
         < v=Y n=B [foo]
         > v=Y n=B names=[foo]
         > v=Y n=A names=[foo bar]
         expect message 6 subscribe class=older_nonce
         expect state 1 eds effective=[foo]
         > v=Y names=[foo bar]
         expect message 7 repeat class=nonce_dropped
         expect state 1 eds in_force=Y effective=");
}

#[test]
fn stated_version_is_not_in_force_if_it_is_refused() {
    holds(
        "stream 1 sotw cds
         > v= n=
         < v=1 n=a [x]
         > v=1 n=a nack=\"bad\"
         expect state 1 cds nack in_force= reported=1",
    );
}

#[test]
fn detects_nonce_of_other_type() {
    let to_step_5 = "node n
         stream 1 ads
         > cds
         expect message 1 subscribe class=initial
         expect state 1 cds wait wildcard=legacy names=[]
         < cds v=1 n=A [foo bar]
         > cds v=1 n=A
         expect message 3 ack class=newest_nonce
         > eds names=[foo bar]
         expect message 4 class=initial
         < eds v=X n=B [foo bar]
         ";
    holds(&format!(
        "{to_step_5}> eds v=X n=B names=[foo bar]
         < cds v=2 n=C [foo]
         expect message 7 push removed=[bar] same=1
         > cds v=2 n=C
         > eds v=X n=B names=[foo]
         expect message 9 unsubscribe class=newest_nonce removed=[bar] added=[]
         expect state 1 cds synced in_force=2 resources=1 absent=[]
         expect resource 1 cds bar removed origin=wildcard
         expect state 1 eds synced in_force=X names=[foo] resources=1
         expect resource 1 eds bar released"
    ));
    holds(&format!(
        "{to_step_5}> eds v=X n=A names=[foo bar]
         expect message 6 repeat class=unknown_nonce answers=
         expect state 1 eds sent pending=[B] in_force= reported=X"
    ));
}

#[test]
fn tracks_sotw_wildcard_changes() {
    holds(
        "stream 1 sotw cds
         >
         < v=1 n=a [A B]
         > v=1 n=a names=[* A]
         expect message 3 ack class=newest_nonce
         expect state 1 cds wildcard=explicit names=[A] missing=[]
         > v=1 n=a names=[A]
         expect message 4 unsubscribe class=newest_nonce
         expect state 1 cds wildcard=none names=[A]
         expect resource 1 cds A present origin=named
         expect resource 1 cds B released
         < v=2 n=b [A~2]
         expect message 5 push changed=[A] removed=[]
         expect resource 1 cds B released
         > v=2 n=b names=[A]
         > v=2 n=b
         expect message 7 unsubscribe class=newest_nonce removed=[A]
         expect state 1 cds wildcard=none names=[] resources=0
         expect resource 1 cds A released",
    );
}

#[test]
fn full_state_removes_missing_resources() {
    holds(
        "stream 1 sotw cds
         >
         < v=1 n=a [A B C]
         > v=1 n=a
         < v=2 n=b [A C]
         expect message 4 push removed=[B] same=2
         > v=2 n=b
         expect resource 1 cds B removed version=1
         < v=3 n=c []
         expect message 6 push removed=[A C] same=0
         > v=3 n=c
         expect state 1 cds synced in_force=3 resources=0
         expect resource 1 cds A removed acked_version=
         < v=4 n=d [B]
         expect message 8 push added=[B]
         expect resource 1 cds B present version=4",
    );
}

#[test]
fn partial_response_keeps_other_resources() {
    eds("> names=[foo bar]
         < v=1 n=a [foo bar]
         > v=1 n=a names=[foo bar]
         < v=2 n=b [foo~2]
         expect message 4 push changed=[foo] removed=[] same=0
         > v=2 n=b names=[foo bar]
         < v=3 n=c []
         expect message 6 push removed=[]
         > v=3 n=c names=[foo bar]
         expect state 1 eds synced in_force=3 resources=2
         expect resource 1 eds foo present version=2 acked_version=2
         expect resource 1 eds bar present version=1 acked_version=1");
}

#[test]
fn resource_appears_after_timeout() {
    eds("+0s > names=[foo q]
         +1s < v=1 n=a [foo]
         +1s > v=1 n=a names=[foo q]
         expect state 1 eds wait missing=[q]
         expect resource 1 eds q waiting
         advance 14s
         expect state 1 eds miss missing=[q] absent=[]
         expect resource 1 eds q absent absent_by=timer
         +40s < v=2 n=b [q]
         +40s > v=2 n=b names=[foo q]
         expect message 4 push added=[q]
         expect state 1 eds synced missing=[] resources=2
         expect resource 1 eds q present absent_by=");
}

#[test]
fn missing_name_is_not_absent_before_timeout() {
    holds(
        "stream 1 sotw cds
         > names=[A]
         > names=[A B]
         < v=1 n=a [A]
         expect state 1 cds missing=[B] absent=[] resources=1
         expect resource 1 cds B waiting",
    );
}

#[test]
fn uses_last_of_duplicate_names() {
    eds("> names=[foo]
         < v=1 n=a [foo foo~2]
         expect message 2 push added=[foo]
         expect state 1 eds resources=1
         > n=a names=[foo] nack=\"dup\"
         expect state 1 eds nack");
    holds(
        "stream 1 sotw cds
         >
         < v=1 n=a [A B]
         > v=1 n=a
         < v=2 n=b [A~2 A~3 B]
         expect message 4 push changed=[A] same=1 added=[] removed=[]
         expect state 1 cds resources=2
         < v=3 n=c [A~3 B B]
         expect message 5 resend same=2",
    );
}

#[test]
fn detects_resends() {
    eds("> names=[foo]
         < v=1 n=a [foo]
         > n=a names=[foo] nack=\"bad\"
         < v=1 n=b [foo]
         expect message 4 resend same=1
         > n=b names=[foo] nack=\"bad\"
         expect state 1 eds nack nack_count=2 open_nack=5");
}

#[test]
fn expires_sotw_resource_after_ttl() {
    let start = "node n feature=xds.config.supports-resource-ttl feature=xds.config.supports-resource-in-sotw
         stream 1 sotw TYPE
         +0s > NAMES
         +0s < v=1 n=a [RES]
         +0s > v=1 n=a NAMES
         ";
    let rtds =
        start.replace("TYPE", "rtds").replace("NAMES", "names=[rt]").replace("RES", "wrap(rt@1 ttl=5s)");
    holds(&format!(
        "{rtds}expect resource 1 rtds rt present ttl_deadline=5
         +4s < v=1 n=b [wrap(rt@1 unset ttl=5s)]
         expect message 4 heartbeat added=[] changed=[] removed=[]
         > v=1 n=b names=[rt]
         expect resource 1 rtds rt present ttl_deadline=9 version=1
         advance 5s
         expect resource 1 rtds rt expired
         expect state 1 rtds resources=0"
    ));
    let cds =
        start.replace("TYPE", "cds").replace("NAMES", "").replace("RES", "wrap(A@1 ttl=5s) wrap(B@1 ttl=5s)");
    holds(&format!(
        "{cds}+4s < v=1 n=b [wrap(A@1 unset ttl=5s)]
         expect message 4 heartbeat removed=[]
         expect resource 1 cds B present"
    ));
}

#[test]
fn unrequested_type_has_no_state() {
    let store = super::replay("stream 1 ads\n> cds\n< lds v=1 n=a [l]\n");
    assert_eq!(store.states().len(), 1);
    assert_eq!(store.row(2).map(|row| row.type_url.as_str().ends_with("Listener")), Some(true));
}

#[test]
fn skipped_response_is_not_pending() {
    eds("> names=[foo]
         < v=1 n=a [foo]
         < v=2 n=b [foo~2]
         expect state 1 eds pending=[a b]
         > v=2 n=b names=[foo]
         expect state 1 eds synced pending=[] in_force=2");
}

#[test]
fn counts_late_verdict() {
    eds("> names=[foo]
         < v=1 n=a [foo]
         < v=2 n=b [foo~2]
         > v=1 n=a names=[foo]
         expect message 4 ack class=stale_nonce answers=2
         expect state 1 eds sent in_force=1 pending=[b]
         expect resource 1 eds foo version=2 acked_version=1");
}

#[test]
fn counts_repeated_nack_of_one_nonce_once() {
    eds("> names=[foo]
         < v=1 n=a [foo]
         > n=a names=[foo] nack=\"bad\"
         > n=a names=[foo bar] nack=\"bad\"
         expect message 4 subscribe class=newest_nonce answers=
         expect state 1 eds nack nack_count=1 open_nack=3");
}

#[test]
fn unrequested_copy_is_not_an_answer() {
    eds("> names=[a]
         < v=1 n=1 [a b]
         expect resource 1 eds b present origin=unrequested
         > v=1 n=1 names=[a]
         > v=1 n=1 names=[a b]
         expect state 1 eds wait missing=[b]
         expect resource 1 eds b waiting origin=named
         > v=1 n=1 names=[a]
         expect resource 1 eds b released
         > v=1 n=1 names=[a b]
         expect resource 1 eds b waiting
         < v=1 n=2 [b]
         expect resource 1 eds b present");
}

#[test]
fn resource_error_marks_resource_as_absent() {
    eds("> names=[a b]
         < v=1 n=1 [a] errors={b:\"gone\"}
         expect state 1 eds missing=[b] absent=[b]
         expect resource 1 eds b absent absent_by=server");
}

/// docs/protocol.md#e-41: the client has dropped the members of the wildcard, so that the server
/// owes them when the client requests the wildcard again.
#[test]
fn wildcard_requested_again_owes_its_members() {
    holds(
        "stream 1 sotw cds
         >
         < v=1 n=1 [a b c]
         > v=1 n=1
         > v=1 n=1 names=[a]
         > v=1 n=1 names=[*]
         expect resource 1 cds a present
         expect resource 1 cds b waiting
         expect state 1 cds wait resources=1
         < v=2 n=2 [a b]
         > v=2 n=2 names=[*]
         expect message 6 push added=[b] removed=[]
         expect resource 1 cds c released
         expect state 1 cds synced resources=2",
    );
}
