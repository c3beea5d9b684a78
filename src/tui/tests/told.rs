//! Facts on the screens, over a real store.

use std::time::{Duration, Instant};

use crate::tui::shell::effect::Msg;
use crate::tui::shell::update::update;
use crate::tui::widgets::theme::Theme;

use super::real::Real;
use super::{PLAIN, drawn_text, model, screen, screen_in, type_keys};

/// The last line that contains `with`.
fn line<'a>(text: &'a str, with: &str) -> &'a str {
    text.lines().rfind(|line| line.contains(with)).unwrap_or_else(|| panic!("no {with} in\n{text}"))
}

const REFUSED: &str = "node edge\nstream 1 ads\n+0s 1 > cds\n\
    +1s 1 < cds v=41 n=a [cart reviews{connect_timeout: 5s}]\n+2s 1 > cds v=41 n=a\n\
    +3s 1 < cds v=42 n=b [cart reviews{connect_timeout: 0s}]\n\
    +4s 1 > cds v=41 n=b nack=\"reviews: no\" code=13\n";

#[test]
fn unchanged_resource_of_a_refused_push_keeps_its_version() {
    let real = Real::of(REFUSED);
    let resources = screen(&real.data(), "4", 100, 30);
    let cart = line(&resources, " cart ").split('│').next().unwrap();
    assert!(cart.contains("41") && cart.contains('✓') && !cart.contains("42"), "{resources}");
    assert!(line(&resources, " reviews ").contains("42"), "{resources}");
    let graph = screen(&real.data(), "8", 100, 30);
    let cart = line(&graph, "CDS cart");
    assert!(cart.contains("✓ 41") && !cart.contains("42"), "{graph}");
}

#[test]
fn unreachable_server_is_a_problem_without_a_node() {
    let mut real = Real::of(REFUSED);
    for (stream, at) in [(5, 5), (6, 6)] {
        real.fail(stream, at, "connect 10.0.0.1:18000 failed: Connection refused");
    }
    let overview = screen(&real.data(), "1", 130, 30);
    let why = "server can't be reached, 2 attempts since +5.0s: connect failed: Connection refused";
    assert!(line(&overview, why).contains("DOWN   1s   10.0.0.1:18000"), "{overview}");
    assert!(overview.contains("! 2 problems") && overview.contains("1 of 1 node "), "{overview}");
    assert!(!overview.contains("(connection)"), "{overview}");
}

const ASKED: &str = "node edge\nstream 1 ads\n+0s 1 > eds v= n= names=[e]\n+1s 1 > rds v= n= names=[r]\n";

#[test]
fn name_is_missing_after_the_timeout() {
    let real = Real::of(ASKED);
    let subs = screen(&real.data(), "7j", 100, 30);
    assert!(subs.contains("1 waiting") && subs.contains("waiting 1"), "{subs}");
    assert!(!subs.contains("1 missing") && !subs.contains("missing 1"), "{subs}");
    assert!(
        line(&subs, "▸ EDS  by name").split('│').next().unwrap().trim_end().ends_with("1     0"),
        "{subs}"
    );
    assert!(!line(&screen(&real.data(), "2", 100, 30), "not sent").contains("missing"));
    let real = Real::of(&format!("{ASKED}+20s 1 > sds v= n= names=[s]\n"));
    let subs = screen(&real.data(), "7j", 100, 30);
    assert!(subs.contains("0 answered, 1 missing") && subs.contains("missing 20"), "{subs}");
    let resources = screen(&real.data(), "4", 100, 30);
    let row = resources.lines().find(|line| line.contains(" e ")).unwrap();
    assert!(row.contains("∅ missing") && !resources.contains("absent"), "nobody said so: {resources}");
}

#[test]
fn shows_problems_that_a_stream_closed_with() {
    let real = Real::of(&format!("{REFUSED}+5s 1 close status=14 \"gone\"\n"));
    let shown = screen(&real.data(), "", 100, 30);
    assert!(line(&shown, "when its stream closed").contains("last CDS NACK"), "{shown}");
    assert!(line(&shown, "closed 0.0s ago:").contains("; last CDS NACK"), "{shown}");
    assert!(shown.contains("! 1 problem ") && !shown.contains("\n none"), "{shown}");
    let accepted: String = REFUSED.lines().take(5).map(|line| format!("{line}\n")).collect();
    let real = Real::of(&format!("{accepted}+5s 1 close status=14 \"gone\"\n"));
    let shown = screen(&real.data(), "", 100, 30);
    assert!(shown.contains("\n none") && !shown.contains("! 1 problem"), "{shown}");
}

