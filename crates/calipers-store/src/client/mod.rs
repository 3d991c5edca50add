//! Clients of stores. They are async inside, and run on threads of their own; what is called from outside waits.

mod aws_profile;
mod failure;
mod guarded_http;
mod object;
mod open_store;
mod piece_cache;
mod upload;

pub use object::Object;
pub use upload::put;

use crate::{Location, ObjectInfo, ObjectTag, StoreError, StoreFault};
use failure::explain;
use futures_util::StreamExt;
use object_store::ObjectStoreExt;
use open_store::OpenStore;
use std::future::Future;
use std::sync::{OnceLock, mpsc};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The threads that clients run on: they wait for the network most of the time.
const THREADS: usize = 2;
/// How many objects a folder may have.
const LISTED_MAX: usize = 1_000_000;
/// Listing may take this many times as long as another request.
const LISTING_TIMES: u32 = 5;

/// The environment variable with the seconds that a request may take, with all its retries.
const SECONDS_VARIABLE: &str = "CALIPERS_STORE_SECONDS";
const SECONDS: u64 = 120;

/// How long a request may take, with all its retries.
fn time_limit() -> Duration {
    static LIMIT: OnceLock<Duration> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let given = std::env::var(SECONDS_VARIABLE).ok().and_then(|seconds| seconds.trim().parse().ok());
        Duration::from_secs(given.filter(|seconds| *seconds > 0).unwrap_or(SECONDS))
    })
}

fn runtime() -> Result<&'static Runtime, StoreError> {
    static RUNTIME: OnceLock<(u32, Result<Runtime, String>)> = OnceLock::new();
    let build = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(THREADS).thread_name("calipers-store").enable_all();
        (std::process::id(), builder.build().map_err(|error| error.to_string()))
    };
    let (process, built) = RUNTIME.get_or_init(build);
    // A process that was forked has none of the threads of its parent, and would wait for them without end.
    if *process != std::process::id() {
        let what = "this process was forked from one that has read buckets, and cannot read them itself";
        return Err(
            StoreError::new(StoreFault::Server, what).with_hint("start processes with `spawn`, not with `fork`")
        );
    }
    let none = |error| StoreError::new(StoreFault::Server, format!("no threads can be started: {error}"));
    built.as_ref().map_err(none)
}

/// Runs work on the threads of the clients and waits for it. This may be called on any thread, of another runtime too.
fn wait_for<T: Send + 'static>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let (sender, receiver) = mpsc::sync_channel(1);
    runtime()?.spawn(async move {
        let done = tokio::time::timeout(limit, work).await;
        // The receiver is waiting, unless its thread has ended.
        let _ = sender.send(done.unwrap_or_else(|_| Err(too_slow(limit))));
    });
    let lost = || StoreError::new(StoreFault::Server, "the request ended without an answer");
    receiver.recv().unwrap_or_else(|_| Err(lost()))
}

fn too_slow(limit: Duration) -> StoreError {
    StoreError::new(StoreFault::Server, format!("the server did not send it within {} s", limit.as_secs())).with_hint(
        format!("try again; on a slow line, set the environment variable {SECONDS_VARIABLE} to a larger number"),
    )
}

fn to_tag(entity: Option<String>, version: Option<String>) -> Option<ObjectTag> {
    entity.map(|entity| ObjectTag { entity, version })
}

fn to_info(found: object_store::ObjectMeta, location: Location) -> ObjectInfo {
    ObjectInfo {
        location,
        size: found.size,
        modified_ms: found.last_modified.timestamp_millis(),
        tag: to_tag(found.e_tag, found.version),
    }
}

/// The objects below a folder of a bucket, sorted as files are.
pub fn list(folder: &Location) -> Result<Vec<ObjectInfo>, StoreError> {
    if !folder.scheme().is_bucket() {
        return Err(StoreError::new(StoreFault::Address, "a web server does not list its files")
            .with_hint("name each file; folders and patterns work with s3://, gs:// and az://"));
    }
    let store = OpenStore::of(folder)?;
    let prefix = store.path(folder)?;
    let folder = folder.clone();
    wait_for(time_limit() * LISTING_TIMES, async move {
        let mut found = Vec::new();
        let mut listed = store.client.list(Some(&prefix).filter(|prefix| !prefix.is_root()));
        while let Some(object) = listed.next().await {
            let object = object.map_err(|error| explain(&error, &folder))?;
            if found.len() == LISTED_MAX {
                let what = format!("there are more than {LISTED_MAX} objects here");
                return Err(StoreError::new(StoreFault::Server, what).with_hint("name a smaller folder"));
            }
            let location = folder.with_key(object.location.as_ref());
            found.push(to_info(object, location));
        }
        found.sort_by(|a, b| a.location.parts().cmp(b.location.parts()));
        found.dedup_by(|a, b| a.location == b.location);
        Ok(found)
    })
}

/// What is known of an object; nothing if it is not there.
pub fn look(location: &Location) -> Result<Option<ObjectInfo>, StoreError> {
    let store = OpenStore::of(location)?;
    let path = store.path(location)?;
    let location = location.clone();
    wait_for(time_limit(), async move {
        match store.client.head(&path).await {
            Ok(found) => Ok(Some(to_info(found, location))),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(explain(&error, &location)),
        }
    })
}

/// Removes an object, if it is there.
pub fn remove(location: &Location) -> Result<(), StoreError> {
    let store = OpenStore::of_bucket(location)?;
    let path = store.path(location)?;
    let location = location.clone();
    wait_for(time_limit(), async move {
        match store.client.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(explain(&error, &location)),
        }
    })
}
