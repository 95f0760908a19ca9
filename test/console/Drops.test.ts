import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Drops } from "../../src/drops/Drops.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { aBrowser, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { assertPage, assertRefusal, escaped, mainOf, refusals } from "./WholePage.ts"

let accounts = 0

/** A user, a demo store, a store without a platform, and products on them. */
const aShop = Effect.gen(function* () {
  const number = ++accounts
  const account = yield* anAccount({ domains: [`files${number}.example`], name: "Tarn & Tern" })
  const { cookie, userId } = yield* aBrowser(account.accountId, `drops-${number}@example.com`)
  const made = yield* Effect.gen(function* () {
    const { store } = yield* (yield* Stores).link({
      domain: `demo${number}.example`,
      platform: "demo",
      name: "Demo <b>"
    })
    const [files] = account.stores
    const boots = yield* anEntity("product", { title: "Boots", handle: "boots" }, { on: [store, files] })
    const winter = yield* anEntity("collection", { title: "Winter", handle: "winter" }, { on: [store] })
    return { store, files, boots, winter }
  }).pipe(actingAs(account.actor), Effect.orDie)
  const open = (path: string) => ask(path, { cookie: withNote(cookie, path) })
  const { hidden } = sectionsOf((yield* open("/drops/new")).text, "/drops")
  const csrf = String(hidden.csrf)
  const create = (form: Readonly<Record<string, string>>) => ask("/drops", { cookie, form: { csrf, ...form } })
  const cancel = (id: string) => ask("/drops/cancel", { cookie, form: { csrf, id } })
  const list = Effect.flatMap(Drops, (drops) => drops.list).pipe(actingAs(account.actor))
  const fitting = {
    name: "Sale",
    starts: "2999-01-31T09:30",
    ends: "2999-02-01T00:00",
    entity: "boots",
    store_id: made.store.id,
    field: "title",
    value: "Sale <Boots>"
  }
  return { ...account, ...made, userId, cookie, csrf, open, create, cancel, list, fitting }
})

/** The id of the drop to which an answer redirects. */
const idOf = ({
  headers,
  status,
  text
}: {
  readonly headers: Headers
  readonly status: number
  readonly text: string
}) => {
  assert.strictEqual(status, 303, text)
  const [, id = "", note] = /^\/drops\/([0-9a-f-]{36})\?note=(\w+)$/.exec(headers.get("location") ?? "") ?? []
  assert.strictEqual(note, "scheduled")
  return id
}

/** The problems: in the list at the top, and at their fields. */
const misfitsOf = (html: string) => {
  const [alert = ""] = /<div class="alert" role="alert">[\s\S]*?<\/div>/.exec(html) ?? []
  const listed = [...alert.matchAll(/<li><a href="#(\w+)">([^<]+)<\/a>: ([^<]*(?:&lt;[^<]*)*)<\/li>/g)].map(
    ([, field = "", name, message]) => ({ field, name, message })
  )
  for (const { field, message } of listed) {
    assert.include(
      /<p id="\w+-wrong" class="wrong">[^<]*<\/p>/g.exec(html.slice(html.indexOf(`id="${field}-wrong"`) - 6))?.[0],
      `${String(message).charAt(0).toUpperCase()}${String(message).slice(1)}`
    )
    assert.match(
      html,
      new RegExp(
        `<(input|select|textarea)[^>]*id="${field}"[^>]*aria-invalid="true"[^>]*aria-describedby="${field}-wrong[ "]`
      )
    )
  }
  assert.lengthOf(html.match(/aria-invalid/g) ?? [], new Set(listed.map(({ field }) => field)).size)
  return listed.map(({ message, name }) => `${name}: ${message}`)
}

layer(PagesServer, { excludeTestServices: true })("names of changed entities", (it) => {
  it.effect("a variant is named with its product", () =>
    Effect.gen(function* () {
      const { actor, boots, create, fitting, open, store } = yield* aShop
      const on = [store]
      const variant = yield* anEntity("variant", { title: "Moss <42>" }, { on, of: boots }).pipe(actingAs(actor))
      const id = idOf(yield* create({ ...fitting, entity: variant, field: "price", value: "8.00" }))
      assert.include(
        (yield* open(`/drops/${id}`)).text,
        `<a href="/entity?id=${variant}"><bdi>Boots: Moss &lt;42></bdi></a>`
      )
    })
  )
})

