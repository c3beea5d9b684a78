use super::{holds, replay, replay_edited};
use xdscope_engine::session::MessageKind;
use xdscope_wire::event::{ApiVersion, Dir, Kind, StreamId};
use xdscope_wire::{FramePayload, GapCause};

#[test]
fn ignores_unknown_nonces_until_one_is_known() {
    holds(
        "stream 1 sotw eds
         partial 1
         > v=7 n=old names=[foo]
         expect message 1 ack class= answers= partial=true
         expect state 1 eds in_force=7 reported=7
         > v=7 n=older names=[foo]
         expect message 2 class=
         < v=8 n=new [foo]
         > v=8 n=new names=[foo]
         expect message 4 ack class=newest_nonce
         > v=8 n=old names=[foo]
         expect message 5 class=unknown_nonce
         expect state 1 eds synced in_force=8",
    );
}

#[test]
fn counts_nack_of_unrecorded_response() {
    holds(
        "stream 1 delta cds
         partial 1
         > n=old nack=\"bad\"
         expect message 1 nack class= answers=
         expect state 1 cds nack nack_count=1
         < n=1 [a@1]
         > n=1
         expect state 1 cds open_nack=",
    );
}

/// docs/protocol.md#e-38
#[test]
fn client_may_have_name_under_earlier_wildcard() {
    holds(
        "stream 1 sotw cds
         partial 1
         > v=3 n=old names=[*]
         > v=3 n=old names=[* b]
         expect state 1 cds missing=[]
         < v=4 n=new [a]
         > v=4 n=new names=[* b]
         > v=4 n=new names=[* b q]
         expect state 1 cds missing=[q]",
    );
}

#[test]
fn untimed_source_has_no_overdue_states() {
    let store = replay(
        "notime
         stream 1 sotw eds
         > names=[foo bar]
         < v=1 n=a [foo]
        ",
    );
    let state = &store.states()[0];
    assert_eq!((state.summary.state.word(), state.subscription.missing.len()), ("sent", 1));
}

#[test]
fn poll_is_verdict_on_previous_response() {
    holds(
        "stream 1 rest cds
         >
         < v=1 [A]
         > v=1
         expect message 3 ack answers=2
         expect state 1 cds synced in_force=1 variant=rest
         < v=2 [A~2]
         > v=1
         expect message 5 nack implied=true
         expect state 1 cds nack in_force=1 offered=2",
    );
}

#[test]
fn applies_file_when_read() {
    holds(
        "stream 1 file cds
         < v=1 [A B]
         expect state 1 cds synced in_force=1 pending=[] resources=2 variant=file ack_ms=
         < v=2 [A]
         expect message 2 push removed=[B] same=1
         expect resource 1 cds A present acked_version=2",
    );
}

#[test]
fn derives_variant_of_unknown_path_from_messages() {
    holds(
        "stream 1 sotw srds method=/some.Service/Method
         > names=[s]
         < v=1 n=a [s]
         > v=1 n=a names=[s]
         expect state 1 srds synced in_force=1 variant=sotw",
    );
}

/// A lost response may have answered the request, so a debt of the server is a guess.
#[test]
fn debt_since_a_gap_is_a_guess() {
    let text = "node n\nstream 1 sotw eds\n> names=[a]\n< v=1 n=x [a]\n> v=1 n=x names=[a]\nadvance 20s\n";
    let lose = |what: &mut FramePayload| {
        if matches!(what, FramePayload::Message(message) if message.dir() == Dir::Resp) {
            *what = FramePayload::Gap { dir: None, messages: 1, bytes: 40, cause: GapCause::Lost };
        }
    };
    let store = replay_edited(text, lose);
    let problems = xdscope_engine::problems::problems(&store, &[]);
    let sentence = xdscope_present::report::problem(&problems[0], &store.clock());
    assert!(sentence.contains("a missing message may be the answer (guess)"), "{sentence}");
    assert!(problems[0].is_guess());
}

