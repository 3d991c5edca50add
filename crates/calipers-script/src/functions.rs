//! The names that scripts and expressions know.

use crate::objects::{MetricObject, ScoreObject, from_starlark};
use calipers_core as core;
use calipers_core::stats::agreement::Scale;
use calipers_core::{All, Ci, Grouped, OnMissing, Score};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;
use starlark::values::{Value, ValueLike};

fn inner(value: Value<'_>) -> anyhow::Result<core::Metric> {
    match value.downcast_ref::<MetricObject>() {
        Some(metric) => Ok(metric.0.clone()),
        None => anyhow::bail!("expected a metric such as `accuracy()`, found `{}`", value.to_repr()),
    }
}

fn positive(count: i32, name: &str) -> anyhow::Result<u64> {
    match u64::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => anyhow::bail!("`{name}` is {count}, must be above 0"),
    }
}

fn plain(value: Value<'_>) -> anyhow::Result<core::Value> {
    from_starlark(value).ok_or_else(|| anyhow::anyhow!("`{}` is no plain value", value.to_repr()))
}

#[starlark_module]
pub(crate) fn metrics(builder: &mut GlobalsBuilder) {
    fn accuracy() -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::accuracy()))
    }

    fn var() -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::var()))
    }

    fn std() -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::std()))
    }

    fn stderr(#[starlark(default = NoneOr::None)] cluster: NoneOr<&str>) -> anyhow::Result<MetricObject> {
        Ok(MetricObject(cluster.into_option().map_or_else(core::stderr, core::stderr_clustered)))
    }

    fn bootstrap_stderr(#[starlark(default = 1000)] num_samples: i32) -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::bootstrap_stderr(positive(num_samples, "num_samples")?)))
    }

    fn ci(
        #[starlark(default = UnpackFloat(0.95))] level: UnpackFloat,
        #[starlark(default = "t")] method: &str,
        #[starlark(default = 1000)] num_samples: i32,
        #[starlark(default = NoneOr::None)] cluster: NoneOr<&str>,
    ) -> anyhow::Result<MetricObject> {
        let mut ci = Ci::new().level(level.0)?;
        match method {
            "t" => {}
            "bootstrap" => ci = ci.bootstrap(positive(num_samples, "num_samples")?),
            other => anyhow::bail!("`method` is `{other}`, must be `t` or `bootstrap`"),
        }
        if let Some(key) = cluster.into_option() {
            ci = ci.cluster(key);
        }
        Ok(MetricObject(ci.into()))
    }

    fn ci_wilson(
        #[starlark(default = UnpackFloat(0.95))] level: UnpackFloat,
        #[starlark(default = NoneOr::None)] cluster: NoneOr<&str>,
    ) -> anyhow::Result<MetricObject> {
        let mut ci = Ci::wilson().level(level.0)?;
        if let Some(key) = cluster.into_option() {
            ci = ci.cluster(key);
        }
        Ok(MetricObject(ci.into()))
    }

    fn grouped<'v>(
        metric: Value<'v>,
        group_key: &str,
        #[starlark(default = NoneOr::None)] all: NoneOr<Value<'v>>,
        #[starlark(default = "all")] all_label: &str,
        #[starlark(default = "{group_name}")] name_template: &str,
    ) -> anyhow::Result<MetricObject> {
        let all = match all.into_option() {
            None => All::Samples,
            Some(value) if value.unpack_bool() == Some(false) => All::Off,
            Some(value) => match value.unpack_str() {
                Some("samples") => All::Samples,
                Some("groups") => All::Groups,
                _ => anyhow::bail!("`all` is `{}`, must be `samples`, `groups` or False", value.to_repr()),
            },
        };
        let grouped =
            Grouped::new(inner(metric)?, group_key).all(all).all_label(all_label).name_template(name_template);
        Ok(MetricObject(grouped.into()))
    }

    fn aggregate<'v>(
        key: &str,
        agg: Value<'v>,
        #[starlark(default = "error")] on_missing: &str,
    ) -> anyhow::Result<MetricObject> {
        let on_missing = match on_missing {
            "error" => OnMissing::Error,
            "skip" => OnMissing::Skip,
            "zero" => OnMissing::Zero,
            other => anyhow::bail!("`on_missing` is `{other}`, must be `error`, `skip` or `zero`"),
        };
        Ok(MetricObject(core::aggregate(key, inner(agg)?, on_missing)))
    }

    fn frequency(
        #[starlark(default = NoneOr::None)] categories: NoneOr<UnpackList<String>>,
        #[starlark(default = true)] normalize: bool,
    ) -> anyhow::Result<MetricObject> {
        let categories = categories.into_option().map(|list| list.items).unwrap_or_default();
        Ok(MetricObject(core::frequency(categories, normalize)))
    }

    fn krippendorff_alpha(#[starlark(default = "nominal")] level: &str) -> anyhow::Result<MetricObject> {
        let scale = match level {
            "nominal" => Scale::Nominal,
            "ordinal" => Scale::Ordinal,
            "interval" => Scale::Interval,
            other => anyhow::bail!("`level` is `{other}`, must be `nominal`, `ordinal` or `interval`"),
        };
        Ok(MetricObject(core::krippendorff_alpha(scale, None)))
    }

    fn perplexity_per_token() -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::perplexity_per_token()))
    }

    fn perplexity_per_seq() -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::perplexity_per_seq()))
    }

    fn pass_rate() -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::pass_rate()))
    }

    fn precision<'v>(#[starlark(default = NoneOr::None)] positive: NoneOr<Value<'v>>) -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::precision(positive.into_option().map_or(Ok(true.into()), plain)?)))
    }

    fn recall<'v>(#[starlark(default = NoneOr::None)] positive: NoneOr<Value<'v>>) -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::recall(positive.into_option().map_or(Ok(true.into()), plain)?)))
    }

    fn f1<'v>(#[starlark(default = NoneOr::None)] positive: NoneOr<Value<'v>>) -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::f1(positive.into_option().map_or(Ok(true.into()), plain)?)))
    }

    fn mcc<'v>(#[starlark(default = NoneOr::None)] positive: NoneOr<Value<'v>>) -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::mcc(positive.into_option().map_or(Ok(true.into()), plain)?)))
    }

    fn quantile(field: &str, p: UnpackFloat) -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::quantile(field, p.0)?))
    }

    fn ratio(numerator: &str, denominator: &str) -> anyhow::Result<MetricObject> {
        Ok(MetricObject(core::ratio(numerator, denominator)))
    }
}

