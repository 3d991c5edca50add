//! File-name patterns for the keys of map scores: `*`, `?`, `[abc]` and `[!abc]`, as in Python's `fnmatch`.

/// True when the whole text matches.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    match_from(&pattern, &text)
}

fn match_from(pattern: &[char], text: &[char]) -> bool {
    let Some((&first, rest)) = pattern.split_first() else { return text.is_empty() };
    match first {
        '*' => (0..=text.len()).any(|skipped| match_from(rest, &text[skipped..])),
        '?' => !text.is_empty() && match_from(rest, &text[1..]),
        '[' => match class(rest) {
            Some((members, after)) => {
                text.first().is_some_and(|&c| in_class(members, c)) && match_from(after, &text[1..])
            }
            None => text.first() == Some(&'[') && match_from(rest, &text[1..]),
        },
        literal => text.first() == Some(&literal) && match_from(rest, &text[1..]),
    }
}

/// What stands between `[` and `]`, and what follows; a `]` that comes first is a member.
fn class(pattern: &[char]) -> Option<(&[char], &[char])> {
    let first = usize::from(pattern.first() == Some(&'!'));
    let close = pattern.iter().skip(first + 1).position(|&c| c == ']')? + first + 1;
    Some((&pattern[..close], &pattern[close + 1..]))
}

fn in_class(members: &[char], c: char) -> bool {
    let (negated, mut members) = match members.split_first() {
        Some(('!', rest)) => (true, rest),
        _ => (false, members),
    };
    let mut found = false;
    while let Some((&low, rest)) = members.split_first() {
        if let ['-', high, after @ ..] = rest {
            found |= (low..=*high).contains(&c);
            members = after;
        } else {
            found |= low == c;
            members = rest;
        }
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_in_fnmatch() {
        for (pattern, text, want) in [
            ("*", "anything", true),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("?1", "x1", true),
            ("?1", "1", false),
            ("x[12]", "x2", true),
            ("x[12]", "x3", false),
            ("x[!12]", "x3", true),
            ("x[a-c]", "xb", true),
            ("x[", "x[", true),
            ("[]]", "]", true),
            ("a.b", "axb", false),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, text), want, "{pattern} {text}");
        }
    }
}
