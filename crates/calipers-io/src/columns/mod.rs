//! What a user says about the columns of a table: which is the id, which the score, which tells runs apart.

mod column_path;
pub(crate) mod known_names;
pub(crate) mod propose;

pub use column_path::{ColumnPath, PathFault};
pub(crate) use column_path::{ColumnStep, FoundPart, KeyPattern, PathStart, PathSurprise, PseudoColumn, quote};

use crate::error::printable;
use crate::formats::ColumnRole;
use calipers_core::nearest;
use std::fmt;
use std::sync::Arc;

/// Which columns of a table are what: `id=question_id,score=is_correct,run=model`.
///
/// On the left stands what a column is ([native records](https://github.com/calipers-eval/calipers/blob/main/docs/formats/native.md)
/// say the names), on the right a [`ColumnPath`]. A name that is not known is metadata of that name.
///
/// ```
/// use calipers_io::{Columns, Source, read};
///
/// let columns: Columns = "id=question_id,score=info.reward,run=model".parse()?;
/// let lines = r#"{"question_id": "q1", "model": "a", "info": {"reward": 1}}
/// {"question_id": "q1", "model": "b", "info": {"reward": 0}}"#;
/// let source = Source::bytes("results.jsonl", lines.as_bytes()).with_columns(columns);
/// let runs = read(&source, None)?;
/// assert_eq!(runs.iter().map(|run| run.name.as_deref()).collect::<Vec<_>>(), [Some("a"), Some("b")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    pairs: Vec<ColumnPair>,
    records: Option<ColumnPath>,
    /// True when they are for tables only: a file in the format of a tool keeps its meaning.
    is_for_tables: bool,
    /// True when it is only tried, and an error needs no proposal.
    is_trial: bool,
}

/// What a column is, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnPair {
    /// As it was written on the left.
    pub(crate) name: String,
    pub(crate) target: ColumnTarget,
    pub(crate) path: ColumnPath,
    /// The columns whose values are joined to the first: `subject+question`.
    pub(crate) further: Vec<ColumnPath>,
}

impl ColumnPair {
    /// All columns of it.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &ColumnPath> {
        std::iter::once(&self.path).chain(&self.further)
    }

    /// True when several columns are joined.
    pub(crate) fn is_joined(&self) -> bool {
        !self.further.is_empty()
    }

    /// True when a value is taken from this column.
    pub(crate) fn uses(&self, column: &str) -> bool {
        self.paths().any(|path| path.uses(column))
    }

    /// The right side, as it would be written.
    pub(crate) fn to_text(&self) -> String {
        self.paths().map(ToString::to_string).collect::<Vec<_>>().join("+")
    }

    /// The part of the path of the file, if it is just that.
    fn as_path_part(&self) -> Option<PseudoColumn> {
        if self.is_joined() { None } else { self.path.as_path_part() }
    }

    /// True for a run that is named by a part of the path.
    pub(crate) fn is_run_of_path(&self) -> bool {
        self.target.is_run() && self.as_path_part().is_some()
    }
}

/// What a column is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnTarget {
    Role(ColumnRole),
    /// The score by the scorer that the star stands for.
    ScoreOfStar,
}

impl ColumnTarget {
    pub(crate) fn is_run(&self) -> bool {
        matches!(self, Self::Role(ColumnRole::Run(_)))
    }
}

/// True when two columns cannot both be this.
fn is_same(a: &ColumnTarget, b: &ColumnTarget) -> bool {
    a == b || a.is_run() && b.is_run()
}

/// What is wrong with what was said about columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnsError {
    /// A part has no `=`.
    NoEquals(String),
    /// There is nothing to the left of `=`.
    NoName(String),
    /// A path is wrong.
    Path {
        /// The left side.
        name: String,
        /// The right side.
        path: String,
        /// What is wrong with it.
        fault: PathFault,
    },
    /// A name is given twice.
    GivenTwice {
        /// The name.
        name: String,
        /// The two columns.
        columns: [String; 2],
    },
    /// A name is so near to a known one that it was most likely meant.
    Misspelt {
        /// What was written.
        name: String,
        /// What was most likely meant.
        known: String,
    },
    /// A star on one side has no counterpart.
    LoneStar {
        /// The pair with the star.
        pair: String,
        /// True when the star is in a path, and nothing says what it stands for.
        is_in_path: bool,
    },
}

