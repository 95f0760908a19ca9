import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { DefinitionsRepo } from "../../src/drafts/DefinitionsRepo.ts"
import type { NewDrop } from "../../src/drops/Drop.ts"
import { Drops } from "../../src/drops/Drops.ts"
import type { ReconcileOperation } from "../../src/health/RemediationRules.ts"
import { CurrentBounds } from "../../src/model/ConnectionBounds.ts"
import { metafieldTypes } from "../../src/model/Definition.ts"
import type { EntityId, StoreId } from "../../src/model/Ids.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  DataHealth,
  Drafts,
  definedAs,
  OwnDefinitions,
  Publishing,
  Remediation,
  StoreData
} from "../../src/testing/index.ts"
import { aMetafield, refresh } from "../support/Mirrors.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"
import { unknownKey } from "./DraftValues.ts"

const validation = (name: string, value: string) => ({ name, type: "", value })

/** Definitions in the form of a store's platform. */
const defined = [
  aMetafield("product", "specs.pages", {
    type: "number_integer",
    validations: [validation("min", "1"), validation("max", "2000")]
  }),
  aMetafield("product", "specs.code", {
    validations: [validation("regex", "^[A-Z]{2}-(\\d+)+$"), validation("max", "40")]
  }),
  aMetafield("product", "specs.cut", { validations: [validation("choices", '["slim","wide"]')] }),
  aMetafield("product", "specs.width", {
    type: "number_decimal",
    validations: [validation("max_precision", "1")]
  }),
  aMetafield("product", "specs.sizes", {
    type: "list.number_integer",
    validations: [validation("list.max", "2"), validation("max", "50")]
  }),
  aMetafield("product", "specs.home", {
    type: "url",
    validations: [validation("allowed_domains", '["fell.example"]')]
  }),
  aMetafield("market", "de.title")
]

/** Values that are invalid for their keys, with the messages. */
const misfits: ReadonlyArray<readonly [key: string, value: string, rule: string]> = [
  ["specs.pages", "abc", "must be a whole number from -9007199254740991 to 9007199254740991"],
  ["specs.pages", "0", "must be at least 1"],
  ["specs.pages", "2001", "must be at most 2000"],
  ["specs.code", "ab-1", "must match the pattern ^[A-Z]{2}-(\\d+)+$"],
  // A backtracking regex engine would try every way to split the digits.
  ["specs.code", `AB-${"1".repeat(36)}x`, "must match the pattern ^[A-Z]{2}-(\\d+)+$"],
  ["specs.code", `AB-${"1".repeat(38)}`, "must have at most 40 characters"],
  ["specs.cut", "Slim", "must be one of slim, wide"],
  ["specs.width", "1.25", "must have at most 1 digit after the point"],
  ["specs.sizes", '["1","2","3"]', "must have at most 2 items"],
  ["specs.sizes", '["51"]', "each item must be at most 50"],
  ["specs.home", "https://tern.example/", "must be a URL whose host is one of fell.example"],
  ["title", "x".repeat(256), "must have at most 255 characters"]
]
const fitting = {
  "specs.pages": "320",
  "specs.code": "AB-12",
  "specs.cut": "wide",
  "specs.width": "1.5",
  "specs.sizes": '["50"]',
  "specs.home": "https://fell.example/a"
}

const aShop = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [a, b] = stores
  yield* refresh(accountId, a, { metafields: defined })
  const product = yield* anEntity("product", { title: "Tent" }, { on: stores }).pipe(actingAs(actor))
  return { accountId, actor, a, b, product }
})
type Shop = Effect.Effect.Success<typeof aShop>
const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => Effect.orDie(service.apply(changes)))
const fill = (entity_id: EntityId, store_id: StoreId, values: ReadonlyArray<readonly [string, string]>) =>
  Effect.flatMap(Remediation, (remediation) =>
    remediation.fill(
      "product",
      values.map(([field, value]) => ({ entity_id, store_id, field, value }))
    )
  )
