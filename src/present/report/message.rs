use std::time::Duration;

use xdscope_engine::store::{EndFact, LineFact, MessageKind, NackFact, RowNote, StreamFact, TypeState};
use xdscope_wire::event::Dir;
use xdscope_wire::h2::reset_words;
use xdscope_wire::text::{age, count, latency, plural, size, type_label};

use super::reconnect::stated_versions;
use super::row_note::row_note;
use super::{Role, state_word};

/// Returns the kind of a message: `push`, `└ NACK #478`, `subscribe +1`. `answer` is the mark of an
/// answer.
pub fn kind(line: &LineFact, answer: &str) -> (String, Role) {
    let role = match line.kind {
        MessageKind::Nack => Role::Bad,
        MessageKind::Ack => Role::Ok,
        MessageKind::Subscribe | MessageKind::Unsubscribe => Role::Pending,
        MessageKind::Resend | MessageKind::Intercepted | MessageKind::Gap => Role::Warn,
        MessageKind::Push => Role::Plain,
        _ => Role::Muted,
    };
    let word = match line.kind {
        MessageKind::Nack if line.implied => "NACK by version",
        MessageKind::Nack => "NACK",
        kind => kind.word(),
    };
    let mut text = match line.answers.filter(|_| line.dir == Some(Dir::Req)) {
        Some(n) => format!("{answer} {word} #{}", n.0),
        None => word.to_owned(),
    };
    if line.dir == Some(Dir::Req) {
        text.push_str(&changes(line));
    }
    (text, role)
}

/// Returns the counts that are not 0: ` +1 ~1 -2`.
fn changes(line: &LineFact) -> String {
    let signs = [('+', line.added), ('~', line.changed), ('-', line.removed)];
    signs.into_iter().filter(|(_, n)| *n > 0).map(|(sign, n)| format!(" {sign}{}", count(n))).collect()
}

/// Returns the number of resources or names: `119 +1 ~1`, `119 =119`, `119 names`.
pub fn resources(line: &LineFact) -> String {
    match line.dir {
        _ if line.kind == MessageKind::Gap => String::new(),
        Some(Dir::Req) if line.count == 0 => String::new(),
        Some(Dir::Req) => plural(line.count, "name"),
        Some(Dir::Resp) => {
            let changes = changes(line);
            let same = if changes.is_empty() && line.same > 0 {
                format!(" ={}", count(line.same))
            } else {
                String::new()
            };
            format!("{}{changes}{same}", count(line.count))
        }
        None => String::new(),
    }
}

/// Returns a time between messages: `9ms`, with a sign from one second on: `+9.1s`.
pub fn delta(since: Duration) -> String {
    format!("{}{}", if since.as_secs() > 0 { "+" } else { "" }, latency(since))
}

