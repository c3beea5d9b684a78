//! Everything that yields frames: observed connections, recordings, packet captures, raw JSONL and arrow scripts.

pub mod observe;
pub mod pcap;
pub mod record;
pub mod script;
