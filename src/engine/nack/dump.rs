//! Dumps of messages in Envoy's texts: `goo.gle/debugstr  name: "a" … : reason`.

use std::borrow::Cow;
use std::ops::Range;

/// The beginning of a dump. More letters and spaces follow, both chosen at random.
const MARKER: &str = "goo.gle/debug";
/// Fields of a dump that have the name of the resource.
const NAME_FIELDS: [&str; 2] = ["name", "cluster_name"];
/// Maximum number of dumps to remove from a text.
const MAX_DUMPS: usize = 64;
/// Size from which on a dump is left out of a text for people, in bytes.
const LONG_DUMP_BYTES: usize = 80;

pub(super) struct Dump<'t> {
    /// The place of the dump in the text, up to the colon before the reason.
    pub(super) place: Range<usize>,
    /// The fields of the message.
    pub(super) body: &'t str,
    /// The name in the message, if it has one.
    pub(super) name: Option<&'t str>,
}

/// Finds the first dump of a text.
pub(super) fn first_dump(text: &str) -> Option<Dump<'_>> {
    let start = text.find(MARKER)?;
    let rest = without_marker(text.get(start + MARKER.len()..)?);
    let from = text.len() - rest.len();
    let Scan { end, name } = scan(rest);
    let length = end.or_else(|| end_of_broken_dump(rest)).unwrap_or(rest.len());
    Some(Dump { place: start..from + length, body: rest.get(..length)?, name })
}

/// Returns the text behind the marker of a dump.
fn without_marker(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_lowercase()).trim_start()
}

/// The end of a dump, and the name in it.
struct Scan<'t> {
    /// `None` if the text ends within the dump.
    end: Option<usize>,
    name: Option<&'t str>,
}

/// Reads the fields of a dump up to a colon that is not part of a field: one behind a blank.
fn scan(text: &str) -> Scan<'_> {
    let (mut depth, mut before, mut name) = (0_usize, b' ', None);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => {
                let mut is_escaped = false;
                let is_end = |(_, byte): &(usize, u8)| {
                    let ends = *byte == b'"' && !is_escaped;
                    is_escaped = *byte == b'\\' && !is_escaped;
                    ends
                };
                let Some((end, _)) = bytes.by_ref().find(is_end) else { return Scan { end: None, name } };
                if depth == 0 && name.is_none() {
                    name = text.get(at + 1..end).filter(|value| is_name(text.get(..at), value));
                }
            }
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && before.is_ascii_whitespace() => return Scan { end: Some(at), name },
            _ => {}
        }
        before = byte;
    }
    Scan { end: (depth == 0).then_some(text.len()), name }
}

/// Whether a quoted value is the name of the message. `before` is the dump before the value.
fn is_name(before: Option<&str>, value: &str) -> bool {
    let field = before.and_then(|before| before.trim_end().strip_suffix(':'));
    let field = field.and_then(|field| field.rsplit(char::is_whitespace).next());
    !value.is_empty() && !value.contains('\\') && field.is_some_and(|field| NAME_FIELDS.contains(&field))
}

/// Returns where the reason behind a dump begins that was cut off or changed on the way.
fn end_of_broken_dump(text: &str) -> Option<usize> {
    let line = text.find("\n: ").map(|at| at + 1);
    let constraint = || text.find(": Proto constraint validation");
    line.or_else(constraint).or_else(|| text.rfind(" : ").map(|at| at + 1))
}

/// Returns a text without what Envoy chooses at random for each process: the words before dumps,
/// and the blanks behind these words.
///
/// Texts that differ in nothing else are equal.
pub(crate) fn without_random_words(text: &str) -> Cow<'_, str> {
    let mut parts = text.split(MARKER);
    let first = parts.next().unwrap_or_default();
    if first.len() == text.len() {
        return Cow::Borrowed(text);
    }
    let mut words: Vec<&str> = first.split_whitespace().collect();
    for part in parts {
        words.extend(without_marker(part).split_whitespace());
    }
    Cow::Owned(words.join(" "))
}

