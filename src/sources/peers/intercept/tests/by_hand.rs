//! Messages that a person decides about.

use super::*;
use xdscope_engine::hold::{HeldId, HeldRow, HoldCommand, edit};

impl Bench {
    /// A bench that holds matching messages.
    fn holding(is_delta: bool, expression: &str, options: HoldOptions) -> Bench {
        let mut bench = Bench::new(is_delta, &[]);
        bench.hold = HoldQueue::new(options);
        bench.command(HoldCommand::Arm(expression.to_owned())).expect("an expression");
        bench.request("", "", None);
        bench
    }

    fn command(&mut self, command: HoldCommand) -> Result<(), HoldError> {
        self.hold.command(command, self.at)
    }

    /// Carries out a command, and returns what the stream sends.
    fn decide(&mut self, command: HoldCommand) -> Vec<Out> {
        self.command(command).expect("it is held");
        let steps = self.stream.decide(self.at, &mut self.hold);
        self.out(steps)
    }

    fn held(&self) -> Vec<String> {
        let row = |row: &HeldRow| {
            let waits = row.waits_for.map(|id| format!(" after {id}")).unwrap_or_default();
            format!("{}{waits}", row.fact.id)
        };
        self.hold.status(self.at).held.iter().map(row).collect()
    }
}

const HELD: Out = Out::Report(Interference::Held);

fn pushes() -> Bench {
    let mut bench = Bench::holding(false, "kind:push", HoldOptions::default());
    assert_eq!(bench.push("1", "n1"), [HELD]);
    assert_eq!(bench.push("2", "n2"), [HELD]);
    assert_eq!(bench.held(), ["h1", "h2 after h1"]);
    bench
}

#[test]
fn held_messages_go_in_order() {
    let mut bench = pushes();
    assert_eq!(bench.decide(HoldCommand::Allow(HeldId(2))), [], "h1 goes first");
    assert_eq!(bench.held(), ["h1"]);
    assert_eq!(bench.push("3", "n3"), [HELD]);
    assert_eq!(bench.decide(HoldCommand::Allow(HeldId(1))), [push("1", "n1"), push("2", "n2")]);
    assert_eq!(bench.held(), ["h3"]);
    let gone = bench.command(HoldCommand::Allow(HeldId(1))).expect_err("it is gone");
    assert_eq!(gone, HoldError::Gone(HeldId(1)));
    assert!(gone.to_string().starts_with("h1 is not held any more"));
}

#[test]
fn other_messages_flow() {
    let mut bench = Bench::holding(false, "type:eds", HoldOptions::default());
    assert_eq!(bench.push("1", "n1"), [push("1", "n1")]);
    assert!(bench.hold.is_empty() && bench.hold.is_armed());
    let mut bench = pushes();
    assert_eq!(bench.request("0", "n0", None), [request("0", "n0")], "another direction");
}

#[test]
fn nobody_decides() {
    let mut bench = pushes();
    assert_eq!(bench.wait(Duration::from_secs(29)), []);
    let status = bench.hold.status(bench.at);
    let first = status.held.first().expect("h1");
    assert_eq!((first.age, first.left), (Duration::from_secs(29), Duration::from_secs(1)));
    assert_eq!(bench.wait(Duration::from_secs(1)), [push("1", "n1"), push("2", "n2")]);
    let status = bench.hold.status(bench.at);
    assert_eq!((status.held.len(), status.released), (0, 2));
    assert_eq!(bench.request("1", "n1", None), [request("1", "n1")]);
}

#[test]
fn dropped_and_bounced_by_hand() {
    let mut bench = pushes();
    assert_eq!(bench.decide(HoldCommand::Drop(HeldId(1))), [Out::Report(Interference::Dropped)]);
    let nack = Out::Request(String::new(), "n2".into(), "not today".into());
    let bounce = HoldCommand::Bounce(HeldId(2), "not today".into());
    assert_eq!(bench.decide(bounce), [Out::Report(Interference::Bounced), nack]);
    let mut bench = Bench::holding(false, "dir:req", HoldOptions::default());
    let bounce = HoldCommand::Bounce(HeldId(1), String::new());
    assert_eq!(bench.command(bounce), Err(HoldError::NotAPush(HeldId(1))));
    let dropped = bench.decide(HoldCommand::Drop(HeldId(1)));
    assert_eq!(dropped, [Out::Report(Interference::Dropped)]);
}

