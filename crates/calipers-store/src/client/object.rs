//! An object that is read by range.
//!
//! The first request asks for the beginning, from which formats are recognised, and learns the size and the tag. A small
//! object then comes whole with the second. Of a larger one, the end is a piece (archives and tables have their directory
//! there), and so is each stretch that a reader has announced; what was not announced comes in windows. The next pieces are
//! fetched while one is read, and so are the next objects of a folder. Every request is bound to the tag of the first.

use super::failure::explain;
use super::guarded_http::WHOLE_BYTES_MAX;
use super::open_store::OpenStore;
use super::piece_cache::cache;
use super::{runtime, time_limit, to_tag, too_slow, wait_for};
use crate::{Location, ObjectInfo, ObjectTag, StoreError, StoreFault};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStoreExt};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Semaphore;

/// The first piece: what formats are recognised from.
const HEAD: u64 = 256 << 10;
/// The last piece of a large object.
const TAIL: u64 = 1 << 20;
/// The longest piece.
const WINDOW: u64 = 16 << 20;
/// Announced stretches that are this near are fetched together: a request costs more than a few bytes.
const GAP_MAX: u64 = 1 << 20;
/// How many pieces are fetched ahead of the one that is read.
const AHEAD: usize = 3;
/// How far ahead the objects of a folder are fetched, in objects and bytes.
const OBJECTS_AHEAD: usize = 16;
const BYTES_AHEAD: u64 = 64 << 20;
/// How many requests are under way at once.
const REQUESTS_MAX: usize = 16;

/// An object that is being read.
#[derive(Debug)]
pub struct Object {
    id: u64,
    location: Location,
    store: OpenStore,
    path: Path,
    state: Mutex<ObjectState>,
    /// Tells those who wait that a piece has come, or will not.
    arrived: Condvar,
    folder: Option<Folder>,
    /// What a list said of it.
    listed: Option<ObjectInfo>,
}

/// The objects that were listed together, and the place of one among them.
#[derive(Debug)]
struct Folder {
    objects: Arc<std::sync::OnceLock<Vec<Weak<Object>>>>,
    place: usize,
}

#[derive(Debug, Default)]
struct ObjectState {
    known: Option<KnownObject>,
    /// What readers have announced, in pieces.
    expected: Vec<Range<u64>>,
    /// Where the pieces begin that are being fetched.
    fetching: HashSet<u64>,
    /// What went wrong. Whatever was read of the object before is in doubt, so it stays.
    failure: Option<StoreError>,
}

/// What the first answer said.
#[derive(Clone, Debug)]
struct KnownObject {
    size: u64,
    tag: Option<ObjectTag>,
    /// False where the server sends whole objects only.
    has_ranges: bool,
}

/// What came of a request.
struct Arrival {
    bytes: Bytes,
    known: KnownObject,
}

impl Object {
    /// An object. Nothing is asked of the server yet.
    pub fn open(location: &Location) -> Result<Arc<Self>, StoreError> {
        Ok(Arc::new(Self::new(location, None, None)?))
    }

    /// Objects of a list, which will be read in this order: while one is read, the next are fetched.
    pub fn open_listed(listed: &[ObjectInfo]) -> Result<Vec<Arc<Self>>, StoreError> {
        let objects: Arc<std::sync::OnceLock<Vec<Weak<Self>>>> = Arc::default();
        let open = |(place, info): (usize, &ObjectInfo)| {
            let folder = Folder { objects: objects.clone(), place };
            Ok(Arc::new(Self::new(&info.location, Some(folder), Some(info.clone()))?))
        };
        let opened = listed.iter().enumerate().map(open).collect::<Result<Vec<_>, StoreError>>()?;
        let _ = objects.set(opened.iter().map(Arc::downgrade).collect());
        Ok(opened)
    }

