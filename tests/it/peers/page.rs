//! Opens the page of `report` in a browser, and validates its HTML.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::docs::seen::output::{Fixture, run};
use crate::support::peers;

/// Fixtures whose pages are checked: refusals with diffs, a graph, gaps, several clients.
const FIXTURES: [&str; 3] = ["tui/gateway", "cli/tour", "tui/refused"];

/// Texts that would run, load or break out of the page if they were markup.
const PLANTED: &str = "</script></style><img src=http://x.test/ onerror=alert(1)>\"'<!--";

/// Writes the page of a source to `folder`.
fn write_page(folder: &Path, name: &str, source: &str) -> PathBuf {
    let page = folder.join(format!("{name}.html"));
    let args = ["report", source, "--output", page.to_str().expect("a path"), "--force"];
    let output = run(&args.map(str::to_owned));
    assert_eq!(output.exit, 0, "{}", output.err);
    page
}

/// Makes an empty folder for the pages and pictures of a test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Returns a script with two clients of six types, long versions, and a refusal.
fn six_types() -> String {
    let mut script = String::new();
    for stream in 1..=2 {
        script.push_str(&format!("node sidecar-{stream}-7d9f8c6b5-x2x4q.default\nstream {stream} ads\n"));
        for (at, kind) in ["lds", "rds", "cds", "eds", "sds", "rtds"].iter().enumerate() {
            let name = format!("outbound-9080-reviews-{kind}");
            let version = format!("2026-11-24T10:00:0{at}Z/{at}");
            script.push_str(&format!("+{stream}{at}s {stream} > {kind} v= n= names=[{name}]\n"));
            script.push_str(&format!(
                "+{stream}{at}.1s {stream} < {kind} v=\"{version}\" n={kind}-{at} [{name}]\n"
            ));
            let answer = match *kind {
                "cds" => "v= nack=\"connect_timeout must be positive\"".to_owned(),
                _ => format!("v=\"{version}\""),
            };
            script.push_str(&format!(
                "+{stream}{at}.2s {stream} > {kind} n={kind}-{at} names=[{name}] {answer}\n"
            ));
        }
    }
    script
}

/// Writes the pages to check: fixtures, and one with markup in every text from the wire.
fn pages(folder: &Path) -> Vec<PathBuf> {
    // As deep as projects are in home folders: a title with the whole path is too long to be valid.
    let deep = folder.join("projects/of-a-team-with-a-long-name/control-plane/recordings/of-november");
    fs::create_dir_all(&deep).expect("a folder");
    let script = deep.join("planted.xds");
    let text = serde_json::to_string(PLANTED).expect("JSON");
    let text = text.trim_matches('"');
    let lines = [
        format!("node \"n{text}\"\nstream 1 sotw cds\n+1s > names=[\"r{text}\"]\n"),
        format!("+1.1s < v=\"v{text}\" n=\"o{text}\" [\"r{text}\"{{connect_timeout: 5s}}]\n"),
        format!("+1.2s > v=\"v{text}\" n=\"o{text}\" names=[\"r{text}\"]\n"),
        format!("+2s < v=\"w{text}\" n=\"p{text}\" [\"r{text}\"{{connect_timeout: 0s}}]\n"),
        format!("+2.1s > v=\"v{text}\" n=\"p{text}\" names=[\"r{text}\"] nack=\"r{text}: bad: {text}\"\n"),
    ];
    fs::write(&script, lines.concat()).expect("a script");
    let mut pages = vec![write_page(folder, "planted", script.to_str().expect("a path"))];
    let script = folder.join("types.xds");
    fs::write(&script, six_types()).expect("a script");
    pages.push(write_page(folder, "types", script.to_str().expect("a path")));
    pages.extend(FIXTURES.map(|name| {
        let fixture = Fixture::find(name).expect("a fixture");
        write_page(folder, &name.replace('/', "-"), &fixture.path)
    }));
    pages
}

#[test]
fn browser_shows_the_page_without_errors() {
    let Some(browser) = peers::browser("browser_shows_the_page_without_errors") else { return };
    let folder = folder("browser_shows_the_page_without_errors");
    let check = peers::sources().join("page/check.mjs");
    for page in pages(&folder) {
        let pictures = page.with_extension("");
        fs::create_dir_all(&pictures).expect("a folder");
        let mut node = Command::new("node");
        node.arg(&check).arg(&page).arg(&pictures);
        let needs = "read the complaints above; pictures are beside the page in target/tmp";
        if let Err(why) = peers::step("open the page in Chromium", needs, &mut node, Some(browser)) {
            panic!("{}: {why}", page.display());
        }
    }
}

#[test]
fn page_is_valid_html() {
    let Some(browser) = peers::browser("page_is_valid_html") else { return };
    let folder = folder("page_is_valid_html");
    let mut validate = Command::new("node");
    validate.arg("node_modules/html-validate/bin/html-validate.mjs");
    validate.arg("--config").arg(peers::sources().join("page/htmlvalidate.json"));
    validate.args(pages(&folder));
    let needs = "read the complaints above";
    if let Err(why) = peers::step("validate the HTML", needs, &mut validate, Some(browser)) {
        panic!("{why}");
    }
}