layer(PagesServer, { excludeTestServices: true })("the pages of drops", (it) => {
  it.effect("a drop is scheduled by a form, listed, shown, and cancelled once", () =>
    Effect.gen(function* () {
      const { boots, cancel, create, fitting, list, open, store } = yield* aShop
      const none = yield* open("/drops?view=open")
      assertPage(none)
      assert.include(none.text, '<p class="quiet">No drop is scheduled or running.</p>')
      assert.include((yield* open("/drops?view=ended")).text, '<p class="quiet">No drop has ended.</p>')

      const id = idOf(yield* create(fitting))
      assert.deepStrictEqual<unknown>(yield* list, [
        {
          id,
          name: "Sale",
          status: "scheduled",
          starts_at: "2999-01-31T09:30:00.000000Z",
          ends_at: "2999-02-01T00:00:00.000000Z",
          timezone: "UTC",
          changes: [
            {
              entity_id: boots,
              entity_type: "product",
              store_id: store.id,
              field: "title",
              value: "Sale <Boots>",
              outcome: null,
              error: null
            }
          ]
        }
      ])
      const listed = yield* open("/drops?view=open")
      assertPage(listed)
      assert.include(
        listed.text,
        `<th scope="row"><a href="/drops/${id}"><bdi>Sale</bdi></a></th><td data-label="State"><span class="state wait">Scheduled</span></td><td data-label="Starts"><time datetime="2999-01-31T09:30:00.000000Z">Thu, 31 Jan 2999, 09:30</time><span class="zone">UTC</span></td><td data-label="Ends"><time datetime="2999-02-01T00:00:00.000000Z">Fri, 1 Feb 2999, 00:00</time><span class="zone">UTC</span></td><td data-label="Changes">Title of 1 entity</td>`
      )
      const shown = yield* open(`/drops/${id}?note=scheduled`)
      assertPage(shown)
      assert.include(shown.text, '<div class="note" role="status">The drop is scheduled.</div>')
      assert.include(
        shown.text,
        `<th scope="row"><a href="/entity?id=${boots}"><bdi>Boots</bdi></a><br/><span class="quiet">Product</span></th>`
      )
      assert.notInclude((yield* open(`/drops/${id}?note=%3Cb%3E`)).text, 'role="status"')

      const { hidden } = sectionsOf(shown.text, "/drops/cancel")
      assert.strictEqual(hidden.id, id)
      const cancelled = yield* cancel(id)
      assert.deepStrictEqual(
        [cancelled.status, cancelled.headers.get("location")],
        [303, `/drops/${id}?note=cancelled`]
      )
      const after = yield* open(`/drops/${id}?note=cancelled`)
      assert.include(after.text, '<div class="note" role="status">The drop is cancelled. Nothing was changed.</div>')
      assert.notInclude(after.text, 'action="/drops/cancel"')
      // A second click, or a page from the browser's history.
      const again = yield* cancel(id)
      assert.deepStrictEqual([again.status, again.headers.get("location")], [303, `/drops/${id}?note=cancelled`])
      assert.include(after.text, '<span class="state idle">Cancelled</span>')
    })
  )

  it.effect("the calendar has each drop on the days of its own zone, with its state, and moves by month", () =>
    Effect.gen(function* () {
      const { actor, boots, open, store } = yield* aShop
      const schedule = (name: string, starts_at: string, ends_at: string | null, timezone: string) =>
        Effect.flatMap(Drops, ({ create }) =>
          create({
            name,
            starts_at,
            ends_at,
            timezone,
            changes: [{ entity_id: boots, store_id: store.id, field: "title", value: name }]
          })
        ).pipe(
          Effect.map(({ id }) => id),
          actingAs(actor)
        )
      const weekend = yield* schedule("Weekend <b>", "2998-12-04T23:00:00Z", "2998-12-06T23:00:00Z", "Europe/Berlin")
      const longId = yield* schedule("Long", "2998-12-12T09:00:00Z", "2999-01-02T09:00:00Z", "UTC")
      const stays = yield* schedule("Stays", "2999-01-03T09:00:00Z", null, "UTC")
      const page = yield* open("/drops?month=2998-12")
      assertPage(page)
      const main = mainOf(page)
      const bar = (id: string, classes: string, name: string, times: string) =>
        `<a class="bar wait${classes}" href="/drops/${id}"><bdi>${name}</bdi><span class="state wait">Scheduled</span><span class="spoken">${times}</span></a>`
      const longTimes = "Wed 12 December, 09:00 to Wed 2 January, 09:00"
      const long = (classes: string) => bar(longId, classes, "Long", longTimes)
      // The month begins on a Saturday.
      assert.deepStrictEqual(
        [...main.matchAll(/<td colspan="(\d)">(.*?)<\/td>/g)].map(([, days, content]) => [days, content]),
        [
          ["2", ""],
          ["2", bar(weekend, "", "Weekend &lt;b>", "Wed 5 December, 00:00 to Thu 6 December, 24:00")],
          ["3", ""],
          ["2", ""],
          ["5", long(" continues")],
          ["7", long(" continued continues")],
          ["7", long(" continued continues")],
          ["3", long(" continued")],
          ["1", bar(stays, "", "Stays", "from Thu 3 January, 09:00; the values stay")],
          ["3", ""]
        ]
      )
      assert.include(main, '<h2 id="month">December 2998</h2>')
      for (const [month, name] of [
        ["2998-11", "Previous month: November 2998"],
        ["2999-01", "Next month: January 2999"]
      ])
        assert.include(main, `href="/drops?month=${month}" aria-label="${name}"`)
      // The list by day, for a narrow screen, has only days of the month.
      const days = (text: string) =>
        [...text.matchAll(/<section aria-labelledby="day-([\d-]+)">.*?<\/section>/g)].map(([section, day]) => [
          day,
          ...[...section.matchAll(/<bdi>(.*?)<\/bdi>/g)].map(([, name]) => name)
        ])
      assert.deepStrictEqual(days(main), [
        ["2998-12-05", "Weekend &lt;b>"],
        ["2998-12-12", "Long"]
      ])
      assert.deepStrictEqual(days(mainOf(yield* open("/drops?month=2999-01"))), [
        ["2999-01-01", "Long"],
        ["2999-01-03", "Stays"]
      ])
      const quiet = mainOf(yield* open("/drops?month=2998-10"))
      assert.include(quiet, '<p class="quiet">There are no drops in October 2998.</p>')

      // Today is marked, in this month, which an address without a month or with a malformed one shows.
      const today = new Date().toISOString().slice(0, 10)
      for (const path of ["/drops", "/drops?month=soon"]) {
        const now = mainOf(yield* open(path))
        assert.include(
          now,
          `aria-current="date"><time datetime="${today}">${Number(today.slice(8))}</time><span class="today">`
        )
        assert.notInclude(now, "This month")
      }
      assert.include(quiet, '<a class="button plain" href="/drops">This month</a>')
    })
  )

  it.effect("a form that is sent twice schedules one drop and succeeds twice", () =>
    Effect.gen(function* () {
      const { create, fitting, list, open } = yield* aShop
      const { hidden } = sectionsOf((yield* open("/drops/new")).text, "/drops")
      const send = create({ ...fitting, id: String(hidden.id) })
      const answers = yield* Effect.all([send, send], { concurrency: 2 })
      const path = `/drops/${hidden.id}?note=scheduled`
      assert.deepStrictEqual(
        answers.map(({ headers, status }) => [status, headers.get("location")]),
        [
          [303, path],
          [303, path]
        ]
      )
      assert.lengthOf(yield* list, 1)
    })
  )

  it.effect("the user is the author, and the page shows the outcome of each change", () =>
    Effect.gen(function* () {
      const { accountId, cancel, create, fitting, open, userId } = yield* aShop
      const id = idOf(yield* create(fitting))
      const sql = yield* SqlClient.SqlClient
      const [author] = yield* sql`SELECT actor FROM drop WHERE id = ${id}`
      assert.deepStrictEqual<unknown>(author, { actor: { _tag: "User", accountId, userId } })
      yield* sql`UPDATE drop SET starts_at = app_now() WHERE id = ${id}`
      yield* (yield* Drops).runDue
      const shown = yield* open(`/drops/${id}`)
      assertPage(shown)
      assert.include(shown.text, '<span class="state bad">Failed</span>')
      assert.include(
        shown.text,
        '<td data-label="Outcome"><div><span>Failed</span><p class="wrong"><bdi>The entity was never published to the store. Publish it first: a drop changes values of a published entity.</bdi></p></div></td>'
      )
      // Its end will come, so it is not among those that have ended.
      assert.include((yield* open("/drops?view=open")).text, '<span class="state bad">Failed</span>')
      assert.notInclude((yield* open("/drops?view=ended")).text, id)
      const late = yield* cancel(id)
      assertPage(late, 400)
      assert.include(
        late.text,
        '<div class="alert" role="alert"><p>Not cancelled: the drop is failed: only a scheduled one can be cancelled.</p></div>'
      )
    })
  )

  it.effect("the form accepts an id or a handle, and one store or all", () =>
    Effect.gen(function* () {
      const { actor, boots, create, fitting, list, store, winter } = yield* aShop
      yield* create({ ...fitting, entity: ` ${boots.toUpperCase()} `, store_id: "", ends: "", field: " vendor " })
      yield* create({
        ...fitting,
        starts: "2999-01-31T10:00:30",
        entity: "winter",
        value: "Line 1\r\nLine 2",
        field: "seo_description"
      })
      const made = yield* list
      assert.deepStrictEqual(
        made.map(({ changes: [change], ends_at }) => [
          change?.entity_id,
          change?.store_id,
          change?.field,
          change?.value,
          ends_at
        ]),
        [
          [boots, null, "vendor", "Sale <Boots>", null],
          [winter, store.id, "seo_description", "Line 1\nLine 2", "2999-02-01T00:00:00.000000Z"]
        ]
      )
      const twin = yield* anEntity("product", { title: "Boots", handle: "winter" }, { on: [store] }).pipe(
        actingAs(actor)
      )
      const answer = yield* create({ ...fitting, entity: "winter" })
      assertPage(answer, 400)
      assert.deepStrictEqual(misfitsOf(answer.text), [
        `Product, variant, collection or media file: is the handle of collection ${winter} and product ${twin}: give the id of one.`
      ])
    })
  )

  for (const [what, with_, expected] of [
    ["no name", { name: " " }, ["Name: must have 1 to 200 characters."]],
    ["a name of two lines", { name: "a\nb" }, ["Name: must be one line of valid text."]],
    ["a start that was", { starts: "2020-01-31T09:30" }, ["Starts (UTC): must not be in the past."]],
    [
      "invalid times",
      { starts: "2999-02-30T09:30", ends: "soon" },
      ["Starts (UTC)", "Ends (UTC)"].map((name) => `${name}: must be a date and a time, such as 2027-01-31T09:30.`)
    ],
    ["no start", { starts: "" }, ["Starts (UTC): must be a date and a time, such as 2027-01-31T09:30."]],
    ["an end before the start", { ends: "2999-01-31T09:30" }, ["Ends (UTC): must be later than the start."]],
    ["an unknown handle", { entity: "&quot;" }, ["Product, variant, collection or media file: no such entity."]],
    [
      "an invalid value",
      { field: "status", value: "open" },
      ["New value: must be one of active, draft, archived, unlisted."]
    ],
    ["a value of two lines", { value: "a\r\nb" }, ["New value: must be one line of text."]]
  ] as const)
    it.effect(`${what}: the problem is shown at the field, and the input is kept`, () =>
      Effect.gen(function* () {
        const { create, fitting, list } = yield* aShop
        const form = { ...fitting, ...with_ }
        const answer = yield* create(form)
        assertPage(answer, 400)
        assert.deepStrictEqual(misfitsOf(answer.text), expected)
        for (const [name, value] of Object.entries(form)) {
          if (name === "value") assert.include(answer.text, `>\n${escaped(value.replaceAll("\r\n", "\n"))}</textarea>`)
          else if (name === "store_id") assert.include(answer.text, `<option value="${value}" selected>`)
          else if (value !== "")
            assert.match(answer.text, new RegExp(`<input[^>]*value="${escaped(value)}"[^>]*name="${name}"`), name)
        }
        assert.deepStrictEqual(yield* list, [])
      })
    )

  it.effect(
    "refuses stores of other accounts, unlinked stores, stores without a platform, and an overlapping drop",
    () =>
      Effect.gen(function* () {
        const { create, files, fitting, list, open, winter } = yield* aShop
        const stranger = yield* aShop
        // Nothing can be published to this store, so it cannot be chosen.
        assert.notInclude((yield* open("/drops/new")).text, files.id)
        for (const [store_id, message] of [
          [stranger.store.id, "no such store is linked"],
          ["5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "no such store is linked"],
          ["x", "no such store is linked"],
          [files.id, `${files.domain} has no platform: nothing can be published to it`]
        ] as const)
          assert.deepStrictEqual(misfitsOf((yield* create({ ...fitting, store_id })).text), [`Store: ${message}.`])
        const foreign = yield* create({ ...fitting, entity: stranger.boots })
        assert.deepStrictEqual(misfitsOf(foreign.text), ["Product, variant, collection or media file: no such entity."])
        const unknown = yield* create({ ...fitting, entity: winter, field: "vendor" })
        assert.match(String(misfitsOf(unknown.text)), /^Field: is a key of a product, not of a collection/)
        assert.deepStrictEqual(yield* list, [])

        const id = idOf(yield* create({ ...fitting, name: 'Twice "<b>"' }))
        // The same form again, by a double click.
        const again = yield* create(fitting)
        assertPage(again, 400)
        assert.deepStrictEqual(misfitsOf(again.text), [
          `Field: the drop &quot;Twice \\&quot;&lt;b>\\&quot;&quot; (${id}) changes this field at the same time.`
        ])
        assert.lengthOf(yield* list, 1)
      })
  )

  it.effect("the form can be opened with some fields filled in", () =>
    Effect.gen(function* () {
      const { boots, open, store } = yield* aShop
      const query = new URLSearchParams({ entity: boots, store_id: store.id, field: "title", value: "</textarea><b>" })
      const page = yield* open(`/drops/new?${query}`)
      assertPage(page)
      assert.match(page.text, new RegExp(`<input type="text" value="${boots}" required id="entity"`))
      assert.include(page.text, `<option value="${store.id}" selected>Demo &lt;b> (${store.domain})</option>`)
      assert.include(page.text, ">\n&lt;/textarea>&lt;b></textarea>")
      assert.notMatch(page.text, /role="alert"|aria-invalid/)
    })
  )

  it.effect("two clicks at once schedule one drop", () =>
    Effect.gen(function* () {
      const { create, fitting, list } = yield* aShop
      const answers = yield* Effect.all([create(fitting), create(fitting)], { concurrency: "unbounded" })
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [303, 400])
      assert.lengthOf(yield* list, 1)
    })
  )

  it.effect("a drop of another account is answered like a missing one", () =>
    Effect.gen(function* () {
      const { cancel, open } = yield* aShop
      const stranger = yield* aShop
      const id = idOf(yield* stranger.create(stranger.fitting))
      for (const other of [id, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x"]) {
        assertRefusal(yield* open(`/drops/${other}`), ...refusals.absent)
        assertRefusal(yield* cancel(other), ...refusals.absent)
      }
      const [drop] = yield* stranger.list
      assert.strictEqual(drop?.status, "scheduled")
      assert.strictEqual((yield* stranger.open(`/drops/${id.toUpperCase()}`)).status, 200)
    })
  )

  it.effect("a form without the CSRF token, or with U+0000, changes nothing", () =>
    Effect.gen(function* () {
      const { cancel, cookie, create, fitting, list } = yield* aShop
      const stranger = yield* aShop
      const id = idOf(yield* create(fitting))
      for (const proof of [{}, { csrf: stranger.csrf }]) {
        assertRefusal(yield* ask("/drops", { cookie, form: { ...fitting, ...proof } }), ...refusals.foreign)
        assertRefusal(yield* ask("/drops/cancel", { cookie, form: { id, ...proof } }), ...refusals.foreign)
      }
      assertRefusal(yield* create({ ...fitting, value: "a\u0000" }), ...refusals.unreadable)
      const away = yield* ask("/drops", { form: fitting })
      assert.deepStrictEqual([away.status, away.headers.get("location")], [303, "/sign-in?return_to=%2F&unsent=form"])
      assert.deepStrictEqual(
        (yield* list).map(({ status }) => status),
        ["scheduled"]
      )
      assert.strictEqual((yield* cancel(id)).status, 303)
    })
  )

  it.effect("a long value is folded, and its whitespace is kept", () =>
    Effect.gen(function* () {
      const { actor, boots, cookie, csrf, open, store } = yield* aShop
      const long = `\n<script>alert(1)</script>${"é".repeat(4_000)}`
      const drop = yield* Effect.flatMap(Drops, (drops) =>
        drops.create({
          name: "حذاء",
          starts_at: "2999-01-31T09:30:00Z",
          ends_at: null,
          timezone: "Europe/Lisbon",
          changes: [
            { entity_id: boots, store_id: store.id, field: "description_html", value: long },
            ...["title", "vendor", "product_type", "seo_title"].map((field) => ({
              entity_id: boots,
              store_id: null,
              field,
              value: ""
            }))
          ]
        })
      ).pipe(actingAs(actor))
      const shown = yield* open(`/drops/${drop.id}`)
      assertPage(shown)
      assert.include(mainOf(shown), "<h1>حذاء</h1>")
      assert.include(shown.text, `<div class="value" dir="auto">${escaped(long)}</div>`)
      assert.include(shown.text, "<summary>All 4,026 characters</summary>")
      assert.include(shown.text, '<span class="quiet">empty</span>')
      assert.include(shown.text, '>Thu, 31 Jan 2999, 09:30</time><span class="zone">Europe/Lisbon, 09:30 UTC</span>')
      const listed = yield* open("/drops?view=open")
      assert.include(listed.text, "Description, Type, Search title and 2 more fields of 1 entity")
      const refused = yield* ask("/drops", { cookie, form: { csrf, value: "\r\nsecond line" } })
      assert.include(refused.text, ">\n\nsecond line</textarea>")
    })
  )

  it.effect("a long text fits into the form in any script, and a longer one is refused", () =>
    Effect.gen(function* () {
      const { create, fitting, list } = yield* aShop
      const value = "机".repeat(30_000)
      idOf(yield* create({ ...fitting, field: "description_html", value }))
      const [drop] = yield* list
      assert.strictEqual(drop?.changes[0]?.value, value)
      const refused = yield* create({ ...fitting, field: "description_html", value: "x".repeat(1_048_577) })
      assertRefusal(
        refused,
        413,
        "Not accepted",
        "The form is too long and was not saved. Go back, shorten it and send it again."
      )
    })
  )

  it.effect("a drop is shown after its entity was deleted or its store unlinked", () =>
    Effect.gen(function* () {
      const { actor, boots, create, fitting, open, store } = yield* aShop
      const id = idOf(yield* create(fitting))
      yield* (yield* CatalogChanges)
        .apply([CatalogChange.RemoveFromStore({ entityId: boots, storeId: store.id })])
        .pipe(actingAs(actor))
      const shown = yield* open(`/drops/${id}`)
      assertPage(shown)
      assert.include(shown.text, "<bdi>Boots</bdi>")
      yield* Effect.flatMap(Stores, ({ unlink }) => unlink(store.domain)).pipe(actingAs(actor))
      const rest = yield* open(`/drops/${id}`)
      assertPage(rest)
      assert.include(rest.text, '<p class="quiet">There are none: the store is no longer linked.</p>')
      const form = yield* open("/drops/new")
      assertPage(form)
      assert.include(form.text, "<p>No linked store has a platform")
    })
  )
})
