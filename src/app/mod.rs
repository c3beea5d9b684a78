//! Wiring: sources to store to sinks.
