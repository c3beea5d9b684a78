//! Names cut by their structure, so that the part that tells them apart stays.

use core::net::IpAddr;
use core::ops::{Range, RangeInclusive};
use std::borrow::Cow;

use crate::text::cut::{Keep, cut, cut_end, fits, head, width};

/// The characters of hashes in names that Kubernetes makes.
const HASH_CHARACTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
/// The fewest cells of a name beside words that stay.
const MIN_NAME_CELLS: usize = 4;

/// Cuts a resource or node name to at most `cells` cells.
///
/// An `xdstp://` name keeps its authority and its id, the node id of an Istio proxy its pod and
/// namespace, a pod its workload and suffix, an Istio cluster its port, subset and host, and a host
/// its first labels. Of other names, the middle is left out. Words beside a name stay: a label
/// before, or what tells clients with one node id apart.
pub fn cut_name<'a>(name: &'a str, cells: usize, mark: &str) -> Cow<'a, str> {
    if fits(name, cells) {
        return Cow::Borrowed(name);
    }
    let words = match name.contains(' ') {
        true => structured_words(name, mark),
        false => vec![(0..name.len(), shorter(name, mark))],
    };
    match shortened(name, &words, cells) {
        Ok(short) => Cow::Owned(short),
        Err(_) if name.starts_with("xdstp://") => cut(name, cells, Keep::Ends, mark),
        // Too narrow for the shortest form too.
        Err(shortest) => {
            let Some(short) = words.first().and_then(|(_, forms)| forms.last()) else {
                return cut(name, cells, Keep::Ends, mark);
            };
            let room = (cells + width(short)).saturating_sub(width(&shortest));
            let bare = short.trim_start_matches(mark).trim_end_matches(mark);
            let cut_form = cut(bare, room, Keep::Ends, mark);
            Cow::Owned(match room > MIN_NAME_CELLS || !name.contains(' ') {
                true => shortest.replacen(short.as_str(), &cut_form, 1),
                false => cut(&shortest, cells, Keep::Ends, mark).into_owned(),
            })
        }
    }
}

/// Cuts different names whose short forms are equal: what tells them apart stays.
///
/// Each keeps the place where the names begin to differ, with up to a third of the cells before it.
pub fn cut_apart(names: &[&str], cells: usize, mark: &str) -> Vec<String> {
    let shared = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let first = names.first().copied().unwrap_or_default();
    let differs = names.iter().map(|name| shared(first, name)).min().unwrap_or(0);
    let skipped = differs.saturating_sub(cells / 3);
    let short = |name: &&str| {
        let from = name.char_indices().nth(skipped).map_or(name.len(), |(at, _)| at);
        let rest = name.get(from..).unwrap_or_default();
        let start = if from == 0 { "" } else { mark };
        let room = cells.saturating_sub(width(start));
        let rest = if fits(rest, room) { rest.to_owned() } else { cut_end(rest, room, mark) };
        format!("{start}{rest}")
    };
    names.iter().map(short).collect()
}

/// The fewest cells of versions that lose what they share.
const MIN_VERSION_CELLS: usize = 13;

/// Replaces what all of some versions begin with by `mark`, up to their last separator there:
/// `2026-11-22T16:04:53Z/2` and `2026-11-22T16:05:10Z/3` become `…04:53Z/2` and `…05:10Z/3`.
///
/// Texts without a letter or digit, such as `-`, are no versions, and stay.
pub fn without_shared(versions: &[&str], mark: &str) -> Vec<String> {
    let is_version = |text: &str| text.contains(char::is_alphanumeric);
    let mut all = versions.iter().copied().filter(|text| is_version(text));
    let is_wide = versions.iter().any(|version| width(version) >= MIN_VERSION_CELLS);
    let mut shared = all.next().filter(|_| is_wide).unwrap_or_default();
    for version in all {
        let equal = shared.char_indices().zip(version.chars()).find(|((_, a), b)| a != b);
        let end = equal.map_or(shared.len().min(version.len()), |((at, _), _)| at);
        shared = shared.get(..end).unwrap_or_default();
    }
    // A version that all share whole keeps its last part.
    let is_whole = versions.contains(&shared);
    let end = if is_whole { shared.trim_end_matches(|c: char| !c.is_alphanumeric()) } else { shared };
    let start = end.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |at| at + 1);
    let short = |version: &&str| match version.get(start..) {
        Some(rest) if start > width(mark) && is_version(version) => format!("{mark}{rest}"),
        _ => (*version).to_owned(),
    };
    versions.iter().map(short).collect()
}

