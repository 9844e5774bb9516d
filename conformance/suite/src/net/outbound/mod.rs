//! The way out to a target: what all of its addresses ask of a client, as `[target.tls]` and `[target.http]` say.
//!
//! `tls` encrypts and says why that fails, `certificate` names a chain that is not trusted, `connection` sends one request,
//! `oauth`, `discovery` and `token` get tokens, `sender` is the HTTP client with all of that, `manners`
//! say when something may leave, and `open_calls` what is on its way where no connection shows that. Nothing is made before an address asks for it, so that a run without TLS and
//! tokens has neither.

mod certificate;
mod connection;
mod discovery;
mod manners;
mod oauth;
pub(crate) mod open_calls;
pub(crate) mod sender;
pub(crate) mod tls;
mod token;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use self::manners::Manners;
pub use self::manners::Turn;
use self::tls::{Tls, TlsSource};
use self::token::Tokens;
use crate::engine::environment;
use crate::engine::manifest::Manifest;
use crate::engine::manifest::target::{HttpTable, TargetTable};
use crate::transcript::lock;

/// What stands in transcripts and command lines where the target's token is sent.
const STAND_IN: &str = "callmark-token-of-the-target";

/// How the addresses of a target are reached.
pub struct Outbound {
    target: TargetTable,
    tls: TlsSource,
    tokens: Option<Tokens>,
    manners: Manners,
    /// Why nothing more is to be expected from there.
    trouble: Mutex<Option<String>>,
    /// Each `Authorization`, or none, beside which the manifest's headers were let in.
    let_in: Mutex<BTreeSet<Option<Vec<u8>>>>,
}

impl std::fmt::Debug for Outbound {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Outbound").finish_non_exhaustive()
    }
}

impl Default for Outbound {
    /// To a target that asks for nothing.
    fn default() -> Self {
        Self::new(TargetTable::default(), PathBuf::new())
    }
}

impl Outbound {
    /// To the target of this manifest.
    pub fn of(manifest: &Manifest) -> Arc<Self> {
        Arc::new(Self::new(manifest.target.clone(), manifest.directory.clone()))
    }

    fn new(target: TargetTable, directory: PathBuf) -> Self {
        let tokens = target.http.as_ref().and_then(Tokens::of);
        let tls = TlsSource::new(target.tls.clone().unwrap_or_default(), directory);
        let manners = Manners::of(target.manners.as_ref());
        Self { target, tls, tokens, manners, trouble: Mutex::default(), let_in: Mutex::default() }
    }

    /// Waits until one more request may be sent; it is on its way until what comes back is dropped.
    pub async fn turn(&self) -> Turn {
        self.manners.turn().await
    }

    /// Waits until one more message may be sent of a call that is on its way already.
    pub async fn further_turn(&self) -> Turn {
        self.manners.rate().await;
        Turn::default()
    }

    /// What ids, titles and subjects begin with that the suite makes up.
    pub(crate) fn prefix(&self) -> &str {
        self.target.prefix()
    }

    /// What stands in place of the target's token, where it has one.
    pub(crate) fn stand_in(&self) -> Option<&'static str> {
        self.tokens.is_some().then_some(STAND_IN)
    }

    /// The tokens that were issued for the target so far, which must not be stored.
    pub async fn issued(&self) -> Vec<String> {
        match &self.tokens {
            Some(tokens) => tokens.issued().await,
            None => Vec::new(),
        }
    }

    /// Why nothing more is to be expected from the target, however long it is waited for.
    pub(crate) fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    /// Keeps in mind what stands in the way to the target, which is no fault of what answers there.
    fn hinder(&self, why: String) {
        environment::note_hindrance(&why);
        *lock(&self.trouble) = Some(why);
    }

    /// What connections with TLS are made with.
    ///
    /// # Errors
    /// What of `[target.tls]` cannot be used.
    pub(crate) fn tls(&self) -> Result<&Tls, String> {
        self.tls.made()
    }

    /// Whether all that the manifest names is there, before anything is asked for.
    fn check(&self) -> Result<(), String> {
        if self.target.tls.is_some() {
            self.tls.made()?;
        }
        self.tokens.as_ref().map_or(Ok(()), Tokens::check)
    }

    /// The manifest's headers.
    fn headers(&self) -> Result<HeaderMap, String> {
        let mut all = HeaderMap::new();
        for (name, text) in self.target.http.iter().flat_map(|http: &HttpTable| &http.headers) {
            let key = format!("target.http.headers.{name}");
            let value = text.resolved().map_err(|variable| tls::unset(&key, &variable))?;
            let header: HeaderName = name.parse().map_err(|_| format!("`{key}` is no name of a header"))?;
            let mut value: HeaderValue =
                value.parse().map_err(|_| format!("the value of `{key}` cannot be sent"))?;
            value.set_sensitive(true);
            all.insert(header, value);
        }
        Ok(all)
    }
}
