//! Functions that make metrics, scorers and reducers, and return a function within them.
//!
//! `def pass_rate(): def metric(scores): …; return metric` makes a metric that is called `pass_rate`, as with Inspect's
//! decorators: the function within usually has no name worth showing.

use starlark::syntax::AstModule;
use starlark::syntax::ast::{ArgumentP, AstExpr, AstStmt, ExprP, StmtP};
use std::collections::{BTreeSet, HashMap};

/// The functions that return the function of a name, by that name.
#[derive(Debug, Default)]
pub(crate) struct Makers(HashMap<String, BTreeSet<String>>);

/// What gives a function its kind, and leaves its name.
const WRAPPERS: [&str; 3] = ["metric", "scorer", "score_reducer"];

impl Makers {
    /// Adds those of a file.
    pub(crate) fn add(&mut self, file: &AstModule) {
        let mut top = Vec::new();
        defs(file.statement(), &mut top);
        for (name, body) in top {
            // A function that is there by itself has its own name, too.
            self.0.entry(name.to_owned()).or_default().insert(name.to_owned());
            let mut within = Vec::new();
            defs(body, &mut within);
            for (inner, _) in within.iter().filter(|(inner, _)| returns(body, inner)) {
                self.0.entry((*inner).to_owned()).or_default().insert(name.to_owned());
            }
        }
    }

    /// The function that made the one of this name, if only one can have.
    pub(crate) fn of(&self, name: &str) -> Option<&str> {
        let makers = self.0.get(name)?;
        makers.first().filter(|_| makers.len() == 1).map(String::as_str)
    }
}

/// The functions that a statement defines, not those within them.
fn defs<'a>(statement: &'a AstStmt, found: &mut Vec<(&'a str, &'a AstStmt)>) {
    match &statement.node {
        StmtP::Def(def) => found.push((&def.name.node.ident, &def.body)),
        other => other.visit_stmt(|statement| defs(statement, found)),
    }
}

/// True if a body returns the function of this name, as it is or as a metric, scorer or reducer.
fn returns(body: &AstStmt, name: &str) -> bool {
    match &body.node {
        StmtP::Def(_) => false,
        StmtP::Return(Some(value)) => is_function(value, name),
        other => {
            let mut found = false;
            other.visit_stmt(|statement| found |= returns(statement, name));
            found
        }
    }
}

fn is_function(value: &AstExpr, name: &str) -> bool {
    match &value.node {
        ExprP::Identifier(identifier) => identifier.node.ident == name,
        ExprP::Call(callee, given) => {
            let is_wrapper = matches!(&callee.node, ExprP::Identifier(of) if WRAPPERS.contains(&&*of.node.ident));
            let first = given.args.first().map(|argument| &argument.node);
            is_wrapper && matches!(first, Some(ArgumentP::Positional(function)) if is_function(function, name))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use starlark::syntax::Dialect;

    fn makers(source: &str) -> Makers {
        let ast = AstModule::parse("t.star", source.to_owned(), &Dialect::Extended).expect("it is right");
        let mut makers = Makers::default();
        makers.add(&ast);
        makers
    }

    #[test]
    fn a_function_has_the_name_of_the_one_that_returns_it() {
        let one = makers(
            "def pass_rate(t = 1):\n    def metric(scores):\n        return 1\n    if t:\n        return metric\n    return None\n\
             def overlap():\n    def score(state, target):\n        return 1\n    return scorer(score)\n\
             def task():\n    def judge(state, target):\n        return 1\n    return Task(scorer = judge)\n",
        );
        assert_eq!((one.of("metric"), one.of("score")), (Some("pass_rate"), Some("overlap")));
        assert_eq!((one.of("judge"), one.of("pass_rate"), one.of("other")), (None, Some("pass_rate"), None));
    }

    #[test]
    fn where_two_return_a_function_of_one_name_nothing_is_guessed() {
        let two = "def a():\n    def metric(s):\n        return 1\n    return metric\n";
        assert_eq!(makers(&format!("{two}{}", two.replace("def a", "def b"))).of("metric"), None);
        assert_eq!(makers(&format!("{two}def metric(s):\n    return 2\n")).of("metric"), None);
    }
}
