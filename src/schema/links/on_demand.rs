//! Clusters that Envoy fetches when a request needs them.

use xdscope_wire::pb::{Fields, Value, read_varint};

/// Messages with a source of clusters that are fetched on demand, and the numbers of the fields
/// that lead to the source.
const FILTERS: [(&[u8], &[u32]); 3] = [
    (b"envoy.extensions.filters.http.on_demand.v3.OnDemand", &[ODCDS]),
    (b"envoy.extensions.filters.http.on_demand.v3.PerRouteConfig", &[ODCDS]),
    (b"envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", &[ON_DEMAND, ODCDS]),
];

/// The number of the fields `odcds` and `odcds_config`.
const ODCDS: u32 = 1;
/// The number of the field `on_demand` of a TCP proxy.
const ON_DEMAND: u32 = 14;
/// The tag of the field `value` of an `Any`.
const ANY_VALUE: u8 = 0x12;

/// Whether a listener or route configuration has a filter with which Envoy fetches unknown clusters
/// on demand: the request waits for its cluster.
///
/// `any` is the serialized resource.
pub fn fetches_clusters(any: &[u8]) -> bool {
    FILTERS.iter().any(|(filter, path)| {
        let mut ends = memchr::memmem::find_iter(any, filter).map(|at| at + filter.len());
        ends.any(|end| any.get(end..).and_then(any_value).is_some_and(|value| has_source(value, path)))
    })
}

/// Returns the value of an `Any` behind its type URL.
fn any_value(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.strip_prefix(&[ANY_VALUE])?;
    let (len, read) = read_varint(rest)?;
    rest.get(read..)?.get(..usize::try_from(len).ok()?)
}

/// Whether the message has a source in the field at the end of the path.
fn has_source(message: &[u8], path: &[u32]) -> bool {
    let Some((number, rest)) = path.split_first() else { return !message.is_empty() };
    let mut fields = Fields::new(message).map_while(Result::ok).filter(|field| field.number == *number);
    fields.any(|field| matches!(field.value, Value::Len(value) if has_source(value, rest)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Schema;

    fn has(filter: &serde_json::Value) -> bool {
        let schema = Schema::builtin();
        let manager = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
        let body = json!({
            "@type": format!("type.googleapis.com/{manager}"),
            "http_filters": [{ "name": "on_demand", "typed_config": filter }],
        });
        fetches_clusters(&schema.encode("google.protobuf.Any", &body).expect("a message"))
    }

    #[test]
    fn only_filters_with_a_source_fetch_clusters() {
        let filter = "type.googleapis.com/envoy.extensions.filters.http.on_demand.v3.OnDemand";
        let route = "type.googleapis.com/envoy.extensions.filters.http.on_demand.v3.PerRouteConfig";
        let odcds = json!({ "source": { "ads": {} } });
        assert!(has(&json!({ "@type": filter, "odcds": odcds })));
        assert!(has(&json!({ "@type": route, "odcds": odcds })));
        assert!(!has(&json!({ "@type": filter })));
        let tcp = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy";
        let on_demand = json!({ "odcds_config": { "ads": {} } });
        assert!(has(&json!({ "@type": tcp, "cluster": "a", "on_demand": on_demand })));
        assert!(!has(&json!({ "@type": tcp, "cluster": "a", "on_demand": {} })));
    }
}
