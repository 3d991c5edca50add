//! Questions to the index: which runs there are, what one holds, and how a case went over time.

use crate::database::History;
use crate::indexer::unit_of;
use crate::records::LastVerdict;
use crate::sample_blob::{CASE_BYTES, CaseEnding, decode, decode_all, decode_contents};
use crate::sql::{SqlConnection, SqlRow, SqlValue, values};
use crate::{HistoryError, VerdictRecord};
use calipers::Verdict;
use calipers::data::OutcomeCounts;
use calipers::io::fingerprint;
use calipers::page::PageOutcome;
use calipers::render::view::{CaseDifference, Facets, TrendChoice};
use calipers::render::{HistoryFigure, HistoryList, HistoryRun, HistoryVerdict, RunFilter, RunState};
use std::collections::HashMap;

const COLUMNS: &str = "run.id, run.key, source.path, run.format, run.name, run.suite, run.task, run.model, run.version, run.branch, \
                       run.commit_hash, run.tags, run.started, run.at, run.total, run.passed, run.failed, run.scored, run.errored, \
                       run.unscored, run.flaky, run.attempts, run.errored_attempts, run.expected, run.ending, run.case_set, \
                       run.scorers, run.verdict, run.invalid, source.is_gone, source.choices";
/// As many columns are these.
const COLUMN_COUNT: usize = 31;
const FROM: &str = "FROM run JOIN source ON source.id = run.source";

/// As many values of a facet are offered.
const FACET_MAX: usize = 200;

/// A condition with its values.
#[derive(Default)]
struct Conditions {
    parts: Vec<String>,
    values: Vec<SqlValue>,
}

impl Conditions {
    fn add(&mut self, part: &str, values: impl IntoIterator<Item = String>) {
        self.parts.push(part.to_owned());
        self.values.extend(values.into_iter().map(SqlValue::from));
    }

    fn of(filter: &RunFilter) -> Self {
        let mut all = Self::default();
        for (column, value) in [
            ("run.suite", &filter.suite),
            ("run.model", &filter.model),
            ("run.branch", &filter.branch),
            ("run.version", &filter.version),
        ] {
            if let Some(value) = value {
                all.add(&format!("{column} = ?"), [value.clone()]);
            }
        }
        if let Some(text) = filter.text.as_ref().map(|text| text.trim()).filter(|text| !text.is_empty()) {
            let columns = ["suite", "task", "model", "version", "branch", "commit_hash", "name", "key"];
            let like: Vec<String> =
                columns.iter().map(|column| format!("lower(run.{column}) LIKE ? ESCAPE '!'")).collect();
            // Both databases make only the letters of ASCII small: the texts of Postgres have the collation C.
            let text = text.to_ascii_lowercase();
            let pattern = format!("%{}%", text.replace('!', "!!").replace('%', "!%").replace('_', "!_"));
            let part = format!("({} OR lower(source.path) LIKE ? ESCAPE '!')", like.join(" OR "));
            all.add(&part, vec![pattern; columns.len() + 1]);
        }
        if let Some((name, value)) = &filter.tag {
            let part = "EXISTS (SELECT 1 FROM tag WHERE tag.run = run.id AND tag.name = ? AND tag.value = ?)";
            all.add(part, [name.clone(), value.clone()]);
        }
        match filter.verdict.as_deref() {
            Some("none") => all.add("run.verdict IS NULL", []),
            Some(verdict) => all.add("run.verdict_name = ?", [verdict.to_owned()]),
            None => {}
        }
        let lacking = "(run.errored + run.unscored > 0 OR run.expected IS NOT NULL OR run.ending <> 'finished')";
        match filter.state {
            Some(RunState::Whole) => all.add(&format!("NOT {lacking}"), []),
            Some(RunState::Lacking) => all.add(lacking, []),
            Some(RunState::Invalid) => all.add("run.invalid IS NOT NULL", []),
            None => {}
        }
        all
    }

    fn clause(&self) -> String {
        if self.parts.is_empty() { String::new() } else { format!("WHERE {}", self.parts.join(" AND ")) }
    }
}

/// What a run's row says, with its place in the database.
pub(crate) struct RunRow {
    pub(crate) id: i64,
    pub(crate) run: HistoryRun,
}

