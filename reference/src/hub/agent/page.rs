//! The text of an HTML page: what stands between the tags, for a model to read.
//!
//! This is no HTML parser. It knows tags, comments, the elements whose content is no text, and the character
//! references that are common; anything else stays as it is written.

/// The longest title, in characters.
const TITLE_CHARACTERS: usize = 300;
/// Elements whose content is not text of the page.
const UNREAD: [&str; 4] = ["script", "style", "template", "noscript"];
/// Elements that do not end a word or a line.
const INLINE: [&str; 10] = ["a", "b", "i", "em", "strong", "span", "code", "small", "sub", "sup"];

/// The title, where there is one, and the text.
pub(super) fn read(html: &str) -> (Option<String>, String) {
    let mut title = None;
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let name = tag_name(rest);
        if name.is_empty() && !rest.starts_with("</") && !rest.starts_with("<!") {
            // A lone `<` of someone who did not escape it.
            text.push('<');
            rest = &rest[1..];
            continue;
        }
        rest = rest.split_once('>').map_or("", |(_, after)| after);
        if UNREAD.contains(&&*name) {
            rest = until_end_of(&name, rest).1;
        } else if name == "title" && title.is_none() {
            let (inside, after) = until_end_of(&name, rest);
            title = Some(tidy(&decoded(inside)).chars().take(TITLE_CHARACTERS).collect());
            rest = after;
        } else if !INLINE.contains(&&*name) {
            text.push('\n');
        }
    }
    text.push_str(rest);
    (title.filter(|title: &String| !title.is_empty()), tidy(&decoded(&text)))
}

/// The name of the tag that begins here, in lower case; of an end tag too. Empty where it is no tag.
fn tag_name(tag: &str) -> String {
    let name = tag.trim_start_matches('<');
    let name = name.strip_prefix('/').unwrap_or(name);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins_well { name[..end].to_ascii_lowercase() } else { String::new() }
}

/// What is inside an element, and what comes after its end.
fn until_end_of<'a>(name: &str, inside: &'a str) -> (&'a str, &'a str) {
    let mut from = 0;
    while let Some(at) = inside[from..].find("</").map(|at| from + at) {
        if tag_name(&inside[at..]) == name {
            let after = inside[at..].split_once('>').map_or("", |(_, after)| after);
            return (&inside[..at], after);
        }
        from = at + 2;
    }
    (inside, "")
}

fn decoded(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let reference =
            rest.find(';').filter(|end| *end <= 10).and_then(|end| Some((character(&rest[1..end])?, end)));
        let (found, length) = reference.map_or(('&', 1), |(found, end)| (found, end + 1));
        decoded.push(found);
        rest = &rest[length..];
    }
    decoded.push_str(rest);
    decoded
}

fn character(reference: &str) -> Option<char> {
    if let Some(number) = reference.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        return code.ok().and_then(char::from_u32);
    }
    Some(match reference {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        _ => return None,
    })
}

/// One space between words, one line break between lines, nothing around.
fn tidy(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
