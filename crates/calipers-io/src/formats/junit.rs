//! JUnit: a test case is a sample, and its runs are the attempts.
//!
//! Surefire and nextest keep the runs of a test that was tried again: `flakyFailure` and `flakyError` are runs before
//! one that passed, `rerunFailure` and `rerunError` runs after the first failure. A property named
//! `evals.scores.NAME` or `scores.NAME` is a score.

use super::Format;
use super::native::ColumnRole;
use crate::source::is_junit;
use crate::{ReadError, RecordedRun, Remedy, Shape, Source};
use calipers_core::{Outcome, Score, Value};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Results as JUnit.
pub(crate) struct Junit;

/// The scorer used when a file has no scores.
const SCORER: &str = "test";
/// As much of a failure's text as is kept.
const TEXT_MAX: usize = 2000;

impl Format for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn about(&self) -> &'static str {
        "JUnit XML, with reruns and with scores in properties"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let head = shape.head.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(&shape.head);
        let is_xml = head.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'<');
        is_xml && is_junit(head)
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let bytes = source.read_all()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut notes = Vec::new();
        if matches!(text, std::borrow::Cow::Owned(_)) {
            notes.push("some text is not UTF-8 and is shown as �".to_owned());
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut document = TestSuites::default();
        document.read(text).map_err(|(at, what)| {
            let line = 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at.min(text.len())]).count();
            let hint = "the file may be cut off, or a character in it may not be escaped";
            source.error(format!("not valid JUnit: {what}")).at_line(line as u64).hint(hint)
        })?;
        if !document.has_suite {
            return Err(source
                .error("the XML has no test suites")
                .hint("choose another format")
                .with_remedy(Remedy::NameFormat));
        }
        let mut run = RecordedRun { notes, task: document.name.clone(), ..RecordedRun::default() };
        document.push(&mut run);
        Ok(vec![run])
    }
}

/// How a run of a test ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
enum TestStatus {
    // In the order of their weight.
    #[default]
    Passed,
    Skipped,
    Failed,
    Errored,
}

/// One run of a test.
#[derive(Clone, Debug, Default)]
struct TestRun {
    status: TestStatus,
    message: String,
    seconds: Option<f64>,
}

