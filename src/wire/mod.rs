//! Bytes, gRPC frames and typed discovery messages.
