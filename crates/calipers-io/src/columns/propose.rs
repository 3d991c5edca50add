//! What could be said about the columns of a table that is not understood: proposals, never taken by themselves.
//!
//! The first records are taken apart into their leaves: where a plain value is, and what stands there in each record. A leaf
//! that is named and filled like a score is proposed as one, and one whose values all differ as the id.

use super::known_names::{
    IDS, METRICS, NAMES_OF_ITEMS, RATERS, RUNS, SCORERS, SCORES, SUMMARIES, is_attempt, is_spelt_like, is_step, plain,
    words_of,
};
use super::{Columns, quote};
use crate::json::python_literal;
use calipers_core::{Value, parse_number as number};
use indexmap::IndexMap;
use std::collections::HashSet;

/// Leaves are looked for this deep.
const DEPTH_MAX: usize = 5;
/// More leaves than this are not looked at.
const LEAVES_MAX: usize = 2000;
/// Items of a list that are looked at.
const ITEMS_MAX: usize = 20;
/// As many records as show what a file holds.
const RECORDS_MAX: usize = 100;
/// As many proposals as are tried.
const PROPOSALS_MAX: usize = 12;

/// A place in records where plain values stand.
#[derive(Default)]
struct RecordLeaf<'v> {
    values: Vec<&'v Value>,
    /// How many records have it.
    records: usize,
    /// The record that was counted last.
    last: usize,
    depth: usize,
    has_list: bool,
}

/// Records that a document may hold: where they are, and what they are.
struct RecordSet<'v> {
    path: Option<String>,
    records: Vec<&'v Value>,
    /// True when the records have keys, which are their names.
    has_keys: bool,
    /// True when the keys above the records are their outcomes.
    is_by_outcome: bool,
    /// What would name the run.
    run: Option<String>,
    /// What would name the sample, where keys above the records tell.
    id: Option<String>,
    size: usize,
    /// How many lists the records are in, each of a run.
    lists: usize,
}

/// What could be said about the columns of these documents, the best first. They have to be tried: each was made from the
/// first records alone.
pub(crate) fn propose(documents: &[Value], said: &Columns) -> Vec<Columns> {
    let mut found = Vec::new();
    let by_column = by_column(documents);
    let sets = by_column.as_deref().map(rows_set).into_iter().chain(record_sets(documents));
    for set in sets.take(5) {
        for pairs in proposals_of(&set, said) {
            let mut columns = said.clone();
            let add = |columns: &mut Columns, pairs: &[(String, String)]| {
                pairs.iter().try_for_each(|(name, path)| columns.set(name, path)).is_ok() && columns.check().is_ok()
            };
            if add(&mut columns, &pairs) && !found.contains(&columns) {
                found.push(columns);
            }
        }
    }
    found.truncate(PROPOSALS_MAX);
    found
}

/// The rows of a document that has a list for each column.
fn by_column(documents: &[Value]) -> Option<Vec<Value>> {
    let [Value::Map(entries)] = documents else { return None };
    let is_column =
        |value: &Value| matches!(value, Value::List(items) if items.len() > 1 && items.iter().all(Value::is_scalar));
    let columns: Vec<_> = entries.iter().filter(|(_, value)| is_column(value)).collect();
    let length = items_of(&columns.first()?.1).len();
    let texts = |value: &Value| items_of(value).iter().all(|item| matches!(item, Value::Text(_)));
    // Without names among them, the keys are names, and the lists attempts.
    let is_table = columns.len() > 1 && columns.iter().all(|(_, value)| items_of(value).len() == length);
    let has_names = columns.iter().any(|(_, value)| texts(value)) && !columns.iter().all(|(_, value)| texts(value));
    let row = |row: usize| columns.iter().map(|(name, value)| (name.clone(), items_of(value)[row].clone())).collect();
    (is_table && has_names).then(|| (0..length.min(RECORDS_MAX)).map(|place| Value::Map(row(place))).collect())
}

fn rows_set(rows: &[Value]) -> RecordSet<'_> {
    RecordSet {
        path: None,
        records: rows.iter().collect(),
        has_keys: false,
        is_by_outcome: false,
        id: None,
        run: None,
        size: rows.len(),
        lists: 1,
    }
}

/// The names and paths that could be said about these records, the best first.
fn proposals_of(set: &RecordSet<'_>, said: &Columns) -> Vec<Vec<(String, String)>> {
    let names = |wanted: &str| said.pairs().iter().any(|pair| pair.name == wanted);
    let has_score = said.pairs().iter().any(|pair| is_score_name(&pair.name));
    let leaves = leaves(&set.records);
    let mut common = Vec::new();
    if let (Some(path), None) = (&set.path, said.records()) {
        common.push(("records".to_owned(), path.clone()));
    }
    if !names("id") && !names("sample_id") {
        match id_of_records(&leaves, set) {
            Some(IdGuess::Path(id)) => common.push(("id".to_owned(), id)),
            Some(IdGuess::Runs) => return Vec::new(),
            None if set.has_keys => common.extend(set.id.clone().map(|id| ("id".to_owned(), id))),
            None if set.size == 1
                && leaves.iter().any(|(path, leaf)| !leaf.has_list && is_of_figure(last_name(path))) =>
            {
                return Vec::new();
            }
            // A file with one record is a sample, which its name may tell.
            None if set.size == 1 => common.push(("id".to_owned(), "@stem".to_owned())),
            // Plain values in a list, or in the lists of several runs: the place in the list is the sample.
            None if leaves.is_empty() && (set.lists > 1 || set.path.is_some()) => {
                common.push(("id".to_owned(), "@index".to_owned()));
            }
            None => common.push(("id".to_owned(), "@line".to_owned())),
        }
    }
    if !names("run")
        && let Some(run) = set.run.clone().or_else(|| run_with_scorer(&leaves, set))
    {
        common.push(("run".to_owned(), run));
    }
    if has_score {
        return vec![common];
    }
    if set.is_by_outcome {
        let score = ("score".to_owned(), "@key".to_owned());
        return vec![[common, vec![score]].concat()];
    }
    let id = common.iter().find(|(name, _)| name == "id").map(|(_, path)| path.clone());
    let mut scores = scores(&leaves, id.as_deref());
    leave_out_sums(&mut scores, &leaves, set.records.len());
    // A table with a few rows and many columns that say nothing of scores is turned: its columns are samples.
    let is_unnamed = |leaf: &&ScoreLeaf| leaf.rank.0 == 2 && leaves.get(&leaf.path).is_some_and(|leaf| leaf.depth == 0);
    const TURNED_MAX: usize = 3;
    if set.records.len() <= TURNED_MAX && scores.iter().filter(is_unnamed).count() > 2 * TURNED_MAX {
        return Vec::new();
    }
    let with = |scores: Vec<(String, String)>| [common.clone(), scores].concat();
    let mut proposals = Vec::new();
    // An answer beside the right one, where no name is that of a score.
    if let Some([predicted, actual]) = predictions(&leaves)
        && scores.iter().all(|leaf| leaf.rank.0 > 0 || [predicted, actual].contains(&&leaf.path))
    {
        proposals.push(with(vec![("predicted".to_owned(), predicted.clone()), ("actual".to_owned(), actual.clone())]));
    }
    // Several measures of the same kind are several scorers.
    if let [first, rest @ ..] = &scores[..]
        && rest.iter().any(|other| other.rank == first.rank)
    {
        const NAMED_MAX: usize = 6;
        /// None of them is left out in silence, and a longer list is no advice.
        const SCORERS_MAX: usize = 24;
        let all: Vec<&ScoreLeaf> = scores.iter().filter(|other| other.rank == first.rank).collect();
        // Columns whose names say nothing of scores are those of models; a star stands for all that are nothing else.
        if first.rank.0 == 2 && all.iter().all(|leaf| leaves.get(&leaf.path).is_some_and(|leaf| leaf.depth == 0)) {
            let names: Vec<&str> = all.iter().map(|leaf| leaf.name.as_str()).collect();
            let is_plain = |name: &&str| !name.contains([',', '{', '}', '"', '=', '\\']);
            let has_id = id.as_deref().is_some_and(|id| leaves.contains_key(id));
            let is_rest = leaves.len() == all.len() + usize::from(has_id);
            let pattern = match () {
                () if is_rest && names.len() > NAMED_MAX => Some("*".to_owned()),
                () if names.iter().all(is_plain) => Some(format!("{{{}}}", names.join(","))),
                () => None,
            };
            let is_numbered = attempt_pattern(&all).is_some();
            if let Some(pattern) = pattern.filter(|_| !is_numbered) {
                proposals.push(with(vec![("score".to_owned(), pattern), ("run".to_owned(), "*".to_owned())]));
            }
        }
        let alike = all;
        if let Some(pattern) = attempt_pattern(&alike) {
            proposals.push(with(vec![("score".to_owned(), pattern), ("epoch".to_owned(), "*".to_owned())]));
        }
        if let Some(pattern) = shared_end(&alike).or_else(|| shared_but_one(&alike)) {
            proposals.push(with(vec![("score".to_owned(), pattern), ("run".to_owned(), "*".to_owned())]));
        }
        // Items that have names are told apart below.
        let are_items = alike.iter().any(|leaf| named_items(&leaves, &leaf.path).is_some());
        let pairs = alike.iter().map(|leaf| (format!("score.{}", leaf.name.replace(' ', "_")), leaf.path.clone()));
        let is_plain = |leaf: &&ScoreLeaf| !leaf.name.contains(['.', ',', '=', '"']);
        if alike.len() <= SCORERS_MAX && first.rank.1 < 2 && !are_items && alike.iter().all(is_plain) {
            proposals.push(with(pairs.collect()));
        }
    }
    for leaf in &scores {
        // Items that have names are no attempts.
        let pairs = match named_items(&leaves, &leaf.path) {
            Some((path, true)) => vec![("score".to_owned(), path), ("run".to_owned(), "*".to_owned())],
            Some((path, false)) => vec![("score.*".to_owned(), path)],
            None => vec![("score".to_owned(), leaf.path.clone())],
        };
        proposals.push(with(pairs));
    }
    let is_plain = |value: &&Value| is_share(value) || matches!(value, Value::Int(_) | Value::Float(_));
    // Ids below the outcome that they share: `{"passed": ["a", "b"], "failed": ["c"]}`.
    if let [Value::Text(_), ..] = &set.records[..]
        && set.has_keys
    {
        let [id, score] = [("id", "@value"), ("score", "@key")].map(|(name, path)| (name.to_owned(), path.to_owned()));
        let mut pairs = common.clone();
        pairs.retain(|(name, _)| name != "id");
        proposals.push([pairs, vec![id, score]].concat());
        return proposals;
    }
    if leaves.is_empty() && !set.records.is_empty() && set.records.iter().all(is_plain) {
        proposals.push(with(Vec::new()));
    }
    proposals
}

