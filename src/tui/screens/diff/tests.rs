//! Screen 5, over a real store.

use std::sync::Arc;

use insta::assert_snapshot;

use crate::data::{BodyFormat, BodyRenderer, StoreData};
use crate::input::screen_id::ScreenId;
use crate::screens::diff::DiffRow;
use crate::shell::effect::Msg;
use crate::shell::model::Model;
use crate::shell::update::update;
use xdscope_engine::diff::Op;
use xdscope_engine::filter::{ContentLookup, NoContent};
use xdscope_engine::store::{MessageFact, Options, Store};
use xdscope_schema::Schema;
use xdscope_sources::{SchemaCodec, script};
use xdscope_wire::Frame;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::Seq;

use crate::tests::{ASCII, assert_snapshots, drawn_text, screen_in, type_keys, typed};

const SCRIPT: &str = include_str!("../../../../tests/fixtures/cli/diff.xds");

/// A renderer whose bodies are empty.
struct NoBodies(Arc<Schema>);

impl BodyRenderer for NoBodies {
    fn body(&self, _: &Store, _: Seq, _: BodyFormat, _: usize) -> Vec<String> {
        Vec::new()
    }
    fn json(&self, _: &Store, _: &MessageFact) -> String {
        String::new()
    }
    fn content(&self, _: &Store, _: BlobId, _: BodyFormat, _: usize) -> Vec<String> {
        Vec::new()
    }
    fn lookup<'a>(&'a self, _: &'a Store) -> Box<dyn ContentLookup + 'a> {
        Box::new(NoContent)
    }
    fn schema(&self) -> &Schema {
        &self.0
    }
}

/// A store built from a script.
struct SteppedStore {
    store: Store,
    bodies: NoBodies,
    /// Frames that are not handled yet.
    unread: std::collections::VecDeque<Frame>,
}

impl SteppedStore {
    fn new(text: &str) -> SteppedStore {
        let mut source = SteppedStore::at(text, 0);
        source.advance_to(u64::MAX);
        source
    }

    /// The store up to message `n`.
    fn at(text: &str, n: u64) -> SteppedStore {
        let schema = Schema::builtin();
        let script = script::parse(text, "test").unwrap();
        let loaded = script::load(&script, &SchemaCodec(schema.clone())).unwrap();
        let store = Store::new(loaded.catalog, loaded.clock, Options::default());
        let mut source = SteppedStore { store, bodies: NoBodies(schema), unread: loaded.frames.into() };
        source.advance_to(n);
        source
    }

    fn advance_to(&mut self, n: u64) {
        while self.store.messages() < n
            && let Some(frame) = self.unread.pop_front()
        {
            self.store.handle(frame);
        }
    }

    fn data(&self) -> StoreData<'_> {
        StoreData { store: &self.store, findings: &[], bodies: &self.bodies, applied: None }
    }
}

fn paths(model: &Model) -> Vec<String> {
    model.screens.diff.compared.comparison.changes.iter().map(|change| change.path.to_string()).collect()
}

fn versions(model: &Model) -> (Option<&str>, Option<&str>) {
    let text = |at| model.screens.diff.version(at).map(|version| &*version.version);
    (text(model.screens.diff.old), text(model.screens.diff.new))
}

#[test]
fn snapshots_of_a_push() {
    let source = SteppedStore::new(SCRIPT);
    assert_snapshots!("diff", &source.data(), ":goto #13<enter>d");
    assert_snapshot!("diff_ascii", screen_in(ASCII, &source.data(), ":goto #13<enter>du", 100, 30));
}

