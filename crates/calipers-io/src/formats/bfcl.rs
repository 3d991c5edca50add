//! Berkeley Function-Calling Leaderboard: `BFCL_*_score.json`.
//!
//! The first line has the figures of a category, and the lines after it only the samples that failed. Which samples
//! succeeded is not in the file, so it has a recorded figure and no samples: read as records, every sample would have failed.

use super::Format;
use super::placed_value::{each_line, figure};
use crate::{ReadError, RecordedRun, Shape, Source};
use calipers_core::pluralize;

/// What `bfcl evaluate` writes for each model and category.
pub(crate) struct Bfcl;

impl Format for Bfcl {
    fn name(&self) -> &'static str {
        "bfcl"
    }

    fn about(&self) -> &'static str {
        "Berkeley Function-Calling Leaderboard: score files with recorded figures only"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        shape.is_lines() && shape.has_keys(&["accuracy", "correct_count", "total_count"])
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let mut run = RecordedRun::default();
        let mut counts: Option<(Option<f64>, Option<u32>, Option<u32>)> = None;
        let mut failures: u64 = 0;
        each_line(source, |line| {
            let line = line.map()?;
            if counts.is_none() {
                counts = Some((
                    line.get("accuracy").number()?,
                    line.get("correct_count").count()?,
                    line.get("total_count").count()?,
                ));
                return Ok(());
            }
            failures += 1;
            if run.model.is_none() {
                run.model = line.get("model_name").text()?.map(str::to_owned);
            }
            if run.task.is_none() {
                run.task = line.get("test_category").text()?.map(str::to_owned);
            }
            Ok(())
        })?;
        let (accuracy, correct, total) = counts.unwrap_or_default();
        let mut recorded = figure("valid", "accuracy", accuracy);
        recorded.n = total.map(u64::from);
        run.recorded.figures.push(recorded);
        run.notes.push(
            "the file records figures only: below the first line it lists what failed, and not what succeeded"
                .to_owned(),
        );
        if let (Some(correct), Some(total)) = (correct, total) {
            if total > 0 && accuracy.is_some_and(|said| (said - f64::from(correct) / f64::from(total)).abs() > 1e-4) {
                run.notes.push(format!("the accuracy of the first line is not its {correct} of {total}"));
            }
            let announced = u64::from(total.saturating_sub(correct));
            if failures != announced {
                let listed = pluralize(failures, "failure");
                run.notes.push(format!("{listed} listed, and {announced} counted: the file may be cut off"));
            }
        }
        Ok(vec![run])
    }
}
