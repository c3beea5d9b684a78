//! Prompts and questions on the notice line.

use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use crate::data::ClientAction;
use crate::shell::commands::hold;
use crate::shell::model::Model;
use crate::shell::overlay::{ClientPrompt, FilterPrompt, Overlay};
use crate::widgets::canvas::{Canvas, span};
use crate::widgets::layout::height;
use crate::widgets::text::paragraph;
use xdscope_present::report::Role;
use xdscope_present::text::{Keep, cut, width};
use xdscope_wire::text;

/// Held messages that the question before quitting names.
const MAX_LISTED_HELD: usize = 4;
/// Lines of a remark above a prompt.
const MAX_REMARK_LINES: usize = 6;

/// Whether the top overlay has a prompt or a question on the notice line.
pub(super) fn has_line(model: &Model) -> bool {
    !matches!(
        model.overlays.last(),
        None | Some(Overlay::Help { .. } | Overlay::Palette { .. } | Overlay::Copy)
    )
}

/// Draws the prompt or question of the top overlay, if it has one. Returns whether it has, and the
/// position of the cursor.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, line: Rect) -> (bool, Option<Position>) {
    let cursor = match model.overlays.last() {
        Some(Overlay::Filter(prompt)) => filter(canvas, line, prompt),
        Some(Overlay::Find { input, .. }) => find(canvas, line, input, model.common.notice.as_deref()),
        Some(Overlay::Record { input }) => {
            input_line(canvas, line, " record from here on to the file: ", input).cursor(line)
        }
        Some(Overlay::ClientPrompt { prompt, input, error }) => {
            client(canvas, line, prompt, input, error.as_deref())
        }
        Some(overlay) => return (question(model, canvas, line, overlay), None),
        None => return (false, None),
    };
    (true, Some(cursor))
}

/// Draws the question of an overlay. Returns whether the overlay has one.
fn question(model: &Model, canvas: &mut Canvas, line: Rect, overlay: &Overlay) -> bool {
    let question = match overlay {
        Overlay::ConfirmSend(actions) => {
            let words: Vec<String> = actions.iter().map(ClientAction::words).collect();
            let words = text::display_safe(&words.join(", ")).into_owned();
            let room = usize::from(line.width).saturating_sub(18);
            let words = cut(&words, room, Keep::Head, canvas.glyphs().cut);
            format!(" {words}?  y send  n not")
        }
        Overlay::ConfirmHold(command) => {
            let words = text::display_safe(&hold::words(command)).into_owned();
            let room = usize::from(line.width).saturating_sub(18);
            format!(" {}?  y yes  n no", cut(&words, room, Keep::Head, canvas.glyphs().cut))
        }
        Overlay::ConfirmEdit(draft) => match &draft.edited {
            Ok(_) => format!(" send this in place of {}?  y send  e edit again  n not", draft.fact.id),
            Err(_) => format!(" {} cannot be sent like this.  e edit again  n discard", draft.fact.id),
        },
        Overlay::Sort { .. } => " the order of this list: a number, or j k and Enter".to_owned(),
        Overlay::Columns { .. } => " the columns of this list: a number, or j k and Enter".to_owned(),
        Overlay::ConfirmQuit => {
            let streams = text::plural(model.common.info.streams, "stream");
            let held = model.common.info.hold.iter().flat_map(|hold| &hold.held);
            let held: Vec<String> = held.map(|row| row.fact.id.to_string()).collect();
            let sent = match held.as_slice() {
                [] => String::new(),
                [id] => format!(" {id} is sent as it came;"),
                ids if ids.len() <= MAX_LISTED_HELD => format!(" {} are sent as they came;", ids.join(", ")),
                ids => format!(" {} held messages are sent as they came;", ids.len()),
            };
            format!("{sent} {streams} of clients pass through this: quitting ends them.  y quit  n stay")
        }
        Overlay::SetMark => " mark this moment: a letter".to_owned(),
        Overlay::GoToMark => " go to the mark: a letter".to_owned(),
        _ => return false,
    };
    canvas.text(line, &question, Role::Warn);
    true
}

/// The drawn input of a prompt.
struct InputLine {
    /// The area after the lead.
    room: Rect,
    /// The column after the input.
    end: u16,
}

impl InputLine {
    /// The position of the cursor in the line.
    fn cursor(&self, line: Rect) -> Position {
        Position { x: self.end.min(line.right().saturating_sub(1)), y: line.y }
    }

