//! Solvers, scorers and models that are functions in Python.

use crate::attempt_state::{StateParts, describe, describe_output, read_messages, read_output};
use crate::event_loop::{AttemptLink, Calls, CodeAnswer, LinkMessage, LinkQuestion};
use crate::metrics::Raised;
use crate::score_objects::Score;
use calipers::data::{Outcome, Value};
use calipers::plan::MetricSpec;
use calipers::run::{
    AttemptFault, AttemptScope, AttemptState, Model, ModelError, ModelFault, Request, Scorer, ScorerResult, Scorers,
    Solver, Solvers,
};
use calipers::task::ModelOutput;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A function in Python, and the loop that it runs on.
pub(crate) struct PythonCode {
    pub(crate) name: String,
    /// What it is, for messages: a scorer, a solver or a model.
    pub(crate) kind: &'static str,
    pub(crate) function: Arc<Py<PyAny>>,
    pub(crate) calls: Arc<Py<Calls>>,
    /// Where the first exception is kept, to be the cause of ours.
    pub(crate) raised: Raised,
}

/// A call under way. If it is dropped before its end, the code is cancelled.
struct OpenCall {
    number: u64,
    calls: Arc<Py<Calls>>,
    messages: UnboundedReceiver<LinkMessage>,
    is_over: bool,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if !self.is_over {
            let number = self.number;
            self.calls.get().push(move |py| tuple(py, ("cancel", number)));
        }
    }
}

/// A tuple for the loop.
fn tuple<'py, T: IntoPyObject<'py>>(py: Python<'py>, parts: T) -> Bound<'py, PyAny> {
    // Nothing but the lack of memory can be in the way.
    parts.into_bound_py_any(py).unwrap_or_else(|_| py.None().into_bound(py))
}

/// What becomes of a question of Python code.
type Reply = Result<LoopValue, CodeFault>;
/// Why Python code did not come to its end, and the state that the attempt ends with if a limit was reached.
type CodeFault = (AttemptFault, Option<Box<AttemptState>>);

/// What Python code is answered.
enum LoopValue {
    Output(ModelOutput),
    State(Box<AttemptState>),
    Score(Box<calipers::Score>),
}

impl LoopValue {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Output(output) => Ok(describe_output(py, output)?.into_any()),
            Self::State(state) => Ok(describe(py, state)?.into_any()),
            Self::Score(score) => Ok(Bound::new(py, Score::of(score))?.into_any()),
        }
    }
}

impl PythonCode {
    /// Begins a call with what `about` makes.
    fn begin(
        &self,
        about: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>> + Send + 'static,
    ) -> OpenCall {
        let (sender, messages) = unbounded_channel();
        let number = self.calls.get().number();
        let (kind, function) = (self.kind, self.function.clone());
        self.calls.get().push(move |py| {
            let made = about(py).and_then(|about| {
                let link = Bound::new(py, AttemptLink { sender: sender.clone() })?;
                Ok(tuple(py, ("run", number, kind, function.bind(py), about, link)))
            });
            made.unwrap_or_else(|error| {
                let _ = sender.send(LinkMessage::Raised(error));
                py.None().into_bound(py)
            })
        });
        OpenCall { number, calls: self.calls.clone(), messages, is_over: false }
    }

    /// The fault of an attempt whose Python code raised an exception.
    fn fault(&self, error: PyErr) -> AttemptFault {
        let what = format!("the {} `{}`", self.kind, self.name);
        Python::attach(|py| {
            let words = explain(py, &error);
            // What ends a process, such as `SystemExit`, ends an attempt here, and no more.
            if error.is_instance_of::<PyException>(py) {
                self.raised.keep(py, what.clone(), error);
            }
            AttemptFault::new(format!("{what} failed: {words}"))
        })
    }

    /// Calls the function with the state of an attempt, and answers its questions until it is done.
    async fn call(&self, state: &AttemptState, scope: &AttemptScope) -> Result<CodeAnswer, CodeFault> {
        let given = state.clone();
        let mut call = self.begin(move |py| Ok(describe(py, &given)?.into_any()));
        let mut open: FuturesUnordered<BoxFuture<'_, (Py<PyAny>, Reply)>> = FuturesUnordered::new();
        loop {
            tokio::select! {
                message = call.messages.recv() => match message {
                    Some(LinkMessage::Answer(answer)) => {
                        call.is_over = true;
                        return Ok(answer);
                    }
                    Some(LinkMessage::Raised(error)) => {
                        call.is_over = true;
                        return Err((self.fault(error), None));
                    }
                    Some(LinkMessage::Question(question, future)) => {
                        open.push(Box::pin(async move { (future, answer(question, state, scope).await) }));
                    }
                    None => {
                        call.is_over = true;
                        let why = format!("the {} `{}` ended without an answer", self.kind, self.name);
                        return Err((AttemptFault::new(why), None));
                    }
                },
                Some((future, reply)) = open.next(), if !open.is_empty() => match reply {
                    Ok(value) => self.calls.get().push(move |py| match value.to_python(py) {
                        Ok(value) => tuple(py, ("answer", future, value)),
                        Err(error) => tuple(py, ("raise", future, error.into_value(py))),
                    }),
                    // A limit ends the attempt, whatever the code would make of it.
                    Err((fault @ (AttemptFault::Limit(_) | AttemptFault::Budget(_)), last)) => return Err((fault, last)),
                    Err((fault, _)) => self.calls.get().push(move |py| {
                        tuple(py, ("raise", future, model_error(py, &fault.to_string()).into_value(py)))
                    }),
                },
            }
        }
    }
}

