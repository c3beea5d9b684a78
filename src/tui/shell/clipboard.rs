//! What `y` copies, and how it reaches the clipboard of a terminal at the other end of an SSH connection.

use crate::present::report;
use crate::wire::event::Kind;
use crate::wire::text;

use crate::tui::data::{Data, Format};
use crate::tui::screens::graph::view::graph_row;
use crate::tui::screens::lint::view::finding_row;
use crate::tui::screens::nack::view::nack_row;
use crate::tui::screens::overview::view::overview_row;
use crate::tui::screens::stream::view::stream_row;
use crate::tui::screens::subscriptions::view::name_row;
use crate::tui::screens::timeline::view::timeline_row;
use crate::tui::shell::model::{Model, Pane, Screen};

/// What terminals take at least in one OSC 52; more goes to a file.
pub const LIMIT: usize = 74_994;

/// The selected row as text, uncut.
pub fn row(model: &Model) -> Option<String> {
    let cells = match (model.screen, model.pane) {
        (Screen::Overview, Pane::Second) => {
            let problem = model.problems.get(model.overview.problem)?;
            return Some(format!(
                "{} {}",
                problem.node.as_deref().unwrap_or("-"),
                report::problem(problem, &model.clock)
            ));
        }
        (Screen::Overview, Pane::Main) => overview_row(model, model.overview.row()?),
        (Screen::Stream, _) => stream_row(model, model.stream.state()?),
        (Screen::Diff, _) => return crate::tui::screens::diff::copied(model),
        (Screen::Resources, _) => return crate::tui::screens::resources::copied(model),
        (Screen::Nack, _) => nack_row(model, model.nacks.group()?),
        (Screen::Subs, _) => name_row(model, model.subs.row()?),
        (Screen::Graph, _) => graph_row(model, model.graph.row()?),
        (Screen::Lint, _) => finding_row(model, model.lint.finding.as_ref()?),
        (Screen::Timeline, _) => timeline_row(model, &model.timeline.current.as_ref()?.shown),
    };
    let words = cells.iter().map(|cell| cell.text.trim()).filter(|word| !word.is_empty());
    Some(words.map(|word| text::display_safe(word).into_owned()).collect::<Vec<_>>().join("  "))
}

/// The name of what is selected: of a node, of a resource, of all resources of a message.
pub fn name(model: &Model) -> Option<String> {
    let name = match (model.screen, model.pane) {
        (Screen::Overview, Pane::Second) => {
            model.problems.get(model.overview.problem)?.node.as_deref()?.to_owned()
        }
        (Screen::Overview, Pane::Main) => model.overview.row()?.name.clone(),
        (Screen::Stream, _) => model.stream.state()?.node.as_deref()?.to_owned(),
        (Screen::Timeline, _) => model.timeline.current.as_ref()?.fact.names.join("\n"),
        (Screen::Resources, _) => model.resources.tree.selected.as_ref()?.name.as_deref()?.to_owned(),
        (Screen::Diff, _) => model.diff.target.as_ref()?.name.to_string(),
        (Screen::Nack, _) => model.nacks.card.subjects.first()?.name.value.clone(),
        (Screen::Subs, _) => model.subs.row()?.name.to_string(),
        (Screen::Graph, _) => model.graph.node()?.1.name.to_string(),
        (Screen::Lint, _) => model.lint.finding.as_ref()?.rule.id.to_owned(),
    };
    Some(name).filter(|name| !name.is_empty())
}

/// The path of the selected field.
pub fn path(model: &Model) -> Option<String> {
    let path = match model.screen {
        Screen::Resources => {
            let detail = &model.resources.detail;
            detail.lines.get(detail.line)?.path.clone()
        }
        Screen::Diff => crate::tui::screens::diff::change(model)?.path.to_string(),
        Screen::Nack => model.nacks.card.subjects.first()?.faults.first()?.0.value.clone(),
        _ => return None,
    };
    Some(text::display_safe(&path).into_owned()).filter(|path| !path.is_empty())
}

/// The selected message as the object that `log -o jsonl` prints; else the selected resource.
pub fn json(model: &Model, data: &dyn Data) -> Option<String> {
    match model.screen {
        Screen::Timeline => model.timeline.current.as_ref().map(|current| data.json(&current.fact)),
        _ => content(model, data, Format::Json),
    }
}

/// The body of the selected message; else the selected resource.
pub fn yaml(model: &Model, data: &dyn Data) -> Option<String> {
    match model.screen {
        Screen::Timeline => {
            let n = model.timeline.current.as_ref()?.fact.n?;
            Some(data.body(n, Format::Yaml, usize::MAX).join("\n"))
        }
        _ => content(model, data, Format::Yaml),
    }
}

/// The content that the screen is about: the version shown, the newer one of a diff, what was refused.
fn content(model: &Model, data: &dyn Data, format: Format) -> Option<String> {
    let contents = data.contents()?;
    let id = match model.screen {
        Screen::Resources => model.resources.detail.content()?,
        Screen::Diff => model.diff.version(model.diff.new)?.content?,
        Screen::Nack => {
            let (group, subject) = (model.nacks.group()?, model.nacks.card.subjects.first()?);
            let (store, _) = data.source()?;
            let pushed = store.pushed(group.last()?.refused?)?;
            pushed.into_iter().find(|(name, _)| **name == *subject.name.value)?.1
        }
        Screen::Subs => model.subs.row()?.fact.as_ref()?.content?,
        Screen::Graph => model.graph.node()?.1.content?,
        Screen::Overview | Screen::Stream | Screen::Timeline | Screen::Lint => return None,
    };
    Some(contents.lines(id, format, usize::MAX).join("\n"))
}

