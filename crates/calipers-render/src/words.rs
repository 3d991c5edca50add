//! Sentences that several reports share: caveats with their next steps, reasons why a figure has no value, and plurals.
//!
//! Statistics, metrics, gates and comparisons hold data; what it means in words is said here or in the `words.rs` of a report.

use crate::gate::caveat_words::gate_caveat;
use crate::gate::words::first_of;
use crate::numbers::{count, decimals, value_text};
use crate::text::clean;
use calipers_core::stats::{AllowedRange, Goal, Quantity, StatisticCaveat, Undefined as NoStatistic};
use calipers_core::{
    Caveat, ErrorKind, MissingRule, Reason, RecordedCause, RunEnding, Undefined, UndefinedOperation, Unit,
    UnmetCondition, pluralize,
};

/// Samples that are named before the rest is counted.
const NAMES_MAX: usize = 10;

/// What a caveat says.
///
/// ```
/// use calipers_core::{Plan, Samples, accuracy};
/// use calipers_render::{caveat_next_step, caveat_sentence};
///
/// let mut samples = Samples::new();
/// for id in 1..=5 {
///     samples.push(id).score("safety", "C");
/// }
/// let results = Plan::new().metrics([accuracy()]).measure(&samples)?;
/// let caveat = &results.figure("safety", "accuracy").expect("asked for").caveats[0];
/// assert_eq!(caveat_sentence(caveat), "5 of 5: the true rate may be as low as 54.9 % (one-sided bound)");
/// assert_eq!(caveat_next_step(caveat), Some("report the bound, or add samples".to_owned()));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn caveat_sentence(caveat: &Caveat) -> String {
    match caveat {
        Caveat::Statistic(caveat) => statistic_sentence(caveat),
        Caveat::PerfectScore { n, worth, passed, bound } => {
            let (count, side) = if *passed { (n, "low") } else { (&0, "high") };
            let weighed = if worth == n { String::new() } else { format!(", worth {worth} by their weights") };
            // Not the end of the interval beside it, which is two-sided.
            let bound = decimals(bound * 100.0, 1);
            format!("{count} of {n}{weighed}: the true rate may be as {side} as {bound} % (one-sided bound)")
        }
        Caveat::Missing { missing, range: Some((low, high)) } => {
            let them = if *missing == 1 { "it" } else { "them" };
            let (low, high) = (decimals(*low, 3), decimals(*high, 3));
            format!("{missing} without a score: with {them} the mean lies between {low} and {high}")
        }
        Caveat::Missing { missing, range: None } => format!("{missing} without a score"),
        Caveat::PooledAttempts { attempts, samples } => {
            format!("{attempts} attempts of {} are counted as independent", pluralize(samples, "sample"))
        }
        Caveat::IgnoresClusters { key } => format!("ignores that samples with the same `{key}` belong together"),
        Caveat::NoClusteredInterval { key } => {
            format!("no interval of this figure accounts for samples with the same `{key}` belonging together")
        }
        Caveat::OpenInterval { fields, lower, upper } => {
            let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
            format!("nothing limits {}, so {}", fields.join(" and "), open_end(*lower, *upper))
        }
        Caveat::OpenChange { units, are_clusters, one_in, .. } => {
            let units = match are_clusters {
                true => pluralize(*units, "cluster"),
                false => pluralize(*units, "sample"),
            };
            format!(
                "{units} show a change, but one in {} others may change in another way without being among them, so the mean stays \
                 open",
                count(*one_in)
            )
        }
        Caveat::ExceededLimit { name, lower, upper } => {
            format!("a value of `{name}` is beyond its limit, so {}", open_end(*lower, *upper))
        }
        Caveat::SamplesAlone { key, samples } => match samples {
            1 => format!("1 sample has no `{key}`, and counts as a cluster by itself"),
            _ => format!("{samples} samples have no `{key}`, and count as clusters by themselves"),
        },
        Caveat::MeanOfErrors { stratified: Some(error) } => {
            format!("a mean of standard errors; the standard error of the groups' mean is {}", decimals(*error, 4))
        }
        Caveat::MeanOfErrors { stratified: None } => "a mean of standard errors is not a standard error".into(),
        Caveat::OutsideUnit { min, max } => {
            format!("scores from {} to {} are not shares", value_text(Unit::Plain, *min), value_text(Unit::Plain, *max))
        }
        Caveat::BootstrapDivisor { stderr } => {
            format!("a bootstrap divides by n; the standard error is {}", decimals(*stderr, 6))
        }
        Caveat::ShareByT { n } => format!("a t interval of {n} scores that are 0 or 1 covers the truth too rarely"),
        Caveat::LooksLikeSeconds { field, max } => {
            format!("`{field}` is at most {max} and has fractions: these look like seconds")
        }
        Caveat::ModeTies { samples } => format!("{} no single most frequent score", samples_have(*samples)),
        Caveat::TooFewAttempts { reducer, samples } => {
            format!("{} too few scored attempts for `{reducer}`", samples_have(*samples))
        }
        Caveat::UnmatchedKey { key, .. } => format!("the metric key `{key}` matches no score"),
        Caveat::UnknownLabels { example } => format!("labels such as `{example}` were counted as 0"),
        Caveat::NotLookedAt { scorer, samples } => {
            let are = if *samples == 1 { "is" } else { "are" };
            format!("{} no score by `{scorer}` and {are} in none of its figures", samples_have(*samples))
        }
        Caveat::PartlyScored { scorer, samples, attempts } => {
            let (attempts, has) = if *attempts == 1 { ("one attempt".into(), "has") } else { (format!("{attempts} attempts"), "have") };
            let by = scorer.as_ref().map(|scorer| format!(" by `{scorer}`")).unwrap_or_default();
            let whose = if *samples == 1 { "its sample rests on its".into() } else { format!("{samples} samples rest on their") };
            format!("{attempts} {has} no score{by}: {whose} other attempts")
        }
        Caveat::NoScores => "no attempt has a score".into(),
        Caveat::Errored { attempts: 1, scored: 0 } => "one attempt ended in an error".into(),
        Caveat::Errored { attempts, scored: 0 } => format!("{attempts} attempts ended in an error"),
        Caveat::Errored { attempts: 1, .. } => {
            "one attempt ended in an error and has a score, which counts; pass rates count it as not passed".into()
        }
        Caveat::Errored { attempts, scored } => {
            let all = match () {
                () if scored != attempts => scored.to_string(),
                () if *attempts == 2 => "both".into(),
                () => "all".into(),
            };
            format!("{attempts} attempts ended in an error, and {all} of them have a score, which counts; pass rates count them as not passed")
        }
        Caveat::Incomplete { run, samples, samples_expected, attempts, attempts_expected, never_ran, ending } => {
            let ended = match ending {
                RunEnding::Finished => "the log expects more than it contains",
                RunEnding::Open => "the evaluation is still running, or it was cut short",
                RunEnding::Cancelled => "the evaluation was cancelled",
                RunEnding::Broken => "the evaluation ended in an error",
            };
            let mut text = run.as_ref().map_or_else(String::new, |run| format!("`{run}`: "));
            text += &format!("{samples} of {}", pluralize(*samples_expected, "sample"));
            if (attempts, attempts_expected) != (samples, samples_expected) {
                text += &format!(", {attempts} of {}", pluralize(*attempts_expected, "attempt"));
            }
            text += &format!(": {ended}");
            if attempts < attempts_expected {
                text += match attempts_expected - attempts {
                    1 => "; the one that never ran is missing",
                    _ => "; those that never ran are missing",
                };
                if !never_ran.is_empty() {
                    text += &format!(" ({})", first_of(never_ran, NAMES_MAX));
                }
            }
            text
        }
        Caveat::LimitsHit { run, kinds } => {
            let all: u64 = kinds.iter().map(|(_, count)| count).sum();
            let of_run = run.as_ref().map_or_else(String::new, |run| format!("`{run}`: "));
            let each: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} limit {count}")).collect();
            let were = if all == 1 { "was" } else { "were" };
            format!("{of_run}{} {were} stopped by a limit: {}", pluralize(all, "attempt"), each.join(", "))
        }
        Caveat::CachedAnswers { run, attempts, attempts_total, answers } => {
            let of_run = run.as_ref().map_or_else(String::new, |run| format!("`{run}`: "));
            let were = if *answers == 1 { "was" } else { "were" };
            let of = pluralize(*attempts_total, "attempt");
            let answers = pluralize(*answers, "answer");
            format!("{of_run}{answers} in {attempts} of {of} {were} taken from a cache; they have no latency")
        }
        Caveat::MissingCounted { rule, attempts, attempts_total, overrides_policy } => {
            let how = match rule {
                MissingRule::Failed => "counted as failed",
                MissingRule::Excluded => "left out",
            };
            let were = if *attempts == 1 { "was" } else { "were" };
            let policy = if *overrides_policy { ", instead of what the policy says" } else { "" };
            format!("{attempts} of {} without a score {were} {how}{policy}", pluralize(*attempts_total, "attempt"))
        }
        Caveat::Gate(caveat) => gate_caveat(caveat).0,
        Caveat::Unmatched { candidate, candidate_samples, baseline, baseline_samples } => format!(
            "samples that only one run has are left out of the changes: {candidate_samples} of `{candidate}`, \
             {baseline_samples} of `{baseline}`"
        ),
        Caveat::FewMatched { matched } => format!("the runs share fewer than half of their samples: {matched}"),
        Caveat::UnknownReducer { reducer } => {
            format!("the log's reducer `{reducer}` is not known here; its results are left out")
        }
        Caveat::SeveralReducers { reducers, used } if reducers.first() == Some(used) => {
            format!("the log reduces attempts by {}; the first is used", reducers.join(", "))
        }
        Caveat::SeveralReducers { reducers, used } => {
            format!("the log reduces attempts by {}; `{used}` is used, which all runs share", reducers.join(", "))
        }
        Caveat::OtherReducer { used, recorded } => {
            format!("the policy reduces attempts by `{used}`; the log was recorded with `{}`", recorded.join("`, `"))
        }
        Caveat::DiffersFromRecorded { computed, recorded, cause } => {
            let (computed, recorded) = different_numbers(*computed, *recorded);
            let why = match cause {
                RecordedCause::Labels => "labels were given different numbers here".to_owned(),
                RecordedCause::Threshold { reducer } => {
                    format!("the log does not keep the threshold of `{reducer}`, and 1 was assumed")
                }
                RecordedCause::Missing { samples } => format!("{} no score", samples_have(*samples)),
                RecordedCause::Unknown => {
                    "the file may hold other samples or other scores than were measured".to_owned()
                }
            };
            format!("computed as {computed}, recorded as {recorded}: {why}")
        }
        Caveat::MatchedByLine { matched, differing } => {
            let lines = "samples are matched by their lines, which holds only for files in the same order";
            match differing {
                Some((fact, count)) => format!("{lines}: `{fact}` differs for {count} of {matched}"),
                None => lines.to_owned(),
            }
        }
        Caveat::UnsharedScorers { scorers } => {
            format!("only scorers that all runs have are compared, without {}", scorers.join(", "))
        }
        Caveat::UnknownMetrics { metrics } => {
            format!("metrics that only the code of the log knows are not compared: {}", metrics.join(", "))
        }
        Caveat::MapScores { scorers } => {
            format!("scores that are maps of several numbers are not compared: {}", scorers.join(", "))
        }
        Caveat::FirstMetric { metric, .. } => {
            format!("planned for `{metric}`, the first metric that the records support")
        }
        Caveat::UnknownAttempts => {
            "it is not known how much attempts at one sample vary, so the plan gains nothing from more attempts".into()
        }
        Caveat::UnknownPairing => {
            "it is not known how similar two runs are, so only runs on different samples are planned".into()
        }
        Caveat::DisagreementOfAttempts => "the share of samples that disagree refers to single attempts".into(),
        Caveat::GateOfScores => "gates are planned for samples that pass or fail".into(),
        Caveat::GateOfClusters => {
            "the exact size of the gate was multiplied by the design effect, which is an approximation".into()
        }
        Caveat::EffectOfScores => {
            "within clusters, the differences of two runs are assumed to be as similar as scores, which may be too much or too little"
                .into()
        }
        Caveat::JudgeDisagrees { run, scorer, agreement, upper, needed } => {
            let [agreement, upper, needed] = [agreement, upper, needed].map(|x| decimals(*x, 2));
            let run = run.as_ref().map(|run| format!("{run}: ")).unwrap_or_default();
            let judge = scorer.as_ref().map(|scorer| format!(" `{scorer}`")).unwrap_or_default();
            format!(
                "{run}the judge{judge} agrees with people too little: {agreement}, at most {upper}; at least {needed} is \
                 needed"
            )
        }
        Caveat::PeopleDisagree { alpha, upper, needed } => {
            let [alpha, upper, needed] = [alpha, upper, needed].map(|x| decimals(*x, 2));
            format!(
                "people agree with one another too little: alpha {alpha}, at most {upper}; at least {needed} is needed"
            )
        }
        Caveat::LabelsUnlikeOthers { labelled, others, weighed } => {
            let [labelled, others] = [labelled, others].map(|x| decimals(*x, 3));
            let effect = if *weighed { "; the corrected rate allows for it, the agreement does not" } else { "" };
            format!("the judge's mean is {labelled} on labelled samples and {others} on the others{effect}")
        }
        Caveat::LabelsOfOtherMix { key, value, labelled, others } => {
            let [labelled, others] = [labelled, others].map(|x| decimals(x * 100.0, 1));
            format!("`{key}` is `{value}` in {labelled} % of the labelled samples and in {others} % of the others")
        }
    }
}

