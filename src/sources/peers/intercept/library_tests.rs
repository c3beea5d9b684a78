//! The effect of each named fault on messages: bytes in, bytes out.

use std::time::Duration;

use super::action::{ACTION_FORMS, Action};
use super::tests::{Bench, Out, push, request};
use super::*;
use xdscope_wire::Interference::{Changed, Dropped, Duplicated, Ended, Restated};
use xdscope_wire::discovery::encode::RequestFields;
use xdscope_wire::event::{Code, Dir};

const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

fn pushed(version: &str, nonce: &str, names: &[&str]) -> Out {
    Out::Push(version.into(), nonce.into(), names.iter().map(|name| (*name).into()).collect())
}

/// The answer to a push of version 1: delta requests have no version.
fn answer(is_delta: bool, nonce: &str) -> Out {
    request(if is_delta { "" } else { "1" }, nonce)
}

fn requested(out: &[Out]) -> Vec<&Out> {
    out.iter().filter(|out| matches!(out, Out::Request(..))).collect()
}

#[test]
fn every_name_is_built_from_actions() {
    let args = ["cds", "a"];
    for fault in &LIBRARY {
        let args = if fault.args == ["TIME"] { &["5m"][..] } else { &args[..fault.args.len()] };
        let text = [&[fault.name], args, &["times=3"]].concat().join(" ");
        FaultSet::parse([text.as_str()], 0).unwrap_or_else(|(_, error)| panic!("{text}: {error}"));
        let wrong = format!("{} a b c d", fault.name);
        let (_, error) = FaultSet::parse([wrong.as_str()], 0).expect_err("too many words");
        assert_eq!(error.to_string(), format!("expected `{}`", fault.form()));
    }
    let (_, error) = FaultSet::parse(["eds-ignored"], 0).expect_err("not a name");
    assert!(error.to_string().contains("eds-unanswered cds-unchanged"), "{error}");
    assert_eq!(ACTION_FORMS.len(), ACTION_DOCS.len());
}

#[test]
fn eds_unanswered() {
    for is_delta in [false, true] {
        let mut bench = Bench::new(is_delta, &["eds-unanswered a"]);
        bench.type_url = ENDPOINTS;
        assert_eq!(bench.push("1", "n1"), [Out::Report(Changed), pushed("1", "n1", &["b"])]);
    }
    let mut bench = Bench::new(true, &["=> omit a", "=> omit b"]);
    bench.type_url = ENDPOINTS;
    let (sent, dropped) = (bench.push_of("1", "n1", &["a", "b"]), bench.push_of("1", "n2", &["a"]));
    assert_eq!(sent, [Out::Report(Changed), pushed("1", "n1", &["b"])], "one fault for a message");
    assert_eq!(dropped, [Out::Report(Dropped)], "no push of nothing");
}

#[test]
fn cds_unchanged() {
    for is_delta in [false, true] {
        let mut bench = Bench::new(is_delta, &["cds-unchanged"]);
        bench.request("", "", None);
        let copy = push("1", "n1-again");
        assert_eq!(bench.push("1", "n1"), [Out::Report(Duplicated), push("1", "n1"), copy]);
        assert_eq!(bench.request("1", "n1", None), [answer(is_delta, "n1")]);
        assert_eq!(bench.request("1", "n1-again", None), [Out::Report(Dropped)]);
        assert_eq!(bench.request("1", "n1-again", None), [answer(is_delta, "n1")], "later requests pass");
        bench.push("2", "n2");
        let only = bench.request("2", "n2-again", None);
        assert_eq!(requested(&only).len(), 1, "the only answer of a client that answers the last push");
    }
}

#[test]
fn removed_before_added() {
    for (is_delta, without) in [(false, &["b"][..]), (true, &["b", "-a"])] {
        let mut bench = Bench::new(is_delta, &["removed-before-added cds a"]);
        bench.request("", "", None);
        let copy = pushed("1", "n1-again", without);
        assert_eq!(bench.push("1", "n1"), [Out::Report(Duplicated), copy, push("1", "n1")]);
        assert_eq!(bench.request("1", "n1-again", None), [Out::Report(Dropped)]);
        assert_eq!(bench.request("1", "n1", None), [answer(is_delta, "n1")]);
        assert_eq!(bench.push_of("2", "n2", &["b"]), [pushed("2", "n2", &["b"])], "nothing to remove");
    }
}

#[test]
fn duplicate_name() {
    for is_delta in [false, true] {
        let mut bench = Bench::new(is_delta, &["duplicate-name cds a"]);
        assert_eq!(bench.push("1", "n1"), [Out::Report(Changed), pushed("1", "n1", &["a", "a", "b"])]);
    }
}

#[test]
fn ack_withheld() {
    for is_delta in [false, true] {
        let mut bench = Bench::new(is_delta, &["ack-withheld cds"]);
        bench.request("", "", None);
        assert_eq!(bench.push("1", "n1"), [push("1", "n1")]);
        assert_eq!(bench.request("1", "n1", None), [Out::Report(Dropped)]);
    }
}

#[test]
fn wildcard_lost() {
    for is_delta in [false, true] {
        let mut bench = Bench::new(is_delta, &["wildcard-lost cds a"]);
        let wildcard = |nonce| RequestFields {
            type_url: bench_type(),
            response_nonce: nonce,
            ..RequestFields::default()
        };
        let first = bench.feed(Dir::Req, wildcard("").encode(is_delta));
        assert_eq!(first.first(), Some(&Out::Report(Changed)));
        assert_eq!(bench.last_names(), ["a"]);
        bench.push("1", "n1");
        // A SotW answer repeats the subscription; a delta answer does not.
        let answer = bench.feed(Dir::Req, wildcard("n1").encode(is_delta));
        assert_eq!(answer.first() == Some(&Out::Report(Changed)), !is_delta);
        assert_eq!(bench.last_names(), if is_delta { vec![] } else { vec!["a"] });
        let star = RequestFields { names: vec!["*", "c"], ..wildcard("") };
        bench.feed(Dir::Req, star.encode(is_delta));
        assert_eq!(bench.last_names(), ["a", "c"]);
    }
}

