//! The table of named faults.

use super::{code, prose, table};
use xdscope_sources::peers::intercept::LIBRARY;

pub(super) fn generate() -> String {
    let row = |fault: &xdscope_sources::peers::intercept::NamedFault| {
        let rule = fault.args.iter().enumerate();
        let rule = rule.fold(fault.rule.to_owned(), |rule, (i, arg)| rule.replace(&format!("{{{i}}}"), arg));
        [code(&fault.form()), prose(fault.about), code(&rule)]
    };
    table(["named fault", "effect", "built from"], LIBRARY.iter().map(row))
}
