//! What a history keeps of a run: its report, how every case ended, and fingerprints of what was asked and how it was judged.
//!
//! A case is a sample of a suite: what is asked, whatever the run. Two runs can be compared case by case only as far as they ask the
//! same, so each case has a fingerprint of its content, and so has the set of all.

use crate::sample_outcomes::{count_endings, sample_endings};
use crate::score::{ScoreOptions, score_file};
use crate::{LoadedFile, RunError, Selection, load};
use calipers_core::{Completeness, OutcomeCounts, Record, RunReport, Samples, Shards, Value};
use calipers_io::{AttemptTexts, CONTENT, RecordedRun, Source, fingerprint};
use calipers_render::page::PassBasis;
use std::borrow::Cow;

pub use crate::sample_outcomes::SampleEnding;

/// What a history keeps of a run.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Its metrics: the same values as of [`score`](crate::score::score()).
    pub report: RunReport,
    /// What decides whether a sample passed.
    pub pass_basis: PassBasis,
    /// Its samples by outcome.
    pub counts: OutcomeCounts,
    /// How each case ended, sorted by name.
    pub cases: Vec<CaseSummary>,
    /// The fingerprint of the names and contents of all cases.
    pub case_set: String,
    /// The fingerprint of the scorers with their options, and of the reducers.
    pub scorers: String,
    /// What was read beside what the log announces; none where it announces nothing.
    pub completeness: Option<Completeness>,
}

/// A case in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseSummary {
    /// How it ended.
    pub ending: SampleEnding,
    /// The fingerprint of what is asked and expected; none where the file does not say it.
    pub content: Option<u64>,
}

/// The summaries of the runs in a file.
///
/// Cost: the file is read once, with the columns that its metrics and outcomes need.
///
/// ```
/// use calipers::Selection;
/// use calipers::io::Source;
/// use calipers::summary::summarize;
///
/// let lines = r#"{"id": "a", "score": "C", "input": "2 + 2?"}
/// {"id": "b", "score": "I", "input": "2 + 3?"}"#;
/// let other = lines.replace("2 + 3?", "2 + 4?");
/// let of = |lines: &str| summarize(&Source::bytes("results.jsonl", lines.as_bytes()), &Selection::default());
/// let (one, two) = (of(lines)?.remove(0), of(&other)?.remove(0));
/// assert_eq!((one.counts.passed, one.counts.failed), (1, 1));
/// // The second case asks something else.
/// assert_ne!(one.case_set, two.case_set);
/// assert_eq!(one.cases[0], two.cases[0]);
/// # Ok::<(), calipers::RunError>(())
/// ```
pub fn summarize(source: &Source, selection: &Selection) -> Result<Vec<RunSummary>, RunError> {
    let options = ScoreOptions::default();
    let selection = selection.with_sources([source.clone()]);
    let needs = options.needs(&selection).for_summary();
    let mut summaries = Vec::new();
    for file in load(&selection, &needs) {
        let file = file?;
        let runs = file.runs.into_iter().map(|run| run.map_samples(|samples| Shards::from(samples.into_whole())));
        let file = LoadedFile { runs: runs.collect(), source: file.source };
        let parts = file.runs.iter().map(|run| RunParts::of(run, &selection)).collect::<Result<Vec<_>, _>>()?;
        let reports = score_file(file, &selection, &options)?;
        summaries.extend(reports.into_iter().zip(parts).map(|(report, parts)| parts.with(report)));
    }
    Ok(summaries)
}

/// A summary without its report.
struct RunParts {
    pass_basis: PassBasis,
    cases: Vec<CaseSummary>,
    scorers: String,
    completeness: Option<Completeness>,
}

impl RunParts {
    fn of(run: &RecordedRun<Shards>, selection: &Selection) -> Result<Self, RunError> {
        let context = selection.context()?;
        let (mut cases, mut pass_basis) = (Vec::new(), PassBasis::Nothing);
        for samples in run.samples.iter() {
            let mut contents = Vec::with_capacity(samples.len());
            let endings = sample_endings(samples, &context, |record| contents.push(content(record)));
            let (basis, endings) = endings.map_err(RunError::in_source(&run.source))?;
            pass_basis = basis;
            cases.extend(endings.into_iter().zip(contents).map(|(ending, content)| CaseSummary { ending, content }));
        }
        cases.sort_by(|a, b| a.ending.id.cmp(&b.ending.id));
        let (scorers, completeness) = (scorer_fingerprint(run), run.completeness.clone());
        Ok(Self { pass_basis, cases, scorers, completeness })
    }

    fn with(self, report: RunReport) -> RunSummary {
        let endings: Vec<SampleEnding> = self.cases.iter().map(|case| case.ending.clone()).collect();
        let names = self.cases.iter().flat_map(|case| {
            let content = case.content.map_or_else(String::new, |content| content.to_string());
            [case.ending.id.to_string(), content]
        });
        RunSummary {
            case_set: fingerprint(names),
            counts: count_endings(&endings),
            report,
            pass_basis: self.pass_basis,
            cases: self.cases,
            scorers: self.scorers,
            completeness: self.completeness,
        }
    }
}

/// The fingerprint of what a sample asks: the log's, or that of its input and target among the metadata.
fn content(record: &Record) -> Option<u64> {
    let hash = match record.metadata.get(CONTENT) {
        Some(Value::Text(hash)) => Cow::Borrowed(&**hash),
        _ => {
            let texts = AttemptTexts::among(record.metadata.iter());
            if texts.input.is_none() && texts.target.is_none() {
                return None;
            }
            Cow::Owned(fingerprint([texts.input.unwrap_or_default(), texts.target.unwrap_or_default()]))
        }
    };
    u64::from_str_radix(hash.get(..16)?, 16).ok()
}

/// The scorers with their options, in any order, and the reducers.
fn scorer_fingerprint(run: &RecordedRun<Shards>) -> String {
    let recorded = &run.recorded;
    let mut scorers: Vec<String> = run
        .samples
        .iter()
        .flat_map(Samples::scorers)
        .map(|name| {
            let options =
                recorded.scorers.iter().find(|known| *known.name == **name).and_then(|known| known.options.as_ref());
            format!("{name}\0{}", options.map_or_else(String::new, ToString::to_string))
        })
        .collect();
    scorers.sort();
    scorers.dedup();
    let reducers = recorded.reducers.iter().flatten().map(|name| format!("\0{name}"));
    fingerprint(scorers.into_iter().chain(reducers))
}
