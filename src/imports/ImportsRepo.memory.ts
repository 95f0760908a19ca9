import { createHash } from "node:crypto"
import { Clock, type Context, Effect, Layer, Option, Ref } from "effect"
import { matches } from "../catalog/SearchText.ts"
import { type MemorySlices, type MemoryState, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import { titleOf, valueOf } from "../model/Attribute.ts"
import type { AccountId, EntityId, ImportId } from "../model/Ids.ts"
import { addressOf } from "../model/SameValue.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import {
  type ImportConflict,
  type ImportRun,
  maxNamedConflicts,
  nothingPlanned,
  type ReadingProgress
} from "./Import.ts"
import { ImportsRepo } from "./ImportsRepo.ts"
import { isPlanned, type LeasedRun, type StagedItem, searchedIn } from "./StagedImport.ts"

interface StagedRun {
  readonly accountId: AccountId
  readonly run: ImportRun
  readonly conflicts: ReadonlyArray<ImportConflict>
  readonly items: ReadonlyArray<StagedItem & { readonly done: boolean; readonly searchText: string }>
  /** The lease. `isFree`: any process may take it. The counters are the columns of `import_run` with these names. */
  readonly takeovers: number
  readonly handovers: number
  readonly isFree: boolean
  readonly wasGivenUp: boolean
  readonly reading?: Omit<ReadingProgress, "seconds"> & { readonly began: Timestamp }
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** Imports in the order of their creation. */
    readonly importRuns: ReadonlyArray<StagedRun>
  }
}

export const emptyImports: Pick<MemorySlices, "importRuns"> = { importRuns: [] }

const withoutUnapplied = (staged: StagedRun): StagedRun => ({
  ...staged,
  items: staged.items.filter(({ done }) => done)
})

/** Before the review, the conflicts are deleted. */
const keptConflicts = ({ conflicts, run: { phase } }: StagedRun) => (phase === "fetching" ? [] : conflicts)

type Store = Ref.Ref<MemoryState>
type Repo = Context.Tag.Service<ImportsRepo>

const makeAccess = (store: Store) => {
  const now = Effect.map(Clock.currentTimeMillis, fromMillis)

  const update = (
    accountId: AccountId,
    id: ImportId,
    change: (staged: StagedRun, time: Timestamp) => StagedRun
  ): Effect.Effect<void> =>
    Effect.flatMap(now, (time) =>
      updateAccount(store, accountId, (account) => ({
        ...account,
        importRuns: account.importRuns.map((staged) => (staged.run.id === id ? change(staged, time) : staged))
      }))
    )
  const shown = ({ items, run, takeovers }: StagedRun): ImportRun => ({
    ...run,
    wasTakenOver: takeovers > 0,
    isLocking: run.phase === "reviewing" || run.phase === "applying",
    applied: items.filter((item) => item.done && isPlanned(item)).length
  })
  const ofAccount = (accountId: AccountId) =>
    Effect.map(Ref.get(store), (state) => state.get(accountId)?.importRuns ?? [])
  const one = (accountId: AccountId, id: ImportId) =>
    Effect.map(ofAccount(accountId), (all) => Option.fromNullable(all.find(({ run }) => run.id === id)))
  const conflictsOf = (accountId: AccountId, id: ImportId) =>
    Effect.map(one(accountId, id), Option.match({ onNone: () => [], onSome: ({ conflicts }) => conflicts }))

  const isIn = ({ accountId, id, phase, takeovers }: LeasedRun) =>
    Effect.map(one(accountId, id), (found) =>
      Option.exists(found, (staged) => staged.run.phase === phase && staged.takeovers === takeovers)
    )

  return { now, update, shown, ofAccount, one, conflictsOf, isIn }
}
type Access = ReturnType<typeof makeAccess>

