//! Text helpers for screens and the command line.
//!
//! Pure functions over texts and numbers. Text from the wire reaches a terminal only through
//! [`display_safe`]; the other functions expect its output.

mod credentials;
mod cut;
mod hex;
mod name;
pub mod near;
mod safe;
mod shell;
mod time;
mod unit;

pub use credentials::without_credentials;
pub use cut::{Keep, cut, pad, pad_left, width, wrap, wrap_parts};
pub use hex::hex;
pub use name::{cut_apart, cut_long_words, cut_name};
pub use safe::{display_safe, json_safe, must_escape, shown_name};
pub use shell::shell_word;
pub use time::{time_of_day, time_of_day_secs};
pub use unit::{age, count, latency, period, plural, short_age, size, type_label};
