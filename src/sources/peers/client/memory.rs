//! The contents and names to which a client refers.

use super::Client;
use super::references::References;
use super::track::Track;
use xdscope_wire::content::UsedContent;

impl Client {
    /// Marks the contents and names to which the client refers as used, before a catalog drops the
    /// others.
    pub fn mark(&self, used: &mut UsedContent) {
        self.tracks.values().for_each(|track| track.mark(used));
        self.references.mark(used);
        used.names(self.alternatives.keys().chain(self.unmapped.keys()).map(|(_, name)| name));
    }
}

impl Track {
    fn mark(&self, used: &mut UsedContent) {
        used.names(self.asked.iter().chain(&self.referred).chain(&self.stand_ins));
        used.names(self.sent_names());
        used.names(self.absent_names());
        self.pending.iter().for_each(|pending| pending.message.mark(used));
        self.mark_held(used);
    }
}

impl References {
    fn mark(&self, used: &mut UsedContent) {
        self.parents.iter().for_each(|((_, name), parent)| {
            used.name(*name);
            used.blob(parent.content);
            used.names(parent.children.iter().map(|(_, child)| child));
        });
        self.counts.values().for_each(|names| used.names(names.keys()));
        used.names(self.hops.keys().map(|(_, name)| name));
        used.names(self.own.keys().chain(self.scopes.keys()).map(|(_, name)| name));
    }
}
