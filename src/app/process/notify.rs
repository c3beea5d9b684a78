//! Messages to the service manager that has started the process: `sd_notify` of systemd.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

/// Pings within the time after which the manager counts the process as hung.
const PINGS_PER_LIMIT: u32 = 3;

/// The service manager, if one has started the process and wants messages.
///
/// Errors are left out: a manager that is gone needs no messages.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    /// Interval of pings, and the last one; none without a watchdog.
    pings: Option<(Duration, Option<Instant>)>,
}

impl ServiceManager {
    /// Connects to the manager that the environment names (`NOTIFY_SOCKET`, `WATCHDOG_USEC`).
    pub fn of_env(env: &dyn Fn(&str) -> Option<String>, process: u32) -> ServiceManager {
        let Some(socket) = env("NOTIFY_SOCKET").and_then(|path| connect(&path)) else {
            return ServiceManager::default();
        };
        let is_meant = env("WATCHDOG_PID").is_none_or(|id| id == process.to_string());
        let limit = if is_meant { env("WATCHDOG_USEC") } else { None };
        let limit = limit.and_then(|limit| limit.parse().ok());
        let interval = limit.map(|limit| Duration::from_micros(limit) / PINGS_PER_LIMIT);
        ServiceManager { socket: Some(socket), pings: interval.map(|interval| (interval, None)) }
    }

    /// Says that the run has started. `status` describes the run in one line.
    pub fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={}", status.replace('\n', " ")));
    }

    /// Says that the run ends.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Says that the process works, if `works` and if that is due.
    pub fn ping(&mut self, works: impl FnOnce() -> bool) {
        let Some((interval, last)) = &mut self.pings else { return };
        let is_due = last.is_none_or(|last| last.elapsed() >= *interval);
        if is_due && works() {
            *last = Some(Instant::now());
            self.send("WATCHDOG=1");
        }
    }

    fn send(&self, message: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(message.as_bytes());
        }
    }
}

/// Connects to the socket of a manager: a path, or a name in the abstract namespace.
fn connect(path: &str) -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    // The manager reads at once, or not at all.
    socket.set_nonblocking(true).ok()?;
    match path.strip_prefix('@') {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt as _;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name).ok()?;
            socket.connect_addr(&address).ok()?;
        }
        #[cfg(not(target_os = "linux"))]
        Some(_) => return None,
        None => socket.connect(Path::new(path)).ok()?,
    }
    Some(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(manager: &UnixDatagram) -> Option<String> {
        let mut room = [0; 256];
        manager.set_nonblocking(true).expect("a socket");
        let len = manager.recv(&mut room).ok()?;
        Some(String::from_utf8_lossy(&room[..len]).into_owned())
    }

    #[test]
    fn manager_hears_of_start_work_and_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).expect("a socket");
        let env = |name: &str| match name {
            "NOTIFY_SOCKET" => Some(path.display().to_string()),
            "WATCHDOG_USEC" => Some("30000000".to_owned()),
            "WATCHDOG_PID" => Some("7".to_owned()),
            _ => None,
        };
        let mut run = ServiceManager::of_env(&env, 7);
        run.ready("tap\n:1");
        assert_eq!(received(&manager).as_deref(), Some("READY=1\nSTATUS=tap :1"));
        run.ping(|| false);
        assert_eq!(received(&manager), None, "a run that does not work says nothing");
        run.ping(|| true);
        assert_eq!(received(&manager).as_deref(), Some("WATCHDOG=1"));
        run.ping(|| true);
        assert_eq!(received(&manager), None, "the next ping is not due");
        run.stopping();
        assert_eq!(received(&manager).as_deref(), Some("STOPPING=1"));
        let mut child = ServiceManager::of_env(&env, 8);
        child.ping(|| true);
        assert_eq!(received(&manager), None, "the watchdog is about another process");
    }

    #[test]
    fn run_without_a_manager_is_silent() {
        let mut run = ServiceManager::of_env(&|_| None, 1);
        run.ready("");
        run.ping(|| true);
        run.stopping();
        let gone = |name: &str| (name == "NOTIFY_SOCKET").then(|| "/nowhere/notify".to_owned());
        ServiceManager::of_env(&gone, 1).ready("");
    }
}
