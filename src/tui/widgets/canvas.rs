//! The canvas, which escapes every text that is drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

use xdscope_present::text;
use xdscope_present::text::Keep;
use xdscope_wire::text::display_safe;

use crate::widgets::layout::split;
use crate::widgets::table::GrownWidths;
use crate::widgets::theme::{self, Glyphs, Theme};
use xdscope_present::report::Role;

/// A text with a role, which decides the style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub role: Role,
    /// The role of the first character, if it is a mark with a role of its own.
    pub mark: Option<Role>,
}

/// The area of a pane below its heading.
pub(crate) fn pane_area(area: Rect) -> Rect {
    split(area, 1).1
}

/// A line of spans.
pub(crate) type StyledLine = Vec<Span>;

/// The columns that spans take side by side.
pub(crate) fn line_width(line: &[Span]) -> usize {
    line.iter().map(|span| text::width(&display_safe(&span.text))).sum()
}

pub(crate) fn span(text: impl Into<String>, role: Role) -> Span {
    Span { text: text.into(), role, mark: None }
}

/// A text that begins with a mark in a role of its own.
pub(crate) fn marked(text: impl Into<String>, mark: Role, role: Role) -> Span {
    Span { text: text.into(), role, mark: Some(mark) }
}

pub(crate) fn plain(text: impl Into<String>) -> Span {
    span(text, Role::Plain)
}

pub struct Canvas<'a> {
    pub buf: &'a mut Buffer,
    pub theme: Theme,
    /// A list above the screen has the focus: the rows below show a bar alone.
    pub is_covered: bool,
    /// The widths of the tables of the screen so far.
    pub widths: &'a GrownWidths,
}

