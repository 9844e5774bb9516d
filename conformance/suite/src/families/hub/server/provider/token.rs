//! Whose a token is, what its customer may, and the token endpoint.
//!
//! Nothing about the Hub's tokens is known beforehand. They are learnt by trying the customers one after the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base64::Engine as _;
use serde_json::{Value, json};

use super::request::{ProviderRequest, find};
use super::response::{ProviderResponse, failure};
use crate::families::hub::manifest::Customer;

/// Tokens that are remembered; a Hub has a handful.
const MAX_TOKENS: usize = 10_000;
/// How long a token is said to last.
const LIFETIME_SECONDS: u32 = 3599;
const FULL_SCOPE: &str =
    "https://www.googleapis.com/auth/calendar https://www.googleapis.com/auth/gmail.modify";
const READ_SCOPE: &str =
    "https://www.googleapis.com/auth/calendar.readonly https://www.googleapis.com/auth/gmail.readonly";

/// All tokens.
pub(super) struct Tokens {
    /// Of the Hub, by the customer with whom they were first seen.
    learnt: HashMap<String, Customer>,
    learner: Option<Customer>,
    /// Access tokens that `connected` itself was served with while it was learnt.
    proven: BTreeSet<String>,
    /// What each access token was granted for.
    lineage: HashMap<String, String>,
    seen: BTreeSet<Customer>,
    /// A word that one customer's request alone has, and that customer.
    sign: Option<(String, Customer)>,
    has_seen_sign: bool,
    /// Distinguishes tokens of this provider from those that a Hub kept from an earlier one.
    salt: String,
    granted: u64,
    /// How many were granted to each customer.
    grants: BTreeMap<Customer, u64>,
    /// Access tokens that were granted, were used, and have not expired since.
    used: BTreeSet<String>,
    /// Those that have.
    stale: BTreeSet<String>,
}

impl Tokens {
    pub(super) fn new(salt: String) -> Self {
        Self {
            learnt: HashMap::new(),
            learner: None,
            proven: BTreeSet::new(),
            lineage: HashMap::new(),
            seen: BTreeSet::new(),
            sign: None,
            has_seen_sign: false,
            salt,
            granted: 0,
            grants: BTreeMap::new(),
            used: BTreeSet::new(),
            stale: BTreeSet::new(),
        }
    }

    pub(super) fn learn(&mut self, customer: Option<Customer>) {
        self.learner = customer;
    }

    /// Tokens of requests with this word belong to this customer, whatever was learnt before: a Hub may look into all
    /// mailboxes meanwhile.
    pub(super) fn expect(&mut self, sign: Option<(String, Customer)>) {
        self.sign = sign;
        self.has_seen_sign = false;
    }

    /// Whether a request had the word since it is expected.
    pub(super) fn has_seen_sign(&self) -> bool {
        self.has_seen_sign
    }

    /// Looks whether a request says whose its token is.
    pub(super) fn look_at(&mut self, request: &ProviderRequest<'_>) {
        let (Some((word, customer)), Some(token)) = (&self.sign, &request.token) else { return };
        let is_asked_for = request.query.iter().any(|(_, value)| value.contains(word.as_str()));
        let is_within = || memchr::memmem::find(request.body, word.as_bytes()).is_some();
        if !(is_asked_for || is_within()) || self.learnt.len() >= MAX_TOKENS {
            return;
        }
        self.has_seen_sign = true;
        self.learnt.insert(token.clone(), *customer);
        if let Some(given) = self.lineage.get(token) {
            self.learnt.insert(given.clone(), *customer);
        }
        self.seen.insert(*customer);
    }

    pub(super) fn knows(&self, customer: Customer) -> bool {
        self.seen.contains(&customer)
    }

    /// Whose request it is, if its access token is good.
    pub(super) fn customer(&mut self, token: &str) -> Result<Customer, ProviderResponse> {
        self.correct(token);
        let customer = self.owner(token);
        let is_good = match customer {
            Customer::Expired => false,
            Customer::Refreshable => {
                self.own(token) == Some(Customer::Refreshable) && !self.stale.contains(token)
            }
            _ => true,
        };
        if !is_good {
            return Err(failure(401));
        }
        if customer == Customer::Refreshable && self.used.len() < MAX_TOKENS {
            self.used.insert(token.to_owned());
        }
        Ok(customer)
    }

    /// The access tokens of `refreshable` that were used expire. One that was not is good for its first use: who has just
    /// refreshed it is not sent away twice.
    pub(super) fn expire(&mut self) {
        self.stale.append(&mut self.used);
    }