/// What the language lacks.
#[starlark_module]
pub(crate) fn mathematics(builder: &mut GlobalsBuilder) {
    /// The sum of numbers.
    fn sum(values: UnpackList<UnpackFloat>) -> anyhow::Result<f64> {
        Ok(values.items.iter().map(|x| x.0).sum())
    }

    /// The mean of numbers; without a list, the metric `mean`, or that of a field.
    fn mean<'v>(
        #[starlark(default = NoneOr::None)] values: NoneOr<Value<'v>>,
        heap: starlark::values::Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        use starlark::values::UnpackValue;
        let Some(values) = values.into_option() else { return Ok(heap.alloc(MetricObject(core::mean()))) };
        if let Some(field) = values.unpack_str() {
            return Ok(heap.alloc(MetricObject(core::mean_of(field))));
        }
        let Ok(Some(list)) = UnpackList::<UnpackFloat>::unpack_value(values) else {
            anyhow::bail!("expected a list of numbers or the name of a field, found `{}`", values.to_repr());
        };
        if list.items.is_empty() {
            anyhow::bail!("the mean of no numbers is undefined");
        }
        Ok(heap.alloc(list.items.iter().map(|x| x.0).sum::<f64>() / list.items.len() as f64))
    }

    fn sqrt(x: UnpackFloat) -> anyhow::Result<f64> {
        if x.0 < 0.0 { anyhow::bail!("the square root of {} is undefined", x.0) } else { Ok(x.0.sqrt()) }
    }

    fn exp(x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.exp())
    }

    fn log(x: UnpackFloat) -> anyhow::Result<f64> {
        if x.0 <= 0.0 { anyhow::bail!("the logarithm of {} is undefined", x.0) } else { Ok(x.0.ln()) }
    }

    fn pow(x: UnpackFloat, y: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.powf(y.0))
    }

    /// A number with so many decimals.
    fn round(x: UnpackFloat, #[starlark(default = 0)] digits: i32) -> anyhow::Result<f64> {
        let scale = 10f64.powi(digits.clamp(-300, 300));
        Ok((x.0 * scale).round_ties_even() / scale)
    }

    /// A number as text with so many decimals.
    fn fmt(x: UnpackFloat, #[starlark(default = 3)] digits: i32) -> anyhow::Result<String> {
        Ok(format!("{:.*}", usize::try_from(digits).unwrap_or(0).min(300), x.0))
    }

    /// A score, for reducers.
    fn Score<'v>(
        value: Value<'v>,
        #[starlark(default = NoneOr::None)] answer: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] explanation: NoneOr<&str>,
    ) -> anyhow::Result<ScoreObject> {
        let mut score = Score::new(plain(value)?);
        score.answer = answer.into_option().map(Into::into);
        score.explanation = explanation.into_option().map(Into::into);
        Ok(ScoreObject(score))
    }

    /// The float of a value: numbers as they are, C, I, P and N as 1, 0, ½ and 0.
    fn to_float<'v>(value: Value<'v>) -> anyhow::Result<f64> {
        Ok(Score::new(plain(value)?).as_float()?)
    }
}
