//! Functions that scripts call by name, with their arguments already taken apart.

use starlark::collections::SmallMap;
use starlark::eval::Evaluator;
use starlark::values::{StringValue, Value};

/// What [`callable!`] turns into a function of scripts. Its field `name` is the name under which it is called.
pub(crate) trait Callable {
    /// The result of a call.
    fn call<'v>(
        &self,
        positions: &[Value<'v>],
        named: &SmallMap<StringValue<'v>, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>>;
}

/// Makes a [`Callable`] type a value of scripts that is called like a function and printed as its name.
macro_rules! callable {
    ($function:ident) => {
        starlark::starlark_simple_value!($function);

        impl std::fmt::Display for $function {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.name)
            }
        }

        #[starlark::values::starlark_value(type = "function")]
        impl<'v> starlark::values::StarlarkValue<'v> for $function {
            fn name_for_call_stack(&self, _: starlark::values::Value<'v>) -> String {
                self.name.clone()
            }

            fn invoke(
                &self,
                _: starlark::values::Value<'v>,
                arguments: &starlark::eval::Arguments<'v, '_>,
                eval: &mut starlark::eval::Evaluator<'v, '_, '_>,
            ) -> starlark::Result<starlark::values::Value<'v>> {
                let positions: Vec<starlark::values::Value<'v>> = arguments.positions(eval.heap())?.collect();
                $crate::callable::Callable::call(self, &positions, &arguments.names_map()?, eval)
            }
        }
    };
}

pub(crate) use callable;