fn bench_type() -> &'static str {
    Bench::new(false, &[]).type_url
}

#[test]
fn versions_forgotten() {
    let mut bench = Bench::new(false, &["versions-forgotten times=1"]);
    assert_eq!(bench.request("", "", None), [request("", "")], "nothing to forget");
    bench.push("1", "n1");
    assert_eq!(bench.request("1", "n1", None), [request("1", "n1")]);
    let mut again = bench.again();
    assert_eq!(again.request("1", "", None), [Out::Report(Changed), request("", "")]);
    again.push("1", "n1");
    assert_eq!(again.request("1", "n1", None), [request("1", "n1")]);
    let mut bench = Bench::new(true, &["versions-forgotten"]);
    let fields = RequestFields {
        type_url: bench_type(),
        initial_versions: vec![("a", "1")],
        ..RequestFields::default()
    };
    let out = bench.feed(Dir::Req, fields.encode(true));
    assert_eq!(out.first(), Some(&Out::Report(Changed)));
    let bare = RequestFields { type_url: bench_type(), ..RequestFields::default() }.encode(true);
    assert_eq!(bench.last_bytes(), &bare[..]);
}

#[test]
fn stale_nonce() {
    let mut bench = Bench::new(false, &["stale-nonce cds"]);
    bench.request("", "", None);
    bench.push("1", "n1");
    assert_eq!(bench.request("1", "n1", None), [request("1", "n1")], "there is none before");
    bench.push("2", "n2");
    assert_eq!(bench.request("2", "n2", None), [Out::Report(Restated), request("2", "n1")]);
}

#[test]
fn constant_nonce() {
    for is_delta in [false, true] {
        let mut bench = Bench::new(is_delta, &["constant-nonce cds"]);
        for nonce in ["n1", "n2"] {
            assert_eq!(bench.push("1", nonce), [Out::Report(Changed), push("1", "constant")]);
            assert_eq!(bench.request("1", "constant", None), [answer(is_delta, nonce)]);
        }
    }
}

#[test]
fn over_4mib() {
    for is_delta in [false, true] {
        let mut bench = Bench::new(is_delta, &["over-4mib cds"]);
        assert_eq!(bench.push("1", "n1"), [Out::Report(Changed), push("1", "n1")]);
        let size = bench.last_bytes().len();
        assert!((4_200_000..4_200_010).contains(&size), "{size}");
    }
}

#[test]
fn token_expired() {
    let mut bench = Bench::new(false, &["token-expired after=1s times=1"]);
    assert_eq!(bench.request("", "", None), [request("", "")]);
    bench.wait(Duration::from_secs(1));
    let status = Step::Status(Code(16), "the token has expired".into());
    assert_eq!(bench.push("1", "n1"), [Out::Report(Ended), Out::Other(status)]);
}

#[test]
fn server_max_age() {
    let mut bench = Bench::new(false, &["server-max-age 10s"]);
    assert_eq!(bench.request("", "", None), [request("", "")]);
    bench.wait(Duration::from_secs(9));
    assert_eq!(bench.push("1", "n1"), [push("1", "n1")]);
    let status = Step::Status(Code(14), "max_age".into());
    let end = [Out::Report(Ended), Out::Other(Step::GoAway), Out::Other(status)];
    assert_eq!(bench.wait(Duration::from_secs(1)), end, "the age of the stream, not of its last request");
    assert_eq!(bench.stream.next_due(), None);
}

#[test]
fn thundering_reconnect() {
    let mut bench = Bench::new(false, &["thundering-reconnect after=1s"]);
    bench.request("", "", None);
    bench.wait(Duration::from_secs(1));
    let by: std::sync::Arc<str> = "fault 1: thundering-reconnect after=1s".into();
    let all = [Out::Report(Ended), Out::Other(Step::Reset), Out::Other(Step::ResetAll(by.clone()))];
    assert_eq!(bench.push("1", "n1"), all);
    let steps = bench.stream.end_by(&by);
    assert!(matches!(&steps[..], [Step::Report(_), Step::Reset]), "{steps:?}");
    let mut again = bench.again();
    assert_eq!(requested(&again.request("", "", None)).len(), 1, "only once");
}

#[test]
fn stages_follow_one_another() {
    let mut bench = Bench::new(false, &[]);
    bench.plan("for 10s: kind:push => drop\nfor 10s:\nfor 10s\n  kind:push => drop after=5s\n");
    let dropped = |bench: &mut Bench| bench.push("1", "n") == [Out::Report(Dropped)];
    let mut fates = Vec::new();
    for _ in 0..8 {
        fates.push(dropped(&mut bench));
        bench.wait(Duration::from_secs(5));
    }
    assert_eq!(fates, [true, true, false, false, false, true, false, false]);
}

#[test]
fn actions_have_a_direction() {
    for (action, dir) in [
        (Action::Forget, Some(Dir::Req)),
        (Action::Pad(1), Some(Dir::Resp)),
        (Action::Reannounce(None), Some(Dir::Resp)),
        (Action::Drop, None),
    ] {
        assert_eq!(action.dir(), dir, "{action:?}");
    }
}
