//! Bodies of several parts (RFC 2046 §5.1.1): uploads, batches and forms (RFC 7578).

/// The `boundary` of a content type.
pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    content_type.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// What stands between the delimiters of a body.
pub(crate) fn parts<'b>(body: &'b [u8], boundary: &str) -> Vec<&'b [u8]> {
    let delimiter = format!("--{boundary}");
    let mut starts = Vec::new();
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let trimmed = line.trim_ascii_end();
        if trimmed.strip_prefix(delimiter.as_bytes()).is_some_and(|rest| rest.is_empty() || rest == b"--") {
            starts.push((at, at + line.len()));
        }
        at += line.len();
    }
    starts
        .windows(2)
        .map(|pair| {
            let part = &body[pair[0].1..pair[1].0];
            let part = part.strip_suffix(b"\n").unwrap_or(part);
            part.strip_suffix(b"\r").unwrap_or(part)
        })
        .collect()
}

/// Headers and content of a part.
pub(crate) fn split_head(part: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in part.split_inclusive(|byte| *byte == b'\n') {
        if line.trim_ascii().is_empty() {
            return (&part[..at], &part[at + line.len()..]);
        }
        at += line.len();
    }
    (part, &[])
}

/// The value of a header of a part.
pub(crate) fn header(head: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    text.lines().find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

/// The fields of a form, by name.
pub(crate) fn fields(body: &[u8], boundary: &str) -> Vec<(String, String)> {
    let field = |part| {
        let (head, content) = split_head(part);
        let disposition = header(head, "content-disposition")?;
        let name = disposition.split(';').find_map(|parameter| {
            let (own, value) = parameter.split_once('=')?;
            (own.trim() == "name").then(|| value.trim().trim_matches('"').to_owned())
        })?;
        Some((name, String::from_utf8_lossy(content).into_owned()))
    };
    parts(body, boundary).into_iter().filter_map(field).collect()
}
