//! Copies of rows, names and commands.

use super::places::replayed;
use crate::shell::effect::Effect;
use crate::tests::script::{ScriptedStore, select_resource};
use crate::tests::story::story;
use crate::tests::{PLAIN, model, type_keys, typed};

#[test]
fn copies_rows_json_and_commands() {
    let data = story();
    let copied = |keys: &str| {
        let mut model = model(100, 30, PLAIN);
        match type_keys(&mut model, &data, keys).pop() {
            Some(Effect::Copy(text)) => text,
            other => panic!("{other:?}: {:?}", model.common.notice),
        }
    };
    assert_eq!(copied("3yj"), "{\"n\":498}");
    assert!(copied("3yr").starts_with("498  14:02:23.206"));
    assert_eq!(copied("yc"), "xdscope status session-20260302-135200.xdsrec");
    assert_eq!(
        copied("ll<enter><enter>/kind:nack<enter>yc"),
        "xdscope log session-20260302-135200.xdsrec --body --filter 'kind:nack stream:1 kind:nack'"
    );
}

#[test]
fn copied_commands_print_the_state_at_the_time_cursor() {
    let source = ScriptedStore::gateway();
    for (keys, words) in [
        ("", "xdscope status session-20260302-135200.xdsrec --at '#7'"),
        ("3", "xdscope log session-20260302-135200.xdsrec --filter before:#8"),
        ("8", "xdscope get session-20260302-135200.xdsrec -o tree --stream '#1' --at '#7'"),
        ("9", "xdscope lint session-20260302-135200.xdsrec --at '#7'"),
        ("7", "xdscope get session-20260302-135200.xdsrec eds --subscriptions --stream '#1' --at '#7'"),
        ("6", "xdscope log session-20260302-135200.xdsrec --body --filter 'kind:nack before:#8'"),
        ("0", "xdscope log session-20260302-135200.xdsrec --filter 'kind:intercepted before:#8'"),
    ] {
        let mut model = replayed(&source, keys);
        if let Some(bar) = &mut model.common.info.bar {
            (bar.message, bar.at_end) = (7, false);
        }
        let copied = type_keys(&mut model, &source.data(), "yc");
        assert!(
            matches!(copied.first(), Some(Effect::Copy(line)) if line.replace('\'', "") == words.replace('\'', "")),
            "{copied:?}"
        );
    }
}

#[test]
fn copies_a_name_on_every_screen() {
    let source = ScriptedStore::gateway();
    for (keys, name) in [
        ("", "edge-gw-1"),
        ("2", "edge-gw-1"),
        (&*select_resource("cds/reviews"), "reviews"),
        ("6", "reviews"),
    ] {
        let mut model = typed(&source.data(), keys);
        let effects = type_keys(&mut model, &source.data(), "yn");
        assert_eq!(effects, [Effect::Copy(name.to_owned())], "{keys}");
    }
}
