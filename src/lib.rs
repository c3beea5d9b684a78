//! xdscope: an interactive debugger for xDS, the protocol by which Envoy, gRPC and service meshes get their
//! configuration.
//!
//! # Architecture
//!
//! One way, from bytes to views:
//!
//! ```text
//! net, record, pcap, script ──▶ wire ──▶ session ──▶ store ──▶ tui, cli
//!   bytes                       Frame    facts per    history,   screens, text
//!                                        stream/type  queries    and JSON
//! ```
//!
//! * **A [`wire::Frame`] is born once.** A tap, a recording, a packet capture, raw JSONL and an arrow script
//!   all yield frames; nothing to their right knows which of them it was. The recorder takes frames at birth. Everything right
//!   of them is deterministic: same recording, same facts, same screen.
//! * **Content is stored once.** Resources, nodes and long name lists live in the source's
//!   [`content::Catalog`]; everything else holds ids. Equal ids are equal bytes. A re-push of 100,000
//!   unchanged resources is one pointer, to the recorder and to a thousand streams alike.
//! * **Original bytes are kept.** A message is its segments; joined they are what was on the wire, unknown
//!   fields, odd encodings and garbage included. The only exception are secrets, which leave the bytes before
//!   anything is kept and leave a mark.
//! * **Peers can't make us fail.** What a peer does wrong is a fact with evidence. `Err` is for our own
//!   inability: a file that can't be read, an address that can't be bound.
//! * **The tap forwards first.** A chunk is written to the other end before its copy is looked at. The copy
//!   is bounded; what does not fit is counted as a gap. Nothing the views do can hold up a byte.
//!
//! # What is absent, and stays so
//!
//! * The core (everything left of `record`) has no I/O, no clock, no async, no threads: time is an argument.
//! * `net` takes no protocol decisions. `tui` and `net` never see each other. `tui` opens no files.
//! * No module imports one to its right in: `event pb content wire schema observe session store links nack diff
//!   filter lint text logs graph report applied json client server record pcap script net tui app cli`. A test reads the imports and holds
//!   them to it.
//! * No third-party `.proto` or descriptor is in the tree: `build.rs` reads them from locked dependencies.

#[cfg(all(feature = "net", feature = "tui"))]
pub mod app;
#[cfg(all(feature = "net", feature = "tui"))]
pub mod cli;
pub mod engine;
#[cfg(feature = "net")]
pub mod net;
pub mod peers;
pub mod present;
pub mod schema;
pub mod sources;
#[cfg(feature = "tui")]
pub mod tui;
pub mod wire;
