//! Values in wordings without a separator: `password is ...`, `IDENTIFIED BY '...'`, commands such
//! as `mysql -p...`, and lines of `.netrc`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

use super::members::{KEY_KINDS, name_text, named};
use super::values::{Words, has_space, value};
use crate::secret_names::SecretNames;

/// Names with a verb.
static STATEMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)((?:{KEY_KINDS} )?[A-Z0-9_.-]{2,64})(?:\\{0,7}["'`])?\s{1,8}(?:(?:(?:is|was) )?(?:set|reset|changed|rotated|updated) to|is|was|are|were|equals)[\s:]{1,8}"#
            .replace("{KEY_KINDS}", KEY_KINDS)
            .as_str(),
    )
    .expect("a pattern of ours")
});

/// Passwords without a separator, in quotes also behind a verb.
static PASSWORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)(?:passw(?:or)?d|passphrase|pwd)\s{1,8}(?:(?:(?:is|was|equals|set to|changed to|of|as|to)\s{1,8})?(\\{0,7}["'`])|([^\s"'`\\]))"#,
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
        option(
            "mysql[a-z]*|mariadb[a-z-]*|mongo[a-z]*|sshpass|(?:docker|podman|helm|oras|skopeo|crane) login",
            "p",
            quote,
        ),
        option("redis-cli", "a", quote),
        option("ldap[a-z]{3,8}", "w", quote),
        option("curl|wget", "u", r#"[ =]?\\{0,7}["']?[^\s"':]{1,256}:"#),
    ];
    Regex::new(&format!("(?-u)(?:{})", options.join("|"))).expect("a pattern of ours")
});

/// Collects the values in such wordings.
pub(super) fn find(text: &[u8], names: &SecretNames, found: &mut Vec<Range<usize>>) {
    if has_space(text) {
        find_statements(text, names, found);
    }
    for pattern in [&NETRC, &COMMAND] {
        let values = pattern.find_iter(text).filter_map(|all| value(text, all.end(), false, Words::Unusual));
        // Another option is no value.
        found.extend(values.filter(|value| text[value.start] != b'-'));
    }
}

/// Collects the values of statements about a secret, and passwords without a separator.
fn find_statements(text: &[u8], names: &SecretNames, found: &mut Vec<Range<usize>>) {
    // The value of a statement must look like a credential, also in quotes.
    let credential = |at| {
        let value = value(text, at, false, Words::Credentials)?;
        Words::Credentials.accept(&text[value.clone()]).then_some(value)
    };
    let secret = |statement: Captures<'_>| {
        let is_secret = names.is_key(name_text(statement.get(1)?)?);
        credential(statement.get(0).filter(|_| is_secret)?.end())
    };
    found.extend(named(&STATEMENT, text, names).filter_map(secret));
    for pattern in [&PASSWORD, &IDENTIFIED] {
        for password in pattern.captures_iter(text) {
            found.extend(password.get(1).and_then(|quote| value(text, quote.start(), false, Words::Any)));
            found.extend(password.get(2).and_then(|word| credential(word.start())));
        }
    }
}
