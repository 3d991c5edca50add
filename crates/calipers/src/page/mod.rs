//! From results to a page: the metrics of every run, and every sample with what was asked and answered.
//!
//! A verdict and a comparison are made elsewhere and are only put on the page. Texts are kept whole up to [`TEXT_MAX`] bytes
//! each and [`TEXTS_MAX`] bytes together; beyond that there are beginnings, and the page says how many.
//!
//! Cost: the results are read once for their samples and, where a format keeps texts apart, once more for those. All that is on
//! the page is in memory at once.

mod rows;
mod texts;

use crate::score::{ScoreOptions, score_run};
use crate::{LoadedFile, RunError, Selection};
use calipers_compare::CompareReport;
use calipers_core::{Error, SampleId, Shards};
use calipers_gate::GateReport;
use calipers_io::{RecordedRun, Source};
pub use calipers_render::page::*;
use calipers_render::{RunNote, first_and_more, note_sentence};
use rows::SpreadValues;
use std::collections::{BTreeSet, HashMap};
use texts::Room;
pub use texts::{TEXT_MAX, TEXTS_MAX};

/// The page of all runs in these files, with a verdict and a comparison if there are any. The files are loaded with
/// [`Needs::everything`](crate::Needs::everything): a page shows all that they hold.
///
/// ```
/// use calipers::io::Source;
/// use calipers::page::page;
/// use calipers::render::page_html;
/// use calipers::{Needs, RunError, Selection, load};
///
/// let lines = r#"{"id": "a", "score": "C", "input": "2 + 2?", "output": "4"}
/// {"id": "b", "score": "I", "input": "2 + 3?", "output": "<b>six</b>"}"#;
/// let selection = Selection::of([Source::bytes("results.jsonl", lines.as_bytes())]);
/// let files = load(&selection, &Needs::everything()).collect::<Result<Vec<_>, RunError>>()?;
/// let page = page(files, &selection, None, None)?;
/// assert_eq!(page.runs[0].counts.failed, 1);
/// assert_eq!(page.samples[1].attempts[0].output.as_ref().map(|output| &*output.text), Some("<b>six</b>"));
/// assert!(!page_html(&page).contains("<b>six"));
/// # Ok::<(), RunError>(())
/// ```
pub fn page(
    files: impl IntoIterator<Item = LoadedFile>,
    selection: &Selection,
    gate: Option<GateReport>,
    compare: Option<CompareReport>,
) -> Result<PageReport, RunError> {
    page_of(files, selection, gate, compare, true)
}

/// The same without questions, answers and conversations that a file keeps apart from its samples, so that they are not read.
pub fn page_without_texts(
    files: impl IntoIterator<Item = LoadedFile>,
    selection: &Selection,
    gate: Option<GateReport>,
    compare: Option<CompareReport>,
) -> Result<PageReport, RunError> {
    page_of(files, selection, gate, compare, false)
}

fn page_of(
    files: impl IntoIterator<Item = LoadedFile>,
    selection: &Selection,
    gate: Option<GateReport>,
    compare: Option<CompareReport>,
    has_texts: bool,
) -> Result<PageReport, RunError> {
    // The reducer of a selection is for the verdict and the comparison; the metrics of runs have those of their files.
    let selection = &Selection { reducers: None, ..selection.clone() };
    let mut report = PageReport { gate, compare, ..PageReport::default() };
    let mut room = Room::default();
    let mut values = Vec::new();
    for file in files {
        if file.runs.is_empty() {
            report.notes.push(format!("{} is empty", file.source.name));
        }
        for run in file.runs {
            let fail = RunError::in_source(&file.source.name);
            let source = has_texts.then_some(&file.source);
            values.push(add_run(&mut report, source, run, selection, &mut room).map_err(fail)?);
        }
    }
    for (run, distributions) in report.runs.iter_mut().zip(rows::distributions(values)) {
        run.distributions = distributions;
    }
    report.left_out = room.left_out;
    report.title = title(&report);
    let standings = Standings::new(&report);
    for sample in &mut report.samples {
        sample.standing = standings.of(sample);
    }
    Ok(report)
}

