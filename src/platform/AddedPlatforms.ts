import { resolve } from "node:path"
import { Context, Data, Effect, Predicate } from "effect"
import { filesOnly } from "../model/Store.ts"
import type { PlatformAdapter } from "./PlatformAdapter.ts"

/**
 * The adapters that an installation adds to the built-in ones.
 *
 * @effect-leakable-service
 */
export class AddedPlatforms extends Context.Reference<AddedPlatforms>()("catalog/AddedPlatforms", {
  defaultValue: (): ReadonlyArray<PlatformAdapter> => []
}) {}

/** A module of PLATFORM_MODULES that cannot be used. `message` is one line that names the setting and the module. */
class BadPlatformModule extends Data.TaggedError("BadPlatformModule")<{ readonly message: string }> {}

const namePattern = /^[a-z][a-z0-9-]{0,31}$/

/** The properties of an adapter that must be there, with the types of their values. */
const required: Readonly<Record<Exclude<keyof PlatformAdapter, "isDefaultChannel">, string>> = {
  name: "string",
  label: "string",
  summary: "string",
  capabilities: "array",
  fields: "array",
  isVerified: "boolean",
  domainMisfit: "function",
  ownsDomain: "function",
  sortsByDefault: "boolean",
  smallerPicture: "function",
  make: "effect"
}

const typeOf = (value: unknown) => (Array.isArray(value) ? "array" : Effect.isEffect(value) ? "effect" : typeof value)

const isField = (field: unknown) =>
  Predicate.isRecord(field) &&
  Object.entries({ name: "string", label: "string", isSecret: "boolean", misfit: "function" }).every(
    ([property, type]) => typeOf(field[property]) === type
  )

/** Why an export is not an adapter; undefined: it is one. */
const misfitOf = (adapter: unknown): string | undefined => {
  if (!Predicate.isRecord(adapter)) return "does not export `adapter`, an object of the type PlatformAdapter"
  const wrong = Object.entries(required).find(([property, type]) => typeOf(adapter[property]) !== type)
  if (wrong !== undefined) return `exports an adapter whose \`${wrong[0]}\` is not of the type ${wrong[1]}`
  if (!(Array.isArray(adapter.fields) && adapter.fields.every(isField)))
    return "exports an adapter with a field that lacks `name`, `label`, `isSecret` or `misfit`"
  const name = String(adapter.name)
  return namePattern.test(name) && name !== filesOnly
    ? undefined
    : `exports an adapter with a name that is \`${filesOnly}\`, longer than 32 characters, or not of lower-case letters, digits and hyphens`
}

const isAdapter = (adapter: unknown): adapter is PlatformAdapter => misfitOf(adapter) === undefined

const reasonOf = (error: unknown) => (error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error))

const load = (path: string): Effect.Effect<PlatformAdapter, BadPlatformModule> =>
  Effect.gen(function* () {
    const refuse = (reason: string) => new BadPlatformModule({ message: `PLATFORM_MODULES: ${path} ${reason}` })
    const { adapter }: { readonly adapter?: unknown } = yield* Effect.tryPromise({
      try: () => import(resolve(path)),
      catch: (error) => refuse(`cannot be loaded: ${reasonOf(error)}`)
    })
    return isAdapter(adapter) ? adapter : yield* refuse(misfitOf(adapter) ?? "")
  })

/**
 * Loads the adapters of modules: files that export `adapter`. Two platforms cannot have one name.
 *
 * @param builtIn the names that are in use already
 */
export const loadAdapters = (paths: ReadonlyArray<string>, builtIn: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const adapters = yield* Effect.forEach(paths, load)
    const names = [...builtIn, ...adapters.map(({ name }) => name)]
    const twice = names.findIndex((name, place) => names.indexOf(name) !== place)
    if (twice !== -1)
      return yield* new BadPlatformModule({
        message: `PLATFORM_MODULES: ${paths[twice - builtIn.length]} exports an adapter for \`${names[twice]}\`, but there is one already`
      })
    return adapters
  })
