//! Tables as HTML.

use crate::table::{Cell, Heading};

use super::html::{Html, cell, class};

/// Adds the headings of columns.
pub(super) fn head(html: &mut Html, headings: &[Heading]) {
    html.raw("<thead><tr>");
    for heading in headings {
        let number = if heading.is_number { "number" } else { "" };
        html.element("th", &[("scope", "col"), ("class", number)], &cell(&heading.title));
    }
    html.raw("</tr></thead>");
}

/// Adds the cells of a row, the first one as its heading.
pub(super) fn cells(html: &mut Html, headings: &[Heading], row: &[Cell]) {
    for (at, (text, heading)) in row.iter().zip(headings).enumerate() {
        let role = if heading.is_number { "number" } else { class(text.role) };
        match at {
            0 => html.element("th", &[("scope", "row")], &cell(&text.text)),
            _ => html.element("td", &[("class", role)], &cell(&text.text)),
        }
    }
}
