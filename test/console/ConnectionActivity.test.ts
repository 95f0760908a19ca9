import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Activity } from "../../src/connections/Activity.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { Undo } from "../../src/connections/Undo.ts"
import { connectionPath } from "../../src/console/Paths.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import type { Actor } from "../../src/model/Actor.ts"
import { type EntityId, ImportId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges, Drafts, Stores } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { aConnection, ask, aUser, PagesServer } from "../oauth/PagesServer.ts"
import { textOf } from "./Merchant.ts"
import { assertPage, assertRefusal, mainOf, refusals } from "./WholePage.ts"

const unknown = "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10"

/** A user with a connected agent, and a product on a store. */
const aWorld = Effect.gen(function* () {
  const user = yield* aUser()
  const actor: Actor = { _tag: "User", accountId: user.accountId, userId: user.userId }
  yield* aConnection(user.cookie, "pim:write", "Desk <Agent>")
  const [connection] = yield* (yield* Connections).list(user.accountId)
  assert(connection !== undefined)
  const agent: Actor = { _tag: "Connection", accountId: user.accountId, connectionId: connection.id }
  const made = yield* Effect.gen(function* () {
    const { store } = yield* (yield* Stores).link({ domain: `a.${user.accountId.slice(0, 8)}.example` })
    const product = yield* anEntity("product", { title: "Tent" }, { on: [store] })
    return { store, product }
  }).pipe(actingAs(actor), Effect.orDie)
  const write = (
    by: Actor,
    values: Readonly<Record<string, string | null>>,
    { id = made.product, storeId = null as StoreId | null } = {}
  ) =>
    Effect.gen(function* () {
      const drafts = yield* Drafts
      const { draft_revision } = yield* drafts.get(id, null)
      const update = { draft_revision, attributes: Object.entries(values).map(([key, value]) => ({ key, value })) }
      yield* storeId === null
        ? drafts.updateAttributes(id, update)
        : drafts.updateVersionAttributes(id, storeId, update)
    }).pipe(actingAs(by), Effect.orDie)
  const titleOf = (id: EntityId = made.product, storeId: StoreId | null = null) =>
    Effect.map(
      Effect.flatMap(Drafts, (drafts) => drafts.get(id, storeId)),
      ({ attributes }) => attributes.find(({ key }) => key === "title")?.value
    ).pipe(actingAs(actor))
  const open = (path: string) => ask(path, { cookie: user.cookie })
  const page = connectionPath(connection.id)
  const review = (query: Readonly<Record<string, string>>) =>
    open(`/settings/connections/undo?${new URLSearchParams({ id: connection.id, ...query })}`)
  const confirm = (form: Readonly<Record<string, string>>) =>
    ask("/settings/connections/undo", { cookie: user.cookie, form })
  return { ...user, ...made, actor, agent, confirm, connection, open, page, review, titleOf, write }
})

