//! Input that attacks: floods, bombs, damaged files, secrets.

pub mod armed;
pub mod armed_soak;
pub mod bombs;
pub mod corpora;
pub mod held_large;
pub mod hostile_files;
pub mod secrets;
pub mod spool;
