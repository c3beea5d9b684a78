//! Problems that xdscope causes, after the end of the stream.

use super::*;
use crate::interventions::Session;
use xdscope_engine::lint::Blame;
use xdscope_present::report;
use xdscope_wire::event::{Code, Dir, Side};
use xdscope_wire::{End, FramePayload, Interference};

fn end(by: Side, status: Option<(Code, String)>, reset: Option<u32>) -> FramePayload {
    FramePayload::End(Box::new(End { by: Some(by), status, reset, note: None }))
}

/// Returns the problems, and asserts that all of them blame xdscope.
#[track_caller]
fn caused(session: &Session) -> Vec<String> {
    let problems = problems(&session.0, &[]);
    assert!(problems.iter().all(|problem| problem.blame == Blame::Xdscope), "{problems:?}");
    problems.iter().map(|problem| report::problem(problem, &session.0.clock())).collect()
}

#[test]
fn answers_that_xdscope_kept_are_not_owed_by_a_peer_after_the_close() {
    use Interference as I;
    for (interference, dir, words) in [
        (I::Held, Dir::Resp, "push held"),
        (I::Dropped, Dir::Resp, "push dropped"),
        (I::Delayed, Dir::Resp, "push delayed"),
        (I::Bounced, Dir::Resp, "push refused for the client"),
        (I::Blackholed, Dir::Resp, "connection silenced"),
        (I::Held, Dir::Req, "request held"),
        (I::Delayed, Dir::Req, "request delayed"),
        (I::Dropped, Dir::Req, "request dropped"),
    ] {
        let mut session = Session::new();
        session.intercept(interference, dir);
        session.handle(end(Side::Client, None, Some(8)));
        let found = caused(&session);
        let wanted = format!("; caused by xdscope: {words} by fault 1");
        assert!(found.len() == 1 && found[0].ends_with(&wanted), "{interference:?}: {found:?}");
    }
    // The client owes an answer that was held.
    let mut session = Session::new();
    session.push("1", "n1");
    session.intercept(I::Held, Dir::Req);
    session.handle(end(Side::Client, None, Some(8)));
    assert!(caused(&session).iter().all(|text| text.ends_with("request held by fault 1")));
}

#[test]
fn streams_that_are_given_up_because_of_xdscope_blame_no_peer() {
    use Interference as I;
    for (interference, dir, by, words) in [
        (I::Held, Dir::Resp, Side::Client, "push held"),
        (I::Bounced, Dir::Resp, Side::Client, "push refused for the client"),
        (I::Dropped, Dir::Req, Side::Client, "request dropped"),
        (I::Changed, Dir::Req, Side::Server, "request changed"),
    ] {
        let mut session = Session::new();
        for stream in 0..3 {
            if stream > 0 {
                session.reconnect("");
            }
            session.intercept(interference, dir);
            session.handle(end(by, Some((Code(0), String::new())), None));
        }
        let found = caused(&session);
        let start = format!("{} ends the stream before a response: 3 times", by.word());
        let wanted = format!("; caused by xdscope: {words} by fault 1");
        let is_named = |text: &String| text.starts_with(&start) && text.ends_with(&wanted);
        assert!(found.iter().any(is_named), "{interference:?}: {found:?}");
    }
    // The server has rejected what it got unchanged.
    let mut session = Session::new();
    session.intercept(Interference::Held, Dir::Resp);
    session.handle(end(Side::Server, Some((Code(16), "the token has expired".to_owned())), None));
    let problems = problems(&session.0, &[]);
    assert!(problems.iter().any(|problem| problem.blame == Blame::Server), "{problems:?}");
}

#[test]
fn stream_that_a_fault_ends_is_not_rejected_by_the_server() {
    let status = Some((Code(16), "the token has expired".to_owned()));
    for (status, reset) in [(status, None), (None, Some(2))] {
        let mut session = Session::new();
        session.intercept(Interference::Ended, Dir::Req);
        session.handle(end(Side::Server, status.clone(), reset));
        let found = caused(&session);
        assert!(!found.is_empty());
        for text in &found {
            assert!(text.starts_with("xdscope ") || text.starts_with("server owed"), "{text}");
            assert!(text.ends_with("; caused by xdscope: stream ended by fault 1"), "{text}");
        }
        let stream = session.0.streams().remove(0);
        assert_eq!(stream.ended_by.as_ref().map(|facts| &*facts.by), Some("fault 1"));
        let ended = stream.end.expect("an end");
        assert_eq!((ended.by, ended.note.as_deref()), (None, Some("by fault 1")));
    }
    // The server has ended it in the same moment as before, without a fault.
    let mut session = Session::new();
    session.handle(end(Side::Server, Some((Code(16), "expired".to_owned())), None));
    assert!(problems(&session.0, &[]).iter().all(|problem| problem.blame == Blame::Server));
}

#[test]
fn divergence_says_what_each_side_has() {
    let session = Session::with_three_interventions();
    let diverged = session.0.states().remove(0).diverged.expect("diverged");
    assert_eq!(
        report::diverged(&diverged),
        "diverged: push refused for the client by fault 1, 3 interventions in all; client never got 2 pushes, \
         the newest of version 2; server got 1 NACK from xdscope; client runs version 2 as changed"
    );
}
