//! The faults that a NACK reports, in one line: resource, field, and what is wrong.

use std::fmt;
use std::sync::Arc;

use super::blame::Names;
use super::{Extracted, MAX_TEXT_BYTES, NackFault, guess, path, prefix, stated};

/// Faults of a NACK that a line lists; the others are counted.
const MAX_LISTED: usize = 3;
/// Words of texts that list faults by resource: those of Envoy and of gRPC.
const LISTS_BY_RESOURCE: [&str; 2] = ["Error adding/updating ", "resource index "];
/// Words in place of the reason of a refusal without a text.
const WITHOUT_REASON: &str = "without a reason";

/// The faults that the text of a NACK states, without a search of the contents.
///
/// As text: `reviews: connect_timeout: value must be greater than 0s`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedFaults {
    /// The first faults.
    pub listed: Vec<NackFault>,
    /// Number of the others.
    pub more: usize,
}

impl StatedFaults {
    /// Reads the text of a NACK. `names` are the names in the rejected response, none if they are
    /// unknown: a fault without a name is about the only resource.
    pub fn read(text: &str, names: &[Arc<str>]) -> StatedFaults {
        let mut faults = StatedFaults::entries(text, names);
        for fault in &mut faults.listed {
            complete(fault, names);
        }
        faults.with_fields()
    }

    /// Like [`StatedFaults::read`], and adds no name that the text leaves out.
    pub(crate) fn stated(text: &str, names: &[Arc<str>]) -> StatedFaults {
        StatedFaults::entries(text, names).with_fields()
    }

    /// Whether a text lists faults by resource, so that the names tell where a fault begins.
    pub(crate) fn depend_on_names(text: &str) -> bool {
        LISTS_BY_RESOURCE.iter().any(|words| text.contains(words))
    }

    /// Returns the first faults, with the reasons as the text has them.
    fn entries(text: &str, names: &[Arc<str>]) -> StatedFaults {
        let mut listed = stated(prefix(text, MAX_TEXT_BYTES), &Names(names)).entries;
        let more = listed.len().saturating_sub(MAX_LISTED);
        listed.truncate(MAX_LISTED);
        StatedFaults { listed, more }
    }

    /// Reads the fields from the reasons.
    fn with_fields(mut self) -> StatedFaults {
        for fault in &mut self.listed {
            fault.name = fault.name.take().filter(|name| !name.value.is_empty());
            read_violation(fault);
            if fault.name.is_some() && fault.field.is_none() && fault.reason.trim().is_empty() {
                WITHOUT_REASON.clone_into(&mut fault.reason);
            }
        }
        self
    }

    /// Returns the faults with the last step of each path, without words that add nothing:
    /// `reviews: connect_timeout must be greater than 0s`.
    pub fn brief(&self) -> String {
        let brief = |fault: &NackFault| {
            let Some(field) = &fault.field else { return fault.to_string() };
            let step = field.value.rsplit('.').next().unwrap_or_default();
            let (seam, reason) = match fault.reason.strip_prefix("value ") {
                Some(reason) => (" ", reason),
                None => (": ", fault.reason.as_str()),
            };
            let reason = format!("{step}{seam}{reason}");
            NackFault { name: fault.name.clone(), reason, ..NackFault::default() }.to_string()
        };
        let listed: Vec<String> = self.listed.iter().map(brief).collect();
        listed.join("; ")
    }

    /// Whether the text says neither a resource nor a reason.
    pub fn is_empty(&self) -> bool {
        self.listed.iter().all(|fault| fault.name.is_none() && fault.reason.trim().is_empty())
    }
}

/// Adds the name of the resource to a fault that does not state the name.
fn complete(fault: &mut NackFault, names: &[Arc<str>]) {
    guess::complete_name(fault, &Names(names));
    if let (None, [only]) = (&fault.name, names) {
        fault.name = Some(Extracted::stated(only.to_string()));
    }
}

/// Reads the field from the text of a violated constraint.
fn read_violation(fault: &mut NackFault) {
    if fault.field.is_some() {
        return;
    }
    let Some(mut violation) = path::violation(&fault.reason) else { return };
    path::to_api_names(None, &mut violation.steps);
    fault.field = Some(Extracted::stated(path::join(&violation.steps)));
    fault.reason = violation.reason;
}

impl fmt::Display for StatedFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.listed.iter().enumerate() {
            let seam = if at > 0 { "; " } else { "" };
            write!(f, "{seam}{fault}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for NackFault {
    /// Writes resource, field and reason on one line: `reviews: connect_timeout: value must be
    /// greater than 0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_first = |name: &str| {
            let rest = reason.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']))
        };
        let mut parts = Vec::new();
        if let Some(name) = self.name.as_ref().filter(|name| !is_first(&name.value)) {
            let guess = if name.guessed { " (guess)" } else { "" };
            parts.push(format!("{}{guess}", name.value));
        }
        if let Some(field) = self.field.as_ref().filter(|field| !is_first(&field.value)) {
            parts.push(field.value.clone());
        }
        parts.extend(Some(reason).filter(|reason| !reason.is_empty()));
        f.write_str(&parts.join(": "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(names: &[&str], text: &str, line: &str) {
        let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
        assert_eq!(StatedFaults::read(text, &names).to_string(), line);
    }

    #[test]
    fn says_resource_field_and_reason_first() {
        let constraint = "Proto constraint validation failed (ClusterValidationError.ConnectTimeout: value must \
                          be greater than 0s)";
        let line = "reviews: connect_timeout: value must be greater than 0s";
        reads(&[], &format!("Error adding/updating cluster(s) reviews: {constraint}"), line);
        reads(&["reviews"], constraint, line);
        reads(&["a", "b"], constraint, "connect_timeout: value must be greater than 0s");
        let dump =
            format!("goo.gle/debugonly  name: \"reviews\" {} : {constraint}", "metadata { } ".repeat(400));
        reads(&["a", "reviews"], &dump, line);
        reads(&["a", "reviews"], &dump.replace("debugonly  ", "debugstr "), line);
    }

    #[test]
    fn says_resource_and_reason_of_other_clients() {
        let core = "xDS response validation errors: [resource index 1: b: INVALID_ARGUMENT: errors validating \
                    Cluster: [field:eds_cluster_config error:must be set]]";
        reads(&["a", "b"], core, "b: eds_cluster_config: must be set");
        reads(&["a", "b"], &format!("UNAVAILABLE: {core}"), "b: eds_cluster_config: must be set");
        reads(&[], "error parsing \"X\" response: resource \"a\": bad lb_policy", "a: bad lb_policy");
        reads(&[], "CDS response Cluster 'a' validation error: no type", "a: no type");
        reads(&["only"], "malformed IP address:\n x", "only: malformed IP address: x");
        reads(&["r1", "r2"], "duplicate domain in route r1", "r1 (guess): duplicate domain in route r1");
        reads(&["r1", "r2"], "r1: duplicate domain", "r1: duplicate domain");
        reads(&["only"], "", "only: without a reason");
        assert!(StatedFaults::read("", &[]).is_empty());
    }

    #[test]
    fn counts_further_faults() {
        let faults: Vec<String> = ["a", "b", "c", "d", "e"].map(|name| format!("{name}: why")).to_vec();
        let text = format!("Error adding/updating cluster(s) {}", faults.join(", "));
        reads(&["a", "b", "c", "d", "e"], &text, "a: why; b: why; c: why and 2 more");
    }
}
