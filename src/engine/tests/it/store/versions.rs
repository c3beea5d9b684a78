use xdscope_engine::store::{NackFact, Store, Verdict, VersionFact, Versions};
use xdscope_wire::event::{ApiVersion, Kind, Seq, StreamId, TypeUrl};

use super::replay;

fn url(kind: Kind) -> TypeUrl {
    kind.type_url(ApiVersion::V3).unwrap()
}

/// Version, pushes, verdict and whether it is a removal, newest first.
fn contents(store: &Store, kind: Kind, name: &str) -> Vec<(String, u64, Option<Verdict>, bool)> {
    let versions = store.versions(StreamId(1), &url(kind), name);
    let verdict = |version: &VersionFact| version.verdict.map(|by| by.verdict);
    versions
        .iter()
        .map(|version| {
            (version.version.to_string(), version.pushes, verdict(version), version.content.is_none())
        })
        .collect()
}

const SOTW: &str = "node a\nstream 1 ads\n\
    > cds\n< cds v=1 n=a [x y]\n> cds v=1 n=a\n\
    < cds v=2 n=b [x~2 y]\n> cds v=1 n=b nack=\"no\"\n< cds v=2 n=c [x~2 y]\n> cds v=1 n=c nack=\"no\"\n\
    < cds v=3 n=d [x~3]\n> cds v=3 n=d\n";

#[test]
fn lists_versions_of_resource() {
    use Verdict::{Accepted, Refused};
    let store = replay(SOTW);
    assert_eq!(
        contents(&store, Kind::Cds, "x"),
        [
            ("3".to_owned(), 1, Some(Accepted), false),
            ("2".to_owned(), 2, Some(Refused), false),
            ("1".to_owned(), 1, Some(Accepted), false)
        ]
    );
    // A full-state push removes the resources that it leaves out.
    assert_eq!(contents(&store, Kind::Cds, "y")[0], ("3".to_owned(), 1, Some(Accepted), true));
    assert_eq!(contents(&store, Kind::Cds, "z"), []);
    assert_eq!(contents(&store, Kind::Eds, "x"), []);
}

#[test]
fn lists_delta_versions_of_resource() {
    let store = replay(
        "node a\nstream 1 delta-ads\n> cds sub=[*]\n< cds n=1 [x@1 y@1]\n> cds n=1\n\
         < cds n=2 [x~2@2]\n> cds n=2\n< cds n=3 rm=[x]\n< cds n=4 [y@1 unset ttl=30s]\n",
    );
    let x = contents(&store, Kind::Cds, "x");
    let versions: Vec<_> = x.iter().map(|(version, _, _, gone)| (version.as_str(), *gone)).collect();
    assert_eq!(versions, [("", true), ("2", false), ("1", false)]);
    assert_eq!((x[0].2, x[1].2), (None, Some(Verdict::Accepted)));
    assert_eq!(contents(&store, Kind::Cds, "y").len(), 1, "a heartbeat is not a version");
}

#[test]
fn finds_ack_after_nack() {
    let store = replay(SOTW);
    let nack = store.state(StreamId(1), &url(Kind::Cds)).unwrap().verdicts.nacks.pop().unwrap();
    let fact = store.accepted_after(StreamId(1), &url(Kind::Cds), &nack).unwrap();
    assert_eq!((fact.n, &*fact.version), (Seq(9), "3"));
    let later = NackFact { n: Seq(9), ..nack.clone() };
    assert_eq!(store.accepted_after(StreamId(1), &url(Kind::Cds), &later), None);
    let newer = NackFact { refused: Some(Seq(8)), ..nack };
    assert_eq!(store.accepted_after(StreamId(1), &url(Kind::Cds), &newer), None, "an older response");
    assert_eq!(store.same_push(Seq(4), Seq(6)), Some(true));
    assert_eq!(store.same_push(Seq(2), Seq(4)), Some(false));
    assert_eq!(store.same_push(Seq(1), Seq(2)), None, "a request holds no resources");
    let names: Vec<_> = store.pushed(Seq(8)).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["x"]);
}

