//! What a certificate says of itself: whose it is, and who issued it. Only read to name a chain that is not trusted.
//!
//! Deliberately absent: any judgement of certificates, which is the TLS library's.

/// Attributes of a name, by the last bytes of their object identifiers below 2.5.4.
const ATTRIBUTES: [(u8, &str); 4] = [(3, "CN"), (10, "O"), (11, "OU"), (6, "C")];
/// Bytes of an object identifier below 2.5.4, without its last.
const BELOW: [u8; 2] = [0x55, 0x04];
/// Characters of a name that are shown.
const SHOWN: usize = 120;

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
/// The version of a certificate, which older ones leave out.
const VERSION: u8 = 0xa0;

/// Subject and issuer of a certificate in DER, as `CN=a, O=b`.
pub(super) fn names(der: &[u8]) -> Option<(String, String)> {
    let mut outer = Reader(der);
    let mut certificate = Reader(outer.take(SEQUENCE)?);
    let mut body = Reader(certificate.take(SEQUENCE)?);
    if body.0.first() == Some(&VERSION) {
        body.next()?;
    }
    // The serial number and the algorithm of the signature.
    body.next()?;
    body.next()?;
    let issuer = name(body.take(SEQUENCE)?);
    // How long it is valid.
    body.next()?;
    let subject = name(body.take(SEQUENCE)?);
    Some((subject, issuer))
}

/// A chain, from the target's certificate on, each with its issuer.
pub(super) fn chain<'a>(certificates: impl Iterator<Item = &'a [u8]>) -> String {
    let mut shown = String::new();
    let mut last = None;
    for (subject, issuer) in certificates.filter_map(names) {
        if !shown.is_empty() {
            shown.push_str(", issued by ");
        }
        shown.extend(["`", subject.as_str(), "`"]);
        last = Some((subject, issuer));
    }
    match last {
        Some((subject, issuer)) if subject == issuer => shown + " (by itself)",
        Some((_, issuer)) => format!("{shown}, issued by `{issuer}`"),
        None => "a certificate that cannot be read".to_owned(),
    }
}

fn name(der: &[u8]) -> String {
    let mut parts = Vec::new();
    let mut sets = Reader(der);
    while let Some((_, set)) = sets.next() {
        let mut pairs = Reader(set);
        while let Some(pair) = pairs.take(SEQUENCE) {
            let mut pair = Reader(pair);
            let (Some(identifier), Some((_, value))) = (pair.take(OBJECT_IDENTIFIER), pair.next()) else {
                break;
            };
            let known = ATTRIBUTES.iter().find(|(last, _)| identifier == [BELOW[0], BELOW[1], *last]);
            if let Some((_, attribute)) = known {
                parts.push(format!("{attribute}={}", text(value)));
            }
        }
    }
    if parts.is_empty() { "nobody".to_owned() } else { parts.join(", ") }
}

fn text(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    text.chars().map(|c| if c.is_control() || c == '`' { '?' } else { c }).take(SHOWN).collect()
}

/// Values of DER, one after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next value, with its tag.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = if *first < 0x80 {
            (usize::from(*first), rest)
        } else {
            let bytes = usize::from(*first & 0x7f);
            let (length, rest) = rest.split_at_checked(bytes).filter(|_| (1..=4).contains(&bytes))?;
            (length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, value))
    }

    /// The next value, which has this tag.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(own, _)| *own == tag).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

    use super::*;

    #[test]
    fn a_chain_is_named_from_the_target_on() {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Orchid `root`");
        params.distinguished_name.push(DnType::OrganizationName, "Orchid");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = params.self_signed(&key).expect("a certificate");
        let issuer = Issuer::new(params, key);
        let mut params = CertificateParams::new(vec!["hub.test".to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, "hub.test");
        let own = params.signed_by(&KeyPair::generate().expect("a key"), &issuer).expect("a certificate");
        let check = |chain: &[&[u8]], expect: &str| assert_eq!(super::chain(chain.iter().copied()), expect);
        check(&[own.der(), ca.der()], "`CN=hub.test`, issued by `CN=Orchid ?root?, O=Orchid` (by itself)");
        check(&[own.der()], "`CN=hub.test`, issued by `CN=Orchid ?root?, O=Orchid`");
        check(&[b"\x30\x82\xff\xff\x30"], "a certificate that cannot be read");
        for end in 0..own.der().len() {
            assert!(names(&own.der()[..end]).is_none(), "{end}");
        }
    }
}
