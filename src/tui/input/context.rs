//! Contexts: where a key is bound.

use super::screen_id::ScreenId;

/// A set of screens or an overlay in which keys are bound. Overlays shadow the screen beneath them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere, also in overlays and prompts.
    Always,
    /// On every screen.
    Everywhere,
    Screen(ScreenId),
    /// On every screen while there is a time cursor.
    Replay,
    Help,
    /// While a command is typed.
    Palette,
    /// While a filter is typed.
    Filter,
    /// While a search text is typed.
    Find,
    /// While a change of the client's subscription, the text of a NACK, or an expression of
    /// messages to hold is typed.
    ClientPrompt,
    /// While the file name of a recording is typed.
    RecordPrompt,
    /// After `s`.
    Sort,
    /// After `C`.
    Columns,
    /// After `y`.
    Copy,
    /// After `m` and `'`.
    Mark,
    /// A yes-or-no question.
    Confirm,
    /// The question whether to send an edited message.
    ConfirmEdit,
}

impl Context {
    /// All contexts, in the order in which help prints them.
    pub const ALL: [Context; 25] = [
        Context::Screen(ScreenId::Overview),
        Context::Screen(ScreenId::Stream),
        Context::Screen(ScreenId::Timeline),
        Context::Screen(ScreenId::Resources),
        Context::Screen(ScreenId::Diff),
        Context::Screen(ScreenId::Nack),
        Context::Screen(ScreenId::Subscriptions),
        Context::Screen(ScreenId::Graph),
        Context::Screen(ScreenId::Lint),
        Context::Screen(ScreenId::Hold),
        Context::Replay,
        Context::Everywhere,
        Context::Always,
        Context::Copy,
        Context::Sort,
        Context::Columns,
        Context::Mark,
        Context::Help,
        Context::Palette,
        Context::Filter,
        Context::Find,
        Context::ClientPrompt,
        Context::RecordPrompt,
        Context::Confirm,
        Context::ConfirmEdit,
    ];

    /// The heading of the context in help texts.
    pub fn title(self) -> &'static str {
        match self {
            Context::Screen(screen) => screen.title(),
            Context::Always => "always",
            Context::Everywhere => "everywhere",
            Context::Help => "help",
            Context::Palette => "commands",
            Context::Filter => "filter",
            Context::Replay => "time cursor",
            Context::Find => "find",
            Context::ClientPrompt => "changes on the wire",
            Context::RecordPrompt => "name of a recording",
            Context::Sort => "after s",
            Context::Columns => "after C",
            Context::Copy => "after y",
            Context::Mark => "after m",
            Context::Confirm => "questions",
            Context::ConfirmEdit => "after an edit",
        }
    }

    pub fn is_screen(self) -> bool {
        matches!(self, Context::Screen(_))
    }

    /// Text is typed in this context, so plain characters cannot be bound.
    pub fn is_typed(self) -> bool {
        matches!(self, Context::Palette | Context::Filter)
    }
}
