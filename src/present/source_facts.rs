//! Facts about a source as a whole, as `info` prints them.

use std::time::Duration;

use xdscope_engine::store::Store;
use xdscope_wire::text::{age, plural, size};

/// Describes when a session began, and how long it is.
pub fn span(store: &Store) -> String {
    if store.clock().untimed {
        return "not recorded".into();
    }
    let long = age(Duration::from_nanos(store.now().0));
    match store.clock().epoch.and_then(|epoch| jiff::Timestamp::from_nanosecond(epoch).ok()) {
        Some(start) => format!("{long} from {}", start.strftime("%Y-%m-%dT%H:%M:%SZ")),
        None => format!("{long}, without a date"),
    }
}

/// Describes the content: `12 distinct resources, 3.1 kB`.
pub fn content(store: &Store) -> String {
    let totals = store.catalog().totals();
    format!("{}, {}", plural(totals.blobs, "distinct resource"), size(totals.bytes))
}

/// Describes the redaction of resources: `none taken out of resources`, `taken out of 2 resources`.
pub fn secrets(store: &Store) -> String {
    match store.catalog().totals().redacted {
        0 => "none taken out of resources".to_owned(),
        redacted => format!("taken out of {}", plural(redacted, "resource")),
    }
}