/// Leaves out columns such as `mean` and `total` that have the mean or the sum of the other columns in each record: they are neither runs
/// nor attempts.
fn leave_out_sums(scores: &mut Vec<ScoreLeaf>, leaves: &IndexMap<String, RecordLeaf<'_>>, records: usize) {
    let numbers = |leaf: &ScoreLeaf| -> Option<Vec<f64>> {
        let values = &leaves.get(&leaf.path).filter(|leaf| !leaf.has_list && leaf.values.len() == records)?.values;
        values.iter().map(|value| calipers_core::Labels::default().to_float(value)).collect()
    };
    let has_name = |leaf: &&ScoreLeaf| SUMMARIES.contains(&plain(&leaf.name).as_str());
    let sums: Vec<String> = scores.iter().filter(has_name).map(|leaf| leaf.path.clone()).collect();
    let others: Vec<Vec<f64>> = scores.iter().filter(|leaf| !sums.contains(&leaf.path)).filter_map(numbers).collect();
    if others.len() < 2 || records < 2 {
        return;
    }
    scores.retain(|leaf| {
        let Some(own) = numbers(leaf).filter(|_| sums.contains(&leaf.path)) else { return true };
        let is_summed_up = |row: usize, own: f64| {
            let sum: f64 = others.iter().map(|column| column[row]).sum();
            [sum, sum / others.len() as f64].iter().any(|want| (own - want).abs() <= 0.006 * want.abs().max(1.0))
        };
        !own.iter().enumerate().all(|(row, own)| is_summed_up(row, *own))
    });
}

/// What tells the rows of a long table apart, which has one per model, sample and metric: the model and the metric together.
fn run_with_scorer(leaves: &IndexMap<String, RecordLeaf<'_>>, set: &RecordSet<'_>) -> Option<String> {
    let find = |known: &[&str]| {
        let is_it = |(path, leaf): &(&String, &RecordLeaf<'_>)| {
            let distinct: HashSet<String> = leaf.values.iter().map(ToString::to_string).collect();
            let is_named = known.iter().any(|name| is_spelt_like(last_name(path), name));
            let is_whole = !leaf.has_list && leaf.values.len() == set.records.len();
            is_named && is_whole && distinct.len() > 1 && distinct.len() < set.records.len()
        };
        leaves.iter().find(is_it).map(|(path, _)| path.clone())
    };
    let scorer = find(&SCORERS).or_else(|| find(&KINDS).filter(|_| has_plain_value(leaves)))?;
    Some(find(&RUNS).map_or_else(|| scorer.clone(), |run| format!("{run}+{scorer}")))
}

/// What says which measure the `value` beside it is.
const KINDS: [&str; 5] = ["key", "name", "field", "attribute", "kind"];

/// True for a table that has a column `value`: one per row, of whatever another column names.
fn has_plain_value(leaves: &IndexMap<String, RecordLeaf<'_>>) -> bool {
    leaves.keys().any(|path| matches!(plain(path).as_str(), "value" | "val"))
}

/// Names of answers, and of the right ones.
const PREDICTED: [&str; 17] = [
    "pred",
    "prediction",
    "predicted",
    "predicted_label",
    "pred_label",
    "predicted_answer",
    "model_answer",
    "model_prediction",
    "parsed_answer",
    "extracted_answer",
    "choice",
    "response",
    "output",
    "answer",
    "model_output",
    "model_response",
    "guess",
];
const ACTUAL: [&str; 19] = [
    "gold",
    "gold_answer",
    "gold_label",
    "label",
    "true_label",
    "true_answer",
    "target",
    "truth",
    "ground_truth",
    "groundtruth",
    "expected",
    "expected_answer",
    "expected_output",
    "reference",
    "correct_answer",
    "answer_key",
    "actual",
    "right_answer",
    "final_answer",
];

/// The paths of an answer and of the right one, if both are short and are the same in some record: then they are spelt alike.
fn predictions<'l>(leaves: &'l IndexMap<String, RecordLeaf<'_>>) -> Option<[&'l String; 2]> {
    const ANSWER_MAX: usize = 60;
    let find = |names: &[&str]| {
        let is_it = |(path, leaf): &(&'l String, &RecordLeaf<'_>)| {
            let is_short = |value: &&Value| value.is_scalar() && value.to_string().len() <= ANSWER_MAX;
            let is_named = names.iter().any(|name| is_spelt_like(last_name(path), name));
            !leaf.has_list && leaf.values.iter().all(is_short) && is_named
        };
        // In the order of the names, of which the first are the most telling.
        let mut found: Vec<_> = leaves.iter().filter(is_it).collect();
        found.sort_by_key(|(path, _)| names.iter().position(|name| is_spelt_like(last_name(path), name)));
        found.into_iter().next()
    };
    let ((predicted, ours), (actual, theirs)) = (find(&PREDICTED)?, find(&ACTUAL)?);
    let is_same = |(a, b): (&&Value, &&Value)| a.to_string().trim() == b.to_string().trim();
    let is_alike = ours.values.len() == theirs.values.len() && ours.values.iter().zip(&theirs.values).any(is_same);
    is_alike.then_some([predicted, actual])
}

/// The path that tells the items of a list apart, if they have names and this path makes attempts of them.
pub(crate) fn tell_items_apart(records: &[Value], path: &str) -> Option<String> {
    let leaves = leaves(&records.iter().collect::<Vec<_>>());
    named_items(&leaves, path).map(|(path, _)| path)
}

