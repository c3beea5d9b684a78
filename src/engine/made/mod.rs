//! Resources that Kubernetes objects made, and the owners of problems.

mod outcome;
mod pattern;
mod problems;
mod resource;
mod summary;

pub use outcome::{Outcome, OutcomeCounts};
pub use pattern::OwnerPattern;
pub use problems::{owners_of_finding, owners_of_problem};
pub use resource::{MadeResource, MadeSince, NamedByNack, made_since, refused_because_of, visit_made};
pub use summary::{OwnerSummaries, OwnerSummary};
