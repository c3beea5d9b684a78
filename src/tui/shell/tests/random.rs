//! Random keys at random sizes.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;

use crate::shell::effect::{Effect, Msg};
use crate::shell::run::painter::{Painter, blank};
use crate::shell::settle::search;
use crate::shell::update::update;
use crate::shell::view::view;
use crate::tests::script::ScriptedStore;
use crate::tests::story::{Story, story};
use crate::tests::{drawn, model, text};
use crate::widgets::theme::Theme;

/// Keys without a character. Esc is twice as likely, since it leaves prompts and panes.
const NAMED: [KeyCode; 15] = [
    KeyCode::Enter,
    KeyCode::Esc,
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
];

fn msg() -> impl Strategy<Value = Msg> {
    let named = prop::sample::select(&NAMED[..]);
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
    part.states.retain(|state| part.streams.iter().any(|stream| stream.stream == state.summary.stream));
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

/// The generator of Knuth's MMIX; its high bits are the random ones.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn message(&mut self, size: (u16, u16)) -> Msg {
        const CLICKS: [MouseEventKind; 4] = [
            MouseEventKind::Down(MouseButton::Left),
            MouseEventKind::Down(MouseButton::Right),
            MouseEventKind::ScrollDown,
            MouseEventKind::ScrollUp,
        ];
        let plain = |c| Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        match self.below(10) {
            0..5 => plain(char::from(b' ' + self.below(95) as u8)),
            5..7 => Msg::Key(KeyEvent::new(self.pick(&NAMED), KeyModifiers::NONE)),
            7 => {
                let c = char::from(b'a' + self.below(26) as u8);
                Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL))
            }
            _ => {
                let (column, row) = (self.below(u64::from(size.0) + 2), self.below(u64::from(size.1) + 2));
                let kind = self.pick(&CLICKS);
                let (column, row) = (column as u16, row as u16);
                Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
            }
        }
    }
}

/// The bytes written to the terminal.
#[derive(Clone, Default)]
struct Output(Rc<RefCell<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The number of keys and clicks on each screen in place of [`MESSAGES`]; see CONTRIBUTING.md.
const MESSAGES_VARIABLE: &str = "XDSCOPE_KEYS";
/// Keys and clicks on each screen.
const MESSAGES: usize = 1_200;
/// Messages between two new sizes.
const MESSAGES_PER_RESIZE: usize = 20;
/// Messages between two frames that are compared with the terminal.
const MESSAGES_PER_FRAME: usize = 100;

/// Types, clicks and resizes at random, starting on one screen and coming back to it. The terminal
/// shows each frame without leftovers of frames before.
fn stress(screen: usize, seed: u64, messages: usize, source: &ScriptedStore) {
    let data = source.data();
    let mut random = Random(seed);
    let output = Output::default();
    let mut model = model(100, 30, Theme::MONO);
    let mut painter = Painter::new(output.clone());
    let mut terminal = vt100::Parser::new(30, 100, 0);
    let key = |c| Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
    for at in 0..messages {
        if model.screen as usize != screen && random.below(4) == 0 {
            model.overlays.clear();
            update(&mut model, key(char::from(b'1' + screen as u8)), &data);
        }
        if at % MESSAGES_PER_RESIZE == 0 {
            let size = (random.below(180) as u16 + 1, random.below(60) as u16 + 1);
            update(&mut model, Msg::Resize(size.0, size.1), &data);
            terminal = vt100::Parser::new(size.1, size.0, 0);
            painter = Painter::new(output.clone());
        }
        let message = random.message(model.common.size);
        let effects = update(&mut model, message, &data);
        if effects.contains(&Effect::Redraw) {
            painter.forget();
        }
        if random.below(8) == 0 {
            while search(&mut model, &data) {}
        }
        if at % MESSAGES_PER_FRAME == 0 || at % (4 * MESSAGES_PER_RESIZE) == 1 {
            let mut buffer = blank(model.common.size);
            let cursor = view(&model, &mut buffer);
            painter.paint(buffer.clone(), cursor).expect("memory");
            terminal.process(&output.0.take());
            let shown = terminal.screen().rows(0, model.common.size.0).map(|row| row.trim_end().to_owned());
            let shown = shown.collect::<Vec<_>>().join("\n");
            assert_eq!(shown, text(&buffer), "screen {} after message {at}, seed {seed}", screen + 1);
        }
    }
    // Nothing is left that the user cannot leave.
    update(&mut model, Msg::Resize(100, 30), &data);
    for _ in 0..60 {
        update(&mut model, Msg::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)), &data);
    }
    assert!(model.overlays.is_empty() && model.common.filter.is_none() && model.find.is_none());
}

#[test]
fn keys_and_clicks_on_each_screen_leave_nothing_behind() {
    let messages = std::env::var(MESSAGES_VARIABLE).map_or(MESSAGES, |text| text.parse().expect("a number"));
    std::thread::scope(|scope| {
        for first in [0, 1] {
            scope.spawn(move || {
                let source = ScriptedStore::new(super::places::PROBLEMS);
                for screen in (first..9).step_by(2) {
                    stress(screen, screen as u64 + 1, messages, &source);
                }
            });
        }
    });
}

/// 10,800 keys and clicks, and 540 sizes, on what real control planes and clients sent.
#[test]
fn keys_and_clicks_on_recordings_of_meshes_leave_nothing_behind() {
    const PATHS: [&str; 3] = [
        "tests/fixtures/recordings/istio.xdsrec",
        "tests/fixtures/tui/meshes.xds",
        "examples/too-many-pings.xdsrec",
    ];
    std::thread::scope(|scope| {
        for (path, seed) in PATHS.into_iter().zip(1..) {
            scope.spawn(move || {
                let source = ScriptedStore::recorded(path);
                for screen in 0..9 {
                    stress(screen, 100 * seed + screen as u64, MESSAGES / PATHS.len(), &source);
                }
            });
        }
    });
}
