//! The rejected body of a resource against its last good one, line by line.

use crate::body_lines::{self, Folds, TreeLine};
use xdscope_engine::diff::LineDiff;
use xdscope_engine::nack::RefusedResource;

/// Lines shown around a difference or a fault.
const CONTEXT_LINES: usize = 2;
/// Lines shown if nothing differs and no fault is known.
const FIRST_LINES: usize = 12;
/// Lines of a body that are compared.
const MAX_COMPARED_LINES: usize = 4000;

/// A line of either body, or of both.
#[derive(Clone, Debug)]
pub struct LinePair {
    /// The line of the good body.
    pub good: Option<usize>,
    /// The line of the rejected body.
    pub refused: Option<usize>,
    /// Whether the lines differ.
    pub differs: bool,
    /// The reason of the client, if the line is at fault.
    pub why: Option<String>,
    /// The line is shown while bodies are folded.
    pub is_shown: bool,
}

/// A field that the client refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultyField<'a> {
    /// Path of the field, or of its parent if the field is not set.
    pub path: &'a str,
    /// The value in the good body; `None` if there is none.
    pub good: Option<&'a str>,
    /// The refused value.
    pub refused: &'a str,
    /// The reason of the client.
    pub why: &'a str,
}

/// The bodies of a resource at fault. Made once, drawn often.
#[derive(Clone, Debug)]
pub struct BodyComparison {
    /// Name of the resource.
    pub name: String,
    /// The version of the good body; `None` if there is none.
    pub version: Option<String>,
    /// The lines of the good body; empty if there is none.
    pub good: Vec<TreeLine>,
    /// `None` if the rejected body was discarded.
    pub refused: Option<Vec<TreeLine>>,
    /// The lines of both bodies side by side.
    pub pairs: Vec<LinePair>,
}

impl BodyComparison {
    /// Compares the bodies of a resource.
    pub fn new(subject: &RefusedResource) -> BodyComparison {
        let open = Folds { all_open: true, ..Folds::default() };
        let lines = |body: &serde_json::Value| {
            let mut lines = body_lines::lines(body, &open);
            lines.truncate(MAX_COMPARED_LINES);
            lines
        };
        let refused = subject.refused.as_ref().map(lines);
        let good = subject.good.as_ref().map(|(_, body)| lines(body)).unwrap_or_default();
        let faults: Vec<(usize, &str)> = subject
            .faults
            .iter()
            .filter_map(|(field, why)| Some((line_of(refused.as_ref()?, &field.value)?, why.as_str())))
            .collect();
        let why = |at: Option<usize>| faults.iter().find(|(line, _)| Some(*line) == at).map(|(_, why)| *why);
        let mut pairs = match &refused {
            None => Vec::new(),
            Some(refused) if good.is_empty() => {
                (0..refused.len()).map(|i| pair(None, Some(i), false)).collect()
            }
            Some(refused) => pairs(&good, refused),
        };
        for pair in &mut pairs {
            pair.why = why(pair.refused).map(str::to_owned);
        }
        let differs: Vec<bool> = pairs.iter().map(|pair| pair.differs).collect();
        let at_fault: Vec<bool> = pairs.iter().map(|pair| pair.why.is_some()).collect();
        for (pair, shown) in pairs.iter_mut().zip(shown_lines(&differs, &at_fault)) {
            pair.is_shown = shown;
        }
        let version = subject.good.as_ref().map(|(version, _)| version.version.to_string());
        BodyComparison { name: subject.name.value.clone(), version, good, refused, pairs }
    }

    /// Returns the title of the good body: `last good 41`.
    pub fn good_title(&self) -> Option<String> {
        self.version.as_ref().map(|version| format!("last good {version}"))
    }

    /// Returns why there is no rejected body.
    pub fn absence(&self) -> String {
        format!("{}: its refused content is not held, or not in the push", self.name)
    }

