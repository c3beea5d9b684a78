//! The streams of the source.

use crate::report::{self, Role};
use crate::table::Columns;
use xdscope_engine::store::StreamFact;
use xdscope_wire::event::Variant;
use xdscope_wire::text::{count, plural, size, time_of_day};

use super::html::{Html, bounded};
use super::{Page, table};

/// Bytes of the streams.
const MAX_BYTES: usize = 150_000;

/// Adds the streams in order.
pub(super) fn streams(page: &Page<'_>, html: &mut Html) {
    html.raw("<section id=\"streams\" aria-labelledby=\"streams-title\">");
    html.element("h2", &[("id", "streams-title")], "Streams");
    html.raw("<section class=\"scroll\" tabindex=\"0\" aria-label=\"Table of streams\">");
    let clock = page.store.clock();
    let columns = Columns::new()
        .text("stream", |stream: &StreamFact| format!("#{}", stream.stream.0))
        .text("node", report::node_name)
        .text("variant", |stream| stream.variant.map_or("opaque", Variant::word))
        .role(Role::Muted)
        .text("server", |stream| stream.server.as_deref().unwrap_or("-").to_owned())
        .role(Role::Wire)
        .text("opened", |stream| time_of_day(stream.opened, clock, &jiff::tz::TimeZone::UTC))
        .role(Role::Muted)
        .number("messages", |stream| count(stream.messages))
        .number("in", |stream| size(stream.bytes_in))
        .number("out", |stream| size(stream.bytes_out))
        .text("note", |stream| report::stream_notes(stream, !clock.untimed).join("; "));
    let headings = columns.headings();
    html.raw("<table class=\"sortable\">");
    table::head(html, &headings);
    html.raw("<tbody>");
    let left = bounded(html, MAX_BYTES, &page.streams, |html, stream| {
        html.open("tr", &[("id", &format!("s{}", stream.stream.0))]);
        table::cells(html, &headings, &columns.cells(stream));
        html.raw("</tr>\n");
    });
    html.raw("</tbody></table></section>");
    let left = left + page.store.dropped_streams();
    if left > 0 {
        let command = page.source.command("info", "");
        super::left_out(html, &plural(left as u64, "more stream"), &command);
    }
    html.raw("</section>\n");
}
