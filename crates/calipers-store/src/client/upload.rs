//! Whole objects, written so that no reader ever sees a part of one.

use super::failure::explain;
use super::open_store::OpenStore;
use super::{look, time_limit, to_tag, wait_for};
use crate::{Location, ObjectTag, PutCondition, StoreError, StoreFault};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A larger file is written in parts.
const PART: u64 = 16 << 20;
/// Stores take at most 10,000 parts.
const PARTS_MAX: u64 = 9_000;
/// How many parts are on their way at once.
const PARTS_AT_ONCE: usize = 4;
/// A large upload may take as long as this many requests for every part.
const TIMES_PER_PART: u32 = 1;

/// Writes the content of a file as an object, and returns its tag. Whatever fails leaves what was there.
///
/// A file of one part is written if the condition holds at that moment. One in several parts is checked before it begins
/// and before it ends, because stores have no such condition for parts.
pub fn put(location: &Location, file: &Path, condition: &PutCondition) -> Result<Option<ObjectTag>, StoreError> {
    let store = OpenStore::of_bucket(location)?;
    let path = store.path(location)?;
    let local =
        |error: io::Error| StoreError::new(StoreFault::Server, format!("the file to send cannot be read: {error}"));
    let mut opened = File::open(file).map_err(local)?;
    let length = opened.metadata().map_err(local)?.len();
    if length <= PART {
        let mut bytes = Vec::with_capacity(length as usize);
        opened.read_to_end(&mut bytes).map_err(local)?;
        let (location, condition) = (location.clone(), condition.clone());
        return wait_for(time_limit(), async move {
            let options = PutOptions { mode: mode(&condition), ..PutOptions::default() };
            let done = store.client.put_opts(&path, PutPayload::from(bytes), options).await;
            match done {
                Ok(done) => Ok(to_tag(done.e_tag, done.version)),
                Err(object_store::Error::Precondition { .. }) if condition == PutCondition::New => Err(exists()),
                Err(error) => Err(explain(&error, &location)),
            }
        });
    }
    check(location, condition)?;
    let part = PART.max(length.div_ceil(PARTS_MAX));
    let parts = u32::try_from(length.div_ceil(part)).unwrap_or(u32::MAX);
    let limit = time_limit().saturating_mul(parts.saturating_mul(TIMES_PER_PART));
    let (target, wanted) = (location.clone(), condition.clone());
    let sent = wait_for(limit, async move {
        let mut upload = store.client.put_multipart(&path).await.map_err(|error| explain(&error, &target))?;
        let sent = send_parts(&mut *upload, opened, part).await;
        // The check of the condition waits for an answer, which these threads must not.
        let again = target.clone();
        let checked = tokio::task::spawn_blocking(move || check(&again, &wanted)).await;
        let sent = sent.map_err(|failure| match failure {
            UploadFailure::Store(error) => explain(&error, &target),
            UploadFailure::File(error) => local(error),
        });
        let sent = sent.and_then(|()| {
            checked.unwrap_or_else(|_| Err(StoreError::new(StoreFault::Server, "the object could not be looked at")))
        });
        match sent {
            Ok(()) => {
                let done = upload.complete().await.map_err(|error| explain(&error, &target))?;
                Ok(to_tag(done.e_tag, done.version))
            }
            Err(error) => {
                // Parts that are left behind cost money, although no listing shows them.
                let _ = upload.abort().await;
                Err(error)
            }
        }
    })?;
    Ok(sent)
}

fn mode(condition: &PutCondition) -> PutMode {
    match condition {
        PutCondition::New => PutMode::Create,
        PutCondition::Unchanged(tag) => {
            PutMode::Update(UpdateVersion { e_tag: Some(tag.entity.clone()), version: tag.version.clone() })
        }
        PutCondition::Always => PutMode::Overwrite,
    }
}

fn exists() -> StoreError {
    StoreError::new(StoreFault::Exists, "the object exists")
}

/// Fails if the condition does not hold.
fn check(location: &Location, condition: &PutCondition) -> Result<(), StoreError> {
    if *condition == PutCondition::Always {
        return Ok(());
    }
    let found = look(location)?;
    match (condition, found) {
        (PutCondition::New, Some(_)) => Err(exists()),
        (PutCondition::Unchanged(tag), found)
            if found.as_ref().and_then(|found| found.tag.as_ref()).map(|found| &found.entity) != Some(&tag.entity) =>
        {
            Err(StoreError::new(StoreFault::Changed, "the object was replaced in the meantime"))
        }
        _ => Ok(()),
    }
}

enum UploadFailure {
    Store(object_store::Error),
    File(io::Error),
}

async fn send_parts(upload: &mut dyn MultipartUpload, mut file: File, part: u64) -> Result<(), UploadFailure> {
    let mut on_their_way = FuturesUnordered::new();
    loop {
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            let read = (&mut file).take(part).read_to_end(&mut bytes);
            (file, read.map(|_| bytes))
        });
        let (again, bytes) = read.await.map_err(|error| UploadFailure::File(io::Error::other(error)))?;
        file = again;
        let bytes = bytes.map_err(UploadFailure::File)?;
        if bytes.is_empty() {
            break;
        }
        on_their_way.push(upload.put_part(PutPayload::from(Bytes::from(bytes))));
        if on_their_way.len() == PARTS_AT_ONCE
            && let Some(sent) = on_their_way.next().await
        {
            sent.map_err(UploadFailure::Store)?;
        }
    }
    while let Some(sent) = on_their_way.next().await {
        sent.map_err(UploadFailure::Store)?;
    }
    Ok(())
}
