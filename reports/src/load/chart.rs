//! Pictures of values over time, as inline SVG: no script, and the table below says the same in numbers.

use maud::{Markup, html};

/// Size of a picture, in its own units.
const WIDTH: u32 = 640;
const HEIGHT: u32 = 200;
/// Room for the numbers beside it and below it.
const LEFT: u32 = 64;
const BELOW: u32 = 24;
const ABOVE: u32 = 10;
/// Lines across.
const STEPS: u64 = 4;

/// Values over time.
pub(crate) struct Line<'a> {
    /// What it is, for the legend; each has a dash of its own, since colour alone says nothing.
    pub(crate) name: &'a str,
    /// Class of its style.
    pub(crate) class: &'a str,
    /// One for each interval.
    pub(crate) values: Vec<u64>,
}

/// A picture of several lines.
pub(crate) struct Chart<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    /// What it shows, in words.
    pub(crate) description: String,
    pub(crate) lines: Vec<Line<'a>>,
    /// Milliseconds of all intervals.
    pub(crate) duration_ms: u64,
    pub(crate) unit: fn(u64) -> String,
}

impl Chart<'_> {
    pub(crate) fn show(&self) -> Markup {
        let most = self.lines.iter().flat_map(|line| &line.values).copied().max().unwrap_or_default();
        let top = rounded_up(most);
        let (title, description) = (format!("{}-title", self.id), format!("{}-desc", self.id));
        html! {
            figure {
                figcaption { (self.title) }
                svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby={ (title) " " (description) } {
                    title id=(title) { (self.title) }
                    desc id=(description) { (self.description) }
                    @for step in 0..=STEPS {
                        @let value = top * step / STEPS;
                        @let y = height(value, top);
                        line.grid x1=(LEFT) x2=(WIDTH) y1=(y) y2=(y) {}
                        text x=(LEFT - 8) y=(y + 4) text-anchor="end" { ((self.unit)(value)) }
                    }
                    text x=(LEFT) y=(HEIGHT - 6) { "0 s" }
                    text x=(WIDTH) y=(HEIGHT - 6) text-anchor="end" { (seconds(self.duration_ms)) }
                    @for line in &self.lines {
                        polyline class=(line.class) points=(points(&line.values, top)) {}
                    }
                }
                ul.legend {
                    @for line in &self.lines {
                        li {
                            svg.key viewBox="0 0 24 8" aria-hidden="true" { line class=(line.class) x1="0" x2="24" y1="4" y2="4" {} }
                            " " (line.name)
                        }
                    }
                }
            }
        }
    }
}

/// Where a value stands, from above.
fn height(value: u64, top: u64) -> u32 {
    let room = u64::from(HEIGHT - BELOW - ABOVE);
    let up = u32::try_from(value.min(top) * room / top.max(1)).unwrap_or_default();
    HEIGHT - BELOW - up
}

/// A point in the middle of each interval; a single one is a line all the same.
fn points(values: &[u64], top: u64) -> String {
    let room = u64::from(WIDTH - LEFT);
    let count = values.len().max(1) as u64;
    let point = |(value, number): (&u64, u64)| {
        let x = u64::from(LEFT) + room * (2 * number + 1) / (2 * count);
        format!("{x},{}", height(*value, top))
    };
    match values {
        [only] => format!("{LEFT},{y} {WIDTH},{y}", y = height(*only, top)),
        all => all.iter().zip(0..).map(point).collect::<Vec<_>>().join(" "),
    }
}

/// The next number with one digit other than zero that the steps divide well.
fn rounded_up(most: u64) -> u64 {
    let mut unit = 1;
    loop {
        for top in [4, 8, 12, 20, 40] {
            if top * unit >= most {
                return top * unit;
            }
        }
        unit *= 10;
    }
}

fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) {
        format!("{} s", ms / 1000)
    } else {
        format!("{}.{} s", ms / 1000, ms % 1000 / 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_value_is_within_the_picture() {
        for most in [0, 1, 3, 4, 5, 99, 12_345, 200_000, 10_000_000] {
            let top = rounded_up(most);
            assert!(top >= most && top.is_multiple_of(4), "{most}: {top}");
            assert!((ABOVE..=HEIGHT - BELOW).contains(&height(most, top)), "{most}");
        }
    }

    #[test]
    fn a_single_interval_is_a_line() {
        assert_eq!(points(&[4], 4).split(' ').count(), 2);
        assert_eq!(points(&[1, 2, 3], 4).split(' ').count(), 3);
    }
}
