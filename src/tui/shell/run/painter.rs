//! Writes frames to the terminal: only changed cells, in one write.

use std::io::{self, Write};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

pub struct Painter<W: Write> {
    backend: CrosstermBackend<W>,
    /// The frame and cursor on the terminal; `None` if unknown.
    shown: Option<(Buffer, Option<Position>)>,
}

impl<W: Write> Painter<W> {
    pub fn new(out: W) -> Self {
        Painter { backend: CrosstermBackend::new(out), shown: None }
    }

    /// Draws the next frame in full.
    pub fn forget(&mut self) {
        self.shown = None;
    }

    /// Shows a frame. Returns false if nothing changed.
    pub fn paint(&mut self, next: Buffer, cursor: Option<Position>) -> io::Result<bool> {
        let previous = self.shown.take().filter(|(buffer, _)| buffer.area == next.area);
        let is_first = previous.is_none();
        let (before, cursor_before) = previous.unwrap_or_else(|| (Buffer::empty(next.area), None));
        let changes = before.diff(&next);
        if is_first || !changes.is_empty() || cursor != cursor_before {
            queue!(self.backend, BeginSynchronizedUpdate, Hide)?;
            if is_first {
                queue!(self.backend, Clear(ClearType::All))?;
            }
            self.backend.draw(changes.into_iter())?;
            if let Some(at) = cursor {
                queue!(self.backend, MoveTo(at.x, at.y), Show)?;
            }
            queue!(self.backend, EndSynchronizedUpdate)?;
            Write::flush(&mut self.backend)?;
            self.shown = Some((next, cursor));
            return Ok(true);
        }
        self.shown = Some((before, cursor_before));
        Ok(false)
    }

    /// Writes a control sequence to the terminal.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.backend.write_all(bytes)?;
        Write::flush(&mut self.backend)
    }
}

/// A blank frame of this size.
pub fn blank((width, height): (u16, u16)) -> Buffer {
    Buffer::empty(Rect { x: 0, y: 0, width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_nothing_for_an_unchanged_frame() {
        let mut out = Vec::new();
        let mut painter = Painter::new(&mut out);
        let mut screen = blank((20, 3));
        screen.set_string(2, 1, "hello", ratatui::style::Style::new());
        let cursor = Some(Position { x: 2, y: 1 });
        assert!(painter.paint(screen.clone(), cursor).unwrap());
        assert!(!painter.paint(screen.clone(), cursor).unwrap());
        let mut other = screen.clone();
        other.set_string(2, 1, "hallo", ratatui::style::Style::new());
        assert!(painter.paint(other, cursor).unwrap());
        drop(painter);
        let last = String::from_utf8(out).unwrap();
        let last = last.rsplit("\x1b[?2026h").next().unwrap();
        assert!(last.contains('a') && !last.contains("llo"), "only the changed cell: {last:?}");
    }

    #[test]
    fn terminal_shows_the_frame_after_a_resize() {
        let mut out = Vec::new();
        let mut painter = Painter::new(&mut out);
        for (text, size) in [("first screen", (20, 3)), ("second", (12, 2))] {
            let mut screen = blank(size);
            screen.set_string(0, 1, text, ratatui::style::Style::new());
            painter.paint(screen, None).unwrap();
        }
        drop(painter);
        let mut terminal = vt100::Parser::new(3, 20, 0);
        terminal.process(&out);
        assert_eq!(terminal.screen().contents().trim(), "second");
        assert!(terminal.screen().hide_cursor());
    }
}