layer(PagesServer, { excludeTestServices: true })("the page of a connection", (it) => {
  it.effect("is linked from the list, and shows the connection, its days and its changes", () =>
    Effect.gen(function* () {
      const { accountId, agent, connection, open, page, product, store, write } = yield* aWorld
      assert.include(
        (yield* open("/settings/connections")).text,
        `<p><a href="${page}">What Desk &lt;Agent> changed</a></p>`
      )
      const empty = yield* open(page)
      assertPage(empty)
      assert.include(
        textOf(empty),
        "It did nothing in the last 30 days. What it changed This connection has not changed any draft."
      )
      yield* Effect.replicateEffect((yield* Activity).countCall({ accountId, connectionId: connection.id }), 12)
      yield* write(agent, { title: "Agent", vendor: "Tern" })
      yield* write(agent, { title: "Zelt" }, { storeId: store.id })
      const shown = yield* open(page)
      assertPage(shown)
      const today = (yield* (yield* Undo).now).slice(0, 10)
      assert.include(shown.text, "<h1>Desk &lt;Agent></h1>")
      for (const text of [
        "<dd>agent.example</dd>",
        "<dd>Read and edit drafts</dd>",
        "<dt>Created</dt>",
        "<dt>Last used</dt>"
      ])
        assert.include(shown.text, text)
      assert.include(
        shown.text,
        `<tr><th scope="row">${today}</th><td data-label="Calls" class="number">12</td><td data-label="Writes" class="number">2</td><td data-label="Publishes" class="number">0</td></tr>`
      )
      assert.lengthOf(shown.text.match(/<rect class="part"/g) ?? [], 30)
      assert.include(shown.text, `height="50"><title>${today}: 12 calls</title></rect></svg>`)
      const rows =
        shown.text
          .slice(shown.text.indexOf('id="changes"'))
          .match(/<tbody>.*?<\/tbody>/)?.[0]
          .replaceAll("<wbr/>", "") ?? ""
      const entity = `<th scope="row"><a href="/entity?id=${product}"><bdi>Agent</bdi></a><br/><span class="quiet">Product</span></th>`
      assert.lengthOf(rows.match(/<tr>/g) ?? [], 2)
      assert.include(rows, entity)
      assert.include(
        rows,
        '<td data-label="Where">Catalog</td><td data-label="Fields"><ul><li><bdi>Title</bdi></li><li><bdi>Vendor</bdi></li></ul></td><td data-label="State"><span class="state idle">Draft</span></td>'
      )
      const { hidden } = sectionsOf(shown.text, "/settings/connections/undo")
      assert.deepStrictEqual(hidden, { id: connection.id })
      assert.include(
        textOf(shown),
        "Undo Undoes the changes that this connection made to drafts. Fields that somebody else has edited since do not change. You see every change before you confirm."
      )
    })
  )

  it.effect("the list of changes is paged", () =>
    Effect.gen(function* () {
      const { agent, open, page, write } = yield* aWorld
      for (let count = 0; count < 26; count++) yield* write(agent, { title: `Agent ${count}` })
      const first = yield* open(page)
      const older = /<a href="(\/settings\/connections\/[^"]*)">Older<\/a>/.exec(first.text)?.[1] ?? ""
      const rest = yield* open(older.replaceAll("&amp;", "&"))
      assertPage(rest)
      const rowsOf = (text: string) => text.slice(text.indexOf('id="changes"')).match(/<th scope="row">/g)?.length
      assert.deepStrictEqual([rowsOf(first.text), rowsOf(rest.text)], [25, 1])
      assert.include(rest.text, `<a href="${page}">Newest</a>`)
      assert.notInclude(rest.text, "Older")
      assert.notInclude(first.text, "Newest")
      assertRefusalOf(yield* open(`${page}?at=x&sequence=1`), "at must be a UTC date-time")
    })
  )

  it.effect("foreign, unknown and malformed ids get the same answer; without a session, sign-in comes first", () =>
    Effect.gen(function* () {
      const { agent, confirm, connection, open, page, review, titleOf, write } = yield* aWorld
      const stranger = yield* aWorld
      yield* stranger.write(stranger.agent, { title: "Agent" })
      yield* write(agent, { title: "Agent" })
      const { hidden } = sectionsOf((yield* review({ since: "hour" })).text, "/settings/connections/undo")
      for (const id of [stranger.connection.id, unknown, "x"]) {
        assertRefusal(yield* open(connectionPath(id)), ...refusals.absent)
        assertRefusal(yield* review({ id, since: "hour" }), ...refusals.absent)
        assertRefusal(yield* confirm({ ...hidden, id }), ...refusals.absent)
      }
      assert.strictEqual(
        (yield* open(page.toUpperCase().replace("/SETTINGS/CONNECTIONS", "/settings/connections"))).status,
        200
      )
      for (const path of [page, `/settings/connections/undo?id=${connection.id}&since=hour`]) {
        const away = yield* ask(path)
        assert.deepStrictEqual(
          [away.status, away.headers.get("location")],
          [303, `/sign-in?${new URLSearchParams({ return_to: path })}`]
        )
      }
      const away = yield* ask("/settings/connections/undo", { form: hidden })
      assert.deepStrictEqual([away.status, away.headers.get("location")], [303, "/sign-in?return_to=%2F&unsent=form"])
      for (const proof of [{ csrf: "" }, { csrf: "x" }])
        assertRefusal(yield* confirm({ ...hidden, ...proof }), ...refusals.foreign)
      assert.deepStrictEqual([yield* titleOf(), yield* stranger.titleOf()], ["Agent", "Agent"])
    })
  )
})

/** The refusal page of a malformed address. Its message begins with this text. */
const assertRefusalOf = (answer: Effect.Effect.Success<ReturnType<typeof ask>>, message: string) => {
  assertPage(answer, 400)
  assert.include(mainOf(answer), `<h1>Not understood</h1><div class="sheet"><p>${message}`)
}