/// What an exception says, and where it was raised.
fn explain(py: Python<'_>, error: &PyErr) -> String {
    let mut words = error.to_string();
    let mut place = error.traceback(py).map(pyo3::Bound::into_any);
    // The innermost frame is where it happened.
    while let Some(next) = place.as_ref().and_then(|place| place.getattr("tb_next").ok()).filter(|next| !next.is_none())
    {
        place = Some(next);
    }
    let read = |place: &Bound<'_, PyAny>| -> PyResult<String> {
        let line: u32 = place.getattr("tb_lineno")?.extract()?;
        let file: String = place.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract()?;
        Ok(format!("{file}, line {line}"))
    };
    if let Some(place) = place.and_then(|place| read(&place).ok()) {
        words += &format!(" (in {place})");
    }
    words
}

fn model_error(py: Python<'_>, what: &str) -> PyErr {
    let made = py.import("calipers._errors").and_then(|errors| errors.getattr("ModelError")?.call1((what,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Answers a question of Python code.
async fn answer(question: LinkQuestion, state: &AttemptState, scope: &AttemptScope) -> Reply {
    let refuse = |why: String| (AttemptFault::new(why), None);
    let changed = |parts: StateParts| {
        let mut state = state.clone();
        parts.apply(&mut state).map(|()| state).map_err(refuse)
    };
    match question {
        LinkQuestion::Generate { messages, config, model } => {
            let messages = read_messages(messages, &state.messages).map_err(refuse)?;
            let output = match &model {
                None => scope.generate(&messages, &config).await,
                Some(model) => scope.generate_as(model, &messages, &config).await,
            };
            output
                .map(LoopValue::Output)
                .map_err(|fault| (fault, Some(Box::new(AttemptState { messages, ..state.clone() }))))
        }
        LinkQuestion::Solve { name, parameters, state } => {
            let mut state = changed(state)?;
            let solver = Solvers::builtin().make(&name, &parameters).map_err(|error| refuse(error.to_string()))?;
            match solver.solve(&mut state, scope).await {
                Ok(()) => Ok(LoopValue::State(Box::new(state))),
                Err(fault) => Err((fault, Some(Box::new(state)))),
            }
        }
        LinkQuestion::Score { name, parameters, state } => {
            let state = changed(state)?;
            let scorer = Scorers::builtin().make(&name, &parameters).map_err(|error| refuse(error.to_string()))?;
            let result = scorer.score(&state, scope).await.map_err(|fault| (fault, None))?;
            Ok(LoopValue::Score(Box::new(score_of(result.outcome))))
        }
    }
}

/// The score of an outcome; one that is missing says why.
pub(crate) fn score_of(outcome: Outcome) -> calipers::Score {
    match outcome {
        Outcome::Scored(score) => score,
        Outcome::Unscored { score: Some(score), .. } => *score,
        Outcome::Unscored { reason, score: None } => calipers::Score::new(Value::Missing).explanation(reason),
    }
}

/// A scorer in Python.
pub(crate) struct PythonScorer {
    pub(crate) code: PythonCode,
    pub(crate) metrics: Vec<MetricSpec>,
}

#[async_trait::async_trait]
impl Scorer for PythonScorer {
    fn name(&self) -> &str {
        &self.code.name
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        self.metrics.clone()
    }

    async fn score(&self, state: &AttemptState, scope: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        match self.code.call(state, scope).await {
            Ok(CodeAnswer::Score(score)) => Ok(Outcome::from(score).into()),
            Ok(_) => Err(AttemptFault::new(format!("the scorer `{}` gave no score", self.code.name))),
            Err((fault, _)) => Err(fault),
        }
    }
}

/// A solver in Python.
pub(crate) struct PythonSolver {
    pub(crate) code: PythonCode,
}

#[async_trait::async_trait]
impl Solver for PythonSolver {
    fn name(&self) -> &str {
        &self.code.name
    }

    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        match self.code.call(state, scope).await {
            Ok(CodeAnswer::State(parts)) => parts.apply(state).map_err(AttemptFault::new),
            Ok(_) => Err(AttemptFault::new(format!("the solver `{}` gave no state", self.code.name))),
            Err((fault, last)) => {
                // What was said before a limit was reached is scored.
                if let Some(last) = last {
                    *state = *last;
                }
                Err(fault)
            }
        }
    }
}

/// A model in Python.
pub(crate) struct PythonModel {
    pub(crate) code: PythonCode,
}

#[async_trait::async_trait]
impl Model for PythonModel {
    fn name(&self) -> &str {
        &self.code.name
    }

    async fn generate(&self, request: &Request) -> Result<ModelOutput, ModelError> {
        let messages = request.messages.clone();
        let mut call = self.code.begin(move |py| {
            let list = PyList::empty(py);
            for message in &messages {
                list.append((message.role.name(), &*message.content))?;
            }
            Ok(list.into_any())
        });
        let refuse = |why: String| ModelError::new(self.code.name.as_str(), ModelFault::Refused, why);
        let message = call.messages.recv().await;
        call.is_over = true;
        match message {
            Some(LinkMessage::Answer(CodeAnswer::Output(output))) => Ok(read_output(output, None)),
            Some(LinkMessage::Raised(error)) => Err(refuse(self.code.fault(error).to_string())),
            _ => Err(refuse("it gave no answer".to_owned())),
        }
    }

    fn is_free(&self) -> bool {
        true
    }
}
