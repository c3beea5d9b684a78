//! Styles by role, and symbols with their ASCII replacements. No fact is shown by colour alone.

mod glyphs;
mod named;
mod palette;

use ratatui::style::{Color, Modifier, Style};

pub(crate) use glyphs::{Glyphs, StateMark, ascii, marked_state, problem_symbol, state_mark};
pub use named::{NamedTheme, Themes, for_background};
pub use palette::{ColorDepth, Palette, ThemeRole};

use xdscope_present::report::Role;

/// The styles of roles, and whether only ASCII symbols are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    pub palette: Palette,
    pub ascii: bool,
}

impl Theme {
    /// The 16 colours of the terminal, and Unicode symbols.
    pub const SIXTEEN: Theme = Theme { palette: Palette::SIXTEEN, ascii: false };
    /// Weight alone, and Unicode symbols.
    pub const MONO: Theme = Theme { palette: Palette::MONO, ascii: false };

    /// Returns the theme with ASCII symbols.
    pub const fn with_ascii(self, ascii: bool) -> Theme {
        Theme { ascii, ..self }
    }

    pub fn style(self, role: Role) -> Style {
        let style = Style::new();
        let palette = self.palette;
        let weight = match role {
            Role::Title | Role::Bad | Role::Key => style.add_modifier(Modifier::BOLD),
            // A colour of its own sets the text back already.
            Role::Muted if !palette.is_contrast && palette.color(ThemeRole::Muted).is_none() => {
                style.add_modifier(Modifier::DIM)
            }
            Role::Ok | Role::Pending | Role::Warn | Role::Changed | Role::Added | Role::Removed
                if palette.is_contrast =>
            {
                style.add_modifier(Modifier::BOLD)
            }
            Role::AddedWord | Role::RemovedWord => style.add_modifier(Modifier::UNDERLINED),
            _ => style,
        };
        let color = palette.color(match role {
            Role::Plain | Role::Title | Role::Wire => ThemeRole::Text,
            Role::Muted => ThemeRole::Muted,
            Role::Key | Role::Name => ThemeRole::Accent,
            Role::Ok | Role::Added | Role::AddedWord | Role::Value => ThemeRole::Good,
            Role::Pending | Role::Warn | Role::Changed => ThemeRole::Wait,
            Role::Bad | Role::Removed | Role::RemovedWord => ThemeRole::Bad,
        });
        color.map_or(weight, |color| weight.fg(color))
    }

    /// The style of the selected row: a background, or else text and background swapped.
    pub fn selection(self) -> Style {
        match self.palette.color(ThemeRole::Selection) {
            Some(color) => Style::new().bg(color),
            // Swapped colours of single cells would break the row into pieces.
            None => {
                let plain = Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM);
                plain.add_modifier(Modifier::REVERSED)
            }
        }
    }

    /// The colour of plain text on the selected row.
    pub(crate) fn selected_text(self) -> Color {
        let own = self.palette.color(ThemeRole::Text);
        self.palette.selected_text.or(own).unwrap_or_default()
    }

    pub(crate) fn glyphs(self) -> &'static Glyphs {
        Glyphs::choose(self.ascii)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [Role; 16] = [
        Role::Plain,
        Role::Title,
        Role::Muted,
        Role::Ok,
        Role::Pending,
        Role::Warn,
        Role::Bad,
        Role::Wire,
        Role::Key,
        Role::Added,
        Role::Changed,
        Role::Removed,
        Role::AddedWord,
        Role::RemovedWord,
        Role::Name,
        Role::Value,
    ];

    #[test]
    fn uses_no_colour_when_disabled() {
        for named in [NamedTheme::DARK, NamedTheme::LIGHT, NamedTheme::CONTRAST, NamedTheme::DEFAULT] {
            let theme = Theme { palette: named.palette(ColorDepth::None), ascii: false };
            assert!(ROLES.iter().all(|role| theme.style(*role).fg.is_none()));
            assert_eq!(theme.selection().bg, None);
        }
        assert!(ROLES.iter().all(|role| Theme::MONO.style(*role).fg.is_none()));
    }

    #[test]
    fn uses_no_background_except_the_selection_and_no_blue() {
        for role in ROLES {
            assert_eq!(Theme::SIXTEEN.style(role).bg, None, "{role:?}");
            assert_ne!(Theme::SIXTEEN.style(role).fg, Some(Color::Blue), "{role:?}");
        }
        assert_eq!(Theme::SIXTEEN.selection().bg, None, "swapped, whatever the background");
        let dark = Theme { palette: NamedTheme::DARK.palette(ColorDepth::True), ascii: false };
        assert_eq!(dark.selection().bg, Some(Color::Rgb(0x2f, 0x35, 0x49)));
    }
}
