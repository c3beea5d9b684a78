//! All that the screens remember between two frames.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use crate::engine::filter::FilterError;
use crate::engine::store::{ProblemFact, TypeState};
use crate::wire::event::{Clock, StreamId, Time, TypeUrl};

use crate::tui::data::{Applied, Info, ViewTime};
use crate::tui::input::command::Command;
use crate::tui::input::keymap::Context;
use crate::tui::input::rebind::Keymap;
use crate::tui::input::sort::Sorts;
use crate::tui::screens::diff::Diff;
use crate::tui::screens::graph::GraphScreen;
use crate::tui::screens::lint::LintScreen;
use crate::tui::screens::nack::Nacks;
use crate::tui::screens::overview::Overview;
use crate::tui::screens::resources::Resources;
use crate::tui::screens::stream::StreamScreen;
use crate::tui::screens::subscriptions::Subs;
use crate::tui::screens::timeline::Timeline;
use crate::tui::shell::client_action::{Ask, ClientAction};
use crate::tui::shell::find::Find;
use crate::tui::shell::replay::Marked;
use crate::tui::widgets::layout::{Layout, layout};
use crate::tui::widgets::theme::Theme;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    #[default]
    Overview,
    Stream,
    Timeline,
    Resources,
    Diff,
    Nack,
    Subs,
    Graph,
    Lint,
}

impl Screen {
    pub const ALL: [Screen; 9] = [
        Screen::Overview,
        Screen::Stream,
        Screen::Timeline,
        Screen::Resources,
        Screen::Diff,
        Screen::Nack,
        Screen::Subs,
        Screen::Graph,
        Screen::Lint,
    ];

    /// The title where there is little room.
    pub fn short(self) -> &'static str {
        match self {
            Screen::Overview => "Ovr",
            Screen::Nack => "Nck",
            screen => screen.title().get(..3).unwrap_or_default(),
        }
    }

    /// The key that opens it.
    pub fn number(self) -> u8 {
        match self {
            Screen::Overview => 1,
            Screen::Stream => 2,
            Screen::Timeline => 3,
            Screen::Diff => 5,
            Screen::Resources => 4,
            Screen::Nack => 6,
            Screen::Subs => 7,
            Screen::Graph => 8,
            Screen::Lint => 9,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Screen::Overview => "Overview",
            Screen::Stream => "Stream",
            Screen::Timeline => "Timeline",
            Screen::Diff => "Diff",
            Screen::Resources => "Resources",
            Screen::Nack => "NACK",
            Screen::Subs => "Subs",
            Screen::Graph => "Graph",
            Screen::Lint => "Lint",
        }
    }

    /// What opens it.
    pub fn command(self) -> Command {
        match self {
            Screen::Overview => Command::Overview,
            Screen::Stream => Command::Stream,
            Screen::Timeline => Command::Timeline,
            Screen::Resources => Command::Resources,
            Screen::Diff => Command::DiffScreen,
            Screen::Nack => Command::Nack,
            Screen::Subs => Command::Subs,
            Screen::Graph => Command::Graph,
            Screen::Lint => Command::Lint,
        }
    }

    pub fn context(self) -> Context {
        match self {
            Screen::Overview => Context::Overview,
            Screen::Stream => Context::Stream,
            Screen::Timeline => Context::Timeline,
            Screen::Diff => Context::Diff,
            Screen::Resources => Context::Resources,
            Screen::Nack => Context::Nack,
            Screen::Subs => Context::Subs,
            Screen::Graph => Context::Graph,
            Screen::Lint => Context::Lint,
        }
    }
}

/// What the screens are narrowed to; it goes with the reader from screen to screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub stream: Option<StreamId>,
    pub type_url: Option<TypeUrl>,
}

/// Which part of a screen the arrows move in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    #[default]
    Main,
    Second,
}

/// What lies over the screen, the last on top.
#[derive(Clone, Debug)]
pub enum Overlay {
    Help {
        scroll: usize,
    },
    Palette {
        input: String,
        chosen: usize,
        recalled: Option<usize>,
    },
    /// With the filter that was in force before, for `Esc`.
    Filter {
        input: String,
        error: Option<FilterError>,
        before: Option<Applied>,
    },
    /// A text to be found in the text that is read.
    Find {
        input: String,
    },
    /// What the client is to be told.
    Tell {
        ask: Ask,
        input: String,
        /// Why what was typed can't be told.
        wrong: Option<String>,
    },
    /// The file of a named recording.
    Record {
        input: String,
    },
    /// Whether that is to be sent.
    ConfirmTell(Vec<ClientAction>),
    /// By what a list is sorted.
    Sort,
    Copy,
    /// The next key is a letter: sets a mark, or goes to it.
    Mark {
        go: bool,
    },
    ConfirmQuit,
}

impl Overlay {
    /// Text is typed into it.
    pub fn is_prompt(&self) -> bool {
        use Overlay::{Filter, Find, Palette, Record, Tell};
        matches!(self, Palette { .. } | Filter { .. } | Find { .. } | Tell { .. } | Record { .. })
    }

