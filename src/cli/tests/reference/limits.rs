//! The tables of limits, from the constants that hold them.

use super::table;
use crate::app::attach::MAX_MIRROR_BYTES;
use crate::app::files::folder;
use crate::app::recording::journal::JOURNAL_DIVISOR;
use crate::app::recording::search_limit;
use crate::app::tap::{
    MIN_QUEUED_BYTES, MIN_UNFINISHED_BYTES, QUEUE_DIVISOR, STREAM_DIVISOR, UNFINISHED_DIVISOR,
};
use crate::cli::args::CopyFlags;
use crate::cli::command::settings::MAX_CONFIG_BYTES;
use crate::cli::live::faults;
use crate::net::tap::{early, lane};
use crate::net::{attach, monitor, reflection, serve, tap};
use xdscope_engine::metrics::{MAX_OTHER_TYPES, MAX_TYPE_URL_BYTES};
use xdscope_schema::limits as schema;
use xdscope_sources::limits as sources;
use xdscope_sources::observe::rest;
use xdscope_wire::content::BlobId;
use xdscope_wire::h2::{MAX_CROWDED_STREAMS, MAX_OPEN_STREAMS};
use xdscope_wire::limits as wire;
use xdscope_wire::{ErrorDetail, Intervention, NodeInfo, text};

/// The units of sizes.
const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];

fn number(limit: impl TryInto<u64>) -> u64 {
    limit.try_into().ok().expect("a limit of 64 bits")
}

fn count(limit: impl TryInto<u64>) -> String {
    text::count(number(limit))
}

/// Formats a size in units of 1,024: 65,536 bytes are `64 kB`.
fn size(limit: impl TryInto<u64>) -> String {
    let bytes = number(limit);
    let found = UNITS.iter().find(|(unit, _)| bytes.is_multiple_of(*unit));
    let (unit, name) = found.expect("a whole number of kB");
    format!("{} {name}", text::count(bytes / *unit))
}

/// Formats one part in `divisor` in words.
fn part(divisor: impl TryInto<u64>) -> &'static str {
    match number(divisor) {
        2 => "half",
        4 => "a quarter",
        8 => "an eighth",
        other => panic!("a word for one part in {other} is missing"),
    }
}

/// Returns the limit that a row states once for two things.
fn both(one: usize, other: usize) -> usize {
    assert_eq!(one, other, "a row states one limit for two things");
    one
}

fn row(limit: &str, value: impl Into<String>, beyond: impl Into<String>) -> [String; 3] {
    [limit.to_owned(), value.into(), beyond.into()]
}

/// Generates the limits of the contents of a message.
fn content_rows() -> [[String; 3]; 6] {
    let name_bytes = size(wire::MAX_NAME_BYTES);
    let many_bytes = size(wire::MANY_NAME_BYTES);
    [
        row(
            "names in a message",
            format!("{name_bytes}, of which each name needs {} bytes", wire::NAME_OVERHEAD),
            "the message is not kept (`names`)",
        ),
        row(
            "all names in use",
            "`--memory`",
            format!("further messages with more than {many_bytes} of names are not kept (`names`)"),
        ),
        row("resources in a message", count(wire::MAX_RESOURCES), "the message is not kept (`resources`)"),
        row("types of a stream", count(wire::MAX_TYPES), "messages of further types are not kept (`types`)"),
        row(
            "bytes outside of resources in a message",
            size(wire::MAX_INLINE_BYTES),
            "the message is not kept (`size`)",
        ),
        row("one field, such as a resource", size(wire::MAX_FIELD_BYTES), "the message is not kept (`size`)"),
    ]
}

/// Generates the limits of streams and of what is incomplete.
fn stream_rows() -> [[String; 3]; 5] {
    let unfinished = format!(
        "{}; for a tap and `serve` at most {} of `--memory`, but at least {}",
        size(wire::MAX_UNFINISHED_BYTES),
        part(UNFINISHED_DIVISOR),
        size(MIN_UNFINISHED_BYTES),
    );
    let headers = format!(
        "{}; of all requests {} and {} times their bytes on the wire; of all open streams as much as all \
         unfinished messages, and {} and {} bytes of the path of each further stream",
        size(wire::MAX_HEADER_BYTES),
        size(wire::MIN_TOTAL_HEADER_BYTES),
        wire::MAX_HEADER_EXPANSION,
        size(wire::MIN_METADATA_BYTES),
        wire::MAX_LIMITED_METHOD_BYTES,
    );
    let early =
        format!("{} of a connection, {} of all", size(early::MAX_BYTES), size(early::MAX_TOTAL_BYTES));
    let streams = format!(
        "{}; for a tap and `serve` {} once all connections have one for each {} of `--memory`",
        count(MAX_OPEN_STREAMS),
        count(MAX_CROWDED_STREAMS),
        size(STREAM_DIVISOR),
    );
    [
        row(
            "all unfinished messages, without their complete resources",
            unfinished,
            "the largest are not kept (`size`)",
        ),
        row("header fields of a request", headers, "the fields are counted (`headers`)"),
        row(
            "requests of clients that wait for the first answer of the server",
            early,
            "the client gets no error message if the server never answers",
        ),
        row("open streams of a connection", streams, "further streams are counted (`streams`)"),
        row(
            "incomplete input of all connections: frames, header blocks, REST bodies, compressed messages",
            "as all unfinished messages, without the connection with most of it",
            "connections with much of it are counted only",
        ),
    ]
}

