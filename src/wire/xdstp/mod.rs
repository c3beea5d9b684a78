//! The syntax of `xdstp` names (gRFC A47), locators and list collections.

pub mod lists;
pub mod locator;
mod name;
mod structured;

pub use locator::LocatorError;
pub use name::{
    Name, canonical_name, glob_matches, is_glob, is_malformed, is_structured, named, note_spellings,
    resource_type, respelled, with_other_context,
};
pub use structured::{BadName, StructuredName, parse_subscription, wire_name};
