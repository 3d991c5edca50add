//! Addresses of objects: what they name, and how they are shown.

use crate::{StoreError, StoreFault};
use std::fmt;

/// The address of an object, of a folder of objects, or of a bucket.
///
/// It prints without passwords and without the values of its query, which may be signatures.
///
/// ```
/// use calipers_store::Location;
///
/// let log = Location::parse("s3://team/logs/a.eval").expect("an address")?;
/// assert_eq!((log.bucket(), log.key(), log.file_name()), ("team", "logs/a.eval", "a.eval"));
/// let signed = Location::parse("https://host/a.eval?sig=secret").expect("an address")?;
/// assert_eq!(signed.to_string(), "https://host/a.eval?sig=…");
/// assert!(Location::parse("logs/a.eval").is_none());
/// # Ok::<(), calipers_store::StoreError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Location {
    scheme: Scheme,
    /// The bucket, or the host with its port.
    bucket: String,
    /// The path without the slash before it. Of web servers it stays as it was given.
    key: String,
    /// What follows the question mark, for web servers.
    query: Option<String>,
    /// The name and password before the host, for web servers.
    user: Option<String>,
}

/// How an object is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Amazon S3, and servers that speak its language.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
    /// A web server.
    Https,
    /// A web server without encryption.
    Http,
}

const SCHEMES: [(&str, Scheme); 10] = [
    ("s3", Scheme::S3),
    ("s3a", Scheme::S3),
    ("gs", Scheme::Gcs),
    ("gcs", Scheme::Gcs),
    ("az", Scheme::Azure),
    ("azure", Scheme::Azure),
    ("abfs", Scheme::Azure),
    ("abfss", Scheme::Azure),
    ("https", Scheme::Https),
    ("http", Scheme::Http),
];

impl Scheme {
    /// The name before `://`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "az",
            Self::Https => "https",
            Self::Http => "http",
        }
    }

    /// True for stores that list what they hold. Web servers do not.
    #[must_use]
    pub fn is_bucket(self) -> bool {
        !matches!(self, Self::Https | Self::Http)
    }
}

