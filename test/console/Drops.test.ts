import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { EntityId, type PublicationId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
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
  const { hidden } = sectionsOf((yield* open(`/drops/new?store_id=${made.store.id}`)).text, "/drops/new")
  const csrf = String(hidden.csrf)
  type Form = Readonly<Record<string, string>>
  const compose = (does: string, form: Form) => ask("/drops/new", { cookie, form: { csrf, do: does, ...form } })
  const send = (form: Form) => ask("/drops", { cookie, form: { csrf, ...form } })
  /** Reviews a drop and schedules what the review shows. The answer of the review, if it shows nothing to schedule. */
  const create = (form: Form) =>
    Effect.gen(function* () {
      const review = yield* compose("review", form)
      return review.text.includes(">Schedule the drop</button>")
        ? yield* send(sectionsOf(review.text, "/drops").hidden)
        : review
    })
  const cancel = (id: string) => ask("/drops/cancel", { cookie, form: { csrf, id } })
  const list = Effect.flatMap(Drops, (drops) => drops.list).pipe(actingAs(account.actor))
  const fitting = {
    name: "Sale",
    store_id: made.store.id,
    zone: "UTC",
    starts: "2999-01-31T09:30",
    ends: "2999-02-01T00:00",
    [`thing-${made.boots}`]: "yes",
    "set-product-title": "Sale <Boots>"
  }
  return { ...account, ...made, userId, cookie, csrf, open, compose, create, send, cancel, list, fitting }
})

const without = (form: Readonly<Record<string, string>>, ...names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(form).filter(([name]) => !names.includes(name)))

/** The id of the drop that an answer leads to. */
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

/** The problems: in the list on top, and at their fields. The first of them has the focus. */
const misfitsOf = (html: string) => {
  const [alert = ""] = /<div class="alert" role="alert">[\s\S]*?<\/div>/.exec(html) ?? []
  const listed = [...alert.matchAll(/<li><a href="#([\w-]+)">([^<]+)<\/a>: (.*?)<\/li>/g)].map(
    ([, field = "", name, message = ""]) => ({ field, name, message })
  )
  for (const { field, message } of listed) {
    assert.include(new RegExp(`<p class="wrong" id="${field}-misfit">.*?</p>`).exec(html)?.[0] ?? "", message)
    const [control = ""] =
      new RegExp(`<(?:input|select|textarea)(?:[^>"]|"[^"]*")*id="${field}"(?:[^>"]|"[^"]*")*>`).exec(html) ?? []
    assert.match(control, new RegExp(`aria-invalid="true".*aria-describedby="${field}-misfit[ "]`))
    assert.strictEqual(/\sautofocus[\s/>]/.test(control), field === listed[0]?.field, control)
  }
  assert.lengthOf(html.match(/aria-invalid/g) ?? [], new Set(listed.map(({ field }) => field)).size)
  assert.lengthOf(html.match(/\sautofocus[\s/>]/g) ?? [], listed.length === 0 ? 0 : 1)
  return listed.map(({ message, name }) => `${name}: ${message}`)
}

