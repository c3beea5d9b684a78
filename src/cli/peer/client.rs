//! xdscope as a client: the options of a run, and a server as SOURCE.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::app::client::{AckPolicy, InitialSubscription, Options, Progress, Running};
use crate::net::client::{DialError, Server};
use crate::net::token::Token;
use xdscope_engine::analysis;
use xdscope_engine::filter::RowKind;
use xdscope_present::json as words;
use xdscope_present::text::shell_word;
use xdscope_schema::bootstrap::BootstrapConfig;
use xdscope_schema::bootstrap::FallbackServer;
use xdscope_schema::{FieldNames, Schema};
use xdscope_sources::peers::client;
use xdscope_sources::peers::client::{BadName, Refused, Unrequested};
use xdscope_sources::{Source, SourceFormat};
use xdscope_wire::NodeInfo;
use xdscope_wire::event::{ApiVersion, Kind, Time, TypeUrl};
use xdscope_wire::text::{display_safe, type_label};
use xdscope_wire::xdstp;

use super::identity::{self, ClientModel};
use crate::cli::args::{AckWord, ClientFlags, ConnectFlags, Global, SourceArgs};
use crate::cli::error::{CliError, Exit};
use crate::cli::source::target::GetTarget;
use crate::cli::terminal::io::Io;

use crate::cli::source::{offline, schema_flags, select};

/// Interval at which a waiting verb looks for progress.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Time between the last timer of a state and the end of a run.
const TIMER_MARGIN: Duration = Duration::from_millis(250);

/// Delay of the first message of a waiting verb, and interval of the next ones.
const FIRST_MESSAGE_AFTER: Duration = Duration::from_secs(1);
const MESSAGE_INTERVAL: Duration = Duration::from_secs(5);

/// Defaults of REST polling, without a flag or a bootstrap that sets them.
const DEFAULT_POLL_DELAY: Duration = Duration::from_secs(1);
const DEFAULT_POLL_TIMEOUT: Duration = Duration::from_secs(60);

/// Full name of the message of a node.
const NODE_MESSAGE: &str = "envoy.config.core.v3.Node";

/// Client features that xdscope always announces.
const DEFAULT_FEATURES: [&str; 2] = [NodeInfo::TTL_FEATURE, NodeInfo::WRAPPER_FEATURE];

/// The flags of a client, before it starts.
pub(crate) struct ClientSetup<'a> {
    /// Server as typed; `None` if the bootstrap names it.
    pub server: Option<&'a str>,
    /// WHAT, as typed.
    pub targets: &'a [String],
    pub flags: &'a ClientFlags,
    pub connect: &'a ConnectFlags,
    pub schema: Arc<Schema>,
    /// Suppresses warnings.
    pub quiet: bool,
}

