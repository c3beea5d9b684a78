//! Scrolling of lists that are drawn a window at a time.

/// The offset nearest to `top` that shows row `at` in `height` of `len` rows, without blank rows
/// below the last one.
pub(crate) fn scroll(top: usize, at: usize, height: usize, len: usize) -> usize {
    let height = height.max(1);
    let top = top.min(len.saturating_sub(height));
    if at < top { at } else { top.max((at + 1).saturating_sub(height)) }
}

#[cfg(test)]
mod tests {
    use super::scroll;

    #[test]
    fn scrolls_no_further_than_needed() {
        assert_eq!(scroll(0, 3, 5, 10), 0);
        assert_eq!(scroll(0, 5, 5, 10), 1);
        assert_eq!(scroll(4, 2, 5, 10), 2);
        assert_eq!(scroll(9, 9, 5, 10), 5);
        assert_eq!(scroll(7, 1, 5, 3), 0);
        assert_eq!(scroll(0, 0, 0, 0), 0);
    }
}
