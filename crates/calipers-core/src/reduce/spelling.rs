//! How reducers are written: on the command line, in policies, in task files and in logs.
//!
//! `pass_at_2` is the name in Inspect's logs, `pass@2` and `pass^2` are those of the papers, and `pass_at(2, value=0.5)` is
//! Inspect's call. All of them are read here, and a [`Reducer`] prints one that is read back.

use super::{Reducer, at_least, collect, majority, max_score, mean_score, median_score, mode_score, pass_at, pass_k};
use crate::{Error, ErrorKind};

/// The plain names, then those that take a number of attempts.
const NAMES: [&str; 9] = ["mean", "median", "mode", "max", "majority", "collect", "pass_at", "pass_k", "at_least"];

/// All spellings, for hints.
pub(crate) const SPELLINGS: &str = "mean, median, mode, max, majority, collect, pass_at_K or pass@K, pass_k_K or pass^K, \
                                    and at_least_K; a threshold is written as in `pass_at(2, value=0.5)`";

/// Reads a spelling.
pub(super) fn parse(text: &str) -> Result<Reducer, Error> {
    let spelled = text.trim();
    let (head, arguments) = match spelled.split_once('(') {
        Some((head, rest)) => {
            let inner = rest.strip_suffix(')').ok_or_else(|| wrong(text, "has no closing `)`"))?;
            (head.trim_end(), Some(inner))
        }
        None => (spelled, None),
    };
    if let Some(reducer) = plain(head) {
        return match arguments.map(str::trim) {
            None | Some("") => Ok(reducer),
            Some(_) => Err(wrong(text, &format!("gives arguments to `{head}`, which takes none"))),
        };
    }
    let (base, k) = split_k(head);
    let Some(make) = counting(base) else { return Err(unknown(text)) };
    let arguments = ReducerArguments::read(text, k, arguments)?;
    let k = match arguments.k {
        Some(k) => k,
        None => return Err(unknown(text)),
    };
    let reducer = make(k);
    Ok(match arguments.value {
        Some(value) => reducer.value(value),
        None => reducer,
    })
}

/// What is written in the parentheses, or after the name.
struct ReducerArguments {
    k: Option<u64>,
    value: Option<f64>,
}

impl ReducerArguments {
    fn read(text: &str, k: Option<&str>, list: Option<&str>) -> Result<Self, Error> {
        let whole = |digits: &str| {
            let is_plain = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
            let parsed = if is_plain { digits.parse().ok() } else { None };
            parsed.ok_or_else(|| wrong(text, &format!("asks for `{digits}` attempts, which is not a whole number")))
        };
        let has_k = k.is_some();
        // `pass_at_x` is no number of attempts, and as a whole an unknown name.
        let k = k.map(|digits| whole(digits).map_err(|_| unknown(text))).transpose()?;
        let mut read = Self { k, value: None };
        let items = list.map(str::trim).filter(|list| !list.is_empty()).into_iter().flat_map(|list| list.split(','));
        for (place, item) in items.enumerate() {
            let (key, given) = match item.split_once('=') {
                Some((key, given)) => (key.trim(), given.trim()),
                None if place == 0 && !has_k => ("k", item.trim()),
                None if place == usize::from(!has_k) => ("value", item.trim()),
                None => return Err(wrong(text, "has too many arguments")),
            };
            match key {
                "k" if read.k.is_none() => read.k = Some(whole(given)?),
                "value" if read.value.is_none() => read.value = Some(threshold(text, given)?),
                "k" | "value" => return Err(wrong(text, &format!("gives `{key}` twice"))),
                _ => return Err(wrong(text, &format!("has no argument `{key}`"))),
            }
        }
        Ok(read)
    }
}

fn threshold(text: &str, given: &str) -> Result<f64, Error> {
    let finite = given.parse().ok().filter(|value: &f64| value.is_finite());
    finite.ok_or_else(|| wrong(text, &format!("has the threshold `{given}`, which is not a number")))
}

/// The one that a name without a number of attempts stands for.
fn plain(name: &str) -> Option<Reducer> {
    Some(match name {
        "mean" => mean_score(),
        "median" => median_score(),
        "mode" => mode_score(),
        "max" => max_score(),
        "majority" => majority(),
        "collect" => collect(),
        _ => return None,
    })
}

fn counting(base: &str) -> Option<fn(u64) -> Reducer> {
    Some(match base {
        "pass_at" | "pass@" => pass_at,
        "pass_k" | "pass^" => pass_k,
        "at_least" => at_least,
        _ => return None,
    })
}

/// `pass_at_2`, `pass@2` and `pass^2` in two; the second part is missing in `pass_at`.
fn split_k(head: &str) -> (&str, Option<&str>) {
    if counting(head).is_some() {
        return (head, None);
    }
    match head.find(['@', '^']) {
        Some(sign) => (&head[..=sign], Some(&head[sign + 1..])),
        None => head.rsplit_once('_').map_or((head, None), |(base, k)| (base, Some(k))),
    }
}

