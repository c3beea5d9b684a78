//! Random keys at random sizes.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;

use crate::tui::shell::effect::Msg;
use crate::tui::shell::update::update;
use crate::tui::tests::script::ScriptedStore;
use crate::tui::tests::story::{Story, story};
use crate::tui::tests::{drawn, model};
use crate::tui::widgets::theme::Theme;

fn msg() -> impl Strategy<Value = Msg> {
    let named = prop::sample::select(vec![
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Backspace,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageDown,
        KeyCode::PageUp,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::F(5),
    ]);
    let bound = prop::sample::select(
        "123456jkhlgGLfvznNtTyrcpdDuobwiPABSR()[]:/?{}\\q 名é'\"x,.<>m".chars().collect::<Vec<_>>(),
    );
    prop_oneof![
        8 => bound.prop_map(|c| Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))),
        4 => named.prop_map(|code| Msg::Key(KeyEvent::new(code, KeyModifiers::NONE))),
        1 => prop::char::range('a', 'z').prop_map(|c| Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL))),
        2 => (0u16..210, 0u16..70).prop_map(|(width, height)| Msg::Resize(width, height)),
        1 => Just(Msg::Changed),
        1 => any::<String>().prop_map(Msg::Paste),
    ]
}

/// The story up to a row, with fewer streams, as a live source may be.
fn part(rows: usize, streams: usize) -> Story {
    let mut part = story();
    part.rows.truncate(rows);
    part.streams.truncate(streams);
    part.states.retain(|state| part.streams.iter().any(|stream| stream.stream == state.stream));
    part
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn random_keys_do_not_panic(
        messages in prop::collection::vec((msg(), 0usize..14, 0usize..11), 1..120),
        ascii in any::<bool>(),
    ) {
        let mut model = model(80, 24, Theme::MONO.with_ascii(ascii));
        model.common.info.client = ascii;
        for (message, rows, streams) in messages {
            update(&mut model, message, &part(rows, streams));
            let buffer = drawn(&model);
            if ascii {
                prop_assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn random_keys_do_not_panic_over_contents(messages in prop::collection::vec(msg(), 1..80), ascii in any::<bool>()) {
        let source = ScriptedStore::gateway();
        let mut model = model(100, 30, Theme::MONO.with_ascii(ascii));
        for message in messages {
            update(&mut model, message, &source.data());
            let buffer = drawn(&model);
            if ascii {
                prop_assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
            }
        }
    }
}
