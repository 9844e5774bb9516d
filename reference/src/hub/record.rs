//! What is known of a customer, as the `store` keeps it.
//!
//! Google gives one grant for both integrations; which of them are connected follows from the grant's scopes.

use jiff::Timestamp;
use serde::Serialize;

use super::config::Allowance;

/// What a customer can connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integration {
    Calendar,
    Mail,
}

impl Integration {
    pub(super) const ALL: [Self; 2] = [Self::Calendar, Self::Mail];

    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::Calendar => "google_calendar",
            Self::Mail => "google_gmail",
        }
    }

    /// For sentences.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Calendar => "Google Calendar",
            Self::Mail => "Gmail",
        }
    }

    /// Whether the scope, in its short form, belongs here.
    fn has(self, scope: &str) -> bool {
        match self {
            Self::Calendar => scope.starts_with("calendar"),
            Self::Mail => scope.starts_with("gmail") || scope == "https://mail.google.com/",
        }
    }
}

/// When a customer works, in their own time zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct WorkingHours {
    /// `HH:MM`
    pub(super) start: String,
    /// `HH:MM`
    pub(super) end: String,
    /// Lower-case names.
    pub(super) days: Vec<String>,
}

/// What the provider allows the Hub to do for a customer. No `Debug`: there are tokens in it.
#[derive(Clone)]
pub(super) struct Grant {
    /// Whose mailbox and calendar it is.
    pub(super) email: String,
    /// Short forms (`calendar.readonly`) or URLs.
    pub(super) scopes: Vec<String>,
    pub(super) access_token: String,
    pub(super) refresh_token: String,
    pub(super) expires_at: Timestamp,
    /// Counts renewals, so that one that was waited for is known from one that is still needed.
    pub(super) generation: u64,
}

impl Grant {
    /// The scopes of one integration, as they were granted.
    pub(super) fn scopes_of(&self, integration: Integration) -> Vec<&str> {
        self.scopes.iter().map(String::as_str).filter(|scope| integration.has(short(scope))).collect()
    }

    /// Whether at least one of these was granted.
    pub(super) fn has_one_of(&self, scopes: &[&str]) -> bool {
        self.scopes.iter().any(|granted| scopes.contains(&short(granted)))
    }
}

/// The short form of a scope.
fn short(scope: &str) -> &str {
    scope.strip_prefix("https://www.googleapis.com/auth/").unwrap_or(scope)
}

/// One customer as it is kept.
pub(super) struct CustomerRecord {
    pub(super) id: String,
    pub(super) time_zone: String,
    pub(super) working_hours: WorkingHours,
    /// Their own, where they have one.
    pub(super) allowance: Option<Allowance>,
    pub(super) grant: Option<Grant>,
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Grant, Integration};

    #[test]
    fn scopes_decide_what_is_connected_in_either_form() {
        fn check(scopes: &[&str], calendar: usize, mail: usize, writes: bool) {
            let grant = Grant {
                email: String::new(),
                scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
                access_token: String::new(),
                refresh_token: String::new(),
                expires_at: Timestamp::UNIX_EPOCH,
                generation: 0,
            };
            assert_eq!(grant.scopes_of(Integration::Calendar).len(), calendar, "{scopes:?}");
            assert_eq!(grant.scopes_of(Integration::Mail).len(), mail, "{scopes:?}");
            assert_eq!(grant.has_one_of(&["calendar.events", "calendar"]), writes, "{scopes:?}");
        }
        check(&[], 0, 0, false);
        check(&["calendar.readonly"], 1, 0, false);
        check(&["gmail.readonly", "calendar"], 1, 1, true);
        check(&["https://www.googleapis.com/auth/calendar.events", "https://mail.google.com/"], 1, 1, true);
        check(&["openid", "email"], 0, 0, false);
    }
}
