//! The pages: from a request to what is shown, and to markup.

use super::answer::{page_answer, problem};
use super::question::{Question, RUNS_MAX};
use super::search::find_in;
use super::wish::Wish;
use super::{App, error_answer, replay};
use crate::HistoryError;
use crate::catalog::by_urgency;
use crate::loaded::{compare_runs, run_report, whole_report};
use crate::reading_choices::source_of;
use crate::sample_blob::CaseEnding;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use calipers::compare::CompareReport;
use calipers::data::{Outcome, Record, Value};
use calipers::io::{AttemptDetail, read_attempt_detail};
use calipers::page::{PageOutcome, PageReport};
use calipers::render::view::{
    AttemptView, BesideView, CaseDifference, CaseEntry, CaseView, CompareView, MESSAGES_ON_PAGE, RunView, RunsView,
    SampleList, SampleRow, SampleView, ViewMessage, case_html, compare_html, run_html, runs_html, sample_html,
    samples_html, trend_html, verdicts_html,
};
use calipers::render::{HistoryRun, page_html, page_policy};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// As many runs are on one page, about two screens: what a browser takes to show a list grows with its rows.
const RUNS_ON_PAGE: u64 = 30;
/// As many samples are on one page.
const SAMPLES_ON_PAGE: u64 = 100;
/// As many runs of a case are listed.
const CASE_RUNS: usize = 300;

pub(super) async fn runs(State(app): State<Arc<App>>, wish: Wish, question: Question) -> Response {
    let (filter, part) = (question.filter(), question.number("page").unwrap_or(0));
    let made = app
        .ask(move |app| {
            Ok(RunsView {
                list: app.history.list(&filter, part.saturating_mul(RUNS_ON_PAGE), RUNS_ON_PAGE)?,
                filter,
                facets: app.history.facets()?,
                page_size: RUNS_ON_PAGE,
                all: app.history.count()?,
                problems: app.history.problems()?,
                obstacles: app.obstacles.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                is_reading: app.is_reading.load(Ordering::Relaxed),
                roots: app.roots.clone(),
            })
        })
        .await;
    wish.answer(made, runs_html)
}

pub(super) async fn run(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    wish: Wish,
    question: Question,
) -> Response {
    let has_report = question.is_set("report");
    let made = app
        .read(move |app| {
            let run = app.history.find(&key)?;
            // A run that goes on has no intervals yet, unless they are asked for.
            let report = if run.is_open() && !has_report { None } else { Some(run_report(&run)) };
            // A page among many is about a run of a suite, not about a path.
            let titled = |report| PageReport { title: run.task.clone().unwrap_or_else(|| run.suite.clone()), ..report };
            let report = report.map(|report| report.map(titled));
            let (report, problem) = match report.transpose() {
                Ok(None) => (None, None),
                Ok(Some(report)) => (Some(report), None),
                Err(HistoryError::Run(error)) => (None, Some(error.to_string())),
                Err(error) => return Err(error),
            };
            let (before, verdicts) = (app.history.before(&run)?, app.history.shown_verdicts(&run.key)?);
            Ok(RunView { run, report, problem, before, verdicts })
        })
        .await;
    wish.answer(made, run_html)
}

/// The report of a run: the same page as `calipers report` writes.
pub(super) async fn report(State(app): State<Arc<App>>, Path(key): Path<String>) -> Response {
    let made = app.read(move |app| Ok(page_html(&whole_report(&app.history.find(&key)?)?))).await;
    match (made, HeaderValue::from_str(&page_policy())) {
        (Ok(html), Ok(policy)) => page_answer(StatusCode::OK, html, policy),
        (Err(error), _) => error_answer(&error),
        (_, Err(_)) => problem(StatusCode::INTERNAL_SERVER_ERROR, "The page has no policy", ""),
    }
}

fn outcome_of(name: &str) -> Option<PageOutcome> {
    [PageOutcome::Failed, PageOutcome::Errored, PageOutcome::Unscored, PageOutcome::Scored, PageOutcome::Passed]
        .into_iter()
        .find(|outcome| outcome.name() == name)
}

fn sample_row(id: String, ending: CaseEnding) -> SampleRow {
    SampleRow {
        id,
        outcome: ending.outcome,
        attempts: u32::from(ending.attempts),
        passed: u32::from(ending.passed),
        failed: u32::from(ending.failed),
        score: ending.score,
    }
}