/// One thing to do about a caveat, if there is something to do.
#[must_use]
pub fn caveat_next_step(caveat: &Caveat) -> Option<String> {
    let step = match caveat {
        Caveat::Statistic(caveat) => statistic_next_step(caveat),
        Caveat::PerfectScore { .. } => "report the bound, or add samples",
        Caveat::Missing { missing: 1, .. } => "find out why it has no score; judge by the worse end",
        Caveat::Missing { .. } => "find out why they have no score; judge by the worse end",
        Caveat::PooledAttempts { .. } => "reduce the attempts first, for example with `mean`",
        Caveat::IgnoresClusters { key } => {
            return Some(format!("use `ci(cluster=\"{key}\")` or `stderr(cluster=\"{key}\")`"));
        }
        Caveat::NoClusteredInterval { .. } => "look at a metric that is a mean, a ratio of sums or a quantile",
        Caveat::ExceededLimit { .. } => "correct the limit, or the record",
        Caveat::OpenInterval { .. } => "state in `limits` how much one attempt can have, or look at a quantile",
        Caveat::OpenChange { need, are_clusters, is_unlimited, .. } => {
            let units = if *are_clusters { "clusters" } else { "samples" };
            let limits = if *is_unlimited { ", or state in `limits` how much one attempt can have" } else { "" };
            return Some(format!("compare about {} {units}{limits}", count(*need)));
        }
        Caveat::SamplesAlone { .. } => "record where each sample comes from",
        Caveat::MeanOfErrors { stratified: Some(_) } => "report that error instead",
        Caveat::MeanOfErrors { stratified: None } => "give every group at least two samples",
        // What people write where there is no score.
        Caveat::OutsideUnit { min, max } if [-1.0, -9.0, -99.0, -999.0, -9999.0].contains(min) && *max >= 0.0 => {
            "if the lowest stands for no score, write null there; otherwise use `mean`"
        }
        Caveat::OutsideUnit { .. } => "use `mean`, or map the scores to [0, 1]",
        Caveat::BootstrapDivisor { .. } => "report `stderr` for a mean",
        Caveat::ShareByT { .. } => "use `ci()`, which chooses the interval by the scores, or `ci_wilson`",
        Caveat::LooksLikeSeconds { .. } => "record milliseconds: multiply seconds by 1000",
        Caveat::ModeTies { .. } => "use an odd number of attempts, or the reducer `majority`",
        Caveat::TooFewAttempts { .. } => "run more attempts, or ask for a smaller k",
        Caveat::UnmatchedKey { known, .. } => return Some(format!("the keys are {}", known.join(", "))),
        Caveat::UnknownLabels { .. } => "map the label to a number",
        Caveat::NotLookedAt { .. } => "check that the scorer ran on all samples",
        Caveat::PartlyScored { .. } => {
            "score all attempts, or say that what is missing counts as failed or is excluded"
        }
        Caveat::NoScores => "check that the run is the right one, and that it was scored",
        Caveat::Errored { scored: 1.., .. } => {
            "leave out the score of an attempt that did not run, and the error of one that did"
        }
        Caveat::Errored { attempts: 1, .. } => "rerun it; an attempt that did not run is neither right nor wrong",
        Caveat::Errored { .. } => "rerun them; an attempt that did not run is neither right nor wrong",
        Caveat::Incomplete { .. } => "finish the run, or say that what is missing counts as failed or is excluded",
        Caveat::LimitsHit { .. } => "raise the limits, or report that they were reached",
        Caveat::CachedAnswers { .. } => "run without the cache to ask again",
        Caveat::MissingCounted { .. } => return None,
        Caveat::Gate(caveat) => return Some(gate_caveat(caveat).1),
        Caveat::Unmatched { .. } => "run both on the same samples, or judge by the bounds",
        Caveat::FewMatched { .. } => "check that both are runs of the same suite",
        Caveat::UnknownReducer { .. } | Caveat::SeveralReducers { .. } => "choose a reducer",
        Caveat::OtherReducer { .. } => "leave `epochs.reducer` out of the policy to reduce as the log does",
        Caveat::DiffersFromRecorded { cause, .. } => return Some(recorded_next_step(cause)),
        Caveat::MatchedByLine { .. } => "name the samples by a column that all files have",
        Caveat::UnsharedScorers { .. } => "score both runs with the same scorers",
        Caveat::UnknownMetrics { .. } => "load a file that defines them",
        Caveat::MapScores { .. } => "record the number that matters as a separate scorer",
        Caveat::FirstMetric { others, .. } => {
            let others: Vec<String> = others.iter().map(|metric| format!("`{metric}`")).collect();
            return Some(format!("or choose another metric: {}", others.join(", ")));
        }
        Caveat::UnknownAttempts => "plan from a run with repeats",
        Caveat::UnknownPairing => "give their correlation, or plan from two runs",
        Caveat::DisagreementOfAttempts => "plan with one attempt, or by the correlation",
        Caveat::GateOfScores => "plan with the rate at which samples pass",
        Caveat::GateOfClusters => "plan for a few more samples",
        Caveat::EffectOfScores => "plan from two runs on the same samples, which show it",
        Caveat::JudgeDisagrees { .. } => "improve the judge before you use its scores; until then, rely on `corrected`",
        Caveat::PeopleDisagree { .. } => "make the instructions for people clearer, and label again",
        Caveat::LabelsUnlikeOthers { .. } | Caveat::LabelsOfOtherMix { .. } => "choose the samples to label at random",
    };
    Some(step.to_owned())
}

