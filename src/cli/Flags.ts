import { Args, HelpDoc, Options, ValidationError } from "@effect/cli"
import { Effect } from "effect"

/** An option with a text. `value`: the placeholder for the text in the help. */
export const textOption = (name: string, value: string, description: string) =>
  Options.text(name).pipe(Options.withPseudoName(value), Options.withDescription(description))

/** An option with a whole number. The library has such options too, but its message does not name the option. */
export const integerOption = (name: string, value: string, description: string) =>
  Options.mapEffect(textOption(name, value, description), (text) =>
    /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text))
      ? Effect.succeed(Number(text))
      : Effect.fail(
          ValidationError.invalidValue(HelpDoc.p(`--${name}: must be a whole number, not ${JSON.stringify(text)}`))
        )
  )

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