/// Cuts the words of a sentence that are wider than `cells` cells, as names.
pub fn cut_long_words<'a>(text: &'a str, cells: usize, mark: &str) -> Cow<'a, str> {
    if text.split(' ').all(|word| fits(word, cells)) {
        return Cow::Borrowed(text);
    }
    let mut quotes = Quotes::default();
    let shorter = |word: &str| {
        let name = word.trim_end_matches([',', ';', ':', '.']);
        let end = word.get(name.len()..).unwrap_or_default();
        format!("{}{end}", cut_name(name, cells.saturating_sub(width(end)), mark))
    };
    let mut words = Vec::new();
    for word in text.split(' ') {
        let is_quoted = quotes.has_part_of(word);
        words.push(if is_quoted || fits(word, cells) { word.to_owned() } else { shorter(word) });
    }
    Cow::Owned(words.join(" "))
}

/// Cuts a sentence that does not fit: shortens the names with a known structure in it, and then
/// leaves out the end.
pub(super) fn cut_words(text: &str, cells: usize, mark: &str) -> String {
    // The names in the cells, and in as many more as shorter names make room for.
    let near = head(text, cells.saturating_mul(4));
    let words = structured_words(near, mark);
    match shortened(near, &words, cells) {
        Ok(short) if near.len() == text.len() => short,
        Ok(short) | Err(short) => cut_end(&short, cells, mark),
    }
}

/// Cuts a sentence that does not fit: shortens the names with a known structure in it, and then
/// leaves out its middle.
pub(super) fn cut_middle(text: &str, cells: usize, mark: &str) -> String {
    let near = cut(text, cells.saturating_mul(4), Keep::Ends, mark);
    match shortened(&near, &structured_words(&near, mark), cells) {
        Ok(short) => short,
        Err(short) => cut(&short, cells, Keep::Ends, mark).into_owned(),
    }
}

/// A text with each of some words in the longest form with which the text fits; `Err` with the
/// shortest form of each if the text never fits.
fn shortened(text: &str, words: &[StructuredWord], cells: usize) -> Result<String, String> {
    let form_counts = words.iter().map(|(_, forms)| forms.len());
    let mut shortest = text.to_owned();
    for level in 0..form_counts.max().unwrap_or(0) {
        shortest.clear();
        let mut from = 0;
        for (place, forms) in words {
            let form = forms.get(level).or(forms.last()).map_or("", String::as_str);
            shortest.push_str(text.get(from..place.start).unwrap_or_default());
            shortest.push_str(form);
            from = place.end;
        }
        shortest.push_str(text.get(from..).unwrap_or_default());
        if width(&shortest) <= cells {
            return Ok(shortest);
        }
    }
    Err(shortest)
}

/// A word of a text: its place, and its shorter forms, the longest first.
type StructuredWord = (Range<usize>, Vec<String>);

/// The words of a sentence that are names with a known structure.
///
/// A host counts only as one of a Kubernetes service, because paths of fields have dots too.
fn structured_words(text: &str, mark: &str) -> Vec<StructuredWord> {
    let mut at = 0;
    let mut words = Vec::new();
    let mut quotes = Quotes::default();
    for piece in text.split_inclusive(char::is_whitespace) {
        let start = at + (piece.len() - piece.trim_start_matches('(').len());
        let end = at + piece.trim_end_matches(|c: char| c.is_whitespace() || "),;:.".contains(c)).len();
        at += piece.len();
        if quotes.has_part_of(piece) {
            continue;
        }
        let Some(word) = text.get(start..end) else { continue };
        let is_field_path = word.contains('.') && !word.contains(['|', '~', '/']) && !word.contains(".svc");
        let forms = if is_field_path { Vec::new() } else { shorter(word, mark) };
        if !forms.is_empty() {
            words.push((start..end, forms));
        }
    }
    words
}

/// The quotes of a text that is read word by word.
#[derive(Default)]
struct Quotes {
    open: Option<char>,
}