/// The path to items of a list that have names, each name once per record, and whether these are names of runs.
fn named_items(leaves: &IndexMap<String, RecordLeaf<'_>>, path: &str) -> Option<(String, bool)> {
    let (list, rest) = path.split_once("[].")?;
    let items = leaves.get(path)?;
    let is_naming = |key: &&str| {
        leaves.get(&format!("{list}[].{key}")).is_some_and(|names| {
            let distinct: HashSet<String> = names.values.iter().map(ToString::to_string).collect();
            // One name alone tells nothing apart, unless each record has it once.
            let is_once = distinct.len() > 1 && distinct.len() * names.records >= names.values.len()
                || names.values.len() == names.records;
            let is_text = names.values.iter().all(|name| matches!(name, Value::Text(_)));
            is_text && is_once && names.values.len() >= items.values.len()
        })
    };
    let run = RUNS.iter().find(|key| is_naming(key));
    let key = run.or_else(|| NAMES_OF_ITEMS.iter().find(|key| is_naming(key)))?;
    Some((format!("{list}[{key}].{rest}"), run.is_some()))
}

/// The pattern of columns that are named alike but for their beginning, as in `small_correct` and `large_correct`.
fn shared_end(leaves: &[&ScoreLeaf]) -> Option<String> {
    ['.', '_'].into_iter().find_map(|mark| {
        let end = |leaf: &&ScoreLeaf| {
            let (start, end) = leaf.path.rsplit_once(mark)?;
            (!start.is_empty() && !end.is_empty() && !start.contains(['.', '"', '['])).then(|| end.to_owned())
        };
        let ends: HashSet<Option<String>> = leaves.iter().map(end).collect();
        let only = ends.iter().next().filter(|_| ends.len() == 1)?;
        only.as_ref().map(|end| format!("*{mark}{end}"))
    })
}

/// The pattern of paths that differ in one key, as in `results.small.correct` and `results.large.correct`.
fn shared_but_one(leaves: &[&ScoreLeaf]) -> Option<String> {
    let parts: Vec<Vec<&str>> = leaves.iter().map(|leaf| leaf.path.split('.').collect()).collect();
    let first = parts.first().filter(|first| first.len() > 1)?;
    if parts.iter().any(|path| path.len() != first.len()) || leaves.iter().any(|leaf| leaf.path.contains('"')) {
        return None;
    }
    let differ: Vec<usize> =
        (0..first.len()).filter(|place| parts.iter().any(|path| path[*place] != first[*place])).collect();
    let [place] = differ[..] else { return None };
    // What differs in its own name is another measure, and no other run.
    if place + 1 == first.len() && leaves.iter().any(|leaf| leaf.rank.0 < 2) {
        return None;
    }
    let is_list = parts.iter().any(|path| path[place].contains('['));
    (!is_list).then(|| {
        let mut pattern: Vec<&str> = first.clone();
        pattern[place] = "*";
        pattern.join(".")
    })
}

/// What columns that hold the attempts of a sample are called, before their number.
const ATTEMPT_WORDS: [&str; 13] = [
    "run",
    "trial",
    "attempt",
    "seed",
    "epoch",
    "try",
    "rep",
    "repeat",
    "repetition",
    "iteration",
    "iter",
    "sample",
    "r",
];

/// The pattern of columns that are numbered attempts, as in `run_1` and `run_2`, or `epoch_1_score` and `epoch_2_score`.
fn attempt_pattern(leaves: &[&ScoreLeaf]) -> Option<String> {
    let around = |leaf: &&ScoreLeaf| {
        let last = leaf.path.rfind(|c: char| c.is_ascii_digit())?;
        let (start, end) = leaf.path.split_at(last + 1);
        let start = start.trim_end_matches(|c: char| c.is_ascii_digit());
        (!start.contains('.') && !leaf.path.contains(['"', '[', '*'])).then(|| (start.to_owned(), end.to_owned()))
    };
    let arounds: HashSet<Option<(String, String)>> = leaves.iter().map(around).collect();
    let (start, end) = arounds.iter().next().filter(|_| arounds.len() == 1)?.as_ref()?;
    ATTEMPT_WORDS.contains(&plain(start).as_str()).then(|| format!("{start}*{end}"))
}

fn is_score_name(name: &str) -> bool {
    matches!(name, "score" | "value" | "scores" | "passed" | "correct") || name.starts_with("score.")
}

/// The records of documents: themselves if there are several, and every list or map of records in a single one.
fn record_sets(documents: &[Value]) -> Vec<RecordSet<'_>> {
    let [document] = documents else {
        let records = documents.iter().take(RECORDS_MAX).collect();
        let mut sets = vec![RecordSet {
            path: None,
            records,
            has_keys: false,
            is_by_outcome: false,
            id: None,
            run: None,
            size: documents.len(),
            lists: 1,
        }];
        // Documents that are runs: each names its model, and has a list of records.
        let has = |names: &[&str]| names.iter().any(|name| documents.iter().all(|item| item.get(name).is_some()));
        if (run_of(documents).is_some() || are_runs(documents)) && !has(&IDS) && !has(&["id", "sample_id"]) {
            search_items(documents, "", 0, &mut sets);
            sets.sort_by_key(|set| std::cmp::Reverse(set.size));
        }
        return sets;
    };
    let mut sets = Vec::new();
    if let Value::List(rows) = document
        && rows.len() > 1
        && rows.iter().all(|row| matches!(row, Value::List(_)))
    {
        if rows.iter().all(is_list_of_maps) {
            let records = || rows.iter().flat_map(items_of);
            // The same names in several lists are the same samples: the lists are runs.
            let run = name_the_same(&rows.iter().take(RECORDS_MAX).collect::<Vec<_>>()).then(|| "@key".to_owned());
            sets.push(RecordSet {
                path: Some("[][]".to_owned()),
                records: records().take(RECORDS_MAX).collect(),
                has_keys: false,
                is_by_outcome: false,
                id: None,
                lists: if run.is_some() { rows.len() } else { 1 },
                run,
                size: records().count(),
            });
        }
        let records = rows.iter().take(RECORDS_MAX).collect();
        let path = Some(".".to_owned());
        sets.push(RecordSet {
            path,
            records,
            has_keys: false,
            is_by_outcome: false,
            id: None,
            run: None,
            size: rows.len(),
            lists: 1,
        });
    }
    search(document, "", None, 0, &mut sets);
    if sets.is_empty() {
        sets.push(RecordSet {
            path: None,
            records: vec![document],
            has_keys: false,
            is_by_outcome: false,
            id: None,
            run: None,
            size: 1,
            lists: 1,
        });
    }
    sets.sort_by_key(|set| std::cmp::Reverse(set.size));
    sets
}

