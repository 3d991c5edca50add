//! What runs are called when several of them stand together: what tells one from the others, and no more.

use std::collections::HashSet;

/// What is known of a run that may tell it from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunIdentity<'a> {
    /// What the file says tells the run apart, such as a model in one of its columns.
    pub name: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// The task.
    pub task: Option<&'a str>,
    /// The file.
    pub source: &'a str,
}

/// A name for each run: its name, model, task, model and task, or the part of its path that differs, whichever is the first
/// that no two runs share.
///
/// ```
/// use calipers_core::{RunIdentity, telling_names};
///
/// let paths = ["logs/droid/run-1/results.json", "logs/droid/run-2/results.json", "logs/ob1/run-1/results.json"];
/// let runs = paths.map(|source| RunIdentity { source, ..RunIdentity::default() });
/// assert_eq!(telling_names(&runs), ["droid/run-1", "droid/run-2", "ob1/run-1"]);
/// ```
#[must_use]
pub fn telling_names(runs: &[RunIdentity<'_>]) -> Vec<String> {
    let paths: Vec<&str> = runs.iter().map(|run| run.source).collect();
    let paths = telling_paths(&paths);
    let both = |a: Option<&str>, b: Option<&str>| Some(format!("{} · {}", a?, b?));
    let named = |name: &dyn Fn(usize, &RunIdentity<'_>) -> Option<String>| -> Option<Vec<String>> {
        let names = runs.iter().enumerate().map(|(place, run)| name(place, run).filter(|name| !name.is_empty()));
        let names: Vec<String> = names.collect::<Option<_>>()?;
        let distinct: HashSet<&String> = names.iter().collect();
        (distinct.len() == names.len()).then_some(names)
    };
    named(&|_, run| run.name.map(str::to_owned))
        .or_else(|| named(&|_, run| run.model.map(str::to_owned)))
        .or_else(|| named(&|_, run| run.task.map(str::to_owned)))
        .or_else(|| named(&|_, run| both(run.task, run.model)))
        .or_else(|| named(&|place, _| Some(paths[place].clone())))
        .or_else(|| named(&|place, run| both(Some(&paths[place]), run.name)))
        // Of the runs in one file, one may have no name.
        .or_else(|| named(&|place, run| Some(run.name.map_or_else(|| paths[place].clone(), str::to_owned))))
        .unwrap_or_else(|| runs.iter().map(|run| run.source.to_owned()).collect())
}

/// The parts of paths that differ: without the folders that all begin with, and the parts that all end with.
fn telling_paths(paths: &[&str]) -> Vec<String> {
    let whole = || paths.iter().map(|path| (*path).to_owned()).collect();
    let parts: Vec<Vec<&str>> = paths.iter().map(|path| path.split(['/', '\\']).collect()).collect();
    let Some((first, others)) = parts.split_first() else { return Vec::new() };
    if others.is_empty() {
        return whole();
    }
    let shortest = parts.iter().map(Vec::len).min().unwrap_or(0);
    let start = (0..shortest).take_while(|at| others.iter().all(|other| other[*at] == first[*at])).count();
    let is_same_end = |at: &usize| others.iter().all(|other| other[other.len() - at] == first[first.len() - at]);
    let end = (1..=shortest - start).take_while(is_same_end).count();
    let told = |parts: &Vec<&str>| parts[start..parts.len() - end].join("/");
    let names: Vec<String> = parts.iter().map(told).collect();
    if names.iter().any(String::is_empty) { whole() } else { names }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_name_beside_others_has_that_of_its_file() {
        let runs =
            [None, Some("a"), Some("b")].map(|name| RunIdentity { name, source: "r.jsonl", ..RunIdentity::default() });
        assert_eq!(telling_names(&runs), ["r.jsonl", "a", "b"]);
    }

    #[test]
    fn paths_are_cut_to_what_differs() {
        for (paths, want) in [
            (&["a/x.json", "a/y.json"][..], &["x.json", "y.json"][..]),
            (&["a/x/r.json", "a/y/r.json"], &["x", "y"]),
            (&["a/x/r.json", "b/x/r.json", "b/y/r.json"], &["a/x", "b/x", "b/y"]),
            (&["x.json", "y.csv"], &["x.json", "y.csv"]),
            (&["x.json", "d/x.json"], &["x.json", "d/x.json"]),
            (&["r.json"], &["r.json"]),
            (&["a/r.json", "a/r.json"], &["a/r.json", "a/r.json"]),
            (&["a/", "a/x.json"], &["a/", "a/x.json"]),
            (&["a\\x.json", "a\\y.json"], &["x.json", "y.json"]),
        ] {
            assert_eq!(telling_paths(paths), want);
        }
        assert!(telling_names(&[]).is_empty());
    }

    #[test]
    fn the_first_mark_that_no_two_runs_share_names_them() {
        let run = |name, model, task, source| RunIdentity { name, model, task, source };
        let names = |runs: &[RunIdentity<'_>]| telling_names(runs).join(", ");
        let (a, b) = (Some("a"), Some("b"));
        assert_eq!(names(&[run(a, None, None, "x"), run(b, None, None, "x")]), "a, b");
        assert_eq!(names(&[run(None, a, b, "x"), run(None, b, b, "y")]), "a, b");
        assert_eq!(names(&[run(None, a, a, "x"), run(None, a, b, "y")]), "a, b");
        assert_eq!(names(&[run(None, a, a, "x"), run(None, a, b, "y"), run(None, b, b, "z")]), "a · a, b · a, b · b");
        assert_eq!(names(&[run(None, a, a, "x"), run(None, a, a, "y")]), "x, y");
        assert_eq!(
            names(&[run(a, None, None, "x"), run(a, None, None, "y"), run(b, None, None, "y")]),
            "x · a, y · a, y · b"
        );
        assert_eq!(names(&[run(None, a, None, "x"), run(None, None, None, "y")]), "x, y");
    }
}