#[test]
fn edited_push_is_sent_and_its_texts_are_translated() {
    let mut bench = pushes();
    let schema = bench.schema.clone();
    let fact = bench.hold.status(bench.at).held.first().expect("h1").fact.clone();
    let text = edit::text_of(&fact, &schema).replace("version_info: \"1\"", "version_info: \"9\"");
    let edited = edit::parse(&fact, &text, &schema).expect("it is read").expect("a change");
    let sent = bench.decide(HoldCommand::Replace(fact.id, edited.bytes));
    assert_eq!(sent, [Out::Report(Interference::Changed), push("9", "n1")]);
    assert_eq!(bench.request("9", "n1", None), [request("1", "n1")], "the server knows its own version");
}

#[test]
fn editing_stops_the_clock() {
    let mut bench = pushes();
    assert_eq!(bench.decide(HoldCommand::BeginEdit(HeldId(1))), []);
    assert_eq!(bench.wait(Duration::from_secs(60)), []);
    assert!(bench.hold.status(bench.at).held.iter().any(|row| row.is_edited));
    assert_eq!(bench.decide(HoldCommand::EndEdit(HeldId(1))), []);
    assert_eq!(bench.wait(Duration::from_secs(30)), [push("1", "n1"), push("2", "n2")]);
    let mut bench = pushes();
    bench.decide(HoldCommand::BeginEdit(HeldId(1)));
    assert_eq!(bench.wait(MAX_EDIT_TIME).len(), 2, "but not for ever");
}

#[test]
fn disarming_releases_everything() {
    let mut bench = pushes();
    assert_eq!(bench.decide(HoldCommand::Disarm), [push("1", "n1"), push("2", "n2")]);
    assert_eq!(bench.push("3", "n3"), [push("3", "n3")]);
    assert!(!bench.hold.is_armed());
    let mut bench = pushes();
    let steps = bench.stream.release_all(&mut bench.hold);
    assert_eq!(bench.out(steps), [push("1", "n1"), push("2", "n2")]);
}

#[test]
fn oldest_goes_beyond_the_limits() {
    for options in [
        HoldOptions { max_messages: 2, ..HoldOptions::default() },
        HoldOptions { max_bytes: 400, ..HoldOptions::default() },
    ] {
        let mut bench = Bench::holding(false, "kind:push", options);
        for n in ["1", "2", "3", "4"] {
            assert_eq!(bench.push(n, n), [HELD]);
        }
        let held = bench.held();
        assert!(!held.is_empty() && held.len() < 4, "{held:?}");
        let steps = bench.stream.decide(bench.at, &mut bench.hold);
        let sent = bench.out(steps);
        assert_eq!(sent.first(), Some(&push("1", "1")));
        assert_eq!(sent.len() + held.len(), 4);
        assert_eq!(bench.hold.status(bench.at).released as usize, sent.len());
    }
}

#[test]
fn ended_stream_holds_nothing() {
    let mut bench = pushes();
    bench.command(HoldCommand::Allow(HeldId(2))).expect("it is held");
    bench.stream.abandon(&mut bench.hold);
    assert!(bench.hold.is_empty());
    assert_eq!(bench.hold.decisions(), 0);
}

#[test]
fn faults_act_before_a_person() {
    let mut bench = Bench::new(false, &["kind:push version:1 => drop"]);
    bench.command(HoldCommand::Arm("kind:push".to_owned())).expect("an expression");
    bench.request("", "", None);
    assert_eq!(bench.push("1", "n1"), [Out::Report(Interference::Dropped)]);
    assert_eq!(bench.push("2", "n2"), [HELD]);
}

#[test]
fn delta_pushes_are_held_too() {
    let mut bench = Bench::holding(true, "kind:push", HoldOptions::default());
    assert_eq!(bench.push("1", "n1"), [HELD]);
    let nack = Out::Request(String::new(), "n1".into(), "no".into());
    let bounce = HoldCommand::Bounce(HeldId(1), "no".into());
    assert_eq!(bench.decide(bounce), [Out::Report(Interference::Bounced), nack]);
}

#[test]
fn wrong_expressions_arm_nothing() {
    let mut bench = Bench::new(false, &[]);
    for text in ["type:", "stream:1", "kind:open"] {
        assert!(bench.command(HoldCommand::Arm(text.to_owned())).is_err(), "{text}");
    }
    assert!(!bench.hold.is_armed());
    bench.command(HoldCommand::Arm(String::new())).expect("everything");
    assert!(bench.hold.is_armed());
}
