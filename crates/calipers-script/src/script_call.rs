//! Calls into scripts, under limits.

use crate::error::{ArgumentError, ScriptError, visible};
use crate::library::SharedContext;
use crate::limits::{RunningScript, Time};
use crate::score_objects::{SampleScoreObject, ScoreObject, items, number, score_in, short_text};
use calipers_core::{
    Answer, Error, IntoAnswer, Metric, Reducer, SampleScore, Score, Tally, Value as CoreValue, defuse, metric,
};
use starlark::PrintHandler;
use starlark::any::ProvidesStaticType;
use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::dict::DictRef;
use starlark::values::list::AllocList;
use starlark::values::{Heap, OwnedFrozenValue, Value};
use std::cell::RefCell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A function of a script that becomes available once its module is frozen.
pub(crate) type FunctionSlot = Arc<OnceLock<OwnedFrozenValue>>;

/// What our functions know about the evaluation that calls them.
#[derive(ProvidesStaticType)]
pub(crate) struct Session {
    pub(crate) shared: Arc<SharedContext>,
    /// The functions of metrics, in the order of their names in the module.
    pub(crate) slots: RefCell<Vec<FunctionSlot>>,
    late: Box<dyn Fn() -> bool>,
}

impl Session {
    pub(crate) fn new(shared: &Arc<SharedContext>, running: &RunningScript) -> Self {
        Self { shared: shared.clone(), slots: RefCell::default(), late: Box::new(running.late()) }
    }

    /// An error once the time is up, for our own loops, which count no steps.
    pub(crate) fn check_time(&self) -> Result<(), ArgumentError> {
        if (self.late)() { Err(crate::error::too_slow()) } else { Ok(()) }
    }

    /// Keeps a function until it can be taken out of the frozen module.
    pub(crate) fn keep<'v>(&self, function: Value<'v>, eval: &Evaluator<'v, '_, '_>) -> FunctionSlot {
        let slot = FunctionSlot::default();
        let mut slots = self.slots.borrow_mut();
        eval.module().set(&slot_name(slots.len()), function);
        slots.push(slot.clone());
        slot
    }
}

/// A name that no script can write.
pub(crate) fn slot_name(index: usize) -> String {
    format!("function {index}")
}

pub(crate) fn session<'a>(eval: &Evaluator<'_, 'a, '_>) -> anyhow::Result<&'a Session> {
    let session = eval.extra.and_then(|extra| extra.downcast_ref::<Session>());
    session.ok_or_else(|| anyhow::anyhow!("an evaluation without a session"))
}

/// An evaluator with limits.
pub(crate) fn limit<'v, 'a, 'e>(
    eval: &mut Evaluator<'v, 'a, 'e>,
    session: &'a Session,
    scores: usize,
) -> Result<(), ScriptError>
where
    'e: 'a,
{
    let limits = &session.shared.limits;
    let own = |error: anyhow::Error| ScriptError::new(error.to_string());
    eval.set_max_tick_count(limits.steps + limits.steps_per_score * scores as u64).map_err(own)?;
    eval.set_max_callstack_size(limits.depth).map_err(own)?;
    eval.set_max_heap_size(limits.memory).map_err(own)?;
    eval.set_check_cancelled(Box::new(|| (session.late)()));
    eval.set_print_handler(&Visible);
    eval.extra = Some(session);
    Ok(())
}

/// What scripts print, on standard error. It may quote a model, so control characters are escaped, and nothing is a
/// command to what keeps a log.
struct Visible;

/// As much of one print is shown.
const PRINT_MAX: usize = 4000;

/// As many bytes of all prints are shown: a loop must not fill a log.
const PRINTS_MAX: usize = 256 << 10;

/// How many bytes were printed.
static PRINTED: AtomicUsize = AtomicUsize::new(0);

impl PrintHandler for Visible {
    fn println(&self, text: &str) -> starlark::Result<()> {
        let end = text.char_indices().nth(PRINT_MAX).map_or(text.len(), |(end, _)| end);
        let mut shown = visible(&text[..end]);
        if end < text.len() {
            shown += &format!("… ({} more bytes)", text.len() - end);
        }
        let before = PRINTED.fetch_add(shown.len() + 1, Ordering::Relaxed);
        if before <= PRINTS_MAX {
            let is_last = before + shown.len() + 1 > PRINTS_MAX;
            let shown = if is_last { "the scripts print more than is shown" } else { &shown };
            // The reader may be gone, which is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{}", defuse(shown, false));
        }
        Ok(())
    }
}

/// True for the text of Starlark's panic about a value that is too large.
#[must_use]
pub fn is_about_memory(panic: &str) -> bool {
    ["out of memory", "capacity overflow", "AlignedSize"].iter().any(|part| panic.contains(part))
}

/// Turns a panic into an error: Starlark panics on values that are too large, and no script may end the program.
pub(crate) fn catch_panic<T>(evaluate: impl FnOnce() -> Result<T, ScriptError>) -> Result<T, ScriptError> {
    catch_unwind(AssertUnwindSafe(evaluate)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        if is_about_memory(&text) {
            let hint = "look for a list or a string that grows without end";
            return Err(ScriptError::new("the script ran out of memory").hint(hint));
        }
        Err(ScriptError::new(format!("the script cannot be run: {text}")))
    })
}