fn recorded_next_step(cause: &RecordedCause) -> String {
    match cause {
        RecordedCause::Labels => "leave the labels out to compute as the log did".to_owned(),
        RecordedCause::Threshold { reducer } => {
            let call = reducer.rsplit_once('_').map(|(base, k)| format!("{base}({k}, value=0.5)"));
            format!("name the reducer with its threshold, as in `{}`", call.unwrap_or_else(|| reducer.clone()))
        }
        RecordedCause::Missing { .. } => "find out how the log counts them".to_owned(),
        RecordedCause::Unknown => {
            "find out what changed since the log was written, and report one of the two".to_owned()
        }
    }
}

/// Two numbers with as many decimals as it takes to tell them apart, and three at least.
fn different_numbers(a: f64, b: f64) -> (String, String) {
    let written = |places: usize| (decimals(a, places), decimals(b, places));
    (3..12).map(written).find(|(a, b)| a != b).unwrap_or_else(|| (a.to_string(), b.to_string()))
}

fn samples_have(samples: u64) -> String {
    if samples == 1 { "one sample has".into() } else { format!("{samples} samples have") }
}

fn statistic_sentence(caveat: &StatisticCaveat) -> String {
    let percent = |share: f64| decimals(share * 100.0, 0);
    match caveat {
        StatisticCaveat::FewClusters { clusters } => format!("only {clusters} clusters"),
        StatisticCaveat::DominantCluster { share } => format!("one cluster holds {} % of the values", percent(*share)),
        StatisticCaveat::ClusteredBelowNaive { clustered, naive } => {
            let (clustered, naive) = (decimals(*clustered, 4), decimals(*naive, 4));
            format!("the clustered error {clustered} is below the plain one {naive}")
        }
        StatisticCaveat::NoSpread { n } => format!("all {n} values are alike, which is not certainty"),
        StatisticCaveat::SmallSample { n, need } => {
            format!("{n} values are few for this interval (use at least {need})")
        }
        StatisticCaveat::NoBound { n, need } => {
            format!(
                "a two-sided interval needs {need} samples to have both ends, and there are {n}; one side alone needs fewer"
            )
        }
        StatisticCaveat::FewAttempts { attempts, k } => format!("{attempts} attempts are few for k = {k}"),
        StatisticCaveat::FewResamples { resamples, need } => {
            format!("{resamples} resamples are few for an end point (use at least {need})")
        }
        StatisticCaveat::NoAcceleration => "BCa is undefined here, percentiles were used".into(),
        StatisticCaveat::ExtremePrevalence { prevalence } => {
            format!("{} % of the ratings are one category", percent(*prevalence))
        }
        StatisticCaveat::NoisyDenominator { variation } => {
            format!("the denominator varies by {} %", percent(*variation))
        }
        StatisticCaveat::IdenticalAttempts => "attempts of the same sample never differ".into(),
    }
}

