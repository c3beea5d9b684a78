//! The streams of the source.

use crate::report;
use xdscope_engine::store::StreamFact;
use xdscope_wire::event::Variant;
use xdscope_wire::text::{count, plural, size, time_of_day};

use super::Page;
use super::html::{Html, bounded, cell};

/// Bytes of the streams.
const MAX_BYTES: usize = 150_000;

/// Adds the streams in order.
pub(super) fn streams(page: &Page<'_>, html: &mut Html) {
    html.raw("<section id=\"streams\" aria-labelledby=\"streams-title\">");
    html.element("h2", &[("id", "streams-title")], "Streams");
    html.raw("<section class=\"scroll\" tabindex=\"0\" aria-label=\"Table of streams\">");
    html.raw("<table><thead><tr><th scope=\"col\">stream</th><th scope=\"col\">node</th>");
    html.raw("<th scope=\"col\">variant</th><th scope=\"col\">server</th><th scope=\"col\">opened</th>");
    html.raw("<th scope=\"col\" class=\"number\">messages</th><th scope=\"col\" class=\"number\">in</th><th scope=\"col\" class=\"number\">out</th>");
    html.raw("<th scope=\"col\">note</th></tr></thead><tbody>");
    let left = bounded(html, MAX_BYTES, &page.streams, |html, stream| line(page, stream, html));
    html.raw("</tbody></table></section>");
    let left = left + page.store.dropped_streams();
    if left > 0 {
        let command = page.source.command("info", "");
        super::left_out(html, &plural(left as u64, "more stream"), &command);
    }
    html.raw("</section>\n");
}

fn line(page: &Page<'_>, stream: &StreamFact, html: &mut Html) {
    html.open("tr", &[("id", &format!("s{}", stream.stream.0))]);
    html.element("th", &[("scope", "row")], &format!("#{}", stream.stream.0));
    html.element("td", &[], &cell(&report::node_name(stream)));
    html.element("td", &[("class", "muted")], stream.variant.map_or("opaque", Variant::word));
    html.element("td", &[("class", "wire")], &cell(stream.server.as_deref().unwrap_or("-")));
    let opened = time_of_day(stream.opened, page.store.clock(), &jiff::tz::TimeZone::UTC);
    html.element("td", &[("class", "muted")], &opened);
    html.element("td", &[("class", "number")], &count(stream.messages));
    html.element("td", &[("class", "number")], &size(stream.bytes_in));
    html.element("td", &[("class", "number")], &size(stream.bytes_out));
    html.element("td", &[], &cell(&report::stream_notes(stream, !page.store.clock().untimed).join("; ")));
    html.raw("</tr>\n");
}
