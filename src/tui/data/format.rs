//! Formats of bodies, and a filter in force.

use xdscope_engine::filter::Filter;

/// The format in which a body is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyFormat {
    Yaml,
    Json,
    Text,
    Hex,
}

impl BodyFormat {
    /// The format after this one; `None` after the last.
    pub(crate) fn next(self) -> Option<BodyFormat> {
        match self {
            BodyFormat::Yaml => Some(BodyFormat::Json),
            BodyFormat::Json => Some(BodyFormat::Text),
            BodyFormat::Text => Some(BodyFormat::Hex),
            BodyFormat::Hex => None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            BodyFormat::Yaml => "yaml",
            BodyFormat::Json => "json",
            BodyFormat::Text => "text",
            BodyFormat::Hex => "hex",
        }
    }
}

/// A filter in force, as typed and as parsed.
#[derive(Clone, Debug, Default)]
pub struct AppliedFilter {
    pub text: String,
    pub filter: Filter,
}
