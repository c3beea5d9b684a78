//! Signals as messages, so that every exit completes the session file and restores the terminal.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, channel};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

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
pub fn watch(screens: bool) -> io::Result<Receiver<Signal>> {
    let mut caught = vec![SIGINT, SIGTERM, SIGHUP];
    if screens {
        caught.extend([SIGTSTP, SIGWINCH]);
    }
    let mut signals = Signals::new(caught)?;
    let (send, receive) = channel();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let signal = match signal {
                SIGTSTP => Signal::Suspend,
                SIGWINCH => Signal::Resize,
                signal => {
                    let _ = ENDED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
                    Signal::Stop
                }
            };
            if send.send(signal).is_err() {
                return;
            }
        }
    })?;
    Ok(receive)
}
