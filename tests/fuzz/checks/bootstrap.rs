use xdscope_engine::lint;
use xdscope_schema::bootstrap;
use xdscope_schema::bootstrap::Document;

/// Checks that a text is refused with a reason or read, and that a document is written and read
/// back unchanged.
///
/// Input: the text.
pub fn bootstrap(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match bootstrap::read(&text) {
        Ok(config) => assert!(config.servers().len() <= text.len()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let _ = lint::Bootstrap::read(&text);
    let redirect = bootstrap::Redirect { listen: "127.0.0.1:1".into(), upstream: "cp.test:18000".into() };
    let _ = bootstrap::rewrite(&text, &[redirect], "");
    let Ok(document) = Document::parse(&text) else { return };
    let written = document.to_text();
    let again = Document::parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again.root(), document.root(), "{written}");
}
