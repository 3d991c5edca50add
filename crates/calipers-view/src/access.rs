//! Who may ask for what: tokens with roles, and which hosts and origins a request may come from.

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use std::net::{IpAddr, SocketAddr};

/// What someone may do. Each may do what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Look at everything.
    Read,
    /// Also say what is to be counted.
    Label,
    /// Also see how the server is doing.
    Admin,
}

impl Role {
    /// Its name.
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Label => "label",
            Self::Admin => "admin",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Read, Self::Label, Self::Admin].into_iter().find(|role| role.name() == name)
    }
}

/// A secret that stands for a role.
#[derive(Clone)]
pub struct AccessToken {
    role: Role,
    secret: String,
    name: Option<String>,
}

/// Who asks, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visitor {
    pub(crate) role: Role,
    /// The name of the token, or what stands for it in the audit trail.
    pub(crate) name: String,
}

/// A token is as hard to guess as this many letters.
const TOKEN_MIN: usize = 16;
const TOKEN_MAX: usize = 512;

impl AccessToken {
    /// A token. None if it is too short to protect anything, or could not be sent.
    #[must_use]
    pub fn new(role: Role, secret: &str) -> Option<Self> {
        let is_sendable = secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(&byte));
        let is_long = (TOKEN_MIN..=TOKEN_MAX).contains(&secret.len());
        (is_sendable && is_long).then(|| Self { role, secret: secret.to_owned(), name: None })
    }

    /// The same with the name of the person or program that has it, for the audit trail.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }
}

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessToken").field("role", &self.role).finish_non_exhaustive()
    }
}

/// The cookie that a browser keeps the token in.
pub(crate) const COOKIE_NAME: &str = "calipers_token";
/// What a request that changes something must carry: a page of another site cannot add it.
pub(crate) const CHANGE_HEADER: &str = "x-calipers";

/// The rules of a server.
#[derive(Debug)]
pub(crate) struct AccessRules {
    tokens: Vec<AccessToken>,
    address: SocketAddr,
    /// Further names that the server is called by.
    hosts: Vec<String>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) why: &'static str,
}

impl AccessRules {
    pub(crate) fn new(address: SocketAddr, tokens: Vec<AccessToken>, hosts: Vec<String>) -> Self {
        Self { tokens, address, hosts }
    }

    /// True when a token is needed.
    pub(crate) fn needs_token(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Who sends a request, or why it is refused.
    pub(crate) fn check(&self, method: &Method, headers: &HeaderMap, needed: Role) -> Result<Visitor, Refusal> {
        self.check_origin(method, headers)?;
        let is_change = !matches!(*method, Method::GET | Method::HEAD);
        if is_change && !headers.contains_key(CHANGE_HEADER) {
            return refuse(StatusCode::FORBIDDEN, "a change needs the header `x-calipers`");
        }
        if self.tokens.is_empty() {
            return Ok(Visitor { role: Role::Admin, name: "someone at this machine".to_owned() });
        }
        let Some(visitor) = self.visitor(headers) else {
            return refuse(StatusCode::UNAUTHORIZED, "this server needs a token");
        };
        if visitor.role < needed {
            return refuse(StatusCode::FORBIDDEN, "this token does not allow that");
        }
        Ok(visitor)
    }

    /// That a request names this server where it says what it asks for, if it names one there.
    pub(crate) fn check_target(&self, target: &Uri) -> Result<(), Refusal> {
        match target.authority() {
            Some(named) if !self.is_ours(named.as_str()) => {
                refuse(StatusCode::FORBIDDEN, "this server is not called by that name")
            }
            _ => Ok(()),
        }
    }

    /// That a request is meant for this server, and does not come from a page of another one.
    pub(crate) fn check_origin(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(host) = text(HOST) else { return refuse(StatusCode::BAD_REQUEST, "the request names no host") };
        // A proxy before us may have looked at the other one.
        if headers.get_all(HOST).iter().nth(1).is_some() {
            return refuse(StatusCode::BAD_REQUEST, "the request names several hosts");
        }
        // A name that another site owns may lead here (DNS rebinding).
        if !self.is_ours(host) {
            return refuse(StatusCode::FORBIDDEN, "this server is not called by that name");
        }
        let fetch = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let site = fetch("sec-fetch-site");
        if matches!(*method, Method::GET | Method::HEAD) {
            // A page of another site may lead here, and may not load anything from here.
            let is_foreign = matches!(site, Some("cross-site" | "same-site"));
            if is_foreign && fetch("sec-fetch-mode").is_some_and(|mode| mode != "navigate") {
                return refuse(StatusCode::FORBIDDEN, "a page of another server may not load this");
            }
            return Ok(());
        }
        if site.is_some_and(|site| site != "same-origin" && site != "none") {
            return refuse(StatusCode::FORBIDDEN, "a change must come from a page of this server");
        }
        match text(ORIGIN) {
            None => Ok(()),
            Some(origin) if origin.split_once("://").is_some_and(|(_, name)| name.eq_ignore_ascii_case(host)) => Ok(()),
            Some(_) => refuse(StatusCode::FORBIDDEN, "a change must come from a page of this server"),
        }
    }

    fn is_ours(&self, host: &str) -> bool {
        let (name, port) = split_port(host);
        if self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(host)) {
            return true;
        }
        if port.is_some_and(|port| port != self.address.port()) {
            return false;
        }
        let address: Option<IpAddr> = name.trim_start_matches('[').trim_end_matches(']').parse().ok();
        match address {
            Some(address) if self.address.ip().is_loopback() => address.is_loopback(),
            // Beyond loopback a token protects, and an address cannot be rebound.
            Some(_) => true,
            None => name.eq_ignore_ascii_case("localhost"),
        }
    }

