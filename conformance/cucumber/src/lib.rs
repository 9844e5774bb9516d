//! cucumber, with the expressions of all steps expanded by one function.
//!
//! `#[given(expr = "…")]` defines a type for the parameters of each step, and cucumber's parser and expander of
//! expressions are generic over it: they were compiled once for each of our steps, which was a sixth of the suite's
//! code. The code that the macros generate names the crate `cucumber`; so it finds this one, where the type is erased
//! before the parser sees it. Everything else is cucumber's own.

pub use cucumber_upstream::*;

/// What the macros' code uses.
pub mod codegen {
    pub use cucumber_upstream::codegen::*;

    pub use crate::expression::Expression;
}

mod expression {
    use std::fmt::Debug;

    use cucumber_upstream::codegen::{Expression as Parser, ParametersProvider, Regex, Spanned};

    /// A cucumber expression. <https://github.com/cucumber/cucumber-expressions>
    #[derive(Debug)]
    pub enum Expression {}

    impl Expression {
        /// The regular expression of a step's text, with the `parameters` that the step has beside the usual ones.
        ///
        /// # Errors
        ///
        /// The text is no cucumber expression, or names a parameter that neither has.
        pub fn regex_with_parameters<'s, P>(
            text: &'s str,
            parameters: P,
        ) -> Result<Regex, impl Debug + use<'s, P>>
        where
            P: ParametersProvider<Spanned<'s>, Item = char, Value = &'static str>,
        {
            Parser::regex_with_parameters(text, Erased(&move |name| parameters.get(name)))
        }
    }

    /// The parameters of any step.
    #[derive(Clone, Copy)]
    struct Erased<'p, 's>(&'p dyn Fn(&Spanned<'s>) -> Option<&'static str>);

    impl<'s> ParametersProvider<Spanned<'s>> for Erased<'_, 's> {
        type Item = char;
        type Value = &'static str;

        fn get(&self, name: &Spanned<'s>) -> Option<&'static str> {
            (self.0)(name)
        }
    }
}
