import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import type { FillOperation, ReconcileOperation } from "../../src/health/RemediationRules.ts"
import type { Actor } from "../../src/model/Actor.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, ImportId, nilUuid, StoreId } from "../../src/model/Ids.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import {
  ApiKeys,
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  definedAs,
  Remediation
} from "../../src/testing/index.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"
import { allowed, decimal, unknownKey } from "./DraftValues.ts"

const unknownHere = unknownKey("product", "", "care.note, spec.new")
const nobody = EntityId.make("00000000-0000-4000-8000-00000000dead")
const nowhere = StoreId.make("00000000-0000-4000-8000-00000000beef")
const absent = (message: string) => ({ code: "not_found", message }) as const
const noProduct = (id: EntityId) => absent(`This account has no product with the id ${id}.`)
const noStore = (id: StoreId) => absent(`This account has no linked store with the id ${id}.`)
const misfit = (message: string) => ({ code: "validation_failed", message }) as const

const fill = (kind: EntityKind, operations: ReadonlyArray<FillOperation>) =>
  Effect.flatMap(Remediation, (remediation) => remediation.fill(kind, operations))
const reconcile = (kind: EntityKind, operations: ReadonlyArray<ReconcileOperation>) =>
  Effect.flatMap(Remediation, (remediation) => remediation.reconcile(kind, operations))

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => Effect.orDie(service.apply(changes)))

const override = (entityId: EntityId, store: { readonly id: StoreId }, values: Readonly<Record<string, string>>) =>
  CatalogChange.SetOverrides({ entityId, storeId: store.id, values })

/** Effective values on a store. */
const valuesOn = (store: { readonly id: StoreId }, id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) =>
    Effect.map(drafts.get(id, store.id), ({ attributes, draft_revision, overridden }) => ({
      revision: draft_revision,
      overridden,
      values: Object.fromEntries(attributes.map(({ key, value }) => [key, value]))
    }))
  )

/** Three stores, a product on all of them, and one that is on none. */
const aShop = Effect.gen(function* () {
  const { accountId, actor, stores, token } = yield* anAccount({ domains: ["a.example", "b.example", "c.example"] })
  const [a, b, c] = stores
  return yield* Effect.gen(function* () {
    yield* definedAs("product", { "care.note": "single_line_text_field", "spec.new": "number_integer" })
    const product = yield* anEntity("product", { title: "Tent", "care.note": "dry" }, { on: stores })
    const variant = yield* anEntity("variant", { sku: "T-1" }, { on: stores, of: product })
    const media = yield* anEntity("media", { url: "https://cdn.example/a.png" }, { on: [a] })
    const homeless = yield* anEntity("product", { title: "Homeless" })
    return { accountId, actor, a, b, c, stores, product, variant, media, homeless, token }
  }).pipe(actingAs(actor))
})

type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const byKey = <A extends { readonly key: string }>(changes: ReadonlyArray<A>) =>
  [...changes].sort((left, right) => (left.key < right.key ? -1 : 1))

