//! What the language lacks: sums, means, roots, rounding, formatting, and scores.

use crate::error::ArgumentError;
use crate::score_objects::{ScoreObject, float_of, metadata_in, number, plain, short_text};
use crate::script_call::session;
use allocative::Allocative;
use calipers_core::stats::ExactSum;
use calipers_core::{ErrorKind, Labels, Score, Value as CoreValue};
use starlark::any::ProvidesStaticType;
use starlark::environment::GlobalsBuilder;
use starlark::eval::{Arguments, Evaluator};
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, UnpackValue, Value, starlark_value};
use starlark::{starlark_module, starlark_simple_value};
use std::fmt;

/// The float of a value: what `value_to_float()` gives, and `to_float` is.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct ToFloat {
    /// Its own labels, by role.
    #[allocative(skip)]
    roles: Vec<(&'static str, CoreValue)>,
}

starlark_simple_value!(ToFloat);

impl fmt::Display for ToFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("to_float")
    }
}

impl ToFloat {
    /// As metrics take it: null for the usual labels.
    pub(crate) fn as_param(&self) -> CoreValue {
        if self.roles.is_empty() {
            return CoreValue::Null;
        }
        CoreValue::Map(self.roles.iter().map(|(role, value)| ((*role).into(), value.clone())).collect())
    }

    fn labels(&self) -> Labels {
        self.roles.iter().fold(Labels::default(), |labels, (role, value)| match *role {
            "correct" => labels.correct(value.clone()),
            "incorrect" => labels.incorrect(value.clone()),
            "partial" => labels.partial(value.clone()),
            _ => labels.noanswer(value.clone()),
        })
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for ToFloat {
    fn invoke(
        &self,
        _: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        arguments.no_named_args()?;
        let value = plain(arguments.positional1(eval.heap())?)?;
        if self.roles.is_empty() {
            let number = float_of(&value, eval).map_err(starlark::Error::new_native)?;
            return Ok(eval.heap().alloc(number));
        }
        let number = self.labels().to_float(&value);
        let unknown =
            || starlark::Error::new_native(calipers_core::Error::from(ErrorKind::UnknownLabel(value.clone())));
        Ok(eval.heap().alloc(number.ok_or_else(unknown)?))
    }
}

/// How many numbers are processed between checks of the time.
const BETWEEN_LOOKS: usize = 1 << 14;

/// Passes on the numbers of a list or another iterable.
fn each_number<'v>(
    values: Value<'v>,
    eval: &Evaluator<'v, '_, '_>,
    mut take: impl FnMut(Value<'v>, f64),
) -> starlark::Result<usize> {
    let mut count = 0;
    for value in values.iterate(eval.heap())? {
        let Some(x) = number(value) else {
            return Err(ArgumentError::new(format!("expected a number, found {}", short_text(value))).into());
        };
        take(value, x);
        count += 1;
        if count % BETWEEN_LOOKS == 0 {
            session(eval)?.check_time()?;
        }
    }
    Ok(count)
}

/// The mean of at least one number.
pub(crate) fn mean_of_numbers<'v>(values: Value<'v>, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<f64> {
    let mut sum = ExactSum::default();
    let count = each_number(values, eval, |_, x| sum.add(x))?;
    if count == 0 {
        return Err(ArgumentError::new("the mean of no numbers is undefined")
            .hint("return None if there is none")
            .into());
    }
    Ok(sum.value() / count as f64)
}

#[starlark_module]
pub(crate) fn mathematics(builder: &mut GlobalsBuilder) {
    /// The sum of numbers: an int if all of them are.
    fn sum<'v>(
        #[starlark(require = pos)] values: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let mut total = ExactSum::default();
        let mut whole = Some(0i64);
        each_number(values, eval, |value, x| {
            total.add(x);
            let int = value.unpack_bool().map(i64::from).or_else(|| i64::unpack_value(value).ok().flatten());
            whole = whole.zip(int).and_then(|(sum, int)| sum.checked_add(int));
        })?;
        Ok(match whole {
            Some(sum) => eval.heap().alloc(sum),
            None => eval.heap().alloc(total.value()),
        })
    }

    /// The square root.
    fn sqrt(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        check_defined(x.0 >= 0.0, "the square root", x.0)?;
        Ok(x.0.sqrt())
    }

    /// e to the power of x.
    fn exp(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.exp())
    }

