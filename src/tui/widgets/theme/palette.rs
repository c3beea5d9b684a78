//! The colours of a theme by role, in as many colours as the terminal has.

use ratatui::style::Color;

/// The number of colours of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorDepth {
    #[default]
    None,
    Sixteen,
    /// 256 colours.
    Indexed,
    /// 24 bits.
    True,
}

impl ColorDepth {
    /// The number of colours that a terminal states in `COLORTERM` and `TERM`.
    pub fn detect(colorterm: Option<&str>, term: Option<&str>) -> ColorDepth {
        let term = term.unwrap_or_default();
        match colorterm {
            Some("truecolor" | "24bit") => ColorDepth::True,
            _ if term.ends_with("-direct") => ColorDepth::True,
            _ if term.contains("256color") => ColorDepth::Indexed,
            _ => ColorDepth::Sixteen,
        }
    }
}

/// A role that a theme gives a colour to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThemeRole {
    Text,
    Muted,
    Accent,
    Good,
    Wait,
    Bad,
    Selection,
}

impl ThemeRole {
    pub const ALL: [ThemeRole; 7] = [
        ThemeRole::Text,
        ThemeRole::Muted,
        ThemeRole::Accent,
        ThemeRole::Good,
        ThemeRole::Wait,
        ThemeRole::Bad,
        ThemeRole::Selection,
    ];

    /// The key in `config.toml`.
    pub fn word(self) -> &'static str {
        match self {
            ThemeRole::Text => "text",
            ThemeRole::Muted => "muted",
            ThemeRole::Accent => "accent",
            ThemeRole::Good => "good",
            ThemeRole::Wait => "wait",
            ThemeRole::Bad => "bad",
            ThemeRole::Selection => "selection",
        }
    }
}

/// The colours of the roles on one terminal; a role without a colour has the terminal's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    pub(super) colors: [Option<Color>; 7],
    /// Text on the selected row, where that is neither the terminal's own nor [`ThemeRole::Text`].
    pub(super) selected_text: Option<Color>,
    /// Bold styles, and no faint ones.
    pub(super) is_contrast: bool,
}

impl Palette {
    /// Weight alone.
    pub const MONO: Palette = Palette { colors: [None; 7], selected_text: None, is_contrast: false };

    /// The 16 colours of the terminal.
    pub const SIXTEEN: Palette = Palette {
        colors: [
            None,
            Some(Color::DarkGray),
            Some(Color::Cyan),
            Some(Color::Green),
            Some(Color::Yellow),
            Some(Color::Red),
            None,
        ],
        selected_text: None,
        is_contrast: false,
    };

    pub fn color(self, role: ThemeRole) -> Option<Color> {
        self.colors[role as usize]
    }
}

/// The 16 colours with their words in `config.toml`, and their usual values.
pub(super) const ANSI: [(&str, Color, [u8; 3]); 16] = [
    ("black", Color::Black, [0, 0, 0]),
    ("red", Color::Red, [205, 0, 0]),
    ("green", Color::Green, [0, 205, 0]),
    ("yellow", Color::Yellow, [205, 205, 0]),
    ("blue", Color::Blue, [0, 0, 238]),
    ("magenta", Color::Magenta, [205, 0, 205]),
    ("cyan", Color::Cyan, [0, 205, 205]),
    ("white", Color::Gray, [229, 229, 229]),
    ("bright-black", Color::DarkGray, [127, 127, 127]),
    ("bright-red", Color::LightRed, [255, 0, 0]),
    ("bright-green", Color::LightGreen, [0, 255, 0]),
    ("bright-yellow", Color::LightYellow, [255, 255, 0]),
    ("bright-blue", Color::LightBlue, [92, 92, 255]),
    ("bright-magenta", Color::LightMagenta, [255, 0, 255]),
    ("bright-cyan", Color::LightCyan, [0, 255, 255]),
    ("bright-white", Color::White, [255, 255, 255]),
];

/// Returns the nearest of the 240 fixed colours of a terminal with 256.
pub(super) fn indexed(rgb: [u8; 3]) -> Color {
    // 16 to 231 are a cube of these values, 232 to 255 greys from 8 in steps of 10.
    const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let cube = (16..232u8).map(|index| {
        let at = usize::from(index - 16);
        (index, [CUBE[at / 36], CUBE[at / 6 % 6], CUBE[at % 6]])
    });
    let greys = (232..=255u8).map(|index| (index, [8 + (index - 232) * 10; 3]));
    let nearest = cube.chain(greys).min_by_key(|(_, other)| distance(rgb, *other));
    Color::Indexed(nearest.map_or(16, |(index, _)| index))
}

/// Returns the nearest of the 16 colours.
pub(super) fn sixteen(rgb: [u8; 3]) -> Color {
    let nearest = ANSI.iter().min_by_key(|(_, _, other)| distance(rgb, *other));
    nearest.map_or(Color::Reset, |(_, color, _)| *color)
}

/// The distance of two colours, weighted as the eye does.
fn distance(a: [u8; 3], b: [u8; 3]) -> i32 {
    let part = |at: usize| (i32::from(a[at]) - i32::from(b[at])).pow(2);
    3 * part(0) + 4 * part(1) + 2 * part(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_the_number_of_colours() {
        let detected = |colorterm, term| ColorDepth::detect(colorterm, Some(term));
        assert_eq!(detected(Some("truecolor"), "xterm-256color"), ColorDepth::True);
        assert_eq!(detected(None, "xterm-direct"), ColorDepth::True);
        assert_eq!(detected(Some(""), "tmux-256color"), ColorDepth::Indexed);
        assert_eq!(detected(None, "xterm"), ColorDepth::Sixteen);
        assert_eq!(ColorDepth::detect(None, None), ColorDepth::Sixteen);
    }

    #[test]
    fn finds_the_nearest_colour() {
        assert_eq!(indexed([255, 0, 0]), Color::Indexed(196));
        assert_eq!(indexed([0x2f, 0x35, 0x49]), Color::Indexed(237));
        assert_eq!(sixteen([250, 5, 5]), Color::LightRed);
        assert_eq!(sixteen([120, 130, 130]), Color::DarkGray);
    }
}
