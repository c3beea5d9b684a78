//! A place in the tree of resources.

use std::sync::Arc;

use xdscope_present::json::type_word;
use xdscope_wire::event::TypeUrl;

/// A type, or a resource of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreePath {
    pub type_url: TypeUrl,
    pub name: Option<Arc<str>>,
}

impl TreePath {
    /// The path as the command line names it: `cds/reviews`.
    pub fn word(&self) -> String {
        let word = type_word(&self.type_url);
        self.name.as_ref().map_or_else(|| word.to_owned(), |name| format!("{word}/{name}"))
    }
}
