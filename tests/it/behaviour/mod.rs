//! Behaviour of the program, against peers that the tests play themselves.

pub mod hostile;
pub mod network;
pub mod verbs;
