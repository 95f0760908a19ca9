import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { parse } from "csv-parse/sync"
import { Effect, Either, Layer, Stream } from "effect"
import { afterAll } from "vitest"
import { MerchantLists } from "../../src/catalog/MerchantLists.ts"
import { Demo } from "../../src/demo/Demo.ts"
import type { ExportSelection } from "../../src/exports/ExportSelection.ts"
import { Exports } from "../../src/exports/Exports.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { EntityId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { anyDatabase } from "../support/TestDatabase.ts"

const realExports = fileURLToPath(new URL("../../../shared/data/shopify-csv/", import.meta.url))
const examples = fileURLToPath(new URL("../../docs/examples/", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "round-trip-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const quiet = () => Effect.void

const exported = (storeId: StoreId, selection: ExportSelection | null = null) =>
  Effect.gen(function* () {
    const parts = yield* Stream.runCollect((yield* Exports).csv(storeId, false, selection))
    const last = [...parts].at(-1)
    assert.isNotNull(last?.end)
    return { notes: last?.end?.notes, text: Buffer.concat([...parts].map(({ bytes }) => bytes)).toString("utf8") }
  })

type Row = Readonly<Record<string, string>>

const rowsOf = (text: string): ReadonlyArray<Row> => parse(text, { columns: true, bom: true })

/** The columns that both files have. */
const keptColumns = (before: string, after: string) =>
  Object.keys(rowsOf(after)[0] ?? {}).filter((name) => Object.hasOwn(rowsOf(before)[0] ?? {}, name))

/** Numbers for which an export has one form: positions are counted, and weights have no unneeded zeros. */
const inOneForm = (column: string, cell: string, row: Row) =>
  column === "Image Position" && row["Image Src"] !== "" && cell === ""
    ? "1"
    : column === "Variant Grams" && cell !== ""
      ? String(Number(cell))
      : cell

/** The cells of kept columns whose texts differ. */
const differences = (before: string, after: string) => {
  const [given, written] = [rowsOf(before), rowsOf(after)]
  return given.flatMap((row, index) =>
    keptColumns(before, after).flatMap((column) => {
      const [left, right = ""] = [inOneForm(column, row[column] ?? "", row), written[index]?.[column]]
      return left === right ? [] : [`${index} ${column}: ${JSON.stringify(left)} -> ${JSON.stringify(right)}`]
    })
  )
}

const nothing = { created: 0, updated: 0, unchanged: 0, conflicts: 0 }

/** The changes that an import of the file would make. */
const changesOf = (text: string, domain: string) =>
  Effect.gen(function* () {
    const imports = yield* Imports
    const path = join(folder, "again.csv")
    writeFileSync(path, text)
    const { id, summary } = yield* imports.csv(path, domain, quiet)
    yield* imports.discard(id)
    const { conflicts, created, unchanged, updated } = summary
    return { created, updated, unchanged, conflicts }
  })

layer(ServicesOnDatabase.pipe(Layer.provideMerge(anyDatabase), Layer.orDie), { excludeTestServices: true })(
  "exports of products that are imported again",
  (it) => {
    for (const path of [
      join(examples, "bakery.csv"),
      ...["apparel.csv", "apparel-eu.csv", "home-and-garden.csv", "jewelery.csv", "liquid-course.csv"].map((name) =>
        join(realExports, name)
      )
    ].filter(existsSync))
      it.effect(
        `${path.split("/").at(-1)} is exported as it was imported, and importing it again changes nothing`,
        () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount()
            yield* Effect.gen(function* () {
              const imports = yield* Imports
              const { store } = yield* (yield* Stores).link({ domain: "files.example" })
              const run = yield* imports.csv(path, "files.example", quiet)
              yield* imports.accept(run.id, quiet)
              const { notes, text } = yield* exported(store.id)
              assert.deepStrictEqual(notes, [])
              const given = readFileSync(path, "utf8")
              assert.strictEqual(rowsOf(text).length, rowsOf(given).length)
              assert.isAtLeast(keptColumns(given, text).length, 12)
              assert.deepStrictEqual(differences(given, text), [])
              assert.deepStrictEqual(yield* changesOf(text, "files.example"), {
                ...nothing,
                unchanged: run.summary.created
              })
            }).pipe(actingAs(actor))
          })
      )

    it.effect("what a file cannot express is kept: options, titles of variants, units, lists, texts with quotes", () =>
      Effect.gen(function* () {
        const { actor } = yield* anAccount()
        yield* Effect.gen(function* () {
          const { store } = yield* (yield* Stores).link({ domain: "files.example" })
          const { apply } = yield* CatalogChanges
          const mint = mintId(EntityId)
          const all = yield* Effect.all([mint, mint, mint, mint])
          const [product, variant, other, unitless] = all
          const create = CatalogChange.CreateEntity
          const options = JSON.stringify([{ name: "Size", values: ["M", "L", "XL"] }])
          const description = '<p class="a">Two\nlines; a "quote", a comma</p>'
          yield* apply([
            create({
              id: product,
              kind: "product",
              parentId: null,
              values: {
                title: "=Tent, red",
                handle: "tent",
                options,
                tags: '["a","b c"]',
                description_html: description,
                status: "archived"
              }
            }),
            create({
              id: variant,
              kind: "variant",
              parentId: product,
              values: {
                title: "Medium one",
                option1: "M",
                sku: "T-1",
                weight: "0.743",
                weight_unit: "lb",
                price: "12.50"
              }
            }),
            create({ id: other, kind: "variant", parentId: product, values: { title: "Large one", option1: "L" } }),
            create({ id: unitless, kind: "variant", parentId: product, values: { option1: "XL", weight: "250" } }),
            ...all.map((entityId) => CatalogChange.AddToStore({ entityId, storeId: store.id })),
            ...all.map((entityId) => CatalogChange.AcceptPublish({ entityId, storeId: store.id }))
          ])
          const { text } = yield* exported(store.id)
          const [row, second, third] = rowsOf(text)
          assert.deepInclude(row, {
            Title: "=Tent, red",
            "Body (HTML)": description,
            Tags: "a, b c",
            Published: "false",
            Status: "archived",
            "Option1 Name": "Size",
            "Variant Grams": "337"
          })
          assert.deepInclude(second, { "Option1 Value": "L", "Variant Grams": "", "Variant Weight Unit": "" })
          assert.deepInclude(third, { "Option1 Value": "XL", "Variant Grams": "250", "Variant Weight Unit": "" })
          assert.deepStrictEqual(yield* changesOf(text, "files.example"), { ...nothing, unchanged: 1 })
        }).pipe(actingAs(actor))
      })
    )

    it.effect("a selection: importing the file again changes nothing", () =>
      Effect.gen(function* () {
        const { actor, stores } = yield* anAccount({ domains: ["files.example"] })
        yield* Effect.gen(function* () {
          const imports = yield* Imports
          const [{ id: storeId }] = stores
          const run = yield* imports.csv(join(examples, "bakery.csv"), "files.example", quiet)
          yield* imports.accept(run.id, quiet)
          const whole = rowsOf((yield* exported(storeId)).text)
          const idsOf = (search: string) =>
            Effect.flatMap(MerchantLists, (lists) => lists.ids("product", { search }, 10))
          const [[loaf], [cake]] = yield* Effect.all([idsOf("loaf"), idsOf("plum")])
          assert(loaf !== undefined && cake !== undefined)
          for (const [selection, handles] of [
            [{ kind: "product", ids: [cake, loaf] }, ["rye-loaf", "plum-cake"]],
            [{ kind: "product", filters: { vendor: "Ofen & Sohn" } }, ["rye-loaf", "walnut-roll", "gift-box"]]
          ] as const) {
            const { notes, text } = yield* exported(storeId, selection)
            assert.deepStrictEqual(notes, [])
            assert.deepStrictEqual(
              rowsOf(text),
              whole.filter(({ Handle = "" }) => handles.some((handle) => handle === Handle))
            )
            assert.deepStrictEqual(yield* changesOf(text, "files.example"), { ...nothing, unchanged: handles.length })
          }
        }).pipe(actingAs(actor))
      })
    )

    it.effect("a selection has the columns and the notes of the selected products that are on the store", () =>
      Effect.gen(function* () {
        const { actor, stores } = yield* anAccount({ domains: ["files.example", "other.example"] })
        yield* Effect.gen(function* () {
          const [files, other] = stores
          const own = { "care.wash": "30", tags: '["big, red","warm"]' }
          const tagged = "1 product with a comma in a tag: an import makes several tags of such a tag."
          const tent = yield* anEntity("product", { title: "Tent", handle: "tent", vendor: "Fell" }, { on: [files] })
          yield* anEntity("variant", { sku: "T-1", price: "5.00", title: "One" }, { on: [files], of: tent })
          const stove = yield* anEntity("product", { title: "Stove", handle: "stove", ...own }, { on: [files] })
          const hat = yield* anEntity("product", { title: "Hat", handle: "hat" }, { on: [other] })
          const untitled = yield* anEntity("product", { handle: "hat" }, { on: [files] })
          for (const [selection, handles, notes, hasOwn] of [
            [{ kind: "product", ids: [stove, tent] }, ["tent", "stove"], [tagged], true],
            [{ kind: "product", filters: { vendor: "Fell" } }, ["tent"], [], false],
            [
              { kind: "product", ids: [hat, tent, untitled] },
              ["tent", "hat"],
              [
                "1 product not on this store: the file does not have them.",
                "1 product without a title: an import refuses the file until they have one."
              ],
              false
            ],
            [
              null,
              ["tent", "stove", "hat"],
              ["1 product without a title: an import refuses the file until they have one.", tagged],
              true
            ]
          ] as const) {
            const file = yield* exported(files.id, selection)
            assert.deepStrictEqual(
              rowsOf(file.text).map((row) => row.Handle),
              [...handles]
            )
            assert.deepStrictEqual(file.notes, [...notes])
            assert.strictEqual(/care\.wash/.test(file.text), hasOwn)
          }
        }).pipe(actingAs(actor))
      })
    )

    it.effect("products with one handle, in any case, and products without one are noted", () =>
      Effect.gen(function* () {
        const { actor, stores } = yield* anAccount({ domains: ["files.example", "other.example"] })
        yield* Effect.gen(function* () {
          const [files, other] = stores
          const handles = ["hat", "HAT", "Hat", "tent", "Tent", "stove", ""]
          yield* Effect.forEach(handles, (handle) => anEntity("product", { title: "One", handle }, { on: [files] }))
          yield* anEntity("product", { title: "Two", handle: "stove" }, { on: [other] })
          assert.deepStrictEqual((yield* exported(files.id)).notes, [
            "1 product without a handle: the file has the id instead, by which an import into this account finds the product.",
            "5 products with the handle of another product: an import refuses the file until handles differ."
          ])
        }).pipe(actingAs(actor))
      })
    )

    it.effect(
      "a product without handle and SKUs is found by its id, and in another account becomes a product with it",
      () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* anAccount({ domains: ["files.example"] })
          const other = yield* anAccount({ domains: ["files.example"] })
          const [{ id: storeId }] = stores
          const { id, text, variant } = yield* Effect.gen(function* () {
            const id = yield* anEntity("product", { title: "Tent" }, { on: stores })
            const variant = yield* anEntity("variant", { price: "5.00" }, { on: stores, of: id })
            const { text } = yield* exported(storeId)
            const imports = yield* Imports
            const path = join(folder, "by-id.csv")
            // A program that writes the file may change the case of the id.
            writeFileSync(path, text.replaceAll("Tent", "Boat").replace(id, id.toUpperCase()))
            const run = yield* imports.csv(path, "files.example", quiet)
            assert.deepInclude(run.summary, { created: 0, updated: 1 })
            yield* imports.accept(run.id, quiet, { rest: "take_store" })
            const again = yield* exported(storeId)
            assert.deepStrictEqual(yield* changesOf(again.text, "files.example"), { ...nothing, unchanged: 1 })
            return { id, text, variant }
          }).pipe(actingAs(actor))
          const products = Effect.map(
            Effect.flatMap(
              SqlClient.SqlClient,
              (sql) => sql`
            SELECT account_id, id, kind, title, attributes #>> '{handle,value}' AS handle FROM entity
            WHERE account_id IN (${actor.accountId}, ${other.actor.accountId}) AND kind IN ('product', 'variant')`
            ),
            (rows) => rows.filter(({ kind }) => kind === "product")
          )
          assert.deepStrictEqual(yield* products, [
            { account_id: actor.accountId, id, kind: "product", title: "Boat", handle: null }
          ])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const path = join(folder, "elsewhere.csv")
            writeFileSync(path, text)
            const run = yield* imports.csv(path, "files.example", quiet)
            yield* imports.accept(run.id, quiet)
          }).pipe(actingAs(other.actor))
          const [, second] = (yield* products).sort((one) => (one.id === id ? -1 : 1))
          assert.deepInclude(second, { account_id: other.actor.accountId, title: "Tent", handle: id })
          // The id of a variant names no product.
          const ofVariant = yield* changesOf(text.replaceAll(id, variant), "files.example").pipe(actingAs(actor))
          assert.deepStrictEqual(ofVariant, { ...nothing, created: 1 })
        })
    )

    it.effect("a product with more images than an import accepts is noted", () =>
      Effect.gen(function* () {
        const { actor, stores } = yield* anAccount({ domains: ["files.example"] })
        yield* Effect.gen(function* () {
          const [{ id: storeId }] = stores
          const product = yield* anEntity("product", { title: "Tent", handle: "tent" }, { on: stores })
          const variant = yield* anEntity("variant", { sku: "T-1", price: "5.00" }, { on: stores, of: product })
          const pictures = yield* Effect.forEach(
            Array.from({ length: 251 }, (_, index) => `https://cdn.example/${index}.jpg`),
            (url) => Effect.map(mintId(EntityId), (id) => ({ id, url }))
          )
          const show = (entityId: EntityId, shown: typeof pictures) =>
            CatalogChange.SetGallery({
              entityId,
              entries: shown.map(({ id }) => ({ mediaId: id, storeIds: [storeId] }))
            })
          const changes = yield* CatalogChanges
          yield* changes.apply([
            ...pictures.flatMap(({ id, url }) => [
              CatalogChange.CreateEntity({
                id,
                kind: "media",
                parentId: null,
                values: { url, mime_type: "image/jpeg" }
              }),
              CatalogChange.AddToStore({ entityId: id, storeId })
            ]),
            show(product, pictures.slice(0, 250)),
            show(variant, pictures.slice(249))
          ])
          assert.deepStrictEqual((yield* exported(storeId)).notes, [])
          yield* changes.apply([show(variant, pictures.slice(250))])
          const { notes, text } = yield* exported(storeId)
          assert.deepStrictEqual(notes, [
            "1 product with more than 250 images, those of variants included: an import refuses the file until they have fewer."
          ])
          const refused = yield* Effect.flip(changesOf(text, "files.example"))
          assert.match(refused.message, /A product has at most 250 images\.$/)
        }).pipe(actingAs(actor))
      })
    )

    it.effect("the demo's stores, with overrides and metafields", () =>
      Effect.gen(function* () {
        const { account } = yield* (yield* Demo).create
        yield* Effect.gen(function* () {
          const outcomes: Array<string> = []
          for (const { domain, id } of yield* (yield* Stores).list) {
            const { text } = yield* exported(id)
            const outcome = yield* Effect.either(changesOf(text, domain))
            if (Either.isRight(outcome))
              assert.deepStrictEqual(outcome.right, {
                ...nothing,
                unchanged: new Set(rowsOf(text).map((row) => row.Handle)).size
              })
            outcomes.push(
              Either.match(outcome, {
                onLeft: ({ message }) => message.replace(/^Line \d+, /, ""),
                onRight: () => "unchanged"
              })
            )
          }
          // The demo has one price that is invalid in every shop.
          assert.deepStrictEqual(outcomes.sort(), [
            'column "Variant Price": "free" is not a number of 0 or more, written like 12.50.',
            "unchanged",
            "unchanged"
          ])
        }).pipe(actingAs({ _tag: "Cli", accountId: account.id }))
      })
    )
  }
)