/// A message that cannot be read has a row with its direction, its size and the cause.
#[test]
fn unreadable_message_has_a_row() {
    let text = "node n\nstream 1 sotw eds\n> names=[a]\n< v=1 n=x [a]\nadvance 20s\n";
    let lose = |what: &mut FramePayload| {
        if let FramePayload::Message(message) = what
            && message.dir() == Dir::Resp
        {
            let dir = Some(Dir::Resp);
            *what = FramePayload::Gap { dir, messages: 1, bytes: 40, cause: GapCause::Encoding };
        }
    };
    let store = replay_edited(text, lose);
    let rows = (0..store.rows()).filter_map(|index| store.row(index));
    let row = rows.map(|fact| fact.row).find(|row| row.kind == MessageKind::Gap).expect("a row");
    assert_eq!((row.n, row.dir, row.size, row.answers), (None, Some(Dir::Resp), 40, None));
    assert_eq!(row.type_url, Kind::Eds.type_url(ApiVersion::V3).expect("a type URL"));
    let note = row.note.as_deref().map(xdscope_present::report::row_note);
    assert_eq!(note.as_deref(), Some("1 message with 40 B in an encoding that xdscope cannot read"));
    assert_eq!(store.gaps(), 1);
}

/// A request with a version on a stream that began before the recording is not known to follow a
/// reconnect.
#[test]
fn partial_stream_has_no_account_of_a_reconnect() {
    let text = "node n\nstream 1 sotw eds\npartial 1\n> v=3 n=r3 names=[r]\nadvance 20s\n";
    let store = replay(text);
    let eds = Kind::Eds.type_url(ApiVersion::V3).expect("a type URL");
    assert_eq!(store.reconnect(StreamId(1), &eds), None);
    let store = replay(&text.replace("partial 1\n", "").replace(" n=r3", ""));
    assert!(store.reconnect(StreamId(1), &eds).is_some(), "the first request of a whole stream");
}

/// docs/protocol.md#e-34: the first request of the recording need not be the first of the stream,
/// so that the server may have sent the names before.
#[test]
fn names_of_a_first_recorded_nack_are_not_owed() {
    holds(
        "stream 1 sotw eds
         partial 1
         > v= n=n0 names=[a b] nack=\"b: bad\"
         advance 20s
         expect no name-not-delivered
         expect state 1 eds nack missing=[]
         > v= n=n0 names=[a b c]
         expect message 2 subscribe class= answers= added=[c]
         expect state 1 eds missing=[c] nack_count=1",
    );
}

/// A change of names with the nonce of a NACK accepts nothing, although no response has the nonce.
#[test]
fn change_of_names_after_an_unrecorded_response_is_no_verdict() {
    holds(
        "stream 1 sotw eds
         partial 1
         > v=1 n=n0 names=[a b] nack=\"b: bad\"
         > v=1 n=n0 names=[a]
         expect message 2 unsubscribe class= answers=
         expect state 1 eds nack open_nack=1 nack_count=1
         > v=1 n=n1 names=[a]
         expect message 3 ack class=",
    );
    holds(
        "stream 1 delta eds
         partial 1
         > n=n0 nack=\"bad\"
         > n=n0 unsub=[b]
         expect message 2 unsubscribe class= answers=
         expect state 1 eds nack nack_count=1",
    );
}

/// docs/protocol.md#e-44: a name that the server has removed since is not requested anew.
#[test]
fn restated_name_of_a_removed_resource_is_not_owed() {
    holds(
        "stream 1 sotw lds
         partial 1
         < v=1 n=1 [a b]
         < v=2 n=2 [a]
         > v=1 n=1 names=[a b]
         > v=2 n=2 names=[a b]
         advance 20s
         expect no new-name-not-resent
         expect resource 1 lds b removed
         expect state 1 lds synced missing=[]",
    );
}
