//! Real peers, at the versions pinned under `tests/peers/`.
//!
//! The first test that needs a peer creates `target/peers/`: a Python environment with Envoy and
//! gRPC C-core from the packages in `requirements.txt`, by hash, and the Go programs of
//! `control-plane`, with modules pinned by `go.sum`. Other parts are made by the first test that
//! needs them. Each part has a stamp with its pins, and is made again only when they change.

use std::{
    env, fs,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use super::wait::wait_within;

/// Environment variable that skips the tests with peers when it is `off`.
const SWITCH: &str = "XDSCOPE_PEERS";

/// Timeout of one step of making the peers, which take half a minute on a usual connection.
const STEP_LIMIT: Duration = Duration::from_secs(600);

/// Paths of the peers.
pub struct Peers {
    /// The Envoy binary.
    pub envoy: PathBuf,
    /// A Python with grpcio.
    pub python: PathBuf,
    /// The server of `tests/peers/control-plane`.
    pub control_plane: PathBuf,
    /// The grpc-go client.
    pub go_client: PathBuf,
}

/// Returns the peers, or `None` if `XDSCOPE_PEERS=off` skips `test`.
///
/// The note about a skipped test goes to standard error past the test harness, which hides the
/// output of passing tests.
///
/// # Panics
/// Panics if the peers cannot be made; the message names the step and the remedy.
pub fn get(test: &str) -> Option<&'static Peers> {
    static PEERS: OnceLock<Result<Peers, String>> = OnceLock::new();
    if is_skipped(test) {
        return None;
    }
    match PEERS.get_or_init(make) {
        Ok(peers) => Some(peers),
        Err(why) => panic!("{why}"),
    }
}

/// Returns the folder with grpc-js's packages, in which to run `tests/peers/js/client.mjs`.
///
/// The first test that needs it creates it; no other test needs Node.
///
/// # Panics
/// Panics if the environment cannot be made; the message names the step and the remedy.
pub fn js() -> &'static Path {
    static JS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match JS.get_or_init(|| make_npm("js", "install grpc-js with npm")) {
        Ok(folder) => folder,
        Err(why) => panic!("{why}"),
    }
}

/// Returns the folder with Chromium and the HTML validator, in which to run
/// `tests/peers/page/check.mjs`; `None` if `XDSCOPE_PEERS=off` skips `test`.
///
/// Chromium is that of an npm package for Linux on x86-64, with its own libraries.
///
/// # Panics
/// Panics if the environment cannot be made; the message names the step and the remedy.
pub fn browser(test: &str) -> Option<&'static Path> {
    static BROWSER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if is_skipped(test) {
        return None;
    }
    match BROWSER.get_or_init(|| make_npm("page", "install Chromium, html-validate and axe-core with npm")) {
        Ok(folder) => Some(folder),
        Err(why) => panic!("{why}"),
    }
}

/// Returns the folder with the grpc-java client: `Client.class`, and its packages in `lib`.
///
/// The first test that needs it creates it; no other test needs Java.
///
/// # Panics
/// Panics if the client cannot be made; the message names the step and the remedy.
pub fn java() -> &'static Path {
    static JAVA: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match JAVA.get_or_init(make_java) {
        Ok(folder) => folder,
        Err(why) => panic!("{why}"),
    }
}

