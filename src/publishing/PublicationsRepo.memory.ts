import { Array as Arr, Clock, type Context, Effect, Layer, Option, Ref } from "effect"
import type { Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { type MemoryAccount, type MemoryState, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import { titleOf } from "../model/Attribute.ts"
import type { AccountId, EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { cancelledCode, delayOf, isDelayed } from "../model/PublishState.ts"
import { filesOnly } from "../model/Store.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { monotonicMillis } from "../runtime/MonotonicClock.ts"
import { isOpen, isUntil, lineOf, type MemoryPublication, publicationsOf } from "./MemoryPublication.memory.ts"
import { makePublicationCancels } from "./PublicationCancels.memory.ts"
import { type AttemptEnd, type ClaimedPublication, type ClaimRequest, isAnswered } from "./PublicationClaim.ts"
import { includedIds, toMemberVersion } from "./PublicationContent.ts"
import { makePublicationOutcomes } from "./PublicationOutcomes.memory.ts"
import type { PublishAttempt } from "./PublicationRecord.ts"
import { type PublicationRequests, PublicationsRepo } from "./PublicationsRepo.ts"
import { isDue, makeUnclaimed } from "./UnclaimedPublications.memory.ts"

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerPublicationsRepoMemory = Layer.effect(
  PublicationsRepo,
  Effect.map(MemoryStore, (store) => ({
    ...makeRequests(store),
    ...makePendingScans(store),
    ...makePublicationCancels(store),
    claim: makeClaim(store),
    ...makeClaimWrites(store),
    ...makeUnclaimed(store),
    ...makePublicationOutcomes(store)
  }))
)

type Repo = Context.Tag.Service<PublicationsRepo>
type Store = Ref.Ref<MemoryState>

/** Makes the read of a part of the versions of entities on a store. */
const readVersions =
  <Part>(store: Store, partOf: (version: VersionState) => Part) =>
  (accountId: AccountId, storeId: StoreId, ids: ReadonlyArray<EntityId>) =>
    Effect.map(Ref.get(store), (state): ReadonlyMap<EntityId, Part> => {
      const entities = state.get(accountId)?.entities
      return new Map(
        ids.flatMap((id) =>
          (entities?.get(id)?.aggregate.versions ?? [])
            .filter((version) => version.storeId === storeId)
            .map((version) => [id, partOf(version)] as const)
        )
      )
    })

/** The open publications to a store, without one. */
const otherPending = (store: Store, accountId: AccountId, storeId: StoreId, id: PublicationId) =>
  Effect.map(publicationsOf(store, accountId), (all) =>
    all.filter((each) => isOpen(each) && each.storeId === storeId && each.id !== id)
  )

const makeRequests = (store: Store): PublicationRequests => ({
  insert: (accountId, publication) =>
    Effect.flatMap(Clock.currentTimeMillis, (millis) =>
      updateAccount(store, accountId, (account) => ({
        ...account,
        publications: [
          ...account.publications,
          {
            ...publication,
            state: "pending",
            givenBack: 0,
            nextAttemptAt: millis,
            claim: null,
            leaseUntil: 0,
            requestedAt: millis,
            finishedAt: null,
            attempts: []
          }
        ]
      }))
    ),
  newest: (accountId, entityId, storeId) =>
    Effect.map(publicationsOf(store, accountId), (all) =>
      Option.fromNullable(
        all.findLast((each) => isOpen(each) && each.entityId === entityId && each.storeId === storeId)
      )
    ),
  requestedAgain: (accountId, storeId, ids, id) =>
    Effect.map(
      otherPending(store, accountId, storeId, id),
      (others) => new Set(ids.filter((entityId) => others.some((each) => each.entityId === entityId)))
    ),
  broughtAgain: (accountId, storeId, ids, id) =>
    Effect.map(
      otherPending(store, accountId, storeId, id),
      (others) =>
        new Map(
          ids.flatMap((entityId) => {
            const bringing = others.filter(({ entityIds }) => entityIds.includes(entityId))
            const isIncluded = bringing.some(({ content }) => includedIds(content).includes(entityId))
            return bringing.length === 0 ? [] : [[entityId, { isIncluded }] as const]
          })
        )
    ),
  ahead: (accountId, ids) =>
    Effect.map(publicationsOf(store, accountId), (all) =>
      lineOf(all, ({ id }) => ids.includes(id)).map(({ id }) => id)
    ),
  related: (accountId, entityId, storeId) =>
    Effect.map(Ref.get(store), (state) => {
      const entities = state.get(accountId)?.entities
      const aggregate = entities?.get(entityId)?.aggregate
      const isUnnamed = (id: EntityId) =>
        entities
          ?.get(id)
          ?.aggregate.versions.some(
            (version) => version.storeId === storeId && version.accepted !== null && version.platformId === null
          ) ?? false
      return [
        ...(aggregate?.gallery ?? []).map(({ mediaId }) => mediaId),
        ...(aggregate?.members ?? []).filter(isUnnamed)
      ]
    }),
  storeVersions: readVersions(store, ({ accepted, mayBeLive, platformId }) => ({ accepted, mayBeLive, platformId })),
  memberVersions: readVersions(store, toMemberVersion),
  recordsOfOthers: (accountId, storeId, entityId, platformIds) =>
    Effect.map(Ref.get(store), (state) => {
      const others = [...(state.get(accountId)?.entities ?? [])].filter(([id]) => id !== entityId)
      const versions = others.flatMap(([, { aggregate }]) => aggregate.versions)
      const taken = new Set(versions.filter((each) => each.storeId === storeId).map(({ platformId }) => platformId))
      return new Set(platformIds.filter((id) => taken.has(id)))
    })
})

/** The title of an entity in lists. That of a variant begins with its product. */
const listedTitle = (entities: MemoryAccount["entities"] | undefined, aggregate: Aggregate) =>
  [aggregate.parentId === null ? undefined : entities?.get(aggregate.parentId)?.aggregate, aggregate]
    .flatMap((each) => (each === undefined ? [] : [titleOf(each.kind, each.attributes).trim()]))
    .filter((title) => title !== "")
    .join(": ")

/** Entities whose draft is unpublished on a store, ordered by id. */
const pendingOn = (store: Store, accountId: AccountId, storeId: StoreId) =>
  Effect.map(Ref.get(store), (state) => {
    const entities = state.get(accountId)?.entities
    return [...(entities?.values() ?? [])]
      .flatMap(({ aggregate }) => {
        const version = aggregate.versions.find((each) => each.storeId === storeId)
        const { id, kind } = aggregate
        const title = listedTitle(entities, aggregate)
        return version?.pendingPublish === true
          ? [{ id, kind, title, isUnderWay: version.lastPublishStatus === "pending" }]
          : []
      })
      .sort((left, right) => (left.id < right.id ? -1 : 1))
  })

const makePendingScans = (
  store: Store
): Pick<Repo, "entities" | "outcomesOf" | "orphans" | "pendingAfter" | "pendingCounts" | "pendingUntil"> => ({
  entities: (accountId, ids) =>
    Effect.map(Ref.get(store), (state) => {
      const entities = state.get(accountId)?.entities
      return [...ids].sort().flatMap((id) => {
        const aggregate = entities?.get(id)?.aggregate
        return aggregate === undefined ? [] : [{ id, kind: aggregate.kind, title: listedTitle(entities, aggregate) }]
      })
    }),
  pendingUntil: (accountId, storeId, until, entityIds = null) =>
    Effect.gen(function* () {
      const all = yield* publicationsOf(store, accountId)
      const now = fromMillis(yield* Clock.currentTimeMillis)
      const isMeant = (each: MemoryPublication) =>
        isOpen(each) &&
        each.storeId === storeId &&
        isUntil(each, until) &&
        (entityIds === null || entityIds.includes(each.entityId))
      const meant = all.filter(isMeant)
      const delays = meant.flatMap(({ error }) => delayOf(error) ?? [])
      return { count: meant.length, delay: delays.sort()[0] ?? null, now }
    }),
  outcomesOf: (accountId, jobId) =>
    Effect.map(publicationsOf(store, accountId), (all) => {
      const own = all.filter((each) => each.jobId === jobId && each.error !== null && each.error.code !== cancelledCode)
      const count = (state: MemoryPublication["state"]) => own.filter((each) => each.state === state).length
      return { failed: count("failed"), incomplete: count("published") }
    }),
  pendingCounts: (accountId, storeId) =>
    Effect.map(pendingOn(store, accountId, storeId), (all) =>
      [...new Set(all.map(({ kind }) => kind))].sort().map((kind) => {
        const ofKind = all.filter((each) => each.kind === kind)
        const underWay = ofKind.filter(({ isUnderWay }) => isUnderWay).length
        return { kind, waiting: ofKind.length - underWay, underWay }
      })
    ),
  pendingAfter: (accountId, storeId, kinds, after, limit) =>
    Effect.map(pendingOn(store, accountId, storeId), (all) =>
      all
        .filter(({ id, isUnderWay, kind }) => id > after && !isUnderWay && kinds.includes(kind))
        .slice(0, limit)
        .map(({ id, kind, title }) => ({ id, kind, title }))
    ),
  orphans: (kind) =>
    Effect.map(Ref.get(store), (state) =>
      [...state.values()].flatMap((account) =>
        [...account.entities.values()]
          .filter(({ aggregate }) => aggregate.kind === kind)
          .flatMap(({ aggregate: { id, versions } }) =>
            versions
              .filter(
                ({ lastPublishStatus, storeId }) =>
                  lastPublishStatus === "pending" &&
                  (account.stores.get(storeId)?.platform ?? filesOnly) !== filesOnly &&
                  !account.publications.some(
                    (each) => isOpen(each) && each.storeId === storeId && each.entityIds.includes(id)
                  )
              )
              .map(({ storeId }) => ({ accountId: account.id, entityId: id, storeId }))
          )
      )
    )
})

/** Due publications within the limit of each store, with their positions in the store's queue. */
const rankDue = (account: MemoryAccount, { maxPerStore, only, platforms }: ClaimRequest, millis: number) => {
  const running = new Map<StoreId, number>()
  for (const { leaseUntil, storeId } of account.publications)
    if (leaseUntil > millis) running.set(storeId, (running.get(storeId) ?? 0) + 1)
  const due = account.publications.filter(
    (publication) =>
      isDue(account, publication, millis, (platform) => platforms?.includes(platform) ?? true) &&
      (only === null || only.includes(publication.id))
  )
  return Object.values(Arr.groupBy(due, ({ storeId }) => storeId)).flatMap((ofStore) => {
    const [{ storeId }] = ofStore
    const free = Math.max(0, maxPerStore - (running.get(storeId) ?? 0))
    // The newest takes the last place: the oldest ones may be those for which the platform always fails.
    const isSuspected = (account.outages.get(storeId)?.metBy ?? null) !== null
    const chosen =
      isSuspected && free > 0
        ? [...ofStore.slice(0, -1).slice(0, free - 1), ...ofStore.slice(-1)]
        : ofStore.slice(0, free)
    return chosen.map((publication, place) => ({ account, publication, place }))
  })
}

const startAttempt = (
  publication: MemoryPublication,
  claim: string,
  leaseSeconds: number,
  millis: number
): MemoryPublication => {
  const now = fromMillis(millis)
  const attempt = { startedAt: now, endedAt: null, outcome: null, reason: null }
  return {
    ...publication,
    claim,
    leaseUntil: millis + leaseSeconds * 1_000,
    attempts: [...endOpen(publication.attempts, { outcome: "lost", reason: null, endedAt: now }), attempt]
  }
}

const toClaimed = (
  account: MemoryAccount,
  publication: MemoryPublication,
  claim: string,
  millis: number
): ClaimedPublication => ({
  accountId: account.id,
  id: publication.id,
  claim,
  entityId: publication.entityId,
  storeId: publication.storeId,
  draftRevision: publication.draftRevision,
  content: publication.content,
  actor: publication.actor,
  dropId: publication.dropId,
  attempts: publication.attempts.length + 1,
  givenBack: publication.givenBack,
  lost: publication.attempts.filter(({ endedAt, outcome }) => endedAt === null || outcome === "lost").length,
  requestedAt: fromMillis(publication.requestedAt),
  claimedAt: fromMillis(millis),
  outageUntil: Option.getOrNull(
    Option.map(Option.fromNullable(account.outages.get(publication.storeId)), ({ until }) => fromMillis(until))
  ),
  error: publication.error
})

const makeClaim =
  (store: Store): Repo["claim"] =>
  (request, begin = () => Effect.void) =>
    Effect.gen(function* () {
      const millis = yield* Clock.currentTimeMillis
      const claimedAt = yield* monotonicMillis
      const claimed = yield* Ref.modify(store, (state): readonly [ReadonlyArray<ClaimedPublication>, MemoryState] => {
        const chosen = [...state.values()]
          .flatMap((account) => rankDue(account, request, millis))
          .sort(
            (left, right) => left.place - right.place || left.publication.requestedAt - right.publication.requestedAt
          )
          .slice(0, request.limit)
        const claims = new Map(chosen.map(({ publication }) => [publication.id, crypto.randomUUID()]))
        const next = new Map(state)
        for (const account of new Set(chosen.map(({ account }) => account)))
          next.set(account.id, {
            ...account,
            publications: account.publications.map((each) => {
              const claim = claims.get(each.id)
              return claim === undefined ? each : startAttempt(each, claim, request.leaseSeconds, millis)
            })
          })
        return [
          chosen.map(({ account, publication }) =>
            toClaimed(account, publication, claims.get(publication.id) ?? "", millis)
          ),
          next
        ]
      })
      if (claimed.length > 0) yield* begin(claimed, claimedAt)
      return claimed
    })

/** Ends the attempts that have no end yet. */
const endOpen = (
  attempts: ReadonlyArray<PublishAttempt>,
  { endedAt, outcome, reason }: AttemptEnd & { readonly endedAt: Timestamp }
): ReadonlyArray<PublishAttempt> =>
  attempts.map((attempt) => (attempt.endedAt === null ? { ...attempt, outcome, reason, endedAt } : attempt))

const makeHasten =
  (store: Store): Repo["hasten"] =>
  (accountId, storeId, entityId) =>
    Effect.flatMap(Clock.currentTimeMillis, (millis) =>
      updateAccount(store, accountId, (account) => {
        const outage = account.outages.get(storeId)
        const ended =
          outage === undefined ? [] : [[storeId, { ...outage, until: Math.min(outage.until, millis) }] as const]
        return {
          ...account,
          outages: new Map([...account.outages, ...(entityId === null ? [] : ended)]),
          publications: account.publications.map((each) =>
            isOpen(each) &&
            each.storeId === storeId &&
            each.claim === null &&
            isDelayed(each.error) &&
            (entityId === null || each.entityIds.includes(entityId))
              ? { ...each, nextAttemptAt: Math.min(each.nextAttemptAt, millis) }
              : each
          )
        }
      })
    )

const makeClaimWrites = (
  store: Store
): Pick<Repo, "failsAlone" | "finish" | "giveBack" | "hasten" | "meetOutage" | "pin" | "postpone" | "renew"> => {
  /** Changes a claimed publication. False: this attempt does not hold the claim any more. */
  const update = (
    { accountId, claim, id }: ClaimedPublication,
    change: (publication: MemoryPublication, millis: number) => MemoryPublication
  ) =>
    Effect.gen(function* () {
      const millis = yield* Clock.currentTimeMillis
      const isClaimed = (each: MemoryPublication) => each.id === id && each.claim === claim && isOpen(each)
      const found = (yield* publicationsOf(store, accountId)).some(isClaimed)
      if (found)
        yield* updateAccount(store, accountId, (account) => ({
          ...account,
          publications: account.publications.map((each) => (isClaimed(each) ? change(each, millis) : each))
        }))
      return found
    })

  const end = (
    claimed: ClaimedPublication,
    ended: AttemptEnd,
    change: (publication: MemoryPublication, millis: number) => Partial<MemoryPublication>
  ) =>
    update(claimed, (publication, millis) => ({
      ...publication,
      claim: null,
      leaseUntil: 0,
      attempts: endOpen(publication.attempts, { ...ended, endedAt: fromMillis(millis) }),
      ...change(publication, millis)
    }))

  const endOutage = ({ accountId, id, storeId }: ClaimedPublication, ended: AttemptEnd) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      updateAccount(store, accountId, (account) => {
        const outage = account.outages.get(storeId)
        if (outage === undefined || outage.metBy === null) return account
        if (!isAnswered(ended) && (outage.metBy !== id || outage.error !== null)) return account
        const until = Math.min(outage.until, now)
        return { ...account, outages: new Map(account.outages).set(storeId, { ...outage, until, metBy: null }) }
      })
    )

  return {
    renew: (claimed, leaseSeconds) =>
      update(claimed, (publication, millis) => ({ ...publication, leaseUntil: millis + leaseSeconds * 1_000 })),
    pin: (claimed, content) => update(claimed, (publication) => ({ ...publication, content })),
    postpone: (claimed, ended, error, delaySeconds, { isCounted } = { isCounted: true }) =>
      end(claimed, ended, ({ givenBack }, millis) => ({
        error,
        givenBack: givenBack + (isCounted ? 0 : 1),
        nextAttemptAt: millis + delaySeconds * 1_000
      })),
    meetOutage: (claimed, ended, error, delaySeconds) =>
      Effect.gen(function* () {
        const { accountId, id, storeId } = claimed
        const now = yield* Clock.currentTimeMillis
        const nextAttemptAt = now + delaySeconds * 1_000
        const isEnded = yield* end(claimed, ended, ({ givenBack }) => ({
          error,
          givenBack: givenBack + 1,
          nextAttemptAt
        }))
        if (isEnded)
          yield* updateAccount(store, accountId, (account) => {
            const { error: former = null, metBy = null, until = 0 } = account.outages.get(storeId) ?? {}
            const isOther = metBy !== null && metBy !== id
            const outage = {
              until: Math.max(until, isOther ? nextAttemptAt : now),
              error: isOther || (metBy !== null && former !== null) ? error : null,
              metBy: id,
              aloneSince: null
            }
            return { ...account, outages: new Map(account.outages).set(storeId, outage) }
          })
        return isEnded
      }),
    failsAlone: (claimed) =>
      Effect.gen(function* () {
        const { accountId, id, storeId } = claimed
        const outage = (yield* Ref.get(store)).get(accountId)?.outages.get(storeId)
        const isAlone = (outage?.metBy ?? null) === null || (outage?.metBy === id && outage.error === null)
        if (!isAlone || !(yield* update(claimed, (publication) => publication))) return Option.none()
        const former = outage?.metBy === id ? outage.aloneSince : null
        const aloneSince = former ?? (yield* Clock.currentTimeMillis)
        const alone = { until: outage?.until ?? 0, error: null, metBy: id, aloneSince }
        yield* updateAccount(store, accountId, (account) => ({
          ...account,
          outages: new Map(account.outages).set(storeId, alone)
        }))
        return Option.some(fromMillis(aloneSince))
      }),
    hasten: makeHasten(store),
    giveBack: (claimed) =>
      Effect.asVoid(
        end(claimed, { outcome: "interrupted", reason: null }, ({ givenBack }) => ({ givenBack: givenBack + 1 }))
      ),
    finish: (claimed, ended, state, error) =>
      Effect.gen(function* () {
        const isEnded = yield* end(claimed, ended, (_, finishedAt) => ({ state, error, finishedAt }))
        if (isEnded) yield* endOutage(claimed, ended)
        return isEnded
      })
  }
}
