//! What cannot be made again from files: what people say about runs, and verdicts that were given. Records are only appended.

use crate::sql::{SqlConnection, SqlRow, values};
use crate::{History, HistoryError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashMap};

/// What the user says about a run. What is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDescription {
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The version that was evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Its commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Further names and values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

impl RunDescription {
    /// True when it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn update(&mut self, later: Self) {
        self.suite = later.suite.or(self.suite.take());
        self.version = later.version.or(self.version.take());
        self.branch = later.branch.or(self.branch.take());
        self.commit = later.commit.or(self.commit.take());
        self.tags.extend(later.tags);
    }
}

/// A verdict that was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictRecord {
    /// `pass`, `fail` or `undecided`.
    pub verdict: String,
    /// The file of the policy.
    pub policy: String,
    /// Its hash.
    pub policy_hash: String,
    /// The whole report, as `calipers gate --json` prints it.
    pub report: Json,
}

/// What a person says about an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabelRecord {
    pub(crate) id: String,
    pub(crate) epoch: u32,
    pub(crate) rater: String,
    /// 1 for right, 0 for wrong; none for an answer that cannot be judged, and then the note says why.
    #[serde(default)]
    pub(crate) value: Option<u8>,
    /// Why this answer was chosen; none for at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// The name of the token with which it was sent, or of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
}

pub(crate) const LABELLED: &str = "labelled";
pub(crate) const DESCRIBED: &str = "described";
pub(crate) const JUDGED: &str = "judged";
pub(crate) const INVALIDATED: &str = "invalidated";
pub(crate) const RESTORED: &str = "restored";
pub(crate) const COMPARED: &str = "compared";

impl History {
    /// Records what the user says about a run.
    pub fn describe(&self, key: &str, description: &RunDescription) -> Result<(), HistoryError> {
        let body = serde_json::to_value(description).unwrap_or_default();
        if description.is_empty() { Ok(()) } else { self.append(DESCRIBED, key, &body) }
    }

    /// Records a verdict on a run.
    pub fn record_verdict(&self, key: &str, verdict: &VerdictRecord) -> Result<(), HistoryError> {
        self.append(JUDGED, key, &serde_json::to_value(verdict).unwrap_or_default())
    }

    /// Records a comparison of a run with others, named by their keys: the report as `calipers compare --json` prints it.
    pub fn record_comparison(&self, key: &str, others: &[String], report: &Json) -> Result<(), HistoryError> {
        self.append(COMPARED, key, &json!({ "with": others, "report": report }))
    }

    /// Records that a run is not to be counted, why, and who says so.
    pub fn invalidate(&self, key: &str, why: &str, by: &str) -> Result<(), HistoryError> {
        self.append(INVALIDATED, key, &json!({ "why": why, "by": by }))
    }

    /// Records that a run is to be counted again, and who says so.
    pub fn restore(&self, key: &str, by: &str) -> Result<(), HistoryError> {
        self.append(RESTORED, key, &json!({ "by": by }))
    }

    /// Records what the surroundings of a command say about a run: what it was said to be before and what its log says count more,
    /// unless its file is a new one.
    pub fn describe_by_surroundings(
        &self,
        key: &str,
        around: &RunDescription,
        is_new: bool,
    ) -> Result<(), HistoryError> {
        let run = self.find(key)?;
        let own_commit: Option<String> = self.with(|database| {
            let row = database.first("SELECT own_commit FROM run WHERE key = ?", values![key])?;
            row.map_or(Ok(None), |mut row| row.optional(0))
        })?;
        let mut said = around.clone();
        said.commit.take_if(|_| own_commit.is_some());
        if !is_new {
            said.version.take_if(|_| run.version.is_some());
            said.branch.take_if(|_| run.branch.is_some());
            said.commit.take_if(|_| run.commit.is_some());
            said.tags.retain(|name, _| !run.tags.iter().any(|(known, _)| known == name));
        }
        self.describe(key, &said)
    }

