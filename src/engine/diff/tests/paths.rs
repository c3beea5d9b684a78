use crate::diff::{DiffPath, DiffStep, IgnorePattern, ListKey};

#[test]
fn paths_parse_as_patterns() {
    let path = DiffPath(vec![
        DiffStep::Field("virtual_hosts".into()),
        DiffStep::Item { by: ListKey::Name, key: "a]\"b".into(), at: None },
        DiffStep::Field("envoy.filters".into()),
        DiffStep::Index { old: Some(3), new: Some(3) },
        DiffStep::Field("x".into()),
    ]);
    assert_eq!(path.to_string(), r#"virtual_hosts[name="a]\"b"]["envoy.filters"][3].x"#);
    assert!(IgnorePattern::parse(&path.to_string()).is_ok());
}

#[test]
fn pattern_errors_have_positions() {
    for (text, at) in
        [("", 0), ("a.", 2), ("a..b", 2), (".a", 0), ("a[", 1), ("a[]", 2), ("a[x]b", 4), ("**", 0)]
    {
        assert_eq!(IgnorePattern::parse(text).map_err(|error| error.at), Err(at), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn accepts_or_rejects_any_pattern(text in "[a\\[\\].\"*=\\\\é]{0,12}") {
        let _ = IgnorePattern::parse(&text);
    }
}
