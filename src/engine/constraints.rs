//! The constraints of the API that a resource breaks, and those of them that a NACK names.

#![warn(missing_docs)]

use std::sync::Arc;

use crate::nack::NamedFields;
use crate::store::{ResourceFact, Store};
use xdscope_schema::{Schema, Violation};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::Seq;

/// Broken constraints that are listed; the others are counted.
const MAX_LISTED: usize = 8;
/// Maximum size of a resource to check.
const MAX_CHECKED_BYTES: u32 = 1 << 20;

/// All constraints that the content of a resource breaks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokenConstraints {
    /// The first 8, those that the NACK names before the others.
    pub listed: Vec<BrokenConstraint>,
    /// Number of the others.
    pub more: usize,
}

/// A constraint that the content of a resource breaks.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokenConstraint {
    /// The field and the constraint.
    pub violation: Violation,
    /// Whether the NACK of this resource names the field.
    pub is_named: bool,
}

impl BrokenConstraints {
    /// Whether no constraint is broken, or the content cannot be checked.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Checks a content. `named` are the fields that a NACK of the resource names.
    pub fn check(
        store: &Store,
        schema: &Schema,
        content: BlobId,
        named: Option<&NamedFields>,
    ) -> BrokenConstraints {
        let catalog = store.catalog();
        if catalog.blob(content).size > MAX_CHECKED_BYTES {
            return BrokenConstraints::default();
        }
        let Some(bytes) = catalog.bytes(content) else { return BrokenConstraints::default() };
        let violations = schema.violations("google.protobuf.Any", &bytes).unwrap_or_default();
        let is_named = |violation: &Violation| named.is_some_and(|fields| fields.contains(&violation.path));
        let broken = |violation: Violation| BrokenConstraint { is_named: is_named(&violation), violation };
        let mut listed: Vec<_> = violations.into_iter().map(broken).collect();
        listed.sort_by_key(|broken| !broken.is_named);
        let more = listed.len().saturating_sub(MAX_LISTED);
        listed.truncate(MAX_LISTED);
        BrokenConstraints { listed, more }
    }

    /// Checks the newest content of a resource, and marks what the NACK of this content names.
    pub fn of_resource(store: &Store, schema: &Schema, fact: &ResourceFact) -> BrokenConstraints {
        let Some(content) = fact.content else { return BrokenConstraints::default() };
        let broken = BrokenConstraints::check(store, schema, content, None);
        match &fact.refusal {
            Some(refusal) if refusal.content == fact.content && !broken.is_empty() => {
                let named = named_fields(store, refusal.nack, refusal.push, &fact.name);
                BrokenConstraints::check(store, schema, content, named.as_ref())
            }
            _ => broken,
        }
    }
}

/// Reads the fields of a resource that a NACK names.
fn named_fields(store: &Store, nack: Seq, push: Seq, name: &str) -> Option<NamedFields> {
    let line = store.line(store.row_of(nack)?)?;
    let (_, text) = line.error.as_ref()?;
    let names: Vec<Arc<str>> = store.pushed(push)?.into_iter().map(|(name, _)| name).collect();
    Some(NamedFields::read(text, &names, name))
}
