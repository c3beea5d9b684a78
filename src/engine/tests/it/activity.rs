//! Activity of scripted sources.

use std::time::Duration;

use crate::store::replay;
use xdscope_engine::activity::*;
use xdscope_engine::store::{Options, Store};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{ApiVersion, Clock, Kind, StreamId, Time};

/// A push each ten seconds, the last one refused after 40 ms.
const PUSHES: &str = "node a\nstream 1 ads\n+0s 1 > cds\n\
    +1s 1 < cds v=1 n=a [c]\n+1002ms 1 > cds v=1 n=a\n\
    +11s 1 < cds v=2 n=b [c~2]\n+11002ms 1 > cds v=2 n=b\n\
    +21s 1 < cds v=3 n=c [c~3]\n+21040ms 1 > cds v=2 n=c nack=\"no\"\n";

fn followed(text: &str, budget: usize) -> (Store, RecentActivity) {
    let store = replay(text);
    let mut recent = RecentActivity::default();
    while recent.follow(&store, store.rows(), budget) {}
    (store, recent)
}

fn pushes(cells: Vec<Option<Tally>>) -> Vec<Option<u32>> {
    cells.into_iter().map(|cell| cell.map(|tally| tally.pushes)).collect()
}

#[test]
fn counts_pushes_by_cells_of_time() {
    let (store, recent) = followed(PUSHES, 1000);
    let axis = recent.axis(Duration::from_secs(60), 6);
    assert_eq!((axis.cell(), axis.cell_count()), (Duration::from_secs(10), 6));
    let wanted = vec![None, None, None, Some(1), Some(1), Some(1)];
    assert_eq!(pushes(recent.total(axis)), wanted);
    let stream = StreamId(1);
    assert_eq!(pushes(recent.of_streams(&store, [stream].into_iter(), axis)), wanted);
    let cds = Kind::Cds.type_url(ApiVersion::V3).expect("a type");
    assert_eq!(pushes(recent.of_type(&store, stream, &cds, axis)), wanted);
    let last = recent.total(axis).pop().flatten().expect("a tally");
    assert_eq!((last.nacks, last.slowest), (1, 40_000));
    assert_eq!(last.latencies[latency_class(Duration::from_millis(40))], 1);
    assert_eq!(recent.last_push().map(|at| at.as_secs_f64()), Some(21.0));
}

#[test]
fn counts_each_row_once_in_slices() {
    let (_, whole) = followed(PUSHES, 1000);
    let (_, slices) = followed(PUSHES, 1);
    let axis = whole.axis(SPAN, 30);
    assert_eq!(whole.total(axis), slices.total(axis));
    assert_eq!(pushes(whole.total(axis)).iter().flatten().sum::<u32>(), 3);
}

#[test]
fn counts_no_row_after_the_moment() {
    let store = replay(PUSHES);
    let mut recent = RecentActivity::default();
    while recent.follow(&store, store.rows(), 1000) {}
    while recent.follow(&store, 5, 1000) {}
    let axis = recent.axis(SPAN, 30);
    assert_eq!(pushes(recent.total(axis)).iter().flatten().sum::<u32>(), 2, "after going back");
    while recent.follow(&store, store.rows(), 1000) {}
    assert_eq!(pushes(recent.total(axis)).iter().flatten().sum::<u32>(), 3);
}

#[test]
fn drops_what_is_older_than_the_span() {
    let late = format!("{PUSHES}+400s 1 < cds v=4 n=d [c~4]\n");
    let (_, recent) = followed(&late, 1000);
    let axis = recent.axis(SPAN, 10);
    assert_eq!(pushes(recent.total(axis)).iter().flatten().sum::<u32>(), 1);
    assert!(recent.total(axis).iter().all(Option::is_some), "the source is older than the axis");
}

#[test]
fn untimed_sources_have_no_recent_activity() {
    let clock = Clock { epoch: None, untimed: true };
    let store = Store::new(Catalog::in_memory(), clock, Options::default());
    let mut recent = RecentActivity::default();
    assert!(!recent.follow(&store, store.rows(), 1000) && !recent.is_counting());
    assert_eq!(recent.last_push(), None);
}

