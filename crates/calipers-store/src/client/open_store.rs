//! A client for each bucket, with the credentials that the tools of its cloud would find.

use super::aws_profile::AwsProfile;
use super::failure::{credentials_hint, explain};
use super::guarded_http::{GuardedConnector, is_loopback};
use super::time_limit;
use crate::{Location, Scheme, StoreError, StoreFault};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, RetryConfig, StaticCredentialProvider};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How often a request is repeated.
const RETRIES_MAX: usize = 6;
/// The environment variable that allows addresses without encryption beyond this machine.
const ALLOW_HTTP: &str = "CALIPERS_ALLOW_HTTP";

/// A client of one bucket or of one web address.
#[derive(Clone, Debug)]
pub(super) struct OpenStore {
    pub(super) client: Arc<dyn ObjectStore>,
    scheme: Scheme,
}

impl OpenStore {
    /// The client for a location. Clients of buckets are made once.
    pub(super) fn of(location: &Location) -> Result<Self, StoreError> {
        static BUCKETS: OnceLock<Mutex<HashMap<(Scheme, String), OpenStore>>> = OnceLock::new();
        let scheme = location.scheme();
        let buckets = BUCKETS.get_or_init(Mutex::default);
        let key = (scheme, location.bucket().to_owned());
        if let Some(known) = buckets.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known.clone());
        }
        let refuse = |error: object_store::Error| unusable(&error, location);
        let client: Arc<dyn ObjectStore> = match scheme {
            Scheme::S3 => Arc::new(s3(location)?.build().map_err(refuse)?),
            Scheme::Gcs => Arc::new(gcs(location)?.build().map_err(refuse)?),
            Scheme::Azure => Arc::new(azure(location)?.build().map_err(refuse)?),
            Scheme::Https | Scheme::Http => Arc::new(web(location)?.build().map_err(refuse)?),
        };
        let opened = Self { client, scheme };
        if scheme.is_bucket() {
            buckets.lock().unwrap_or_else(PoisonError::into_inner).insert(key, opened.clone());
        }
        Ok(opened)
    }

    /// The client for a location that is written to.
    pub(super) fn of_bucket(location: &Location) -> Result<Self, StoreError> {
        if location.scheme().is_bucket() {
            return Self::of(location);
        }
        Err(StoreError::new(StoreFault::Address, "nothing is written to a web server")
            .with_hint("name a file on this machine, or an object in s3://, gs:// or az://"))
    }

    /// The name of the object for the client. A client of a web address has the whole of it.
    pub(super) fn path(&self, location: &Location) -> Result<Path, StoreError> {
        if !self.scheme.is_bucket() {
            return Ok(Path::ROOT);
        }
        Path::parse(location.key()).map_err(|error| explain(&error.into(), location))
    }
}

/// Clients that cannot be made are badly configured, and their errors name variables, not values.
fn unusable(error: &object_store::Error, location: &Location) -> StoreError {
    let what = format!("{}:// is not set up", location.scheme().name());
    let known = explain(error, location);
    let what = if known.fault() == StoreFault::Server { format!("{what}: {}", known.what()) } else { what };
    StoreError::new(StoreFault::NoCredentials, what).with_hint(credentials_hint(location.scheme()))
}

fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: RETRIES_MAX,
        retry_timeout: time_limit(),
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| matches!(&*value.to_ascii_lowercase(), "1" | "true" | "yes" | "on"))
}

/// Fails for an endpoint without encryption, unless it is on this machine or allowed.
fn check_endpoint(endpoint: Option<&str>, allowed_by: &str) -> Result<bool, StoreError> {
    let Some(endpoint) = endpoint else { return Ok(false) };
    let location = match Location::parse(endpoint) {
        Some(Ok(location)) if !location.scheme().is_bucket() => location,
        _ => {
            return Err(StoreError::new(StoreFault::Address, "the endpoint in the environment is not an address")
                .with_hint("write it as https://HOST, or http://localhost:9000 for a server on this machine"));
        }
    };
    match location.scheme() {
        Scheme::Http if is_loopback(location.host()) => Ok(true),
        Scheme::Http if is_set(allowed_by) || is_set(ALLOW_HTTP) => Ok(true),
        Scheme::Http => {
            let what = format!("the endpoint {location} has no encryption");
            Err(StoreError::new(StoreFault::Address, what)
                .with_hint(format!("use https://, or set {allowed_by}=true if you trust the network")))
        }
        _ => Ok(false),
    }
}