#[derive(Debug, Default)]
struct TestCase {
    id: String,
    facts: Vec<(&'static str, String)>,
    /// The run that the test case itself stands for.
    main: TestRun,
    before: Vec<TestRun>,
    after: Vec<TestRun>,
    properties: Vec<(String, String)>,
}

impl TestCase {
    /// A scenario that a policy passes without is written as skipped, and a property has what it came to.
    fn with_tolerated_outcome(mut self) -> Self {
        if self.main.status == TestStatus::Skipped {
            let outcome = self.properties.iter().find(|(name, _)| name == "calipers.outcome");
            self.main.status = match outcome.map(|(_, outcome)| outcome.as_str()) {
                Some("failed") => TestStatus::Failed,
                Some("errored") => TestStatus::Errored,
                _ => TestStatus::Skipped,
            };
        }
        self
    }
}

#[derive(Default)]
struct TestSuites {
    has_suite: bool,
    name: Option<String>,
    suites: Vec<String>,
    cases: Vec<TestCase>,
    /// The case that is open, and what is open within it.
    case: Option<TestCase>,
    inner: Option<CaseElement>,
    /// How many elements are open within the inner one.
    depth: usize,
}

/// An element within a case whose text counts.
enum CaseElement {
    Result(ElementKind, TestRun, String),
    Property(String, String),
}

#[derive(Clone, Copy, PartialEq)]
enum ElementKind {
    Main,
    Before,
    After,
}

/// Where in the text, and what is wrong.
type XmlFault = (usize, String);

impl TestSuites {
    fn read(&mut self, text: &str) -> Result<(), XmlFault> {
        let mut reader = Reader::from_str(text);
        let mut open = 0usize;
        loop {
            let event = reader.read_event();
            let at = usize::try_from(reader.error_position().max(reader.buffer_position())).unwrap_or(0);
            match event.map_err(|error| (at, error.to_string()))? {
                Event::Start(tag) => {
                    open += 1;
                    self.start(&tag).map_err(|what| (at, what))?;
                }
                Event::Empty(tag) => {
                    self.start(&tag).map_err(|what| (at, what))?;
                    self.end(tag.name().as_ref());
                }
                Event::End(tag) => {
                    open = open.saturating_sub(1);
                    self.end(tag.name().as_ref());
                }
                Event::Text(text) => self.text(&text),
                Event::CData(text) => self.text(&text),
                Event::GeneralRef(name) => self.text(&entity(&name)),
                Event::Eof if open > 0 => return Err((text.len(), format!("{open} elements are not closed"))),
                Event::Eof => return Ok(()),
                _ => {}
            }
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        if self.inner.is_some() {
            self.depth += 1;
            return Ok(());
        }
        let name = tag.name();
        let name = name.as_ref();
        match (name, &mut self.case) {
            ("testsuites" | "testsuite", None) => {
                self.has_suite = true;
                let suite = attribute(tag, "name")?;
                if self.name.is_none() {
                    self.name = suite.clone().filter(|name| !name.is_empty());
                }
                if name == "testsuite" {
                    self.suites.push(suite.unwrap_or_default());
                }
            }
            ("testcase", None) => {
                self.has_suite = true;
                self.case = Some(self.begin(tag)?);
            }
            ("testcase", Some(_)) => return Err("a test case is inside another test case".into()),
            ("property", Some(_)) => {
                let key = attribute(tag, "name")?.unwrap_or_default();
                self.inner = Some(CaseElement::Property(key, attribute(tag, "value")?.unwrap_or_default()));
                self.depth = 0;
            }
            (name, Some(_)) => {
                let (kind, status) = match name {
                    "failure" => (ElementKind::Main, TestStatus::Failed),
                    "error" => (ElementKind::Main, TestStatus::Errored),
                    "skipped" => (ElementKind::Main, TestStatus::Skipped),
                    "flakyFailure" => (ElementKind::Before, TestStatus::Failed),
                    "flakyError" => (ElementKind::Before, TestStatus::Errored),
                    "rerunFailure" => (ElementKind::After, TestStatus::Failed),
                    "rerunError" => (ElementKind::After, TestStatus::Errored),
                    _ => return Ok(()),
                };
                let message = attribute(tag, "message")?.or(attribute(tag, "type")?).unwrap_or_default();
                let seconds = attribute(tag, "time")?.as_deref().and_then(seconds);
                self.inner = Some(CaseElement::Result(kind, TestRun { status, message, seconds }, String::new()));
                self.depth = 0;
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&self, tag: &BytesStart<'_>) -> Result<TestCase, String> {
        let name = attribute(tag, "name")?.filter(|name| !name.is_empty()).ok_or("a test case has no `name`")?;
        let class = attribute(tag, "classname")?.filter(|class| !class.is_empty());
        let suite = self.suites.last().filter(|suite| !suite.is_empty());
        let place = class.as_ref().or(suite);
        let id = place.map_or_else(|| name.clone(), |place| format!("{place}/{name}"));
        let mut facts = vec![("name", name)];
        facts.extend(suite.map(|suite| ("suite", suite.clone())));
        facts.extend(class.map(|class| ("classname", class)));
        facts.extend(attribute(tag, "file")?.map(|file| ("file", file)));
        let seconds = attribute(tag, "time")?.as_deref().and_then(seconds);
        Ok(TestCase { id, facts, main: TestRun { seconds, ..TestRun::default() }, ..TestCase::default() })
    }

    fn end(&mut self, name: &str) {
        if self.inner.is_some() {
            if self.depth > 0 {
                self.depth -= 1;
                return;
            }
            self.close_inner();
            return;
        }
        match name {
            "testsuite" if self.case.is_none() => {
                self.suites.pop();
            }
            "testcase" => self.cases.extend(self.case.take().map(TestCase::with_tolerated_outcome)),
            _ => {}
        }
    }

    fn close_inner(&mut self) {
        let (Some(inner), Some(case)) = (self.inner.take(), &mut self.case) else { return };
        match inner {
            CaseElement::Property(name, value) if !name.is_empty() => {
                case.properties.push((name, value.trim().to_owned()));
            }
            CaseElement::Property(..) => {}
            CaseElement::Result(kind, mut attempted, body) => {
                // The text usually repeats the message, so it is not kept twice.
                let body: String = body.trim().chars().take(TEXT_MAX).collect();
                if attempted.message.is_empty() || body.starts_with(&attempted.message) {
                    attempted.message = body;
                } else if !body.is_empty() {
                    attempted.message = format!("{}\n{body}", attempted.message);
                }
                match kind {
                    ElementKind::Before => case.before.push(attempted),
                    ElementKind::After => case.after.push(attempted),
                    // An error weighs more than a failure, a failure more than a skip.
                    ElementKind::Main if attempted.status > case.main.status => {
                        attempted.seconds = attempted.seconds.or(case.main.seconds);
                        case.main = attempted;
                    }
                    ElementKind::Main => {}
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.depth > 0 {
            return;
        }
        match &mut self.inner {
            Some(CaseElement::Property(_, value)) if value.len() < TEXT_MAX => value.push_str(text),
            Some(CaseElement::Result(.., body)) if body.len() < TEXT_MAX => body.extend(text.chars().take(TEXT_MAX)),
            _ => {}
        }
    }

    /// Adds the cases to the run. The scorers are known only once all cases are.
    fn push(self, run: &mut RecordedRun) {
        let scorers: BTreeSet<Arc<str>> =
            self.cases.iter().flat_map(|case| case.properties.iter().filter_map(|(name, _)| scorer(name))).collect();
        let mut skipped = 0;
        for case in self.cases {
            let last = case.before.len() + case.after.len();
            let properties = case.properties;
            let runs = case.before.into_iter().chain([case.main]).chain(case.after);
            // The properties describe the last run.
            for (index, attempted) in runs.enumerate() {
                skipped += usize::from(attempted.status == TestStatus::Skipped);
                let mut attempt = run.samples.push(case.id.as_str());
                for (key, value) in &case.facts {
                    attempt = attempt.metadata(*key, value.as_str());
                }
                if let Some(seconds) = attempted.seconds {
                    attempt = attempt.field("latency_ms", seconds * 1000.0);
                }
                let mut scored = BTreeSet::new();
                for (name, value) in properties.iter().filter(|_| index == last) {
                    if let Some(scorer) = scorer(name) {
                        if scored.insert(scorer.clone()) && attempted.status != TestStatus::Errored {
                            attempt = attempt.score(scorer, plain(value));
                        }
                        continue;
                    }
                    attempt = match ColumnRole::of(name) {
                        ColumnRole::Number(field) => match plain(value) {
                            number @ (Value::Int(_) | Value::Float(_)) => attempt.field(field, number),
                            other => attempt.metadata(field, other),
                        },
                        _ => attempt.metadata(name.as_str(), plain(value)),
                    };
                }
                let reason: Arc<str> = match (&attempted.status, attempted.message.as_str()) {
                    (TestStatus::Skipped, "") => "skipped".into(),
                    (TestStatus::Skipped, message) => format!("skipped: {message}").into(),
                    (_, message) => message.into(),
                };
                if attempted.status == TestStatus::Errored {
                    attempt.error(if reason.is_empty() { "error".into() } else { reason });
                    continue;
                }
                let is_passed = attempted.status == TestStatus::Passed;
                if attempted.status != TestStatus::Skipped {
                    attempt = attempt.field("passed", is_passed);
                }
                let is_unscored = |scorer: &&Arc<str>| !scored.contains(*scorer);
                for scorer in scorers.iter().filter(is_unscored) {
                    let why = if reason.is_empty() { "no score in its properties".into() } else { reason.clone() };
                    attempt = attempt.score(scorer.clone(), Outcome::Unscored { reason: why, score: None });
                }
                if scorers.is_empty() {
                    let score = Score::new(is_passed);
                    let outcome = match attempted.status {
                        TestStatus::Skipped => Outcome::Unscored { reason, score: None },
                        _ if reason.is_empty() => score.into(),
                        _ => score.explanation(reason).into(),
                    };
                    attempt.score(SCORER, outcome);
                }
            }
        }
        if skipped > 0 {
            run.notes.push(format!("{skipped} skipped tests are unscored"));
        }
    }
}

/// The scorer that a property names.
fn scorer(property: &str) -> Option<Arc<str>> {
    let name = property.strip_prefix("evals.").unwrap_or(property);
    let name = name.strip_prefix("scores.").or_else(|| name.strip_prefix("score."))?;
    (!name.is_empty()).then(|| name.into())
}

/// The value of a property.
fn plain(text: &str) -> Value {
    match text {
        "" => Value::Missing,
        "true" => true.into(),
        "false" => false.into(),
        _ => match text.parse::<i64>() {
            Ok(i) => i.into(),
            Err(_) => text.parse::<f64>().map_or_else(|_| text.into(), Value::from),
        },
    }
}

/// Seconds, as `0.25` or `1,234.5`.
fn seconds(text: &str) -> Option<f64> {
    text.trim().replace(',', "").parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        if attribute.key.as_ref() == name {
            let raw = attribute.value.into_owned();
            // Unknown entities stay as written.
            return Ok(Some(quick_xml::escape::unescape(&raw).map_or(raw.clone(), std::borrow::Cow::into_owned)));
        }
    }
    Ok(None)
}

/// The text of `&name;`. Entities that the document defines are not expanded.
fn entity(name: &str) -> String {
    let raw = format!("&{name};");
    quick_xml::escape::unescape(&raw).map_or(raw.clone(), std::borrow::Cow::into_owned)
}
