//! Themes of the screens: `[themes.NAME]` in `config.toml`, and the colours of the terminal.

use clap::Arg;
use clap::builder::PossibleValuesParser;
use toml::de::DeTable;

use xdscope_tui::{ColorDepth, NamedTheme, Palette, ThemeRole, Themes, for_background};
use xdscope_wire::text::near::nearest;

use crate::cli::args::{Color, Global};
use crate::cli::terminal::io::Io;

/// The setting and the flag that choose a theme.
pub(crate) const THEME: &str = "theme";

/// An example of a colour for each form.
const COLORS: &str = "a colour such as \"#7aa2f7\", \"bright-black\" or \"default\"";

/// A defect of a theme in the file.
pub(crate) struct ThemeError {
    /// The offset in the file.
    pub at: usize,
    pub why: String,
    /// A setting that is accepted.
    pub next: String,
}

/// Reads the themes of a file: `[themes.NAME]` with a colour for each role.
///
/// # Errors
/// A role is unknown, a colour is not one, or the name is that of a built-in theme.
pub(crate) fn read(table: &DeTable<'_>) -> Result<Themes, ThemeError> {
    let mut themes = Themes::default();
    let mut own: Vec<_> = table.iter().collect();
    own.sort_by_key(|(name, _)| name.span().start);
    for (name, value) in own {
        let (at, name) = (name.span().start, name.get_ref());
        let error = |why: String, next: String| ThemeError { at, why, next };
        let Some(roles) = value.get_ref().as_table() else {
            return Err(error(
                format!("`themes.{name}` must be a table of roles"),
                format!("[themes.{name}]\naccent = \"#7aa2f7\""),
            ));
        };
        if !themes.add(name, theme(roles)?) {
            return Err(error(
                format!("`{name}` is the name of a built-in theme"),
                format!("[themes.my-{name}]"),
            ));
        }
    }
    Ok(themes)
}

/// Reads the roles of a theme. A role that is left out has the terminal's own colours.
fn theme(roles: &DeTable<'_>) -> Result<NamedTheme, ThemeError> {
    let mut theme = NamedTheme::OWN;
    for (key, value) in roles {
        let (at, word) = (key.span().start, key.get_ref().as_ref());
        let Some(role) = ThemeRole::ALL.into_iter().find(|role| role.word() == word) else {
            let words = ThemeRole::ALL.map(ThemeRole::word);
            let why = match nearest(word, words, 1).first() {
                Some(near) => format!("unknown role `{word}`; did you mean `{near}`?"),
                None => format!("unknown role `{word}`"),
            };
            return Err(ThemeError { at, why, next: format!("one of {}", words.join(", ")) });
        };
        let color = value.get_ref().as_str();
        if color.and_then(|color| theme.set(role, color)).is_none() {
            let why = match color {
                Some(color) => format!("`{color}` is not a colour"),
                None => format!("`{word}` must be a text"),
            };
            return Err(ThemeError { at, why, next: COLORS.to_owned() });
        }
    }
    Ok(theme)
}

/// Returns the flag `--theme` with the themes of the file as its values.
pub(crate) fn with_values(arg: Arg, themes: &Themes) -> Arg {
    arg.value_parser(PossibleValuesParser::new(themes.names().into_iter().map(str::to_owned)))
}

/// The themes on this terminal.
pub(crate) struct TerminalThemes {
    /// The colours of each theme, by name.
    pub palettes: Vec<(String, Palette)>,
    /// The default theme depends on a background that only the terminal knows.
    pub asks_background: bool,
}

/// Returns the themes on this terminal.
pub(crate) fn on_terminal(global: &Global, io: &Io<'_>) -> TerminalThemes {
    let env = |name: &str| (io.env)(name);
    let depth = match global.color {
        _ if !io.style(global).color => ColorDepth::None,
        Color::Sixteen => ColorDepth::Sixteen,
        Color::Many => ColorDepth::Indexed,
        Color::True => ColorDepth::True,
        _ => ColorDepth::detect(env("COLORTERM").as_deref(), env("TERM").as_deref()),
    };
    let by_background = for_background(env("COLORFGBG").as_deref(), depth);
    let palette = |name: &str| {
        let named = global.themes.get(name).unwrap_or(NamedTheme::DEFAULT);
        let named = by_background.filter(|_| named == NamedTheme::DEFAULT).unwrap_or(named);
        (name.to_owned(), named.palette(depth))
    };
    TerminalThemes {
        palettes: global.themes.names().into_iter().map(palette).collect(),
        asks_background: by_background.is_none() && matches!(depth, ColorDepth::Indexed | ColorDepth::True),
    }
}