/// The samples of a run, those that did not pass first.
fn sorted_rows(app: &App, run: &HistoryRun) -> Result<Vec<SampleRow>, HistoryError> {
    let endings = app.history.endings(run)?;
    let mut rows: Vec<SampleRow> = endings.into_iter().map(|(id, ending)| sample_row(id, ending)).collect();
    rows.sort_by_key(|row| by_urgency(row.outcome));
    Ok(rows)
}

pub(super) async fn samples(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    wish: Wish,
    question: Question,
) -> Response {
    let first = question.number("page").unwrap_or(0).saturating_mul(SAMPLES_ON_PAGE);
    let made = app.ask(move |app| sample_list(app, &key, &question, (first, SAMPLES_ON_PAGE))).await;
    wish.answer(made, samples_html)
}

/// The samples of a run that are asked for, from a place on.
pub(super) fn sample_list(
    app: &App,
    key: &str,
    question: &Question,
    (first, size): (u64, u64),
) -> Result<SampleList, HistoryError> {
    let (text, outcome) = (question.get("q"), question.get("outcome").as_deref().and_then(outcome_of));
    let run = app.history.find(key)?;
    let mut rows = sorted_rows(app, &run)?;
    let wanted = text.as_ref().map(|text| text.to_lowercase());
    rows.retain(|row| {
        outcome.is_none_or(|outcome| row.outcome == outcome)
            && wanted.as_ref().is_none_or(|text| row.id.to_lowercase().contains(text))
    });
    let (total, first) = (rows.len() as u64, first.min(rows.len() as u64));
    let rows = rows.into_iter().skip(first as usize).take(size as usize).collect();
    Ok(SampleList { run, rows, first, total, page_size: size, text, outcome })
}

pub(super) async fn sample(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    wish: Wish,
    question: Question,
) -> Response {
    let Some(place) = SamplePlace::of(&question) else {
        return problem(StatusCode::BAD_REQUEST, "No sample is named", "Choose one from the samples of the run.");
    };
    match app.read(move |app| sample_view(app, &key, place)).await.transpose() {
        Some(found) => wish.answer(found, sample_html),
        None => problem(StatusCode::NOT_FOUND, "The run has no such sample", "Choose one from the samples of the run."),
    }
}

/// What of a run is asked for.
pub(super) struct SamplePlace {
    id: String,
    epoch: Option<u32>,
    /// The first message that is shown.
    from: usize,
    /// What the conversation is searched for.
    find: Option<String>,
    /// The run and the epoch that it is shown beside.
    beside: Option<(String, u32)>,
}

impl SamplePlace {
    /// Nothing if no sample is named.
    pub(super) fn of(question: &Question) -> Option<Self> {
        let epoch = |name: &str| question.number(name).and_then(|epoch| u32::try_from(epoch).ok());
        Some(Self {
            id: question.get("id")?,
            epoch: epoch("attempt"),
            from: question.number("from").unwrap_or(0) as usize,
            find: question.get("find"),
            beside: question.get("beside").map(|key| (key, epoch("other").unwrap_or(1))),
        })
    }
}

pub(super) fn sample_view(app: &App, key: &str, place: SamplePlace) -> Result<Option<SampleView>, HistoryError> {
    let SamplePlace { id, epoch, from, find, beside } = place;
    let run = app.history.find(key)?;
    let rows = sorted_rows(app, &run)?;
    let Some(place) = rows.iter().position(|row| row.id == id) else { return Ok(None) };
    let neighbour = |place: Option<usize>| place.and_then(|place| rows.get(place)).map(|row| row.id.clone());
    let neighbours = (neighbour(place.checked_add(1)), neighbour(place.checked_sub(1)));
    let row = rows[place].clone();
    let epochs: Vec<u32> = (1..=row.attempts).collect();
    let epoch = epoch.unwrap_or(1);
    let (mut input, mut target, mut attempt, mut problem, mut search) = (None, None, None, None, None);
    match detail_of(&run, &id, epoch) {
        Ok(Some(detail)) => {
            search = find.map(|find| {
                let hits = find_in(&detail.texts, &find.to_lowercase());
                (find, hits)
            });
            let shown = shown_attempt(detail, from);
            (input, target, attempt) = (shown.0, shown.1, Some(shown.2));
        }
        Ok(None) => problem = Some(format!("The file has no attempt {epoch} of this sample.")),
        Err(why) => problem = Some(why),
    }
    let beside = beside.map(|(key, epoch)| beside_view(app, &key, &id, (epoch, from))).transpose()?;
    let (_, runs) = app.history.case_over_time(&run.suite, &id, 0)?;
    Ok(Some(SampleView {
        run,
        row,
        input,
        target,
        attempt,
        epoch,
        epochs,
        problem,
        neighbours,
        other_runs: runs.saturating_sub(1),
        search,
        beside,
    }))
}