    fn new(location: &Location, folder: Option<Folder>, listed: Option<ObjectInfo>) -> Result<Self, StoreError> {
        static IDS: AtomicU64 = AtomicU64::new(0);
        let store = OpenStore::of(location)?;
        let path = store.path(location)?;
        Ok(Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            location: location.clone(),
            store,
            path,
            state: Mutex::default(),
            arrived: Condvar::new(),
            folder,
            listed,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// What is known of it without reading it, from a list or by asking; nothing if it is not there.
    pub fn info(&self) -> Result<Option<ObjectInfo>, StoreError> {
        self.listed.clone().map_or_else(|| super::look(&self.location), |info| Ok(Some(info)))
    }

    /// How many bytes it has.
    pub fn size(self: &Arc<Self>) -> Result<u64, StoreError> {
        Ok(self.known()?.size)
    }

    /// What changes with its content, if the server says so.
    pub fn tag(self: &Arc<Self>) -> Result<Option<ObjectTag>, StoreError> {
        Ok(self.known()?.tag)
    }

    /// What went wrong while it was read. What was read before is then in doubt.
    #[must_use]
    pub fn failure(&self) -> Option<StoreError> {
        self.lock().failure.clone()
    }

    /// Announces what will be read, so that it comes in a few large requests. This replaces what was announced before.
    pub fn expect(self: &Arc<Self>, ranges: Vec<Range<u64>>) {
        let Ok(known) = self.known() else { return };
        if known.is_small() {
            return;
        }
        let pieces = join_ranges(ranges, HEAD..known.size.saturating_sub(TAIL));
        let first: Vec<_> = pieces.iter().take(AHEAD + 1).cloned().collect();
        self.lock().expected = pieces;
        first.into_iter().for_each(|piece| self.prefetch(piece));
    }

    /// The bytes of a range.
    pub fn bytes(self: &Arc<Self>, range: Range<u64>) -> Result<Bytes, StoreError> {
        let size = self.size()?;
        if range.start > range.end || range.end > size {
            let what = format!("bytes {} to {} lie beyond the end at {size}", range.start, range.end);
            return Err(StoreError::new(StoreFault::Server, what));
        }
        let mut gathered = BytesMut::new();
        let mut at = range.start;
        while at < range.end {
            let (start, piece) = self.piece_at(at)?;
            let inside = (at - start) as usize;
            let length = (piece.len() - inside).min((range.end - at) as usize);
            let part = piece.slice(inside..inside + length);
            at += length as u64;
            if gathered.is_empty() && at == range.end {
                return Ok(part);
            }
            gathered.extend_from_slice(&part);
        }
        Ok(gathered.freeze())
    }

    /// The piece that a byte is in, and where it begins.
    pub fn piece_at(self: &Arc<Self>, at: u64) -> Result<(u64, Bytes), StoreError> {
        let mut state = self.lock();
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            // The cache is let go of before anything else is fetched.
            let found = cache().find(self.id, at);
            if let Some(found) = found {
                let ahead = state.ahead(at);
                drop(state);
                ahead.into_iter().for_each(|piece| self.prefetch(piece));
                return Ok(found);
            }
            let piece = state.piece(at);
            if !state.fetching.contains(&piece.start) {
                break;
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (piece, ahead) = (state.piece(at), state.ahead(at));
        state.fetching.insert(piece.start);
        drop(state);
        let object = self.clone();
        let (wanted, own) = (piece.clone(), Running { object: self.clone(), start: piece.start });
        ahead.into_iter().for_each(|piece| self.prefetch(piece));
        self.prefetch_neighbours(piece.start);
        let arrival = wait_for(time_limit(), async move { object.fetch(wanted).await });
        let done = match arrival {
            Ok(arrival) => self.accept(piece.start, arrival).map(|bytes| (piece.start, bytes)),
            Err(error) => Err(self.fail(error)),
        };
        drop(own);
        done
    }

    /// What the first answer said.
    fn known(self: &Arc<Self>) -> Result<KnownObject, StoreError> {
        loop {
            let state = self.lock();
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if let Some(known) = &state.known {
                return Ok(known.clone());
            }
            drop(state);
            self.piece_at(0)?;
        }
    }

    fn lock(&self) -> MutexGuard<'_, ObjectState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to fetch a piece that will be needed. A failure is reported when the piece is read.
    fn prefetch(self: &Arc<Self>, piece: Range<u64>) {
        let mut state = self.lock();
        let is_known = state.failure.is_some() || cache().find(self.id, piece.start).is_some();
        if is_known || !state.fetching.insert(piece.start) {
            return;
        }
        drop(state);
        let own = Running { object: self.clone(), start: piece.start };
        let Ok(runtime) = runtime() else { return };
        let object = self.clone();
        runtime.spawn(async move {
            let start = piece.start;
            let arrival = tokio::time::timeout(time_limit(), object.fetch(piece)).await;
            match arrival.unwrap_or_else(|_| Err(too_slow(time_limit()))) {
                Ok(arrival) => {
                    let _ = object.accept(start, arrival);
                }
                Err(error) => {
                    object.fail(error);
                }
            }
            drop(own);
        });
    }

    /// Begins to fetch what the next objects of the folder will be read from.
    fn prefetch_neighbours(self: &Arc<Self>, start: u64) {
        let Some(folder) = &self.folder else { return };
        let objects = folder.objects.get().map(Vec::as_slice).unwrap_or_default();
        let next = objects.iter().skip(folder.place + 1).take(OBJECTS_AHEAD).filter_map(Weak::upgrade);
        let mut bytes = 0;
        for object in next {
            let state = object.lock();
            let piece = match &state.known {
                _ if start == 0 => 0..HEAD,
                Some(known) if known.size > HEAD => {
                    let place = if known.is_small() { HEAD } else { known.size - TAIL };
                    state.piece(place)
                }
                // Its beginning is all of it, or comes first.
                _ => continue,
            };
            drop(state);
            bytes += piece.end - piece.start;
            if bytes > BYTES_AHEAD {
                return;
            }
            object.prefetch(piece);
        }
    }

    async fn fetch(&self, piece: Range<u64>) -> Result<Arrival, StoreError> {
        static REQUESTS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(REQUESTS_MAX));
        let _turn = REQUESTS.acquire().await;
        let known = self.lock().known.clone();
        if known.as_ref().is_some_and(|known| !known.has_ranges) {
            return self.fetch_whole().await;
        }
        // Weak tags are equal for contents that are alike, and cannot be asked for.
        let tag = known.as_ref().and_then(|known| known.tag.as_ref()).map(|tag| tag.entity.clone());
        let tag = tag.filter(|tag| !tag.starts_with("W/"));
        let options =
            GetOptions { range: Some(GetRange::Bounded(piece.clone())), if_match: tag, ..GetOptions::default() };
        let answer = match self.store.client.get_opts(&self.path, options).await {
            Ok(answer) => answer,
            Err(object_store::Error::NotSupported { .. }) if known.is_none() => return self.fetch_whole().await,
            Err(error) if known.is_none() => return self.explain_first(error).await,
            Err(error) => return Err(explain(&error, &self.location)),
        };
        let tag = to_tag(answer.meta.e_tag.clone(), answer.meta.version.clone());
        let found = KnownObject { size: answer.meta.size, tag, has_ranges: true };
        let end = piece.end.min(found.size);
        let length = end.saturating_sub(piece.start);
        let bytes = collect(answer, length, &self.location).await?;
        Ok(Arrival { bytes, known: found })
    }

    /// A range of an object without bytes is refused, and so is one by servers that do not know ranges at all.
    async fn explain_first(&self, error: object_store::Error) -> Result<Arrival, StoreError> {
        let is_refused = causes_contain(&error, "status code: 416") || causes_contain(&error, "non-partial");
        if !is_refused {
            return Err(explain(&error, &self.location));
        }
        match self.store.client.head(&self.path).await {
            Ok(found) if found.size == 0 => {
                let tag = to_tag(found.e_tag, found.version);
                Ok(Arrival { bytes: Bytes::new(), known: KnownObject { size: 0, tag, has_ranges: true } })
            }
            _ => self.fetch_whole().await,
        }
    }

    /// All of an object, where the server does not send parts.
    async fn fetch_whole(&self) -> Result<Arrival, StoreError> {
        let answer = self.store.client.get(&self.path).await.map_err(|error| explain(&error, &self.location))?;
        let tag = to_tag(answer.meta.e_tag.clone(), answer.meta.version.clone());
        let mut bytes = BytesMut::new();
        let mut stream = answer.into_stream();
        while let Some(part) = stream.next().await {
            bytes.extend_from_slice(&part.map_err(|error| explain(&error, &self.location))?);
            if bytes.len() > WHOLE_BYTES_MAX {
                let what =
                    format!("the server sends whole files only, and this one has more than {WHOLE_BYTES_MAX} bytes");
                return Err(
                    StoreError::new(StoreFault::Server, what).with_hint("download it, and read it from the disk")
                );
            }
        }
        let known = KnownObject { size: bytes.len() as u64, tag, has_ranges: false };
        Ok(Arrival { bytes: bytes.freeze(), known })
    }

    /// Keeps what came, if it is of the object that was seen first.
    fn accept(&self, start: u64, arrival: Arrival) -> Result<Bytes, StoreError> {
        let mut state = self.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        match &state.known {
            Some(known) if known.size != arrival.known.size || known.tag != arrival.known.tag => {
                drop(state);
                let what = "the object was replaced while it was read";
                return Err(self.fail(
                    StoreError::new(StoreFault::Changed, what)
                        .with_hint("run the command again when nothing writes to it"),
                ));
            }
            Some(_) => {}
            None => state.known = Some(arrival.known),
        }
        drop(state);
        cache().keep(self.id, start, arrival.bytes.clone());
        Ok(arrival.bytes)
    }

    /// Remembers what went wrong; the first failure counts.
    fn fail(&self, error: StoreError) -> StoreError {
        let mut state = self.lock();
        let failure = state.failure.get_or_insert(error).clone();
        drop(state);
        cache().forget(self.id);
        failure
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        cache().forget(self.id);
    }
}

/// A request that is under way. When it ends, however it does, those who wait are told.
struct Running {
    object: Arc<Object>,
    start: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.object.lock().fetching.remove(&self.start);
        self.object.arrived.notify_all();
    }
}

impl KnownObject {
    /// True when everything after the beginning is one piece.
    fn is_small(&self) -> bool {
        self.size <= HEAD + WINDOW
    }
}

impl ObjectState {
    /// The piece that a byte is in.
    fn piece(&self, at: u64) -> Range<u64> {
        let Some(known) = &self.known else { return 0..HEAD };
        if !known.has_ranges || known.size <= HEAD {
            return 0..known.size.max(1);
        }
        let tail = if known.is_small() { HEAD } else { known.size - TAIL };
        if at < HEAD {
            return 0..HEAD;
        }
        if at >= tail {
            return tail..known.size;
        }
        match self.expected_place(at) {
            Some(place) => self.expected[place].clone(),
            None => {
                let start = HEAD + (at - HEAD) / WINDOW * WINDOW;
                start..(start + WINDOW).min(tail)
            }
        }
    }

