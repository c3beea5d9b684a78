//! `/debug/syncz` of istiods: which response of each type every proxy has acknowledged.
//!
//! Recent versions list the types in `resources`, with times and the text of the last NACK. Earlier
//! ones have two nonces for each of five types.

use jiff::Timestamp;
use serde_json::{Value, json};

use xdscope_wire::event::{ApiVersion, Kind, TypeUrl};

use super::dump::{DumpClient, DumpTimes, TypeStatus};
use super::reader::{DumpReader, text};

/// Fields of earlier versions, up to `_sent` and `_acked`.
const EARLIER: [(&str, Kind); 5] = [
    ("cluster", Kind::Cds),
    ("listener", Kind::Lds),
    ("route", Kind::Rds),
    ("endpoint", Kind::Eds),
    ("extensionconfig", Kind::Ecds),
];

/// Returns the proxies of an answer, or of several that a port has joined.
pub(super) fn proxies_of(value: &Value) -> Option<&[Value]> {
    let list = value.as_array().or_else(|| value["syncz"].as_array())?;
    let is_proxy = |proxy: &Value| proxy["proxy"].is_string();
    (value.is_object() || (!list.is_empty() && list.iter().all(is_proxy))).then_some(list)
}

/// Reads the proxies, and the times of the answer.
pub(super) fn clients(value: &Value, reader: &mut DumpReader<'_>) -> (Vec<DumpClient>, Option<DumpTimes>) {
    let proxies = proxies_of(value).unwrap_or_default();
    let clients: Vec<DumpClient> = proxies.iter().map(|proxy| client(proxy, reader)).collect();
    let sent = clients.iter().flat_map(|client| &client.statuses).filter_map(|status| status.sent_at);
    let times: Vec<i128> = sent.chain(time(&value["at"])).collect();
    let times = times.iter().min().zip(times.iter().max());
    (clients, times.map(|(epoch, end)| DumpTimes { epoch: *epoch, end: *end }))
}

fn client(proxy: &Value, reader: &mut DumpReader<'_>) -> DumpClient {
    let metadata = json!({ "CLUSTER_ID": proxy["cluster_id"], "ISTIO_VERSION": proxy["istio_version"] });
    let (node, id) = reader.node(&json!({ "id": proxy["proxy"], "metadata": metadata }));
    let mut statuses: Vec<TypeStatus> = match proxy["resources"].as_object() {
        Some(resources) => resources.iter().map(|(url, status)| recent(url, status)).collect(),
        None => EARLIER.iter().filter_map(|(word, kind)| earlier(word, *kind, proxy)).collect(),
    };
    statuses.sort_by(|a, b| a.type_url.as_str().cmp(b.type_url.as_str()));
    DumpClient { node, id, statuses, ..DumpClient::default() }
}

fn recent(url: &str, status: &Value) -> TypeStatus {
    TypeStatus {
        type_url: TypeUrl::new(url),
        sent: text(&status["sent"]),
        acked: text(&status["acked"]),
        sent_at: time(&status["sentTime"]),
        error: text(&status["lastError"]),
    }
}

/// Reads a type in the form of earlier versions. `None`: nothing was sent, or the proxy does not
/// ask for the type.
fn earlier(word: &str, kind: Kind, proxy: &Value) -> Option<TypeStatus> {
    let sent = text(&proxy[format!("{word}_sent")])?;
    let acked = text(&proxy[format!("{word}_acked")]);
    let type_url = kind.type_url(ApiVersion::V3)?;
    Some(TypeStatus { type_url, sent: Some(sent), acked, sent_at: None, error: None })
}