/// Adds the lists and maps of records in a value, which stands at this path.
fn search<'v>(value: &'v Value, path: &str, run: Option<&str>, depth: usize, sets: &mut Vec<RecordSet<'v>>) {
    if depth > DEPTH_MAX || sets.len() > 100 {
        return;
    }
    let below = |key: &str| if path.is_empty() { quote(key) } else { format!("{path}.{}", quote(key)) };
    let root = || if path.is_empty() { ".".to_owned() } else { path.to_owned() };
    // Records below the outcome that they share: `{"correct": [{"id": "a"}], "incorrect": […]}`.
    if let Value::Map(entries) = value
        && entries.len() > 1
        && entries.iter().all(|(key, list)| names_outcome(key) && is_list_of_maps(list))
    {
        let inner = || entries.iter().flat_map(|(_, list)| items_of(list));
        let path = Some(if path.is_empty() { "*[]".to_owned() } else { format!("{path}.*[]") });
        let records = inner().take(RECORDS_MAX).collect();
        let size = inner().count();
        sets.push(RecordSet {
            path,
            records,
            has_keys: false,
            is_by_outcome: true,
            id: None,
            run: None,
            size,
            lists: 1,
        });
    }
    let mut add = |path: String, records: Vec<&'v Value>, has_keys: bool, of: (Option<String>, usize), size: usize| {
        let (run, lists) = of;
        sets.push(RecordSet { path: Some(path), records, has_keys, is_by_outcome: false, id: None, run, size, lists });
    };
    match value {
        Value::List(items) if items.iter().all(is_map) && !items.is_empty() && !path.is_empty() => {
            let run = run.map(str::to_owned);
            add(root(), items.iter().take(RECORDS_MAX).collect(), false, (run, 1), items.len());
            search_items(items, path, depth, sets);
        }
        // Bare outcomes: each is that of a sample, unless the key says that they are attempts.
        Value::List(items) if items.len() > 1 && is_list_of_shares(value) && !path.is_empty() => {
            let are_attempts = is_attempt(last_name(path)) || last_name(path).ends_with("attempts");
            if !are_attempts && items.iter().any(|item| !matches!(item, Value::Null | Value::Missing)) {
                let records = items.iter().take(RECORDS_MAX).collect();
                add(root(), records, false, (run.map(str::to_owned), 1), items.len());
            }
        }
        Value::Map(entries) if !entries.is_empty() => {
            let values = || entries.iter().map(|(_, value)| value);
            let first = || values().take(RECORDS_MAX).collect::<Vec<_>>();
            if entries.len() > 1 && values().all(is_map) {
                let names_measures = entries_of(&entries[0].1).iter().any(|(key, _)| is_measure_name(key));
                let is_longer = entries_of(&entries[0].1).len() >= entries.len();
                if values().all(is_map_of_shares) && !names_measures && is_longer {
                    let inner = || values().flat_map(entries_of).map(|(_, value)| value);
                    let star = if path.is_empty() { "*.*".to_owned() } else { format!("{path}.*.*") };
                    // The same names below several keys are the same samples: the keys are runs.
                    let run = have_same_keys(entries).then(|| "^@key".to_owned());
                    add(star, inner().take(RECORDS_MAX).collect(), true, (run, 1), inner().count());
                } else if values().all(is_map_of_maps) && are_samples_of_runs(entries) {
                    add(root(), first(), true, (None, 1), entries.len());
                } else if values().all(is_map_of_maps) && values().all(|value| share_keys(entries_of(value))) {
                    let inner = || values().flat_map(entries_of).map(|(_, value)| value);
                    let star = if path.is_empty() { "*.*".to_owned() } else { format!("{path}.*.*") };
                    let run = have_same_keys(entries).then(|| "^@key".to_owned());
                    add(star, inner().take(RECORDS_MAX).collect(), true, (run, 1), inner().count());
                } else if share_keys(entries) {
                    add(root(), first(), true, (None, 1), entries.len());
                }
            }
            // Maps of records below several keys of several maps, as in `{"model": {"task": {"q1": 1}}}`: none of either is left out.
            let keys = keys_of_records(entries);
            if keys.len() > 1 && values().all(|map| entries_of(map).len() == keys.len()) {
                let inner =
                    || values().flat_map(entries_of).flat_map(|(_, map)| entries_of(map)).map(|(_, value)| value);
                let star = if path.is_empty() { "*.*.*".to_owned() } else { format!("{path}.*.*.*") };
                sets.push(RecordSet {
                    path: Some(star),
                    records: inner().take(RECORDS_MAX).collect(),
                    has_keys: true,
                    is_by_outcome: false,
                    run: Some("^^@key".to_owned()),
                    id: Some("^@key+@key".to_owned()),
                    size: inner().count(),
                    lists: 1,
                });
            }
            let mut add =
                |path: String, records: Vec<&'v Value>, has_keys: bool, of: (Option<String>, usize), size: usize| {
                    let (run, lists) = of;
                    sets.push(RecordSet {
                        path: Some(path),
                        records,
                        has_keys,
                        is_by_outcome: false,
                        run,
                        id: None,
                        size,
                        lists,
                    });
                };
            for key in keys {
                let maps: Vec<_> =
                    entries.iter().filter_map(|(outer, map)| Some((outer.clone(), map.get(key)?.clone()))).collect();
                let inner = || values().filter_map(|map| map.get(key)).flat_map(entries_of).map(|(_, value)| value);
                let star = format!("*.{}.*", quote(key));
                let star = if path.is_empty() { star } else { format!("{path}.{star}") };
                // The same names below several keys are the same samples: the keys are runs.
                let run = have_same_keys(&maps).then(|| "^^@key".to_owned());
                add(star, inner().take(RECORDS_MAX).collect(), true, (run, 1), inner().count());
            }
            let holds_lists = |value: &Value| {
                let lists = entries_of(value);
                !lists.is_empty() && lists.iter().all(|(_, list)| is_list_of_maps(list))
            };
            // Lists of records below two keys: none of the outer ones is left out.
            if entries.len() > 1 && values().all(holds_lists) {
                let lists = || values().flat_map(entries_of);
                let inner = || lists().flat_map(|(_, list)| items_of(list));
                let star = if path.is_empty() { "*.*[]".to_owned() } else { format!("{path}.*.*[]") };
                let is_same = name_the_same(&lists().map(|(_, list)| list).collect::<Vec<_>>());
                let are_attempts = lists().all(|(key, _)| is_attempt(key));
                let run = is_same.then(|| if are_attempts { "^@key" } else { "^@key+@key" }.to_owned());
                let count = if run.is_some() { lists().count() } else { 1 };
                add(star, inner().take(RECORDS_MAX).collect(), true, (run, count), inner().count());
            }
            if entries.len() > 1 && values().all(is_list_of_maps) {
                let inner = || values().flat_map(items_of);
                let star = if path.is_empty() { "*[]".to_owned() } else { format!("{path}.*[]") };
                // The same names below several keys are the same samples: the keys are runs.
                // Neither are the parts of a dataset one run.
                let are_splits = entries.iter().all(|(key, _)| SPLITS.contains(&plain(key).as_str()));
                let is_same = are_splits || name_the_same(&values().collect::<Vec<_>>());
                let run = is_same.then(|| "@key".to_owned());
                let lists = if run.is_some() { entries.len() } else { 1 };
                add(star, inner().take(RECORDS_MAX).collect(), true, (run, lists), inner().count());
            }
            let is_text = |item: &Value| matches!(item, Value::Text(_));
            let is_texts = |value: &Value| matches!(value, Value::List(items) if items.iter().all(is_text));
            if values().all(is_texts) && entries.iter().filter(|(key, _)| names_outcome(key)).count() > 1 {
                let inner = || values().flat_map(items_of);
                let star = if path.is_empty() { "*[]".to_owned() } else { format!("{path}.*[]") };
                add(star, inner().take(RECORDS_MAX).collect(), true, (None, 1), inner().count());
            }
            // Pairs of a number and a record, as in `{"0": [[0, {"passed": true}], [1, {…}]]}`.
            if entries.len() > 1
                && let Some(place) = place_of_maps(entries)
            {
                let inner = || values().flat_map(items_of).filter_map(move |tuple| items_of(tuple).get(place));
                let star = if path.is_empty() { format!("*[][{place}]") } else { format!("{path}.*[][{place}]") };
                add(star, inner().take(RECORDS_MAX).collect(), true, (None, 1), inner().count());
            }
            // More scores below each key than there are keys, and as many below each: the keys are runs.
            let length = items_of(&entries[0].1).len();
            if entries.len() > 1
                && length > entries.len()
                && values().all(|value| is_list_of_shares(value) && items_of(value).len() == length)
            {
                let inner = || values().flat_map(items_of);
                let star = if path.is_empty() { "*[]".to_owned() } else { format!("{path}.*[]") };
                let of = (Some("@key".to_owned()), entries.len());
                add(star, inner().take(RECORDS_MAX).collect(), false, of, inner().count());
            }
            if entries.len() > 2 && values().all(is_share) || entries.len() > 1 && values().all(is_list_of_shares) {
                add(root(), first(), true, (None, 1), entries.len());
            }
            let run = run_of(std::slice::from_ref(value)).map(|path| format!("^{path}"));
            for (key, inner) in entries.iter().take(100) {
                // From a record in a list, `^` leads to the map around the list, which is this one.
                search(inner, &below(key), run.as_deref(), depth + 1, sets);
            }
        }
        _ => {}
    }
}

/// What the parts of a dataset are called.
const SPLITS: [&str; 8] = ["train", "training", "dev", "val", "valid", "validation", "test", "testing"];

/// True for a key that is an outcome: `passed`, `resolved_ids`.
fn names_outcome(key: &str) -> bool {
    is_share(&Value::from(key.trim_end_matches("ids").trim_end_matches(['_', ' '])))
}