    fn expected_place(&self, at: u64) -> Option<usize> {
        let after = self.expected.partition_point(|piece| piece.start <= at);
        let place = after.checked_sub(1)?;
        (at < self.expected[place].end).then_some(place)
    }

    /// The pieces that will probably be read after the one that a byte is in.
    fn ahead(&self, at: u64) -> Vec<Range<u64>> {
        let Some(known) = self.known.as_ref().filter(|known| known.has_ranges && !known.is_small()) else {
            return Vec::new();
        };
        if let Some(place) = self.expected_place(at) {
            return self.expected[place + 1..].iter().take(AHEAD).cloned().collect();
        }
        // The beginning and the end are read for other reasons too.
        if !self.expected.is_empty() || at < HEAD || at >= known.size - TAIL {
            return Vec::new();
        }
        let mut next = Vec::with_capacity(AHEAD);
        let mut piece = self.piece(at);
        while next.len() < AHEAD && piece.end < known.size {
            piece = self.piece(piece.end);
            next.push(piece.clone());
        }
        next
    }
}

/// Ranges in order, those that are near joined and those that are long divided, within bounds.
fn join_ranges(mut ranges: Vec<Range<u64>>, bounds: Range<u64>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        let range = range.start.max(bounds.start)..range.end.min(bounds.end);
        if range.start >= range.end {
            continue;
        }
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP_MAX) => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    let divide = |range: Range<u64>| {
        let parts = (range.end - range.start).div_ceil(WINDOW);
        let length = (range.end - range.start).div_ceil(parts.max(1));
        (0..parts).map(move |part| range.start + part * length..(range.start + (part + 1) * length).min(range.end))
    };
    joined.into_iter().flat_map(divide).collect()
}

