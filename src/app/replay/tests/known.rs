//! Facts at the time cursor.

use super::*;

/// Findings of several streams that become one problem, and a stream that is rejected again and
/// again.
fn recurring() -> String {
    let mut text = String::from("node flapping\n");
    for n in 1..=4 {
        let _ = writeln!(text, "stream {n} ads\n+{n}s {n} > cds\n+{n}.5s {n} close status=14 \"gone\"");
    }
    for n in 5..=7 {
        let _ =
            writeln!(text, "node edge-{n}\nstream {n} ads\n+{n}s {n} > cds\n+{n}.1s {n} < cds v=1 n=c [a]");
        let _ = writeln!(text, "+{n}.2s {n} > cds v=1 n=c\n+{n}.3s {n} > rds v= n= names=[r]");
        let _ = writeln!(text, "+{n}.4s {n} < rds v=1 n=r [r{{to: [missing]}}]");
        let _ = writeln!(text, "+{n}.5s {n} > rds v=1 n=r names=[r]");
    }
    text + "advance 9s\n"
}

/// The words at a problem are those of the cursor, never of later messages.
#[test]
fn tells_problems_as_they_are_at_the_cursor() {
    for text in [TOUR.to_owned(), recurring()] {
        let (mut cursor, looks) = ended(&text, store::Options::default().history);
        let marks = Marks::find(&cursor, looks);
        let mut place = cursor.start();
        let mut stops = 0;
        while let Some(next) = marks.problem(place, Direction::Forward, ProblemFilter::All) {
            cursor.seek(next);
            place = next;
            stops += 1;
            let Some(reached) = marks.at(&cursor) else { panic!("nothing is known at {next:?}") };
            if reached.words.contains(" NACK #") {
                continue;
            }
            let clock = cursor.store().clock();
            let known = problems(cursor.store(), cursor.findings());
            let mut sentences = known.iter().map(|problem| xdscope_present::report::problem(problem, &clock));
            let is_told = sentences.any(|sentence| reached.words.ends_with(&sentence));
            assert!(is_told, "{} at #{}", reached.words, cursor.store().messages());
        }
        assert!(stops >= 2, "{stops}");
    }
}
