//! The screen while nothing is refused: the versions in force, and the newest refusal elsewhere.

use crate::common::{Common, Scope};
use crate::data::Data;
use crate::input::screen_id::ScreenId;
use crate::widgets::canvas::{Canvas, StyledLine, plain, span};
use crate::widgets::layout::{self, Layout};
use crate::widgets::table::{self, Column, column};
use crate::widgets::text::paragraph;
use crate::widgets::theme;
use xdscope_engine::lint::Finding;
use xdscope_engine::nack::NackGroup;
use xdscope_engine::store::SummaryFact;
use xdscope_present::nack_card;
use xdscope_present::report::{self, Role};
use xdscope_present::text::Keep;
use xdscope_wire::event::{Seq, Time};
use xdscope_wire::text::{count, plural, type_label};

use super::groups::groups_in;

/// Types that are listed: more than most terminals have rows.
const MAX_LISTED_TYPES: usize = 100;
/// The blank row, the words, the blank row and the heading above the versions.
const LINES_ABOVE: usize = 4;

/// A type of a stream with the version that the client uses.
#[derive(Clone, Debug)]
struct VersionInForce {
    fact: SummaryFact,
    version: String,
    /// The request that accepted the version.
    accepted: Option<(Seq, Time)>,
}

/// A scope without refusals, with its versions in force.
#[derive(Clone, Debug, Default)]
pub(super) struct AcceptedVersions {
    pub(super) scope: Scope,
    types: Vec<VersionInForce>,
    /// Number of refusals in all scopes.
    elsewhere: usize,
    newest: Option<NackGroup>,
    /// The newest request in the scope that reports an error, but is no NACK.
    stray: Option<Finding>,
}

impl AcceptedVersions {
    /// Reads the versions in a scope without refusals.
    pub(super) fn load(scope: &Scope, data: &dyn Data) -> AcceptedVersions {
        let all = match *scope == Scope::default() {
            true => Vec::new(),
            false => groups_in(&Scope::default(), None, data),
        };
        let streams = match scope.stream {
            Some(stream) => vec![stream],
            None => data.stream_ids(),
        };
        let summaries = streams.into_iter().flat_map(|stream| data.summaries_of(stream));
        let in_scope = summaries.filter(|fact| scope.has(fact.stream, &fact.type_url));
        let in_force = |fact: SummaryFact| {
            let view = data.store().state_view(&fact);
            let version =
                view.as_ref().and_then(|view| view.in_force().map(str::to_owned)).unwrap_or_default();
            let accepted = view.and_then(|view| view.in_force_since());
            VersionInForce { version, accepted, fact }
        };
        let strays = data.findings().iter().filter(|finding| finding.is_stray_refusal());
        let strays = strays.filter(|finding| scope.has(finding.stream, &finding.type_url));
        let newest = all.iter().max_by_key(|group| group.last().map(|nack| nack.at)).cloned();
        AcceptedVersions {
            scope: scope.clone(),
            types: in_scope.take(MAX_LISTED_TYPES).map(in_force).collect(),
            elsewhere: all.len(),
            newest,
            stray: strays.max_by_key(|finding| finding.last).cloned(),
        }
    }

    /// There are refusals in a wider scope.
    pub(super) fn has_refusals_elsewhere(&self) -> bool {
        self.elsewhere > 0
    }

    /// The rows that all versions take.
    pub(super) fn lines(&self) -> usize {
        LINES_ABOVE + 1 + self.types.len()
    }

    /// Whether something was refused, and where.
    fn words(&self, common: &Common) -> String {
        if let Some(stray) = &self.stray
            && self.elsewhere == 0
        {
            let n = stray.at.map(|n| format!(" #{}", n.0)).unwrap_or_default();
            return format!(
                "no response was refused by a valid NACK; but {} {}{n}: {}",
                common.client_name(stray.node.as_deref(), stray.stream),
                type_label(stray.type_url.as_str()),
                report::finding(stray, "×")
            );
        }
        if self.scope == Scope::default() {
            return "nothing was refused: every answer so far is an ACK".to_owned();
        }
        let Some((newest, last)) = self.newest.as_ref().and_then(|group| Some((group, group.last()?))) else {
            return "nothing was refused, in this scope or elsewhere".to_owned();
        };
        let place = if self.scope.type_url.is_some() { "in this scope" } else { "on this stream" };
        let others = plural(self.elsewhere as u64, "refusal");
        format!(
            "nothing was refused {place}; {others} elsewhere: Enter shows all, the newest is {} {} {} at {}",
            common.client_name(newest.node.as_deref(), newest.stream),
            type_label(newest.type_url.as_str()),
            nack_card::refused_version(newest),
            common.time_of_day(last.at)
        )
    }

    pub(super) fn draw(&self, common: &Common, canvas: &mut Canvas, layout: &Layout) {
        let is_filtered = common.filter_on(ScreenId::Nack).is_some();
        let words = match is_filtered {
            true => "no refusal matches; Esc clears the filter".to_owned(),
            false => self.words(common),
        };
        let area = layout::split(layout.body, 1).1;
        let words = paragraph(&words, 3, Role::Muted, usize::from(area.width));
        canvas.lines(area, &words, 0);
        let (_, rest) = layout::split(area, layout::height(words.len() + 1));
        if is_filtered || self.types.is_empty() || rest.height < 3 {
            return;
        }
        let (title, list) = layout::split(rest, 1);
        let room = usize::from(list.height).saturating_sub(1);
        let hidden = self.types.len().saturating_sub(room);
        let remark = if hidden > 0 { format!("{} more on 2", count(hidden as u64)) } else { String::new() };
        canvas.rule(title, "versions in force", &remark);
        let rows: Vec<StyledLine> =
            self.types.iter().take(room).map(|in_force| row(common, in_force)).collect();
        table::draw(canvas, list, &columns(), &rows, None, false);
    }
}

fn columns() -> [Column; 5] {
    [
        column("NODE", 10, 40, Keep::Name, 0),
        column("TYPE", 4, 16, Keep::Name, 0),
        column("IN FORCE", 8, 40, Keep::Tail, 0),
        column("STATE", 8, 24, Keep::Head, 0),
        column("ACCEPTED", 8, 40, Keep::Head, 0),
    ]
}

/// Returns the row of a version in force: its state, and when it was accepted.
fn row(common: &Common, in_force: &VersionInForce) -> StyledLine {
    let VersionInForce { fact, version, accepted } = in_force;
    let glyphs = common.theme.glyphs();
    let words = report::state_text(fact.state, fact, glyphs.times);
    let state = theme::marked_state(fact.state, fact.last_state, &words, glyphs);
    let accepted =
        accepted.map(|(n, at)| format!("#{} at {}, {} ago", n.0, common.time_of_day(at), common.age(at)));
    vec![
        plain(common.client_name(fact.node.as_deref(), fact.stream)),
        plain(type_label(fact.type_url.as_str())),
        plain(if version.is_empty() { "-" } else { version }),
        span(state, theme::state_mark(fact.state, glyphs).role),
        span(accepted.unwrap_or_else(|| "-".to_owned()), Role::Muted),
    ]
}