/** Reads and writes of imports. */
const makeRuns = (
  store: Store,
  { now, update, shown, ofAccount, one }: Access
): Pick<
  Repo,
  | "create"
  | "find"
  | "findHolder"
  | "list"
  | "fetching"
  | "move"
  | "saveProgress"
  | "progress"
  | "accountVersion"
  | "isChangedSince"
> => ({
  create: (accountId, { actor, fileName, id, source, storeId }) =>
    Effect.gen(function* () {
      const time = yield* now
      const account = (yield* Ref.get(store)).get(accountId)
      const run: ImportRun = {
        id,
        storeId,
        storeDomain: account?.stores.get(storeId)?.domain ?? "",
        storeName: account?.stores.get(storeId)?.name ?? "",
        source,
        fileName,
        phase: "fetching",
        isPaused: false,
        wasTakenOver: false,
        isLocking: false,
        summary: nothingPlanned,
        applied: 0,
        error: null,
        actor,
        createdAt: time,
        updatedAt: time
      }
      const lease = { takeovers: 0, handovers: 0, isFree: false, wasGivenUp: false }
      yield* updateAccount(store, accountId, (each) => ({
        ...each,
        importRuns: [...each.importRuns, { accountId, run, conflicts: [], items: [], ...lease }]
      }))
    }),
  find: (accountId, id) => Effect.map(one(accountId, id), Option.map(shown)),
  findHolder: (accountId) =>
    Effect.map(ofAccount(accountId), (all) => Option.fromNullable(all.map(shown).find(({ isLocking }) => isLocking))),
  list: (accountId, from, limit) =>
    Effect.map(ofAccount(accountId), (all) =>
      all
        .map(shown)
        .sort((left, right) =>
          left.createdAt === right.createdAt ? (left.id < right.id ? -1 : 1) : left.createdAt < right.createdAt ? 1 : -1
        )
        .slice(from, from + limit)
    ),
  fetching: (accountId) =>
    Effect.map(ofAccount(accountId), (all) => all.map(shown).filter(({ phase }) => phase === "fetching")),
  move: (accountId, id, { actor, error, phase, summary }) =>
    update(accountId, id, (staged, updatedAt) => ({
      ...staged,
      run: {
        ...staged.run,
        phase,
        isPaused: false,
        updatedAt,
        summary: summary ?? staged.run.summary,
        error: error ?? staged.run.error,
        actor: actor ?? staged.run.actor
      }
    })),
  saveProgress: ({ accountId, id, phase }, { done, step, total }) =>
    update(accountId, id, (staged, time) =>
      staged.run.phase === phase
        ? {
            ...staged,
            reading: {
              step,
              done,
              total,
              began: staged.reading?.step === step ? staged.reading.began : time
            }
          }
        : staged
    ),
  progress: (accountId, id) =>
    Effect.gen(function* () {
      const reading = Option.getOrUndefined(yield* one(accountId, id))?.reading
      if (reading === undefined) return Option.none()
      const { began, ...rest } = reading
      return Option.some({ ...rest, seconds: ((yield* Clock.currentTimeMillis) - Date.parse(began)) / 1_000 })
    }),
  accountVersion: (accountId) => Effect.map(Ref.get(store), (state) => state.get(accountId)?.version ?? 0),
  isChangedSince: (accountId, version) =>
    Effect.map(Ref.get(store), (state) => (state.get(accountId)?.notedVersion ?? 0) > version)
})

/** They do not expire, because no process is lost. */
const makeLeases = (
  store: Store,
  { update, isIn }: Access
): Pick<
  Repo,
  "renew" | "holds" | "release" | "pause" | "resume" | "takeOver" | "abandonedReviews" | "forgetStaged"
