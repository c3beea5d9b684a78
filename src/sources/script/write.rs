use std::fmt::Write;

use serde_json::Value;

use super::ast::*;
use super::flow;
use super::lex::is_bare;
use xdscope_schema::base64;
use xdscope_wire::event::{ApiVersion, Dir, Kind, Time};
use xdscope_wire::text::json_safe;
use xdscope_wire::{GapCause, Profile};

/// Writes a script so that [`super::parse`] reads it back unchanged.
pub fn write(script: &Script) -> String {
    let mut out = String::new();
    for line in &script.lines {
        item(&line.statement, &mut out);
        out.push('\n');
    }
    out
}

/// Writes one line, as errors and failed expectations quote it.
pub(super) fn line(script_item: &Statement) -> String {
    let mut out = String::new();
    item(script_item, &mut out);
    out
}

/// Writes one statement as a line of the script.
fn item(item: &Statement, out: &mut String) {
    match item {
        Statement::NoTime => out.push_str("notime"),
        Statement::Node(it) => node(it, out),
        Statement::Server(name) => {
            out.push_str("server ");
            word(name, out);
        }
        Statement::Stream { at, stream: it } => {
            time(*at, out);
            stream(it, out);
        }
        Statement::Partial(number) => put(out, format_args!("partial {number}")),
        Statement::Advance(by) => {
            out.push_str("advance ");
            nanos(i128::try_from(by.as_nanos()).unwrap_or(i128::MAX), out);
        }
        Statement::Message { at, stream, body } => {
            time(*at, out);
            number(*stream, out);
            match body {
                MessageBody::Request(it) => request(it, out),
                MessageBody::Response(it) => response(it, out),
                MessageBody::Raw(dir, bytes) => {
                    out.push_str(arrow(*dir));
                    put(out, format_args!(" raw={}", base64::encode(bytes)));
                }
            }
        }
        Statement::Gap { at, stream, gap: it } => {
            time(*at, out);
            number(*stream, out);
            gap(it, out);
        }
        Statement::End { at, stream, end } => {
            time(*at, out);
            number(*stream, out);
            match end {
                StreamEnd::Close => out.push_str("close"),
                StreamEnd::Status(code, text) => {
                    put(out, format_args!("close status={code}"));
                    if !text.is_empty() {
                        out.push(' ');
                        quoted(text, out);
                    }
                }
                StreamEnd::Reset(side) => put(out, format_args!("reset {}", side.word())),
            }
        }
        Statement::Expect(it) => expect(it, out),
        Statement::Fault(text) => {
            out.push_str("fault ");
            quoted(text, out);
        }
    }
}

/// Appends formatted text. Writing to a `String` can't fail.
fn put(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).unwrap_or_default();
}

fn arrow(dir: Dir) -> &'static str {
    match dir {
        Dir::Req => ">",
        Dir::Resp => "<",
    }
}

fn time(at: Option<Time>, out: &mut String) {
    if let Some(at) = at {
        out.push('+');
        nanos(i128::from(at.0), out);
        out.push(' ');
    }
}

fn number(stream: Option<u32>, out: &mut String) {
    if let Some(stream) = stream {
        put(out, format_args!("{stream} "));
    }
}

fn gap(it: &ScriptGap, out: &mut String) {
    out.push_str("gap");
    if let Some(dir) = it.dir {
        put(out, format_args!(" {}", arrow(dir)));
    }
    for (key, count) in [("messages", it.messages), ("bytes", it.bytes)] {
        if count > 0 {
            put(out, format_args!(" {key}={count}"));
        }
    }
    if it.cause != GapCause::default() {
        put(out, format_args!(" cause={}", it.cause.word()));
    }
}

