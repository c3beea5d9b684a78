//! The facts about the source: form, times, losses, secrets, versions.

use crate::source_facts;
use xdscope_wire::text::plural;

use super::Page;
use super::html::Html;

/// Adds the facts about the source.
pub(super) fn facts(page: &Page<'_>, html: &mut Html) {
    let (store, source) = (page.store, page.source);
    html.raw("<section id=\"source\" aria-labelledby=\"source-title\">");
    html.element("h2", &[("id", "source-title")], "Source");
    html.raw("<dl>");
    super::item(html, "name", source.name);
    super::item(html, "form", source.form);
    super::item(html, "time", &source_facts::span(store));
    super::item(html, "size", &page.summary());
    super::item(html, "content", &source_facts::content(store));
    super::item(html, "secrets", &source_facts::secrets(store));
    let gaps: u64 = page.streams.iter().map(|stream| stream.gaps).sum();
    let lost = if gaps == 0 { "none".to_owned() } else { plural(gaps, "message") };
    super::item(html, "lost", &lost);
    for notice in source.notices {
        super::item(html, "note", notice);
    }
    super::item(html, "xdscope", source.version);
    html.raw("</dl></section>\n");
}

/// Says what the times of the page count from.
pub(super) fn clock_words(page: &Page<'_>) -> String {
    source_facts::span(page.store)
}
