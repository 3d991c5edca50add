//! Compares and strips text as Python does, so that scores agree with Inspect.

/// Text without its case, for comparisons: Unicode's full folding, in which `ß` is `ss`.
///
/// Lower, upper and lower again is that folding for all characters but two: the dotless `ı`, which stays as it is, and Cherokee,
/// whose letters become the small ones instead of the large.
pub(crate) fn casefold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let fold = |c: char| {
        let dotless = (c == 'ı').then_some(c);
        let folded = c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
        dotless.into_iter().chain(folded.filter(move |_| c != 'ı'))
    };
    text.chars().flat_map(fold).collect()
}

/// White space as Python's `str.isspace` sees it.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Text without the ASCII space and punctuation around it.
pub(crate) fn strip_punctuation(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_punctuation() || c.is_ascii_whitespace() || c == '\u{b}')
}

/// True if the text is empty or blank.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_folded_as_python_folds_it() {
        for (text, want) in [
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("ẞ", "ss"),
            ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
            ("ς", "σ"),
            ("İ", "i\u{307}"),
            ("ı", "ı"),
            ("ﬁ", "fi"),
            ("ŉ", "ʼn"),
            ("K", "k"),
        ] {
            assert_eq!(casefold(text), want, "{text}");
        }
    }
}
