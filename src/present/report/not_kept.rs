//! Sentences about what exceeds a limit and is not kept.

use xdscope_engine::session::{NotKept, NotKeptPart};
use xdscope_wire::GapCause;
use xdscope_wire::text::{count, plural, size};

/// Returns `1 message with 12.0 MB of names not kept`, for each limit that was exceeded.
pub fn not_kept(facts: &NotKept) -> Vec<String> {
    facts.parts().iter().map(missing).collect()
}

/// Returns `1 message with 12.0 MB of names not kept`.
pub(super) fn missing(part: &NotKeptPart) -> String {
    let messages = plural(part.messages, "message");
    let bytes = size(part.bytes);
    match part.cause {
        GapCause::Lost => format!("{messages} of the copy lost"),
        GapCause::Names => format!("{messages} with {bytes} of names not kept"),
        GapCause::Resources => format!("{messages} with {bytes} of resources not kept: too many of them"),
        GapCause::Size => format!("{messages} with {bytes} not kept: too large"),
        GapCause::Headers => format!("{bytes} of header fields not kept"),
        GapCause::Cut => {
            let responses = plural(part.messages, "response");
            format!("{responses} of {bytes} cut short by the end of the stream")
        }
        GapCause::Streams => {
            format!("{} further streams of the connection not followed", count(part.messages))
        }
        GapCause::Types => format!("{messages} with {bytes} of further types not kept"),
        GapCause::Encoding => format!("{messages} with {bytes} in an encoding that xdscope cannot read"),
        GapCause::Compression => format!("{messages} with {bytes} that cannot be decompressed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_each_limit() {
        let mut facts = NotKept::default();
        facts.add(GapCause::Headers, 0, 3_900_000);
        facts.add(GapCause::Names, 1, 11_000_000);
        facts.add(GapCause::Names, 1, 1_000_000);
        facts.add(GapCause::Lost, 1, 1);
        let expected = ["2 messages with 12.0 MB of names not kept", "3.9 MB of header fields not kept"];
        assert_eq!(not_kept(&facts), expected);
    }
}