    /// The area beside the input.
    fn beside(&self) -> Rect {
        let x = (self.end + 2).min(self.room.right());
        Rect { x, width: self.room.right().saturating_sub(x), ..self.room }
    }
}

/// Draws a lead and the end of the input, where the cursor is.
fn input_line(canvas: &mut Canvas, line: Rect, lead: &str, input: &str) -> InputLine {
    let start = canvas.text(line, lead, Role::Key);
    let room = Rect { x: start, width: line.right().saturating_sub(start), ..line };
    let safe = text::display_safe(input);
    let width = usize::from(room.width).saturating_sub(2);
    let shown = cut(&safe, width, Keep::Tail, canvas.glyphs().cut);
    let end = canvas.text(room, &shown, Role::Plain).max(room.x);
    InputLine { room, end }
}

/// Draws a prompt for the client, with a hint or an error beside it.
fn client(
    canvas: &mut Canvas,
    line: Rect,
    prompt: &ClientPrompt,
    input: &str,
    error: Option<&str>,
) -> Position {
    let (lead, hint) = match prompt {
        ClientPrompt::Subscription => (" S! ".to_owned(), "eds/NAME adds, -eds/NAME drops, cds/* all"),
        ClientPrompt::NackText { type_url, nonce } => (
            format!(" B! NACK {} {}: ", text::type_label(type_url.as_str()), text::display_safe(nonce)),
            "the text of it",
        ),
        ClientPrompt::Intercept => (
            " I! hold messages that match: ".to_owned(),
            "type:cds dir:resp node:edge*; empty holds nothing more",
        ),
        ClientPrompt::BounceText { id, nonce } => {
            (format!(" B! NACK for {id}, nonce {}: ", text::display_safe(nonce)), "the text of it")
        }
    };
    let drawn = input_line(canvas, line, &lead, input);
    match error {
        Some(error) => canvas.text(drawn.beside(), &text::display_safe(error), Role::Bad),
        None => canvas.text(drawn.beside(), hint, Role::Muted),
    };
    drawn.cursor(line)
}

/// Draws the filter, underlined from where it is wrong. The reason stands above it, in full; what
/// completes the input stands beside it.
fn filter(canvas: &mut Canvas, line: Rect, prompt: &FilterPrompt) -> Position {
    let drawn = input_line(canvas, line, " / ", &prompt.input);
    if let Some(error) = &prompt.error {
        let (room, end) = (drawn.room, drawn.end);
        let wrong = prompt.input.get(error.at..).unwrap_or("");
        let width = u16::try_from(width(&text::display_safe(wrong))).unwrap_or(u16::MAX).max(1);
        let x = end.saturating_sub(width).max(room.x);
        let mark = Rect { x, width: (end - x).max(1), ..room }.intersection(canvas.buf.area);
        canvas.buf.set_style(mark, canvas.theme.style(Role::Bad).add_modifier(Modifier::UNDERLINED));
        let reason = format!("not read at column {}: {}", error.at + 1, error.reason);
        remark(canvas, &drawn, line, &reason, Role::Bad);
    } else if let Some(hint) = &prompt.hint {
        remark(canvas, &drawn, line, hint, Role::Muted);
    }
    drawn.cursor(line)
}

/// Draws a search, with its result beside it.
fn find(canvas: &mut Canvas, line: Rect, input: &str, found: Option<&str>) -> Position {
    let drawn = input_line(canvas, line, " / ", input);
    let found = found.unwrap_or("find in this text; Up recalls a search");
    canvas.text(drawn.beside(), &text::display_safe(found), Role::Muted);
    drawn.cursor(line)
}

/// Draws a remark beside the input or, without room, above it: wrapped, never cut.
fn remark(canvas: &mut Canvas, drawn: &InputLine, line: Rect, remark: &str, role: Role) {
    let safe = text::display_safe(remark);
    if width(&safe) <= usize::from(drawn.beside().width) {
        canvas.line(drawn.beside(), &[span(safe.as_ref(), role)]);
        return;
    }
    let lines = paragraph(remark, 1, role, usize::from(line.width));
    let height = height(lines.len().min(MAX_REMARK_LINES)).min(line.y);
    let area = Rect { y: line.y - height, height, ..line };
    canvas.clear(area);
    canvas.lines(area, &lines, 0);
}
