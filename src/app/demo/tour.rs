//! The nodes of the tour: six, one for each kind of problem.

use std::time::Duration;

use super::client::NodeProfile;
use xdscope_wire::event::{Kind, Variant};

/// The node that asks for a cluster that does not exist.
pub(super) const CART: &str = "grpc-cart-0";

/// The node whose streams the control plane ends.
pub(super) const PAYMENTS: &str = "payments-v3-1c2a";

pub(super) fn nodes() -> Vec<NodeProfile> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let wildcards = || vec![(Kind::Cds, vec![]), (Kind::Lds, vec![])];
    // All clusters and listeners, one route, and the endpoints of a few.
    let sidecar = |endpoints: &[&str]| {
        let mut subscriptions = wildcards();
        subscriptions.extend([(Kind::Rds, names(&["edge"])), (Kind::Eds, names(endpoints))]);
        subscriptions
    };
    let cart =
        vec![(Kind::Lds, vec![]), (Kind::Rds, names(&["edge"])), (Kind::Cds, names(&["cart-backend"]))];
    vec![
        NodeProfile {
            follows_references: true,
            rejects_bad_clusters: true,
            ..NodeProfile::new("edge-gw-1", "edge", Variant::Ads, wildcards())
        },
        NodeProfile {
            unanswered: Some(Kind::Rds),
            ..NodeProfile::new("ratings-v1-77d0", "ratings", Variant::Ads, sidecar(&["ratings", "reviews"]))
        },
        NodeProfile::new(CART, "cart", Variant::Ads, cart),
        NodeProfile {
            slow: Some((Kind::Eds, Duration::from_millis(1500))),
            ..NodeProfile::new(
                "reviews-v2-6b8f",
                "reviews",
                Variant::DeltaAds,
                sidecar(&["ratings", "search"]),
            )
        },
        NodeProfile::new("batch-9", "batch", Variant::Sotw, sidecar(&["cart", "payments", "shipping"])),
        NodeProfile {
            max_streams: Some(4),
            ..NodeProfile::new(PAYMENTS, "payments", Variant::DeltaAds, sidecar(&["payments"]))
        },
    ]
}
