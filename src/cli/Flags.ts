import { Args, HelpDoc, Options, ValidationError } from "@effect/cli"
import { Effect } from "effect"

/** An option with a text. `value`: the placeholder for the text in the help. */
export const textOption = (name: string, value: string, description: string) =>
  Options.text(name).pipe(Options.withPseudoName(value), Options.withDescription(description))

const bounds = (min: number | undefined, max: number | undefined) =>
  min === undefined ? "" : max === undefined ? ` of at least ${min}` : `, ${min} to ${max}`

/** An option with a whole number. The library has such options too, but its message does not name the option. */
export const integerOption = (name: string, value: string, description: string, min?: number, max?: number) =>
  Options.mapEffect(textOption(name, value, description), (text) => {
    const number = Number(text)
    const isWhole = /^-?\d+$/.test(text) && Number.isSafeInteger(number)
    return isWhole && number >= (min ?? number) && number <= (max ?? number)
      ? Effect.succeed(number)
      : Effect.fail(
          ValidationError.invalidValue(
            HelpDoc.p(`--${name}: must be a whole number${bounds(min, max)}, not ${JSON.stringify(text)}`)
          )
        )
  })

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
