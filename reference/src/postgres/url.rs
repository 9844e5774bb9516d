//! The URL of a database: `postgres://user:password@host:port/database?schema=callmark`.
//!
//! Its password is shown nowhere: text and `Debug` of it leave it out, with all parameters.
//! `sslmode` and `sslrootcert` are those of PostgreSQL's own clients, but that a connection with TLS is always to a server
//! whose certificate holds for its name.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
#[cfg(feature = "postgres")]
use tokio_postgres::config::SslMode;

/// Where tables are kept unless the URL says so.
const SCHEMA: &str = "callmark";
/// The longest name that PostgreSQL takes.
const MAX_SCHEMA: usize = 63;
/// Values of `sslmode`; the first three leave a connection as it is.
const MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/// A database, and the schema in it.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    /// As the client takes it, without what is ours.
    connection: String,
    schema: String,
    encryption: Encryption,
}

/// Whether connections are encrypted, as `sslmode` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Encryption {
    /// They are not: `disable`, and what leaves it open.
    None,
    /// They are, with a server that one of the system's issuers vouches for, or one of those in this file (PEM):
    /// `require`, `verify-ca` and `verify-full`.
    Verified(Option<PathBuf>),
}

/// What is wrong with the URL of a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseUrlError {
    /// It is the URL of something else.
    #[error("the URL of a database begins with `postgres://`")]
    Scheme,
    /// A schema has a plain name.
    #[error("`schema` of the database's URL is not 1 to 63 of a-z, 0-9 and `_`")]
    Schema,
    /// Nobody knows whether the connection is to be encrypted.
    #[error("`sslmode={mode}` of the database's URL is none of {}", MODES.join(", "))]
    Mode {
        /// What the URL says.
        mode: String,
    },
    /// Issuers for a connection without certificates.
    #[error(
        "`sslrootcert` of the database's URL needs `sslmode=require` beside it: without, nothing is encrypted"
    )]
    Issuers,
    /// The client does not understand it.
    #[error("the URL of the database cannot be read: {reason}")]
    Unreadable {
        /// What the client says, which quotes no value.
        reason: String,
    },
}

impl DatabaseUrl {
    /// The schema that holds the tables: lower-case letters, digits and `_`.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The configuration of a client, with the password of `PGPASSWORD` where the URL has none.
    #[cfg(feature = "postgres")]
    pub(super) fn config(&self) -> Result<tokio_postgres::Config, DatabaseUrlError> {
        let mut config: tokio_postgres::Config = self
            .connection
            .parse()
            .map_err(|error| DatabaseUrlError::Unreadable { reason: super::explained::explained(&error) })?;
        if config.get_password().is_none()
            && let Ok(password) = std::env::var("PGPASSWORD")
        {
            config.password(password);
        }
        config.ssl_mode(match self.encryption {
            Encryption::None => SslMode::Disable,
            Encryption::Verified(_) => SslMode::Require,
        });
        Ok(config)
    }

    /// Whether connections are encrypted.
    #[cfg(feature = "postgres")]
    pub(super) fn encryption(&self) -> &Encryption {
        &self.encryption
    }
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, DatabaseUrlError> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err(DatabaseUrlError::Scheme);
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut schema = SCHEMA.to_owned();
        let (mut is_encrypted, mut issuers) = (false, None);
        let mut others = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("schema", name)) => name.clone_into(&mut schema),
                Some(("sslmode", mode)) => {
                    let at = MODES.iter().position(|known| *known == mode);
                    let at = at.ok_or_else(|| DatabaseUrlError::Mode { mode: mode.to_owned() })?;
                    is_encrypted = at >= 3;
                }
                Some(("sslrootcert", path)) => {
                    let path = percent_decode_str(path).decode_utf8_lossy();
                    issuers = Some(PathBuf::from(path.into_owned()));
                }
                _ => others.push(parameter),
            }
        }
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if schema.is_empty() || schema.len() > MAX_SCHEMA || !schema.bytes().all(is_plain) {
            return Err(DatabaseUrlError::Schema);
        }
        let encryption = match (is_encrypted, issuers) {
            (true, issuers) => Encryption::Verified(issuers),
            (false, None) => Encryption::None,
            (false, Some(_)) => return Err(DatabaseUrlError::Issuers),
        };
        let connection =
            if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
        let url = Self { connection, schema, encryption };
        #[cfg(feature = "postgres")]
        url.config()?;
        Ok(url)
    }
}

/// Without password and parameters.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = self.connection.split_once("://").map_or("", |(_, rest)| rest);
        // As the client divides it: what comes before the first `@` says who connects.
        let (user, place) = match rest.split_once('@') {
            Some((who, place)) => (who.split([':', '/', '?']).next(), place),
            None => (None, rest),
        };
        let place = place.split('?').next().unwrap_or_default();
        match user {
            Some(user) => write!(formatter, "postgres://{user}@{place}"),
            None => write!(formatter, "postgres://{place}"),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DatabaseUrl({self}, schema {}, {:?})", self.schema, self.encryption)
    }
}

#[cfg(test)]
mod tests {
    use super::{DatabaseUrl, DatabaseUrlError, Encryption};

    #[test]
    fn what_is_shown_has_no_password() {
        fn check(text: &str, expect: &str) {
            let url: DatabaseUrl = text.parse().expect("a URL");
            assert_eq!(url.to_string(), expect);
            assert!(!format!("{url:?}").contains("hush"), "{url:?}");
        }
        check("postgres://me:hush@host:5433/db", "postgres://me@host:5433/db");
        check("postgresql://me:hu/hush@host/db", "postgres://me@host/db");
        check("postgres://host/db?password=hush&user=me", "postgres://host/db");
        check("postgres://me@%2Ftmp%2Fsocket/db?schema=x_1", "postgres://me@%2Ftmp%2Fsocket/db");
    }

    #[test]
    fn a_schema_has_a_plain_name_and_a_mode_is_one_of_the_clients() {
        let schema = |text: &str| text.parse::<DatabaseUrl>().map(|url| url.schema().to_owned());
        assert_eq!(schema("postgres://host/db"), Ok("callmark".to_owned()));
        assert_eq!(schema("postgres://host/db?sslmode=disable&schema=two"), Ok("two".to_owned()));
        assert_eq!(schema("postgres://host/db?schema=a\"b"), Err(DatabaseUrlError::Schema));
        assert_eq!(schema("postgres://host/db?schema="), Err(DatabaseUrlError::Schema));
        assert_eq!(schema("mysql://host/db"), Err(DatabaseUrlError::Scheme));
        assert_eq!(schema("postgres://host/db?sslmode=verify-full&schema=two"), Ok("two".to_owned()));
        let mode = "full".to_owned();
        assert_eq!(schema("postgres://host/db?sslmode=full"), Err(DatabaseUrlError::Mode { mode }));
        assert_eq!(schema("postgres://host/db?sslrootcert=ca.pem"), Err(DatabaseUrlError::Issuers));
    }

    #[test]
    fn connections_are_encrypted_where_the_mode_asks_for_it() {
        let encryption = |query: &str| {
            format!("postgres://host/db?{query}").parse::<DatabaseUrl>().expect("a URL").encryption
        };
        assert_eq!(encryption("sslmode=prefer"), Encryption::None);
        assert_eq!(encryption("sslmode=require"), Encryption::Verified(None));
        let file = Some("/etc/own ca.pem".into());
        assert_eq!(encryption("sslrootcert=/etc/own%20ca.pem&sslmode=verify-ca"), Encryption::Verified(file));
    }
}
