//! From flags to a selection: which files, what of them, and what moves the numbers.

use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::{AttemptUnit, FileFlags, FormatFlag, MissingName, ScriptFlags, SelectionFlags};
use crate::report_files::identity;
use crate::terminal::note;
use calipers::data::{Labels, PassRule};
use calipers::io::{Columns, ColumnsError, Source};
use calipers::plan::Seed;
use calipers::{AttemptsFrom, Reducer, Selection, find_sources};
use std::collections::HashSet;

/// The choices that flags make, for files that are named with [`sources`] or [`distinct_sources`].
pub(crate) fn resolve(
    flags: &SelectionFlags,
    format: &FormatFlag,
    level: f64,
    scripts: &ScriptFlags,
) -> Result<Selection, Failure> {
    Ok(Selection {
        sources: Vec::new(),
        attempts_from: format.attempts_from.map(|unit| match unit {
            AttemptUnit::Files => AttemptsFrom::Files,
            AttemptUnit::Folders => AttemptsFrom::Folders,
        }),
        level,
        scripts: scripts.load.clone(),
        ..resolve_files(flags, &format.files)?
    })
}

/// The same where each file stands for itself: attempts are not spread over files, and intervals have the usual level.
pub(crate) fn resolve_files(flags: &SelectionFlags, files: &FileFlags) -> Result<Selection, Failure> {
    Ok(Selection {
        sources: Vec::new(),
        format: files.format.clone(),
        columns: columns(&files.columns)?.into(),
        runs: files.run.clone(),
        scorers: flags.scorer.clone(),
        filter: filter(&flags.filter)?,
        labels: labels(&flags.label)?,
        pass_threshold: pass_threshold(flags.pass_threshold)?,
        missing: flags.missing.map(MissingName::rule),
        seed: Seed(flags.seed),
        ..Selection::default()
    })
}

fn pass_threshold(threshold: Option<f64>) -> Result<Option<f64>, Failure> {
    threshold.map(|threshold| Ok(PassRule::new(threshold)?.threshold())).transpose()
}

/// The files that are named, and those of folders and patterns that hold results of some kind. What else a folder holds
/// is named on standard error; a file there that is empty, damaged or may not be read is an error.
pub(crate) fn sources(files: &[String], selection: &Selection) -> Result<Vec<Source>, Failure> {
    let found = find_sources(files, selection)?;
    for name in &found.left_out {
        note_left_out(name);
    }
    let failure = found.errors.into_iter().map(Failure::from).reduce(Failure::and);
    failure.map_or(Ok(found.sources), Err)
}

/// Says that a file in a folder was not read.
pub(crate) fn note_left_out(name: &str) {
    note(&format!("{name} was left out: it holds no results in a known format"));
}

/// The same, each once: a file that is named twice, or in a folder that is named too, has no more attempts than it has.
pub(crate) fn distinct_sources(files: &[String], selection: &Selection) -> Result<Vec<Source>, Failure> {
    let mut sources = sources(files, selection)?;
    let (mut known, mut addresses) = (HashSet::new(), HashSet::new());
    sources.retain(|source| {
        let is_new = match source.address_hash() {
            Some(address) => addresses.insert(address),
            None => source.name == "-" || known.insert(identity(&source.name)),
        };
        if !is_new {
            note(&format!("{} is named twice and read once", source.name));
        }
        is_new
    });
    Ok(sources)
}

/// Which columns are what, each `NAME=COLUMN`, with commas between several.
pub(crate) fn columns(given: &[String]) -> Result<Columns, Failure> {
    columns_by("--columns", given)
}

/// The same by a flag of another name.
pub(crate) fn columns_by(flag: &str, given: &[String]) -> Result<Columns, Failure> {
    let mut columns = Columns::default();
    let refuse = |error: ColumnsError| Failure::new(format!("`{flag}`: {error}")).hint(error.hint());
    for pairs in given {
        columns.add(pairs).map_err(refuse)?;
    }
    columns.check().map_err(refuse)?;
    Ok(columns)
}

/// Conditions on metadata, each `KEY=VALUE`.
fn filter(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let condition = |condition: &String| match condition.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => {
            Err(Failure::new(format!("`--where {condition}` has no `=`")).hint("write `--where category=adversarial`"))
        }
    };
    given.iter().map(condition).collect()
}

fn labels(given: &[String]) -> Result<Labels, Failure> {
    given.iter().try_fold(Labels::default(), |labels, one| {
        let parts = one.rsplit_once('=').and_then(|(label, number)| Some((label, number.trim().parse().ok()?)));
        match parts.filter(|(_, number): &(_, f64)| number.is_finite()) {
            Some((label, number)) => Ok(labels.with(label, number)),
            None => Err(Failure::new(format!("`--label {one}` gives no number")).hint("write `--label maybe=0.5`")),
        }
    })
}

/// The reducers of these names, if there are any; `none` is a name for none of them.
pub(crate) fn reducers(
    names: &[String],
    find: impl Fn(&str) -> Result<Reducer, Failure>,
) -> Result<Option<Vec<Reducer>>, Failure> {
    if names.len() > 1 && names.iter().any(|name| name == "none") {
        let hint = "run the command twice, with `--reducer none` and with the others";
        return Err(Failure::new("`--reducer none` cannot be combined with another reducer").hint(hint));
    }
    let named = names.iter().filter(|name| *name != "none").map(|name| find(name));
    let reducers = named.collect::<Result<Vec<Reducer>, _>>()?;
    if let Some(empty) = reducers.iter().find(|reducer| reducer.attempts_needed() == Some(0)) {
        let what = format!("`{}` asks for no attempt at all", empty.name());
        return Err(Failure::new(what).hint("ask for at least one, as in `pass_at_1`"));
    }
    Ok(if names.is_empty() { None } else { Some(reducers) })
}

/// The one reducer where samples are paired, if it is named.
pub(crate) fn pairing_reducer(
    expressions: &Expressions<'_>,
    name: Option<&str>,
) -> Result<Option<Vec<Reducer>>, Failure> {
    if name == Some("none") {
        let hint = "name one, such as `mean`: samples are paired, not attempts";
        return Err(Failure::new("attempts have to be reduced").hint(hint));
    }
    let names: Vec<String> = name.iter().map(|name| (*name).to_owned()).collect();
    reducers(&names, |name| Ok(expressions.reducer(name)?))
}
