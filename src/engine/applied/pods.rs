//! Dumps of several pods in one, as a source of pods keeps them: `pods`, a list of `pod` with its
//! `dump`, or with the `error` why there is none.

use serde_json::Value;

use super::dump::{DumpClient, DumpNotice, DumpTimes};

/// The dump of a pod, or the reason why there is none.
pub(super) struct PodDump<'a> {
    pub(super) pod: &'a str,
    pub(super) dump: Result<&'a Value, &'a str>,
}

/// Returns the dumps of several pods. `None`: this is another dump.
pub(super) fn dumps(value: &Value) -> Option<Vec<PodDump<'_>>> {
    let items = value.as_object()?.get("pods")?.as_array()?;
    items.iter().map(pod_dump).collect()
}

fn pod_dump(item: &Value) -> Option<PodDump<'_>> {
    let pod = item.get("pod")?.as_str()?;
    let dump = match item.get("dump") {
        Some(dump) => Ok(dump),
        None => Err(item.get("error")?.as_str()?),
    };
    Some(PodDump { pod, dump })
}

/// The notice of a pod whose dump is missing.
pub(super) fn unread(pod: &str, why: &str) -> DumpNotice {
    DumpNotice::UnreadPod { pod: pod.to_owned(), why: why.to_owned() }
}

/// Names the clients of a pod that do not say of which node they are.
pub(super) fn name_clients(clients: &mut [DumpClient], pod: &str) {
    for client in clients.iter_mut().filter(|client| client.id.is_none()) {
        client.id = Some(pod.to_owned());
    }
}

/// Returns the times of two dumps.
pub(super) fn joined(a: Option<DumpTimes>, b: Option<DumpTimes>) -> Option<DumpTimes> {
    match (a, b) {
        (Some(a), Some(b)) => Some(DumpTimes { epoch: a.epoch.min(b.epoch), end: a.end.max(b.end) }),
        (known, None) | (None, known) => known,
    }
}