/// Returns a text without long dumps, for people: each is replaced by its size.
pub fn without_long_dumps(text: &str) -> Cow<'_, str> {
    let (mut out, mut rest) = (String::new(), text);
    for _ in 0..MAX_DUMPS {
        let Some(dump) = first_dump(rest) else { break };
        let end = dump.place.end;
        if dump.body.len() < LONG_DUMP_BYTES {
            out.push_str(rest.get(..end).unwrap_or_default());
        } else {
            out.push_str(rest.get(..dump.place.start).unwrap_or_default());
            let name = dump.name.map(|name| format!(" of {name}")).unwrap_or_default();
            out.push_str(&format!(
                "({} of dump{name} left out)",
                xdscope_wire::text::size(dump.body.len() as u64)
            ));
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The words of a text around its dumps, and what the dumps say.
pub(super) struct WithoutDumps<'t> {
    pub(super) words: String,
    /// The name in the first dump that has one.
    pub(super) name: Option<&'t str>,
    /// The first dump that is a duration, as in protobuf JSON.
    pub(super) duration: Option<String>,
}

impl WithoutDumps<'_> {
    /// Takes the dumps of protobuf messages out of a text.
    pub(super) fn new(text: &str) -> WithoutDumps<'_> {
        let mut out = WithoutDumps { words: String::new(), name: None, duration: None };
        let mut rest = text;
        for _ in 0..MAX_DUMPS {
            let Some(dump) = first_dump(rest) else { break };
            out.words.push_str(rest.get(..dump.place.start).unwrap_or_default());
            out.name = out.name.or(dump.name);
            out.duration = out.duration.or_else(|| duration(dump.body));
            rest = rest.get(dump.place.end..).unwrap_or_default();
        }
        out.words.push_str(rest);
        out
    }

    /// Whether a text has the words before a dump.
    pub(super) fn is_in(text: &str) -> bool {
        text.contains(MARKER)
    }
}

/// Formats a dump of a duration as in protobuf JSON.
fn duration(dump: &str) -> Option<String> {
    let mut words = dump.split_whitespace();
    let seconds: i64 = words.next().filter(|word| *word == "seconds:").and(words.next())?.parse().ok()?;
    words.next().is_none().then(|| format!("{seconds}s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_LINE: &str = "goo.gle/debugonly   name: \"a: b {\" type: EDS load { name: \"x\" } : why (B: c)";

    #[test]
    fn ends_dump_at_reason() {
        let dump = first_dump(ONE_LINE).unwrap();
        assert_eq!(dump.name, Some("a: b {"));
        assert_eq!(&ONE_LINE[dump.place.end..], ": why (B: c)");
        let lines = "x goo.gle/debugstr \ncluster_name: \"c\"\nendpoints {\n  priority: 1\n}\n: why";
        let dump = first_dump(lines).unwrap();
        assert_eq!((dump.name, &lines[dump.place.end..]), (Some("c"), ": why"));
    }

    #[test]
    fn finds_reason_behind_broken_dump() {
        for text in [
            "goo.gle/debugonly name: \"a\" load { : Proto constraint validation failed (X)",
            "goo.gle/debugonly name: \"a: Proto constraint validation failed (X)",
            "goo.gle/debugstr\nname: \"a\"\nload {\n: Proto constraint validation failed (X)",
        ] {
            let dump = first_dump(text).unwrap();
            assert_eq!(&text[dump.place.end..], ": Proto constraint validation failed (X)", "{text}");
        }
    }

    #[test]
    fn random_words_do_not_count() {
        let other = ONE_LINE.replace("debugonly   ", "debugproto ");
        assert_eq!(without_random_words(ONE_LINE), without_random_words(&other));
        assert!(matches!(without_random_words("a  b"), Cow::Borrowed("a  b")));
    }

    #[test]
    fn long_dumps_are_left_out_for_people() {
        let dump = "metadata { } ".repeat(200);
        let text = format!("goo.gle/debugonly name: \"a\" {dump}: why");
        assert_eq!(without_long_dumps(&text), "(2.6 kB of dump of a left out): why");
        assert_eq!(without_long_dumps(ONE_LINE), ONE_LINE);
    }
}
