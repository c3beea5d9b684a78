//! Signals as messages, so that every exit completes the session file and restores the terminal.
//!
//! A thread of its own handles them. The thread takes no lock that another one holds while it waits
//! for a terminal (for more than a moment), a pipe or a file, so that a signal ends the process in
//! any case.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::net::{kubectl, lock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, SIGTERM, SIGHUP: finish and exit.
    Stop,
    /// SIGTSTP: return the terminal to the shell.
    Suspend,
    /// SIGWINCH: the terminal has another size.
    Resize,
}

/// The first signal that ended the process; 0 before.
static ENDED: AtomicI32 = AtomicI32::new(0);

/// Whether something else than [`end_kubectl`] handles the signals that end the process.
static IS_HANDLED: AtomicBool = AtomicBool::new(false);

/// The least time that a run has to end by itself.
const MIN_END_TIME: Duration = Duration::from_secs(2);

/// The part of the time to end that is left to complete the session file and to restore the
/// terminal of a run that hangs.
const FINISH_DIVISOR: u32 = 5;

/// The exit code that shells expect of a program that a signal has ended, less the number of the
/// signal.
const SIGNAL_EXIT_CODE: i32 = 128;

/// Stops traffic and completes the session file of a run that hangs.
type Finish = Box<dyn FnOnce() + Send>;

static FINISH: Mutex<Option<Finish>> = Mutex::new(None);

/// Sets what completes the session file if the run does not end by itself. Must not block.
pub fn on_hang(finish: impl FnOnce() + Send + 'static) {
    *lock(&FINISH) = Some(Box::new(finish));
}

/// A signal that ends a run from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGHUP.
    Hangup,
    /// SIGTERM.
    Terminate,
}

impl EndSignal {
    /// Returns the name of the signal.
    pub fn word(self) -> &'static str {
        match self {
            EndSignal::Hangup => "SIGHUP",
            EndSignal::Terminate => "SIGTERM",
        }
    }
}

/// Returns the signal that ended the run, unless the user sent it with Ctrl-C.
pub fn cause() -> Option<EndSignal> {
    match ENDED.load(Ordering::Relaxed) {
        SIGTERM => Some(EndSignal::Terminate),
        SIGHUP => Some(EndSignal::Hangup),
        _ => None,
    }
}

/// Returns whether Ctrl-C, or a SIGINT from elsewhere, ended the run.
pub fn is_interrupted() -> bool {
    ENDED.load(Ordering::Relaxed) == SIGINT
}

/// Catches the signals that end a run from now on, and with `screens` those about the terminal.
///
/// `limit` after a signal that ends the run, the process ends whatever other threads wait for.
/// SIGUSR1, SIGUSR2 and SIGALRM, which end other programs, do nothing.
pub fn watch(screens: bool, limit: Duration) -> io::Result<Receiver<Signal>> {
    IS_HANDLED.store(true, Ordering::Relaxed);
    let mut caught = vec![SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM];
    if screens {
        caught.extend([SIGTSTP, SIGWINCH, SIGQUIT]);
    }
    let mut signals = Signals::new(caught)?;
    let (send, receive) = channel();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let signal = match signal {
                SIGTSTP => Signal::Suspend,
                SIGWINCH => Signal::Resize,
                SIGUSR1 | SIGUSR2 | SIGALRM => continue,
                SIGQUIT => {
                    xdscope_tui::restore_terminal();
                    // Ends the process, with a core dump where the system keeps one.
                    let _ = low_level::emulate_default_handler(SIGQUIT);
                    continue;
                }
                signal => {
                    if ENDED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                        end_after(limit.max(MIN_END_TIME), signal);
                    }
                    Signal::Stop
                }
            };
            // The run may be ending already.
            let _ = send.send(signal);
        }
    })?;
    Ok(receive)
}

/// Calls `clean` when a signal is about to end a program that catches none.
///
/// # Errors
/// Signals cannot be caught.
pub fn before_end(clean: impl FnOnce() + Send + 'static) -> io::Result<()> {
    IS_HANDLED.store(true, Ordering::Relaxed);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            kubectl::end_all();
            clean();
            // Fails for unknown signals only.
            let _ = low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// Ends each kubectl when a signal ends the program while nothing else handles signals.
///
/// # Errors
/// Signals cannot be caught.
pub fn end_kubectl() -> io::Result<()> {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if !IS_HANDLED.load(Ordering::Relaxed) {
                kubectl::end_all();
                // Fails for unknown signals only.
                let _ = low_level::emulate_default_handler(signal);
            }
        }
    })?;
    Ok(())
}

/// Ends the process after `limit`, unless the run ends by itself before.
fn end_after(limit: Duration, signal: i32) {
    let end = move || {
        let rest = limit / FINISH_DIVISOR;
        std::thread::sleep(limit - rest);
        let finish = lock(&FINISH).take();
        if let Some(finish) = finish {
            finish();
        }
        std::thread::sleep(rest);
        xdscope_tui::restore_terminal();
        kubectl::end_all();
        // Handlers at the exit would flush stdout, which may be blocked.
        low_level::exit(SIGNAL_EXIT_CODE + signal);
    };
    // Without a thread, the run ends by itself if it does.
    let _ = std::thread::Builder::new().name("end".into()).spawn(end);
}
