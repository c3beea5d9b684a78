//! Tokens without a name whose form tells that they are secret: the prefix of an issuer and
//! random letters.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::values::{has_digit, starts_word};

/// Tokens of one kind.
pub(super) struct TokenForm {
    /// The name in `docs/secrets/forms.md`.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares the documentation"))]
    issuer: &'static str,
    prefixes: &'static [&'static str],
    /// Bytes of the rest besides letters and digits.
    signs: &'static [u8],
    /// Fewest bytes of the rest: fewer than an issuer writes, because peers cut texts.
    min_bytes: usize,
    /// Start of the token.
    start: TokenStart,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenStart {
    /// At the prefix.
    Prefix,
    /// Behind the prefix, which is a part of a URL.
    Url,
    /// At the digits in front of the prefix.
    Digits,
}

const fn token(
    issuer: &'static str,
    prefixes: &'static [&'static str],
    signs: &'static [u8],
    min_bytes: usize,
) -> TokenForm {
    TokenForm { issuer, prefixes, signs, min_bytes, start: TokenStart::Prefix }
}

const fn url(
    issuer: &'static str,
    prefixes: &'static [&'static str],
    signs: &'static [u8],
    min_bytes: usize,
) -> TokenForm {
    TokenForm { issuer, prefixes, signs, min_bytes, start: TokenStart::Url }
}

/// All forms. More than 64 prefixes would make the search slower: the vector search of the crate
/// `aho-corasick` has room for 64.
pub(super) const FORMS: [TokenForm; 30] = [
    // https://docs.github.com/authentication: "About authentication to GitHub", "Token formats".
    token("GitHub", &["ghp_", "gho_", "ghu_", "ghr_"], b"", 20),
    // Installation tokens may be JWTs.
    token("GitHub", &["ghs_", "github_pat_"], b"_-.", 20),
    // https://docs.gitlab.com/security/tokens: "Token prefixes".
    token(
        "GitLab",
        &["glpat-", "gldt-", "glptt-", "glrt-", "glcbt-", "glft-", "glsoat-", "gloas-"],
        b"_-.",
        16,
    ),
    // https://docs.slack.dev/authentication/tokens: "Token types".
    token(
        "Slack",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxc-", "xoxd-", "xapp-"],
        b"-.%",
        10,
    ),
    // https://docs.slack.dev/messaging: "Sending messages using incoming webhooks".
    url("Slack webhooks", &["hooks.slack.com/"], b"/_-", 20),
    // https://docs.discord.com/developers/resources/webhook: "Execute Webhook".
    url("Discord webhooks", &["/api/webhooks/"], b"/_-", 30),
    // https://learn.microsoft.com/microsoftteams: "Create Incoming Webhooks".
    url("Microsoft Teams webhooks", &["webhook.office.com/"], b"/_@-", 30),
    // https://docs.stripe.com/keys: "API keys"; https://docs.stripe.com/webhooks.
    token("Stripe", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"], b"+/=", 16),
    // https://cloud.google.com/docs/authentication: "Manage API keys", "Token types".
    token("Google", &["AIza", "GOCSPX-"], b"_-", 24),
    token("Google", &["ya29."], b"_-.", 20),
    // https://developer.hashicorp.com/vault/docs/concepts/tokens: "Token prefixes".
    token("HashiCorp Vault", &["hvs.", "hvb.", "hvr."], b"_-", 20),
    // https://docs.npmjs.com: "About access tokens"; https://docs.pypi.org/trusted-publishers.
    token("npm", &["npm_"], b"", 24),
    token("PyPI", &["pypi-AgE"], b"_-", 40),
    // https://www.twilio.com/docs/sendgrid: "API Keys". Two parts with a dot.
    token("SendGrid", &["SG."], b"_-.", 40),
    // https://docs.digitalocean.com/reference/api: "Create a Personal Access Token".
    token("DigitalOcean", &["dop_v1_", "doo_v1_", "dor_v1_"], b"", 32),
    // https://shopify.dev/docs/apps/build/authentication-authorization: "Access tokens".
    token("Shopify", &["shpat_", "shpca_", "shppa_", "shpss_"], b"", 16),
    // https://github.com/C2SP/C2SP/blob/main/age.md: "The X25519 recipient type".
    token("age", &["AGE-SECRET-KEY-"], b"-", 20),
    // https://core.telegram.org/bots/api: "Authorizing your bot".
    url("Telegram bots", &["api.telegram.org/bot", "api.telegram.org/file/bot"], b":_-", 20),
    TokenForm {
        issuer: "Telegram bots",
        prefixes: &[":AA"],
        signs: b"_-",
        min_bytes: 30,
        start: TokenStart::Digits,
    },
    // https://platform.openai.com/docs/api-reference: "Authentication".
    token("OpenAI", &["sk-proj-", "sk-svcacct-"], b"_-", 20),
    // https://docs.anthropic.com/en/api: "Authentication".
    token("Anthropic", &["sk-ant-"], b"_-", 20),
    // https://docs.aws.amazon.com/IAM: "IAM identifiers", "Understanding unique ID prefixes".
    token("AWS access key IDs", &["AKIA", "ASIA"], b"", 16),
    // https://huggingface.co/docs/hub/security-tokens: "User access tokens".
    token("Hugging Face", &["hf_"], b"", 24),
    // https://docs.docker.com/security/access-tokens: "Personal access tokens".
    token("Docker Hub", &["dckr_pat_"], b"_-", 20),
    // https://grafana.com/docs/grafana/latest/administration/service-accounts.
    token("Grafana", &["glsa_"], b"_", 24),
    // https://docs.databricks.com/dev-tools/auth/pat: "Personal access tokens".
    token("Databricks", &["dapi"], b"", 32),
    // https://support.atlassian.com/atlassian-account: "Manage API tokens".
    token("Atlassian", &["ATATT3"], b"_-=", 40),
    // https://tailscale.com/kb: "Auth keys", "API".
    token("Tailscale", &["tskey-"], b"-", 16),
    // https://www.pulumi.com/docs: "Access tokens".
    token("Pulumi", &["pul-"], b"", 32),
    // https://docs.newrelic.com/docs/apis: "New Relic API keys".
    token("New Relic", &["NRAK-"], b"", 20),
];

/// Most digits in front of `:AA`, and fewest.
const BOT_DIGITS: Range<usize> = 6..13;

/// All prefixes, in order, with the indices of their forms.
static INDEX: LazyLock<Vec<(&str, usize)>> = LazyLock::new(|| {
    let forms = FORMS.iter().enumerate();
    let mut index: Vec<(&str, usize)> =
        forms.flat_map(|(place, form)| form.prefixes.iter().map(move |prefix| (*prefix, place))).collect();
    index.sort_unstable();
    index
});

static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
    let prefixes: Vec<String> = INDEX.iter().map(|(prefix, _)| regex::escape(prefix)).collect();
    Regex::new(&format!("(?-u){}", prefixes.join("|"))).expect("a pattern of ours")
});

