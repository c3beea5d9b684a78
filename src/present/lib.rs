//! Facts in words, for people and programs.
//!
//! The crate owns sentences ([`report`]), JSON objects ([`json`]), the HTML report ([`page`]),
//! explanations of log lines ([`logs`]), [`metrics`], tables ([`table`]), and how long texts are
//! shortened ([`text`]).
//! Every screen and verb takes its words from here, so that one fact has one word.
//!
//! The crate must not decide about the protocol, nor touch files, sockets, clocks and threads.
//!
//! Begin reading at [`report::problem`].
//!
//! ```
//! use xdscope_present::text::{Keep, cut};
//!
//! // Names with a known structure are shortened by their parts.
//! assert_eq!(cut("outbound|80||cart.shop", 9, Keep::Head, "…"), "…80||cart");
//! ```

#![cfg_attr(not(test), warn(unreachable_pub, clippy::type_complexity))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(missing_docs)]

pub mod admin;
pub mod applied;
pub mod authority;
pub mod bodies;
pub mod body_comparison;
pub mod body_lines;
pub mod explanation;
pub mod graph;
pub mod hold;
pub mod json;
pub mod logs;
pub mod message_text;
pub mod metrics;
pub mod nack_card;
pub mod nack_effect;
pub mod node;
pub mod page;
pub mod partial_use;
pub mod printed_line;
pub mod report;
pub mod source_facts;
pub mod structured;
pub mod table;
pub mod text;