> => ({
  renew: (run) => isIn(run),
  holds: (run) => isIn(run),
  release: ({ accountId, id }) => update(accountId, id, (staged) => ({ ...staged, isFree: true, wasGivenUp: true })),
  pause: (accountId, id) =>
    update(accountId, id, (staged, updatedAt) => ({
      ...staged,
      takeovers: staged.takeovers + 1,
      handovers: staged.handovers + 1,
      isFree: false,
      wasGivenUp: true,
      run: { ...staged.run, isPaused: true, updatedAt }
    })),
  resume: (accountId, id) =>
    update(accountId, id, (staged, updatedAt) => ({
      ...staged,
      isFree: true,
      run: { ...staged.run, isPaused: false, updatedAt }
    })),
  takeOver: ({ accountId, id }) =>
    Effect.gen(function* () {
      const all = [...(yield* Ref.get(store)).values()].flatMap(({ importRuns }) => importRuns)
      const free = all.find(
        (staged) =>
          staged.isFree &&
          (accountId === null || staged.accountId === accountId) &&
          (id === null || staged.run.id === id)
      )
      if (free === undefined) return Option.none()
      const takeovers = free.takeovers + 1
      const handovers = free.handovers + (free.wasGivenUp ? 1 : 0)
      yield* update(free.accountId, free.run.id, (staged) => ({
        ...staged,
        isFree: false,
        wasGivenUp: false,
        takeovers,
        handovers
      }))
      return Option.some({
        accountId: free.accountId,
        id: free.run.id,
        phase: "applying" as const,
        takeovers,
        interruptions: takeovers - handovers
      })
    }),
  abandonedReviews: Effect.succeed([]),
  forgetStaged: Effect.succeed(0)
})

/** The conflicts of imports. */
const makeConflicts = (
  store: Store,
  { update, conflictsOf }: Access
): Pick<Repo, "stageConflicts" | "conflicts" | "decide" | "decisions" | "tally" | "clearConflicts"> => ({
  stageConflicts: (accountId, id, storeId, conflicts) =>
    Effect.flatMap(Ref.get(store), (state) => {
      const account = state.get(accountId)
      return update(accountId, id, (staged) => ({
        ...staged,
        conflicts: [
          ...staged.conflicts,
          ...conflicts.map(({ accepted, draft, entityId, field, ordinal, store: value }): ImportConflict => {
            const entity = account?.entities.get(entityId)?.aggregate
            return {
              conflict: ordinal,
              entity_id: entityId,
              entity_type: entity?.kind ?? "product",
              title: entity === undefined ? "" : titleOf(entity.kind, entity.attributes),
              store_id: storeId,
              store_domain: account?.stores.get(storeId)?.domain ?? "",
              field,
              accepted,
              draft_value: draft,
              store_value: value,
              decision: null,
              decided_by: null,
              decided_at: null
            }
          })
        ]
      }))
    }),
  conflicts: (accountId, id, after, limit, { isUndecided = false, needles = [], numbers } = {}) =>
    Effect.gen(function* () {
      const entities = (yield* Ref.get(store)).get(accountId)?.entities
      return (yield* conflictsOf(accountId, id))
        .filter(
          ({ conflict, decision, entity_id }) =>
            conflict > after &&
            !(isUndecided && decision !== null) &&
            (numbers?.includes(conflict) ?? true) &&
            matches(entities?.get(entity_id)?.aggregate.searchText ?? "", needles)
        )
        .slice(0, limit)
    }),
  decide: (accountId, decided_by, id, which, decision) =>
    Effect.gen(function* () {
      const isWritten = (each: ImportConflict) =>
        typeof which !== "string"
          ? which.includes(each.conflict)
          : which === "all" || each.decision === null || (which === "others" && each.decision !== decision)
      const chosen = (yield* conflictsOf(accountId, id)).filter(isWritten)
      const numbers = new Set(chosen.map(({ conflict }) => conflict))
      yield* update(accountId, id, (staged, decided_at) => ({
        ...staged,
        conflicts: staged.conflicts.map((each) =>
          numbers.has(each.conflict) ? { ...each, decision, decided_by, decided_at } : each
        )
      }))
      return [...numbers]
    }),
  decisions: (accountId, id, numbers) =>
    Effect.map(
      conflictsOf(accountId, id),
      (all) =>
        new Map(
          all.filter(({ conflict }) => numbers.includes(conflict)).map(({ conflict, decision }) => [conflict, decision])
        )
    ),
  tally: (accountId, id) =>
    Effect.map(conflictsOf(accountId, id), (all) => {
      const numbersOf = (decision: ImportConflict["decision"]) =>
        all.filter((each) => each.decision === decision).map(({ conflict }) => conflict)
      const undecided = numbersOf(null)
      const decided = all.filter(({ decision }) => decision !== null)
      return {
        undecided: undecided.length,
        first: undecided.slice(0, maxNamedConflicts),
        keep_draft: numbersOf("keep_draft").length,
        take_store: numbersOf("take_store").length,
        digest: createHash("md5")
          .update(decided.map(({ conflict, decision }) => `${conflict}${decision}`).join(" "))
          .digest("hex")
      }
    }),
  clearConflicts: (accountId, id) =>
    update(accountId, id, (staged) => ({ ...staged, conflicts: keptConflicts(staged) }))
})

