//! From files to the index. A file is read when it is new or has changed; what was read of one file is written at once or not at all.

use crate::database::History;
use crate::reading_choices::ReadingChoices;
use crate::records::apply;
use crate::sample_blob::{encode, encode_contents};
use crate::sql::{SqlConnection, values};
use crate::{HistoryError, RunDescription};
use calipers::RunError;
use calipers::io::{ReadError, Source, SourceSearch, choose, fingerprint, is_address};
use calipers::page::PassBasis;
use calipers::plan::{Report, RunReport};
use calipers::render::results_json;
use calipers::summary::{RunSummary, summarize};
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// What became of the files.
#[derive(Debug, Default)]
pub struct IndexReport {
    /// The keys of the runs that were read.
    pub runs: Vec<String>,
    /// The keys of all runs in the files, read now or before.
    pub keys: Vec<String>,
    /// Files that were read.
    pub read: usize,
    /// Files that are as they were.
    pub unchanged: usize,
    /// Other documents in the folders.
    pub left_out: Vec<String>,
    /// Files that were there and are gone.
    pub gone: usize,
    /// Files that cannot be read, and why.
    pub problems: Vec<(String, RunError)>,
    /// What is in the way in folders, such as links that lead nowhere.
    pub obstacles: Vec<(String, RunError)>,
}

/// A file as the file system has it, or an object as its store has it.
#[derive(Clone, Debug)]
struct FoundFile {
    /// Its whole path or its address, by which it is opened again.
    name: String,
    /// The name that led to it.
    typed: String,
    /// How it is read.
    choices: ReadingChoices,
    /// True when only that is new: the index has the file as it is, by other choices.
    is_read_otherwise: bool,
    size: i64,
    modified: i64,
    /// What its store calls its content; nothing for files.
    tag: String,
    /// True if it was named, not found in a folder: then it must be results.
    is_named: bool,
}

/// What was found in a file.
enum Reading {
    Runs(Vec<RunSummary>),
    Other,
    Problem(RunError),
}

