//! Parsers for the NACK texts of gRPC clients.

use super::{ClientKind, Extracted, Nack, NackFault, RefusedPush, path};

/// Parses the text of a gRPC client. Returns `None` for other formats.
pub(super) fn read(text: &str, push: &dyn RefusedPush) -> Option<Nack> {
    let text = text.trim();
    // C-core logs the text with the code of its status.
    let without_code = after_code(text).unwrap_or(text);
    if let Some(list) = without_code.strip_prefix("xDS response validation errors: [") {
        return Some(indexed(list.strip_suffix(']').unwrap_or(list), push));
    }
    if let Some(rest) = text.strip_prefix("error parsing \"") {
        let (_, list) = rest.split_once("\" response: ")?;
        return Some(Nack { client: Some(ClientKind::GrpcGo), entries: go(list) });
    }
    java(text).map(|entries| Nack { client: Some(ClientKind::GrpcJava), entries })
}

/// Parses the format of C-core and grpc-js.
///
/// `resource index 0: NAME: INVALID_ARGUMENT: reason; resource index 1: …`
fn indexed(list: &str, push: &dyn RefusedPush) -> Nack {
    let mut client = ClientKind::GrpcCore;
    let mut entries = Vec::new();
    for part in list.split("resource index ").skip(1) {
        let Some((number, rest)) = part.split_once(": ") else { continue };
        let rest = rest.trim_end_matches([' ', ';']);
        let index = number.trim().parse::<usize>().ok();
        let known = index.and_then(|index| push.names().get(index)).map(|name| name.to_string());
        if let Some((_, faults)) = rest.split_once(" message validation failed: [") {
            client = ClientKind::GrpcJs;
            let faults = faults.strip_suffix(']').unwrap_or(faults);
            for fault in split_list(faults) {
                let name = known.clone().map(Extracted::stated);
                entries.push(NackFault { name, field: None, reason: fault.to_owned(), index });
            }
            continue;
        }
        let (name, why) = name_and_status(rest, known.as_deref());
        let name = name.or(known).map(Extracted::stated);
        let plain = || NackFault { name: name.clone(), field: None, reason: why.to_owned(), index };
        let faults = fields(why);
        if faults.is_empty() {
            entries.push(plain());
        }
        entries.extend(faults.into_iter().map(|(field, reason)| NackFault {
            field: Some(Extracted::stated(path::from_core(field))),
            reason: reason.to_owned(),
            ..plain()
        }));
    }
    if entries.is_empty() {
        entries.push(NackFault { reason: list.to_owned(), ..NackFault::default() });
    }
    Nack { client: Some(client), entries }
}

/// Splits a list that JavaScript has joined with commas without spaces.
fn split_list(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in list.match_indices(',') {
        if list.get(at + 1..).is_some_and(|rest| !rest.starts_with(' ')) {
            parts.extend(list.get(from..at));
            from = at + 1;
        }
    }
    parts.extend(list.get(from..));
    parts
}

/// Splits `NAME: INVALID_ARGUMENT: reason` into name and reason. The name is optional.
fn name_and_status<'t>(text: &'t str, known: Option<&str>) -> (Option<String>, &'t str) {
    if let Some(why) = after_code(text) {
        return (None, why);
    }
    let after = known.and_then(|name| text.strip_prefix(name)).and_then(|rest| rest.strip_prefix(": "));
    if let Some(rest) = after {
        return (known.map(str::to_owned), after_code(rest).unwrap_or(rest));
    }
    for (at, _) in text.match_indices(": ") {
        if let Some(why) = text.get(at + 2..).and_then(after_code) {
            return (text.get(..at).map(str::to_owned), why);
        }
    }
    (None, text)
}

/// Returns the text after the code of a status, such as `INVALID_ARGUMENT: reason`; `None` for a
/// text that begins with another word.
fn after_code(text: &str) -> Option<&str> {
    let (word, rest) = text.split_once(": ")?;
    let is_code = word.len() > 3 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    is_code.then_some(rest)
}

