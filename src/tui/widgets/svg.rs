//! A frame as SVG, or as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use xdscope_present::text::width;

use super::strokes::{Stroke, strokes};

/// Size of a cell, in pixels.
pub(super) const CELL: (u32, u32) = (8, 17);
/// Distance of the base line from the top of a cell, in pixels.
const BASE_LINE: u32 = 13;
/// Size of the font. The usual fonts then advance by a cell for each character.
const FONT_SIZE: &str = "13.29";
/// Margin around the frame, in pixels.
const MARGIN: u32 = 12;
const FONT: &str = "ui-monospace,'DejaVu Sans Mono','Cascadia Mono',Menlo,Consolas,monospace";

/// The colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SvgColors {
    text: u32,
    background: u32,
    /// Text that is dim.
    dim: u32,
    /// Black, red, green, yellow, blue, magenta, cyan, white; then their bright forms.
    colors: [u32; 16],
}

impl SvgColors {
    /// Returns the colours of a dark terminal.
    pub fn dark() -> SvgColors {
        SvgColors {
            text: 0xd8_de_e9,
            background: 0x16_1a_24,
            dim: 0x7b_87_99,
            colors: [
                0x16_1a_24, 0xf7_76_8e, 0x9e_ce_6a, 0xe0_af_68, 0x7a_a2_f7, 0xbb_9a_f7, 0x7d_cf_ff,
                0xa9_b1_d6, 0x7b_87_99, 0xff_9e_ae, 0xb9_f2_7c, 0xff_c7_77, 0x9a_b8_ff, 0xd1_b3_ff,
                0xa4_e4_ff, 0xff_ff_ff,
            ],
        }
    }

    /// Returns the colours of a light terminal.
    pub fn light() -> SvgColors {
        SvgColors {
            text: 0x2e_34_40,
            background: 0xff_ff_ff,
            dim: 0x6b_76_88,
            colors: [
                0x2e_34_40, 0xb3_26_3c, 0x3d_7a_1f, 0x8f_5e_15, 0x2e_5a_ac, 0x7a_3e_9d, 0x0f_6a_78,
                0x6b_76_88, 0x8a_93_a3, 0x94_12_2b, 0x2c_61_12, 0x70_47_0a, 0x1f_46_92, 0x5f_2b_80,
                0x08_52_5e, 0x00_00_00,
            ],
        }
    }

    /// Returns a colour; `None` for the default of the terminal.
    fn color(&self, color: Color) -> Option<u32> {
        let named = match color {
            Color::Reset => return None,
            Color::Rgb(red, green, blue) => return Some(u32::from_be_bytes([0, red, green, blue])),
            Color::Indexed(index) => return Some(self.indexed(index)),
            Color::Black => 0,
            Color::Red => 1,
            Color::Green => 2,
            Color::Yellow => 3,
            Color::Blue => 4,
            Color::Magenta => 5,
            Color::Cyan => 6,
            Color::Gray => 7,
            Color::DarkGray => 8,
            Color::LightRed => 9,
            Color::LightGreen => 10,
            Color::LightYellow => 11,
            Color::LightBlue => 12,
            Color::LightMagenta => 13,
            Color::LightCyan => 14,
            Color::White => 15,
        };
        self.colors.get(named).copied()
    }

    /// Returns one of the 256 colours: 16 of the palette, a cube of 6x6x6, and 24 greys.
    fn indexed(&self, index: u8) -> u32 {
        if let Some(color) = self.colors.get(usize::from(index)) {
            return *color;
        }
        if let Some(grey) = index.checked_sub(232) {
            return u32::from(8 + grey * 10) * 0x01_01_01;
        }
        let cube = index - 16;
        let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
        u32::from_be_bytes([0, level(cube / 36), level(cube / 6 % 6), level(cube % 6)])
    }
}

/// The look of a run of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CellLook {
    fill: u32,
    background: Option<u32>,
    is_bold: bool,
    is_underlined: bool,
}

impl CellLook {
    fn new(cell: &Cell, palette: &SvgColors) -> CellLook {
        let has = |modifier| cell.modifier.contains(modifier);
        let plain = if has(Modifier::DIM) { palette.dim } else { palette.text };
        let (fill, background) = (palette.color(cell.fg).unwrap_or(plain), palette.color(cell.bg));
        let (fill, background) = match has(Modifier::REVERSED) {
            true => (background.unwrap_or(palette.background), Some(fill)),
            false => (fill, background),
        };
        let background = background.filter(|color| *color != palette.background);
        CellLook { fill, background, is_bold: has(Modifier::BOLD), is_underlined: has(Modifier::UNDERLINED) }
    }
}