/** The staged items of imports. */
const makeItems = (
  store: Store,
  { update, one }: Access
): Pick<
  Repo,
  "stage" | "nextItems" | "markDone" | "listed" | "removals" | "clear" | "clearSome" | "forgetUnneeded"
> => ({
  stage: (accountId, id, items) =>
    Effect.flatMap(Ref.get(store), (state) => {
      const entities = state.get(accountId)?.entities
      const searchTextOf = (item: StagedItem) => {
        const { entityIds, words } = searchedIn(item)
        return [words, ...entityIds.map((entityId) => entities?.get(entityId)?.aggregate.searchText ?? "")].join("\n")
      }
      return update(accountId, id, (staged) => ({
        ...staged,
        items: [...staged.items, ...items.map((item) => ({ ...item, done: false, searchText: searchTextOf(item) }))]
      }))
    }),
  nextItems: (accountId, id, after, maxEntities) =>
    Effect.map(one(accountId, id), (found) => {
      const open = Option.getOrElse(found, () => ({ items: [] })).items.filter(({ done, ordinal }) =>
        after === null ? !done : ordinal > after
      )
      let total = 0
      return open.filter(({ entities }, index) => {
        total += entities
        return index === 0 || total <= maxEntities
      })
    }),
  markDone: (accountId, id, batch) =>
    update(accountId, id, (staged) => ({
      ...staged,
      handovers: staged.takeovers,
      items: staged.items.map((item) => ({
        ...item,
        done: item.done || batch.some(({ ordinal }) => ordinal >= item.ordinal)
      }))
    })),
  listed: (accountId, id, list, needles, after, limit) =>
    Effect.map(one(accountId, id), (found) =>
      Option.match(found, { onNone: () => [], onSome: ({ items }) => items })
        .filter((item) => item.list === list && item.ordinal > after && matches(item.searchText, needles))
        .toSorted((left, right) => left.ordinal - right.ordinal)
        .slice(0, limit)
        .map(({ changes, entities, ordinal }) => ({ changes, entities, ordinal }))
    ),
  removals: (accountId, id, after, limit) =>
    Effect.map(Ref.get(store), (state) => {
      const account = state.get(accountId)
      const { items = [] } = account?.importRuns.find(({ run }) => run.id === id) ?? {}
      const leaving = items
        .toSorted((left, right) => left.ordinal - right.ordinal)
        .flatMap(({ changes: [change] }) => (change?._tag === "RemoveFromStore" ? [change.entityId] : []))
      return leaving.slice(after, after + limit).flatMap((entityId) => {
        const entity = account?.entities.get(entityId)?.aggregate
        return entity === undefined
          ? []
          : [{ id: entityId, kind: entity.kind, title: titleOf(entity.kind, entity.attributes) }]
      })
    }),
  clear: (accountId, id) =>
    update(accountId, id, (staged) => ({ ...withoutUnapplied(staged), conflicts: keptConflicts(staged) })),
  // All items at once, so that none are left for a second time.
  clearSome: (accountId, id) => Effect.as(update(accountId, id, withoutUnapplied), 0),
  forgetUnneeded: (accountId, id) =>
    Effect.gen(function* () {
      const phase = Option.getOrUndefined(yield* one(accountId, id))?.run.phase ?? "fetching"
      if (phase === "discarded" || phase === "failed") yield* update(accountId, id, withoutUnapplied)
      if (phase === "discarded" || phase === "failed" || phase === "applied")
        yield* updateAccount(store, accountId, (account) => ({
          ...account,
          pulledRecords: new Map([...account.pulledRecords].filter(([importId]) => importId !== id)),
          staged: new Map([...account.staged].filter(([importId]) => importId !== id))
        }))
    })
})