impl Location {
    /// The location that a text names, if it is an address with a scheme that we know.
    #[must_use]
    pub fn parse(text: &str) -> Option<Result<Self, StoreError>> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let (_, scheme) = SCHEMES.into_iter().find(|(name, _)| *name == scheme)?;
        Some(Self::of(scheme, rest))
    }

    /// True for an address with a scheme that we know, whether it can be used or not.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        Self::parse(text).is_some()
    }

    fn of(scheme: Scheme, rest: &str) -> Result<Self, StoreError> {
        let (place, query) = match rest.split_once(['?', '#']) {
            // Keys of buckets may have question marks, and patterns do.
            Some((place, query)) if !scheme.is_bucket() => (place, Some(query)),
            _ => (rest, None),
        };
        let (authority, key) = place.split_once('/').unwrap_or((place, ""));
        let (user, bucket) = match authority.rsplit_once('@') {
            Some((user, bucket)) => (Some(user), bucket),
            None => (None, authority),
        };
        let wrong = |what: &str, hint: &str| Err(StoreError::new(StoreFault::Address, what).with_hint(hint));
        if bucket.is_empty() {
            return wrong("the address names no bucket or host", "write it as s3://BUCKET/KEY or https://HOST/PATH");
        }
        if rest.chars().any(char::is_control) {
            return wrong("the address has a control character", "remove it, or write it as %0A in a web address");
        }
        if user.is_some() && scheme.is_bucket() {
            return wrong(
                "the address names a user or a password",
                "write BUCKET/KEY alone; credentials come from the environment (docs/guides/buckets.md)",
            );
        }
        if !scheme.is_bucket() && key.split('/').any(|part| part == ".." || part == ".") {
            return wrong("the address has `.` or `..` in its path", "write the path without them");
        }
        let owned = |text: &str| text.to_owned();
        Ok(Self { scheme, bucket: owned(bucket), key: owned(key), query: query.map(owned), user: user.map(owned) })
    }

    /// How it is reached.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The bucket, the container, or the host.
    #[must_use]
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// What comes after the bucket, without the slash between them.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The last part of the key.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or(&self.key)
    }

    /// True for a bucket, and for keys that end with a slash.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.key.is_empty() || self.key.ends_with('/')
    }

    /// The parts of the key, by which objects are sorted as files are.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.key.split('/')
    }

    /// The object of another key in the same bucket.
    #[must_use]
    pub fn with_key(&self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self.clone() }
    }

    /// The object of this name in the folder that this location is.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let folder = self.key.trim_end_matches('/');
        self.with_key(if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") })
    }

    /// The object of this name beside this one.
    #[must_use]
    pub fn beside(&self, name: &str) -> Self {
        match self.key.rsplit_once('/') {
            Some((folder, _)) => self.with_key(format!("{folder}/{name}")),
            None => self.with_key(name),
        }
    }

    /// The whole address with its query, and without the user: only for requests.
    #[cfg(feature = "stores")]
    pub(crate) fn to_request_url(&self) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}://{}/{}{query}", self.scheme.name(), self.bucket, self.key)
    }

    /// The name and password for a web server, with a colon between them.
    #[cfg(feature = "stores")]
    pub(crate) fn user(&self) -> Option<String> {
        let user = self.user.as_deref()?;
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        Some(format!("{}:{}", percent_decode(name), percent_decode(password)))
    }

    /// The host without its port.
    #[cfg(feature = "stores")]
    pub(crate) fn host(&self) -> &str {
        if self.bucket.starts_with('[') {
            return self.bucket.split(']').next().unwrap_or_default().trim_start_matches('[');
        }
        self.bucket.split(':').next().unwrap_or_default()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.name(), self.bucket)?;
        // A signature may have been put behind a key by mistake.
        let (key, mistaken) = match self.key.split_once('?') {
            Some((key, query)) if query.contains('=') => (key, Some(query)),
            _ => (&*self.key, None),
        };
        if !key.is_empty() {
            write!(f, "/{key}")?;
        }
        match self.query.as_deref().or(mistaken) {
            Some(query) => write!(f, "?{}", hide_values(query)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

/// Signs that a web address cannot hold are written as `%40`.
#[cfg(feature = "stores")]
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match code {
            Some(code) if *first == b'%' => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hide_values(query: &str) -> String {
    let hide = |part: &str| match part.split_once('=') {
        Some((name, _)) => format!("{name}=…"),
        None => "…".to_owned(),
    };
    query.split('&').map(hide).collect::<Vec<_>>().join("&")
}

/// A text with the secrets of the addresses in it left out: names and passwords before a host, and the values of queries.
///
/// ```
/// use calipers_store::redact;
///
/// assert_eq!(redact("reading https://me:key@host/a?sig=x&v=1 failed"), "reading https://…@host/a?sig=…&v=… failed");
/// assert_eq!(redact("no address here?x=1"), "no address here?x=1");
/// ```
#[must_use]
pub fn redact(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let before = &rest[..at];
        let scheme =
            before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
        shown.push_str(&rest[..at + 3]);
        rest = &rest[at + 3..];
        if !SCHEMES.iter().any(|(name, _)| *name == scheme) {
            continue;
        }
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '<' | '>')).unwrap_or(rest.len());
        let (address, after) = rest.split_at(end);
        let (place, query) = address.split_once('?').map_or((address, None), |(place, query)| (place, Some(query)));
        let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
        match authority.rsplit_once('@') {
            Some((_, host)) => shown.extend(["…@", host]),
            None => shown.push_str(authority),
        }
        shown.push_str(path);
        match query {
            // In a bucket, a question mark may be part of a name or of a pattern.
            Some(query) if query.contains('=') || scheme.starts_with("http") => {
                shown.extend(["?", &hide_values(query)]);
            }
            Some(query) => shown.extend(["?", query]),
            None => {}
        }
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Location {
        Location::parse(text).expect("an address").expect("one that can be used")
    }

    #[test]
    fn every_scheme_has_its_parts() {
        for (text, scheme, bucket, key) in [
            ("s3://b/a/b.eval", Scheme::S3, "b", "a/b.eval"),
            ("S3://b", Scheme::S3, "b", ""),
            ("s3a://b/x?y", Scheme::S3, "b", "x?y"),
            ("gs://b/", Scheme::Gcs, "b", ""),
            ("az://c/logs/", Scheme::Azure, "c", "logs/"),
            ("https://host:8080/a/b.jsonl?x=1", Scheme::Https, "host:8080", "a/b.jsonl"),
            ("http://[::1]:80/a", Scheme::Http, "[::1]:80", "a"),
        ] {
            let found = parse(text);
            assert_eq!((found.scheme(), found.bucket(), found.key()), (scheme, bucket, key), "{text}");
        }
        for text in ["logs/a.eval", "C:\\logs", "ftp://host/a", "s3:/b", "", "://", "file:///a"] {
            assert!(Location::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn addresses_that_cannot_be_used_are_errors() {
        for text in ["s3://", "s3:///key", "https:///a", "s3://key:secret@bucket/a", "https://h/a/../b", "s3://b/a\nb"]
        {
            let error = Location::parse(text).expect("an address").expect_err(text);
            assert_eq!(error.fault(), StoreFault::Address);
            assert!(error.advice().is_some());
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn secrets_are_never_shown() {
        for (text, shown) in [
            ("https://me:pass@host/a.jsonl", "https://host/a.jsonl"),
            ("https://host/a.jsonl?sig=secret&se=2026", "https://host/a.jsonl?sig=…&se=…"),
            ("https://host/a.jsonl?secret", "https://host/a.jsonl?…"),
            ("az://c/a.jsonl?sv=1&sig=secret", "az://c/a.jsonl?sv=…&sig=…"),
            ("s3://b/a?.jsonl", "s3://b/a?.jsonl"),
        ] {
            let found = parse(text);
            assert_eq!(found.to_string(), shown);
            assert!(!format!("{found:?}").contains("secret"));
        }
        assert_eq!(redact("a s3://k:s@b/x `https://h/?t=1`"), "a s3://…@b/x `https://h/?t=…`");
        assert_eq!(redact("s3://b/*?.eval"), "s3://b/*?.eval");
        assert_eq!(redact("https://h/a?secret"), "https://h/a?…");
        assert_eq!(redact("see https://host/a#b."), "see https://host/a#b.");
    }

    #[test]
    fn names_are_joined_without_doubled_slashes() {
        assert_eq!(parse("s3://b").join("a.eval").to_string(), "s3://b/a.eval");
        assert_eq!(parse("s3://b/logs/").join("a.eval").to_string(), "s3://b/logs/a.eval");
        assert_eq!(parse("s3://b/logs").join("a.eval").to_string(), "s3://b/logs/a.eval");
        assert_eq!(parse("s3://b/logs/x.json").beside("y.json").to_string(), "s3://b/logs/y.json");
        assert_eq!(parse("s3://b/x.json").beside("y.json").to_string(), "s3://b/y.json");
    }
}