/// Makes and returns the grpc-java client.
fn make_java() -> Result<PathBuf, String> {
    const NEEDS: &str = "install a JDK 17 or later and Maven, and make the Maven repository reachable";
    let (home, _lock) = locked_home("java")?;
    let (source, folder) = (sources().join("java"), home.join("java"));
    let version = step("ask javac for its version", NEEDS, Command::new("javac").arg("--version"), None)?;
    let [pom, checksums, client] =
        ["pom.xml", "checksums", "Client.java"].map(|file| read(&source.join(file)));
    let (pom, checksums) = (pom?, checksums?);
    let pins = [&version, &pom, &checksums, &client?].map(String::as_str).concat();
    once(&folder, &pins, || {
        fs::write(folder.join("pom.xml"), &pom)
            .map_err(|e| failed("copy the pins of Maven", &e.to_string()))?;
        let mut maven = Command::new("mvn");
        maven.args(["--batch-mode", "--quiet", "dependency:copy-dependencies"]);
        step("fetch grpc-java with Maven", NEEDS, &mut maven, Some(&folder))?;
        check_packages(&folder.join("lib"), &checksums)
            .map_err(|why| failed("check the packages of grpc-java", &why))?;
        let mut javac = Command::new("javac");
        javac.args(["-d", ".", "-cp", "lib/*"]).arg(source.join("Client.java"));
        step("compile the grpc-java client with javac", NEEDS, &mut javac, Some(&folder)).map(drop)
    })?;
    Ok(folder)
}

/// Compares the files of a folder with a list of SHA-256 checksums, as `sha256sum` prints it.
fn check_packages(folder: &Path, checksums: &str) -> Result<(), String> {
    let mut found = String::new();
    let mut files = fs::read_dir(folder)
        .and_then(|files| files.map(|file| Ok(file?.path())).collect::<io::Result<Vec<_>>>())
        .map_err(|e| format!("{}: {e}", folder.display()))?;
    files.sort();
    for file in files {
        let bytes = fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file.file_name().unwrap_or_default();
        found += &format!("{:x}  {}\n", Sha256::digest(bytes), name.display());
    }
    let differs = |(list, other): (&str, &str)| {
        list.lines().find(|line| !other.lines().any(|it| it == *line)).map(str::to_owned)
    };
    match (differs((&found, checksums)), differs((checksums, &found))) {
        (None, None) => Ok(()),
        (Some(other), _) => Err(format!("not in `checksums`: {other}")),
        (None, Some(missing)) => Err(format!("missing: {missing}")),
    }
}

/// Installs the packages of `tests/peers/NAME`, and returns their folder.
fn make_npm(name: &str, what: &str) -> Result<PathBuf, String> {
    let (home, _lock) = locked_home(name)?;
    let (source, folder) = (sources().join(name), home.join(name));
    let files = ["package.json", "package-lock.json"];
    let texts = files.map(|file| read(&source.join(file)));
    let pins = texts.iter().cloned().collect::<Result<String, _>>()?;
    once(&folder, &pins, || {
        for (file, text) in files.iter().zip(&texts) {
            let text = text.as_ref().map_err(Clone::clone)?;
            fs::write(folder.join(file), text).map_err(|e| failed("copy the pins of npm", &e.to_string()))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        let needs = "install Node 20 or later with npm, and make the npm registry reachable";
        step(what, needs, &mut npm, Some(&folder)).map(drop)
    })?;
    Ok(folder)
}

/// Returns a Python with Sovereign, a REST control plane. The first test that needs it creates it.
///
/// # Panics
/// Panics if the environment cannot be made; the message names the step and the remedy.
pub fn sovereign() -> &'static Path {
    static SOVEREIGN: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let make = || {
        let (home, _lock) = locked_home("sovereign")?;
        let folder = home.join("sovereign");
        python_with(&folder, &sources().join("sovereign/requirements.txt"), "install Sovereign with pip")?;
        Ok(folder.join("bin/sovereign"))
    };
    match SOVEREIGN.get_or_init(make) {
        Ok(program) => program,
        Err(why) => panic!("{why}"),
    }
}

/// Returns the folder with the program `duckdb`, which the first test that needs it installs; `None`
/// if `XDSCOPE_PEERS=off` skips `test`.
///
/// # Panics
/// Panics if the environment cannot be made; the message names the step and the remedy.
pub fn duckdb(test: &str) -> Option<&'static Path> {
    static DUCKDB: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if is_skipped(test) {
        return None;
    }
    let make = || {
        let (home, _lock) = locked_home("duckdb")?;
        let folder = home.join("duckdb");
        python_with(&folder, &sources().join("duckdb/requirements.txt"), "install DuckDB with pip")?;
        Ok(folder.join("bin"))
    };
    match DUCKDB.get_or_init(make) {
        Ok(folder) => Some(folder),
        Err(why) => panic!("{why}"),
    }
}