layer(PagesServer, { excludeTestServices: true })("the undo of a connection", (it) => {
  it.effect("is reviewed, confirmed, and restores fields that nobody edited meanwhile", () =>
    Effect.gen(function* () {
      const { actor, agent, confirm, connection, email, open, product, review, store, titleOf, write } = yield* aWorld
      yield* write(agent, { title: "Agent <b>", vendor: "Tern" })
      yield* write(agent, { title: "Zelt" }, { storeId: store.id })
      yield* write(actor, { vendor: "Mine" })
      const shown = yield* review({ since: "hour" })
      assertPage(shown)
      assert.include(shown.text, "<h1>Undo what Desk &lt;Agent> wrote</h1>")
      assert.include(
        textOf(shown),
        "this connection changed the drafts of 1 item. An undo changes drafts. Published values stay live until you publish again."
      )
      const entity = `<th scope="row"><a href="/entity?id=${product}"><bdi>Agent &lt;b></bdi></a><br/><span class="quiet">Product</span></th>`
      for (const [where, field, now, back] of [
        ["Catalog", "Title", '<bdi class="value">Agent &lt;b></bdi>', '<bdi class="value">Tent</bdi>'],
        [
          "Catalog",
          "Vendor",
          '<bdi class="value">Mine</bdi>',
          `<span class="quiet">Not undone: edited since by ${email}.</span>`
        ],
        [null, "Title", '<bdi class="value">Zelt</bdi>', '<span class="quiet">as in the catalog</span>']
      ] as const)
        assert.include(
          shown.text.replaceAll("<wbr/>", ""),
          `<tr>${entity}<td data-label="Where">${where ?? store.domain}</td><td data-label="Field"><bdi>${field}</bdi></td><td data-label="Now">${now}</td><td data-label="Goes back to">${back}</td></tr>`
        )
      const { hidden } = sectionsOf(shown.text, "/settings/connections/undo")
      assert.sameMembers(Object.keys(hidden), ["csrf", "id", "since", "until"])
      assert.include(shown.text, '<button type="submit">Undo its writes to 1 item</button>')
      // Between review and confirmation, another user edits a field of the review.
      yield* write(actor, { title: "Zelt von Hand" }, { storeId: store.id })
      const done = yield* confirm(hidden)
      assertPage(done)
      assert.include(
        textOf(done),
        "1 change of 1 item is undone. An undo changes drafts. Published values stay live until you publish again. 2 changes left alone"
      )
      assert.include(done.text, `<td data-label="Why">Not undone: edited since by ${email}.</td>`)
      assert.deepStrictEqual([yield* titleOf(), yield* titleOf(product, store.id)], ["Tent", "Zelt von Hand"])
      const history = (yield* open(`/entity?id=${product}`)).text
      assert.include(
        history,
        `<td data-label="Who">${email}<div>undoing <a href="${connectionPath(connection.id)}">Agent Desk &lt;Agent></a></div></td>`
      )
      // The same form is sent again.
      assert.include(textOf(yield* confirm(hidden)), "Nothing was changed.")
    })
  )

  it.effect("starts at a chosen time; without a time the page says what to choose", () =>
    Effect.gen(function* () {
      const { agent, connection, review, write } = yield* aWorld
      yield* write(agent, { title: "Agent" })
      for (const query of [
        { since: "today" },
        { since: "week" },
        { since: "at", at: "2020-01-31T09:30" },
        { since: "at", at: "2020-01-31T09:30:15" },
        { since: "2020-01-31T09:30:00.000000Z" }
      ])
        assert.include(
          textOf(yield* review(query)),
          "this connection changed the drafts of 1 item.",
          JSON.stringify(query)
        )
      const later = yield* review({ since: "at", at: "2999-01-31T09:30" })
      assert.include(textOf(later), "Since 31 Jan 2999, 09:30 UTC this connection changed the drafts of 0 items.")
      assert.notInclude(later.text, 'method="post" action="/settings/connections/undo"')
      for (const query of [{}, { since: "at" }, { since: "at", at: "soon" }, { since: "ever" }]) {
        const refused = yield* review(query as Readonly<Record<string, string>>)
        assertPage(refused, 400)
        assert.strictEqual(
          mainOf(refused),
          `<main id="content" class="narrow"><h1>Not understood</h1><div class="sheet"><p>Choose the time since which to undo: the last hour, today, seven days, or a date and a time such as 2027-01-31T09:30.</p><p><a href="${connectionPath(connection.id)}">To the connection</a></p></div></main>`
        )
      }
    })
  )

  it.effect("is refused while an import locks the account", () =>
    Effect.gen(function* () {
      const { accountId, agent, confirm, review, titleOf, write } = yield* aWorld
      yield* write(agent, { title: "Agent" })
      const { hidden } = sectionsOf((yield* review({ since: "hour" })).text, "/settings/connections/undo")
      const lock = yield* ImportLockRepo
      yield* lock.keep(accountId, yield* mintId(ImportId))
      const refused = yield* confirm(hidden)
      assertPage(refused, 423)
      assert.strictEqual(
        mainOf(refused),
        '<main id="content" class="narrow"><h1>An import is in progress</h1><div class="sheet"><p>An import has locked the catalog, which cannot be changed until the import has ended. Accept or discard the import, then try again.</p><p><a href="/imports">To the imports</a></p></div></main>'
      )
      assert.strictEqual(yield* titleOf(), "Agent")
      yield* lock.keep(accountId, null)
      assert.include(textOf(yield* confirm(hidden)), "1 change of 1 item is undone.")
    })
  )

  it.effect("takes what the connection added to a store off it", () =>
    Effect.gen(function* () {
      const { actor, agent, confirm, review, store } = yield* aWorld
      const [added, live] = yield* Effect.replicateEffect(anEntity("product", { title: "Stove" }), 2).pipe(
        actingAs(actor)
      )
      assert(added !== undefined && live !== undefined)
      const drafts = yield* Drafts
      for (const id of [added, live]) yield* drafts.addStoreVersion(id, store.id).pipe(actingAs(agent))
      const identified = CatalogChange.Identify({ entityId: live, storeId: store.id, platformId: "9" })
      yield* (yield* CatalogChanges).apply([identified]).pipe(actingAs(actor))
      const shown = yield* review({ since: "hour" })
      const rowOf = (id: EntityId, back: string) =>
        `<tr><th scope="row"><a href="/entity?id=${id}"><bdi>Stove</bdi></a><br/><span class="quiet">Product</span></th><td data-label="Where">${store.domain}</td><td data-label="Field">Added to the store</td><td data-label="Now"></td><td data-label="Goes back to">${back}</td></tr>`
      const kept = "Not undone: it was published to the store, is being published, or a gallery there shows it."
      for (const row of [
        rowOf(added, '<span class="quiet">not on the store</span>'),
        rowOf(live, `<span class="quiet">${kept}</span>`)
      ])
        assert.include(shown.text.replaceAll("<wbr/>", ""), row)
      const done = yield* confirm(sectionsOf(shown.text, "/settings/connections/undo").hidden)
      assert.include(textOf(done), "1 change of 1 item is undone.")
      assert.include(done.text, `<td data-label="Why">${kept}</td>`)
      const storesOf = (id: EntityId) => Effect.map(drafts.projections(id), (all) => all.length)
      assert.deepStrictEqual(yield* Effect.forEach([added, live], storesOf).pipe(actingAs(actor)), [0, 1])
    })
  )

  it.effect("reviews and undoes more entities than fit on a page, in parts", () =>
    Effect.gen(function* () {
      const { actor, agent, confirm, review, write } = yield* aWorld
      const ids = yield* Effect.replicateEffect(anEntity("product", { title: "One" }), 21).pipe(actingAs(actor))
      for (const id of ids) yield* write(agent, { title: "Agent" }, { id })
      const first = yield* review({ since: "hour" })
      const more = /<a href="([^"]*)">More items<\/a>/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? ""
      const second = yield* review(Object.fromEntries(new URL(more, "http://x").searchParams))
      const rowsOf = (text: string) => text.match(/<th scope="row">/g)?.length
      assert.deepStrictEqual([rowsOf(first.text), rowsOf(second.text)], [20, 1])
      const { hidden } = sectionsOf(second.text, "/settings/connections/undo")
      // The confirmation applies to all parts, whichever part is shown.
      assert.include(textOf(yield* confirm(hidden)), "21 changes of 21 items are undone.")
    })
  )
})