impl Canvas<'_> {
    pub fn glyphs(&self) -> &'static Glyphs {
        self.theme.glyphs()
    }

    /// Draws a text in the first row of `area`, cut at the right edge. Returns the column after
    /// the text.
    pub fn text(&mut self, area: Rect, text: &str, role: Role) -> u16 {
        if area.is_empty() || !self.buf.area.contains(area.as_position()) {
            return area.x;
        }
        let safe = display_safe(text);
        let safe = if self.theme.ascii { theme::ascii(&safe) } else { safe };
        let style = self.theme.style(role);
        self.buf.set_stringn(area.x, area.y, safe, usize::from(area.width), style).0
    }

    /// Draws spans side by side in the first row of `area`. A span that does not fit is cut and
    /// marked.
    pub fn line(&mut self, area: Rect, line: &[Span]) {
        let mut rest = area;
        for (i, span) in line.iter().enumerate() {
            let safe = display_safe(&span.text);
            let room = usize::from(rest.width);
            // Blanks at the end may be cut without a mark.
            let last = line[i + 1..].iter().all(|span| span.text.trim().is_empty());
            let words = if last { safe.trim_end() } else { &safe };
            let shown = text::cut(words, room, Keep::Head, self.glyphs().cut);
            let end = self.text(rest, &shown, span.role).max(rest.x);
            if let Some(mark) = span.mark
                && end > rest.x
            {
                let first = Rect { width: 1, height: 1, ..rest }.intersection(self.buf.area);
                self.buf.set_style(first, self.theme.style(mark));
            }
            rest.width = rest.right().saturating_sub(end);
            rest.x = end;
            if rest.width == 0 || last {
                return;
            }
        }
    }

    /// Draws lines from the top of `area`, without the first `skip` lines.
    pub fn lines(&mut self, area: Rect, lines: &[StyledLine], skip: usize) {
        for (row, line) in area.rows().zip(lines.iter().skip(skip)) {
            self.line(row, line);
        }
    }

    /// Blanks an area.
    pub fn clear(&mut self, area: Rect) {
        for row in area.rows() {
            self.text(row, &" ".repeat(usize::from(row.width)), Role::Plain);
        }
    }

    /// Draws a vertical line in the first column of `area`.
    pub fn bar(&mut self, area: Rect) {
        for row in area.rows() {
            self.text(row, self.glyphs().bar, Role::Muted);
        }
    }

    /// Draws a text that ends at the right edge of `area`.
    pub fn right(&mut self, area: Rect, text: &str, role: Role) {
        let width = u16::try_from(text::width(text)).unwrap_or(u16::MAX).min(area.width);
        self.text(Rect { x: area.right() - width, width, ..area }, text, role);
    }

    /// Draws a rule with a title and a remark: `── title ──── remark ──`.
    pub fn rule(&mut self, area: Rect, title: &str, remark: &str) {
        self.heading(area, title, remark, false);
    }

    /// Draws the heading of a pane, marked if the pane has the focus: `━━ title ━━━━ remark ━━`.
    pub fn heading(&mut self, area: Rect, title: &str, remark: &str, has_focus: bool) {
        let glyphs = self.glyphs();
        let (dash, line, words) = match has_focus {
            true => (glyphs.focus_rule, Role::Name, Role::Key),
            false => (glyphs.rule, Role::Muted, Role::Plain),
        };
        self.text(area, &dash.repeat(usize::from(area.width)), line);
        let room = usize::from(area.width).saturating_sub(6);
        if !title.is_empty() && room > 0 {
            let title = display_safe(title);
            let shown = text::cut(&title, room, Keep::Head, self.glyphs().cut);
            let title_area = Rect { x: area.x + 2, width: area.width - 2, ..area };
            self.text(title_area, &format!(" {shown} "), words);
            let used = text::width(&shown) + 8 + text::width(remark);
            if !remark.is_empty() && used <= usize::from(area.width) {
                let remark_area = Rect { width: area.width - 2, ..area };
                self.right(remark_area, &format!(" {remark} "), Role::Muted);
            }
        }
    }

    /// Draws the heading of a pane. Returns the area below.
    pub fn pane(&mut self, area: Rect, title: &str, remark: &str, has_focus: bool) -> Rect {
        self.heading(area, title, remark, has_focus);
        pane_area(area)
    }

    /// Marks the selected row of a pane: its full width in the pane with the focus, else a bar.
    pub fn cursor(&mut self, row: Rect, has_focus: bool) {
        let glyphs = self.glyphs();
        let first = Rect { width: row.width.min(1), ..row };
        if has_focus && !self.is_covered {
            self.text(first, glyphs.selected, Role::Name);
            self.select(row);
        } else {
            self.text(first, glyphs.chosen, Role::Muted);
        }
    }

    /// Highlights a row as selected. Muted text has too little contrast there, and becomes plain.
    pub fn select(&mut self, area: Rect) {
        let row = Rect { height: 1, ..area }.intersection(self.buf.area);
        let [muted, plain] = [Role::Muted, Role::Plain].map(|role| self.theme.style(role).fg);
        for at in row.positions() {
            let cell = &mut self.buf[at];
            if [muted, plain].contains(&Some(cell.fg)) || cell.fg == Color::Reset {
                cell.fg = self.theme.selected_text();
            }
        }
        self.buf.set_style(row, self.theme.selection());
    }

    /// Replaces all characters other than ASCII by `?` in ASCII mode.
    pub fn finish(&mut self) {
        if !self.theme.ascii {
            return;
        }
        for cell in &mut self.buf.content {
            if !cell.symbol().is_ascii() {
                cell.set_symbol("?");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widgets::theme::{ColorDepth, NamedTheme};

    #[test]
    fn muted_text_is_plain_on_the_selected_row() {
        for named in [NamedTheme::DARK, NamedTheme::LIGHT, NamedTheme::DEFAULT] {
            let theme = Theme { palette: named.palette(ColorDepth::True), ascii: false };
            let area = Rect::new(0, 0, 8, 2);
            let mut buf = Buffer::empty(area);
            let widths = GrownWidths::default();
            let mut canvas = Canvas { buf: &mut buf, theme, is_covered: false, widths: &widths };
            for row in area.rows() {
                canvas.text(row, "muted", Role::Muted);
            }
            canvas.select(area);
            let muted = theme.style(Role::Muted).fg;
            assert_eq!(buf[(0, 0)].fg, theme.selected_text());
            assert_eq!(Some(buf[(0, 1)].fg), muted);
        }
    }

    #[test]
    fn states_keep_their_colours_on_the_selected_row() {
        for (depth, background) in
            [(ColorDepth::True, Color::Rgb(0x30, 0x30, 0x30)), (ColorDepth::Indexed, Color::Indexed(236))]
        {
            let theme = Theme { palette: NamedTheme::DEFAULT.palette(depth), ascii: false };
            let area = Rect::new(0, 0, 12, 1);
            let (mut buf, widths) = (Buffer::empty(area), GrownWidths::default());
            let mut canvas = Canvas { buf: &mut buf, theme, is_covered: false, widths: &widths };
            canvas.line(area, &[plain("plain "), span("NACK", Role::Bad)]);
            canvas.select(area);
            assert_eq!(buf[(6, 0)].fg, Color::Red);
            assert_ne!(buf[(0, 0)].fg, Color::Reset, "readable whatever the terminal's own text is");
            assert!(buf.content.iter().all(|cell| cell.bg == background));
        }
    }
}
