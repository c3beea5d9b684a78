//! The rows of `check SERVER`.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;

use xdscope::app::check::rows::SERVER_ROWS;
use xdscope_wire::event::Kind;

use super::flawed_server::{Flaw, FlawedServer};
use super::{Changes, RESOURCES, bad, check, folder, line};
use crate::support::process::{Child, free_port};
use crate::support::tap::xdscope;
use crate::support::wait::wait_for;

/// The resources after each change.
fn texts() -> [(&'static str, String); 3] {
    let updated = RESOURCES.replace("cart{eds}@1", "cart{eds}~2@2").replace("[cart@1 ", "[cart~2@2 ");
    let removed = RESOURCES.replace(" reviews{eds}@1", "").replace(" reviews@1", "");
    [("update", updated), ("remove", removed), ("restore", RESOURCES.to_owned())]
}

#[test]
fn own_control_plane_passes_each_row() {
    let folder = folder("own_control_plane_passes_each_row");
    for (word, text) in texts() {
        fs::write(folder.join(format!("{word}.xds")), text).expect("a script");
    }
    let served = folder.join("served.xds");
    fs::write(&served, RESOURCES).expect("a script");
    let address = format!("127.0.0.1:{}", free_port());
    let mut serve = xdscope(&folder);
    serve.args(["serve", "served.xds", "--reload", "--listen", &address, "--no-tui", "--no-record"]);
    let serve = Child::start(serve.current_dir(&folder), &folder.join("serve.log"));
    wait_for("a server", || serve.log().contains("listening").then_some(()));
    let change = format!(
        "cp {0}/$XDSCOPE_CHANGE_KIND.xds {0}/next.xds && mv {0}/next.xds {0}/served.xds && sleep 1",
        folder.display()
    );
    let (code, results, err) = check(&folder, &[&address, "--change", &change]);
    assert_eq!(bad(&results), [""; 0], "{err}");
    assert_eq!(code, Some(0), "{err}");
    let run: usize = SERVER_ROWS.iter().map(|row| row.variants.len()).sum();
    assert_eq!(results.len(), run);
}

/// Mistakes, and the rows that find them.
const CASES: &[(Flaw, &[&str])] = &[
    (Flaw::NoWildcard, &["wildcard", "wildcard-star", "wildcard-empty", "wildcard-added"]),
    (
        Flaw::IgnoresChanges,
        &[
            "wildcard-name",
            "wildcard-name-ended",
            "wildcard-ended",
            "name-added",
            "names-crossing",
            "name-again",
            "name-never-had",
        ],
    ),
    (Flaw::NoNonce, &["nonces"]),
    (Flaw::OneNonce, &["nonces"]),
    (Flaw::OtherType, &["types"]),
    (Flaw::Duplicate, &["duplicates"]),
    (Flaw::Silent(Kind::Rds), &["warming"]),
    (Flaw::RoutesFirst, &["order"]),
    (Flaw::OneType, &["two-types"]),
    (Flaw::EndsAtUnknown, &["name-unknown"]),
    (Flaw::IgnoresUnknown, &["name-missing", "names-many"]),
    (Flaw::EmptyIsWildcard, &["names-ended"]),
    (Flaw::AnswersAcks, &["ack-silence"]),
    (Flaw::ResendsRefused, &["nack-loop"]),
    (Flaw::StopsAtNack, &["nack-other-type", "nack-name-added"]),
    (Flaw::AnswersStale, &["stale-nonce"]),
    (Flaw::IgnoresStale, &["stale-nonce-name"]),
    (Flaw::SilentLater(1), &["name"]),
    (Flaw::SilentLater(2), &["reconnect"]),
    (Flaw::EndsLaterStreams, &["reconnect-current"]),
    (Flaw::IgnoresHeld, &["reconnect-outdated", "reconnect-gone"]),
    (Flaw::UnannouncedTtl, &["ttl-unannounced"]),
];

/// Mistakes that a change shows.
const CHANGE_CASES: &[(Flaw, &[&str])] =
    &[(Flaw::OneVersion, &["change"]), (Flaw::HidesRemovals, &["removal", "nack-repair", "change-order"])];

/// A row that needs more time than the others.
const SLOW: &[&str] = &["ttl"];

/// Checks some rows of a server. Returns those that passed in a variant.
fn passed(test: &str, address: &str, rows: &[&str], more: &[&str]) -> Vec<String> {
    let folder = folder(test);
    let mut args = vec![address, "--timeout", "800ms", "--settle", "250ms"];
    rows.iter().for_each(|row| args.extend(["--row", row]));
    args.extend(more);
    let (code, results, err) = check(&folder, &args);
    let passed: Vec<String> = results.iter().filter(|of| of["outcome"] == "passed").map(line).collect();
    let not_run: Vec<String> = results.iter().filter(|of| of["outcome"] == "not_run").map(line).collect();
    assert!(!results.is_empty() && not_run.is_empty(), "{test}: {not_run:#?} {err}");
    assert!(passed.is_empty() == (code == Some(1)) || !passed.is_empty(), "{test}: {code:?} {err}");
    passed
}

#[test]
fn each_row_finds_a_server_that_breaks_it() {
    let left = Mutex::new(CASES.iter().enumerate());
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((n, (flaw, rows))) = left.lock().expect("cases").next() else { return };
                    let server = FlawedServer::start(RESOURCES, *flaw);
                    let test = format!("each_row_finds_a_server_that_breaks_it-{n}");
                    let passed = passed(&test, &server.address, rows, &[]);
                    found.lock().expect("results").extend(passed.into_iter().map(|row| (*flaw, row)));
                }
            });
        }
    });
    let found = found.into_inner().expect("results");
    assert!(found.is_empty(), "passed in spite of the mistake: {found:#?}");
}

#[test]
fn rows_with_changes_find_a_server_that_breaks_them() {
    for (flaw, rows) in CHANGE_CASES {
        let folder = folder("rows_with_changes_find_a_server_that_breaks_them");
        let server = FlawedServer::start(RESOURCES, *flaw);
        let address = server.address.clone();
        let changes = Changes::follow(&folder, move |word| {
            let texts = texts();
            let (_, text) = texts.iter().find(|(known, _)| *known == word).expect("a change");
            server.serve(text);
        });
        let test = "rows_with_changes_find_a_server_that_breaks_them-run";
        let passed = passed(test, &address, rows, &["--change", &changes.command]);
        assert!(passed.is_empty(), "{flaw:?}: {passed:#?}");
    }
}

#[test]
fn expired_resources_are_found() {
    let folder = folder("expired_resources_are_found");
    let forgetful = FlawedServer::start(RESOURCES, Flaw::OnlyFirst);
    let args = [&forgetful.address, "--row", "ttl", "--timeout", "4s"];
    let (code, results, _) = check(&folder, &args);
    let lines: Vec<String> = results.iter().map(line).collect();
    assert!(code == Some(1) && lines.iter().all(|line| line.contains("ttl-expired")), "{lines:#?}");
}

#[test]
fn cases_cover_all_rows() {
    let of_cases = CASES.iter().flat_map(|(_, rows)| rows.iter());
    let of_changes = CHANGE_CASES.iter().flat_map(|(_, rows)| rows.iter());
    let covered: BTreeSet<&str> = of_cases.chain(of_changes).chain(SLOW).copied().collect();
    let known: BTreeSet<&str> = SERVER_ROWS.iter().map(|row| row.id).collect();
    assert_eq!(covered, known);
}
