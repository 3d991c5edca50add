//! Labelling: one answer at a time, without what the judge said; and how far the judge can be trusted by the labels.

use super::sample::{conversation_part, list_texts};
use super::{AttemptView, Delivery, Section, address, layout, run_address, said_in_lines, short_name};
use crate::history::HistoryRun;
use crate::judge::judge_text;
use crate::numbers::count;
use crate::page::{encode, name};
use crate::screen::Screen;
use calipers_compare::labelled::JudgeReport;
use calipers_core::pluralize;
use maud::{Markup, html};

/// In which order answers are labelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelQueue {
    /// A random order that is the same for everybody.
    #[default]
    Random,
    /// Those about which people differ first, then those where a person and the judge do, then samples whose attempts differ.
    Disagreements,
    /// Those whose score is nearest to the one that is enough.
    Threshold,
}

impl LabelQueue {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Random, Self::Disagreements, Self::Threshold];

    /// Its name in addresses and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Disagreements => "disagreements",
            Self::Threshold => "threshold",
        }
    }

    /// The queue of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|queue| queue.name() == name)
    }

    fn words(self) -> &'static str {
        match self {
            Self::Random => "At random",
            Self::Disagreements => "Disagreements",
            Self::Threshold => "Near the threshold",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Random => {
                "The order is random and the same for everybody, so that labels of any number of answers may correct the judge."
            }
            Self::Disagreements => {
                "Answers about which people differ come first, then those where a person and the judge do, then samples whose attempts \
                 differ. These labels settle cases; they do not say how often the judge is right."
            }
            Self::Threshold => {
                "Answers whose score is nearest to what is enough come first. These labels show where the line should be; they do not say \
                 how often the judge is right."
            }
        }
    }
}

/// What the page of labels shows.
#[derive(Clone, Debug, Default)]
pub struct LabelView {
    /// The run.
    pub run: HistoryRun,
    /// Who labels; none until it is said.
    pub rater: Option<String>,
    /// The order.
    pub queue: LabelQueue,
    /// The sample that is labelled next, and its attempt; none when all are.
    pub next: Option<(String, u32)>,
    /// The answer that this person labelled last.
    pub last: Option<(String, u32)>,
    /// What was asked.
    pub input: Option<String>,
    /// What should be answered.
    pub target: Option<String>,
    /// The answer, without scores.
    pub attempt: Option<AttemptView>,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// How many answers of the queue this person has labelled, and how many there are.
    pub done: (u64, u64),
}

/// The page of labels.
#[must_use]
pub fn label_html(view: &LabelView, delivery: Delivery<'_>) -> String {
    let run = &view.run;
    let main = html! {
        (crumbs(run, "label"))
        section.hero.slim {
            h1 { "Label" }
            p.about {
                "Say whether an answer is right, without knowing what the judge said. " (view.queue.about()) " "
                a href=(format!("{}/judge", run_address(&run.key))) { "How far the judge can be trusted" }
            }
            nav.attempts aria-label="Order" {
                @for queue in LabelQueue::ALL {
                    a.button href=(queue_address(view, queue, None)) aria-current=[(queue == view.queue).then_some("page")] { (queue.words()) }
                }
            }
        }
        @match (&view.rater, &view.next) {
            (None, _) => (ask_name(view)),
            (Some(_), None) if view.done.1 == 0 => div.empty { p { "There is nothing in this queue." } },
            (Some(_), None) => div.empty { p { "You have labelled all " (pluralize(view.done.1, "answer")) " of this queue." } },
            (Some(rater), Some((id, epoch))) => (question(view, rater, id, *epoch)),
        }
    };
    layout(&format!("Label · {}", short_name(run)), Section::Runs, delivery, &main)
}

/// The address of a queue, or of one answer in it.
fn queue_address(view: &LabelView, queue: LabelQueue, answer: Option<&(String, u32)>) -> String {
    let path = format!("{}/label", run_address(&view.run.key));
    let epoch = answer.map(|(_, epoch)| epoch.to_string()).unwrap_or_default();
    let pairs = [
        ("rater", view.rater.as_deref().unwrap_or_default()),
        ("queue", if queue == LabelQueue::Random { "" } else { queue.name() }),
        ("id", answer.map_or("", |(id, _)| id)),
        ("attempt", &epoch),
    ];
    address(&path, pairs)
}

