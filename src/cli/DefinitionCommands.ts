import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type MetafieldDefinition, OwnerType } from "../model/Definition.ts"
import type { ValidationFailed } from "../model/Errors.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { argument, choiceArgument, textOption } from "./Flags.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, hint, json, quoted, Refused } from "./Output.ts"

const owner = choiceArgument(
  "OWNER",
  EntityKind.literals,
  "Owner of the metafield: product, variant, collection or media."
)

const key = argument("KEY", "Key of the metafield, as namespace.key.")

const typeOf = ({ key, namespace, owner_type, type }: MetafieldDefinition) =>
  `${owner_type} ${namespace}.${key} (${type})`

/** Turns issues into a refusal that names the wrong argument or flag. */
const refuse = ({ issues }: ValidationFailed) =>
  new Refused({
    message: issues
      .map(({ message, path }) => `${path === "key" ? "KEY" : path === "type" ? "TYPE" : `--${path}`}: ${message}`)
      .join("; ")
  })

const retypedLine = (retyped: number) =>
  retyped === 0 ? [] : [`Values of ${retyped} ${retyped === 1 ? "entity" : "entities"} now have this type.`]

const create = Command.make(
  "create",
  {
    owner,
    key,
    type: argument("TYPE", "Type of its values, for example single_line_text_field or number_integer."),
    name: Options.optional(textOption("name", "NAME", "Name for people. Default: the part of KEY after the point.")),
    description: Options.optional(textOption("description", "TEXT", "Purpose of the metafield.")),
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
    }).pipe(Effect.catchTags({ ValidationFailed: refuse, PimLocked: () => lockedBy(account) }), withAdmin)
).pipe(Command.withDescription("Define a metafield, so that values can be written under its key."))

const setType = Command.make(
  "set-type",
  {
    owner,
    key,
    type: argument("TYPE", "The new type of its values."),
    account,
    json
  },
  ({ account, json, key, owner, type }) =>
    Effect.gen(function* () {
      const { definition, retyped } = yield* (yield* AdminClient).setDefinitionType({ account, owner, key, type })
      yield* answer(json, { definition, retyped }, [
        `Defined ${typeOf(definition)}.`,
        ...retypedLine(retyped),
        `Values that do not fit are unchanged: \`${hint("health scan structure", account)}\` finds them.`
      ])
    }).pipe(Effect.catchTags({ ValidationFailed: refuse, PimLocked: () => lockedBy(account) }), withAdmin)
).pipe(Command.withDescription("Change the type of a metafield and of its values that fit the new type."))

const remove = Command.make("delete", { owner, key, account, json }, ({ account, json, key, owner }) =>
  Effect.gen(function* () {
    const { definition, retyped } = yield* (yield* AdminClient).deleteDefinition({ account, owner, key })
    yield* answer(json, { definition, retyped }, [
      `Deleted the account's definition of ${owner} ${key}.`,
      ...(definition === null
        ? ["Values that were written under it stay: they can be removed, but not changed."]
        : [`A store defines it too: ${typeOf(definition)}.`, ...retypedLine(retyped)])
    ])
  }).pipe(Effect.catchTags({ ValidationFailed: refuse, PimLocked: () => lockedBy(account) }), withAdmin)
).pipe(
  Command.withDescription("Delete a definition of the account. Stores keep theirs, and entities keep their values.")
)

const list = Command.make(
  "list",
  {
    owner: Options.choice("owner", OwnerType.literals).pipe(
      Options.withDescription("Only metafields of this owner."),
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
).pipe(Command.withDescription("List the metafields that the stores or the account define."))

export const definitionCommand = Command.make("definition").pipe(
  Command.withDescription("Definitions of metafields: keys in addition to the built-in ones."),
  Command.withSubcommands([create, list, setType, remove])
)
