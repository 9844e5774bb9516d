//! PostgreSQL, as a store that several processes share: what is the same for all that is kept there.
//!
//! `url` is how a database is named, `database` how it is reached (few connections, which are replaced when they are lost,
//! and a deadline for everything), `tls` what encrypts its connections, `schema` how its tables are made. What is kept, and
//! how, is beside the other stores of each protocol: `ledger_postgres` and `store_postgres` of UTP, `store_postgres` of the
//! Hub, `database_postgres` of breadcrumbs.
//!
//! All tables are in one schema, `callmark` unless `?schema=` names another, and begin with the name of their protocol; so
//! several services share a database, and two of the same kind keep apart in two schemas.
//! Callmark without the feature `postgres` knows such a URL, and says how to build it with.

#[cfg(feature = "postgres")]
mod database;
#[cfg(feature = "postgres")]
mod explained;
#[cfg(feature = "postgres")]
mod schema;
#[cfg(feature = "postgres")]
mod tls;
mod url;

/// What tests of stores start, as the tests over sockets do.
#[cfg(all(test, feature = "postgres"))]
#[path = "../../tests/it/postgres_cluster.rs"]
pub(crate) mod cluster;

#[cfg(feature = "postgres")]
pub(crate) use database::{Client, Database, Failure, Lent, Row, on_thread, plain};
pub use url::{DatabaseUrl, DatabaseUrlError};

/// Whether this build has a client of PostgreSQL.
pub const IS_BUILT: bool = cfg!(feature = "postgres");

/// What a store says where there is none.
#[cfg(not(feature = "postgres"))]
pub(crate) const NOT_BUILT: &str = "this build has no client of PostgreSQL: it needs the feature `postgres`";
