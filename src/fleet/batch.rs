//! A batch: the rows of one session file, and its manifest.
//!
//! Files are written under temporary names, synced, and get their names without replacing others.
//! The manifest comes last: a batch exists if its manifest does. A batch that is written again has
//! the same names and bytes, so that no row is in the folder twice.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::errors::ParquetError;
use serde_json::json;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use xdscope_wire::event::{Clock, Time};

use crate::columns::{Moment, Table, TableRow};
use crate::table_file::TableFile;
use crate::tables::{
    ContentRow, FindingRow, GapRow, MessageRow, ProblemRow, ResourceRow, SCHEMA_VERSION, StreamRow,
    VerdictRow, tables,
};

/// Folder of the Parquet files, below the folder of the tables.
pub const LANDING: &str = "landing";

/// Folder of the manifests, below the folder of the tables.
pub const MANIFESTS: &str = "manifests";

/// The day of the files without rows, which tell the columns of each table.
const DAY_OF_SCHEMA: &str = "1970-01-01";

/// Bytes of a tap in the name of a file, which has at most 255 on most systems.
const MAX_TAP_BYTES: usize = 120;

/// The name of a batch. Two session files have two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchId {
    tap: Arc<str>,
    run: Arc<str>,
    part: String,
}

impl BatchId {
    /// Names the batch of a session file. `seed`, `clock` and `created` are those of its header;
    /// the files of a run share seed and clock.
    ///
    /// Characters of `tap` that a file name should not have become hyphens.
    pub fn new(tap: &str, (seed, clock): (u64, Clock), created: u64) -> BatchId {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        let parts = tap.split(|c: char| !is_usual(c)).filter(|part| !part.is_empty());
        let tap = parts.collect::<Vec<_>>().join("-").trim_start_matches(['.', '-']).to_owned();
        let tap = match tap.get(..MAX_TAP_BYTES.min(tap.len())) {
            None | Some("") => "tap",
            Some(tap) => tap,
        };
        let started = clock.unix_seconds(Time::ZERO).unwrap_or_default();
        BatchId {
            tap: tap.into(),
            run: format!("{started:011}.{seed:016x}").into(),
            part: format!("{created:020}"),
        }
    }

    /// Returns the tap.
    pub(crate) fn tap(&self) -> &Arc<str> {
        &self.tap
    }

    /// Returns the run.
    pub(crate) fn run(&self) -> &Arc<str> {
        &self.run
    }
}

impl std::fmt::Display for BatchId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}-{}-{}", self.tap, self.run, self.part)
    }
}

/// An error of a batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// A file cannot be written or read.
    #[error("cannot write {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file of the batch has other bytes.
    #[error("{} has other rows", path.display())]
    Differs {
        /// The file.
        path: PathBuf,
    },
    /// The session has no dates, which the tables need.
    #[error("the session has no dates")]
    Undated,
}

/// The effect of an export on the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOutcome {
    /// The batch was written.
    Written,
    /// The folder had the batch.
    Present,
}

/// A finished batch.
#[derive(Clone, Debug)]
pub struct FinishedBatch {
    /// Whether the folder had the batch.
    pub outcome: BatchOutcome,
    /// Number of rows, of all tables.
    pub rows: u64,
    /// Bytes of the Parquet files.
    pub bytes: u64,
}

/// A file under its temporary name. Counts and hashes what is written.
struct PartFile {
    out: BufWriter<NamedTempFile>,
    hash: Sha256,
    bytes: u64,
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or(bytes));
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl PartFile {
    /// Creates a file beside its final name.
    fn create(target: &Path) -> io::Result<PartFile> {
        let folder = target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut part = tempfile::Builder::new();
        part.prefix(".").suffix(".part");
        // Engines of other users read the files, which hold no secrets.
        #[cfg(unix)]
        part.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let part = part.tempfile_in(folder)?;
        Ok(PartFile { out: BufWriter::new(part), hash: Sha256::new(), bytes: 0 })
    }

    /// Gives the file its name, unless a file with the same bytes has the name.
    fn finish(self, target: &Path) -> Result<(String, BatchOutcome), BatchError> {
        let failed = |source: io::Error| BatchError::File { path: target.to_owned(), source };
        let part = self.out.into_inner().map_err(|error| failed(error.into_error()))?;
        part.as_file().sync_all().map_err(failed)?;
        let checksum = format!("{:x}", self.hash.finalize());
        let outcome = match part.persist_noclobber(target) {
            Ok(_) => BatchOutcome::Written,
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                if checksum_of(target).map_err(failed)? != checksum {
                    return Err(BatchError::Differs { path: target.to_owned() });
                }
                BatchOutcome::Present
            }
            Err(error) => return Err(failed(error.error)),
        };
        let folder = target.parent().unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok((checksum, outcome))
    }
}