/// Returns a time as Unix nanoseconds. Go writes the year 1 for none.
fn time(value: &Value) -> Option<i128> {
    let at = value.as_str()?.parse::<Timestamp>().ok()?.as_nanosecond();
    (at > 0).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applied::{Dump, DumpOrigin, read};
    use crate::problems::problems;
    use crate::store::{Options, Store, TypeState};
    use xdscope_schema::Schema;
    use xdscope_wire::content::Catalog;
    use xdscope_wire::event::Clock;

    const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    const LDS: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
    const EDS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
    const ECDS: &str = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";

    fn dump(value: &Value) -> Dump {
        read("syncz.json", value.to_string().as_bytes(), &Schema::builtin()).expect("a dump")
    }

    fn store_of(dump: &Dump) -> Store {
        let mut catalog = Catalog::in_memory();
        let frames = dump.frames("syncz.json", &mut catalog);
        let clock = Clock { epoch: dump.times.map(|times| times.epoch), untimed: dump.times.is_none() };
        let mut store = Store::new(catalog, clock, Options::default());
        frames.into_iter().for_each(|frame| store.handle(frame));
        store.advance(dump.times.map_or(xdscope_wire::event::Time::ZERO, DumpTimes::session_end));
        store
    }

    fn states(store: &Store) -> Vec<(String, String, TypeState, u64)> {
        let states = store.states();
        let row = |state: &crate::store::StateFact| {
            let label = xdscope_wire::text::type_label(state.summary.type_url.as_str());
            let age = store.now().since(state.summary.since).as_secs();
            (state.summary.node.as_deref().unwrap_or_default().to_owned(), label, state.summary.state, age)
        };
        states.iter().map(row).collect()
    }

    #[test]
    fn each_type_has_the_state_age_and_reason_of_istiod() {
        let status = |sent: &str, acked: &str, at: &str, error: &str| json!({ "sent": sent, "acked": acked, "sentTime": at, "lastError": error });
        let web = json!({
            "proxy": "web-1.shop", "cluster_id": "Kubernetes", "istio_version": "1.27.0",
            "cluster_sent": "b", "cluster_acked": "a",
            "resources": {
                CDS: status("b", "a", "2026-11-30T16:00:00Z", ""),
                LDS: status("d", "c", "2026-11-30T16:00:30Z", "Error adding listener in: no"),
                EDS: status("e", "e", "2026-11-30T15:59:00Z", ""),
                ECDS: status("", "", "0001-01-01T00:00:00Z", ""),
            },
        });
        let dump = dump(&json!({ "at": "2026-11-30T16:01:00Z", "syncz": [web] }));
        assert_eq!(dump.origin, DumpOrigin::Syncz);
        let store = store_of(&dump);
        let row = |label: &str, state, age| ("web-1.shop".to_owned(), label.to_owned(), state, age);
        let mut found = states(&store);
        found.sort_by(|a, b| a.1.cmp(&b.1));
        let wanted = [
            row("CDS", TypeState::Stale, 60),
            row("ECDS", TypeState::Idle, 120),
            row("EDS", TypeState::Synced, 120),
            row("LDS", TypeState::Nack, 30),
        ];
        assert_eq!(found, wanted);
        let wrong: Vec<_> = problems(&store, &[]).into_iter().filter(|problem| problem.is_wrong()).collect();
        let types: Vec<&str> = wrong.iter().map(|problem| problem.type_url.as_str()).collect();
        assert_eq!(types.len(), 2, "{wrong:#?}");
        assert!(types.contains(&CDS) && types.contains(&LDS), "{types:?}");
        let states = store.states();
        let listeners =
            states.iter().find(|state| state.summary.type_url.as_str() == LDS).expect("listeners");
        assert_eq!(&*listeners.verdicts.nacks[0].message, "Error adding listener in: no");
    }

    #[test]
    fn earlier_versions_have_two_nonces_of_each_type() {
        let proxies = json!([
            { "proxy": "a.shop", "cluster_sent": "1", "cluster_acked": "1", "listener_sent": "2" },
            { "proxy": "b.shop" },
        ]);
        let store = store_of(&dump(&proxies));
        let row = |label: &str, state| ("a.shop".to_owned(), label.to_owned(), state, 0);
        assert_eq!(states(&store), [row("LDS", TypeState::Sent), row("CDS", TypeState::Synced)]);
        assert!(proxies_of(&json!([])).is_none() && proxies_of(&json!({ "syncz": [] })).is_some());
        assert!(proxies_of(&json!([{ "proxy": 1 }])).is_none());
    }
}