/// The command line that prints what this screen shows.
pub fn command(model: &Model) -> Option<String> {
    if model.info.rerun.is_empty() {
        return None;
    }
    let source = quoted(&model.info.rerun);
    let mut filters: Vec<String> = Vec::new();
    let stream = model.scope.stream.map(|stream| stream.0.to_string());
    let mut line = match model.screen {
        Screen::Overview => format!("xdscope status {source}"),
        Screen::Stream => {
            let stream = stream.map(|n| format!(" --stream '#{n}'")).unwrap_or_default();
            format!("xdscope status {source} -o wide{stream}")
        }
        Screen::Diff => return crate::tui::screens::diff::command(model, &source, quoted),
        Screen::Resources => {
            let what = crate::tui::screens::resources::what(model)
                .map(|what| format!(" {}", quoted(&what)))
                .unwrap_or_default();
            let stream = stream.map(|n| format!(" --stream '#{n}'")).unwrap_or_default();
            let form = if what.contains('/') { "yaml" } else { "tree" };
            format!("xdscope get {source}{what} -o {form}{stream}")
        }
        Screen::Subs | Screen::Graph | Screen::Lint => {
            let stream = stream.map(|n| format!(" --stream '#{n}'")).unwrap_or_default();
            return Some(match model.screen {
                Screen::Subs => {
                    let what = model.subs.type_word().map(|word| format!(" {word}")).unwrap_or_default();
                    format!("xdscope get {source}{what} --subscriptions{stream}")
                }
                Screen::Graph => format!("xdscope get {source} -o tree{stream}"),
                _ => format!("xdscope lint {source}{stream}"),
            });
        }
        Screen::Nack => {
            filters.push("kind:nack".to_owned());
            filters.extend(stream.map(|n| format!("stream:{n}")));
            format!("xdscope log {source} --body")
        }
        Screen::Timeline => {
            filters.extend(stream.map(|n| format!("stream:{n}")));
            let ladder = if model.timeline.ladder { " --ladder" } else { "" };
            format!("xdscope log {source}{ladder}")
        }
    };
    if model.screen == Screen::Resources {
        return Some(line);
    }
    if let Some(url) = &model.scope.type_url {
        let word = Kind::of_type_url(url.as_str()).map_or(url.as_str(), |(kind, _)| kind.word());
        filters.push(format!("type:{word}"));
    }
    filters.extend(model.filter.as_ref().map(|filter| {
        let several = filter.text.contains('|') && !filters.is_empty();
        if several { format!("({})", filter.text) } else { filter.text.clone() }
    }));
    if !filters.is_empty() {
        line.push_str(&format!(" --filter {}", quoted(&filters.join(" "))));
    }
    Some(line)
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The bytes that put `text` on the terminal's clipboard, wrapped for the multiplexer around it.
pub fn osc52(text: &str, multiplexer: Option<Multiplexer>) -> Vec<u8> {
    let plain = format!("\x1b]52;c;{}\x07", base64(text.as_bytes()));
    match multiplexer {
        None => plain.into_bytes(),
        Some(Multiplexer::Tmux) => {
            format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")).into_bytes()
        }
        // screen takes no more than 768 bytes in one string.
        Some(Multiplexer::Screen) => {
            let mut out = Vec::new();
            for chunk in plain.as_bytes().chunks(700) {
                out.extend_from_slice(b"\x1bP");
                out.extend_from_slice(chunk);
                out.extend_from_slice(b"\x1b\\");
            }
            out
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplexer {
    Tmux,
    Screen,
}

impl Multiplexer {
    /// By the values of `TMUX` and `TERM`.
    pub fn of(tmux: Option<&str>, term: Option<&str>) -> Option<Multiplexer> {
        if tmux.is_some_and(|value| !value.is_empty()) {
            Some(Multiplexer::Tmux)
        } else if term.is_some_and(|term| term.starts_with("screen")) {
            Some(Multiplexer::Screen)
        } else {
            None
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    crate::schema::base64::encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn wrapped_for_the_multiplexer() {
        assert_eq!(osc52("foo", None), b"\x1b]52;c;Zm9v\x07");
        assert_eq!(osc52("foo", Some(Multiplexer::Tmux)), b"\x1bPtmux;\x1b\x1b]52;c;Zm9v\x07\x1b\\");
        assert_eq!(osc52("foo", Some(Multiplexer::Screen)), b"\x1bP\x1b]52;c;Zm9v\x07\x1b\\");
        assert_eq!(Multiplexer::of(Some("/tmp/x"), Some("screen-256color")), Some(Multiplexer::Tmux));
        assert_eq!(Multiplexer::of(None, Some("screen")), Some(Multiplexer::Screen));
        assert_eq!(Multiplexer::of(None, Some("xterm")), None);
    }

    #[test]
    fn words_for_a_shell() {
        assert_eq!(quoted("cp.mesh:15010"), "cp.mesh:15010");
        assert_eq!(quoted("kind:nack lat>1s"), "'kind:nack lat>1s'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
