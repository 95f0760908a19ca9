import { Cause, Context, Duration, Effect, Layer, Option, Predicate, type Scope, Stream } from "effect"
import { filesOnly } from "../model/Store.ts"
import { boundCalls } from "./BoundedCalls.ts"
import { nonePlatform } from "./NonePlatform.ts"
import type { PlatformAdapter, PlatformDescription } from "./PlatformAdapter.ts"
import { PlatformClient, type PlatformStore } from "./PlatformClient.ts"
import { PlatformUnavailable } from "./PlatformErrors.ts"

/** The platforms of this process. */
export class PlatformRegistry extends Context.Tag("catalog/PlatformRegistry")<
  PlatformRegistry,
  {
    /** In the order of the table. `none` is not among them, because it has no adapter. */
    readonly all: ReadonlyArray<PlatformDescription>
    /** None: the store has no platform, or this process has no adapter for it. */
    readonly find: (platform: string) => Option.Option<PlatformDescription>
    /** Why stores of a platform cannot be called: this process has no adapter for it. Undefined: it has, or the platform is `none`. */
    readonly whyMissing: (platform: string) => string | undefined
  }
>() {}

/** The platforms whose stores this process can call. */
export const callablePlatforms = ({ all }: PlatformRegistry["Type"]): ReadonlyArray<string> => [
  filesOnly,
  ...all.map(({ name }) => name)
]

const missing = new PlatformUnavailable({ reason: "missing" })

/** The client of a platform that has no adapter here. */
const missingPlatform: PlatformClient["Type"] = {
  verify: () => missing,
  pull: () => Stream.fail(missing),
  publish: () => missing,
  readBack: () => missing,
  find: () => missing,
  salesChannels: () => missing,
  entityChannels: () => missing,
  markets: () => Stream.fail(missing),
  metafieldDefinitions: () => Stream.fail(missing),
  metaobjectDefinitions: () => Stream.fail(missing),
  metaobjectEntries: () => Stream.fail(missing),
  translations: () => Stream.fail(missing)
}

const makeLimit = Duration.seconds(30)

/** Sends each call to the client of the store's platform. */
const byPlatform = (clientOf: (platform: string) => PlatformClient["Type"]): PlatformClient["Type"] => {
  const of = ({ platform }: PlatformStore) => clientOf(platform)
  return {
    verify: (store) => of(store).verify(store),
    pull: (store) => of(store).pull(store),
    publish: (store, publication) => of(store).publish(store, publication),
    readBack: (store, publication) => of(store).readBack(store, publication),
    find: (store, kind, entity) => of(store).find(store, kind, entity),
    salesChannels: (store) => of(store).salesChannels(store),
    entityChannels: (store, platformId) => of(store).entityChannels(store, platformId),
    markets: (store) => of(store).markets(store),
    metafieldDefinitions: (store, ownerType) => of(store).metafieldDefinitions(store, ownerType),
    metaobjectDefinitions: (store) => of(store).metaobjectDefinitions(store),
    metaobjectEntries: (store, type) => of(store).metaobjectEntries(store, type),
    translations: (store, kind) => of(store).translations(store, kind)
  }
}

const registryOf = (all: ReadonlyArray<PlatformDescription>): PlatformRegistry["Type"] => {
  const find = (platform: string) => Option.fromNullable(all.find(({ name }) => name === platform))
  return {
    all,
    find,
    whyMissing: (platform) =>
      platform === filesOnly || Option.isSome(find(platform))
        ? undefined
        : `is on the platform ${platform}, for which this process has no adapter`
  }
}

/** The client of an adapter. A defect says which adapter it is, because adapters of modules are made while the service starts. */
const makeClient = <R>({ make, name }: PlatformAdapter<R>): Effect.Effect<PlatformClient["Type"], never, R> => {
  const cannot = (reason: string) =>
    Effect.die(new Error(`The adapter of the platform ${name} cannot be made: ${reason}`))
  return make.pipe(
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause) ? Effect.failCause(cause) : cannot(Cause.prettyErrors(cause)[0]?.message ?? "")
    ),
    Effect.timeoutTo({
      duration: makeLimit,
      onSuccess: Effect.succeed,
      onTimeout: () => cannot(`\`make\` did not end within ${Duration.format(makeLimit)}`)
    }),
    Effect.flatten,
    Effect.filterOrElse(Predicate.isRecord, () => cannot("`make` gives no client")),
    Effect.map((client) => boundCalls(name, client))
  )
}

/** The registry of these adapters, and the client that sends each call to the adapter of the store's platform. */
export const layerOf = <R>(
  adapters: ReadonlyArray<PlatformAdapter<R>>
): Layer.Layer<PlatformClient | PlatformRegistry, never, Exclude<R, Scope.Scope>> =>
  Layer.scopedContext(
    Effect.map(
      Effect.forEach(adapters, (adapter) =>
        Effect.map(makeClient(adapter), (client) => [adapter.name, client] as const)
      ),
      (made) => {
        const clients = new Map(made).set(filesOnly, nonePlatform)
        return Context.make(PlatformRegistry, registryOf(adapters)).pipe(
          Context.add(
            PlatformClient,
            byPlatform((platform) => clients.get(platform) ?? missingPlatform)
          )
        )
      }
    )
  )