#[test]
fn answer_leads_to_its_push_and_esc_returns() {
    let source = SteppedStore::new(SCRIPT);
    let mut model = typed(&source.data(), ":goto #14<enter>d");
    assert_eq!(
        (model.screen, model.screens.diff.push.as_ref().map(|push| push.n)),
        (ScreenId::Diff, Some(Seq(13)))
    );
    assert_eq!(versions(&model), (Some("41"), Some("42")));
    assert_eq!(
        paths(&model),
        ["connect_timeout", "circuit_breakers.thresholds[priority=DEFAULT].max_connections"]
    );
    let entries: Vec<_> =
        model.screens.diff.push.iter().flat_map(|push| &push.entries).map(|e| (e.op, &*e.name)).collect();
    assert_eq!(entries, [(Op::Changed, "reviews"), (Op::Added, "ledger"), (Op::Removed, "search")]);
    type_keys(&mut model, &source.data(), "j");
    assert_eq!((versions(&model), paths(&model).len()), ((None, Some("42")), 0));
    assert!(drawn_text(&model).contains("+ name: ledger"));
    type_keys(&mut model, &source.data(), "j");
    assert!(drawn_text(&model).contains("- name: search"));
    type_keys(&mut model, &source.data(), "<esc>");
    assert_eq!(model.screen, ScreenId::Timeline);
}

#[test]
fn steps_through_versions_and_bases() {
    let source = SteppedStore::new(SCRIPT);
    let mut model = typed(&source.data(), ":diff rds/edge<enter>");
    assert_eq!(versions(&model), (Some("8"), Some("9")));
    assert!(drawn_text(&model).contains("only the order of keyed lists differs"));
    assert_snapshot!("diff_same_meaning", drawn_text(&model));
    type_keys(&mut model, &source.data(), "o");
    assert_eq!(paths(&model), ["virtual_hosts"]);
    type_keys(&mut model, &source.data(), "o[");
    assert_eq!(
        (versions(&model), paths(&model)),
        ((Some("7"), Some("8")), vec!["virtual_hosts[name=shop].routes[0]".to_owned()])
    );
    type_keys(&mut model, &source.data(), "[");
    assert_eq!(versions(&model), (None, Some("7")));
    type_keys(&mut model, &source.data(), "[");
    assert_eq!(model.common.notice.as_deref(), Some("nothing older on this stream"));
    type_keys(&mut model, &source.data(), "]]");
    assert_eq!(versions(&model), (Some("8"), Some("9")));
    type_keys(&mut model, &source.data(), "]");
    assert_eq!(model.common.notice.as_deref(), Some("this is the newest version on this stream"));
    type_keys(&mut model, &source.data(), "bb");
    assert_eq!(versions(&model), (Some("7"), Some("9")), "the first version");
}

#[test]
fn base_in_force_is_the_accepted_version() {
    let script = "node a\nstream 1 sotw cds\n+0s 1 > v= n=\n1 < v=1 n=a [c~1]\n1 > v=1 n=a\n\
                  1 < v=2 n=b [c~2]\n1 > v=1 n=b nack=\"no\"\n1 < v=3 n=c [c~3]\n1 > v=1 n=c nack=\"no\"\n";
    let source = SteppedStore::new(script);
    let mut model = typed(&source.data(), ":diff cds/c<enter>");
    assert_eq!(versions(&model), (Some("2"), Some("3")));
    type_keys(&mut model, &source.data(), "b");
    assert_eq!(versions(&model), (Some("1"), Some("3")));
    let shown = drawn_text(&model);
    assert!(shown.contains("@1 (in force) → @3 (rejected)"), "{shown}");
}

