//! Whether the browser tool does what its actions say (Universal Tool Invocation L102-107).

use serde_json::Value;

use super::tool::{output, wrong};
use crate::engine::judge::{Finding, Judgement};
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::pages::{CLICKED, Page};
use crate::transcript::{Frame, Kind};

/// After navigating: address and title of the page.
pub fn arrives(call: &Call, answer: &Answer<'_>, url: &str, page: &Page) -> Judgement {
    output(call, answer)?;
    // A browser may write an address in another form.
    let plain = |text: &str| text.trim_end_matches(['/', '#', '?']).to_owned();
    let reported = answer.at("/url").and_then(Value::as_str).map(plain);
    if reported.as_deref() != Some(url) {
        return Err(wrong(answer, "/url", url, "the tool does not say which page it reached"));
    }
    let title = answer.at("/title").and_then(Value::as_str).map(str::trim);
    if title != Some(page.title.as_str()) {
        return Err(wrong(answer, "/title", page.title.as_str(), "the tool does not give the page's title"));
    }
    Ok(())
}

/// The browser went to the page.
pub fn visits(frames: &[Frame], call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    if frames.iter().any(|frame| frame.kind == Kind::Web) {
        return Ok(());
    }
    let hint = "run the very tool that the request names";
    Err(Finding::new("the answer is not the work of the browser", hint).frame(answer.frame).into())
}

/// After extracting: the text of the page.
pub fn reads(call: &Call, answer: &Answer<'_>, page: &Page) -> Judgement {
    output(call, answer)?;
    let text = answer.at("/text").and_then(Value::as_str).unwrap_or_default();
    if text.contains(&page.story) && !text.contains("<p") {
        return Ok(());
    }
    Err(wrong(answer, "/text", page.story.as_str(), "the text is not that of the page"))
}

/// After clicking: true, and the page was clicked.
pub fn clicks(frames: &[Frame], call: &Call, answer: &Answer<'_>) -> Judgement {
    says_true(call, answer)?;
    if frames.iter().any(is_click) {
        return Ok(());
    }
    Err(Finding::new(
        "the tool says that it clicked, and the page was not clicked",
        "click the element that the selector names, and say `true` only then",
    )
    .actual(answer.at("/clicked"))
    .at("/context/output/clicked")
    .frame(answer.frame)
    .into())
}

/// After clicking: true.
pub fn says_true(call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    if answer.at("/clicked") == Some(&Value::Bool(true)) {
        return Ok(());
    }
    Err(wrong(answer, "/clicked", true, "the tool does not say `true` for a click"))
}

/// Whether the page reports a click.
pub fn is_click(frame: &Frame) -> bool {
    frame.kind == Kind::Web && frame.channel.contains(CLICKED)
}

/// After a screenshot: the path of an image.
pub fn shoots(frames: &[Frame], call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    let path = answer.at("/path").and_then(Value::as_str).filter(|path| !path.is_empty());
    // A picture is no path to it.
    let Some(path) = path.filter(|path| path.len() < 4096 && !path.starts_with("data:")) else {
        return Err(wrong(answer, "/path", "the path of a file", "the tool does not name the image's file"));
    };
    let looked = frames.iter().rev().find(|frame| frame.kind == Kind::Stored && frame.channel == "file");
    match looked.map(|frame| (frame, frame.text("/form"))) {
        None | Some((_, Some("png" | "jpeg" | "webp"))) => Ok(()),
        Some((frame, _)) => Err(Finding::new(
            "there is no image at this path",
            "write the image to the path that `output.path` names; where the suite cannot see the runner's files, say \
             `shared_files = false` in `[breadcrumb.tools]`",
        )
        .expected("a file in the form PNG, JPEG or WebP")
        .actual(Some(&Value::from(path)))
        .at("/context/output/path")
        .frame(answer.frame)
        .frame(frame)
        .into()),
    }
}

/// The form of an image, by its first bytes.
pub fn form(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => None,
    }
}

/// After running a script: its value.
pub fn evaluates(call: &Call, answer: &Answer<'_>, value: &Value) -> Judgement {
    output(call, answer)?;
    let reported = answer.at("/result");
    let is_same = match value.as_f64() {
        Some(number) => super::tool::is_number(reported, number),
        None => reported == Some(value),
    };
    if is_same {
        return Ok(());
    }
    Err(wrong(answer, "/result", value.clone(), "the tool does not give the value of the script"))
}
