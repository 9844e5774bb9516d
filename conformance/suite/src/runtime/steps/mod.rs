//! Steps: the vocabulary of the features, one module a noun.
