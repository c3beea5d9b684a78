//! Contexts: where a key is bound.

use super::screen_id::ScreenId;

macro_rules! contexts {
    ($($(#[$doc:meta])* $variant:ident $title:literal;)*) => {
        /// A set of screens or an overlay in which keys are bound. Overlays shadow the screen
        /// beneath them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Context {
            Screen(ScreenId),
            $($(#[$doc])* $variant),*
        }

        impl Context {
            /// All contexts, in the order in which help prints them.
            pub fn all() -> impl Iterator<Item = Context> {
                ScreenId::ALL.into_iter().map(Context::Screen).chain([$(Context::$variant),*])
            }

            /// The heading of the context in help texts.
            pub fn title(self) -> &'static str {
                match self {
                    Context::Screen(screen) => screen.title(),
                    $(Context::$variant => $title),*
                }
            }
        }
    };
}

contexts! {
    /// On every screen while there is a time cursor.
    Replay "time cursor";
    /// On every screen.
    Everywhere "everywhere";
    /// Everywhere, also in overlays and prompts.
    Always "always";
    /// After `y`.
    Copy "after y";
    /// After `s`.
    Sort "after s";
    /// After `C`.
    Columns "after C";
    /// After `m` and `'`.
    Mark "after m";
    Help "help";
    /// While a command is typed.
    Palette "commands";
    /// While a filter is typed.
    Filter "filter";
    /// While a search text is typed.
    Find "find";
    /// While a change of the client's subscription, the text of a NACK, or an expression of
    /// messages to hold is typed.
    ClientPrompt "changes on the wire";
    /// While the file name of a recording is typed.
    RecordPrompt "name of a recording";
    /// A yes-or-no question.
    Confirm "questions";
    /// The question whether to send an edited message.
    ConfirmEdit "after an edit";
}

impl Context {
    /// The screens among some contexts: `screens 4 and 5`; `None` without any.
    pub(crate) fn screens(contexts: impl Iterator<Item = Context>) -> Option<String> {
        let contexts: Vec<Context> = contexts.collect();
        let screens = ScreenId::ALL.into_iter().filter(|screen| contexts.contains(&Context::Screen(*screen)));
        let numbers: Vec<String> = screens.map(|screen| screen.number().to_string()).collect();
        match numbers.split_last()? {
            (last, []) => Some(format!("screen {last}")),
            (last, others) => Some(format!("screens {} and {last}", others.join(", "))),
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
