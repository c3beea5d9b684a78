use crate::wire::event::Code;

/// A gRPC status by its number or its name, with what it mostly means on an xDS stream.
pub(super) fn status(text: &str) -> Option<(i32, &'static str, &'static str)> {
    let plain = |text: &str| text.replace(['_', ' '], "").to_ascii_uppercase();
    let wanted = plain(text);
    let code = (0..=16)
        .map(Code)
        .find(|code| code.0.to_string() == wanted || code.name().is_some_and(|name| plain(name) == wanted))?;
    Some((code.0, code.name()?, meaning(code.0)))
}

fn meaning(code: i32) -> &'static str {
    match code {
        0 => "the server ended the stream in order, mostly because of a maximum connection age",
        1 => "somebody took the call back: a client that goes away, or a server that shuts down",
        3 => "the server does not like a request: mostly a node without id, or a type it does not serve",
        4 => "a deadline ran out; xDS streams should have none, so look at what stands between",
        5 => "the server has no such method or node",
        7 => "the server does not let this client in",
        8 => "a limit: mostly a message above 4 MiB, or too many streams",
        12 => "the server does not have this method: another variant (SotW, delta), or xDS v2",
        13 => "mostly the connection broke within a message, or something between speaks HTTP and not gRPC",
        14 => "no connection, or it was lost: refused, reset, GOAWAY, TLS, no healthy host",
        16 => "the server does not know who the client is: token or certificate",
        _ => "the server's own error; its text says more",
    }
}
