//! Numbers as people and models write them: in any script, with fractions, exponents and Chinese numerals.
//!
//! A number here is a number in Inspect, so that numeric matches agree. Ancient scripts (cuneiform, Aegean) are left
//! out.

use crate::text::python_text::is_space;
use calipers_core::{decimal_digit, parse_number};

/// Punctuation around a number in a sentence, without signs that change its meaning, such as `<`, `~` and `%`.
const AROUND: [char; 13] = ['!', '?', ':', ';', '(', ')', '[', ']', '{', '}', '\'', '"', '`'];

/// True for a finite number, with the punctuation of a sentence around it or without.
pub(super) fn is_number(text: &str) -> bool {
    parse(text.trim_matches(AROUND)).is_some()
}

/// A number in the one form that equal numbers share; other text as it is.
pub(super) fn normal_number(text: &str) -> String {
    parse(text.trim_matches(AROUND)).map_or_else(|| text.to_owned(), plain_number)
}

/// A finite number.
pub(super) fn parse(text: &str) -> Option<f64> {
    parse_number(text).or_else(|| unicode_number(text)).filter(|number| number.is_finite())
}

/// Five significant digits, laid out as `%.5g` does.
pub(super) fn plain_number(number: f64) -> String {
    const DIGITS: i32 = 5;
    if number == 0.0 {
        return if number.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    let scientific = format!("{number:.4e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        return without_zeros(&format!("{number:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

fn without_zeros(decimal: &str) -> &str {
    if decimal.contains('.') { decimal.trim_end_matches('0').trim_end_matches('.') } else { decimal }
}

/// Signs, then a number, then perhaps an exponent in superscript. The sign belongs to the base: -2² is 4.
fn unicode_number(text: &str) -> Option<f64> {
    let mut base = text.trim_matches(is_space);
    let mut sign = 1.0;
    while let Some(c) = base.chars().next() {
        match c {
            '-' | '−' | '﹣' | '－' | '负' | '負' => sign = -sign,
            '+' | '＋' | '﹢' | '正' => {}
            _ => break,
        }
        base = base[c.len_utf8()..].trim_start_matches(is_space);
    }
    if let Some(value) = single(base) {
        return Some(sign * value);
    }
    let (base, exponent) = split_exponent(base)?;
    let value = sign * with_fraction(base)?;
    match exponent {
        Some(exponent) if value == 0.0 && exponent < 0 => None,
        Some(exponent) => Some(value.powf(f64::from(exponent))),
        None => Some(value),
    }
}

/// The number of a single character, such as `½` or `Ⅻ`.
fn single(text: &str) -> Option<f64> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none()).and_then(numeric)
}

/// A base and the exponent in superscript after it, if there is one.
fn split_exponent(text: &str) -> Option<(&str, Option<i32>)> {
    const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let ends = |c: char| is_space(c) || is_separator(c);
    let trimmed = text.trim_end_matches(ends);
    let digits_from = trimmed.trim_end_matches(SUPERSCRIPTS).len();
    if digits_from == trimmed.len() {
        return Some((text.trim_matches(is_space), None));
    }
    let (before, digits) = trimmed.split_at(digits_from);
    let base = before.strip_suffix(['⁻', '⁺']).unwrap_or(before);
    if base.trim_end_matches(is_space).is_empty() {
        return Some((text.trim_matches(is_space), None));
    }
    let digit = |c| SUPERSCRIPTS.iter().position(|known| *known == c);
    let magnitude = digits
        .chars()
        .filter_map(digit)
        .try_fold(0i32, |sum, digit| sum.checked_mul(10)?.checked_add(i32::try_from(digit).ok()?))?;
    let exponent = if before.ends_with('⁻') { -magnitude } else { magnitude };
    Some((base.trim_end_matches(is_space), Some(exponent)))
}

/// A number with at most one fraction at its end: `2½`.
fn with_fraction(text: &str) -> Option<f64> {
    let fraction = |c| numeric(c).filter(|value| *value > 0.0 && *value < 1.0);
    let mut fractions = text.char_indices().filter_map(|(at, c)| Some((at, c, fraction(c)?)));
    let Some((at, c, value)) = fractions.next() else { return whole(text) };
    let after = &text[at + c.len_utf8()..];
    if fractions.next().is_some() || !after.chars().all(|c| is_space(c) || is_separator(c)) {
        return None;
    }
    let before = text[..at].trim_matches(is_space);
    if before.is_empty() { Some(value) } else { Some(whole(before)? + value) }
}

fn whole(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    let chinese = text.chars().any(is_chinese).then(|| chinese_number(text)).flatten();
    chinese.or_else(|| grouped_digits(text)).or_else(|| single(text))
}

/// Digits of any script with separators of any country, and an exponent with `e`.
fn grouped_digits(text: &str) -> Option<f64> {
    let point = decimal_point(text);
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let (mut has_point, mut has_exponent) = (false, false);
    while let Some(c) = characters.next() {
        if matches!(c, 'e' | 'E') && !has_exponent {
            has_exponent = true;
            plain.push('e');
            match characters.peek() {
                Some('+' | '＋' | '﹢') => drop(characters.next()),
                Some('-' | '−' | '﹣' | '－') => {
                    plain.push('-');
                    characters.next();
                }
                _ => {}
            }
        } else if matches!(c, '٫' | '．') || Some(c) == point {
            if std::mem::replace(&mut has_point, true) {
                return None;
            }
            plain.push('.');
        } else if is_separator(c) || is_space(c) || (point.is_some() && matches!(c, '.' | ',')) {
            // Only groups the digits.
        } else {
            plain.push(ascii_digit(c).filter(|_| !is_chinese(c))?);
        }
    }
    plain.starts_with(|c: char| c != 'e').then(|| plain.parse().ok()).flatten()
}

/// The later of `.` and `,` is the point where there are both; a lone `,` is one before one to three digits.
fn decimal_point(text: &str) -> Option<char> {
    match (text.rfind('.'), text.rfind(',')) {
        (Some(dot), Some(comma)) => Some(if dot > comma { '.' } else { ',' }),
        (Some(_), None) => Some('.'),
        (None, Some(comma)) => {
            let digits = text[comma..].chars().filter(|c| ascii_digit(*c).is_some()).count();
            (1..=3).contains(&digits).then_some(',')
        }
        (None, None) => None,
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, ',' | '，' | '﹐' | '、' | '٬' | ' ' | '\'' | '’' | 'ʼ' | '＇')
        || matches!(c, '\u{a0}' | '\u{202f}' | '\u{2009}' | '\u{2007}' | '\u{2008}')
}

fn chinese_digit(c: char) -> Option<u32> {
    Some(match c {
        '零' | '〇' | '○' => 0,
        '一' | '壹' | '幺' => 1,
        '二' | '贰' | '貳' | '两' | '兩' => 2,
        '三' | '叁' | '參' => 3,
        '四' | '肆' => 4,
        '五' | '伍' => 5,
        '六' | '陆' | '陸' => 6,
        '七' | '柒' => 7,
        '八' | '捌' => 8,
        '九' | '玖' => 9,
        _ => return None,
    })
}

/// A unit within a group of four digits.
fn small_unit(c: char) -> Option<f64> {
    Some(match c {
        '十' | '拾' => 10.0,
        '百' | '佰' => 100.0,
        '千' | '仟' => 1000.0,
        _ => return None,
    })
}

/// A unit of whole groups.
fn large_unit(c: char) -> Option<f64> {
    Some(match c {
        '万' | '萬' => 1e4,
        '亿' | '億' => 1e8,
        '兆' => 1e12,
        _ => return None,
    })
}

fn tens(c: char) -> Option<f64> {
    Some(match c {
        '廿' => 20.0,
        '卅' => 30.0,
        '卌' => 40.0,
        _ => return None,
    })
}

fn is_unit(c: char) -> bool {
    small_unit(c).or(large_unit(c)).or(tens(c)).is_some()
}

fn is_chinese(c: char) -> bool {
    chinese_digit(c).is_some() || is_unit(c) || matches!(c, '点' | '點' | '负' | '負' | '正')
}

fn chinese_number(text: &str) -> Option<f64> {
    let (before, after) = text.split_once(['点', '點', '．', '.']).unwrap_or((text, ""));
    let value = if before.chars().any(is_unit) { with_units(before)? } else { digits_only(before)? };
    let mut place = 0.1;
    let mut share = 0.0;
    for c in after.chars().filter(|c| !is_space(*c)) {
        share += f64::from(ascii_digit(c)?.to_digit(10)?) * place;
        place /= 10.0;
    }
    Some(value + share)
}

fn digits_only(text: &str) -> Option<f64> {
    let digits: Option<String> = text.chars().filter(|c| !is_space(*c)).map(ascii_digit).collect();
    digits.and_then(|digits| if digits.is_empty() { Some(0.0) } else { digits.parse().ok() })
}

fn with_units(text: &str) -> Option<f64> {
    let (mut total, mut group, mut digit) = (0.0, 0.0, 0.0);
    for c in text.chars().filter(|c| !is_space(*c)) {
        if let Some(value) = tens(c) {
            group += value;
        } else if let Some(unit) = small_unit(c) {
            group += if digit == 0.0 { unit } else { digit * unit };
            digit = 0.0;
        } else if let Some(unit) = large_unit(c) {
            total += (group + digit) * unit;
            (group, digit) = (0.0, 0.0);
        } else if !matches!(c, '零' | '〇' | '○') {
            digit = f64::from(ascii_digit(c)?.to_digit(10)?);
        }
    }
    Some(total + group + digit)
}

/// The digit that a character stands for, among them superscripts, circled digits and Chinese ones.
fn ascii_digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let decimal = decimal_digit(c).or_else(|| {
        let (first, _, value) = DIGITS.iter().find(|(first, count, _)| in_run(c, *first, *count))?;
        char::from_digit(value + c as u32 - first, 10)
    });
    decimal.or_else(|| chinese_digit(c).and_then(|digit| char::from_digit(digit, 10)))
}

fn in_run(c: char, first: u32, count: u32) -> bool {
    (first..first + count).contains(&(c as u32))
}

/// The number that a character stands for on its own.
fn numeric(c: char) -> Option<f64> {
    if c.is_ascii() {
        return c.to_digit(10).map(f64::from);
    }
    let digit = decimal_digit(c).and_then(|digit| digit.to_digit(10));
    let counted = || {
        let (first, _, value) = DIGITS.iter().chain(&NUMBERS).find(|(first, count, _)| in_run(c, *first, *count))?;
        Some(value + c as u32 - first)
    };
    if let Some(value) = digit.or_else(counted) {
        return Some(f64::from(value));
    }
    let fraction = FRACTIONS.iter().find(|(fraction, ..)| *fraction == c);
    let chinese =
        || chinese_digit(c).filter(|_| c != '○').map(f64::from).or(tens(c)).or(small_unit(c)).or(large_unit(c));
    fraction.map(|(_, part, of)| part / of).or_else(chinese)
}

/// Runs of characters that are digits: the first, how many, and its value (Unicode 14, property Numeric_Type=Digit).
const DIGITS: [(u32, u32, u32); 17] = [
    (0xb2, 2, 2),
    (0xb9, 1, 1),
    (0x1369, 9, 1),
    (0x19da, 1, 1),
    (0x2070, 1, 0),
    (0x2074, 6, 4),
    (0x2080, 10, 0),
    (0x2460, 9, 1),
    (0x2474, 9, 1),
    (0x2488, 9, 1),
    (0x24ea, 1, 0),
    (0x24f5, 9, 1),
    (0x24ff, 1, 0),
    (0x2776, 9, 1),
    (0x2780, 9, 1),
    (0x278a, 9, 1),
    (0x1f101, 10, 0),
];

/// Runs of other characters that are whole numbers: Roman, circled and in parentheses.
const NUMBERS: [(u32, u32, u32); 27] = [
    (0x2160, 12, 1),
    (0x216c, 1, 50),
    (0x216d, 1, 100),
    (0x216e, 1, 500),
    (0x216f, 1, 1000),
    (0x2170, 12, 1),
    (0x217c, 1, 50),
    (0x217d, 1, 100),
    (0x217e, 1, 500),
    (0x217f, 1, 1000),
    (0x2180, 1, 1000),
    (0x2181, 1, 5000),
    (0x2182, 1, 10000),
    (0x2189, 1, 0),
    (0x2469, 11, 10),
    (0x247d, 11, 10),
    (0x2491, 11, 10),
    (0x24eb, 10, 11),
    (0x24fe, 1, 10),
    (0x277f, 1, 10),
    (0x2789, 1, 10),
    (0x2793, 1, 10),
    (0x3021, 9, 1),
    (0x3220, 10, 1),
    (0x3251, 15, 21),
    (0x3280, 10, 1),
    (0x32b1, 15, 36),
];

const FRACTIONS: [(char, f64, f64); 19] = [
    ('¼', 1.0, 4.0),
    ('½', 1.0, 2.0),
    ('¾', 3.0, 4.0),
    ('⅐', 1.0, 7.0),
    ('⅑', 1.0, 9.0),
    ('⅒', 1.0, 10.0),
    ('⅓', 1.0, 3.0),
    ('⅔', 2.0, 3.0),
    ('⅕', 1.0, 5.0),
    ('⅖', 2.0, 5.0),
    ('⅗', 3.0, 5.0),
    ('⅘', 4.0, 5.0),
    ('⅙', 1.0, 6.0),
    ('⅚', 5.0, 6.0),
    ('⅛', 1.0, 8.0),
    ('⅜', 3.0, 8.0),
    ('⅝', 5.0, 8.0),
    ('⅞', 7.0, 8.0),
    ('⅟', 1.0, 1.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_inspect_reads_them() {
        // The answers of `inspect_ai.scorer._common._parse_number` 0.3.285 without trimming.
        for (text, want) in NUMBERS_READ {
            let got = parse(text);
            let same = match (got, want) {
                (Some(got), Some(want)) => (got - want).abs() <= 1e-12 * want.abs(),
                (got, want) => got == want,
            };
            assert!(same, "{text:?}: got {got:?}, want {want:?}");
        }
    }

    const NUMBERS_READ: [(&str, Option<f64>); 96] = [
        ("5", Some(5.0)),
        ("-5", Some(-5.0)),
        ("−5", Some(-5.0)),
        ("--5", Some(5.0)),
        ("½", Some(0.5)),
        ("2½", Some(2.5)),
        ("−½", Some(-0.5)),
        ("2½²", Some(6.25)),
        ("十二⅓", Some(12.333333333333334)),
        ("3²", Some(9.0)),
        ("1.5⁻³", Some(0.2962962962962963)),
        ("-2²", Some(4.0)),
        ("²", Some(2.0)),
        ("x²", None),
        ("0⁻¹", None),
        ("Ⅻ", Some(12.0)),
        ("⑫", Some(12.0)),
        ("㉑", Some(21.0)),
        ("１２．５", Some(12.5)),
        ("٣٫٥", Some(3.5)),
        ("二〇二五", Some(2025.0)),
        ("三点五", Some(3.5)),
        ("一百二十三", Some(123.0)),
        ("十二", Some(12.0)),
        ("两千", Some(2000.0)),
        ("一万二千", Some(12000.0)),
        ("十亿", Some(1000000000.0)),
        ("廿五", Some(25.0)),
        ("负三", Some(-3.0)),
        ("正三", Some(3.0)),
        ("3万", Some(30000.0)),
        ("1.5万", None),
        ("12 345", Some(12345.0)),
        ("1'000", Some(1000.0)),
        ("1 000,5", Some(1000.5)),
        ("1.000,5", Some(1000.5)),
        ("1,5", Some(1.5)),
        ("1,5000", Some(15000.0)),
        ("1.2.3", None),
        ("1e5", Some(100000.0)),
        ("1E-3", Some(0.001)),
        ("1e", None),
        ("e5", None),
        ("1e5e5", None),
        ("1²3", Some(123.0)),
        ("½½", None),
        ("½3", None),
        ("2½ ,", Some(2.5)),
        ("²³", Some(23.0)),
        ("3⁻", None),
        ("abc", None),
        ("", None),
        ("-", None),
        ("．", None),
        ("点", Some(0.0)),
        ("五点", Some(5.0)),
        ("点五", Some(0.5)),
        ("零", Some(0.0)),
        ("○", Some(0.0)),
        ("〇", Some(0.0)),
        ("一○", Some(10.0)),
        ("一百〇五", Some(105.0)),
        ("兆", Some(1000000000000.0)),
        ("万万", Some(0.0)),
        ("5%", None),
        ("0x10", None),
        ("1_000", Some(1000.0)),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("⁵", Some(5.0)),
        ("٣", Some(3.0)),
        ("𝟙𝟠", Some(18.0)),
        ("九九", Some(99.0)),
        ("一2三", Some(123.0)),
        ("3 apples", None),
        ("2 ½", Some(2.5)),
        ("+ 7", Some(7.0)),
        ("  8  ", Some(8.0)),
        ("⅟", Some(1.0)),
        ("↉", Some(0.0)),
        ("〡", Some(1.0)),
        ("㊀", Some(1.0)),
        ("9⁹⁹⁹", None),
        ("2⁰", Some(1.0)),
        ("(5)", None),
        ("五．五", Some(5.5)),
        ("百", Some(100.0)),
        ("千百", Some(1100.0)),
        ("負½", Some(-0.5)),
        ("－１", Some(-1.0)),
        ("1e＋5", Some(100000.0)),
        ("1,234,567", None),
        ("1,23", Some(1.23)),
        ("12,345.6", Some(12345.6)),
        ("1.234.567,8", Some(1234567.8)),
    ];

    #[test]
    fn numbers_are_written_with_five_digits() {
        // Python's format(x, ".5g").
        for (number, want) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (5.0, "5"),
            (-12.5, "-12.5"),
            (12344.5, "12344"),
            (12345.5, "12346"),
            (99999.6, "1e+05"),
            (123456.7, "1.2346e+05"),
            (0.0001, "0.0001"),
            (0.000_012_345_6, "1.2346e-05"),
            (1.0 / 3.0, "0.33333"),
            (1e100, "1e+100"),
        ] {
            assert_eq!(plain_number(number), want);
        }
    }
}
