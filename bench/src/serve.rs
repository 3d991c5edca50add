//! A server that speaks the chat language of OpenAI and takes its time: what clients can be measured against.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Answers every request after a while, until it is killed. Prints its address first.
pub(crate) fn run(milliseconds: &str) -> Result<bool, String> {
    let wait = Duration::from_millis(milliseconds.parse().map_err(|_| "give the latency in milliseconds")?);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|cause| cause.to_string())?;
    println!("http://{}/v1/", listener.local_addr().map_err(|cause| cause.to_string())?);
    let answered = Arc::new(AtomicU64::new(0));
    for stream in listener.incoming().flatten() {
        let answered = answered.clone();
        std::thread::spawn(move || serve(&stream, wait, &answered));
    }
    Ok(true)
}

/// All requests of one connection, one after another.
fn serve(stream: &TcpStream, wait: Duration, answered: &AtomicU64) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream);
    let mut body = Vec::new();
    loop {
        let length = content_length(&mut reader)?;
        body.resize(length, 0);
        reader.read_exact(&mut body).ok()?;
        std::thread::sleep(wait);
        let answer = format!(
            r#"{{"id":"c{}","object":"chat.completion","created":0,"model":"slow","choices":[{{"index":0,"message":{{"role":"assistant","content":"ANSWER: A"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":100,"completion_tokens":3,"total_tokens":103}}}}"#,
            answered.fetch_add(1, Ordering::Relaxed)
        );
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", answer.len());
        (&mut &*stream).write_all((head + &answer).as_bytes()).ok()?;
    }
}

/// Reads the head of a request; nothing at the end of the connection.
fn content_length(reader: &mut impl BufRead) -> Option<usize> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            return Some(length);
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
}