/// Cells of one look, side by side.
struct CellRun {
    column: usize,
    columns: usize,
    text: String,
    look: CellLook,
}

/// Divides a row into runs, with blanks in place of lines and bars. Text with blanks in it is
/// divided, so that columns stay aligned in any font.
fn runs(row: &[Cell], palette: &SvgColors) -> Vec<CellRun> {
    let mut runs: Vec<CellRun> = Vec::new();
    for (column, cell) in row.iter().enumerate() {
        let look = CellLook::new(cell, palette);
        let symbol = if strokes(cell.symbol()).is_empty() { cell.symbol() } else { " " };
        match runs.last_mut() {
            Some(run) if run.look == look && !(run.text.ends_with("  ") && symbol != " ") => {
                run.columns += 1;
                // The cell after a wide character is empty.
                run.text.push_str(symbol);
            }
            _ => runs.push(CellRun { column, columns: 1, text: symbol.to_owned(), look }),
        }
    }
    runs
}

/// Draws a frame as SVG. `title` is for screen readers.
pub fn svg(frame: &Buffer, palette: &SvgColors, title: &str) -> String {
    let (columns, rows) = (u32::from(frame.area.width), u32::from(frame.area.height));
    let (width, height) = (columns * CELL.0 + 2 * MARGIN, rows * CELL.1 + 2 * MARGIN);
    let rows = frame.content.chunks(usize::from(frame.area.width).max(1));
    let mut drawing = SvgDrawing { palette, looks: Vec::new(), out: String::new() };
    for (row, cells) in rows.enumerate() {
        let top = MARGIN + row as u32 * CELL.1;
        drawing.row(&runs(cells, palette), top);
        drawing.strokes(cells, top);
    }
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"{FONT}\" font-size=\"{FONT_SIZE}\" \
         xml:space=\"preserve\">\n<title>{}</title>\n<style>",
        escaped(title)
    );
    for (at, look) in drawing.looks.iter().enumerate() {
        let weight = if look.is_bold { ";font-weight:700" } else { "" };
        let line = if look.is_underlined { ";text-decoration:underline" } else { "" };
        let _ = write!(out, ".{}{{fill:#{:06x}{weight}{line}}}", class(at), look.fill);
    }
    let (background, text) = (palette.background, palette.text);
    let _ = write!(
        out,
        "</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#{background:06x}\"/>\n\
         <g fill=\"#{text:06x}\">\n{}</g>\n</svg>\n",
        drawing.out
    );
    out
}

/// The rows that are drawn so far.
struct SvgDrawing<'a> {
    palette: &'a SvgColors,
    /// The looks that differ from plain text; their places are their classes.
    looks: Vec<CellLook>,
    out: String,
}

impl SvgDrawing<'_> {
    /// Writes one line of the terminal: backgrounds first, then texts.
    fn row(&mut self, runs: &[CellRun], top: u32) {
        let left = |column: usize| MARGIN + column as u32 * CELL.0;
        for run in runs {
            let Some(color) = run.look.background else { continue };
            let (x, width, height) = (left(run.column), run.columns as u32 * CELL.0, CELL.1);
            let _ = writeln!(
                self.out,
                "<rect x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#{color:06x}\"/>"
            );
        }
        for run in runs {
            let text = run.text.trim_end();
            let blanks = text.len() - text.trim_start().len();
            let text = text.trim_start();
            if text.is_empty() {
                continue;
            }
            let class =
                self.class_of(run.look).map(|class| format!(" class=\"{class}\"")).unwrap_or_default();
            // The length keeps columns aligned if the font is wider or narrower than a cell.
            let (x, y, length) = (left(run.column + blanks), top + BASE_LINE, width(text) as u32 * CELL.0);
            let _ = writeln!(
                self.out,
                "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\"{class}>{}</text>",
                escaped(text)
            );
        }
    }

    /// Draws the lines and bars of a row, each look as one path.
    fn strokes(&mut self, cells: &[Cell], top: u32) {
        let mut paths: BTreeMap<Option<char>, Vec<Stroke>> = BTreeMap::new();
        for (column, cell) in cells.iter().enumerate() {
            let strokes = strokes(cell.symbol());
            if strokes.is_empty() {
                continue;
            }
            let look = CellLook { is_bold: false, is_underlined: false, ..CellLook::new(cell, self.palette) };
            let path = paths.entry(self.class_of(look)).or_default();
            for [x, y, width, height] in strokes {
                let x = MARGIN + column as u32 * CELL.0 + x;
                match path.iter_mut().rfind(|[_, top, _, high]| (*top, *high) == (y, height)) {
                    // Goes on with the line of the cell before.
                    Some([left, _, wide, _]) if *left + *wide == x => *wide += width,
                    _ => path.push([x, y, width, height]),
                }
            }
        }
        for (class, path) in paths {
            let class = class.map(|class| format!(" class=\"{class}\"")).unwrap_or_default();
            let _ = write!(self.out, "<path{class} d=\"");
            for [x, y, width, height] in path {
                let _ = write!(self.out, "M{x} {}h{width}v{height}h-{width}z", top + y);
            }
            self.out.push_str("\"/>\n");
        }
    }

    /// Returns the class of a look; `None` for plain text.
    fn class_of(&mut self, look: CellLook) -> Option<char> {
        let look = CellLook { background: None, ..look };
        let is_plain = look.fill == self.palette.text && !look.is_bold && !look.is_underlined;
        if is_plain {
            return None;
        }
        let at = self.looks.iter().position(|known| *known == look).unwrap_or_else(|| {
            self.looks.push(look);
            self.looks.len() - 1
        });
        Some(class(at))
    }
}

