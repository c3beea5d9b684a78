//! Ends of findings about closed streams, as the next stream of the client shows.
//!
//! A finding about an event has ended once the next stream has run for a while without such an
//! event.

use super::followed::Followed;
use super::lasting::LastingState;
use crate::lint::context::RuleContext;
use crate::lint::rule::{Ending, Rule, Severity};

impl RuleContext<'_> {
    /// Follows a finding about an event, until the next stream of the client is without one.
    pub(crate) fn follow_event(&mut self, rule: &'static Rule, finding: usize) {
        if rule.ending == Ending::NextStream && rule.severity > Severity::Info {
            self.source_state.lasting.events.add(self.stream_index, finding);
        }
    }

    /// Ends the findings about closed streams of the client that this one shows to be over: about
    /// events that have not occurred again, and about names that the client no longer has.
    pub(crate) fn end_events_before(&mut self) {
        let engine = self.store.engine();
        let earlier = engine.ended_before(self.stream).filter_map(|before| engine.index(before.id));
        let earlier: Vec<usize> = earlier.collect();
        self.end_findings_about_names(&earlier);
        let own = self.source_state.lasting.events.take(self.stream_index);
        let rules = |all: &[usize]| -> Vec<&'static str> {
            let findings = all.iter().filter_map(|index| self.findings.all().get(*index));
            findings.map(|finding| finding.rule.id).collect()
        };
        let (again, mut kept, mut over) = (rules(&own), own, Vec::new());
        for stream in earlier {
            for finding in self.source_state.lasting.events.take(stream) {
                let Some(known) = self.findings.all().get(finding) else { continue };
                if again.contains(&known.rule.id) {
                    kept.push(finding);
                } else if known.is_wrong() {
                    over.push(finding);
                }
            }
        }
        for finding in kept {
            self.source_state.lasting.events.add(self.stream_index, finding);
        }
        let note = format!("; not again on stream {}", self.stream.id.0);
        for finding in over {
            self.findings.end(finding, self.at, &note);
        }
    }

    /// Ends the findings about responses on earlier streams that broke a rule for names which the
    /// client does not have any more.
    fn end_findings_about_names(&mut self, earlier: &[usize]) {
        let (catalog, stream, client) = (self.catalog(), self.stream, self.client());
        let findings = self.findings.all();
        let is_over = |followed: &mut Followed| {
            let LastingState::Names { names, .. } = &mut followed.state else { return false };
            if followed.client != client || !earlier.contains(&followed.place.0) {
                return false;
            }
            let Some(finding) = findings.get(followed.finding) else { return false };
            let track = stream.find(&finding.type_url);
            names.retain(|name| track.is_some_and(|track| track.sent.is_present(catalog, *name)));
            names.is_empty()
        };
        let followed = self.source_state.lasting.followed_mut();
        let over = followed.take_over(self.stream_index, Some(&client), is_over);
        let note = format!("; not sent on stream {}", stream.id.0);
        for over in over {
            self.findings.end(over.finding, self.at, &note);
        }
    }
}
