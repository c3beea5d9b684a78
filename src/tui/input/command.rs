//! The commands: names for the palette, labels for the footer, explanations for help.

macro_rules! commands {
    ($($variant:ident $name:literal $label:literal $doc:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Command { $($variant),* }

        impl Command {
            pub const ALL: &[Command] = &[$(Command::$variant),*];

            /// The name in the palette and in `[keys]` of the configuration.
            pub fn name(self) -> &'static str {
                match self { $(Command::$variant => $name),* }
            }
            /// One or two words for the footer.
            pub fn label(self) -> &'static str {
                match self { $(Command::$variant => $label),* }
            }
            /// The command makes the client send something.
            pub fn is_client_action(self) -> bool {
                matches!(self, Command::Resubscribe | Command::AckHeld | Command::NackHeld | Command::Reconnect)
            }
            /// The command decides about messages that a tap holds, or which are held.
            pub fn is_hold_action(self) -> bool {
                use Command::*;
                matches!(self, Intercept | AckHeld | NackHeld | EditHeld | DropHeld | ReleaseHeld | Reconnect)
            }
            /// The command changes what goes on the wire. The footer marks its key with `!`.
            pub fn is_wire_action(self) -> bool {
                self.is_client_action() || self.is_hold_action()
            }
            /// Commands of the time cursor that the footer shows.
            pub const TIME: [Command; 6] = [
                Command::Pause,
                Command::StepBack,
                Command::StepOn,
                Command::Faster,
                Command::Start,
                Command::End,
            ];
            /// One line for help and palette.
            pub fn doc(self) -> &'static str {
                match self { $(Command::$variant => $doc),* }
            }
        }
    };
}

