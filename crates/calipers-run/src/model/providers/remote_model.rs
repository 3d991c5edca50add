//! A model behind HTTP.
//!
//! Every call ends, whatever the server does: with an answer, at the time limit, or at the size limit. The client is
//! reqwest; `wire` has the formats of requests and answers.

use super::provider_fault::{ProviderComplaint, retry_after};
use super::provider_table::Provider;
use super::{Price, ProviderOptions};
use crate::{Model, ModelError, ModelFault, Request};
use async_trait::async_trait;
use calipers_core::{ModelOutput, StopReason};
use reqwest::header::HeaderMap;
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value as Json;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The size limit of an answer. Today's longest answers are below one mebibyte, and a JSON tree may take thirty times
/// the size of its text.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// The size limit of an error response: its message comes first.
const FAILURE_BYTES_MAX: usize = 64 << 10;

/// How much of a server's message is shown.
const SHOWN_CHARS_MAX: usize = 300;

/// Shorter keys are placeholders for servers that need none, and may be ordinary words.
const SECRET_BYTES_MIN: usize = 4;

/// A model behind HTTP.
pub(super) struct Remote {
    provider: &'static Provider,
    name: Arc<str>,
    model: String,
    is_home: bool,
    url: Url,
    /// The address as it tells servers apart, without names and passwords.
    address: String,
    headers: HeaderMap,
    /// What must not be shown: the key, and what the address holds of the kind.
    secrets: Vec<String>,
    price: Option<Price>,
    client: Client,
}

impl Remote {
    pub(super) fn new(provider: &'static Provider, model: &str, options: &ProviderOptions) -> Result<Self, String> {
        let name: Arc<str> = format!("{}/{model}", provider.name).into();
        let key = provider.key(options).map_err(|why| format!("model `{name}`: {why}"))?;
        let url = provider.url(model, options)?;
        let secrets = key.map(str::to_owned).into_iter().chain(secrets_of(&url));
        Ok(Self {
            provider,
            model: model.to_owned(),
            is_home: provider.is_home(options),
            headers: provider.wire.headers(key).map_err(|why| format!("model `{name}`: {why}"))?,
            secrets: secrets.filter(|secret| secret.len() >= SECRET_BYTES_MIN).collect(),
            price: options.price(&name),
            client: client(&url, options.timeout).map_err(|error| format!("no HTTP client: {}", root(error)))?,
            address: without_user(&url),
            url,
            name,
        })
    }

    async fn ask(&self, request: &Request) -> Result<ModelOutput, ModelError> {
        let body = self.provider.wire.ask(&self.model, self.is_home, request).to_string();
        let call = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = call.send().await.map_err(|error| self.transport_error(error))?;
        match response.status() {
            status if status.is_success() => self.answer(response).await,
            status if status.is_redirection() => Err(self.redirect_error(&response)),
            _ => self.failure(response).await,
        }
    }

    async fn answer(&self, response: Response) -> Result<ModelOutput, ModelError> {
        let (status, headers) = (response.status(), response.headers().clone());
        let (body, is_whole) = self.read(response, ANSWER_BYTES_MAX).await?;
        if !is_whole {
            let mib = ANSWER_BYTES_MAX >> 20;
            return Err(self.error(ModelFault::Unreadable, &format!("the answer is longer than {mib} MiB")));
        }
        let json: Json = serde_json::from_slice(&body).map_err(|error| self.not_json(&headers, &error))?;
        let wire = self.provider.wire;
        wire.read(&self.model, &json).or_else(|why| {
            match ProviderComplaint::find(&json).filter(|_| json.get("error").is_some()) {
                Some(complaint) => self.complaint_error(status, &headers, &complaint),
                None => Err(self.error(ModelFault::Unreadable, &format!("the answer cannot be understood: {why}"))),
            }
        })
    }

    async fn failure(&self, response: Response) -> Result<ModelOutput, ModelError> {
        let (status, headers) = (response.status(), response.headers().clone());
        // The status is known even if the body breaks off.
        let body = self.read(response, FAILURE_BYTES_MAX).await.map(|(body, _)| body).unwrap_or_default();
        self.complaint_error(status, &headers, &ProviderComplaint::read(&body))
    }