    /// How many access tokens a customer was granted.
    pub(super) fn grants(&self, customer: Customer) -> u64 {
        self.grants.get(&customer).copied().unwrap_or_default()
    }

    /// The token endpoint (RFC 6749 §5, RFC 7523 for service accounts).
    pub(super) fn grant(&mut self, request: &ProviderRequest<'_>) -> ProviderResponse {
        if request.method != "POST" {
            return ProviderResponse::new(405, json!({"error": "invalid_request"}));
        }
        let form = request.form();
        let kind = find(&form, "grant_type").unwrap_or_default();
        let given = match kind {
            "refresh_token" => find(&form, "refresh_token").map(str::to_owned),
            "authorization_code" => find(&form, "code").map(str::to_owned),
            "urn:ietf:params:oauth:grant-type:jwt-bearer" => find(&form, "assertion").map(bearer_of),
            _ => {
                return refused("unsupported_grant_type", &format!("Invalid grant_type: {kind}"));
            }
        };
        let Some(given) = given.filter(|given| !given.is_empty()) else {
            return refused("invalid_request", "Missing required parameter");
        };
        let customer = self.owner(&given);
        if customer == Customer::Expired {
            return refused("invalid_grant", "Token has been expired or revoked.");
        }
        let access = self.ids("ya29.a0", customer);
        *self.grants.entry(customer).or_default() += 1;
        if self.lineage.len() < MAX_TOKENS {
            self.lineage.insert(access.clone(), given);
        }
        let mut body = json!({
            "access_token": access,
            "expires_in": LIFETIME_SECONDS,
            "scope": scope(customer),
            "token_type": "Bearer",
        });
        if kind == "authorization_code" {
            body["refresh_token"] = Value::from(self.ids("1//0", customer));
        }
        ProviderResponse::ok(body)
    }

    /// A Hub that refreshes all tokens by itself does so while another customer is learnt. Whose a token is shows
    /// when it is used.
    fn correct(&mut self, token: &str) {
        let Some(learner) = self.learner else { return };
        if learner == Customer::Connected {
            if self.proven.len() < MAX_TOKENS {
                self.proven.insert(token.to_owned());
            }
            return;
        }
        let is_taken_for_connected = self.owner(token) == Customer::Connected;
        if is_taken_for_connected && !self.proven.contains(token) && self.learnt.len() < MAX_TOKENS {
            self.learnt.insert(token.to_owned(), learner);
            if let Some(given) = self.lineage.get(token) {
                self.learnt.insert(given.clone(), learner);
            }
        }
    }

    /// Whose a token is; one that nobody knows is the customer's that is learnt, else `connected`'s.
    fn owner(&mut self, token: &str) -> Customer {
        let known = self.learnt.get(token).copied().or_else(|| self.own(token));
        let owner = known.or_else(|| {
            let learner = self.learner?;
            if self.learnt.len() < MAX_TOKENS {
                self.learnt.insert(token.to_owned(), learner);
            }
            Some(learner)
        });
        self.seen.extend(owner);
        owner.unwrap_or(Customer::Connected)
    }

    /// The customer of a token that was granted here. It stands in the token, so that none needs to be remembered.
    fn own(&self, token: &str) -> Option<Customer> {
        let (_, rest) = token.split_once(&format!("-{}-", self.salt))?;
        let index: usize = rest.split('-').next()?.parse().ok()?;
        Customer::ALL.get(index).copied()
    }

    fn ids(&mut self, start: &str, customer: Customer) -> String {
        self.granted += 1;
        let index = Customer::ALL.iter().position(|each| *each == customer).unwrap_or_default();
        format!("{start}-{}-{index}-{}", self.salt, self.granted)
    }
}

/// What a customer's tokens allow.
pub(super) fn scope(customer: Customer) -> &'static str {
    if customer == Customer::ReadOnly { READ_SCOPE } else { FULL_SCOPE }
}

/// What stays the same in the assertions of a service account: for whom it speaks, else who it is.
fn bearer_of(assertion: &str) -> String {
    let claims: Option<Value> = assertion
        .split('.')
        .nth(1)
        .and_then(|part| base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).ok())
        .and_then(|claims| serde_json::from_slice(&claims).ok());
    claims
        .as_ref()
        .and_then(|claims| claims["sub"].as_str().or(claims["iss"].as_str()))
        .unwrap_or(assertion)
        .to_owned()
}

fn refused(error: &str, description: &str) -> ProviderResponse {
    ProviderResponse::new(400, json!({"error": error, "error_description": description}))
}