    /// Records what a person says about an answer.
    pub(crate) fn label(&self, key: &str, label: &LabelRecord) -> Result<(), HistoryError> {
        self.append(LABELLED, key, &serde_json::to_value(label).unwrap_or_default())
    }

    /// The labels of a run in the order in which they were first given. Of several by one person for one answer, the last counts.
    pub(crate) fn labels(&self, key: &str) -> Result<Vec<LabelRecord>, HistoryError> {
        self.with(|database| {
            let question = "SELECT body FROM record WHERE run = ? AND kind = 'labelled' ORDER BY place";
            let mut rows = database.query(question, values![key])?;
            let rows = rows.iter_mut().map(|row| row.get(0)).collect::<Result<Vec<String>, _>>()?;
            let mut labels: Vec<LabelRecord> = Vec::new();
            let mut places: HashMap<(String, u32, String), usize> = HashMap::new();
            for label in rows.iter().filter_map(|body| serde_json::from_str::<LabelRecord>(body).ok()) {
                let place = *places.entry((label.id.clone(), label.epoch, label.rater.clone())).or_insert(labels.len());
                match labels.get_mut(place) {
                    // An answer that was once reached at random stays so, even if someone comes back to it.
                    Some(known) if known.queue.is_none() => *known = LabelRecord { queue: None, ..label },
                    Some(known) => *known = label,
                    None => labels.push(label),
                }
            }
            Ok(labels)
        })
    }

    fn append(&self, kind: &str, key: &str, body: &Json) -> Result<(), HistoryError> {
        let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        self.with(|database| {
            // What cannot be made again is on the disk before anything is said to be done.
            database.set_durable(true)?;
            let appended = database.change(|database| {
                let put = "INSERT INTO record (at, kind, run, body) VALUES (?, ?, ?, ?)";
                database.execute(put, values![&at, kind, key, body.to_string()])?;
                apply(database, key)
            });
            database.set_durable(false)?;
            appended
        })
    }

    /// All records, the first one first, each as one line of JSON.
    pub fn export(&self, mut each: impl FnMut(&str)) -> Result<(), HistoryError> {
        let mut after = -1;
        loop {
            let records = self.with(|database| {
                let question = "SELECT record.place, record.at, record.kind, record.run, record.body, source.path, run.name FROM record \
                                LEFT JOIN run ON run.key = record.run LEFT JOIN source ON source.id = run.source WHERE \
                                record.place > ? ORDER BY record.place LIMIT 1000";
                database.query(question, values![after])?.iter_mut().map(export_row).collect::<Result<Vec<_>, _>>()
            })?;
            let Some((last, _)) = records.last() else { return Ok(()) };
            after = *last;
            records.iter().for_each(|(_, line)| each(&line.to_string()));
        }
    }

    /// A part of what people said, the latest first, without what machines reported: the audit trail.
    pub(crate) fn audit(&self, first: u64, size: u64) -> Result<(Vec<Json>, u64), HistoryError> {
        let by_people = "kind IN ('labelled', 'invalidated', 'restored', 'described')";
        self.with(|database| {
            let total = database.number(&format!("SELECT count(*) FROM record WHERE {by_people}"), &[])?;
            let question = format!(
                "SELECT record.place, record.at, record.kind, record.run, record.body, source.path, run.name FROM record \
                 LEFT JOIN run ON run.key = record.run LEFT JOIN source ON source.id = run.source WHERE {by_people} \
                 ORDER BY record.place DESC LIMIT ? OFFSET ?"
            );
            let mut rows = database.query(&question, values![size, first])?;
            let lines = rows.iter_mut().map(|row| Ok(export_row(row)?.1)).collect::<Result<_, HistoryError>>()?;
            Ok((lines, total.max(0) as u64))
        })
    }

