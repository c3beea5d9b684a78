//! The copy commands: a row, a name, a path, a body, a command line.

use crate::common::Common;
use crate::data::{BodyFormat, Data};
use crate::input::command::Command;
use crate::screens::screen::{CommandLine, CursorFlag};
use xdscope_present::text::shell_word;
use xdscope_wire::event::Kind;
use xdscope_wire::text::display_safe;

use crate::shell::effect::Effect;
use crate::shell::model::Model;

/// Runs a copy command.
pub(crate) fn run(model: &mut Model, command: Command, data: &dyn Data) -> Vec<Effect> {
    model.overlays.pop();
    let (screen, common) = (model.active(), &model.common);
    if command == Command::CopyTable {
        return copy_table(model, data);
    }
    let is_text = |text: &String| !text.is_empty();
    let text = match command {
        Command::CopyRow => screen.copy_row(common),
        Command::CopyName => screen.copy_name(common).filter(is_text),
        Command::CopyPath => screen.copy_path().map(|path| display_safe(&path).into_owned()).filter(is_text),
        Command::CopyJson => screen.copy_body(BodyFormat::Json, data),
        Command::CopyYaml => screen.copy_body(BodyFormat::Yaml, data),
        _ => command_line(model),
    };
    match text {
        Some(text) => vec![Effect::Copy(text)],
        None => model.decline(reason(command)),
    }
}

/// Copies the list of the screen as a table in Markdown.
fn copy_table(model: &mut Model, data: &dyn Data) -> Vec<Effect> {
    let table = model.active().table(&model.common, data).filter(|table| !table.rows.is_empty());
    match table {
        Some(table) => vec![Effect::Copy(table.markdown(model.screen, &model.common.hidden_columns))],
        None => model.decline("no table to copy here: yr copies a row, yy the content"),
    }
}

/// The reason why there is nothing to copy.
fn reason(command: Command) -> &'static str {
    match command {
        Command::CopyRow => "nothing is selected",
        Command::CopyName => "nothing with a name is selected",
        Command::CopyPath => "a path is copied from a field: choose a line of a resource (4) or a change (5)",
        Command::CopyJson => "JSON is copied from a message or a resource: choose one",
        Command::CopyYaml => "YAML is copied from a message or a resource: choose one",
        _ => "there is no source to name",
    }
}

/// Adds the position of the time cursor, unless the cursor is at the end.
fn add_cursor(command: &mut CommandLine, common: &Common) {
    let Some(bar) = common.info.bar.as_ref().filter(|bar| !bar.at_end) else { return };
    match command.cursor {
        CursorFlag::At => {
            let at = if bar.message > 0 { format!("'#{}'", bar.message) } else { "start".to_owned() };
            command.line.push_str(&format!(" --at {at}"));
        }
        CursorFlag::Before => {
            let filters = command.filters.get_or_insert_default();
            filters.push(format!("before:#{}", bar.message + 1));
        }
        CursorFlag::None => {}
    }
}

/// The command line that prints what the screen shows.
fn command_line(model: &Model) -> Option<String> {
    let common = &model.common;
    if common.info.rerun.is_empty() {
        return None;
    }
    let source = shell_word(&common.info.rerun);
    let mut command = model.active().command_line(common, &source)?;
    add_cursor(&mut command, common);
    let mut line = command.line;
    let Some(mut filters) = command.filters else { return Some(line) };
    if let Some(url) = &common.scope.type_url {
        let word = Kind::of_type_url(url.as_str()).map_or(url.as_str(), |(kind, _)| kind.word());
        filters.push(format!("type:{word}"));
    }
    filters.extend(common.filter.as_ref().map(|filter| {
        let needs_group = filter.text.contains('|') && !filters.is_empty();
        if needs_group { format!("({})", filter.text) } else { filter.text.clone() }
    }));
    if !filters.is_empty() {
        line.push_str(&format!(" --filter {}", shell_word(&filters.join(" "))));
    }
    Some(line)
}
