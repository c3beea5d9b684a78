//! Descriptors by gRPC server reflection, v1 or else v1alpha.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use super::dial::{self, Dial, DialError};
use super::rpc;
use super::tls;
use crate::net::transport::Address;
use xdscope_wire::pb::{Fields, put_len_field};
use xdscope_wire::text::display_safe;

/// The paths of the two versions, whose messages are the same.
const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Limit on the files of one server and their imports. A server answers a request with any number
/// of files, so answers are counted, too.
pub(crate) const MAX_FILES: usize = 20_000;
/// Limit on the bytes of these files.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// A server and the settings of connections to it.
pub struct Server<'a> {
    pub address: &'a Address,
    /// `None`: plaintext.
    pub tls: Option<&'a tls::ClientTls>,
    /// The HTTP/2 `:authority` to use instead of the address.
    pub authority: Option<&'a str>,
    /// Headers to add to the request.
    pub headers: &'a [(String, String)],
    /// The timeout of each step.
    pub timeout: Duration,
}

/// The reason why there are no descriptors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReflectionError {
    pub what: String,
    /// The steps so far, the failed one last.
    pub tried: Vec<String>,
    /// A flag that may help.
    pub next: Option<String>,
}

impl fmt::Display for ReflectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for ReflectionError {}

impl Server<'_> {
    /// Fetches the files of all services that the server lists and of `symbols`, with their
    /// imports.
    ///
    /// `symbols` are full names. Returns an encoded `FileDescriptorSet`. `known` returns files that
    /// the server need not send, by name.
    ///
    /// # Errors
    ///
    /// The server is unreachable, has no reflection, or does not know a symbol.
    pub fn descriptors(
        &self,
        symbols: &[String],
        known: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Vec<u8>, ReflectionError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| self.fail(error.to_string(), &[], None))?;
        runtime.block_on(async {
            let channel = self.connect().await?;
            let mut opened = Err(Status::unimplemented("not asked"));
            for path in PATHS {
                opened = ReflectionStream::open(self, channel.clone(), path).await;
                if !matches!(&opened, Err(status) if status.code() == Code::Unimplemented) {
                    break;
                }
            }
            let (mut info, services) = opened.map_err(|status| self.ended(&status))?;
            info.collect(services, symbols, known).await
        })
    }

    /// Returns the protocol version and the number of services that the server lists.
    pub(super) async fn services(&self, channel: Channel) -> Result<(&'static str, usize), Status> {
        let mut opened = Err(Status::unimplemented("not asked"));
        for (path, version) in PATHS.into_iter().zip(["v1", "v1alpha"]) {
            opened = ReflectionStream::open(self, channel.clone(), path)
                .await
                .map(|(_, listed)| (version, listed.len()));
            if !matches!(&opened, Err(status) if status.code() == Code::Unimplemented) {
                break;
            }
        }
        opened
    }

    fn fail(&self, what: String, tried: &[&str], next: Option<String>) -> ReflectionError {
        ReflectionError { what, tried: tried.iter().map(|step| (*step).to_owned()).collect(), next }
    }

    fn ended(&self, status: &Status) -> ReflectionError {
        if status.code() == Code::Unimplemented {
            let what = format!("{} has no server reflection, neither v1 nor v1alpha", self.address);
            return self.fail(what, &["connect", "v1", "v1alpha"], Some("--protoset FILE".into()));
        }
        let code = xdscope_wire::event::Code(status.code().into());
        let what = format!("{}: server reflection failed: {code} {}", self.address, dial::causes(status));
        let silent = self.tls.is_none() && status.code() != Code::Unauthenticated;
        let next = silent.then(|| "--cacert FILE or --insecure, if it requires TLS".to_owned());
        self.fail(what, &["connect", "ServerReflectionInfo"], next)
    }

    async fn connect(&self) -> Result<Channel, ReflectionError> {
        let Server { address, tls, authority, timeout, .. } = *self;
        let dial = Dial { address, tls, authority, timeout };
        match dial.connect(|endpoint| endpoint.timeout(timeout * 6)).await {
            Ok((channel, _)) => Ok(channel),
            Err(DialError { what, tried, next, .. }) => Err(ReflectionError { what, tried, next }),
        }
    }
}

/// Field numbers of a request (grpc/reflection/v1/reflection.proto).
const FILE_BY_NAME: u32 = 3;
const FILE_OF_SYMBOL: u32 = 4;
const LIST_SERVICES: u32 = 7;

