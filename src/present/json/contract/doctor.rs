//! The fields of the object that `doctor` prints.

use super::Presence::{Always, Maybe};
use super::Shape::{Bool, Count, List, Number, Object, Text, Words};
use super::{Field, TEXTS, field, known};
use crate::json::doctor::{FROM, STEP_STATES};

pub(super) const DOCTOR: &[Field] = &[
    field(Always, "version", Text, "version of xdscope"),
    field(Always, "terminal", Object(TERMINAL), "capabilities"),
    field(Always, "paths", Object(PATHS), "files and folders"),
    field(Always, "settings", List(&Object(SETTING)), "settings of config.toml, with the values in force"),
    field(Maybe, "server", Object(SERVER), "with SERVER: protocols that the server supports"),
];

const SERVER: &[Field] = &[
    field(Always, "address", Text, "address"),
    field(
        Always,
        "steps",
        List(&Object(STEP)),
        "checks in order, up to the first that makes the next one impossible",
    ),
];

const STEP: &[Field] = &[
    field(Always, "step", Text, "name, port, TLS, HTTP/2, a variant, or reflection"),
    field(
        Always,
        "state",
        Words(|| STEP_STATES.to_vec()),
        "result; none: not supported, which is not an error",
    ),
    field(Always, "said", TEXTS, "findings"),
    known(Always, "ms", Number, "duration in milliseconds"),
    known(Always, "next", Text, "flag or change that may help"),
];

const TERMINAL: &[Field] = &[
    field(Always, "stdin", Bool, "stdin is a terminal"),
    field(Always, "stdout", Bool, "stdout is a terminal"),
    known(Always, "term", Text, "TERM"),
    known(Always, "columns", Count, "width"),
    known(Always, "rows", Count, "height"),
    field(Always, "color", Bool, "colour is used"),
    field(Always, "unicode", Bool, "symbols beyond ASCII are used"),
    field(Always, "screens", Bool, "whether the terminal can show screens"),
    field(Always, "clipboard", Text, "how copied text reaches the clipboard"),
];

const PATHS: &[Field] = &[
    known(Always, "config", Text, "config.toml"),
    field(Always, "config_exists", Bool, "whether config.toml exists"),
    known(Always, "sessions", Text, "folder of the saved sessions"),
];

const SETTING: &[Field] = &[
    field(Always, "name", Text, "name of the flag without the leading hyphens"),
    field(Always, "value", Text, "value as it would be typed"),
    field(Always, "from", Words(|| FROM.to_vec()), "kind of the source"),
    field(Always, "where", Text, "flag, variable or line that sets it"),
];
