use xdscope_wire::event::Code;

/// Looks up a gRPC status by number or name, with its usual meaning on an xDS stream. `has_text`:
/// whether the status has a message.
pub(super) fn status(text: &str, has_text: bool) -> Option<(i32, &'static str, &'static str)> {
    let plain = |text: &str| text.replace(['_', ' '], "").to_ascii_uppercase();
    let wanted = plain(text);
    let code = (0..=16)
        .map(Code)
        .find(|code| code.0.to_string() == wanted || code.name().is_some_and(|name| plain(name) == wanted))?;
    let meaning = if code.0 == INTERNAL && !has_text { AGED } else { meaning(code.0) };
    Some((code.0, code.name()?, meaning))
}

const INTERNAL: i32 = 13;

/// The meaning of INTERNAL without a message.
const AGED: &str = "without a text, usually the end at a maximum connection age, as Istio closes each stream \
                    after 30 minutes: harmless if the next stream is answered";

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