impl fmt::Display for ColumnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEquals(part) => write!(f, "`{part}` has no `=`"),
            Self::NoName(part) => write!(f, "`{part}` does not say what the column is"),
            Self::Path { name, path, fault } => write!(f, "in `{name}={path}`, {fault}"),
            Self::GivenTwice { name, columns: [first, second] } => {
                write!(f, "two columns are given for `{name}`: `{first}` and `{second}`")
            }
            Self::Misspelt { name, .. } => write!(f, "`{name}` is not a known column name"),
            Self::LoneStar { pair, is_in_path: true } => write!(f, "nothing says what the `*` in `{pair}` stands for"),
            Self::LoneStar { pair, is_in_path: false } => write!(f, "no column has the `*` that `{pair}` stands for"),
        }
    }
}

impl std::error::Error for ColumnsError {}

impl ColumnsError {
    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoEquals(_) | Self::NoName(_) => "write `id=question_id,score=is_correct`".to_owned(),
            Self::Path { fault, .. } => fault.hint(),
            Self::GivenTwice { name, .. } if name == "score" => {
                "name the scorers, as in `score.judge=…,score.exact=…`".to_owned()
            }
            Self::GivenTwice { .. } => "keep one of them".to_owned(),
            Self::Misspelt { name, known } => {
                format!("did you mean `{known}`? Metadata of that name is written `metadata.{name}`")
            }
            Self::LoneStar { is_in_path: true, .. } => {
                "say it with `run=*`, or with `score.*` on the left if each is a scorer".to_owned()
            }
            Self::LoneStar { is_in_path: false, .. } => "write `score=*.is_correct,run=*`".to_owned(),
        }
    }
}

/// What columns can be, besides metadata. A name near one of these was most likely meant to be it.
const KNOWN: [&str; 19] = [
    "id",
    "score",
    "run",
    "epoch",
    "error",
    "records",
    "passed",
    "correct",
    "predicted",
    "actual",
    "latency_ms",
    "tokens_used",
    "cost_usd",
    "quality_score",
    "expected_behaviors",
    "observed_behaviors",
    "must_not",
    "violations",
    "category",
];

impl std::str::FromStr for Columns {
    type Err = ColumnsError;

    /// Pairs with commas between them.
    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let mut columns = Self::default();
        columns.add(text)?;
        columns.check()?;
        Ok(columns)
    }
}

impl Columns {
    /// Adds pairs such as `id=question_id`, with commas between them. [`check`](Self::check) them when all are there.
    pub fn add(&mut self, pairs: &str) -> Result<(), ColumnsError> {
        for pair in split_pairs(pairs) {
            let Some((name, path)) = pair.split_once('=') else {
                return Err(ColumnsError::NoEquals(pair.trim().to_owned()));
            };
            self.set(name, path)?;
        }
        Ok(())
    }

    /// Says which column is this: `set("id", "question_id")`.
    pub fn set(&mut self, name: &str, path: &str) -> Result<(), ColumnsError> {
        let (name, path) = (name.trim(), path.trim());
        if name.is_empty() {
            return Err(ColumnsError::NoName(format!("{name}={path}")));
        }
        let wrong = |fault| ColumnsError::Path { name: name.to_owned(), path: path.to_owned(), fault };
        let twice = |earlier: &str| ColumnsError::GivenTwice {
            name: name.to_owned(),
            columns: [earlier.to_owned(), path.to_owned()],
        };
        if name == "records" {
            if let Some(earlier) = &self.records {
                return Err(twice(&earlier.to_string()));
            }
            self.records = Some(ColumnPath::of_records(path).map_err(wrong)?);
            return Ok(());
        }
        let target = target(name);
        let joined = if is_joinable(&target) { split_joined(path) } else { vec![path] };
        let mut parts =
            joined.iter().map(|part| part.parse::<ColumnPath>()).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let is_plain = |path: &ColumnPath| path.start != PathStart::Star && !path.has_star() && !path.has_list();
        if parts.len() > 1 && !parts.iter().all(is_plain) {
            return Err(wrong(PathFault::Joined));
        }
        let further = parts.split_off(1);
        let parsed = parts.remove(0);
        let is_score = matches!(target, ColumnTarget::ScoreOfStar | ColumnTarget::Role(ColumnRole::Score(_)));
        let parsed = if is_score { parsed.over_all_columns() } else { parsed };
        if let ColumnTarget::Role(ColumnRole::Fact(_)) = target
            && !name.contains('.')
            && !KNOWN.contains(&name)
            && let Some(known) = nearest(name, &KNOWN).filter(|known| is_slip(name, known))
        {
            return Err(ColumnsError::Misspelt { name: name.to_owned(), known: known.to_owned() });
        }
        if let Some(earlier) = self.pairs.iter().find(|pair| is_same(&pair.target, &target)) {
            return Err(twice(&earlier.to_text()));
        }
        // What tells runs apart can be asked for as metadata too, by its own name.
        let target = match (target, parsed.as_column()) {
            (ColumnTarget::Role(ColumnRole::Run(_)), Some(column)) if further.is_empty() => {
                ColumnTarget::Role(ColumnRole::Run(column.clone()))
            }
            (target, _) => target,
        };
        self.pairs.push(ColumnPair { name: name.to_owned(), target, path: parsed, further });
        Ok(())
    }

