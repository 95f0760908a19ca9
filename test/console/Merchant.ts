import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { pageHeaders } from "../../src/console/Html.ts"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import type { ImportPhase } from "../../src/imports/Import.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { Actor } from "../../src/model/Actor.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, type ImportId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { actingAs, Catalog, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, ask, assertErrorPage, aUser } from "../oauth/PagesServer.ts"
import { orHangs } from "../support/HangLimit.ts"
import { aProductOf, held } from "../support/ShopRecords.ts"

const quiet = () => Effect.void

/** The only entity of a kind that a search finds. */
export const entityNamed = (kind: EntityKind, search: string) =>
  Effect.gen(function* () {
    const { text } = yield* Effect.orDie((yield* Catalog).list(kind, { limit: 2, search }))
    const { data } = JSON.parse(text) as { readonly data: ReadonlyArray<{ readonly id: string }> }
    assert.lengthOf(data, 1, search)
    return EntityId.make(String(data[0]?.id))
  })

const tentWith = (values: Readonly<Record<string, string>>) => aProductOf("tent", ["S", "M"], values)
const stoveWith = (values: Readonly<Record<string, string>>) => aProductOf("stove", ["One"], values)

const shopDomain = "tarn.demo.example"

/**
 * A user whose account has a demo store, from which two products and a collection were imported, and a store without a
 * platform.
 */
export const aMerchant = Effect.gen(function* () {
  const user = yield* aUser()
  const actor: Actor = { _tag: "Cli", accountId: user.accountId }
  return yield* Effect.gen(function* () {
    const { link } = yield* Stores
    const imports = yield* Imports
    const { store: shop } = yield* link({ domain: shopDomain, name: "Tarn & Tern", platform: "demo", currency: "EUR" })
    const { store: files } = yield* link({ domain: "files.example" })
    yield* (yield* DemoShops).put({ accountId: user.accountId, storeId: shop.id }, [
      ...tentWith({ description_html: "<p>Keeps the rain out, and the warmth in.</p>" }),
      ...stoveWith({}),
      held(
        "collection",
        "collection/camp",
        { title: "Camp", handle: "camp" },
        { members: ["product/tent", "product/stove"] }
      )
    ])
    const { id } = yield* imports.refresh(shopDomain, quiet)
    yield* imports.accept(id, quiet)
    const tent = yield* entityNamed("product", "The tent")
    const stove = yield* entityNamed("product", "The stove")
    return { ...user, actor, shop, files, tent, stove, firstImport: id }
  }).pipe(actingAs(actor), Effect.orDie)
})
type Merchant = Effect.Effect.Success<typeof aMerchant>

/** Edits the tent and the stove differently here and in the shop, which causes three conflicts. */
export const editBothSides = ({ accountId, actor, shop, stove, tent }: Merchant) =>
  Effect.gen(function* () {
    const here = (entityId: EntityId, values: Readonly<Record<string, string>>) =>
      Effect.flatMap(CatalogChanges, ({ apply }) => apply([CatalogChange.SetAttributes({ entityId, values })]))
    yield* here(tent, { vendor: "Tarn", description_html: "<p>Keeps the snow out, and the warmth in.</p>" })
    yield* here(stove, { tags: '["gas","camp"]' })
    yield* (yield* DemoShops).put({ accountId, storeId: shop.id }, [
      ...tentWith({ vendor: "Tern <b>", description_html: "<p>Keeps the rain out, and the cold in.</p>" }),
      ...stoveWith({ tags: '["gas","wood"]' })
    ])
  }).pipe(actingAs(actor), Effect.orDie)

/** An import of the shop under review, with three conflicts. */
export const aReview = (merchant: Merchant) =>
  Effect.gen(function* () {
    yield* editBothSides(merchant)
    const run = yield* (yield* Imports).refresh(shopDomain, quiet)
    assert.deepInclude(run.summary, { conflicts: 3 })
    return run.id
  }).pipe(actingAs(merchant.actor), Effect.orDie)

/** A publish of the stove, which the shop refuses. */
export const aFailure = ({ actor, shop, stove }: Merchant) =>
  Effect.gen(function* () {
    const publishing = yield* Publishing
    yield* (yield* CatalogChanges).apply([
      CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Nobody <b>" } })
    ])
    yield* (yield* DemoFailures).fail(shopDomain, { kind: "refuse", percent: 100, delayMillis: 0 })
    const asked = yield* publishing.request(stove, shop.id)
    const [record] =
      asked.outcome === "nothing_to_publish" ? [] : yield* publishing.settle([asked.publicationId], quiet)
    assert.strictEqual(record?.state, "failed")
    yield* (yield* DemoFailures).repair(shopDomain)
  }).pipe(actingAs(actor), Effect.orDie)