/// The body of an answer, which must have this many bytes.
async fn collect(answer: object_store::GetResult, length: u64, location: &Location) -> Result<Bytes, StoreError> {
    let mut bytes = BytesMut::with_capacity(length.min(WINDOW) as usize);
    let mut stream = answer.into_stream();
    while let Some(part) = stream.next().await {
        bytes.extend_from_slice(&part.map_err(|error| explain(&error, location))?);
        if bytes.len() as u64 > length {
            break;
        }
    }
    if bytes.len() as u64 != length {
        let what = format!("the server sent {} bytes instead of {length}", bytes.len());
        return Err(
            StoreError::new(StoreFault::Server, what).with_hint("try again; if it stays so, look at the server")
        );
    }
    Ok(bytes.freeze())
}

fn causes_contain(error: &object_store::Error, words: &str) -> bool {
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = next {
        if cause.to_string().contains(words) {
            return true;
        }
        next = cause.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn state(size: u64, expected: Vec<Range<u64>>) -> ObjectState {
        let known = KnownObject { size, tag: None, has_ranges: true };
        let expected = join_ranges(expected, HEAD..size.saturating_sub(TAIL));
        ObjectState { known: Some(known), expected, ..ObjectState::default() }
    }

    #[test]
    fn pieces_cover_an_object_without_overlapping() {
        for size in [1, HEAD - 1, HEAD, HEAD + 1, MIB, HEAD + WINDOW, HEAD + WINDOW + 1, 100 * MIB + 7] {
            let state = state(size, Vec::new());
            let (mut at, mut pieces) = (0, 0);
            while at < size {
                let piece = state.piece(at);
                assert!(piece.start == at && piece.end > at, "{piece:?} at {at} of {size}");
                assert!(piece.end - piece.start <= WINDOW);
                assert_eq!(state.piece(piece.end.min(size) - 1), piece);
                at = piece.end;
                pieces += 1;
            }
            assert!(pieces <= 3 + size / WINDOW, "{pieces} pieces of {size} bytes");
        }
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, clippy::reversed_empty_ranges, reason = "ranges are what is meant")]
    fn announced_ranges_become_few_requests() {
        let ranges = (0..1000).map(|place| place * 100_000..place * 100_000 + 5_000).collect();
        let joined = join_ranges(ranges, HEAD..90 * MIB);
        assert_eq!(joined.len(), 6);
        assert!(joined.iter().all(|range| range.end - range.start <= WINDOW));
        assert!(joined.windows(2).all(|pair| pair[0].end <= pair[1].start));
        assert_eq!(join_ranges(vec![0..10, 50 * MIB..51 * MIB], HEAD..100 * MIB), [50 * MIB..51 * MIB]);
        assert_eq!(join_ranges(vec![5..5, 9..3, u64::MAX - 1..u64::MAX], 0..7), []);
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a range is what is meant")]
    fn windows_ahead_are_fetched_only_when_reading_goes_on() {
        let whole = state(200 * MIB, Vec::new());
        assert!(whole.ahead(0).is_empty(), "the beginning alone tells the format");
        assert_eq!(whole.ahead(HEAD).len(), AHEAD);
        assert!(whole.ahead(200 * MIB - 1).is_empty());
        let announced = state(200 * MIB, vec![MIB..2 * MIB, 50 * MIB..51 * MIB]);
        assert_eq!(announced.ahead(MIB), [50 * MIB..51 * MIB]);
        assert!(announced.ahead(100 * MIB).is_empty());
        assert_eq!(announced.piece(50 * MIB + 5), 50 * MIB..51 * MIB);
    }
}
