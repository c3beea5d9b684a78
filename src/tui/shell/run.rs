//! The event loop: keys in, frames out. Blocks its thread.

pub(crate) mod alerts;
pub(crate) mod background;
pub(crate) mod clipboard;
pub(crate) mod output;
pub(crate) mod painter;
pub(crate) mod terminal;
pub(crate) mod turn;
pub(crate) mod wake;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyEventKind};
use crossterm::terminal::size;
use jiff::tz::TimeZone;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::data::{ClientAction, Feed, HeldMessage, Seek};
use crate::input::rebind::Keymap;
use crate::input::screen_id::ScreenId;
use crate::widgets::theme::{Palette, Theme};
use xdscope_engine::hold::HeldFact;
use xdscope_engine::hold::HoldCommand;
use xdscope_wire::event::Seq;
use xdscope_wire::text;

use super::effect::{Effect, Msg};
use super::model::Model;
use super::update::update;
use crate::shell::commands::hold;
use crate::shell::commands::replay::show_reached;
use alerts::Notify;
use background::{AnswerFilter, Background, MAX_ANSWER_TIME};
use clipboard::{MAX_OSC52_BYTES, Multiplexer, osc52};
use painter::Painter;
use terminal::{Terminal, suspend_lent};
use turn::{Screens, Wait};
use wake::{WakeReader, wake_pair};

/// The shortest wait in which crossterm returns what it has read.
const MIN_WAIT: Duration = Duration::from_millis(1);
/// The longest wait where keys do not come from stdin: nothing else ends that wait.
const MAX_KEY_WAIT: Duration = Duration::from_millis(33);
/// How to select text while the mouse is in use.
const MOUSE_ON_NOTICE: &str =
    "mouse on: Shift and drag selects text (Option in iTerm2, Fn in Terminal); :set mouse off ends it";
/// Keys taken in before a frame is drawn.
const MAX_KEYS_PER_FRAME: usize = 256;

/// Appearance of the screens, and messages besides keys.
pub struct Options {
    pub theme: Theme,
    /// The theme is the default one, and depends on the background of the terminal.
    pub asks_background: bool,
    /// The colours of all themes, by name.
    pub palettes: Vec<(String, Palette)>,
    pub zone: TimeZone,
    pub keys: Keymap,
    pub screen: ScreenId,
    /// At most five frames a second.
    pub slow_link: bool,
    /// Use the mouse.
    pub mouse: bool,
    /// How to announce a new problem.
    pub notify: Option<Notify>,
    /// The multiplexer around this program, for the clipboard.
    pub multiplexer: Option<Multiplexer>,
    /// Signals and notices: SIGTERM and SIGHUP as [`Msg::Stop`], SIGTSTP as [`Msg::Suspend`],
    /// SIGWINCH as [`Msg::Resize`].
    pub messages: Receiver<Msg>,
    /// Woken after each message.
    pub wake: WakeReader,
}