/// A function of a script, ready to be called.
pub(crate) struct Callee<'a> {
    pub(crate) shared: &'a Arc<SharedContext>,
    pub(crate) slot: &'a FunctionSlot,
    /// How many scores it receives, each of which allows more steps.
    pub(crate) scores: usize,
    pub(crate) time: Time,
}

impl Callee<'_> {
    /// Calls it, and reads its result.
    pub(crate) fn call<T>(
        &self,
        arguments: impl for<'v> FnOnce(Heap<'v>) -> Vec<Value<'v>>,
        read: impl for<'v> FnOnce(Value<'v>) -> Result<T, ArgumentError>,
    ) -> Result<T, ScriptError> {
        let shared = self.shared;
        let Some(function) = self.slot.get() else {
            return Err(ScriptError::new("what a script makes while it is being called cannot be used in that call"));
        };
        let running = shared.clock.start(&shared.limits, self.time);
        let session = Session::new(shared, &running);
        catch_panic(|| {
            Module::with_temp_heap(|module| {
                let heap = module.heap();
                let function = heap.access_owned_frozen_value(function);
                let arguments = arguments(heap);
                let mut eval = Evaluator::new(&module);
                limit(&mut eval, &session, self.scores)?;
                let answer = eval.eval_function(function, &arguments, &[]).map_err(|error| shared.explain(&error))?;
                read(answer).map_err(ScriptError::from)
            })
        })
    }
}

/// The result of a script metric.
enum MetricReturn {
    Number(f64),
    Nothing,
    Listed(Vec<MetricReturn>),
    Named(Vec<(String, MetricReturn)>),
}

impl MetricReturn {
    fn of(value: Value<'_>, depth: usize) -> Option<Self> {
        if value.is_none() {
            return Some(Self::Nothing);
        }
        if let Some(x) = number(value) {
            return Some(Self::Number(x));
        }
        if depth > 2 {
            return None;
        }
        if let Some(items) = items(value) {
            let inner = |item: &Value<'_>| Self::of(*item, 3);
            return items.iter().map(inner).collect::<Option<_>>().map(Self::Listed);
        }
        let dict = DictRef::from_value(value)?;
        let entry =
            |(key, value): (Value<'_>, Value<'_>)| Some((key.unpack_str()?.to_owned(), Self::of(value, depth + 1)?));
        dict.iter().map(entry).collect::<Option<_>>().map(Self::Named)
    }
}

impl IntoAnswer for MetricReturn {
    fn into_answer(self, tally: Tally) -> Answer {
        match self {
            Self::Number(x) => x.into_answer(tally),
            Self::Nothing => None.into_answer(tally),
            Self::Listed(items) => {
                let figures = items.into_iter().filter_map(|item| item.into_answer(tally).figure().cloned());
                Answer::Listed(figures.collect())
            }
            Self::Named(entries) => {
                Answer::Named(entries.into_iter().map(|(name, given)| (name, given.into_answer(tally))).collect())
            }
        }
    }
}

/// A metric from a function of a script.
pub(crate) fn script_metric(
    shared: &Arc<SharedContext>,
    name: &str,
    params: Vec<(String, CoreValue)>,
    slot: FunctionSlot,
) -> Metric {
    let own = shared.clone();
    let made = metric(name, move |scores: &[SampleScore]| measure(&own, &slot, scores));
    params.into_iter().fold(made, |metric, (name, value)| metric.param(name, value))
}

fn measure(shared: &Arc<SharedContext>, slot: &FunctionSlot, scores: &[SampleScore]) -> Result<MetricReturn, Error> {
    let callee = Callee { shared, slot, scores: scores.len(), time: Time::Shared };
    let given = callee.call(
        |heap| {
            let scores = scores.iter().map(|score| SampleScoreObject(score.clone()));
            vec![heap.alloc(AllocList(scores.collect::<Vec<_>>()))]
        },
        |answer| {
            MetricReturn::of(answer, 0).ok_or_else(|| {
                let what =
                    format!("the metric gives {}, not a number, or a list or a dict of numbers", short_text(answer));
                let complaint = ArgumentError::new(what);
                if answer.get_type() == "function" {
                    complaint.hint("call it with its arguments in the expression")
                } else {
                    complaint
                }
            })
        },
    );
    Ok(given?)
}

/// A reducer from a function of a script.
pub(crate) fn script_reducer(shared: &Arc<SharedContext>, name: &str, slot: FunctionSlot) -> Reducer {
    let shared = shared.clone();
    calipers_core::score_reducer(name, move |scores: &[Score]| {
        // Attempts without a score are left out, as by the built-in reducers.
        let scores: Vec<&Score> = scores.iter().filter(|score| !score.value.is_missing()).collect();
        if scores.is_empty() {
            return Ok(Score::unscored());
        }
        let callee = Callee { shared: &shared, slot: &slot, scores: scores.len(), time: Time::Shared };
        let reduced = callee.call(
            |heap| {
                let scores = scores.iter().map(|&score| ScoreObject(score.clone()));
                vec![heap.alloc(AllocList(scores.collect::<Vec<_>>()))]
            },
            |answer| {
                let Some(mut score) = score_in(answer) else {
                    let what = format!("the reducer gives {}, not a score", short_text(answer));
                    return Err(ArgumentError::new(what).hint("return `Score(value = …)`"));
                };
                if matches!(score.value, CoreValue::Null) {
                    score.value = CoreValue::Missing;
                }
                Ok(score)
            },
        );
        Ok(reduced?)
    })
}
