//! Files are read back, and values of users stay literals.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use xdscope_wire::event::Clock;

use crate::batch::{BatchError, BatchFiles, BatchId};
use crate::columns::{ColumnKind, ContentHash, Moment, RowKey};
use crate::queries::{QueryError, queries};
use crate::table_file::TableFile;
use crate::tables::{MessageRow, ResourceRow};
use crate::{LANDING, MANIFESTS, SCHEMA_VERSION_KEY, tables};

/// 2026-03-02T14:00:00Z.
const START: i64 = 1_772_460_000 * 1_000_000_000;

const DAY: i64 = 86_400 * 1_000_000_000;

fn key(at: i64) -> RowKey {
    let text = |text: &str| std::sync::Arc::from(text);
    RowKey { batch: text("b"), tap: text("t"), run: text("r"), at: Moment(at) }
}

fn id(tap: &str) -> BatchId {
    BatchId::new(tap, (1, Clock { epoch: Some(START.into()), untimed: false }), 2)
}

fn message(seq: u64, at: i64, word: &str) -> MessageRow {
    let latency_ns = (seq > 1).then_some(seq);
    MessageRow {
        key: key(at),
        seq,
        r#type: Some(word.into()),
        kind: "push",
        latency_ns,
        ..Default::default()
    }
}

#[test]
fn ids_and_names_of_columns_are_unique() {
    for table in tables() {
        let ids: BTreeSet<i32> = table.columns.iter().map(|column| column.id).collect();
        let names: BTreeSet<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!((ids.len(), names.len()), (table.columns.len(), table.columns.len()), "{}", table.name);
        assert!(table.columns.iter().all(|column| column.about().ends_with('.')), "{}", table.name);
        assert!(table.columns.iter().all(|column| column.is_optional == (column.id > 5)), "{}", table.name);
    }
}

#[test]
fn schema_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    BatchFiles::create(folder.path(), &id("t")).unwrap();
    for table in tables() {
        let path = folder.path().join(LANDING).join(table.name).join("day=1970-01-01/schema-1.parquet");
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata();
        let pair = &metadata.key_value_metadata().unwrap()[0];
        assert_eq!((pair.key.as_str(), pair.value.as_deref()), (SCHEMA_VERSION_KEY, Some("1")));
        let columns = metadata.schema_descr().columns();
        assert_eq!(columns.len(), table.columns.len());
        for (read, column) in columns.iter().zip(table.columns) {
            let info = read.self_type().get_basic_info();
            assert_eq!((read.name(), info.has_id().then(|| info.id())), (column.name, Some(column.id)));
            let is_optional = info.repetition() == Repetition::OPTIONAL;
            assert_eq!(is_optional, column.is_optional, "{} {}", table.name, column.name);
            let logical = info.logical_type_ref().cloned();
            let expected = match column.kind {
                ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
                ColumnKind::Integer => (PhysicalType::INT64, None),
                ColumnKind::Boolean => (PhysicalType::BOOLEAN, None),
                ColumnKind::Float => (PhysicalType::DOUBLE, None),
                ColumnKind::Timestamp => {
                    (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
                }
                ColumnKind::Hash => (PhysicalType::FIXED_LEN_BYTE_ARRAY, None),
            };
            assert_eq!((read.physical_type(), logical), expected, "{} {}", table.name, column.name);
        }
    }
}

#[test]
fn rows_are_read_back_sorted_and_in_groups() {
    let mut file = TableFile::<MessageRow, _>::new(tempfile::tempfile().unwrap()).unwrap();
    let many = 70_000;
    for seq in (1..=many).rev() {
        let word = if seq % 2 == 0 { "cds" } else { "eds" };
        file.put(message(seq, START + seq as i64 * 1_500, word)).unwrap();
    }
    let (out, written) = file.finish().unwrap();
    assert_eq!(written, many);
    let reader = SerializedFileReader::new(out).unwrap();
    assert_eq!(reader.num_row_groups(), 2, "the memory holds one group");
    let group = reader.get_row_group(0).unwrap();
    let mut before = (String::new(), 0);
    for row in group.get_row_iter(None).unwrap().map(Result::unwrap) {
        let field = |name: &str| row.get_column_iter().find(|(known, _)| *known == name).unwrap().1.clone();
        let (Field::Str(word), Field::Long(ns), Field::TimestampMicros(us)) =
            (field("type"), field("ts_ns"), field("ts"))
        else {
            panic!("{row}");
        };
        assert_eq!(us, ns.div_euclid(1_000));
        assert!(before <= (word.clone(), ns), "{row}");
        before = (word, ns);
        let is_first = field("seq") == Field::Long(1);
        assert_eq!(field("latency_ns") == Field::Null, is_first);
        assert_eq!(field("node"), Field::Null);
    }
    let chunk =
        reader.metadata().row_group(0).columns().iter().find(|chunk| chunk.column_path().string() == "node");
    assert!(chunk.unwrap().bloom_filter_offset().is_some());
}