#[test]
fn resource_names_match_resources() {
    let text = "node a\nstream 1 ads\n> eds names=[b a]\n< eds v=1 n=a [b]\n> eds v=1 n=a names=[b a c]\n";
    let store = replay(text);
    let eds = url(Kind::Eds);
    let mut names = store.resource_names(StreamId(1), &eds);
    names.sort_unstable();
    let mut facts: Vec<_> = store.resources(StreamId(1), &eds).into_iter().map(|fact| fact.name).collect();
    facts.sort_unstable();
    assert_eq!(names, facts);
    assert_eq!(names.len(), 3);
    let before =
        replay("node a\nstream 1 ads\n> eds names=[b a]\n< eds v=1 n=a [b]\n").mark(StreamId(1), &eds);
    assert_ne!(store.mark(StreamId(1), &eds), before);
    assert_eq!(store.mark(StreamId(1), &url(Kind::Rds)), 0);
}

#[test]
fn finds_equal_versions_in_slices() {
    let store = replay(SOTW);
    for name in ["x", "y", "z"] {
        let whole = store.versions(StreamId(1), &url(Kind::Cds), name);
        for step in 1..5 {
            let mut found = Versions::before(store.rows());
            while !found.is_complete() {
                store.more_versions(StreamId(1), &url(Kind::Cds), name, step, &mut found);
            }
            assert_eq!(format!("{:?}", found.versions), format!("{whole:?}"), "{name} by {step}");
        }
    }
}

#[test]
fn is_news_detects_rows_about_resource() {
    let store = replay(
        "node a\nstream 1 delta-ads\n> cds sub=[*]\n< cds n=1 [x@1 y@1]\n> cds n=1\n\
         < cds n=2 [x~2@2]\n> cds n=2\n< cds n=3 rm=[y]\n> cds n=3\n",
    );
    let rows_of = |name: &str| -> Vec<usize> {
        let news = |row: &usize| store.is_news(StreamId(1), &url(Kind::Cds), name, *row..row + 1);
        (0..store.rows()).filter(news).collect()
    };
    // The opening and the subscription are rows 0 and 1.
    assert_eq!(rows_of("x"), [2, 3, 4, 5]);
    assert_eq!(rows_of("y"), [2, 3, 6, 7]);
}

#[test]
fn names_mark_changes_with_names() {
    let mark = |text: &str| {
        let store = replay(&format!("node a\nstream 1 delta-ads\n> cds sub=[* w]\n{text}"));
        (store.names_mark(StreamId(1), &url(Kind::Cds)), store.mark(StreamId(1), &url(Kind::Cds)))
    };
    let first = "< cds n=1 [x@1 y@1]\n> cds n=1\n";
    let (begin, again) = (mark(first), mark(&format!("{first}< cds n=2 [x~2@2]\n> cds n=2\n")));
    assert_eq!(begin.0, again.0, "new content has an old name");
    assert_ne!(begin.1, again.1);
    for more in [
        "< cds n=2 [z@1]\n",
        "< cds n=2 [w@1]\n",
        "< cds n=2 rm=[x]\n",
        "> cds sub=[v]\n",
        "> cds unsub=[w]\n",
    ] {
        assert_ne!(begin.0, mark(&format!("{first}{more}")).0, "{more}");
    }
}

/// Whether each NACK of clusters on stream 1 is mended.
fn mended(script: &str) -> Vec<bool> {
    let state = replay(script).state(StreamId(1), &url(Kind::Cds)).unwrap();
    state.verdicts.nacks.iter().map(|nack| state.is_mended(nack)).collect()
}

#[test]
fn only_a_later_accepted_version_mends_a_refusal() {
    let start = "node a\nstream 1 ads\n> cds\n< cds v=1 n=a [x]\n> cds v=1 n=a\n\
                 < cds v=2 n=b [x~2]\n> cds v=1 n=b nack=no\n< cds v=3 n=c [x~3]\n> cds v=1 n=c nack=no\n";
    assert_eq!(mended(start), [false, false]);
    assert_eq!(mended(&format!("{start}< cds v=4 n=d [x~4]\n> cds v=4 n=d\n")), [true, true]);
    let delta = "node a\nstream 1 delta cds\n> sub=[x y]\n< n=1 [x@1]\n> n=1 nack=no\n< n=2 [y@1]\n> n=2\n";
    assert_eq!(mended(delta), [false], "y was accepted, and x is still refused");
    assert_eq!(mended(&format!("{delta}< n=3 [x@2]\n> n=3\n")), [true]);
}

#[test]
fn a_delta_nack_names_the_version_of_each_resource() {
    let store = replay("node a\nstream 1 delta cds\n> sub=[x y]\n< n=1 [x@7 y@2]\n> n=1 nack=no\n");
    let state = store.state(StreamId(1), &url(Kind::Cds)).unwrap();
    assert_eq!(xdscope_present::report::refused_version(&state.verdicts.nacks[0]), "x@7 y@2");
}
