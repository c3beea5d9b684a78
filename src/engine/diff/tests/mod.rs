mod apply;
mod lines;
mod paths;
mod trees;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Generates values with keyed lists, other lists, and maps with unusual keys.
fn contents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0..5i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let field = prop_oneof!["[a-d]", Just("routes".to_owned()), Just("x.y z".to_owned())];
        let named = prop::collection::btree_map("[a-f]", inner.clone(), 0..5).prop_shuffle_items();
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(field, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
            named,
        ]
    })
}

/// Lists of items with names, in any order.
trait Named {
    fn prop_shuffle_items(self) -> BoxedStrategy<Value>;
}

impl<S: Strategy<Value = std::collections::BTreeMap<String, Value>> + 'static> Named for S {
    fn prop_shuffle_items(self) -> BoxedStrategy<Value> {
        let item = |(name, value): (String, Value)| {
            Value::Object(Map::from_iter([("name".into(), name.into()), ("value".into(), value)]))
        };
        self.prop_map(move |map| map.into_iter().map(item).collect::<Vec<_>>())
            .prop_shuffle()
            .prop_map(Value::from)
            .boxed()
    }
}

fn strict() -> Options {
    Options { strict_order: true, ..Options::default() }
}

proptest! {
    #[test]
    fn equal_values_have_no_changes(a in contents()) {
        for options in [Options::default(), strict()] {
            let found = compare(&a, &a, &options);
            prop_assert!(found.changes.is_empty() && found.reordered.is_empty());
            prop_assert_eq!(found.op(), None);
        }
    }

    #[test]
    fn changes_transform_old_into_new(a in contents(), b in contents()) {
        let found = compare(&a, &b, &strict());
        prop_assert_eq!(apply::applied(&a, &found.changes), b.clone(), "{:#?}", found.changes);
        // Without strict order, the result may differ from the new value in its order.
        let found = compare(&a, &b, &Options::default());
        let led = apply::applied(&a, &found.changes);
        let rest = compare(&led, &b, &Options::default());
        prop_assert!(rest.changes.iter().all(|change| change.op == Op::Reordered), "{:#?}", rest.changes);
    }

    #[test]
    fn aligning_to_the_old_order_keeps_everything(a in contents(), b in contents()) {
        let found = compare(&a, &b, &Options::default());
        let back = compare(&found.new, &b, &Options::default());
        prop_assert!(back.changes.is_empty(), "{:#?}", back.changes);
    }

    #[test]
    fn swapping_values_inverts_the_changes(a in contents(), b in contents()) {
        let count = |changes: &[Change], op| changes.iter().filter(|change| change.op == op).count();
        let (there, back) = (compare(&a, &b, &strict()).changes, compare(&b, &a, &strict()).changes);
        prop_assert_eq!(count(&there, Op::Changed), count(&back, Op::Changed));
        prop_assert_eq!(count(&there, Op::Added), count(&back, Op::Removed));
        prop_assert_eq!(count(&there, Op::Removed), count(&back, Op::Added));
        prop_assert_eq!(count(&there, Op::Reordered), count(&back, Op::Reordered));
    }
}

/// Lists with several equally good alignments, which must not depend on the direction.
#[test]
fn alignment_does_not_depend_on_direction() {
    let lists = [
        (json!([false, false]), json!([[], false])),
        (json!([[], true]), json!([true, false, [], [false]])),
        (json!([1]), json!([1, 1])),
    ];
    for (a, b) in lists {
        let ops = |changes: Vec<Change>, turned: bool| {
            let mut ops: Vec<Op> = changes.iter().map(|change| change.op).collect();
            for op in ops.iter_mut().filter(|_| turned) {
                *op = match *op {
                    Op::Added => Op::Removed,
                    Op::Removed => Op::Added,
                    same => same,
                };
            }
            ops.sort();
            ops
        };
        let there = ops(compare(&a, &b, &strict()).changes, false);
        let back = ops(compare(&b, &a, &strict()).changes, true);
        assert_eq!(there, back, "{a} and {b}");
    }
}

#[test]
fn compares_sets_by_key() {
    let old = ["a", "b", "c"];
    let new = ["d", "c", "a"];
    let found = diff_sets(&old, &new, |i, j| old[i] == "a" && new[j] == "a");
    assert_eq!(found, SetDiff { added: vec![0], changed: vec![(2, 1)], removed: vec![1], same: 1 });
}
