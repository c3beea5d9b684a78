//! Lines and bars as shapes: fonts draw them with gaps between cells.

use super::svg::CELL;

/// A rectangle in a cell: column, row, width and height, in pixels.
pub(super) type Stroke = [u32; 4];

/// The middle of a cell.
const MIDDLE: [u32; 2] = [CELL.0 / 2, CELL.1 / 2];
/// The ends of a line in a cell: left, right, up, down.
const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const UP: u8 = 4;
const DOWN: u8 = 8;

/// Returns the shapes of a character; empty if a font draws it.
pub(super) fn strokes(symbol: &str) -> Vec<Stroke> {
    let mut chars = symbol.chars();
    let (Some(c), None) = (chars.next(), chars.next()) else { return Vec::new() };
    // A bar of eighths of a cell.
    if let Some(eighths) = u32::from(c).checked_sub(0x2580).filter(|at| (1..=8).contains(at)) {
        let height = (CELL.1 * eighths).div_ceil(8);
        return vec![[0, CELL.1 - height, CELL.0, height]];
    }
    let (ends, weight) = match c {
        '▌' => return vec![[0, 0, CELL.0 / 2, CELL.1]],
        '▏' => return vec![[0, 0, 1, CELL.1]],
        '⋮' => return [4, 8, 12].map(|y| [MIDDLE[0] - 1, y, 2, 2]).to_vec(),
        '─' => (LEFT | RIGHT, 1),
        '│' => (UP | DOWN, 1),
        '┌' => (RIGHT | DOWN, 1),
        '┐' => (LEFT | DOWN, 1),
        '└' => (RIGHT | UP, 1),
        '┘' => (LEFT | UP, 1),
        '├' => (RIGHT | UP | DOWN, 1),
        '┤' => (LEFT | UP | DOWN, 1),
        '━' => (LEFT | RIGHT, 2),
        '┃' => (UP | DOWN, 2),
        '┏' => (RIGHT | DOWN, 2),
        '┓' => (LEFT | DOWN, 2),
        '┗' => (RIGHT | UP, 2),
        '┛' => (LEFT | UP, 2),
        _ => return Vec::new(),
    };
    lines(ends, weight)
}

/// Returns lines from the middle of a cell to these ends, joined where two are in line.
fn lines(ends: u8, weight: u32) -> Vec<Stroke> {
    let [x, y] = MIDDLE;
    let mut out = Vec::new();
    let (from, to) =
        (if ends & LEFT > 0 { 0 } else { x }, if ends & RIGHT > 0 { CELL.0 } else { x + weight });
    if ends & (LEFT | RIGHT) > 0 {
        out.push([from, y, to - from, weight]);
    }
    let (from, to) = (if ends & UP > 0 { 0 } else { y }, if ends & DOWN > 0 { CELL.1 } else { y + weight });
    if ends & (UP | DOWN) > 0 {
        out.push([x, from, weight, to - from]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_bars_reach_the_edges_of_their_cells() {
        assert_eq!(strokes("─"), [[0, 8, 8, 1]]);
        assert_eq!(strokes("┌"), [[4, 8, 4, 1], [4, 8, 1, 9]]);
        assert_eq!(strokes("┃"), [[4, 0, 2, 17]]);
        assert_eq!((strokes("█"), strokes("▁")), (vec![[0, 0, 8, 17]], vec![[0, 14, 8, 3]]));
        assert!(strokes("a").is_empty() && strokes("").is_empty() && strokes("▐").is_empty());
    }
}
