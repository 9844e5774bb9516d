//! The URL of a database: `postgres://user:password@host:port/database?schema=callmark`.
//!
//! Its password is shown nowhere: text and `Debug` of it leave it out, with all parameters.

use std::fmt;
use std::str::FromStr;

/// Where tables are kept unless the URL says so.
const SCHEMA: &str = "callmark";
/// The longest name that PostgreSQL takes.
const MAX_SCHEMA: usize = 63;

/// A database, and the schema in it.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    /// As the client takes it, without what is ours.
    connection: String,
    schema: String,
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
    /// The connection would be encrypted, which it cannot be.
    #[error(
        "`sslmode={mode}` of the database's URL asks for TLS, which this client of PostgreSQL does not have"
    )]
    Tls {
        /// What the URL says.
        mode: String,
    },
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
        Ok(config)
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
        let mut others = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("schema", name)) => name.clone_into(&mut schema),
                Some(("sslmode", mode)) if mode == "require" || mode.starts_with("verify-") => {
                    return Err(DatabaseUrlError::Tls { mode: mode.to_owned() });
                }
                _ => others.push(parameter),
            }
        }
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if schema.is_empty() || schema.len() > MAX_SCHEMA || !schema.bytes().all(is_plain) {
            return Err(DatabaseUrlError::Schema);
        }
        let connection =
            if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
        let url = Self { connection, schema };
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
        write!(formatter, "DatabaseUrl({self}, schema {})", self.schema)
    }
}

#[cfg(test)]
mod tests {
    use super::{DatabaseUrl, DatabaseUrlError};

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
    fn a_schema_has_a_plain_name_and_tls_is_refused() {
        let schema = |text: &str| text.parse::<DatabaseUrl>().map(|url| url.schema().to_owned());
        assert_eq!(schema("postgres://host/db"), Ok("callmark".to_owned()));
        assert_eq!(schema("postgres://host/db?sslmode=disable&schema=two"), Ok("two".to_owned()));
        assert_eq!(schema("postgres://host/db?schema=a\"b"), Err(DatabaseUrlError::Schema));
        assert_eq!(schema("postgres://host/db?schema="), Err(DatabaseUrlError::Schema));
        assert_eq!(schema("mysql://host/db"), Err(DatabaseUrlError::Scheme));
        let mode = "verify-full".to_owned();
        assert_eq!(schema("postgres://host/db?sslmode=verify-full"), Err(DatabaseUrlError::Tls { mode }));
    }
}
