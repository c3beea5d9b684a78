//! Helpers for texts: escapes, credentials, times and units.
//!
//! Pure functions over texts and numbers. Text from the wire reaches a terminal only through
//! [`display_safe`]; the other functions expect its output.

mod credentials;
mod hex;
mod mark;
pub mod near;
mod parse;
mod safe;
mod time;
mod unit;

pub use credentials::without_credentials;
pub use hex::hex;
pub(crate) use hex::hex_byte;
pub use mark::{has_utf16_mark, without_mark};
pub use parse::{parse_bytes, parse_duration, parse_time_of_day};
pub use safe::{display_safe, json_safe, must_escape, shown_name};
pub use time::{time_of_day, time_of_day_secs};
pub use unit::{age, count, latency, period, plural, short_age, size, type_label};
