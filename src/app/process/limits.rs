//! Limits that the system sets for the process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::SIGXFSZ;

/// Turns the end of the process at its file size limit (`ulimit -f`) into a write error.
pub fn catch_file_size() {
    // Without the handler, the limit ends the process, as before.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Raises the soft limit of open descriptors to the hard one: each connection takes two.
pub fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // A limit that cannot be raised stays.
        let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        tracing::debug!(from = ?limit.current, to = ?limit.maximum, ?raised, "descriptor limit");
    }
}
