//! Who owes what to whom since when.

use std::sync::Arc;

use crate::engine::session::{Asked, Stream, Track};
use crate::wire::event::{Seq, Sym, Time, TypeUrl};

use super::{ProblemFact, Store, TypeState};

/// Names that a sentence spells out.
const SPELLED: usize = 3;

impl Store {
    pub(super) fn problem_facts(&self) -> Vec<ProblemFact> {
        let mut out = self.unreachable();
        let open = self.engine.streams().iter().filter(|stream| stream.closed.is_none());
        let tracks = open.flat_map(|stream| stream.tracks_shown().map(move |track| (stream, track)));
        for (stream, track) in tracks {
            out.extend(self.refused(stream, track));
            out.extend(self.unanswered(stream, track));
            out.extend(self.owed(stream, track));
        }
        // Who can't be reached first; what is merely on its way comes after what someone must act on.
        let rank = |problem: &ProblemFact| match problem.state {
            TypeState::Down => 0,
            TypeState::Wait | TypeState::Sent => 2,
            _ => 1,
        };
        out.sort_by(|a, b| {
            let newest = (b.since, b.stream, &b.type_url).cmp(&(a.since, a.stream, &a.type_url));
            rank(a).cmp(&rank(b)).then(newest)
        });
        out
    }

    fn problem(
        &self,
        stream: &Stream,
        track: &Track,
        state: TypeState,
        since: Time,
        text: String,
    ) -> ProblemFact {
        ProblemFact {
            state,
            since,
            stream: stream.id,
            node: stream.node_id.clone(),
            type_url: track.type_url.clone(),
            at: None,
            text,
            quote: None,
        }
    }

    /// "CDS 42 refused ×3 since …; server re-sends it; 41 in force".
    fn refused(&self, stream: &Stream, track: &Track) -> Option<ProblemFact> {
        let open = track.open?;
        let nack = track.nacks.back()?;
        let mut text = format!("{} {} refused", label(&track.type_url), shown(&nack.version));
        if nack.implied {
            text.push_str(" by version alone");
        }
        if open.times > 1 {
            text.push_str(&format!(" ×{} since {}", open.times, self.moment(open.since)));
        }
        let mut versions = track.nacks.iter().rev().take(usize::try_from(open.times).unwrap_or(usize::MAX));
        if open.times > 1 && versions.all(|earlier| earlier.version == nack.version) {
            text.push_str("; server re-sends it");
        }
        match &track.in_force {
            Some(known) => text.push_str(&format!("; {} in force", shown(known.version.as_str()))),
            None => text.push_str("; none in force"),
        }
        let mut problem = self.problem(stream, track, TypeState::Nack, open.at, text);
        problem.at = Some(open.n);
        problem.quote = Some(nack.message.clone()).filter(|text| !text.is_empty());
        Some(problem)
    }

    /// "client owes an answer to RDS 17 (#433), neither ACK nor NACK".
    fn unanswered(&self, stream: &Stream, track: &Track) -> Option<ProblemFact> {
        let limit = self.limits.stale_after?;
        let response = track.responses.pending().next()?;
        if self.now.since(response.at) < limit {
            return None;
        }
        let text = format!(
            "client owes an answer to {} {} (#{}), neither ACK nor NACK",
            label(&track.type_url),
            shown(response.version.as_str()),
            response.seq.0
        );
        let mut problem = self.problem(stream, track, TypeState::Stale, response.at, text);
        problem.at = Some(response.seq);
        Some(problem)
    }

    /// "server owes EDS ledger-v2, asked twice (#489 #491)".
    fn owed(&self, stream: &Stream, track: &Track) -> Option<ProblemFact> {
        let waited = || track.waiting.iter().filter(|(_, asked)| !asked.held);
        let label = label(&track.type_url);
        let Some((_, first)) = waited().min_by_key(|(_, asked)| asked.since) else {
            let (at, n) = track.wildcard_since?;
            let text =
                format!("server owes {label} for the wildcard, nothing sent yet{}", self.limit_note(at));
            let mut problem = self.problem(stream, track, self.waiting_word(at), at, text);
            problem.at = Some(n);
            return Some(problem);
        };
        let state = self.waiting_word(first.since);
        let late = |asked: &Asked| self.waiting_word(asked.since) == state;
        let names: Vec<Sym> = waited().filter(|(_, asked)| late(asked)).map(|(name, _)| name).collect();
        let mut text = format!("server owes {label} {}", self.spell(&names));
        match state {
            TypeState::Miss => text.push_str(&format!(", asked {}", asked(track, first, stream))),
            _ if track.pushes == 0 => text.push_str(", nothing sent yet"),
            _ => {}
        }
        text.push_str(&self.limit_note(first.since));
        let mut problem = self.problem(stream, track, state, first.since, text);
        problem.at = Some(first.first);
        Some(problem)
    }

    fn waiting_word(&self, since: Time) -> TypeState {
        match self.limits.resource_timeout {
            Some(limit) if self.now.since(since) >= limit => TypeState::Miss,
            _ => TypeState::Wait,
        }
    }

    /// What is left to say while it may still come: ` (limit 15s)`.
    fn limit_note(&self, since: Time) -> String {
        match self.limits.resource_timeout {
            Some(limit) if self.waiting_word(since) == TypeState::Wait => {
                format!(" (limit {}s)", limit.as_secs_f64())
            }
            _ => String::new(),
        }
    }

    /// The first names, and how many more.
    fn spell(&self, names: &[Sym]) -> String {
        let spelled: Vec<Arc<str>> = names.iter().take(SPELLED).map(|name| self.text(*name)).collect();
        let mut text = spelled.join(", ");
        if names.len() > SPELLED {
            text.push_str(&format!(" and {} more", names.len() - SPELLED));
        }
        text
    }

    /// A time of day, or seconds from the start where the source has no date.
    pub(super) fn moment(&self, at: Time) -> String {
        let stamp = self.clock.epoch.map(|epoch| epoch.saturating_add(i128::from(at.0)));
        match stamp.and_then(|stamp| jiff::Timestamp::from_nanosecond(stamp).ok()) {
            Some(stamp) => stamp.to_zoned(jiff::tz::TimeZone::UTC).strftime("%H:%M:%S").to_string(),
            None => format!("+{:.1}s", at.as_secs_f64()),
        }
    }
}

/// "twice (#489 #491)".
fn asked(track: &Track, asked: &Asked, stream: &Stream) -> String {
    let delta = stream.variant().is_some_and(|variant| variant.is_delta());
    let (times, first, last): (u64, Seq, Seq) = track.times_asked(asked, delta);
    match times {
        1 => format!("once (#{})", first.0),
        2 => format!("twice (#{} #{})", first.0, last.0),
        n => format!("{n} times (#{} … #{})", first.0, last.0),
    }
}

fn label(type_url: &TypeUrl) -> String {
    let url = type_url.as_str();
    match crate::wire::event::Kind::of_type_url(url) {
        Some((kind, _)) => kind.label().to_owned(),
        None => url.rsplit(['/', '.']).next().unwrap_or(url).to_owned(),
    }
}

fn shown(version: &str) -> &str {
    if version.is_empty() { "(no version)" } else { version }
}
