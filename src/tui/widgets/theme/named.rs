//! Built-in themes, and those that users define by role.

use ratatui::style::Color;

use super::palette::{ANSI, ColorDepth, Palette, ThemeRole, indexed, sixteen};

/// A colour of a theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paint {
    /// The terminal's own: for a selection, text and background swapped.
    Own,
    /// One of the 16 colours.
    Ansi(Color),
    /// A colour for many colours, and the one in its place among 16; `None` is the terminal's own.
    Rgb([u8; 3], Option<Color>),
}

impl Paint {
    fn color(self, depth: ColorDepth) -> Option<Color> {
        match (depth, self) {
            (ColorDepth::None, _) | (_, Paint::Own) => None,
            (_, Paint::Ansi(color)) => Some(color),
            (ColorDepth::Sixteen, Paint::Rgb(_, few)) => few,
            (ColorDepth::Indexed, Paint::Rgb(rgb, _)) => Some(indexed(rgb)),
            (ColorDepth::True, Paint::Rgb([r, g, b], _)) => Some(Color::Rgb(r, g, b)),
        }
    }

    /// Parses `#7aa2f7`, `bright-black` or `default`.
    fn parse(text: &str) -> Option<Paint> {
        if text == "default" {
            return Some(Paint::Own);
        }
        if let Some((_, color, _)) = ANSI.iter().find(|(word, ..)| *word == text) {
            return Some(Paint::Ansi(*color));
        }
        let hex = text.strip_prefix('#').filter(|hex| hex.len() == 6 && hex.is_ascii())?;
        let part = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let rgb = [part(0)?, part(2)?, part(4)?];
        Some(Paint::Rgb(rgb, Some(sixteen(rgb))))
    }
}

/// The colours of a theme, for any terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedTheme {
    paints: [Paint; 7],
    selected_text: Paint,
    is_contrast: bool,
}

const fn rgb(hex: u32, few: Option<Color>) -> Paint {
    Paint::Rgb([(hex >> 16) as u8, (hex >> 8) as u8, hex as u8], few)
}

/// A theme of these colours, which has the 16 colours of [`NamedTheme::DEFAULT`] where there are no
/// more.
const fn colors(hex: [u32; 7]) -> NamedTheme {
    let [text, muted, accent, good, wait, bad, selection] = hex;
    NamedTheme {
        paints: [
            rgb(text, None),
            rgb(muted, Some(Color::DarkGray)),
            rgb(accent, Some(Color::Cyan)),
            rgb(good, Some(Color::Green)),
            rgb(wait, Some(Color::Yellow)),
            rgb(bad, Some(Color::Red)),
            rgb(selection, None),
        ],
        selected_text: Paint::Own,
        is_contrast: false,
    }
}

impl NamedTheme {
    /// The terminal's own colours, for a background that is not known: the selected row has a
    /// background and text of its own, so that the colours of states stay readable there.
    pub const DEFAULT: NamedTheme = NamedTheme {
        paints: [
            Paint::Own,
            Paint::Ansi(Color::DarkGray),
            Paint::Ansi(Color::Cyan),
            Paint::Ansi(Color::Green),
            Paint::Ansi(Color::Yellow),
            Paint::Ansi(Color::Red),
            rgb(0x30_3030, None),
        ],
        selected_text: rgb(0xe4_e4e4, None),
        is_contrast: false,
    };
    /// The terminal's own colours, for themes that set some of them.
    pub const OWN: NamedTheme = NamedTheme {
        paints: [
            Paint::Own,
            Paint::Ansi(Color::DarkGray),
            Paint::Ansi(Color::Cyan),
            Paint::Ansi(Color::Green),
            Paint::Ansi(Color::Yellow),
            Paint::Ansi(Color::Red),
            Paint::Own,
        ],
        selected_text: Paint::Own,
        is_contrast: false,
    };
    pub const DARK: NamedTheme =
        colors([0xd8dee9, 0x7b8799, 0x7aa2f7, 0x9ece6a, 0xe0af68, 0xf7768e, 0x2f3549]);
    pub const LIGHT: NamedTheme =
        colors([0x2e3440, 0x6b7688, 0x2e5aac, 0x38711c, 0x8a5a14, 0xb3263c, 0xdfe5f2]);
    pub const MONO: NamedTheme =
        NamedTheme { paints: [Paint::Own; 7], selected_text: Paint::Own, is_contrast: false };
    /// Bright and bold.
    pub const CONTRAST: NamedTheme = NamedTheme {
        paints: [
            Paint::Own,
            Paint::Own,
            Paint::Ansi(Color::LightCyan),
            Paint::Ansi(Color::LightGreen),
            Paint::Ansi(Color::LightYellow),
            Paint::Ansi(Color::LightRed),
            Paint::Own,
        ],
        selected_text: Paint::Own,
        is_contrast: true,
    };

    pub fn palette(self, depth: ColorDepth) -> Palette {
        Palette {
            colors: self.paints.map(|paint| paint.color(depth)),
            selected_text: self.selected_text.color(depth),
            is_contrast: self.is_contrast,
        }
    }