/// Returns the remark on a message: the reason of a NACK, the end of a stream.
pub fn note(line: &LineFact) -> String {
    let error = line.error.as_ref().map(|(code, text)| match text.trim() {
        "" => format!("{code}, without a message"),
        _ => format!("{code}: {}", line.stated_faults()),
    });
    let stated =
        line.stated.as_ref().map(|counts| format!("initial_resource_versions {}", stated_versions(counts)));
    let note = line.note.as_deref().map(row_note);
    [note, stated, error].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Returns the code of a NACK: `INVALID_ARGUMENT (3)`; `REJECTED` for the content of a file.
pub fn nack_code(nack: &NackFact) -> String {
    match nack.is_of_file() {
        true => state_word(TypeState::Rejected).0.to_owned(),
        false => format!("{} ({})", nack.code, nack.code.0),
    }
}

/// Returns which other response a NACK may refuse: its nonce fits more than one.
pub fn other_refusal(nack: &NackFact) -> Option<String> {
    let (counted, other) = (nack.refused?.0, nack.may_refuse?.0);
    Some(format!(
        "the nonce fits #{counted} and #{other}; counts for #{counted}, the oldest without a verdict"
    ))
}

/// Returns the text on an arrow of the ladder: `CDS push 42  119 unchanged`, `CDS NACK  keeps 41`.
///
/// A nonce is part of the text only where the remark on the message is about the nonce, or where it
/// stands for a version.
pub fn arrow_text(line: &LineFact) -> String {
    let label = type_label(line.type_url.as_str());
    let version = line.version.to_string();
    let is_about_nonce = match line.note.as_deref() {
        Some(RowNote::Nonce(_)) => true,
        Some(RowNote::Response(note)) => note.is_nonce_reused,
        _ => version.is_empty(),
    };
    let nonce = match line.nonce.to_string() {
        nonce if is_about_nonce && !nonce.is_empty() => format!("nonce {nonce}"),
        _ => String::new(),
    };
    let changes = match &line.one {
        Some(name) => format!("{}{name}", if line.added > 0 { '+' } else { '-' }),
        None => changes(line).trim().to_owned(),
    };
    let words: Vec<String> = match (line.dir, line.kind) {
        // The path of an `open` stands above the ladder, as the variant of the stream.
        (None, MessageKind::Open) => vec!["open".into()],
        (Some(_), MessageKind::Gap) => vec![MessageKind::Gap.word().into(), size(line.size)],
        (None, kind) => vec![kind.word().into(), line.note.as_deref().map(row_note).unwrap_or_default()],
        (Some(Dir::Resp), kind) => {
            let resources = match changes.is_empty() && line.same > 0 {
                true if line.same == line.count => format!(" {} unchanged", count(line.same)),
                true => format!(" {}, {} unchanged", count(line.count), count(line.same)),
                false => format!(" {} {changes}", count(line.count)),
            };
            vec![label, kind.word().into(), version, nonce, resources]
        }
        (_, MessageKind::Nack) => {
            let kept = line.keeps.as_deref().filter(|kept| !kept.is_empty());
            let kept = kept.map_or_else(String::new, |kept| format!("keeps {kept}"));
            vec![label, "NACK".into(), nonce, format!(" {kept}")]
        }
        (_, MessageKind::Ack) => vec![label, "ack".into(), version, nonce, changes],
        (_, kind) => vec![label, kind.word().into(), resources(line), changes],
    };
    // A word that begins with a blank stands apart.
    let words = words.iter().map(|word| word.trim_end()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").trim_start().to_owned()
}

/// Returns how a stream ended: status, message, reset and note.
pub fn end_words(end: &EndFact) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(end.code.map(|code| code.to_string()));
    words.extend(end.message.clone().filter(|message| !message.is_empty()));
    // The client of xdscope notes the reset too.
    let is_noted = end.note.as_deref().is_some_and(|note| note.starts_with("RST_STREAM"));
    words.extend(end.reset.filter(|_| !is_noted).map(reset_words));
    words.extend(end.note.clone());
    words.join(" ")
}

/// Returns the remarks on a stream: the stream before, what was lost or not kept, and the end.
pub fn stream_notes(stream: &StreamFact, timed: bool) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    notes.extend(stream.reconnect_of.map(|before| format!("reconnect of #{}", before.0)));
    notes.extend((stream.gaps > 0).then(|| format!("{} lost", plural(stream.gaps, "message"))));
    notes.extend(super::not_kept(&stream.not_kept));
    notes.extend(life(stream, timed));
    notes
}

/// Returns when and how a stream closed: `closed at age 12m, 3s after its last message: UNAVAILABLE
/// …`.
///
/// `None` for an open stream. `timed` says whether the source has timestamps; without them, and for
/// a stream whose opening was not recorded, the age is left out.
pub fn life(stream: &StreamFact, timed: bool) -> Option<String> {
    let closed = stream.closed?;
    let mut text = "closed".to_owned();
    if timed && !stream.partial {
        text.push_str(&format!(" at age {}", age(closed.since(stream.opened))));
    }
    if let Some(last) = stream.last_message
        && timed
    {
        let comma = if stream.partial { "" } else { "," };
        text.push_str(&format!("{comma} {} after its last message", age(closed.since(last))));
    }
    let end = stream.end.as_ref().map(end_words).filter(|end| !end.is_empty());
    text.push_str(&end.map(|end| format!(": {end}")).unwrap_or_default());
    Some(text)
}