#[test]
fn jumps_to_changes_and_unfolds_context() {
    let source = SteppedStore::new(SCRIPT);
    let mut model = typed(&source.data(), ":goto #15<enter>d<tab>");
    let rows = model.screens.diff.rows.len();
    let row = |model: &Model| model.screens.diff.mark.and_then(|at| model.screens.diff.rows.get(at).copied());
    type_keys(&mut model, &source.data(), ")");
    assert_eq!(row(&model), Some(DiffRow::Path(0)));
    type_keys(&mut model, &source.data(), ")");
    assert!(matches!(row(&model), Some(DiffRow::Line(_))), "{:?}", row(&model));
    type_keys(&mut model, &source.data(), ")");
    assert_eq!(model.common.notice.as_deref(), Some("no further change below"));
    type_keys(&mut model, &source.data(), "(");
    assert_eq!(row(&model), Some(DiffRow::Path(0)));
    type_keys(&mut model, &source.data(), "c");
    assert!(model.screens.diff.rows.len() > rows && model.screens.diff.mark.is_none());
    type_keys(&mut model, &source.data(), "u");
    assert_snapshot!("diff_columns_100x30", drawn_text(&model));
}

#[test]
fn compares_contents_once() {
    let source = SteppedStore::new(SCRIPT);
    let mut model = typed(&source.data(), ":goto #13<enter>d");
    let before = model.screens.diff.compared.clone();
    update(&mut model, Msg::Resize(200, 60), &source.data());
    type_keys(&mut model, &source.data(), "<tab>jjkuc");
    assert!(Arc::ptr_eq(&before, &model.screens.diff.compared));
    type_keys(&mut model, &source.data(), "o");
    assert!(!Arc::ptr_eq(&before, &model.screens.diff.compared));
}

#[test]
fn compares_marked_pushes() {
    let source = SteppedStore::new(SCRIPT);
    let mut model = typed(&source.data(), ":goto #5<enter>D");
    assert!(model.common.notice.as_deref().is_some_and(|notice| notice.starts_with("#5 is marked")));
    type_keys(&mut model, &source.data(), ":goto #21<enter>D");
    assert_eq!(model.screen, ScreenId::Diff);
    assert_eq!((versions(&model), paths(&model).len()), ((Some("7"), Some("9")), 1));
    assert!(drawn_text(&model).contains("push #21 against #5  RDS 7 → 9"));
}

#[test]
fn copies_the_command_of_a_diff() {
    let source = SteppedStore::new(SCRIPT);
    let mut model = typed(&source.data(), ":goto #13<enter>d");
    let effects = type_keys(&mut model, &source.data(), "yc");
    let command = "xdscope diff session-20260302-135200.xdsrec cds/reviews '#2' '#13' --stream '#1'";
    assert_eq!(effects, [crate::shell::effect::Effect::Copy(command.to_owned())]);
    let effects = type_keys(&mut model, &source.data(), "yr");
    assert_eq!(effects, [crate::shell::effect::Effect::Copy("connect_timeout  \"5s\"  \"0s\"".to_owned())]);
}

#[test]
fn problem_leads_to_its_push() {
    let source = SteppedStore::new(SCRIPT);
    let model = typed(&source.data(), "}5");
    assert_eq!(model.screens.diff.push.as_ref().map(|push| push.n), Some(Seq(13)));
    // Without a selection: the push of the worst problem.
    let model = typed(&source.data(), "5");
    assert_eq!(model.screens.diff.push.as_ref().map(|push| push.n), Some(Seq(13)));
}

/// A server that re-sends a refused push, which changes nothing.
const RESENT: &str = r#"node edge
stream 1 ads
+0s 1 > cds
+1s 1 < cds v=41 n=a [reviews{connect_timeout: 5s}]
+2s 1 > cds v=41 n=a
+3s 1 < cds v=42 n=b [reviews{connect_timeout: 0s}]
+4s 1 > cds v=41 n=b nack="no" code=13
+5s 1 < cds v=42 n=c [reviews{connect_timeout: 0s}]
+6s 1 > cds v=41 n=c nack="no" code=13
+7s 1 > eds v= n= names=[e]
+8s 1 < eds v=9 n=d [e]
+9s 1 > eds v=9 n=d names=[e]
"#;

