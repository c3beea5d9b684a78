//! The filter as it is typed.

use crate::shell::model::Model;
use crate::tests::script::ScriptedStore;
use crate::tests::{PLAIN, drawn_text, line, model, type_keys, typed};

use super::places::PROBLEMS;

fn rows(model: &Model) -> usize {
    model.screens.timeline.index.len()
}

fn in_force(model: &Model) -> Option<&str> {
    model.common.filter.as_ref().map(|filter| filter.text.as_str())
}

#[test]
fn list_stays_while_the_expression_is_incomplete() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "3/");
    let all = rows(&model);
    assert_eq!(in_force(&model), None, "it starts empty");
    for typed in "kind:nac".chars() {
        type_keys(&mut model, &source.data(), &typed.to_string());
        assert_eq!((rows(&model), in_force(&model)), (all, None), "{typed}");
    }
    type_keys(&mut model, &source.data(), "k");
    assert_eq!((rows(&model), in_force(&model)), (1, Some("kind:nack")), "searched while it is typed");
    type_keys(&mut model, &source.data(), " type:c");
    assert_eq!((rows(&model), in_force(&model)), (1, Some("kind:nack")), "the complete part stays");
    type_keys(&mut model, &source.data(), "<esc>");
    assert_eq!((rows(&model), in_force(&model)), (all, None));
}

#[test]
fn name_matches_by_its_beginning_while_it_is_typed() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "3/node:edge");
    assert_eq!(in_force(&model), Some("node:edge*"));
    assert!(rows(&model) > 10);
    let shown = drawn_text(&model);
    assert!(line(&shown, " / node:edge").contains("near: edge-gw-1 edge-gw-2"), "{shown}");
    type_keys(&mut model, &source.data(), "-gw-1<enter>");
    assert_eq!(in_force(&model), Some("node:edge-gw-1"));
    type_keys(&mut model, &source.data(), "/node:egde-gw-1<enter>");
    let notice = model.common.notice.clone().unwrap_or_default();
    assert!(notice.contains("no node egde-gw-1; near: edge-gw-1"), "{notice}");
}

#[test]
fn wrong_expression_is_explained_in_full() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "3/type:cds<enter>");
    let before = rows(&model);
    type_keys(&mut model, &source.data(), "/knd:nack");
    let shown = drawn_text(&model);
    for part in ["unknown field `knd`, near: kind", "quote the word"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert_eq!((rows(&model), in_force(&model)), (before, Some("type:cds")));
    // A value that the source does not have leaves the list as it was.
    for (typed, last) in [("type:cdx", "type:cds"), ("node:egde", "node:e*"), ("rule:nakx", "rule:na*")] {
        type_keys(&mut model, &source.data(), &format!("<esc>/{typed}"));
        assert_eq!(in_force(&model), Some(last), "{typed}");
    }
    type_keys(&mut model, &source.data(), "<esc>/knd:nack");
    type_keys(&mut model, &source.data(), "<enter>");
    assert_eq!(model.overlays.len(), 1, "the prompt stays open");
    assert!(drawn_text(&model).contains("near: kind"), "{}", drawn_text(&model));
    type_keys(&mut model, &source.data(), "^ustate:nak<enter>");
    assert!(drawn_text(&model).contains("near: nack"), "{}", drawn_text(&model));
    type_keys(&mut model, &source.data(), "<esc>");
    assert_eq!((rows(&model), in_force(&model)), (before, Some("type:cds")));
}

#[test]
fn completes_fields_and_values() {
    let source = ScriptedStore::new(PROBLEMS);
    let input = |keys: &str| {
        let model = typed(&source.data(), keys);
        match model.overlays.last() {
            Some(crate::Overlay::Filter(prompt)) => prompt.input.clone(),
            _ => panic!("no prompt"),
        }
    };
    assert_eq!(input("3/ki<tab>"), "kind:");
    assert_eq!(input("3/kind:na<tab>"), "kind:nack");
    assert_eq!(input("3/type:cds node:edge<tab>"), "type:cds node:edge-gw-");
    assert_eq!(input("3/rule:route-unknown<tab>"), "rule:route-unknown-cluster");
    assert_eq!(input("3/name:led<tab>"), "name:led", "of another stream");
}

#[test]
fn recalls_filters_and_starts_empty() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "3/kind:nack<enter>/kind:push<enter>/");
    assert_eq!(in_force(&model), Some("kind:push"), "in force until something is typed");
    type_keys(&mut model, &source.data(), "<up><up>");
    assert_eq!(in_force(&model), Some("kind:nack"));
    type_keys(&mut model, &source.data(), "<up>");
    assert_eq!(model.common.notice.as_deref(), Some("no older filter"));
    type_keys(&mut model, &source.data(), "<down><enter>");
    assert_eq!(in_force(&model), Some("kind:push"));
    type_keys(&mut model, &source.data(), "/<enter>");
    assert_eq!(in_force(&model), None, "nothing typed: everything is shown");
}

