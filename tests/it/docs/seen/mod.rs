//! Checks that users can see each row of the protocol table: runs the verbs and draws the screens
//! that the column `seen` of `tests/rows.txt` and the table `tests/triggers.txt` name.

mod entry;
pub mod output;

use std::sync::Mutex;
use std::thread;

pub use entry::Seen;
use entry::SeenEntry;
use output::Fixture;

use crate::docs::rows;

/// Facts that xdscope derives and no view shows yet. The number may only fall.
const MISSING: usize = 0;

/// Returns the complaints about the entries of one row.
fn complaints(id: &str, held_by: &str, seen: &str) -> Vec<String> {
    match Seen::parse(seen) {
        Ok(Seen::Nowhere(reason)) => {
            let short = reason.len() < 15;
            short.then(|| format!("{id}: gives no reason")).into_iter().collect()
        }
        Ok(Seen::In(entries)) => {
            let check = |entry: &SeenEntry| check(entry, held_by).err().map(|why| format!("{id}: {why}"));
            entries.iter().filter(|entry| !entry.is_missing()).filter_map(check).collect()
        }
        Err(why) => vec![format!("{id}: {why}")],
    }
}

/// Checks one entry with its own fixture, or with any fixture that holds the row.
fn check(entry: &SeenEntry, held_by: &str) -> Result<(), String> {
    if let Some((path, function)) = entry.test() {
        return entry.check(&output::test_body(path, function)?);
    }
    let named: Vec<&str> = match &entry.fixture {
        Some(name) => vec![name],
        None => held_by.split(' ').filter(|proof| !proof.contains("::")).collect(),
    };
    let mut found = Err(format!("`{}` needs a fixture: add @FIXTURE", entry.view));
    for name in named {
        let fixture = Fixture::find(name).ok_or_else(|| format!("no fixture {name}"))?;
        let shown = match entry.screen() {
            Some(keys) => fixture.screen(&keys)?,
            None => output::run(&entry.arguments(&fixture.path)).all(),
        };
        found = entry.check(&shown).map_err(|why| format!("@{name} {why}"));
        if found.is_ok() {
            break;
        }
    }
    found
}

/// Checks lines in parallel, and returns the complaints in the order of the lines.
fn check_all<T: Sync>(lines: &[T], check: impl Fn(&T) -> Vec<String> + Sync) -> Vec<String> {
    let found = Mutex::new(Vec::new());
    let workers = thread::available_parallelism().map_or(2, usize::from).min(8);
    thread::scope(|scope| {
        for worker in 0..workers {
            let (found, check) = (&found, &check);
            scope.spawn(move || {
                for (n, line) in lines.iter().enumerate().skip(worker).step_by(workers) {
                    let wrong = check(line);
                    found.lock().expect("complaints").extend(wrong.into_iter().map(|why| (n, why)));
                }
            });
        }
    });
    let mut found = found.into_inner().expect("complaints");
    found.sort();
    found.into_iter().map(|(_, why)| why).collect()
}

#[test]
fn views_show_each_row() {
    let wrong = check_all(&rows::table(), |row| complaints(&row.id, &row.held_by, &row.seen));
    assert!(wrong.is_empty(), "{} entries are not shown:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn facts_without_a_view_are_counted() {
    let missing = |row: &rows::Row| Seen::parse(&row.seen).is_ok_and(|seen| !seen.missing().is_empty());
    let missing: Vec<String> = rows::table().into_iter().filter(missing).map(|row| row.id).collect();
    assert_eq!(missing.len(), MISSING, "{missing:?}");
}

/// The table of sessions that break one rule.
const TRIGGERS: &str = include_str!("../../../triggers.txt");

#[test]
fn triggers_have_their_findings() {
    let lines: Vec<&str> = TRIGGERS.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 47);
    let wrong = check_all(&lines, |line| {
        let Ok([trigger, fixture, findings]) = <[&str; 3]>::try_from(line.split(" | ").collect::<Vec<_>>())
        else {
            return vec![format!("not three columns: {line}")];
        };
        let conditions = |finding: &str| match finding.split_once(' ') {
            Some((severity, rule)) => format!("lint -o jsonl: severity={severity} & rule={rule}"),
            None => format!("{finding} lacks a rule"),
        };
        findings.split(", ").flat_map(|one| complaints(trigger, fixture, &conditions(one))).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn entries_that_are_not_shown_are_reported() {
    let wrong = |seen: &str| complaints("A-10", "rows/A-10", seen).join("\n");
    assert_eq!(wrong("status -o wide: CDS .. SYNCED ; screen 3: ack"), "");
    let text = wrong("status -o wide: CDS .. NACK");
    assert!(text.starts_with("A-10: @rows/A-10 `status -o wide` does not show `CDS .. NACK`"), "{text}");
    assert!(text.contains("nearest: ") && text.contains("SYNCED"), "{text}");
    assert!(wrong("screen 3: refused").contains("`screen 3` does not show `refused`"));
    assert_eq!(wrong("status -o jsonl: type=cds & state=synced"), "");
    assert!(wrong("status -o jsonl: type=rds & state=synced").contains("nearest: "));
    assert!(wrong("status -o wide").contains("not VIEW: TEXT"));
    assert!(wrong("none: short").contains("gives no reason"));
    assert!(complaints("A-15", "src/a.rs::b", "log: x").join("").contains("needs a fixture"));
}