/// Writes a time in `ms` below one second if that is exact, else in `s`.
fn nanos(nanos: i128, out: &mut String) {
    let sign = if nanos < 0 { "-" } else { "" };
    let (secs, rest) = (nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
    if rest == 0 {
        put(out, format_args!("{sign}{secs}s"));
    } else if secs == 0 && rest % 1_000_000 == 0 {
        put(out, format_args!("{sign}{}ms", rest / 1_000_000));
    } else {
        let part = format!("{rest:09}");
        put(out, format_args!("{sign}{secs}.{}s", part.trim_end_matches('0')));
    }
}

fn quoted(text: &str, out: &mut String) {
    // JSON leaves some invisible characters unescaped; a script shows them.
    out.push_str(&json_safe(&Value::from(text).to_string()));
}

fn word(text: &str, out: &mut String) {
    if !text.is_empty() && text.chars().all(is_bare) { out.push_str(text) } else { quoted(text, out) }
}

/// Writes the name of an entry, quoted if it would be read as a keyword.
fn name(text: &str, out: &mut String) {
    match text {
        "unset" | "ttl" | "aliases" | "wrap" | "raw" | "type" => quoted(text, out),
        _ => word(text, out),
    }
}

fn field(key: &str, text: &str, out: &mut String) {
    if !text.is_empty() {
        put(out, format_args!(" {key}="));
        word(text, out);
    }
}

/// Writes a list in brackets.
fn words(items: &[String], out: &mut String) {
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i > 0 { " " } else { "" });
        word(item, out);
    }
    out.push(']');
}

fn list(key: &str, items: &[String], out: &mut String) {
    if !items.is_empty() {
        put(out, format_args!(" {key}="));
        words(items, out);
    }
}

/// Writes ` key={a:b}`, if there are pairs.
fn pairs(key: &str, items: &[(String, String)], out: &mut String) {
    if items.is_empty() {
        return;
    }
    put(out, format_args!(" {key}={{"));
    for (i, (name, value)) in items.iter().enumerate() {
        out.push_str(if i > 0 { " " } else { "" });
        word(name, out);
        out.push(':');
        word(value, out);
    }
    out.push('}');
}

fn node(node: &ScriptNode, out: &mut String) {
    out.push_str("node ");
    word(&node.id, out);
    field("cluster", &node.cluster, out);
    if node.locality.iter().any(|part| !part.is_empty()) {
        field("locality", node.locality.join("/").trim_end_matches('/'), out);
    }
    field("agent", &node.agent, out);
    for feature in &node.features {
        out.push_str(" feature=");
        word(feature, out);
    }
    if let Some(meta) = &node.meta {
        out.push_str(" meta=");
        flow::write(meta, out);
    }
}

fn stream(stream: &ScriptStream, out: &mut String) {
    put(out, format_args!("stream {} {}", stream.number, stream.variant.word()));
    type_word(&stream.ty, out);
    if stream.transport == ApiVersion::V2 {
        out.push_str(" v2");
    }
    if let Some(profile) = stream.profile {
        out.push_str(match profile {
            Profile::Current => " profile=current",
            Profile::P003 => " profile=003",
            Profile::P002 => " profile=002",
        });
    }
    if let Some(method) = &stream.method {
        out.push_str(" method=");
        word(method, out);
    }
}

/// Writes a type in front of the fields. Returns false if only a `type=` field can hold it.
fn type_word(ty: &TypeRef, out: &mut String) -> bool {
    match ty {
        TypeRef::Implied => true,
        TypeRef::Word(kind) => {
            put(out, format_args!(" {}", kind.word()));
            true
        }
        TypeRef::Url(url) => {
            let bare = url.contains('/') && url.chars().all(is_bare);
            if bare {
                put(out, format_args!(" {url}"));
            }
            bare
        }
    }
}

/// Writes the type of a message.
fn message_type(ty: &TypeRef, out: &mut String) {
    if let (false, TypeRef::Url(url)) = (type_word(ty, out), ty) {
        out.push_str(" type=");
        quoted(url, out);
    }
}

fn request(it: &ScriptRequest, out: &mut String) {
    out.push('>');
    message_type(&it.ty, out);
    field("v", &it.version, out);
    field("n", &it.nonce, out);
    list("names", &it.names, out);
    list("sub", &it.subscribe, out);
    list("unsub", &it.unsubscribe, out);
    pairs("irv", &it.initial, out);
    if let Some((code, text)) = &it.nack {
        out.push_str(" nack=");
        quoted(text, out);
        if *code != if text.is_empty() { 0 } else { 3 } {
            put(out, format_args!(" code={code}"));
        }
    }
    match &it.node {
        NodeUse::Usual => {}
        NodeUse::Sent => out.push_str(" node"),
        NodeUse::Without => out.push_str(" nonode"),
        NodeUse::Changed(fields) => {
            out.push_str(" node=");
            flow::write(fields, out);
        }
    }
}

