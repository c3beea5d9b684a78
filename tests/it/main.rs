//! Integration tests: whole programs on loopback, with real peers.
//!
//! The first test that needs a peer (Envoy, gRPC, go-control-plane) fetches it, see
//! [`support::peers`]. `XDSCOPE_PEERS=off` skips the tests that need peers.

mod agree;
mod applied;
mod bombs;
mod book;
mod cli;
mod client;
mod config;
mod constraints;
mod corpora;
mod docs;
mod doctor;
mod equal;
mod failing;
mod faults;
mod harness;
mod headers;
mod hostile_files;
mod house;
mod identity;
mod in_force;
mod likeness;
mod lint;
mod misbehaving;
mod nacks;
mod offline;
mod output;
mod page;
mod pcap;
mod peers_direct;
mod readme;
mod reflection;
mod rest_client;
mod rows;
mod screen;
mod scripted;
mod secrets;
mod seen;
mod serve;
mod serve_rest;
mod serve_ttl;
mod session_files;
mod sources;
mod sovereign;
mod spool;
mod support;
mod tap;
mod tls;
mod tls_failures;
mod transparency;
mod versions;
mod views;
mod warming;
mod watch_files;