    /// Checks what only all pairs together say: a star stands for something.
    pub fn check(&self) -> Result<(), ColumnsError> {
        let has_star = |pair: &&ColumnPair| pair.path.has_star();
        let names_star =
            |pair: &&ColumnPair| pair.path.start == PathStart::Star || pair.target == ColumnTarget::ScoreOfStar;
        let lone = match (self.pairs.iter().find(has_star), self.pairs.iter().find(names_star)) {
            (Some(pair), None) => Some((pair, true)),
            (None, Some(pair)) => Some((pair, false)),
            _ => None,
        };
        match lone {
            Some((pair, is_in_path)) => {
                Err(ColumnsError::LoneStar { pair: format!("{}={}", pair.name, pair.to_text()), is_in_path })
            }
            None => Ok(()),
        }
    }

    /// The same, for tables only: a file that is recognised as the log of a tool is read as that.
    #[must_use]
    pub fn for_tables(self) -> Self {
        Self { is_for_tables: true, ..self }
    }

    /// The same, to see whether it works.
    pub(crate) fn for_trial(self) -> Self {
        Self { is_trial: true, ..self }
    }

    /// True when it is only tried.
    pub(crate) fn is_trial(&self) -> bool {
        self.is_trial
    }

    /// What was said and found, as it would be written.
    pub(crate) fn written(&self) -> String {
        let pairs: Vec<String> = self.iter().map(|(name, path)| format!("{name}={path}")).collect();
        pairs.join(",")
    }

    /// True when nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.records.is_none()
    }

    /// What was said, as names and paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, String)> {
        let records = self.records.iter().map(|path| ("records", path.to_string()));
        records.chain(self.pairs.iter().map(|pair| (pair.name.as_str(), pair.to_text())))
    }

    pub(crate) fn pairs(&self) -> &[ColumnPair] {
        &self.pairs
    }

    pub(crate) fn records(&self) -> Option<&ColumnPath> {
        self.records.as_ref()
    }

    /// The part of the path that names the run, if it does.
    pub(crate) fn run_of_path(&self) -> Option<PseudoColumn> {
        self.run_pair()?.as_path_part()
    }

    /// What names the run.
    pub(crate) fn run_pair(&self) -> Option<&ColumnPair> {
        self.pairs.iter().find(|pair| pair.target.is_run())
    }

    /// The same, and a column that was found by its name.
    pub(crate) fn with_column(&self, name: &str, column: &Arc<str>) -> Self {
        let mut more = self.clone();
        let role = match target(name) {
            ColumnTarget::Role(ColumnRole::Run(_)) => match ColumnRole::of(column) {
                ColumnRole::Fact(fact) => ColumnTarget::Role(ColumnRole::Run(fact)),
                _ => ColumnTarget::Role(ColumnRole::Run(column.clone())),
            },
            target => target,
        };
        let (name, path) = (name.to_owned(), ColumnPath::column(column));
        more.pairs.push(ColumnPair { name, target: role, path, further: Vec::new() });
        more
    }

    /// The same without what names the run.
    pub(crate) fn without_run(&self) -> Self {
        let mut less = self.clone();
        less.pairs.retain(|pair| !pair.target.is_run());
        less
    }

    /// The same without what names the samples.
    pub(crate) fn without_id(&self) -> Self {
        let mut less = self.clone();
        less.pairs.retain(|pair| !is_id(&pair.target));
        less
    }

    /// What names the samples.
    pub(crate) fn id_pair(&self) -> Option<&ColumnPair> {
        self.pairs.iter().find(|pair| is_id(&pair.target))
    }

    /// The same without what numbers the attempts.
    pub(crate) fn without_epoch(&self) -> Self {
        let mut less = self.clone();
        less.pairs.retain(|pair| pair.target != ColumnTarget::Role(ColumnRole::Epoch));
        less
    }

    /// True when something is said about what this asks for.
    pub(crate) fn names(&self, is_it: impl Fn(&ColumnRole) -> bool) -> bool {
        self.pairs.iter().any(|pair| match &pair.target {
            ColumnTarget::Role(role) => is_it(role),
            ColumnTarget::ScoreOfStar => is_it(&ColumnRole::Score("*".into())),
        })
    }

    /// True when something is said about the content: a part of the path can name the runs of any format.
    pub(crate) fn is_about_content(&self) -> bool {
        self.records.is_some() || self.pairs.iter().any(|pair| !pair.is_run_of_path())
    }

    /// True when they are for tables only: a file in the format of a tool keeps its meaning.
    pub(crate) fn is_for_tables(&self) -> bool {
        self.is_for_tables
    }
}