/// Shows the screens until the user quits or [`Msg::Stop`] arrives, then restores the terminal.
///
/// # Errors
/// The terminal cannot be read or written, or a panic on another thread restored it.
pub fn run(feed: &dyn Feed, options: Options) -> io::Result<()> {
    let terminal = Terminal::take(options.wake.waker())?;
    let mut model = Model::new(size()?, options.theme, options.zone);
    (model.palettes, model.screen, model.keys) = (options.palettes, options.screen, options.keys);
    model.marks = feed.marks();
    if options.mouse {
        use_mouse(&terminal, &mut model, true);
    }
    let mut screens = Screens::new(model, terminal.output().writer(), options.slow_link);
    let (waker, changes) = wake_pair()?;
    feed.set_waker(waker);
    let mut input = Input::new(options.wake, changes);
    let Some(mut early) = input.ask_background(&terminal, options.asks_background)? else { return Ok(()) };
    let mut are_keys_left = false;
    loop {
        let wait = match (are_keys_left || !early.is_empty(), terminal.is_written()) {
            (true, _) => Wait::NONE,
            // Nothing can be drawn. The end of the write is a message.
            (false, false) => Wait::FOR_MESSAGE,
            (false, true) => screens.wait(feed),
        };
        let Some(keys) = input.keys(wait)? else { return Ok(()) };
        are_keys_left = keys.len() >= MAX_KEYS_PER_FRAME;
        let mut messages = std::mem::take(&mut early);
        messages.extend(keys);
        if let Some(background) = input.background.take() {
            use_background(&mut screens.model, background);
            messages.push(Msg::Changed);
        }
        if !receive(&options.messages, &mut messages) {
            return Ok(());
        }
        terminal.check()?;
        let effects = screens.turn(feed, messages);
        let Screens { model, painter, .. } = &mut screens;
        if terminal.is_written()
            && let Some((words, notify)) = model.alerts.take().zip(options.notify)
        {
            painter.send(&alerts::sequence(notify, &words, options.multiplexer))?;
        }
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(()),
                Effect::Suspend => {
                    terminal.suspend()?;
                    painter.forget();
                    model.common.size = size()?;
                }
                Effect::Redraw => painter.forget(),
                Effect::Mouse(is_on) => use_mouse(&terminal, model, is_on),
                Effect::SaveMarks => save_marks(feed, model),
                Effect::Replay(seek) => replay(feed, model, seek),
                Effect::SendAction(action) => send_action(feed, model, action),
                Effect::Hold(command) => hold_command(feed, model, command),
                Effect::Edit { fact, text } => {
                    if !edit(feed, &terminal, model, &options.messages, &fact, text.as_deref())? {
                        return Ok(());
                    }
                    painter.forget();
                    model.common.size = size()?;
                }
                Effect::Record(name) => {
                    let result = feed.record(name.as_deref());
                    model.say(result.unwrap_or_else(|why| format!("not recorded: {why}")));
                    model.common.info = feed.info();
                }
                Effect::Copy(text) => {
                    let notice = copy(feed, painter, &text, options.multiplexer);
                    model.common.notice = Some(notice);
                }
            }
        }
        if terminal.is_written() {
            screens.paint()?;
        }
    }
}

/// Takes in the messages that are there. Returns false once their sender has ended.
fn receive(from: &Receiver<Msg>, messages: &mut Vec<Msg>) -> bool {
    loop {
        match from.try_recv() {
            Ok(message) => messages.push(message),
            Err(TryRecvError::Empty) => return true,
            Err(TryRecvError::Disconnected) => return false,
        }
    }
}

/// Columns and rows of the terminal on stdout, where there is one.
pub fn terminal_size() -> Option<(u16, u16)> {
    size().ok()
}

/// Takes the theme for the background of the terminal as the default one.
fn use_background(model: &mut Model, background: Background) {
    let named =
        |name: &str| model.palettes.iter().find(|(word, _)| word == name).map(|(_, palette)| *palette);
    if let (Some(before), Some(palette)) = (named("default"), named(background.theme())) {
        if model.common.theme.palette == before {
            model.common.theme.palette = palette;
        }
        model.palettes.iter_mut().filter(|(word, _)| word == "default").for_each(|entry| entry.1 = palette);
    }
}

/// Uses the mouse, or leaves it to the terminal, and says how to select text.
fn use_mouse(terminal: &Terminal, model: &mut Model, is_on: bool) {
    terminal.use_mouse(is_on);
    model.has_mouse = is_on;
    model.say(if is_on { MOUSE_ON_NOTICE } else { "mouse off: drag selects text" });
}

/// Sends what the user has confirmed to the server.
fn send_action(feed: &dyn Feed, model: &mut Model, action: ClientAction) {
    let words = action.words();
    model.say(match feed.tell(action) {
        Ok(()) => format!("sent: {words}"),
        Err(why) => why.to_string(),
    });
}

