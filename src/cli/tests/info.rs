//! Tests of `info`, and of files that are found by name.

use super::{Environment, Exit, GATEWAY, TOUR, objects, run, script_file, show};

#[test]
fn describes_a_file() {
    insta::assert_snapshot!(show(&["info", TOUR]));
    let streams = objects(&["info", TOUR, "-o", "jsonl"]);
    assert_eq!(streams.iter().map(|stream| &stream["stream"]).collect::<Vec<_>>(), [1, 2, 3]);
}

/// `info` keeps no rows, but counts the messages that `log` prints.
#[test]
fn counts_the_kinds_of_rows() {
    for file in [TOUR, GATEWAY] {
        let mut kinds = std::collections::BTreeMap::new();
        for row in objects(&["log", file, "-o", "jsonl"]).iter().filter(|row| !row["n"].is_null()) {
            *kinds.entry(row["kind"].as_str().expect("a kind").to_owned()).or_insert(0) += 1;
        }
        let text = run(&["info", file]).out;
        let line = text.lines().find(|line| line.starts_with("messages")).expect("a line of messages");
        for (kind, count) in &kinds {
            let counted = format!(" {count} {kind}");
            assert!(line.split(", ").any(|part| format!(" {part}").ends_with(&counted)), "{kinds:?}: {line}");
        }
        assert_eq!(line.split(", ").count(), kinds.len(), "{line}");
    }
}

#[test]
fn describes_a_file_that_status_cannot_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.xdsrec");
    let path = path.to_str().unwrap();
    run(&["export", TOUR, "--to", "xdsrec", "--output", path, "-q"]);
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(200).unwrap();
    let output = run(&["status", path]);
    assert_eq!((output.exit, output.out.as_str()), (Exit::Unreadable, ""), "{}", output.err);
    assert!(output.err.contains("can't be read"), "{}", output.err);
    assert_eq!(run(&["info", path]).exit, Exit::Yes, "what is known of it can be asked");
}

/// A byte order mark in front of a text changes nothing.
#[test]
fn texts_may_begin_with_a_byte_order_mark() {
    let dir = tempfile::tempdir().unwrap();
    let raw = dir.path().join("raw.jsonl");
    run(&["export", TOUR, "--to", "raw", "--output", raw.to_str().unwrap(), "-q"]);
    let fixtures = "tests/fixtures/cli";
    let sources = ["config_dump.json", "csds.json", "resources/clusters.yaml", "nack-and-nonce.xds"];
    let sources = sources.map(|name| format!("{fixtures}/{name}"));
    for source in sources.iter().map(String::as_str).chain([TOUR, raw.to_str().unwrap()]) {
        let text = std::fs::read(source).unwrap();
        let name = std::path::Path::new(source).file_name().unwrap();
        let (marked, wide) = (dir.path().join("marked"), dir.path().join("wide"));
        for (folder, mark) in [(&marked, &b"\xef\xbb\xbf"[..]), (&wide, b"\xff\xfe")] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(name), [mark, &text].concat()).unwrap();
        }
        let (plain, marked) = (run(&["get", source]), run(&["get", marked.join(name).to_str().unwrap()]));
        assert_eq!((plain.exit, plain.out), (marked.exit, marked.out), "{source}: {}", marked.err);
        let refused = run(&["get", wide.join(name).to_str().unwrap()]);
        assert_eq!(refused.exit, Exit::Unreadable, "{source}");
        assert!(refused.err.contains("the text is in UTF-16, and xdscope reads UTF-8"), "{}", refused.err);
        assert!(refused.err.contains("next   iconv -f UTF-16 -t UTF-8 "), "{}", refused.err);
    }
}

#[test]
fn errors_name_captures_and_compressed_files() {
    let dir = tempfile::tempdir().unwrap();
    let header = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0";
    let cut = [&header[..], &[0; 8], b"\x64\0\0\0\x64\0\0\0x"].concat();
    let section =
        b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0";
    let interface = b"\x01\0\0\0\x14\0\0\0\x0f\x27\0\0\xff\xff\0\0\x14\0\0\0";
    let packet = b"\x06\0\0\0\x24\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\x04\0\0\0abcd\x24\0\0\0";
    let (convert, capture, tap) = ("editcap -F pcapng", "tcpdump -i any", "xdscope tap SERVER");
    for (name, content, what, next) in [
        ("a.pcap", &header[..10], "the capture is cut off at byte 10, within its header", capture),
        ("a.cap", b"XCP\0 a capture of another format", "not a packet capture", convert),
        ("b.pcap", b"short", "not a packet capture", convert),
        ("c.pcapng", b"", "the file is empty", tap),
        ("d.pcap", &cut, "the file ends within the packet at byte 24", tap),
        (
            "e.pcapng",
            &[&section[..], interface, packet].concat(),
            "1 packet of unsupported link type 9999",
            tap,
        ),
        ("a.pcap.gz", b"\x1f\x8b\x08\0\0\0", "the file is compressed (gzip)", "gzip -dc "),
        ("f.pcap", b"\x1f\x8b\x08\0\0\0", "the file is compressed (gzip)", "f.pcap | xdscope status -"),
        ("a.xds.zst", b"\x28\xb5\x2f\xfd\0", "the file is compressed (zstd)", "zstd -dc "),
        ("a.json", b"PK\x03\x04\0", "the file is compressed (zip)", "unzip -p "),
    ] {
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        for verb in ["status", "info"] {
            let output = run(&[verb, path.to_str().unwrap()]);
            if verb == "info" && output.exit == Exit::Yes {
                continue;
            }
            let err = output.err;
            assert_eq!(output.exit, Exit::Unreadable, "{name}: {err}");
            assert!(
                err.contains(what) && err.contains(next) && !err.contains("not a recording"),
                "{name}: {err}"
            );
        }
    }
}