const reconcile = (operations: ReadonlyArray<ReconcileOperation>) =>
  Effect.flatMap(Remediation, (remediation) => remediation.reconcile("product", operations))
const draftOf = (id: EntityId, store: StoreId | null = null) =>
  Effect.flatMap(Drafts, (drafts) => drafts.get(id, store))
const typesOf = (id: EntityId, store: StoreId | null = null) =>
  Effect.map(draftOf(id, store), ({ attributes }) =>
    Object.fromEntries(attributes.filter(({ key }) => key.includes(".")).map(({ key, type }) => [key, type]))
  )
const write = (id: EntityId, key: string, value: string | null, store: StoreId | null = null) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const update = { draft_revision: (yield* draftOf(id)).draft_revision, attributes: [{ key, value }] }
    return yield* store === null
      ? drafts.updateAttributes(id, update)
      : drafts.updateVersionAttributes(id, store, update)
  })
const refusal = <A, R>(write: Effect.Effect<A, { readonly message: string }, R>) =>
  Effect.map(Effect.flip(write), ({ message }) => message)

/** Changes the type of `care.hours` to numbers. `meanwhile`: happens after the entities with another type were read. */
const setTypeBeside = (meanwhile: Effect.Effect<unknown>) =>
  Effect.flatMap(OwnDefinitions, ({ setType }) =>
    setType({ owner_type: "product", key: "care.hours", type: "number_integer" })
  ).pipe(
    Effect.provide(
      OwnDefinitions.layer.pipe(
        Layer.provide(
          Layer.effect(
            DefinitionsRepo,
            Effect.map(DefinitionsRepo, (repo) => ({
              ...repo,
              mistyped: (...read: Parameters<typeof repo.mistyped>) =>
                Effect.tap(repo.mistyped(...read), () => meanwhile)
            }))
          )
        )
      )
    )
  )

const aDrop = (entity_id: EntityId, field: string, value: string): NewDrop => ({
  name: "Sale",
  starts_at: "2999-01-01T00:00:00Z",
  ends_at: null,
  timezone: "UTC",
  changes: [{ entity_id, store_id: null, field, value }]
})

/** The fields of the structure issues of an entity, on each store. */
const invalid = (id: EntityId) =>
  Effect.gen(function* () {
    const health = yield* DataHealth
    yield* health.scan("structure")
    const { data } = yield* health.issues({ section: "structure-invalid-value", page: 1, page_size: 100 })
    return data.filter(({ entity_id }) => entity_id === id).map(({ fields }) => fields)
  })