    fn complaint_error(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        complaint: &ProviderComplaint,
    ) -> Result<ModelOutput, ModelError> {
        if complaint.is_filter() {
            let output = ModelOutput::new(self.model.as_str(), self.redact(&complaint.message));
            return Ok(ModelOutput { stop_reason: StopReason::ContentFilter, ..output });
        }
        let fault = complaint.fault(status.as_u16());
        let what = match fault {
            ModelFault::Busy => "the provider is busy",
            ModelFault::Timeout => "the server gave up waiting",
            ModelFault::Server => "the server failed",
            _ => "the provider refused",
        };
        let colon = if complaint.message.trim().is_empty() { "" } else { ": " };
        let text = format!("{what} ({}){colon}{}", status.as_u16(), self.redact(&complaint.message));
        let mut error = self.error(fault, &(text + &self.hint(status)));
        error.retry_after = retry_after(headers);
        Err(error)
    }

    fn hint(&self, status: StatusCode) -> String {
        match (status, self.provider.keys) {
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, [key, ..]) => format!("\n  hint: check `{key}`"),
            (StatusCode::NOT_FOUND, _) => "\n  hint: check the name of the model and the base URL".into(),
            _ => String::new(),
        }
    }

    /// Reads a body up to a limit, and returns whether that was all of it.
    async fn read(&self, mut response: Response, bytes_max: usize) -> Result<(Vec<u8>, bool), ModelError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.transport_error(error))? {
            let room = bytes_max - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return Ok((body, false));
            }
        }
        Ok((body, true))
    }

    fn transport_error(&self, error: reqwest::Error) -> ModelError {
        if error.is_timeout() {
            return self.error(ModelFault::Timeout, "no answer in time");
        }
        let what = if error.is_connect() { "no connection" } else { "the connection broke" };
        let place = self.url.host_str().unwrap_or_default();
        self.error(ModelFault::Connection, &format!("{what} to `{place}`: {}", self.redact(&root(error))))
    }

    /// Redirects are not followed, so that a key goes only to the configured server.
    fn redirect_error(&self, response: &Response) -> ModelError {
        let target = response.headers().get("location").and_then(|value| value.to_str().ok()).unwrap_or("nowhere");
        let status = response.status().as_u16();
        let text = format!("the server redirects ({status}) to `{}`", self.redact(target));
        self.error(ModelFault::Refused, &(text + "\n  hint: give the address itself as base URL"))
    }

    fn not_json(&self, headers: &HeaderMap, error: &serde_json::Error) -> ModelError {
        let kind = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or("of no type");
        let kind = self.redact(kind);
        self.error(ModelFault::Unreadable, &format!("the answer is not JSON but `{kind}`: {error}"))
    }

    fn error(&self, fault: ModelFault, message: &str) -> ModelError {
        ModelError::new(self.name.clone(), fault, message)
    }

    /// A server's message for display: without the key, on one line, and short.
    fn redact(&self, text: &str) -> String {
        let text = self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[key]"));
        let line = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let line = line.collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(SHOWN_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

#[async_trait]
impl Model for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    async fn generate(&self, request: &Request) -> Result<ModelOutput, ModelError> {
        let started = Instant::now();
        let mut output = self.ask(request).await?;
        output.time_s = Some(started.elapsed().as_secs_f64());
        if let (Some(usage), Some(price)) = (&mut output.usage, &self.price) {
            usage.cost_usd = Some(price.of(usage));
        }
        Ok(output)
    }

    fn address(&self) -> Option<&str> {
        Some(&self.address)
    }

    fn reports_cost(&self) -> bool {
        self.price.is_some()
    }
}

/// The name and password in an address, and the values of its query, as they are written and as they are meant.
fn secrets_of(url: &Url) -> Vec<String> {
    let written = url.query().into_iter().flat_map(|query| query.split('&')).filter_map(|part| part.split_once('='));
    let mut secrets: Vec<String> = written.map(|(_, value)| value.to_owned()).collect();
    secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    secrets.extend([url.username(), url.password().unwrap_or_default()].map(str::to_owned));
    secrets
}

fn without_user(url: &Url) -> String {
    let mut url = url.clone();
    // Only an address without a host refuses, and it has no name.
    let _ = (url.set_username(""), url.set_password(None));
    url.to_string()
}

fn client(url: &Url, timeout: Duration) -> Result<Client, reqwest::Error> {
    // reqwest is built without a crypto provider, because its default is a large C library. A second call changes
    // nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .timeout(timeout)
        .connect_timeout(timeout.min(Duration::from_secs(30)))
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("calipers/", env!("CARGO_PKG_VERSION")));
    match (is_local(url), url.scheme()) {
        // A local server needs no proxy, and without TLS the system's certificates are not loaded, which takes time and
        // fails in small containers.
        (true, "http") => builder.no_proxy().tls_certs_only([]).build(),
        (true, _) => builder.no_proxy().build(),
        (false, _) => builder.build(),
    }
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The last cause of an error, which says what happened. The address stays out of it: it may hold a password.
fn root(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut last: &dyn Error = &error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
