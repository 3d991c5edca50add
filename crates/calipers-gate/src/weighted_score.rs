//! `weighted_score`: several metrics in one number.

use calipers_core::Error;
use calipers_stats::ExactSum;
use indexmap::IndexMap;

/// The mean of metrics, each counted by its weight.
///
/// Only the proportions of the weights matter. A weight for a metric that is not among `metrics` is an error, and so are
/// weights that are negative, not finite or all zero; metrics without a weight do not count.
///
/// ```
/// use calipers_gate::weighted_score;
/// use indexmap::IndexMap;
///
/// let named = |entries: [(&str, f64); 3]| entries.map(|(name, x)| (name.to_owned(), x)).into_iter().collect();
/// let metrics: IndexMap<String, f64> = named([("accuracy", 0.9), ("safety_rate", 1.0), ("behavior_coverage", 0.8)]);
/// let weights: IndexMap<String, f64> = named([("accuracy", 1.0), ("safety_rate", 3.0), ("behavior_coverage", 1.5)]);
/// assert!((weighted_score(&metrics, &weights)? - 5.1 / 5.5).abs() < 1e-15);
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn weighted_score(metrics: &IndexMap<String, f64>, weights: &IndexMap<String, f64>) -> Result<f64, Error> {
    for (name, &weight) in weights {
        if !metrics.contains_key(name) {
            return Err(not_computed(name, metrics));
        }
        if !(weight.is_finite() && weight >= 0.0) {
            let message = format!("the weight of `{name}` is {weight}");
            return Err(Error::argument(message, "a weight is 0 or more"));
        }
    }
    // Divided by the largest first, so that neither sum can overflow.
    let largest = weights.values().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return Err(Error::argument("no metric has a weight above 0", "give at least one metric a weight"));
    }
    let (mut weighted, mut total) = (ExactSum::default(), ExactSum::default());
    for (name, weight) in weights {
        weighted.add(metrics[name] * (weight / largest));
        total.add(weight / largest);
    }
    Ok(weighted.value() / total.value())
}

fn not_computed(name: &str, metrics: &IndexMap<String, f64>) -> Error {
    let known: Vec<&str> = metrics.keys().map(String::as_str).collect();
    let hint = match calipers_core::nearest(name, &known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => "compute it, or leave its weight out".into(),
        None => format!("compute it, or leave its weight out; there are {}", known.join(", ")),
    };
    Error::argument(format!("`{name}` has a weight and is not computed"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(entries: &[(&str, f64)]) -> IndexMap<String, f64> {
        entries.iter().map(|(name, x)| ((*name).to_owned(), *x)).collect()
    }

    #[test]
    fn only_the_proportions_of_weights_matter() {
        let metrics = named(&[("accuracy", 0.9), ("safety_rate", 1.0), ("behavior_coverage", 0.8), ("cost", 7.0)]);
        let weights = [("accuracy", 1.0), ("safety_rate", 3.0), ("behavior_coverage", 1.5)];
        // (0.9 × 1 + 1 × 3 + 0.8 × 1.5) / 5.5
        let want = 5.1 / 5.5;
        for scale in [1.0, 2.0, 1e-300, 1e300] {
            let weights: Vec<(&str, f64)> = weights.iter().map(|(name, weight)| (*name, weight * scale)).collect();
            let got = weighted_score(&metrics, &named(&weights)).expect("defined");
            assert!((got - want).abs() < 1e-15, "{scale}: {got}");
        }
        assert_eq!(weighted_score(&metrics, &named(&[("safety_rate", 2.0), ("accuracy", 0.0)])), Ok(1.0));
    }

    #[test]
    fn weights_that_mean_nothing_are_refused() {
        let metrics = named(&[("accuracy", 0.9), ("safety_rate", 1.0)]);
        let refused = |weights: &[(&str, f64)]| weighted_score(&metrics, &named(weights)).unwrap_err().to_string();
        assert_eq!(
            refused(&[("acuracy", 1.0)]),
            "`acuracy` has a weight and is not computed\n  hint: did you mean `accuracy`?"
        );
        assert!(refused(&[("tone", 1.0)]).ends_with("there are accuracy, safety_rate"));
        assert!(refused(&[("accuracy", 0.0)]).starts_with("no metric has a weight above 0"));
        assert!(refused(&[]).starts_with("no metric has a weight above 0"));
        assert!(refused(&[("accuracy", -1.0)]).starts_with("the weight of `accuracy` is -1"));
        assert!(refused(&[("accuracy", f64::INFINITY)]).starts_with("the weight of `accuracy` is inf"));
    }
}
