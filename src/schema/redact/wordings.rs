//! Values in wordings without a separator: `password is ...`, `IDENTIFIED BY '...'`, commands such
//! as `mysql -p...`, and lines of `.netrc`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::members::name_text;
use super::values::{Words, value};
use crate::schema::secret_names::SecretNames;

/// Names with a verb.
static STATEMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)([A-Z0-9_.-]{2,64})(?:\\{0,7}["'`])?\s{1,8}(?:is|was|are|were|equals|(?:is |was )?set to|changed to)[\s:]{1,8}"#,
    )
    .expect("a pattern of ours")
});

/// Passwords in quotes, with nothing or a verb in front.
static QUOTED_PASSWORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)(?:passw(?:or)?d|passphrase|pwd)\s{1,8}(?:(?:is|was|equals|set to|changed to|of|as|to)\s{1,8})?(\\{0,7}["'`])"#,
    )
    .expect("a pattern of ours")
});

/// Passwords in SQL.
static IDENTIFIED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)\bidentified\s{1,8}(?:(?:with|via)\s{1,8}[^\s]{1,64}\s{1,8})?(?:by|as|using)\s{1,8}(?:password\s{1,8})?(\\{0,7}["'`])"#,
    )
    .expect("a pattern of ours")
});

/// Passwords in lines of `.netrc`.
static NETRC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?-u)\b(?:machine\s{1,8}[^\s]{1,256}|default)\s{1,8}(?:(?:login|user|account)\s{1,8}[^\s]{1,256}\s{1,8}){0,2}passw(?:or)?d\s{1,8}",
    )
    .expect("a pattern of ours")
});

/// Commands with an option of one letter for a password.
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    let option = |commands: &str, letter: &str, behind: &str| {
        format!(r#"\b(?:{commands})\b[^\n|;]{{0,256}}?[\s"']-{letter}{behind}"#)
    };
    let quote = r#"(?:[ =]|\\{0,7}["'][ \t]{0,8},\s{0,8})?"#;
    let options = [
        option("mysql[a-z]*|mariadb[a-z-]*|mongo[a-z]*|sshpass|(?:docker|podman|helm|oras|skopeo|crane) login", "p", quote),
        option("redis-cli", "a", quote),
        option("ldap[a-z]{3,8}", "w", quote),
        option("curl|wget", "u", r#"[ =]?\\{0,7}["']?[^\s"':]{1,256}:"#),
    ];
    Regex::new(&format!("(?-u)(?:{})", options.join("|"))).expect("a pattern of ours")
});

/// Collects the values in such wordings.
pub(super) fn find(text: &[u8], names: &SecretNames, found: &mut Vec<Range<usize>>) {
    let statements = STATEMENT.captures_iter(text).filter_map(|statement| {
        let is_secret = names.is_key(name_text(statement.get(1)?)?);
        let at = statement.get(0).filter(|_| is_secret)?.end();
        let value = value(text, at, false, Words::Credentials)?;
        super::values::is_credential(&text[value.clone()]).then_some(value)
    });
    found.extend(statements);
    for pattern in [&QUOTED_PASSWORD, &IDENTIFIED] {
        let quotes = pattern.captures_iter(text).filter_map(|quoted| quoted.get(1));
        found.extend(quotes.filter_map(|quote| value(text, quote.start(), false, Words::Any)));
    }
    for pattern in [&NETRC, &COMMAND] {
        let values = pattern.find_iter(text).filter_map(|all| value(text, all.end(), false, Words::Unusual));
        // Another option is no value.
        found.extend(values.filter(|value| text[value.start] != b'-'));
    }
}
