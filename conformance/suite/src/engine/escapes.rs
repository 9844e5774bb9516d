//! Texts within JSON strings, however often one is written into another, with escapes that need not be there: `\/` of PHP,
//! `\u002B` of .NET.

use memchr::memmem;

/// A text with its escapes resolved, and where in the original its parts stand.
#[derive(Debug)]
pub(super) struct Unescaped {
    pub(super) text: String,
    /// For each byte of the text where in the original that begins which says it, and where the original ends.
    places: Vec<usize>,
}

/// Whether a text has escapes that a writer of JSON need not make.
pub(crate) fn has_needless(text: &[u8]) -> bool {
    memmem::find(text, br"\/").is_some() || memmem::find(text, br"\u").is_some()
}

impl Unescaped {
    /// Nothing where nothing is escaped.
    pub(super) fn of(original: &str) -> Option<Self> {
        memchr::memchr(b'\\', original.as_bytes())?;
        let mut unescaped = Self {
            text: String::with_capacity(original.len()),
            places: Vec::with_capacity(original.len() + 1),
        };
        let mut at = 0;
        while let Some(plain) = original[at..].chars().next() {
            let (character, length) = escape(&original[at..]).unwrap_or((plain, plain.len_utf8()));
            unescaped.text.push(character);
            unescaped.places.resize(unescaped.text.len(), at);
            at += length;
        }
        unescaped.places.push(at);
        Some(unescaped)
    }

    /// Once more. Places stay those of the first original.
    pub(super) fn again(&self) -> Option<Self> {
        let next = Self::of(&self.text)?;
        let places = next.places.iter().map(|at| self.places[*at]).collect();
        Some(Self { text: next.text, places })
    }

    /// Where a part of the text stands in the original.
    pub(super) fn place(&self, part: std::ops::Range<usize>) -> std::ops::Range<usize> {
        self.places[part.start]..self.places[part.end]
    }
}

/// What an escape at the beginning of a text says, and its length.
fn escape(text: &str) -> Option<(char, usize)> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'\\') {
        return None;
    }
    let simple = |character| Some((character, 2));
    match bytes.get(1)? {
        b'u' => {
            let unit = |at: usize| u16::from_str_radix(text.get(at..at + 4)?, 16).ok();
            let first = unit(2)?;
            let second = text.get(6..8).filter(|more| *more == r"\u").and_then(|_| unit(8));
            let both = char::decode_utf16([first].into_iter().chain(second)).next()?.ok()?;
            Some((both, if both.len_utf16() == 2 { 12 } else { 6 }))
        }
        b'n' => simple('\n'),
        b't' => simple('\t'),
        b'r' => simple('\r'),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'"' => simple('"'),
        b'\\' => simple('\\'),
        b'/' => simple('/'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved_and_known_by_their_places() {
        let original = r"é\/a\u002Bb\\u002dc\ud83d\ude00\x\";
        let once = Unescaped::of(original).expect("escapes");
        assert_eq!(once.text, "é/a+b\\u002dc😀\\x\\");
        assert_eq!(&original[once.place(2..5)], r"\/a\u002B");
        assert_eq!(once.place(0..once.text.len()), 0..original.len());
        let twice = once.again().expect("escapes");
        assert_eq!(twice.text, "é/a+b-c😀\\x\\");
        let dash = twice.text.find('-').expect("a dash");
        assert_eq!(&original[twice.place(dash..dash + 1)], r"\\u002d");
        assert!(Unescaped::of("plain").is_none());
        for odd in [r"\u12", r"\u", r"\ud83d", r"\ud83dx", "\\uéé", "\\é"] {
            assert_eq!(Unescaped::of(odd).expect("a backslash").text, odd);
        }
    }
}
