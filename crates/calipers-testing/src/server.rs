//! A local HTTP server that misbehaves on request, for the tests of models and of whole runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a request.
#[derive(Clone)]
pub enum Reply {
    /// Answers as a server should.
    Whole {
        /// The status code.
        status: u16,
        /// Names and values.
        headers: Vec<(&'static str, String)>,
        /// The whole body.
        body: String,
    },
    /// Promises a body, sends a part of it and resets the connection.
    Reset(String),
    /// Promises a body, sends a part of it and closes.
    Cut(String),
    /// Answers well, but after a while.
    Late(String, Duration),
    /// Sends the body a byte at a time, with a pause before each.
    Slow(String, Duration),
    /// Sends a body that does not end, after this beginning, until the client goes away.
    Endless(u16, &'static str),
    /// Closes without a word.
    Silence,
}

impl Reply {
    /// A JSON answer.
    pub fn json(status: u16, body: impl ToString) -> Self {
        Self::whole(status, &[("content-type", "application/json")], body)
    }

    /// An answer with its own headers.
    pub fn whole(status: u16, headers: &[(&'static str, &str)], body: impl ToString) -> Self {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self::Whole { status, headers, body: body.to_string() }
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// The request line and the headers, in lower case but for the path.
    pub head: String,
    /// The body as text.
    pub body: String,
}

impl Request {
    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("requests are JSON")
    }
}

/// The server, while it lives.
pub struct Server {
    /// Its address.
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    sent: Arc<AtomicUsize>,
    open: Arc<Open>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// A server that replies to each request in turn; the last reply stays.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let replies: Arc<[Reply]> = replies.into_iter().collect();
        let (requests, sent) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let open = Arc::new(Open::default());
        let state = (requests.clone(), sent.clone(), open.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (replies, (requests, sent, open)) = (replies.clone(), state.clone());
                tokio::spawn(serve(stream, replies, requests, sent, open));
            }
        });
        Self { url, requests, sent, open, task }
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no panic in the server").clone()
    }

    /// The most requests that waited for their answers at the same time.
    pub fn most_at_once(&self) -> usize {
        self.open.most.load(Ordering::SeqCst)
    }

    /// The bytes of endless bodies that were sent so far.
    pub fn bytes_sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Requests under way.
#[derive(Default)]
struct Open {
    now: AtomicUsize,
    most: AtomicUsize,
}

async fn serve(
    mut stream: TcpStream,
    replies: Arc<[Reply]>,
    requests: Arc<Mutex<Vec<Request>>>,
    sent: Arc<AtomicUsize>,
    open: Arc<Open>,
) {
    while let Some(request) = read(&mut stream).await {
        open.most.fetch_max(open.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let turn = {
            let mut requests = requests.lock().expect("no panic in the server");
            requests.push(request);
            requests.len() - 1
        };
        let reply = replies[turn.min(replies.len() - 1)].clone();
        if let Reply::Late(_, wait) = &reply {
            tokio::time::sleep(*wait).await;
        }
        // Before the answer, so that a client that asks again at once is not counted twice.
        open.now.fetch_sub(1, Ordering::SeqCst);
        if write(&mut stream, reply, &sent).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let whole = end + 4 + length.unwrap_or(0usize);
    while bytes.len() < whole {
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    }
    Some(Request { head, body: String::from_utf8_lossy(&bytes[end + 4..whole]).into_owned() })
}

/// Sends a reply. An error ends the connection.
async fn write(stream: &mut TcpStream, reply: Reply, sent: &AtomicUsize) -> std::io::Result<()> {
    let json = [("content-type", "application/json".to_owned())];
    match reply {
        Reply::Whole { status, headers, body } => {
            stream.write_all(head(status, &headers, Some(body.len())).as_bytes()).await?;
            stream.write_all(body.as_bytes()).await
        }
        Reply::Late(body, _) => stream.write_all((head(200, &json, Some(body.len())) + &body).as_bytes()).await,
        Reply::Reset(part) | Reply::Cut(part) if part.is_empty() => panic!("a part has at least a byte"),
        Reply::Reset(part) => {
            stream.write_all(head(200, &json, Some(part.len() * 2)).as_bytes()).await?;
            stream.write_all(part.as_bytes()).await?;
            stream.flush().await?;
            // Time for the part to arrive before the reset overtakes it.
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream.set_zero_linger()?;
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
        Reply::Cut(part) => {
            stream.write_all(head(200, &json, Some(part.len() * 2)).as_bytes()).await?;
            stream.write_all(part.as_bytes()).await?;
            Err(std::io::ErrorKind::ConnectionAborted.into())
        }
        Reply::Slow(body, pause) => {
            stream.write_all(head(200, &json, Some(body.len())).as_bytes()).await?;
            for byte in body.bytes() {
                tokio::time::sleep(pause).await;
                stream.write_all(&[byte]).await?;
                stream.flush().await?;
            }
            Ok(())
        }
        Reply::Endless(status, start) => {
            stream.write_all(head(status, &json, None).as_bytes()).await?;
            stream.write_all(start.as_bytes()).await?;
            let filler = vec![b' '; 1 << 16];
            loop {
                stream.write_all(&filler).await?;
                sent.fetch_add(filler.len(), Ordering::SeqCst);
            }
        }
        Reply::Silence => Err(std::io::ErrorKind::ConnectionAborted.into()),
    }
}

/// Without a length, the body lasts until the connection ends.
fn head(status: u16, headers: &[(&'static str, String)], length: Option<usize>) -> String {
    let mut head = format!("HTTP/1.1 {status} Status\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &length.map_or("connection: close\r\n".to_owned(), |length| format!("content-length: {length}\r\n"));
    head + "\r\n"
}
