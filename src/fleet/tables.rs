//! The tables, each as the struct of its rows.
//!
//! A field is a column: its name, type and doc comment are those of the column, and the number
//! before it is the Parquet field id. A change of a table adds optional columns with new ids, and
//! raises [`SCHEMA_VERSION`].

use std::sync::Arc;

use crate::columns::{Cell, CellValue, ContentHash, FleetColumn, Moment, RowKey, Table, TableRow};

/// Version of the tables.
pub const SCHEMA_VERSION: u32 = 1;

/// Returns the tables, in the order of the reference.
pub fn tables() -> [Table; 8] {
    [
        MessageRow::TABLE,
        ResourceRow::TABLE,
        ContentRow::TABLE,
        VerdictRow::TABLE,
        StreamRow::TABLE,
        ProblemRow::TABLE,
        FindingRow::TABLE,
        GapRow::TABLE,
    ]
}

/// Joins the columns of all tables with those of one.
const fn joined<const ALL: usize>(own: &[FleetColumn]) -> [FleetColumn; ALL] {
    let mut all = [RowKey::COLUMNS[0]; ALL];
    let mut index = 0;
    while index < ALL {
        all[index] = if index < RowKey::LEN { RowKey::COLUMNS[index] } else { own[index - RowKey::LEN] };
        index += 1;
    }
    all
}

/// Defines the rows of a table.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $name:literal $row:ident;
        $($(#[doc = $column_about:literal])+ $id:literal $field:ident: $kind:ty,)+
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default)]
        pub(crate) struct $row {
            /// The columns that all tables have.
            pub(crate) key: RowKey,
            $($(#[doc = $column_about])+ pub(crate) $field: $kind,)+
        }

        impl $row {
            const OWN: &[FleetColumn] =
                &[$(FleetColumn::new::<$kind>(stringify!($field), $id, concat!($($column_about),+)),)+];
            const COLUMNS: [FleetColumn; RowKey::LEN + $row::OWN.len()] = joined($row::OWN);
            const CELLS: &[fn(&$row) -> Cell<'_>] = &[$(|row| row.$field.cell(),)+];
        }

        impl TableRow for $row {
            const TABLE: Table = Table::new($name, &$row::COLUMNS, concat!($($about),+));

            fn cell(&self, column: usize) -> Cell<'_> {
                match column.checked_sub(RowKey::LEN) {
                    Some(own) => ($row::CELLS[own])(self),
                    None => self.key.cell(column),
                }
            }

            fn key(&self) -> &RowKey {
                &self.key
            }

            fn type_word(&self) -> &str {
                self.r#type.as_deref().unwrap_or_default()
            }
        }
    };
}

table! {
    /// A message: a row of `log`, with its words.
    "messages" MessageRow;
    /// The number of the message in its session file.
    10 seq: u64,
    /// The stream.
    11 stream: u64,
    /// The node id, if the client has stated one.
    12 node: Option<Arc<str>>,
    /// The address of the client.
    13 peer: Option<Arc<str>>,
    /// The identifier of the control plane; for a request that of the stream.
    14 control_plane: Option<Arc<str>>,
    /// The variant of the protocol.
    15 variant: Option<&'static str>,
    /// `req` or `resp`.
    16 dir: Option<&'static str>,
    /// The kind, such as `push`, `ack` or `nack`.
    17 kind: &'static str,
    /// How a request relates to the responses of its type.
    18 class: Option<&'static str>,
    /// The short word of the type, or its URL.
    19 r#type: Option<Arc<str>>,
    /// The type URL.
    20 type_url: Arc<str>,
    /// The version.
    21 version: Arc<str>,
    /// The nonce of a response, or the one that a request carries.
    22 nonce: Arc<str>,
    /// The message that this one answers.
    23 answers: Option<u64>,
    /// The time from that message to this one, in nanoseconds.
    24 latency_ns: Option<u64>,
    /// Number of names in a request, or of resources in a response.
    25 items: u64,
    /// Number of names or resources that are new.
    26 added: u64,
    /// Number of resources with another content than before.
    27 changed: u64,
    /// Number of names or resources that are removed.
    28 removed: u64,
    /// Number of resources that were sent again unchanged.
    29 same: u64,
    /// Bytes of the message.
    30 bytes: u64,
    /// The code in the error of a NACK.
    31 error_code: Option<i64>,
    /// The text in the error of a NACK.
    32 error_text: Option<Arc<str>>,
    /// Whether the start of the stream is missing.
    33 partial: bool,
}

