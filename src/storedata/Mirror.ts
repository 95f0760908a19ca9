import { Chunk, Context, Effect, Layer, Stream } from "effect"
import { DefinitionsRepo } from "../drafts/DefinitionsRepo.ts"
import { definitionOf, type ExportedMetafield, OwnerType } from "../model/Definition.ts"
import { ValidationFailed } from "../model/Errors.ts"
import { type AccountId, type ImportId, RecordId, type StoreId } from "../model/Ids.ts"
import { PlatformClient, type PlatformStore } from "../platform/PlatformClient.ts"
import type { PlatformReadError } from "../platform/PlatformErrors.ts"
import { TranslatedKind } from "../platform/Translation.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { isKeepable, type MirrorItem, maxEntries, nameOf, normal, translationItems } from "./MirrorRecords.ts"
import { MirrorRepo } from "./MirrorRepo.ts"

/** Number of records in one batch. Only one batch is in memory at a time. */
const itemsAtOnce = 100

const nouns: Readonly<Record<MirrorItem["kind"], string>> = {
  market: "market",
  metafield_definition: "metafield definition",
  metaobject_definition: "metaobject definition",
  metaobject_entry: "metaobject entry",
  translatable_fields: "record with translations",
  translations: "record with translations"
}

const shownCharacters = 80

/** Names the record, so that the shop's staff can correct it: without this, no refresh of the store can end. */
const unstorable = (item: MirrorItem) => {
  const name = JSON.stringify(nameOf(item).slice(0, shownCharacters))
  return ValidationFailed.at("store", `has a ${nouns[item.kind]} that cannot be stored: ${name}`)
}

const make = Effect.gen(function* () {
  const client = yield* PlatformClient
  const existing = yield* DefinitionsRepo
  const repo = yield* MirrorRepo

  const toStaged = (rawItem: MirrorItem) =>
    Effect.gen(function* () {
      const item = normal(rawItem)
      if (!isKeepable(item)) return yield* unstorable(item)
      return { id: yield* mintId(RecordId), name: nameOf(item), item }
    })

  return {
    /**
     * Reads all of this data and stages it for the import. Answers of the service do not change yet. Replaces data that the
     * import staged before. Reads at most 10,000 entries per metaobject definition; `cut_metaobjects` names definitions that
     * have more. ValidationFailed: a record cannot be stored. PlatformUnavailable, PlatformRefused: the platform could not be read. After each
     * of them, call `forget` to delete the staged part.
     */
    stage: Effect.fn("Mirror.stage")(function* (accountId: AccountId, importId: ImportId, store: PlatformStore) {
      /**
       * Stages the records of a stream. Returns the number of records, or, with `counted`, of records of that kind.
       */
      const stage = (items: Stream.Stream<MirrorItem, PlatformReadError>, counted?: MirrorItem["kind"]) =>
        items.pipe(
          Stream.mapEffect(toStaged),
          Stream.grouped(itemsAtOnce),
          Stream.mapEffect((some) =>
            Effect.as(
              repo.stage(accountId, importId, Chunk.toReadonlyArray(some)),
              Chunk.reduce(some, 0, (sum, { item }) => (counted === undefined || item.kind === counted ? sum + 1 : sum))
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
          Stream.takeWhile(() => ++found <= maxEntries),
          Stream.map((entry) => ({ kind: "metaobject_entry", content: { type, ...entry } }) as const)
        )
        metaobject_entries += yield* stage(entries)
        if (found > maxEntries) cut_metaobjects.push(type)
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
    /**
     * Makes the store's data equal to the staged data, in the caller's transaction. Writes only rows that differ. Returns whether
     * any row was written; if so, the caller must raise the account's version. A translation is stored with the entity that has
     * its platform id on the store at that time.
     */
    apply: Effect.fn("Mirror.apply")(repo.apply),
    /**
     * Adds definitions of these metafields to a store, except metafields without values and metafields that have a definition
     * already. Returns whether it added any. Runs in the caller's transaction; the caller raises the account's version.
     */
    define: Effect.fn("Mirror.define")(function* (
      accountId: AccountId,
      storeId: StoreId,
      metafields: ReadonlyArray<ExportedMetafield>
    ) {
      const existingMetafields = yield* existing.metafields(accountId, null)
      const unknown = metafields.filter(
        ({ count, key, ownerType }) =>
          count > 0 && !existingMetafields.some((each) => each.ownerType === ownerType && each.key === key)
      )
      const definitions = yield* Effect.forEach(unknown, (metafield) =>
        Effect.map(mintId(RecordId), (id) => ({ id, definition: definitionOf(metafield) }))
      )
      yield* repo.define(accountId, storeId, definitions)
      return definitions.length > 0
    }),
    /** Deletes the staged data of an import. Not in a transaction, because it may take minutes. */
    forget: repo.forget,
    /** Deletes data that was staged more than 14 days ago, unless its import is still open. Returns the number of records. */
    forgetAbandoned: repo.forgetAbandoned
  }
})

/**
 * Copies markets, definitions, metaobject entries and translations of a store from its platform. An import stages the
 * data first and applies it after the review.
 */
export class Mirror extends Context.Tag("catalog/Mirror")<Mirror, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Mirror, make)
}
