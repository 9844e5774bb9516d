//! Mails as they travel: RFC 5322 written by `mail-builder`, headers read by `mail-parser`, in the provider's base64url.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mail_builder::MessageBuilder;
use mail_builder::headers::message_id::MessageId;
use mail_builder::mime::make_boundary;
use mail_parser::MessageParser;

/// Written with padding, read with or without it, as the provider does.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A mail to be written. Addresses and subject are one line each.
#[derive(Debug, Clone)]
pub(super) struct MimeMessage {
    pub(super) from: String,
    pub(super) to: Vec<String>,
    pub(super) cc: Vec<String>,
    pub(super) bcc: Vec<String>,
    pub(super) subject: String,
    pub(super) body: String,
    pub(super) is_html: bool,
    /// Ids of the mails before it in the thread, without angle brackets; the last is the one replied to.
    pub(super) references: Vec<String>,
}

impl MimeMessage {
    /// The mail, or nothing if it cannot be written, which memory does not do.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        let domain = self.from.rsplit_once('@').map_or("localhost", |(_local, domain)| domain);
        let mut builder = MessageBuilder::new()
            .message_id(format!("{}@{domain}", make_boundary(".")))
            .from(self.from.as_str())
            .to(self.to.clone())
            .subject(self.subject.as_str());
        if !self.cc.is_empty() {
            builder = builder.cc(self.cc.clone());
        }
        if !self.bcc.is_empty() {
            builder = builder.bcc(self.bcc.clone());
        }
        if let Some(last) = self.references.last() {
            builder = builder
                .in_reply_to(last.as_str())
                .references(MessageId::new_list(self.references.iter().map(String::as_str)));
        }
        let body = self.body.as_str();
        let builder = if self.is_html { builder.html_body(body) } else { builder.text_body(body) };
        builder.write_to_vec().ok()
    }
}

pub(super) fn encode(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text.trim_end()).ok()
}

/// The bare addresses of a header's value, in their order.
pub(super) fn addresses(value: &str) -> Vec<String> {
    let header = header("To", value);
    let Some(message) = MessageParser::new().with_address_headers().parse(header.as_bytes()) else {
        return Vec::new();
    };
    let addresses = message.to().into_iter().flat_map(mail_parser::Address::iter);
    addresses.filter_map(|address| address.address().map(str::to_owned)).collect()
}

/// A subject without its encoded words.
pub(super) fn subject(value: &str) -> String {
    let header = header("Subject", value);
    let message = MessageParser::default().parse(header.as_bytes());
    message.and_then(|message| message.subject().map(str::to_owned)).unwrap_or_default()
}

/// The ids in a header such as `References`, without angle brackets; what is not an id is left out.
pub(super) fn message_ids(value: &str) -> Vec<String> {
    let plain = |id: &&str| {
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'))
    };
    value
        .split_whitespace()
        .filter_map(|word| word.strip_prefix('<')?.strip_suffix('>'))
        .filter(plain)
        .map(str::to_owned)
        .collect()
}

/// One header and the end of the head; a line break in the value would begin another.
fn header(name: &str, value: &str) -> String {
    format!("{name}: {}\r\n\r\n", value.replace(['\r', '\n'], " "))
}

#[cfg(test)]
mod tests {
    use mail_parser::MessageParser;

    use super::{MimeMessage, addresses, decode, encode, message_ids, subject};

    #[test]
    fn what_is_written_can_be_read() {
        fn check(text: &str, is_html: bool) {
            let message = MimeMessage {
                from: "me@orchid.example".to_owned(),
                to: vec!["ana@orchid.example".to_owned(), "bo@orchid.example".to_owned()],
                cc: vec!["cy@orchid.example".to_owned()],
                bcc: vec!["di@orchid.example".to_owned()],
                subject: format!("Zwei Punkte: {}", "für Ána ".repeat(20).trim()),
                body: text.to_owned(),
                is_html,
                references: vec!["one@x".to_owned(), "two@x".to_owned()],
            };
            let bytes = decode(&encode(&message.write().expect("a mail"))).expect("base64");
            let mail = MessageParser::default().parse(&bytes).expect("a mail");
            assert_eq!(mail.subject(), Some(message.subject.as_str()));
            assert_eq!(mail.to().map(|to| to.iter().count()), Some(2));
            assert_eq!(mail.cc().and_then(|cc| cc.first()?.address()), Some("cy@orchid.example"));
            assert_eq!(mail.bcc().and_then(|bcc| bcc.first()?.address()), Some("di@orchid.example"));
            assert_eq!(mail.in_reply_to().as_text(), Some("two@x"));
            assert_eq!(mail.references().as_text_list().map(<[_]>::len), Some(2));
            assert!(mail.message_id().is_some_and(|id| id.ends_with("@orchid.example")));
            let body = if is_html { mail.body_html(0) } else { mail.body_text(0) };
            let unified = body.expect("a body").replace("\r\n", "\n");
            assert_eq!(unified.trim_end_matches('\n'), text.trim_end_matches('\n'));
        }
        check("Hi Bo, see below.", false);
        check("Línea uno\nlínea dos\n.\n..\nFrom here\n\n--\nAna", false);
        check(&"a long line ".repeat(200), false);
        check("<p>Grüße</p>", true);
        check("", false);
    }

    #[test]
    fn headers_are_read_as_people_write_them() {
        assert_eq!(addresses("ana@orchid.example"), ["ana@orchid.example"]);
        assert_eq!(addresses("\"Orchid, Ana\" <ana@x.example>, bo@y"), ["ana@x.example", "bo@y"]);
        assert_eq!(addresses("=?utf-8?q?=C3=81na?= <ana@x>"), ["ana@x"]);
        assert_eq!(addresses("team: ana@x, bo@y;"), ["ana@x", "bo@y"]);
        assert!(addresses("undisclosed-recipients:;").is_empty());
        assert!(addresses("").is_empty());
        assert_eq!(subject("=?utf-8?q?Gr=C3=BC=C3=9Fe?= an alle"), "Grüße an alle");
        assert_eq!(subject("Grüße"), "Grüße");
        assert_eq!(subject(""), "");
        assert_eq!(message_ids("<a@x> <b@y>\r\n <c@z>"), ["a@x", "b@y", "c@z"]);
        assert!(message_ids("no id <two\u{7f}@x> <>").is_empty());
    }

    #[test]
    fn padding_is_optional() {
        assert_eq!(decode("_-8=").as_deref(), Some([0xff, 0xef].as_slice()));
        assert_eq!(decode("_-8").as_deref(), Some([0xff, 0xef].as_slice()));
        assert_eq!(decode("/+8="), None);
    }
}
