//! Small charts as SVG: pushes over time, and times to the verdict.

use std::fmt::Write as _;
use std::time::Duration;

use xdscope_engine::activity::{Activity, LATENCY_CLASSES};
use xdscope_wire::text::{age, count, latency, plural};

use super::Page;
use super::html::Html;

/// Parts of the time axis.
pub(super) const PARTS: usize = 60;
/// Height of a bar in a table, in pixels.
const SPARK_HEIGHT: u64 = 18;
/// Height of a bar in a chart, in pixels.
const BAR_HEIGHT: u64 = 72;

/// Width of a class of the histogram, in pixels.
const CLASS_WIDTH: u64 = 56;

/// Returns the outline of bars of `width` with gaps, in a box of `height`.
fn bars(numbers: &[u64], most: u64, width: u64, height: u64) -> String {
    let mut path = String::new();
    for (at, number) in numbers.iter().enumerate().filter(|(_, number)| **number > 0) {
        // A single push stays visible beside many.
        let tall = (number * height / most.max(1)).max(2);
        let _ = write!(path, "M{} {height}v-{tall}h{}v{tall}z", at as u64 * (width + 1), width);
    }
    path
}

/// Adds bars for the pushes of a row, and their number.
pub(super) fn sparkline(html: &mut Html, numbers: &[u64]) {
    let width = (numbers.len() * 3).to_string();
    let most = numbers.iter().copied().max().unwrap_or(0);
    let size = format!("0 0 {width} {SPARK_HEIGHT}");
    let attributes = [("class", "spark"), ("viewBox", &*size), ("width", &*width), ("aria-hidden", "true")];
    html.open("svg", &[&attributes[..], &[("height", "18")]].concat());
    html.open("path", &[("d", &bars(numbers, most, 2, SPARK_HEIGHT))]);
    html.raw("</path></svg> ");
    html.element("span", &[("class", "number")], &count(numbers.iter().sum()));
}

/// Adds the section with pushes and NACKs over time, and a histogram of times to the verdict.
pub(super) fn charts(page: &Page<'_>, activity: &Activity, html: &mut Html) {
    html.raw("<section id=\"activity\" aria-labelledby=\"activity-title\">");
    html.element("h2", &[("id", "activity-title")], "Activity");
    html.raw("<div class=\"charts\">");
    if page.store.clock().untimed {
        html.element("p", &[("class", "muted")], "time not recorded");
    } else {
        over_time(page, activity, html);
    }
    histogram(page, activity, html);
    html.raw("</div></section>\n");
}

fn over_time(page: &Page<'_>, activity: &Activity, html: &mut Html) {
    let most = activity.pushes.iter().copied().max().unwrap_or(0);
    let total = |list: &[u64]| count(list.iter().sum());
    html.raw("<figure>");
    let label = format!("pushes {}, NACKs {}", total(&activity.pushes), total(&activity.nacks));
    html.element("figcaption", &[], &label);
    let width = PARTS as u64 * 8;
    let size = format!("0 0 {width} {}", BAR_HEIGHT + 34);
    html.open("svg", &[("class", "chart"), ("viewBox", &size), ("role", "img"), ("aria-label", &label)]);
    html.open("path", &[("class", "push"), ("d", &bars(&activity.pushes, most, 7, BAR_HEIGHT))]);
    html.raw("</path>");
    let line = format!("M0 {BAR_HEIGHT}.5h{width}");
    html.open("path", &[("class", "axis"), ("d", &line)]);
    html.raw("</path>");
    let marks = activity.nacks.iter().enumerate().filter(|(_, number)| **number > 0);
    for (at, number) in marks {
        let (x, y) = ((at * 8 + 4).to_string(), (BAR_HEIGHT + 14).to_string());
        html.open("text", &[("class", "nack"), ("x", &x), ("y", &y), ("text-anchor", "middle")]);
        html.element("title", &[], &plural(*number, "NACK"));
        html.raw("✗</text>");
    }
    let y = (BAR_HEIGHT + 30).to_string();
    html.element("text", &[("x", "0"), ("y", &y)], "0s");
    let end = age(Duration::from_nanos(page.store.now().0));
    let right = width.to_string();
    html.element("text", &[("x", &right), ("y", &y), ("text-anchor", "end")], &end);
    let max = format!("max {}", count(most));
    html.element("text", &[("x", &right), ("y", "10"), ("text-anchor", "end")], &max);
    html.raw("</svg></figure>");
}

fn histogram(page: &Page<'_>, activity: &Activity, html: &mut Html) {
    let most = activity.latencies.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let ack = page.store.ack_ms(page.streams.iter().map(|stream| stream.stream));
    let time = |ms: f64| Duration::try_from_secs_f64(ms / 1e3).map_or("-".to_owned(), latency);
    let ack = ack.map(|(p50, p99)| format!(": p50 {}, p99 {}", time(p50), time(p99))).unwrap_or_default();
    let label = format!("time from push to ACK or NACK{ack}");
    html.raw("<figure>");
    html.element("figcaption", &[], &label);
    let classes = activity.latencies.len() as u64;
    let size = format!("0 0 {} {}", classes * CLASS_WIDTH, BAR_HEIGHT + 34);
    html.open("svg", &[("class", "chart"), ("viewBox", &size), ("role", "img"), ("aria-label", &label)]);
    let mut lower = Duration::ZERO;
    for (at, number) in activity.latencies.iter().enumerate() {
        let tall = if *number == 0 { 0 } else { (number * (BAR_HEIGHT - 14) / most).max(2) };
        let x = at as u64 * CLASS_WIDTH;
        let (left, top) = ((x + 2).to_string(), (BAR_HEIGHT - tall).to_string());
        let tall = tall.to_string();
        html.open(
            "rect",
            &[("class", "push"), ("x", &left), ("y", &top), ("width", "52"), ("height", &tall)],
        );
        html.raw("</rect>");
        let middle = (x + CLASS_WIDTH / 2).to_string();
        if *number > 0 {
            let above = (BAR_HEIGHT - number * (BAR_HEIGHT - 14) / most).saturating_sub(4).to_string();
            let attributes = [("x", &*middle), ("y", &*above), ("text-anchor", "middle")];
            html.element("text", &attributes, &count(*number));
        }
        let y = (BAR_HEIGHT + 16).to_string();
        let upper = LATENCY_CLASSES.get(at);
        let words =
            upper.map_or_else(|| format!("≥ {}", latency(lower)), |end| format!("< {}", latency(*end)));
        lower = upper.copied().unwrap_or(lower);
        html.element("text", &[("x", &middle), ("y", &y), ("text-anchor", "middle")], &words);
    }
    let line = format!("M0 {BAR_HEIGHT}.5h{}", classes * CLASS_WIDTH);
    html.open("path", &[("class", "axis"), ("d", &line)]);
    html.raw("</path></svg></figure>");
}
