//! Secrets that were redacted before, to find them in texts.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use twox_hash::XxHash3_64;

use super::parts::KnownParts;
use super::readings::TextReading;
use super::values::is_ordinary;

/// Length of the shortest secret to look for in texts, in bytes. Shorter ones match ordinary text.
const MIN_BYTES: usize = 8;

/// Secrets in each of the two generations.
const MAX_SECRETS: usize = 1 << 15;

/// Lengths of secrets with the same beginning. With more, everything behind the beginning is
/// redacted up to the end of the word.
const MAX_LENGTHS: usize = 32;

/// Keyed hashes of redacted secrets, in each form in which a peer may print them.
///
/// Two generations bound the memory: once the newer one is full, it replaces the older one.
#[derive(Default)]
pub(super) struct KnownSecrets {
    newer: Generation,
    older: Generation,
    parts: KnownParts,
    seed: u64,
    /// Number of secrets that were forgotten.
    forgotten: u64,
}

#[derive(Default)]
struct Generation {
    /// By the first [`MIN_BYTES`] of a form, the lengths of the forms; empty if there are too many.
    lengths: HashMap<[u8; MIN_BYTES], Vec<u32>>,
    /// By hash of a form, the length and the hash of the secret.
    forms: HashMap<u64, (u32, u64)>,
    /// Hashes of the secrets.
    secrets: HashSet<u64>,
}

/// A secret in a text: its length and its hash, as far as they are known.
pub(super) struct FoundSecret {
    pub place: Range<usize>,
    pub of: Option<(usize, u64)>,
}

impl KnownSecrets {
    pub(super) fn new(seed: u64) -> KnownSecrets {
        KnownSecrets { seed, ..KnownSecrets::default() }
    }

