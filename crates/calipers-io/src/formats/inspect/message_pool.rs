//! Puts pooled messages back into the events that use them.
//!
//! In an archive, the events of a sample point into a pool of messages, `events_data`, so that a conversation is not
//! stored once per turn. In a document Inspect does not look into that pool, so the messages are put back where they
//! belong. All of this is done on slices: what is not touched stays as it was written.

use crate::json::skim::{Skim, Unclear, items};
use std::borrow::Cow;

/// Pointers into a pool: the first place, and the one after the last.
type Refs = Vec<(usize, usize)>;

/// The sample with whole events, and without the pool.
pub(super) fn resolve(sample: &[u8]) -> Result<Cow<'_, [u8]>, Unclear> {
    let pool = match entry(sample, "events_data")? {
        Some(pool) if pool != b"null" => pool,
        _ => return Ok(Cow::Borrowed(sample)),
    };
    let messages = entry(pool, "messages")?.map_or(Ok(Vec::new()), items)?;
    let calls = entry(pool, "calls")?.map_or(Ok(Vec::new()), items)?;
    let whole = rewrite(sample, |key, value| match key {
        b"events_data" => Ok(None),
        b"events" if value != b"null" => {
            let events: Result<Vec<_>, Unclear> =
                items(value)?.into_iter().map(|event| whole_event(event, &messages, &calls)).collect();
            Ok(Some(Cow::Owned(list(&events?))))
        }
        _ => Ok(Some(Cow::Borrowed(value))),
    })?;
    Ok(Cow::Owned(whole))
}

fn whole_event<'a>(event: &'a [u8], messages: &[&[u8]], calls: &[&[u8]]) -> Result<Cow<'a, [u8]>, Unclear> {
    let input = refs(event, "input_refs")?;
    let call = entry(event, "call")?.filter(|call| *call != b"null");
    let called = match call {
        Some(call) => refs(call, "call_refs")?,
        None => None,
    };
    if input.is_none() && called.is_none() {
        return Ok(Cow::Borrowed(event));
    }
    rewrite(event, |key, value| match key {
        b"input_refs" => Ok(None),
        b"input" => {
            Ok(Some(input.as_ref().map_or(Cow::Borrowed(value), |refs| Cow::Owned(list(&pick(refs, messages))))))
        }
        b"call" => match &called {
            Some(refs) => Ok(Some(Cow::Owned(whole_call(value, &pick(refs, calls))?))),
            None => Ok(Some(Cow::Borrowed(value))),
        },
        _ => Ok(Some(Cow::Borrowed(value))),
    })
    .map(Cow::Owned)
}

/// The call of a model, with its messages back in the request.
fn whole_call(call: &[u8], messages: &[&[u8]]) -> Result<Vec<u8>, Unclear> {
    let key = entry(call, "call_key")?.filter(|key| *key != b"null").unwrap_or(b"\"messages\"");
    rewrite(call, |name, value| match name {
        b"call_refs" | b"call_key" => Ok(None),
        b"request" if value != b"null" => {
            let inside = &key[1..key.len() - 1];
            let mut request = rewrite(value, |name, value| Ok((name != inside).then_some(Cow::Borrowed(value))))?;
            request.pop();
            if request.len() > 1 {
                request.push(b',');
            }
            request.extend_from_slice(key);
            request.push(b':');
            request.extend_from_slice(&list(messages));
            request.push(b'}');
            Ok(Some(Cow::Owned(request)))
        }
        _ => Ok(Some(Cow::Borrowed(value))),
    })
}

fn pick<'a>(refs: &Refs, pool: &[&'a [u8]]) -> Vec<&'a [u8]> {
    refs.iter().flat_map(|&(start, end)| pool.get(start..end.min(pool.len())).unwrap_or_default()).copied().collect()
}

fn refs(map: &[u8], key: &str) -> Result<Option<Refs>, Unclear> {
    match entry(map, key)? {
        Some(refs) if refs != b"null" => serde_json::from_slice(refs)
            .map(Some)
            .map_err(|_| "a pointer into the message pool is not a pair of numbers"),
        _ => Ok(None),
    }
}

fn entry<'a>(map: &'a [u8], key: &str) -> Result<Option<&'a [u8]>, Unclear> {
    let mut skim = Skim::new(map)?;
    let mut found = None;
    while let Some((name, value)) = skim.entry()? {
        if name == key.as_bytes() {
            found = Some(value);
        }
    }
    Ok(found)
}

fn list<T: AsRef<[u8]>>(items: &[T]) -> Vec<u8> {
    let mut out = vec![b'['];
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item.as_ref());
    }
    out.push(b']');
    out
}

/// A map with other values, or without some of its entries.
pub(super) fn rewrite<'a>(
    map: &'a [u8],
    mut value_of: impl FnMut(&[u8], &'a [u8]) -> Result<Option<Cow<'a, [u8]>>, Unclear>,
) -> Result<Vec<u8>, Unclear> {
    let mut skim = Skim::new(map)?;
    let mut out = vec![b'{'];
    while let Some((key, value)) = skim.entry()? {
        let Some(value) = value_of(key, value)? else { continue };
        if out.len() > 1 {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(&value);
    }
    out.push(b'}');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_put_back_where_events_point() {
        let sample = r#"{"id": 1, "events": [{"event": "model", "input": [], "input_refs": [[0, 1], [2, 9]],
            "call": {"request": {"model": "m"}, "call_refs": [[1, 2]], "call_key": "contents"}}, {"event": "x"}],
            "events_data": {"messages": ["a", "b", {"c": NaN}], "calls": [1, 2]}, "attachments": {}}"#;
        let want = r#"{"id":1,"events":[{"event":"model","input":["a",{"c": NaN}],"call":{"request":{"model":"m","contents":[2]}}},{"event": "x"}],"attachments":{}}"#;
        assert_eq!(String::from_utf8_lossy(&resolve(sample.as_bytes()).unwrap()), want);
        let plain = r#"{"id": 1, "events": [{"input": [5]}], "events_data": null}"#;
        assert!(matches!(resolve(plain.as_bytes()), Ok(Cow::Borrowed(_))));
        assert!(resolve(br#"{"events": [{"input_refs": [1]}], "events_data": {}}"#).is_err());
    }
}
