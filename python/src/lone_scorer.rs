//! Scorers of the library outside a run, where there is no model to ask.

use crate::attempt_state::StateParts;
use crate::calls::compute_here;
use crate::failure::Failure;
use crate::python_code::score_of;
use crate::score_objects::Score;
use crate::values::from_python;
use calipers::data::SampleId;
use calipers::run::{
    AttemptFault, AttemptScope, AttemptState, Choice, Model, ModelError, ModelFault, Request, Scorer, Scorers,
};
use calipers::task::{ModelOutput, Target, TaskSample};
use pyo3::prelude::*;
use std::sync::Arc;

/// A scorer of the library, by its name and parameters.
#[pyclass(frozen, name = "Scorer", module = "calipers._core")]
pub(crate) struct LoneScorer {
    scorer: Arc<dyn Scorer>,
}

#[pymethods]
impl LoneScorer {
    #[new]
    fn new(py: Python<'_>, name: &str, parameters: &Bound<'_, PyAny>) -> PyResult<Self> {
        let parameters = from_python(parameters)?;
        compute_here(py, || Ok(Self { scorer: Scorers::builtin().make(name, &parameters).map_err(Failure::from)? }))
    }

    /// The score of a state.
    fn score(&self, py: Python<'_>, state: StateParts, input: &str) -> PyResult<Score> {
        let sample = TaskSample::new(input);
        self.judge(py, move || {
            let mut given = AttemptState::new(Arc::new(sample), SampleId::Int(1), 1);
            state.apply(&mut given).map_err(|why| Failure::usage(why, "use the messages of `calipers.model`"))?;
            Ok(given)
        })
    }

    /// The score of an answer, by its targets and the choices that it could have made: text, whether it was chosen, and where it
    /// stood before choices were shuffled.
    fn grade(
        &self,
        py: Python<'_>,
        completion: &str,
        targets: Vec<String>,
        choices: Vec<(String, Option<bool>, usize)>,
    ) -> PyResult<Score> {
        self.judge(py, || {
            let mut given = AttemptState::new(Arc::new(TaskSample::new("")), SampleId::Int(1), 1);
            given.output = Some(ModelOutput::new(NO_MODEL, completion));
            given.target = Target(targets.into_iter().map(Into::into).collect());
            let choice = |(text, correct, original): (String, _, _)| Choice { text: text.into(), correct, original };
            given.choices = choices.into_iter().map(choice).collect();
            Ok(given)
        })
    }
}

impl LoneScorer {
    fn judge(&self, py: Python<'_>, state: impl FnOnce() -> Result<AttemptState, Failure> + Send) -> PyResult<Score> {
        let score = compute_here(py, || {
            let state = state()?;
            let scope = AttemptScope::alone(Arc::new(NoModel));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let runtime = runtime.map_err(|error| Failure::bug(&error.to_string()))?;
            let result = runtime.block_on(self.scorer.score(&state, &scope));
            let refuse = |fault: AttemptFault| {
                Failure::usage(fault.to_string(), "run it as part of a task, with `calipers.eval`")
            };
            Ok(score_of(result.map_err(refuse)?.outcome))
        })?;
        Ok(Score::of(&score))
    }
}

const NO_MODEL: &str = "none/none";

/// Where there is no run, there is no model.
struct NoModel;

#[async_trait::async_trait]
impl Model for NoModel {
    fn name(&self) -> &str {
        NO_MODEL
    }

    async fn generate(&self, _: &Request) -> Result<ModelOutput, ModelError> {
        Err(ModelError::new(NO_MODEL, ModelFault::Refused, "models are asked while a task runs"))
    }
}
