//! SWE-bench: the report of the harness over a whole run, in its newer and older shape, or the report of single instances.
//!
//! A report lists instances by outcome. The harness divides the resolved ones by all instances, so one without a patch, or
//! one whose tests could not run, is not resolved here either. Instances that are only counted have no name and stay
//! missing; a note counts them.

use super::Format;
use super::placed_value::{PlacedValue, document};
use crate::{FilePlace, ReadError, RecordedRun, Shape, Source};
use calipers_core::{Value, pluralize};
use std::collections::HashMap;

/// Reports of the SWE-bench harness.
pub(crate) struct SweBench;

/// Lists of instances by outcome, the first that names an instance decides; then lists that only say that it is there.
const OUTCOMES: [(&str, &str); 18] = [
    ("resolved_ids", RESOLVED),
    ("resolved", RESOLVED),
    ("empty_patch_ids", "empty_patch"),
    ("no_generation", "empty_patch"),
    ("error_ids", "error"),
    ("no_apply", "patch_not_applied"),
    ("install_fail", "install_failed"),
    ("reset_failed", "reset_failed"),
    ("test_errored", "tests_errored"),
    ("test_timeout", "tests_timed_out"),
    ("no_logs", "no_logs"),
    ("unresolved_ids", UNRESOLVED),
    ("incomplete_ids", NO_PREDICTION),
    ("completed_ids", UNRESOLVED),
    ("applied", UNRESOLVED),
    ("with_logs", UNRESOLVED),
    ("generated", UNRESOLVED),
    ("submitted_ids", "not_evaluated"),
];

const RESOLVED: &str = "resolved";
const UNRESOLVED: &str = "unresolved";
const NO_PREDICTION: &str = "no_prediction";

/// Lists that name instances which were tried, resolved or not. Without one of these nothing says how many there were.
const TRIED: [&str; 6] = ["unresolved_ids", "submitted_ids", "completed_ids", "generated", "with_logs", "applied"];

/// Lists about the machine, not about instances.
const CONTAINERS: [&str; 2] = ["unstopped_containers", "unremoved_images"];

/// The ids of all instances, one per line, that some agents keep beside the report.
const TASKS: &str = "tasks.txt";

/// A list of instances longer than this is no list of instances.
const TASKS_BYTES_MAX: u64 = 16 << 20;

impl Format for SweBench {
    fn name(&self) -> &'static str {
        "swe-bench"
    }

    fn about(&self) -> &'static str {
        "SWE-bench: reports of the harness, of a run or of single instances"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let pairs: [[&str; 2]; 5] = [
            ["total_instances", "submitted_instances"],
            ["resolved_ids", "unresolved_ids"],
            ["submitted_ids", "completed_ids"],
            ["no_generation", "generated"],
            ["no_generation", "resolved"],
        ];
        pairs.iter().any(|pair| shape.has_keys(pair)) || is_instances(shape)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let content = document(source)?;
        let root = PlacedValue::root(source, &content).map()?;
        let shape = Shape::new(source.head()?, source.file_name());
        let run = if is_instances(&shape) { read_instances(root)? } else { read_report(source, root)? };
        Ok(vec![run])
    }
}

/// `report.json` in the log folder of an instance: the instance, and below it what happened to its patch.
fn is_instances(shape: &Shape) -> bool {
    let inner = |key: &str| shape.json.as_ref().is_some_and(|json| json.inner.iter().any(|(_, found)| found == key));
    inner("resolved") && (inner("patch_successfully_applied") || inner("patch_exists"))
}

fn read_instances(root: PlacedValue<'_>) -> Result<RecordedRun, ReadError> {
    let mut run = RecordedRun::default();
    for (id, instance) in root.entries()? {
        let instance = instance.map()?;
        let resolved = instance.get("resolved");
        let is_resolved = resolved.flag()?.ok_or_else(|| resolved.wrong("true or false"))?;
        let outcome = match (is_resolved, instance.get("patch_exists").flag()?) {
            (true, _) => RESOLVED,
            (false, Some(false)) => "empty_patch",
            (false, _) if instance.get("patch_successfully_applied").flag()? == Some(false) => "patch_not_applied",
            (false, _) => UNRESOLVED,
        };
        push(&mut run, id, outcome);
    }
    Ok(run)
}

fn read_report(source: &Source, root: PlacedValue<'_>) -> Result<RecordedRun, ReadError> {
    let mut instances = Instances::default();
    for (key, outcome) in OUTCOMES {
        let list = root.get(key);
        for id in list.items()? {
            instances.add(id.name()?, outcome);
        }
    }
    let mut run = RecordedRun::default();
    let total = root.get("total_instances").count()?;
    if !add_tasks_beside(source, &mut instances, &mut run.notes)?
        && total.is_none()
        && TRIED.iter().all(|key| root.get(key).is_null())
    {
        let what = "the report names the resolved instances, and not how many were tried";
        let hint = format!("write the ids of all instances, one per line, to `{TASKS}` beside the report");
        return Err(source.error(what).at(FilePlace::Path(".".to_owned())).hint(hint));
    }
    for (key, list) in root.entries()? {
        let is_known = OUTCOMES.iter().any(|(known, _)| *known == &**key) || CONTAINERS.contains(&&**key);
        if !is_known && matches!(list.value, Value::List(_)) {
            run.notes.push(format!("the list `{key}` is not known here and was not read"));
        }
    }
    for (id, outcome) in &instances.order {
        push(&mut run, id, outcome);
    }
    instances.note(&mut run.notes);
    check_counts(root, &instances, total, &mut run.notes)?;
    Ok(run)
}