/// An open ServerReflectionInfo stream.
struct ReflectionStream {
    address: String,
    requests: mpsc::Sender<Bytes>,
    responses: Streaming<Bytes>,
    timeout: Duration,
}

/// The fields of a response that are used.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    files: Vec<Bytes>,
    services: Vec<String>,
    /// The server's error code and message.
    error: Option<String>,
}

fn request(member: u32, value: &str) -> Bytes {
    let mut out = Vec::new();
    put_len_field(&mut out, member, value.as_bytes());
    out.into()
}

fn answer(bytes: &[u8]) -> Answer {
    let mut out = Answer::default();
    let inner = |bytes| Fields::new(bytes).map_while(Result::ok);
    for field in inner(bytes) {
        match field.number {
            4 => {
                let files = inner(field.bytes()).filter(|field| field.number == 1);
                out.files.extend(files.map(|field| Bytes::copy_from_slice(field.bytes())));
            }
            6 => {
                for service in inner(field.bytes()).filter(|field| field.number == 1) {
                    let name = inner(service.bytes()).find(|field| field.number == 1);
                    out.services.extend(name.map(|name| name.text().into_owned()));
                }
            }
            7 => {
                let message = inner(field.bytes()).find(|field| field.number == 2);
                out.error = Some(message.map(|message| message.text().into_owned()).unwrap_or_default());
            }
            _ => {}
        }
    }
    out
}

/// Returns the name and the imports of an encoded `FileDescriptorProto`.
fn file(bytes: &[u8]) -> (String, Vec<String>) {
    let (mut name, mut imports) = (String::new(), Vec::new());
    for field in Fields::new(bytes).map_while(Result::ok) {
        match field.number {
            1 => name = field.text().into_owned(),
            3 => imports.push(field.text().into_owned()),
            _ => {}
        }
    }
    (name, imports)
}

impl ReflectionStream {
    /// Opens the stream and lists the services, which shows whether the server has this version.
    async fn open(
        server: &Server<'_>,
        channel: Channel,
        path: &str,
    ) -> Result<(ReflectionStream, Vec<String>), Status> {
        let (requests, ready) = mpsc::channel(1);
        // Some servers send their headers only after the first request.
        let first = requests.send(request(LIST_SERVICES, "*")).await;
        first.map_err(|_| Status::internal("the stream is closed"))?;
        let metadata = dial::metadata(server.headers);
        let metadata = metadata.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let opening = rpc::open_with(channel, path, metadata, ready);
        let responses = tokio::time::timeout(server.timeout, opening).await;
        let responses = responses.map_err(|_| Status::deadline_exceeded("no answer"))??;
        let (address, timeout) = (server.address.to_string(), server.timeout);
        let mut info = ReflectionStream { address, requests, responses, timeout };
        let services = info.next().await?.services;
        Ok((info, services))
    }

    async fn next(&mut self) -> Result<Answer, Status> {
        let next = tokio::time::timeout(self.timeout, self.responses.message()).await;
        let next = next.map_err(|_| Status::deadline_exceeded("no answer"))??;
        next.map(|bytes| answer(&bytes)).ok_or_else(|| Status::unavailable("the server ended the stream"))
    }

    async fn ask(&mut self, member: u32, value: &str) -> Result<Answer, ReflectionError> {
        let sent = self.requests.send(request(member, value)).await;
        let answer = match sent {
            Ok(()) => self.next().await,
            Err(_) => Err(Status::unavailable("the server ended the stream")),
        };
        answer.map_err(|status| ReflectionError {
            what: format!("{}: server reflection failed at {value}: {}", self.address, status.message()),
            tried: vec!["connect".into(), "list of services".into(), value.into()],
            next: None,
        })
    }

