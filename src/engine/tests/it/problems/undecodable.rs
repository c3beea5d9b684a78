//! Problems with messages that cannot be decoded.

use super::*;

#[test]
fn resets_after_undecodable_responses_belong_to_the_server() {
    let stream = |n| format!("+{n}s stream {n} ads\n> cds\n< raw=CgUxMg==\n{n} reset client\n");
    let text = format!("node edge\n{}", (1..=4).map(stream).collect::<String>());
    let script = script::parse(&text, "test.xds").expect("a script");
    let loaded = script::load(&script, &NoCodec).expect("a session");
    let mut store = Store::new(loaded.catalog, loaded.clock, Options::default());
    let mut lint = Lint::new(lint::Options::default());
    for mut frame in loaded.frames {
        if let xdscope_wire::FramePayload::End(end) = &mut frame.what {
            end.reset = Some(2);
        }
        lint.handle(&mut store, frame);
    }
    let found = problems(&store, lint.findings());
    let texts: Vec<String> = found.iter().map(|problem| report::problem(problem, &store.clock())).collect();
    assert_eq!(found.len(), 1, "{texts:#?}");
    assert_eq!((found[0].blame, found[0].kind.word()), (Blame::Server, "error"));
    assert!(texts[0].starts_with("server: not a DiscoveryResponse: "), "{texts:?}");
    assert!(texts[0].contains("; the client resets the stream: RST_STREAM INTERNAL_ERROR"), "{texts:?}");
}

#[test]
fn names_response_that_cannot_be_read() {
    let owed = |lines: &str| {
        let found = states(&format!("stream 1 ads\n+0s > cds\n+0s > eds names=[x]\n{lines}\nadvance 20s"));
        found.into_iter().filter(|(word, ..)| word == "miss").map(|(_, text, _)| text).collect::<Vec<_>>()
    };
    let unread = [
        "server owes CDS for the wildcard; #3 cannot be read",
        "server owes EDS x, asked in #2; #3 cannot be read",
    ];
    assert_eq!(owed("+1s < raw=/w=="), unread);
    // A version and a nonce without a type.
    assert_eq!(owed("+1s < raw=CgExKgFh"), unread);
    assert_eq!(
        owed("+1s > cds"),
        ["server owes CDS for the wildcard, nothing sent yet", "server owes EDS x, asked in #2"]
    );
    let delta = "stream 1 delta cds\n+0s < raw=/w==\n+1s > sub=[a]\nadvance 20s";
    assert!(states(delta).iter().all(|(_, text, _)| !text.contains("cannot be read")), "sent before");
}
