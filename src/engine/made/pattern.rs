//! Patterns for owners, as people type them.

use xdscope_schema::owners::Owner;

use crate::filter::{FilterError, Pattern};

/// A pattern for owners: `VirtualService/shop/reviews`, `VirtualService/reviews` in any namespace,
/// a kind alone, each with globs like those of the filter term `owner:`.
#[derive(Clone, Debug)]
pub struct OwnerPattern {
    text: String,
    pattern: Pattern,
}

impl OwnerPattern {
    /// Parses a pattern. A question mark at the end, which marks guesses, is left out.
    ///
    /// # Errors
    /// The pattern is too long.
    pub fn new(text: &str) -> Result<OwnerPattern, FilterError> {
        let text = text.trim_end_matches('?').to_owned();
        Ok(OwnerPattern { pattern: Pattern::whole(&text)?, text })
    }

    /// Returns the pattern as typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether an owner matches the pattern.
    pub fn matches(&self, owner: &Owner) -> bool {
        let in_any_namespace = || format!("{}/{}", owner.kind, owner.name);
        self.pattern.matches(&owner.path())
            || self.pattern.matches(&in_any_namespace())
            || self.pattern.matches(&owner.kind)
    }
}