/// Letters behind prefixes that also occur in base64: behind `+` and `/` a token has all of them.
const LETTERS_IN_BASE64: [(&str, usize); 4] = [("AIza", 35), ("AKIA", 16), ("ASIA", 16), ("dapi", 32)];

/// Prefixes that many words have, so that a token is a word of its own.
const SHORT_PREFIXES: [&str; 4] = ["SK", "AC", "key-", "s."];

/// Tokens with a short prefix, and those with letters of several kinds: each letter counts.
static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        // https://www.twilio.com/docs/glossary/what-is-a-sid: API keys and accounts.
        "(?:SK|AC)[0-9a-f]{32}",
        // https://documentation.mailgun.com: "API Keys".
        "key-[0-9a-z]{32}",
        // https://developer.hashicorp.com/vault/docs/concepts/tokens: before version 1.10.
        r"s\.[0-9A-Za-z]{24}",
        // https://platform.openai.com/docs/api-reference: before keys of projects.
        "sk-[0-9A-Za-z]{20}T3BlbkFJ[0-9A-Za-z]{20}",
        // https://developer.squareup.com/docs/build-basics/access-tokens.
        "sq0(?:atp|csp)-[0-9A-Za-z_-]{22,}",
        // https://linear.app/developers: "Personal API keys".
        "lin_api_[0-9A-Za-z]{32,}",
        // https://docs.doppler.com/reference/auth-token-formats.
        r"dp\.(?:ct|pt|sa|st)\.(?:[0-9A-Za-z_-]{1,64}\.)?[0-9A-Za-z]{40,}",
        // https://guides.rubygems.org/api-key-scopes.
        "rubygems_[0-9a-f]{32,}",
        // https://developer.1password.com/docs/service-accounts.
        "ops_eyJ[0-9A-Za-z_-]{40,}",
        // https://devcenter.heroku.com/articles/authentication.
        "HRKU-[0-9A-Za-z_-]{36,}",
        // https://plaid.com/docs/api/items: "Exchange public token".
        "access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ];
    Regex::new(&format!("(?-u){}", forms.join("|"))).expect("a pattern of ours")
});