/// Finds `[field:a.b error:reason; field:c error:reason]` in a text. Returns pairs of field and
/// reason.
fn fields(text: &str) -> Vec<(&str, &str)> {
    let lengths = |part: &'_ str| {
        let (field, error) = part.split_once(" error:")?;
        (!field.contains(' ')).then_some((field.len(), error.len()))
    };
    let mut found = Vec::new();
    for part in text.split("field:").skip(1) {
        if let Some((field, _)) = lengths(part) {
            let reason = part.get(field + " error:".len()..).unwrap_or_default();
            let reason = reason.trim_end_matches([' ', ';']);
            // Strip the bracket that closes the list, unless the reason opens it.
            let open = reason.matches('[').count() < reason.matches(']').count();
            let reason = if open { reason.strip_suffix(']').unwrap_or(reason) } else { reason };
            found.extend(part.get(..field).map(|field| (field, reason)));
        }
    }
    found
}

/// Parses the format of grpc-go.
///
/// `resource "a": reason;\nresource "b": reason`, and `top level errors: reason` for errors without
/// a resource name.
fn go(list: &str) -> Vec<NackFault> {
    let mut entries: Vec<NackFault> = Vec::new();
    let mut top_level = false;
    for part in list.split(";\n") {
        let part = match part.strip_prefix("top level errors: ") {
            Some(rest) => {
                top_level = true;
                rest
            }
            None => part,
        };
        let named = part.strip_prefix("resource \"").and_then(|rest| rest.split_once("\": "));
        match named {
            Some((name, why)) => {
                top_level = false;
                let name = Some(Extracted::stated(name));
                entries.push(NackFault { name, reason: without_dump(why), ..NackFault::default() });
            }
            None if top_level || entries.is_empty() => {
                entries.push(NackFault { reason: without_dump(part), ..NackFault::default() });
            }
            // The previous reason continues on this line.
            None => {
                if let Some(last) = entries.last_mut() {
                    last.reason.push_str("; ");
                    last.reason.push_str(part);
                }
            }
        }
    }
    entries
}

/// Removes the dump of the resource that grpc-go prints after the reason.
fn without_dump(why: &str) -> String {
    let end = [" in response: name:", " in LDS response: name:", " in response: "]
        .iter()
        .filter_map(|mark| why.find(mark).map(|at| at + mark.find(':').unwrap_or_default()))
        .min();
    why.get(..end.unwrap_or(why.len())).unwrap_or(why).trim().to_owned()
}

/// Parses the format of grpc-java, with a line per fault.
///
/// `CDS response Cluster 'a' validation error: reason`
fn java(text: &str) -> Option<Vec<NackFault>> {
    let mut entries: Vec<NackFault> = Vec::new();
    for line in text.lines() {
        let head = line.split_once(" response ").filter(|(kind, _)| kind.len() <= 5 && !kind.contains(' '));
        match head.map(|(_, rest)| rest) {
            Some(rest) => entries.push(java_line(rest)?),
            None => {
                let last = entries.last_mut()?;
                last.reason.push(' ');
                last.reason.push_str(line.trim());
            }
        }
    }
    (!entries.is_empty()).then_some(entries)
}

/// Reads a line of grpc-java, about a resource by its index or its name.
fn java_line(rest: &str) -> Option<NackFault> {
    if let Some(rest) = rest.strip_prefix("Resource index ") {
        let (number, why) = rest.split_once(" - ")?;
        return Some(NackFault {
            index: number.parse().ok(),
            reason: why.to_owned(),
            ..NackFault::default()
        });
    }
    let (_, rest) = rest.split_once(" '")?;
    let (name, why) = rest.split_once("' validation error: ")?;
    Some(NackFault {
        name: Some(Extracted::stated(name)),
        reason: why.trim().to_owned(),
        ..NackFault::default()
    })
}