for (const engine of featureServiceEngines)
  describe.skipIf(engine.absent)(`rules of keys, on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("drafts, fills and reconciles obey the definition's type and validations", () =>
        inShop(({ a, b, product }) =>
          Effect.gen(function* () {
            const before = yield* draftOf(product)
            for (const [key, value, rule] of misfits) {
              assert.strictEqual(yield* refusal(write(product, key, value)), `attributes.${key}: ${rule}`)
              assert.strictEqual(yield* refusal(write(product, key, value, a.id)), `attributes.${key}: ${rule}`)
            }
            const error = (rule: string) => ({ code: "validation_failed", message: `value: ${rule}` })
            const filled = yield* fill(
              product,
              a.id,
              misfits.map(([key, value]) => [key, value])
            )
            assert.strictEqual(filled.filled, 0)
            assert.deepStrictEqual(
              filled.results.map((result) => result.error),
              misfits.map(([, , rule]) => error(rule)) as never
            )
            const reconciled = yield* reconcile(misfits.map(([field, value]) => ({ entity_id: product, field, value })))
            assert.deepStrictEqual(
              reconciled.results.map((result) => result.error),
              misfits.map(([, , rule]) => error(rule)) as never
            )
            assert.deepStrictEqual(yield* draftOf(product), before)

            const right = yield* fill(product, a.id, Object.entries(fitting))
            assert.strictEqual(right.filled, Object.keys(fitting).length)
            const types = {
              "specs.code": "single_line_text_field",
              "specs.cut": "single_line_text_field",
              "specs.home": "url",
              "specs.pages": "number_integer",
              "specs.sizes": "list.number_integer",
              "specs.width": "number_decimal"
            }
            assert.deepStrictEqual(yield* typesOf(product, a.id), types)
            yield* reconcile([{ entity_id: product, field: "specs.pages", value: "7" }])
            assert.strictEqual((yield* typesOf(product, b.id))["specs.pages"], "number_integer")
            yield* write(product, "specs.width", "2.5")
            assert.strictEqual((yield* typesOf(product))["specs.width"], "number_decimal")
          })
        )
      )

      it.effect("the definition's type applies, not the type with which a value was stored", () =>
        inShop(({ a, product }) =>
          Effect.gen(function* () {
            yield* apply(
              CatalogChange.SetAttributes({
                entityId: product,
                values: { "specs.pages": "12" },
                types: { "specs.pages": "single_line_text_field" }
              })
            )
            yield* fill(product, a.id, [["specs.code", "AB-1"]])
            yield* reconcile([{ entity_id: product, field: "specs.pages", value: "13", store_id: a.id }])
            yield* write(product, "specs.pages", "14", a.id)
            assert.strictEqual((yield* typesOf(product, a.id))["specs.pages"], "number_integer")
            assert.strictEqual(
              yield* refusal(write(product, "specs.pages", "x")),
              `attributes.specs.pages: ${misfits[0]?.[2]}`
            )
          })
        )
      )

      it.effect("a drop obeys the same rules", () =>
        inShop(({ a, b, product }) =>
          Effect.gen(function* () {
            const { create } = yield* Drops
            for (const { id } of [a, b]) yield* Effect.ignore((yield* Publishing).request(product, id))
            const said = (field: string, value: string) => refusal(create(aDrop(product, field, value)))
            for (const [field, value, rule] of misfits)
              assert.include((yield* said(field, value)).split("; "), `changes[0].value: ${rule}`)
            assert.include(
              yield* said("specs.page", "1"),
              "changes[0].field: is an unknown key of a product (did you mean specs.pages?)"
            )
          })
        )
      )

      it.effect("an unknown key is refused everywhere with similar keys in the message, and nothing is written", () =>
        inShop(({ a, product }) =>
          Effect.gen(function* () {
            const before = yield* draftOf(product)
            const metafields = "specs.code, specs.cut, specs.home, specs.pages, specs.sizes, specs.width"
            const cases: ReadonlyArray<readonly [key: string, rule: string]> = [
              ["typo.ns", unknownKey("product", "", metafields)],
              ["spec.pages", unknownKey("product", "specs.pages", metafields)],
              ["pages", unknownKey("product", "specs.pages", metafields)],
              [
                "de.title",
                unknownKey("product", "title", metafields).replace("an unknown key of", "a key of a market, not of")
              ]
            ]
            for (const [key, rule] of cases) {
              assert.strictEqual(yield* refusal(write(product, key, "x")), `attributes.${key}: ${rule}`)
              assert.strictEqual(yield* refusal(write(product, key, null)), `attributes.${key}: ${rule}`)
              const error = { code: "validation_failed", message: `field: ${rule}` } as const
              const [filled] = (yield* fill(product, a.id, [[key, "x"]])).results
              assert.deepStrictEqual(filled, {
                entity_id: product,
                store_id: a.id,
                field: key,
                ok: false,
                filled: false,
                error
              })
              const [reconciled] = (yield* reconcile([{ entity_id: product, field: key, value: "x", store_id: a.id }]))
                .results
              assert.deepStrictEqual(reconciled, {
                entity_id: product,
                store_id: a.id,
                ok: false,
                patched_store_ids: [],
                error
              })
            }
            assert.deepStrictEqual(yield* draftOf(product), before)
          })
        )
      )

      it.effect("values of undefined keys can be read and removed, but not written", () =>
        inShop(({ a, product }) =>
          Effect.gen(function* () {
            yield* apply(
              CatalogChange.SetAttributes({ entityId: product, values: { "old.note": "dry" } }),
              CatalogChange.SetOverrides({ entityId: product, storeId: a.id, values: { "old.note": "wet" } })
            )
            assert.match(
              yield* refusal(write(product, "old.note", "damp")),
              /^attributes\.old\.note: is an unknown key/
            )
            assert.deepStrictEqual(yield* invalid(product), [])
            yield* write(product, "old.note", null, a.id)
            yield* write(product, "old.note", "")
            assert.deepStrictEqual(yield* typesOf(product), {})
          })
        )
      )

      it.effect("a scan lists invalid values on the stores that have them", () =>
        inShop(({ a, b, product }) =>
          Effect.gen(function* () {
            const line = { "specs.pages": "single_line_text_field", "specs.sizes": "single_line_text_field" }
            yield* apply(
              CatalogChange.SetAttributes({ entityId: product, values: { "specs.pages": "abc" }, types: line }),
              CatalogChange.SetOverrides({
                entityId: product,
                storeId: b.id,
                values: { "specs.pages": "5", "specs.cut": "Slim", "specs.sizes": "[1.5]", title: "x".repeat(300) },
                types: line
              })
            )
            const rows = yield* invalid(product)
            const expected = [
              [a.id, ["specs.pages"]],
              [b.id, ["title", "specs.cut", "specs.sizes"]]
            ] as const
            assert.deepStrictEqual(
              rows,
              [...expected].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, fields]) => [...fields])
            )
          })
        )
      )

      it.effect(
        "a definition can be created here once, and its type can be changed together with the values that fit",
        () =>
          inShop(({ a, actor, product }) =>
            Effect.gen(function* () {
              const definitions = yield* OwnDefinitions
              const given = { owner_type: "product", key: "care.hours", type: "single_line_text_field" } as const
              assert.match(
                yield* refusal(definitions.create({ ...given, key: "hours", type: "text", name: " " })),
                /^key: must be namespace\.key.*; type: must be one of .*; name: must have 1 to 200 characters$/
              )
              // Shopify would refuse to write them.
              for (const key of ["ca.hours", "care.h"])
                assert.strictEqual(
                  yield* refusal(definitions.create({ ...given, key })),
                  "key: must be namespace.key, of letters, digits, _ and -, with 3 to 255 characters before the dot and 2 to 64 after it"
                )
              const { definition } = yield* definitions.create({ ...given, description: "Of drying." })
              assert.deepInclude(definition, {
                key: "hours",
                namespace: "care",
                name: "hours",
                description: "Of drying.",
                stores: []
              })
              assert.strictEqual(
                yield* refusal(definitions.create(given)),
                "key: is defined already, as single_line_text_field: `catalog definition set-type` sets the type of its values, also after a create that was interrupted"
              )
              assert.include(
                (yield* (yield* StoreData).metafieldDefinitions("product")).map(({ id }) => id),
                definition.id
              )
              const other = yield* anEntity("product", { title: "Hut" }, { on: [a] }).pipe(actingAs(actor))
              yield* write(product, "care.hours", "12")
              yield* write(product, "care.hours", "13", a.id)
              yield* write(other, "care.hours", "some")
              const changed = yield* definitions.setType({ ...given, type: "number_integer" })
              assert.deepStrictEqual([changed.definition.type, changed.retyped], ["number_integer", 1])
              assert.strictEqual((yield* typesOf(product))["care.hours"], "number_integer")
              assert.strictEqual((yield* typesOf(product, a.id))["care.hours"], "number_integer")
              assert.strictEqual((yield* typesOf(other))["care.hours"], "single_line_text_field")
              assert.deepStrictEqual([yield* invalid(product), yield* invalid(other)], [[], [["care.hours"]]])
              assert.match(yield* refusal(write(product, "care.hours", "some")), /must be a whole number/)
              const [newest] = yield* (yield* Drafts).history(product, 1)
              assert.strictEqual(newest?.draft_revision, (yield* draftOf(product)).draft_revision)
              // Only the platform can change its own definition.
              assert.strictEqual(
                yield* refusal(definitions.create({ ...given, key: "specs.pages" })),
                "key: is defined already, as number_integer"
              )
              assert.strictEqual(
                yield* refusal(definitions.setType({ ...given, key: "specs.pages" })),
                "key: is defined by a store's platform, as number_integer: change it there, then refresh the store"
              )
              assert.strictEqual(
                yield* refusal(definitions.setType({ ...given, key: "care.nope" })),
                "key: has no definition yet: create one"
              )
              assert.strictEqual(
                yield* refusal(definitions.delete({ ...given, key: "specs.pages" })),
                "key: is defined by stores only, as number_integer: delete it there"
              )
              assert.strictEqual(
                yield* refusal(definitions.delete({ ...given, key: "care.nope" })),
                "key: has no definition"
              )
              assert.deepStrictEqual(yield* definitions.delete(given), { definition: null, retyped: 0 })
              assert.strictEqual(yield* refusal(definitions.delete(given)), "key: has no definition")
              // Stored values stay, and can only be removed.
              assert.match(
                yield* refusal(write(product, "care.hours", "14")),
                /^attributes\.care\.hours: is an unknown key/
              )
              assert.strictEqual((yield* typesOf(product))["care.hours"], "number_integer")
              yield* write(product, "care.hours", null)
              assert.notProperty(yield* typesOf(product), "care.hours")
              const again = yield* definitions.create({ ...given, type: "number_integer" })
              assert.strictEqual(again.definition.id, definition.id)
            })
          )
      )

      it.effect("a new type of any kind leaves values that do not fit as they are, and a scan finds them", () =>
        inShop(({ a, actor, product }) =>
          Effect.gen(function* () {
            const definitions = yield* OwnDefinitions
            const other = yield* anEntity("product", { title: "Hut" }, { on: [a] }).pipe(actingAs(actor))
            const given = { owner_type: "product", type: "single_line_text_field" } as const
            const changes = {
              "care.colour": ["color", "#1a2b3c", "red"],
              "care.since": ["date_time", "2026-01-31T12:30:00", "2026-02-30T12:30:00"],
              "care.stars": ["rating", '{"value":"3","scale_min":"1","scale_max":"5"}', "3"],
              "care.weight": ["weight", '{"value":1,"unit":"kg"}', '{"value":1,"unit":"cm"}'],
              "care.cost": ["money", '{"amount":"5.99","currency_code":"EUR"}', "5.99 EUR"]
            } as const
            for (const [key, [type, fitting, misfit]] of Object.entries(changes)) {
              yield* definitions.create({ ...given, key })
              yield* write(product, key, fitting)
              yield* write(other, key, misfit)
              assert.strictEqual((yield* definitions.setType({ ...given, key, type })).retyped, 1)
              assert.strictEqual((yield* typesOf(product))[key], type)
              assert.strictEqual((yield* typesOf(other))[key], "single_line_text_field")
            }
            assert.deepStrictEqual(
              [yield* invalid(product), yield* invalid(other)],
              [[], [Object.keys(changes).toSorted()]]
            )
          })
        )
      )

      it.effect("a key of each type can be defined, also if no entity has a value of it", () =>
        inShop(() =>
          Effect.gen(function* () {
            const definitions = yield* OwnDefinitions
            assert.isAbove(metafieldTypes.length, 40)
            for (const [index, type] of metafieldTypes.entries()) {
              const { definition, retyped } = yield* definitions.create({
                owner_type: "product",
                key: `every.type_${index}`,
                type
              })
              assert.deepStrictEqual([definition.type, retyped], [type, 0])
            }
          })
        )
      )

      it.effect("values get the type of their definition although one of their entities is deleted meanwhile", () =>
        inShop(({ actor, product }) =>
          Effect.gen(function* () {
            yield* definedAs("product", { "care.hours": "single_line_text_field" })
            const gone = yield* anEntity("product", { title: "Hut" })
            for (const id of [product, gone]) yield* write(id, "care.hours", "12")
            const { apply } = yield* CatalogChanges
            const deletion = apply([CatalogChange.DeleteEntity({ entityId: gone })]).pipe(
              actingAs(actor),
              Effect.ignore
            )
            // The entity is deleted after the entities with another type were read.
            const { retyped } = yield* setTypeBeside(deletion)
            assert.strictEqual(retyped, 1)
            assert.strictEqual((yield* typesOf(product))["care.hours"], "number_integer")
          })
        )
      )

      it.effect("a definition that somebody else deletes while its type is changed is not found", () =>
        inShop(({ actor }) =>
          Effect.gen(function* () {
            yield* definedAs("product", { "care.hours": "single_line_text_field" })
            const definitions = yield* OwnDefinitions
            const deletion = Effect.ignore(definitions.delete({ owner_type: "product", key: "care.hours" }))
            assert.strictEqual(
              yield* refusal(setTypeBeside(deletion.pipe(actingAs(actor)))),
              "key: has no definition any more: somebody else deleted it"
            )
          })
        )
      )

      it.effect("a platform's definition takes precedence over the account's own", () =>
        inShop(({ a, accountId, product }) =>
          Effect.gen(function* () {
            yield* definedAs("product", { "care.hours": "single_line_text_field" })
            const metafields = [...defined, aMetafield("product", "care.hours", { type: "number_integer" })]
            yield* refresh(accountId, a, { metafields })
            assert.match(yield* refusal(write(product, "care.hours", "some")), /must be a whole number/)
            yield* refresh(accountId, a, { metafields: defined })
            yield* write(product, "care.hours", "some")
            yield* write(product, "care.hours", "12")
            yield* refresh(accountId, a, { metafields })
            // Without the account's own definition the platform's still applies, also to stored values.
            const own = yield* OwnDefinitions
            const { definition, retyped } = yield* own.delete({ owner_type: "product", key: "care.hours" })
            assert.deepStrictEqual([definition?.type, retyped], ["number_integer", 1])
            assert.strictEqual((yield* typesOf(product))["care.hours"], "number_integer")
          })
        )
      )

      it.effect(
        "a caller that is limited to one store keeps the account's own definitions when another store has them",
        () =>
          inShop(({ a, accountId, b, product }) =>
            Effect.gen(function* () {
              const { metafieldDefinitions } = yield* StoreData
              const limited = Effect.provideService(CurrentBounds, { stores: [b.id], confirmPublish: false })
              const seen = Effect.map(metafieldDefinitions("product").pipe(limited), (all) => all.map(({ key }) => key))
              yield* definedAs("product", { "care.hours": "single_line_text_field" })
              yield* write(product, "care.hours", "12", b.id).pipe(limited)
              assert.deepStrictEqual(yield* seen, ["hours"])
              yield* refresh(accountId, a, { metafields: [...defined, aMetafield("product", "care.hours")] })
              yield* write(product, "care.hours", "13", b.id).pipe(limited)
              const filled = yield* fill(product, b.id, [["care.hours", "14"]]).pipe(limited)
              assert.isTrue(filled.results[0]?.ok)
              assert.deepStrictEqual(yield* seen, ["hours"])
              // Only the other store defines this one.
              assert.match(
                yield* refusal(write(product, "specs.cut", "wide", b.id).pipe(limited)),
                /is an unknown key of a product/
              )
            })
          )
      )
    })
  })