/// Returns the binary of an Envoy before the one of [`get`]. The first test that needs it installs it.
///
/// # Panics
/// Panics if the environment cannot be made; the message names the step and the remedy.
pub fn older_envoy() -> &'static Path {
    static ENVOY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let make = || {
        let (home, _lock) = locked_home("older-envoy")?;
        let folder = home.join("older-envoy");
        let requirements = sources().join("older-envoy/requirements.txt");
        python_with(&folder, &requirements, "install an older Envoy with pip")?;
        envoy_of(&folder.join("bin/python"))
    };
    match ENVOY.get_or_init(make) {
        Ok(program) => program,
        Err(why) => panic!("{why}"),
    }
}

/// Whether `XDSCOPE_PEERS=off` skips `test`; if so, notes that.
fn is_skipped(test: &str) -> bool {
    let is_skipped = is_off(env::var(SWITCH).ok().as_deref());
    if is_skipped {
        let note = format!("left out by {SWITCH}=off: {test}\n");
        io::stderr().write_all(note.as_bytes()).expect("standard error");
    }
    is_skipped
}

/// Reads the switch; any value other than `off` is an error.
pub fn is_off(switch: Option<&str>) -> bool {
    match switch {
        None => false,
        Some("off") => true,
        Some(other) => panic!("{SWITCH}={other} is not supported: leave it unset, or set it to off"),
    }
}

/// Returns the folder with the pins and the peers' sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

/// Returns `target/peers`, and the lock of a part: parallel test runs do not make it twice.
///
/// Dropping the file unlocks it.
fn locked_home(part: &str) -> Result<(PathBuf, File), String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers");
    fs::create_dir_all(&home).map_err(|e| failed("make target/peers", &e.to_string()))?;
    let file = home.join(format!("{part}.lock"));
    let what = format!("lock {}", file.display());
    let lock = File::create(file).and_then(|lock| lock.lock().map(|()| lock));
    Ok((home, lock.map_err(|e| failed(&what, &e.to_string()))?))
}

fn make() -> Result<Peers, String> {
    let (home, _lock) = locked_home("python-and-go")?;
    let (python, go) = thread::scope(|both| {
        let python = both.spawn(|| make_python(&home.join("python")));
        (python.join(), make_go(&home.join("go")))
    });
    let (envoy, python) = python.map_err(|_| failed("make the Python environment", "it panicked"))??;
    let (control_plane, go_client) = go?;
    Ok(Peers { envoy, python, control_plane, go_client })
}

/// Makes and returns Envoy and Python.
fn make_python(home: &Path) -> Result<(PathBuf, PathBuf), String> {
    let requirements = sources().join("requirements.txt");
    python_with(home, &requirements, "install Envoy and grpcio with pip")?;
    let python = home.join("bin/python");
    Ok((envoy_of(&python)?, python))
}

/// Returns the binary of the Envoy that is installed beside a Python.
fn envoy_of(python: &Path) -> Result<PathBuf, String> {
    let needs = "install Python 3.9 or later with its venv module";
    let mut ask = Command::new(python);
    ask.args(["-c", "import envoy; print(envoy.__path__[0], end='')"]);
    let package = step("find the installed Envoy", needs, &mut ask, None)?;
    Ok(Path::new(&package).join("_bin/envoy"))
}