commands! {
    Overview "screen overview" "overview" "open Overview: which nodes are in sync, and which have problems?";
    Stream "screen stream" "stream" "open Stream: what was one client offered, and what does it run?";
    Timeline "screen timeline" "messages" "open Timeline: which messages were sent, and which answers which?";
    DiffScreen "screen diff" "diff" "open Diff: what changed?";
    Up "up" "up" "move up";
    Down "down" "down" "move down";
    Left "left" "left" "go to the type on the left; fold; scroll sideways";
    Right "right" "right" "go to the type on the right; unfold; scroll sideways";
    First "first" "first" "go to the first row";
    Last "last" "last" "go to the last row; on the timeline follow the newest";
    HalfDown "half-page-down" "half page" "half a page down";
    HalfUp "half-page-up" "half page" "half a page up";
    PageDown "page-down" "page" "a page down";
    PageUp "page-up" "page" "a page up";
    NextPane "next-pane" "pane" "go to the next pane";
    PreviousPane "previous-pane" "pane" "go to the previous pane";
    FullScreen "full-screen" "full screen" "give the detail pane the whole screen, or take it back";
    Open "open" "open" "open what is selected, down to the messages it came from";
    Back "back" "back" "go one step back: close, clear the filter, return";
    Quit "quit" "quit" "go back; at the top quit (asks if clients are connected)";
    Interrupt "interrupt" "quit" "leave a prompt, else quit; twice forces";
    Suspend "suspend" "suspend" "suspend the program; fg in the shell returns";
    Redraw "redraw" "redraw" "draw the whole screen again";
    Sort "sort" "sort" "sort this list: problems first, by name, newest first, or by a column";
    SortWorst "sort-problems" "problems first" "problems first";
    SortName "sort-name" "by name" "by name; findings by their rule";
    SortNewest "sort-newest" "newest first" "newest first";
    Grow "grow-pane" "larger" "give the second pane more room";
    Shrink "shrink-pane" "smaller" "give the second pane less room";
    ChooseColumns "choose-columns" "columns" "choose the columns of this list; kept until the program ends";
    Filter "filter" "filter" "show only rows that match: type:cds kind:nack lat>100ms; in a text, find";
    NextMatch "next-match" "match" "go to the next match of a search; in a list to the next row";
    PreviousMatch "previous-match" "match" "go to the previous match; in a list to the previous row";
    Palette "commands" "command" "run any command by its name";
    Tour "tour" "tour" "show or hide the guided tour of the demo";
    Help "help" "help" "show the keys, filter words and states of this screen";
    Notice "notice" "notice" "show again what this recording lacks: damaged, cut short, beyond --memory";
    Pause "pause" "pause" "pause the screen, or go on (capture goes on); play a recording";
    NextProblem "next-problem" "next problem" "go to the next problem of the list: on Overview choose it, elsewhere open its evidence";
    PreviousProblem "previous-problem" "problem" "go to the previous problem of the list";
    NextEvent "next-event" "next event" "time cursor: go to the next NACK, late answer or finding in time";
    PreviousEvent "previous-event" "event" "time cursor: go to the previous NACK, late answer or finding in time";
    NextNack "next-nack" "next NACK" "go to the next NACK: a rejected push";
    PreviousNack "previous-nack" "previous NACK" "go to the previous NACK: a rejected push";
    Resources "screen resources" "resources" "open Resources: what is configured, since when, and what does a field mean?";
    Nack "screen nack" "NACKs" "open NACK: which client rejected what, why, and what was good before?";
    Subscriptions "screen subs" "subscriptions" "open Subs: which names are subscribed to, and which are missing?";
    Graph "screen graph" "graph" "open Graph: what refers to what, what is warming, what is dangling?";
    Lint "screen lint" "lint" "open Lint: which rules of the protocol or of good practice were broken?";
    Hold "screen hold" "hold" "open Hold: which messages are held, and what will each choice cause?";
    ProblemsOnly "problems-only" "not ready" "show only branches with a resource that is not ready, or all";
    ExplainRule "explain-rule" "explain" "show the manual of the rule, or the finding again";
    HideRule "hide-rule" "hide rule" "hide the findings of this rule";
    ShowRules "show-rules" "show rules" "show the findings of all rules again";
    NextType "next-type" "type" "narrow to the next type";
    AllTypes "all-types" "all types" "show all types again";
    AllStreams "all-streams" "all streams" "show all streams again";
    Streams "streams" "streams" "list all streams of the client: lifetimes, ends, attempts; Enter shows one";
    NextStream "next-stream" "stream" "go to the next stream";
    PreviousStream "previous-stream" "stream" "go to the previous stream";
    Follow "follow" "follow" "follow the newest message, or stop; from the past back to now";
    Ladder "ladder" "ladder" "show the same rows between two lifelines, or as a list";
    Format "format" "format" "show the content as fields, yaml, json, text or hex";
    Unfold "unfold" "unfold" "unfold what is folded: gaps, nodes, large values, findings with one cause";
    Diff "diff" "diff" "show what the selected push changed";
    DiffMarked "diff-marked" "diff marked" "mark this push or node; on another one, show how they differ; compare variants of a resource";
    Holders "who-has" "who has" "say which clients have the selected resource, and at which version";
    Older "older-version" "version" "show the version before";
    Newer "newer-version" "newer" "show the version after";
    NextChange "next-change" "change" "go to the next change";
    PreviousChange "previous-change" "change" "go to the previous change";
    Columns "diff-layout" "layout" "show the diff in two columns, or unified";
    Order "diff-order" "order" "let the order of keyed lists count, or not";
    AllLines "diff-context" "context" "show all unchanged lines, or those around changes";
    Base "diff-base" "base" "compare with the version before, the accepted one, the first one";
    Wrap "wrap" "wrap" "wrap long lines, or cut them";
    Docs "docs" "docs" "show or hide the documentation of the selected field";
    Parents "parents" "used by" "show which resources refer to this one, or its versions again";
    StepBack "back-in-time" "back" "go one message back in time; a live source is paused and rewound";
    StepOn "on-in-time" "on" "go one message forward in time";
    Slower "slower" "slower" "play slower, down to 0.25x";
    Faster "faster" "faster" "play faster, up to 64x";
    Start "start-of-recording" "start" "time cursor: go to the start of the recording";
    End "end-of-recording" "end" "time cursor: go to the end of the recording; there, back to the live source";
    SetMark "mark" "mark" "mark this moment with a letter";
    GoToMark "go-to-mark" "to mark" "go to the moment that a letter marks";
    Copy "copy" "copy" "copy to the clipboard: r row, n name, p path, j json, y yaml, c command, m table as Markdown";
    CopyRow "copy-row" "row" "copy the selected row as text";
    CopyName "copy-name" "name" "copy the name of what is selected: a node, a resource";
    CopyPath "copy-path" "path" "copy the path of the selected field";
    CopyJson "copy-json" "json" "copy the selected message or resource as JSON";
    CopyYaml "copy-yaml" "yaml" "copy the selected message or resource as YAML";
    CopyTable "copy-table" "markdown" "copy the list as a Markdown table";
    CopyCommand "copy-command" "command" "copy the command that prints this view";
    Record "record" "record" "record to a file that you name from here on; again ends it";
    Resubscribe "change-subscription" "subscribe" "client: subscribe or unsubscribe names, or a wildcard: eds/reviews -eds/ratings cds/*";
    Intercept "intercept" "arm" "tap: hold messages that match an expression, until you decide; an empty one ends it";
    AckHeld "held-ack" "ACK" "client: acknowledge the held response (--ack ask); tap: send the held message as it is";
    NackHeld "held-nack" "NACK" "client: reject the held response, with a text (--ack ask); tap: answer the held push with a NACK";
    EditHeld "held-edit" "edit" "tap: edit the held message in your editor; shows the difference and asks before it is sent";
    DropHeld "held-drop" "drop" "tap: do not send the held message";
    ReleaseHeld "held-release" "release all" "tap: send everything held as it is, and hold nothing more";
    Reconnect "reconnect" "reconnect" "client: end the stream and open another; tap: close connections on which nothing can be held, so that clients connect again";
    Accept "accept" "accept" "use what is typed or chosen";
    Cancel "cancel" "cancel" "close without doing anything";
    Complete "complete" "complete" "complete with the selected name";
    Erase "erase" "erase" "delete the character before the cursor";
    EraseAll "erase-all" "erase all" "delete all that is typed";
    Yes "yes" "yes" "confirm";
    No "no" "no" "cancel";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn commands_have_docs_and_unique_names() {
        let mut names = HashSet::new();
        for command in Command::ALL {
            assert!(!command.doc().is_empty() && !command.label().is_empty(), "{command:?}");
            assert!(names.insert(command.name()), "{}", command.name());
        }
    }
}
