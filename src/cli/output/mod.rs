//! Output: tables, rows, JSON, and files that are complete or absent.

pub(super) mod event_lines;
pub(super) mod frame_writer;
pub(super) mod json_out;
pub(super) mod junit;
pub(super) mod lint_out;
pub mod message_line;
pub(super) mod output_file;
pub(super) mod words;