fn is_id(target: &ColumnTarget) -> bool {
    matches!(target, ColumnTarget::Role(ColumnRole::Id | ColumnRole::SampleId))
}

/// What a name on the left is.
fn target(name: &str) -> ColumnTarget {
    ColumnTarget::Role(match name {
        "id" | "sample_id" => ColumnRole::Id,
        "run" => ColumnRole::Run("run".into()),
        "score.*" | "scores.*" => return ColumnTarget::ScoreOfStar,
        name => ColumnRole::of(name),
    })
}

/// True for what several columns can name together.
fn is_joinable(target: &ColumnTarget) -> bool {
    matches!(target, ColumnTarget::Role(ColumnRole::Id | ColumnRole::SampleId | ColumnRole::Run(_)))
}

/// The columns that are joined by `+`, which counts as a part of a name in quotes, after a backslash and at an end of a name.
fn split_joined(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut is_quoted, mut is_escaped) = (0, false, false);
    for (at, c) in path.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '+' if !is_quoted => {
                parts.push(path[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(path[start..].trim());
    if parts.iter().any(|part| part.is_empty()) { vec![path] } else { parts }
}

/// True for one letter too many, too few or wrong, or two letters in the wrong order; not for another word.
fn is_slip(name: &str, known: &str) -> bool {
    let (name, known): (Vec<char>, Vec<char>) = (name.chars().collect(), known.chars().collect());
    if known.len() < 4 || name.len().abs_diff(known.len()) > 1 {
        return false;
    }
    let same_start = name.iter().zip(&known).take_while(|(a, b)| a == b).count();
    let (name, known) = (&name[same_start..], &known[same_start..]);
    let same_end = name.iter().rev().zip(known.iter().rev()).take_while(|(a, b)| a == b).count();
    let (name, known) = (&name[..name.len() - same_end], &known[..known.len() - same_end]);
    name.len() <= 1 && known.len() <= 1 || matches!((name, known), ([a, b], [c, d]) if a == d && b == c)
}

/// The pairs of a list: commas in quotes, braces and brackets do not count, nor those after a backslash.
fn split_pairs(text: &str) -> Vec<&str> {
    let mut pairs = Vec::new();
    let (mut start, mut depth, mut is_quoted, mut is_escaped) = (0, 0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                pairs.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pairs.push(&text[start..]);
    pairs.retain(|pair| !pair.trim().is_empty());
    pairs
}

/// What was read as what: the name on the left and the column, where they differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnRoles {
    /// The columns that are something else than their name says.
    renamed: Vec<(Arc<str>, ColumnRole)>,
    /// What is taken by a column that was named, so that the column of that name is only metadata.
    taken: Vec<ColumnRole>,
    /// The scorers that every record should have.
    scorers: Vec<Arc<str>>,
    /// What was read as what.
    pub(crate) shown: Vec<(String, String)>,
}

impl ColumnRoles {
    /// Columns by their names only.
    pub(crate) fn native() -> &'static Self {
        static NATIVE: ColumnRoles =
            ColumnRoles { renamed: Vec::new(), taken: Vec::new(), scorers: Vec::new(), shown: Vec::new() };
        &NATIVE
    }

    /// Says what a column is.
    pub(crate) fn rename(&mut self, column: &Arc<str>, role: ColumnRole) {
        self.take(role.clone());
        self.renamed.push((column.clone(), role));
    }

    /// Says that something is found elsewhere than in the column of that name.
    pub(crate) fn take(&mut self, role: ColumnRole) {
        if let ColumnRole::Score(scorer) = &role {
            self.scorers.push(scorer.clone());
        }
        self.taken.push(role);
    }

    /// True when a column tells runs apart.
    pub(crate) fn has_runs(&self) -> bool {
        self.taken.iter().any(|role| matches!(role, ColumnRole::Run(_)))
    }

    /// The scorers that every record should have: a record without their column is unscored.
    pub(crate) fn scorers(&self) -> &[Arc<str>] {
        &self.scorers
    }

    /// What is wrong with a record, in the names of its columns: `question_id` in place of `id`.
    pub(crate) fn explain(&self, what: String) -> String {
        let shorter = self.shown.iter().find_map(|(name, column)| {
            let place = what.find(&format!("`{name}`"))?;
            Some(format!("{}`{}`{}", &what[..place], printable(column), &what[place + name.len() + 2..]))
        });
        shorter.unwrap_or(what)
    }

    /// The role of a key of a record, or of a column of a table; none if another column was named in its place, and its
    /// name is taken.
    pub(crate) fn of(&self, name: &str) -> Option<ColumnRole> {
        if self.taken.is_empty() {
            return Some(ColumnRole::of(name));
        }
        if let Some((_, role)) = self.renamed.iter().find(|(column, _)| **column == *name) {
            return Some(role.clone());
        }
        let role = ColumnRole::of(name);
        let is_taken = |role: &ColumnRole| {
            let is_id = *role == ColumnRole::SampleId && self.taken.contains(&ColumnRole::Id);
            is_id || self.taken.contains(role)
        };
        if !is_taken(&role) {
            return Some(role);
        }
        let fact = ColumnRole::Fact(name.into());
        (!is_taken(&fact)).then_some(fact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Columns, ColumnsError> {
        text.parse()
    }

    #[test]
    fn pairs_are_taken_apart_at_commas_that_are_not_part_of_a_name() {
        let columns = parse(r#" id = question_id , score.judge={a,b}_ok,run=*,topic=odd\,name,note="a,b""#);
        let columns = columns.unwrap();
        let shown: Vec<(&str, String)> = columns.iter().collect();
        assert_eq!(shown[0], ("id", "question_id".to_owned()));
        assert_eq!(shown[1], ("score.judge", "{a,b}_ok".to_owned()));
        assert_eq!(columns.pairs()[3].path.as_column().map(|name| &**name), Some("odd,name"));
        assert_eq!(columns.pairs()[4].path.as_column().map(|name| &**name), Some("a,b"));
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn mistakes_are_named_with_what_to_write() {
        for (text, message, hint) in [
            ("id", "`id` has no `=`", "write `id=question_id,score=is_correct`"),
            ("=x", "`=x` does not say what the column is", "write `id=question_id,score=is_correct`"),
            (
                "id=",
                "in `id=`, there is no column name",
                "write a column, as in `score=is_correct`, or a path, as in `score=info.reward`",
            ),
            ("id=a,id=b", "two columns are given for `id`: `a` and `b`", "keep one of them"),
            ("id=a,sample_id=b", "two columns are given for `sample_id`: `a` and `b`", "keep one of them"),
            (
                "score=a,score=b",
                "two columns are given for `score`: `a` and `b`",
                "name the scorers, as in `score.judge=…,score.exact=…`",
            ),
            (
                "scroe=a",
                "`scroe` is not a known column name",
                "did you mean `score`? Metadata of that name is written `metadata.scroe`",
            ),
            (
                "score=*_ok",
                "nothing says what the `*` in `score=*_ok` stands for",
                "say it with `run=*`, or with `score.*` on the left if each is a scorer",
            ),
            ("run=*", "no column has the `*` that `run=*` stands for", "write `score=*.is_correct,run=*`"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.hint().as_str()), (message, hint), "{text}");
        }
        for (text, parts) in
            [("run=a+b.c", 2), ("id=@stem + x", 2), ("id=\"a+b\"", 1), ("run=C++", 1), ("score=a+b", 1)]
        {
            assert_eq!(parse(text).unwrap().pairs()[0].paths().count(), parts, "{text}");
        }
        assert_eq!(
            parse("run=a+*_ok").unwrap_err().to_string(),
            "in `run=a+*_ok`, only plain columns are joined by `+`"
        );
        for fine in ["metadata.scroe=a", "subject=a", "scores.x=a", "ids=a", "score.*=*_ok", "score=*,run=*"] {
            assert!(parse(fine).is_ok(), "{fine}");
        }
    }

    #[test]
    fn a_column_that_is_named_takes_the_place_of_the_one_with_our_name() {
        let mut roles = ColumnRoles::default();
        roles.rename(&"task".into(), ColumnRole::Id);
        roles.rename(&"subject".into(), ColumnRole::Fact("category".into()));
        assert_eq!(roles.of("task"), Some(ColumnRole::Id));
        assert_eq!(roles.of("id"), Some(ColumnRole::Fact("id".into())));
        assert_eq!(roles.of("sample_id"), Some(ColumnRole::Fact("sample_id".into())));
        assert_eq!(roles.of("score"), Some(ColumnRole::Score("score".into())));
        assert_eq!(roles.of("category"), None);
        assert_eq!(ColumnRoles::native().of("id"), Some(ColumnRole::Id));
    }
}