fn unknown(text: &str) -> Error {
    ErrorKind::UnknownName { what: "reducer", name: text.to_owned(), nearest: nearest(text) }.into()
}

/// The spelling that was probably meant, with the same number of attempts.
fn nearest(text: &str) -> Option<String> {
    let lower = text.trim().to_ascii_lowercase();
    let start = lower.find(|c: char| c.is_ascii_digit()).unwrap_or(lower.len());
    let digits: String = lower[start..].chars().take_while(char::is_ascii_digit).collect();
    let k = if digits.parse::<u64>().is_ok() { digits } else { "1".to_owned() };
    let base = lower[..start].replace(['-', ' '], "_");
    let base = base.split('(').next().unwrap_or_default().trim_end_matches('_');
    // Inspect's functions, and the usual names of pass^k. A sign of distance would send `pass@` to `pass_k`.
    let near = match base {
        "mean_score" | "median_score" | "mode_score" | "max_score" => base.strip_suffix("_score")?,
        "pass@" | "pass@k" | "pass_at_k" => "pass_at",
        "pass^" | "pass^k" | "pass_hat" | "pass_all" => "pass_k",
        _ => crate::nearest(&base.replace('@', "_at").replace('^', "_k"), &NAMES)?,
    };
    Some(if counting(near).is_some() { format!("{near}_{k}") } else { near.to_owned() })
}

fn wrong(text: &str, what: &str) -> Error {
    Error::argument(format!("the reducer `{text}` {what}"), format!("the reducers are {SPELLINGS}"))
}

/// The name of a counting rule: as in Inspect's logs with the usual threshold, else as a call.
pub(super) fn with_threshold(base: &str, k: u64, value: f64) -> String {
    if value == 1.0 { format!("{base}_{k}") } else { format!("{base}({k}, value={value})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_read_and_print_as_one_that_is_read_back() {
        for (spelling, name) in [
            ("mean", "mean"),
            (" max ", "max"),
            ("median()", "median"),
            ("collect", "collect"),
            ("pass_at_5", "pass_at_5"),
            ("pass@5", "pass_at_5"),
            ("pass^3", "pass_k_3"),
            ("pass_k_3", "pass_k_3"),
            ("at_least_2", "at_least_2"),
            ("pass_at(2)", "pass_at_2"),
            ("pass_at(k=2, value=1)", "pass_at_2"),
            ("pass_at(2, value=0.5)", "pass_at(2, value=0.5)"),
            ("pass_at(2, 0.5)", "pass_at(2, value=0.5)"),
            ("pass_at( value = 0.5 , k = 2 )", "pass_at(2, value=0.5)"),
            ("pass@2(value=0.5)", "pass_at(2, value=0.5)"),
            ("pass_k(3, value=1e-3)", "pass_k(3, value=0.001)"),
            ("at_least(3, value=2)", "at_least(3, value=2)"),
            ("at_least_3(2)", "at_least(3, value=2)"),
        ] {
            let reducer = parse(spelling).expect(spelling);
            assert_eq!(reducer.name(), name, "{spelling}");
            assert_eq!(parse(reducer.name()).expect(name).name(), name);
        }
    }

    #[test]
    fn an_unknown_name_suggests_what_was_meant() {
        for (name, want) in [
            ("meen", Some("mean")),
            ("mean_score", Some("mean")),
            ("pass_at", Some("pass_at_1")),
            ("pass_at()", Some("pass_at_1")),
            ("pass_at_x", Some("pass_at_1")),
            ("pas_at_3", Some("pass_at_3")),
            ("pass_at_99999999999999999999", Some("pass_at_1")),
            ("Pass@2", Some("pass_at_2")),
            ("pass@k", Some("pass_at_1")),
            ("pass-at-2", Some("pass_at_2")),
            ("pass_hat_4", Some("pass_k_4")),
            ("at_least_3_2", Some("at_least_3")),
            ("best_of_3", None),
            ("", None),
        ] {
            let error = parse(name).expect_err("unknown");
            let ErrorKind::UnknownName { what, nearest, .. } = error.kind() else { panic!("{error}") };
            assert_eq!((*what, nearest.as_deref()), ("reducer", want), "{name}");
        }
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (spelling, what) in [
            ("mean(2)", "gives arguments to `mean`, which takes none"),
            ("pass_at(2", "has no closing `)`"),
            ("pass_at(two)", "asks for `two` attempts, which is not a whole number"),
            ("pass_at(2, k=3)", "gives `k` twice"),
            ("pass_at(2, threshold=0.5)", "has no argument `threshold`"),
            ("pass_at(2, value=high)", "has the threshold `high`, which is not a number"),
            ("pass_at(2, value=nan)", "has the threshold `nan`, which is not a number"),
            ("pass_at(2, 0.5, 3)", "has too many arguments"),
        ] {
            let error = parse(spelling).expect_err("wrong").to_string();
            assert!(error.starts_with(&format!("the reducer `{spelling}` {what}\n")), "{error}");
            assert!(error.contains("pass_at(2, value=0.5)"), "{error}");
        }
    }
}
