//! Signals as messages, so that every way out finishes the session file and gives the terminal back.

use std::io;
use std::sync::mpsc::{Receiver, channel};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, SIGTERM, SIGHUP: finish and end.
    Stop,
    /// SIGTSTP: give the terminal to the shell.
    Suspend,
}

/// Catches the signals that end a run, and with `screens` the one that suspends it, from now on.
pub fn watch(screens: bool) -> io::Result<Receiver<Signal>> {
    let mut caught = vec![SIGINT, SIGTERM, SIGHUP];
    if screens {
        caught.push(SIGTSTP);
    }
    let mut signals = Signals::new(caught)?;
    let (send, receive) = channel();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let signal = if signal == SIGTSTP { Signal::Suspend } else { Signal::Stop };
            if send.send(signal).is_err() {
                return;
            }
        }
    })?;
    Ok(receive)
}
