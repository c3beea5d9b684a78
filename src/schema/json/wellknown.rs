use super::sink::JsonSink;
use super::walk::{Walker, read_map_entry, sort_entries};
use crate::MAX_DEPTH;
use crate::fault::{FieldPath, PathElement};
use crate::pools::pool::Pool;
use crate::table::{FieldKind, JsonForm, MessageTable};
use xdscope_wire::pb::{Fields, Value};

/// Well-known types in their special JSON forms.
///
/// A message that the form cannot represent, such as a duration of mixed signs or with unknown
/// fields, is written as a plain message.
impl<'s, 'b, S: JsonSink> Walker<'s, 'b, S> {
    pub(crate) fn well_known(
        &mut self,
        pool: &'s Pool,
        table: &'s MessageTable,
        bytes: &'b [u8],
        path: &FieldPath,
    ) {
        let done = match table.form {
            JsonForm::Duration => pair(bytes).and_then(duration).map(|text| self.sink.string(&text)),
            JsonForm::Timestamp => pair(bytes).and_then(timestamp).map(|text| self.sink.string(&text)),
            JsonForm::FieldMask => field_mask(bytes).map(|text| self.sink.string(&text)),
            JsonForm::Struct => self.structure(pool, table, bytes, path),
            JsonForm::Value => self.struct_value(pool, bytes, path),
            JsonForm::ListValue => self.struct_list(pool, bytes, path),
            JsonForm::Wrapper => self.wrapper(pool, table, bytes, path),
            JsonForm::Plain | JsonForm::Any => None,
        };
        if done.is_none() {
            self.plain(pool, table, bytes, path);
        }
    }

    fn wrapper(
        &mut self,
        pool: &'s Pool,
        table: &'s MessageTable,
        bytes: &'b [u8],
        path: &FieldPath,
    ) -> Option<()> {
        let kind = &table.field(1)?.kind;
        let mut last = None;
        for field in Fields::new(bytes) {
            let field = field.ok().filter(|field| field.number == 1 && kind.fits(&field.value))?;
            last = Some(field.value);
        }
        match last {
            Some(value) => self.value(pool, kind, value, path),
            None => self.zero(pool, kind, path),
        }
        Some(())
    }

    fn structure(
        &mut self,
        pool: &'s Pool,
        table: &'s MessageTable,
        bytes: &'b [u8],
        path: &FieldPath,
    ) -> Option<()> {
        let mut entries = Vec::new();
        for field in Fields::new(bytes) {
            let field = field.ok().filter(|field| field.number == 1)?;
            let Value::Len(bytes) = field.value else { return None };
            let entry = read_map_entry(&FieldKind::String, bytes);
            let fits = entry.fault.is_none() && matches!(entry.value, Some(Value::Len(_)) | None);
            entries.push(fits.then_some(entry)?);
        }
        let FieldKind::Map(kinds) = &table.field(1)?.kind else { return None };
        self.sink.begin_object();
        for entry in sort_entries(entries) {
            self.sink.key(&entry.key);
            let here = path.child(PathElement::Key(&entry.key)).deeper();
            match entry.value {
                Some(value) => self.value(pool, &kinds.1, value, &here),
                None => self.zero(pool, &kinds.1, &here),
            }
        }
        self.sink.end_object();
        Some(())
    }

    fn struct_value(&mut self, pool: &'s Pool, bytes: &'b [u8], path: &FieldPath) -> Option<()> {
        let mut fields = Fields::new(bytes);
        let field = fields.next().transpose().ok()?;
        if fields.next().is_some() {
            return None;
        }
        match field.map(|field| (field.number, field.value)) {
            None | Some((1, Value::Varint(_))) => self.sink.null(),
            Some((2, Value::I64(bits))) => self.float(f64::from_bits(bits)),
            Some((3, Value::Len(text))) => self.text(text, path),
            Some((4, Value::Varint(value))) => self.sink.bool(value != 0),
            Some((5, Value::Len(bytes))) => {
                let table = pool.find("google.protobuf.Struct")?;
                self.message(pool, table, bytes, &path.child(PathElement::Root).deeper());
            }
            Some((6, Value::Len(bytes))) => {
                let table = pool.find("google.protobuf.ListValue")?;
                self.message(pool, table, bytes, &path.child(PathElement::Root).deeper());
            }
            Some(_) => return None,
        }
        Some(())
    }

