//! A local web server for the tests of objects: it sends ranges as it should, or misbehaves in a way that a test chooses.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct ObjectRequest {
    /// `GET`, `PUT` and the like.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, their names in lower case.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl ObjectRequest {
    /// The bytes that are asked for of so many, if it is a range.
    pub fn range(&self, length: usize) -> Option<std::ops::Range<usize>> {
        let (start, end) = self.headers.get("range")?.strip_prefix("bytes=")?.split_once('-')?;
        match (start.parse::<usize>(), end.parse::<usize>()) {
            (Ok(start), Ok(end)) => Some(start.min(length)..(end + 1).min(length)),
            (Ok(start), Err(_)) => Some(start.min(length)..length),
            (Err(_), Ok(last)) => Some(length.saturating_sub(last)..length),
            _ => None,
        }
    }
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A status line with headers, and a body.
    Whole(String, Vec<u8>),
    /// The same, and then bytes without end.
    Endless(String, u8),
    /// The same, a byte at a time with a pause before each.
    Drip(String, Vec<u8>, Duration),
    /// Nothing: the connection stays open for a while.
    Silence(Duration),
}

impl Answer {
    /// An answer with this status and these headers, whose length is said.
    pub fn new(status: &str, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        Self::Whole(head, body)
    }

    /// What a good server sends of this content: the range that is asked for, under this tag.
    pub fn object(request: &ObjectRequest, content: &[u8], tag: &str) -> Self {
        if request.headers.get("if-match").is_some_and(|wanted| wanted != tag) {
            return Self::new("412 Precondition Failed", &[], "");
        }
        let headers = [("etag", tag), ("accept-ranges", "bytes"), ("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT")];
        match request.range(content.len()) {
            Some(range) if range.is_empty() => Self::new("416 Range Not Satisfiable", &headers, ""),
            Some(range) => {
                let place = format!("bytes {}-{}/{}", range.start, range.end - 1, content.len());
                let headers = [headers[0], headers[1], headers[2], ("content-range", &*place)];
                Self::new("206 Partial Content", &headers, &content[range])
            }
            None => Self::new("200 OK", &headers, content),
        }
    }
}

/// The server, while it lives.
#[derive(Debug)]
pub struct ObjectServer {
    /// Its address, without a slash at its end.
    pub url: String,
    requests: Arc<Mutex<Vec<ObjectRequest>>>,
    is_over: Arc<AtomicBool>,
}

impl ObjectServer {
    /// A server that answers every request in this way. It is told how many came before.
    pub fn start(answer: impl Fn(&ObjectRequest, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (requests, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, over, answer) = (requests.clone(), is_over.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let (seen, answer) = (seen.clone(), answer.clone());
                std::thread::spawn(move || {
                    // A client that goes away is no failure of the test.
                    let _ = converse(stream, &seen, &*answer);
                });
            }
        });
        Self { url, requests, is_over }
    }

    /// A server of one content under every path, as it should be.
    pub fn of(content: Vec<u8>) -> Self {
        Self::start(move |request, _| Answer::object(request, &content, "\"1\""))
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<ObjectRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for ObjectServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // The listener waits for one more.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

fn converse(
    stream: TcpStream,
    seen: &Mutex<Vec<ObjectRequest>>,
    answer: &(dyn Fn(&ObjectRequest, usize) -> Answer + Send + Sync),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) => headers.insert(name.to_lowercase(), value.trim().to_owned()),
                None => break,
            };
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let request = ObjectRequest { method, path, headers, body };
        let before = {
            let mut seen = seen.lock().unwrap();
            seen.push(request.clone());
            seen.len() - 1
        };
        let is_head = request.method == "HEAD";
        match answer(&request, before) {
            Answer::Whole(head, body) => {
                stream.write_all(format!("{head}\r\n").as_bytes())?;
                if !is_head {
                    stream.write_all(&body)?;
                }
                // A body that is not as long as its header says ends the connection.
                let said = head
                    .to_lowercase()
                    .split("content-length: ")
                    .nth(1)
                    .and_then(|rest| rest.lines().next()?.parse().ok());
                if said != Some(body.len()) {
                    return Ok(());
                }
            }
            Answer::Endless(head, byte) => {
                stream.write_all(format!("{head}\r\n").as_bytes())?;
                let bytes = vec![byte; 1 << 16];
                loop {
                    stream.write_all(&bytes)?;
                }
            }
            Answer::Drip(head, body, pause) => {
                stream.write_all(format!("{head}\r\n").as_bytes())?;
                for byte in body {
                    std::thread::sleep(pause);
                    stream.write_all(&[byte])?;
                }
                return Ok(());
            }
            Answer::Silence(pause) => {
                std::thread::sleep(pause);
                return Ok(());
            }
        }
    }
}