impl Quotes {
    /// Reads the next word. Returns whether a part of the word is in quotes.
    ///
    /// An apostrophe within a word is no quote.
    fn has_part_of(&mut self, word: &str) -> bool {
        let mut is_quoted = self.open.is_some();
        let mut before = None;
        let mut chars = word.chars().peekable();
        while let Some(c) = chars.next() {
            let follows_letter = before.is_some_and(char::is_alphanumeric);
            let is_apostrophe =
                c == '\'' && follows_letter && chars.peek().is_some_and(|next| next.is_alphanumeric());
            match self.open {
                Some(open) if c == open && before != Some('\\') && !is_apostrophe => self.open = None,
                None if c == '"' || (c == '\'' && !follows_letter) => {
                    (self.open, is_quoted) = (Some(c), true);
                }
                _ => {}
            }
            before = Some(c);
        }
        is_quoted
    }
}

/// Shorter forms of a name, the longest first; none if the name has no known structure.
fn shorter(name: &str, mark: &str) -> Vec<String> {
    xdstp(name, mark)
        .or_else(|| istio_node(name, mark))
        .or_else(|| istio_cluster(name, mark))
        .or_else(|| host_and_port(name, mark))
        .or_else(|| pod(name, mark).map(|short| vec![short]))
        .unwrap_or_default()
}

/// `xdstp://auth/…/reviews`, `…/reviews`.
fn xdstp(name: &str, mark: &str) -> Option<Vec<String>> {
    let (authority, path) = name.strip_prefix("xdstp://")?.split_once('/')?;
    let (_, id) = path.split_once('/')?;
    // A glob is told apart by what is before it.
    let end = id.strip_suffix("/*").unwrap_or(id);
    let id = end.rsplit('/').next().and_then(|last| id.get(end.len() - last.len()..)).unwrap_or(id);
    Some(vec![format!("xdstp://{authority}/{mark}/{id}"), format!("{mark}/{id}")])
}

/// Returns the pod and namespace of the node id of an Istio proxy, as `istioctl` writes them:
/// `reviews-v2-6b8f.default` of
/// `sidecar~10.1.2.3~reviews-v2-6b8f.default~default.svc.cluster.local`.
pub fn workload(name: &str) -> Option<&str> {
    let mut parts = name.split('~');
    let (_kind, address) = (parts.next()?, parts.next()?);
    let (workload, _domain) = (parts.next()?, parts.next()?);
    if parts.next().is_some() || address.parse::<IpAddr>().is_err() || workload.is_empty() {
        return None;
    }
    Some(workload)
}

/// `sidecar~10.1.2.3~reviews-v2-6b8f.default~default.svc.cluster.local` becomes
/// `reviews-v2-6b8f.default` or `reviews-v2-6b8f…`.
fn istio_node(name: &str, mark: &str) -> Option<Vec<String>> {
    let workload = workload(name)?;
    let name = workload.split('.').next().unwrap_or(workload);
    let mut out = vec![workload.to_owned(), format!("{name}{mark}")];
    out.extend(pod(name, mark));
    Some(out)
}

/// `reviews-v2-6b8f55d7c9-x2kqz`, a pod of a Deployment, becomes `reviews-v2…x2kqz`.
fn pod(name: &str, mark: &str) -> Option<String> {
    let mut parts = name.rsplitn(3, '-');
    let (suffix, template, workload) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hash = |part: &str, lengths: RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.chars().all(|c| HASH_CHARACTERS.contains(c))
    };
    let is_pod = is_hash(suffix, 5..=5) && is_hash(template, 8..=10) && !workload.is_empty();
    is_pod.then(|| format!("{workload}{mark}{suffix}"))
}

/// `outbound|8080|v1|reviews.shop.svc.cluster.local` becomes `outbound|8080|v1|reviews.shop…`,
/// `…8080|v1|reviews.shop`, `…8080|v1|reviews` or `…v1|reviews`.
fn istio_cluster(name: &str, mark: &str) -> Option<Vec<String>> {
    let mut parts = name.split('|');
    let (direction, port) = (parts.next()?, parts.next()?);
    let (subset, host) = (parts.next()?, parts.next()?);
    if parts.next().is_some() || port.parse::<u16>().is_err() || host.is_empty() {
        return None;
    }
    let labels = host_labels(host);
    let (first, two) = (labels[0], labels[1]);
    let mut out = vec![
        format!("{direction}|{port}|{subset}|{two}{mark}"),
        format!("{mark}{port}|{subset}|{two}"),
        format!("{mark}{port}|{subset}|{first}"),
    ];
    out.push(if subset.is_empty() { format!("{mark}{first}") } else { format!("{mark}{subset}|{first}") });
    Some(out)
}

