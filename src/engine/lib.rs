//! The protocol: what each message says about its stream, type and resources.
//!
//! The crate owns sessions, streams, subscriptions and verdicts ([`session`]), the store and its
//! queries ([`store`]), the lint rules ([`lint`]), problems ([`problems`]), and what is derived
//! from them: graph, NACKs, differences, filters, applied configurations. [`analysis::Analysis`]
//! is a store together with the rules.
//!
//! The crate must not touch files, sockets, clocks and threads. Time is an argument, misbehaviour
//! of a peer is a fact, and equal frames give equal facts. Facts are data; `xdscope-present`
//! turns them into sentences, except for the sentence of a finding, which is part of its rule.
//!
//! Begin reading at [`store::Store`], and at any file of `lint/rules`.
//!
//! ```
//! use xdscope_engine::store::{Options, Store};
//! use xdscope_wire::content::Catalog;
//! use xdscope_wire::event::{Clock, StreamId, Time};
//! use xdscope_wire::{Frame, FramePayload, Open};
//!
//! let method = "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters";
//! let open = Open { method: method.to_owned(), ..Open::default() };
//! let mut store = Store::new(Catalog::in_memory(), Clock::default(), Options::default());
//! let what = FramePayload::Open(Box::new(open));
//! store.handle(Frame { at: Time(0), stream: StreamId(1), what });
//! assert_eq!(store.streams().len(), 1);
//! ```

#![cfg_attr(not(test), warn(unreachable_pub, clippy::type_complexity))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod activity;
pub mod admin;
pub mod analysis;
pub mod applied;
pub mod constraints;
pub mod diff;
pub mod filter;
pub mod graph;
pub mod hold;
pub mod lint;
pub mod made;
pub mod metrics;
pub mod nack;
pub mod owners;
pub mod problems;
pub mod readings;
pub mod recovery;
mod relay;
pub mod session;
pub mod store;
pub mod structured;

#[cfg(test)]
#[path = "tests/model/mod.rs"]
mod model;
