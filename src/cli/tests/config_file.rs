//! Tests of `--config` and `tap --check-config`.

use super::*;

const EXAMPLE: &str = include_str!("../../../examples/config/xdscope.toml");

/// Checks a file, with more flags on the command line.
fn check(text: &str, more: &[&str]) -> CallOutput {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("xdscope.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let mut output = run(&[&["tap", "--config", path, "--check-config"], more].concat());
    for text in [&mut output.out, &mut output.err] {
        *text = text.replace(path, "FILE").replace(folder.path().to_str().unwrap(), "FOLDER");
    }
    output
}

#[test]
fn example_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    // The form of the log is that of the process, and other tests read it.
    let text = EXAMPLE.replace("log-format = \"json\"", "");
    let text = text.replace("/var/lib/xdscope", folder.path().to_str().unwrap());
    let output = check(&text, &[]);
    assert_eq!(output.exit, Exit::Yes, "{}", output.err);
    assert_eq!(
        output.out,
        format!(
            "config    FILE\ntap       127.0.0.1:18001 → cp-1.mesh:15010\n\
             tap       127.0.0.1:18002 → cp-2.mesh:15010\nmetrics   127.0.0.1:9909\nrecords   {}, a file for each run\n",
            folder.path().display()
        )
    );
    assert_eq!(output.err, "xdscope: the configuration can be used\n");
}

#[test]
fn command_line_wins_and_repeated_flags_add_up() {
    let text = "server = \"cp.mesh:15010\"\nlisten = \"127.0.0.1:1\"\nplaintext = true\nno-record = true\n";
    assert!(check(text, &[]).out.contains("127.0.0.1:1 → cp.mesh:15010\n"));
    let typed = check(text, &["--listen", ":2", "--map", ":3=a.mesh:4"]).out;
    assert!(typed.contains("127.0.0.1:3 → a.mesh:4\n"), "{typed}");
    assert!(typed.contains("127.0.0.1:2 → cp.mesh:15010\n") && !typed.contains("127.0.0.1:1 "), "{typed}");
    // Other spellings of a flag, and flags that exclude one of the file.
    let text = "server = \"cp:1\"\nheadless = true\nverbose = true\nplaintext = true\nformat = \"jsonl\"\n\
                record = \"none/a.xdsrec\"\n";
    for more in [&["--headless"][..], &["--no-tui"], &["-o", "text"], &["--cacert", "none.pem"]] {
        let output = check(text, &[more, &["--no-record"]].concat());
        assert!(!output.err.contains("cannot be used"), "{more:?}: {}", output.err);
        assert!(output.out.contains("records   nothing") || more.contains(&"--cacert"), "{}", output.err);
    }
}

#[test]
fn errors_name_the_line_and_a_next_step() {
    for (text, wanted) in [
        (
            "server = \"cp:1\"\nmemroy = \"1GB\"",
            "FILE line 2: `tap` has no flag `memroy`\n  next   memory = …",
        ),
        ("server = \"cp:1\"\n\nmemory = \"lots\"", "FILE line 3: invalid value 'lots' for '--memory"),
        (
            "server = \"cp:1\"\nplaintext = \"yes\"",
            "FILE line 2: `plaintext` must be true or false, not of the type string",
        ),
        ("server = \"cp:1\"\nmemory = [\"1GB\"]", "FILE line 2: `memory` has one value, not a list"),
        (
            "server = \"cp:1\"\nlisten = true",
            "FILE line 2: `listen` must be a text or a number, not of the type boolean",
        ),
        (
            "server = \"cp:1\"\nmap = [[1]]",
            "FILE line 2: `map` must be a text or a number, not of the type array",
        ),
        ("server = cp", "FILE line 1: "),
        (
            "server = \"--keep-secrets\"\nmap = [\":1=cp:1\"]",
            "FILE line 1: `server` must not begin with a dash",
        ),
        (
            "server = \"cp:1\"\nheadless = true\nno-tui = true",
            "FILE line 3: `no-tui` is the flag of line 2 again",
        ),
        ("map = [\":1=cp:1\", \":1=cp:2\"]", "two pairs listen on 127.0.0.1:1"),
        ("server = \"127.0.0.1:1\"\nlisten = \":1\"", "forward from 127.0.0.1:1 to itself"),
        ("server = \"cp:1\"\nfilter = \"(((\"", "--filter"),
        (
            "server = \"cp:1\"\nkeep = \"password=hunter2secret\"",
            "FILE line 2: invalid value 'password=[redacted",
        ),
        ("server = \"cp:1\"\nplaintext = true\napplied = \"none.json\"", "--applied: no file none.json"),
        ("check-config = true", "FILE line 1: `tap` has no flag `check-config`"),
        ("config = \"other.toml\"", "FILE line 1: `tap` has no flag `config`"),
        ("headless = true", "the following required arguments were not provided"),
        ("server = \"cp:1\"\n[redact]\nheaders = [\"a b\"]", "FILE line 3: `a b` is not a header name"),
        (
            "server = \"cp:1\"\nplaintext = true\nrecord = \"FOLDER/none/a.xdsrec\"",
            "--record: no folder FOLDER/none",
        ),
        (
            "server = \"cp:1\"\nlisten-cert = \"no.pem\"\nlisten-key = \"no.pem\"",
            "cannot read the certificates of no.pem",
        ),
        ("server = \"cp:1\"\nplaintext = true\nmetrics = \"cp\"", "--metrics: `cp` has no port"),
        ("server = \"cp:1\"\nfault = [\"nonsense\"]", "nonsense"),
    ] {
        let output = check(text, &[]);
        assert!(output.err.contains(wanted), "{text}: {}", output.err);
        assert!(output.out.is_empty() && output.exit != Exit::Yes, "{text}: {}", output.out);
        assert!(output.err.contains("next   "), "{text}: {}", output.err);
    }
    let folder = tempfile::tempdir().unwrap();
    let device = format!("listen-cert = \"/dev/zero\"\nlisten-key = \"{}\"", folder.path().display());
    let device = check(&format!("server = \"cp:1\"\n{device}"), &[]);
    assert!(device.err.contains("not a file of at most 4 MiB"), "{}", device.err);
    let missing = run(&["tap", "--config", "no-such.toml"]);
    assert!(missing.err.contains("cannot read --config no-such.toml"), "{}", missing.err);
    assert_eq!(missing.exit, Exit::Unreadable);
}

/// The check judges the file of a recording as the run does, and leaves it as it is.
#[test]
fn check_refuses_what_a_run_would_not_replace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.xdsrec");
    let text = format!("server = \"cp:1\"\nplaintext = true\nrecord = \"{}\"\n", file.display());
    assert_eq!(check(&text, &[]).exit, Exit::Yes);
    assert!(!file.exists(), "a check creates no file");
    std::fs::write(&file, "").unwrap();
    assert_eq!(check(&text, &[]).exit, Exit::Yes, "a run begins in an empty file");
    std::fs::write(&file, "notes").unwrap();
    for more in [&[][..], &["--force"]] {
        let output = check(&text, more);
        assert_eq!(output.exit, Exit::Unreadable, "{more:?}: {}", output.err);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "notes");
    }
}
