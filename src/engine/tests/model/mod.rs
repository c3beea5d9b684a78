//! A slow, obvious model of the protocol, which the engine is compared with.
//!
//! The model is written from the rules in `docs/protocol.md` and from the public text of the xDS
//! protocol. It keeps every message of a track, and answers each question by a search through all
//! of them: no index, no shared content, no limit. [`generate`] makes random sessions of good and
//! bad peers, [`compare`] feeds each step to the engine and to the model and compares all facts,
//! and [`shrink`] reduces a session that tells them apart to an arrow script.

mod compare;
mod frames;
mod generate;
mod nonces;
mod observed;
mod script;
mod shrink;
mod state;
mod subscription;
mod tests;
mod track;
mod views;
mod world;
