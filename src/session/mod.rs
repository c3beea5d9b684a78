//! The protocol state machine: one track per stream and type.