/// Adds the results in these files and folders to a history, as far as they are new or have changed. `describe` is said about every
/// run that is found; `progress` is called with the number of files done and of all.
///
/// A file that was read by other choices is read again by these. Without choices, it is read as it was read before.
///
/// Fails if a name leads nowhere or the database cannot be written. A file that cannot be read is a part of the report.
pub fn index_files(
    history: &History,
    names: &[String],
    choices: Option<&ReadingChoices>,
    describe: &RunDescription,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<IndexReport, HistoryError> {
    let (mut report, found) = index_changes(history, names, choices, progress)?;
    report.keys = keys_of(history, &found)?;
    if !describe.is_empty() {
        // What is said holds for files that were known before, too.
        for key in &report.keys {
            history.describe(key, describe)?;
        }
    }
    Ok(report)
}

/// The same for a server that looks again and again: nothing is said about the runs, and those that stayed the same are not named.
pub(crate) fn index_again(
    history: &History,
    names: &[String],
    choices: Option<&ReadingChoices>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<IndexReport, HistoryError> {
    index_changes(history, names, choices, progress).map(|(report, _)| report)
}

fn index_changes(
    history: &History,
    names: &[String],
    choices: Option<&ReadingChoices>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(IndexReport, Vec<FoundFile>), HistoryError> {
    let mut report = IndexReport::default();
    let found = find(names, &mut report)?;
    let changed = history.with(|database| only_changed(database, &found, choices))?;
    report.unchanged = found.len() - changed.len();
    read_all(history, &changed, &mut report, progress)?;
    report.gone = mark_gone(history, names, &found)?;
    if report.read > 0 {
        let unused = "DELETE FROM case_set WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.case_set = case_set.hash)";
        history.with(|database| database.change(|database| database.execute(unused, &[])))?;
    }
    Ok((report, found))
}

/// The files that names lead to, each once.
fn find(names: &[String], report: &mut IndexReport) -> Result<Vec<FoundFile>, HistoryError> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for name in names {
        let is_folder = Path::new(name).is_dir();
        let search = match Source::search(name) {
            Ok(search) => search,
            // A folder that is watched may have no results yet.
            Err(_) if is_folder => SourceSearch::default(),
            Err(error) => return Err(HistoryError::Run(error.into())),
        };
        // A link in a folder that leads nowhere hides nothing else.
        if let (false, Some(error)) = (is_folder, search.problems.first()) {
            return Err(HistoryError::Run(error.clone().into()));
        }
        let obstacle = |error: ReadError| (error.source_name().to_owned(), RunError::from(error));
        report.obstacles.extend(search.problems.into_iter().map(obstacle));
        let sources = search.sources;
        let is_named = sources.len() == 1 && !is_folder;
        for source in sources {
            if !source.is_found_by_name() {
                return Err(HistoryError::NotFoundAgain(source.name));
            }
            let typed = source.name.clone();
            let (name, version) = match whole_name(source)? {
                Some((name, source)) => (name, source.version().map_err(RunError::from)?),
                None => (typed.clone(), None),
            };
            let Some(version) = version else {
                if is_named {
                    return Err(HistoryError::File { path: typed, error: std::io::ErrorKind::NotFound.into() });
                }
                // It was there a moment ago.
                continue;
            };
            if known.insert(name.clone()) {
                found.push(FoundFile {
                    name,
                    typed,
                    choices: ReadingChoices::default(),
                    is_read_otherwise: false,
                    size: i64::try_from(version.size).unwrap_or(i64::MAX),
                    modified: version.modified_ns,
                    tag: version.tag.unwrap_or_default(),
                    is_named,
                });
            }
        }
    }
    Ok(found)
}

/// A source under the name that the index has it by: the whole path of a file, whatever links lead to it, or the address of an object.
/// None if the file is gone.
fn whole_name(source: Source) -> Result<Option<(String, Source)>, HistoryError> {
    let Some(path) = source.as_path() else { return Ok(Some((source.name.clone(), source))) };
    let path = match std::fs::canonicalize(path) {
        Ok(path) => path,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(HistoryError::File { path: source.name, error }),
    };
    match path.to_str() {
        Some(name) => Ok(Some((name.to_owned(), Source::path(&path)))),
        None => {
            let error = std::io::Error::other("its name is not UTF-8");
            Err(HistoryError::File { path: path.display().to_string(), error })
        }
    }
}

/// The size of a file, when it was written, and its tag.
type KnownVersion = (i64, i64, String);

/// The files that the index does not have as they are now, or has by other choices.
fn only_changed(
    database: &mut dyn SqlConnection,
    found: &[FoundFile],
    choices: Option<&ReadingChoices>,
) -> Result<Vec<FoundFile>, HistoryError> {
    let mut known: HashMap<String, (KnownVersion, bool, String)> = HashMap::new();
    // One question for all files: a server that is asked for each of many thousands takes long.
    for mut row in database.query("SELECT path, size, modified, tag, is_gone, choices FROM source", &[])? {
        known.insert(row.get(0)?, ((row.get(1)?, row.get(2)?, row.get(3)?), row.get(4)?, row.get(5)?));
    }
    let mut changed = Vec::new();
    for file in found {
        let known = known.get(&file.name);
        let kept = known.map_or("", |(.., kept)| kept);
        let text = choices.map(|choices| choices.for_file(&file.typed, file.is_named).to_text());
        let text = text.as_deref().unwrap_or(kept);
        let is_same = known
            .is_some_and(|(version, is_gone, _)| !is_gone && *version == (file.size, file.modified, file.tag.clone()));
        if !is_same || kept != text {
            let choices = ReadingChoices::from_text(text)?;
            changed.push(FoundFile { choices, is_read_otherwise: is_same, ..file.clone() });
        }
    }
    Ok(changed)
}

/// As many files are written in one transaction.
const TOGETHER: usize = 32;

/// Reads files on all threads, and writes what they hold as it comes.
fn read_all(
    history: &History,
    files: &[FoundFile],
    report: &mut IndexReport,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(), HistoryError> {
    if files.is_empty() {
        return Ok(());
    }
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(files.len());
    // Few readings wait at a time, so that memory stays bounded however slow the disk is.
    let (send, receive) = mpsc::sync_channel::<(usize, Reading)>(threads * 2);
    let mut failed = None;
    let is_stopped = Mutex::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (send, next, is_stopped) = (send.clone(), &next, &is_stopped);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = is_stopped.lock().is_ok_and(|stopped| *stopped);
                    let Some(file) = files.get(place).filter(|_| !is_over) else { return };
                    if send.send((place, read(file))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut done = 0;
        while let Ok(first) = receive.recv() {
            let mut readings = vec![first];
            readings.extend(receive.try_iter().take(TOGETHER - 1));
            done += readings.len();
            let written = history.with(|database| write(database, files, readings, report));
            if let Err(error) = written {
                failed = Some(error);
                if let Ok(mut stopped) = is_stopped.lock() {
                    *stopped = true;
                }
                // The readers end once the receiver is gone.
                break;
            }
            progress(done, files.len());
        }
        drop(receive);
    });
    failed.map_or(Ok(()), Err)
}

fn read(file: &FoundFile) -> Reading {
    let selection = match file.choices.selection(Path::new(&file.name)) {
        Ok(selection) => selection,
        Err(HistoryError::Run(error)) => return Reading::Problem(error),
        Err(error) => return Reading::Problem(ReadError::new(&file.name, error.to_string()).into()),
    };
    let [source] = &selection.sources[..] else { return Reading::Other };
    if !file.is_named
        && let Err(error) = choose(source, selection.format.as_deref())
    {
        // A folder may hold other documents. What should be results and is not must not go unread.
        let is_other = selection.format.is_none() && source.is_other_document();
        return if is_other { Reading::Other } else { Reading::Problem(error.into()) };
    }
    match summarize(source, &selection) {
        Ok(runs) => Reading::Runs(runs.into_iter().filter(|run| !is_nothing(&run.report)).collect()),
        Err(error) => Reading::Problem(error),
    }
}

/// True for a run without samples that says nothing about itself either.
fn is_nothing(run: &RunReport) -> bool {
    run.samples.total == 0 && run.recorded.is_empty() && run.notes.is_empty()
}

fn write(
    database: &mut dyn SqlConnection,
    files: &[FoundFile],
    readings: Vec<(usize, Reading)>,
    report: &mut IndexReport,
) -> Result<(), HistoryError> {
    database.change(|database| {
        for (place, reading) in readings {
            let file = &files[place];
            // A slip in the choices takes nothing away.
            if let (true, Reading::Problem(error)) = (file.is_read_otherwise, &reading) {
                report.problems.push((file.name.clone(), error.clone()));
                continue;
            }
            let source = put_source(database, file, &reading)?;
            match reading {
                Reading::Runs(runs) => {
                    report.read += 1;
                    for (place, run) in runs.iter().enumerate() {
                        report.runs.push(put_run(database, file, source, place, run)?);
                    }
                }
                Reading::Other => report.left_out.push(file.typed.clone()),
                Reading::Problem(error) => report.problems.push((file.name.clone(), error)),
            }
        }
        Ok(())
    })
}

fn put_source(database: &mut dyn SqlConnection, file: &FoundFile, reading: &Reading) -> Result<i64, HistoryError> {
    let (problem, is_other) = match reading {
        Reading::Runs(_) => (None, false),
        Reading::Other => (None, true),
        Reading::Problem(error) => (Some(error.to_string()), false),
    };
    let put = "INSERT INTO source (path, size, modified, tag, choices, problem, is_other) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT \
               (path) DO UPDATE SET size = excluded.size, modified = excluded.modified, tag = excluded.tag, choices = excluded.choices, \
               problem = excluded.problem, is_other = excluded.is_other, is_gone = 0 RETURNING id";
    let choices = file.choices.to_text();
    let id =
        database.number(put, values![&file.name, file.size, file.modified, &file.tag, choices, problem, is_other])?;
    database.execute("DELETE FROM run WHERE source = ?", values![id])?;
    Ok(id)
}

fn put_run(
    database: &mut dyn SqlConnection,
    file: &FoundFile,
    source: i64,
    place: usize,
    summary: &RunSummary,
) -> Result<String, HistoryError> {
    let about = &summary.report;
    let key = key(&file.name, place, about.name.as_deref());
    // Most runs have the cases of one before.
    if database.first("SELECT 1 FROM case_set WHERE hash = ?", values![&summary.case_set])?.is_none() {
        let names: Vec<String> = summary.cases.iter().map(|case| case.ending.id.to_string()).collect();
        let names = serde_json::to_string(&names).unwrap_or_else(|_| "[]".to_owned());
        let put = "INSERT INTO case_set (hash, names, contents) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
        database.execute(put, values![&summary.case_set, names, encode_contents(&summary.cases)])?;
    }
    let counts = summary.counts;
    let is_judged = summary.pass_basis != PassBasis::Nothing;
    let scored = if is_judged { 0 } else { counts.total - counts.errored - counts.unscored };
    let suite = about.task.clone().unwrap_or_else(|| folder_name(Path::new(&file.name)));
    let completeness = summary.completeness.as_ref();
    let expected = completeness.map(|one| one.samples_expected).filter(|expected| *expected > counts.total);
    let at = about.created.as_deref().and_then(milliseconds).unwrap_or(file.modified / 1_000_000);
    let report = results_json(&Report { runs: vec![about.clone()], ..Report::default() }).to_string();
    let put = "INSERT INTO run (key, source, place, name, format, own_suite, suite, task, model, own_commit, commit_hash, started, at, \
               is_judged, total, passed, failed, scored, errored, unscored, flaky, attempts, errored_attempts, expected, ending, \
               case_set, scorers, endings, report) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
               ?, ?, ?, ?) RETURNING id";
    let id = database.number(
        put,
        values![
            &key,
            source,
            place,
            &about.name,
            about.format.as_str(),
            suite.as_str(),
            suite.as_str(),
            &about.task,
            &about.model,
            &about.commit,
            &about.commit,
            &about.created,
            at,
            is_judged,
            counts.total,
            counts.passed,
            counts.failed,
            scored,
            counts.errored,
            counts.unscored,
            counts.flaky,
            counts.attempts,
            counts.errored_attempts,
            expected,
            completeness.map_or("finished", |one| one.ending.name()),
            &summary.case_set,
            file.choices.scorers(&summary.scorers),
            encode(&summary.cases),
            report,
        ],
    )?;
    put_figures(database, id, about)?;
    apply(database, &key)?;
    Ok(key)
}

fn put_figures(database: &mut dyn SqlConnection, run: i64, about: &RunReport) -> Result<(), HistoryError> {
    let put = "INSERT INTO figure (run, place, score, reducer, metric, unit, value, lower, upper, level, n, missing) VALUES (?, ?, ?, \
               ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let mut place = 0i64;
    for score in &about.results.scores {
        for (metric, found) in &score.metrics {
            let figure = &found.figure;
            let interval = figure.interval;
            database.execute(
                put,
                values![
                    run,
                    place,
                    &*score.name,
                    &score.reducer,
                    &**metric,
                    unit_name(found.unit),
                    figure.value.as_ref().ok().copied(),
                    interval.and_then(|interval| interval.lower),
                    interval.and_then(|interval| interval.upper),
                    about.results.level,
                    figure.n,
                    figure.missing,
                ],
            )?;
            place += 1;
        }
    }
    for recorded in &about.recorded {
        database.execute(
            put,
            values![
                run,
                place,
                &*recorded.score,
                &recorded.reducer,
                &*recorded.metric,
                unit_name(calipers::metric::Unit::Plain),
                recorded.value,
                recorded.interval.and_then(|interval| interval.lower),
                recorded.interval.and_then(|interval| interval.upper),
                about.results.level,
                recorded.n.unwrap_or(0),
                0i64,
            ],
        )?;
        place += 1;
    }
    Ok(())
}

const UNITS: [(calipers::metric::Unit, &str); 6] = {
    use calipers::metric::Unit;
    [
        (Unit::Rate, "rate"),
        (Unit::Milliseconds, "ms"),
        (Unit::Usd, "usd"),
        (Unit::Tokens, "tokens"),
        (Unit::Ratio, "ratio"),
        (Unit::Plain, "plain"),
    ]
};

fn unit_name(unit: calipers::metric::Unit) -> &'static str {
    UNITS.iter().find(|(known, _)| *known == unit).map_or("plain", |(_, name)| name)
}