    /// Returns the first field at fault, with its value in both bodies.
    pub fn faulty_field(&self) -> Option<FaultyField<'_>> {
        let (pair, why) = self.pairs.iter().find_map(|pair| Some((pair, pair.why.as_deref()?)))?;
        let line = self.refused.as_ref()?.get(pair.refused?)?;
        let good = self.good.iter().find(|of| of.path == line.path);
        Some(FaultyField { path: &line.path, good: good.map(value_of), refused: value_of(line), why })
    }

    /// Returns the line of the good body in a pair.
    pub fn good_line(&self, pair: &LinePair) -> Option<&str> {
        self.good.get(pair.good?).map(|line| line.text.as_str())
    }

    /// Returns the line of the rejected body in a pair.
    pub fn refused_line(&self, pair: &LinePair) -> Option<&str> {
        self.refused.as_ref()?.get(pair.refused?).map(|line| line.text.as_str())
    }
}

/// The value on the line of a field: `5s` of `connect_timeout: 5s`.
fn value_of(line: &TreeLine) -> &str {
    let text = line.text.trim();
    text.split_once(": ").map_or(text, |(_, value)| value)
}

fn pair(good: Option<usize>, refused: Option<usize>, differs: bool) -> LinePair {
    LinePair { good, refused, differs, why: None, is_shown: false }
}

/// Marks the lines at fault, the ends of each change, and a few lines around them.
fn shown_lines(differs: &[bool], at_fault: &[bool]) -> Vec<bool> {
    let differs_at = |i: Option<usize>| i.and_then(|i| differs.get(i)).copied().unwrap_or(false);
    let edge = |i: usize| differs_at(Some(i)) && !(differs_at(i.checked_sub(1)) && differs_at(Some(i + 1)));
    let marked: Vec<bool> = at_fault.iter().enumerate().map(|(i, fault)| *fault || edge(i)).collect();
    if !marked.contains(&true) {
        return (0..marked.len()).map(|i| i < FIRST_LINES).collect();
    }
    let near = |i: usize| {
        marked.iter().take(i + CONTEXT_LINES + 1).skip(i.saturating_sub(CONTEXT_LINES)).any(|marked| *marked)
    };
    (0..marked.len()).map(near).collect()
}

/// The line of a field, or of the nearest parent that has a line.
fn line_of(lines: &[TreeLine], path: &str) -> Option<usize> {
    let plain = path.replace("[]", "[0]");
    let mut wanted = plain.as_str();
    loop {
        let is_wanted = |line: &TreeLine| line.path == wanted;
        if let Some(at) = lines.iter().position(is_wanted) {
            return Some(at);
        }
        let within =
            |line: &TreeLine| line.path.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(['.', '[']));
        if let Some(at) = lines.iter().position(within) {
            return Some(at);
        }
        wanted = wanted.get(..wanted.rfind(['.', '['])?)?;
    }
}

fn pairs(good: &[TreeLine], refused: &[TreeLine]) -> Vec<LinePair> {
    // A peer may put line ends into a value.
    let text =
        |lines: &[TreeLine]| lines.iter().map(|line| line.text.replace('\n', " ") + "\n").collect::<String>();
    let index = |line: Option<u32>| line.map(|line| line as usize);
    let compared = LineDiff::new(text(good), text(refused));
    let pairs = compared.pairs().iter();
    pairs.map(|found| pair(index(found.left), index(found.right), found.changed)).collect()
}

#[cfg(test)]
mod tests {
    use super::shown_lines;

    #[test]
    fn shows_ends_and_faults_of_long_changes() {
        let flags = |text: &str| text.chars().map(|c| c == 'x').collect::<Vec<_>>();
        let shown = |differs: &str, fault: &str| {
            let shown = shown_lines(&flags(differs), &flags(fault));
            shown.iter().map(|shown| if *shown { 'x' } else { '.' }).collect::<String>()
        };
        assert_eq!(shown("....x....", "........."), "..xxxxx..");
        assert_eq!(shown("...........", "..x........"), "xxxxx......");
        assert_eq!(shown("xxxxxxxxxxxxx", "............."), "xxx.......xxx");
        assert_eq!(shown("xxxxxxxxxxxxx", "......x......"), "xxx.xxxxx.xxx");
        assert_eq!(shown(&".".repeat(14), &".".repeat(14)), "xxxxxxxxxxxx..");
    }
}
