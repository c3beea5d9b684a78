//! A later request of the stream carries another node.
//!
//! Why: A node that is repeated must be the same; servers may look at the first one only, so the change may
//! have no effect.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [A]
//! > cds v=1 n=a node={cluster: other}
//! ```
//!
//! Instead: open a new stream to speak as another node.
//!
//! Protocol: "Basic protocol overview"; row E-06.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "node-changed",
    severity: Severity::Warn,
    rows: "E-06",
    source: include_str!("node_changed.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(node) = asking.message.node() else { return };
    let before = case.stream_memo.node.replace(node.clone()).or_else(|| case.stream.node.clone());
    let Some(before) = before else { return };
    let fields = super::super::node::differences(case.catalog(), &mut case.world.nodes, &before, node);
    if !fields.is_empty() {
        let text = format!("the node is another than before on this stream: {}", fields.join(", "));
        case.raise(&RULE, Found { text, ..Found::default() });
    }
}