/// Returns the name of a class. A frame has fewer looks than there are letters.
fn class(at: usize) -> char {
    char::from_u32(u32::from('a') + at as u32).unwrap_or('z')
}

/// Escapes a text for XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Control characters are not allowed in XML.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Returns a frame as lines without blanks at their ends.
pub fn text(frame: &Buffer) -> String {
    let mut out = String::new();
    for row in frame.content.chunks(usize::from(frame.area.width).max(1)) {
        let line: String = row.iter().map(Cell::symbol).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    fn frame(text: &str, style: Style) -> Buffer {
        let mut frame = Buffer::empty(Rect::new(0, 0, 20, 1));
        frame.set_string(0, 0, text, style);
        frame
    }

    #[test]
    fn escapes_text_and_title() {
        let svg = svg(&frame("<a> & \"b\"", Style::new()), &SvgColors::dark(), "x <y>\u{1b}");
        assert!(
            svg.contains("&lt;a&gt; &amp; &quot;b&quot;")
                && svg.contains("<title>x &lt;y&gt;\u{fffd}</title>")
        );
        assert_eq!(svg.matches("<a>").count(), 0, "{svg}");
    }

    #[test]
    fn draws_colour_weight_and_selection() {
        let style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        let light = svg(&frame("bad", style), &SvgColors::light(), "t");
        assert!(light.contains(".a{fill:#b3263c;font-weight:700}"), "{light}");
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        let selected = svg(&frame("row", reversed), &SvgColors::dark(), "t");
        assert!(selected.contains("width=\"24\" height=\"17\" fill=\"#d8dee9\""), "{selected}");
        assert!(selected.contains(".a{fill:#161a24}") && selected.contains("class=\"a\">row"), "{selected}");
        let rgb = Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Indexed(196));
        let mixed = svg(&frame("x", rgb), &SvgColors::dark(), "t");
        assert!(mixed.contains("fill:#010203") && mixed.contains("fill=\"#ff0000\""), "{mixed}");
    }

    #[test]
    fn draws_lines_and_bars_as_shapes() {
        let svg = svg(&frame("a ──── ▁█", Style::new()), &SvgColors::dark(), "t");
        assert!(svg.contains("<path d=\"M28 20h32v1h-32zM68 26h8v3h-8zM76 12h8v17h-8z\"/>"), "{svg}");
        assert!(!svg.contains('─') && svg.contains(">a</text>"), "{svg}");
    }

    #[test]
    fn aligns_columns_by_position() {
        let svg = svg(&frame("NODE     CDS", Style::new()), &SvgColors::dark(), "t");
        let node = "<text x=\"12\" y=\"25\" textLength=\"32\">NODE</text>";
        let cds = "<text x=\"84\" y=\"25\" textLength=\"24\">CDS</text>";
        assert!(svg.contains(node) && svg.contains(cds), "{svg}");
        assert_eq!(text(&frame("NODE     CDS", Style::new())), "NODE     CDS\n");
    }
}
