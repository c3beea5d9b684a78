//! Messages of a run about its session files, and about events that it did not print.

use std::path::PathBuf;

use xdscope_present::text::shell_word;
use xdscope_wire::text::{self, plural};

use crate::app::live_state::LiveState;
use crate::cli::args::Global;
use crate::cli::output::event_lines::UnprintedLines;
use crate::cli::sessions;
use crate::cli::terminal::io::Io;

/// Says how many events of a run that has ended are not printed.
pub(super) fn say_unprinted(shared: &LiveState, unprinted: Option<&UnprintedLines>, io: &mut Io<'_>) {
    let Some(unprinted) = unprinted else { return };
    if shared.unanalysed() > 0 {
        io.say(&format!("{} not printed: not analysed in time", plural(shared.unanalysed(), "event")));
    }
    unprinted.report();
}

/// Says what the session file lacks, where it is, and how to open it.
pub(super) fn say_kept(shared: &LiveState, kept: Option<(PathBuf, u64)>, global: &Global, io: &mut Io<'_>) {
    say_news(shared, io);
    if let Some(error) = shared.recording_error() {
        io.say(&error);
    }
    if let Some((path, _)) = &kept
        && sessions::remove_if_empty(path, io)
    {
        if !global.quiet {
            io.say("no session kept: nothing was recorded");
        }
        return;
    }
    if let Some((path, size)) = kept.filter(|_| !global.quiet) {
        let (path, size) = (path.display().to_string(), text::size(size));
        io.say(&format!("session kept: {path} ({size})"));
        io.say(&format!("next: xdscope replay {}", shell_word(&path)));
    }
}

/// Says what happened to session files.
pub(super) fn say_news(shared: &LiveState, io: &mut Io<'_>) {
    shared.take_news().iter().for_each(|text| io.say(text));
}
