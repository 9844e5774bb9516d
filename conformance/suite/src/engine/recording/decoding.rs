//! Bodies of HTTP as their content coding left them. Recorders of HTTP archives undo it; what passes still has it.

use std::io::Read;

use flate2::read::{GzDecoder, ZlibDecoder};

use super::MAX_LINE;
use super::observer::{HttpExchange, Traffic};

/// The same without content codings; nothing where a body has one that is not known, or is too long without it.
pub(super) fn decoded(traffic: Traffic) -> Option<Traffic> {
    let Traffic::Http(exchange) = traffic else { return Some(traffic) };
    let HttpExchange { request_headers, request, response_headers, response, .. } = &exchange;
    let request = plain(request_headers.get(CODING), request);
    let response = plain(response_headers.get(CODING), response);
    let (request, response) = (request?, response?);
    Some(Traffic::Http(HttpExchange {
        request: request.unwrap_or(exchange.request),
        response: response.unwrap_or(exchange.response),
        ..exchange
    }))
}

const CODING: &str = "content-encoding";

/// The body without its coding; `Some(None)` where it has none.
#[expect(clippy::option_option, reason = "a body may be unreadable, or already as it should be")]
fn plain(coding: Option<&String>, body: &[u8]) -> Option<Option<Vec<u8>>> {
    let coding = coding.map(|coding| coding.trim().to_ascii_lowercase()).unwrap_or_default();
    // The answer to a HEAD request, for example, names a coding and has no body.
    if body.is_empty() {
        return Some(None);
    }
    match coding.as_str() {
        "" | "identity" => Some(None),
        "gzip" | "x-gzip" => bounded(GzDecoder::new(body)).map(Some),
        "deflate" => bounded(ZlibDecoder::new(body)).map(Some),
        _ => None,
    }
}

fn bounded(from: impl Read) -> Option<Vec<u8>> {
    let mut read = Vec::new();
    from.take(MAX_LINE as u64 + 1).read_to_end(&mut read).ok()?;
    (read.len() <= MAX_LINE).then_some(read)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text).expect("bytes in memory");
        packed.finish().expect("bytes in memory")
    }

    #[test]
    fn a_coding_is_undone_where_it_is_known() {
        let check = |coding: Option<&str>, body: &[u8], expect: Option<&[u8]>| {
            let response_headers = coding.map(|coding| (CODING.to_owned(), coding.to_owned()));
            let exchange = HttpExchange {
                response_headers: response_headers.into_iter().collect(),
                response: body.to_vec(),
                ..HttpExchange::default()
            };
            let found = match decoded(Traffic::Http(exchange)) {
                Some(Traffic::Http(exchange)) => Some(exchange.response),
                _ => None,
            };
            assert_eq!(found.as_deref(), expect, "{coding:?}");
        };
        check(None, b"{}", Some(b"{}"));
        check(Some("identity"), b"{}", Some(b"{}"));
        check(Some("GZIP"), &packed(b"{}"), Some(b"{}"));
        check(Some("gzip"), b"", Some(b""));
        check(Some("gzip"), b"{}", None);
        check(Some("gzip"), &packed(b"{}")[..12], None);
        check(Some("br"), b"{}", None);
        // A few bytes may become very many.
        check(Some("gzip"), &packed(&vec![0; MAX_LINE + 1]), None);
        check(Some("gzip"), &packed(&vec![b'x'; MAX_LINE]), Some(&vec![b'x'; MAX_LINE]));
    }
}
