//! The demo's story: six nodes, one of each problem.

use std::time::Duration;

use crate::event::{Kind, Variant};

use super::Client;

/// Which of the nodes take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// All of them.
    Tour,
    /// The one whose cluster is refused, again and again.
    NackLoop,
    /// The ones that wait for what never comes.
    Warming,
    /// The ones that speak delta.
    Delta,
}

impl Scenario {
    pub const ALL: [Scenario; 4] = [Scenario::Tour, Scenario::NackLoop, Scenario::Warming, Scenario::Delta];

    pub fn word(self) -> &'static str {
        match self {
            Scenario::Tour => "tour",
            Scenario::NackLoop => "nack-loop",
            Scenario::Warming => "warming",
            Scenario::Delta => "delta",
        }
    }

    /// What is to be seen.
    pub fn about(self) -> &'static str {
        match self {
            Scenario::Tour => "six nodes, one of each problem",
            Scenario::NackLoop => "a refused cluster that the control plane sends again and again",
            Scenario::Warming => "names that are asked for and never answered",
            Scenario::Delta => "incremental streams: slow answers, a stream that ends and comes back",
        }
    }

    /// The nodes that take part.
    pub fn clients(self) -> Vec<Client> {
        let mut all = clients();
        all.retain(|client| match self {
            Scenario::Tour => true,
            Scenario::NackLoop => client.checks,
            Scenario::Warming => client.checks || client.node_id == CART,
            Scenario::Delta => client.variant.is_delta(),
        });
        all
    }
}

const CART: &str = "grpc-cart-0";

/// The node whose streams the control plane ends.
pub(super) const CUT: &str = "payments-v3-1c2a";

fn clients() -> Vec<Client> {
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