fn statistic_next_step(caveat: &StatisticCaveat) -> &'static str {
    match caveat {
        StatisticCaveat::FewClusters { .. } | StatisticCaveat::DominantCluster { .. } => {
            "add clusters, or judge by the error `cr2` among the details in the JSON, with `df_satterthwaite`"
        }
        StatisticCaveat::ClusteredBelowNaive { .. } => "judge by the larger of the two errors",
        StatisticCaveat::NoSpread { .. } => "read the exact bound instead of ± 0, or add samples",
        StatisticCaveat::SmallSample { .. } => "add samples, or compare with `ci(method=\"bootstrap\")`",
        StatisticCaveat::NoBound { .. } => "add samples, or gate on the share of values within the limit",
        StatisticCaveat::FewAttempts { .. } => "run at least twice as many attempts as k",
        StatisticCaveat::FewResamples { .. } => {
            "draw more of them, as in `ci(method=\"bootstrap\", num_samples=10000)`"
        }
        StatisticCaveat::NoAcceleration => "add samples",
        StatisticCaveat::ExtremePrevalence { .. } => "report the raw agreement and the prevalence beside it",
        StatisticCaveat::NoisyDenominator { .. } => "add samples",
        StatisticCaveat::IdenticalAttempts => {
            "check that they are not copies; if they are not, spend the budget on more samples"
        }
    }
}