pub(crate) fn unit_of(name: &str) -> calipers::metric::Unit {
    UNITS.iter().find(|(_, known)| *known == name).map_or(calipers::metric::Unit::Plain, |(unit, _)| *unit)
}

/// The name of a run in the history: by where it is. Two runs of one name in a file differ by their place.
fn key(path: &str, place: usize, name: Option<&str>) -> String {
    let place = place.to_string();
    let mut key = fingerprint([path, name.unwrap_or_default(), if name.is_some() { "" } else { &place }]);
    key.truncate(16);
    key
}

fn folder_name(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    folder.map_or_else(|| "results".to_owned(), str::to_owned)
}

/// A time as files write it, in milliseconds since 1970. One without a zone counts as UTC.
fn milliseconds(text: &str) -> Option<i64> {
    let text = text.trim();
    let timestamp = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let date = text
            .parse::<jiff::civil::DateTime>()
            .ok()
            .or_else(|| Some(text.parse::<jiff::civil::Date>().ok()?.to_datetime(jiff::civil::Time::midnight())));
        date?.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    });
    timestamp.map(jiff::Timestamp::as_millisecond)
}

/// Marks files below these folders that are no longer there. Their runs stay: what was computed from them is still true of them.
fn mark_gone(history: &History, names: &[String], found: &[FoundFile]) -> Result<usize, HistoryError> {
    let present: HashSet<&str> = found.iter().map(|file| file.name.as_str()).collect();
    let folders = names.iter().filter_map(|name| std::fs::canonicalize(name).ok()).filter(|path| path.is_dir());
    let folders: Vec<PathBuf> = folders.collect();
    let buckets: Vec<String> = names.iter().filter_map(|name| bucket_folder(name)).collect();
    let is_gone = |path: &str| match is_address(path) {
        // A list has all objects below a folder.
        true => buckets.iter().any(|folder| path.starts_with(folder.as_str())),
        false => folders.iter().any(|folder| Path::new(path).starts_with(folder)) && !Path::new(path).exists(),
    };
    history.with(|database| {
        let mut gone = Vec::new();
        for mut row in database.query("SELECT id, path FROM source WHERE is_gone = 0", &[])? {
            let (id, path): (i64, String) = (row.get(0)?, row.get(1)?);
            if !present.contains(path.as_str()) && is_gone(&path) {
                gone.push(id);
            }
        }
        for id in &gone {
            database.execute("UPDATE source SET is_gone = 1 WHERE id = ?", values![*id])?;
        }
        Ok(gone.len())
    })
}

