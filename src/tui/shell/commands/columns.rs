//! The menus behind `s` and `C`: the order and the columns of a list.

use crate::input::command::Command;
use crate::lists::{ColumnSort, Sort};

use crate::shell::model::Model;
use crate::shell::overlay::Overlay;

/// The keys of the entries of a menu, in order. No letter has a command in a menu.
pub(crate) const ENTRY_KEYS: &str = "1234567890abdefghimnoprtuvwxyz";

/// An entry of the menu of orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortEntry {
    pub words: String,
    pub sort: Sort,
    /// The list is in this order.
    pub is_current: bool,
}

/// The orders of the list on the screen.
pub(crate) fn sort_entries(model: &Model) -> Vec<SortEntry> {
    let current = model.common.sorts.get(model.screen);
    let (screen, titles) = (model.screen, model.active().columns(&model.common));
    let fixed: &[Sort] = if screen.is_sortable() {
        &[Sort::Worst, Sort::Name, Sort::Newest]
    } else if screen.is_sortable_by_column() && !titles.is_empty() {
        &[Sort::Worst]
    } else {
        return Vec::new();
    };
    let fixed = fixed.iter().map(|sort| SortEntry {
        words: if screen.is_sortable() { sort.words() } else { "the order of the screen".to_owned() },
        sort: sort.clone(),
        is_current: *sort == current,
    });
    let columns = titles.into_iter().map(|title| {
        let now = current.column().filter(|by| *by.title == title);
        let by = ColumnSort {
            title: title.as_str().into(),
            // The current column turns round.
            is_descending: now.is_some_and(|by| !by.is_descending),
        };
        let words = match now {
            Some(by) if by.is_descending => format!("by {title} (descending)"),
            Some(_) => format!("by {title} (ascending)"),
            None => format!("by {title}"),
        };
        SortEntry { words, sort: Sort::Column(by), is_current: now.is_some() }
    });
    fixed.chain(columns).collect()
}

/// The columns of the list on the screen, and whether each is shown.
pub(crate) fn column_entries(model: &Model) -> Vec<(String, bool)> {
    let titles = model.active().columns(&model.common).into_iter();
    titles
        .map(|title| {
            let is_shown = !model.common.hidden_columns.is_hidden(model.screen, &title);
            (title, is_shown)
        })
        .collect()
}

/// Opens the menu of orders, or says why there is none.
pub(crate) fn open_sort(model: &mut Model) {
    let entries = sort_entries(model);
    if entries.is_empty() {
        let notice = if model.active().columns(&model.common).is_empty() {
            "this list has one order; screens 1, 2, 6, 7 and 9 can be sorted"
        } else {
            "messages stay in the order of time; / narrows them, screens 1, 2, 6, 7 and 9 can be sorted"
        };
        return model.say(notice);
    }
    let chosen = entries.iter().position(|entry| entry.is_current).unwrap_or(0);
    model.overlays.push(Overlay::Sort { chosen });
}

/// Opens the menu of columns, or says why there is none.
pub(crate) fn open_columns(model: &mut Model) {
    if column_entries(model).is_empty() {
        return model.say("no table here; screens 1, 2, 3, 6, 7 and 9 have columns to choose");
    }
    model.overlays.push(Overlay::Columns { chosen: 0 });
}

/// Runs a command of the menus. Returns false if the command is not one of theirs.
pub(crate) fn run(model: &mut Model, command: Command) -> bool {
    let (chosen, len) = match model.overlays.last() {
        Some(Overlay::Sort { chosen }) => (*chosen, sort_entries(model).len()),
        Some(Overlay::Columns { chosen }) => (*chosen, column_entries(model).len()),
        _ => return false,
    };
    match command {
        Command::Up => choose(model, chosen.saturating_sub(1)),
        Command::Down => choose(model, (chosen + 1).min(len.saturating_sub(1))),
        Command::Accept => accept(model, chosen),
        Command::SortWorst => return accept_key(model, '1'),
        Command::SortName => return accept_key(model, '2'),
        Command::SortNewest => return accept_key(model, '3'),
        _ => return false,
    }
    true
}

/// Chooses an entry by its key. Returns false without a menu or such an entry.
pub(crate) fn accept_key(model: &mut Model, key: char) -> bool {
    let len = match model.overlays.last() {
        Some(Overlay::Sort { .. }) => sort_entries(model).len(),
        Some(Overlay::Columns { .. }) => column_entries(model).len(),
        _ => return false,
    };
    match ENTRY_KEYS.find(key) {
        Some(entry) if entry < len => {
            choose(model, entry);
            accept(model, entry);
            true
        }
        _ => false,
    }
}

pub(crate) fn choose(model: &mut Model, to: usize) {
    if let Some(Overlay::Sort { chosen } | Overlay::Columns { chosen }) = model.overlays.last_mut() {
        *chosen = to;
    }
}

/// Applies the chosen entry of the menu of orders or of columns.
pub(crate) fn accept(model: &mut Model, at: usize) {
    match model.overlays.last() {
        Some(Overlay::Sort { .. }) => {
            let Some(entry) = sort_entries(model).into_iter().nth(at) else { return };
            sort(model, entry.sort);
        }
        Some(Overlay::Columns { .. }) => toggle_column(model, at),
        _ => {}
    }
}

/// Hides or shows a column, unless rows need it.
fn toggle_column(model: &mut Model, at: usize) {
    let entries = column_entries(model);
    let Some((title, is_shown)) = entries.get(at) else { return };
    let shown_count = entries.iter().filter(|(_, is_shown)| *is_shown).count();
    if *is_shown && (at == 0 || shown_count == 1) {
        return model.say(format!("{title} stays: rows need it to be told apart"));
    }
    model.common.hidden_columns.toggle(model.screen, title);
}

/// Sorts the list on the screen, and closes the menu.
pub(crate) fn sort(model: &mut Model, by: Sort) {
    if matches!(model.overlays.last(), Some(Overlay::Sort { .. })) {
        model.overlays.pop();
    }
    let words = by.words();
    model.common.sorts.set(model.screen, by);
    model.say(format!("sorted: {words}"));
}