/// Why a figure has no value.
///
/// ```
/// use calipers_core::{Plan, Samples, stderr};
/// use calipers_render::undefined_sentence;
///
/// let mut samples = Samples::new();
/// samples.push(1).score("judge", "C");
/// let results = Plan::new().metrics([stderr()]).measure(&samples)?;
/// let figure = results.figure("judge", "stderr").expect("asked for");
/// assert_eq!(undefined_sentence(figure.value.as_ref().unwrap_err()), "needs at least 2 values, has 1");
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn undefined_sentence(undefined: &Undefined) -> String {
    reason_sentence(undefined.reason())
}

/// The same, from the reason alone.
#[must_use]
pub fn reason_sentence(reason: &Reason) -> String {
    match reason {
        Reason::Statistic(reason) => statistic_reason_sentence(reason),
        Reason::NothingScored => "no sample has a score".into(),
        Reason::Part(name) => format!("`{name}` is undefined"),
        Reason::SeveralFigures { metric } => format!("`{metric}` has several figures, which have no mean"),
        Reason::NoMatch(conditions) => no_match_sentence(conditions),
        Reason::ScoresOutsideUnit => "scores outside 0 to 1 are not shares".into(),
        Reason::NoCorrectness => "no record says whether its answer is correct".into(),
        Reason::NoOutcome => "no record says whether it passed: neither `passed`, nor behaviours, nor a score".into(),
        Reason::NoBehaviors => "no record has behaviours: `expected_behaviors`, `must_not` or `violations`".into(),
        Reason::NoTokenCounts => "no score has `num_tokens` and `sum_log_probs` in its metadata".into(),
        Reason::NoLabels { labels } => format!("no sample that the judge scored has a label in `{labels}`"),
        Reason::NoRatings => "no sample has a list of two or more ratings".into(),
        Reason::NoNumber => "the metric gives no number for these scores".into(),
        Reason::TooFewAttempts { reducer, need, have } => {
            format!("`{reducer}` needs {need} attempts per sample, and there are {have}")
        }
        Reason::NothingReduced { reducer } => format!("`{reducer}` gives no value for any sample"),
        Reason::TimedOut { p, timed_out, attempts } => {
            let percentile = decimals(p * 100.0, 0);
            format!(
                "the {percentile}th percentile lies among the {timed_out} of {attempts} attempts that ran out of time"
            )
        }
        Reason::Incomparable(why) => crate::compare::words::incomparable(why),
        Reason::FormulaName { name, why: Some(why) } => {
            format!("`{name}` is undefined: {}", undefined_sentence(why))
        }
        Reason::FormulaName { name, why: None } => format!("`{name}` is undefined"),
        Reason::FormulaOperation { part, operation } => format!("`{part}` {}", operation_words(*operation)),
        Reason::FormulaValue => "the formula has no value".into(),
        Reason::NoScenario { category } => format!("no scenario has the category `{category}`"),
        Reason::NotRecorded(kind) => match **kind {
            ErrorKind::NoPassThreshold { .. } => {
                format!("{kind}: write the score at which a scenario passes, as in `\"pass_threshold\": 4`")
            }
            _ => kind.to_string(),
        },
        Reason::Other(words) => words.clone().into_owned(),
    }
}

