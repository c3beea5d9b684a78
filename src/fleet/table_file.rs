//! A Parquet file of one table, written one row group at a time.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray};
use parquet::data_type::{FixedLenByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use crate::columns::{Cell, ColumnKind, FleetColumn, RowKey, Table, TableRow};
use crate::tables::SCHEMA_VERSION;

/// Rows of a row group.
const MAX_GROUP_ROWS: usize = 65_536;

/// Bytes of the texts of a row group, before compression.
const MAX_GROUP_BYTES: usize = 8 << 20;

/// Columns by whose values files are searched: they get Bloom filters.
const SEARCHED_COLUMNS: [&str; 2] = ["node", "name"];

/// Name of the schema in each file.
const SCHEMA_NAME: &str = "xdscope";

/// Key of the version of the tables in the metadata of each file.
pub const SCHEMA_VERSION_KEY: &str = "xdscope.schema_version";

/// A writer of the rows of one table.
pub(crate) struct TableFile<R, W: Write + Send> {
    out: SerializedFileWriter<W>,
    rows: Vec<R>,
    /// Bytes of the texts in `rows`.
    bytes: usize,
    written: u64,
}

impl<R: TableRow, W: Write + Send> TableFile<R, W> {
    pub(crate) fn new(out: W) -> Result<TableFile<R, W>, ParquetError> {
        let out = SerializedFileWriter::new(out, schema_of(&R::TABLE)?, properties_of(&R::TABLE)?)?;
        Ok(TableFile { out, rows: Vec::new(), bytes: 0, written: 0 })
    }

    /// Adds a row, and writes a row group if the rows so far fill one.
    pub(crate) fn put(&mut self, row: R) -> Result<(), ParquetError> {
        self.bytes += text_bytes(&row);
        self.rows.push(row);
        match self.rows.len() >= MAX_GROUP_ROWS || self.bytes >= MAX_GROUP_BYTES {
            true => self.write_group(),
            false => Ok(()),
        }
    }

    /// Writes the rows so far as a row group, sorted by type and time.
    pub(crate) fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.rows.sort_by(|a, b| (a.type_word(), a.key().at).cmp(&(b.type_word(), b.key().at)));
        let mut group = self.out.next_row_group()?;
        for (index, column) in R::TABLE.columns.iter().enumerate() {
            let Some(writer) = group.next_column()? else { break };
            write_column(writer, column, self.rows.iter().map(|row| row.cell(index)))?;
        }
        group.close()?;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Writes the rest. Returns what the file was written to, and the number of rows.
    pub(crate) fn finish(mut self) -> Result<(W, u64), ParquetError> {
        self.write_group()?;
        Ok((self.out.into_inner()?, self.written))
    }
}

fn text_bytes<R: TableRow>(row: &R) -> usize {
    let cells = (RowKey::LEN..R::TABLE.columns.len()).map(|index| row.cell(index));
    cells.map(|cell| if let Cell::Text(text) = cell { text.len() } else { 0 }).sum()
}

fn write_column<'a>(
    mut writer: SerializedColumnWriter<'_>,
    column: &FleetColumn,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), ParquetError> {
    let mut levels = Vec::new();
    let present = cells.filter(|cell| {
        let is_present = *cell != Cell::Null;
        levels.push(i16::from(is_present));
        is_present
    });
    match column.kind {
        ColumnKind::Text => {
            let values: Vec<_> = present.filter_map(text_of).collect();
            write_values::<ByteArrayType>(&mut writer, column, &values, &levels)?;
        }
        ColumnKind::Integer | ColumnKind::Timestamp => {
            let values: Vec<_> = present.filter_map(integer_of).collect();
            write_values::<Int64Type>(&mut writer, column, &values, &levels)?;
        }
        ColumnKind::Boolean => {
            let values: Vec<_> = present.filter_map(boolean_of).collect();
            write_values::<BoolType>(&mut writer, column, &values, &levels)?;
        }
        ColumnKind::Float => {
            let values: Vec<_> = present.filter_map(float_of).collect();
            write_values::<DoubleType>(&mut writer, column, &values, &levels)?;
        }
        ColumnKind::Hash => {
            let values: Vec<_> = present.filter_map(hash_of).collect();
            write_values::<FixedLenByteArrayType>(&mut writer, column, &values, &levels)?;
        }
    }
    writer.close()
}

fn write_values<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    column: &FleetColumn,
    values: &[T::T],
    levels: &[i16],
) -> Result<(), ParquetError> {
    let levels = column.is_optional.then_some(levels);
    writer.typed::<T>().write_batch(values, levels, None).map(drop)
}

fn text_of(cell: Cell<'_>) -> Option<ByteArray> {
    if let Cell::Text(text) = cell { Some(ByteArray::from(text)) } else { None }
}

fn integer_of(cell: Cell<'_>) -> Option<i64> {
    if let Cell::Integer(value) = cell { Some(value) } else { None }
}

fn boolean_of(cell: Cell<'_>) -> Option<bool> {
    if let Cell::Boolean(value) = cell { Some(value) } else { None }
}

fn float_of(cell: Cell<'_>) -> Option<f64> {
    if let Cell::Float(value) = cell { Some(value) } else { None }
}

fn hash_of(cell: Cell<'_>) -> Option<FixedLenByteArray> {
    if let Cell::Hash(bytes) = cell { Some(ByteArray::from(bytes.to_vec()).into()) } else { None }
}

/// Returns the Parquet schema of a table.
fn schema_of(table: &Table) -> Result<TypePtr, ParquetError> {
    let fields = table.columns.iter().map(|column| Ok(Arc::new(field_of(column)?)));
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    Type::group_type_builder(SCHEMA_NAME).with_fields(fields).build().map(Arc::new)
}

fn field_of(column: &FleetColumn) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Integer => (PhysicalType::INT64, None),
        ColumnKind::Boolean => (PhysicalType::BOOLEAN, None),
        ColumnKind::Float => (PhysicalType::DOUBLE, None),
        ColumnKind::Timestamp => (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        ColumnKind::Hash => (PhysicalType::FIXED_LEN_BYTE_ARRAY, None),
    };
    let repetition = if column.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let length = if column.kind == ColumnKind::Hash { size_of::<u128>() as i32 } else { -1 };
    Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .with_length(length)
        .with_id(Some(column.id))
        .build()
}

fn properties_of(table: &Table) -> Result<WriterPropertiesPtr, ParquetError> {
    let position = |name: &str| table.columns.iter().position(|column| column.name == name);
    let sorted = ["type", "ts"].into_iter().filter_map(position);
    let sorted =
        sorted.map(|index| SortingColumn { column_idx: index as i32, descending: false, nulls_first: true });
    let version = KeyValue::new(SCHEMA_VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string());
    let mut properties = WriterProperties::builder()
        // The versions of program and library are left out: equal rows make equal files.
        .set_created_by(SCHEMA_NAME.to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_sorting_columns(Some(sorted.collect()))
        .set_key_value_metadata(Some(vec![version]));
    for name in SEARCHED_COLUMNS.into_iter().filter(|name| position(name).is_some()) {
        let column = ColumnPath::from(name);
        properties = properties
            .set_column_bloom_filter_enabled(column.clone(), true)
            .set_column_bloom_filter_max_ndv(column, MAX_GROUP_ROWS as u64);
    }
    Ok(Arc::new(properties.build()))
}

/// Writes a file without rows.
pub(crate) fn write_empty(table: &Table, out: &mut Vec<u8>) -> Result<(), ParquetError> {
    SerializedFileWriter::new(out, schema_of(table)?, properties_of(table)?)?.close().map(drop)
}
