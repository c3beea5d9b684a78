//! Names as people read them, cut to a width, and words for a shell.

mod cut;
mod markdown;
mod name;
mod shell;

pub use cut::{Keep, cut, pad, pad_left, width, wrap, wrap_parts};
pub use markdown::markdown;
pub use name::{cut_apart, cut_long_words, cut_name, without_shared, workload};
pub use shell::shell_word;
