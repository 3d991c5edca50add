//! Errors of clients in our words. Theirs contain whole addresses with signatures, and bodies of any length.

use crate::{Location, Scheme, StoreError, StoreFault};
use object_store::Error;

/// How much of a server's own words is shown.
const SHOWN_CHARS_MAX: usize = 160;

/// Where to find out about credentials.
pub(super) fn credentials_hint(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::S3 => {
            "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a public bucket set AWS_SKIP_SIGNATURE=true"
        }
        Scheme::Gcs => {
            "check GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`; for a public bucket set GOOGLE_SKIP_SIGNATURE=true"
        }
        Scheme::Azure => {
            "check AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN; for a public container set AZURE_SKIP_SIGNATURE=true"
        }
        Scheme::Https | Scheme::Http => "check the address, and the signature or the password in it",
    }
}

/// What an error of a client means for whom it concerns.
pub(super) fn explain(error: &Error, location: &Location) -> StoreError {
    let scheme = location.scheme();
    let causes = causes(error);
    // A machine that does not say which role it has gives no credentials.
    if scheme.is_bucket() && causes.iter().any(|cause| is_about_roles(cause)) {
        return StoreError::new(StoreFault::NoCredentials, "no credentials were found")
            .with_hint(credentials_hint(scheme));
    }
    let code = causes.iter().find_map(|cause| xml_code(cause)).map(|code| format!(" ({code})")).unwrap_or_default();
    match error {
        _ if code.contains("NoSuchBucket") || code.contains("ContainerNotFound") => {
            StoreError::new(StoreFault::NotFound, format!("there is no bucket `{}`", location.bucket()))
                .with_hint("check its name, and the endpoint if it is not in the public cloud")
        }
        Error::NotFound { .. } => StoreError::new(StoreFault::NotFound, "there is no such object")
            .with_hint("check the bucket and the name; a folder ends with `/`"),
        Error::AlreadyExists { .. } => StoreError::new(StoreFault::Exists, "the object exists"),
        Error::Precondition { .. } => StoreError::new(StoreFault::Changed, "the object was replaced in the meantime")
            .with_hint("run the command again when nothing writes to it"),
        Error::PermissionDenied { .. } => {
            StoreError::new(StoreFault::Denied, format!("access was refused{code}")).with_hint(credentials_hint(scheme))
        }
        Error::Unauthenticated { .. } => {
            StoreError::new(StoreFault::Denied, format!("the credentials are missing or wrong{code}"))
                .with_hint(credentials_hint(scheme))
        }
        Error::InvalidPath { .. } => StoreError::new(
            StoreFault::Address,
            "the name of an object has empty, `.` or `..` parts, or control characters",
        )
        .with_hint("rename the object"),
        _ => {
            let last = causes.last().map(String::as_str).unwrap_or_default();
            let hint = if causes.iter().any(|cause| cause.contains("redirect") || cause.contains("status code: 30"))
                && scheme == Scheme::S3
            {
                "set AWS_REGION to the region of the bucket"
            } else if causes.iter().any(|cause| is_about_connecting(cause)) {
                "check the address and the network; the endpoint of other servers is set with AWS_ENDPOINT_URL"
            } else {
                "try again; if it stays so, look at the server"
            };
            StoreError::new(StoreFault::Server, format!("{}{code}", sentence(last))).with_hint(hint)
        }
    }
}

/// The causes of an error from the outermost on, without those that name an address.
fn causes(error: &Error) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let text = cause.to_string();
        if !text.contains("://") {
            found.push(text);
        } else if is_about_roles(&text) {
            found.push("169.254.169.254".to_owned());
        }
        next = cause.source();
    }
    if found.is_empty() {
        found.push("the request failed".to_owned());
    }
    found
}

fn is_about_connecting(cause: &str) -> bool {
    ["tcp connect", "dns error", "error trying to connect", "onnection refused"]
        .iter()
        .any(|words| cause.contains(words))
}

/// True for a request to the addresses that give machines in the cloud their roles.
fn is_about_roles(cause: &str) -> bool {
    ["169.254.169.254", "169.254.170.2", "metadata.google.internal"].iter().any(|address| cause.contains(address))
}

/// The code in the XML that stores describe errors with.
fn xml_code(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("<Code>")?;
    let (code, _) = after.split_once("</Code>")?;
    (!code.is_empty() && code.len() < 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(code)
}

/// The words of a client or a server, cut and on one line.
fn sentence(text: &str) -> String {
    let text = text.strip_prefix("HTTP error: ").unwrap_or(text);
    if text.contains("Content-Length") {
        return "the server does not say how long its answer is".to_owned();
    }
    if text.starts_with("Requested ") {
        return "the server sent another part than it was asked for".to_owned();
    }
    let text = match text.strip_prefix("Server returned non-2xx status code: ") {
        // The body follows the status, and is the server's own.
        Some(status) => format!("the server answered {}", status.split(": ").next().unwrap_or_default()),
        None => text.split(" (os error").next().unwrap_or_default().to_owned(),
    };
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN_CHARS_MAX).collect();
    if let Some(first) = line.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_and_no_body_reaches_a_message() {
        let location = Location::parse("https://host/a?sig=secret").expect("an address").expect("a good one");
        let inner = std::io::Error::other("Error performing GET https://host/a?sig=secret in 1s");
        let error = Error::Generic { store: "HTTP", source: Box::new(inner) };
        let shown = explain(&error, &location);
        assert_eq!(shown.what(), "the request failed");
        let inner =
            std::io::Error::other(format!("Server returned non-2xx status code: 500 Internal: {}", "x".repeat(9999)));
        let shown = explain(&Error::Generic { store: "HTTP", source: Box::new(inner) }, &location);
        assert_eq!(shown.what(), "the server answered 500 Internal");
    }
}