/// The keys under which each of these maps has a map of records.
fn keys_of_records(maps: &[(std::sync::Arc<str>, Value)]) -> Vec<&str> {
    let Some((_, Value::Map(first))) = maps.first().filter(|_| maps.len() > 1) else { return Vec::new() };
    let holds_records = |map: &Value| {
        let records = entries_of(map);
        let are_maps = records.iter().all(|(_, record)| is_map(record)) && share_keys(records);
        records.len() > 1 && (are_maps || records.len() > 2 && records.iter().all(|(_, record)| is_share(record)))
    };
    let is_in_all = |key: &&str| maps.iter().all(|(_, map)| map.get(key).is_some_and(holds_records));
    first.iter().map(|(key, _)| &**key).filter(is_in_all).collect()
}

/// True when a key names each record of a list, and the records of two lists alike.
fn name_the_same(lists: &[&Value]) -> bool {
    let first = lists.first().map_or(&[][..], |list| items_of(list)).first().map_or(&[][..], entries_of);
    first.iter().take(LEAVES_MAX).any(|(key, _)| {
        let is_name = |value: &&Value| matches!(value, Value::Text(_) | Value::Int(_));
        let mut known: HashSet<String> = HashSet::new();
        let mut is_shared = false;
        let is_named = lists.iter().all(|list| {
            let items = items_of(list);
            let names: HashSet<String> =
                items.iter().filter_map(|item| item.get(key)).filter(is_name).map(ToString::to_string).collect();
            is_shared |= names.iter().any(|name| known.contains(name));
            let is_unique = names.len() == items.len();
            known.extend(names);
            is_unique
        });
        // A list of one record says nothing about what names records.
        is_named && is_shared && lists.iter().any(|list| items_of(list).len() > 1)
    })
}

/// Where each of these maps says what was tried: `model`, `config.model`.
fn run_of(items: &[Value]) -> Option<String> {
    let is_in_all = |path: &[&str]| {
        let found =
            |item: &Value| path.iter().try_fold(item, |value, key| value.get(key)).is_some_and(Value::is_scalar);
        items.iter().take(RECORDS_MAX).all(found)
    };
    let entries = entries_of(items.first()?);
    let plain = RUNS.iter().find(|name| is_in_all(&[name])).map(|name| quote(name));
    plain.or_else(|| {
        let maps = entries.iter().filter(|(_, value)| is_map(value)).take(20);
        maps.flat_map(|(outer, _)| RUNS.iter().map(move |name| [&**outer, *name]))
            .find(|path| is_in_all(path))
            .map(|[outer, name]| format!("{}.{name}", quote(outer)))
    })
}

/// True when these maps have lists of the same samples, which have ids: then each is a run.
fn are_runs(items: &[Value]) -> bool {
    let Some(Value::Map(first)) = items.first() else { return false };
    let has_ids = |list: &Value| {
        items_of(list).first().is_some_and(|item| entries_of(item).iter().any(|(key, _)| is_id_name(key)))
    };
    first.iter().filter(|(_, value)| is_list_of_maps(value) && has_ids(value)).any(|(key, _)| {
        let lists: Vec<&Value> = items.iter().take(RECORDS_MAX).filter_map(|item| item.get(key)).collect();
        lists.len() == items.len().min(RECORDS_MAX) && name_the_same(&lists)
    })
}

/// The key under which each of these maps has another name.
fn name_of(items: &[Value]) -> Option<String> {
    let is_name = |value: &&Value| matches!(value, Value::Text(_) | Value::Int(_));
    let names = entries_of(items.first()?).iter().filter(|(_, value)| is_name(&value));
    let is_telling = |key: &str| {
        let texts = items.iter().filter_map(|item| item.get(key)).filter(is_name);
        texts.map(ToString::to_string).collect::<HashSet<_>>().len() == items.len()
    };
    names.map(|(key, _)| key).find(|key| is_telling(key)).map(|key| quote(key))
}

/// Lists of records in the maps of a list: `runs[].results`.
fn search_items<'v>(items: &'v [Value], path: &str, depth: usize, sets: &mut Vec<RecordSet<'v>>) {
    let Some(Value::Map(entries)) = items.first() else { return };
    for (key, _) in entries {
        let lists = || items.iter().filter_map(|item| item.get(key));
        // A list of attempts is short; records are more than the maps that hold them, and have names.
        if depth < DEPTH_MAX && lists().all(is_list_of_maps) && lists().count() == items.len() {
            let records = || lists().flat_map(items_of);
            // In each list, a text or a number names the record.
            let is_named = |list: &Value, key: &str| {
                let names = items_of(list).iter().filter_map(|record| record.get(key));
                let names = names.filter(|name| matches!(name, Value::Text(_) | Value::Int(_)));
                let distinct: HashSet<String> = names.map(ToString::to_string).collect();
                distinct.len() == items_of(list).len()
            };
            let first = lists().next().map_or(&[][..], items_of).first().map_or(&[][..], entries_of);
            // Named parts of a sample, such as the criteria of a rubric, are no samples.
            let is_part_name = |(key, _): &(std::sync::Arc<str>, Value)| {
                NAMES_OF_ITEMS.contains(&&**key) && lists().take(RECORDS_MAX).all(|list| is_named(list, key))
            };
            if have_ids(items) && first.iter().any(is_part_name) && !first.iter().any(|(key, _)| is_id_name(key)) {
                continue;
            }
            let has_id = first.iter().any(|(key, _)| lists().take(RECORDS_MAX).all(|list| is_named(list, key)));
            if records().count() > items.len() && has_id {
                let same = || lists().take(RECORDS_MAX).collect::<Vec<_>>();
                let run = run_of(items).or_else(|| name_the_same(&same()).then(|| name_of(items)).flatten());
                sets.push(RecordSet {
                    path: Some(if path.is_empty() { quote(key) } else { format!("{path}[].{}", quote(key)) }),
                    records: records().take(RECORDS_MAX).collect(),
                    has_keys: false,
                    is_by_outcome: false,
                    id: None,
                    run: run.map(|path| format!("^{path}")),
                    size: records().count(),
                    lists: items.len(),
                });
            }
        }
    }
}

/// True when each item has an id of its own, and nothing names what was tried.
fn have_ids(items: &[Value]) -> bool {
    let Some(Value::Map(first)) = items.first() else { return false };
    let is_unique = |key: &str| {
        let ids: Option<HashSet<String>> = items.iter().map(|item| item.get(key).map(ToString::to_string)).collect();
        ids.is_some_and(|ids| ids.len() == items.len())
    };
    let names_runs = first.iter().any(|(key, _)| RUNS.contains(&&**key));
    !names_runs && first.iter().any(|(key, _)| is_id_name(key) && is_unique(key))
}

fn is_id_name(key: &str) -> bool {
    let name = plain(key);
    matches!(name.as_str(), "id" | "sampleid") || IDS.iter().any(|known| plain(known) == name)
}

/// True for a name that a score may have.
fn is_measure_name(name: &str) -> bool {
    let name = plain(name);
    SOUNDS.iter().any(|sound| name.contains(sound)) || name == "ok" || SCORES.iter().any(|known| plain(known) == name)
}

fn is_map(value: &Value) -> bool {
    matches!(value, Value::Map(_))
}

fn entries_of(value: &Value) -> &[(std::sync::Arc<str>, Value)] {
    match value {
        Value::Map(entries) => entries,
        _ => &[],
    }
}

fn items_of(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        _ => &[],
    }
}

fn is_map_of_maps(value: &Value) -> bool {
    matches!(value, Value::Map(entries) if entries.len() > 1 && entries.iter().all(|(_, value)| is_map(value)))
}

/// True when each map has the same few keys, fewer than there are maps: the maps are samples, and their keys runs.
fn are_samples_of_runs(maps: &[(std::sync::Arc<str>, Value)]) -> bool {
    let Some((_, first)) = maps.first() else { return false };
    let runs = entries_of(first);
    let has_all =
        |map: &Value| entries_of(map).len() == runs.len() && runs.iter().all(|(key, _)| map.get(key).is_some());
    runs.len() < maps.len() && maps.iter().all(|(_, map)| has_all(map) && share_keys(entries_of(map)))
}

/// True when two of these maps have a key in common.
fn have_same_keys(maps: &[(std::sync::Arc<str>, Value)]) -> bool {
    let mut known: HashSet<&str> = HashSet::new();
    maps.iter().flat_map(|(_, map)| entries_of(map)).any(|(key, _)| !known.insert(key))
}

fn is_list_of_maps(value: &Value) -> bool {
    matches!(value, Value::List(items) if !items.is_empty() && items.iter().all(is_map))
}

