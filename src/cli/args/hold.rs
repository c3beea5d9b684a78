//! Flags about messages that a person holds.

use std::time::Duration;

use clap::Args;

use super::values::positive_time;

/// Messages of a tap that wait for a person.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Faults")]
pub struct HoldFlags {
    /// Hold matching messages on screen 0 until you decide about them, such as 'type:cds dir:resp'
    #[arg(long, value_name = "EXPR", conflicts_with_all = ["no_decode"])]
    pub intercept: Option<String>,
    /// Time after which a held message is sent unmodified
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = positive_time)]
    pub hold_timeout: Duration,
}

impl Default for HoldFlags {
    fn default() -> Self {
        HoldFlags {
            intercept: None,
            hold_timeout: xdscope_sources::peers::intercept::HoldOptions::default().timeout,
        }
    }
}
