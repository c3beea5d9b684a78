//! The terminal is taken over once and given back in every case: return, error, panic, suspension.

use std::io::{self, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};

/// Whether the terminal is ours now. Static, because the panic hook needs it too.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Holds the terminal; dropping it gives the terminal back.
#[derive(Debug)]
pub struct Terminal(());

impl Terminal {
    /// Alternate screen, raw mode, marked pastes.
    pub fn take() -> io::Result<Terminal> {
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                // The message must be printed on the screen it will stay on.
                give_back();
                before(info);
            }));
        });
        // From here on everything is undone, also what fails half-way.
        TAKEN.store(true, Ordering::SeqCst);
        let terminal = Terminal(());
        enter()?;
        Ok(terminal)
    }

    /// A panic on another thread gave the terminal back: nothing may be drawn any more.
    pub fn lost(&self) -> bool {
        !TAKEN.load(Ordering::SeqCst)
    }

    /// Gives the terminal to the shell and stops; returns when continued. Where nothing can continue us (no job
    /// control) it returns at once.
    pub fn suspend(&self) -> io::Result<()> {
        give_back();
        stop()?;
        TAKEN.store(true, Ordering::SeqCst);
        enter()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

/// Undoes [`enter`]. Does nothing the second time.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // A terminal that is gone cannot be restored; that is no reason to fail.
    let _ = queue!(out, EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

#[cfg(unix)]
fn stop() -> io::Result<()> {
    use rustix::process::{getpid, getsid};
    // The leader of a session has no shell that could continue it.
    if getsid(None).is_ok_and(|session| session == getpid()) {
        return Ok(());
    }
    // SIGTSTP itself is caught, so that the terminal is given back first.
    signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)
}

#[cfg(not(unix))]
fn stop() -> io::Result<()> {
    Ok(())
}
