//! Real clients and control planes, which the first of these tests installs.

pub mod admin_ports;
pub mod applied;
pub mod conformance;
pub mod constraints;
pub mod direct;
pub mod envoy_facts;
pub mod equal;
pub mod fault_actions;
pub mod grpc_facts;
pub mod hold;
pub mod identity;
pub mod in_force;
pub mod intercept;
pub mod likeness;
pub mod lint;
pub mod misbehaving;
pub mod nacks;
pub mod named_faults;
pub mod offline;
pub mod page;
pub mod pcap;
pub mod serve_ttl;
pub mod sovereign;
pub mod tap;
pub mod transparency;
pub mod warming;
