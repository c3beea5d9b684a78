//! Tests of `report`.

use std::fmt::Write as _;
use std::io::Cursor;

use serde_json::Value;

use super::*;
use xdscope_present::page::MAX_PAGE_BYTES;

/// Returns the page of a script.
fn page_of(script: String) -> String {
    let environment = Environment { stdin: Box::new(Cursor::new(script)), ..Environment::default() };
    let output = environment.run(&["report", "-", "--output", "-"]);
    assert_eq!(output.exit, Exit::Yes, "{}", output.err);
    output.out
}

/// Returns the JSON of a block of data.
fn block(page: &str, id: &str) -> Value {
    let start = format!("id=\"{id}\">");
    let text = page.split_once(&start).unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(text).unwrap()
}

#[test]
fn page_shows_both_readings() {
    let page = run(&["report", "tests/fixtures/views/names-after-wildcard.xds", "--output", "-"]).out;
    let (_, matrix) = page.split_once("id=\"matrix-title\"").unwrap();
    let (matrix, _) = matrix.split_once("</section>\n").unwrap();
    let reading = "names without `*` end the wildcard; or the wildcard stays";
    assert!(matrix.contains(reading), "{matrix}");
}

#[test]
fn page_has_verdict_problems_and_data() {
    let page = run(&["report", GATEWAY, "--output", "-"]).out;
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    assert!(page.contains("4 problems</h1>") && page.contains("id=\"p4\""), "{page}");
    assert!(page.contains("CDS NACK  keeps 41"), "the evidence is drawn");
    let data = block(&page, "data");
    let of = |kind: &str| data.as_array().unwrap().iter().filter(|of| of["object"] == kind).count();
    assert_eq!((of("problem"), of("stream"), of("message")), (4, 2, 26));
    let rows = block(&page, "rows");
    assert_eq!(rows["rows"].as_array().unwrap().len(), 28, "26 messages, 2 starts of streams");
    assert_eq!(rows["left_out"], "");
}

/// A phone shows the problems of a node without scrolling.
#[test]
fn problems_are_beside_their_node() {
    let page = run(&["report", GATEWAY, "--output", "-"]).out;
    assert!(page.contains("<tr><th scope=\"col\">node</th><th scope=\"col\">problems</th>"), "{page}");
    let row = page.split_once("<th scope=\"row\">edge-gw-1</th>").unwrap().1;
    assert!(row.starts_with("<td><a class=\"bad\" href=\"#p1\">NACK</a>"), "{row}");
}

/// Evidence that is not on the page is counted, with the command that prints all.
#[test]
fn says_how_much_evidence_is_not_on_the_page() {
    let refused =
        |n: u64| format!("+{n}s 1 < cds v={n} n=n{n} [c~{n}]\n+{n}.1s 1 > cds v=1 n=n{n} nack=\"no\"\n");
    let start = "node a\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [c]\n+1.1s 1 > cds v=1 n=a\n";
    let page =
        |refusals: u64| page_of(start.to_owned() + &(2..2 + refusals).map(refused).collect::<String>());
    let many = page(30);
    let command = "<code>xdscope log - --filter &#39;kind:nack stream:1 type:cds&#39;</code>";
    let (words, _) = many.split_once(command).unwrap_or_else(|| panic!("{many}"));
    assert!(words.ends_with("<p class=\"left-out\">22 more refusals in the recording: "), "{words}");
    assert!(!page(3).contains("in the recording: "));
}

#[test]
fn page_has_cards_graphs_and_charts() {
    let page = run(&["report", GATEWAY, "--output", "-"]).out;
    let card = page.split_once("id=\"nack-20\"").unwrap().1.split_once("</article>").unwrap().0;
    for text in ["NACK×2", "last good 41", "connect_timeout: 5s", "connect_timeout: 0s", "pushed #19 #21"] {
        assert!(card.contains(text), "{text}: {card}");
    }
    let refused = run(&["report", "tests/fixtures/tui/refused.xds", "--output", "-"]).out;
    assert!(page.contains("<path class=\"edge\"") && refused.contains("<path class=\"refused\""));
    assert!(page.contains(">pushes 10, NACKs 3<"), "{page}");
    assert!(page.contains("time from push to ACK or NACK: p50 "), "{page}");
    let untimed = page_of("node a\nstream 1 ads\n> cds\n< cds v=1 n=a [x]\n> cds v=1 n=a\n".to_owned());
    let (html, _) = untimed.split_once("<script>").unwrap();
    assert!(!html.contains("NaN"), "{html}");
}

