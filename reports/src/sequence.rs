//! A sequence diagram of an exchange: who sent what to whom, as inline SVG.
//!
//! It needs no script, takes its colours from the page, and says in its description what it shows, for those who cannot
//! see it. Text of a target is shortened and escaped like everywhere else. `templates/sequence.css` is its style.

use maud::{Markup, html};

use crate::record::{Direction, FrameExcerpt};
use crate::{text, view};

/// The style, for the page that shows diagrams.
pub(crate) const STYLE: &str = include_str!("../templates/sequence.css");

/// Messages that are drawn; more are counted.
const MESSAGES: usize = 24;
/// Between two lifelines.
const COLUMN: u32 = 300;
/// On both sides of the outer lifelines.
const MARGIN: u32 = 70;
/// From one message to the next.
const ROW: u32 = 46;
/// Above the first one.
const HEAD: u32 = 46;
/// Half an arrowhead.
const TIP: u32 = 5;
/// Letters of a name, and in a label for each column that it may cover.
const NAME: usize = 16;
const LETTERS: usize = 38;

/// Who has a lifeline: the target, and the others in the order of their first messages.
const TARGET: &str = "target";

/// The diagram of these messages, in this order; nothing where there are none. `id` is unique in the page.
pub(crate) fn diagram(id: &str, frames: &[FrameExcerpt]) -> Markup {
    let shown = &frames[..frames.len().min(MESSAGES)];
    let lifelines = lifelines(shown);
    let (title, description) = (format!("{id}-title"), format!("{id}-desc"));
    let width = 2 * MARGIN + COLUMN * count(lifelines.len().saturating_sub(1));
    let height = HEAD + ROW * count(shown.len()) + ROW / 2;
    html! {
        @if !shown.is_empty() {
            div.sequence tabindex="0" role="group" aria-label="Sequence diagram" {
                svg viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="img"
                    aria-labelledby={ (title) " " (description) } {
                    title id=(title) { "Who sent what to whom" }
                    desc id=(description) { (words(shown)) }
                    @for (name, n) in lifelines.iter().zip(0..) {
                        @let x = column(n);
                        line.lifeline x1=(x) x2=(x) y1=(HEAD - 18) y2=(height - 6) {}
                        text.party x=(x) y="18" text-anchor="middle" { (cut(name, NAME)) }
                    }
                    @for (frame, n) in shown.iter().zip(0..) { (message(frame, HEAD + ROW * n, &lifelines)) }
                }
                @if frames.len() > MESSAGES { p { "… and " (text::count(frames.len() - MESSAGES, "more message")) } }
            }
        }
    }
}

fn message(frame: &FrameExcerpt, y: u32, lifelines: &[String]) -> Markup {
    let of = |name: &str| lifelines.iter().position(|own| own == name).map_or(0, count);
    let (party, target) = (column(of(&name(&frame.party))), column(of(TARGET)));
    let (class, from, to) = match frame.direction {
        Direction::ToTarget => ("to-target", party, target),
        Direction::FromTarget => ("from-target", target, party),
        Direction::Observed => ("observed", party, party),
    };
    let line = y + ROW / 2;
    let left = from.min(to);
    let columns = (from.abs_diff(to) / COLUMN).max(1) as usize;
    let label = format!("{} {}", frame.n, text::line(&frame.channel, text::LINE));
    html! {
        g.message.(class) {
            text x=(left + 8) y=(line - 6) { (cut(&label, LETTERS * columns)) }
            @if from == to { circle cx=(from) cy=(line) r="4" {} } @else {
                line x1=(from) x2=(to) y1=(line) y2=(line) {}
                polygon points=(tip(from, to, line)) {}
            }
        }
    }
}

/// An arrowhead at `to`.
fn tip(from: u32, to: u32, y: u32) -> String {
    let back = if from < to { to - 2 * TIP } else { to + 2 * TIP };
    format!("{to},{y} {back},{} {back},{}", y - TIP, y + TIP)
}

/// The target stands after the party that sends first, so that most arrows are short.
fn lifelines(frames: &[FrameExcerpt]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for frame in frames {
        let party = name(&frame.party);
        if !all.contains(&party) {
            all.push(party);
        }
        if all.len() == 1 && !all.iter().any(|own| own == TARGET) {
            all.push(TARGET.to_owned());
        }
    }
    all
}

fn name(party: &str) -> String {
    text::line(party, 80)
}

/// What the picture shows.
fn words(frames: &[FrameExcerpt]) -> String {
    let sentence = |frame: &FrameExcerpt| {
        format!("Message {}, {}: {}.", frame.n, view::route(frame), text::line(&frame.channel, 120))
    };
    frames.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

fn column(n: u32) -> u32 {
    MARGIN + COLUMN * n
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frame(n: u32, direction: Direction, party: &str, channel: &str) -> FrameExcerpt {
        let (party, channel) = (party.to_owned(), channel.to_owned());
        FrameExcerpt { n, direction, party, channel, headers: [].into(), body: json!(null) }
    }

    #[test]
    fn each_party_has_a_lifeline_and_each_message_an_arrow() {
        let frames = [
            frame(1, Direction::ToTarget, "worker", "cg.v1r3.p.public.cmd.tool.echo"),
            frame(2, Direction::FromTarget, "card store", "l0.v1.p.cards.get"),
            frame(3, Direction::FromTarget, "L0", "l0.v1.p.public.report"),
        ];
        let svg = diagram("d1", &frames).into_string();
        let all = ["worker", "target", "card store", "L0"];
        assert_eq!(lifelines(&frames), all);
        assert_eq!(svg.matches("<polygon").count(), 3);
        assert_eq!(svg.matches("class=\"lifeline\"").count(), 4);
        assert!(svg.contains("Message 2, target → card store: l0.v1.p.cards.get."), "{svg}");
        // The first arrow leads to the right, the second one, too: from the target to the store behind it.
        assert!(svg.contains("x1=\"70\" x2=\"370\"") && svg.contains("x1=\"370\" x2=\"670\""), "{svg}");
    }

    #[test]
    fn what_a_target_says_is_no_markup() {
        let hostile = "<script>alert(1)</script>\u{202e}";
        let svg = diagram("d1", &[frame(1, Direction::FromTarget, hostile, hostile)]).into_string();
        assert!(!svg.contains("<script") && !svg.contains('\u{202e}'), "{svg}");
    }

    #[test]
    fn a_long_exchange_is_cut_and_its_rest_counted() {
        let frames: Vec<FrameExcerpt> =
            (1..=30).map(|n| frame(n, Direction::Observed, "bus", &"x".repeat(500))).collect();
        let svg = diagram("d1", &frames).into_string();
        assert_eq!(svg.matches("<circle").count(), MESSAGES);
        assert!(svg.contains("6 more messages"), "{svg}");
        assert!(diagram("d1", &[]).into_string().is_empty());
    }
}
