import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeRepairs } from "../../src/console/health/Repairs.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { type EntityId, ImportId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  DataHealth,
  Drafts,
  definedAs,
  Remediation,
  Stores
} from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { aBrowser, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { statementsDuring } from "../support/SentStatements.ts"
import { assertPage, assertRefusal, mainOf, refusals } from "./WholePage.ts"

let accounts = 0

/** Two users of one account, whose stores have a platform and the same language. */
const aShop = Effect.gen(function* () {
  const number = ++accounts
  const account = yield* anAccount({ domains: [`ra${number}.example`, `rb${number}.example`] })
  for (const store of account.stores) yield* (yield* StoresRepo).link(account.accountId, { ...store, platform: "demo" })
  const people = yield* Effect.forEach(["one", "other"], (name) =>
    Effect.map(aBrowser(account.accountId, `repairs-${name}-${number}@example.com`), ({ cookie }) => {
      const open = (path: string) => ask(path, { cookie: withNote(cookie, path) })
      /** Sends a form of a list as it is shown, with some values changed. */
      const send = (action: string, list: string, form: Readonly<Record<string, string>>) =>
        Effect.flatMap(open(list), ({ text }) =>
          ask(action, { cookie, form: { ...sectionsOf(text, action).hidden, ...form } })
        )
      return { cookie, open, send }
    })
  )
  const [one, other] = people
  if (one === undefined || other === undefined) return assert.fail()
  const [a, b] = account.stores
  return { ...account, a, b, one, other }
})

const fill = "/data-health/issues/fill"
const equal = "/data-health/issues/equal"
const required = "/data-health/issues?section=completeness-required"
const vendors = `${required}&field=vendor`
const divergence = "/data-health/issues?section=divergence"

const scan = (dimension: "completeness" | "divergence" | "sync") =>
  Effect.flatMap(DataHealth, (health) => Effect.orDie(health.scan(dimension)))

const whole = { product_type: "Tents", description_html: "<p>Dry</p>" }

const valueOf = (id: EntityId, storeId: StoreId | null, key: string) =>
  Effect.flatMap(Drafts, (drafts) =>
    Effect.map(
      Effect.orDie(drafts.get(id, storeId)),
      ({ attributes }) => attributes.find((each) => each.key === key)?.value
    )
  )

const set = (entityId: EntityId, values: Readonly<Record<string, string>>, storeId?: StoreId) =>
  Effect.flatMap(CatalogChanges, ({ apply }) =>
    Effect.orDie(
      apply([
        storeId === undefined
          ? CatalogChange.SetAttributes({ entityId, values })
          : CatalogChange.SetOverrides({ entityId, storeId, values })
      ])
    )
  )

/** The number of the row that repairs an entity. */
const rowOf = (hidden: Readonly<Record<string, string>>, id: EntityId, field: string) =>
  Object.entries(hidden)
    .find(([name, text]) => name.startsWith("row-") && text.startsWith(id) && text.endsWith(`|${field}`))?.[0]
    .slice(4) ?? assert.fail(`no row of ${id}`)

const meanwhile =
  "Somebody changed it meanwhile, so nothing was overwritten. This is its new state: check it, then send it again."

layer(PagesServer, { excludeTestServices: true })("the forms that repair issues", (it) => {
  it.effect("empty fields are filled in one table, in the catalog for all stores, as drafts", () =>
    Effect.gen(function* () {
      const { a, actor, b, one } = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", ...whole }, { on: [a, b] })
        const stove = yield* anEntity("product", { title: "Stove", ...whole }, { on: [a] })
        const left = yield* anEntity("product", { title: "Left", ...whole }, { on: [a] })
        yield* scan("completeness")
        const page = yield* one.open(required)
        assertPage(page)
        const { hidden } = sectionsOf(page.text, fill)
        // The field has a column of its own, so the name does not repeat it.
        assert.notInclude(page.text, '<div class="quiet">Vendor</div>')
        // A field that is empty in the catalog has one row for both stores.
        assert.lengthOf(
          Object.keys(hidden).filter((name) => name.startsWith("row-")),
          3
        )
        const answer = yield* one.send(fill, required, {
          [`value-${rowOf(hidden, tent, "vendor")}`]: "Fell",
          [`where-${rowOf(hidden, tent, "vendor")}`]: "catalog",
          [`value-${rowOf(hidden, stove, "vendor")}`]: "Tarn",
          [`where-${rowOf(hidden, stove, "vendor")}`]: a.id
        })
        assert.deepStrictEqual(
          [answer.status, answer.headers.get("location")],
          [303, `${required}&repaired=2`],
          answer.text
        )
        assert.deepStrictEqual(
          [
            yield* valueOf(tent, null, "vendor"),
            yield* valueOf(tent, b.id, "vendor"),
            yield* valueOf(stove, null, "vendor"),
            yield* valueOf(stove, a.id, "vendor")
          ],
          ["Fell", "Fell", "", "Tarn"]
        )
        const { pending_publish } = yield* Effect.flatMap(Drafts, (drafts) => Effect.orDie(drafts.get(tent, a.id)))
        assert.isTrue(pending_publish)
        const after = yield* one.open(`${required}&repaired=2`)
        assert.include(after.text, "Repaired 2 of 2. These are drafts: nothing is published yet.")
        // The dimension was scanned again.
        assert.deepStrictEqual(
          Object.keys(sectionsOf(after.text, fill).hidden).filter((name) => name.startsWith("row-")),
          ["row-0"]
        )
        rowOf(sectionsOf(after.text, fill).hidden, left, "vendor")
      }).pipe(actingAs(actor))
    })
  )

  it.effect("a page of many issues sends as many statements as a page of few", () =>
    Effect.gen(function* () {
      const { a, actor, b, one } = yield* aShop
      const rowsAndStatements = (path: string, action: string) =>
        Effect.gen(function* () {
          yield* scan("completeness")
          yield* scan("divergence")
          const { answer, texts } = yield* statementsDuring(one.open(path))
          const rows = Object.keys(sectionsOf(answer.text, action).hidden).filter((name) => name.startsWith("row-"))
          return { rows: rows.length, statements: texts.length }
        })
      const aTent = Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", ...whole }, { on: [a, b] })
        yield* set(tent, { product_type: "Other" }, a.id)
      })
      yield* Effect.gen(function* () {
        yield* aTent
        const few = [yield* rowsAndStatements(required, fill), yield* rowsAndStatements(divergence, equal)]
        for (let more = 0; more < 6; more++) yield* aTent
        const many = [yield* rowsAndStatements(required, fill), yield* rowsAndStatements(divergence, equal)]
        assert.deepStrictEqual(
          many,
          few.map(({ statements }) => ({ rows: 7, statements }))
        )
      }).pipe(actingAs(actor))
    })
  )

  it.effect(
    "the list of one field has no other fields; the canonical value is shown beside an empty override, and is not saved",
    () =>
      Effect.gen(function* () {
        const { a, actor, b, one } = yield* aShop
        yield* Effect.gen(function* () {
          const tent = yield* anEntity("product", { title: "Tent", ...whole, product_type: "" }, { on: [a, b] })
          const stove = yield* anEntity("product", { title: "Stove", ...whole, vendor: "Fell" }, { on: [a, b] })
          yield* set(stove, { vendor: "" }, b.id)
          yield* scan("completeness")
          const rowsIn = (text: string) =>
            Object.entries(sectionsOf(text, fill).hidden).filter(([name]) => name.startsWith("row-"))
          assert.lengthOf(rowsIn((yield* one.open(required)).text), 3)
          const { text } = yield* one.open(vendors)
          assert.deepStrictEqual(
            rowsIn(text).map(([, row]) => String(row).split("|").at(-1)),
            ["vendor", "vendor"]
          )
          assert.match(text, /<input name="value-\d" [^>]*\bvalue placeholder="Catalog: Fell"/)
          const { hidden } = sectionsOf(text, fill)
          const answer = yield* one.send(fill, vendors, {
            [`value-${rowOf(hidden, tent, "vendor")}`]: "Tarn",
            [`where-${rowOf(hidden, tent, "vendor")}`]: "catalog"
          })
          assert.strictEqual(answer.headers.get("location"), `${vendors}&repaired=1`)
          assert.strictEqual(yield* valueOf(stove, b.id, "vendor"), "")
        }).pipe(actingAs(actor))
      })
  )

  it.effect("an invalid value is refused at its field, and the typed values are kept", () =>
    Effect.gen(function* () {
      const { a, actor, one } = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", vendor: "Fell", ...whole }, { on: [a] })
        const small = yield* anEntity("variant", { title: "Small", sku: "T-1" }, { of: tent, on: [a] })
        const large = yield* anEntity("variant", { title: "Large", sku: "T-2" }, { of: tent, on: [a] })
        yield* scan("completeness")
        const { hidden } = sectionsOf((yield* one.open(required)).text, fill)
        const [good, bad] = [rowOf(hidden, small, "price"), rowOf(hidden, large, "price")]
        const answer = yield* one.send(fill, required, {
          [`value-${good}`]: "12.50",
          [`where-${good}`]: "catalog",
          [`value-${bad}`]: 'twelve "and" a half',
          [`where-${bad}`]: "catalog"
        })
        assertPage(answer, 200)
        assert.include(answer.text, "<strong>Repaired 1 of 2.</strong> These are drafts: nothing is published yet.")
        assert.match(answer.text, /<li>1 not repaired: This value must be [^<]*<\/li>/)
        assert.match(
          answer.text,
          /<input name="value-0" aria-label="Price of Large" aria-invalid="true" aria-describedby="refusal-0" autofocus[^>]* value="twelve &quot;and&quot; a half"/
        )
        assert.match(answer.text, /<p class="refusal" id="refusal-0">This value must be /)
        assert.strictEqual(yield* valueOf(small, null, "price"), "12.50")
        assert.strictEqual(yield* valueOf(large, null, "price"), "")
        const none = yield* one.send(fill, required, {})
        assertPage(none, 400)
        assert.include(none.text, "Nothing is filled: type a value into a row first.")
      }).pipe(actingAs(actor))
    })
  )

  it.effect("one value is put into the empty rows of a page, or into one field of the whole list", () =>
    Effect.gen(function* () {
      const { a, actor, b, one } = yield* aShop
      yield* Effect.gen(function* () {
        const ids = yield* Effect.forEach(Array.from({ length: 30 }), (_, index) =>
          anEntity("product", { title: `Tent ${index}`, ...whole }, { on: [a, b] })
        )
        const [own] = ids
        if (own === undefined) return assert.fail()
        // The store has its own empty value, so the catalog's value does not apply there.
        yield* set(own, { vendor: "" }, b.id)
        yield* scan("completeness")
        const spread = yield* one.send(fill, vendors, { common: "Fell", do: "spread" })
        assertPage(spread, 200)
        assert.isAtLeast([...spread.text.matchAll(/name="value-\d+"[^>]*value="Fell"/g)].length, 12)
        // Only the number of all fields together is known, so the button names none.
        assert.include(spread.text, ">Fill the whole list with it</button>")
        assert.strictEqual(yield* valueOf(own, null, "vendor"), "")
        const unnamed = yield* one.send(fill, required, { common: "Fell", do: "all" })
        assertPage(unnamed, 400)
        assert.include(
          unnamed.text,
          "Nothing is filled: first choose one field, and type its value for the whole list."
        )
        const all = yield* one.send(fill, vendors, { common: "Fell", do: "all" })
        assert.deepStrictEqual([all.status, all.headers.get("location")], [303, `${vendors}&repaired=60`], all.text)
        for (const id of ids)
          for (const storeId of [null, a.id, b.id]) assert.strictEqual(yield* valueOf(id, storeId, "vendor"), "Fell")
      }).pipe(actingAs(actor))
    })
  )

  it.effect("values that differ are shown side by side, and made equal to the chosen store's", () =>
    Effect.gen(function* () {
      const { a, actor, b, one } = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", vendor: "Fell" }, { on: [a, b] })
        const stove = yield* anEntity("product", { title: "Stove", vendor: "Fell" }, { on: [a, b] })
        yield* set(tent, { vendor: "Tarn <b>" }, b.id)
        yield* set(stove, { vendor: "Tern" }, b.id)
        yield* scan("divergence")
        const page = yield* one.open(divergence)
        assertPage(page)
        for (const name of [a.name, b.name]) assert.include(page.text, `<bdi>${name}</bdi><div class="quiet">`)
        const { hidden } = sectionsOf(page.text, equal)
        assert.match(
          page.text,
          new RegExp(
            `<input type="radio" name="where-${rowOf(hidden, tent, "vendor")}" value="${b.id}" aria-label="[^"]*: Tarn &lt;b>"`
          )
        )
        const answer = yield* one.send(equal, divergence, {
          [`where-${rowOf(hidden, tent, "vendor")}`]: b.id,
          common: a.id
        })
        assert.deepStrictEqual(
          [answer.status, answer.headers.get("location")],
          [303, `${divergence}&repaired=2`],
          answer.text
        )
        assert.deepStrictEqual(
          [yield* valueOf(tent, a.id, "vendor"), yield* valueOf(stove, b.id, "vendor")],
          ["Tarn <b>", "Fell"]
        )
        assert.include((yield* one.open(divergence)).text, "There are no issues")
      }).pipe(actingAs(actor))
    })
  )

  it.effect("a page whose issues were all repaired by other people says so, and lists them until the next scan", () =>
    Effect.gen(function* () {
      const { a, actor, one } = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", ...whole }, { on: [a] })
        const stove = yield* anEntity("product", { title: "Stove", ...whole }, { on: [a] })
        yield* scan("completeness")
        const { hidden } = sectionsOf((yield* one.open(vendors)).text, fill)
        yield* set(tent, { vendor: "Fell" })
        const late = {
          [`value-${rowOf(hidden, tent, "vendor")}`]: "Late",
          [`where-${rowOf(hidden, tent, "vendor")}`]: "catalog"
        }
        const answer = yield* ask(fill, { cookie: one.cookie, form: { ...hidden, ...late } })
        assertPage(answer, 400)
        assert.include(answer.text, "<strong>Repaired 0 of 1.</strong>")
        // The refused row is gone, and the other one can still be filled.
        assert.include(answer.text, 'aria-label="Vendor of Stove"')
        assert.notInclude(answer.text, "Nothing on this page")
        yield* set(stove, { vendor: "Fell" })
        const page = yield* one.open(vendors)
        assertPage(page)
        assert.include(
          mainOf(page),
          "Nothing on this page can be repaired any more: since the scan, each issue was repaired, its item was removed, or its field cannot be edited."
        )
        assert.include(mainOf(page), ">Tent<")
        assert.notInclude(page.text, `action="${fill}"`)
        yield* scan("completeness")
        assert.include((yield* one.open(vendors)).text, "There are no issues")
      }).pipe(actingAs(actor))
    })
  )

  it.effect("rows that somebody else changed meanwhile are refused and named, and never overwritten", () =>
    Effect.gen(function* () {
      const { a, actor, b, one, other } = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", ...whole }, { on: [a, b] })
        const stove = yield* anEntity("product", { title: "Stove", ...whole }, { on: [a, b] })
        yield* scan("completeness")
        const shown = (yield* one.open(vendors)).text
        const { hidden } = sectionsOf(shown, fill)
        const row = rowOf(hidden, tent, "vendor")
        const second = rowOf(hidden, stove, "vendor")
        const filled = yield* other.send(fill, vendors, {
          [`value-${row}`]: "by the other",
          [`where-${row}`]: "catalog"
        })
        assert.strictEqual(filled.status, 303, filled.text)
        yield* set(stove, { title: "Stove 2" })
        const late = yield* ask(fill, {
          cookie: one.cookie,
          form: {
            ...hidden,
            [`value-${row}`]: "by one",
            [`where-${row}`]: "catalog",
            [`value-${second}`]: "kept text",
            [`where-${second}`]: "catalog"
          }
        })
        assertPage(late, 400)
        assert.include(late.text, "<strong>Repaired 0 of 2.</strong>")
        assert.include(late.text, `<li>1 not repaired: ${meanwhile}</li>`)
        assert.include(late.text, "<li>1 not repaired: Somebody filled it meanwhile. Nothing was overwritten.</li>")
        assert.match(late.text, /aria-label="Vendor of Stove 2" aria-invalid="true"[^>]* value="kept text"/)
        assert.deepStrictEqual(
          [yield* valueOf(tent, null, "vendor"), yield* valueOf(stove, null, "vendor")],
          ["by the other", ""]
        )

        yield* set(tent, { title: "Zelt" }, b.id)
        yield* scan("divergence")
        const compared = sectionsOf((yield* one.open(divergence)).text, equal).hidden
        yield* set(tent, { title: "by the other" }, b.id)
        const choose = { [`where-${rowOf(compared, tent, "title")}`]: a.id }
        const refused = yield* ask(equal, { cookie: one.cookie, form: { ...compared, ...choose } })
        assertPage(refused, 400)
        assert.include(mainOf(refused), `<li>1 not repaired: ${meanwhile}</li>`)
        assert.include(mainOf(refused), "by the other")
        assert.match(refused.text, new RegExp(`name="where-0" value="${a.id}" checked`))
        assert.strictEqual(yield* valueOf(tent, b.id, "title"), "by the other")
        // The planted fault: without the revision on which the form was based, the value is overwritten.
        yield* Effect.flatMap(Remediation, (each) =>
          Effect.orDie(each.reconcile("product", [{ entity_id: tent, field: "title", winner_store_id: a.id }]))
        )
        assert.strictEqual(yield* valueOf(tent, b.id, "title"), "Tent")
      }).pipe(actingAs(actor))
    })
  )

  it.effect("the list of one field is made equal in that field only, also as a whole", () =>
    Effect.gen(function* () {
      const { a, actor, b, one } = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", vendor: "Fell" }, { on: [a, b] })
        yield* set(tent, { title: "Tent B", vendor: "Tarn" }, b.id)
        yield* scan("divergence")
        const answer = yield* one.send(equal, `${divergence}&field=vendor`, { common: a.id, do: "all" })
        assert.deepStrictEqual(
          [answer.status, answer.headers.get("location")],
          [303, `${divergence}&field=vendor&repaired=1`],
          answer.text
        )
        assert.deepStrictEqual(
          [yield* valueOf(tent, b.id, "vendor"), yield* valueOf(tent, b.id, "title")],
          ["Fell", "Tent B"]
        )
        const { hidden } = sectionsOf((yield* one.open(divergence)).text, equal)
        yield* set(tent, { title: "Tent" }, b.id)
        const late = yield* ask(equal, { cookie: one.cookie, form: { ...hidden, common: a.id, do: "all" } })
        assertPage(late, 400)
        assert.include(
          mainOf(late),
          "<li>1 not repaired: The stores that are compared with the chosen one agree already.</li>"
        )
      }).pipe(actingAs(actor))
    })
  )

  it.effect("more rows than a batch has are repaired, also if the rows of an item come at its end", () =>
    Effect.gen(function* () {
      const { a, actor, b, one } = yield* aShop
      const texts = {
        handle: "tent",
        description_html: "<p>Dry</p>",
        vendor: "Fell",
        product_type: "Tents",
        tags: '["dry"]',
        status: "draft",
        seo_title: "Tent",
        seo_description: "Dry"
      }
      yield* Effect.gen(function* () {
        const ids = yield* Effect.forEach(Array.from({ length: 63 }), (_, index) =>
          anEntity("product", { title: `Tent ${index}` }, { on: [a, b] })
        )
        const { fill } = yield* makeRepairs
        const revisions = new Map(
          yield* Effect.forEach(ids, (id) =>
            Effect.map(
              Effect.flatMap(Drafts, (drafts) => drafts.get(id, null)),
              ({ draft_revision }) => [id, draft_revision] as const
            )
          )
        )
        const rows = ids.flatMap((entityId) =>
          Object.entries(texts).map(([field, typed]) => ({
            entityId,
            kind: "product" as const,
            field,
            typed,
            type: "",
            where: "catalog",
            revision: revisions.get(entityId) ?? 0
          }))
        )
        assert.deepStrictEqual(yield* fill(rows), { repaired: 504, refused: [], isLocked: false })
        const changes = ids.map((entityId) =>
          CatalogChange.SetOverrides({
            entityId,
            storeId: b.id,
            values: { ...Object.fromEntries(Object.keys(texts).map((key) => [key, ""])), status: "archived" }
          })
        )
        yield* (yield* CatalogChanges).apply(changes)
        yield* scan("divergence")
        assert.include((yield* one.open(divergence)).text, ">Use it for the whole list</button>")
        const answer = yield* one.send(equal, divergence, { common: a.id, do: "all" })
        assert.deepStrictEqual(
          [answer.status, answer.headers.get("location")],
          [303, `${divergence}&repaired=504`],
          answer.text
        )
        assert.include((yield* one.open(divergence)).text, "There are no issues")
      }).pipe(actingAs(actor), Effect.orDie)
    })
  )

  it.effect("a list that is filtered by a field ends where its issues end", () =>
    Effect.gen(function* () {
      const { a, actor, one } = yield* aShop
      yield* Effect.gen(function* () {
        for (let index = 0; index < 26; index++)
          yield* anEntity(
            "product",
            { title: `Tent ${index}`, ...whole, ...(index > 0 && { vendor: "Fell" }) },
            { on: [a] }
          )
        for (let index = 0; index < 26; index++)
          yield* anEntity("product", { title: `Stove ${index}`, vendor: "Fell" }, { on: [a] })
        yield* scan("completeness")
        const next = 'rel="next"'
        const page = yield* one.open(vendors)
        assertPage(page)
        assert.include(page.text, "<span>Page 1</span>")
        assert.notInclude(page.text, next)
        const many = `${required}&field=product_type`
        assert.include((yield* one.open(many)).text, `&amp;field=product_type&amp;page=2" ${next}`)
        const last = yield* one.open(`${many}&page=2`)
        assert.notInclude(last.text, next)
        assert.include(last.text, 'rel="prev"')
      }).pipe(actingAs(actor))
    })
  )

  it.effect("refused rows keep what was typed into each, in the catalog and on a store with a value of its own", () =>
    Effect.gen(function* () {
      const { a, actor, b, one } = yield* aShop
      yield* Effect.gen(function* () {
        const [own, other] = a.id < b.id ? [a, b] : [b, a]
        const tent = yield* anEntity("product", { title: "Tent", vendor: "Fell", ...whole }, { on: [a, b] })
        const small = yield* anEntity("variant", { title: "Small", sku: "T-1" }, { of: tent, on: [a, b] })
        yield* set(small, { price: "" }, own.id)
        yield* scan("completeness")
        const prices = `${required}&field=price`
        const { hidden } = sectionsOf((yield* one.open(prices)).text, fill)
        assert.deepStrictEqual([hidden["where-0"], hidden["where-1"]], [own.id, undefined])
        const answer = yield* ask(fill, {
          cookie: one.cookie,
          form: { ...hidden, "value-0": "of the store", "value-1": "of the catalog", "where-1": other.id }
        })
        assertPage(answer, 400)
        assert.match(answer.text, /name="value-0"[^>]* value="of the store"/)
        assert.match(answer.text, /name="value-1"[^>]* value="of the catalog"/)
        assert.include(answer.text, `<option value="${other.id}" selected>`)
      }).pipe(actingAs(actor))
    })
  )

  it.effect("one value for the whole list is read by the type of a metafield", () =>
    Effect.gen(function* () {
      const { a, actor, one } = yield* aShop
      yield* Effect.gen(function* () {
        yield* definedAs("product", {
          "spec.materials": "list.single_line_text_field",
          "spec.nights": "number_integer"
        })
        yield* (yield* DataHealth).changeRules("product", { required: ["spec.materials", "spec.nights"] })
        const tent = yield* anEntity("product", { title: "Tent" }, { on: [a] })
        yield* scan("completeness")
        for (const [field, common, value] of [
          ["spec.materials", "Wool", '["Wool"]'],
          ["spec.nights", " 3 ", "3"]
        ] as const) {
          const list = `${required}&field=${field}`
          const answer = yield* one.send(fill, list, { common, do: "all" })
          assert.deepStrictEqual(
            [answer.status, answer.headers.get("location")],
            [303, `${list}&repaired=1`],
            answer.text
          )
          assert.strictEqual(yield* valueOf(tent, null, field), value)
        }
      }).pipe(actingAs(actor), Effect.orDie)
    })
  )

  it.effect("while an import locks the account nothing is repaired, and the typed values are kept", () =>
    Effect.gen(function* () {
      const { a, accountId, actor, one } = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", ...whole }, { on: [a] })
        yield* scan("completeness")
        const { hidden } = sectionsOf((yield* one.open(vendors)).text, fill)
        const lock = yield* ImportLockRepo
        yield* lock.keep(accountId, yield* mintId(ImportId))
        const answer = yield* ask(fill, {
          cookie: one.cookie,
          form: { ...hidden, "value-0": "Fell", "where-0": "catalog" }
        })
        assertPage(answer, 423)
        assert.include(answer.text, "1 not repaired: Not saved: an import has locked the catalog.")
        assert.match(answer.text, /name="value-0"[^>]* value="Fell"/)
        assert.strictEqual(yield* valueOf(tent, null, "vendor"), "")
      }).pipe(actingAs(actor))
    })
  )

  it.effect("failed publishes are retried as a job for each store", () =>
    Effect.gen(function* () {
      const { a, actor, b, one } = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent" }, { on: [a] })
        const { apply } = yield* CatalogChanges
        yield* Effect.orDie(
          apply([
            CatalogChange.RequestPublish({ entityId: tent, storeId: a.id }),
            CatalogChange.RefusePublish({
              entityId: tent,
              storeId: a.id,
              error: { code: "refused", message: "Handle is taken" }
            })
          ])
        )
        yield* scan("sync")
        const failed = "/data-health/issues?section=sync-failed"
        const page = yield* one.open(failed)
        assertPage(page)
        assert.include(page.text, "Handle is taken")
        const none = yield* one.send("/data-health/issues/retry", failed, {})
        assertPage(none, 400)
        assert.include(none.text, "Nothing is published: select some rows first.")
        const answer = yield* one.send("/data-health/issues/retry", failed, { [`retry-${a.id}-${tent}`]: "yes" })
        const [job] = yield* Effect.flatMap(Jobs, ({ list }) => list)
        assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, `/jobs/${job?.id}`], answer.text)
        assert.deepInclude(job, { kind: "publish_selected", total: 1, state: "queued" })

        // A form that was opened before the store was unlinked.
        const { hidden } = sectionsOf(page.text, "/data-health/issues/retry")
        yield* Effect.flatMap(Stores, ({ unlink }) => unlink(b.domain))
        if (job !== undefined) yield* Effect.flatMap(Jobs, ({ command }) => command("cancel", job.id))
        const retryOn = (id: StoreId) => ({ [`retry-${id}-${tent}`]: "yes" })
        for (const [ticked, refusal] of [
          [retryOn(b.id), "Not published again: one of the stores is not linked any more."],
          [
            { ...retryOn(a.id), ...retryOn(b.id) },
            "Not published again: one of the stores is not linked any more. 1 job for other stores began: see the page Jobs."
          ]
        ] as const) {
          const partly = yield* ask("/data-health/issues/retry", { cookie: one.cookie, form: { ...hidden, ...ticked } })
          assertPage(partly, 400)
          assert.include(partly.text, refusal)
        }
        const jobs = yield* Effect.flatMap(Jobs, ({ list }) => list)
        assert.strictEqual(jobs.filter(({ kind }) => kind === "publish_selected").length, 2)
      }).pipe(actingAs(actor))
    })
  )

  it.effect("a form without the token, or with rows of another account, changes nothing", () =>
    Effect.gen(function* () {
      const { a, actor, one } = yield* aShop
      const stranger = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", ...whole }, { on: [a] })
        yield* scan("completeness")
        const { csrf: _, ...hidden } = sectionsOf((yield* one.open(vendors)).text, fill).hidden
        const form = { ...hidden, "value-0": "Fell", "where-0": "catalog" }
        assertRefusal(yield* ask(fill, { cookie: one.cookie, form }), ...refusals.foreign)
        yield* scan("completeness").pipe(actingAs(stranger.actor))
        const csrf = /name="csrf" value="([^"]+)"/.exec((yield* stranger.one.open("/data-health")).text)?.[1] ?? ""
        const foreign = yield* ask(fill, { cookie: stranger.one.cookie, form: { ...form, csrf } })
        assertPage(foreign, 400)
        assert.include(foreign.text, "1 not repaired: It is gone, or no longer on this store.")
        const malformed = yield* ask(fill, { cookie: one.cookie, form: { ...form, csrf: _ ?? "", "row-0": "x" } })
        assert.include(malformed.text, "A row of the form is malformed. Open the list again.")
        assert.strictEqual(malformed.status, 400)
        // A row without its place is not filled in the catalog.
        for (const place of ["", "x"]) {
          const placeless = yield* ask(fill, { cookie: one.cookie, form: { ...form, csrf: _ ?? "", "where-0": place } })
          assertRefusal(placeless, 400, "Not understood", "A row of the form is malformed. Open the list again.")
        }
        assert.strictEqual(yield* valueOf(tent, null, "vendor"), "")
      }).pipe(actingAs(actor))
    })
  )
})