impl ClientSetup<'_> {
    /// Builds the options of a run. The caller sets what is recorded.
    pub(crate) fn options(
        &self,
        store: xdscope_engine::store::Options,
        io: &mut Io<'_>,
    ) -> Result<Options, CliError> {
        let bootstrap = self.flags.bootstrap.as_deref().map(identity::read_bootstrap).transpose()?;
        let bootstrap = bootstrap.unwrap_or_default();
        let like = self.flags.like.as_deref().map(|text| identity::like(text, self.flags, &self.schema, io));
        let like = like.transpose()?;
        let server = self.server(&bootstrap, like.as_ref())?;
        server
            .check_headers()
            .map_err(|error| CliError::usage(error.to_string()).next("-H 'name: value'"))?;
        self.warn(&bootstrap, like.as_ref(), &server, io);
        let (wants, follow) = match &like {
            Some(like) if self.targets.is_empty() => (like.wants.clone(), self.flags.expand),
            _ => self.wants(&bootstrap.initial_types)?,
        };
        let plan = self.server_plan(&bootstrap, like.as_ref())?;
        let mut names = wants.iter().flat_map(|want| &want.names);
        let structured = self.flags.xdstp
            || !plan.authorities.is_empty()
            || plan.others != FallbackServer::Plain
            || names.any(|name| name.starts_with("xdstp:"));
        let links = follow.then(|| analysis::rules(&self.schema).links).flatten();
        let client = client::Config {
            profile: plan.profile,
            profiles: plan.profiles,
            transport: self.flags.transport_api_version.into(),
            poll_delay: self.flags.poll_delay.or(bootstrap.poll_delay).unwrap_or(DEFAULT_POLL_DELAY),
            node: self.node(&bootstrap, like.as_ref())?,
            ack_delay: self.flags.ack_delay,
            links,
            structured: structured && !self.flags.no_expand,
            kinds: plan.kinds,
            own: plan.own,
            clusters: plan.clusters,
            beside: plan.beside,
            authorities: plan.authorities,
            others: plan.others,
            seed: schema_flags::seed()?,
        };
        Ok(Options {
            source: format!("watch {}", server.address),
            server,
            others: plan.servers,
            client,
            wants,
            ack_policy: match self.flags.ack {
                AckWord::Auto => AckPolicy::Auto,
                AckWord::Validate => AckPolicy::Validate,
                AckWord::Ask => AckPolicy::Ask,
                AckWord::Never => AckPolicy::Never,
            },
            refuse: self.refusals(io)?,
            poll_timeout: self.flags.poll_timeout.or(bootstrap.poll_timeout).unwrap_or(DEFAULT_POLL_TIMEOUT),
            poll_names: if self.flags.poll_proto_names { FieldNames::Original } else { FieldNames::Json },
            record: None,
            collect: false,
            keep_secrets: false,
            seed: None,
            store,
            schema: self.schema.clone(),
        })
    }

    /// Warns about a borrowed node id and a token in plaintext.
    fn warn(
        &self,
        bootstrap: &BootstrapConfig,
        like: Option<&ClientModel>,
        server: &Server,
        io: &mut Io<'_>,
    ) {
        if self.quiet {
            return;
        }
        let flags = self.flags;
        let own = flags.node_id.is_some() || flags.node_file.is_some();
        let whose = match like {
            Some(like) => Some((&like.node, "recorded client")),
            None => bootstrap.node.is_object().then_some((&bootstrap.node, "bootstrap")),
        };
        if let Some((node, of)) = whose
            && !own
        {
            let id = node["id"].as_str().unwrap_or_default();
            let text = format!(
                "warning: using the node id {id} of the {of}: the server may see two clients with that id"
            );
            io.say(&text);
            let marked = |node: &Value| node.to_string().contains("[redacted ");
            if marked(node) {
                io.say("warning: secrets in the node metadata were redacted: the server receives the replacement text");
            }
        }
        for note in &bootstrap.notes {
            io.say(note);
        }
        if server.token.is_some() && server.tls.is_none() && !server.address.is_local() {
            io.say(&format!("warning: the token goes to {} in plaintext", server.address));
        }
    }

    /// Parses `--nack 'EXPR => text'`.
    fn refusals(&self, io: &mut Io<'_>) -> Result<Vec<(xdscope_engine::filter::Filter, String)>, CliError> {
        let mut read = |rule: &String| {
            let (expr, text) = rule.split_once("=>").ok_or_else(|| {
                CliError::usage(format!("not an EXPR => TEXT rule: `{rule}`"))
                    .next("--nack 'type:cds name:reviews => refused by hand'")
            })?;
            let filter = select::filter(Some(expr.trim()), RowKind::Messages, &io.zone)?;
            select::say_unknown_types(&filter, self.quiet, io);
            Ok((filter, text.trim().to_owned()))
        };
        self.flags.nack.iter().map(&mut read).collect()
    }

    /// Encodes the node: the recorded client's or the bootstrap's, changed as flags say.
    fn node(&self, bootstrap: &BootstrapConfig, like: Option<&ClientModel>) -> Result<Vec<u8>, CliError> {
        let flags = self.flags;
        let own = flags.node_file.as_deref().map(identity::read_node).transpose()?;
        let of_pod = flags.node_of_pod.as_ref().unwrap_or(&bootstrap.node);
        let node = own.as_ref().or(like.map(|like| &like.node)).unwrap_or(of_pod);
        let mut node = match node {
            Value::Object(node) => node.clone(),
            _ => Map::new(),
        };
        let own = format!("xdscope-{}", std::process::id());
        match (&flags.node_id, node.contains_key("id")) {
            (Some(id), _) => node.insert("id".into(), json!(id)),
            (None, false) => {
                // Sovereign rejects a node without a cluster.
                node.entry("cluster").or_insert_with(|| json!("xdscope"));
                node.insert("id".into(), json!(own))
            }
            (None, true) => None,
        };
        if let Some(cluster) = &flags.node_cluster {
            node.insert("cluster".into(), json!(cluster));
        }
        if let Some(locality) = &flags.node_locality {
            let mut parts = locality.splitn(3, '/').map(str::to_owned);
            let mut next = || parts.next().unwrap_or_default();
            let locality = json!({ "region": next(), "zone": next(), "sub_zone": next() });
            node.insert("locality".into(), locality);
        }
        for pair in &flags.node_metadata {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                CliError::usage(format!("not a NAME=VALUE pair: `{pair}`")).next("--node-metadata role=edge")
            })?;
            let metadata = node.entry("metadata").or_insert_with(|| json!({}));
            if let Value::Object(metadata) = metadata {
                metadata.insert(name.to_owned(), json!(value));
            }
        }
        node.insert("user_agent_name".into(), json!("xdscope"));
        node.remove("user_agent_build_version");
        node.remove("userAgentBuildVersion");
        node.remove("userAgentName");
        node.remove("userAgentVersion");
        node.insert("user_agent_version".into(), json!(env!("CARGO_PKG_VERSION")));
        let spelled = if node.contains_key("clientFeatures") { "clientFeatures" } else { "client_features" };
        let features = node.entry(spelled).or_insert_with(|| json!([]));
        if let Value::Array(features) = features {
            // A recorded client keeps to the features that it announced.
            let own = DEFAULT_FEATURES.into_iter().filter(|_| like.is_none());
            let all =
                own.chain(flags.client_feature.iter().map(String::as_str)).map(|feature| json!(feature));
            let missing: Vec<Value> = all.filter(|feature| !features.contains(feature)).collect();
            features.extend(missing);
        }
        self.schema.encode(NODE_MESSAGE, &Value::Object(node)).map_err(|error| {
            CliError::unreadable("the node cannot be encoded")
                .because(error.to_string())
                .next("--bootstrap with another file")
        })
    }

    /// Returns a name as the client sends it.
    ///
    /// A structured name keeps its directives, which the client needs, unless `--no-expand` makes
    /// it plain text.
    fn name_of(&self, text: &str, name: &str) -> Result<String, CliError> {
        match text.find("xdstp:").and_then(|at| text.get(at..)) {
            Some(url) if xdstp::parse_subscription(url).is_none() => {
                let error = CliError::usage(format!("not a structured name: `{url}`"));
                Err(error.next("xdstp://AUTHORITY/TYPE/ID?PARAMETERS"))
            }
            Some(url) if !self.flags.no_expand => Ok(url.to_owned()),
            _ => Ok(name.to_owned()),
        }
    }

    /// Parses WHAT into subscriptions. A type that is found through references only (EDS without a
    /// name) is reached from the roots.
    fn wants(&self, own: &[(Kind, Option<String>)]) -> Result<(Vec<InitialSubscription>, bool), CliError> {
        let flags = self.flags;
        let mut wants: Vec<InitialSubscription> = Vec::new();
        let mut follow = flags.expand || (self.targets.is_empty() && !flags.no_expand);
        let mut roots = self.targets.is_empty();
        let version: ApiVersion = flags.resource_api_version.unwrap_or(flags.transport_api_version).into();
        for text in self.targets {
            if text.starts_with("xdstp:") {
                self.name_of(text, text)?;
            }
            let what = GetTarget::parse(text);
            // The full name of a type implies its API version.
            let stated = Kind::of_message(&what.type_text).map(|(_, version)| version);
            let url = match what.kind.and_then(|kind| kind.type_url(stated.unwrap_or(version))) {
                Some(url) => url,
                None if what.kind.is_some() => {
                    let error = CliError::usage(format!(
                        "{} does not exist in API {}",
                        what.type_text,
                        version.word()
                    ));
                    return Err(error.next("--resource-api-version v3"));
                }
                None => what.url_of_other_type().ok_or_else(|| {
                    let error = CliError::usage(format!("unknown type `{}`", what.type_text));
                    error.next("lds rds cds eds sds srds vhds rtds ecds leds, or a type URL")
                })?,
            };
            let full_state = what.kind.is_none_or(Kind::full_state);
            let (wildcard, names) = match what.name.as_deref() {
                Some("*") => (true, vec![]),
                Some(name) => (false, vec![self.name_of(text, name)?]),
                None if full_state => (true, vec![]),
                None if flags.no_expand => {
                    let error = CliError::usage(format!("{text} has no wildcard: a name is missing"));
                    return Err(error.next(format!("{text}/NAME, or {text}/* if the server supports it")));
                }
                None => {
                    (roots, follow) = (true, true);
                    continue;
                }
            };
            match wants.iter_mut().find(|want| want.type_url == url) {
                Some(want) => {
                    want.wildcard |= wildcard;
                    want.names.extend(names);
                }
                None => wants.push(InitialSubscription { type_url: url, wildcard, names }),
            }
        }
        // A bootstrap can restrict the roots to one type, or to one name.
        let both = [(Kind::Lds, None), (Kind::Cds, None)];
        let begin = if own.is_empty() { &both[..] } else { own };
        for (kind, name) in begin.iter().filter(|_| roots) {
            let Some(type_url) = kind.type_url(version) else { continue };
            let (wildcard, names) = (name.is_none(), name.clone().into_iter().collect::<Vec<_>>());
            match wants.iter_mut().find(|want| want.type_url == type_url) {
                Some(want) => {
                    want.wildcard |= wildcard;
                    want.names.extend(names);
                }
                None => wants.push(InitialSubscription { type_url, wildcard, names }),
            }
        }
        Ok((wants, follow))
    }
}

