//! `--limits`: the least and the most that one attempt can cost, take or score.

use crate::failure::Failure;
use calipers::metric::unit_of_field;
use calipers::plan::{ValueLimit, ValueLimits};
use calipers::policy::{Mistake, Span, Threshold};
use clap::Args;

/// The flag.
#[derive(Args, Debug)]
pub(crate) struct LimitsFlag {
    /// The most that one attempt can have of a field or a score, such as `cost_usd=2`, `latency_ms=60s` or, with the least,
    /// `judge=1..5`; `score` stands for every scorer. Means of such values have both ends of an interval only then (repeatable, or
    /// separated by commas)
    #[arg(long, value_name = "NAME=MAX", value_delimiter = ',')]
    pub(crate) limits: Vec<String>,
}

impl LimitsFlag {
    /// The limits that are stated.
    pub(crate) fn resolve(&self) -> Result<ValueLimits, Failure> {
        let limit = |written: &String| {
            read_limit(written).map_err(|LimitMistake { what, hint }| {
                let hint = hint.unwrap_or_else(|| "write `--limits cost_usd=2` or `--limits judge=1..5`".to_owned());
                Failure::new(format!("`--limits {written}` {what}")).hint(hint)
            })
        };
        Ok(ValueLimits::new(self.limits.iter().map(limit).collect::<Result<Vec<_>, _>>()?)?)
    }
}

/// Why a text states no limit. Who was given the text adds what it is called there.
#[derive(Clone, Debug)]
pub struct LimitMistake {
    /// What is wrong with the text, as the end of a sentence about it.
    pub what: String,
    /// What to do about it, if there is more to say than how limits are written.
    pub hint: Option<String>,
}

/// A limit that is written as `cost_usd=2`, `latency_ms=60s` or `judge=1..5`.
pub fn read_limit(written: &str) -> Result<ValueLimit, LimitMistake> {
    let refuse = |what: &str| LimitMistake { what: what.to_owned(), hint: None };
    let Some((name, ends)) = written.rsplit_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(refuse("has no `=`"));
    };
    let amount = |text: &str| {
        let threshold = Threshold::read(text, &Span::nowhere());
        let threshold = threshold.ok().filter(|threshold| threshold.comparison.is_none());
        let threshold = threshold.ok_or_else(|| refuse("gives no number"))?;
        threshold
            .amount_in(unit_of_field(name), name)
            .map_err(|Mistake { message, hint, .. }| LimitMistake { what: format!("is no limit: {message}"), hint })
    };
    let (least, most) = match ends.split_once("..") {
        Some((least, most)) => (amount(least)?, amount(most)?),
        None => (0.0, amount(ends)?),
    };
    Ok(ValueLimit { name: name.into(), least, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(written: &str) -> Result<Vec<(String, f64, f64)>, String> {
        let flag = LimitsFlag { limits: written.split(',').map(str::to_owned).collect() };
        let limits = flag.resolve().map_err(|failure| format!("{failure:?}"))?;
        Ok(limits.iter().map(|limit| (limit.name.to_string(), limit.least, limit.most)).collect())
    }

    #[test]
    fn ends_are_written_as_in_policies() {
        let of = |name: &str, least, most| (name.to_owned(), least, most);
        assert_eq!(resolve("cost_usd=$2").unwrap(), [of("cost_usd", 0.0, 2.0)]);
        assert_eq!(resolve("latency_ms=60s").unwrap(), [of("latency_ms", 0.0, 60_000.0)]);
        assert_eq!(resolve("judge=1..5,reward=-1..1").unwrap(), [of("judge", 1.0, 5.0), of("reward", -1.0, 1.0)]);
    }

    #[test]
    fn what_is_no_limit_is_refused_with_an_example() {
        for written in
            ["cost_usd", "cost_usd=", "=2", "cost_usd=dear", "cost_usd=<2", "judge=1..", "judge=5..1", "judge=inf"]
        {
            assert!(resolve(written).is_err(), "{written}");
        }
    }
}