    /// Number of secrets that texts are no longer searched for.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Adds a secret, unless it is too short, or words of sentences: a server must not hide the
    /// reasons of clients.
    pub(super) fn add(&mut self, secret: &[u8]) {
        if secret.len() < MIN_BYTES || is_sentence(secret) {
            return;
        }
        let hash = self.hash(secret);
        if self.newer.secrets.contains(&hash) {
            return;
        }
        if self.newer.secrets.len() == MAX_SECRETS {
            self.older = std::mem::take(&mut self.newer);
            self.forgotten += MAX_SECRETS as u64;
        }
        self.newer.secrets.insert(hash);
        self.parts.add(self.seed, secret, (secret.len() as u32, hash));
        let folded = TextReading::of(secret).bytes;
        for form in [secret, &folded] {
            let (Some(first), Ok(len)) = (form.first_chunk(), u32::try_from(form.len())) else { continue };
            let lengths = self.newer.lengths.entry(*first);
            match lengths {
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(vec![len]);
                }
                std::collections::hash_map::Entry::Occupied(mut entry) => {
                    let lengths = entry.get_mut();
                    if lengths.len() >= MAX_LENGTHS && !lengths.contains(&len) {
                        lengths.clear();
                    } else if !lengths.is_empty() && !lengths.contains(&len) {
                        lengths.push(len);
                    }
                }
            }
            let form = XxHash3_64::oneshot_with_seed(self.seed, form);
            self.newer.forms.insert(form, (secret.len() as u32, hash));
        }
    }

    fn hash(&self, bytes: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.seed, bytes)
    }

    /// Returns the places of secrets in a text. Places may overlap.
    pub(super) fn find(&self, text: &str) -> Vec<FoundSecret> {
        let text = text.as_bytes();
        if self.newer.secrets.is_empty() && self.older.secrets.is_empty() {
            return Vec::new();
        }
        let mut found = self.forms_in(text, true);
        for reading in TextReading::all(text) {
            let whole = self.forms_in(&reading.bytes, false).into_iter().filter(|secret| {
                // A word in another case is no secret. An encoding is longer.
                let place = reading.place(secret.place.clone()).unwrap_or_default();
                place.len() > secret.place.len() || !is_word(&text[place])
            });
            let parts = self
                .parts
                .find(self.seed, &reading.bytes)
                .into_iter()
                .map(|(place, (len, hash))| FoundSecret { place, of: Some((len as usize, hash)) });
            let known = found.len();
            for FoundSecret { place, of } in whole.chain(parts) {
                let Some(place) = reading.place(place) else { continue };
                // The places of each search are in order, but those of all are not.
                if !is_covered(&found, known, &place) {
                    found.push(FoundSecret { place, of });
                }
            }
            found.sort_by_key(|secret| (secret.place.start, std::cmp::Reverse(secret.place.end)));
        }
        found
    }

    /// Returns the places of the forms of secrets in bytes, in order: in a text, and in a reading
    /// of one.
    fn forms_in(&self, bytes: &[u8], is_text: bool) -> Vec<FoundSecret> {
        let generations = [&self.newer, &self.older];
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(first) = bytes.get(at..).and_then(|rest| rest.first_chunk::<MIN_BYTES>()) {
            let here =
                generations.iter().filter_map(|generation| self.at(generation, first, bytes, at, is_text));
            match here.max_by_key(|found| (found.of.is_some(), found.place.end)) {
                Some(secret) => {
                    at = secret.place.end;
                    found.push(secret);
                }
                None => at += 1,
            }
        }
        found
    }

    fn at(
        &self,
        generation: &Generation,
        first: &[u8; MIN_BYTES],
        bytes: &[u8],
        at: usize,
        is_text: bool,
    ) -> Option<FoundSecret> {
        let lengths = generation.lengths.get(first)?;
        if lengths.is_empty() {
            let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'<>,;()[]{}".contains(byte);
            let end = bytes.iter().skip(at + MIN_BYTES).position(ends);
            let end = end.map_or(bytes.len(), |end| at + MIN_BYTES + end);
            let is_reason = is_ordinary(&bytes[at..end]);
            return (!is_reason).then_some(FoundSecret { place: at..end, of: None });
        }
        let longest_first = lengths.iter().filter_map(|len| {
            let place = at..at + *len as usize;
            let content = bytes.get(place.clone())?;
            let form = self.hash(content);
            let (len, hash) = *generation.forms.get(&form)?;
            // The letters of a word are those of the secret, and no part of another word.
            let is_other = is_text && is_word(content) && (form != hash || !is_apart(bytes, &place));
            (!is_other).then_some(FoundSecret { place, of: Some((len as usize, hash)) })
        });
        longest_first.max_by_key(|found| found.place.end)
    }
}

/// Whether a text is nothing but words of sentences, with signs between.
fn is_sentence(secret: &[u8]) -> bool {
    let is_word = |word: &[u8]| is_ordinary(word) && word.iter().any(u8::is_ascii_alphabetic);
    let mut words = secret.split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric());
    words.all(|word| word.is_empty() || is_word(word))
}

/// Whether bytes are nothing but letters.
fn is_word(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(char::is_alphabetic))
}

/// Whether no letter and no digit touches a part of a text.
fn is_apart(text: &[u8], place: &Range<usize>) -> bool {
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    !text[..place.start].last().is_some_and(in_word) && !text.get(place.end).is_some_and(in_word)
}