    pub fn context(&self) -> Context {
        match self {
            Overlay::Help { .. } => Context::Help,
            Overlay::Palette { .. } => Context::Palette,
            Overlay::Filter { .. } => Context::Input,
            Overlay::Find { .. } => Context::Find,
            Overlay::Sort => Context::Sort,
            Overlay::Copy => Context::Copy,
            Overlay::Mark { .. } => Context::Mark,
            Overlay::Tell { .. } => Context::Tell,
            Overlay::Record { .. } => Context::Name,
            Overlay::ConfirmQuit | Overlay::ConfirmTell(_) => Context::Confirm,
        }
    }
}

/// What is shown while the screen is held still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paused {
    pub rows: usize,
    pub now: Time,
}

/// A place to come back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub screen: Screen,
    pub scope: Scope,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub size: (u16, u16),
    pub theme: Theme,
    pub zone: TimeZone,
    pub keys: Keymap,
    pub info: Info,
    pub screen: Screen,
    pub scope: Scope,
    pub filter: Option<Applied>,
    /// What is found in texts.
    pub find: Option<Find>,
    /// What the lists of screens are sorted by, where somebody chose.
    pub sorts: Sorts,
    /// Rows that the lower pane has more than by itself; negative: fewer. Columns where panes stand side by side.
    pub shift: i16,
    pub steps: Vec<Step>,
    pub overlays: Vec<Overlay>,
    pub pane: Pane,
    /// The detail pane has the whole screen.
    pub whole: bool,
    pub paused: Option<Paused>,
    pub marks: BTreeMap<char, Marked>,
    /// Said once; the next key clears it.
    pub notice: Option<String>,
    /// Commands run from the palette, oldest first.
    pub history: Vec<String>,
    pub now: Time,
    pub clock: Clock,
    /// A key waits for its frame: what can wait is not made anew.
    pub hurried: bool,
    /// Keys came a moment ago: the next may come while something is made anew.
    pub at_keys: bool,
    /// What `problems` are of.
    pub seen: Option<ViewTime>,
    pub problems: Vec<ProblemFact>,
    pub overview: Overview,
    pub stream: StreamScreen,
    pub timeline: Timeline,
    pub diff: Diff,
    pub resources: Resources,
    pub nacks: Nacks,
    pub subs: Subs,
    pub graph: GraphScreen,
    pub lint: LintScreen,
}

impl Model {
    pub fn new(size: (u16, u16), theme: Theme, zone: TimeZone) -> Model {
        Model {
            size,
            theme,
            zone,
            keys: Keymap::default(),
            info: Info::default(),
            screen: Screen::default(),
            scope: Scope::default(),
            filter: None,
            find: None,
            sorts: Sorts::default(),
            shift: 0,
            steps: Vec::new(),
            overlays: Vec::new(),
            pane: Pane::default(),
            whole: false,
            paused: None,
            marks: BTreeMap::new(),
            notice: None,
            history: Vec::new(),
            now: Time::ZERO,
            clock: Clock::default(),
            hurried: false,
            at_keys: false,
            seen: None,
            problems: Vec::new(),
            overview: Overview::default(),
            stream: StreamScreen::default(),
            timeline: Timeline::default(),
            diff: Diff::default(),
            resources: Resources::default(),
            nacks: Nacks::default(),
            subs: Subs::default(),
            graph: GraphScreen::default(),
            lint: LintScreen::default(),
        }
    }

    pub fn layout(&self) -> Option<Layout> {
        let layout = Layout { shift: self.shift, ..layout(self.size.0, self.size.1)? };
        Some(if self.info.bar.is_some() { layout.with_bar() } else { layout })
    }

    /// Where a key is looked up, nearest first.
    pub fn contexts(&self) -> Vec<Context> {
        match self.overlays.last() {
            Some(overlay) => vec![overlay.context(), Context::Always],
            None if self.info.bar.is_some() => {
                vec![Context::Replay, self.screen.context(), Context::Everywhere, Context::Always]
            }
            None => vec![self.screen.context(), Context::Everywhere, Context::Always],
        }
    }

    /// Rows of the timeline, or resources, are still looked for.
    pub fn searching(&self) -> bool {
        match self.screen {
            Screen::Overview => self.overview.table.behind,
            Screen::Timeline => !self.timeline.index.complete(),
            Screen::Resources => self.resources.tree.searching() || self.resources.detail.searching(),
            Screen::Subs => self.subs.searching(),
            Screen::Graph => self.graph.searching(),
            _ => false,
        }
    }

    /// The problems that someone must act on, and those that streams closed with: not those that are merely on
    /// their way.
    pub fn urgent(&self) -> usize {
        let open = self.problems.iter().filter(|p| !matches!(p.state, TypeState::Wait | TypeState::Sent));
        open.count() + self.overview.table.last_words.len()
    }

    /// How long ago, as of what is shown.
    pub fn age(&self, since: Time) -> String {
        if self.clock.untimed { "-".to_owned() } else { crate::wire::text::age(self.now.since(since)) }
    }

    /// What was loaded holds no more: the cursor went back.
    pub fn forget(&mut self) {
        self.seen = None;
        self.timeline.forget();
        self.overview.table = crate::tui::screens::overview::Table::default();
        self.nacks.forget();
        self.diff.forget();
        self.graph.forget();
    }

    pub fn say(&mut self, notice: impl Into<String>) {
        self.notice = Some(notice.into());
    }
}
