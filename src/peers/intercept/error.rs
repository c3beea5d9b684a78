use super::action::ACTION_FORMS;
use super::library::{LIBRARY, NamedFault};
use crate::engine::filter::FilterError;

/// A fault that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// There is no arrow, and the first word is not the name of a fault.
    #[error("neither `EXPR => ACTION` nor a named fault ({})", LIBRARY.each_ref().map(|fault| fault.name).join(" "))]
    NoArrow,
    /// A named fault has wrong arguments.
    #[error("expected `{}`", .0.form())]
    NamedArguments(&'static NamedFault),
    /// There is nothing after the arrow.
    #[error("the action is missing after `=>`")]
    NoAction,
    /// The action has a wrong name.
    #[error("unknown action `{word}` (actions: {})", ACTION_FORMS.map(|form| form.split(' ').next().unwrap_or_default()).join(" "))]
    UnknownAction {
        /// The word in place of an action.
        word: String,
    },
    /// The action has wrong arguments.
    #[error("expected `{form}`")]
    Arguments {
        /// The form of the action.
        form: &'static str,
    },
    /// An option has a wrong value.
    #[error("`{0}` is not an option (nth=N every=N after=TIME times=N p=0..1)")]
    Option(String),
    /// A quoted text has no end.
    #[error("a quoted text has no end")]
    Quote,
    /// The filter is wrong.
    #[error(transparent)]
    Filter(#[from] FilterError),
}
