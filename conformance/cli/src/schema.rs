//! `schema`: the shape of a file, for editors and programs.

use callmark_schemas::SchemaName;

use crate::args::{SchemaArguments, SchemaDocument};
use crate::exit;

/// The schema of a document.
fn name(document: SchemaDocument) -> SchemaName {
    match document {
        SchemaDocument::Manifest => SchemaName::Manifest,
        SchemaDocument::Run => SchemaName::Run,
        SchemaDocument::Doctor => SchemaName::Doctor,
        SchemaDocument::Sabotage => SchemaName::Sabotage,
        SchemaDocument::Diff => SchemaName::Diff,
        SchemaDocument::Baseline => SchemaName::Baseline,
        SchemaDocument::Recording => SchemaName::Recording,
        SchemaDocument::Load => SchemaName::Load,
    }
}

/// Prints it; answers the exit code.
pub(crate) fn run(arguments: &SchemaArguments) -> u8 {
    print!("{}", name(arguments.document).source());
    exit::CONFORMANT
}
