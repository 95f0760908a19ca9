import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { Demo } from "../../src/demo/Demo.ts"
import { demoChanges, demoStores } from "../../src/demo/DemoCatalog.ts"
import { ownersOf } from "../../src/drafts/CatalogChange.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { EntityKind } from "../../src/model/Attribute.ts"
import type { AccountId, EntityId, StoreId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { layerWorkers } from "../../src/publishing/Publishing.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const aggregatesOf = (accountId: AccountId) =>
  Effect.flatMap(DraftsRepo, ({ lock }) =>
    Effect.map(
      lock(accountId, [...new Set(demoChanges(demoStores(accountId)).flat().flatMap(ownersOf))], []),
      ({ aggregates }) => [...aggregates.values()]
    )
  )

/** Values of the shops that differ from the accepted values of their stores, and the reverse. */
const differences = (accountId: AccountId) =>
  Effect.gen(function* () {
    const all = yield* aggregatesOf(accountId)
    const found: Array<string> = []
    let compared = 0
    for (const { domain, id: storeId } of demoStores(accountId)) {
      const shops = yield* DemoShops
      const records = [...(yield* Stream.runCollect(shops.records({ accountId, storeId })))]
      const byName = new Map(records.map((record) => [record.platformId, record]))
      const named = (ids: ReadonlyArray<EntityId> = []) =>
        ids.map((id) => records.find(({ entityId }) => entityId === id)?.platformId)
      for (const { id, kind, parentId, versions } of all) {
        const version = versions.find((each) => each.storeId === storeId)
        const record = records.find(({ entityId }) => entityId === id)
        if (version?.accepted === undefined || version.accepted === null) {
          if (record !== undefined) found.push(`${domain} holds ${kind} ${id}, which it never accepted`)
          continue
        }
        compared++
        const { attributes, media, members, variants } = version.accepted
        const inShop = records.filter((each) => each.parentId !== null && each.parentId === version.platformId)
        const [expected, actual] = [
          [
            kind,
            version.platformId,
            parentId === null ? null : named([parentId])[0],
            attributes,
            kind === "variant" ? [] : named(media),
            kind === "variant" ? (named(media)[0] ?? null) : null,
            named(members)
          ],
          [
            record?.kind,
            record?.platformId,
            record?.parentId,
            record?.attributes,
            record?.media,
            record?.picture ?? null,
            record?.members
          ]
        ]
        const sorted = (value: unknown) =>
          JSON.stringify(value, (_, member: unknown) =>
            typeof member === "object" && member !== null && !Array.isArray(member)
              ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
              : member
          )
        if (sorted(expected) !== sorted(actual)) found.push(`${domain}: ${kind} ${id} is another there`)
        if (kind === "product" && inShop.map(({ entityId }) => entityId).join() !== (variants ?? []).join())
          found.push(`${domain}: product ${id} has its variants in another order there`)
        byName.delete(version.platformId ?? "")
      }
      found.push(...[...byName.keys()].map((name) => `${domain} holds ${name}, which nobody knows`))
    }
    return { found, compared }
  })

const statuses = (accountId: AccountId) =>
  Effect.map(aggregatesOf(accountId), (all) => {
    const by = new Map<string, Array<string>>()
    for (const { id, versions } of all)
      for (const { lastPublishStatus, storeId } of versions)
        by.set(lastPublishStatus, [...(by.get(lastPublishStatus) ?? []), nameOf(id, storeId)])
    return (status: string) => (by.get(status) ?? []).sort()
  })

/** Whether entities of any kind wait for an outcome. */
const open = (accountId: AccountId) =>
  Effect.gen(function* () {
    const { page } = yield* CatalogRepo
    const pages = yield* Effect.forEach(EntityKind.literals, (kind) =>
      page(accountId, kind, { status: "pending" }, 0, 1)
    )
    return pages.filter(({ rows }) => rows !== "").length
  })

const nameOf = (id: EntityId, storeId: StoreId) => `${id} ${storeId}`

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`the demo's shops on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("have the values that their stores accepted, and workers publish pending versions", () =>
        Effect.gen(function* () {
          const { id } = (yield* (yield* Demo).create).account
          const before = yield* differences(id)
          assert.deepStrictEqual(before.found, [])
          assert.isAtLeast(before.compared, 500)
          const at = yield* statuses(id)
          assert.isAtLeast(at("pending").length, 8)
          assert.isAtLeast(at("failed").length, 8)
          yield* Effect.scoped(
            Effect.zipRight(
              Layer.build(layerWorkers),
              Effect.repeat(Effect.delay(open(id), "100 millis"), { until: (count) => count === 0 })
            )
          )
          const later = yield* statuses(id)
          assert.deepStrictEqual(later("pending"), [])
          assert.deepStrictEqual(later("failed"), at("failed"))
          assert.deepStrictEqual(later("never_published"), at("never_published"))
          assert.deepStrictEqual(later("published"), [...at("published"), ...at("pending")].sort())
          const after = yield* differences(id)
          assert.deepStrictEqual(after.found, [])
          assert.isAbove(after.compared, before.compared)
        })
      )
    })
  })
}
