//! The faults that a NACK reports about the resources of its response.

use std::sync::Arc;

use crate::nack::StatedFaults;
use crate::store::Store;
use xdscope_wire::event::Seq;

/// Resources of a response up to which the text of a NACK is compared with their names.
const MAX_COMPARED_NAMES: usize = 4096;

impl Store {
    /// Reads the text of a NACK of a response: a fault without a name is about the only resource.
    pub fn nack_faults(&self, text: &str, response: Option<Seq>) -> StatedFaults {
        StatedFaults::read(text, &self.compared_names(response))
    }

    /// Reads the text of a NACK of a response, and adds no name that the text leaves out.
    pub fn stated_nack_faults(&self, text: &str, response: Option<Seq>) -> StatedFaults {
        let response = response.filter(|_| StatedFaults::depend_on_names(text));
        StatedFaults::stated(text, &self.compared_names(response))
    }

    /// Returns the names in a response; none if the response is unknown or has too many.
    fn compared_names(&self, response: Option<Seq>) -> Vec<Arc<str>> {
        let names = response.and_then(|response| self.pushed_names(response, MAX_COMPARED_NAMES));
        names.unwrap_or_default()
    }
}