/// Makes a Python environment with these packages.
fn python_with(home: &Path, requirements: &Path, what: &str) -> Result<(), String> {
    let needs = "install Python 3.11 or later with its venv module";
    let version = step("ask python3 for its version", needs, Command::new("python3").arg("--version"), None)?;
    let pins = version + &read(requirements)?;
    let python = home.join("bin/python");
    once(home, &pins, || {
        step(
            "make a Python environment",
            needs,
            Command::new("python3").args(["-m", "venv"]).arg(home),
            None,
        )?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--require-hashes"]);
        pip.args(["--only-binary", ":all:", "--requirement"]).arg(requirements);
        let needs = "make the Python package index reachable for pip";
        step(what, needs, &mut pip, None).map(drop)
    })
}

/// Makes and returns the control plane and the grpc-go client.
fn make_go(home: &Path) -> Result<(PathBuf, PathBuf), String> {
    let source = sources().join("control-plane");
    let mut pins = String::new();
    for file in ["go.mod", "go.sum", "main.go", "commands.go", "events.go", "xds-client/main.go"] {
        pins += &read(&source.join(file))?;
    }
    once(home, &pins, || {
        let mut go = Command::new("go");
        go.args(["build", "-mod=readonly", "-trimpath", "-o"]).arg(home).arg("./...").env("CGO_ENABLED", "0");
        let needs = "install Go 1.26 or later, and make the Go module proxy reachable";
        step("build the control plane and the grpc-go client with go", needs, &mut go, Some(&source))
            .map(drop)
    })?;
    Ok((home.join("control-plane"), home.join("xds-client")))
}

/// Runs `make` on an empty folder `home`, unless the folder was made from the same `pins` before.
fn once(home: &Path, pins: &str, make: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let stamp = home.join("made-from");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == pins) {
        return Ok(());
    }
    match fs::remove_dir_all(home) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            return Err(failed("clear target/peers", &e.to_string()));
        }
        _ => {}
    }
    fs::create_dir_all(home).map_err(|e| failed("make target/peers", &e.to_string()))?;
    make()?;
    fs::write(&stamp, pins).map_err(|e| failed("write target/peers", &e.to_string()))
}

/// Runs one program to its end and returns its standard output.
///
/// # Errors
/// Names the step, its failure with the program's output, `needs`, and how to skip the peers.
pub fn step(what: &str, needs: &str, command: &mut Command, within: Option<&Path>) -> Result<String, String> {
    let fail = |why: &str| failed(what, &format!("{why}\n  to do: {needs}"));
    if let Some(folder) = within {
        command.current_dir(folder);
    }
    let mut said = [(); 2].map(|()| tempfile::tempfile());
    let [Ok(out), Ok(err)] = &mut said else { return Err(fail("no temporary files")) };
    let (Ok(out_end), Ok(err_end)) = (out.try_clone(), err.try_clone()) else {
        return Err(fail("no temporary files"));
    };
    let spawned = command.stdin(Stdio::null()).stdout(out_end).stderr(err_end).spawn();
    let mut child = spawned.map_err(|e| fail(&format!("{}: {e}", command.get_program().display())))?;
    let ended = wait_within(STEP_LIMIT, || child.try_wait().transpose());
    let status = match ended {
        Some(Ok(status)) => status,
        Some(Err(e)) => return Err(fail(&e.to_string())),
        None => {
            // An error means that the program has ended.
            let _ = child.kill();
            let _ = child.wait();
            return Err(fail(&format!("not done after {STEP_LIMIT:?}")));
        }
    };
    let said = contents(out).and_then(|out| Ok((out, contents(err)?)));
    match said {
        Ok((out, _)) if status.success() => Ok(out),
        Ok((out, err)) => Err(fail(&format!("{status}\n{out}{err}"))),
        Err(e) => Err(fail(&e.to_string())),
    }
}

fn contents(file: &mut File) -> io::Result<String> {
    use std::io::{Read, Seek};
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| failed(&format!("read {}", file.display()), &e.to_string()))
}

fn failed(what: &str, why: &str) -> String {
    format!(
        "cannot get the real peers for tests\n  step: {what}\n  error: {}\n  or leave the tests which need them out: \
         {SWITCH}=off cargo test",
        why.trim_end()
    )
}
