//! Addresses, listeners and connections, for the tap and for both peers.

mod accept;
mod address;
pub(super) mod answer;
mod leg;

pub(super) use accept::{Accepted, accept};
pub use address::{Address, AddressError};
pub(super) use answer::{ClientProtocol, alert, client_protocol, percent, refuse, trailers};
pub(super) use leg::{Leg, Listener};