/// Whether one of the first `known` places, which are in order, covers a place.
fn is_covered(found: &[FoundSecret], known: usize, place: &Range<usize>) -> bool {
    let before = found.get(..known).unwrap_or_default();
    let last = before.partition_point(|other| other.place.start <= place.start).checked_sub(1);
    last.and_then(|last| before.get(last)).is_some_and(|other| other.place.end >= place.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::base64;

    fn places(known: &KnownSecrets, text: &str) -> Vec<String> {
        known.find(text).into_iter().map(|found| text[found.place].to_owned()).collect()
    }

    #[test]
    fn finds_each_of_many_secrets() {
        let mut known = KnownSecrets::new(1);
        (0..20_000).for_each(|i| known.add(format!("{i:05} is a secret").as_bytes()));
        for i in [0, 128, 19_999] {
            let secret = format!("{i:05} is a secret");
            assert_eq!(places(&known, &format!("refused: '{secret}', é {secret}")), [&*secret, &*secret]);
        }
        assert!(places(&known, "20001 is a secret").is_empty());
        assert_eq!(known.forgotten(), 0);
    }

    #[test]
    fn finds_encoded_and_cut_secrets() {
        let mut known = KnownSecrets::new(1);
        let secret = "tKn8sD2kQpZ7vXw3LmR5yHc9";
        known.add(secret.as_bytes());
        known.add(b"Zq8rW2x1y");
        let base64 = |text: String| base64::encode(text.as_bytes());
        let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        let listed = |text: &str| text.bytes().map(|byte| format!("0x{byte:02x}, ")).collect::<String>();
        let percent = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        for form in [
            hex(secret),
            hex(secret).to_uppercase(),
            listed(secret).trim_end_matches(", ").to_owned(),
            listed(secret).replace("0x", "").replace(',', "").trim_end().to_owned(),
            percent(secret),
            base64(format!("Bearer {secret}")),
            base64(format!("user:{secret}")),
            base64(format!("me:{secret}")),
            secret.to_uppercase(),
            format!("{}\n    {}", &secret[..10], &secret[10..]),
            secret[..12].to_owned(),
            secret[5..17].to_owned(),
            hex("Zq8rW2x1y"),
            "ZQ8RW2X1Y".to_owned(),
        ] {
            let text = format!("it said {form}, é");
            let mut covered = vec![false; text.len()];
            for FoundSecret { place, of } in known.find(&text) {
                assert!(of.is_some_and(|(len, _)| len == 24 || len == 9), "{text}");
                covered[place].fill(true);
            }
            let left = covered.iter().filter(|covered| !**covered).count();
            assert!(left <= "it said , é".len() + 12, "{text}: {left}");
        }
        assert!(known.find(&format!("{} {}", &secret[..11], &secret[12..23])).is_empty());
    }

    #[test]
    fn finds_no_secrets_in_ordinary_texts() {
        let mut known = KnownSecrets::new(1);
        known.add(br#"{"type": "service_account", "auth_uri": "https://accounts.google.com/o/oauth2/auth"}"#);
        known.add(
            b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n",
        );
        for text in [
            "-----BEGIN PUBLIC KEY-----",
            "the private key-",
            "https://accounts.google.com/o/",
            "service_account",
        ] {
            assert!(known.find(text).is_empty(), "{text}");
        }
        assert_eq!(places(&known, "it is MIIEvQIBADANBgk."), ["MIIEvQIBADANBgk"]);
    }

    #[test]
    fn forgets_the_oldest_beyond_the_limit() {
        let mut known = KnownSecrets::new(1);
        (0..3 * MAX_SECRETS).for_each(|i| known.add(format!("{i:08}-secret").as_bytes()));
        let last = format!("{:08}-secret", 3 * MAX_SECRETS - 1);
        assert_eq!(places(&known, &last), std::slice::from_ref(&last));
        assert!(places(&known, "00000001-secret").is_empty());
        assert_eq!(known.forgotten(), 2 * MAX_SECRETS as u64);
        assert!(known.newer.secrets.len() + known.older.secrets.len() <= 2 * MAX_SECRETS);
    }

    #[test]
    fn redacts_words_with_a_beginning_of_too_many_secrets() {
        let mut known = KnownSecrets::new(1);
        (0..100).for_each(|i| known.add(format!("beginning{}", "x".repeat(i)).as_bytes()));
        assert_eq!(places(&known, "it says \"beginning-unknown\", ok"), ["beginning-unknown"]);
    }
}
