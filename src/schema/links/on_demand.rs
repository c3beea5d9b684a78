//! Clusters that Envoy fetches when a request needs them.

use xdscope_wire::pb::{Fields, Value, read_varint};

/// Messages whose first field, `odcds`, is the source of clusters that are fetched on demand.
const FILTERS: [&[u8]; 2] = [
    b"envoy.extensions.filters.http.on_demand.v3.OnDemand",
    b"envoy.extensions.filters.http.on_demand.v3.PerRouteConfig",
];

/// The number of the field `odcds`.
const ODCDS: u32 = 1;
/// The tag of the field `value` of an `Any`.
const ANY_VALUE: u8 = 0x12;

/// Whether a listener or route configuration has a filter with which Envoy fetches unknown clusters
/// on demand: the request waits for its cluster.
///
/// `any` is the serialized resource.
pub fn fetches_clusters(any: &[u8]) -> bool {
    FILTERS.iter().any(|filter| {
        let mut ends = memchr::memmem::find_iter(any, filter).map(|at| at + filter.len());
        ends.any(|end| any.get(end..).and_then(any_value).is_some_and(has_source))
    })
}

/// Returns the value of an `Any` behind its type URL.
fn any_value(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.strip_prefix(&[ANY_VALUE])?;
    let (len, read) = read_varint(rest)?;
    rest.get(read..)?.get(..usize::try_from(len).ok()?)
}

fn has_source(filter: &[u8]) -> bool {
    let mut fields = Fields::new(filter).map_while(Result::ok).filter(|field| field.number == ODCDS);
    fields.any(|field| matches!(field.value, Value::Len(value) if !value.is_empty()))
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
    }
}
