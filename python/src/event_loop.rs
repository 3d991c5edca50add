//! Calls from the runner into Python.
//!
//! Coroutines run on one event loop, in a thread of its own. The threads of the runner put calls into a queue and wait for answers
//! without Python; the loop takes whatever has come in meanwhile. So a slow scorer holds up other Python code at most, and no model.

use crate::attempt_state::{MessageParts, OutputParts, StateParts, read_config};
use crate::score_objects::Score;
use crate::values::from_python;
use calipers::data::Value;
use calipers::task::GenerateConfig;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

/// Makes what the event loop has to do. It runs in the thread of the loop.
type LoopWork = Box<dyn for<'py> FnOnce(Python<'py>) -> Bound<'py, PyAny> + Send>;

/// The queue of an event loop.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct Calls {
    waiting: Mutex<VecDeque<LoopWork>>,
    is_woken: Arc<AtomicBool>,
    /// A function that makes the loop take what is here.
    wake: Arc<Py<PyAny>>,
    next: AtomicU64,
}

#[pymethods]
impl Calls {
    #[new]
    fn new(wake: Py<PyAny>) -> Self {
        Self { waiting: Mutex::default(), is_woken: Arc::default(), wake: Arc::new(wake), next: AtomicU64::new(0) }
    }

    /// What has come in since the last time.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.is_woken.store(false, Ordering::SeqCst);
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        PyList::new(py, waiting.into_iter().map(|work| work(py)).collect::<Vec<_>>())
    }
}

impl Calls {
    /// A number for a call that may have to be cancelled.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands work to the loop. Python is not waited for.
    pub(crate) fn push(&self, work: impl for<'py> FnOnce(Python<'py>) -> Bound<'py, PyAny> + Send + 'static) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(Box::new(work));
        if self.is_woken.swap(true, Ordering::SeqCst) {
            return;
        }
        let (wake, is_woken) = (self.wake.clone(), self.is_woken.clone());
        let wake = move || {
            // A loop that is closed takes nothing any more.
            if Python::attach(|py| wake.call0(py).map(drop)).is_err() {
                is_woken.store(false, Ordering::SeqCst);
            }
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(wake)),
            Err(_) => drop(std::thread::spawn(wake)),
        }
    }
}

/// What Python code gives back.
pub(crate) enum CodeAnswer {
    Score(calipers::Score),
    State(StateParts),
    Output(OutputParts),
}

/// What Python code says while it runs, or at its end.
pub(crate) enum LinkMessage {
    /// It is done.
    Answer(CodeAnswer),
    /// It raised an exception.
    Raised(PyErr),
    /// It asks for something and waits for the answer, which goes to a future of the loop.
    Question(LinkQuestion, Py<PyAny>),
}

/// What Python code may ask for.
pub(crate) enum LinkQuestion {
    /// An answer of a model: of the task's own, or of another by its name or role.
    Generate { messages: Vec<MessageParts>, config: GenerateConfig, model: Option<String> },
    /// A step of a solver of ours.
    Solve { name: String, parameters: Value, state: StateParts },
    /// The score that a scorer of ours gives.
    Score { name: String, parameters: Value, state: StateParts },
}

/// The way back from Python code to the attempt that called it.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct AttemptLink {
    pub(crate) sender: UnboundedSender<LinkMessage>,
}

impl AttemptLink {
    fn send(&self, message: LinkMessage) {
        // An attempt that has ended meanwhile needs no answer.
        let _ = self.sender.send(message);
    }
}

#[pymethods]
impl AttemptLink {
    /// Gives a score: an object, or its value.
    fn give_score(&self, py: Python<'_>, score: &Bound<'_, PyAny>) -> PyResult<()> {
        let score = match score.cast::<Score>() {
            Ok(score) => score.borrow().to_score(py)?,
            Err(_) => calipers::Score::new(from_python(score)?),
        };
        self.send(LinkMessage::Answer(CodeAnswer::Score(score)));
        Ok(())
    }

    /// Gives the state after a solver.
    fn give_state(&self, state: StateParts) {
        self.send(LinkMessage::Answer(CodeAnswer::State(state)));
    }

    /// Gives the answer of a model.
    fn give_output(&self, output: OutputParts) {
        self.send(LinkMessage::Answer(CodeAnswer::Output(output)));
    }

    /// Says that an exception was raised.
    fn fail(&self, error: &Bound<'_, PyAny>) {
        self.send(LinkMessage::Raised(PyErr::from_value(error.clone())));
    }

    /// Asks a model. The answer goes to the future.
    fn generate(
        &self,
        messages: Vec<MessageParts>,
        config: &Bound<'_, PyAny>,
        model: Option<String>,
        future: Py<PyAny>,
    ) -> PyResult<()> {
        let config = read_config(config)?;
        self.send(LinkMessage::Question(LinkQuestion::Generate { messages, config, model }, future));
        Ok(())
    }

    /// Has a solver of the library take a step.
    fn solve(&self, name: String, parameters: &Bound<'_, PyAny>, state: StateParts, future: Py<PyAny>) -> PyResult<()> {
        let parameters = from_python(parameters)?;
        self.send(LinkMessage::Question(LinkQuestion::Solve { name, parameters, state }, future));
        Ok(())
    }

    /// Has a scorer of the library score.
    fn score(&self, name: String, parameters: &Bound<'_, PyAny>, state: StateParts, future: Py<PyAny>) -> PyResult<()> {
        let parameters = from_python(parameters)?;
        self.send(LinkMessage::Question(LinkQuestion::Score { name, parameters, state }, future));
        Ok(())
    }
}
