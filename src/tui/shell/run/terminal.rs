//! Takes over the terminal, and restores it on return, error, panic and suspension.

use std::io;
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::queue;
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::background::QUESTION;
use super::output::OutputQueue;
use super::wake::Waker;

/// The terminal is taken over. Static, because the panic hook reads it too.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The handle of the terminal, for the panic hook and the thread of signals.
static HANDLE: Mutex<Option<Handle>> = Mutex::new(None);
static HOOK: Once = Once::new();
/// Held while the terminal changes hands, so that nobody takes or uses a part of it meanwhile.
static CHANGE: Mutex<()> = Mutex::new(());
/// The process is about to end: nobody takes the terminal over again.
static ENDING: AtomicBool = AtomicBool::new(false);
/// The mouse is reported to the program.
static MOUSE: AtomicBool = AtomicBool::new(false);

/// Asks for presses of buttons and the wheel, with positions of any size: not for movements.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";

/// The ways to the terminal. Nobody waits for a terminal that nobody reads.
#[derive(Clone)]
struct Handle {
    output: OutputQueue,
    /// Wakes the event loop after a panic on another thread, and once frames are written.
    waker: Waker,
}

impl Handle {
    /// Returns the handle of the terminal that was taken over last.
    fn last() -> Option<Handle> {
        HANDLE.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The terminal, taken over until dropped.
pub(crate) struct Terminal(Handle);

impl Terminal {
    /// Takes over the terminal: alternate screen, raw mode, bracketed paste. `waker` wakes the
    /// event loop once the terminal is lost.
    pub(crate) fn take(waker: Waker) -> io::Result<Terminal> {
        let handle = Handle { output: OutputQueue::start("terminal", io::stdout().as_fd())?, waker };
        *HANDLE.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle.clone());
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                // The message is printed on the restored screen.
                restore();
                before(info);
                if let Some(handle) = Handle::last() {
                    handle.waker.wake();
                }
            }));
        });
        let terminal = Terminal(handle);
        terminal.enter()?;
        Ok(terminal)
    }

    /// Returns the queue in front of the terminal.
    pub(crate) fn output(&self) -> &OutputQueue {
        &self.0.output
    }

    /// Returns whether everything is written. Otherwise the event loop is woken once it is.
    pub(crate) fn is_written(&self) -> bool {
        self.0.output.is_idle_or_wakes(&self.0.waker)
    }

    /// Checks that the terminal can be drawn on.
    ///
    /// # Errors
    /// The terminal cannot be written, or a panic on another thread restored it.
    pub(crate) fn check(&self) -> io::Result<()> {
        if let Some((_, error)) = self.0.output.take_lost() {
            return Err(error.into());
        }
        // A thread that ends the process has restored the terminal first. An error would end the
        // process in another way.
        match TAKEN.load(Ordering::SeqCst) || ENDING.load(Ordering::SeqCst) {
            true => Ok(()),
            false => Err(io::Error::other("a crash on another thread ended the screens")),
        }
    }

    /// Asks for the colour of the background. The answer comes among the keys.
    pub(crate) fn ask_background(&self) {
        self.0.output.push(QUESTION);
    }

    /// Uses the mouse, or leaves it to the terminal.
    pub(crate) fn use_mouse(&self, is_on: bool) {
        MOUSE.store(is_on, Ordering::SeqCst);
        self.0.output.push(if is_on { MOUSE_ON } else { MOUSE_OFF }.as_bytes());
    }

    /// Restores the terminal and suspends the process until it is continued. Without job control,
    /// returns at once.
    pub(crate) fn suspend(&self) -> io::Result<()> {
        restore();
        stop()?;
        self.enter()
    }

    /// Restores the terminal, runs `with`, and takes the terminal over again.
    pub(crate) fn lend<T>(&self, with: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = with();
        self.enter()?;
        Ok(result)
    }

    /// Puts the terminal into raw mode, on its alternate screen. Does nothing while the process
    /// ends.
    fn enter(&self) -> io::Result<()> {
        let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        if ENDING.load(Ordering::SeqCst) {
            return Ok(());
        }
        // Set first, so that a failure in the middle is undone too.
        TAKEN.store(true, Ordering::SeqCst);
        self.0.output.open();
        enable_raw_mode()?;
        let mut bytes = Vec::new();
        queue!(bytes, EnterAlternateScreen, EnableBracketedPaste)?;
        if MOUSE.load(Ordering::SeqCst) {
            bytes.extend_from_slice(MOUSE_ON.as_bytes());
        }
        self.0.output.push(&bytes);
        Ok(())
    }
}

/// Suspends the process while the terminal is lent, as the shell has asked for.
pub(crate) fn suspend_lent() {
    // Without job control the program continues.
    let _ = stop();
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, from any thread: leaves the alternate screen and raw mode.
///
/// Does nothing the second time, but waits for the first one. If nobody reads the terminal, waits
/// for a moment only; the modes are restored in any case. Frames that are drawn afterwards are not
/// written.
fn restore() {
    let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut bytes = Vec::new();
    if MOUSE.load(Ordering::SeqCst) {
        bytes.extend_from_slice(MOUSE_OFF.as_bytes());
    }
    // Ignore errors: memory takes all bytes, and a terminal that is gone cannot be restored.
    let _ = queue!(bytes, EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, Show);
    if let Some(Handle { output, .. }) = Handle::last() {
        output.push_last(&bytes);
        output.drain();
    }
    let _ = disable_raw_mode();
}

/// Gives the terminal back for good, from the thread that ends the process: the screens do not take
/// it over again, and do not report its loss.
pub fn restore_at_end() {
    ENDING.store(true, Ordering::SeqCst);
    restore();
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