fn push(run: &mut RecordedRun, id: &str, outcome: &'static str) {
    let is_resolved = outcome == RESOLVED;
    let mut attempt = run.samples.push(id).metadata("outcome", outcome);
    // `django__django-11099` is issue 11099 of django/django; issues of one repository rise and fall together.
    if let Some((repository, _)) = id.rsplit_once('-') {
        attempt = attempt.metadata("repository", repository.replacen("__", "/", 1));
    }
    attempt.score("resolved", f64::from(u8::from(is_resolved))).field("passed", is_resolved);
}

/// The instances of a report with their outcomes, in the order in which they are first named.
#[derive(Default)]
struct Instances {
    order: Vec<(String, &'static str)>,
    places: HashMap<String, usize>,
    contradictions: usize,
}

impl Instances {
    fn add(&mut self, id: &str, outcome: &'static str) {
        let Some(&place) = self.places.get(id) else {
            self.places.insert(id.to_owned(), self.order.len());
            self.order.push((id.to_owned(), outcome));
            return;
        };
        // Resolved means that tests ran on a patch.
        let is_resolved = self.order[place].1 == RESOLVED;
        self.contradictions += usize::from(is_resolved && matches!(outcome, "empty_patch" | "error" | NO_PREDICTION));
    }

    fn count(&self, outcome: &str) -> usize {
        self.order.iter().filter(|(_, found)| *found == outcome).count()
    }

    fn note(&self, notes: &mut Vec<String>) {
        let mut counted = Vec::new();
        for (_, outcome) in OUTCOMES {
            let instances = self.count(outcome);
            let is_new = !counted.iter().any(|(known, _)| *known == outcome);
            if instances > 0 && is_new && !matches!(outcome, RESOLVED | UNRESOLVED) {
                counted.push((outcome, instances));
            }
        }
        if !counted.is_empty() {
            let parts: Vec<String> = counted.iter().map(|(outcome, count)| format!("{outcome} {count}")).collect();
            notes.push(format!("counted as not resolved, as the harness does: {}", parts.join(", ")));
        }
        if self.contradictions > 0 {
            let instances = pluralize(self.contradictions, "instance");
            notes.push(format!("{instances} listed as resolved and as without a tested patch: counted as resolved"));
        }
    }
}

/// Adds the instances that only the list beside the report names. False if there is no list that fits.
fn add_tasks_beside(source: &Source, instances: &mut Instances, notes: &mut Vec<String>) -> Result<bool, ReadError> {
    let Some(tasks) = source.beside(TASKS) else { return Ok(false) };
    if tasks.stored_len()? > TASKS_BYTES_MAX {
        notes.push(format!("`{TASKS}` beside the report is too long for a list of instances and was not read"));
        return Ok(false);
    }
    let text = String::from_utf8_lossy(&tasks.read_all()?).into_owned();
    let ids: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let listed: std::collections::HashSet<&str> = ids.iter().copied().collect();
    let strangers = instances.order.iter().filter(|(id, _)| !listed.contains(&**id)).count();
    if strangers > 0 {
        let instances = pluralize(strangers, "instance");
        notes.push(format!("`{TASKS}` beside the report lacks {instances} of the report and was not read"));
        return Ok(false);
    }
    for id in ids {
        if !instances.places.contains_key(id) {
            instances.add(id, NO_PREDICTION);
        }
    }
    Ok(true)
}

/// Compares the counts of the report with its lists, and states what is missing.
fn check_counts(
    root: PlacedValue<'_>,
    instances: &Instances,
    total: Option<u32>,
    notes: &mut Vec<String>,
) -> Result<(), ReadError> {
    let named = instances.order.len();
    let resolved = instances.count(RESOLVED);
    if let Some(total) = total.map(|total| total as usize)
        && total != named
    {
        let all = pluralize(total, "instance");
        notes.push(if total > named {
            let missing = total - named;
            format!(
                "the report counts {all} and names {named}: {missing} missing here; resolved are {resolved} of {total}"
            )
        } else {
            format!("the report counts {all} and names {named}; all that are named are read")
        });
    }
    if let Some(counted) = root.get("resolved_instances").count()?
        && counted as usize != resolved
    {
        let counted = pluralize(counted, "resolved instance");
        notes.push(format!("the report counts {counted} and names {resolved}; the names are read"));
    }
    Ok(())
}