#[test]
fn page_of_a_healthy_source_has_no_problems() {
    let page = page_of("node a\nstream 1 ads\n> cds\n< cds v=1 n=a [x]\n> cds v=1 n=a\n".to_owned());
    assert!(page.contains("no problems") && page.contains("class=\"verdict good\""), "{page}");
}

#[test]
fn texts_from_the_wire_are_not_markup() {
    const PLANTED: &str = "</script><img src=x onerror=alert(1)>";
    let script = format!(
        "node \"n{PLANTED}\"\nstream 1 sotw cds\n> names=[\"r{PLANTED}\"]\n\
         < v=\"v{PLANTED}\" n=\"o{PLANTED}\" [\"r{PLANTED}\"{{type: EDS}}]\n\
         > v= n=\"o{PLANTED}\" names=[\"r{PLANTED}\"] nack=\"bad: {PLANTED}\"\n\
         1 close status=14 \"gone: {PLANTED}\"\n\
         stream 2 sotw eds\n> names=[\"c{PLANTED}\"]\n\
         2 close status=14 \"gone: {PLANTED}\"\n"
    );
    let page = page_of(script);
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"), "the texts are shown");
    assert!(!page.contains("<img"), "{page}");
    assert_eq!(page.matches("</script>").count(), 4, "rows, contents, data, script");
    assert_eq!(page.matches("<script").count(), 4);
    assert!(block(&page, "data").to_string().contains(PLANTED), "the data are unchanged");
}

#[test]
fn page_loads_nothing() {
    let page = run(&["report", GATEWAY, "--output", "-"]).out;
    let policy =
        page.split_once("content=\"default-src &#39;none&#39;;").unwrap().1.split_once('"').unwrap().0;
    assert_eq!(policy.matches("sha256-").count(), 2, "{policy}");
    let body = page.split_once("</style>").unwrap().1;
    for word in ["src=", "style=", "onclick=", "onload=", "<link", "<iframe", "<object", "@import", "url("] {
        assert!(!body.contains(word), "{word}");
    }
    assert!(!page.split_once("</style>").unwrap().0.contains("url("));
    assert_eq!(page.matches("<style>").count(), 1);
}

#[test]
fn ten_thousand_messages_fit_into_the_limit() {
    let mut script = String::from("node edge-gateway-1 cluster=edge\nstream 1 ads\n");
    let mut at = 0;
    for round in 0..3334 {
        at += 40;
        let kind = ["cds", "eds", "lds"][round % 3];
        let names = if kind == "eds" { " names=[reviews ledger ratings]" } else { "" };
        let resources =
            if kind == "eds" { "reviews ledger ratings" } else { "\"outbound|9080||reviews.default\"" };
        let _ = match round {
            0..3 => writeln!(script, "+{at}ms 1 > {kind} v= n={names}"),
            _ => Ok(()),
        };
        let _ = writeln!(
            script,
            "+{}ms 1 < {kind} v=2026-11-24T10-{round} n=nonce-{round:016x} [{resources}]",
            at + 1
        );
        let _ =
            writeln!(script, "+{}ms 1 > {kind} v=2026-11-24T10-{round} n=nonce-{round:016x}{names}", at + 9);
        let _ =
            writeln!(script, "+{}ms 1 > {kind} v=2026-11-24T10-{round} n=nonce-{round:016x}{names}", at + 19);
    }
    let page = page_of(script);
    let rows = block(&page, "rows");
    assert!(page.len() <= MAX_PAGE_BYTES, "{}", page.len());
    assert_eq!(rows["rows"].as_array().unwrap().len(), 10_000);
    assert!(rows["left_out"].as_str().unwrap().starts_with("the first "), "{}", rows["left_out"]);
}

#[test]
fn long_texts_do_not_exceed_the_limit() {
    let long = "x".repeat(40_000);
    let mut script = String::new();
    for stream in 1..=60 {
        let _ = write!(
            script,
            "node \"n{stream}{long}\"\nstream {stream} sotw cds\n> names=[\"r{long}\"]\n< v=1 n=\"{long}\" [\"r{long}\"]\n\
             > v= n=\"{long}\" names=[\"r{long}\"] nack=\"bad: {long}\"\n"
        );
    }
    let page = page_of(script);
    assert!(page.len() <= MAX_PAGE_BYTES, "{}", page.len());
    assert!(page.contains("left out of this page: "), "the rest is counted");
}

