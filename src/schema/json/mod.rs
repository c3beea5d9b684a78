//! Conversion between bytes and JSON, YAML and trees of values.

pub mod base64;
pub(super) mod json_text;
pub(super) mod named_value;
pub(super) mod path_value;
pub(super) mod raw;
pub(super) mod sink;
pub(super) mod size;
pub(super) mod walk;
pub(super) mod wellknown;
pub(super) mod yaml;