/// What is wrong with an operation of a formula: `divides by 0`.
pub(crate) fn operation_words(operation: UndefinedOperation) -> &'static str {
    match operation {
        UndefinedOperation::DivisionByZero => "divides by 0",
        UndefinedOperation::RootOfNegative => "takes the root of a negative number",
        UndefinedOperation::LogarithmOfNonPositive => "takes the logarithm of a number that is not above 0",
        UndefinedOperation::NotFinite => "is too large, or not a number",
    }
}

fn no_match_sentence(conditions: &[UnmetCondition]) -> String {
    let wanted = conditions.iter().map(|condition| format!("`{}` = `{}`", condition.key, condition.wanted));
    let known = conditions.iter().map(|UnmetCondition { key, known, has_more, .. }| {
        let more = if *has_more { ", …" } else { "" };
        format!("`{key}` is {}{more}", if known.is_empty() { "not given".into() } else { known.join(", ") })
    });
    let (wanted, known): (Vec<String>, Vec<String>) = (wanted.collect(), known.collect());
    format!("no sample has {}; {}", wanted.join(" and "), known.join("; "))
}

/// Why a statistic has no value.
#[must_use]
pub fn statistic_reason_sentence(reason: &NoStatistic) -> String {
    match reason {
        NoStatistic::Empty => "there are no values".into(),
        NoStatistic::TooFew { what, need, have } => format!("needs at least {need} {}, has {have}", quantity(*what)),
        NoStatistic::NoSpread { what } => format!("{} do not vary", quantity(*what)),
        NoStatistic::ZeroDenominator { what } => format!("the denominator is zero: no {}", quantity(*what)),
        NoStatistic::NotFinite { value } => format!("a value is infinite or not a number ({value})"),
        NoStatistic::OutOfRange { what, value, allowed } => {
            format!("{} is {value}, must be {}", quantity(*what), range(*allowed))
        }
        NoStatistic::Mismatched { what, left, right } => {
            format!("{} have different lengths, {left} and {right}", quantity(*what))
        }
        NoStatistic::Unattainable { goal } => format!("no number of samples gives {}", goal_words(*goal)),
    }
}

fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::ActualNegatives => "actual negatives",
        Quantity::ActualOrPredictedPositives => "actual or predicted positives",
        Quantity::ActualPositives => "actual positives",
        Quantity::Agreements => "agreements",
        Quantity::Alpha => "alpha",
        Quantity::AttemptCost => "cost of an attempt",
        Quantity::Attempts => "attempts",
        Quantity::AttemptsPerUnit => "attempts at every unit",
        Quantity::BothSamples => "both samples",
        Quantity::Chance => "chance",
        Quantity::ClusterMeans => "cluster means",
        Quantity::ClusterSize => "cluster size",
        Quantity::ClusteredValuesAndMoments => "clustered values and moments",
        Quantity::Clusters => "clusters",
        Quantity::ClustersAndMap => "clusters and their map",
        Quantity::Components => "components",
        Quantity::CorrectAttempts => "correct attempts",
        Quantity::Correlation => "correlation",
        Quantity::Count => "count",
        Quantity::DefinedClasses => "classes that have the metric",
        Quantity::DegreesOfFreedom => "degrees of freedom",
        Quantity::DenominatorTotal => "total of the denominators",
        Quantity::DesignEffect => "design effect",
        Quantity::DifferenceVariance => "variance of a difference",
        Quantity::Differences => "differences",
        Quantity::DiscordantPairs => "discordant pairs",
        Quantity::Informedness => "sensitivity + specificity - 1",
        Quantity::InformednessBound => "the lower bound of sensitivity + specificity - 1",
        Quantity::K => "k",
        Quantity::Level => "level",
        Quantity::Margin => "margin",
        Quantity::Mean => "mean",
        Quantity::MergedK => "k of a merged suite",
        Quantity::N => "n",
        Quantity::NumeratorsAndDenominators => "numerators and denominators",
        Quantity::OneSideValues => "the values of one side",
        Quantity::PValue => "a p-value",
        Quantity::PairedValues => "paired values",
        Quantity::Pairs => "pairs",
        Quantity::PositiveOutcomes => "outcomes among the positives",
        Quantity::Power => "power",
        Quantity::PredictedNegatives => "predicted negatives",
        Quantity::PredictedPositives => "predicted positives",
        Quantity::Predictions => "predictions",
        Quantity::Problems => "problems",
        Quantity::Quantile => "quantile",
        Quantity::Ratings => "ratings",
        Quantity::Resamples => "resamples",
        Quantity::SampleCost => "cost of a sample",
        Quantity::SampleCount => "number of samples",
        Quantity::SampleDenominator => "denominator of a sample",
        Quantity::SampleMeans => "the samples' means",
        Quantity::Share => "share",
        Quantity::StandardDeviation => "standard deviation",
        Quantity::Stratum => "stratum",
        Quantity::Successes => "successes",
        Quantity::Threshold => "threshold",
        Quantity::TrueShare => "true share",
        Quantity::TruthsAndPredictions => "truths and predictions",
        Quantity::TruthsOrPredictions => "truths or predictions",
        Quantity::UnitCount => "number of units",
        Quantity::Units => "units",
        Quantity::UnitsAndMap => "units and their map",
        Quantity::UnitsWithTwoRatings => "units with two ratings",
        Quantity::Value => "a value",
        Quantity::ValueCount => "number of values",
        Quantity::Values => "values",
        Quantity::ValuesAndClusters => "clusters and values",
        Quantity::ValuesAndStrata => "values and strata",
        Quantity::ValuesAndUnits => "units and values",
        Quantity::ValuesAndWeights => "values and weights",
        Quantity::ValuesClusteredTwice => "values clustered in two ways",
        Quantity::ValuesPerStratum => "values in every stratum",
        Quantity::ValuesWithinStrata => "values within strata",
        Quantity::Variance => "variance",
        Quantity::Weight => "weight",
    }
}

fn range(allowed: AllowedRange) -> String {
    match allowed {
        AllowedRange::UnitInterval => "between 0 and 1".into(),
        AllowedRange::OpenUnitInterval => "strictly between 0 and 1".into(),
        AllowedRange::MinusOneToOne => "between -1 and 1".into(),
        AllowedRange::StatedRange => "within its limits".into(),
        AllowedRange::KnownScale => "between -100 and 100, where scores have a scale; state its `limits`".into(),
        AllowedRange::Positive => "positive".into(),
        AllowedRange::PositiveFinite => "positive and finite".into(),
        AllowedRange::NotNegative => "zero or positive".into(),
        AllowedRange::NotNegativeFinite => "zero or positive, and finite".into(),
        AllowedRange::AtLeastOne => "at least 1".into(),
        AllowedRange::AtMost(most) => format!("at most {}", count(most)),
        AllowedRange::BelowPowerOfTwo(power) => format!("below 2^{power}"),
        AllowedRange::AtMostTrials => "at most the number of trials".into(),
        AllowedRange::AtMostAttempts => "at most the number of attempts".into(),
        AllowedRange::AboveTestError => "above the error of the test".into(),
        AllowedRange::KnownStratum => "one of the weights".into(),
        AllowedRange::SameRuleAndK => "the same rule and k".into(),
    }
}

fn goal_words(goal: Goal) -> &'static str {
    match goal {
        Goal::PowerAtZero => "power to find a difference of zero",
        Goal::PowerWithinLimit => "this power within the samples allowed",
        Goal::Power => "this power",
    }
}

/// What was read as what: `columns: id = question_id, score = is_correct`.
pub(crate) fn columns_sentence(columns: &[(String, String)]) -> String {
    let parts: Vec<String> =
        columns.iter().map(|(name, column)| format!("{} = {}", clean(name), clean(column))).collect();
    format!("columns: {}", parts.join(", "))
}