/// The attempt that another one is shown beside, with its messages from a place on.
fn beside_view(app: &App, key: &str, id: &str, place: (u32, usize)) -> Result<BesideView, HistoryError> {
    let (run, (epoch, from)) = (app.history.find(key)?, place);
    let (attempt, problem) = match detail_of(&run, id, epoch) {
        Ok(Some(detail)) => (Some(attempt_view(detail, from)), None),
        Ok(None) => (None, Some(format!("The other file has no attempt {epoch} of this sample."))),
        Err(why) => (None, Some(why)),
    };
    Ok(BesideView { run, epoch, attempt, problem })
}

/// An attempt with all that its file says about it; or why it cannot be read.
pub(super) fn detail_of(run: &HistoryRun, id: &str, epoch: u32) -> Result<Option<AttemptDetail>, String> {
    let source = source_of(run).map_err(|error| error.to_string())?;
    let detail = read_attempt_detail(&source, &run.format, run.name.as_deref(), id, epoch);
    detail.map_err(|error| error.to_string())
}

/// What was asked and expected in an attempt, and the attempt itself, with its messages from a place on.
pub(super) fn shown_attempt(detail: AttemptDetail, from: usize) -> (Option<String>, Option<String>, AttemptView) {
    let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
    (text(&detail.texts.input), text(&detail.texts.target), attempt_view(detail, from))
}

/// As many measurements and facts are listed.
const FACTS_MAX: usize = 100;

fn attempt_view(detail: AttemptDetail, from: usize) -> AttemptView {
    let AttemptDetail { texts, record } = detail;
    let all = texts.messages.len();
    let from = from.min(all);
    let messages = texts.messages.iter().skip(from).take(MESSAGES_ON_PAGE).map(|message| ViewMessage {
        role: message.role.name(),
        text: message.content.to_string(),
        calls: message.tool_calls.iter().map(|call| (call.function.to_string(), call.arguments.to_string())).collect(),
    });
    let ends_with_output = texts.messages.last().is_some_and(|last| Some(&last.content) == texts.output.as_ref());
    let mut view = AttemptView {
        messages: messages.collect(),
        place: (from, all),
        output: texts.output.filter(|_| !ends_with_output).map(|output| output.to_string()),
        ..AttemptView::default()
    };
    if let Some(record) = record {
        add_record(&mut view, record);
    }
    view
}

fn add_record(view: &mut AttemptView, record: Record) {
    view.error = record.error.map(|error| error.to_string());
    let text = |text: Option<Arc<str>>| text.map(|text| text.to_string());
    for (scorer, outcome) in record.scores {
        view.scores.push(match outcome {
            Outcome::Scored(score) => (scorer.to_string(), score.value, text(score.answer), text(score.explanation)),
            Outcome::Unscored { reason, score } => {
                let (answer, explanation) = score.map(|score| (score.answer, score.explanation)).unwrap_or_default();
                (scorer.to_string(), Value::Missing, text(answer), text(explanation.or(Some(reason))))
            }
        });
    }
    let pair = |(name, value): (&Arc<str>, &Value)| (name.to_string(), value.to_string());
    view.fields = record.fields.iter().map(|(name, value)| pair((name, value))).take(FACTS_MAX).collect();
    let is_fact = |(name, value): &(&Arc<str>, &Value)| {
        !calipers::io::AttemptTexts::has_name(name) && !matches!(value, Value::Null)
    };
    view.facts = record.metadata.iter().filter(is_fact).map(pair).take(FACTS_MAX).collect();
}

pub(super) async fn case(State(app): State<Arc<App>>, wish: Wish, question: Question) -> Response {
    let (Some(suite), Some(id)) = (question.get("suite"), question.get("id")) else {
        return problem(StatusCode::BAD_REQUEST, "No case is named", "Choose one from the samples of a run.");
    };
    wish.answer(app.ask(move |app| case_view(app, suite, id)).await, case_html)
}

