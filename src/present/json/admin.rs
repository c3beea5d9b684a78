//! Facts of the admin port of a client.

use serde_json::Value;

use super::object::Object;
use xdscope_engine::admin::{AdminFacts, UpdateCounts};

/// The member `admin` of a `stream`.
pub(super) fn admin(facts: &AdminFacts) -> Value {
    let certificates = facts.certificates.iter().map(|certificate| {
        let mut out = Object::bare();
        out.put("path", certificate.path.as_str());
        out.put("serial", certificate.serial.as_str());
        out.put("days_left", certificate.days_left);
        out.done()
    });
    let mut out = Object::bare();
    out.put("product", facts.product.as_str());
    out.put("version", facts.version.as_deref());
    out.put("state", facts.state.as_deref());
    out.put("connected", facts.is_connected);
    out.put("certificates", certificates.collect::<Vec<_>>());
    out.done()
}

/// The member `updates` of a `state`.
pub(super) fn updates(counts: &UpdateCounts) -> Value {
    let mut out = Object::bare();
    out.put("success", counts.success);
    out.put("rejected", counts.rejected);
    out.put("failure", counts.failure);
    out.put("timeouts", counts.timeouts);
    out.put("version", counts.version.as_deref());
    out.done()
}