fn is_list_of_shares(value: &Value) -> bool {
    matches!(value, Value::List(items) if !items.is_empty() && items.iter().all(is_share))
}

/// The place in lists of tuples where each tuple has its only map.
fn place_of_maps(entries: &[(std::sync::Arc<str>, Value)]) -> Option<usize> {
    let tuples = || entries.iter().flat_map(|(_, value)| items_of(value));
    let place = items_of(tuples().next()?).iter().position(is_map)?;
    let is_tuple = |tuple: &Value| {
        let items = items_of(tuple);
        items.len() > 1 && items.get(place).is_some_and(is_map) && items.iter().filter(|item| is_map(item)).count() == 1
    };
    let is_list = |value: &Value| matches!(value, Value::List(items) if !items.is_empty());
    (entries.iter().all(|(_, value)| is_list(value)) && tuples().all(is_tuple)).then_some(place)
}

fn is_map_of_shares(value: &Value) -> bool {
    matches!(value, Value::Map(entries) if entries.len() > 1 && entries.iter().all(|(_, value)| is_share(value)))
}

/// True when maps look like records: the first has a key that the others have too.
fn share_keys(entries: &[(std::sync::Arc<str>, Value)]) -> bool {
    let Some((_, first)) = entries.first() else { return false };
    entries_of(first).iter().any(|(key, _)| {
        let having = entries.iter().filter(|(_, record)| record.get(key).is_some()).count();
        2 * having > entries.len()
    })
}

/// True for what a score is in most tables: yes or no, or a share.
fn is_share(value: &Value) -> bool {
    if let Value::Text(text) = value
        && let Some(number) = comma_number(text)
    {
        return (0.0..=1.0).contains(&number);
    }
    match value {
        Value::Bool(_) | Value::Null | Value::Missing => true,
        Value::Int(_) | Value::Float(_) => value.as_number().is_some_and(|x| (0.0..=1.0).contains(&x)),
        Value::Text(text) => {
            let text = text.trim();
            text.is_empty()
                || calipers_core::Labels::default().to_float(value).is_some_and(|x| (0.0..=1.0).contains(&x))
                || text.ends_with('%')
        }
        _ => false,
    }
}

/// A number with a decimal comma, as spreadsheets write it.
fn comma_number(text: &str) -> Option<f64> {
    let (whole, decimals) = text.trim().split_once(',')?;
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = is_digits(whole.trim_start_matches('-')) && is_digits(decimals);
    is_number.then(|| number(&format!("{whole}.{decimals}"))).flatten()
}

fn is_number(value: &Value) -> bool {
    match value {
        Value::Text(text) => {
            text.trim().is_empty()
                || number(text).is_some()
                || comma_number(text).is_some()
                || text.trim().ends_with('%')
        }
        Value::Int(_) | Value::Float(_) | Value::Null | Value::Missing => true,
        _ => false,
    }
}

/// The leaves of records by their paths, in the order in which they first appear.
fn leaves<'v>(records: &[&'v Value]) -> IndexMap<String, RecordLeaf<'v>> {
    let mut leaves = IndexMap::new();
    let width = records.first().map_or(0, |record| items_of(record).len());
    let is_row = |record: &&&Value| {
        let cells = items_of(record);
        cells.len() == width && cells.iter().all(Value::is_scalar)
    };
    // Rows that are lists: each place is a column if they do not all hold the same kind of value.
    let has_names = records.first().is_some_and(|record| matches!(items_of(record).first(), Some(Value::Text(_))));
    let are_rows = width > 1
        && records.len() > 1
        && (has_names || are_numbered(records))
        && records.iter().all(|record| is_row(&record));
    for (place, record) in records.iter().enumerate() {
        if are_rows {
            for (cell, value) in items_of(record).iter().enumerate() {
                add_leaves(value, &format!("@value[{cell}]"), place, 0, false, &mut leaves);
            }
            continue;
        }
        if matches!(record, Value::List(_)) || record.is_scalar() && records.len() == 1 {
            add_leaves(record, "@value", place, 0, false, &mut leaves);
        }
        for (key, value) in entries_of(record) {
            add_leaves(value, &quote(key), place, 0, false, &mut leaves);
        }
    }
    leaves
}

/// True for lists that begin with another whole number each, and hold outcomes behind it: the number names the sample.
fn are_numbered(records: &[&Value]) -> bool {
    const RECORDS_MIN: usize = 3;
    let numbers: HashSet<String> = records
        .iter()
        .filter_map(|record| items_of(record).first())
        .filter(|value| matches!(value, Value::Int(_)))
        .map(ToString::to_string)
        .collect();
    let has_outcomes = |record: &&Value| items_of(record).iter().skip(1).all(is_share);
    records.len() >= RECORDS_MIN && numbers.len() == records.len() && records.iter().all(has_outcomes)
}

fn add_leaves<'v>(
    value: &'v Value,
    path: &str,
    record: usize,
    depth: usize,
    has_list: bool,
    leaves: &mut IndexMap<String, RecordLeaf<'v>>,
) {
    if depth > DEPTH_MAX || leaves.len() > LEAVES_MAX {
        return;
    }
    match value {
        Value::Map(entries) => {
            for (key, inner) in entries {
                add_leaves(inner, &format!("{path}.{}", quote(key)), record, depth + 1, has_list, leaves);
            }
        }
        Value::List(items) if !has_list => {
            for item in items.iter().take(ITEMS_MAX) {
                add_leaves(item, &format!("{path}[]"), record, depth + 1, true, leaves);
            }
        }
        // Of a list of lists, the first items may be the outcomes.
        Value::List(items) => {
            if let Some(first) = items.first() {
                add_leaves(first, &format!("{path}[0]"), record, depth + 1, true, leaves);
            }
        }
        plain => {
            let leaf = leaves.entry(path.to_owned()).or_default();
            leaf.values.push(plain);
            if leaf.records == 0 || leaf.last != record {
                leaf.records += 1;
                leaf.last = record;
            }
            (leaf.depth, leaf.has_list) = (depth, has_list);
        }
    }
}

/// Texts in documents that hold maps, taken apart for the survey: paths lead into them.
pub(crate) fn unfold_texts(value: Value) -> Value {
    match value {
        Value::Text(text) if text.starts_with('{') && text.trim_end().ends_with('}') => {
            crate::formats::parse_embedded(&text).unwrap_or(Value::Text(text))
        }
        Value::List(items) => Value::List(items.iter().cloned().map(unfold_texts).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), unfold_texts(value.clone()))).collect())
        }
        other => other,
    }
}

/// Cells of tables that hold lists or maps, taken apart for the survey.
pub(crate) fn unfold_cells(record: Value) -> Value {
    let unfold = |value: Value| match &value {
        Value::Text(text) if text.starts_with(['{', '[']) => {
            crate::formats::parse_embedded(text).or_else(|| python_literal::parse(text)).unwrap_or(value)
        }
        _ => value,
    };
    match record {
        Value::Map(entries) => Value::Map(entries.into_iter().map(|(name, value)| (name, unfold(value))).collect()),
        other => other,
    }
}

/// The last name of a path.
fn last_name(path: &str) -> &str {
    let path = path.trim_end_matches("[0]").trim_end_matches("[]");
    // A name in quotes may hold dots: `claude-3.5`.
    if let Some(start) = path.strip_suffix('"').and_then(|path| path.rfind('"')) {
        return &path[start + 1..path.len() - 1];
    }
    path.rsplit(['.', ']']).next().unwrap_or(path)
}

/// What looks like the id of records.
enum IdGuess {
    /// This column, or several joined ones.
    Path(String),
    /// Each record is about something that was tried, such as a model, and none about a sample.
    Runs,
}