    /// Sets the colour of a role. Returns `None` if the text is not a colour.
    pub fn set(&mut self, role: ThemeRole, text: &str) -> Option<()> {
        let paint = Paint::parse(text)?;
        self.paints[role as usize] = paint;
        Some(())
    }
}

/// The themes by name: the built-in ones, and those of `config.toml`.
#[derive(Clone, Debug, Default)]
pub struct Themes(Vec<(String, NamedTheme)>);

impl Themes {
    pub const BUILT_IN: [(&str, NamedTheme); 5] = [
        ("default", NamedTheme::DEFAULT),
        ("dark", NamedTheme::DARK),
        ("light", NamedTheme::LIGHT),
        ("mono", NamedTheme::MONO),
        ("contrast", NamedTheme::CONTRAST),
    ];

    /// Adds a theme. Returns false if its name is that of a built-in one.
    pub fn add(&mut self, name: &str, theme: NamedTheme) -> bool {
        let is_free = Themes::BUILT_IN.iter().all(|(built_in, _)| *built_in != name);
        if is_free {
            self.0.push((name.to_owned(), theme));
        }
        is_free
    }

    pub fn get(&self, name: &str) -> Option<NamedTheme> {
        let own = self.0.iter().find(|(own, _)| own == name).map(|(_, theme)| *theme);
        own.or_else(|| Themes::BUILT_IN.iter().find(|(word, _)| *word == name).map(|(_, theme)| *theme))
    }

    /// All names, the built-in ones first.
    pub fn names(&self) -> Vec<&str> {
        let built_in = Themes::BUILT_IN.iter().map(|(name, _)| *name);
        built_in.chain(self.0.iter().map(|(name, _)| name.as_str())).collect()
    }
}

/// The theme of a terminal that states its background in `COLORFGBG`, such as `15;0`: dark or
/// light where it has more than 16 colours.
pub fn for_background(colorfgbg: Option<&str>, depth: ColorDepth) -> Option<NamedTheme> {
    if !matches!(depth, ColorDepth::Indexed | ColorDepth::True) {
        return None;
    }
    let background: u8 = colorfgbg?.rsplit(';').next()?.parse().ok()?;
    match background {
        0..=6 | 8 => Some(NamedTheme::DARK),
        7 | 9..=15 => Some(NamedTheme::LIGHT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_colours_of_users() {
        let mut theme = NamedTheme::DEFAULT;
        assert!(theme.set(ThemeRole::Accent, "#ff8800").is_some());
        assert!(theme.set(ThemeRole::Bad, "bright-red").is_some());
        assert!(theme.set(ThemeRole::Muted, "default").is_some());
        for wrong in ["#ff88", "#ff88zz", "orange", "", "#é8800"] {
            assert_eq!(theme.set(ThemeRole::Good, wrong), None, "{wrong}");
        }
        let color = |depth| theme.palette(depth).color(ThemeRole::Accent);
        assert_eq!(color(ColorDepth::True), Some(Color::Rgb(0xff, 0x88, 0)));
        assert_eq!(color(ColorDepth::Indexed), Some(Color::Indexed(208)));
        assert!(color(ColorDepth::Sixteen).is_some() && color(ColorDepth::None).is_none());
    }

    /// The contrast of two colours by WCAG 2: 1 to 21.
    fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
        let luminance = |rgb: [u8; 3]| {
            let linear = rgb.map(|part| match f64::from(part) / 255.0 {
                part if part <= 0.04045 => part / 12.92,
                part => ((part + 0.055) / 1.055).powf(2.4),
            });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// Text is readable on the background of the pictures, and on the selected row, where muted
    /// text is drawn as plain text.
    #[test]
    fn text_has_contrast_on_backgrounds_and_selections() {
        for (theme, background) in
            [(NamedTheme::DARK, [0x16, 0x1a, 0x24]), (NamedTheme::LIGHT, [0xff, 0xff, 0xff])]
        {
            let color = |role: ThemeRole| match theme.palette(ColorDepth::True).color(role) {
                Some(Color::Rgb(r, g, b)) => [r, g, b],
                other => panic!("{role:?}: {other:?}"),
            };
            let texts = ThemeRole::ALL.into_iter().filter(|role| *role != ThemeRole::Selection);
            for role in texts {
                let mut under = vec![background];
                if role != ThemeRole::Muted {
                    under.push(color(ThemeRole::Selection));
                }
                for under in under {
                    let found = contrast(color(role), under);
                    assert!(found >= 4.5, "{role:?} on {under:x?}: {found:.2}");
                }
            }
        }
    }

    #[test]
    fn follows_the_stated_background() {
        let theme = |text| for_background(text, ColorDepth::True);
        assert_eq!(theme(Some("15;0")), Some(NamedTheme::DARK));
        assert_eq!(theme(Some("0;default;15")), Some(NamedTheme::LIGHT));
        assert_eq!(theme(Some("0;default")), None);
        assert_eq!(theme(None), None);
        assert_eq!(for_background(Some("15;0"), ColorDepth::Sixteen), None);
    }
}
