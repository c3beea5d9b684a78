//! The two prompts: a filter, checked while it is typed, and the palette of commands.

use crate::present::logs;

use crate::tui::data::{Applied, Data};
use crate::tui::input::command::Command;
use crate::tui::shell::commands;
use crate::tui::shell::find::{self, Find};
use crate::tui::shell::model::{Model, Overlay, Screen};
use crate::tui::shell::places;
use crate::tui::shell::update::Effect;

/// Typed commands longer than this are no commands.
const LONGEST: usize = 1000;
/// Commands remembered.
const HISTORY: usize = 50;

/// Words that take an argument, with what it is and what they do.
pub const WITH_ARGUMENT: [(&str, &str, &str); 3] = [
    ("goto", "#487", "go to a message, a time of day (14:02:08), or +30s from the start"),
    ("filter", "kind:nack", "show only rows that match"),
    ("diff", "cds/reviews", "show what changed between versions of a resource"),
];

/// What people look for, in their own words and those of logs, and the screen that answers.
pub const LOOKED_FOR: [(Screen, &str); 9] = [
    (Screen::Overview, "in sync, not sent, never acknowledged, stale, healthy, which proxies"),
    (
        Screen::Stream,
        "stream closed, disconnected, reconnects, version mismatch, stale nonce, keepalive timeout",
    ),
    (Screen::Timeline, "ack, latency, slow, order of messages, resent again and again"),
    (
        Screen::Resources,
        "config dump, the value of a field, what a field means, a large resource, a certificate",
    ),
    (Screen::Diff, "what changed, since when, which push"),
    (Screen::Nack, "config rejected, refused, validation failed, invalid, update error"),
    (Screen::Subs, "not listed, missing, not responding, initial fetch timed out, does not exist, wildcard"),
    (
        Screen::Graph,
        "stuck in warming, dangling, unknown cluster, no healthy upstream, no route, 503 NR NC UH, orphan",
    ),
    (Screen::Lint, "rule broken, loop, storm, message larger than max, unexpected, what is wrong"),
];

pub fn typed(model: &mut Model, c: char, data: &dyn Data) {
    if let Some(input) = input(model)
        && input.len() < LONGEST
    {
        input.push(c);
    }
    changed(model, data);
}

fn input(model: &mut Model) -> Option<&mut String> {
    match model.overlays.last_mut() {
        Some(
            Overlay::Palette { input, .. }
            | Overlay::Filter { input, .. }
            | Overlay::Find { input }
            | Overlay::Record { input }
            | Overlay::Tell { input, .. },
        ) => Some(input),
        _ => None,
    }
}

/// A bad expression is shown where it breaks, and the last good one stays in force.
fn changed(model: &mut Model, data: &dyn Data) {
    match model.overlays.last_mut() {
        Some(Overlay::Tell { wrong, .. }) => *wrong = None,
        Some(Overlay::Palette { chosen, .. }) => *chosen = 0,
        Some(Overlay::Filter { input, error, .. }) => match data.read_filter(input) {
            Ok(filter) => {
                *error = None;
                let text = input.trim().to_owned();
                model.filter = (!text.is_empty()).then_some(Applied { text, filter });
            }
            Err(why) => *error = Some(why),
        },
        _ => {}
    }
}

pub fn edit(model: &mut Model, command: Command, data: &dyn Data) -> Vec<Effect> {
    match command {
        Command::Cancel => {
            if let Some(Overlay::Filter { before, .. }) = model.overlays.pop() {
                model.filter = before;
            }
        }
        Command::Erase => {
            let empty = input(model).is_none_or(|input| input.pop().is_none());
            if empty {
                return edit(model, Command::Cancel, data);
            }
            changed(model, data);
        }
        Command::EraseAll => {
            if let Some(input) = input(model) {
                input.clear();
            }
            changed(model, data);
        }
        Command::Up => choose(model, -1),
        Command::Down => choose(model, 1),
        Command::Complete => {
            let name = chosen(model).map(Command::name);
            if let (Some(name), Some(input)) = (name, input(model)) {
                name.clone_into(input);
            }
            changed(model, data);
        }
        Command::Accept => return accept(model, data),
        _ => {}
    }
    vec![]
}

fn accept(model: &mut Model, data: &dyn Data) -> Vec<Effect> {
    match model.overlays.last() {
        Some(Overlay::Filter { error: Some(error), .. }) => {
            let why = format!("not a filter: {error}; Esc returns to the one before");
            model.say(why);
            vec![]
        }
        Some(Overlay::Tell { .. }) => {
            crate::tui::shell::client_action::accept(model);
            vec![]
        }
        Some(Overlay::Record { input }) => {
            let name = input.trim().to_owned();
            model.overlays.pop();
            if name.is_empty() { vec![] } else { vec![Effect::Record(Some(name))] }
        }
        Some(Overlay::Find { input }) => {
            let text = input.clone();
            model.overlays.pop();
            model.find = (!text.is_empty()).then(|| Find::new(text));
            if model.find.is_some() {
                find::next(model, true);
            }
            vec![]
        }
        Some(Overlay::Palette { input, .. }) => {
            let input = input.trim().to_owned();
            let command = chosen(model);
            model.overlays.pop();
            let (word, argument) = input.split_once(' ').unwrap_or((&input, ""));
            match (word, command) {
                ("goto", _) => {
                    remember(model, &input);
                    return places::goto(model, data, argument);
                }
                ("diff", _) if !argument.is_empty() => commands::diff_of(model, data, argument),
                ("filter", _) if !argument.is_empty() => match data.read_filter(argument) {
                    Ok(filter) => model.filter = Some(Applied { text: argument.trim().to_owned(), filter }),
                    Err(why) => model.say(format!("not a filter: {why}")),
                },
                (_, Some(command)) => {
                    remember(model, command.name());
                    return commands::run(model, command, data);
                }
                (_, None) => model.say(format!("no command {input}")),
            }
            remember(model, &input);
            vec![]
        }
        _ => {
            model.overlays.pop();
            vec![]
        }
    }
}