#[test]
fn shows_only_fields_of_the_variant() {
    let real =
        Real::of("node a\nstream 1 delta-ads\n+0s 1 > cds sub=[x]\n+1s 1 < cds n=1 [x@7]\n+2s 1 > cds n=1\n");
    let at = |n: u64| screen(&real.data(), &format!(":goto #{n}<enter>"), 100, 30);
    let asked = at(1);
    assert!(asked.contains("resource_names_subscribe") && asked.contains("1 x"), "{asked}");
    assert!(!asked.contains("version_info") && !asked.contains("response_nonce"), "{asked}");
    assert!(!at(2).contains("version_info") && at(2).contains("nonce "));
    let ack = at(3);
    assert!(ack.contains("response_nonce") && !ack.contains("resource_names"), "{ack}");
    let sotw = screen(&Real::of(REFUSED).data(), ":goto #3<enter>", 100, 30);
    assert!(sotw.contains("version_info") && sotw.contains("resource_names"), "{sotw}");
}

#[test]
fn selects_the_refused_resource_among_many() {
    let names: String = (0..40).map(|i| format!(" c{i}")).collect();
    let push = |version: u32, seconds: u32| {
        format!("1 < cds v={version} n=n{version} [{names} reviews{{connect_timeout: {seconds}s}}]\n")
    };
    let real = Real::of(&format!(
        "node edge\nstream 1 ads\n+0s 1 > cds\n{}1 > cds v=41 n=n41\n{}1 > cds v=41 n=n42 \
         nack=\"Error adding/updating cluster(s) reviews: no\" code=13\n",
        push(41, 5),
        push(42, 0)
    ));
    for keys in ["64", "6<enter>"] {
        let mut model = model(100, 30, PLAIN);
        type_keys(&mut model, &real.data(), keys);
        let selected = model.screens.resources.tree.selected.as_ref().and_then(|place| place.name.as_deref());
        assert_eq!(selected, Some("reviews"), "{keys}");
        assert!(drawn_text(&model).contains("▸    reviews"), "{keys}: {}", drawn_text(&model));
    }
}

#[test]
fn keeps_the_keys_on_a_low_terminal() {
    let real = Real::of(REFUSED);
    let mut model = model(80, 24, PLAIN);
    update(&mut model, Msg::Notice("a hint of many words ".repeat(6)), &real.data());
    let shown = drawn_text(&model);
    let last = shown.lines().last().unwrap();
    assert!(last.contains("? help") && last.contains("q quit"), "{shown}");
    assert!(shown.lines().rev().skip(1).take(2).all(|line| line.contains("a hint of many words")), "{shown}");
}

#[test]
fn overview_shows_filter_result_and_order() {
    let real = Real::of(REFUSED);
    let shown = screen(&real.data(), "/node:nobody<enter>", 100, 30);
    assert!(shown.contains("0 of 1 match; Esc clears"), "{shown}");
    assert!(screen(&real.data(), "", 100, 30).contains("· problems first"));
    assert!(screen(&real.data(), "s2", 100, 30).contains("· by name"));
}

#[test]
fn shows_folds_in_ascii() {
    let ascii = Theme { color: false, ascii: true, contrast: false };
    let shown = screen_in(ascii, &Real::of(REFUSED).data(), "4", 100, 30);
    assert!(shown.contains("[-] CDS"), "{shown}");
    let shown = screen_in(ascii, &Real::of(REFUSED).data(), "4h", 100, 30);
    assert!(shown.contains("[+] CDS"), "{shown}");
}

#[test]
fn draws_long_texts_in_time() {
    let name = format!("n{}", "x".repeat(300_000));
    for long in
        ["x".repeat(300_000), "e ".repeat(150_000), "Proto constraint validation failed ".repeat(9000)]
    {
        let real = Real::of(&format!(
            "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [\"{name}\"]\n\
             +2s 1 > cds v= n=a nack=\"{name}: {long}\" code=13\n+3s 1 > eds v= n= names=[\"{name}\"]\n"
        ));
        for keys in ["1", "2", "3", "3k", "4", "5", "6", "7", "8", "9", "6\\G", "3k\\G", "3kvvw"] {
            let mut model = model(100, 30, PLAIN);
            type_keys(&mut model, &real.data(), keys);
            let start = Instant::now();
            update(&mut model, Msg::Changed, &real.data());
            let shown = drawn_text(&model);
            // Twenty times the usual time of an unoptimized build. Laying out the full text takes
            // minutes.
            assert!(start.elapsed() < Duration::from_secs(2), "{keys}: {:?}\n{shown}", start.elapsed());
        }
    }
}
