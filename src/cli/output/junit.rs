//! Test results in the format of JUnit.

use std::io::{self, Write};

/// A test case; it fails if it has failures.
pub(crate) struct JunitCase {
    pub(crate) name: String,
    /// Kind and text of each failure.
    pub(crate) failures: Vec<(String, String)>,
    /// Why the case was skipped; `None`: it was not.
    pub(crate) skipped: Option<String>,
    /// The output of the case.
    pub(crate) output: Option<String>,
}

/// Writes one test suite.
pub(crate) fn write_junit(
    suite: &str,
    class: &str,
    cases: &[JunitCase],
    out: &mut dyn Write,
) -> io::Result<()> {
    let (tests, failures) = (cases.len(), cases.iter().filter(|case| !case.failures.is_empty()).count());
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites tests=\"{tests}\" failures=\"{failures}\">")?;
    let name = xml(suite);
    writeln!(out, "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\">")?;
    for JunitCase { name, failures, skipped, output } in cases {
        let case = format!("<testcase classname=\"{}\" name=\"{}\"", xml(class), xml(name));
        if failures.is_empty() && skipped.is_none() && output.is_none() {
            writeln!(out, "    {case}/>")?;
            continue;
        }
        writeln!(out, "    {case}>")?;
        for (kind, text) in failures {
            writeln!(out, "      <failure type=\"{}\" message=\"{}\"/>", xml(kind), xml(text))?;
        }
        if let Some(text) = skipped {
            writeln!(out, "      <skipped message=\"{}\"/>", xml(text))?;
        }
        if let Some(text) = output {
            writeln!(out, "      <system-out>")?;
            text.lines().try_for_each(|line| writeln!(out, "{}", xml(line)))?;
            writeln!(out, "      </system-out>")?;
        }
        writeln!(out, "    </testcase>")?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// Escapes text for XML, in attributes too. XML has no form for control characters.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in xdscope_wire::text::display_safe(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
