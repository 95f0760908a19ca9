import { FetchHttpClient } from "@effect/platform"
import { Cause, Effect, Exit, Layer, Record, Stream } from "effect"
import {
  type CatalogClient,
  type ChangePage,
  endpointsOf,
  type FollowedChange,
  type FollowOptions,
  type Kind,
  makeClient,
  type WalkParams,
  type WalkRow
} from "./CatalogClient.ts"
import type { CatalogError } from "./CatalogError.ts"
import type { Plain } from "./Plain.ts"
import type { ClientSettings, Endpoints } from "./Requests.ts"

export interface ConnectSettings extends ClientSettings {
  /** The `fetch` to use. Default: that of the platform. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** Ends a call or an iteration: it fails with the signal's reason. */
export interface Abortable {
  readonly signal?: AbortSignal | undefined
}

type Promised<Call> = Call extends (request: infer Request) => Effect.Effect<infer Success, infer _Error>
  ? (
      ...request: {} extends Request
        ? [request?: Plain<Request>, options?: Abortable]
        : [request: Plain<Request>, options?: Abortable]
    ) => Promise<Plain<Success>>
  : never

type Answer<K extends Kind, Name extends "get" | "versions" | "version"> = Promise<
  Plain<Effect.Effect.Success<ReturnType<Endpoints["catalog"][(typeof endpointsOf)[K][Name]]>>>
>

/** The entities of a kind. */
export interface Entities<K extends Kind> {
  /** All entities that match, in the order of their last change, oldest first. With `ids`: those that exist. */
  readonly walk: <const Params extends WalkParams<K> = {}>(
    params?: Params,
    options?: Abortable
  ) => AsyncIterable<Plain<WalkRow<K, Params>>>
  readonly get: (id: string, options?: Abortable) => Answer<K, "get">
  /** The values that each store publishes. */
  readonly versions: (id: string, options?: Abortable) => Answer<K, "versions">
  readonly version: (id: string, storeId: string, options?: Abortable) => Answer<K, "version">
}

/** A client whose calls return promises. They reject with `CatalogError`. */
export interface Catalog {
  readonly products: Entities<"products">
  readonly variants: Entities<"variants">
  readonly collections: Entities<"collections">
  readonly media: Entities<"media">
  /** The walk of a kind that is known only at run time: `walk("products", …)` is `products.walk(…)`. */
  readonly walk: <K extends Kind, const Params extends WalkParams<K> = {}>(
    kind: K,
    params?: Params,
    options?: Abortable
  ) => AsyncIterable<Plain<WalkRow<K, Params>>>
  readonly changes: {
    /** The cursor after the last change. */
    readonly latest: (options?: Abortable) => Promise<string>
    /** The feed of changes, oldest first. */
    readonly follow: (options?: FollowOptions & Abortable) => AsyncIterable<Plain<FollowedChange>>
    /** The feed of changes by page. Pages are never empty. */
    readonly pages: (options?: FollowOptions & Abortable) => AsyncIterable<Plain<ChangePage>>
  }
  /** Every endpoint of the API, by group and name. */
  readonly endpoints: {
    readonly [Group in keyof Endpoints]: {
      readonly [Name in keyof Endpoints[Group]]: Promised<Endpoints[Group][Name]>
    }
  }
}

/** Runs a call. Its promise rejects with the call's error itself. */
const run = async <A>(call: Effect.Effect<A, CatalogError>, { signal }: Abortable = {}): Promise<A> => {
  signal?.throwIfAborted()
  const exit = await Effect.runPromiseExit(call, signal && { signal })
  signal?.throwIfAborted()
  if (Exit.isSuccess(exit)) return exit.value
  throw Cause.squash(exit.cause)
}

/** Fails with the signal's reason when the signal is aborted. */
const failWhenAborted = (signal: AbortSignal) =>
  Effect.async<never, unknown>((resume) => {
    const end = () => resume(Effect.fail(signal.reason))
    if (signal.aborted) return end()
    signal.addEventListener("abort", end)
    return Effect.sync(() => signal.removeEventListener("abort", end))
  })

const iterate = <A>(stream: Stream.Stream<A, CatalogError>, { signal }: Abortable = {}): AsyncIterable<A> =>
  Stream.toAsyncIterable(signal === undefined ? stream : Stream.interruptWhen(stream, failWhenAborted(signal)))

const entitiesOf = (client: CatalogClient, kind: Kind) => {
  const { get, version, versions } = endpointsOf[kind]
  // A cast: the endpoint is found by its name in a table, so its own type is lost.
  const calls = client.endpoints.catalog as unknown as Readonly<
    Record<string, (request: { readonly path: object }) => Effect.Effect<unknown, CatalogError>>
  >
  const call = (name: string, path: object, options?: Abortable) =>
    run(
      Effect.suspend(() => calls[name]?.({ path }) ?? Effect.dieMessage(`there is no endpoint ${name}`)),
      options
    )
  return {
    walk: (params?: WalkParams<Kind>, options?: Abortable) => iterate(client.walk(kind, params), options),
    get: (id: string, options?: Abortable) => call(get, { id }, options),
    versions: (id: string, options?: Abortable) => call(versions, { id }, options),
    version: (id: string, store_id: string, options?: Abortable) => call(version, { id, store_id }, options)
  }
}

/** Connects to the service at `url`. Nothing is sent before the first call. */
export const connect = ({ fetch, ...settings }: ConnectSettings): Catalog => {
  const http =
    fetch === undefined
      ? FetchHttpClient.layer
      : Layer.provide(FetchHttpClient.layer, Layer.succeed(FetchHttpClient.Fetch, fetch))
  const client = Effect.runSync(Effect.provide(makeClient(settings), http))
  const { changePages, endpoints, follow, latest } = client
  // Casts: the members are built from a table of names, and plain types have no brands.
  return {
    ...Record.map(endpointsOf, (_, kind) => entitiesOf(client, kind)),
    walk: (kind: Kind, params?: WalkParams<Kind>, options?: Abortable) => iterate(client.walk(kind, params), options),
    changes: {
      latest: (options?: Abortable) => run(latest, options),
      follow: (options?: FollowOptions & Abortable) => iterate(follow(options), options),
      pages: (options?: FollowOptions & Abortable) => iterate(changePages(options), options)
    },
    endpoints: Record.map(endpoints as unknown as Readonly<Record<string, Readonly<Record<string, never>>>>, (calls) =>
      Record.map(
        calls,
        (call: (request: unknown) => Effect.Effect<unknown, CatalogError>) => (request: unknown, options?: Abortable) =>
          run(call(request), options)
      )
    )
  } as unknown as Catalog
}
