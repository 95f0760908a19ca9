import { Chunk, Context, Effect, Layer, Stream } from "effect"
import { DefinitionsRepo } from "../drafts/DefinitionsRepo.ts"
import { definitionOf, type ExportedMetafield, OwnerType } from "../model/Definition.ts"
import { type AccountId, type ImportId, RecordId, type StoreId } from "../model/Ids.ts"
import { PlatformClient, type PlatformStore } from "../platform/PlatformClient.ts"
import { type PlatformReadError, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import { TranslatedKind } from "../platform/Translation.ts"
import { mintId } from "../runtime/Identifiers.ts"
import {
  isKeepable,
  type MirrorItem,
  type MirrorSummary,
  mostEntries,
  nameOf,
  normal,
  translationItems
} from "./MirrorRecords.ts"
import { MirrorRepo, type TakenOver } from "./MirrorRepo.ts"

/** Records that are in memory at once. */
const itemsAtOnce = 100

/**
 * Brings here what a store's platform says beside its catalog: markets, definitions, entries and translations. In two steps,
 * so that an import can be reviewed between them.
 */
export class Mirror extends Context.Tag("catalog/Mirror")<
  Mirror,
  {
    /**
     * Reads all of it for an import, `itemsAtOnce` records at a time, and keeps it apart: no answer changes. What the import
     * read before is forgotten. Of a metaobject definition at most 10,000 entries are read; the summary names those that have
     * more. PlatformUnavailable and PlatformRefused: as the platform was found; what was read until then is for `forget`.
     */
    readonly stage: (
      accountId: AccountId,
      importId: ImportId,
      store: PlatformStore
    ) => Effect.Effect<MirrorSummary, PlatformReadError>
    /**
     * Makes the answers about a store what the import has read of it, in the caller's transaction, and writes only what
     * differs; whether anything did, and the account's version is to be raised. Translations go to the entities that have
     * their platform ids there by then.
     */
    readonly apply: (accountId: AccountId, importId: ImportId, storeId: StoreId) => Effect.Effect<TakenOver>
    /**
     * Defines these metafields for a store: those that have values and of which no linked store has a definition. It runs in the
     * transaction of its caller, who raises the account's version.
     */
    readonly define: (
      accountId: AccountId,
      storeId: StoreId,
      metafields: ReadonlyArray<ExportedMetafield>
    ) => Effect.Effect<void>
    /** Forgets what an import has read: it was applied, discarded or failed. */
    readonly forget: (accountId: AccountId, importId: ImportId) => Effect.Effect<void>
    /** Forgets what nobody forgot for 14 days; how many records. */
    readonly forgetAbandoned: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    Mirror,
    Effect.gen(function* () {
      const client = yield* PlatformClient
      const existing = yield* DefinitionsRepo
      const repo = yield* MirrorRepo

      const staged = (given: MirrorItem) =>
        Effect.gen(function* () {
          const item = normal(given)
          if (!isKeepable(item)) return yield* new PlatformUnavailable({ reason: "nonsense" })
          return { id: yield* mintId(RecordId), name: nameOf(item), item }
        })

      return {
        stage: Effect.fn("Mirror.stage")(function* (accountId, importId, store) {
          /** How many records a stream gave, of all kinds or of one. */
          const stage = (items: Stream.Stream<MirrorItem, PlatformReadError>, counted?: MirrorItem["kind"]) =>
            items.pipe(
              Stream.mapEffect(staged),
              Stream.grouped(itemsAtOnce),
              Stream.mapEffect((some) =>
                Effect.as(
                  repo.stage(accountId, importId, Chunk.toReadonlyArray(some)),
                  Chunk.reduce(some, 0, (sum, { item }) =>
                    counted === undefined || item.kind === counted ? sum + 1 : sum
                  )
                )
              ),
              Stream.runSum
            )

          yield* repo.forget(accountId, importId)
          const markets = yield* stage(
            Stream.map(client.markets(store), (content) => ({ kind: "market", content }) as const)
          )
          const metafield_definitions = yield* stage(
            Stream.flatMap(Stream.fromIterable(OwnerType.literals), (ownerType) =>
              Stream.map(
                client.metafieldDefinitions(store, ownerType),
                (content) => ({ kind: "metafield_definition", content }) as const
              )
            )
          )
          const types: Array<string> = []
          const metaobject_definitions = yield* stage(
            Stream.map(client.metaobjectDefinitions(store), (content) => {
              types.push(content.type)
              return { kind: "metaobject_definition", content } as const
            })
          )
          const cut_metaobjects: Array<string> = []
          let metaobject_entries = 0
          for (const type of new Set(types)) {
            let found = 0
            const entries = client.metaobjectEntries(store, type).pipe(
              Stream.takeWhile(() => ++found <= mostEntries),
              Stream.map((entry) => ({ kind: "metaobject_entry", content: { type, ...entry } }) as const)
            )
            metaobject_entries += yield* stage(entries)
            if (found > mostEntries) cut_metaobjects.push(type)
          }
          const translations = yield* stage(
            Stream.flatMap(Stream.fromIterable(TranslatedKind.literals), (kind) =>
              Stream.mapConcat(client.translations(store, kind), translationItems)
            ),
            "translations"
          )
          return {
            markets,
            metafield_definitions,
            metaobject_definitions,
            metaobject_entries,
            translations,
            cut_metaobjects
          }
        }),
        apply: Effect.fn("Mirror.apply")(repo.apply),
        define: Effect.fn("Mirror.define")(function* (accountId, storeId, metafields) {
          const known = yield* existing.metafields(accountId)
          const unknown = metafields.filter(
            ({ count, key, ownerType }) =>
              count > 0 && !known.some((each) => each.ownerType === ownerType && each.key === key)
          )
          const definitions = yield* Effect.forEach(unknown, (metafield) =>
            Effect.map(mintId(RecordId), (id) => ({ id, definition: definitionOf(metafield) }))
          )
          yield* repo.define(accountId, storeId, definitions)
        }),
        forget: repo.forget,
        forgetAbandoned: repo.forgetAbandoned
      }
    })
  )
}
