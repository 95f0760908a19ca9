import { Args, Options } from "@effect/cli"

/** An option with a text. `value`: the placeholder for the text in the help. */
export const textOption = (name: string, value: string, description: string) =>
  Options.text(name).pipe(Options.withPseudoName(value), Options.withDescription(description))

/** An option with a whole number. */
export const integerOption = (name: string, value: string, description: string) =>
  Options.integer(name).pipe(Options.withPseudoName(value), Options.withDescription(description))

export const argument = (name: string, description: string) =>
  Args.text({ name }).pipe(Args.withDescription(description))

/** An argument that must be one of `values`. */
export const choiceArgument = <const Value extends string>(
  name: string,
  values: ReadonlyArray<Value>,
  description: string
) =>
  Args.choice(
    values.map((value): [string, Value] => [value, value]),
    { name }
  ).pipe(Args.withDescription(description))
