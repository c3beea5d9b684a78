//! The screens: number, title, the command that opens each, and the words that lead to it.

use xdscope_engine::filter::{Filter, RowKind};

use super::command::Command;

macro_rules! screens {
    ($($(#[$default:meta])? $variant:ident $title:literal $short:literal $command:ident $words:literal;)*) => {
        /// One of the ten screens.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum ScreenId { $($(#[$default])? $variant),* }

        impl ScreenId {
            /// All screens, in the order of their numbers.
            pub const ALL: [ScreenId; 10] = [$(ScreenId::$variant),*];

            pub fn title(self) -> &'static str {
                match self { $(ScreenId::$variant => $title),* }
            }
            /// The title in three letters, for a narrow terminal.
            pub fn short(self) -> &'static str {
                match self { $(ScreenId::$variant => $short),* }
            }
            /// The command that opens the screen.
            pub fn command(self) -> Command {
                match self { $(ScreenId::$variant => Command::$command),* }
            }
            /// Words of users and of logs that this screen answers.
            pub fn search_words(self) -> &'static str {
                match self { $(ScreenId::$variant => $words),* }
            }
        }
    };
}

screens! {
    #[default]
    Overview "Overview" "Ovr" Overview
        "in sync, not sent, never acknowledged, stale, healthy, which proxies";
    Stream "Stream" "Str" Stream
        "stream closed, disconnected, reconnects, version mismatch, stale nonce, keepalive timeout";
    Timeline "Timeline" "Tim" Timeline
        "ack, latency, slow, order of messages, resent again and again";
    Resources "Resources" "Res" Resources
        "config dump, the value of a field, what a field means, a large resource, a certificate";
    Diff "Diff" "Dif" DiffScreen
        "what changed, since when, which push";
    Nack "NACK" "Nck" Nack
        "config rejected, refused, validation failed, invalid, update error";
    Subscriptions "Subs" "Sub" Subscriptions
        "not listed, missing, not responding, initial fetch timed out, does not exist, wildcard";
    Graph "Graph" "Gra" Graph
        "stuck in warming, dangling, unknown cluster, no healthy upstream, no route, 503 NR NC UH, orphan";
    Lint "Lint" "Lin" Lint
        "rule broken, loop, storm, message larger than max, unexpected, what is wrong";
    Hold "Hold" "Hld" Hold
        "intercept, breakpoint, edit a push, drop a message, forge, tamper";
}

impl ScreenId {
    /// The key that opens the screen.
    pub fn number(self) -> u8 {
        (self as u8 + 1) % 10
    }

    /// Whether the rows can be sorted by severity, by name and by time.
    pub fn is_sortable(self) -> bool {
        matches!(self, ScreenId::Overview | ScreenId::Subscriptions | ScreenId::Lint)
    }

    /// Whether the rows can be sorted by a column. Messages stay in the order of time.
    pub fn is_sortable_by_column(self) -> bool {
        !matches!(self, ScreenId::Timeline | ScreenId::Hold)
    }

    pub fn has_resizable_panes(self) -> bool {
        !matches!(self, ScreenId::Overview | ScreenId::Stream | ScreenId::Graph)
    }

    /// The kinds of rows that a filter is compared with: a row matches if one of them does.
    ///
    /// Empty if the screen compares words only, or has no list.
    fn row_kinds(self) -> &'static [RowKind] {
        match self {
            ScreenId::Overview | ScreenId::Stream | ScreenId::Nack => &[RowKind::States],
            ScreenId::Timeline => &[RowKind::Messages],
            ScreenId::Resources | ScreenId::Subscriptions | ScreenId::Graph => &[RowKind::Resources],
            ScreenId::Lint => &[RowKind::Findings, RowKind::Messages, RowKind::States],
            _ => &[],
        }
    }

    /// Whether the rows of the screen have all fields of a filter. Any other filter would hide all
    /// rows, so that the screen leaves it out.
    pub fn applies(self, filter: &Filter) -> bool {
        self.row_kinds().is_empty() || self.can_match(filter)
    }

    /// Whether a row of the screen can match a filter by its fields.
    fn can_match(self, filter: &Filter) -> bool {
        // The graph knows no contents.
        let has_content = self != ScreenId::Graph || !filter.needs_content();
        has_content && self.row_kinds().iter().any(|rows| filter.check(*rows).is_ok())
    }

    /// The screens that a filter applies to, for a message: `screens 3, 9`.
    ///
    /// `None` if this screen is one of them.
    pub fn others_for(self, filter: &Filter) -> Option<String> {
        if self.applies(filter) {
            return None;
        }
        let numbers = ScreenId::ALL.into_iter().filter(|screen| screen.can_match(filter));
        let numbers: Vec<String> = numbers.map(|screen| screen.number().to_string()).collect();
        Some(match numbers.as_slice() {
            [] => "no screen".to_owned(),
            [one] => format!("screen {one}"),
            all => format!("screens {}", all.join(", ")),
        })
    }

    /// The screen that more than half of these words lead to.
    pub fn answering(words: &str) -> Option<ScreenId> {
        let words = words.to_lowercase();
        let words = || words.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
        let matches = |screen: ScreenId| {
            let text = screen.search_words().to_lowercase();
            let begins =
                |word: &str| text.split(|c: char| !c.is_alphanumeric()).any(|known| known.starts_with(word));
            words().filter(|word| begins(word)).count()
        };
        let found = ScreenId::ALL.into_iter().map(|screen| (matches(screen), screen));
        let found = found.filter(|(n, _)| *n > 0 && n * 2 > words().count());
        found.rev().max_by_key(|(n, _)| *n).map(|(_, screen)| screen)
    }
}
