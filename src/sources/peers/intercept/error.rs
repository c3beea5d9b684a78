use super::action::{ACTION_FORMS, OPTION_FORMS};
use super::library::{LIBRARY, NamedFault};
use xdscope_engine::filter::FilterError;
use xdscope_engine::store::MessageKind;
use xdscope_wire::event::CODE_NAMES;

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
    /// An option is on the side of the expression.
    #[error("`{0}` is an option: it belongs behind the action, as in `EXPR => ACTION {0}`")]
    OptionBeforeArrow(String),
    /// The padding is larger than a tap can hold.
    #[error("`pad` takes at most {} MiB", .0 >> 20)]
    LargePad(u64),
    /// The action has a wrong name.
    #[error("unknown action `{word}`{}", actions(.near))]
    UnknownAction {
        /// The word in place of an action.
        word: String,
        /// Actions that resemble it.
        near: Vec<String>,
    },
    /// The action has wrong arguments.
    #[error("expected `{form}`")]
    Arguments {
        /// The form of the action.
        form: &'static str,
    },
    /// There is no arrow, and the first word is nearly the name of a fault.
    #[error(
        "neither `EXPR => ACTION` nor a named fault: did you mean `{0}`? (xdscope help faults lists them)"
    )]
    SimilarName(&'static str),
    /// An option has a wrong value.
    #[error("`{word}` is not of the form `{form}`")]
    Option {
        /// The option with its value.
        word: String,
        /// The form of the option.
        form: &'static str,
    },
    /// The probability is zero.
    #[error("`{0}` leaves no chance to act")]
    NoChance(String),
    /// The expressions `nth` and `every` exclude each other.
    #[error("match {nth} is not a multiple of {every}: `nth={nth}` and `every={every}` exclude each other")]
    NeverDue {
        /// The number of the match.
        nth: u64,
        /// The distance of matches.
        every: u64,
    },
    /// A resource is renamed to its own name.
    #[error("`rename` takes two different names")]
    SameName,
    /// The fault is in force only after its stage of the plan.
    #[error("`after` is not before the end of the stage")]
    AfterStage,
    /// A word after an action has the form of an option, but no option has its name.
    #[error("`{word}` is not an option of `{action}` (options: {})", OPTION_FORMS.join(" "))]
    UnknownOption {
        /// The option with its value.
        word: String,
        /// The name of the action.
        action: String,
    },
    /// An option is given twice.
    #[error("`{0}` is given twice")]
    Twice(String),
    /// A quoted text has no end.
    #[error("a quoted text has no end")]
    Quote,
    /// The expression names a type that does not exist.
    #[error("no type is called `{value}`{}", near_words(.near))]
    UnknownType {
        /// The type as typed.
        value: String,
        /// Types that resemble it.
        near: Vec<String>,
    },
    /// The action needs the name of one resource.
    #[error("`{action}` takes the name of one resource, not `*`")]
    NoSingleName {
        /// The word of the action.
        action: &'static str,
    },
    /// The expression leaves out all messages that the action is for.
    #[error("`{action}` is for {}, which the expression leaves out", messages(.kinds))]
    Kinds {
        /// The word of the action.
        action: &'static str,
        /// The kinds of the messages.
        kinds: &'static [MessageKind],
    },
    /// No status code has the name or number.
    #[error("no gRPC status is called `{word}`{}", codes(.near))]
    UnknownCode {
        /// The code as typed.
        word: String,
        /// Codes that resemble it.
        near: Vec<String>,
    },
    /// No type of the expression can have the value.
    #[error("{type_label} cannot have `{path}`: {reason}")]
    Value {
        /// The path of the field.
        path: String,
        /// The label of a type.
        type_label: String,
        /// The reason.
        reason: String,
    },
    /// The filter is wrong.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

fn near_words(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) }
}

fn actions(near: &[String]) -> String {
    let names = ACTION_FORMS.map(|form| form.split(' ').next().unwrap_or_default());
    if near.is_empty() { format!(" (actions: {})", names.join(" ")) } else { near_words(near) }
}

fn codes(near: &[String]) -> String {
    if near.is_empty() { format!(" (codes: {})", CODE_NAMES.join(" ")) } else { near_words(near) }
}

/// Returns what messages of these kinds are called, and what selects them.
fn messages(kinds: &[MessageKind]) -> &'static str {
    match kinds {
        [MessageKind::Push] => "pushes (kind:push)",
        [MessageKind::Push, ..] => "pushes and their answers (kind:push, kind:ack, kind:nack)",
        [MessageKind::Subscribe] => "first requests (kind:subscribe)",
        _ => "requests (dir:req)",
    }
}
