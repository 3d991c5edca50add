//! The shape of a file's beginning, from which its format is detected.

/// The shape of a file's beginning.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The name of the file, without its folder.
    pub file_name: String,
    /// What the first JSON value is, if it is JSON.
    pub json: Option<JsonShape>,
}

/// The shape of JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonShape {
    /// What stands at the root.
    pub root: Root,
    /// The keys of the root, or of the first item of a list, as far as they stand in the first bytes.
    pub keys: Vec<String>,
    /// The keys of the maps directly below the root, by its key: `results.version` is `("results", "version")`.
    pub inner: Vec<(String, String)>,
    /// True when a second value follows the first: JSON Lines.
    pub lines: bool,
    /// True when a second list follows the first.
    pub lists: bool,
}

/// What stands at the root of a JSON document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Root {
    /// A map.
    #[default]
    Map,
    /// A list.
    List,
    /// Text: a document within a document.
    Text,
    /// Anything else.
    Other,
}

impl Shape {
    pub(crate) fn new(head: Vec<u8>, file_name: &str) -> Self {
        let json = JsonShape::scan(&head);
        Self { head, file_name: file_name.to_owned(), json }
    }

    /// True for a JSON map at the root (or on the first line) that has all these keys.
    #[must_use]
    pub fn has_keys(&self, keys: &[&str]) -> bool {
        self.json.as_ref().is_some_and(|json| json.root == Root::Map && json.has(keys))
    }

    /// True for a JSON list whose first item is a map with all these keys.
    #[must_use]
    pub fn lists_keys(&self, keys: &[&str]) -> bool {
        self.json.as_ref().is_some_and(|json| json.root == Root::List && !json.lists && json.has(keys))
    }

    /// True when a map below the root has this key.
    #[must_use]
    pub fn has_inner(&self, key: &str, inner: &str) -> bool {
        self.json.as_ref().is_some_and(|json| json.inner.iter().any(|(a, b)| a == key && b == inner))
    }

    /// True when the content is JSON Lines, or a single line of it.
    #[must_use]
    pub fn is_lines(&self) -> bool {
        self.json.as_ref().is_some_and(|json| json.lines || json.root == Root::Map)
    }

    /// True when the content begins with these bytes.
    #[must_use]
    pub fn starts_with(&self, magic: &[u8]) -> bool {
        self.head.starts_with(magic)
    }
}

impl JsonShape {
    fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.keys.iter().any(|found| found == key))
    }

    /// Walks the first bytes without a parser: they may be cut off anywhere.
    fn scan(head: &[u8]) -> Option<Self> {
        let head = head.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(head);
        let start = head.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let root = match head[start] {
            b'{' => Root::Map,
            b'[' => Root::List,
            b'"' => Root::Text,
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => Root::Other,
            _ => return None,
        };
        let mut shape = Self { root, ..Self::default() };
        shape.walk(&head[start..]);
        Some(shape)
    }

    fn walk(&mut self, bytes: &[u8]) {
        let keys_at = if self.root == Root::List { 2 } else { 1 };
        let mut open: Vec<u8> = Vec::new();
        let mut items = 0;
        let mut at = 0;
        let mut current = String::new();
        while at < bytes.len() {
            match bytes[at] {
                b'"' => {
                    let (text, next) = string(&bytes[at..]);
                    at += next;
                    let is_key = open.last() == Some(&b'{') && followed_by_colon(&bytes[at..]);
                    if is_key && open.len() == keys_at && items == 0 {
                        current.clone_from(&text);
                        if !self.keys.contains(&text) {
                            self.keys.push(text);
                        }
                    } else if is_key && open.len() == keys_at + 1 && items == 0 && self.inner.len() < 4096 {
                        self.inner.push((current.clone(), text));
                    }
                    if open.is_empty() && self.root == Root::Text {
                        return;
                    }
                    continue;
                }
                bracket @ (b'{' | b'[') => open.push(bracket),
                b'}' | b']' => {
                    open.pop();
                    if open.is_empty() {
                        let rest = &bytes[at + 1..];
                        let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
                        self.lines = next == Some(&b'{');
                        self.lists = self.root == Root::List && next == Some(&b'[');
                        return;
                    }
                }
                b',' if open.len() == 1 && self.root == Root::List => items += 1,
                _ => {}
            }
            at += 1;
        }
    }
}

/// A string that begins here, as far as it goes, and where it ends.
fn string(bytes: &[u8]) -> (String, usize) {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    let end = at.min(bytes.len());
    (String::from_utf8_lossy(&bytes[1..end]).into_owned(), (end + 1).min(bytes.len()).max(1))
}

fn followed_by_colon(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        Shape::new(text.as_bytes().to_vec(), "x")
    }

    #[test]
    fn keys_are_found_wherever_the_text_is_cut() {
        let whole = r#"{"evalId": "a", "results": {"version": 3, "list": [{"no": 1}]}, "config": {}}"#;
        assert!(shape(whole).has_keys(&["evalId", "results", "config"]));
        assert!(shape(whole).has_inner("results", "version"));
        assert!(!shape(whole).has_inner("results", "no"));
        for cut in 1..whole.len() {
            let _ = shape(&whole[..cut]);
        }
        assert!(shape(&whole[..30]).has_keys(&["evalId", "results"]));
    }

    #[test]
    fn lines_and_lists_are_told_apart() {
        assert!(shape("{\"id\": 1}\n{\"id\": 2}\n").json.unwrap().lines);
        assert!(!shape("{\"id\": 1}\n").json.unwrap().lines);
        assert!(shape("[{\"id\": 1}, {\"other\": 2}]").lists_keys(&["id"]));
        assert!(!shape("[{\"id\": 1}, {\"other\": 2}]").lists_keys(&["other"]));
        assert!(!shape("[{\"id\": 1}]\n[{\"id\": 2}]").lists_keys(&["id"]));
        assert_eq!(shape("\"{}\"").json.unwrap().root, Root::Text);
        assert!(shape("id,score\n1,2\n").json.is_none());
    }
}