/// What the addresses of all objects below a folder of a bucket begin with; none for other names.
fn bucket_folder(name: &str) -> Option<String> {
    let is_folder = is_address(name) && Source::is_search(name) && !name.contains(['*', '?', '[']);
    is_folder.then(|| format!("{}/", name.trim_end_matches('/')))
}

fn keys_of(history: &History, found: &[FoundFile]) -> Result<Vec<String>, HistoryError> {
    history.with(|database| {
        let question =
            "SELECT run.key FROM run JOIN source ON source.id = run.source WHERE source.path = ? ORDER BY run.place";
        let mut keys = Vec::new();
        for file in found {
            for mut row in database.query(question, values![&file.name])? {
                keys.push(row.get(0)?);
            }
        }
        Ok(keys)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_files_write_them() {
        for (text, want) in [
            ("2026-03-01T14:02:11+00:00", Some(1_772_373_731_000)),
            ("2026-03-01T16:02:11+02:00", Some(1_772_373_731_000)),
            ("2026-03-01T14:02:11Z", Some(1_772_373_731_000)),
            ("2026-03-01T14:02:11", Some(1_772_373_731_000)),
            ("2026-03-01 14:02:11", Some(1_772_373_731_000)),
            ("2026-03-01", Some(1_772_323_200_000)),
            ("last Tuesday", None),
            ("", None),
        ] {
            assert_eq!(milliseconds(text), want, "{text}");
        }
    }

    #[test]
    fn a_key_holds_nothing_of_its_path() {
        let one = key("/logs/../secret", 0, None);
        assert!(one.len() == 16 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, key("/logs/../secret", 1, None));
        assert_eq!(key("/a", 0, Some("gpt")), key("/a", 7, Some("gpt")), "a named run keeps its key");
    }
}