    async fn collect(
        &mut self,
        services: Vec<String>,
        symbols: &[String],
        known: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Vec<u8>, ReflectionError> {
        let mut files = CollectedFiles::default();
        for symbol in services.iter().chain(symbols) {
            let answer = self.ask(FILE_OF_SYMBOL, symbol).await?;
            if let Some(error) = &answer.error {
                // A server may list services that it cannot describe. Symbols that the user asked
                // for must exist.
                if symbols.contains(symbol) {
                    let what = format!("{} does not know {symbol}: {error}", self.address);
                    let tried = vec!["connect".into(), "list of services".into(), symbol.clone()];
                    return Err(ReflectionError { what, tried, next: Some("--protoset FILE".into()) });
                }
                tracing::debug!(symbol = %display_safe(symbol), "the server does not describe a service of its own");
            }
            files.take(answer.files).map_err(|TooMuch| self.unusable("too much", symbol))?;
        }
        while let Some(name) = files.missing.pop_first() {
            let answer = self.ask(FILE_BY_NAME, &name).await?;
            let found = if answer.files.is_empty() {
                known(&name).map(Bytes::from).into_iter().collect()
            } else {
                answer.files
            };
            if found.is_empty() {
                return Err(self.unusable("an import that it does not have", &name));
            }
            files.take(found).map_err(|TooMuch| self.unusable("too much", &name))?;
        }
        let mut set = Vec::new();
        for bytes in files.files.values() {
            put_len_field(&mut set, 1, bytes);
        }
        Ok(set)
    }

    fn unusable(&self, why: &str, name: &str) -> ReflectionError {
        ReflectionError {
            what: format!("{}: server reflection gave {why}: {name}", self.address),
            tried: vec!["connect".into(), "list of services".into(), name.to_owned()],
            next: Some("--protoset FILE".into()),
        }
    }
}

/// The files that a server sent.
#[derive(Default)]
struct CollectedFiles {
    files: BTreeMap<String, Bytes>,
    /// Imports that were not sent yet.
    missing: BTreeSet<String>,
    answers: usize,
    /// Bytes of all files, repeated ones included.
    size: usize,
}

/// The files of a server exceed the limits.
#[derive(Debug, PartialEq, Eq)]
struct TooMuch;

impl CollectedFiles {
    /// Keeps the new files of an answer by name, and notes their missing imports.
    fn take(&mut self, found: Vec<Bytes>) -> Result<(), TooMuch> {
        self.answers += 1;
        self.size += found.iter().map(Bytes::len).sum::<usize>();
        for bytes in found {
            let (name, imports) = file(&bytes);
            self.missing.remove(&name);
            self.files.entry(name).or_insert(bytes);
            self.missing.extend(imports.into_iter().filter(|import| !self.files.contains_key(import)));
        }
        let files = self.files.len() + self.missing.len();
        if files.max(self.answers) > MAX_FILES || self.size > MAX_BYTES { Err(TooMuch) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(fields: &[(u32, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        fields.iter().for_each(|(number, bytes)| put_len_field(&mut out, *number, bytes));
        out
    }

    #[test]
    fn reads_reflection_responses() {
        let services = message(&[(1, &message(&[(1, b"a.B")])), (1, &message(&[(1, b"c.D")]))]);
        assert_eq!(answer(&message(&[(6, &services)])).services, ["a.B", "c.D"]);
        let files = message(&[(1, b"one"), (1, b"two")]);
        assert_eq!(answer(&message(&[(2, b"original"), (4, &files)])).files, ["one", "two"]);
        assert_eq!(answer(&message(&[(7, &message(&[(2, b"no")]))])).error.as_deref(), Some("no"));
        assert_eq!(answer(b"\xff\xff"), Answer::default());
    }

    #[test]
    fn requests_each_import_once() {
        let mut files = CollectedFiles::default();
        let one = message(&[(1, b"one.proto"), (3, b"two.proto"), (3, b"three.proto")]);
        assert_eq!(files.take(vec![one.into()]), Ok(()));
        assert_eq!(files.missing.iter().collect::<Vec<_>>(), ["three.proto", "two.proto"]);
        let two = message(&[(1, b"two.proto"), (3, b"one.proto")]);
        assert_eq!(files.take(vec![two.into()]), Ok(()));
        assert_eq!(files.missing.iter().collect::<Vec<_>>(), ["three.proto"]);
        assert_eq!(files.files.len(), 2);
    }

    #[test]
    fn refuses_a_server_that_never_ends() {
        // Each answer has another file than the requested one, and needs that one.
        let other: Bytes = message(&[(1, b"other.proto"), (3, b"wanted.proto")]).into();
        let mut files = CollectedFiles::default();
        let answers = (0..MAX_FILES + 1).take_while(|_| files.take(vec![other.clone()]).is_ok());
        assert_eq!(answers.count(), MAX_FILES);
        let long: Bytes = message(&[(1, b"long.proto"), (9, &vec![0; 1 << 20])]).into();
        let mut files = CollectedFiles::default();
        assert_eq!(files.take(vec![long; 65]), Err(TooMuch));
        let imports: Vec<_> = (0..MAX_FILES).map(|n| n.to_string()).collect();
        let fields: Vec<(u32, &[u8])> = imports.iter().map(|name| (3, name.as_bytes())).collect();
        assert_eq!(CollectedFiles::default().take(vec![message(&fields).into()]), Err(TooMuch));
    }
}
