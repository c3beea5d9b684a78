//! The lines of the palette: commands, and places by name, the best first.

use crate::common::Common;
use crate::data::Data;
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use xdscope_present::logs;

use super::name_search::{NameSearch, Place, Rank};

/// A command of the palette that takes an argument.
pub(crate) struct ArgumentCommand {
    pub word: &'static str,
    pub example: &'static str,
    pub doc: &'static str,
}

const fn with(word: &'static str, example: &'static str, doc: &'static str) -> ArgumentCommand {
    ArgumentCommand { word, example, doc }
}

/// The commands that take an argument.
pub(crate) const ARGUMENT_COMMANDS: [ArgumentCommand; 5] = [
    with("goto", "#487", "go to a message, a time of day (14:02:08), or +30s from the start"),
    with("filter", "kind:nack", "show only rows that match"),
    with("diff", "cds/reviews", "show what changed between versions of a resource"),
    with("hold", "stream", "hold all messages of this client, of all types"),
    with("set", "mouse on", "use the mouse (on, off), or other colours (theme dark)"),
];

/// The effect of a line of the palette.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LineTarget {
    Command(Command),
    Place(Place),
}

/// A line of the palette.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub name: String,
    pub doc: String,
    pub target: LineTarget,
}

/// The lines that match what is typed.
#[derive(Clone, Debug, Default)]
pub struct PaletteSearch {
    pub(crate) candidates: Vec<Candidate>,
    names: NameSearch,
}

impl PaletteSearch {
    /// A search that knows the nodes, types and problems of a source, and the kept recordings.
    pub(crate) fn new(data: &dyn Data, common: &Common) -> PaletteSearch {
        let names = NameSearch::new(data, common);
        let mut search = PaletteSearch { names, ..PaletteSearch::default() };
        search.merge("");
        search
    }

    /// Searches for what is typed: commands and known places at once, resource names in slices.
    pub(crate) fn start(&mut self, input: &str, data: &dyn Data) {
        self.names.start(input, data);
        self.merge(input);
    }

    pub(crate) fn is_searching(&self) -> bool {
        self.names.is_searching()
    }

    /// Searches another slice of names, and returns whether there are more.
    ///
    /// The line that was chosen stays chosen.
    pub(crate) fn step(&mut self, input: &str, chosen: &mut usize, data: &dyn Data) -> bool {
        let before = self.candidates.get(*chosen).cloned();
        if self.names.step(data) {
            self.merge(input);
            // The first line is the best one, whatever it is.
            if *chosen > 0
                && let Some(before) = before
                && let Some(at) = self.candidates.iter().position(|line| *line == before)
            {
                *chosen = at;
            }
            *chosen = (*chosen).min(self.candidates.len().saturating_sub(1));
        }
        self.is_searching()
    }

    /// Resource names that are not searched, because there are too many.
    pub(crate) fn progress(&self) -> Option<String> {
        self.names.progress()
    }

    /// Merges commands and places, the best first.
    fn merge(&mut self, input: &str) {
        let commands = ranked_commands(input).into_iter();
        let commands = commands.map(|(rank, command)| {
            let (name, doc) = (command.name().to_owned(), command.doc().to_owned());
            (rank, Candidate { name, doc, target: LineTarget::Command(command) })
        });
        let places = self.names.found().map(|(rank, place, doc)| {
            (rank, Candidate { name: place.name(), doc, target: LineTarget::Place(place.clone()) })
        });
        let mut all: Vec<(Rank, Candidate)> = commands.chain(places).collect();
        all.sort_by_key(|(rank, _)| *rank);
        self.candidates = all.into_iter().map(|(_, candidate)| candidate).collect();
    }
}

/// The commands that match `input`, best first: by name, by a word of the explanation, then with
/// letters left out.
#[cfg(test)]
fn candidates(input: &str) -> Vec<Command> {
    ranked_commands(input).into_iter().map(|(_, command)| command).collect()
}

/// Returns the commands that match an input, the best match first.
fn ranked_commands(input: &str) -> Vec<(Rank, Command)> {
    let wanted = input.trim().to_lowercase();
    let answers = answering_command(input, &wanted);
    let rank = |command: &Command| {
        let (name, doc) = (command.name(), command.doc().to_lowercase());
        if name == wanted {
            Some(Rank::EXACT)
        } else if name.starts_with(&wanted) {
            Some(Rank::COMMAND_PREFIX)
        } else if has_word(name, &wanted) {
            Some(Rank::COMMAND_PART)
        } else if name.contains(&wanted) {
            Some(Rank::COMMAND_INSIDE)
        } else if answers == Some(*command) {
            Some(Rank::COMMAND_ANSWER)
        } else if doc.contains(&wanted) {
            Some(Rank::COMMAND_DOC)
        } else {
            is_subsequence(&wanted, name).then_some(Rank::COMMAND_LETTERS)
        }
    };
    let all = Command::ALL.iter().filter(|command| !is_prompt_only(**command));
    let mut found: Vec<(Rank, Command)> =
        all.filter_map(|command| Some((rank(command)?, *command))).collect();
    // Without a word, all match: the screens are what most people look for.
    let is_screen = |command| ScreenId::ALL.into_iter().any(|screen| screen.command() == command);
    found.sort_by_key(|(rank, command)| (*rank, wanted.is_empty() && !is_screen(*command)));
    found
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

/// Whether a word of a name begins with `wanted`.
fn has_word(name: &str, wanted: &str) -> bool {
    name.split(['-', ' ']).any(|word| word.starts_with(wanted)) || name.contains(&format!("-{wanted}"))
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
        let all = candidates("");
        assert!(all.len() > 50);
        let screens = ScreenId::ALL.map(ScreenId::command);
        assert!(all[..screens.len()].iter().all(|command| screens.contains(command)), "{all:?}");
    }

    #[test]
    fn leaves_out_commands_of_prompts() {
        assert!(!candidates("").contains(&Command::Yes));
    }
}