/** Reads of the entities of the catalog. */
const makeEntityReads = (store: Store): Pick<Repo, "entities" | "shownElsewhere" | "match"> => ({
  entities: (accountId, ids) =>
    Effect.map(Ref.get(store), (state) => {
      const entityOf = (id: EntityId | null) =>
        id === null ? undefined : state.get(accountId)?.entities.get(id)?.aggregate
      return ids.flatMap((id) => {
        const entity = entityOf(id)
        if (entity === undefined) return []
        const { attributes, kind, parentId } = entity
        const parent = entityOf(parentId)
        return [
          {
            id,
            kind,
            title: titleOf(kind, attributes),
            product: parent === undefined ? null : titleOf(parent.kind, parent.attributes),
            values: Object.fromEntries(Object.entries(attributes).map(([key, { value }]) => [key, value]))
          }
        ]
      })
    }),
  shownElsewhere: (accountId, shown) =>
    Effect.map(Ref.get(store), (state) => {
      const all = [...(state.get(accountId)?.entities.values() ?? [])].map(({ aggregate }) => aggregate)
      return new Set(
        shown
          .filter(({ mediaId, productId }) =>
            all.some(
              ({ gallery, id, parentId }) =>
                (parentId ?? id) !== productId && gallery.some((entry) => entry.mediaId === mediaId)
            )
          )
          .map(({ mediaId }) => mediaId)
      )
    }),
  match: (accountId, { addresses, handles, skus }) =>
    Effect.map(Ref.get(store), (state) => {
      const all = [...(state.get(accountId)?.entities.values() ?? [])].map(({ aggregate }) => aggregate)
      const leading = (kind: "product" | "variant", key: string, asked: ReadonlyArray<string>) => {
        const found = new Map<string, EntityId>()
        for (const value of asked) {
          const bearers = all.filter((each) => each.kind === kind && valueOf(each.attributes, key) === value)
          const [only] = bearers
          if (only !== undefined && bearers.length === 1) found.set(value, only.parentId ?? only.id)
        }
        return found
      }
      const shown = new Set(all.flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId)))
      const fileAt = (key: string) => {
        const file = all.find(
          ({ attributes, kind }) => kind === "media" && addressOf(valueOf(attributes, "url")) === key
        )
        return file === undefined ? [] : [[key, { key, mediaId: file.id, isShown: shown.has(file.id) }] as const]
      }
      return {
        bySku: leading("variant", "sku", skus),
        byHandle: leading("product", "handle", handles),
        byAddress: new Map(addresses.flatMap(fileAt))
      }
    })
})

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerImportsRepoMemory = Layer.effect(
  ImportsRepo,
  Effect.map(MemoryStore, (store) => {
    const access = makeAccess(store)
    return {
      ...makeRuns(store, access),
      ...makeLeases(store, access),
      ...makeConflicts(store, access),
      ...makeItems(store, access),
      ...makeEntityReads(store)
    }
  })
)
