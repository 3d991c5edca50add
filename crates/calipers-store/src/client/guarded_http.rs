//! Requests that end: within a time, with a body of bounded length, at a host that was meant.
//!
//! Clients of clouds follow no redirect, so that credentials reach no other server. Of web addresses a few are followed, as
//! downloads need them, and never to this machine, to its network or to the addresses that give machines their roles.

use crate::Location;
use async_trait::async_trait;
use futures_util::StreamExt;
use http_body_util::{BodyExt, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, RANGE, RETRY_AFTER};
use reqwest::{StatusCode, Url};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for a connection, and for the next bytes of an answer.
const CONNECT_MAX: Duration = Duration::from_secs(10);
const STALL_MAX: Duration = Duration::from_secs(30);
/// How long to wait for the address that gives machines their roles: elsewhere it does not answer.
const ROLE_MAX: Duration = Duration::from_secs(2);
/// How long a server may tell us to wait.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(20);
/// How many redirects are followed.
const REDIRECTS_MAX: usize = 5;
/// How much of an answer that is an error is read.
const ERROR_BYTES_MAX: usize = 8 << 10;
/// How long an answer may be that is not a part of an object: a page of a list, a token.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// How long a whole object may be where the server does not send parts.
pub(super) const WHOLE_BYTES_MAX: usize = 256 << 20;

/// Makes clients that keep these rules.
#[derive(Clone, Debug)]
pub(super) struct GuardedConnector {
    /// The web address, which may be redirected; none for clouds.
    web: Option<WebOrigin>,
}

#[derive(Clone, Debug)]
struct WebOrigin {
    host: String,
    is_encrypted: bool,
    /// What to send as authorization, to this host alone.
    authorization: Option<HeaderValue>,
}

impl GuardedConnector {
    pub(super) fn cloud() -> Self {
        Self { web: None }
    }

    pub(super) fn web(location: &Location) -> Self {
        let authorization = location.user().and_then(|user| {
            let mut value = HeaderValue::try_from(format!("Basic {}", base64(&user))).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        let is_encrypted = location.scheme() == crate::Scheme::Https;
        Self { web: Some(WebOrigin { host: location.bucket().to_ascii_lowercase(), is_encrypted, authorization }) }
    }
}

impl HttpConnector for GuardedConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let build = |builder: reqwest::ClientBuilder| {
            builder.build().map_err(|error| object_store::Error::Generic { store: "HTTP", source: Box::new(error) })
        };
        // Loading the certificates of the system takes time, and needs none on this machine.
        let direct = build(client().no_proxy().tls_certs_only([]))?;
        let proxied = build(client())?;
        let elsewhere = self.web.is_some().then(|| build(client().dns_resolver(Arc::new(PublicHosts)))).transpose()?;
        Ok(HttpClient::new(GuardedService { direct, proxied, elsewhere, web: self.web.clone() }))
    }
}

fn client() -> reqwest::ClientBuilder {
    // reqwest is built without a crypto provider, because its default is a large C library. A second call changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(CONNECT_MAX)
        .read_timeout(STALL_MAX)
        .redirect(reqwest::redirect::Policy::none())
        // Ranges are ranges of what is stored.
        .no_gzip()
        .user_agent(concat!("calipers/", env!("CARGO_PKG_VERSION")))
}

#[derive(Debug)]
struct GuardedService {
    /// For this machine.
    direct: reqwest::Client,
    proxied: reqwest::Client,
    /// For hosts that a redirect names.
    elsewhere: Option<reqwest::Client>,
    web: Option<WebOrigin>,
}

#[async_trait]
impl HttpService for GuardedService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let limit = body_limit(request.headers(), self.web.is_some());
        let response = match &self.web {
            None => self.call_once(request).await?,
            Some(web) => self.call_web(web, request).await?,
        };
        let (parts, body) = response.into_parts();
        if parts.status.is_success() {
            let bounded = Limited::new(body, limit).map_err(|error| match error.downcast::<HttpError>() {
                Ok(error) => *error,
                Err(_) => wrong("the answer is longer than it should be"),
            });
            return Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(bounded)));
        }
        wait_if_asked(parts.status, &parts.headers).await;
        let body = beginning(body).await;
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}

impl GuardedService {
    async fn call_once(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let host = request.uri().host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if is_role_host(&host) {
            let call = HttpService::call(&self.direct, request);
            return tokio::time::timeout(ROLE_MAX, call).await.unwrap_or_else(|_| Err(wrong("no role is offered")));
        }
        let client =
            if is_loopback(&host) && request.uri().scheme_str() == Some("http") { &self.direct } else { &self.proxied };
        HttpService::call(client, request).await
    }

    /// Follows redirects to hosts that anybody can reach.
    async fn call_web(&self, web: &WebOrigin, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        for _ in 0..=REDIRECTS_MAX {
            let is_origin = authority(&request).eq_ignore_ascii_case(&web.host);
            if let (true, Some(authorization)) = (is_origin, &web.authorization) {
                request.headers_mut().insert(AUTHORIZATION, authorization.clone());
            }
            let (uri, again) = (request.uri().to_string(), request.clone());
            let response = match &self.elsewhere {
                Some(client) if !is_origin => HttpService::call(client, request).await?,
                _ => self.call_once(request).await?,
            };
            let Some(target) = redirection(&response) else { return Ok(response) };
            let base: Url = uri.parse().map_err(|_| wrong("the address cannot be used"))?;
            let target = base.join(&target).map_err(|_| wrong("the server redirects to no address"))?;
            check_redirect(web, &target)?;
            request = again;
            request.headers_mut().remove(AUTHORIZATION);
            *request.uri_mut() = target.as_str().parse().map_err(|_| wrong("the server redirects to no address"))?;
        }
        Err(wrong("the server redirects too often"))
    }
}