#[test]
fn filter_unfolds_what_matches() {
    let clusters: Vec<String> = (0..40).map(|i| format!("c{i}")).collect();
    let script = format!(
        "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [{}]\n+2s 1 > cds v=1 n=a\n",
        clusters.join(" ")
    );
    let source = ScriptedStore::new(&script);
    // Below the title, which names the filter.
    let is_listed = |model: &Model| drawn_text(model).lines().skip(4).any(|line| line.contains("c33"));
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &source.data(), "4");
    assert!(!drawn_text(&model).contains("c33"), "a large type is folded");
    type_keys(&mut model, &source.data(), "/c33<enter>");
    assert!(is_listed(&model), "{}", drawn_text(&model));
    type_keys(&mut model, &source.data(), "<esc>8");
    assert!(!drawn_text(&model).contains("c33"), "{}", drawn_text(&model));
    type_keys(&mut model, &source.data(), "/c33<enter>");
    assert!(is_listed(&model), "{}", drawn_text(&model));
}

#[test]
fn search_in_a_text_goes_along_while_it_is_typed() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "?");
    let top = drawn_text(&model);
    type_keys(&mut model, &source.data(), "/next match");
    assert!(drawn_text(&model).contains("1 of "), "{}", drawn_text(&model));
    assert_ne!(drawn_text(&model).lines().nth(6), top.lines().nth(6), "it scrolled there");
    type_keys(&mut model, &source.data(), "<esc>");
    assert_eq!(drawn_text(&model), top, "Esc goes back");
    type_keys(&mut model, &source.data(), "/next match<enter>/<up>");
    assert!(drawn_text(&model).contains(" / next match"), "{}", drawn_text(&model));
}

#[test]
fn filters_by_content_on_every_list() {
    let source = ScriptedStore::gateway();
    let filter = "/has:eds_cluster_config<enter>";
    let timeline = typed(&source.data(), &format!("3{filter}"));
    let pushes = rows(&timeline);
    assert!((1..rows(&typed(&source.data(), "3"))).contains(&pushes), "{pushes}");
    let field = typed(&source.data(), "3/field:connect_timeout=0s<enter>");
    assert_eq!(rows(&field), 2, "the refused push, sent twice");
    for keys in [format!("4{filter}"), ":Cluster.eds_cluster_config<enter>".to_owned()] {
        let shown = drawn_text(&typed(&source.data(), &keys));
        assert!(line(&shown, "CDS  ").contains(" of "), "{keys}\n{shown}");
        assert!(!shown.contains("CDS  0 of") && shown.contains("LDS  0 of 1"), "{keys}\n{shown}");
    }
}

/// A filter whose fields the rows of a screen lack leaves the list as it is, and says where it
/// applies.
#[test]
fn filter_of_other_rows_hides_nothing() {
    let source = ScriptedStore::gateway();
    let below_title = |keys: &str| {
        let shown = drawn_text(&typed(&source.data(), keys));
        shown.lines().skip(4).take(20).map(str::to_owned).collect::<Vec<_>>()
    };
    for (screen, filter, others) in [
        ("1", "kind:nack", "screens 3, 9"),
        ("2", "kind:nack", "screens 3, 9"),
        ("4", "kind:nack", "screens 3, 9"),
        ("6", "kind:nack", "screens 3, 9"),
        ("7", "dir:req", "screens 3, 9"),
        ("1", "has:eds_cluster_config", "screens 3, 4, 7, 9"),
        ("3", "state:nack", "screens 1, 2, 4, 6, 7, 8, 9"),
        ("3", "state:nack rule:nack-resend-loop", "no screen"),
    ] {
        let keys = format!("{screen}/{filter}<enter>");
        let shown = drawn_text(&typed(&source.data(), &keys));
        assert!(shown.contains(&format!("the filter is for {others};")), "{keys}\n{shown}");
        assert_eq!(below_title(&keys), below_title(screen), "{keys}");
    }
    let matrix = drawn_text(&typed(&source.data(), "1/kind:nack<enter>j"));
    assert!(line(&matrix, "filter kind:nack").contains("(only for screens 3, 9)"), "{matrix}");
    assert!(drawn_text(&typed(&source.data(), "3/kind:nack<enter>")).contains("(Esc clears)"));
}

/// The hint is shortened before the expression is.
#[test]
fn scope_line_shows_how_a_filter_ends() {
    let source = ScriptedStore::gateway();
    for (width, height) in [(80, 24), (100, 30)] {
        for filter in
            ["rev", "type:cds name:reviews version:42", "node:edge-gw-1 type:cds | kind:nack !name:cart"]
        {
            let mut model = model(width, height, PLAIN);
            type_keys(&mut model, &source.data(), &format!("3/{filter}<enter>"));
            let shown = drawn_text(&model);
            let scope = shown.lines().nth(3).unwrap_or_default();
            assert!(scope.contains("(Esc clears)") || scope.contains("(Esc)"), "{scope}");
        }
    }
}