#[test]
fn diff_of_a_refused_type_shows_the_refused_push() {
    let source = SteppedStore::new(RESENT);
    for keys in ["}d", "ld", "}<enter>d", "2d", "6d"] {
        let model = typed(&source.data(), keys);
        assert_eq!(model.screen, ScreenId::Diff, "{keys}");
        assert_eq!(model.screens.diff.push.as_ref().map(|push| push.n), Some(Seq(4)), "{keys}");
        assert_eq!(versions(&model), (Some("41"), Some("42")), "{keys}");
    }
    let model = typed(&source.data(), "lld");
    assert_eq!(model.screens.diff.push.as_ref().map(|push| push.n), Some(Seq(9)));
}

#[test]
fn paused_diff_shows_no_later_version() {
    let source = SteppedStore::new(SCRIPT);
    let mut model = typed(&source.data(), "");
    let row = source.store.row_of(Seq(16)).unwrap();
    model.common.paused = Some(crate::common::Paused { rows: row, now: source.store.now() });
    type_keys(&mut model, &source.data(), ":diff rds/edge<enter>");
    assert_eq!(versions(&model), (Some("7"), Some("8")));
    type_keys(&mut model, &source.data(), " ]");
    assert_eq!(versions(&model), (Some("8"), Some("9")));
}

#[test]
fn says_that_there_is_nothing_to_compare() {
    let source = SteppedStore::new("node a\nstream 1 ads\n+0s 1 > cds\n");
    let model = typed(&source.data(), "5");
    assert!(drawn_text(&model).contains("Nothing to compare yet"));
    let model = typed(&source.data(), "3d");
    assert_eq!(model.screen, ScreenId::Timeline);
    assert!(model.common.notice.is_some());
}

#[test]
fn folds_unchanged_lines_of_large_contents() {
    let route = |i: u32, timeout: u32| {
        format!("{{match: {{prefix: /{i}}}, route: {{cluster: c, timeout: {timeout}s}}}}")
    };
    let push = |v: u32, changed: u32| {
        let routes: Vec<String> = (0..3000).map(|i| route(i, if i == changed { 9 } else { 1 })).collect();
        format!(
            "1 < v={v} n=n{v} [big{{virtual_hosts: [{{name: h, domains: [\"*\"], routes: [{}]}}]}}]\n1 > v={v} n=n{v} names=[big]\n",
            routes.join(", ")
        )
    };
    let source = SteppedStore::new(&format!(
        "node a\nstream 1 sotw rds\n+0s 1 > v= n= names=[big]\n{}{}",
        push(1, 5),
        push(2, 2000)
    ));
    let mut model = typed(&source.data(), ":diff rds/big<enter>");
    assert_eq!(
        paths(&model),
        ["virtual_hosts[name=h].routes[5].route.timeout", "virtual_hosts[name=h].routes[2000].route.timeout"]
    );
    assert!(model.screens.diff.compared.lines.rows().len() > 15_000 && model.screens.diff.rows.len() < 60);
    type_keys(&mut model, &source.data(), "c");
    assert!(model.screens.diff.rows.len() > 15_000);
    type_keys(&mut model, &source.data(), "G");
    assert!(drawn_text(&model).contains("timeout: 1s"), "the last row is reached");
}

