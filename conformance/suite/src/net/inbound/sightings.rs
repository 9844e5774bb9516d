//! What was noticed of a target on its way to the suite, and what is said of it beside the verdict.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::transcript::lock;

/// Names that are kept of each kind; more are only counted.
const MAX_NAMES: usize = 12;
/// Characters of a name that are shown.
const MAX_NAME: usize = 100;

/// The variables that say where the CA's certificate is, by those who read them.
pub(super) const TRUSTED: [&str; 6] = [
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "HTTPLIB2_CA_CERTS",
    "DENO_CERT",
];

/// What may be noticed of a host that a target asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sighting {
    /// Nobody plays it.
    Refused,
    /// The target said by an alert that it does not trust the certificate.
    Distrusted,
    /// The target closed a connection when it had seen the certificate, and sent nothing.
    Silent,
    /// What came after `CONNECT` was neither TLS nor HTTP.
    NoTls,
    /// The target needs it, and did not ask for it.
    Unasked,
    /// By TLS the target asked for another host than by `CONNECT`.
    OtherName,
    /// A request came from there.
    Heard,
}

/// Names, by what was noticed of them, and how many more there were.
#[derive(Debug, Default)]
pub(super) struct Sightings(Mutex<BTreeMap<Sighting, Names>>);

#[derive(Debug, Default)]
struct Names {
    /// In the order in which they came.
    kept: Vec<String>,
    more: usize,
}

impl Sightings {
    /// Notes something of a host.
    pub(super) fn note(&self, what: Sighting, name: &str) {
        let name = shown(name);
        let mut all = lock(&self.0);
        let names = all.entry(what).or_default();
        if names.kept.contains(&name) {
            return;
        }
        if names.kept.len() < MAX_NAMES {
            names.kept.push(name);
        } else {
            names.more += 1;
        }
    }

    /// One sentence for each kind.
    pub(super) fn remarks(&self) -> Vec<String> {
        let all = lock(&self.0);
        let heard = |name: &String| {
            let of = |what: &Sighting| all.get(what).is_some_and(|names| names.kept.contains(name));
            of(&Sighting::Heard) || of(&Sighting::Distrusted)
        };
        let mut remarks = Vec::new();
        for (what, names) in all.iter() {
            let quoted = match what {
                // Whoever was heard trusts the CA, and may open connections that it does not need.
                Sighting::Silent | Sighting::Unasked => names.quoted(|name| !heard(name)),
                _ => names.quoted(|_| true),
            };
            let Some(quoted) = quoted else { continue };
            remarks.push(match what {
                Sighting::Heard => continue,
                Sighting::Refused => format!(
                    "the target asked for {quoted}, which the suite does not play: the proxy refused that"
                ),
                Sighting::Distrusted => distrusted(&quoted),
                Sighting::Silent => format!(
                    "the target closed its connections to {quoted} without a request, as clients do that do not trust \
                     the CA of the run: it may read none of {}",
                    variables()
                ),
                Sighting::Unasked => format!(
                    "the target did not ask the proxy of the run for {quoted}: it, or its HTTP library, may read neither \
                     `HTTPS_PROXY` nor `https_proxy`"
                ),
                Sighting::NoTls => {
                    format!("what the target sent to {quoted} after `CONNECT` was no TLS: the proxy closed that connection")
                }
                Sighting::OtherName => format!(
                    "the target asked for one host by `CONNECT` and for another by TLS: {quoted}; the proxy refused that"
                ),
            });
        }
        remarks
    }

    /// That the target trusts the CA of the run for none of the hosts that it asked for.
    pub(super) fn distrust(&self) -> Option<String> {
        let all = lock(&self.0);
        let names = all.get(&Sighting::Distrusted).filter(|_| !all.contains_key(&Sighting::Heard))?;
        names.quoted(|_| true).map(|quoted| distrusted(&quoted))
    }
}

fn distrusted(quoted: &str) -> String {
    format!(
        "the target did not trust the CA of the run for {quoted}: it reads none of {}; have it trust the certificates in \
         the file that `SSL_CERT_FILE` names",
        variables()
    )
}

impl Names {
    /// Those that are meant, as a sentence names them.
    fn quoted(&self, is_meant: impl Fn(&String) -> bool) -> Option<String> {
        let meant: Vec<String> =
            self.kept.iter().filter(|name| is_meant(name)).map(|name| format!("`{name}`")).collect();
        if meant.is_empty() {
            return None;
        }
        let more = match self.more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("{}{more}", meant.join(", ")))
    }
}

fn variables() -> String {
    let [others @ .., last] = TRUSTED.map(|name| format!("`{name}`"));
    format!("{} and {last}", others.join(", "))
}

/// A name as it may stand in a report, whoever made it up.
fn shown(name: &str) -> String {
    let short: String = name.chars().take(MAX_NAME).collect();
    let cut = if short.len() < name.len() { "…" } else { "" };
    format!("{}{cut}", short.escape_debug().to_string().replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_each_is_named_once() {
        let sightings = Sightings::default();
        for number in (0..40).chain(0..3) {
            sightings.note(Sighting::Refused, &format!("host{number}.example"));
        }
        let [remark] = &sightings.remarks()[..] else { panic!("{:?}", sightings.remarks()) };
        assert!(remark.contains("`host0.example`, `host1.example`"), "{remark}");
        assert_eq!(remark.matches("host0.example").count(), 1, "{remark}");
        assert!(remark.contains(" and 28 more, "), "{remark}");
        sightings.note(Sighting::OtherName, &format!("a\u{1b}[31m`{}", "x".repeat(5_000)));
        let long = sightings.remarks().pop().expect("a remark");
        assert!(long.len() < 400 && !long.contains('\u{1b}'), "{long}");
    }

    #[test]
    fn who_sent_a_request_trusts_the_ca() {
        let sightings = Sightings::default();
        sightings.note(Sighting::Silent, "a.example");
        assert!(sightings.remarks()[0].contains("NODE_EXTRA_CA_CERTS"), "{:?}", sightings.remarks());
        sightings.note(Sighting::Heard, "a.example");
        assert_eq!(sightings.remarks(), [""; 0]);
        sightings.note(Sighting::Unasked, "a.example");
        assert_eq!(sightings.remarks(), [""; 0]);
        sightings.note(Sighting::Unasked, "c.example");
        assert!(sightings.remarks()[0].contains("did not ask the proxy of the run for `c.example`"));
        sightings.note(Sighting::Distrusted, "b.example");
        assert!(sightings.remarks()[0].contains("did not trust the CA of the run for `b.example`"));
        // Who was heard from one host has the CA.
        assert_eq!(sightings.distrust(), None);
        let others = Sightings::default();
        others.note(Sighting::Distrusted, "b.example");
        assert_eq!(others.distrust(), others.remarks().pop());
    }
}