    /// The natural logarithm, or that to a base.
    fn log(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(default = NoneOr::None)] base: NoneOr<UnpackFloat>,
    ) -> anyhow::Result<f64> {
        check_defined(x.0 > 0.0, "the logarithm", x.0)?;
        let Some(base) = base.into_option() else { return Ok(x.0.ln()) };
        check_defined(base.0 > 0.0 && base.0 != 1.0, "the logarithm to the base", base.0)?;
        Ok(x.0.ln() / base.0.ln())
    }

    /// x to the power of y.
    fn pow(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        let power = x.0.powf(y.0);
        if power.is_nan() && !x.0.is_nan() && !y.0.is_nan() {
            return Err(ArgumentError::new(format!("{} to the power of {} is undefined", x.0, y.0)).into());
        }
        Ok(power)
    }

    /// The nearest whole number, or the nearest with so many decimals; halves go to the even one, as in Python.
    fn round<'v>(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(default = NoneOr::None)] digits: NoneOr<i32>,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let Some(digits) = digits.into_option() else {
            let whole = x.0.round_ties_even();
            const EXACT: f64 = 9_007_199_254_740_992.0; // 2⁵³
            return Ok(if whole.abs() <= EXACT { heap.alloc(whole as i64) } else { heap.alloc(whole) });
        };
        Ok(heap.alloc(round_to(x.0, digits)))
    }

    /// A number as text with so many decimals.
    fn fmt(#[starlark(require = pos)] x: UnpackFloat, #[starlark(default = 3)] digits: i32) -> anyhow::Result<String> {
        Ok(format!("{:.*}", usize::try_from(digits).unwrap_or(0).min(300), x.0))
    }

    /// A score, for reducers.
    #[starlark(as_type = ScoreObject)]
    fn Score<'v>(
        value: Value<'v>,
        #[starlark(default = NoneOr::None)] answer: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] explanation: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] metadata: NoneOr<Value<'v>>,
    ) -> anyhow::Result<ScoreObject> {
        let mut score = Score::new(plain(value)?);
        score.answer = answer.into_option().map(Into::into);
        score.explanation = explanation.into_option().map(Into::into);
        score.metadata = metadata.into_option().map_or(Ok(None), metadata_in)?;
        Ok(ScoreObject(score))
    }

    /// The function from a value to its float: numbers as they are, C, I, P and N as 1, 0, ½ and 0, or other labels.
    fn value_to_float<'v>(
        #[starlark(default = NoneOr::None)] correct: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] incorrect: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] partial: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] noanswer: NoneOr<Value<'v>>,
    ) -> anyhow::Result<ToFloat> {
        let given = [("correct", correct), ("incorrect", incorrect), ("partial", partial), ("noanswer", noanswer)];
        let given = given.into_iter().filter_map(|(role, value)| Some((role, value.into_option()?)));
        let roles = given.map(|(role, value)| Ok((role, plain(value)?))).collect::<Result<_, ArgumentError>>()?;
        Ok(ToFloat { roles })
    }
}

/// `to_float`, the function under the usual labels.
pub(crate) fn add_to_float(builder: &mut GlobalsBuilder) {
    builder.set("to_float", ToFloat { roles: Vec::new() });
}

fn check_defined(is_defined: bool, what: &str, of: f64) -> Result<(), ArgumentError> {
    if is_defined { Ok(()) } else { Err(ArgumentError::new(format!("{what} of {of} is undefined"))) }
}

fn round_to(x: f64, digits: i32) -> f64 {
    if digits >= 0 {
        // Through decimal text, which is exact; a product with a power of ten is not.
        return format!("{x:.*}", digits.min(300) as usize).parse().unwrap_or(x);
    }
    let scale = 10f64.powi(digits.saturating_neg().min(300));
    (x / scale).round_ties_even() * scale
}