    /// The verdicts on a run, the latest first: when each was given, and what it says.
    pub(crate) fn verdicts(&self, key: &str) -> Result<Vec<(String, VerdictRecord)>, HistoryError> {
        self.with(|database| {
            let question =
                "SELECT at, body FROM record WHERE run = ? AND kind = 'judged' ORDER BY place DESC LIMIT 200";
            let mut found = Vec::new();
            for mut row in database.query(question, values![key])? {
                let (at, body): (String, String) = (row.get(0)?, row.get(1)?);
                found.extend(serde_json::from_str(&body).ok().map(|record| (at, record)));
            }
            Ok(found)
        })
    }
}

/// A record as it is exported, after its place.
fn export_row(row: &mut SqlRow) -> Result<(i64, Json), HistoryError> {
    let mut line = Map::new();
    for (place, name) in ["at", "kind", "run"].into_iter().enumerate() {
        line.insert(name.to_owned(), Json::from(row.get::<String>(place + 1)?));
    }
    for (place, name) in [(5, "source"), (6, "name")] {
        if let Some(text) = row.optional::<String>(place)? {
            line.insert(name.to_owned(), Json::from(text));
        }
    }
    let body: String = row.get(4)?;
    line.insert("body".to_owned(), serde_json::from_str(&body).unwrap_or(Json::Null));
    Ok((row.get(0)?, Json::from(line)))
}

/// What a run's row shows of a verdict.
#[derive(Serialize, Deserialize)]
pub(crate) struct LastVerdict {
    pub(crate) verdict: String,
    pub(crate) policy: String,
    pub(crate) policy_hash: String,
    pub(crate) at: String,
}

/// Puts what the records say about a run into its row, if it has one.
pub(crate) fn apply(database: &mut dyn SqlConnection, key: &str) -> Result<(), HistoryError> {
    let of_run = database.first("SELECT id, own_suite, own_commit FROM run WHERE key = ?", values![key])?;
    let Some(mut of_run) = of_run else { return Ok(()) };
    let (id, own_suite, own_commit): (i64, String, Option<String>) =
        (of_run.get(0)?, of_run.get(1)?, of_run.optional(2)?);
    // Labels say nothing about a run as a whole, and there may be many.
    let all = "SELECT kind, at, body FROM record WHERE run = ? AND kind <> 'labelled' ORDER BY place";
    let (mut description, mut verdict, mut invalid) = (RunDescription::default(), None, None);
    for mut row in database.query(all, values![key])? {
        let (kind, at, body): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        match kind.as_str() {
            DESCRIBED => {
                if let Ok(later) = serde_json::from_str(&body) {
                    description.update(later);
                }
            }
            JUDGED => {
                let given: Option<VerdictRecord> = serde_json::from_str(&body).ok();
                verdict = given.map(|given| LastVerdict {
                    verdict: given.verdict,
                    policy: given.policy,
                    policy_hash: given.policy_hash,
                    at,
                });
            }
            INVALIDATED => {
                let why = serde_json::from_str::<Json>(&body)
                    .ok()
                    .and_then(|body| Some(body.get("why")?.as_str()?.to_owned()));
                invalid = Some(why.unwrap_or_default());
            }
            RESTORED => invalid = None,
            _ => {}
        }
    }
    let tags = serde_json::to_string(&description.tags).unwrap_or_else(|_| "{}".to_owned());
    let verdict_name = verdict.as_ref().map(|verdict| verdict.verdict.clone());
    let verdict = verdict.and_then(|verdict| serde_json::to_string(&verdict).ok());
    database.execute(
        "UPDATE run SET suite = ?, version = ?, branch = ?, commit_hash = ?, tags = ?, verdict = ?, verdict_name = ?, invalid = ? \
         WHERE id = ?",
        values![
            description.suite.unwrap_or(own_suite),
            description.version,
            description.branch,
            description.commit.or(own_commit),
            tags,
            verdict,
            verdict_name,
            invalid,
            id,
        ],
    )?;
    database.execute("DELETE FROM tag WHERE run = ?", values![id])?;
    for (name, value) in &description.tags {
        database.execute("INSERT INTO tag (run, name, value) VALUES (?, ?, ?)", values![id, name, value])?;
    }
    Ok(())
}
