//! Takes over the terminal, and restores it on return, error, panic and suspension.

use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};

use super::wake::Waker;

/// The terminal is taken over. Static, because the panic hook reads it too.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Wakes the event loop after a panic on another thread.
static WAKER: Mutex<Option<Waker>> = Mutex::new(None);
static HOOK: Once = Once::new();
/// The mouse is reported to the program.
static MOUSE: AtomicBool = AtomicBool::new(false);

/// Asks for presses of buttons and the wheel, with positions of any size: not for movements.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";

/// The terminal, taken over until dropped.
#[derive(Debug)]
pub(crate) struct Terminal(());

impl Terminal {
    /// Takes over the terminal: alternate screen, raw mode, bracketed paste. `waker` wakes the
    /// event loop once the terminal is lost.
    pub(crate) fn take(waker: Waker) -> io::Result<Terminal> {
        *WAKER.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                // The message is printed on the restored screen.
                restore();
                before(info);
                if let Some(waker) = WAKER.try_lock().ok().and_then(|waker| waker.clone()) {
                    waker.wake();
                }
            }));
        });
        // Set first, so that a failure in the middle is undone too.
        TAKEN.store(true, Ordering::SeqCst);
        let terminal = Terminal(());
        enter()?;
        Ok(terminal)
    }

    /// A panic on another thread restored the terminal, so nothing may be drawn any more.
    pub(crate) fn is_lost(&self) -> bool {
        !TAKEN.load(Ordering::SeqCst)
    }

    /// Uses the mouse, or leaves it to the terminal.
    pub(crate) fn use_mouse(&self, is_on: bool) -> io::Result<()> {
        MOUSE.store(is_on, Ordering::SeqCst);
        let mut out = io::stdout();
        out.write_all(if is_on { MOUSE_ON } else { MOUSE_OFF }.as_bytes())?;
        out.flush()
    }

    /// Restores the terminal and suspends the process until it is continued. Without job control,
    /// returns at once.
    pub(crate) fn suspend(&self) -> io::Result<()> {
        restore();
        stop()?;
        TAKEN.store(true, Ordering::SeqCst);
        enter()
    }
}

impl Terminal {
    /// Restores the terminal, runs `with`, and takes the terminal over again.
    pub(crate) fn lend<T>(&self, with: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = with();
        TAKEN.store(true, Ordering::SeqCst);
        enter()?;
        Ok(result)
    }
}

/// Suspends the process while the terminal is lent, as the shell has asked for.
pub(crate) fn suspend_lent() {
    // Without job control the program goes on.
    let _ = stop();
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
    if MOUSE.load(Ordering::SeqCst) {
        io::stdout().write_all(MOUSE_ON.as_bytes())?;
    }
    io::stdout().flush()
}

/// Undoes [`enter`]. Does nothing the second time.
fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // Ignore errors: a terminal that is gone cannot be restored.
    if MOUSE.load(Ordering::SeqCst) {
        let _ = out.write_all(MOUSE_OFF.as_bytes());
    }
    let _ = queue!(out, EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

#[cfg(unix)]
fn stop() -> io::Result<()> {
    use rustix::process::{getpid, getsid};
    // The leader of a session has no shell to continue it.
    if getsid(None).is_ok_and(|session| session == getpid()) {
        return Ok(());
    }
    // The handler of SIGTSTP restores the terminal first, so the default action is emulated here.
    signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)
}

#[cfg(not(unix))]
fn stop() -> io::Result<()> {
    Ok(())
}