/// Adds a run and its samples to the page. Returns the values whose distributions are made once all runs are there.
fn add_run(
    report: &mut PageReport,
    texts_of: Option<&Source>,
    run: RecordedRun<Shards>,
    selection: &Selection,
    room: &mut Room,
) -> Result<Vec<SpreadValues>, Error> {
    let run = run.map_samples(Shards::into_whole);
    let texts = texts_of.map_or_else(|| Ok(HashMap::new()), |source| texts::of_run(source, &run));
    let texts = texts.unwrap_or_else(|error| {
        report.notes.push(note_sentence(RunNote::UnreadableTexts(&error)));
        HashMap::new()
    });
    let samples = run.samples.clone();
    let scored = score_run(run, selection, &ScoreOptions::default())?;
    let context = selection.context()?;
    let place = report.runs.len();
    let rows = rows::of_run(place, &samples, texts, report.gate.as_ref(), &context, room)?;
    report.runs.push(PageRun {
        report: scored,
        counts: rows.counts,
        pass_basis: rows.pass_basis,
        scorers: rows.scorers,
        distributions: Vec::new(),
        repeats: rows.repeats,
        spending: rows.spending,
    });
    report.samples.extend(rows.samples);
    Ok(rows.values)
}

/// The task and the model where all runs have the same, else the files.
fn title(report: &PageReport) -> String {
    let same = |of: fn(&PageRun) -> Option<&String>| {
        let all: BTreeSet<Option<&String>> = report.runs.iter().map(of).collect();
        all.into_iter().next().filter(|_| report.runs.len() == 1).flatten().cloned()
    };
    let task = same(|run| run.report.task.as_ref());
    let model = same(|run| run.report.model.as_ref());
    match (task, model) {
        (Some(task), Some(model)) => format!("{task} · {model}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => {
            let mut names: Vec<&str> = report.runs.iter().map(|run| run.report.source.as_str()).collect();
            names.dedup();
            if names.is_empty() { "nothing".to_owned() } else { first_and_more(&names) }
        }
    }
}

/// Where samples stand against the run that is compared with.
struct Standings {
    known: HashMap<SampleId, SampleStanding>,
    /// What is true of a sample that is not among them; none without a comparison.
    rest: Option<SampleStanding>,
}

impl Standings {
    fn new(report: &PageReport) -> Self {
        match (&report.compare, report.gate.as_ref().and_then(|gate| gate.baseline.as_ref())) {
            (Some(compare), _) => Self::of_comparison(compare),
            (None, Some(baseline)) => {
                let named = |ids: &[String], standing| {
                    ids.iter().map(move |id| (SampleId::from(id.as_str()), standing)).collect::<Vec<_>>()
                };
                let known = [
                    named(&baseline.newly_failing, SampleStanding::NewlyFailing),
                    named(&baseline.newly_passing, SampleStanding::NewlyPassing),
                    named(&baseline.added, SampleStanding::Added),
                ];
                Self { known: known.into_iter().flatten().collect(), rest: Some(SampleStanding::Same) }
            }
            (None, None) => Self { known: HashMap::new(), rest: None },
        }
    }

    /// Against the first run that the candidate is compared with.
    fn of_comparison(compare: &CompareReport) -> Self {
        let mut known = HashMap::new();
        let Some(comparison) = compare.comparisons.first().filter(|comparison| comparison.problem.is_none()) else {
            return Self { known, rest: None };
        };
        for pair in comparison.metrics.iter().flat_map(|metric| &metric.pairs) {
            if pair.difference() != 0.0 {
                known.insert(pair.id.clone(), SampleStanding::Changed);
            }
        }
        if let Ok(changes) = &comparison.samples {
            let failing = changes.newly_failing.iter().map(|change| (change, SampleStanding::NewlyFailing));
            let fixed = changes.newly_fixed.iter().map(|change| (change, SampleStanding::NewlyPassing));
            known.extend(failing.chain(fixed).map(|(change, standing)| (change.id.clone(), standing)));
        }
        known.extend(comparison.matching.only_candidate.iter().map(|id| (id.clone(), SampleStanding::Added)));
        Self { known, rest: Some(SampleStanding::Same) }
    }

    fn of(&self, sample: &PageSample) -> Option<SampleStanding> {
        let rest = self.rest?;
        Some(self.known.get(&sample.id).copied().unwrap_or(rest))
    }
}