/// Returns the options of a client of the server of SOURCE, which requests `targets` first.
pub(crate) fn options_of_source(
    args: &SourceArgs,
    targets: &[String],
    schema: Arc<Schema>,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Options, CliError> {
    let setup = ClientSetup {
        server: (!args.client.server_of_bootstrap).then_some(args.source.as_str()),
        targets,
        flags: &args.client,
        connect: &args.descriptors.connect,
        schema,
        quiet: global.quiet,
    };
    let options = setup.options(offline::options(&args.timers), io)?;
    Ok(Options { keep_secrets: args.keep_secrets, ..options })
}

/// Requests resources from a server until everything was answered, or the timeout has passed.
///
/// `seed` keys the ids of secrets.
pub(crate) fn fetch(
    args: &SourceArgs,
    seed: u64,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Source, CliError> {
    let schema = schema_of_source(args, global, io)?;
    let options = options_of_source(args, &args.ask, schema.clone(), global, io)?;
    let options = Options { collect: true, seed: Some(seed), ..options };
    let running = Running::start(options, None)?;
    let timeout = args.timeout.unwrap_or(args.timers.resource_timeout);
    let mut waiting = Waiting::new(timeout);
    // The time at which no timer of a state runs any more.
    let mut settled = None;
    let progress = loop {
        let progress = running.progress();
        if let Some(refused) = &progress.refused {
            return Err(self::refused(refused));
        }
        if progress.begun && progress.unanswered.is_empty() {
            break progress;
        }
        if progress.failed.is_some() || progress.ended.is_some() {
            return Err(broken(&progress, args));
        }
        if waiting.is_over() {
            let settled = *settled.get_or_insert_with(|| settled_at(&running, args.timeout.is_some()));
            if settled.is_none_or(|settled| running.now() >= settled) {
                break progress;
            }
        }
        waiting.look(&progress, &args.source, global, io);
    };
    if !progress.open && running.shared.store().streams().is_empty() {
        let error = CliError::new(Exit::Connection, format!("{}: no stream within {timeout:?}", args.source));
        return Err(error.next(format!("xdscope doctor {}", shell_word(&args.source))));
    }
    if !global.quiet {
        for (name, cause) in &progress.unmapped {
            io.say(&format!("not followed: {name}: {}", unrequested(cause)));
        }
    }
    let unanswered = progress.unanswered;
    let targets: Vec<GetTarget> = args.ask.iter().map(|text| GetTarget::parse(text)).collect();
    io.is_unanswered |= unanswered.iter().any(|of| targets.is_empty() || is_asked(&targets, of));
    let loaded = running.into_loaded().ok_or_else(|| CliError::new(Exit::Defect, "the client failed"))?;
    if !unanswered.is_empty() && !global.quiet {
        io.say(&format!("not answered within {timeout:?}: {}", listed(&unanswered)));
    }
    let name = args.source.clone();
    Ok(Source { name, format: SourceFormat::Live, size: None, loaded, schema, unanswered })
}

/// Loads the descriptors for a server that is typed or named by the bootstrap.
pub(crate) fn schema_of_source(
    args: &SourceArgs,
    global: &Global,
    io: &mut Io<'_>,
) -> Result<Arc<Schema>, CliError> {
    let of_bootstrap = args.client.bootstrap.as_deref().filter(|_| args.client.server_of_bootstrap);
    let server = match of_bootstrap.map(identity::read_bootstrap).transpose()? {
        Some(bootstrap) => bootstrap.servers().first().map(ToString::to_string).unwrap_or_default(),
        None => args.source.clone(),
    };
    schema_flags::schema_of_server(&args.descriptors, &server, global, io)
}

/// Explains why a name that a resource refers to was not requested.
fn unrequested(cause: &Unrequested) -> String {
    match cause {
        Unrequested::Authority => {
            "no server for its authority; --xdstp-authority NAME=SERVER adds one".to_owned()
        }
        Unrequested::Cluster(cluster) if cluster.is_empty() => {
            "its api_config_source names no cluster; ADS does not serve it".to_owned()
        }
        Unrequested::Cluster(cluster) => format!(
            "its source is the cluster {cluster}, and not ADS; --bootstrap with that cluster asks there"
        ),
    }
}

/// Whether WHAT asks for a type, or for one name of it, that a server has not answered.
fn is_asked(targets: &[GetTarget], (url, name): &(TypeUrl, Option<String>)) -> bool {
    targets.iter().any(|what| what.is_type(url) && (what.name.is_none() || what.name == *name))
}

/// Returns the time at which all running timers of states have expired; `None` if none runs.
///
/// A state that depends on a timer must not depend on which of the two ends first, the timer or the
/// run. With a limit of its own, the run waits only for timers that expire at about that limit.
fn settled_at(running: &Running, has_limit: bool) -> Option<Time> {
    let last = running.shared.store().last_timer()?;
    let is_near = last <= running.now().after(TIMER_MARGIN);
    (is_near || !has_limit).then(|| last.after(TIMER_MARGIN))
}

/// Explains why a subscription is not possible, and what to type instead.
pub(crate) fn refused(refused: &Refused) -> CliError {
    CliError::usage(refused.to_string()).next(match refused {
        Refused::NoStream(_) | Refused::Name(BadName::GlobInSotw(_)) => "--variant delta-ads",
        Refused::Name(_) => "xdstp://AUTHORITY/TYPE/ID?PARAMETERS",
        Refused::Unmapped(_) => "--xdstp-authority NAME=SERVER",
    })
}

/// Waits for a server, and prints progress from time to time.
pub(crate) struct Waiting {
    started: Instant,
    timeout: Duration,
    last_message: Duration,
    /// The condition, where it is not simply an answer.
    condition: Option<String>,
}

impl Waiting {
    pub(crate) fn new(timeout: Duration) -> Waiting {
        Waiting {
            started: Instant::now(),
            timeout,
            last_message: FIRST_MESSAGE_AFTER.saturating_sub(MESSAGE_INTERVAL),
            condition: None,
        }
    }

    /// Waits for a condition.
    pub(crate) fn until(timeout: Duration, condition: &str) -> Waiting {
        Waiting { condition: Some(format!("`{condition}`")), ..Waiting::new(timeout) }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.started.elapsed() >= self.timeout
    }

    /// Sleeps for a moment, and prints progress if it is time.
    pub(crate) fn look(&mut self, progress: &Progress, server: &str, global: &Global, io: &mut Io<'_>) {
        let gone = self.started.elapsed();
        if gone >= FIRST_MESSAGE_AFTER
            && (self.last_message.is_zero() || gone >= self.last_message + MESSAGE_INTERVAL)
        {
            self.last_message = gone;
            if !global.quiet {
                let what = match progress.open {
                    false => format!("connecting to {server}"),
                    true => {
                        let what = self.condition.clone().unwrap_or_else(|| listed(&progress.unanswered));
                        display_safe(&format!("waiting for {what}")).into()
                    }
                };
                io.say(&format!("{what} ({:.0}s of {:?})", gone.as_secs_f64(), self.timeout));
            }
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Lists types, or single names of a type, in one line.
pub(crate) fn listed(unanswered: &[(TypeUrl, Option<String>)]) -> String {
    const MOST: usize = 5;
    let word = |(url, name): &(TypeUrl, Option<String>)| match name {
        Some(name) => format!("{}/{name}", words::type_word(url)),
        None => type_label(url.as_str()),
    };
    let mut out = unanswered.iter().take(MOST).map(word).collect::<Vec<_>>().join(", ");
    if unanswered.len() > MOST {
        let _ = write!(out, " and {} more", unanswered.len() - MOST);
    }
    out
}

/// Returns the command that shows whether kubectl gives a token that the server should accept.
fn token_command(args: &SourceArgs) -> Option<String> {
    match args.descriptors.connect.kubernetes.server.as_ref()?.token.as_ref()? {
        Token::ServiceAccount(token) => Some(token.command()),
        _ => None,
    }
}

/// The error of a connection that failed, or of a stream that the server ended.
pub(crate) fn broken(progress: &Progress, args: &SourceArgs) -> CliError {
    let again = format!("xdscope doctor {}", shell_word(&args.source));
    match (&progress.failed, &progress.ended) {
        (Some(DialError { what, tried, next, .. }), _) => {
            let mut error = CliError::new(Exit::Connection, what.clone());
            error.tried.clone_from(tried);
            error.next(next.clone().unwrap_or(again))
        }
        (None, Some(ended)) => {
            let error = CliError::new(Exit::Connection, format!("{}: {ended}", args.source));
            let denied = ["UNAUTHENTICATED", "PERMISSION_DENIED"].iter().any(|code| ended.contains(code));
            error.next(match &args.descriptors.connect.token_file {
                Some(file) if denied => format!("another token in {}", file.display()),
                None if denied => token_command(args)
                    .unwrap_or_else(|| "--token-file FILE, or -H 'authorization: Bearer TOKEN'".to_owned()),
                _ => again,
            })
        }
        (None, None) => CliError::new(Exit::Connection, args.source.clone()).next(again),
    }
}
