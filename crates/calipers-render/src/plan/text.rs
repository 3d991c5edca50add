//! How many samples: the answers first, then a table and a curve.

use crate::compare::text::in_rows;
use crate::forest::Ink;
use crate::numbers::{count, number, power};
use crate::plan::words::PlanWords;
use crate::results::caveats::known_thing;
use crate::screen::Screen;
use crate::text::{clean, left, right, wrap};
use crate::words::{caveat_next_step, caveat_sentence};
use calipers_compare::sizing::{PlanReport, SampleNeed, SizePoint};
use unicode_width::UnicodeWidthStr;

/// The plan as text.
#[must_use]
pub fn plan_text(report: &PlanReport, screen: Screen, ink: Ink) -> String {
    let told = PlanWords::of(report);
    let bold = |text: &str| screen.style.bold(text);
    let mut answers = String::new();
    for answer in told.answers() {
        let lines = wrap(&clean(&answer), screen.width.saturating_sub(2));
        for (at, line) in lines.iter().enumerate() {
            answers += &if at == 0 { format!("{}\n", bold(line)) } else { format!("  {}\n", bold(line)) };
        }
    }
    let basis: String = wrap(&clean(&told.basis()), screen.width).iter().map(|line| line.clone() + "\n").collect();
    let (heads, rows) = told.table();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let table = format!("{}\n{}", bold(&told.title()), columns(&heads, &rows));
    let mut sections = vec![answers, basis, table, attempts(report, screen), curve(report, screen, ink)];
    sections.push(caveats(report, screen));
    let methods = in_rows(&told.methods(), screen.width);
    sections.push(methods.iter().map(|row| screen.style.dim(row) + "\n").collect());
    sections.retain(|section| !section.is_empty());
    screen.join_sections(&sections)
}

/// Cells in columns, to the right.
fn columns(heads: &[String], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = heads.iter().map(|head| head.width()).collect();
    for row in rows {
        row.iter().zip(&mut widths).for_each(|(cell, width)| *width = cell.width().max(*width));
    }
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| right(cell, *width)).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    std::iter::once(line(heads)).chain(rows.iter().map(|row| line(row))).collect()
}

/// What more attempts take and cost, for the same answer.
fn attempts(report: &PlanReport, screen: Screen) -> String {
    let Some(worth) = report.sizing.attempts.as_ref().filter(|worth| !worth.options.is_empty()) else {
        return String::new();
    };
    let cheapest = worth.options.iter().map(|option| option.cost).fold(f64::INFINITY, f64::min);
    let rows: Vec<Vec<String>> = worth
        .options
        .iter()
        .map(|option| {
            let mark = if option.cost == cheapest { "cheapest" } else { "" };
            vec![count(option.attempts), count(option.samples), number(option.cost), left(mark, 8)]
        })
        .collect();
    let title = format!("attempts and their price, {}", PlanWords::of(report).describe_held());
    let heads = ["attempts", "samples", "cost", ""].map(str::to_owned);
    format!("{}\n{}", screen.style.bold(&title), columns(&heads, &rows))
}

/// The rows of a curve.
const HEIGHT: usize = 8;

/// How the power, or the width of the interval, goes with the number of samples.
fn curve(report: &PlanReport, screen: Screen, ink: Ink) -> String {
    let sizing = &report.sizing;
    let has_power = sizing.curve.iter().any(|point| point.power.is_some());
    let told = PlanWords::of(report);
    let value = |point: &SizePoint| if has_power { point.power } else { point.half_width };
    let points: Vec<(u64, f64)> =
        sizing.curve.iter().filter_map(|point| Some((point.samples, value(point)?))).collect();
    let (Some((from, _)), Some((to, _))) = (points.first(), points.last()) else { return String::new() };
    let top = points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
    let tick = |y: f64| if has_power { power(y) } else { format!("±{}", told.size(y)) };
    let title = if has_power { "power by samples" } else { "half the width of the interval by samples" };
    let needed = if has_power { sizing.paired.as_ref() } else { sizing.interval.as_ref() };
    let needed = needed.and_then(|needed: &SampleNeed| needed.samples.ok());
    let letters = ink.letters();
    let (dot, here) = match ink {
        Ink::Unicode => ('•', '◆'),
        Ink::Ascii => ('*', '@'),
    };
    let mut grid = vec![vec![' '; points.len()]; HEIGHT];
    let row = |y: f64| ((1.0 - y / top) * (HEIGHT - 1) as f64).round() as usize;
    let first_enough = needed.and_then(|needed| points.iter().position(|(samples, _)| *samples >= needed));
    for (column, (_, y)) in points.iter().enumerate() {
        grid[row(*y)][column] = if first_enough == Some(column) { here } else { dot };
    }
    let labels = [(0, tick(top)), (HEIGHT - 1, tick(0.0))];
    let margin = labels.iter().map(|(_, label)| label.width()).max().unwrap_or(0) + 2;
    let mut text = format!("{}\n", screen.style.bold(title));
    for (at, cells) in grid.iter().enumerate() {
        let label = labels.iter().find(|(row, _)| *row == at).map_or("", |(_, label)| label);
        let cells: String = cells.iter().collect();
        text += format!("{} {}{cells}", right(label, margin), letters.wall).trim_end();
        text.push('\n');
    }
    let axis: String = std::iter::repeat_n(letters.axis, points.len()).collect();
    text += &format!("{} {}{axis}\n", " ".repeat(margin), letters.corner);
    let (from, to) = (count(*from), counted_samples(*to));
    let room = (points.len() + 1).saturating_sub(from.width() + to.width()).max(2);
    text += &format!("{} {from}{}{to}\n", " ".repeat(margin), " ".repeat(room));
    if let Some(needed) = needed {
        text += &format!("{} {here} {} are enough\n", " ".repeat(margin), count(needed));
    }
    text
}

fn counted_samples(n: u64) -> String {
    format!("{} samples", count(n))
}

fn caveats(report: &PlanReport, screen: Screen) -> String {
    let caveats = &report.sizing.caveats;
    if caveats.is_empty() {
        return String::new();
    }
    let known =
        caveats.iter().map(|caveat| known_thing(&caveat_sentence(caveat), caveat_next_step(caveat).as_deref(), screen));
    format!("{}\n{}", screen.style.bold("worth knowing"), known.collect::<String>())
}
