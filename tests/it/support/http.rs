//! A minimal HTTP/1.1 client for Envoy's admin interface and listeners.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
};

use super::wait::PATIENCE;

pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Gets `path` from `server`.
pub fn get(server: SocketAddr, path: &str) -> io::Result<Response> {
    get_with(server, path, "")
}

/// Gets `path` from `server`, with more lines in the head of the request.
pub fn get_with(server: SocketAddr, path: &str, lines: &str) -> io::Result<Response> {
    let head = format!("GET {path} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n{lines}\r\n");
    exchange(server, head.as_bytes())
}

/// Sends bytes to `server`, and reads the first answer.
pub fn exchange(server: SocketAddr, request: &[u8]) -> io::Result<Response> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    String::from_utf8(text)
        .ok()
        .and_then(|text| parse(&text))
        .ok_or_else(|| io::Error::other("not an HTTP response"))
}

fn parse(text: &str) -> Option<Response> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let chunked = head.lines().any(|line| line.eq_ignore_ascii_case("transfer-encoding: chunked"));
    let head = head.to_owned();
    Some(Response { status, head, body: if chunked { unchunk(body)? } else { body.to_owned() } })
}

fn unchunk(mut rest: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n")?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body += after.get(..size)?;
        rest = after.get(size..)?.strip_prefix("\r\n")?;
    }
}