fn crumbs(run: &HistoryRun, here: &str) -> Markup {
    html! {
        nav.crumbs aria-label="Place" {
            a href="/" { "Runs" } " / " a href=(address("/", [("suite", run.suite.as_str())])) { (name(&run.suite)) } " / "
            a href=(run_address(&run.key)) { (short_name(run)) } " / " span { (here) }
        }
    }
}

fn ask_name(view: &LabelView) -> Markup {
    html! {
        form.filters method="get" action=(format!("{}/label", run_address(&view.run.key))) {
            @if view.queue != LabelQueue::Random { input type="hidden" name="queue" value=(view.queue.name()); }
            label.wide { span { "Your name, as it stands beside your labels" } input name="rater" required maxlength="100" autocomplete="name"; }
            button type="submit" { "Begin" }
        }
    }
}

fn question(view: &LabelView, rater: &str, id: &str, epoch: u32) -> Markup {
    html! {
        p.about { (count(view.done.0)) " of " (count(view.done.1)) " labelled by " (name(rater)) }
        h2 { (name(id)) @if epoch > 1 { " · attempt " (epoch) } }
        @if let Some(problem) = &view.problem { p.problem { (said_in_lines(problem)) } }
        (list_texts(&[("Asked", view.input.as_deref()), ("Expected", view.target.as_deref())]))
        @if let Some(attempt) = &view.attempt {
            (list_texts(&[("Error", attempt.error.as_deref())]))
            (conversation_part(attempt, &html! {}))
            (list_texts(&[("Answered", attempt.output.as_deref())]))
        }
        form #label data-address=(format!("/api/runs/{}/labels", encode(&view.run.key))) data-next=(queue_address(view, view.queue, None)) data-id=(id) data-epoch=(epoch) data-rater=(rater) data-queue=(view.queue.name()) {
            label.wide { span.quiet { "Note, or why it cannot be judged " } kbd { "c" } " " input name="note" maxlength="1000"; }
            p.actions {
                button type="button" data-value="1" { "Right " kbd { "y" } }
                button type="button" data-value="0" { "Wrong " kbd { "n" } }
                button type="button" data-value="" { "Cannot be judged " kbd { "i" } }
                @if let Some(last) = &view.last { a.button rel="prev" href=(queue_address(view, view.queue, Some(last))) { "Back to the last one " kbd { "p" } } }
            }
            p #label-problem.problem role="alert" {}
        }
        noscript { p.problem { "Labelling needs JavaScript." } }
    }
}

/// How far the judge of a run can be trusted.
#[derive(Clone, Debug)]
pub struct JudgeView {
    /// The run.
    pub run: HistoryRun,
    /// The report; or why there is none.
    pub report: Result<JudgeReport, String>,
    /// How many labels there are, and of how many people.
    pub labels: (u64, u64),
    /// How many labels are left out, because their answers were chosen for a reason.
    pub left_out: u64,
}

/// The page about a judge: what `calipers judge` prints.
#[must_use]
pub fn judge_html(view: &JudgeView, delivery: Delivery<'_>) -> String {
    let run = &view.run;
    let main = html! {
        (crumbs(run, "judge"))
        section.hero.slim {
            h1 { "Judge" }
            p.about { (pluralize(view.labels.0, "label")) " by " (pluralize_people(view.labels.1)) ". " a href=(format!("{}/label", run_address(&run.key))) { "Label more" } }
            @if view.left_out > 0 {
                p.quiet { (pluralize(view.left_out, "label")) " left out: those answers were not chosen at random, so they do not say how often the judge is right." }
            }
        }
        @match &view.report {
            Ok(report) => pre.text.columns { (judge_text(report, Screen::PLAIN)) },
            Err(why) => p.problem { (said_in_lines(why)) },
        }
        p.quiet {
            "The same as " code { "calipers judge" } " prints with " a href=(format!("/api/runs/{}/labels", encode(&run.key))) { "these labels" } ". "
            a href=(format!("/api/runs/{}/judge", encode(&run.key))) { "JSON" }
        }
    };
    layout(&format!("Judge · {}", short_name(run)), Section::Runs, delivery, &main)
}

fn pluralize_people(count: u64) -> String {
    if count == 1 { "one person".to_owned() } else { format!("{} people", crate::numbers::count(count)) }
}