const byId = (stores: ReadonlyArray<{ readonly id: StoreId }>) => stores.map(({ id }) => id).sort()

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`remediation on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("a fill writes the store's override where the effective value is empty, and nothing else", () =>
        inShop(({ a, b, product }) =>
          Effect.gen(function* () {
            yield* apply(override(product, b, { title: "", vendor: "Fell" }))
            const before = (yield* valuesOn(a, product)).revision
            const operations = [
              { entity_id: product, store_id: a.id, field: "vendor", value: "Tern" },
              { entity_id: product, store_id: b.id, field: "vendor", value: "Tern" },
              { entity_id: product, store_id: a.id, field: "title", value: "Zelt" },
              // A deliberately empty value counts as empty.
              { entity_id: product, store_id: b.id, field: "title", value: "Zelt" },
              // Later operations see the results of earlier ones.
              { entity_id: product, store_id: a.id, field: "vendor", value: "Gull" },
              { entity_id: product, store_id: a.id, field: "description_html", value: "<p>Dry</p>" },
              { entity_id: product, store_id: a.id, field: "spec.new", value: "1" }
            ]
            const { filled, results } = yield* fill("product", operations)
            assert.deepStrictEqual(
              results,
              operations.map(({ value: _, ...target }, index) => ({
                ...target,
                ok: true,
                filled: [0, 3, 5, 6].includes(index),
                draft_revision: before + 1
              }))
            )
            assert.strictEqual(filled, 4)
            const onA = yield* valuesOn(a, product)
            assert.deepInclude(onA.values, {
              title: "Tent",
              vendor: "Tern",
              description_html: "<p>Dry</p>",
              "spec.new": "1"
            })
            assert.deepStrictEqual(onA.overridden, ["description_html", "spec.new", "vendor"])
            assert.deepInclude((yield* valuesOn(b, product)).values, { title: "Zelt", vendor: "Fell" })
            // A batch writes each entity once, and the history has it as one write.
            assert.strictEqual(onA.revision, before + 1)
            const history = yield* (yield* Drafts).history(product, 10)
            const written = (store: { readonly id: StoreId }) =>
              history
                .filter(({ draft_revision, store_id }) => draft_revision === before + 1 && store_id === store.id)
                .map(({ action, actor, changes }) => ({ action, kind: actor.kind, changes: byKey(changes) }))
            assert.deepStrictEqual(written(a), [
              {
                action: "attributes",
                kind: "cli",
                changes: [
                  { key: "description_html", old: null, new: "<p>Dry</p>" },
                  { key: "spec.new", old: null, new: "1" },
                  { key: "vendor", old: null, new: "Tern" }
                ]
              }
            ])
            assert.deepStrictEqual(written(b), [
              { action: "attributes", kind: "cli", changes: [{ key: "title", old: "", new: "Zelt" }] }
            ])
            // The same batch again has nothing to fill and writes nothing.
            const again = yield* fill("product", operations)
            assert.deepStrictEqual([again.filled, again.results.every(({ ok }) => ok)], [0, true])
            // Fields that are already filled also have the revision that a publish needs.
            assert.deepStrictEqual(new Set(again.results.map((each) => each.draft_revision)), new Set([before + 1]))
            assert.strictEqual((yield* valuesOn(a, product)).revision, before + 1)
          })
        )
      )

      it.effect("a fill without a store writes the canonical value, and the history shows it", () =>
        inShop(({ a, b, homeless, product }) =>
          Effect.gen(function* () {
            yield* apply(override(product, b, { vendor: "" }))
            const before = (yield* valuesOn(a, product)).revision
            const of = (entity_id: EntityId, field: string, value: string): FillOperation => ({
              entity_id,
              field,
              value
            })
            const { filled, results } = yield* fill("product", [
              of(product, "vendor", "Tern"),
              // Later operations see the results of earlier ones; on b the value is deliberately empty.
              { ...of(product, "vendor", "Gull"), store_id: a.id },
              { ...of(product, "vendor", "Fell"), store_id: b.id },
              of(product, "title", "Zelt"),
              of(homeless, "vendor", "Tern")
            ])
            assert.deepStrictEqual(
              results.map(({ filled, ok, store_id }) => [ok, filled, store_id]),
              [
                [true, true, null],
                [true, false, a.id],
                [true, true, b.id],
                [true, false, null],
                [true, true, null]
              ]
            )
            assert.strictEqual(filled, 3)
            const onA = yield* valuesOn(a, product)
            assert.deepInclude(onA.values, { title: "Tent", vendor: "Tern" })
            assert.deepStrictEqual(onA.overridden, [])
            assert.deepInclude((yield* valuesOn(b, product)).values, { vendor: "Fell" })
            assert.strictEqual(onA.revision, before + 1)
            const canonical = yield* (yield* Drafts).get(homeless, null)
            assert.include(
              canonical.attributes.map(({ key, value }) => `${key} ${value}`),
              "vendor Tern"
            )
            const history = yield* (yield* Drafts).history(product, 10)
            assert.deepInclude(
              history.find(({ draft_revision, store_id }) => draft_revision === before + 1 && store_id === null),
              { action: "attributes", changes: [{ key: "vendor", old: null, new: "Tern" }] }
            )
          })
        )
      )

      it.effect("a reconcile stays within the language of a text and the currency of a price", () =>
        inShop(({ a, accountId, b, c, product, variant }) =>
          Effect.gen(function* () {
            const { link } = yield* StoresRepo
            yield* link(accountId, { ...a, primary_locale: "de-DE", currency: "EUR" })
            yield* link(accountId, { ...b, primary_locale: "de-AT", currency: "CHF" })
            yield* link(accountId, { ...c, primary_locale: "zh-CN", currency: "EUR" })
            yield* apply(
              override(product, a, { title: "Zelt", vendor: "Fell", "care.note": "trocken" }),
              override(product, c, { title: "帐篷" }),
              override(variant, a, { price: "10.00" }),
              override(variant, b, { price: "11.00" })
            )
            const products = yield* reconcile("product", [
              { entity_id: product, field: "title", winner_store_id: a.id },
              { entity_id: product, field: "care.note", value: "nass" },
              { entity_id: product, field: "title", winner_store_id: c.id },
              { entity_id: product, field: "title", value: "Tent", store_id: c.id },
              { entity_id: product, field: "vendor", winner_store_id: a.id }
            ])
            assert.deepStrictEqual(
              products.results.map(({ ok, patched_store_ids }) => [ok, patched_store_ids]),
              [
                [true, [b.id]],
                [true, [a.id, b.id]],
                [true, []],
                [true, []],
                [true, [b.id, c.id]]
              ]
            )
            assert.deepInclude((yield* valuesOn(c, product)).values, {
              title: "帐篷",
              "care.note": "dry",
              vendor: "Fell"
            })
            const variants = yield* reconcile("variant", [
              { entity_id: variant, field: "price", winner_store_id: a.id },
              { entity_id: variant, field: "price", winner_store_id: b.id }
            ])
            assert.deepStrictEqual(
              variants.results.map(({ patched_store_ids }) => patched_store_ids),
              [[c.id], []]
            )
            assert.deepInclude((yield* valuesOn(b, variant)).values, { price: "11.00" })
          })
        )
      )

      it.effect("a fill that cannot be applied fails alone, with the reason", () =>
        inShop(({ a, b, homeless, media, product, variant }) =>
          Effect.gen(function* () {
            const theirs = yield* aShop
            const before = (yield* valuesOn(a, product)).revision
            const good = { entity_id: product, store_id: a.id, field: "vendor", value: "Tern" }
            const cases: ReadonlyArray<readonly [FillOperation, object]> = [
              [{ ...good, entity_id: nobody }, noProduct(nobody)],
              [{ ...good, entity_id: theirs.product }, noProduct(theirs.product)],
              [{ ...good, entity_id: theirs.product, store_id: theirs.a.id }, noProduct(theirs.product)],
              [{ ...good, store_id: theirs.a.id }, noStore(theirs.a.id)],
              [{ ...good, store_id: nowhere }, noStore(nowhere)],
              [{ ...good, entity_id: variant }, noProduct(variant)],
              [{ ...good, entity_id: homeless }, absent(`The product is not on ${a.domain}.`)],
              [{ ...good, field: "colour" }, misfit(`field: ${unknownHere}`)],
              [{ ...good, field: "__proto__" }, misfit(`field: ${unknownHere}`)],
              [
                { ...good, field: "options", value: "[]" },
                misfit(`field: is read-only; ${allowed.product}, care.note, spec.new`)
              ],
              [{ ...good, field: "tags", value: "a, b" }, misfit("value: must be a JSON list of strings")],
              [{ ...good, field: "tags", value: "[ ]" }, misfit("value: must not be empty: it needs an item")],
              [{ ...good, value: "a\nb" }, misfit("value: must be one line of text")],
              [{ ...good, value: "a\u0000b" }, misfit("value: must not contain U+0000")],
              [{ ...good, value: "\ud800" }, misfit("value: must not contain lone surrogates")],
              [{ ...good, value: "" }, misfit("value: must not be empty: it needs more than white space")],
              [{ ...good, value: " \u3000" }, misfit("value: must not be empty: it needs more than white space")],
              [
                { ...good, field: "description_html", value: "<p>&nbsp;</p>" },
                misfit("value: must not be empty: it needs text or an image")
              ]
            ]
            const { filled, results } = yield* fill("product", [...cases.map(([operation]) => operation), good])
            assert.strictEqual(filled, 1)
            for (const [index, [{ value: _, ...target }, error]] of cases.entries())
              assert.deepStrictEqual(results[index], { ...target, ok: false, filled: false, error } as never)
            const { value: _, ...target } = good
            assert.deepStrictEqual(results[cases.length], {
              ...target,
              ok: true,
              filled: true,
              draft_revision: before + 1
            })
            assert.strictEqual((yield* valuesOn(a, product)).revision, before + 1)
            // Read-only fields of media, and types of other kinds.
            const others = yield* Effect.all([
              fill("media", [{ entity_id: media, store_id: a.id, field: "width", value: "1" }]),
              fill("variant", [{ entity_id: variant, store_id: b.id, field: "price", value: "cheap" }]),
              fill("media", [{ entity_id: media, store_id: a.id, field: "alt", value: "A tent" }]),
              fill("collection", [{ entity_id: product, store_id: a.id, field: "title", value: "x" }])
            ])
            assert.deepStrictEqual(
              others.map(({ results }) => results[0]?.error),
              [
                misfit(`field: is read-only; ${allowed.media}`),
                misfit(`value: ${decimal}`),
                undefined,
                absent(`This account has no collection with the id ${product}.`)
              ]
            )
            assert.deepStrictEqual(yield* fill("product", []), { filled: 0, results: [] })
          })
        )
      )

      it.effect("a reconcile makes different stores equal, and does not write stores that match", () =>
        inShop(({ a, b, c, product, stores }) =>
          Effect.gen(function* () {
            yield* apply(
              override(product, a, { title: "Zelt", vendor: "Fell", seo_title: "x", tags: '["a"]' }),
              override(product, b, { title: "Tente", seo_title: "x" }),
              override(product, c, { seo_title: "x", "care.note": "" })
            )
            const before = (yield* valuesOn(a, product)).revision
            const operations: ReadonlyArray<ReconcileOperation> = [
              { entity_id: product, field: "title", winner_store_id: a.id },
              // Equal to the canonical value: overrides are removed.
              { entity_id: product, field: "vendor", winner_store_id: b.id },
              // The stores agree, although not with the canonical value.
              { entity_id: product, field: "seo_title", value: "y" },
              { entity_id: product, field: "care.note", value: "wet", store_id: c.id },
              // The first operation has already done this.
              { entity_id: product, field: "title", winner_store_id: b.id },
              { entity_id: product, field: "tags", value: "" }
            ]
            const { patched, results } = yield* reconcile("product", operations)
            const [first] = byId(stores)
            const of = (store_id: StoreId, patched_store_ids: ReadonlyArray<StoreId>) => ({
              entity_id: product,
              store_id,
              ok: true,
              patched_store_ids,
              ...(patched_store_ids.length === 0 && { unchanged: true as const }),
              draft_revision: before + 1
            })
            assert.deepStrictEqual(results, [
              of(a.id, [b.id, c.id]),
              of(b.id, [a.id]),
              of(first ?? nowhere, []),
              of(c.id, [c.id]),
              of(b.id, []),
              of(first ?? nowhere, [a.id])
            ])
            assert.strictEqual(patched, 5)
            const [onA, onB, onC] = yield* Effect.all([
              valuesOn(a, product),
              valuesOn(b, product),
              valuesOn(c, product)
            ])
            assert.deepInclude(onA.values, { title: "Zelt", vendor: "", seo_title: "x", tags: "", "care.note": "dry" })
            assert.deepStrictEqual(onA.overridden, ["seo_title", "title"])
            assert.deepInclude(onB.values, { title: "Zelt", seo_title: "x", "care.note": "dry" })
            assert.deepStrictEqual(onB.overridden, ["seo_title", "title"])
            assert.deepInclude(onC.values, { title: "Zelt", "care.note": "wet" })
            assert.strictEqual(onA.revision, before + 1)
            // A value that equals the canonical one: overrides are removed on all stores.
            const again = yield* reconcile("product", [{ entity_id: product, field: "care.note", value: "dry" }])
            assert.deepStrictEqual(again.results[0]?.patched_store_ids, [c.id])
            assert.notInclude((yield* valuesOn(c, product)).overridden, "care.note")
            // A deliberately empty override, while the canonical value is not empty.
            yield* apply(override(product, b, { title: "Tente" }))
            const emptied = yield* reconcile("product", [{ entity_id: product, field: "title", value: "" }])
            assert.strictEqual(emptied.patched, 3)
            assert.deepInclude((yield* valuesOn(c, product)).values, { title: "" })
          })
        )
      )

      it.effect("a reconcile that cannot be applied fails alone, with the reason", () =>
        inShop(({ a, b, homeless, product, stores, variant }) =>
          Effect.gen(function* () {
            const theirs = yield* aShop
            yield* apply(
              override(product, b, { title: "Tente", status: "live" }),
              override(variant, b, { price: "1.00" })
            )
            const [first = nowhere] = byId(stores)
            const nil = StoreId.make(nilUuid)
            const cases: ReadonlyArray<readonly [ReconcileOperation, StoreId, object]> = [
              [{ entity_id: nobody, field: "title", value: "x" }, nil, noProduct(nobody)],
              [{ entity_id: theirs.product, field: "title", value: "x" }, nil, noProduct(theirs.product)],
              [
                { entity_id: theirs.product, field: "title", winner_store_id: theirs.a.id },
                theirs.a.id,
                noProduct(theirs.product)
              ],
              [{ entity_id: variant, field: "title", value: "x" }, nil, noProduct(variant)],
              [{ entity_id: product, field: "title", winner_store_id: nowhere }, nowhere, noStore(nowhere)],
              [{ entity_id: product, field: "title", winner_store_id: theirs.a.id }, theirs.a.id, noStore(theirs.a.id)],
              [{ entity_id: product, field: "title", value: "x", store_id: nowhere }, nowhere, noStore(nowhere)],
              [
                { entity_id: homeless, field: "title", winner_store_id: a.id },
                a.id,
                absent(`The product is not on ${a.domain}.`)
              ],
              [{ entity_id: product, field: "colour", winner_store_id: a.id }, a.id, misfit(`field: ${unknownHere}`)],
              [
                { entity_id: product, field: "options", value: "" },
                first,
                misfit(`field: is read-only; ${allowed.product}, care.note, spec.new`)
              ],
              [{ entity_id: product, field: "title", value: "a\nb" }, first, misfit("value: must be one line of text")],
              // A store's own value may be invalid too.
              [
                { entity_id: product, field: "status", winner_store_id: b.id },
                b.id,
                misfit("value: must be one of active, draft, archived, unlisted")
              ]
            ]
            const { patched, results } = yield* reconcile("product", [
              ...cases.map(([operation]) => operation),
              { entity_id: product, field: "title", winner_store_id: b.id },
              { entity_id: homeless, field: "title", value: "x" }
            ])
            for (const [index, [{ entity_id }, store_id, error]] of cases.entries())
              assert.deepStrictEqual(results[index], {
                entity_id,
                store_id,
                ok: false,
                patched_store_ids: [],
                error
              } as never)
            assert.strictEqual(patched, 2)
            assert.deepStrictEqual(results.slice(-1), [
              {
                entity_id: homeless,
                store_id: nil,
                ok: true,
                patched_store_ids: [],
                unchanged: true,
                draft_revision: (yield* (yield* Drafts).get(homeless, null)).draft_revision
              }
            ])
            assert.deepStrictEqual(yield* reconcile("product", []), { patched: 0, results: [] })
          })
        )
      )

      it.effect("whole batches are refused while an import locks the account", () =>
        inShop(({ a, accountId, product }) =>
          Effect.gen(function* () {
            const lock = yield* ImportLockRepo
            const before = (yield* valuesOn(a, product)).revision
            assert.isTrue(Option.isNone(yield* lock.take(accountId)))
            yield* lock.keep(accountId, ImportId.make(nobody))
            const refused = yield* Effect.all([
              Effect.flip(fill("product", [{ entity_id: product, store_id: a.id, field: "vendor", value: "Tern" }])),
              Effect.flip(reconcile("product", [{ entity_id: nobody, field: "vendor", value: "Tern" }]))
            ])
            assert.deepStrictEqual(
              refused.map(({ _tag }) => _tag),
              ["PimLocked", "PimLocked"]
            )
            yield* lock.keep(accountId, null)
            assert.strictEqual((yield* valuesOn(a, product)).revision, before)
          })
        )
      )

      it.effect("the history names the key that sent the batch", () =>
        inShop(({ a, accountId, product }) =>
          Effect.gen(function* () {
            const key = yield* (yield* ApiKeys).create(accountId, {
              name: "Nightly",
              scopes: ["pim:write"],
              expiresAt: null
            })
            const actor: Actor = { _tag: "Key", accountId, keyId: key.id }
            yield* fill("product", [{ entity_id: product, store_id: a.id, field: "vendor", value: "Tern" }]).pipe(
              actingAs(actor)
            )
            const [newest] = yield* (yield* Drafts).history(product, 1)
            assert.deepInclude(newest, {
              actor: { kind: "key", id: key.id, name: "Nightly" },
              action: "attributes",
              store_id: a.id,
              changes: [{ key: "vendor", old: null, new: "Tern" }]
            })
          })
        )
      )
    })
  })
}
