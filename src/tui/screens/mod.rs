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

macro_rules! screen_set {
    ($($name:ident $id:ident $state:ty;)*) => {
        /// The state of every screen.
        #[derive(Clone, Debug, Default)]
        pub struct ScreenSet { $(pub $name: $state),* }

        impl ScreenSet {
            pub fn get(&self, id: ScreenId) -> &dyn Screen {
                match id { $(ScreenId::$id => &self.$name),* }
            }

            pub fn get_mut(&mut self, id: ScreenId) -> &mut dyn Screen {
                match id { $(ScreenId::$id => &mut self.$name),* }
            }
        }
    };
}

screen_set! {
    overview Overview overview::OverviewScreen;
    stream Stream stream::StreamScreen;
    timeline Timeline timeline::TimelineScreen;
    resources Resources resources::ResourcesScreen;
    diff Diff diff::DiffScreen;
    nack Nack nack::NackScreen;
    subscriptions Subscriptions subscriptions::SubscriptionsScreen;
    graph Graph graph::GraphScreen;
    lint Lint lint::LintScreen;
    hold Hold hold::HoldScreen;
}