/// Which end an interval lacks.
fn open_end(lower: bool, upper: bool) -> &'static str {
    match (lower, upper) {
        (true, _) => "the interval has no upper end",
        (_, true) => "the interval has no lower end",
        _ => "there is no interval",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_told_from_several() {
        for (caveat, want) in [
            (
                Caveat::PartlyScored { scorer: Some("judge".into()), samples: 1, attempts: 1 },
                "one attempt has no score by `judge`: its sample rests on its other attempts",
            ),
            (
                Caveat::PartlyScored { scorer: None, samples: 2, attempts: 3 },
                "3 attempts have no score: 2 samples rest on their other attempts",
            ),
            (Caveat::Errored { attempts: 1, scored: 0 }, "one attempt ended in an error"),
            (Caveat::Errored { attempts: 2, scored: 0 }, "2 attempts ended in an error"),
            (
                Caveat::Errored { attempts: 1, scored: 1 },
                "one attempt ended in an error and has a score, which counts; pass rates count it as not passed",
            ),
            (
                Caveat::Errored { attempts: 3, scored: 2 },
                "3 attempts ended in an error, and 2 of them have a score, which counts; pass rates count them as not passed",
            ),
            (Caveat::ModeTies { samples: 1 }, "one sample has no single most frequent score"),
            (Caveat::ModeTies { samples: 3 }, "3 samples have no single most frequent score"),
            (
                Caveat::Missing { missing: 1, range: Some((0.1, 0.25)) },
                "1 without a score: with it the mean lies between 0.100 and 0.250",
            ),
            (
                Caveat::Missing { missing: 2, range: Some((0.1, 0.25)) },
                "2 without a score: with them the mean lies between 0.100 and 0.250",
            ),
            (
                Caveat::LimitsHit { run: None, kinds: vec![("token".into(), 1)] },
                "1 attempt was stopped by a limit: token limit 1",
            ),
            (
                Caveat::LimitsHit { run: Some("new".into()), kinds: vec![("token".into(), 1), ("time".into(), 2)] },
                "`new`: 3 attempts were stopped by a limit: token limit 1, time limit 2",
            ),
            (
                Caveat::CachedAnswers { run: None, attempts: 1, attempts_total: 4, answers: 1 },
                "1 answer in 1 of 4 attempts was taken from a cache; they have no latency",
            ),
        ] {
            assert_eq!(caveat_sentence(&caveat), want);
        }
    }

    #[test]
    fn a_run_that_is_not_whole_says_what_is_there_and_how_it_ended() {
        let run = |attempts: u64, never_ran: &[&str], ending| Caveat::Incomplete {
            run: None,
            samples: 16,
            samples_expected: 40,
            attempts,
            attempts_expected: 40,
            never_ran: never_ran.iter().map(|id| (*id).to_owned()).collect(),
            ending,
        };
        for (caveat, want) in [
            (
                run(16, &[], RunEnding::Cancelled),
                "16 of 40 samples: the evaluation was cancelled; those that never ran are missing",
            ),
            (
                run(39, &["q7"], RunEnding::Broken),
                "16 of 40 samples, 39 of 40 attempts: the evaluation ended in an error; the one that never ran is missing (q7)",
            ),
            (
                run(40, &[], RunEnding::Finished),
                "16 of 40 samples, 40 of 40 attempts: the log expects more than it contains",
            ),
        ] {
            assert_eq!(caveat_sentence(&caveat), want);
        }
    }

    #[test]
    fn a_rule_about_missing_scores_says_when_it_replaces_the_policy() {
        let counted = |rule, overrides_policy| {
            caveat_sentence(&Caveat::MissingCounted { rule, attempts: 3, attempts_total: 80, overrides_policy })
        };
        assert_eq!(counted(MissingRule::Failed, false), "3 of 80 attempts without a score were counted as failed");
        assert_eq!(
            counted(MissingRule::Excluded, true),
            "3 of 80 attempts without a score were left out, instead of what the policy says"
        );
    }

    #[test]
    fn numbers_that_differ_look_different() {
        assert_eq!(different_numbers(0.5, 0.75), ("0.500".into(), "0.750".into()));
        assert_eq!(different_numbers(0.123_41, 0.123_42), ("0.12341".into(), "0.12342".into()));
        let nearly = different_numbers(0.1, 0.1 + 1e-15);
        assert_ne!(nearly.0, nearly.1);
    }

    #[test]
    fn a_recorded_threshold_is_written_as_a_call() {
        let cause = |reducer: &str| recorded_next_step(&RecordedCause::Threshold { reducer: reducer.into() });
        assert_eq!(cause("pass_at_2"), "name the reducer with its threshold, as in `pass_at(2, value=0.5)`");
        assert_eq!(cause("mode"), "name the reducer with its threshold, as in `mode`");
    }

    #[test]
    fn a_condition_that_nothing_meets_names_what_there_is() {
        let condition = |known: &[&str], has_more| UnmetCondition {
            key: "topic".into(),
            wanted: "law".into(),
            known: known.iter().map(|name| (*name).to_owned()).collect(),
            has_more,
        };
        let sentence = |condition| reason_sentence(&Reason::NoMatch(vec![condition]));
        assert_eq!(sentence(condition(&["a", "b"], false)), "no sample has `topic` = `law`; `topic` is a, b");
        assert_eq!(sentence(condition(&["a"], true)), "no sample has `topic` = `law`; `topic` is a, …");
        assert_eq!(sentence(condition(&[], false)), "no sample has `topic` = `law`; `topic` is not given");
    }
}