#[test]
fn page_has_no_secrets() {
    let key = "the private key of edge-cert";
    let page = run(&["report", GATEWAY, "--output", "-"]).out;
    assert!(!page.contains(key));
    let kept = run(&["report", GATEWAY, "--output", "-", "--keep-secrets"]);
    assert_eq!((kept.exit, kept.out.as_str()), (Exit::Usage, ""), "{}", kept.err);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kept.xdsrec");
    let path = path.to_str().unwrap();
    run(&["export", GATEWAY, "--to", "xdsrec", "--output", path, "--keep-secrets"]);
    let refused = run(&["report", path, "--output", "-"]);
    assert_eq!((refused.exit, refused.out.as_str()), (Exit::Usage, ""));
    assert!(
        refused.err.contains("contains secrets") && refused.err.contains("xdscope redact"),
        "{}",
        refused.err
    );
}

#[test]
fn writes_a_private_file_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    let path = path.to_str().unwrap();
    let written = run(&["report", GATEWAY, "--output", path]);
    assert_eq!(written.exit, Exit::Yes);
    assert!(
        written.err.starts_with("xdscope: 4 problems; ") && written.err.contains(path),
        "{}",
        written.err
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = run(&["report", GATEWAY, "--output", path]);
    assert_eq!(again.exit, Exit::Unreadable);
    assert!(again.err.contains("--force"), "{}", again.err);
    assert_eq!(run(&["report", GATEWAY, "--output", path, "--force"]).exit, Exit::Yes);
    let source = run(&["report", GATEWAY, "--output", GATEWAY, "--force"]);
    assert!(source.err.contains("is the source"), "{}", source.err);
    let terminal = Environment { terminal: true, ..Environment::default() }.run(&["report", GATEWAY]);
    assert_eq!(terminal.exit, Exit::Usage);
    assert!(terminal.err.contains("--output report.html"), "{}", terminal.err);
}

#[test]
fn graphs_leave_out_what_no_listener_leads_to() {
    let script = "node a\nstream 1 ads\n> cds\n< cds v=1 n=c [used spare-1 spare-2]\n> cds v=1 n=c\n\
                  > lds\n< lds v=1 n=l [web{to: [used]}]\n> lds v=1 n=l\n";
    let page = page_of(script.to_owned());
    let graphs = page.split_once("id=\"graphs\"").unwrap().1.split_once("</section>\n").unwrap().0;
    assert!(graphs.contains(">used<") && !graphs.contains("spare"), "{graphs}");
    assert!(graphs.contains("2 of 4 resources left out of this page"), "{graphs}");
    // Without a listener, nothing tells what is in use.
    let page = page_of(script.split("> lds").next().unwrap().to_owned());
    assert!(page.contains(">spare-1<"), "{page}");
}

/// Returns the section of a page.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<section id=\"{id}\"")).unwrap();
    rest.split_once("</section>\n").unwrap().0
}

#[test]
fn rows_have_names_errors_rules_and_the_body_of_log() {
    let page = run(&["report", GATEWAY, "--output", "-"]).out;
    let (rows, contents) = (block(&page, "rows"), block(&page, "contents"));
    let row_of = |n: u64| rows["rows"].as_array().unwrap().iter().position(|row| row[0] == n).unwrap();
    let content = |n: u64| &contents["messages"][row_of(n).to_string()];
    let body = |n: u64| content(n)["body"].as_str().unwrap();
    assert_eq!(content(19)["names"][0], "+ledger-v2", "{}", content(19));
    assert!(content(20)["error"].as_str().unwrap().contains("ConnectTimeout"), "{}", content(20));
    assert_eq!(content(20)["rules"][0][0], "nack", "{}", content(20));
    for n in [19, 20] {
        let log = run(&["log", GATEWAY, "--body", "--filter", &format!("#{n}")]).out;
        let shown: String = body(n).lines().map(|line| format!("      {line}\n")).collect();
        assert!(log.ends_with(&shown), "{shown}\n{log}");
    }
    assert_eq!(contents["command"][0], format!("xdscope log {GATEWAY} --body --filter '#"));
}

