//! `schema`: the shape of a file, for editors and programs.

use callmark_schemas::SchemaName;

use crate::args::{SchemaArguments, SchemaDocument};
use crate::exit::{self, Failure};

/// The schema of a document.
fn name(document: SchemaDocument) -> SchemaName {
    match document {
        SchemaDocument::Manifest => SchemaName::Manifest,
        SchemaDocument::Run => SchemaName::Run,
        SchemaDocument::Doctor => SchemaName::Doctor,
        SchemaDocument::Sabotage => SchemaName::Sabotage,
        SchemaDocument::Diff => SchemaName::Diff,
        SchemaDocument::Baseline => SchemaName::Baseline,
    }
}

/// Prints it.
pub(crate) fn run(arguments: &SchemaArguments) -> Result<u8, Failure> {
    print!("{}", name(arguments.document).source());
    Ok(exit::CONFORMANT)
}
