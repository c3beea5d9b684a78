use xdscope_wire::text::display_safe;

/// Escapes a text, so that Markdown shows it as it is, on one line.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in display_safe(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '@' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_markup_as_text() {
        assert_eq!(markdown("a|b<img>*x*"), r"a\|b&lt;img>\*x\*");
        assert_eq!(markdown("[x](y)\r\n@team"), r"\[x\](y)\\r\\n\@team");
    }
}
