//! The commands that the palette offers for what is typed.

use crate::present::logs;
use crate::tui::input::command::Command;
use crate::tui::input::screen_id::ScreenId;

/// A command of the palette that takes an argument.
pub(super) struct ArgumentCommand {
    pub word: &'static str,
    pub example: &'static str,
    pub doc: &'static str,
}

const fn with(word: &'static str, example: &'static str, doc: &'static str) -> ArgumentCommand {
    ArgumentCommand { word, example, doc }
}

/// The commands that take an argument.
pub(super) const ARGUMENT_COMMANDS: [ArgumentCommand; 3] = [
    with("goto", "#487", "go to a message, a time of day (14:02:08), or +30s from the start"),
    with("filter", "kind:nack", "show only rows that match"),
    with("diff", "cds/reviews", "show what changed between versions of a resource"),
];

/// The commands that match `input`, best first: by name, by a word of the explanation, then with
/// letters left out.
pub(super) fn candidates(input: &str) -> Vec<Command> {
    let wanted = input.trim().to_lowercase();
    let answers = answering_command(input, &wanted);
    let rank = |command: &Command| {
        let (name, doc) = (command.name(), command.doc().to_lowercase());
        if name.starts_with(&wanted) {
            Some(0)
        } else if name.contains(&wanted) {
            Some(1)
        } else if doc.contains(&wanted) {
            Some(2)
        } else if is_subsequence(&wanted, name) {
            Some(3)
        } else {
            (answers == Some(*command)).then_some(4)
        }
    };
    let mut found: Vec<(i32, Command)> = Command::ALL
        .iter()
        .filter(|command| !is_prompt_only(**command))
        .filter_map(|command| Some((rank(command)?, *command)))
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, command)| command).collect()
}

/// The command of the screen that answers these words, or that explains this line of a log.
fn answering_command(line: &str, wanted: &str) -> Option<Command> {
    let explained = logs::explain(line).into_iter().flat_map(|meaning| meaning.look).find_map(|look| {
        let number = look.strip_prefix("screen ")?.chars().next()?.to_digit(10)?;
        ScreenId::ALL.into_iter().find(|screen| u32::from(screen.number()) == number)
    });
    explained.or_else(|| ScreenId::answering(wanted)).map(ScreenId::command)
}

fn is_prompt_only(command: Command) -> bool {
    use Command::{Accept, Cancel, Complete, Erase, EraseAll, No, Palette, Yes};
    matches!(command, Accept | Cancel | Complete | Erase | EraseAll | Yes | No | Palette)
}

fn is_subsequence(wanted: &str, text: &str) -> bool {
    let mut letters = text.chars();
    wanted.chars().all(|c| letters.any(|l| l == c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_commands_by_name_by_word_and_by_letters() {
        assert_eq!(candidates("nack").first(), Some(&Command::NextNack));
        assert_eq!(candidates("scover").first(), Some(&Command::Overview));
        assert!(candidates("lifeline").contains(&Command::Ladder));
        assert!(candidates("xyzzy").is_empty());
    }

    #[test]
    fn finds_the_screen_that_answers_words_of_users() {
        for (words, command) in [
            ("stuck in warming", Command::Graph),
            ("closed: 14", Command::Stream),
            ("not listed", Command::Subscriptions),
            ("initial fetch timed out", Command::Subscriptions),
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
    fn leaves_out_commands_of_prompts() {
        assert!(!candidates("").contains(&Command::Yes));
    }
}
