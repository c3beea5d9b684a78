//! Searches in texts.

use crate::tests::story::story;
use crate::tests::{drawn_text, type_keys, typed};

#[test]
fn finds_in_a_text() {
    let data = story();
    let mut model = typed(&data, "3v\\/line 17<enter>");
    assert_eq!(model.common.notice.as_deref(), Some("\"line 17\" 1 of 1"));
    let text = drawn_text(&model);
    assert!(text.contains("line 17"), "{text}");
    type_keys(&mut model, &data, "/line 2<enter>");
    // line 2, and 20 to 29: from where the reader is.
    assert!(
        model.common.notice.as_deref().is_some_and(|notice| notice.ends_with(" of 11")),
        "{:?}",
        model.common.notice
    );
    let before = model.common.notice.clone();
    type_keys(&mut model, &data, "n");
    assert_ne!(model.common.notice, before);
    type_keys(&mut model, &data, "N");
    assert_eq!(model.common.notice, before);
    type_keys(&mut model, &data, "/no such<enter>");
    assert_eq!(model.common.notice.as_deref(), Some("\"no such\" is not in these 30 lines"));
    assert!(model.common.filter.is_none(), "nothing was filtered");
    type_keys(&mut model, &data, "<esc>");
    assert!(model.find.is_none() && model.common.is_full_screen, "Esc ends the search first");
    type_keys(&mut model, &data, "<esc>/kind:nack<enter>");
    assert_eq!(
        model.common.filter.as_ref().map(|filter| filter.text.as_str()),
        Some("kind:nack"),
        "a list filters"
    );
}

#[test]
fn finds_in_the_help() {
    let mut model = typed(&story(), "?/subscribe unsub<enter>");
    assert!(
        model.common.notice.as_deref().is_some_and(|notice| notice.contains("1 of 1")),
        "{:?}",
        model.common.notice
    );
    type_keys(&mut model, &story(), "<esc>");
    assert!(model.overlays.is_empty(), "Esc leaves the help");
}