/// Generates the limits of what is copied, decompressed and decoded.
fn copy_rows() -> [[String; 3]; 6] {
    let decompressors = format!(
        "{}: {} for gzip, {} for zstd",
        size(wire::MAX_UNPACKING_BYTES),
        wire::MAX_UNPACKING_BYTES / wire::INFLATE_BYTES,
        wire::MAX_UNPACKING_BYTES / wire::ZSTD_BYTES,
    );
    let copies = format!(
        "{} of `--memory`; at least {}, at most {} for a tap, {} for `serve`",
        part(QUEUE_DIVISOR),
        size(MIN_QUEUED_BYTES),
        size(tap::MAX_QUEUED_BYTES),
        size(serve::MAX_QUEUED_BYTES),
    );
    // A flag counts in units of 1,000.
    let spool = text::size(CopyFlags::default().spool).replace(".0 ", " ");
    let polls = format!("{} of JSON, {} as a tree", size(wire::MAX_BODY_BYTES), size(rest::MAX_TREE_BYTES));
    [
        row("decompressors of a connection open at once", decompressors, "the message is not kept (`size`)"),
        row(
            "a message after decompression",
            size(xdscope_wire::MAX_MESSAGE_BYTES),
            "the message is not kept (`size`)",
        ),
        row(
            "copies in memory that are not decoded",
            copies,
            format!(
                "copies go to the spool (`--spool`, {spool}); beyond the spool the bodies of messages are \
                 lost, except for connections with up to {} per second",
                size(lane::SLOW_BYTES_PER_SECOND),
            ),
        ),
        row(
            "decoded messages in memory that are not analysed",
            format!("{} of the row above", part(JOURNAL_DIVISOR)),
            "messages go to the spool; beyond the spool and four times that memory they are counted as a \
             gap in the view, and stay in the session file",
        ),
        row(
            "body of a REST poll",
            polls,
            format!(
                "above {} the connection is counted only; else the message is not kept (`size`)",
                size(wire::MAX_BODY_BYTES),
            ),
        ),
        row(
            "values of a resource",
            format!("{}; shown: {}", count(schema::MAX_CHECKED_VALUES), count(schema::MAX_SHOWN_VALUES)),
            "constraints are not checked and spellings not compared; shown as `@too_large`",
        ),
    ]
}

/// Generates the limits of texts.
fn text_rows() -> [[String; 3]; 6] {
    let search = format!(
        "{} of a CPU, {} s at once; {} of a text",
        part(search_limit::TIME_DIVISOR),
        search_limit::BURST.as_secs_f64(),
        size(search_limit::MAX_TEXT_BYTES),
    );
    let error_bytes = size(both(wire::MAX_ERROR_BYTES, ErrorDetail::MAX_DETAIL_BYTES));
    [
        row(
            "a version, nonce, type URL or node id",
            size(wire::MAX_IDENTIFIER_BYTES),
            "its beginning, length and hash are kept",
        ),
        row(
            "search for secrets in errors, their details, nodes and names of control planes, for a tap and \
             `serve`",
            search,
            "the text is replaced by its length, a detail by its type, a node by its id",
        ),
        row(
            "the text of an error, its details",
            format!("{error_bytes} each"),
            "the beginning is kept; the bytes of the message are complete",
        ),
        row("a node of a stream", size(NodeInfo::MAX_KEPT_BYTES), "its metadata is not shown"),
        row(
            "client features of a node, details of an error",
            count(both(NodeInfo::MAX_FEATURES, ErrorDetail::MAX_DETAILS)),
            "further ones are not shown as text; the bytes are kept",
        ),
        row(
            "a message that was changed, held or dropped, before and after",
            format!("{} each", size(Intervention::MAX_BYTES)),
            "the row is kept without the message",
        ),
    ]
}

