//! Standard errors that a file records beside its figures.

use crate::RecordedFigure;

/// The name under which readers keep a standard error.
const ERROR: &str = "stderr";

/// Gives a figure the error that the file records for the same scorer. A scorer with several figures and one error does not
/// say whose error it is, so none of them gets it.
pub(super) fn attach_errors(figures: &mut [RecordedFigure]) {
    let errors: Vec<(String, Option<f64>)> = figures
        .iter()
        .filter(|figure| figure.metric == ERROR)
        .map(|error| (error.scorer.clone(), error.value))
        .collect();
    for (scorer, stderr) in errors {
        let mut own: Vec<&mut RecordedFigure> =
            figures.iter_mut().filter(|figure| figure.scorer == scorer && figure.metric != ERROR).collect();
        if let [figure] = &mut own[..] {
            figure.stderr = stderr;
        }
    }
}