/** Waits until an import is in this phase. */
export const untilPhase = ({ actor }: Pick<Merchant, "actor">, id: ImportId, phase: ImportPhase) =>
  Effect.flatMap(Imports, (imports) => imports.get(id)).pipe(
    Effect.delay("20 millis"),
    Effect.repeat({ until: (run) => run.phase === phase }),
    actingAs(actor),
    orHangs(() => `The import ${id} never was in the phase ${phase}.`)
  )

/**
 * Checks a page that refuses a request: its complete text. `next`: the address and the text of its link; `typed`: the names and texts of
 * the fields that it shows again.
 */
export const assertRefusal = (
  answer: Answer,
  status: number,
  {
    message,
    next,
    title,
    typed = []
  }: {
    readonly title: string
    readonly message: string
    readonly next: readonly [string, string]
    readonly typed?: ReadonlyArray<readonly [string, string]>
  }
) => {
  assertErrorPage(answer, status, /<main/)
  const [path, name] = next
  const fields = typed.map(([field, text]) => `<label>${field}<textarea readonly dir="auto">${text}</textarea></label>`)
  const shown = typed.length === 0 ? "" : `<h2>What you typed</h2><div class="fields">${fields.join("")}</div>`
  assert.strictEqual(
    /<main[\s\S]*<\/main>/.exec(answer.text)?.[0],
    `<main id="content" class="narrow"><h1>${title}</h1><div class="sheet"><p>${message}</p>${shown}<p><a href="${path}">${name}</a></p></div></main>`
  )
}

const toStart = ["/", "To the start page"] as const

export const assertNotThere = (answer: Answer) =>
  assertRefusal(answer, 404, {
    title: "Not found",
    message: "There is no such record. It may have been removed.",
    next: toStart
  })

export const assertForeignForm = (answer: Answer) =>
  assertRefusal(answer, 403, {
    title: "Not accepted",
    message: "This form did not come from a page of this service. Open the page again and repeat it there.",
    next: toStart
  })

const withoutMarkup = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

/** The text of a page, without its markup. */
export const textOf = ({ text }: Pick<Answer, "text">) => withoutMarkup(/<main[\s\S]*<\/main>/.exec(text)?.[0] ?? "")

/** The two cells of each row of the table with a caption, without their markup. */
export const rowsOf = ({ text }: Answer): ReadonlyArray<readonly [head: string, cell: string]> => {
  const [table = ""] = /<caption[\s\S]*?<\/table>/.exec(text) ?? []
  return [...table.matchAll(/<tr><th scope="row">([\s\S]*?)<\/th><td[^>]*>([\s\S]*?)<\/td><\/tr>/g)].map(
    ([, head = "", cell = ""]) => [withoutMarkup(head), withoutMarkup(cell)]
  )
}

/**
 * Checks a form that was refused and is shown again: the reason, the problem at each field, and the focus on the first
 * one.
 */
export const assertShownAgain = (
  answer: Answer,
  message: string,
  misfits: ReadonlyArray<readonly [field: string, message: string]>
) => {
  assertErrorPage(answer, 400, /<main/)
  for (const [name, value] of Object.entries(pageHeaders)) assert.strictEqual(answer.headers.get(name), value, name)
  assert.include(answer.text, `</h1><div class="alert" role="alert"><p>${message}</p></div>`)
  assert.deepStrictEqual(
    [...answer.text.matchAll(/<p class="wrong" id="(\S+)-misfit" role="alert">(.*?)<\/p>/g)].map(
      ([, field = "", text = ""]) => [field, text] as const
    ),
    [...misfits]
  )
  assert.deepStrictEqual(
    [...answer.text.matchAll(/<input[^>]*\sautofocus[^>]*>/g)].map(([tag]) => /name="(\S+?)"/.exec(tag)?.[1]),
    misfits.slice(0, 1).map(([field]) => field)
  )
}

/** Checks that a page needs a sign-in, changes nothing, and has the headers of all pages. */
export const assertPage = (path: string, cookie: string) =>
  Effect.gen(function* () {
    const away = yield* ask(path)
    assert.deepStrictEqual(
      [away.status, away.headers.get("location")],
      [303, `/sign-in?${new URLSearchParams({ return_to: path })}`]
    )
    const answer = yield* ask(path, { cookie })
    assert.strictEqual(answer.status, 200, answer.text)
    for (const [name, value] of Object.entries(pageHeaders)) assert.strictEqual(answer.headers.get(name), value, name)
    assert.lengthOf([...answer.text.matchAll(/<h1>/g)], 1)
    assert.notMatch(
      answer.text,
      /<script(?! type="module" src="\/assets\/)|<img(?! src="\/)|style="|https?:\/\/(?!shop\.example)/
    )
    return answer
  })

/** The CSRF token in the forms of a page. */
export const csrfOf = ({ text }: Pick<Answer, "text">) => sectionsOf(text, "/sign-out").hidden.csrf ?? ""
