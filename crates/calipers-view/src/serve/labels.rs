//! Labels of people, and the judge beside them. The numbers are those of `calipers judge`.

use super::answer::{api_problem, json, json_text};
use super::pages::{detail_of, shown_attempt};
use super::question::Question;
use super::wish::Wish;
use super::{App, tell_news};
use crate::access::Visitor;
use crate::reading_choices::{selection_of, shared_counting};
use crate::records::LabelRecord;
use crate::sample_blob::CaseEnding;
use crate::{History, HistoryError};
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use calipers::io::{Source, fingerprint};
use calipers::judge::{JudgeOptions, JudgeReport, assess, load_labels};
use calipers::page::PageOutcome;
use calipers::render::view::{AttemptView, JudgeView, LabelQueue, LabelView, judge_html, label_html};
use calipers::render::{HistoryRun, judge_json};
use calipers::{LoadedRun, Selection};
use serde_json::{Map, Value, json as value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// No name of a person is longer, and no note.
const RATER_MAX: usize = 100;
const NOTE_MAX: usize = 1000;
/// The score that is enough, unless a policy says otherwise: half of a grade from 0 to 1.
const THRESHOLD: f64 = 0.5;

/// An answer: the sample, and its attempt.
type Answer = (String, u32);

/// All answers of a run in a random order that is the same for everybody: the labelled part is a random choice whenever someone stops.
fn random_order(history: &History, run: &HistoryRun) -> Result<Vec<(Answer, CaseEnding)>, HistoryError> {
    let endings = history.endings(run)?;
    let has_answer = |outcome: PageOutcome| outcome != PageOutcome::Errored;
    let all = endings.into_iter().filter(|(_, ending)| has_answer(ending.outcome));
    let mut answers: Vec<(String, (Answer, CaseEnding))> = all
        .flat_map(|(id, ending)| (1..=u32::from(ending.attempts)).map(move |epoch| ((id.clone(), epoch), ending)))
        .map(|(answer, ending)| (fingerprint([run.key.as_str(), &answer.0, &answer.1.to_string()]), (answer, ending)))
        .collect();
    answers.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// The answers of a queue in its order. What is equally urgent stays in the random order.
fn queue(
    history: &History,
    run: &HistoryRun,
    queue: LabelQueue,
    labels: &[LabelRecord],
) -> Result<Vec<Answer>, HistoryError> {
    let mut answers = random_order(history, run)?;
    match queue {
        LabelQueue::Random => {}
        LabelQueue::Disagreements => {
            let mut given: HashMap<(&str, u32), BTreeSet<u8>> = HashMap::new();
            for label in labels {
                given.entry((&label.id, label.epoch)).or_default().extend(label.value);
            }
            let urgency = |(answer, ending): &(Answer, CaseEnding)| -> Option<u8> {
                let words = given.get(&(answer.0.as_str(), answer.1));
                let judged = (ending.passed > 0 || ending.failed > 0).then_some(ending.failed == 0);
                let is_mixed = ending.passed > 0 && ending.failed > 0;
                match words {
                    Some(words) if words.len() > 1 => Some(0),
                    Some(words)
                        if !is_mixed
                            && words.iter().any(|word| judged.is_some_and(|judged| judged != (*word == 1))) =>
                    {
                        Some(1)
                    }
                    _ if is_mixed => Some(2),
                    _ => None,
                }
            };
            answers.retain(|answer| urgency(answer).is_some());
            answers.sort_by_key(urgency);
        }
        LabelQueue::Threshold => {
            let distance = |(_, ending): &(Answer, CaseEnding)| ending.score.map(|score| (score - THRESHOLD).abs());
            answers.retain(|answer| distance(answer).is_some());
            answers.sort_by(|a, b| distance(a).unwrap_or(f64::MAX).total_cmp(&distance(b).unwrap_or(f64::MAX)));
        }
    }
    Ok(answers.into_iter().map(|(answer, _)| answer).collect())
}

/// Labels on answers that are a random choice: for each person, those up to the last one that was reached at random. Also how many
/// others there are.
fn random_labels(
    history: &History,
    run: &HistoryRun,
    labels: Vec<LabelRecord>,
) -> Result<(Vec<LabelRecord>, u64), HistoryError> {
    if labels.iter().all(|label| label.queue.is_none()) {
        return Ok((labels, 0));
    }
    let order = random_order(history, run)?;
    let places: HashMap<(&str, u32), usize> =
        order.iter().enumerate().map(|(place, ((id, epoch), _))| ((id.as_str(), *epoch), place)).collect();
    let place = |label: &LabelRecord| places.get(&(label.id.as_str(), label.epoch)).copied();
    let mut reached: HashMap<String, usize> = HashMap::new();
    for label in labels.iter().filter(|label| label.queue.is_none()) {
        let last = reached.entry(label.rater.clone()).or_default();
        *last = place(label).map_or(*last, |place| place.max(*last));
    }
    let is_random = |label: &LabelRecord| {
        label.queue.is_none()
            || reached.get(&label.rater).is_some_and(|last| place(label).is_some_and(|place| place <= *last))
    };
    let all = labels.len();
    let kept: Vec<LabelRecord> = labels.into_iter().filter(is_random).collect();
    let left_out = (all - kept.len()) as u64;
    Ok((kept, left_out))
}

pub(super) async fn label_page(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    wish: Wish,
    question: Question,
) -> Response {
    let rater = question.get("rater").map(|rater| rater.trim().to_owned());
    let rater = rater.filter(|rater| !rater.is_empty() && rater.len() <= RATER_MAX);
    let queue = question.get("queue").as_deref().and_then(LabelQueue::parse).unwrap_or_default();
    let epoch = question.number("attempt").and_then(|epoch| u32::try_from(epoch).ok());
    let answer = question.get("id").map(|id| (id, epoch.unwrap_or(1)));
    wish.answer(app.read(move |app| label_view(app, &key, rater, queue, answer)).await, label_html)
}

fn label_view(
    app: &App,
    key: &str,
    rater: Option<String>,
    order: LabelQueue,
    asked: Option<Answer>,
) -> Result<LabelView, HistoryError> {
    let run = app.history.find(key)?;
    let labels = app.history.labels(&run.key)?;
    let answers = queue(&app.history, &run, order, &labels)?;
    let mut view = LabelView { done: (0, answers.len() as u64), rater, queue: order, ..LabelView::default() };
    if let Some(rater) = &view.rater {
        let own = || labels.iter().filter(|label| label.rater == *rater);
        let done: HashSet<(&str, u32)> = own().map(|label| (label.id.as_str(), label.epoch)).collect();
        view.done.0 = answers.iter().filter(|(id, epoch)| done.contains(&(id.as_str(), *epoch))).count() as u64;
        let is_open = |(id, epoch): &&Answer| !done.contains(&(id.as_str(), *epoch));
        // Someone may go back to an answer, and must not be led to one that the run does not have.
        let asked = asked.filter(|asked| answers.contains(asked));
        view.last =
            own().next_back().map(|label| (label.id.clone(), label.epoch)).filter(|last| asked.as_ref() != Some(last));
        view.next = asked.or_else(|| answers.iter().find(is_open).cloned());
    }
    if let Some((id, epoch)) = &view.next {
        match detail_of(&run, id, *epoch) {
            Ok(Some(detail)) => {
                let (input, target, attempt) = shown_attempt(detail, 0);
                // What the judge said stays hidden, and so does what may follow from it.
                let AttemptView { error, messages, place, output, .. } = attempt;
                view.attempt = Some(AttemptView { error, messages, place, output, ..AttemptView::default() });
                (view.input, view.target) = (input, target);
            }
            Ok(None) => view.problem = Some("The file has no such attempt.".to_owned()),
            Err(why) => view.problem = Some(why),
        }
    }
    view.run = run;
    Ok(view)
}

/// Records a label.
pub(super) async fn label(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(key): Path<String>,
    body: String,
) -> Response {
    let Some(mut record) = parse(&body) else {
        let what = "send {\"id\", \"epoch\", \"rater\", \"value\": 0, 1 or null} and perhaps a \"note\", which says why for null";
        return api_problem(StatusCode::BAD_REQUEST, what);
    };
    record.by = Some(visitor.name);
    let made = app
        .ask(move |app| {
            let run = app.history.find(&key)?;
            let is_known = app
                .history
                .endings(&run)?
                .iter()
                .any(|(id, ending)| *id == record.id && (1..=u32::from(ending.attempts)).contains(&record.epoch));
            if is_known {
                app.history.label(&run.key, &record)?;
                tell_news(app);
            }
            Ok(is_known)
        })
        .await;
    match made {
        Ok(true) => json(&value!({ "done": true })),
        Ok(false) => api_problem(StatusCode::NOT_FOUND, "the run has no such attempt"),
        Err(error) => super::api::api_failure(&error),
    }
}

fn parse(body: &str) -> Option<LabelRecord> {
    let body: Value = serde_json::from_str(body).ok()?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let value = match body.get("value")? {
        Value::Null => None,
        value => Some(u8::try_from(value.as_u64()?).ok().filter(|label| *label <= 1)?),
    };
    let queue = match body.get("queue") {
        None | Some(Value::Null) => LabelQueue::Random,
        Some(name) => LabelQueue::parse(name.as_str()?)?,
    };
    let record = LabelRecord {
        id: text("id")?,
        epoch: u32::try_from(body.get("epoch")?.as_u64()?).ok()?,
        rater: text("rater")?.trim().to_owned(),
        value,
        queue: (queue != LabelQueue::Random).then(|| queue.name().to_owned()),
        note: text("note").map(|note| note.trim().to_owned()).filter(|note| !note.is_empty()),
        by: None,
    };
    let is_short = record.rater.len() <= RATER_MAX && record.note.as_ref().is_none_or(|note| note.len() <= NOTE_MAX);
    let has_reason = record.value.is_some() || record.note.is_some();
    (is_short && has_reason && !record.rater.is_empty()).then_some(record)
}

/// Labels as `calipers judge` reads them, and what to know about them.
struct LabelLines {
    /// One record for each answer with what each person says.
    lines: String,
    /// How many labels there are, and of how many people.
    labels: (u64, u64),
    /// How many are left out.
    left_out: u64,
}

/// The labels of a run, those alone whose answers are a random choice unless all are wanted.
fn label_lines(history: &History, run: &HistoryRun, has_all: bool) -> Result<LabelLines, HistoryError> {
    let labels = history.labels(&run.key)?;
    let (labels, left_out) = if has_all { (labels, 0) } else { random_labels(history, run, labels)? };
    let raters: BTreeSet<&str> = labels.iter().map(|label| label.rater.as_str()).collect();
    let mut rows: BTreeMap<(&str, u32), Map<String, Value>> = BTreeMap::new();
    for label in &labels {
        // What cannot be judged says nothing about the judge.
        let Some(value) = label.value else { continue };
        rows.entry((&label.id, label.epoch)).or_default().insert(label.rater.clone(), Value::from(value));
    }
    let line = |((id, epoch), scores): ((&str, u32), Map<String, Value>)| {
        value!({ "id": id, "epoch": epoch, "scores": scores }).to_string() + "\n"
    };
    let counts = (labels.len() as u64, raters.len() as u64);
    Ok(LabelLines { lines: rows.into_iter().map(line).collect(), labels: counts, left_out })
}

pub(super) async fn label_list(State(app): State<Arc<App>>, Path(key): Path<String>, question: Question) -> Response {
    let has_all = question.get("queue").as_deref() == Some("all");
    let made = app.ask(move |app| Ok(label_lines(&app.history, &app.history.find(&key)?, has_all)?.lines)).await;
    made.map_or_else(|error| super::api::api_failure(&error), json_text)
}

/// The report about the judge, or why there is none.
fn judge_report(run: &HistoryRun, lines: &str) -> Result<JudgeReport, String> {
    if lines.is_empty() {
        return Err("There are no labels yet.".to_owned());
    }
    let (selection, options) = (selection_of(run).map_err(|error| error.to_string())?, JudgeOptions::default());
    let labels = Selection::of([Source::bytes("labels.jsonl", lines.as_bytes())]);
    let labels = load_labels("labels.jsonl", &labels).map_err(|error| error.to_string())?;
    let loaded =
        LoadedRun::load(&run.source, &selection, &options.needs(&selection)).map_err(|error| error.to_string())?;
    let counting = shared_counting([run]).map_err(|error| error.to_string())?;
    assess(&loaded, &labels, &counting, &options).map_err(|error| error.to_string())
}

pub(super) async fn judge_page(State(app): State<Arc<App>>, Path(key): Path<String>, wish: Wish) -> Response {
    let made = app
        .read(move |app| {
            let run = app.history.find(&key)?;
            let LabelLines { lines, labels, left_out } = label_lines(&app.history, &run, false)?;
            Ok(JudgeView { report: judge_report(&run, &lines), run, labels, left_out })
        })
        .await;
    wish.answer(made, judge_html)
}

pub(super) async fn judge(State(app): State<Arc<App>>, Path(key): Path<String>) -> Response {
    let made = app
        .read(move |app| {
            let run = app.history.find(&key)?;
            Ok(judge_report(&run, &label_lines(&app.history, &run, false)?.lines))
        })
        .await;
    match made {
        Ok(Ok(report)) => json(&judge_json(&report)),
        Ok(Err(why)) => api_problem(StatusCode::UNPROCESSABLE_ENTITY, &why),
        Err(error) => super::api::api_failure(&error),
    }
}