/// Saves the marks.
fn save_marks(feed: &dyn Feed, model: &mut Model) {
    let notice = model.common.notice.take().unwrap_or_default();
    model.say(match feed.save_marks(&model.marks) {
        Ok(true) => format!("{notice}; saved with the recording"),
        Ok(false) => notice,
        Err(error) => format!("{notice}; not saved: {error}"),
    });
}

/// Decides about held messages, and shows what is held then.
fn hold_command(feed: &dyn Feed, model: &mut Model, command: HoldCommand) {
    let passing = model.common.info.hold.as_ref().map_or(0, |hold| hold.passing);
    let words = hold::done(&command, passing);
    let result = feed.hold(command);
    model.say(result.map_or_else(|why| why.to_string(), |()| words));
    show_source(feed, model);
}

/// Takes in the state of the source, and its facts.
fn show_source(feed: &dyn Feed, model: &mut Model) {
    let info = feed.info();
    feed.read(&mut |data| drop(update(model, Msg::Info(Box::new(info.clone())), data)));
}

/// Lends the terminal to the user's editor. Returns false if the program has to end meanwhile.
fn edit(
    feed: &dyn Feed,
    terminal: &Terminal,
    model: &mut Model,
    messages: &Receiver<Msg>,
    fact: &Arc<HeldFact>,
    text: Option<&str>,
) -> io::Result<bool> {
    if let Err(why) = feed.hold(HoldCommand::BeginEdit(fact.id)) {
        model.say(why.to_string());
        return Ok(true);
    }
    let mut is_over = || loop {
        match messages.try_recv() {
            Ok(Msg::Stop) | Err(TryRecvError::Disconnected) => return true,
            Ok(Msg::Suspend) => suspend_lent(),
            Ok(_) => {}
            Err(TryRecvError::Empty) => return false,
        }
    };
    let result = match terminal.lend(|| feed.edit(fact, text, &mut is_over))? {
        Ok(None) => return Ok(false),
        Ok(Some(edited)) => Ok(edited),
        Err(why) => Err(why),
    };
    // Notices from before the edit would hide its result.
    model.common.notice = None;
    if let Some(command) = hold::edited(model, fact, result) {
        let notice = model.common.notice.take();
        hold_command(feed, model, command);
        model.common.notice = notice.or(model.common.notice.take());
    }
    show_source(feed, model);
    Ok(true)
}

/// Moves the time cursor, and shows the facts there.
fn replay(feed: &dyn Feed, model: &mut Model, seek: Seek) {
    let paused = model.common.paused;
    let mut held = None;
    feed.read(&mut |data| {
        let rows = paused.map_or(0, |paused| paused.rows);
        let n = (data.store().first_row()..rows).rev().find_map(|row| data.line(row)?.n).unwrap_or(Seq(0));
        held = paused.map(|paused| HeldMessage { n, now: paused.now });
    });
    let result = feed.replay(held, seek);
    let is_reached = result.is_ok();
    match result {
        Ok(()) => model.common.paused = None,
        Err(why) => model.say(why.to_string()),
    }
    show_source(feed, model);
    if is_reached && let Some(problem) = model.common.info.bar.as_ref().and_then(|bar| bar.reached.clone()) {
        show_reached(model, &problem);
    }
}

/// Everything that ends a wait.
struct Input {
    stdin: Stdin,
    messages: WakeReader,
    changes: WakeReader,
    answers: AnswerFilter,
    /// The background of the terminal, once it has answered.
    background: Option<Background>,
}

impl Input {
    fn new(messages: WakeReader, changes: WakeReader) -> Input {
        let answers = AnswerFilter::default();
        Input { stdin: Stdin::of_process(), messages, changes, answers, background: None }
    }