#[test]
fn hashes_are_sixteen_bytes() {
    let mut file = TableFile::<ResourceRow, _>::new(tempfile::tempfile().unwrap()).unwrap();
    file.put(ResourceRow { key: key(START), hash: Some(ContentHash(0x0102)), ..Default::default() }).unwrap();
    let (out, _) = file.finish().unwrap();
    let reader = SerializedFileReader::new(out).unwrap();
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    let (_, hash) = row.get_column_iter().find(|(name, _)| *name == "hash").unwrap();
    let Field::Bytes(hash) = hash else { panic!("{hash}") };
    assert_eq!(hash.data(), 0x0102_u128.to_be_bytes());
}

#[test]
fn rows_are_in_the_folder_of_their_day() {
    let folder = tempfile::tempdir().unwrap();
    let id = id("../tap 127.0.0.1:1 → a/../b");
    let mut files = BatchFiles::create(folder.path(), &id).unwrap();
    for (seq, day) in [(1, 0), (2, 1), (3, 0)] {
        files.put(message(seq, START + day * DAY, "cds")).unwrap();
    }
    let batch = files.finish((Moment(START), Moment(START + DAY))).unwrap();
    assert_eq!(batch.rows, 3);
    let name = "tap-127.0.0.1-1-a-..-b-01772460000.0000000000000001-00000000000000000002";
    assert_eq!(id.to_string(), name);
    for (day, rows) in [("day=2026-03-02", 2), ("day=2026-03-03", 1)] {
        let path = folder.path().join(LANDING).join("messages").join(day).join(format!("{name}.parquet"));
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), rows);
    }
    assert!(folder.path().join(MANIFESTS).join("day=2026-03-02").join(format!("{name}.json")).exists());
}

#[test]
fn other_bytes_under_a_name_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let id = id("t");
    let batch = |seq: u64| {
        let mut files = BatchFiles::create(folder.path(), &id).unwrap();
        files.put(message(seq, START, "cds")).unwrap();
        files.finish((Moment(START), Moment(START)))
    };
    batch(1).unwrap();
    batch(1).unwrap();
    let Err(BatchError::Differs { path }) = batch(2) else { panic!("refused") };
    let mut options = File::options();
    options.append(true).open(&path).unwrap().write_all(b"damage").unwrap();
    assert!(matches!(batch(1), Err(BatchError::Differs { .. })));
}

fn query(name: &str, folder: &str, conditions: &[&str]) -> Result<String, QueryError> {
    let query = queries().iter().find(|query| query.name == name).unwrap();
    query.sql(folder, &conditions.iter().map(|condition| condition.to_string()).collect::<Vec<_>>())
}

#[test]
fn values_and_paths_become_literals() {
    let sql = query("refusals", "it's/[a]*", &["node=x' OR 'a'='a", "name={at}", "type=c?s"]).unwrap();
    for part in [
        "'it''s/[[]a][*]/landing/resources/*/*.parquet'",
        "\n    AND node = 'x'' OR ''a''=''a'",
        "\n    AND name = '{at}'",
        "\n    AND type GLOB 'c?s'",
        "(SELECT max(last_ns) FROM batches) - 1 * 3600000000000",
    ] {
        assert!(sql.contains(part), "{part}: {sql}");
    }
    let sql = query("never-got", "s3://bucket/fleet/", &["version={filters}'"]).unwrap();
    assert!(
        sql.contains("version = '{filters}'''") && sql.contains("'s3://bucket/fleet/landing/streams/"),
        "{sql}"
    );
}

#[test]
fn wrong_conditions_are_refused() {
    let error = |name, conditions: &[&str]| query(name, ".", conditions).unwrap_err().to_string();
    assert_eq!(error("refusals", &["node"]), "not a KEY=VALUE condition: \"node\"");
    assert!(
        error("refusals", &["nod=x"]).starts_with("unknown key `nod` of `refusals`; known: at, hours, tap")
    );
    assert_eq!(error("refusals", &["hours=1 OR 1"]), "hours: expected a whole number, not \"1 OR 1\"");
    assert!(error("problems-at", &["at=now"]).starts_with("at: expected a time such as"));
    assert_eq!(error("never-got", &[]), "`never-got` needs a condition version=…");
}

#[test]
fn all_places_of_queries_are_filled() {
    for query in queries() {
        let sql = query.sql(".", &["version=1".to_owned()]);
        let sql = sql.or_else(|_| query.sql(".", &[])).unwrap();
        assert!(!sql.contains("{at}") && !sql.contains("{filters}") && !sql.contains("{hours}"), "{sql}");
    }
}
