import { Args, Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type MetafieldDefinition, OwnerType } from "../model/Definition.ts"
import type { ValidationFailed } from "../model/Errors.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, hint, json, quoted, Refused } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const owner = Args.choice(
  EntityKind.literals.map((kind): [string, EntityKind] => [kind, kind]),
  {
    name: "OWNER"
  }
).pipe(Args.withDescription("What has the metafield: product, variant, collection or media."))

const key = Args.text({ name: "KEY" }).pipe(Args.withDescription("The metafield's key, as namespace.key."))

const typeOf = ({ key, namespace, owner_type, type }: MetafieldDefinition) =>
  `${owner_type} ${namespace}.${key} (${type})`

/** What does not fit, by the argument or the flag that gave it. */
const refused = ({ issues }: ValidationFailed) =>
  new Refused({
    message: issues
      .map(({ message, path }) => `${path === "key" ? "KEY" : path === "type" ? "TYPE" : `--${path}`}: ${message}`)
      .join("; ")
  })

const retypedLine = (retyped: number) =>
  retyped === 0 ? [] : [`Values of ${retyped} ${retyped === 1 ? "entity" : "entities"} have this type now.`]

const create = Command.make(
  "create",
  {
    owner,
    key,
    type: Args.text({ name: "TYPE" }).pipe(
      Args.withDescription("Type of its values, for example single_line_text_field or number_integer.")
    ),
    name: Options.text("name").pipe(
      Options.withDescription("What people call it; by default the part of KEY behind the point."),
      Options.optional
    ),
    description: Options.text("description").pipe(Options.withDescription("What it is for."), Options.optional),
    account,
    json
  },
  ({ account, description, json, key, name, owner, type }) =>
    Effect.gen(function* () {
      const { definition, retyped } = yield* (yield* AdminClient).createDefinition({
        account,
        definition: {
          owner_type: owner,
          key,
          type,
          ...(Option.isSome(name) ? { name: name.value } : {}),
          ...(Option.isSome(description) ? { description: description.value } : {})
        }
      })
      yield* answer(json, { definition, retyped }, [`Defined ${typeOf(definition)}.`, ...retypedLine(retyped)])
    }).pipe(Effect.catchTags({ ValidationFailed: refused, PimLocked: () => lockedBy(account) }), withAdmin)
).pipe(Command.withDescription("Define a metafield, so that its key can be written."))

const setType = Command.make(
  "set-type",
  {
    owner,
    key,
    type: Args.text({ name: "TYPE" }).pipe(Args.withDescription("The new type of its values.")),
    account,
    json
  },
  ({ account, json, key, owner, type }) =>
    Effect.gen(function* () {
      const { definition, retyped } = yield* (yield* AdminClient).setDefinitionType({ account, owner, key, type })
      yield* answer(json, { definition, retyped }, [
        `Defined ${typeOf(definition)}.`,
        ...retypedLine(retyped),
        `Values that do not fit are left: \`${hint("health scan structure", account)}\` finds them.`
      ])
    }).pipe(Effect.catchTags({ ValidationFailed: refused, PimLocked: () => lockedBy(account) }), withAdmin)
).pipe(Command.withDescription("Give a metafield another type, and its values that fit it."))

const list = Command.make(
  "list",
  {
    owner: Options.choice("owner", OwnerType.literals).pipe(
      Options.withDescription("Only metafields of these owners."),
      Options.optional
    ),
    account,
    json
  },
  ({ account, json, owner }) =>
    Effect.gen(function* () {
      const definitions = yield* (yield* AdminClient).listDefinitions({ account, owner: Option.getOrNull(owner) })
      yield* answer(
        json,
        { definitions },
        definitions.length === 0
          ? [
              `No metafields are defined: \`${hint("definition create product NAMESPACE.KEY TYPE", account)}\` defines one.`
            ]
          : definitions.map(
              (definition) =>
                `${definition.owner_type.padEnd(10)}  ${definition.type.padEnd(24)}  ${definition.namespace}.${definition.key}  ${quoted(definition.name)}`
            )
      )
    }).pipe(withAdmin)
).pipe(Command.withDescription("List the metafields that are defined, by the stores or here."))

export const definitionCommand = Command.make("definition").pipe(
  Command.withDescription("Definitions of metafields: the keys beside the built-in ones."),
  Command.withSubcommands([create, list, setType])
)