/// Returns a pattern of the prefixes of tokens with slashes, given a pattern of a slash.
pub(super) fn prefixes_with_slashes(slash: &str) -> String {
    let has_slash = |prefix: &&str| prefix.contains('/');
    let forms = FORMS.iter().filter(|form| form.signs.contains(&b'/') || form.prefixes.iter().any(has_slash));
    let prefixes =
        forms.flat_map(|form| form.prefixes).map(|prefix| regex::escape(prefix).replace('/', slash));
    prefixes.collect::<Vec<_>>().join("|")
}

/// Whether bytes may contain such a token. Takes little time.
///
/// The byte in front may be the length of a field rather than a letter.
pub(super) fn may_have_tokens(bytes: &[u8]) -> bool {
    PREFIX.find_iter(bytes).any(|prefix| place(bytes, prefix.range(), false).is_some())
        || WHOLE.find_iter(bytes).any(|token| is_mixed(token.as_bytes()))
}

/// Collects all such tokens.
pub(super) fn find(text: &[u8], found: &mut Vec<Range<usize>>) {
    let mut end = 0;
    for prefix in PREFIX.find_iter(text) {
        // A token may contain a prefix.
        if prefix.start() < end {
            continue;
        }
        if let Some(token) = place(text, prefix.range(), true) {
            end = token.end;
            found.push(token);
        }
    }
    let whole = WHOLE.find_iter(text).filter(|token| is_mixed(token.as_bytes()));
    let is_token = |token: &Range<usize>| {
        let is_short = SHORT_PREFIXES.iter().any(|prefix| text[token.start..].starts_with(prefix.as_bytes()));
        if is_short { is_apart(text, token) } else { starts_word(text, token.start) }
    };
    found.extend(whole.map(|token| token.range()).filter(is_token));
}

/// Whether the letters of a token are of all kinds that its form has.
fn is_mixed(token: &[u8]) -> bool {
    let letters = token.get("s.".len()..).unwrap_or_default();
    let has_capitals = || letters.iter().any(u8::is_ascii_uppercase);
    has_digit(letters)
        && letters.iter().any(u8::is_ascii_lowercase)
        && (!token.starts_with(b"s.") || has_capitals())
}

/// Whether no part of a name touches a token.
fn is_apart(text: &[u8], token: &Range<usize>) -> bool {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let before = text[..token.start].last().is_none_or(|byte| !in_name(byte));
    let after = text.get(token.end).is_none_or(|byte| *byte == b'.' || !in_name(byte));
    before && after
}

/// Returns the place of the token with a prefix, which must begin a word if `is_word` is set.
fn place(text: &[u8], prefix: Range<usize>, is_word: bool) -> Option<Range<usize>> {
    let known = std::str::from_utf8(&text[prefix.clone()]).ok()?;
    let index = INDEX.binary_search_by(|(other, _)| (*other).cmp(known)).ok()?;
    let form = &FORMS[INDEX[index].1];
    let start = match form.start {
        TokenStart::Prefix => (!is_word || starts_word(text, prefix.start)).then_some(prefix.start)?,
        TokenStart::Url => prefix.end,
        TokenStart::Digits => {
            let front = text[..prefix.start].iter().rev().take(BOT_DIGITS.end);
            let digits = front.take_while(|byte| byte.is_ascii_digit()).count();
            BOT_DIGITS.contains(&digits).then_some(prefix.start - digits)?
        }
    };
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || form.signs.contains(byte);
    let rest = &text[prefix.end..];
    // A text of nothing but prefixes is not read to its end for each of them.
    let sample = rest.get(..form.min_bytes)?;
    if !sample.iter().all(is_letter) || !is_random(sample) {
        return None;
    }
    let len = rest.iter().take_while(|byte| is_letter(byte)).count();
    let len = rest[..len].iter().rposition(|byte| *byte != b'.').map_or(0, |last| last + 1);
    let follows_base64 = is_word && text[..start].last().is_some_and(|byte| b"+/".contains(byte));
    let in_base64 = |(other, letters): &(&str, usize)| *other == known && *letters != len;
    if len < form.min_bytes || follows_base64 && LETTERS_IN_BASE64.iter().any(in_base64) {
        return None;
    }
    Some(start..prefix.end + len)
}