fn checksum_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(format!("{:x}", hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// The files of one table in a batch, by day.
pub(crate) struct TableFiles<R> {
    days: BTreeMap<i64, TableFile<R, PartFile>>,
    /// The day of the newest row.
    day: Option<i64>,
}

impl<R> Default for TableFiles<R> {
    fn default() -> Self {
        TableFiles { days: BTreeMap::new(), day: None }
    }
}

/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400 * 1_000_000_000;

impl<R: TableRow> TableFiles<R> {
    fn put(&mut self, row: R, place: &BatchPlace) -> Result<(), BatchError> {
        let day = day_of(row.key().at);
        let failed = |error| failed(place.file(&R::TABLE, day), error);
        // Rows of one day at a time wait for their row group.
        if let Some(before) = self.day.replace(day).filter(|before| *before != day)
            && let Some(file) = self.days.get_mut(&before)
        {
            file.write_group().map_err(failed)?;
        }
        let file = match self.days.entry(day) {
            std::collections::btree_map::Entry::Occupied(file) => file.into_mut(),
            std::collections::btree_map::Entry::Vacant(slot) => {
                let path = place.file(&R::TABLE, day);
                let part = PartFile::create(&path).map_err(|source| BatchError::File { path, source })?;
                slot.insert(TableFile::new(part).map_err(failed)?)
            }
        };
        file.put(row).map_err(failed)
    }

    fn finish(self, place: &BatchPlace, files: &mut Vec<ManifestFile>) -> Result<(), BatchError> {
        for (day, file) in self.days {
            let path = place.file(&R::TABLE, day);
            let (part, rows) = file.finish().map_err(|error| failed(path.clone(), error))?;
            let bytes = part.bytes;
            let (sha256, _) = part.finish(&path)?;
            let path = path.strip_prefix(&place.folder).unwrap_or(&path).display().to_string();
            files.push(ManifestFile { table: R::TABLE.name, path, rows, bytes, sha256 });
        }
        Ok(())
    }
}

/// Returns the error of the system below an error of the Parquet library.
fn failed(path: PathBuf, error: ParquetError) -> BatchError {
    let source = match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    };
    BatchError::File { path, source }
}

/// A file in the manifest.
struct ManifestFile {
    table: &'static str,
    path: String,
    rows: u64,
    bytes: u64,
    sha256: String,
}

/// The names of the files of a batch.
pub(crate) struct BatchPlace {
    folder: PathBuf,
    name: String,
}

impl BatchPlace {
    fn file(&self, table: &Table, day: i64) -> PathBuf {
        let folder = self.folder.join(LANDING).join(table.name);
        folder.join(format!("day={}", day_text(day))).join(format!("{}.parquet", self.name))
    }

    fn manifest(&self, day: i64) -> PathBuf {
        let folder = self.folder.join(MANIFESTS).join(format!("day={}", day_text(day)));
        folder.join(format!("{}.json", self.name))
    }
}

/// Returns the day of a moment, counted from 1970.
pub(crate) fn day_of(moment: Moment) -> i64 {
    moment.0.div_euclid(DAY_NS)
}

/// Returns a day, counted from 1970, as `2026-11-30`.
fn day_text(day: i64) -> String {
    let at = jiff::Timestamp::from_second(day.saturating_mul(86_400)).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

/// A moment as text, as the verbs print it.
fn time_text(moment: Moment) -> String {
    jiff::Timestamp::from_nanosecond(moment.0.into()).unwrap_or_default().to_string()
}

/// The files of a batch that is written.
pub(crate) struct BatchFiles {
    place: BatchPlace,
    id: BatchId,
    messages: TableFiles<MessageRow>,
    resources: TableFiles<ResourceRow>,
    contents: TableFiles<ContentRow>,
    verdicts: TableFiles<VerdictRow>,
    streams: TableFiles<StreamRow>,
    problems: TableFiles<ProblemRow>,
    findings: TableFiles<FindingRow>,
    gaps: TableFiles<GapRow>,
}

/// A row of one of the tables of a batch.
pub(crate) trait BatchRow: TableRow + Sized {
    /// Returns the files of the table.
    fn files(batch: &mut BatchFiles) -> (&mut TableFiles<Self>, &BatchPlace);
}

macro_rules! rows_of_batch {
    ($($table:ident: $row:ident,)+) => {
        $(impl BatchRow for $row {
            fn files(batch: &mut BatchFiles) -> (&mut TableFiles<Self>, &BatchPlace) {
                (&mut batch.$table, &batch.place)
            }
        })+
    };
}

rows_of_batch! {
    messages: MessageRow,
    resources: ResourceRow,
    contents: ContentRow,
    verdicts: VerdictRow,
    streams: StreamRow,
    problems: ProblemRow,
    findings: FindingRow,
    gaps: GapRow,
}

impl BatchFiles {
    /// Begins a batch in a folder, which is created if there is none.
    pub(crate) fn create(folder: &Path, id: &BatchId) -> Result<BatchFiles, BatchError> {
        write_schemas(folder)?;
        Ok(BatchFiles {
            place: BatchPlace { folder: folder.to_owned(), name: id.to_string() },
            id: id.clone(),
            messages: TableFiles::default(),
            resources: TableFiles::default(),
            contents: TableFiles::default(),
            verdicts: TableFiles::default(),
            streams: TableFiles::default(),
            problems: TableFiles::default(),
            findings: TableFiles::default(),
            gaps: TableFiles::default(),
        })
    }

    /// Adds a row to its table.
    pub(crate) fn put<R: BatchRow>(&mut self, row: R) -> Result<(), BatchError> {
        let (files, place) = R::files(self);
        files.put(row, place)
    }

    /// Writes the rest of the files, and then the manifest of a session with these first and last
    /// moments.
    pub(crate) fn finish(self, (first, last): (Moment, Moment)) -> Result<FinishedBatch, BatchError> {
        let (place, mut files) = (self.place, Vec::new());
        self.messages.finish(&place, &mut files)?;
        self.resources.finish(&place, &mut files)?;
        self.contents.finish(&place, &mut files)?;
        self.verdicts.finish(&place, &mut files)?;
        self.streams.finish(&place, &mut files)?;
        self.problems.finish(&place, &mut files)?;
        self.findings.finish(&place, &mut files)?;
        self.gaps.finish(&place, &mut files)?;
        let listed = files.iter().map(|file| {
            json!({
                "table": file.table,
                "path": file.path,
                "rows": file.rows,
                "bytes": file.bytes,
                "sha256": file.sha256,
            })
        });
        let manifest = json!({
            "schema_version": SCHEMA_VERSION,
            "batch": place.name,
            "tap": &*self.id.tap,
            "run": &*self.id.run,
            "part": self.id.part,
            "first": time_text(first),
            "first_ns": first.0,
            "last": time_text(last),
            "last_ns": last.0,
            "files": listed.collect::<Vec<_>>(),
        });
        let path = place.manifest(day_of(first));
        let (_, outcome) = write_file(&path, format!("{manifest:#}\n").as_bytes())?;
        let rows = files.iter().map(|file| file.rows).sum();
        Ok(FinishedBatch { outcome, rows, bytes: files.iter().map(|file| file.bytes).sum() })
    }
}

fn write_file(path: &Path, content: &[u8]) -> Result<(String, BatchOutcome), BatchError> {
    let failed = |source| BatchError::File { path: path.to_owned(), source };
    let mut part = PartFile::create(path).map_err(failed)?;
    part.write_all(content).map_err(failed)?;
    part.finish(path)
}

/// Writes a file without rows for each table, so that queries know the columns of tables that no
/// batch has rows of.
fn write_schemas(folder: &Path) -> Result<(), BatchError> {
    for table in tables() {
        let name = format!("schema-{SCHEMA_VERSION}.parquet");
        let day = folder.join(LANDING).join(table.name).join(format!("day={DAY_OF_SCHEMA}"));
        let path = day.join(name);
        if path.exists() {
            continue;
        }
        let failed = |error| failed(path.clone(), error);
        let mut content = Vec::new();
        crate::table_file::write_empty(&table, &mut content).map_err(failed)?;
        write_file(&path, &content)?;
    }
    Ok(())
}
