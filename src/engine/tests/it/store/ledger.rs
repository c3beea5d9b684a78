//! Remarks on nonces that do not answer the newest response.

use super::replay;
use xdscope_present::report::row_note;

/// Returns number and remark of the requests that have a remark.
fn notes(text: &str) -> Vec<(u64, String)> {
    let store = replay(&format!("node n cluster=c\n{text}"));
    let rows = (0..store.rows()).filter_map(|row| store.row(row));
    rows.filter_map(|row| Some((row.n?.0, row_note(row.note.as_deref()?)))).collect()
}

#[track_caller]
fn say(text: &str, n: u64, note: &str) {
    assert_eq!(notes(text), [(n, note.to_owned())]);
}

#[test]
fn explains_nonce_that_answers_nothing() {
    let begun = "stream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n";
    assert_eq!(notes(begun), []);
    say(&format!("{begun}> cds v=1"), 4, "no nonce, after one was used");
    say(&format!("{begun}> cds v=1 n=zz"), 4, "nonce never issued");
    let other = format!("{begun}> lds\n< lds v=1 n=l [L]\n> lds v=1 n=l\n");
    say(&format!("{other}> cds v=1 n=l"), 7, "nonce of #5, which is of LDS");
    let more = format!("{begun}< cds v=2 n=b [A~2]\n");
    say(&format!("{more}> cds v=1 n=a"), 5, "nonce of #2, which is not the newest");
    say(&format!("{more}> cds v=2 n=b\n> cds v=1 n=a"), 6, "nonce of #2, older than one used before");
}

#[test]
fn explains_nonce_of_earlier_stream() {
    let ended = "stream 1 ads\n> cds\n< cds v=1 n=a [A]\n> cds v=1 n=a\n1 close status=14\nstream 2 ads\n";
    say(&format!("{ended}> cds v=1 n=a"), 4, "nonce of #2, which is of the earlier stream 1");
    let answered = format!("{ended}> cds v=1\n< cds v=1 n=b [A]\n> cds v=1 n=b\n");
    say(&format!("{answered}> cds v=1 n=a"), 7, "nonce of #2, which is of the earlier stream 1");
    say(&format!("{answered}> lds n=a"), 7, "nonce never issued");
    let delta = "stream 1 delta cds\n> sub=[a]\n< n=x [a@1]\n> n=x\n1 close status=14\nstream 2 delta cds\n";
    let answered = format!("{delta}> sub=[a] irv={{a:1}}\n< n=y [a@2]\n> n=y\n");
    say(&format!("{answered}> n=x"), 7, "nonce of #2, which is of the earlier stream 1");
    let other_node = format!("{ended}node m\nstream 3 ads\n> cds v=1 n=a");
    say(&other_node, 4, "nonce never issued");
}

#[test]
fn explains_delta_nonce_that_answers_nothing() {
    let begun = "stream 1 delta cds\n> sub=[a]\n< n=x [a@1]\n> n=x\n";
    say(&format!("{begun}> n=x sub=[b]"), 4, "nonce of #2, which is settled");
    say(&format!("{begun}> n=q"), 4, "nonce never issued");
    let partial = "stream 1 delta eds\npartial 1\n> n=old\n< n=new [a@1]\n> n=new\n";
    say(&format!("{partial}> n=old"), 4, "nonce of no recorded response");
}