    fn visitor(&self, headers: &HeaderMap) -> Option<Visitor> {
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        self.visitor_of(bearer.or_else(|| cookie(headers, COOKIE_NAME))?)
    }

    /// Whom a secret stands for. All tokens are looked at, so that time tells nothing.
    pub(crate) fn visitor_of(&self, secret: &str) -> Option<Visitor> {
        let mut found: Option<&AccessToken> = None;
        for token in &self.tokens {
            if is_equal(token.secret.as_bytes(), secret.as_bytes()) && found.is_none_or(|known| known.role < token.role)
            {
                found = Some(token);
            }
        }
        let name = |token: &AccessToken| match &token.name {
            Some(name) => name.clone(),
            None => format!("someone with a token for `{}`", token.role.name()),
        };
        found.map(|token| Visitor { role: token.role, name: name(token) })
    }
}

/// The value of a cookie.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|text| text.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == wanted).then_some(value)
    })
}

fn refuse<T>(status: StatusCode, why: &'static str) -> Result<T, Refusal> {
    Err(Refusal { status, why })
}

fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        // A colon within brackets belongs to an address.
        Some((name, port)) if !port.contains(']') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (host, Some(0)),
        },
        _ => (host, None),
    }
}

/// Compares without telling by its time where two texts differ.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut difference = a.len() ^ b.len();
    for (place, byte) in a.iter().enumerate() {
        difference |= usize::from(byte ^ b.get(place).copied().unwrap_or(0));
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().expect("a name"), HeaderValue::from_str(value).expect("a value")))
            .collect()
    }

    #[test]
    fn only_our_own_names_lead_here() {
        let rules = AccessRules::new("127.0.0.1:8080".parse().expect("one"), Vec::new(), vec!["evals.example".into()]);
        for (host, want) in [
            ("127.0.0.1:8080", true),
            ("localhost:8080", true),
            ("LOCALHOST:8080", true),
            ("[::1]:8080", true),
            ("evals.example", true),
            ("evals.example:443", true),
            ("evil.example:8080", false),
            ("127.0.0.1.evil.example:8080", false),
            ("localhost:9090", false),
            ("10.0.0.1:8080", false),
            ("localhost:x", false),
            ("", false),
        ] {
            let found = rules.check(&Method::GET, &headers(&[("host", host)]), Role::Read).is_ok();
            assert_eq!(found, want, "{host}");
        }
        assert!(rules.check(&Method::GET, &HeaderMap::new(), Role::Read).is_err());
    }

    #[test]
    fn a_change_must_come_from_here() {
        let rules = AccessRules::new("127.0.0.1:8080".parse().expect("one"), Vec::new(), Vec::new());
        let host = ("host", "localhost:8080");
        let ours = ("x-calipers", "1");
        for (pairs, want) in [
            (vec![host, ours], true),
            (vec![host], false),
            (vec![host, ours, ("origin", "http://localhost:8080")], true),
            (vec![host, ours, ("origin", "http://evil.example")], false),
            (vec![host, ours, ("origin", "null")], false),
            (vec![host, ours, ("origin", "http://localhost:8080.evil.example")], false),
            (vec![host, ours, ("sec-fetch-site", "cross-site")], false),
            (vec![host, ours, ("sec-fetch-site", "same-site")], false),
            (vec![host, ours, ("sec-fetch-site", "same-origin")], true),
        ] {
            assert_eq!(rules.check(&Method::POST, &headers(&pairs), Role::Label).is_ok(), want, "{pairs:?}");
        }
    }

    #[test]
    fn a_token_allows_what_its_role_does() {
        let token = |role, secret: &str| AccessToken::new(role, secret).expect("long enough");
        let tokens = vec![token(Role::Read, "read-0123456789ab"), token(Role::Admin, "admin-0123456789a")];
        let rules = AccessRules::new("0.0.0.0:80".parse().expect("one"), tokens, Vec::new());
        let ask = |needed, pairs: &[(&'static str, &str)]| {
            let mut all = headers(pairs);
            all.insert("host", HeaderValue::from_static("10.1.2.3:80"));
            rules
                .check(&Method::GET, &all, needed)
                .map(|visitor| visitor.role)
                .map_err(|refusal| refusal.status.as_u16())
        };
        assert_eq!(ask(Role::Read, &[]), Err(401));
        assert_eq!(ask(Role::Read, &[("authorization", "Bearer wrong-0123456789")]), Err(401));
        assert_eq!(ask(Role::Read, &[("authorization", "Bearer read-0123456789ab")]), Ok(Role::Read));
        assert_eq!(ask(Role::Admin, &[("authorization", "Bearer read-0123456789ab")]), Err(403));
        assert_eq!(ask(Role::Admin, &[("cookie", "a=b; calipers_token=admin-0123456789a")]), Ok(Role::Admin));
        for weak in ["", "short", "sixteen letters!", &"a".repeat(600)] {
            assert!(AccessToken::new(Role::Read, weak).is_none(), "{weak}");
        }
        assert!(!format!("{:?}", token(Role::Read, "read-0123456789ab")).contains("0123"));
    }
}