table! {
    /// A resource of a push, or one that a NACK names.
    "resources" ResourceRow;
    /// The push; for `refused` the NACK.
    10 seq: u64,
    /// The push.
    11 push: Option<u64>,
    /// The stream.
    12 stream: u64,
    /// The node id, if the client has stated one.
    13 node: Option<Arc<str>>,
    /// The identifier of the control plane.
    14 control_plane: Option<Arc<str>>,
    /// The short word of the type, or its URL.
    15 r#type: Option<Arc<str>>,
    /// The type URL.
    16 type_url: Arc<str>,
    /// The version of the push.
    17 version: Arc<str>,
    /// The name; empty if a NACK names no resource.
    18 name: Arc<str>,
    /// `added`, `changed`, `same`, `removed`, or `refused` by a NACK.
    19 change: &'static str,
    /// The content, for `contents`. Equal hashes are equal contents within one run.
    20 hash: Option<ContentHash>,
    /// Bytes of the content.
    21 bytes: Option<u64>,
    /// The Kubernetes object that the resource was made from, as `kind/namespace/name`.
    22 owner: Option<Arc<str>>,
    /// Whether the name of the resource alone tells the owner.
    23 owner_guess: Option<bool>,
    /// Whether the name was found by a search of the push: the text of the NACK does not state it.
    24 name_guess: Option<bool>,
}

table! {
    /// The content of a resource, once in a batch and day.
    "contents" ContentRow;
    /// The hash, which `resources` refers to.
    10 hash: ContentHash,
    /// The short word of the type, or its URL.
    11 r#type: Option<Arc<str>>,
    /// The type URL.
    12 type_url: Arc<str>,
    /// The name.
    13 name: Arc<str>,
    /// Bytes on the wire.
    14 bytes: u64,
    /// Whether secrets are taken out of the content.
    15 redacted: bool,
    /// The content as protobuf JSON.
    16 json: Option<String>,
}

table! {
    /// A response, and the verdict of the client.
    "verdicts" VerdictRow;
    /// The response.
    10 seq: u64,
    /// The stream.
    11 stream: u64,
    /// The node id, if the client has stated one.
    12 node: Option<Arc<str>>,
    /// The identifier of the control plane.
    13 control_plane: Option<Arc<str>>,
    /// The short word of the type, or its URL.
    14 r#type: Option<Arc<str>>,
    /// The type URL.
    15 type_url: Arc<str>,
    /// The version of the response.
    16 version: Arc<str>,
    /// The nonce of the response.
    17 nonce: Arc<str>,
    /// `acked`, `refused`, `skipped`, or `pending` at the end of the session file.
    18 verdict: Option<&'static str>,
    /// The request that gives the verdict, or answers a later response.
    19 answered_by: Option<u64>,
    /// The time from the response to this request, in nanoseconds.
    20 latency_ns: Option<u64>,
}

table! {
    /// A type on a stream, at the end of the session file: the state of `status`. A stream without
    /// types has one row.
    "streams" StreamRow;
    /// The stream.
    10 stream: u64,
    /// The node id, if the client has stated one.
    11 node: Option<Arc<str>>,
    /// The cluster of the node.
    12 cluster: Option<Arc<str>>,
    /// The region of the node.
    13 region: Option<Arc<str>>,
    /// The zone of the node.
    14 zone: Option<Arc<str>>,
    /// The program of the client.
    15 user_agent: Option<Arc<str>>,
    /// Its version.
    16 user_agent_version: Option<Arc<str>>,
    /// The path of the gRPC method.
    17 method: String,
    /// The variant of the protocol.
    18 variant: Option<&'static str>,
    /// The address of the client.
    19 peer: Option<String>,
    /// The address of the server.
    20 server: Option<String>,
    /// The identifier of the control plane.
    21 control_plane: Option<Arc<str>>,
    /// When the stream opened, unless that was not recorded.
    22 opened: Option<Moment>,
    /// When the stream closed.
    23 closed: Option<Moment>,
    /// How the stream ended.
    24 end_text: Option<String>,
    /// The gRPC code with which the stream ended.
    25 end_code: Option<i64>,
    /// The stream before a reconnect.
    26 reconnect_of: Option<u64>,
    /// Messages of the stream.
    27 messages: u64,
    /// Bytes from the client, for the whole stream.
    28 bytes_in: u64,
    /// Bytes from the server, for the whole stream.
    29 bytes_out: u64,
    /// Messages that are missing in the copy.
    30 gaps: u64,
    /// The short word of the type, or its URL.
    31 r#type: Option<Arc<str>>,
    /// The type URL.
    32 type_url: Option<Arc<str>>,
    /// The state of the type.
    33 state: Option<&'static str>,
    /// The state before the stream closed.
    34 last_state: Option<&'static str>,
    /// When the state began.
    35 since: Option<Moment>,
    /// The version that the client uses.
    36 in_force: Option<Arc<str>>,
    /// The version of the newest response.
    37 offered: Option<Arc<str>>,
    /// Resources that the client uses, or has yet to accept or refuse.
    38 resources: Option<u64>,
    /// Resources whose newest version is refused.
    39 refused: Option<u64>,
    /// Number of requested names that were never sent.
    40 missing: Option<u64>,
    /// Number of NACKs.
    41 nack_count: Option<u64>,
    /// Number of responses.
    42 pushes: Option<u64>,
    /// Bytes of responses of the type.
    43 bytes: Option<u64>,
    /// Bytes of resources that were sent again unchanged.
    44 bytes_same: Option<u64>,
    /// The median of the times from response to verdict, in milliseconds.
    45 ack_p50_ms: Option<f64>,
    /// The 99th percentile of these times.
    46 ack_p99_ms: Option<f64>,
}