fn authority(request: &HttpRequest) -> &str {
    match request.uri().authority() {
        Some(authority) => authority.as_str(),
        None => "",
    }
}

/// Where an answer sends us, if it does.
fn redirection(response: &HttpResponse) -> Option<String> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let target = response.headers().get(LOCATION).filter(|_| is_redirect)?;
    target.to_str().ok().map(str::to_owned)
}

/// A server must not make us ask hosts that it cannot reach itself, nor without encryption.
fn check_redirect(web: &WebOrigin, target: &Url) -> Result<(), HttpError> {
    let host = target.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = target.port().map(|port| format!(":{port}")).unwrap_or_default();
    let is_same = format!("{}{port}", target.host_str().unwrap_or_default()).eq_ignore_ascii_case(&web.host);
    match target.scheme() {
        "https" => {}
        "http" if !web.is_encrypted && is_same => {}
        _ => return Err(wrong("the server redirects to an address without encryption")),
    }
    let is_inside =
        is_loopback(host) || is_role_host(host) || host.parse::<IpAddr>().is_ok_and(|address| !is_public(address));
    if is_inside && !is_same {
        return Err(wrong("the server redirects to an address inside this network"));
    }
    Ok(())
}

/// How many bytes an answer may have.
fn body_limit(headers: &HeaderMap, is_web: bool) -> usize {
    let range = headers.get(RANGE).and_then(|range| range.to_str().ok()).and_then(|range| range.strip_prefix("bytes="));
    let bounded = range.and_then(|range| {
        let (start, end) = range.split_once('-')?;
        let (start, end) = (start.parse::<usize>().ok()?, end.parse::<usize>().ok()?);
        end.checked_sub(start)?.checked_add(1)
    });
    bounded.unwrap_or(if is_web { WHOLE_BYTES_MAX } else { ANSWER_BYTES_MAX })
}

/// Waits as long as a busy server asks for, within reason. The client then waits a random while more.
async fn wait_if_asked(status: StatusCode, headers: &HeaderMap) {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return;
    }
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    if let Some(seconds) = seconds {
        tokio::time::sleep(Duration::from_secs(seconds).min(RETRY_AFTER_MAX)).await;
    }
}

/// The beginning of an answer that is an error, as text.
async fn beginning(body: HttpResponseBody) -> String {
    let mut stream = body.bytes_stream();
    let mut found: Vec<u8> = Vec::new();
    while let Some(Ok(bytes)) = stream.next().await {
        let room = ERROR_BYTES_MAX - found.len();
        found.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if found.len() == ERROR_BYTES_MAX {
            break;
        }
    }
    String::from_utf8_lossy(&found).into_owned()
}

/// An error that no retry mends.
fn wrong(what: &'static str) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(what))
}

/// True for names and addresses of this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// True for the addresses that give machines in the cloud their roles.
fn is_role_host(host: &str) -> bool {
    matches!(host, "169.254.169.254" | "169.254.170.2" | "fd00:ec2::254" | "metadata.google.internal" | "metadata")
}

/// True for addresses that anybody can reach.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_multicast()
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || a >= 240)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = address.to_ipv4_mapped().or_else(|| embedded_v4(address)) {
        return is_public_v4(v4);
    }
    let first = address.segments()[0];
    !(address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || first & 0xfe00 == 0xfc00
        || first & 0xffc0 == 0xfe80)
}

/// The address that a translator (RFC 6052) or 6to4 (RFC 3056) would reach.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, .., y, z] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (a, b) {
        (0x64, 0xff9b) => Some(of(y, z)),
        (0x2002, _) => Some(of(b, c)),
        _ => None,
    }
}

/// Finds the addresses of hosts that anybody can reach, and of no others: a name may lead into this network.
#[derive(Debug)]
struct PublicHosts;

impl Resolve for PublicHosts {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<_> = found.filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                return Err("the server redirects to an address inside this network".into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut written = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            written.push(if place <= three.len() { letter as char } else { '=' });
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
        ] {
            assert!(!is_public(text.parse().expect("an address")), "{text}");
        }
        for text in ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "100.128.0.1", "172.32.0.1"] {
            assert!(is_public(text.parse().expect("an address")), "{text}");
        }
    }

    #[test]
    fn redirects_stay_outside_this_network_and_encrypted() {
        let origin = |host: &str, is_encrypted| WebOrigin { host: host.into(), is_encrypted, authorization: None };
        let check = |web: &WebOrigin, target: &str| check_redirect(web, &target.parse().expect("an address")).is_ok();
        let web = origin("files.example", true);
        assert!(check(&web, "https://cdn.example/a?sig=1"));
        assert!(check(&web, "https://files.example/b"));
        for target in [
            "http://cdn.example/a",
            "https://127.0.0.1/a",
            "https://localhost/a",
            "https://169.254.169.254/latest",
            "https://[::1]/a",
            "https://10.0.0.1/a",
            "https://2130706433/a",
            "https://0x7f.1/a",
            "ftp://cdn.example/a",
            "http://files.example/a",
        ] {
            assert!(!check(&web, target), "{target}");
        }
        let local = origin("127.0.0.1:9000", false);
        assert!(check(&local, "http://127.0.0.1:9000/b"));
        assert!(!check(&local, "http://127.0.0.1:9001/b"), "another port is another server");
        assert!(!check(&local, "http://169.254.169.254/"));
    }

    #[test]
    fn passwords_are_encoded_as_servers_expect() {
        for (text, encoded) in [
            ("", ""),
            ("a", "YQ=="),
            ("ab", "YWI="),
            ("abc", "YWJj"),
            ("Aladdin:open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ] {
            assert_eq!(base64(text), encoded);
        }
    }
}
