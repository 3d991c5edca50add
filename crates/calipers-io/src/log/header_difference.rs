//! What tells two headers apart, for a log that is resumed: its attempts and the new ones must belong to one run.

use super::LogHeader;
use crate::Source;
use calipers_core::{Value, printable};
use std::fmt::Debug;

/// A part of the header of a log that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderDifference {
    /// The part, such as `model`.
    pub part: &'static str,
    /// What the log has, where it is short enough to be shown.
    pub log: Option<String>,
    /// What there is now, where it is short enough to be shown.
    pub now: Option<String>,
}

/// Longer values are not shown.
const SHOWN_MAX: usize = 60;

impl LogHeader {
    /// The parts that decide answers and scores and are not as they were. Names, times, tags and how often attempts may fail
    /// do not matter.
    #[must_use]
    pub fn differences(&self, now: &Self) -> Vec<HeaderDifference> {
        // What a log cannot hold exactly must not count as a difference.
        let written = now.start();
        let read_back = Self::parse(&Source::bytes("header", Vec::new()), &written);
        let now = read_back.as_ref().unwrap_or(now);
        let of_ours = |header: &Self, key: &str| header.calipers.get(key).cloned();
        let mut found = Differences::default();
        found.text("task", &self.task, &now.task);
        found.values("version of the task", &self.task_version, &now.task_version);
        found.rest("parameters of the task", &self.task_args, &now.task_args);
        found.text("model", &self.model, &now.model);
        found.rest("models by role", &self.model_roles, &now.model_roles);
        found.rest("generation options", &self.config, &now.config);
        found.rest("samples", &self.dataset.sample_ids, &now.dataset.sample_ids);
        // Logs of version 0.1.0 do not have it.
        if let (Some(log), Some(now)) = (of_ours(self, SAMPLES), of_ours(now, SAMPLES)) {
            found.rest("content of the samples", &log, &now);
        }
        found.text("number of attempts per sample", &self.epochs.to_string(), &now.epochs.to_string());
        found.rest("reducers", &self.reducers, &now.reducers);
        found.rest("solvers", &self.plan, &now.plan);
        found.rest("scorers", &self.scorers, &now.scorers);
        found.rest("limits of an attempt", &self.limits, &now.limits);
        let seed = |header: &Self| of_ours(header, "seed").unwrap_or(Value::Missing);
        found.values("seed", &seed(self), &seed(now));
        found.0
    }
}

/// The key under which [`LogHeader::calipers`] keeps a fingerprint of the samples.
const SAMPLES: &str = "samples";

#[derive(Default)]
struct Differences(Vec<HeaderDifference>);

impl Differences {
    fn text(&mut self, part: &'static str, log: &str, now: &str) {
        if log != now {
            let short = |text: &str| Some(printable(text)).filter(|text| text.chars().count() <= SHOWN_MAX);
            self.0.push(HeaderDifference { part, log: short(log), now: short(now) });
        }
    }

    fn values(&mut self, part: &'static str, log: &Value, now: &Value) {
        self.text(part, &log.to_string(), &now.to_string());
    }

    fn rest<T: PartialEq + Debug>(&mut self, part: &'static str, log: &T, now: &T) {
        if log != now {
            self.0.push(HeaderDifference { part, log: None, now: None });
        }
    }
}
