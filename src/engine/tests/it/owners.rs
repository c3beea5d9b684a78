//! Resources of Kubernetes objects, in scripts with the marks of Istio.

use xdscope_engine::made::{
    MadeResource, MadeSince, OwnerPattern, OwnerSummaries, made_since, refused_because_of, visit_made,
};
use xdscope_engine::store::{Options, Store};
use xdscope_schema::Schema;
use xdscope_schema::owners::{Owner, OwnerSource};
use xdscope_sources::script;

/// Returns the store after a script. `@KIND/NAME` stands for the metadata of an object in `shop`.
fn store(text: &str) -> Store {
    let mut parts = text.split('@');
    let mut marked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (object, rest) = part.split_at(part.find('}').expect("the end of the resource"));
        let path = format!("/apis/networking.istio.io/v1/namespaces/shop/{object}");
        marked.push_str(&format!("metadata: {{filter_metadata: {{istio: {{config: {path}}}}}}}{rest}"));
    }
    let script = script::parse(&marked, "test.xds").unwrap_or_else(|error| panic!("{error:?}"));
    let codec = xdscope_sources::SchemaCodec(Schema::builtin());
    let loaded = script::load(&script, &codec).unwrap_or_else(|error| panic!("{error:?}"));
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    loaded.frames.into_iter().for_each(|frame| store.handle(frame));
    store.advance(loaded.end);
    store
}

fn made_by(store: &Store, pattern: &str) -> Vec<MadeResource> {
    let pattern = OwnerPattern::new(pattern).expect("a pattern");
    let mut all = Vec::new();
    visit_made(store, &store.states(), |owner| pattern.matches(owner), &mut |made| all.push(made));
    all
}

/// Returns stream, name, outcome and message of what an owner made.
fn shown(store: &Store, pattern: &str) -> Vec<String> {
    let made = made_by(store, pattern);
    let line = |(made, since): (&MadeResource, Option<MadeSince>)| {
        let since = match since {
            Some(MadeSince::Push(push)) => format!("pushed {} {}", push.n.0, push.version),
            Some(MadeSince::Request { n, .. }) => format!("asked {}", n.0),
            None => "unseen".to_owned(),
        };
        format!("#{} {} {} {since}", made.fact.stream.0, made.fact.name, made.outcome.word())
    };
    made.iter().zip(made_since(store, &made)).map(line).collect()
}

const REFUSED_TOGETHER: &str = "
    node a agent=\"xDS client/1\"
    stream 1 ads
    > rds names=[80 443]
    < rds v=1 n=a [80{virtual_hosts: [{name: a, @virtual-service/front}]} 443{virtual_hosts: [{name: b, @virtual-service/back}]}]
    > rds v=1 n=a names=[80 443]
    < rds v=2 n=b [80{virtual_hosts: [{name: a, domains: [c], @virtual-service/front}]} 443{virtual_hosts: [{name: c, @virtual-service/back}]}]
    > rds v=1 n=b names=[80 443] nack=\"443: bad\"
    node b agent=\"xDS client/1\"
    stream 2 ads
    > rds names=[80]
    node c agent=\"xDS client/1\"
    stream 3 ads
    > rds names=[80]
    < rds v=2 n=c [80{virtual_hosts: [{name: a, domains: [c], @virtual-service/front}]}]
    > rds v=2 n=c names=[80]
    < rds v=3 n=d [80{virtual_hosts: [{name: a, domains: [c], @virtual-service/front}]}]
    > rds v=3 n=d names=[80]
    advance 20s
";

#[test]
fn each_client_has_an_outcome_and_its_message() {
    let store = store(REFUSED_TOGETHER);
    let front = shown(&store, "VirtualService/shop/front");
    // Version 3 repeats the content of version 2. Client b asks for a route that the object made.
    assert_eq!(front, ["#1 80 refused pushed 4 2", "#3 80 in_force pushed 8 2", "#2 80 missing asked 6"]);
    let causes =
        refused_because_of(&store, &Schema::builtin(), &made_by(&store, "VirtualService/shop/front"));
    let named: Vec<(&str, String)> = causes.iter().map(|of| (&*of.name, of.owners[0].to_string())).collect();
    assert_eq!(named, [("443", "VirtualService shop/back".to_owned())]);
    let back = made_by(&store, "VirtualService/shop/back");
    assert!(refused_because_of(&store, &Schema::builtin(), &back).is_empty(), "the NACK names the resource");
}

#[test]
fn owner_of_the_content_in_force_counts_until_the_removal_is_accepted() {
    let removed = |answer: &str| {
        store(&format!(
            "stream 1 ads
             > cds
             < cds v=1 n=a [a{{@destination-rule/a}} b]
             > cds v=1 n=a
             < cds v=2 n=b [a b]
             {answer}"
        ))
    };
    assert_eq!(shown(&removed(""), "*"), ["#1 a pending pushed 4 2"], "not answered yet");
    assert_eq!(shown(&removed("> cds v=2 n=b"), "*"), [""; 0]);
    let refused = removed("> cds v=1 n=b nack=\"a: bad\"");
    assert_eq!(shown(&refused, "*"), ["#1 a refused pushed 4 2"]);
}

#[test]
fn owners_are_counted_with_the_worst_outcome_first() {
    let store = store(REFUSED_TOGETHER);
    let mut summaries = OwnerSummaries::default();
    visit_made(&store, &store.states(), |_| true, &mut |made| summaries.add(&made));
    let summaries = summaries.finish();
    let shown: Vec<_> = summaries
        .iter()
        .map(|of| (of.owner.to_string(), of.resources, of.clients, of.counts.worst()))
        .collect();
    let worst = summaries[0].counts.worst();
    assert_eq!(worst.map(|of| of.word()), Some("refused"));
    assert_eq!(shown[0], ("VirtualService shop/back".to_owned(), 1, 1, worst));
    assert_eq!(shown[1], ("VirtualService shop/front".to_owned(), 1, 3, worst));
}

#[test]
fn patterns_match_with_and_without_namespace() {
    let owner = Owner {
        kind: "VirtualService".to_owned(),
        namespace: "shop".to_owned(),
        name: "reviews".to_owned(),
        source: OwnerSource::Name,
    };
    let matches = |text: &str| OwnerPattern::new(text).expect("a pattern").matches(&owner);
    for text in [
        "VirtualService/shop/reviews",
        "VirtualService/shop/reviews?",
        "virtualservice/shop/reviews",
        "VirtualService/reviews",
        "virtualservice",
        "VirtualService/shop/*",
        "*/reviews",
        "*",
    ] {
        assert!(matches(text), "{text}");
    }
    for text in ["VirtualService/other/reviews", "virtualService", "VirtualService/shop", "reviews", ""] {
        assert!(!matches(text), "{text}");
    }
}
