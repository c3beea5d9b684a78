//! Names cut by their structure, so that the part that tells them apart stays.

use core::net::IpAddr;
use std::borrow::Cow;

use super::cut::{Keep, cut, fits, width};

/// Cuts a resource or node name to at most `cells` cells.
///
/// An `xdstp://` name keeps its authority and its id, the node id of an Istio proxy its pod and
/// namespace, an Istio cluster its port, subset and host, and a host its first labels. Of other
/// names, the middle is left out.
pub fn cut_name<'a>(name: &'a str, cells: usize, mark: &str) -> Cow<'a, str> {
    if fits(name, cells) {
        return Cow::Borrowed(name);
    }
    let shorter = shorter(name, mark);
    if let Some(short) = shorter.iter().find(|short| width(short) <= cells) {
        return Cow::Owned(short.clone());
    }
    match shorter.last() {
        // Too narrow for the shortest form too.
        Some(short) if !name.starts_with("xdstp://") => {
            let short = short.strip_prefix(mark).unwrap_or(short);
            Cow::Owned(cut(short, cells, Keep::Ends, mark).into_owned())
        }
        _ => cut(name, cells, Keep::Ends, mark),
    }
}

/// Shorter forms of a name, the longest first; none if the name has no known structure.
fn shorter(name: &str, mark: &str) -> Vec<String> {
    xdstp(name, mark)
        .or_else(|| istio_node(name, mark))
        .or_else(|| istio_cluster(name, mark))
        .or_else(|| host_and_port(name, mark))
        .unwrap_or_default()
}

/// `xdstp://auth/…/reviews`, `…/reviews`.
fn xdstp(name: &str, mark: &str) -> Option<Vec<String>> {
    let (authority, path) = name.strip_prefix("xdstp://")?.split_once('/')?;
    let (_, id) = path.split_once('/')?;
    let id = id.rsplit('/').next().unwrap_or(id);
    Some(vec![format!("xdstp://{authority}/{mark}/{id}"), format!("{mark}/{id}")])
}

/// `sidecar~10.1.2.3~reviews-v2-6b8f.default~default.svc.cluster.local` becomes
/// `…reviews-v2-6b8f.default` or `…reviews-v2-6b8f`.
fn istio_node(name: &str, mark: &str) -> Option<Vec<String>> {
    let mut parts = name.split('~');
    let (_kind, address) = (parts.next()?, parts.next()?);
    let (workload, _domain) = (parts.next()?, parts.next()?);
    if parts.next().is_some() || address.parse::<IpAddr>().is_err() || workload.is_empty() {
        return None;
    }
    let pod = workload.split('.').next().unwrap_or(workload);
    Some(vec![format!("{mark}{workload}"), format!("{mark}{pod}")])
}

/// `outbound|8080|v1|reviews.shop.svc.cluster.local` becomes `outbound|8080|v1|reviews.shop…`,
/// `…8080|v1|reviews.shop`, `…8080|v1|reviews` or `…v1|reviews`.
fn istio_cluster(name: &str, mark: &str) -> Option<Vec<String>> {
    let mut parts = name.split('|');
    let (direction, port) = (parts.next()?, parts.next()?);
    let (subset, host) = (parts.next()?, parts.next()?);
    if parts.next().is_some() || port.parse::<u16>().is_err() || host.is_empty() {
        return None;
    }
    let labels = host_labels(host);
    let (first, two) = (labels[0], labels[1]);
    let mut out = vec![
        format!("{direction}|{port}|{subset}|{two}{mark}"),
        format!("{mark}{port}|{subset}|{two}"),
        format!("{mark}{port}|{subset}|{first}"),
    ];
    out.push(if subset.is_empty() { format!("{mark}{first}") } else { format!("{mark}{subset}|{first}") });
    Some(out)
}

/// `reviews.shop.svc.cluster.local:8080` becomes `reviews.shop…:8080` or `reviews…:8080`.
fn host_and_port(name: &str, mark: &str) -> Option<Vec<String>> {
    let (host, port) = match name.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => (host, format!(":{port}")),
        _ => (name, String::new()),
    };
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    let is_host = host.split('.').count() > 3 && host.split('.').all(is_label);
    if !is_host || host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let labels = host_labels(host);
    Some(labels.iter().rev().map(|host| format!("{host}{mark}{port}")).collect())
}

/// The first label of a host, and the first two: service and namespace.
fn host_labels(host: &str) -> [&str; 2] {
    let first = host.find('.').unwrap_or(host.len());
    let second = host.get(first + 1..).and_then(|rest| rest.find('.')).map(|at| first + 1 + at);
    [host.get(..first).unwrap_or(host), host.get(..second.unwrap_or(host.len())).unwrap_or(host)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn cuts(name: &str, wanted: &[(usize, &str)]) {
        for (cells, short) in wanted {
            assert_eq!(cut_name(name, *cells, "…"), *short, "{cells}");
        }
    }

    #[test]
    fn keeps_authority_and_id_of_xdstp_names() {
        cuts(
            "xdstp://auth.example/envoy.config.cluster.v3.Cluster/team/reviews",
            &[(34, "xdstp://auth.example/…/reviews"), (15, "…/reviews"), (9, "…/reviews"), (7, "xds…ews")],
        );
    }

    #[test]
    fn keeps_the_pod_of_an_istio_node() {
        cuts(
            "sidecar~10.1.2.3~reviews-v2-6b8f.default~default.svc.cluster.local",
            &[(34, "…reviews-v2-6b8f.default"), (20, "…reviews-v2-6b8f"), (12, "review…-6b8f")],
        );
        cuts("a~b~c.d~e.f.g.h.i", &[(11, "a~b~c…g.h.i")]);
    }

    #[test]
    fn keeps_port_subset_and_host_of_an_istio_cluster() {
        cuts(
            "outbound|8080|v1|reviews.shop.svc.cluster.local",
            &[
                (46, "outbound|8080|v1|reviews.shop…"),
                (22, "…8080|v1|reviews.shop"),
                (18, "…8080|v1|reviews"),
                (11, "…v1|reviews"),
                (7, "v1|…ews"),
            ],
        );
        cuts(
            "outbound|9080||ratings.shop.svc.cluster.local",
            &[(24, "…9080||ratings.shop"), (9, "…ratings")],
        );
    }

    #[test]
    fn keeps_the_first_labels_of_a_host() {
        cuts(
            "reviews.shop.svc.cluster.local:8080",
            &[(30, "reviews.shop…:8080"), (14, "reviews…:8080"), (9, "revi…8080")],
        );
        cuts("a-plain-name-without-a-structure", &[(11, "a-pla…cture")]);
    }

    proptest::proptest! {
        #[test]
        fn fits_its_cells(text in "[a-z|~.:/0-9名]{0,60}", cells in 0usize..40) {
            proptest::prop_assert!(width(&cut_name(&text, cells, "…")) <= cells);
        }
    }
}