layer(PagesServer, { excludeTestServices: true })("names of changed entities", (it) => {
  it.effect("a variant is named with its product", () =>
    Effect.gen(function* () {
      const { actor, boots, create, fitting, open, store } = yield* aShop
      const on = [store]
      const variant = yield* anEntity("variant", { title: "Moss <42>" }, { on, of: boots }).pipe(actingAs(actor))
      const id = idOf(
        yield* create({
          ...without(fitting, `thing-${boots}`),
          [`thing-${variant}`]: "yes",
          "set-variant-price": "8.00"
        })
      )
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
              error: null,
              deleted_name: null
            }
          ]
        }
      ])
      const listed = yield* open("/drops?view=open")
      assertPage(listed)
      assert.include(
        listed.text,
        `<th scope="row"><a href="/drops/${id}"><bdi>Sale</bdi></a></th><td data-label="State"><span class="state wait">Scheduled</span></td><td data-label="Starts"><time datetime="2999-01-31T09:30:00.000000Z">Thu, 31 Jan 2999, 09:30</time><span class="zone">UTC</span></td><td data-label="Ends"><time datetime="2999-02-01T00:00:00.000000Z">Fri, 1 Feb 2999, 00:00</time><span class="zone">UTC</span></td><td data-label="Changes">Title of 1 item</td>`
      )
      const shown = yield* open(`/drops/${id}?note=scheduled`)
      assertPage(shown)
      assert.include(shown.text, '<div class="note" role="status">The drop is scheduled.</div>')
      assert.include(
        shown.text,
        `<th scope="row"><a href="/entity?id=${boots}"><bdi>Boots</bdi></a><br/><span class="quiet">Product</span></th>`
      )
      assert.include(
        shown.text,
        '<td data-label="Field"><bdi>Title</bdi></td><td data-label="Now"><span class="value"><bdi>Boots</bdi></span></td>'
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
      assert.notMatch(after.text, /data-label="(Now|Earlier value)"/)
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
      const { compose, fitting, list, send } = yield* aShop
      const { hidden } = sectionsOf((yield* compose("review", fitting)).text, "/drops")
      const answers = yield* Effect.all([send(hidden), send(hidden), send(hidden)], { concurrency: 3 })
      const path = `/drops/${hidden.id}?note=scheduled`
      assert.deepStrictEqual(
        answers.map(({ headers, status }) => [status, headers.get("location")]),
        Array.from({ length: 3 }, () => [303, path])
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
        '<td data-label="Outcome"><div><span>Failed</span><p class="wrong"><bdi>The item was never published to the store. Publish it first: a drop changes values of a published item.</bdi></p></div></td>'
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

  it.effect("the page of an ended drop names what was deleted since, without a link", () =>
    Effect.gen(function* () {
      const { actor, boots, cancel, create, fitting, list, open, store } = yield* aShop
      const id = idOf(yield* create(fitting))
      yield* cancel(id)
      const link = `<a href="/entity?id=${boots}"><bdi>Boots</bdi></a><br/><span class="quiet">Product</span>`
      assert.include((yield* open(`/drops/${id}`)).text, link)
      yield* Effect.gen(function* () {
        yield* (yield* Stores).unlink(store.domain)
        const job = yield* (yield* BulkJobs).begin({ kind: "product", ids: [boots] }, { _tag: "Delete" })
        const { errors } = yield* Effect.flatten((yield* JobWorker).settle(job.id, () => Effect.void))
        assert.deepStrictEqual(errors, [])
        yield* (yield* Stores).link({ domain: store.domain, platform: "demo", name: "Demo <b>" })
      }).pipe(actingAs(actor))
      const shown = yield* open(`/drops/${id}`)
      assertPage(shown)
      assert.include(shown.text, '<bdi>Boots</bdi><br/><span class="quiet">Product (Deleted)</span>')
      assert.notInclude(shown.text, boots)
      assert.deepInclude((yield* list)[0]?.changes[0], { entity_id: boots, deleted_name: "Boots" })
      const ended = yield* open("/drops?view=ended")
      assert.include(mainOf(ended), "Title of 1 item")
    })
  )

  it.effect("several fields of things of several kinds, on one store or on all, are one drop", () =>
    Effect.gen(function* () {
      const { boots, compose, create, fitting, list, store, winter } = yield* aShop
      const form = {
        ...fitting,
        [`thing-${winter}`]: "yes",
        "set-product-vendor": " ",
        "set-collection-description_html": "Line 1\r\nLine 2",
        "set-product-tags": "snow, hut"
      }
      const values = [
        [boots, "title", "Sale <Boots>"],
        [boots, "vendor", " "],
        [boots, "tags", '["snow","hut"]'],
        [winter, "description_html", "Line 1\nLine 2"]
      ]
      yield* create(form)
      yield* create({ ...form, store_id: "all", starts: "2999-03-01T10:00:30", ends: "" })
      assert.deepStrictEqual(
        (yield* list).map(({ changes, ends_at, starts_at }) => [
          starts_at,
          ends_at,
          ...changes.map(({ entity_id, field, store_id, value }) => [store_id, entity_id, field, value])
        ]),
        [
          [
            "2999-01-31T09:30:00.000000Z",
            "2999-02-01T00:00:00.000000Z",
            ...values.map((value) => [store.id, ...value])
          ],
          ["2999-03-01T10:00:30.000000Z", null, ...values.map((value) => [null, ...value])]
        ]
      )
      const refused = yield* compose("review", { ...form, store_id: "all", percent: "20" })
      assert.deepStrictEqual(misfitsOf(refused.text), ["Percent off: Choose one store: prices differ between stores."])
    })
  )

  const what = "What: Choose at least one product, variant, collection or media file."
  const noTime = "Must be a date and a time, such as 2027-01-31T09:30."
  for (const [title, given, expected] of [
    ["no name", { name: " " }, ["Name: Must have 1 to 200 characters."]],
    ["a name of two lines", { name: "a\nb" }, ["Name: Must be one line of valid text."]],
    ["a start that was", { starts: "2020-01-31T09:30" }, ["Starts: Must not be in the past."]],
    ["invalid times", { starts: "2999-02-30T09:30", ends: "soon" }, [`Starts: ${noTime}`, `Ends: ${noTime}`]],
    ["no start", { starts: "" }, [`Starts: ${noTime}`]],
    ["an end before the start", { ends: "2999-01-31T09:30" }, ["Ends: Must be later than the start."]],
    ["an unknown zone", { zone: "Europe/Atlantis" }, ["Time zone: Choose a time zone."]],
    [
      "a start that the clocks skip",
      { zone: "Europe/Berlin", starts: "2030-03-31T02:30", ends: "2030-04-01T00:00" },
      [
        "Starts: 02:30 on Sun, 31 March 2030 does not exist in Europe/Berlin: the clocks are turned forward from 02:00 to 03:00. Choose another time."
      ]
    ],
    [
      "an end that exists twice",
      { zone: "Europe/Berlin", starts: "2030-10-26T00:00", ends: "2030-10-27T02:30" },
      [
        "Ends: 02:30 on Sun, 27 October 2030 exists twice in Europe/Berlin, because the clocks are turned back: at 00:30 UTC and at 01:30 UTC. Choose one of them."
      ]
    ],
    ["nothing chosen", { thing: "" }, [what]],
    ["an unknown thing", { thing: "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10" }, [what]],
    ["no change", { "set-product-title": undefined }, ["Changes: Set a percentage off, or add a field."]],
    [
      "a field of another kind",
      { "set-product-title": undefined, "set-collection-title": "x" },
      ["What: Nothing would change: none of the chosen items has these fields."]
    ],
    [
      "an invalid value",
      { "set-product-status": "open" },
      ["Status of products: Must be one of active, draft, archived, unlisted."]
    ],
    ["a value of two lines", { "set-product-title": "a\r\nb" }, ["Title of products: Must be one line of text."]],
    [
      "no percentage",
      { percent: "a fifth" },
      ["Percent off: Must be a number above 0 and below 100, with at most two decimals, such as 20 or 12.5."]
    ],
    [
      "a percentage and a price",
      { percent: "20", "set-variant-price": "8.00" },
      ["Price of variants: The percentage sets this field. Remove one of them."]
    ],
    [
      "everything wrong at once",
      { name: "", starts: "", percent: "0", "set-product-title": undefined, thing: "" },
      [
        "Name: Must have 1 to 200 characters.",
        `Starts: ${noTime}`,
        what,
        "Percent off: Must be a number above 0 and below 100, with at most two decimals, such as 20 or 12.5."
      ]
    ]
  ] as const)
    it.effect(`${title}: the problem is shown at the field, and the input is kept`, () =>
      Effect.gen(function* () {
        const { boots, compose, fitting, list } = yield* aShop
        const { thing, ...changed }: Readonly<Record<string, string | undefined>> = given
        const all = { ...(thing === undefined ? fitting : without(fitting, `thing-${boots}`)), ...changed }
        const form = Object.fromEntries(
          Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
        )
        const answer = yield* compose("review", { ...form, ...(thing !== undefined && { [`thing-${thing}`]: "yes" }) })
        assertPage(answer, 400)
        assert.deepStrictEqual(misfitsOf(answer.text), [...expected])
        assert.include(answer.text, "<p>The drop cannot be scheduled like this. Your input is still here:</p>")
        for (const [name, value] of Object.entries(form)) {
          const controls = [...answer.text.matchAll(/<(?:input|textarea|select)(?:[^>"]|"[^"]*")*>/g)]
            .map(([tag]) => tag)
            .filter((tag) => tag.includes(` name="${name}"`))
          assert.lengthOf(controls, 1, name)
          const [control = ""] = controls
          if (name.startsWith("thing-")) assert.match(control, /\schecked[\s/>]/)
          else if (control.startsWith("<textarea"))
            assert.include(answer.text, `>\n${escaped(value.replaceAll("\r\n", "\n"))}</textarea>`)
          else if (control.startsWith("<select"))
            assert.isTrue(
              value === "Europe/Atlantis" || answer.text.includes(`<option value="${value}" selected>`),
              name
            )
          else if (value !== "") assert.include(control, ` value="${escaped(value)}"`, name)
        }
        assert.deepStrictEqual(yield* list, [])
      })
    )

  it.effect("a local time that exists twice is scheduled once one of its instants is chosen", () =>
    Effect.gen(function* () {
      const { compose, create, fitting, list } = yield* aShop
      const form = { ...fitting, zone: "Europe/Berlin", starts: "2030-10-27T02:30", ends: "2030-10-28T00:00" }
      const asked = yield* compose("review", form)
      assert.include(
        asked.text,
        '<label>Which 02:30?<select name="starts_fold"><option value>Choose one</option><option value="first">The first, 00:30 UTC</option><option value="second">The second, 01:30 UTC</option></select></label>'
      )
      yield* create({ ...form, starts_fold: "second" })
      assert.deepStrictEqual(
        (yield* list).map(({ ends_at, starts_at, timezone }) => [starts_at, ends_at, timezone]),
        [["2030-10-27T01:30:00.000000Z", "2030-10-27T23:00:00.000000Z", "Europe/Berlin"]]
      )
    })
  )

  it.effect("the store is chosen first, with its zone: the one that was chosen last", () =>
    Effect.gen(function* () {
      const { actor, boots, compose, create, files, fitting, open, store } = yield* aShop
      const zoneIn = (text: string) => /<select id="zone".*?<option value="([^"]+)" selected>/.exec(text)?.[1]
      assert.strictEqual(zoneIn((yield* open("/drops/new")).text), "UTC")
      idOf(yield* create({ ...fitting, zone: "Europe/Berlin" }))
      assert.strictEqual(zoneIn((yield* open("/drops/new")).text), "Europe/Berlin")
      const other = yield* Effect.flatMap(Stores, ({ link }) =>
        link({ domain: `second-${store.domain}`, platform: "demo" })
      ).pipe(actingAs(actor))
      const lantern = yield* anEntity("product", { title: "Lantern" }, { on: [other.store] }).pipe(actingAs(actor))
      const choice = yield* open(`/drops/new?entity=${boots}`)
      assertPage(choice)
      assert.include(
        choice.text,
        `<a href="/drops/new?store_id=${store.id}&amp;thing-${boots}=yes"><bdi>Demo &lt;b></bdi></a></p><p class="quiet">${store.domain} · USD · Europe/Berlin</p>`
      )
      // The other store does not have the product, so it cannot be chosen for it.
      assert.include(choice.text, '<p class="quiet">None of the chosen items is on this store.</p>')
      assert.notInclude(choice.text, other.store.id)
      assert.include((yield* open("/drops/new")).text, `<a href="/drops/new?store_id=${other.store.id}">`)
      const both = yield* open(`/drops/new?thing-${boots}=yes&thing-${lantern}=yes`)
      assert.include(both.text, '<p class="quiet">1 of the 2 chosen items are on this store.</p>')
      assert.include(both.text, `<a href="/drops/new?store_id=${other.store.id}&amp;thing-${boots}=yes`)
      assert.include(choice.text, `<a href="/drops/new?store_id=all&amp;thing-${boots}=yes">All stores</a>`)
      // Nothing can be published to it.
      assert.notInclude(choice.text, files.id)
      const form = yield* open(`/drops/new?store_id=${store.id}&entity=${boots}`)
      assertPage(form)
      assert.include(form.text, `<input type="checkbox" name="thing-${boots}" value="yes" checked/>`)
      assert.include(form.text, "This drop is on</span> <bdi>")
      assert.include(form.text, "Choose another store</button>")
      assert.strictEqual(zoneIn(form.text), "Europe/Berlin")
      // Another store keeps what was typed.
      const stores = yield* compose("store", { ...fitting, percent: "20", old_price: "yes" })
      assertPage(stores)
      assert.include(stores.text, 'form="typed" name="store_id" value="all">All stores</button>')
      // The page has it once, however many stores there are.
      assert.lengthOf(stores.text.split('value="2999-01-31T09:30"'), 2)
      const elsewhere = yield* compose("update", { ...sectionsOf(stores.text, "/drops/new").hidden, store_id: "all" })
      assert.include(elsewhere.text, "This drop is on</span> all stores")
      for (const typed of [
        'value="Sale"',
        'value="2999-01-31T09:30"',
        'value="20"',
        'value="Sale &lt;Boots>"',
        `thing-${boots}" value="yes" checked`
      ])
        assert.include(elsewhere.text, typed)
      const stranger = yield* aShop
      assert.notInclude((yield* stranger.open("/drops/new")).text, "Choose another store")
      for (const unknown of [stranger.store.id, files.id, "x"])
        assert.include((yield* open(`/drops/new?store_id=${unknown}`)).text, '<h2 id="store">Choose a store</h2>')
    })
  )

  it.effect("fields are added with a control of their type, and removed", () =>
    Effect.gen(function* () {
      const { compose, fitting } = yield* aShop
      const added = yield* compose("add", { ...fitting, add: "product-status" })
      assertPage(added)
      assert.match(
        added.text,
        /<select id="set-product-status" name="set-product-status" autofocus><option value selected>empty<\/option><option value="active">/
      )
      const both = yield* compose("add", { ...fitting, "set-product-status": "draft", add: "variant-price" })
      assert.include(both.text, '<option value="draft" selected>draft</option>')
      assert.match(both.text, /<input type="text" inputmode="decimal" value[^>]*name="set-variant-price"/i)
      const removed = yield* compose("remove set-product-status", { ...fitting, "set-product-status": "draft" })
      assert.notInclude(removed.text, 'name="set-product-status"')
      assert.include(removed.text, 'name="set-product-title"')
      for (const add of ["", "product-options", "product-nonsense", "nonsense"])
        assert.deepStrictEqual(misfitsOf((yield* compose("add", { ...fitting, add })).text), [
          "Changes: Choose a field first."
        ])
    })
  )

  it.effect("the search finds things of the store; Enter searches new words, and reviews otherwise", () =>
    Effect.gen(function* () {
      const { actor, boots, compose, files, fitting, store, winter } = yield* aShop
      const elsewhere = yield* anEntity("product", { title: "Boots elsewhere" }, { on: [files] }).pipe(actingAs(actor))
      const member = yield* anEntity("product", { title: "Mittens" }, { on: [store] }).pipe(actingAs(actor))
      yield* (yield* CatalogChanges)
        .apply([CatalogChange.SetMembers({ collectionId: winter, productIds: [boots, member] })])
        .pipe(actingAs(actor))
      const form = without(fitting, `thing-${boots}`)
      const box = (name: string) => `<input type="checkbox" name="${name}" value="yes"`
      const found = yield* compose("enter", { ...form, kind: "product", search: "boots" })
      assertPage(found)
      assert.include(found.text, `${box(`thing-${boots}`)}/>`)
      assert.notInclude(found.text, elsewhere)
      assert.include((yield* compose("search", { ...form, search: "nowhere" })).text, "Nothing was found on the store.")
      assert.strictEqual(
        (yield* compose("enter", { ...fitting, search: "boots", searched: "boots" })).text.includes(
          "<h1>Review: Sale</h1>"
        ),
        true
      )
      assert.include((yield* compose("search", { ...fitting, search: "boots" })).text, "Everything that was found is")
      const lanterns = yield* Effect.forEach(Array.from({ length: 26 }), (_, n) =>
        anEntity("product", { title: `Lantern ${n}` }, { on: [store] }).pipe(actingAs(actor))
      )
      const words = (text: string) => /id="found">.*?<p class="quiet" role="status">([^<]*)</.exec(text)?.[1]
      const part = "25 of 26 are shown. Add words to the search to find the others."
      const many = yield* compose("search", { ...form, search: "lantern" })
      assert.strictEqual(words(many.text), part)
      // The chosen ones are left out, so the last one is shown.
      const newest = Object.fromEntries(lanterns.slice(1).map((id) => [`thing-${id}`, "yes"]))
      const last = yield* compose("search", { ...form, ...newest, search: "lantern" })
      assert.strictEqual(words(last.text), undefined)
      assert.include(last.text, `${box(`thing-${lanterns[0]}`)}/>`)
      const collections = yield* compose("search", { ...form, kind: "collection", search: "win" })
      assert.include(collections.text, `${box(`thing-${winter}`)}/>`)
      assert.include(collections.text, `${box(`members-${winter}`)}/><span>Its 2 products`)
      const chosen = yield* compose("update", { ...form, [`members-${winter}`]: "yes" })
      assert.include(chosen.text, "<legend>Chosen: 2 items</legend>")
      for (const id of [boots, member]) assert.include(chosen.text, `${box(`thing-${id}`)} checked/>`)
    })
  )

  it.effect("an overlap is shown with the other drop, and only its changes can be left out", () =>
    Effect.gen(function* () {
      const { boots, compose, create, fitting, list, send, winter } = yield* aShop
      const first = idOf(yield* create({ ...fitting, name: 'Twice "<b>"', zone: "Europe/Berlin" }))
      const form = { ...fitting, [`thing-${winter}`]: "yes", "set-collection-title": "Winter sale" }
      const review = yield* compose("review", form)
      assertPage(review, 400)
      assert.include(
        review.text,
        "<p>1 change of 2 is made by another drop at an overlapping time, so the drop cannot be scheduled like this. Change the times, or leave these changes out.</p>"
      )
      assert.include(
        review.text,
        `<p class="wrong"><a href="/drops/${first}"><bdi>Twice &quot;&lt;b>&quot;</bdi></a> changes Title from Thu, 31 Jan 2999, 09:30 to Fri, 1 Feb 2999, 00:00 <bdi>(Europe/Berlin)</bdi></p>`
      )
      assert.notInclude(review.text, "Schedule the drop</button>")
      const left = yield* compose("leave", sectionsOf(review.text, "/drops").hidden)
      assertPage(left)
      assert.include(left.text, "1 change that another drop makes at an overlapping time is left out.")
      idOf(yield* send(sectionsOf(left.text, "/drops").hidden))
      assert.deepStrictEqual(
        (yield* list).flatMap(({ changes, name }) => changes.map(({ entity_id }) => [name, entity_id])),
        [
          ['Twice "<b>"', boots],
          ["Sale", winter]
        ]
      )
    })
  )

  it.effect("two drops at once on the same field: one is scheduled, the other sees it in its review", () =>
    Effect.gen(function* () {
      const { compose, fitting, list, send } = yield* aShop
      const reviewed = Effect.map(compose("review", fitting), ({ text }) => sectionsOf(text, "/drops").hidden)
      const forms = [yield* reviewed, yield* reviewed]
      const answers = yield* Effect.forEach(forms, send, { concurrency: "unbounded" })
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [303, 400])
      const refused = answers.find(({ status }) => status === 400)?.text ?? ""
      assert.include(refused, "Every change is made by another drop at an overlapping time, so")
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
      assertRefusal(yield* create({ ...fitting, name: "a\u0000" }), ...refusals.unreadable)
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
      assert.include(
        shown.text,
        '>Thu, 31 Jan 2999, 09:30</time><span class="zone"><bdi>Europe/Lisbon</bdi>, <bdi>09:30 UTC</bdi></span>'
      )
      const listed = yield* open("/drops?view=open")
      assert.include(listed.text, "Description, Type, Search title and 2 more fields of 1 item")
      const form = { csrf, store_id: store.id, "set-product-description_html": "\r\nsecond line" }
      const refused = yield* ask("/drops", { cookie, form })
      assert.include(refused.text, ">\n\nsecond line</textarea>")
    })
  )

  it.effect("a long text fits into the form in any script, and a longer one is refused", () =>
    Effect.gen(function* () {
      const { create, fitting, list } = yield* aShop
      const value = "机".repeat(30_000)
      idOf(yield* create({ ...fitting, "set-product-description_html": value }))
      const [drop] = yield* list
      assert.deepStrictEqual(drop?.changes.map((change) => change.value).sort(), ["Sale <Boots>", value])
      const refused = yield* create({ ...fitting, "set-product-description_html": "x".repeat(1_048_577) })
      assertRefusal(
        refused,
        413,
        "Not accepted",
        "The form is too long and was not saved. Go back, shorten it and send it again."
      )
    })
  )

  it.effect("a drop that has started is shown with the values that it replaced", () =>
    Effect.gen(function* () {
      const { actor, boots, create, fitting, open, store } = yield* aShop
      const { request, settle } = yield* Publishing
      const sql = yield* SqlClient.SqlClient
      const settleAll = Effect.gen(function* () {
        const pending = yield* sql<{ readonly id: PublicationId }>`
          SELECT id FROM publication WHERE account_id = ${actor.accountId} AND state = 'pending'`
        return yield* settle(
          pending.map(({ id }) => id),
          () => Effect.void
        )
      }).pipe(actingAs(actor))
      yield* request(boots, store.id).pipe(actingAs(actor))
      yield* settleAll
      const id = idOf(yield* create(fitting))
      yield* sql`UPDATE drop SET starts_at = app_now() WHERE id = ${id}`
      yield* (yield* Drops).runDue
      const shown = Effect.map(open(`/drops/${id}`), (page) => {
        assertPage(page)
        return page.text
      })
      assert.include(yield* shown, '<td data-label="Earlier value"></td>')
      yield* settleAll
      yield* (yield* Drops).runDue
      yield* (yield* CatalogChanges)
        .apply([CatalogChange.SetOverrides({ entityId: boots, storeId: store.id, values: { title: "Shoes" } })])
        .pipe(actingAs(actor))
      const applied = yield* shown
      assert.include(applied, '<span class="state good">Applied</span>')
      assert.include(
        applied,
        '<td data-label="Earlier value"><span class="value"><bdi>Boots</bdi></span></td><td data-label="New value"><span class="value"><bdi>Sale &lt;Boots></bdi></span></td>'
      )
    })
  )

  it.effect(
    "a percentage off all products of a large collection is one drop, which is shown by pages and by outcome",
    () =>
      Effect.gen(function* () {
        const { actor, compose, create, fitting, open, store, winter } = yield* aShop
        const products = yield* Effect.replicateEffect(mintId(EntityId), 260)
        yield* (yield* CatalogChanges)
          .apply([
            ...products.flatMap((id, index) => {
              const variant = EntityId.make(crypto.randomUUID())
              return [
                CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: `Hat ${index}` } }),
                CatalogChange.CreateEntity({ id: variant, kind: "variant", parentId: id, values: { price: "10.00" } }),
                CatalogChange.AddToStore({ entityId: id, storeId: store.id }),
                CatalogChange.AddToStore({ entityId: variant, storeId: store.id }),
                // One of them was never published, so its changes will fail.
                ...(index === 259 ? [] : [CatalogChange.AcceptPublish({ entityId: variant, storeId: store.id })])
              ]
            }),
            CatalogChange.SetMembers({ collectionId: winter, productIds: products })
          ])
          .pipe(actingAs(actor))
        const form = {
          ...without(fitting, "set-product-title", ...Object.keys(fitting).filter((name) => name.startsWith("thing-"))),
          [`members-${winter}`]: "yes",
          percent: "20",
          old_price: "yes"
        }
        const review = yield* compose("review", form)
        assertPage(review)
        assert.include(review.text, "520 changes of 260 items")
        const id = idOf(yield* create(form))
        const rowsOf = (page: { readonly text: string }) => page.text.match(/<tr><th scope="row">/g)?.length
        const first = yield* open(`/drops/${id}`)
        assertPage(first)
        assert.strictEqual(rowsOf(first), 100)
        assert.include(
          first.text,
          `<nav class="pages" aria-label="Pages of changes"><span class="quiet">1 to 100 of 520</span><a href="/drops/${id}?from=100">Next changes</a></nav>`
        )
        const last = yield* open(`/drops/${id}?from=500`)
        assert.strictEqual(rowsOf(last), 20)
        assert.include(
          last.text,
          `<a href="/drops/${id}?from=400">Previous changes</a><span class="quiet">501 to 520 of 520</span></nav>`
        )
        // A place between two pages, and one after the end.
        assert.include((yield* open(`/drops/${id}?from=199`)).text, "101 to 200 of 520")
        assert.include((yield* open(`/drops/${id}?from=520`)).text, "1 to 100 of 520")
        const sql = yield* SqlClient.SqlClient
        yield* sql`UPDATE drop_change SET outcome = 'failed' WHERE drop_id = ${id} AND ordinal IN (7, 311)`
        const counted = yield* open(`/drops/${id}`)
        assert.include(
          counted.text,
          `<nav class="pages" aria-label="Outcomes"><a href="/drops/${id}" aria-current="true">All changes: 520</a><a href="/drops/${id}?outcome=failed">Failed: 2</a></nav>`
        )
        const failed = yield* open(`/drops/${id}?outcome=failed&from=100`)
        assertPage(failed)
        assert.strictEqual(rowsOf(failed), 2)
        assert.notInclude(failed.text, "Pages of changes")
      })
  )

  it.effect("a drop of more than 2,000 changes is refused, and so is a form with very many problems", () =>
    Effect.gen(function* () {
      const { actor, boots, compose, fitting } = yield* aShop
      const variants = Array.from({ length: 1_001 }, () => EntityId.make(crypto.randomUUID()))
      yield* (yield* CatalogChanges)
        .apply(
          variants.map((id, index) =>
            CatalogChange.CreateEntity({ id, kind: "variant", parentId: boots, values: { title: `V${index}` } })
          )
        )
        .pipe(actingAs(actor))
      const chosen = Object.fromEntries(variants.map((id) => [`thing-${id}`, "yes"]))
      const whole = {
        ...without(fitting, "set-product-title"),
        ...chosen,
        store_id: "all",
        "set-variant-price": "8.00"
      }
      const tooMany = yield* compose("review", { ...whole, "set-variant-barcode": "1" })
      assert.strictEqual(tooMany.status, 400)
      assert.deepStrictEqual(
        misfitsOf(tooMany.text)[0],
        "What: These are 2,002 changes. A drop has at most 2,000: choose fewer items or fields."
      )
      const nowhere = yield* compose("review", whole)
      assert.strictEqual(nowhere.status, 400)
      const misfits = misfitsOf(nowhere.text)
      assert.lengthOf(misfits, 21)
      assert.strictEqual(misfits.at(-1), "What: 981 more problems.")
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