/// Generates the limits of metrics, of their port and of that for viewers.
fn metric_rows() -> [[String; 3]; 4] {
    let (connection, header) = (monitor::CONNECTION_TIMEOUT.as_secs(), monitor::HEADER_TIMEOUT.as_secs());
    [
        row(
            "types with labels of their own in metrics",
            format!(
                "all with a short name, and {} type URLs of up to {MAX_TYPE_URL_BYTES} bytes",
                count(MAX_OTHER_TYPES)
            ),
            "further types are counted with the label `other`",
        ),
        row(
            "connections to `--metrics`",
            format!(
                "{} at a time, {} of header within {header} s, {connection} s with the answer",
                monitor::MAX_CONNECTIONS,
                size(monitor::MAX_HEADER_BYTES)
            ),
            "the connection closes; of too many connections the oldest one",
        ),
        row(
            "viewers of a run (`--attach`)",
            count(attach::MAX_VIEWERS),
            "further viewers get RESOURCE_EXHAUSTED; of twice as many connections, further ones close",
        ),
        row(
            "copies of the session files of a run, for a viewer",
            size(MAX_MIRROR_BYTES),
            "the viewer ends and says so",
        ),
    ]
}

/// Generates the limits of what the analysis keeps.
pub(super) fn generate_kept() -> String {
    let rows = content_rows().into_iter().chain(stream_rows()).chain(copy_rows()).chain(text_rows());
    let rows = rows.chain(metric_rows());
    table(["limit", "value", "what exceeds it"], rows)
}

/// Generates the limits of what readers of files accept.
pub(super) fn generate_files() -> String {
    let yaml = serde_saphyr::Options::default().budget.expect("limits of YAML");
    let row = |file: &str, limit: String| [file.to_owned(), limit];
    let rows = [
        row(
            "JSON: resources, config dumps, bootstraps, lines of raw JSONL",
            format!(
                "a tree of {} bytes per byte of text, and at least {}",
                schema::TREE_BYTES_PER_TEXT_BYTE,
                size(schema::MIN_TREE_LIMIT),
            ),
        ),
        row(
            "YAML",
            format!(
                "{} keys and values with those that aliases repeat, {} of text, {} levels, {} aliases",
                count(yaml.max_nodes),
                size(yaml.max_total_scalar_bytes),
                count(yaml.max_depth),
                count(yaml.max_aliases),
            ),
        ),
        row("protobuf text", format!("{} levels", count(xdscope_schema::MAX_DEPTH))),
        row(
            "`.proto` files with their imports",
            format!(
                "{}, {} declarations",
                size(schema::MAX_PROTO_BYTES),
                count(schema::MAX_PROTO_DECLARATIONS),
            ),
        ),
        row("arrow scripts", format!("`--memory`, at least {}", size(sources::MIN_SCRIPT_MEMORY))),
        row(
            "files of resources, dumps of clients",
            format!(
                "{} bytes of memory per byte of text; of `--memory`, at least {}",
                sources::RESPONSE_MEMORY_PER_BYTE,
                size(schema::MIN_TREE_LIMIT),
            ),
        ),
        row(
            "descriptor sets",
            format!(
                "{} without source positions, {} files, {} messages, fields and values, {} of names, \
                 {} values of an enum, {} of options of an entry",
                size(schema::MAX_SET_BYTES),
                count(schema::MAX_SET_FILES),
                count(schema::MAX_SET_ENTRIES),
                size(schema::MAX_SET_NAME_BYTES),
                count(schema::MAX_ENUM_VALUES),
                size(schema::MAX_OPTION_BYTES),
            ),
        ),
        row(
            "recordings",
            format!(
                "{} blobs, {} frames and {} entries of lists ({}), and more in proportion to the size of the \
                 file; {} of a segment",
                count(sources::MIN_BLOB_LIMIT),
                count(sources::MIN_FRAME_LIMIT),
                count(sources::MIN_ENTRY_LIMIT),
                size(sources::MIN_ENTRY_LIMIT * size_of::<BlobId>() as u64),
                size(sources::MAX_SEGMENT_BYTES),
            ),
        ),
        row(
            "server reflection",
            format!(
                "{} answers, files and imports, {}",
                count(reflection::MAX_FILES),
                size(reflection::MAX_BYTES),
            ),
        ),
        row(
            "captures",
            format!(
                "{} connections at a time, {} of segments that wait for others",
                count(sources::MAX_CONNECTIONS),
                size(sources::MAX_WAITING_BYTES),
            ),
        ),
        row(
            "folders of resources",
            format!(
                "{} files and folders, {}; for `watch` {} files of {} each",
                count(xdscope_sources::MAX_FOLDER_ENTRIES),
                size(sources::MAX_RESPONSE_BYTES),
                count(folder::MAX_FILES),
                size(folder::MAX_FILE_BYTES),
            ),
        ),
        row(
            "`config.toml`, files of faults",
            [size(MAX_CONFIG_BYTES), size(faults::MAX_FILE_BYTES)].join(", "),
        ),
    ];
    table(["file", "limit"], rows)
}