fn response(it: &ScriptResponse, out: &mut String) {
    out.push('<');
    message_type(&it.ty, out);
    field("v", &it.version, out);
    field("n", &it.nonce, out);
    field("sys", &it.system_version, out);
    if !it.resources.is_empty() {
        out.push_str(" [");
        for (i, entry) in it.resources.iter().enumerate() {
            out.push_str(if i > 0 { " " } else { "" });
            match entry {
                ScriptEntry::Raw(bytes) => put(out, format_args!("raw:{}", base64::encode(bytes))),
                ScriptEntry::Plain(it) => resource(it, out),
                ScriptEntry::Wrapped(it) => {
                    out.push_str("wrap(");
                    resource(it, out);
                    out.push(')');
                }
            }
        }
        out.push(']');
    }
    list("rm", &it.removed, out);
    if let Some(name) = &it.control_plane {
        out.push_str(" cp=");
        word(name, out);
    }
    pairs("errors", &it.errors, out);
    if let Some(http) = it.http {
        put(out, format_args!(" http={http}"));
        if !it.http_text.is_empty() {
            out.push(' ');
            quoted(&it.http_text, out);
        }
    }
}

fn resource(it: &ScriptResource, out: &mut String) {
    match &it.ty {
        TypeRef::Implied => {}
        TypeRef::Word(kind) => put(out, format_args!("type:{} ", kind.word())),
        TypeRef::Url(url) => put(out, format_args!("type:{url} ")),
    }
    name(&it.name, out);
    match &it.content {
        ResourceContent::Fields { fields, tag } => {
            if let Some(fields) = fields {
                flow::write(fields, out);
            }
            if let Some(tag) = tag {
                out.push('~');
                word(tag, out);
            }
        }
        ResourceContent::Redirect(uri) => {
            out.push_str("=>");
            quoted(uri, out);
        }
        ResourceContent::Unset => {}
    }
    if !it.version.is_empty() {
        out.push('@');
        word(&it.version, out);
    }
    if it.content == ResourceContent::Unset {
        out.push_str(" unset");
    }
    if let Some(ttl) = it.ttl {
        out.push_str(" ttl=");
        nanos(ttl.0, out);
    }
    list("aliases", &it.aliases, out);
}

fn expect(it: &Expectation, out: &mut String) {
    out.push_str("expect ");
    match it {
        Expectation::Lint { pattern: it, severity } => {
            out.push_str("lint ");
            pick(it, severity.as_deref(), out);
        }
        Expectation::NoFinding(it) => {
            out.push_str("no ");
            pick(it, None, out);
        }
        Expectation::LintNone => out.push_str("lint none"),
        Expectation::LintOnly => out.push_str("lint only"),
        Expectation::Message { number: n, kind, fields } => {
            put(out, format_args!("message {n}"));
            facts(kind.as_deref(), fields, out);
        }
        Expectation::State { stream, ty, state, fields } => {
            put(out, format_args!("state {stream}"));
            type_word(ty, out);
            facts(state.as_deref(), fields, out);
        }
        Expectation::Resource { stream, ty, name, state, fields } => {
            put(out, format_args!("resource {stream}"));
            type_word(ty, out);
            out.push(' ');
            word(name, out);
            facts(state.as_deref(), fields, out);
        }
    }
}

/// Writes the rule, message, severity and names of an expected finding.
fn pick(pick: &FindingPattern, severity: Option<&str>, out: &mut String) {
    out.push_str(&pick.rule);
    if let Some(n) = pick.at {
        put(out, format_args!(" at {n}"));
    }
    if let Some(severity) = severity {
        put(out, format_args!(" sev={severity}"));
    }
    if let Some(names) = &pick.names {
        out.push_str(" names=");
        words(names, out);
    }
}

/// Writes the expected fields of a fact.
fn facts(first: Option<&str>, fields: &[(String, ExpectedValue)], out: &mut String) {
    if let Some(first) = first {
        put(out, format_args!(" {first}"));
    }
    for (key, expected) in fields {
        put(out, format_args!(" {key}="));
        match expected {
            ExpectedValue::Word(text) if text.is_empty() => {}
            ExpectedValue::Word(text) => word(text, out),
            ExpectedValue::List(items) => words(items, out),
        }
    }
}

/// Returns the short name of a type URL in a stream's API version, or the URL itself.
pub(super) fn type_ref(url: &str, transport: ApiVersion) -> TypeRef {
    match Kind::of_type_url(url) {
        Some((kind, version)) if version == transport => TypeRef::Word(kind),
        _ => TypeRef::Url(url.into()),
    }
}