fn run_row(row: &mut SqlRow) -> Result<RunRow, HistoryError> {
    let tags: String = row.get(11)?;
    let tags: std::collections::BTreeMap<String, String> = serde_json::from_str(&tags).unwrap_or_default();
    let verdict: Option<String> = row.optional(27)?;
    let verdict = verdict.and_then(|text| serde_json::from_str::<LastVerdict>(&text).ok());
    let run = HistoryRun {
        key: row.get(1)?,
        source: row.get(2)?,
        format: row.get(3)?,
        name: row.optional(4)?,
        suite: row.get(5)?,
        task: row.optional(6)?,
        model: row.optional(7)?,
        version: row.optional(8)?,
        branch: row.optional(9)?,
        commit: row.optional(10)?,
        tags: tags.into_iter().collect(),
        started: row.optional(12)?,
        at_ms: row.get(13)?,
        counts: OutcomeCounts {
            total: row.count(14)?,
            passed: row.count(15)?,
            failed: row.count(16)?,
            errored: row.count(18)?,
            unscored: row.count(19)?,
            flaky: row.count(20)?,
            attempts: row.count(21)?,
            errored_attempts: row.count(22)?,
        },
        scored: row.count(17)?,
        expected: row.optional::<i64>(23)?.map(|expected| expected.max(0) as u64),
        ending: row.get(24)?,
        case_set: row.get(25)?,
        scorers: row.get(26)?,
        figures: Vec::new(),
        verdict: verdict.and_then(|last| {
            let (policy, policy_hash, at) = (last.policy, last.policy_hash, last.at);
            Some(HistoryVerdict { verdict: verdict_of(&last.verdict)?, policy, policy_hash, at })
        }),
        invalid: row.optional(28)?,
        is_gone: row.get(29)?,
        choices: row.get(30)?,
    };
    Ok(RunRow { id: row.get(0)?, run })
}

fn verdict_of(name: &str) -> Option<Verdict> {
    [Verdict::Pass, Verdict::Fail, Verdict::Undecided].into_iter().find(|verdict| verdict.name() == name)
}

const FIGURE: &str = "figure.score, figure.reducer, figure.metric, figure.unit, figure.value, figure.lower, figure.upper, figure.level, \
                      figure.n, figure.missing";

/// The figure whose columns begin at this place.
fn figure_at(row: &mut SqlRow, place: usize) -> Result<HistoryFigure, HistoryError> {
    Ok(HistoryFigure {
        score: row.get(place)?,
        reducer: row.optional(place + 1)?,
        metric: row.get(place + 2)?,
        unit: unit_of(&row.get::<String>(place + 3)?),
        value: row.optional(place + 4)?,
        lower: row.optional(place + 5)?,
        upper: row.optional(place + 6)?,
        level: row.get(place + 7)?,
        n: row.count(place + 8)?,
        missing: row.count(place + 9)?,
    })
}

fn figures(database: &mut dyn SqlConnection, run: i64) -> Result<Vec<HistoryFigure>, HistoryError> {
    let question = format!("SELECT {FIGURE} FROM figure WHERE run = ? ORDER BY place");
    database.query(&question, values![run])?.iter_mut().map(|row| figure_at(row, 0)).collect()
}

/// The cases of a run: names in their order, and what each asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaseSet {
    pub(crate) names: Vec<String>,
    pub(crate) contents: Vec<Option<u64>>,
}

impl CaseSet {
    /// How these cases differ from others, and the names of those that ask the same in both.
    pub(crate) fn difference(&self, other: &Self) -> (CaseDifference, Vec<String>) {
        let theirs: HashMap<&str, Option<u64>> =
            other.names.iter().map(String::as_str).zip(other.contents.iter().copied()).collect();
        let mut difference = CaseDifference::default();
        let mut same = Vec::new();
        for (name, content) in self.names.iter().zip(&self.contents) {
            match theirs.get(name.as_str()) {
                None => difference.added += 1,
                // What is not known on one side is not known to differ.
                Some(their) if their.is_some() && content.is_some() && their != content => difference.changed += 1,
                Some(_) => {
                    difference.shared += 1;
                    same.push(name.clone());
                }
            }
        }
        difference.removed = other.names.len() as u64 - difference.shared - difference.changed;
        (difference, same)
    }
}

impl History {
    /// How many runs there are.
    pub fn count(&self) -> Result<u64, HistoryError> {
        self.with(|database| Ok(database.number("SELECT count(*) FROM run", &[])?.max(0) as u64))
    }