#[test]
fn nack_by_version_that_is_taken_back_counts_no_more() {
    let nack = "node a\nstream 1 sotw eds\n+0s > names=[a]\n+1s < v=1 n=1 [a]\n> v=1 n=1 names=[a]\n\
                +2s < v=2 n=2 [a~2]\n> v=1 n=2 names=[a b]\n";
    let (_, mut recent) = followed(nack, 1000);
    let counts = |recent: &RecentActivity| {
        let mut sum = Tally::default();
        recent.total(recent.axis(SPAN, 30)).iter().flatten().for_each(|tally| sum.merge(tally));
        (sum.nacks, sum.latencies.iter().sum::<u32>())
    };
    assert_eq!(counts(&recent), (1, 2));
    let store = replay(&format!("{nack}> v=2 n=2 names=[a b]\n"));
    while recent.follow(&store, store.rows(), 1000) {}
    assert_eq!(counts(&recent), (0, 2), "the ACKs are left");
    let stream = [StreamId(1)].into_iter();
    let of_stream = recent.of_streams(&store, stream, recent.axis(SPAN, 30));
    assert_eq!(of_stream.iter().flatten().map(|tally| tally.nacks).sum::<u32>(), 0);
}

fn recorded(store: &Store, end: u64, budget: usize) -> RecordedActivity {
    let mut recorded = RecordedActivity::default();
    while recorded.follow(store, Time(end), None, budget) {}
    recorded
}

/// Equal times of a recording stand in equal columns, whatever is drawn.
#[test]
fn messages_and_tallies_of_a_recording_share_their_columns() {
    let store = replay(PUSHES);
    for (end, columns) in [(21_040_000_000, 10), (42_000_000_000, 77), (100_000_000_000, 700)] {
        let cells = recorded(&store, end, 1).columns(store.now(), columns);
        let column = |millis: u64| column_of(millis * 1_000_000, end, columns);
        let nack = cells.iter().position(|cell| cell.is_some_and(|tally| tally.nacks > 0));
        assert_eq!(nack, Some(column(21_040)), "{end} {columns}");
        let first = cells.iter().position(|cell| cell.is_some_and(|tally| tally.pushes > 0));
        assert_eq!(first, Some(column(1_000)), "{end} {columns}");
        let parts = messages_by_part(&store, Time(end));
        assert_eq!(parts.iter().sum::<u64>(), store.rows() as u64);
        let mut messages = vec![0; columns];
        parts.iter().enumerate().for_each(|(part, number)| messages[column_of_part(part, columns)] += number);
        for millis in [0, 1_000, 11_000, 21_040] {
            assert!(messages[column(millis)] > 0, "{end} {columns} {millis}: {messages:?}");
        }
        // Columns after the moment are blank.
        assert!(cells.iter().skip(column(21_040) + 1).all(Option::is_none), "{end} {columns}");
    }
    assert_eq!(column_of(5, 5, 0), 0);
}

#[test]
fn recorded_activity_counts_a_type_and_starts_again_when_the_moment_goes_back() {
    let store = replay(PUSHES);
    let mut recorded = RecordedActivity::default();
    let sum = |recorded: &RecordedActivity| {
        recorded.columns(store.now(), 20).iter().flatten().map(|tally| tally.pushes).sum::<u32>()
    };
    let end = store.now();
    assert!(recorded.follow(&store, end, None, 2) && recorded.is_counting());
    while recorded.follow(&store, end, None, 2) {}
    assert_eq!((sum(&recorded), recorded.is_counting()), (3, false));
    while recorded.follow(&store, end, Some((StreamId(1), 0)), 2) {}
    assert_eq!(sum(&recorded), 3);
    while recorded.follow(&store, end, Some((StreamId(1), 1)), 2) {}
    assert_eq!(sum(&recorded), 0);
    // An earlier moment of the same recording has fewer rows.
    let earlier = replay(PUSHES.split("+11s").next().expect("a part"));
    recorded.follow(&store, end, None, 1000);
    recorded.follow(&earlier, end, None, 1000);
    assert_eq!(
        recorded.columns(earlier.now(), 20).iter().flatten().map(|tally| tally.pushes).sum::<u32>(),
        1
    );
}
