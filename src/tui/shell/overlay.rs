//! Overlays: help, prompts and questions over a screen.

use std::sync::Arc;

use crate::data::{AppliedFilter, ClientAction};
use crate::input::context::Context;
use crate::screens::hold::EditDraft;
use xdscope_engine::filter::FilterError;
use xdscope_engine::hold::HeldId;
use xdscope_engine::hold::HoldCommand;
use xdscope_wire::event::TypeUrl;

use crate::shell::palette::lines::PaletteSearch;

/// The typed text, and the filter in force meanwhile.
#[derive(Clone, Debug)]
pub struct FilterPrompt {
    pub input: String,
    /// The error of the input.
    pub error: Option<FilterError>,
    /// Completions of the input, or suggestions for a mistyped one.
    pub hint: Option<String>,
    /// The previous filter, for `Esc`.
    pub before: Option<AppliedFilter>,
    /// The index of the recalled entry of the history.
    pub recalled: Option<usize>,
}

/// The subject of a prompt for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientPrompt {
    /// Changes of the subscription, such as `eds/reviews -eds/ratings cds/*`.
    Subscription,
    /// The text of a NACK.
    NackText { type_url: TypeUrl, nonce: Arc<str> },
    /// The expression of messages to hold.
    Intercept,
    /// The text of a NACK in place of a held push.
    BounceText { id: HeldId, nonce: Arc<str> },
}

/// An overlay. The last one is on top.
#[derive(Clone, Debug)]
pub enum Overlay {
    Help {
        scroll: usize,
    },
    Palette {
        input: String,
        chosen: usize,
        recalled: Option<usize>,
        search: Box<PaletteSearch>,
    },
    Filter(Box<FilterPrompt>),
    /// A search in a text.
    Find {
        input: String,
        /// The line shown before the search.
        origin: usize,
        recalled: Option<usize>,
    },
    ClientPrompt {
        prompt: ClientPrompt,
        input: String,
        /// Why the input was refused.
        error: Option<String>,
    },
    /// The file name of a recording.
    Record {
        input: String,
    },
    /// Asks whether to send these actions.
    ConfirmSend(Vec<ClientAction>),
    /// Asks whether to do this with held messages.
    ConfirmHold(HoldCommand),
    /// Asks whether to send an edited message.
    ConfirmEdit(Arc<EditDraft>),
    /// The orders of a list, with the chosen entry.
    Sort {
        chosen: usize,
    },
    /// The columns of a list, with the chosen entry.
    Columns {
        chosen: usize,
    },
    Copy,
    /// The next key is a letter that sets a mark.
    SetMark,
    /// The next key is the letter of a mark to go to.
    GoToMark,
    ConfirmQuit,
}

impl Overlay {
    /// Text is typed into the overlay.
    pub fn is_prompt(&self) -> bool {
        use Overlay::{ClientPrompt, Filter, Find, Palette, Record};
        matches!(self, Palette { .. } | Filter(_) | Find { .. } | ClientPrompt { .. } | Record { .. })
    }

    /// Names are searched for the palette.
    pub fn is_searching(&self) -> bool {
        matches!(self, Overlay::Palette { search, .. } if search.is_searching())
    }

    /// Returns the context that decides which keys are bound.
    pub fn context(&self) -> Context {
        match self {
            Overlay::Help { .. } => Context::Help,
            Overlay::Palette { .. } => Context::Palette,
            Overlay::Filter(_) => Context::Filter,
            Overlay::Find { .. } => Context::Find,
            Overlay::Sort { .. } => Context::Sort,
            Overlay::Columns { .. } => Context::Columns,
            Overlay::Copy => Context::Copy,
            Overlay::SetMark | Overlay::GoToMark => Context::Mark,
            Overlay::ClientPrompt { .. } => Context::ClientPrompt,
            Overlay::Record { .. } => Context::RecordPrompt,
            Overlay::ConfirmQuit | Overlay::ConfirmSend(_) | Overlay::ConfirmHold(_) => Context::Confirm,
            Overlay::ConfirmEdit(_) => Context::ConfirmEdit,
        }
    }
}