    /// A part of the runs, the latest first, with all their figures.
    pub fn list(&self, filter: &RunFilter, first: u64, size: u64) -> Result<HistoryList, HistoryError> {
        let conditions = Conditions::of(filter);
        self.with(|database| {
            let clause = conditions.clause();
            let total = database.number(&format!("SELECT count(*) {FROM} {clause}"), &conditions.values)?;
            let mut asked = conditions.values.clone();
            asked.extend([SqlValue::from(size), SqlValue::from(first)]);
            let question =
                format!("SELECT {COLUMNS} {FROM} {clause} ORDER BY run.at DESC, run.id DESC LIMIT ? OFFSET ?");
            let mut runs = Vec::new();
            for mut row in database.query(&question, &asked)? {
                let RunRow { id, mut run } = run_row(&mut row)?;
                run.figures = figures(database, id)?;
                runs.push(run);
            }
            Ok(HistoryList { runs, first, total: total.max(0) as u64 })
        })
    }

    /// The run with this key, or the only one whose key begins so.
    pub fn find(&self, key: &str) -> Result<HistoryRun, HistoryError> {
        // A key is hexadecimal: nothing else is even asked for.
        if key.is_empty() || key.len() > 16 || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(HistoryError::UnknownRun(key.chars().take(80).collect()));
        }
        let key = key.to_ascii_lowercase();
        self.with(|database| {
            let question = format!("SELECT {COLUMNS} {FROM} WHERE run.key >= ? AND run.key < ? LIMIT 2");
            let mut rows = database.query(&question, values![key.as_str(), format!("{key}g")])?;
            if rows.len() > 1 {
                return Err(HistoryError::AmbiguousRun(key.clone()));
            }
            let mut row = rows.pop().ok_or_else(|| HistoryError::UnknownRun(key.clone()))?;
            let RunRow { id, mut run } = run_row(&mut row)?;
            run.figures = figures(database, id)?;
            Ok(run)
        })
    }

    /// The report of a run as `calipers score --json` prints it.
    pub fn report_json(&self, key: &str) -> Result<String, HistoryError> {
        self.with(|database| {
            let row = database.first("SELECT report FROM run WHERE key = ?", values![key])?;
            let text: String = row.ok_or_else(|| HistoryError::UnknownRun(key.to_owned()))?.get(0)?;
            let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            Ok(format!("{json:#}\n"))
        })
    }

    /// The run before this one in its suite, with the same model and branch if there is one.
    pub(crate) fn before(&self, run: &HistoryRun) -> Result<Option<HistoryRun>, HistoryError> {
        self.with(|database| {
            let question = format!(
                "SELECT {COLUMNS} {FROM} WHERE run.suite = ? AND run.invalid IS NULL AND run.key <> ? AND run.at <= ? \
                 ORDER BY run.model IS NOT DISTINCT FROM ? DESC, run.branch IS NOT DISTINCT FROM ? DESC, run.at DESC, run.id DESC LIMIT 1"
            );
            let asked = values![&run.suite, &run.key, run.at_ms, &run.model, &run.branch];
            let row = database.first(&question, asked)?;
            row.map(|mut row| Ok(run_row(&mut row)?.run)).transpose()
        })
    }

    /// What runs can be chosen by.
    pub(crate) fn facets(&self) -> Result<Facets, HistoryError> {
        self.with(|database| {
            let mut of = |column: &str| values_of(database, column, "", &[]);
            let (suites, models, branches, versions) = (of("suite")?, of("model")?, of("branch")?, of("version")?);
            let question =
                "SELECT name || '=' || value, count(*) FROM tag GROUP BY name, value ORDER BY 2 DESC, 1 LIMIT ?";
            let tags = database.query(question, values![FACET_MAX])?.iter_mut().map(pair).collect::<Result<_, _>>()?;
            Ok(Facets { suites, models, branches, versions, tags })
        })
    }

    /// The values of a column among the runs of a suite.
    pub(crate) fn values_in_suite(
        &self,
        column: &'static str,
        suite: &str,
    ) -> Result<Vec<(String, u64)>, HistoryError> {
        self.with(|database| values_of(database, column, "AND suite = ?", values![suite]))
    }

    /// The figures that the runs of a suite have, the one of most runs first.
    pub(crate) fn choices(&self, suite: &str) -> Result<Vec<TrendChoice>, HistoryError> {
        self.with(|database| {
            let question = "SELECT score, metric, reducer, count(*) FROM figure JOIN run ON run.id = figure.run WHERE run.suite = ? \
                            AND value IS NOT NULL GROUP BY score, metric, reducer ORDER BY 4 DESC, sum(CASE WHEN lower IS NULL \
                            THEN 0 ELSE 1 END) DESC, min(figure.place), 1, 2, 3 LIMIT ?";
            let mut rows = database.query(question, values![suite, FACET_MAX])?;
            let choice = |row: &mut SqlRow| {
                Ok(TrendChoice { score: row.get(0)?, metric: row.get(1)?, reducer: row.optional(2)? })
            };
            rows.iter_mut().map(choice).collect()
        })
    }

    /// The latest runs that have a figure, the latest first, with that figure alone; and how many there are.
    pub(crate) fn with_figure(
        &self,
        choice: &TrendChoice,
        filter: &RunFilter,
        most: u64,
    ) -> Result<(Vec<HistoryRun>, u64), HistoryError> {
        let mut conditions = Conditions::of(filter);
        conditions.add("run.invalid IS NULL", []);
        conditions.add("figure.score = ?", [choice.score.clone()]);
        conditions.add("figure.metric = ?", [choice.metric.clone()]);
        match &choice.reducer {
            Some(reducer) => conditions.add("figure.reducer = ?", [reducer.clone()]),
            None => conditions.add("figure.reducer IS NULL", []),
        }
        let from = format!("{FROM} JOIN figure ON figure.run = run.id {}", conditions.clause());
        self.with(|database| {
            let total = database.number(&format!("SELECT count(*) {from}"), &conditions.values)?;
            let question = format!("SELECT {COLUMNS}, {FIGURE} {from} ORDER BY run.at DESC, run.id DESC LIMIT ?");
            let mut asked = conditions.values.clone();
            asked.push(SqlValue::from(most));
            let one = |row: &mut SqlRow| {
                let RunRow { mut run, .. } = run_row(row)?;
                run.figures.push(figure_at(row, COLUMN_COUNT)?);
                Ok(run)
            };
            let runs = database.query(&question, &asked)?.iter_mut().map(one).collect::<Result<_, HistoryError>>()?;
            Ok((runs, total.max(0) as u64))
        })
    }

    /// The cases of a set.
    pub(crate) fn case_set(&self, hash: &str) -> Result<CaseSet, HistoryError> {
        self.with(|database| {
            let row = database.first("SELECT names, contents FROM case_set WHERE hash = ?", values![hash])?;
            let Some(mut row) = row else { return Ok(CaseSet::default()) };
            let (names, contents): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            Ok(CaseSet {
                names: serde_json::from_str(&names).unwrap_or_default(),
                contents: decode_contents(&contents),
            })
        })
    }

    /// How each case of a run ended, by name.
    pub(crate) fn endings(&self, run: &HistoryRun) -> Result<Vec<(String, CaseEnding)>, HistoryError> {
        let set = self.case_set(&run.case_set)?;
        let bytes: Vec<u8> = self.with(|database| {
            let row = database.first("SELECT endings FROM run WHERE key = ?", values![&run.key])?;
            row.map_or_else(|| Ok(Vec::new()), |mut row| row.get(0))
        })?;
        Ok(set.names.into_iter().zip(decode_all(&bytes)).collect())
    }

    /// A case in the latest runs of a suite, the latest first, with what it asks there; and how many runs have it.
    #[expect(clippy::type_complexity, reason = "read once, where it is taken apart")]
    pub(crate) fn case_over_time(
        &self,
        suite: &str,
        id: &str,
        most: usize,
    ) -> Result<(Vec<(HistoryRun, CaseEnding, Option<u64>)>, u64), HistoryError> {
        self.with(|database| {
            // Most runs share a set of cases, so few sets are looked at.
            let sets = "SELECT hash, names, contents FROM case_set WHERE hash IN (SELECT DISTINCT case_set FROM run WHERE suite = ?)";
            let mut places: HashMap<String, (usize, Option<u64>)> = HashMap::new();
            for mut row in database.query(sets, values![suite])? {
                let names: Vec<String> = serde_json::from_str(&row.get::<String>(1)?).unwrap_or_default();
                let Some(place) = names.iter().position(|name| name == id) else { continue };
                let content = decode_contents(&row.get::<Vec<u8>>(2)?).get(place).copied().flatten();
                places.insert(row.get(0)?, (place, content));
            }
            let runs = "SELECT id, case_set FROM run WHERE suite = ? ORDER BY at DESC, id DESC";
            let mut found = Vec::new();
            for mut row in database.query(runs, values![suite])? {
                let (id, set): (i64, String) = (row.get(0)?, row.get(1)?);
                found.extend(places.get(&set).map(|place| (id, *place)));
            }
            // Of how its cases ended, a run's row gives the one that is asked for.
            let question = format!("SELECT {COLUMNS}, substr(run.endings, ?, ?) {FROM} WHERE run.id = ?");
            let mut entries = Vec::new();
            for (id, (place, content)) in found.iter().take(most) {
                let Some(mut row) = database.first(&question, values![place * CASE_BYTES + 1, CASE_BYTES, *id])? else {
                    continue;
                };
                if let Some(ending) = decode(&row.get::<Vec<u8>>(COLUMN_COUNT)?, 0) {
                    entries.push((run_row(&mut row)?.run, ending, *content));
                }
            }
            Ok((entries, found.len() as u64))
        })
    }

    /// Files that could not be read, and why.
    pub fn problems(&self) -> Result<Vec<(String, String)>, HistoryError> {
        self.with(|database| {
            let question =
                "SELECT path, problem FROM source WHERE problem IS NOT NULL AND is_gone = 0 ORDER BY path LIMIT 1000";
            database.query(question, &[])?.iter_mut().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
        })
    }

    /// A number that changes whenever the index or the records change.
    pub(crate) fn state(&self) -> Result<i64, HistoryError> {
        self.with(|database| {
            let question = "SELECT (SELECT count(*) FROM run) + (SELECT coalesce(max(id), 0) FROM run) * 1000003 + (SELECT \
                            coalesce(max(place), 0) FROM record) * 7919 + (SELECT count(*) FROM source WHERE is_gone = 1)";
            database.number(question, &[])
        })
    }

    /// The verdicts on a run, the latest first, as pages show them.
    pub(crate) fn shown_verdicts(&self, key: &str) -> Result<Vec<HistoryVerdict>, HistoryError> {
        let all = self.verdicts(key)?;
        let shown = |(at, record): (String, VerdictRecord)| {
            let (policy, policy_hash) = (record.policy, record.policy_hash);
            Some(HistoryVerdict { verdict: verdict_of(&record.verdict)?, policy, policy_hash, at })
        };
        Ok(all.into_iter().filter_map(shown).collect())
    }

    /// What was kept of an answer, if its question was asked before.
    pub(crate) fn recall(&self, question: &str) -> Result<Option<String>, HistoryError> {
        let question = fingerprint([question]);
        self.with(|database| {
            let row = database.first("SELECT answer FROM change WHERE question = ?", values![question])?;
            row.map(|mut row| row.get(0)).transpose()
        })
    }

    /// Keeps an answer.
    pub(crate) fn cache(&self, question: &str, answer: &str) -> Result<(), HistoryError> {
        let question = fingerprint([question]);
        self.with(|database| {
            let put = "INSERT INTO change (question, answer) VALUES (?, ?) ON CONFLICT (question) DO UPDATE SET answer = excluded.answer";
            database.execute(put, values![question, answer]).map(drop)
        })
    }
}

fn pair(row: &mut SqlRow) -> Result<(String, u64), HistoryError> {
    Ok((row.get(0)?, row.count(1)?))
}

fn values_of(
    database: &mut dyn SqlConnection,
    column: &str,
    condition: &str,
    values: &[SqlValue],
) -> Result<Vec<(String, u64)>, HistoryError> {
    let question = format!(
        "SELECT {column}, count(*) FROM run WHERE {column} IS NOT NULL {condition} GROUP BY {column} ORDER BY 2 DESC, 1 LIMIT {FACET_MAX}"
    );
    database.query(&question, values)?.iter_mut().map(pair).collect()
}

/// Those that did not pass first, then by name.
pub(crate) fn by_urgency(outcome: PageOutcome) -> u8 {
    match outcome {
        PageOutcome::Failed => 0,
        PageOutcome::Errored => 1,
        PageOutcome::Unscored => 2,
        PageOutcome::Scored => 3,
        PageOutcome::Passed => 4,
    }
}