fn remember(model: &mut Model, line: &str) {
    model.history.retain(|known| known != line);
    model.history.push(line.to_owned());
    if model.history.len() > HISTORY {
        model.history.remove(0);
    }
}

/// Down and up in the list; up from its first line recalls what was run before.
fn choose(model: &mut Model, by: isize) {
    let Some(Overlay::Palette { input, chosen, recalled }) = model.overlays.last_mut() else { return };
    let found = candidates(input).len();
    if by < 0 && *chosen == 0 {
        let at = recalled.unwrap_or(model.history.len());
        if let Some(line) = at.checked_sub(1).and_then(|at| Some((at, model.history.get(at)?))) {
            *recalled = Some(line.0);
            input.clone_from(line.1);
        }
        return;
    }
    *chosen = chosen.saturating_add_signed(by).min(found.saturating_sub(1));
}

fn chosen(model: &Model) -> Option<Command> {
    match model.overlays.last() {
        Some(Overlay::Palette { input, chosen, .. }) => candidates(input).get(*chosen).copied(),
        _ => None,
    }
}

/// Commands that a person can mean by `input`, best first: by name, by a word of the explanation, then with
/// letters left out.
pub fn candidates(input: &str) -> Vec<Command> {
    let wanted = input.trim().to_lowercase();
    let answers = screen_that_answers(input, &wanted);
    let rank = |command: &Command| {
        let (name, doc) = (command.name(), command.doc().to_lowercase());
        if name.starts_with(&wanted) {
            Some(0)
        } else if name.contains(&wanted) {
            Some(1)
        } else if doc.contains(&wanted) {
            Some(2)
        } else if subsequence(&wanted, name) {
            Some(3)
        } else {
            (answers == Some(*command)).then_some(4)
        }
    };
    let mut found: Vec<(i32, Command)> = Command::ALL
        .iter()
        .filter(|command| !only_in_prompts(**command))
        .filter_map(|command| Some((rank(command)?, *command)))
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, command)| command).collect()
}

/// The screen with the most of these words among those that lead to it; a line of a log leads where its explanation does.
fn screen_that_answers(line: &str, wanted: &str) -> Option<Command> {
    let explained = logs::explain(line).into_iter().flat_map(|meaning| meaning.look).find_map(|look| {
        let number = look.strip_prefix("screen ")?.chars().next()?.to_digit(10)?;
        Screen::ALL.into_iter().find(|screen| u32::from(screen.number()) == number)
    });
    explained.or_else(|| answering(wanted).map(|(screen, _)| screen)).map(Screen::command)
}

/// The screen that people look for by most of these words, if by more than half of them, and by what else.
pub fn answering(wanted: &str) -> Option<(Screen, &'static str)> {
    let wanted = wanted.to_lowercase();
    let words = || wanted.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
    let of = |text: &str| words().filter(|word| text.contains(word)).count();
    let found = LOOKED_FOR.iter().map(|(screen, text)| (of(&text.to_lowercase()), (*screen, *text)));
    found.filter(|(n, _)| *n > 0 && n * 2 > words().count()).rev().max_by_key(|(n, _)| *n).map(|(_, to)| to)
}

fn only_in_prompts(command: Command) -> bool {
    use Command::{Accept, Cancel, Complete, Erase, EraseAll, No, Palette, Yes};
    matches!(command, Accept | Cancel | Complete | Erase | EraseAll | Yes | No | Palette)
}

fn subsequence(wanted: &str, text: &str) -> bool {
    let mut letters = text.chars();
    wanted.chars().all(|c| letters.any(|l| l == c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_name_by_word_and_by_letters() {
        assert_eq!(candidates("nack").first(), Some(&Command::NextNack));
        assert_eq!(candidates("scover").first(), Some(&Command::Overview));
        assert!(candidates("lifeline").contains(&Command::Ladder));
        assert!(candidates("xyzzy").is_empty());
    }

    #[test]
    fn users_words_lead_to_the_screen_that_answers() {
        for (words, command) in [
            ("stuck in warming", Command::Graph),
            ("closed: 14", Command::Stream),
            ("not listed", Command::Subs),
            ("initial fetch timed out", Command::Subs),
            ("StreamAggregatedResources gRPC config stream closed: 14, no connection", Command::Stream),
            ("config rejected", Command::Nack),
            ("no healthy upstream", Command::Graph),
        ] {
            assert_eq!(candidates(words).first(), Some(&command), "{words}");
        }
        assert!(candidates("an unheard of thing").is_empty());
        assert!(candidates("").len() > 50);
    }

    #[test]
    fn prompts_have_commands_of_their_own() {
        assert!(!candidates("").contains(&Command::Yes));
    }
}
