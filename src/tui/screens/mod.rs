//! The ten screens, each in a folder of its own. No screen imports another: see
//! [`screen::Destination`].

pub(super) mod diff;
pub(super) mod graph;
pub(super) mod hold;
pub(super) mod lint;
pub(super) mod list_screen;
pub(super) mod nack;
pub(super) mod overview;
pub(super) mod resources;
pub(super) mod screen;
pub(super) mod shared;
pub(super) mod stream;
pub(super) mod subscriptions;
pub(super) mod timeline;

use super::input::screen_id::ScreenId;
use screen::Screen;

/// The state of every screen.
#[derive(Clone, Debug, Default)]
pub struct ScreenSet {
    pub overview: overview::OverviewScreen,
    pub stream: stream::StreamScreen,
    pub timeline: timeline::TimelineScreen,
    pub resources: resources::ResourcesScreen,
    pub diff: diff::DiffScreen,
    pub nack: nack::NackScreen,
    pub subscriptions: subscriptions::SubscriptionsScreen,
    pub graph: graph::GraphScreen,
    pub lint: lint::LintScreen,
    pub hold: hold::HoldScreen,
}

impl ScreenSet {
    pub fn get(&self, id: ScreenId) -> &dyn Screen {
        match id {
            ScreenId::Overview => &self.overview,
            ScreenId::Stream => &self.stream,
            ScreenId::Timeline => &self.timeline,
            ScreenId::Resources => &self.resources,
            ScreenId::Diff => &self.diff,
            ScreenId::Nack => &self.nack,
            ScreenId::Subscriptions => &self.subscriptions,
            ScreenId::Graph => &self.graph,
            ScreenId::Lint => &self.lint,
            ScreenId::Hold => &self.hold,
        }
    }

    pub fn get_mut(&mut self, id: ScreenId) -> &mut dyn Screen {
        match id {
            ScreenId::Overview => &mut self.overview,
            ScreenId::Stream => &mut self.stream,
            ScreenId::Timeline => &mut self.timeline,
            ScreenId::Resources => &mut self.resources,
            ScreenId::Diff => &mut self.diff,
            ScreenId::Nack => &mut self.nack,
            ScreenId::Subscriptions => &mut self.subscriptions,
            ScreenId::Graph => &mut self.graph,
            ScreenId::Lint => &mut self.lint,
            ScreenId::Hold => &mut self.hold,
        }
    }
}
