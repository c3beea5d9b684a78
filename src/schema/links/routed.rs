//! Clusters that a client of gRPC needs because of its routes.

use xdscope_wire::pb::{Fields, WireField};

/// The field `api_listener` of a listener.
const API_LISTENER: u32 = 19;
/// The field `route_config` of an HTTP connection manager.
const ROUTE_CONFIG: u32 = 4;
/// The fields of a match that clients of gRPC know: they ignore routes with others.
const KNOWN_MATCH_FIELDS: [u32; 6] = [1, 2, 4, 6, 9, 10];

/// The clusters to which routes point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutedClusters {
    /// The names of the clusters.
    pub names: Vec<String>,
    /// Whether a client needs each of them: the routes have one virtual host. Of several, a client
    /// of gRPC uses one.
    pub are_all_needed: bool,
}

/// Returns the listener of a client of gRPC in a serialized `Any`. `None` for a listener that
/// accepts connections.
fn api_listener(any: &[u8]) -> Option<&[u8]> {
    bytes_at(any, &[2, API_LISTENER, 1])
}

/// Whether a serialized listener is the one of a channel of gRPC: it accepts no connections.
pub fn is_api_listener(any: &[u8]) -> bool {
    api_listener(any).is_some()
}

/// Returns the clusters to which the inline routes of a listener of gRPC point.
pub fn clusters_of_api_listener(any: &[u8]) -> RoutedClusters {
    let routes = api_listener(any).and_then(|manager| bytes_at(manager, &[2, ROUTE_CONFIG]));
    routes.map(clusters_of).unwrap_or_default()
}

/// Returns the clusters to which a route configuration in a serialized `Any` points.
pub fn clusters_of_routes(any: &[u8]) -> RoutedClusters {
    bytes_at(any, &[2]).map(clusters_of).unwrap_or_default()
}

fn clusters_of(routes: &[u8]) -> RoutedClusters {
    let hosts: Vec<&[u8]> = fields(routes, 2).map(|host| host.bytes()).collect();
    let of_routes = hosts.iter().flat_map(|host| fields(host, 3)).filter(|route| is_known(route.bytes()));
    let mut names: Vec<String> =
        of_routes.filter_map(|route| bytes_at(route.bytes(), &[2])).flat_map(targets).collect();
    names.sort_unstable();
    names.dedup();
    RoutedClusters { names, are_all_needed: hosts.len() == 1 }
}

/// Whether a client of gRPC uses a route.
fn is_known(route: &[u8]) -> bool {
    let matched = bytes_at(route, &[1]).unwrap_or_default();
    let mut fields = Fields::new(matched).map_while(Result::ok);
    fields.all(|field| KNOWN_MATCH_FIELDS.contains(&field.number))
}

/// Returns the clusters of the action of a route, without those of weight 0.
fn targets(action: &[u8]) -> Vec<String> {
    let weighted = bytes_at(action, &[3]).unwrap_or_default();
    let is_used = |cluster: &WireField<'_>| {
        let weight = bytes_at(cluster.bytes(), &[2]).unwrap_or_default();
        fields(weight, 1).last().is_some_and(|weight| weight.varint() > 0)
    };
    let weighted = fields(weighted, 1).filter(is_used).filter_map(|cluster| bytes_at(cluster.bytes(), &[1]));
    let names = weighted.chain(bytes_at(action, &[1]));
    names.map(|name| String::from_utf8_lossy(name).into_owned()).filter(|name| !name.is_empty()).collect()
}

fn fields(message: &[u8], number: u32) -> impl Iterator<Item = WireField<'_>> {
    Fields::new(message).map_while(Result::ok).filter(move |field| field.number == number)
}

/// Returns the last value of the field at the end of the path.
fn bytes_at<'a>(message: &'a [u8], path: &[u32]) -> Option<&'a [u8]> {
    let Some((number, rest)) = path.split_first() else { return Some(message) };
    bytes_at(fields(message, *number).last()?.bytes(), rest)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Schema;

    fn any(message: &str, mut body: Value) -> Vec<u8> {
        body["@type"] = json!(format!("type.googleapis.com/{message}"));
        Schema::builtin().encode("google.protobuf.Any", &body).expect("a message")
    }

    fn routes(hosts: &[Value]) -> RoutedClusters {
        let hosts: Vec<Value> =
            hosts.iter().map(|routes| json!({"name": "v", "domains": ["*"], "routes": routes})).collect();
        clusters_of_routes(&any("envoy.config.route.v3.RouteConfiguration", json!({"virtual_hosts": hosts})))
    }

    #[test]
    fn reads_clusters_that_a_client_of_grpc_needs() {
        let to = |cluster: &str| json!({"match": {"prefix": "/"}, "route": {"cluster": cluster}});
        let weighted = json!({"match": {"path": "/a"}, "route": {"weighted_clusters": {"clusters": [
            {"name": "b", "weight": 1}, {"name": "zero", "weight": 0}]}}});
        let query = json!({"match": {"prefix": "/", "query_parameters": [{"name": "q"}]},
            "route": {"cluster": "ignored"}});
        let none = json!({"match": {"prefix": "/"}, "non_forwarding_action": {}});
        let found = routes(&[json!([to("a"), weighted, query, none])]);
        assert_eq!((found.names, found.are_all_needed), (vec!["a".to_owned(), "b".to_owned()], true));
        assert!(!routes(&[json!([to("a")]), json!([to("b")])]).are_all_needed);
    }

    #[test]
    fn reads_inline_routes_of_api_listeners_only() {
        let routes = json!({"virtual_hosts": [{"name": "v", "domains": ["*"],
            "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "a"}}]}]});
        let manager = json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "m", "route_config": routes});
        let listener = "envoy.config.listener.v3.Listener";
        let api = any(listener, json!({"api_listener": {"api_listener": manager}}));
        let server =
            any(listener, json!({"filter_chains": [{"filters": [{"name": "h", "typed_config": manager}]}]}));
        assert_eq!(clusters_of_api_listener(&api).names, ["a"]);
        assert_eq!((is_api_listener(&api), is_api_listener(&server)), (true, false));
        assert!(clusters_of_api_listener(&server).names.is_empty());
    }
}
