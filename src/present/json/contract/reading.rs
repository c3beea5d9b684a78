//! Fields of messages that two editions of the protocol read in two ways.

use xdscope_engine::readings::ReadingKind;

use super::Presence::*;
use super::Shape::*;
use super::{Field, TEXTS, field};

pub(super) const READING: &[Field] = &[
    field(Always, "reading", words!(ReadingKind), "what is read in two ways"),
    field(Always, "names", TEXTS, "names that it is about"),
    field(Always, "text", Text, "both readings; with `--profile`, which of them is expected"),
];
