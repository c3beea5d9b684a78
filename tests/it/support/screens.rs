//! Draws the screens of a source at one moment, as text.

use std::collections::BTreeMap;
use std::path::Path;

use crossterm::event::KeyCode;
use jiff::tz::TimeZone;
use ratatui::{buffer::Buffer, layout::Rect};
use xdscope_engine::analysis::{Analysis, rules};
use xdscope_engine::store::Options;
use xdscope_sources::Spec;
use xdscope_tui::Decoded;
use xdscope_tui::{Data, Info, Model, Msg, StoreData, Theme, search, update, view};

/// Keys that open each screen and the details of its rows. `\n` is Enter.
pub const KEYS: [&str; 28] = [
    "1",
    "1\n",
    "1j\n",
    "2",
    "2j",
    "3",
    "3L",
    "3v",
    "3k\n",
    "3kkkd",
    "3/kind:nack\n\n",
    "4",
    "4\n",
    "4\n\n",
    "4\nj\n\n",
    "5",
    "5\n",
    "6",
    "6\n",
    "7",
    "7\n",
    "8",
    "8p",
    "8\n",
    "9",
    "9x",
    "9jj",
    "9\n",
];

const WIDTH: u16 = 120;
const ROWS: u16 = 34;

/// Returns each screen of [`KEYS`] with trailing blanks removed; `info` describes the program.
pub fn all(info: &Info, data: &dyn Data) -> BTreeMap<&'static str, Vec<String>> {
    KEYS.into_iter().map(|keys| (keys, shown(info, data, keys, (WIDTH, ROWS)))).collect()
}

/// Returns one screen of a terminal that is large enough for all columns.
pub fn wide(info: &Info, data: &dyn Data, keys: &str) -> Vec<String> {
    shown(info, data, keys, (200, 60))
}

/// Returns the screens of a file at its end, with all rules, in a large terminal.
pub fn of_file<'a>(path: &Path, keys: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let spec = Spec { seed: 7, ..Spec::new(path) };
    let source = xdscope_sources::open(&spec, &Default::default()).map_err(|error| error.to_string())?;
    let (schema, loaded) = (source.schema, source.loaded);
    let store = xdscope_sources::store(Options::default(), loaded.catalog, loaded.clock, &schema);
    let mut store = Analysis::new(store, rules(&schema));
    loaded.frames.into_iter().for_each(|frame| store.handle(frame));
    store.advance(loaded.end);
    let bodies = Decoded(schema);
    let data = StoreData { findings: store.findings(), store: &store, bodies: &bodies, applied: None };
    Ok(keys.into_iter().map(|keys| wide(&Info::default(), &data, keys).join("\n")).collect())
}

fn shown(info: &Info, data: &dyn Data, keys: &str, (width, rows): (u16, u16)) -> Vec<String> {
    let mut model = Model::new((width, rows), Theme::default(), TimeZone::UTC);
    let mut send = |message: Msg| {
        update(&mut model, message, data);
        while search(&mut model, data) {}
        update(&mut model, Msg::Changed, data);
    };
    send(Msg::Info(Box::new(info.clone())));
    for key in keys.chars() {
        send(Msg::Key(if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) }.into()));
    }
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, rows));
    view(&model, &mut buffer);
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    };
    buffer.content.chunks(usize::from(width)).map(line).collect()
}