    /// Asks for the background if wanted, and waits for the answer for a short time. Returns the
    /// keys that came meanwhile; `None` if the terminal is gone.
    fn ask_background(&mut self, terminal: &Terminal, is_wanted: bool) -> io::Result<Option<Vec<Msg>>> {
        let (start, mut early) = (Instant::now(), Vec::new());
        if is_wanted {
            self.answers.begin();
            terminal.ask_background();
        }
        while self.answers.is_waiting()
            && let Some(left) = MAX_ANSWER_TIME.checked_sub(start.elapsed())
        {
            let Some(keys) = self.keys(Wait { timeout: Some(left), for_changes: false })? else {
                return Ok(None);
            };
            early.extend(keys);
        }
        Ok(Some(early))
    }

    /// Waits for a key, and returns all keys that are there; `None` if the terminal is gone.
    fn keys(&mut self, mut wait: Wait) -> io::Result<Option<Vec<Msg>>> {
        if let Some(left) = self.answers.pause_left(Instant::now()) {
            wait.timeout = Some(wait.timeout.map_or(left, |timeout| timeout.min(left)));
        }
        let mut left = match self.stdin {
            Stdin::Terminal => {
                if self.wait(wait) == Awaited::TerminalGone {
                    return Ok(None);
                }
                MIN_WAIT
            }
            Stdin::Other => {
                wait.timeout.map_or(MAX_KEY_WAIT, |timeout| timeout.clamp(MIN_WAIT, MAX_KEY_WAIT))
            }
        };
        let (mut messages, mut keys) = (Vec::new(), Vec::new());
        while messages.len() < MAX_KEYS_PER_FRAME && event::poll(left)? {
            left = MIN_WAIT;
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    let found = self.answers.take(key, Instant::now(), &mut keys);
                    self.background = found.or(self.background);
                    messages.extend(keys.drain(..).map(Msg::Key));
                }
                Event::Resize(width, height) => messages.push(Msg::Resize(width, height)),
                Event::Paste(text) => messages.push(Msg::Paste(text)),
                Event::Mouse(event) => messages.push(Msg::Mouse(event)),
                _ => {}
            }
        }
        self.answers.release(Instant::now(), &mut keys);
        messages.extend(keys.into_iter().map(Msg::Key));
        Ok(Some(messages))
    }

    /// Waits for input on the terminal, a message or, if wanted, a change.
    fn wait(&self, wait: Wait) -> Awaited {
        let mut polled = vec![
            PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN),
            PollFd::new(&self.messages, PollFlags::IN),
        ];
        if wait.for_changes {
            polled.push(PollFd::new(&self.changes, PollFlags::IN));
        }
        let timeout = wait.timeout.map(|timeout| timeout.max(MIN_WAIT));
        // A signal may end the wait: the caller waits again.
        let _ = poll(&mut polled, timeout.and_then(|timeout| Timespec::try_from(timeout).ok()).as_ref());
        self.messages.reset();
        if wait.for_changes {
            self.changes.reset();
        }
        // crossterm does not report the end of a terminal.
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        let is_gone = polled.first().is_some_and(|stdin| stdin.revents().intersects(gone));
        if is_gone { Awaited::TerminalGone } else { Awaited::Input }
    }
}

/// The end of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// There may be keys, messages or changes.
    Input,
    TerminalGone,
}

/// The source of keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stdin {
    Terminal,
    /// A pipe: keys come from the controlling terminal.
    Other,
}

impl Stdin {
    /// Returns the kind of stdin. To be called while the terminal exists.
    fn of_process() -> Stdin {
        if rustix::termios::isatty(rustix::stdio::stdin()) { Stdin::Terminal } else { Stdin::Other }
    }
}

/// Copies a text to the clipboard or, if it is too large, to a file. Returns a notice.
fn copy<W: Write>(
    feed: &dyn Feed,
    painter: &mut Painter<W>,
    text: &str,
    multiplexer: Option<Multiplexer>,
) -> String {
    let size = text::size(text.len() as u64);
    if text.len() <= MAX_OSC52_BYTES {
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
