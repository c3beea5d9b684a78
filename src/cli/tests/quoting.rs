//! Tests of the commands in hints: paths are quoted for a shell.

use super::*;

/// Returns the commands in an output: what follows `xdscope VERB` in a line.
fn commands(text: &str) -> Vec<&str> {
    let verb = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    let parts = text.lines().flat_map(|line| line.split("xdscope ").skip(1));
    parts.filter(|rest| verb(rest)).collect()
}

#[test]
fn commands_in_hints_quote_paths() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my session.xds");
    std::fs::copy(TOUR, &path).unwrap();
    let path = path.to_str().unwrap();
    let quoted = format!("'{path}'");
    for args in [
        &["status", path][..],
        &["get", path],
        &["get", path, "cds/nobody"],
        &["wait", path, "synced"],
        &["diff", path],
        &["diff", path, "cds/nobody", "@start", "@end"],
        &["diff", path, "cds", "V1", "V2"],
        &["export", path, "--to", "dot", "--filter", "kind:nack"],
        &["export", path, "--to", "dir"],
        &["export", path, "--to", "dir", "--filter", "kind:nack", "--output", "x"],
        &["export", path, "--to", "md", "--problem", "99"],
        &["serve", path, "--step"],
        &["get", path, "--node-id", "x"],
        &[path],
    ] {
        let output = run(args);
        let text = format!("{}{}", output.out, output.err);
        let commands = commands(&text);
        assert!(commands.iter().any(|command| command.contains(&quoted)), "{args:?}\n{text}");
        for command in commands {
            assert!(!command.replace(&quoted, "").contains(path), "{args:?}\n{command}");
        }
    }
    assert_eq!(xdscope_present::text::shell_word("cds/it's"), r"'cds/it'\''s'");
}

#[test]
fn file_that_looks_like_a_flag_is_a_path() {
    let output = run(&["status", "--", "--absent.xds"]);
    assert!(output.err.contains("./--absent.xds") && !output.err.contains(" --absent"), "{}", output.err);
}
