//! The loop around model and view: keys in, frames out. Blocking, on a thread of its own.

use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use crossterm::event::{self, Event, KeyEventKind};
use crossterm::terminal::size;
use jiff::tz::TimeZone;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::wire::event::Seq;
use crate::wire::text;

use crate::tui::data::{Feed, HeldMessage};
use crate::tui::input::rebind::Keymap;
use crate::tui::shell::clipboard::{LIMIT, Multiplexer, osc52};
use crate::tui::shell::model::{Model, Screen};
use crate::tui::shell::painter::Painter;
use crate::tui::shell::replay::Seek;
use crate::tui::shell::terminal::Terminal;
use crate::tui::shell::turn::Screens;
use crate::tui::shell::update::{Effect, Msg, update};
use crate::tui::widgets::theme::Theme;

/// The shortest wait in which crossterm looks at all: with none it does not even give what it has read.
const GLANCE: Duration = Duration::from_millis(1);
/// Keys taken in before a frame is drawn.
const BURST: usize = 256;

/// How the screens look, and what reaches them besides keys.
pub struct Options {
    pub theme: Theme,
    pub zone: TimeZone,
    pub keys: Keymap,
    pub screen: Screen,
    /// At most five frames a second.
    pub slow_link: bool,
    /// What stands between this program and the terminal, for the clipboard.
    pub multiplexer: Option<Multiplexer>,
    /// Signals and notices. SIGTERM and SIGHUP are [`Msg::Stop`], SIGTSTP is [`Msg::Suspend`].
    pub messages: Receiver<Msg>,
}

/// Shows the screens until the user quits or [`Msg::Stop`] arrives. The terminal is as before when it returns.
///
/// # Errors
/// The terminal cannot be read or written, or a panic on another thread took it away.
pub fn run(feed: &dyn Feed, options: Options) -> io::Result<()> {
    let terminal = Terminal::take()?;
    let mut model = Model::new(size()?, options.theme, options.zone);
    model.screen = options.screen;
    model.keys = options.keys;
    model.marks = feed.marks();
    let out = BufWriter::with_capacity(1 << 16, io::stdout());
    let mut screens = Screens::new(model, out, options.slow_link);
    let stdin = Stdin::of_process();
    loop {
        let Some(mut messages) = keys(stdin, screens.wait())? else { return Ok(()) };
        loop {
            match options.messages.try_recv() {
                Ok(message) => messages.push(message),
                Err(TryRecvError::Empty) => break,
                // Whoever sends the signals is gone, and with it the program around.
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        if terminal.lost() {
            return Err(io::Error::other("a crash on another thread ended the screens"));
        }
        let effects = screens.turn(feed, messages);
        let Screens { model, painter, .. } = &mut screens;
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(()),
                Effect::Suspend => {
                    terminal.suspend()?;
                    painter.forget();
                    model.size = size()?;
                }
                Effect::Redraw => painter.forget(),
                Effect::SaveMarks => save_marks(feed, model),
                Effect::Replay(seek) => replay(feed, model, seek),
                Effect::Tell(tell) => {
                    let words = tell.words();
                    model.say(match feed.tell(tell) {
                        Ok(()) => format!("told the client: {words}"),
                        Err(why) => why,
                    });
                }
                Effect::Record(name) => {
                    let said = feed.record(name.as_deref());
                    model.say(said.unwrap_or_else(|why| format!("not recorded: {why}")));
                    model.info = feed.info();
                }
                Effect::Copy(text) => {
                    let said = copy(feed, painter, &text, options.multiplexer);
                    model.notice = Some(said);
                }
            }
        }
        screens.paint()?;
    }
}

/// Columns and rows of the terminal on stdout, where there is one.
pub fn terminal_size() -> Option<(u16, u16)> {
    size().ok()
}

/// Keeps the marks, and says so.
fn save_marks(feed: &dyn Feed, model: &mut Model) {
    let said = model.notice.take().unwrap_or_default();
    model.say(match feed.save_marks(&model.marks) {
        Ok(true) => format!("{said}; saved with the recording"),
        Ok(false) => said,
        Err(error) => format!("{said}; not saved: {error}"),
    });
}

/// Moves the time cursor, and shows what is there.
fn replay(feed: &dyn Feed, model: &mut Model, seek: Seek) {
    let paused = model.paused;
    let mut held = None;
    feed.read(&mut |data| {
        let rows = paused.map_or(0, |paused| paused.rows);
        let n = (0..rows).rev().find_map(|row| data.line(row)?.n).unwrap_or(Seq(0));
        held = paused.map(|paused| HeldMessage { n, now: paused.now });
    });
    match feed.replay(held, seek) {
        Ok(()) => model.paused = None,
        Err(why) => model.say(why),
    }
    let info = feed.info();
    feed.read(&mut |data| drop(update(model, Msg::Info(Box::new(info.clone())), data)));
}

/// Waits for a key, then takes what else is there. `None`: the terminal is gone.
fn keys(stdin: Stdin, wait: Duration) -> io::Result<Option<Vec<Msg>>> {
    let mut messages = Vec::new();
    let mut wait = wait.max(GLANCE);
    if stdin == Stdin::Terminal {
        // crossterm does not tell the end of a terminal, so it is not asked.
        let mut polled = [PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN)];
        // A signal that cuts the wait short may be a new size, which crossterm tells.
        let _ = poll(&mut polled, Timespec::try_from(wait).ok().as_ref());
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if polled.iter().any(|polled| polled.revents().intersects(gone)) {
            return Ok(None);
        }
        wait = GLANCE;
    }
    while messages.len() < BURST && event::poll(wait)? {
        wait = GLANCE;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => messages.push(Msg::Key(key)),
            Event::Resize(width, height) => messages.push(Msg::Resize(width, height)),
            Event::Paste(text) => messages.push(Msg::Paste(text)),
            _ => {}
        }
    }
    Ok(Some(messages))
}

/// What keys come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stdin {
    Terminal,
    /// A pipe: keys come from the controlling terminal.
    Other,
}

impl Stdin {
    /// To be asked while the terminal is there.
    fn of_process() -> Stdin {
        match rustix::termios::isatty(rustix::stdio::stdin()) {
            true => Stdin::Terminal,
            false => Stdin::Other,
        }
    }
}

/// Copies, and says what it did.
fn copy<W: Write>(
    feed: &dyn Feed,
    painter: &mut Painter<W>,
    text: &str,
    multiplexer: Option<Multiplexer>,
) -> String {
    let size = text::size(text.len() as u64);
    if text.len() <= LIMIT {
        return match painter.send(&osc52(text, multiplexer)) {
            Ok(()) => format!("sent {size} to the terminal's clipboard"),
            Err(error) => format!("not copied: {error}"),
        };
    }
    match feed.save_copy(text) {
        Ok(path) => format!("{size} is too large for a terminal's clipboard: it is in {path}"),
        Err(error) => format!("not copied: {size} is too large for a clipboard, and no file: {error}"),
    }
}
