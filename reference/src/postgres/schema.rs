//! The tables of a store, made by whichever process comes first.

use tokio_postgres::{Client, Error};

/// What all that make tables lock meanwhile: any number that nobody else in the database uses.
const LOCK: i64 = 0x0063_616C_6C6D_726B;

/// Makes the schema and the tables in it, where they are not there.
///
/// One after the other, since `IF NOT EXISTS` does not keep two processes that start at once from colliding.
/// A schema that is there need not be this user's own to make.
pub(super) async fn prepare(client: &mut Client, schema: &str, tables: &str) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.query("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let found = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    if transaction.query_opt(found, &[&schema]).await?.is_none() {
        transaction.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await?;
    }
    transaction.batch_execute(tables).await?;
    transaction.commit().await
}
