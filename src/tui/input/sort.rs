//! What the lists are sorted by.

use std::collections::HashMap;

use crate::tui::shell::model::Screen;

/// An order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Worst,
    Name,
    Newest,
}

impl Sort {
    pub fn word(self) -> &'static str {
        match self {
            Sort::Worst => "problems first",
            Sort::Name => "by name",
            Sort::Newest => "newest first",
        }
    }
}

/// The order that was chosen for each screen.
#[derive(Clone, Debug, Default)]
pub struct Sorts(HashMap<u8, Sort>);

impl Sorts {
    pub fn of(&self, screen: Screen) -> Sort {
        self.0.get(&screen.number()).copied().unwrap_or_default()
    }

    pub fn set(&mut self, screen: Screen, by: Sort) {
        self.0.insert(screen.number(), by);
    }
}