    fn struct_list(&mut self, pool: &'s Pool, bytes: &'b [u8], path: &FieldPath) -> Option<()> {
        let fits =
            |field: &xdscope_wire::pb::WireField| field.number == 1 && matches!(field.value, Value::Len(_));
        if !Fields::new(bytes).all(|field| field.is_ok_and(|field| fits(&field))) {
            return None;
        }
        let table = pool.find("google.protobuf.Value")?;
        self.sink.begin_array();
        for (index, field) in Fields::new(bytes).map_while(Result::ok).enumerate() {
            self.message(pool, table, field.bytes(), &path.child(PathElement::Index(index)).deeper());
        }
        self.sink.end_array();
        Some(())
    }
}

const _: () = assert!(MAX_DEPTH >= 100, "the nesting of the Envoy API must fit");

/// Reads seconds and nanoseconds. Returns `None` if the message has other fields.
pub(crate) fn pair(bytes: &[u8]) -> Option<(i64, i32)> {
    let (mut seconds, mut nanos) = (0, 0);
    for field in Fields::new(bytes) {
        match field.map(|field| (field.number, field.value)) {
            Ok((1, Value::Varint(value))) => seconds = value as i64,
            Ok((2, Value::Varint(value))) => nanos = value as i32,
            _ => return None,
        }
    }
    Some((seconds, nanos))
}

/// Formats a duration such as `1.500s`, with zero, three, six or nine decimal places.
pub(crate) fn duration((seconds, nanos): (i64, i32)) -> Option<String> {
    let fits = seconds.unsigned_abs() <= 315_576_000_000
        && nanos.unsigned_abs() < 1_000_000_000
        && !(seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0);
    let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
    fits.then(|| format!("{sign}{}{}s", seconds.unsigned_abs(), fraction(nanos.unsigned_abs())))
}

fn fraction(nanos: u32) -> String {
    match nanos {
        0 => String::new(),
        _ if nanos.is_multiple_of(1_000_000) => format!(".{:03}", nanos / 1_000_000),
        _ if nanos.is_multiple_of(1_000) => format!(".{:06}", nanos / 1_000),
        _ => format!(".{nanos:09}"),
    }
}

/// Formats a timestamp as RFC 3339 in UTC. Returns `None` outside of the years 1 to 9999.
pub(crate) fn timestamp((seconds, nanos): (i64, i32)) -> Option<String> {
    let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
    if !(-62_135_596_800..=253_402_300_799).contains(&seconds) {
        return None;
    }
    let CivilDate { year, month, day } = CivilDate::from_days(seconds.div_euclid(86_400));
    let time = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    let fraction = fraction(nanos);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

/// A date in the Gregorian calendar.
struct CivilDate {
    year: i64,
    /// Counts from 1.
    month: i64,
    /// Counts from 1.
    day: i64,
}

impl CivilDate {
    /// Converts days since 1970-01-01.
    fn from_days(days: i64) -> CivilDate {
        // Count from 0000-03-01, so that the leap day is the last day of a year. 400 years have
        // 146,097 days.
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day = days.rem_euclid(146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let in_year = day - (365 * year + year / 4 - year / 100);
        let shifted = (5 * in_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        CivilDate {
            year: era * 400 + year + i64::from(month <= 2),
            month,
            day: in_year - (153 * shifted + 2) / 5 + 1,
        }
    }
}

/// Formats a field mask such as `user.displayName,photo`.
fn field_mask(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    for field in Fields::new(bytes) {
        let field = field.ok().filter(|field| field.number == 1)?;
        let Value::Len(path) = field.value else { return None };
        if !text.is_empty() {
            text.push(',');
        }
        let mut upper = false;
        for letter in std::str::from_utf8(path).ok()?.chars() {
            match letter {
                '_' => upper = true,
                letter if upper => {
                    text.extend(letter.to_uppercase());
                    upper = false;
                }
                letter => text.push(letter),
            }
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_protobuf_json() {
        assert_eq!(duration((1, 500_000_000)).as_deref(), Some("1.500s"));
        assert_eq!(duration((0, -1)).as_deref(), Some("-0.000000001s"));
        assert_eq!(duration((5, 0)).as_deref(), Some("5s"));
        assert_eq!(duration((5, -1)), None);
        assert_eq!(duration((i64::MIN, 0)), None);
        assert_eq!(timestamp((0, 0)).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(timestamp((1_709_164_800, 1_000)).as_deref(), Some("2024-02-29T00:00:00.000001Z"));
        assert_eq!(timestamp((951_868_799, 0)).as_deref(), Some("2000-02-29T23:59:59Z"));
        assert_eq!(timestamp((-62_135_596_800, 0)).as_deref(), Some("0001-01-01T00:00:00Z"));
        assert_eq!(timestamp((253_402_300_799, 0)).as_deref(), Some("9999-12-31T23:59:59Z"));
        assert_eq!(timestamp((253_402_300_800, 0)), None);
    }
}
