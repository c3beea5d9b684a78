//! Opening of the screens, for the verbs that have them.

use std::sync::mpsc::Receiver;

use crate::app::process::signals::Signal;
use crate::app::screen::messages;
use xdscope_tui::{Feed, Multiplexer, Notify, Palette, ScreenId, Theme};

use super::themes;
use crate::cli::args::{Global, NotifyWord, ScreenFlags, TimeFormat};
use crate::cli::command::suggest;
use crate::cli::error::{CliError, Exit};
use crate::cli::terminal::diagnostics;
use crate::cli::terminal::io::Io;

/// Shows a source until the user quits.
pub(crate) fn run(
    feed: &dyn Feed,
    screen: ScreenId,
    flags: &ScreenFlags,
    time: TimeFormat,
    global: &Global,
    io: &Io<'_>,
    signals: Receiver<Signal>,
) -> Result<(), CliError> {
    // Messages at the end must not wait for a terminal that nobody reads.
    diagnostics::detach_stderr();
    let style = io.style(global);
    let failed = |error| CliError::new(Exit::Defect, "the screens failed").because(error);
    let (messages, wake) = messages(signals).map_err(failed)?;
    let themes::TerminalThemes { palettes, asks_background } = themes::on_terminal(global, io);
    let chosen = palettes.iter().find(|(name, _)| *name == flags.theme);
    let options = xdscope_tui::Options {
        theme: Theme {
            palette: chosen.map_or_else(Palette::default, |(_, palette)| *palette),
            ascii: style.ascii,
        },
        asks_background: asks_background && flags.theme == "default",
        palettes,
        zone: io.zone(time),
        keys: global.keys.clone(),
        screen,
        slow_link: flags.slow_link,
        mouse: flags.mouse,
        notify: match flags.notify {
            NotifyWord::Off => None,
            NotifyWord::Bell => Some(Notify::Bell),
            NotifyWord::Osc9 => Some(Notify::Osc9),
        },
        multiplexer: Multiplexer::detect((io.env)("TMUX").as_deref(), (io.env)("TERM").as_deref()),
        messages,
        wake,
    };
    let _behind = diagnostics::hold_behind_screens();
    xdscope_tui::run(feed, options).map_err(failed)
}

/// Parses the screen that a flag names.
pub(crate) fn wanted(flag: &str, view: Option<&str>) -> Result<ScreenId, CliError> {
    let Some(word) = view else { return Ok(ScreenId::Overview) };
    let found = ScreenId::ALL.into_iter().find(|screen| screen.title().eq_ignore_ascii_case(word));
    found.ok_or_else(|| {
        let words: Vec<_> = ScreenId::ALL.iter().map(|screen| screen.title().to_lowercase()).collect();
        let near = suggest::near(&word.to_lowercase(), words.iter().map(String::as_str));
        let next = near.into_iter().map(|screen| format!("{flag} {screen}")).collect();
        let error = CliError::usage(format!("unknown screen `{word}`: expected one of {}", words.join(", ")));
        CliError { next, ..error }
    })
}
