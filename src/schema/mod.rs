//! Descriptors: pool, type lookup, JSON, docs, redaction.