fn s3(location: &Location) -> Result<AmazonS3Builder, StoreError> {
    // As `from_env` does it, but a variable without a value is not set.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let given = variables.filter(|(name, value)| name.starts_with("AWS_") && !value.trim().is_empty());
    let known = given.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value)));
    let builder = known.fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value));
    let mut builder = builder.with_bucket_name(location.bucket());
    let has = |builder: &AmazonS3Builder, key: AmazonS3ConfigKey| builder.get_config_value(&key).is_some();
    let profile = AwsProfile::find();
    let is_named = std::env::var("AWS_PROFILE").is_ok_and(|name| !name.trim().is_empty());
    let has_keys = has(&builder, AmazonS3ConfigKey::AccessKeyId);
    let has_role = has(&builder, AmazonS3ConfigKey::WebIdentityTokenFile)
        || has(&builder, AmazonS3ConfigKey::ContainerCredentialsRelativeUri)
        || has(&builder, AmazonS3ConfigKey::ContainerCredentialsFullUri);
    if is_named && !profile.is_found && !has_keys {
        let what = format!("there is no AWS profile `{}`", profile.name);
        return Err(
            StoreError::new(StoreFault::NoCredentials, what).with_hint("`aws configure list-profiles` lists them")
        );
    }
    if !has_keys && !has_role && !is_set("AWS_SKIP_SIGNATURE") {
        match (profile.get("aws_access_key_id"), profile.get("aws_secret_access_key"), profile.foreign_way()) {
            (Some(id), Some(secret), _) => {
                builder = builder.with_access_key_id(id).with_secret_access_key(secret);
                if let Some(token) = profile.get("aws_session_token") {
                    builder = builder.with_token(token);
                }
            }
            (_, _, Some(way)) => {
                let what = format!("the AWS profile `{}` signs in by `{way}`, which is not known here", profile.name);
                let hint =
                    "take its keys first with `aws configure export-credentials`; docs/guides/buckets.md shows how";
                return Err(StoreError::new(StoreFault::NoCredentials, what).with_hint(hint));
            }
            _ => {}
        }
    }
    let region = [AmazonS3ConfigKey::Region, AmazonS3ConfigKey::DefaultRegion];
    if let (false, Some(region)) = (region.into_iter().any(|key| has(&builder, key)), profile.get("region")) {
        builder = builder.with_region(region);
    }
    let endpoints = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
    let mut endpoint = endpoints.into_iter().find_map(|key| builder.get_config_value(&key));
    if let (None, Some(known)) = (&endpoint, profile.get("endpoint_url")) {
        endpoint = Some(known.to_owned());
        builder = builder.with_endpoint(known);
    }
    if check_endpoint(endpoint.as_deref(), "AWS_ALLOW_HTTP")? {
        builder = builder.with_allow_http(true);
    }
    Ok(builder.with_retry(retries()).with_http_connector(GuardedConnector::cloud()))
}

fn gcs(location: &Location) -> Result<GoogleCloudStorageBuilder, StoreError> {
    let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(location.bucket());
    // Emulators are named by the variable that Google's own libraries read.
    let emulator = std::env::var("STORAGE_EMULATOR_HOST").ok().filter(|host| !host.is_empty());
    if let Some(host) = emulator {
        let host = if host.contains("://") { host } else { format!("http://{host}") };
        // It takes any token, and must not get a real one.
        let token = StaticCredentialProvider::new(GcpCredential { bearer: "emulator".to_owned() });
        builder = builder.with_base_url(host.trim_end_matches('/')).with_credentials(Arc::new(token));
    }
    check_endpoint(builder.get_config_value(&GoogleConfigKey::BaseUrl).as_deref(), ALLOW_HTTP)?;
    Ok(builder.with_retry(retries()).with_http_connector(GuardedConnector::cloud()))
}

fn azure(location: &Location) -> Result<MicrosoftAzureBuilder, StoreError> {
    let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(location.bucket());
    // The tools of Azure read the account from AZURE_STORAGE_ACCOUNT and its key from AZURE_STORAGE_KEY.
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let missing = |builder: &MicrosoftAzureBuilder, key: AzureConfigKey| builder.get_config_value(&key).is_none();
    if let (true, Some(account)) = (missing(&builder, AzureConfigKey::AccountName), variable("AZURE_STORAGE_ACCOUNT")) {
        builder = builder.with_account(account);
    }
    if let (true, Some(key)) = (missing(&builder, AzureConfigKey::AccessKey), variable("AZURE_STORAGE_KEY")) {
        builder = builder.with_access_key(key);
    }
    let is_emulated = is_set("AZURE_STORAGE_USE_EMULATOR");
    let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
    if check_endpoint(endpoint.as_deref(), "AZURE_ALLOW_HTTP")? || is_emulated {
        builder = builder.with_allow_http(true);
    }
    Ok(builder.with_retry(retries()).with_http_connector(GuardedConnector::cloud()))
}

fn web(location: &Location) -> Result<HttpBuilder, StoreError> {
    if location.scheme() == Scheme::Http && !is_loopback(location.host()) && !is_set(ALLOW_HTTP) {
        return Err(StoreError::new(StoreFault::Address, "an address without encryption is only read on this machine")
            .with_hint(format!("use https://, or set {ALLOW_HTTP}=true if you trust the network")));
    }
    let connector = GuardedConnector::web(location);
    Ok(HttpBuilder::new().with_url(location.to_request_url()).with_retry(retries()).with_http_connector(connector))
}
