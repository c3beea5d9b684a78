use proptest::prelude::*;

use crate::diff::{DiffSide, LineDiff, LinePart, LineTag, emphasis, fold_unchanged};

fn marked(parts: &[LinePart<'_>]) -> String {
    parts
        .iter()
        .map(|part| if part.changed { format!("<{}>", part.text) } else { part.text.to_owned() })
        .collect()
}

#[test]
fn marks_changed_words() {
    let (old, new) = emphasis("    connect_timeout: 5s", "    connect_timeout: 0.25s");
    assert_eq!(
        (marked(&old), marked(&new)),
        ("    connect_timeout: <5s>".into(), "    connect_timeout: <0.25s>".into())
    );
    let (old, new) = emphasis("alpha", "omega: 1");
    assert_eq!((marked(&old), marked(&new)), ("<alpha>".into(), "<omega: 1>".into()));
}

#[test]
fn rows_and_pairs_agree() {
    let diff = LineDiff::new("a\nb\nc\nd\n".into(), "a\nB\nC\nX\nd\n".into());
    let rows: Vec<String> = diff
        .rows()
        .iter()
        .map(|row| match row.tag {
            LineTag::Same => format!(" {}", diff.line(DiffSide::New, row.new.unwrap())),
            LineTag::Removed => format!("-{}", diff.line(DiffSide::Old, row.old.unwrap())),
            LineTag::Added => format!("+{}", diff.line(DiffSide::New, row.new.unwrap())),
        })
        .collect();
    assert_eq!(rows, [" a", "-b", "-c", "+B", "+C", "+X", " d"]);
    let pairs: Vec<_> = diff.pairs().iter().map(|pair| (pair.left, pair.right, pair.changed)).collect();
    assert_eq!(
        pairs,
        [
            (Some(0), Some(0), false),
            (Some(1), Some(1), true),
            (Some(2), Some(2), true),
            (None, Some(3), true),
            (Some(3), Some(4), false)
        ]
    );
}

#[test]
fn folds_unchanged_runs_but_not_single_rows() {
    let changed = |at: usize| at == 5 || at == 12;
    assert_eq!(
        fold_unchanged(20, 2, changed),
        [(0..3, true), (3..8, false), (8..10, true), (10..15, false), (15..20, true)]
    );
    assert_eq!(fold_unchanged(3, 1, |at| at == 2), [(0..3, false)]);
    assert_eq!(fold_unchanged(4, 9, |_| false), [(0..4, true)]);
    assert_eq!(fold_unchanged(0, 1, |_| true), []);
}

proptest! {
    #[test]
    fn rows_contain_both_texts(a in "([ab]{0,2}\n){0,12}", b in "([ab]{0,2}\n){0,12}") {
        let diff = LineDiff::new(a.clone(), b.clone());
        let text = |side: DiffSide| -> String {
            let number = |row: &crate::diff::DiffRow| match (side, row.tag) {
                (DiffSide::Old, LineTag::Added) | (DiffSide::New, LineTag::Removed) => None,
                (DiffSide::Old, _) => row.old,
                (DiffSide::New, _) => row.new,
            };
            diff.rows().iter().filter_map(number).map(|n| format!("{}\n", diff.line(side, n))).collect()
        };
        prop_assert_eq!(text(DiffSide::Old), a);
        prop_assert_eq!(text(DiffSide::New), b);
    }

    #[test]
    fn folds_cover_all_rows(len in 0usize..40, context in 0usize..5, changes in prop::collection::vec(0usize..40, 0..6)) {
        let runs = fold_unchanged(len, context, |at| changes.contains(&at));
        let mut next = 0;
        for (range, fold) in runs {
            prop_assert_eq!(range.start, next);
            prop_assert!(range.end > range.start);
            next = range.end;
            prop_assert!(!fold || range.clone().all(|at| !changes.contains(&at)));
        }
        prop_assert_eq!(next, len);
    }

    #[test]
    fn parts_form_the_whole_line(a in "\\PC{0,30}", b in "\\PC{0,30}") {
        let (old, new) = emphasis(&a, &b);
        let text = |parts: &[LinePart<'_>]| parts.iter().map(|part| part.text).collect::<String>();
        prop_assert_eq!(text(&old), a.clone());
        prop_assert_eq!(text(&new), b.clone());
    }
}