/// What looks like the id: a path whose values all differ, or do so for each model and each attempt, or one with a well-known
/// name; or else two paths whose values differ together.
fn id_of_records(leaves: &IndexMap<String, RecordLeaf<'_>>, set: &RecordSet<'_>) -> Option<IdGuess> {
    let is_everywhere = |leaf: &RecordLeaf<'_>| {
        let is_once = leaf.records == set.records.len() && leaf.values.len() == set.records.len();
        !leaf.has_list && is_once && leaf.values.iter().all(|value| is_name(value))
    };
    let named: Vec<(&String, &RecordLeaf<'_>)> = leaves.iter().filter(|(_, leaf)| is_everywhere(leaf)).collect();
    // What tells records of one sample apart.
    let is_key = |path: &str| {
        let name = last_name(path);
        let is_kind = || has_plain_value(leaves) && KINDS.iter().any(|known| is_spelt_like(name, known));
        let is_known = RUNS.iter().chain(&SCORERS).chain(&RATERS).any(|known| is_spelt_like(name, known));
        is_known || is_attempt(name) || is_kind()
    };
    let keys: Vec<&RecordLeaf<'_>> = named.iter().filter(|(path, _)| is_key(path)).map(|(_, leaf)| *leaf).collect();
    let are_unique = |columns: &[&RecordLeaf<'_>]| {
        let row = |place: usize| columns.iter().map(|leaf| leaf.values[place].to_string()).collect::<Vec<_>>();
        (0..set.records.len()).map(row).collect::<HashSet<_>>().len() == set.records.len()
    };
    let with_keys = |columns: &[&RecordLeaf<'_>]| {
        let all: Vec<&RecordLeaf<'_>> = columns.iter().chain(&keys).copied().collect();
        !keys.is_empty() && !set.has_keys && are_unique(&all)
    };
    let is_named_so = |name: &str| {
        const WORDS: [&str; 11] =
            ["name", "task", "question", "prompt", "problem", "instance", "case", "idx", "index", "key", "query"];
        WORDS.iter().any(|word| name.contains(word))
    };
    let mut best: Option<((u8, usize), &String)> = None;
    for (path, leaf) in &named {
        let distinct: HashSet<String> = leaf.values.iter().map(ToString::to_string).collect();
        // The same names may be in each of several lists.
        let is_unique = distinct.len() * set.lists >= leaf.values.len();
        let name = plain(last_name(path));
        let is_known = name == "id" || IDS.iter().any(|known| plain(known) == name);
        let is_run = RUNS.iter().any(|known| plain(known) == name);
        let ends_in_id = last_name(path).to_lowercase().ends_with("id");
        let is_text = matches!(leaf.values.first(), Some(Value::Text(text)) if number(text).is_none());
        let rank = match () {
            () if is_known && is_unique => 0,
            () if is_known && distinct.len() > 1 => 1,
            // What each model was asked once names the sample, and not what is another in each row.
            () if !is_unique && !is_key(path) && is_named_so(&name) && distinct.len() > 1 && with_keys(&[leaf]) => 1,
            () if is_unique && ends_in_id && !set.has_keys => 2,
            () if is_unique && set.size == 1 => continue,
            // Rows by step are the history of a run, and no samples.
            () if is_unique && is_step(last_name(path)) => 2,
            // What was tried is no sample.
            () if is_unique && (is_run || METRICS.iter().any(|known| plain(known) == name)) && !set.has_keys => 9,
            () if is_unique && !set.has_keys && is_named_so(&name) => 3,
            // Any text whose values differ names its record; a number may be a measurement.
            () if is_unique && !set.has_keys && is_text => 4,
            () if is_measure_name(last_name(path)) => continue,
            () if is_unique && !set.has_keys => 5,
            // Each model and each attempt has the sample once.
            () if is_key(path) || distinct.len() < 2 => continue,
            () if with_keys(&[leaf]) && is_named_so(&name) => 3,
            () if with_keys(&[leaf]) && is_text => 4,
            () if with_keys(&[leaf]) => 5,
            // Turns of a conversation or rows of a document share the id of what they belong to.
            () if last_name(path).to_lowercase().ends_with("_id") && !set.has_keys => 6,
            () => continue,
        };
        if best.is_none_or(|(known, _)| (rank, leaf.depth) < known) {
            best = Some(((rank, leaf.depth), path));
        }
    }
    // What names all records but a few, in which it is empty: these are no samples, or have no name.
    if best.is_none() && !set.has_keys && set.size > 1 {
        best =
            leaves.iter().find(|(path, leaf)| !is_key(path) && names_most(leaf, set)).map(|(path, _)| ((4, 0), path));
    }
    match best {
        Some(((9, _), _)) if set.records.len() > 1 => Some(IdGuess::Runs),
        Some((_, path)) if is_step(last_name(path)) && set.records.len() > 1 => Some(IdGuess::Runs),
        Some((_, path)) => Some(IdGuess::Path(path.clone())),
        None if set.has_keys || set.size == 1 => None,
        None => {
            let parts = named.iter().filter(|(path, _)| !is_key(path) && !is_measure_name(last_name(path))).take(8);
            let parts: Vec<&(&String, &RecordLeaf<'_>)> = parts.collect();
            let pairs = parts
                .iter()
                .enumerate()
                .flat_map(|(at, first)| parts[at + 1..].iter().map(move |second| [*first, *second]));
            let fits = |pair: &[&(&String, &RecordLeaf<'_>); 2]| {
                let leaves = [pair[0].1, pair[1].1];
                (keys.is_empty() && are_unique(&leaves)) || with_keys(&leaves)
            };
            pairs.into_iter().find(fits).map(|pair| IdGuess::Path(format!("{}+{}", pair[0].0, pair[1].0)))
        }
    }
}

/// True for a column that names all records but a few, each by another text, and is empty in those.
fn names_most(leaf: &RecordLeaf<'_>, set: &RecordSet<'_>) -> bool {
    let is_empty = |value: &&&Value| match value {
        Value::Null | Value::Missing => true,
        Value::Text(text) => text.trim().is_empty(),
        _ => false,
    };
    let given: Vec<&&Value> = leaf.values.iter().filter(|value| !is_empty(value)).collect();
    let distinct: HashSet<String> = given.iter().map(ToString::to_string).collect();
    let are_texts = given.iter().all(|value| matches!(value, Value::Text(text) if number(text).is_none()));
    let few = (set.records.len() / 3).max(1);
    !leaf.has_list
        && are_texts
        && given.len() > 2
        && distinct.len() == given.len()
        && given.len() < set.records.len()
        && given.len() + few >= set.records.len()
}

/// True for what can name a record: a text or a whole number.
fn is_name(value: &Value) -> bool {
    match value {
        Value::Int(_) => true,
        Value::Text(text) => !text.trim().is_empty() && number(text).is_none_or(|number| number.fract() == 0.0),
        _ => false,
    }
}

/// A leaf that may be the score.
struct ScoreLeaf {
    path: String,
    name: String,
    /// The smaller, the more it looks like one.
    rank: (u8, u8, bool, usize),
}

/// Parts of the names of scores.
const SOUNDS: [&str; 36] = [
    "ground",
    "helpful",
    "coheren",
    "fluen",
    "quality",
    "prefer",
    "score",
    "correct",
    "pass",
    "success",
    "acc",
    "reward",
    "resolved",
    "solved",
    "grade",
    "broken",
    "win",
    "valid",
    "rating",
    "verdict",
    "judg",
    "match",
    "outcome",
    "status",
    "result",
    "f1",
    "bleu",
    "rouge",
    "faithful",
    "relevan",
    "precision",
    "recall",
    "complian",
    "safe",
    "label",
    "eval",
];

/// True for a path that begins with a number.
fn is_number_key(path: &str) -> bool {
    let first = path.trim_matches('"').split(['.', '[', '"']).next().unwrap_or_default();
    !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit())
}

/// Names of columns that count what others are a part of.
const TOTALS: [&str; 17] = [
    "total",
    "n",
    "count",
    "num",
    "totalcount",
    "nsamples",
    "numsamples",
    "size",
    "ntotal",
    "attempts",
    "numattempts",
    "nattempts",
    "trials",
    "numtrials",
    "ntrials",
    "tries",
    "numtries",
];

/// Names of columns that count what did not succeed, beside those that did.
const RESTS: [&str; 9] =
    ["failed", "fail", "failures", "failedcount", "incorrect", "wrong", "unresolved", "unsolved", "losses"];

/// Names of columns that measure or count something else than how well it went.
const OTHERS: [&str; 28] = [
    "step",
    "turn",
    "round",
    "fold",
    "timestep",
    "nfiles",
    "ntests",
    "steps",
    "numsteps",
    "turns",
    "numturns",
    "tokens",
    "attempts",
    "tries",
    "retries",
    "level",
    "difficulty",
    "length",
    "size",
    "seed",
    "index",
    "idx",
    "epoch",
    "duration",
    "elapsed",
    "latency",
    "cost",
    "count",
];

/// Words in the names of columns that say when something happened.
const MOMENTS: [&str; 10] =
    ["start", "end", "time", "timestamp", "tstamp", "date", "created", "updated", "started", "ended"];

/// True for the name of a judge or another rater.
fn is_rater(name: &str) -> bool {
    RATERS.iter().any(|known| is_spelt_like(name, known))
}

/// True for a name that only figures have, which sum up samples: an error, or how many samples there were.
fn is_of_figure(name: &str) -> bool {
    const WORDS: [&str; 8] = ["stderr", "std", "stdev", "stddev", "sem", "variance", "ci", "confidenceinterval"];
    let name_plain = plain(name);
    TOTALS.contains(&name_plain.as_str())
        || WORDS.contains(&name_plain.as_str())
        || words_of(name).iter().any(|word| word == "stderr")
}

/// True for counts beside a column with their totals: such a row is a summary of samples, and no sample.
fn is_count_of_total(leaf: &RecordLeaf<'_>, leaves: &IndexMap<String, RecordLeaf<'_>>) -> bool {
    let count = |value: &Value| match value {
        Value::Text(text) => number(text),
        other => other.as_number(),
    };
    let is_whole = |value: &Value| count(value).is_some_and(|count| count >= 0.0 && count.fract() == 0.0);
    let is_part = |total: &RecordLeaf<'_>| {
        let pairs = || leaf.values.iter().zip(&total.values).map(|(part, total)| (count(part), count(total)));
        let is_within = |(part, total): (Option<f64>, Option<f64>)| match (part, total) {
            (Some(part), Some(total)) => part.fract() == 0.0 && total.fract() == 0.0 && (0.0..=total).contains(&part),
            _ => false,
        };
        leaf.values.len() == total.values.len() && pairs().all(is_within) && pairs().any(|(part, _)| part > Some(1.0))
    };
    leaves.iter().any(|(path, other)| {
        let name = plain(last_name(path));
        let is_total = TOTALS.contains(&name.as_str()) || name.contains("total");
        let is_rest = RESTS.contains(&name.as_str());
        let is_tally = || is_rest && [leaf, other].iter().all(|leaf| leaf.values.iter().all(|value| is_whole(value)));
        !std::ptr::eq(leaf, other)
            && (is_total && is_part(other) || is_tally() && leaf.values.iter().any(|value| count(value) > Some(1.0)))
    })
}

