//! Recoveries from interventions.

use std::time::Duration;

use crate::interventions::Session;
use xdscope_engine::recovery::{RecoveryFact, recoveries};
use xdscope_wire::Interference;
use xdscope_wire::event::Dir;

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

fn recovery(session: &Session) -> RecoveryFact {
    let mut all = recoveries(&session.0);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn client_without_interventions_is_left_out() {
    let mut session = Session::new();
    session.push("1", "n1");
    session.request("1", "n1");
    assert!(recoveries(&session.0).is_empty());
}

#[test]
fn recovers_with_the_ack_of_a_later_push() {
    let mut session = Session::new();
    session.push("1", "n1");
    session.request("1", "n1");
    session.intercept(Interference::Dropped, Dir::Resp);
    assert!(!recovery(&session).is_recovered());
    session.push("3", "n3");
    session.request("3", "n3");
    let fact = recovery(&session);
    assert!(fact.is_recovered());
    assert_eq!((&*fact.node, fact.interventions, fact.nacks, fact.reconnects), ("x", 1, 0, 0));
    assert_eq!(fact.longest, Some(Duration::from_millis(20)));
}

#[test]
fn changed_push_is_no_recovery() {
    let mut session = Session::new();
    session.intercept(Interference::Changed, Dir::Resp);
    session.push("2", "n2");
    session.request("2", "n2");
    let open = recovery(&session).open;
    assert_eq!(open.iter().map(|of| of.type_url.as_str()).collect::<Vec<_>>(), [CDS]);
}

#[test]
fn stream_that_goes_on_with_its_versions_has_recovered() {
    for (version, is_recovered) in [("1", true), ("", false)] {
        let mut session = Session::new();
        session.push("1", "n1");
        session.request("1", "n1");
        session.intercept(Interference::Ended, Dir::Resp);
        session.reconnect(version);
        let fact = recovery(&session);
        assert_eq!((fact.is_recovered(), fact.reconnects), (is_recovered, 1));
    }
}
