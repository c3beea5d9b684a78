//! The selected node: identity, streams, traffic.

use crate::common::Common;
use crate::screens::shared::variant::variant_words;
use crate::screens::shared::{delay_words, millis};
use crate::widgets::canvas::{StyledLine, plain, span};
use xdscope_engine::store::StreamFact;
use xdscope_present::report::Role;
use xdscope_present::text::pad;
use xdscope_wire::text::{plural, size, type_label};

use super::cells::state;
use super::state::OverviewScreen;

/// The identity, streams, traffic and types of the selected node, for `height` lines.
pub(super) fn lines(screen: &OverviewScreen, common: &Common, height: usize) -> Vec<StyledLine> {
    let Some(row) = screen.row() else { return Vec::new() };
    let mut lines = vec![node_line(row.streams.last().map(AsRef::as_ref))];
    lines.extend(row.streams.iter().map(|stream| stream_line(common, stream, row.reconnects)));
    let sum = |f: fn(&StreamFact) -> u64| row.streams.iter().map(|stream| f(stream)).sum::<u64>();
    let glyphs = common.theme.glyphs();
    let mut traffic = format!(
        "{}  {} {}  {} {}",
        plural(sum(|s| s.messages), "message"),
        glyphs.down,
        size(sum(|s| s.bytes_out)),
        glyphs.up,
        size(sum(|s| s.bytes_in)),
    );
    let ack_ms = screen.position().and_then(|at| screen.charts.rows.get(at.checked_sub(screen.top)?)?.ack_ms);
    if let Some((p50, p99)) = ack_ms {
        traffic.push_str(&format!("  ack p50 {} p99 {}", millis(p50), millis(p99)));
    }
    if let Some(delay) = common.info.tap.and_then(|tap| tap.added_delay) {
        traffic.push_str(&format!("  tap adds {}", delay_words(delay)));
    }
    if let Some(last) = row.streams.iter().filter_map(|stream| stream.last_message).max() {
        traffic.push_str(&format!("  last {} ago", common.age(last)));
    }
    let mut line = vec![span(" traffic  ", Role::Muted), plain(traffic)];
    match sum(|s| s.gaps) {
        0 => {}
        n => line.push(span(format!("  {} lost here", plural(n, "message")), Role::Bad)),
    }
    lines.truncate(height.saturating_sub(1));
    lines.push(line);
    lines.extend(screen.table.types.iter().zip(&row.cells).map(|(url, cell)| {
        let nack = cell.as_ref().and_then(|cell| cell.open_nack);
        let nack = nack.map(|(n, _)| format!("  last NACK #{}", n.0)).unwrap_or_default();
        let label = pad(&type_label(url.as_str()), 8);
        vec![span(format!(" {label} "), Role::Muted), state(common, cell.as_deref()), plain(nack)]
    }));
    lines
}

/// Lists id, cluster and locality of a node.
fn node_line(stream: Option<&StreamFact>) -> StyledLine {
    let mut words = Vec::new();
    if let Some(node) = stream.and_then(|stream| stream.node.as_ref()) {
        words.push(format!("id {}", node.id));
        if !node.cluster.is_empty() {
            words.push(format!("cluster {}", node.cluster));
        }
        let locality: Vec<&str> =
            node.locality.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        if !locality.is_empty() {
            words.push(format!("locality {}", locality.join("/")));
        }
        if !node.user_agent.is_empty() || !node.user_agent_version.is_empty() {
            words.push(format!("{} {}", node.user_agent, node.user_agent_version).trim().to_owned());
        }
    } else {
        words.push("not known yet".to_owned());
    }
    words.extend(stream.and_then(|stream| stream.peer.as_ref()).map(|peer| format!("peer {peer}")));
    vec![span(" node     ", Role::Muted), plain(words.join("  "))]
}

/// Describes a stream: its age, reconnects and control plane.
fn stream_line(common: &Common, stream: &StreamFact, reconnects: usize) -> StyledLine {
    let mut words = format!("#{} {}", stream.stream.0, variant_words(stream.variant));
    match stream.closed {
        None => words.push_str(&format!(", open {}", common.age(stream.opened))),
        Some(at) => words.push_str(&format!(", closed {} ago", common.age(at))),
    }
    words.push_str(&format!(", reconnects {reconnects}"));
    if let Some(plane) = &stream.control_plane {
        words.push_str(&format!(", control plane {plane}"));
    }
    if stream.partial {
        words.push_str(", its start was not seen");
    }
    vec![span(" stream   ", Role::Muted), plain(words)]
}
