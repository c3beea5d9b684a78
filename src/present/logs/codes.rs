use xdscope_wire::event::Code;

/// Looks up a gRPC status by number or name, with its usual meaning on an xDS stream.
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
        0 => "the server closed the stream without an error, usually because of a maximum connection age",
        1 => "one side cancelled the call: the client disconnects, or the server shuts down",
        3 => "the server rejected a request: usually a node without an id, or a type that is not supported",
        4 => "a deadline expired; xDS streams should have none, so look for a timeout in proxies between",
        5 => "the server does not know the method or the node",
        7 => "the server does not authorize this client",
        8 => "a limit was exceeded: usually a message above 4 MiB, or too many streams",
        12 => {
            "the server does not implement this method: it serves another variant (SotW, delta) or version (v2)"
        }
        13 => {
            "usually the connection broke within a message, or a proxy between answered with HTTP, not gRPC"
        }
        14 => "there is no connection, or it was lost: refused, reset, GOAWAY, TLS, no healthy host",
        16 => "the server cannot authenticate the client: check its token or certificate",
        _ => "an error of the server; see its message",
    }
}
