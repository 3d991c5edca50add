//! Totals below a table, under names in any language and under names that mean nothing to us: none counts as a sample without a word.

use crate::program::calipers;
use crate::strangers::{RIGHT, SEVEN, rows, score};
use calipers_testing::{Scratch, text};
use serde_json::json;

fn plain() -> String {
    rows("id,score", |id, right| format!("q{id},{right}"))
}

/// What is said about a table, with the words in one line.
fn said(content: &str) -> String {
    let folder = Scratch::with("r.csv", content);
    let output = calipers().run_in(&folder, &["score", "r.csv"]);
    (text(&output.stdout) + &text(&output.stderr)).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The error for a table, which names these lines and a command that leaves them out; the rest is what was measured.
#[cfg(unix)]
fn check_left_out(content: &str, lines: &str) {
    let folder = Scratch::with("r.csv", content);
    let error = score(&folder, "r.csv", &[]).expect_err(content);
    assert!(error.contains("not a sample") || error.contains("not samples"), "{content}: {error}");
    let start = error.find("`sed '").unwrap_or_else(|| panic!("no command in: {error}")) + 1;
    let command = error[start..].split('`').next().unwrap();
    assert!(command.starts_with(&format!("sed '{lines}' ")), "{content}: {error}");
    let status = std::process::Command::new("sh").args(["-c", command]).current_dir(folder.join("")).status();
    assert!(status.is_ok_and(|status| status.success()), "{command}");
    assert_eq!(score(&folder, "samples.csv", &[]), Ok(SEVEN.to_vec()), "{content}");
}

#[cfg(unix)]
#[test]
fn a_total_is_no_sample_in_any_language() {
    for name in [
        "Gesamt",
        "GESAMT:",
        "Summe",
        "Durchschnitt",
        "Mittelwert",
        "Итого",
        "ИТОГО",
        "Среднее",
        "Всего:",
        "合計",
        "平均",
        "总计",
        "합계",
        "평균",
        "moyenne",
        "Total général",
        "total general",
        "Promedio",
        "promedio general",
        "Media",
        "Totale",
        "Somma",
        "Gemiddelde",
        "Totaal",
        "Średnia",
        "Razem",
        "Toplam",
        "Ortalama",
        "Tổng cộng",
        "Trung bình",
        "Jumlah",
        "औसत",
        "कुल",
        "ค่าเฉลี่ย",
        "المجموع",
        "סה״כ",
        "Yhteensä",
        "Genomsnitt",
        "Average score",
        "Mean accuracy",
        "Grand Total",
    ] {
        for value in ["0.7", "7", "70%", "70"] {
            check_left_out(&format!("{}{name},{value}\n", plain()), "12d");
        }
    }
    // A decimal comma, as in the spreadsheet that it comes from.
    let german = rows("id;score", |id, right| format!("q{id};{right},0")) + "Gesamt;0,7\n";
    check_left_out(&german, "12d");
    // All samples have the same score: the name tells.
    let folder = Scratch::with("same.csv", rows("id,score", |id, _| format!("q{id},1")) + "Gesamt,1\n");
    assert!(score(&folder, "same.csv", &[]).expect_err("a total").contains("it is not a sample"));
}

#[cfg(unix)]
#[test]
fn a_total_is_known_by_its_number_under_any_name() {
    for name in ["Bilanz", "Σ", "Ø", "Résultat", "kopsumma", "the whole lot", "?"] {
        for value in ["0.7", "0.70", "7", "70%", "70.0", "10"] {
            check_left_out(&format!("{}{name},{value}\n", plain()), "12d");
            let (names, rest) = plain().split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
            check_left_out(&format!("{names}\n{name},{value}\n{rest}"), "2d");
        }
    }
    // What stands beside it is a part of it.
    check_left_out(&(plain() + "Mittelwert,0.7\nStreuung,0.48\nSpanne,1\n"), "12d;13d;14d");
    check_left_out(&(plain() + "Bilanz,7\nFehlerbalken,0.48\n"), "12d;13d");
    check_left_out(&(plain() + "Spanne,1\nBilanz,0.7\n"), "12d;13d");
    // Between the samples: four of one part, six of the other.
    let half = |from: usize, to: usize| (from..to).map(|id| format!("q{id},{}\n", RIGHT[id])).collect::<String>();
    for [first, second] in [["3", "4"], ["0.75", "0.667"], ["75", "66.7"]] {
        let table = format!("id,score\n{}Recht,{first}\n{}Kunst,{second}\n", half(0, 4), half(4, 10));
        check_left_out(&table, "6d;13d");
        let table = format!("id,score\n{}Summe Recht,{first}\n{}Summe Kunst,{second}\n", half(0, 4), half(4, 10));
        check_left_out(&table, "6d;13d");
        let table = format!("id,score\n{}法律小計,{first}\n{}美術小計,{second}\n", half(0, 4), half(4, 10));
        check_left_out(&table, "6d;13d");
    }
}

#[test]
fn a_total_of_attempts_is_known_by_its_number() {
    let attempts = |last: &str| {
        let attempt = |epoch: usize| {
            let row = move |(id, right): (usize, &u8)| format!("q{id},{epoch},{}\n", (usize::from(*right) + epoch) % 2);
            RIGHT.iter().enumerate().map(row).collect::<String>()
        };
        format!("id,epoch,score\n{}{last}\n", (1..=3).map(attempt).collect::<String>())
    };
    for last in ["Bilanz,,13", "Bilanz,,30", "Bilanz,,0.4333", "Bilanz,,43.3%", "Bilanz,1,0.43"] {
        let folder = Scratch::with("r.csv", attempts(last));
        let error = score(&folder, "r.csv", &[]).expect_err(last);
        assert!(error.contains("it is not a sample") && error.contains("line 32"), "{last}: {error}");
    }
    // In other layouts too.
    let list: Vec<_> = RIGHT.iter().enumerate().map(|(id, right)| json!({"id": id, "score": right})).collect();
    let total = json!({"id": "Bilanz", "score": 0.7});
    let folder = Scratch::with("r.json", json!([list, vec![total]].concat()).to_string());
    assert!(score(&folder, "r.json", &[]).expect_err("a total").contains("at `[10]`"));
    let models = |model: &str, right: u8, id: usize| json!({"id": format!("q{id}"), "model": model, "score": right});
    let mut lines: String = String::new();
    for (id, right) in RIGHT.iter().enumerate() {
        lines += &format!("{}\n{}\n", models("a", *right, id), models("b", 1 - *right, id));
    }
    lines += &format!("{}\n", json!({"id": "Bilanz", "model": "a", "score": 0.7}));
    folder.write("models.jsonl", lines);
    assert!(score(&folder, "models.jsonl", &[]).expect_err("a total").contains("line 21"));
}

#[test]
fn a_sample_with_another_name_or_the_mean_is_a_sample() {
    // A name that no other is like, and a score as others have it.
    for (name, score_of, want) in [("warmup", "1", 0.727273), ("warmup", "0", 0.636364), ("media", "0", 0.636364)] {
        let folder = Scratch::with("r.csv", format!("{}{name},{score_of}\n", plain()));
        assert_eq!(score(&folder, "r.csv", &[]), Ok(vec![(want, 11)]), "{name} {score_of}");
    }
    // Grades between 0 and 1, of which any may be their mean.
    let grades = [0.1, 0.25, 0.5, 0.75, 0.9, 0.35, 0.6, 0.45, 0.55, 0.8];
    let names = ["law", "art", "math", "physics", "chem", "bio", "hist", "geo", "mus", "lit"];
    let graded: String = names.iter().zip(grades).map(|(name, grade)| format!("{name},{grade}\n")).collect();
    let folder = Scratch::with("r.csv", format!("id,score\n{graded}gym,0.525\n"));
    assert_eq!(score(&folder, "r.csv", &[]), Ok(vec![(0.525, 11)]));
    let numbered: String = grades.iter().enumerate().map(|(id, grade)| format!("q{id},{grade}\n")).collect();
    folder.write("unlike.csv", format!("id,score\n{numbered}warmup,0.53\n"));
    assert_eq!(score(&folder, "unlike.csv", &[]), Ok(vec![(0.525455, 11)]));
    let noted = said(&format!("id,score\n{numbered}warmup,0.53\n"));
    let note = "note: the record `warmup` (line 12) has the mean or the sum of the others, and was read as a sample";
    assert!(noted.contains(note), "{noted}");
    // A number like the others, below outcomes: it may be a grade.
    let numbers = rows("id,score", |id, right| format!("{id},{right}")) + "11,0.7\n";
    folder.write("numbers.csv", &numbers);
    assert_eq!(score(&folder, "numbers.csv", &[]), Ok(vec![(0.7, 11)]));
    assert!(said(&numbers).contains("note: the record `11` (line 12) has the mean or the sum of the others"));
    // All names are words, and everything else is right or wrong.
    let words: String = names.iter().zip(RIGHT).map(|(name, right)| format!("{name},{right}\n")).collect();
    folder.write("words.csv", format!("id,score\n{words}Bilanz,0.7\n"));
    assert!(score(&folder, "words.csv", &[]).expect_err("a total").contains("it is not a sample"));
    // If it is one, that can be said.
    let flags = ["--columns", "id=@line+id"];
    assert_eq!(score(&folder, "words.csv", &flags), Ok(vec![(0.7, 11)]));
}