#[test]
fn counts_messages_of_gaps_and_not_their_pieces() {
    let gaps = |messages: &[u64]| {
        let line = |(i, messages): (usize, &u64)| {
            format!("{{\"dir\":\"gap\",\"t\":{i},\"stream\":1,\"messages\":{messages},\"bytes\":9}}\n")
        };
        let open = "{\"dir\":\"open\",\"t\":0,\"stream\":1,\"method\":\"/envoy.service.discovery.v3.\
                    AggregatedDiscoveryService/StreamAggregatedResources\"}\n";
        let text = format!("{open}{}", messages.iter().enumerate().map(line).collect::<String>());
        let environment =
            Environment { stdin: Box::new(std::io::Cursor::new(text)), ..Environment::default() };
        environment.run(&["info", "-"]).out
    };
    let text = gaps(&[0, 0, 3, 0, 2, 0]);
    assert!(text.contains("5 messages lost"), "{text}");
    let text = gaps(&[0, 0]);
    assert!(text.contains("1 message lost"), "{text}");
    let partial = run(&["info", "tests/fixtures/views/unseen-clusters.xds"]).out;
    assert!(!partial.contains("lost"), "{partial}");
}

/// The cost does not depend on times.
#[test]
fn reads_times_at_the_end_of_time() {
    let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
    let request = "EgMKAW4aAWEiM3R5cGUuZ29vZ2xlYXBpcy5jb20vZW52b3kuY29uZmlnLmNsdXN0ZXIudjMuQ2x1c3Rlcg==";
    for late in ["1e12", "1e308", "18446744072", "9000000000"] {
        let text = format!(
            "{{\"dir\":\"open\",\"t\":0.0,\"stream\":1,\"method\":\"{method}\"}}\n\
             {{\"dir\":\"c2s\",\"t\":1,\"stream\":1,\"raw\":\"{request}\"}}\n\
             {{\"dir\":\"c2s\",\"t\":{late},\"stream\":1,\"raw\":\"{request}\"}}\n"
        );
        let dir = tempfile::tempdir().unwrap();
        let (raw, recording) = (dir.path().join("x.jsonl"), dir.path().join("x.xdsrec"));
        std::fs::write(&raw, text).unwrap();
        let [raw, recording] = [&raw, &recording].map(|path| path.to_str().unwrap());
        let output = run(&["export", raw, "--to", "xdsrec", "--output", recording]);
        assert_eq!(output.exit, Exit::Yes, "{}", output.err);
        for file in [raw, recording] {
            for verb in ["status", "log", "lint", "info", "report"] {
                assert_ne!(run(&[verb, file]).exit, Exit::Defect, "{verb} {late}");
            }
        }
    }
    let script = script_file(
        "node n\nstream 1 ads\n+0s 1 > cds\n+9999999999s 1 < cds v=1 n=a [a]\n+9999999999s 1 > cds\n",
    );
    for verb in ["status", "log", "lint", "info"] {
        assert_ne!(run(&[verb, script.path().to_str().unwrap()]).exit, Exit::Defect, "{verb}");
    }
}

#[test]
fn finds_sessions_by_bare_name() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().to_str().unwrap().to_owned();
    std::fs::create_dir(dir.path().join("xdscope")).unwrap();
    let kept = dir.path().join("xdscope/session-1.xdsrec");
    assert_eq!(run(&["export", TOUR, "--to", "xdsrec", "--output", kept.to_str().unwrap()]).exit, Exit::Yes);
    let env: &'static [_] = vec![("XDG_STATE_HOME", &*state.leak())].leak();
    let environment = || Environment { env, ..Environment::default() };
    for name in ["session-1", "session-1.xdsrec"] {
        assert_eq!(environment().run(&["info", name]).exit, Exit::Yes, "{name}");
    }
    let missing = environment().run(&["info", "session-2"]);
    assert_eq!(missing.exit, Exit::Unreadable);
}