#[test]
fn diff_is_as_of_the_time_cursor() {
    let now = SteppedStore::new(RESENT);
    let mut model = typed(&now.data(), "6d");
    let shown = drawn_text(&model);
    assert!(shown.contains("push refused") && shown.contains("@42 (rejected, sent 2×)"), "{shown}");
    let mut at = |n: u64| {
        let then = SteppedStore::at(RESENT, n);
        model.forget();
        update(&mut model, Msg::Changed, &then.data());
        drawn_text(&model)
    };
    let shown = at(5);
    assert!(shown.contains("push refused") && shown.contains("@42 (rejected)"), "{shown}");
    let shown = at(4);
    assert!(!shown.contains("push refused") && shown.contains("@42 (not answered)"), "{shown}");
    for n in [3, 1] {
        let shown = at(n);
        assert!(shown.contains("push #4 comes after this moment"), "{shown}");
        assert!(!shown.contains("refused") && !shown.contains("42"), "{shown}");
    }
    let shown = at(9);
    assert!(shown.contains("1 field changed"), "{shown}");
    assert!(shown.contains("push refused") && shown.contains("@42 (rejected, sent 2×)"), "{shown}");
    // A resource without a push has its versions up to the cursor.
    let mut model = typed(&now.data(), ":diff cds/reviews<enter>");
    let mut versions_at = |n: u64| {
        let then = SteppedStore::at(RESENT, n);
        model.forget();
        update(&mut model, Msg::Changed, &then.data());
        let (old, new) = versions(&model);
        (old.map(str::to_owned), new.map(str::to_owned), drawn_text(&model))
    };
    assert_eq!(versions_at(3).1.as_deref(), Some("41"));
    assert!(versions_at(1).2.contains("CDS reviews was not sent up to this moment"));
    assert_eq!(versions_at(6).1.as_deref(), Some("42"));
}

#[test]
fn diff_follows_new_messages() {
    let mut source = SteppedStore::at(RESENT, 4);
    let mut model = typed(&source.data(), ":goto #4<enter>d");
    let shown = drawn_text(&model);
    assert!(!shown.contains("push refused") && shown.contains("@42 (not answered)"), "{shown}");
    let compared = model.screens.diff.compared.clone();
    source.advance_to(5);
    update(&mut model, Msg::Changed, &source.data());
    let shown = drawn_text(&model);
    assert!(shown.contains("push refused") && shown.contains("@42 (rejected)"), "{shown}");
    source.advance_to(7);
    update(&mut model, Msg::Changed, &source.data());
    let shown = drawn_text(&model);
    assert!(shown.contains("@42 (rejected, sent 2×)"), "{shown}");
    assert!(Arc::ptr_eq(&compared, &model.screens.diff.compared), "the same contents are not compared again");
}

#[test]
fn kept_resource_has_versions_of_the_earlier_stream() {
    let text = "node n agent=\"envoy/1.40.0\"\nstream 1 delta cds\n> sub=[*]\n< n=1 [a@1]\n> n=1\n+1s close\n\
        +1s stream 2 delta cds\n2 > sub=[*] irv={a:1}\nadvance 1s\n";
    let source = SteppedStore::new(text);
    let stream = source.store.states().last().map(|state| state.summary.stream).unwrap();
    let url = source.store.states()[0].summary.type_url.clone();
    let target = crate::screens::screen::ResourcePlace { stream, type_url: url, name: "a".into() };
    let mut screen = super::DiffScreen::default();
    let total = source.store.rows();
    screen.compare_resource(&source.data(), total, target, None);
    assert_eq!(screen.versions.len(), 1, "the version of stream 1");
}

/// Content that was only sent again, in a response with another version.
#[test]
fn resent_content_is_not_new() {
    let script = "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [same changes~1]\n\
                  +2s 1 > cds v=1 n=a\n+3s 1 < cds v=2 n=b [same changes~2]\n+4s 1 > cds v=2 n=b\n";
    let source = SteppedStore::new(script);
    let shown = screen_in(ASCII, &source.data(), ":diff cds/same<enter>", 100, 30);
    assert!(shown.contains("the content is the same, byte for byte"), "{shown}");
    assert!(shown.contains("@1 (accepted) -> @2") && !shown.contains("nothing ->"), "{shown}");
}

/// One side is drawn over the whole width, not beside an empty column.
#[test]
fn first_content_takes_the_whole_width() {
    let source = SteppedStore::new(SCRIPT);
    let shown = screen_in(ASCII, &source.data(), ":diff cds/ledger<enter>", 200, 60);
    assert!(shown.lines().any(|line| line.starts_with("  + name: ledger")), "{shown}");
}
