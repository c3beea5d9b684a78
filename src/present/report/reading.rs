//! Open readings in words.

use xdscope_engine::readings::{OpenReading, ReadingKind};
use xdscope_wire::Profile;

/// Names that a sentence lists.
const MAX_LISTED_NAMES: usize = 3;

/// Returns both readings: `a: names without * end the wildcard; or the wildcard stays, in the
/// edition of Envoy 1.17`.
///
/// `profile` is the edition that the user states; that of the stream comes first. The reading of
/// that edition is marked as the expected one.
pub fn open_reading(reading: &OpenReading, profile: Option<Profile>) -> String {
    let names = super::names(&reading.names, MAX_LISTED_NAMES);
    let (first, other) = both_readings(reading.kind);
    let expected = |is_other: bool| match reading.profile.or(profile) {
        Some(profile) if is_other == follows_other(reading.kind, profile) => " (expected)",
        _ => "",
    };
    format!("{names}: {first}{}; or {other}{}", expected(false), expected(true))
}

/// Returns the reading of the current edition, and the other one with its edition.
fn both_readings(kind: ReadingKind) -> (&'static str, &'static str) {
    match kind {
        ReadingKind::NamesAfterWildcard => {
            ("names without `*` end the wildcard", "the wildcard stays, in the edition of Envoy 1.17")
        }
        ReadingKind::AbsentUnderWildcard => (
            "not in the response under the wildcard, may still come",
            "does not exist, in the edition of Envoy 1.17",
        ),
        ReadingKind::ChildWithoutParent => {
            ("its parent is gone, the client may keep it", "removed with its parent, in the v2 edition")
        }
        ReadingKind::TextLocator => (
            "a locator that is a string, as in the proposal (xRFC TP1)",
            "unreadable, as a published ResourceLocator (guess)",
        ),
    }
}

/// Whether peers of an edition follow the other reading.
fn follows_other(kind: ReadingKind, profile: Profile) -> bool {
    match kind {
        ReadingKind::NamesAfterWildcard | ReadingKind::AbsentUnderWildcard => profile == Profile::P003,
        ReadingKind::ChildWithoutParent => profile == Profile::P002,
        ReadingKind::TextLocator => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_the_reading_of_an_edition() {
        let kind = ReadingKind::NamesAfterWildcard;
        let reading = |profile| OpenReading { kind, names: vec!["a".into()], profile };
        let both =
            "a: names without `*` end the wildcard; or the wildcard stays, in the edition of Envoy 1.17";
        assert_eq!(open_reading(&reading(None), None), both);
        let expected = format!("{both} (expected)");
        assert_eq!(open_reading(&reading(None), Some(Profile::P003)), expected);
        assert_eq!(open_reading(&reading(Some(Profile::P003)), Some(Profile::P002)), expected);
        let current = open_reading(&reading(None), Some(Profile::P002));
        assert!(current.starts_with("a: names without `*` end the wildcard (expected);"), "{current}");
    }
}
