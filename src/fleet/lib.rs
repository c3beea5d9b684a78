//! Facts of many sessions as tables: Parquet files, and SQL to query them.
//!
//! The crate owns the tables, the files, and the named queries. A session file becomes a
//! [`Batch`]: a Parquet file for each table and day, and a manifest, which is written last. Engines
//! that people already run read the files; the crate links none.
//!
//! The crate must not decide about the protocol: rows hold the facts of `xdscope-engine`, in the
//! words of `xdscope-present`.
//!
//! Begin reading at [`tables`], the tables and their columns, and at [`Batch`].
//!
//! ```
//! let columns = xdscope_fleet::tables()[0].columns;
//! assert_eq!(columns[0].name, "batch");
//! ```

#![cfg_attr(not(test), warn(unreachable_pub, clippy::type_complexity))]
#![warn(missing_docs)]

mod batch;
mod columns;
mod queries;
mod rows;
mod table_file;
mod tables;
#[cfg(test)]
mod tests;

pub use batch::{BatchError, BatchId, BatchOutcome, FinishedBatch, LANDING, MANIFESTS};
pub use columns::{ColumnKind, FleetColumn, Table};
pub use queries::{NamedQuery, QueryError, listed, queries};
pub use rows::Batch;
pub use table_file::SCHEMA_VERSION_KEY;
pub use tables::{SCHEMA_VERSION, tables};
