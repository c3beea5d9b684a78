//! Responses that are accepted before their content is stored.

use super::*;

/// A SotW response: names, each with its type.
fn response(url: &str, version: &str, nonce: &str, resources: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, version.as_bytes());
    for (name, of) in resources {
        let (mut value, mut any) = (Vec::new(), Vec::new());
        put_len_field(&mut value, 1, name.as_bytes());
        put_len_field(&mut any, 1, of.as_bytes());
        put_len_field(&mut any, 2, &value);
        put_len_field(&mut out, 2, &any);
    }
    put_len_field(&mut out, 4, url.as_bytes());
    put_len_field(&mut out, 5, nonce.as_bytes());
    out
}

fn preview(bytes: &[u8], step: usize) -> Option<Trivial> {
    let mut preview = Preview::default();
    bytes.chunks(step).for_each(|chunk| preview.push(chunk));
    preview.finish()
}

#[test]
fn accepts_only_trivial_responses_ahead() {
    let plain = response(CDS, "1", "n", &[("a", CDS), ("b", CDS)]);
    let seen = Trivial { type_url: CDS.into(), version: "1".into(), nonce: "n".into() };
    for step in 1..plain.len() {
        assert_eq!(preview(&plain, step), Some(seen.clone()), "in pieces of {step}");
    }
    let wrapper = "type.googleapis.com/envoy.service.discovery.v3.Resource";
    for (what, odd) in [
        ("a name twice", response(CDS, "1", "n", &[("a", CDS), ("a", CDS)])),
        ("another type", response(CDS, "1", "n", &[("a", CDS), ("b", EDS)])),
        ("another type than it says", response(EDS, "1", "n", &[("a", CDS)])),
        ("no type", response("", "1", "n", &[("a", CDS)])),
        ("a wrapper", response(CDS, "1", "n", &[("a", wrapper)])),
        ("a structured name", response(CDS, "1", "n", &[("xdstp://a/b/c", CDS)])),
        ("no name", response(CDS, "1", "n", &[("", CDS)])),
        ("no nonce", response(CDS, "1", "", &[("a", CDS)])),
        ("nothing", response(CDS, "1", "n", &[])),
        ("a part", plain[..plain.len() - 1].to_vec()),
        ("an unknown field", [&plain[..], b"\x7a\x00"].concat()),
        ("no protobuf", [&plain[..], b"\xff"].concat()),
    ] {
        assert_eq!(preview(&odd, 7), None, "{what}");
    }
}

#[test]
fn long_fields_are_not_buffered() {
    let name = "a".repeat(2 << 20);
    let long = response(CDS, "1", "n", &[(&name, CDS)]);
    let mut preview = Preview::default();
    preview.push(&long[..64]);
    assert!(preview.is_known_nontrivial(), "its length says so");
}

proptest! {
    #[test]
    fn rejected_response_is_never_trivial(
        url in 0..3usize,
        resources in proptest::collection::vec((0..6usize, 0..4usize), 0..5),
        step in 1..40usize,
    ) {
        let urls = [CDS, EDS, "", "type.googleapis.com/xds.core.v3.ResourceLocator"];
        let names = ["a", "b", "c", "d", "", "xdstp://a/b/*"];
        let resources: Vec<_> = resources.into_iter().map(|(name, of)| (names[name], urls[of])).collect();
        let bytes = response(urls[url], "1", "n", &resources);
        let mut catalog = Catalog::in_memory();
        let message = Message::parse(MessageShape::SotwResponse, &bytes, &mut catalog);
        if let Some(plain) = preview(&bytes, step) {
            prop_assert_eq!(check(&message, &catalog), None);
            prop_assert_eq!(plain.type_url, message.type_url());
        }
    }

    #[test]
    fn preview_is_the_same_in_any_chunks(bytes in proptest::collection::vec(any::<u8>(), 0..200), step in 1..50usize) {
        let whole = response(CDS, "1", "n", &[("a", CDS)]);
        for bytes in [bytes.clone(), [&whole[..], &bytes[..]].concat()] {
            prop_assert_eq!(preview(&bytes, step), preview(&bytes, bytes.len().max(1)));
        }
    }

    /// Two clients see the same events; one of them accepts ahead where it can.
    #[test]
    fn accepting_ahead_gives_the_same_requests(
        steps in proptest::collection::vec((0..4u8, 0..2usize, 0..8u8), 1..12),
    ) {
        let mut plays = [Play::new(config(Variant::Ads)), Play::new(config(Variant::Ads))];
        for (at, (step, url, names)) in steps.into_iter().enumerate() {
            let url = [CDS, EDS][url];
            let names: Vec<&str> =
                ["a", "b", "c"].into_iter().zip(0..).filter(|(_, bit)| names >> bit & 1 == 1).map(|(name, _)| name).collect();
            for (ahead, play) in plays.iter_mut().enumerate() {
                match step {
                    0 => play.wildcard(url, names.len() > 1),
                    1 => play.subscribe(url, &names),
                    2 => play.unsubscribe(url, &names),
                    _ => {
                        let resources: Vec<_> = names.iter().map(|name| (*name, url)).collect();
                        let bytes = response(url, &at.to_string(), &format!("n{at}"), &resources);
                        let plain = preview(&bytes, 16).filter(|_| ahead == 1);
                        if let Some(plain) = plain {
                            play.client.accept(Lane(0), &plain, &play.catalog);
                        }
                        play.respond(url, &at.to_string(), &format!("n{at}"), &names, Ruling::Accept);
                    }
                }
            }
            let [before, after] = &mut plays;
            prop_assert_eq!(std::mem::take(&mut before.said), std::mem::take(&mut after.said));
        }
    }
}

#[test]
fn does_not_repeat_ack_sent_ahead() {
    let mut play = Play::new(config(Variant::Ads));
    play.wildcard(CDS, true);
    play.says(&["cds node =*"]);
    let plain = preview(&response(CDS, "1", "a", &[("x", CDS)]), 9).expect("it is plain");
    assert!(play.client.accept(Lane(0), &plain, &play.catalog));
    play.run();
    play.says(&["cds v1 =* na"]);
    play.respond(CDS, "1", "a", &["x"], Ruling::Accept);
    play.says(&[]);
    play.respond(CDS, "2", "b", &["x"], Ruling::refuse("no"));
    play.says(&["cds v1 =* nb NACK no"]);
    let other = preview(&response(EDS, "1", "c", &[("x", EDS)]), 9).expect("it is plain");
    assert!(!play.client.accept(Lane(0), &other, &play.catalog), "it was not asked for");
    play.says(&[]);
}

#[test]
fn does_not_accept_ahead_before_new_subscriptions() {
    assert!(Client::new(config(Variant::Ads)).may_accept());
    assert!(!Client::new(following(Variant::Ads)).may_accept());
    let slow = Config { ack_delay: Duration::from_secs(1), ..config(Variant::Ads) };
    assert!(!Client::new(slow).may_accept());
}