/// Whether letters are no word: with a digit, or in both cases.
fn is_random(rest: &[u8]) -> bool {
    has_digit(rest) || rest.iter().any(u8::is_ascii_lowercase) && rest.iter().any(u8::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::super::plain::PlainText;
    use super::*;

    #[test]
    fn has_room_for_all_prefixes() {
        assert!(INDEX.len() <= 64, "{}", INDEX.len());
        assert!(INDEX.windows(2).all(|two| two[0].0 != two[1].0));
        // Alternatives are tried in order.
        assert!(INDEX.windows(2).all(|two| !two[1].0.starts_with(two[0].0)));
    }

    #[test]
    fn documentation_lists_all_forms() {
        let page = include_str!("../../../docs/secrets/forms.md");
        for form in &FORMS {
            assert!(page.contains(&format!("| {} |", form.issuer)), "{}", form.issuer);
            for prefix in form.prefixes {
                assert!(page.contains(&format!("`{prefix}`")), "{prefix}");
            }
        }
        for row in ["| Twilio | `SK`, `AC` |", "| Mailgun | `key-` |", "`hvr.`, `s.` |"] {
            assert!(page.contains(row), "{row}");
        }
    }

    /// Returns what is removed from a text without its escapes.
    fn removed(text: &str) -> Vec<String> {
        let plain = PlainText::of(text.as_bytes());
        let text = plain.as_ref().map_or(text.as_bytes(), |plain| &plain.bytes);
        let mut found = Vec::new();
        find(text, &mut found);
        assert!(found.is_empty() || may_have_tokens(text), "{text:?}");
        found.into_iter().map(|token| String::from_utf8_lossy(&text[token]).into_owned()).collect()
    }

    // Scanners of repositories would take a whole token for a secret.
    #[test]
    fn finds_whole_tokens_with_short_prefixes() {
        let hex = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
        for (prefix, letters) in [
            ("SK", hex),
            ("AC", hex),
            ("key-", hex),
            ("key-", "3ax6xnjp29jd6fds4gc373sgvjxteol0"),
            ("s.", "Ab3dEf6hIj9kLm2nOp5qRs8t"),
        ] {
            let token = format!("{prefix}{letters}");
            for text in
                ["HERE", "token=HERE", "Bearer HERE.", "a%3DHERE&b", "\"HERE\"", "/Accounts/HERE/Calls"]
            {
                assert_eq!(removed(&text.replace("HERE", &token)), [token.as_str()], "{text}");
            }
        }
    }

    #[test]
    fn names_with_short_prefixes_stay() {
        let hex = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
        for text in [
            // Other lengths, and parts of names.
            &format!("SK{}", &hex[1..]),
            &format!("AC{hex}0a"),
            &format!("cache-key-{hex}"),
            &format!("a.key-{hex}"),
            &format!("MASK{hex}"),
            &format!("key-{hex}-v2"),
            // Other letters.
            &format!("SK{}", hex.to_uppercase()),
            &format!("AC{}", "0".repeat(32)),
            &format!("key-{}", "abcdefgh".repeat(4)),
            // Methods, types and hosts.
            "s.processSubscriptionUpdate",
            "s.0a1b2c3d4e5f60718293a4b5",
            "services.Ab3dEf6hIj9kLm2nOp5qRs8t",
            "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            "SKIP ACCEPT ACK key-value s.mesh",
        ] {
            assert_eq!(removed(text), [""; 0], "{text}");
        }
    }
}