/// True for a text that may be a label: what is longer was said by someone.
fn is_word(value: &&Value) -> bool {
    const WORD_MAX: usize = 40;
    matches!(value, Value::Text(text) if text.len() <= WORD_MAX && !text.contains('\n'))
}

/// The leaves that look like scores, the best first.
fn scores(leaves: &IndexMap<String, RecordLeaf<'_>>, id: Option<&str>) -> Vec<ScoreLeaf> {
    let mut found = Vec::new();
    for (path, leaf) in leaves {
        let name = last_name(path);
        let plain_name = plain(name);
        let is_known = matches!(plain_name.as_str(), "score" | "value" | "correct" | "passed")
            || SCORES.iter().any(|known| plain(known) == plain_name);
        // Short ones stand in other words too: `follow_instruction`.
        let is_heard = |sound: &&str| match sound.len() {
            ..=3 => words_of(name).iter().any(|word| word.starts_with(*sound)),
            _ => plain_name.contains(*sound),
        };
        let sounds = SOUNDS.iter().any(is_heard);
        let is_ok = plain_name == "ok" || plain_name == "r";
        let by_name = match () {
            () if is_known => 0,
            () if sounds || is_ok || is_numbered_rater(name) => 1,
            () => 2,
        };
        let some = || leaf.values.iter().filter(|value| !value.is_missing() && !matches!(value, Value::Null));
        let distinct: HashSet<String> = some().map(ToString::to_string).take(12).collect();
        let has_text = some().any(|value| matches!(value, Value::Text(text) if number(text).is_none()));
        let by_value = match () {
            () if distinct.is_empty() || Some(path.as_str()) == id => continue,
            // The key of a map of samples is none of their columns.
            () if leaf.has_list
                && path.starts_with(|first: char| first.is_ascii_digit() || first == '"')
                && is_number_key(path) =>
            {
                continue;
            }
            // A status that is always the same says that the program ran.
            () if plain_name == "status" && distinct.len() == 1 && leaves.len() > 2 => continue,
            // A moment is no measure of how well it went, and a word that names a model is none either.
            () if by_name == 2 && words_of(name).iter().any(|word| MOMENTS.contains(&word.as_str())) => continue,
            () if by_name == 2 && words_of(name).iter().any(|word| word == "model") && has_text => continue,
            // How well a search engine's record fits the search, and how a server answered.
            () if name == "_score" && leaves.keys().any(|path| path.starts_with("_source.")) => continue,
            () if plain_name == "statuscode" || plain_name == "httpstatus" => continue,
            () if leaf.has_list && matches!(plain_name.as_str(), "index" | "idx" | "position" | "order") => continue,
            // Who did it, and the number of something, are no measures.
            () if by_name == 2
                && words_of(name).len() > 1
                && words_of(name).last().is_some_and(|word| word == "by" || word == "id") =>
            {
                continue;
            }
            // A word that names who judged is no judgement.
            () if is_rater(name) && some().any(|value| matches!(value, Value::Text(_)) && !is_share(value)) => continue,
            () if is_count_of_total(leaf, leaves) => continue,
            // A list of that name holds what happened in each, and no count.
            () if by_name == 2
                && !leaf.has_list
                && [&OTHERS[..], &TOTALS].iter().any(|names| names.contains(&plain_name.as_str())) =>
            {
                continue;
            }
            () if leaf.values.iter().all(|value| is_share(value)) => 0,
            () if by_name < 2 && leaf.values.iter().all(|value| is_number(value)) => 1,
            // A few words are labels that can be given numbers.
            () if by_name < 2 && distinct.len() <= 8 && some().all(is_word) => {
                // In a list, words that are all different are names.
                if leaf.has_list && leaf.values.len() > 2 && distinct.len() == leaf.values.len() {
                    continue;
                }
                2
            }
            () => continue,
        };
        let name = if plain_name.is_empty() { "score" } else { name };
        let rank = (by_name, by_value, leaf.has_list, leaf.depth);
        found.push(ScoreLeaf { path: path.clone(), name: name.to_owned(), rank });
    }
    // Columns that say nothing of scores are those of models, or a score among other numbers: then it is the one that is true or
    // false.
    let are_all = |leaf: &ScoreLeaf, is_so: fn(&Value) -> bool| {
        leaf.rank.0 == 2 && leaves.get(&leaf.path).is_some_and(|leaf| leaf.values.iter().all(|value| is_so(value)))
    };
    if found.iter().any(|leaf| are_all(leaf, is_truth)) {
        found.retain(|leaf| leaf.rank.0 < 2 || are_all(leaf, is_truth) || are_all(leaf, is_mark));
    }
    // Words whose numbers are not known come last, unless the others say nothing of scores.
    found.sort_by_key(|leaf| {
        let is_last = leaf.rank.1 == 2 && !names_winner(&leaf.name);
        (is_last, leaf.rank)
    });
    found
}

/// True for the name of a column that says which of two was better.
fn names_winner(name: &str) -> bool {
    const WORDS: [&str; 4] = ["winner", "preferred", "preference", "verdict"];
    words_of(name).iter().any(|word| WORDS.contains(&word.as_str()))
}

/// True for one of several raters: `rater1`, `annotator_2`.
fn is_numbered_rater(name: &str) -> bool {
    const WORDS: [&str; 9] =
        ["rater", "annotator", "judge", "reviewer", "labeler", "labeller", "grader", "assessor", "human"];
    name.ends_with(|last: char| last.is_ascii_digit())
        && matches!(&words_of(name)[..], [word] if WORDS.contains(&word.as_str()))
}

fn is_truth(value: &Value) -> bool {
    match value {
        Value::Bool(_) => true,
        Value::Text(text) => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"),
        _ => false,
    }
}

/// True for 0 and 1.
fn is_mark(value: &Value) -> bool {
    let mark = match value {
        Value::Text(text) => number(text),
        other => other.as_number(),
    };
    matches!(mark, Some(mark) if mark == 0.0 || mark == 1.0)
}
