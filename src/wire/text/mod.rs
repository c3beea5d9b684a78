//! How values are written for a person, on screen and on the command line alike.
//!
//! Pure functions over texts and numbers. [`display_safe`] is the one door through which wire text reaches a
//! terminal; everything else here expects texts that went through it.

mod cut;
mod hex;
mod safe;
mod time;
mod unit;

pub use cut::{Keep, cut, cut_name, pad, pad_left, width, wrap, wrap_parts};
pub use hex::hex;
pub use safe::display_safe;
pub use time::{time_of_day, time_of_day_secs};
pub use unit::{age, count, latency, plural, size, type_label};