#[test]
fn says_how_much_of_a_body_is_left_out() {
    let names: String = (0..900).map(|at| format!(" cluster-{at}")).collect();
    let page = page_of(format!("node a\nstream 1 ads\n> cds\n< cds v=1 n=a [{names}]\n"));
    let contents = block(&page, "contents");
    let push = &contents["messages"]["2"];
    assert!(push["body"].as_str().unwrap().len() <= 8_000);
    assert!(push["left_out"].as_str().unwrap().ends_with(" lines of the body"), "{}", push["left_out"]);
    assert_eq!((push["names"].as_array().unwrap().len(), &push["more"]), (40, &"and 860 more".into()));
}

#[test]
fn problems_show_the_refused_lines_and_link_to_the_card() {
    let page = run(&["report", GATEWAY, "--output", "-"]).out;
    let card = page.split_once("id=\"p1\"").unwrap().1.split_once("</article>").unwrap().0;
    for text in [
        "<dt>field</dt><dd>connect_timeout",
        "connect_timeout: 5s",
        "connect_timeout: 0s",
        "href=\"#nack-20\"",
    ] {
        assert!(card.contains(text), "{text}: {card}");
    }
    assert!(!card.contains("lb_policy"), "equal lines stay in the card of the NACK: {card}");
}

#[test]
fn refusals_that_are_over_are_folded() {
    let page = run(&["report", GATEWAY, "--output", "-"]).out;
    let nacks = section(&page, "nacks");
    let card = |n: u64| nacks.split_once(&format!("id=\"nack-{n}\">")).unwrap().1;
    assert!(card(20).starts_with("<h3>"), "{nacks}");
    assert!(card(24).starts_with("<details><summary><h3>"), "{nacks}");
}

#[test]
fn equal_graphs_share_a_figure() {
    let client = |n: u64, node: &str| {
        format!(
            "node {node}\nstream {n} ads\n+{n}0s {n} > cds\n+{n}1s {n} < cds v=1 n=a [x]\n+{n}2s {n} > cds v=1 n=a\n"
        )
    };
    let script = [client(1, "b"), client(2, "a"), client(3, "c").replace("[x]", "[y]")].concat();
    let page = page_of(script);
    let graphs = section(&page, "graphs");
    assert!(graphs.contains("<figcaption>2 nodes: a, b</figcaption>"), "{graphs}");
    assert!(
        graphs.contains("<figcaption>c</figcaption>") && graphs.matches("<figure>").count() == 2,
        "{graphs}"
    );
}

/// Resources that a figure does not show, and ages, make no difference.
#[test]
fn graphs_that_look_equal_share_a_figure() {
    let client = |n: u64, node: &str, endpoints: &str| {
        let route = format!(
            "+{n}0.4s {n} > rds names=[r]\n{n} < rds v=1 n=d [r{{to: [x y]}}]\n{n} > rds v=1 n=d names=[r]\n"
        );
        format!(
            "node {node}\nstream {n} ads\n+{n}0s {n} > cds\n{n} < cds v=1 n=a [x{{type: STATIC}} z{{eds}}]\n\
             {n} > cds v=1 n=a\n{n} > lds\n{n} < lds v=1 n=c [l{{rds: r}}]\n{n} > lds v=1 n=c\n{route}\
             {n} > eds names=[{endpoints}]\n{n} < eds v=1 n=e [{endpoints}]\n{n} > eds v=1 n=e names=[{endpoints}]\n"
        )
    };
    let script = [client(1, "b", "z"), client(2, "a", "z w"), client(3, "c", "z v")].concat();
    let page = page_of(script);
    let graphs = section(&page, "graphs");
    assert!(graphs.contains("<figcaption>3 nodes: a, b, c</figcaption>"), "{graphs}");
    assert!(graphs.contains("503") && !graphs.contains("503 since"), "{graphs}");
}

/// The matrix counts the pushes of all streams of a client, as the chart of all pushes does.
#[test]
fn pushes_of_earlier_streams_count() {
    let stream = |n: u64| {
        format!(
            "stream {n} ads\n+{n}0s {n} > cds\n+{n}1s {n} < cds v=1 n=a [x]\n+{n}2s {n} > cds v=1 n=a\n+{n}3s {n} close status=14 gone\n"
        )
    };
    let script = format!("node a\n{}{}{}stream 4 ads\n+44s 4 > cds\n", stream(1), stream(2), stream(3));
    let page = page_of(script);
    assert!(
        section(&page, "matrix").contains("<span class=\"number\">3</span>"),
        "{}",
        section(&page, "matrix")
    );
    assert!(section(&page, "activity").contains("pushes 3, "));
}
