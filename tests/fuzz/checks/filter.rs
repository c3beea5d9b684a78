use std::cell::OnceCell;

use xdscope_engine::filter::{Filter, NoContent, RowKind};
use xdscope_engine::store::{self, Store};
use xdscope_sources::script;

use super::arrow_script::Plain;

/// A session with an ACK, a NACK and two types.
const SESSION: &str = include_str!("../../fixtures/lint/nack-resend-loop.bad.xds");

/// Checks that an expression is refused at one of its characters, or matches rows in the same way
/// each time, and the opposite way behind a `!`.
///
/// Input: the expression.
pub fn filter(data: &[u8]) {
    thread_local! {
        static STORE: OnceCell<Store> = const { OnceCell::new() };
    }
    let text = String::from_utf8_lossy(data);
    let filter = match Filter::parse(&text) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(text.is_char_boundary(error.at), "{error}: {text:?}");
            return;
        }
    };
    let opposite = Filter::parse(&format!("!({text})"));
    STORE.with(|store| {
        let store = store.get_or_init(session);
        let rows: Vec<_> = (0..store.rows()).filter_map(|row| store.row(row)).collect();
        assert!(!rows.is_empty());
        for fact in &rows {
            let is_match = filter.message_with(fact, store, &NoContent);
            assert_eq!(filter.message(fact, store), is_match, "{text:?}");
            if let Ok(opposite) = &opposite
                && !filter.is_empty()
                && filter.check(RowKind::Messages).is_ok()
            {
                assert_ne!(opposite.message(fact, store), is_match, "{text:?}");
            }
        }
        for state in store.states() {
            filter.state(&state, store);
            for fact in store.resources(state.summary.stream, &state.summary.type_url) {
                filter.resource(&fact, store);
            }
        }
    });
}

fn session() -> Store {
    let script = script::parse(SESSION, "session").expect("a script");
    let loaded = script::load(&script, &Plain).expect("a session");
    let mut store = Store::new(loaded.catalog, loaded.clock, store::Options::default());
    loaded.frames.into_iter().for_each(|frame| store.handle(frame));
    store
}
