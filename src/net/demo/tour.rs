//! The demo's story: six nodes, one of each problem.

use std::time::Duration;

use crate::wire::event::{Kind, Variant};

use super::Client;

pub(super) const CART: &str = "grpc-cart-0";

/// The node whose streams the control plane ends.
pub(super) const CUT: &str = "payments-v3-1c2a";

pub(super) fn clients() -> Vec<Client> {
    let everything = || vec![(Kind::Cds, vec![]), (Kind::Lds, vec![])];
    let client = |id: &str, cluster: &str, variant| Client {
        node_id: id.into(),
        node_cluster: cluster.into(),
        variant,
        asks: everything(),
        follows: true,
        checks: false,
        silent: None,
        slow: None,
        connects: 1,
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    // All clusters and listeners, one route, and the endpoints of a few.
    let sidecar = |endpoints: &[&str]| {
        let mut asks = everything();
        asks.extend([(Kind::Rds, names(&["edge"])), (Kind::Eds, names(endpoints))]);
        asks
    };
    vec![
        Client { checks: true, ..client("edge-gw-1", "edge", Variant::Ads) },
        Client {
            asks: sidecar(&["ratings", "reviews"]),
            follows: false,
            silent: Some(Kind::Rds),
            ..client("ratings-v1-77d0", "ratings", Variant::Ads)
        },
        Client {
            asks: vec![
                (Kind::Lds, vec![]),
                (Kind::Rds, names(&["edge"])),
                (Kind::Cds, names(&["cart-backend"])),
            ],
            follows: false,
            ..client(CART, "cart", Variant::Ads)
        },
        Client {
            asks: sidecar(&["ratings", "search"]),
            follows: false,
            slow: Some((Kind::Eds, Duration::from_millis(1500))),
            ..client("reviews-v2-6b8f", "reviews", Variant::DeltaAds)
        },
        Client {
            asks: sidecar(&["cart", "payments", "shipping"]),
            follows: false,
            ..client("batch-9", "batch", Variant::Sotw)
        },
        Client {
            asks: sidecar(&["payments"]),
            follows: false,
            connects: 4,
            ..client(CUT, "payments", Variant::DeltaAds)
        },
    ]
}