/// `reviews.shop.svc.cluster.local:8080` becomes `reviews.shop…:8080` or `reviews…:8080`.
fn host_and_port(name: &str, mark: &str) -> Option<Vec<String>> {
    let (host, port) = match name.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => (host, format!(":{port}")),
        _ => (name, String::new()),
    };
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    let is_host = host.split('.').count() > 3 && host.split('.').all(is_label);
    if !is_host || host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let labels = host_labels(host);
    Some(labels.iter().rev().map(|host| format!("{host}{mark}{port}")).collect())
}

/// The first label of a host, and the first two: service and namespace.
fn host_labels(host: &str) -> [&str; 2] {
    let first = host.find('.').unwrap_or(host.len());
    let second = host.get(first + 1..).and_then(|rest| rest.find('.')).map(|at| first + 1 + at);
    [host.get(..first).unwrap_or(host), host.get(..second.unwrap_or(host.len())).unwrap_or(host)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn cuts(name: &str, wanted: &[(usize, &str)]) {
        for (cells, short) in wanted {
            assert_eq!(cut_name(name, *cells, "…"), *short, "{cells}");
        }
    }

    #[test]
    fn keeps_authority_and_id_of_xdstp_names() {
        cuts(
            "xdstp://auth.example/envoy.config.cluster.v3.Cluster/team/reviews",
            &[(34, "xdstp://auth.example/…/reviews"), (15, "…/reviews"), (9, "…/reviews"), (7, "xds…ews")],
        );
    }

    #[test]
    fn keeps_the_collection_of_a_glob() {
        cuts("xdstp://a/envoy.config.cluster.v3.Cluster/team/x/*", &[(20, "xdstp://a/…/x/*")]);
    }

    #[test]
    fn equal_short_forms_keep_what_differs() {
        let names = ["outbound|9080||ratings.bookinfo-prod.svc", "outbound|9080||ratings.bookinfo-test.svc"];
        assert_eq!(cut_name(names[0], 15, "…"), cut_name(names[1], 15, "…"));
        assert_eq!(cut_apart(&names, 15, "…"), ["…info-prod.svc", "…info-test.svc"]);
        assert_eq!(cut_apart(&names, 10, "…"), ["…fo-prod.…", "…fo-test.…"]);
        assert_eq!(cut_apart(&["alpha-one", "beta-one"], 6, "…"), ["alpha…", "beta-…"]);
    }

    #[test]
    fn versions_lose_what_they_share() {
        let short = |versions: &[&str]| without_shared(versions, "…");
        let istio = ["2026-11-22T16:04:53Z/2", "2026-11-22T16:05:10Z/3", "-", ""];
        assert_eq!(short(&istio), ["…04:53Z/2", "…05:10Z/3", "-", ""]);
        assert_eq!(short(&["2026-11-22T16:04:53Z/2"; 2]), ["…2", "…2"]);
        assert_eq!(short(&["41", "42"]), ["41", "42"]);
        assert_eq!(short(&["a-hash-that-differs", "another-hash"]), ["a-hash-that-differs", "another-hash"]);
        assert_eq!(short(&["5c9e2b81d5a04f0e", "5c9e77"]), ["5c9e2b81d5a04f0e", "5c9e77"]);
        assert_eq!(short(&[]), [""; 0]);
    }

    #[test]
    fn words_wider_than_a_line_are_cut_as_names() {
        let text = "server owes EDS outbound|9080||ratings.bookinfo-prod.svc.cluster.local, asked in #4";
        let cut = cut_long_words(text, 24, "…");
        assert_eq!(cut, "server owes EDS …9080||ratings, asked in #4");
        assert_eq!(cut_long_words("short words stay", 5, "…"), "short words stay");
    }

    #[test]
    fn keeps_the_pod_of_an_istio_node() {
        cuts(
            "sidecar~10.1.2.3~reviews-v2-6b8f.default~default.svc.cluster.local",
            &[(34, "reviews-v2-6b8f.default"), (20, "reviews-v2-6b8f…"), (12, "review…-6b8f")],
        );
        cuts("a~b~c.d~e.f.g.h.i", &[(11, "a~b~c…g.h.i")]);
        cuts(
            "sidecar~10.1.2.3~reviews-v2-6b8f55d7c9-x2kqz.shop~shop.svc.cluster.local",
            &[(28, "reviews-v2-6b8f55d7c9-x2kqz…"), (20, "reviews-v2…x2kqz"), (12, "review…x2kqz")],
        );
        cuts("reviews-v2-6b8f55d7c9-x2kqz", &[(26, "reviews-v2…x2kqz")]);
        cuts("reviews-v2-6b8f55d7c9-x2kqzzz", &[(12, "review…kqzzz")]);
    }

    #[test]
    fn keeps_words_beside_a_name() {
        let node = "sidecar~10.1.2.3~reviews-v2-6b8f.shop~shop.svc.cluster.local";
        cuts(&format!("{node} #12"), &[(26, "reviews-v2-6b8f.shop #12"), (14, "revie…6b8f #12")]);
        cuts(&format!("{node} cluster=b"), &[(26, "reviews-v2-6b8f… cluster=b")]);
        cuts("CDS outbound|8080|v1|reviews.shop.svc.cluster.local", &[(22, "CDS …8080|v1|reviews")]);
    }

    #[test]
    fn sentences_shorten_names_before_their_end_is_cut() {
        let sentence = "sidecar~10.1.2.3~reviews-v2-6b8f.shop~shop.svc.cluster.local refuses CDS 42: \
                        outbound|8080|v1|reviews.shop.svc.cluster.local is bad";
        let cuts = |cells| cut(sentence, cells, Keep::Head, "…").into_owned();
        assert_eq!(cuts(80), "reviews-v2-6b8f.shop refuses CDS 42: outbound|8080|v1|reviews.shop… is bad");
        assert_eq!(cuts(70), "reviews-v2-6b8f… refuses CDS 42: …8080|v1|reviews.shop is bad");
        assert_eq!(cuts(40), "reviews-v2-6b8f… refuses CDS 42: …v1|re…");
        let path = "route_config.virtual_hosts.routes.match is set";
        assert_eq!(cut(path, 30, Keep::Head, "…"), "route_config.virtual_hosts.ro…");
    }

    #[test]
    fn quoted_text_stays_as_written() {
        let text =
            "refused: name: \"outbound|8080|v1|orders.shop.svc.cluster.local\" type: EDS isn't allowed";
        assert_eq!(cut(text, 40, Keep::Head, "…"), format!("{}…", text.get(..39).unwrap()));
        assert_eq!(cut_long_words(text, 20, "…"), text);
        let text = "it didn't find outbound|8080|v1|orders.shop.svc.cluster.local";
        assert_eq!(cut(text, 36, Keep::Head, "…"), "it didn't find …8080|v1|orders.shop");
    }

    #[test]
    fn reasons_keep_both_ends() {
        let text = "edge-gw-1 refused CDS 42: reviews: connect_timeout: value must be greater than 0s";
        assert_eq!(cut(text, 50, Keep::Reason, "…"), "edge-gw-1 refused CDS 42:… must be greater than 0s");
        let text = "edge refused CDS: outbound|8080|v1|orders.shop.svc.cluster.local: value is required";
        assert_eq!(
            cut(text, 60, Keep::Reason, "…"),
            "edge refused CDS: …8080|v1|orders.shop: value is required"
        );
    }

    #[test]
    fn keeps_port_subset_and_host_of_an_istio_cluster() {
        cuts(
            "outbound|8080|v1|reviews.shop.svc.cluster.local",
            &[
                (46, "outbound|8080|v1|reviews.shop…"),
                (22, "…8080|v1|reviews.shop"),
                (18, "…8080|v1|reviews"),
                (11, "…v1|reviews"),
                (7, "v1|…ews"),
            ],
        );
        cuts(
            "outbound|9080||ratings.shop.svc.cluster.local",
            &[(24, "…9080||ratings.shop"), (9, "…ratings")],
        );
    }

    #[test]
    fn keeps_the_first_labels_of_a_host() {
        cuts(
            "reviews.shop.svc.cluster.local:8080",
            &[(30, "reviews.shop…:8080"), (14, "reviews…:8080"), (9, "revi…8080")],
        );
        cuts("a-plain-name-without-a-structure", &[(11, "a-pla…cture")]);
    }

    proptest::proptest! {
        #[test]
        fn fits_its_cells(text in "[a-z|~.:/0-9名 -]{0,60}", cells in 0usize..40) {
            proptest::prop_assert!(width(&cut_name(&text, cells, "…")) <= cells);
        }
    }
}