table! {
    /// A problem, as `status` lists them at the end of the session file. The time is that of the
    /// beginning.
    "problems" ProblemRow;
    /// The kind, such as `nack`.
    10 problem: &'static str,
    /// `error`, `warning`, `pending` or `over`.
    11 urgency: &'static str,
    /// The side at fault, or the one that owes the answer.
    12 blame: &'static str,
    /// The fault or person behind an intervention of xdscope that has caused the problem.
    13 caused_by: Option<Arc<str>>,
    /// The stream.
    14 stream: u64,
    /// Number of streams with the problem.
    15 streams: u64,
    /// The node id, if the client has stated one.
    16 node: Option<Arc<str>>,
    /// Number of nodes with the problem.
    17 nodes: u64,
    /// The short word of the type, or its URL.
    18 r#type: Option<Arc<str>>,
    /// When the problem was seen last, if it occurred more than once.
    19 last: Option<Moment>,
    /// When the stream closed.
    20 closed: Option<Moment>,
    /// When the consequence of a broken rule ended.
    21 ended: Option<Moment>,
    /// Number of occurrences.
    22 occurrences: u64,
    /// The message to look at.
    23 at_seq: Option<u64>,
    /// The broken rules, with commas between.
    24 rules: String,
    /// One sentence.
    25 text: String,
    /// The words of the peer.
    26 quote: Option<String>,
    /// The first owner, as `kind/namespace/name`.
    27 owner: Option<String>,
    /// Whether the problem rests on a guess.
    28 guess: bool,
}

table! {
    /// A finding of `lint`. The time is that of the first occurrence.
    "findings" FindingRow;
    /// The rule.
    10 rule: &'static str,
    /// `error`, `warn` or `info`.
    11 severity: &'static str,
    /// The way in which the rule was broken, if the rule tells several apart.
    12 cause: Option<&'static str>,
    /// The side that broke the rule.
    13 blame: &'static str,
    /// The fault or person behind an intervention of xdscope that has caused the finding.
    14 caused_by: Option<Arc<str>>,
    /// The stream.
    15 stream: u64,
    /// The node id, if the client has stated one.
    16 node: Option<Arc<str>>,
    /// The short word of the type, or its URL.
    17 r#type: Option<Arc<str>>,
    /// The first resource.
    18 name: Option<Arc<str>>,
    /// Number of resources that the finding lists.
    19 names: u64,
    /// The message that completed the first occurrence.
    20 at_seq: Option<u64>,
    /// The last occurrence.
    21 last: Moment,
    /// When the state ended that the finding is about.
    22 ended: Option<Moment>,
    /// Number of occurrences.
    23 occurrences: u64,
    /// One sentence, about the first occurrence.
    24 text: String,
    /// Whether the sentences of other occurrences differ.
    25 varies: bool,
    /// Whether the finding rests on a guess.
    26 guess: bool,
    /// A number that findings with one cause share in their session file.
    27 cause_group: u64,
    /// The first owner, as `kind/namespace/name`.
    28 owner: Option<String>,
}

table! {
    /// Messages that are missing, or that cannot be read.
    "gaps" GapRow;
    /// The stream.
    10 stream: u64,
    /// The node id, if the client has stated one.
    11 node: Option<Arc<str>>,
    /// `req` or `resp`.
    12 dir: Option<&'static str>,
    /// The short word of the type, or its URL.
    13 r#type: Option<Arc<str>>,
    /// The cause.
    14 cause: &'static str,
    /// Number of messages.
    15 messages: u64,
    /// Bytes of these messages.
    16 bytes: u64,
}
