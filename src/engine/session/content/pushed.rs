//! The version of a response, or of the resources in it.

use std::fmt;
use std::sync::Arc;

use xdscope_wire::content::Catalog;
use xdscope_wire::event::Sym;
use xdscope_wire::text::{plural, shown_name};

use super::compare::key;
use super::responses::Response;

/// The version of a response: its own, or else that of its first resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushedVersion {
    /// The version of the whole response; may be empty on a SotW stream.
    Whole(Arc<str>),
    /// The first resource with its version, and the number of other entries: delta, or a SotW
    /// response without a version.
    Resource {
        /// Name of the resource.
        name: Arc<str>,
        /// Its version.
        version: Arc<str>,
        /// Number of other resources, sent or removed.
        more: usize,
    },
    /// Delta: the response only removes resources.
    Removal {
        /// The first name.
        name: Arc<str>,
        /// Number of other names.
        more: usize,
    },
    /// Delta: a response without resources.
    Empty,
    /// The response was sent before the recording, or in a gap.
    Unknown,
    /// Several versions, each refused by other clients.
    Several,
}

impl PushedVersion {
    /// Returns the version of a response whose resources are kept.
    pub(crate) fn from_response(
        catalog: &Catalog,
        response: &Response,
        is_delta: bool,
        text: impl Fn(Sym) -> Arc<str>,
    ) -> PushedVersion {
        let whole = || PushedVersion::Whole(Arc::from(response.version.as_str()));
        if !response.version.is_empty() {
            return whole();
        }
        let Some(body) = &response.body else { return if is_delta { PushedVersion::Empty } else { whole() } };
        if !is_delta && body.list.is_empty() {
            return whole();
        }
        // Removals of a SotW response are implied.
        let removed = if is_delta { body.removed.len() } else { 0 };
        let more = (body.list.len() + removed).saturating_sub(1);
        match (body.list.blobs().first(), body.removed.first()) {
            (Some(id), _) => {
                let (name, version) = (text(key(catalog, *id)), text(catalog.entry(*id).version));
                PushedVersion::Resource { name, version, more }
            }
            (None, Some(name)) => PushedVersion::Removal { name: text(*name), more },
            (None, None) => PushedVersion::Empty,
        }
    }
}

impl fmt::Display for PushedVersion {
    /// Writes `42`, `b 2 and 1 other` or `removal of b`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |version: &str| match version {
            "" => "(no version)".to_owned(),
            // A version can look like a word of the sentence.
            "none" | "removal" => format!("\"{version}\""),
            version if version.contains(' ') => format!("\"{version}\""),
            version => version.to_owned(),
        };
        let more = match self {
            PushedVersion::Whole(version) => return f.write_str(&quoted(version)),
            PushedVersion::Empty => return f.write_str("(no resources)"),
            PushedVersion::Unknown => return f.write_str("(unknown version)"),
            PushedVersion::Several => return f.write_str("in several versions"),
            PushedVersion::Resource { name, version, more } => {
                write!(f, "{} {}", shown_name(name), quoted(version))?;
                more
            }
            PushedVersion::Removal { name, more } => {
                write!(f, "removal of {}", shown_name(name))?;
                more
            }
        };
        if *more > 0 {
            write!(f, " and {}", plural(*more as u64, "other"))?;
        }
        Ok(())
    }
}