/// A case in the latest runs that have it.
pub(super) fn case_view(app: &App, suite: String, id: String) -> Result<CaseView, HistoryError> {
    let (found, total) = app.history.case_over_time(&suite, &id, CASE_RUNS)?;
    // What stands beside each other are runs of one model.
    let contents: Vec<(Option<String>, Option<u64>)> =
        found.iter().map(|(run, _, content)| (run.model.clone(), *content)).collect();
    let entries = found.into_iter().enumerate().map(|(place, (run, ending, content))| {
        let is_of_model = |(model, _): &&(Option<String>, Option<u64>)| *model == run.model;
        let before = contents[place + 1..].iter().find(is_of_model).and_then(|(_, content)| *content);
        CaseEntry {
            run,
            outcome: ending.outcome,
            passed: u32::from(ending.passed),
            failed: u32::from(ending.failed),
            attempts: u32::from(ending.attempts),
            score: ending.score,
            is_changed: content.zip(before).is_some_and(|(now, before)| now != before),
        }
    });
    Ok(CaseView { entries: entries.collect(), suite, id, total })
}

pub(super) async fn compare(State(app): State<Arc<App>>, wish: Wish, question: Question) -> Response {
    let (keys, has_all) = (question.all("run"), question.get("cases").as_deref() == Some("all"));
    if keys.len() < 2 {
        return problem(StatusCode::BAD_REQUEST, "Two runs are needed", "Choose two or more from the list of runs.");
    }
    if keys.len() > RUNS_MAX {
        return problem(StatusCode::BAD_REQUEST, "These are too many runs", "Choose up to twelve.");
    }
    let made = app
        .read(move |app| {
            let asked = Compared::of(app, &keys, has_all)?;
            let (report, problem) = match asked.compare() {
                Ok(compare) => (Some(PageReport { compare: Some(compare), ..PageReport::default() }), None),
                Err(HistoryError::Run(error)) => (None, Some(error.to_string())),
                Err(error) => return Err(error),
            };
            let Compared { runs, cases, .. } = asked;
            let other_scorers = runs.iter().skip(1).map(|run| run.scorers != runs[0].scorers).collect();
            Ok(CompareView { runs, report, problem, cases, has_changed_cases: has_all, other_scorers })
        })
        .await;
    wish.answer(made, compare_html)
}

/// Runs to compare, and on which cases.
pub(super) struct Compared {
    pub(super) runs: Vec<HistoryRun>,
    pub(super) cases: Vec<CaseDifference>,
    /// The cases that ask the same in all runs, where some do not.
    same: Option<HashSet<String>>,
}

impl Compared {
    pub(super) fn of(app: &App, keys: &[String], has_changed: bool) -> Result<Self, HistoryError> {
        let runs = keys.iter().map(|key| app.history.find(key)).collect::<Result<Vec<_>, _>>()?;
        let ours = app.history.case_set(&runs[0].case_set)?;
        let (mut cases, mut changed) = (Vec::new(), HashSet::new());
        for run in &runs[1..] {
            if run.case_set == runs[0].case_set {
                cases.push(CaseDifference { shared: ours.names.len() as u64, ..CaseDifference::default() });
                continue;
            }
            let theirs = app.history.case_set(&run.case_set)?;
            let (difference, same) = ours.difference(&theirs);
            if difference.changed > 0 {
                let same: HashSet<&String> = same.iter().collect();
                let known: HashSet<&String> = theirs.names.iter().collect();
                changed.extend(ours.names.iter().filter(|name| known.contains(name) && !same.contains(name)).cloned());
            }
            cases.push(difference);
        }
        // Only what asks something else is left out: what one run lacks is counted by the comparison itself.
        let same = (!changed.is_empty() && !has_changed).then(|| {
            let mut names: HashSet<String> = ours.names.iter().cloned().collect();
            for run in &runs[1..] {
                names.extend(app.history.case_set(&run.case_set).map(|set| set.names).unwrap_or_default());
            }
            names.retain(|name| !changed.contains(name));
            names
        });
        Ok(Self { runs, cases, same })
    }

    pub(super) fn compare(&self) -> Result<CompareReport, HistoryError> {
        Ok(compare_runs(&self.runs, self.same.as_ref())?.0)
    }
}

pub(super) async fn trend(State(app): State<Arc<App>>, wish: Wish, question: Question) -> Response {
    let asked = question.trend();
    let made = app.read(move |app| app.history.trend(&asked)).await;
    wish.answer(made, trend_html)
}

pub(super) async fn verdicts(State(app): State<Arc<App>>, wish: Wish, question: Question) -> Response {
    let suite = question.get("suite");
    let made = app.read(move |app| replay::verdicts(app, suite)).await;
    wish.answer(made, verdicts_html)
}
