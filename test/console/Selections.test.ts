import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { type EntityId, JobId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges, Drafts, Stores } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, aBrowser, ask, PagesServer } from "../oauth/PagesServer.ts"
import { aMerchant, aReview, assertForeignForm, assertNotThere, assertRefusal, csrfOf, textOf } from "./Merchant.ts"

type Form = Readonly<Record<string, string>>

const ticked = (ids: ReadonlyArray<EntityId>): Form => Object.fromEntries(ids.map((id) => [`publish-${id}`, "yes"]))

/** A merchant, and functions that send the forms of a selection of products. */
const aSelection = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, cookie } = merchant
  const csrf = csrfOf(yield* ask("/products", { cookie }))
  const send =
    (path: string) =>
    (form: Form, as = cookie, token = csrf) =>
      ask(path, { cookie: as, form: { csrf: token, list: "product", query: "", ...form } })
  /** Runs the job to which an answer leads. */
  const finish = (answer: Answer) =>
    Effect.gen(function* () {
      assert.strictEqual(answer.status, 303, textOf(answer))
      const id = JobId.make(String(answer.headers.get("location")).replace("/jobs/", ""))
      return Option.getOrThrow(yield* (yield* JobWorker).settle(id, () => Effect.void))
    }).pipe(actingAs(actor))
  const value = (id: EntityId, key: string, storeId: Parameters<Drafts["Type"]["get"]>[1] = null) =>
    Effect.map(
      Effect.flatMap(Drafts, (drafts) => drafts.get(id, storeId)),
      ({ attributes, overridden }) => [attributes.find((each) => each.key === key)?.value, overridden.includes(key)]
    ).pipe(actingAs(actor), Effect.orDie)
  return {
    ...merchant,
    csrf,
    set: send("/selection/field"),
    add: send("/selection/store"),
    remove: send("/selection/store/remove"),
    erase: send("/selection/delete"),
    exportAs: send("/selection/export"),
    schedule: send("/selection/schedule"),
    publish: send("/selection/publish"),
    cancel: send("/selection/cancel-publishes"),
    finish,
    value,
    /** The jobs that the selection began: without the import that made the products. */
    jobs: Effect.flatMap(Jobs, ({ list }) => list).pipe(
      Effect.map((all) => all.filter(({ kind }) => kind !== "import")),
      actingAs(actor)
    )
  }
})

const allGone = {
  title: "Nothing of the selection is left",
  message: "Everything that you selected was deleted meanwhile.",
  next: ["/products", "To products"]
} as const

/** The fields of the review, as its button would send them. */
const reviewed = (answer: Answer, path: string): Form => ({ ...sectionsOf(answer.text, path).hidden, do: "begin" })

const optionsOf = ({ text }: Answer, name: string) =>
  [
    ...(new RegExp(`<select[^>]* name="${name}"[\\s\\S]*?</select>`).exec(text)?.[0] ?? "").matchAll(
      /<option value(?:="([^"]*)")?/g
    )
  ].map(([, value = ""]) => value)

layer(PagesServer, { excludeTestServices: true })("actions on a selection of a list", (it) => {
  it.effect("set a field in steps: the field, the value, the review, then the page of the job", () =>
    Effect.gen(function* () {
      const { cookie, finish, jobs, set, shop, stove, tent, value } = yield* aSelection
      const both = ticked([tent, stove])
      const first = yield* set(both)
      assert.strictEqual(first.status, 200)
      assert.match(
        textOf(first),
        /Set a field Products Products The 2 products that you selected All items that match the list's filters Field/
      )
      assert.includeMembers(optionsOf(first, "key"), ["", "title", "vendor", "status", "tags"])
      assert.notInclude(optionsOf(first, "key"), "options")
      assert.includeMembers(optionsOf(first, "store_id"), ["", shop.id])
      assert.lengthOf(yield* jobs, 0)

      const typing = yield* set({ ...both, do: "value", key: "vendor", store_id: "" })
      assert.include(textOf(typing), "Where In the catalog, for all stores New value: Vendor")
      assert.notInclude(textOf(typing), "Remove the store's own value")
      const status = yield* set({ ...both, do: "value", key: "status", store_id: "" })
      assert.deepStrictEqual(optionsOf(status, "value"), ["", "active", "draft", "archived", "unlisted"])
      const tags = yield* set({ ...both, do: "value", key: "tags", store_id: "" })
      assert.match(tags.text, /<textarea[^>]*name="value"[^>]*aria-describedby="value-hint"/)

      const review = yield* set({
        ...both,
        do: "review",
        key: "vendor",
        store_id: "",
        value: "Fell <b>",
        of: "selected"
      })
      assert.strictEqual(review.status, 200)
      assert.match(
        textOf(review),
        /Field Vendor Where In the catalog, for all stores New value Fell &lt;b> Changes 2 products The (tent The stove|stove The tent) They are changed as drafts, and nothing is published\. A draft that somebody else changes before its turn is not overwritten: the page of the job lists it\. Change 2 products Back Cancel$/
      )
      assert.lengthOf(yield* jobs, 0)
      const form = reviewed(review, "/selection/field")
      const back = yield* set({ ...form, do: "value" })
      assert.include(back.text, 'value="Fell &lt;b>"')

      const begun = yield* set(form)
      const twice = yield* set(form)
      assert.strictEqual(begun.headers.get("location"), twice.headers.get("location"))
      const job = yield* finish(begun)
      assert.deepInclude(job, {
        kind: "bulk_change",
        state: "done",
        done: 2,
        result: { changed: 2, unchanged: 0, refused: 0 }
      })
      assert.lengthOf(yield* jobs, 1)
      for (const id of [tent, stove]) assert.deepStrictEqual(yield* value(id, "vendor"), ["Fell <b>", false])
      const page = yield* ask(`/jobs/${job.id}`, { cookie })
      assert.match(
        textOf(page),
        /Set vendor of 2 products All jobs State Done Progress 2 items Changed 2 Refused 0 Unchanged 0/
      )
      assert.include(page.text, 'data-events="/events')
    })
  )

  it.effect("set and remove the own value of a store, for everything that the filters find", () =>
    Effect.gen(function* () {
      const { actor, finish, set, shop, stove, tent, value } = yield* aSelection
      const query = "search=tent"
      const all = { query, of: "all", store_id: shop.id, key: "title" }
      const typing = yield* set({ ...all, do: "value" })
      assert.include(textOf(typing), "Remove the store's own value instead, so that it has the catalog's")
      const review = yield* set({ ...all, do: "review", value: "Zelt" })
      assert.match(textOf(review), /Field Title Where Tarn &amp; Tern New value Zelt Changes 1 product The tent They/)
      yield* finish(yield* set(reviewed(review, "/selection/field")))
      assert.deepStrictEqual(yield* value(tent, "title", shop.id), ["Zelt", true])
      assert.deepStrictEqual(yield* value(stove, "title", shop.id), ["The stove", false])

      const clearing = yield* set({ ...all, do: "review", value: "unused", clears: "yes" })
      assert.include(textOf(clearing), "New value the catalog's value Changes 1 product")
      yield* anEntity("product", { title: "Another tent" }).pipe(actingAs(actor))
      const outdated = yield* set(reviewed(clearing, "/selection/field"))
      assert.strictEqual(outdated.status, 409)
      assert.include(
        outdated.text,
        '<div class="alert" role="alert"><p>Nothing was changed: the filters now find 2 products. Check the review again.</p></div>'
      )
      assert.deepStrictEqual(yield* value(tent, "title", shop.id), ["Zelt", true])
      // The first form may still wait to begin its job, so the new review has the id of the same job.
      const again = reviewed(outdated, "/selection/field")
      assert.strictEqual(again.id, reviewed(clearing, "/selection/field").id)
      const job = yield* finish(yield* set(again))
      const late = yield* set(reviewed(clearing, "/selection/field"))
      assert.deepStrictEqual([late.status, late.headers.get("location")], [303, `/jobs/${job.id}`])
      assert.deepInclude(job, {
        result: { changed: 1, unchanged: 0, refused: 1 },
        errors: [{ item: "product Another tent", message: "the product is not on this store" }]
      })
      assert.deepStrictEqual(yield* value(tent, "title", shop.id), ["The tent", false])
    })
  )

  it.effect("lead to the list if their address is opened, as after signing in again", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aMerchant
      for (const action of ["field", "store", "publish", "export", "schedule"]) {
        const path = `/selection/${action}`
        const referer = `${yield* BaseUrl}${path}`
        const expired = yield* ask(path, { form: { do: "begin" }, headers: { referer } })
        const signIn = `/sign-in?return_to=${encodeURIComponent(path)}&unsent=form`
        assert.deepStrictEqual([expired.status, expired.headers.get("location")], [303, signIn])
        const opened = yield* ask(path, { cookie })
        assert.deepStrictEqual([opened.status, opened.headers.get("location")], [303, "/products"])
      }
    })
  )

  it.effect("a draft that somebody changes after the begin is listed on the page of the job", () =>
    Effect.gen(function* () {
      const { actor, cookie, finish, set, stove, tent, value } = yield* aSelection
      const form = { ...ticked([tent, stove]), key: "vendor", store_id: "", value: "Older" }
      const begun = yield* set(reviewed(yield* set({ ...form, do: "review" }), "/selection/field"))
      yield* (yield* CatalogChanges)
        .apply([CatalogChange.SetAttributes({ entityId: tent, values: { vendor: "Newer" } })])
        .pipe(actingAs(actor))
      const { id } = yield* finish(begun)
      const text = textOf(yield* ask(`/jobs/${id}`, { cookie }))
      for (const words of [
        "Changed 1 Refused 1 Unchanged 0",
        "Refused Product The tent : somebody changed the draft after the job was begun, so it was not overwritten: its revision is"
      ])
        assert.include(text, words, text)
      assert.deepStrictEqual(yield* value(tent, "vendor"), ["Newer", false])
    })
  )

  it.effect("cancel the publishes of the ticked items as a job, after a review", () =>
    Effect.gen(function* () {
      const { actor, cancel, finish, jobs, shop, stove, tent } = yield* aSelection
      const publishing = yield* Publishing
      const form = ticked([tent, stove])
      assert.include(textOf(yield* cancel(form)), "Choose a store first.")
      const review = yield* cancel({ ...form, publish_to: shop.id })
      const text = textOf(review)
      for (const words of ["Cancel publishes", "Items 2 products", "Cancel the publishes of 2 products"])
        assert.include(text, words)
      const begin = reviewed(review, "/selection/cancel-publishes")
      const nothing = yield* cancel(begin)
      assert.strictEqual(nothing.status, 400)
      assert.include(textOf(nothing), "No publish to this store waits: there is nothing to cancel.")
      assert.deepStrictEqual(yield* jobs, [])
      yield* (yield* CatalogChanges)
        .apply([CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Newer" } })])
        .pipe(actingAs(actor))
      assert.strictEqual((yield* actingAs(actor)(publishing.request(stove, shop.id))).outcome, "requested")
      const { done, kind, result, state, title } = yield* finish(yield* cancel(begin))
      assert.deepStrictEqual(
        { done, kind, result, state, title },
        {
          done: 1,
          kind: "publish_cancel",
          result: { cancelled: 1, refused: 0 },
          state: "done",
          title: `Cancel the selected publishes to ${shop.domain}`
        }
      )
      // The form that is sent twice leads to the same job.
      assert.lengthOf(yield* jobs, 1)
      yield* finish(yield* cancel(begin))
      assert.lengthOf(yield* jobs, 1)
    })
  )

  it.effect("go on without the ticked items that are gone: the pages name their number, and the job lists them", () =>
    Effect.gen(function* () {
      const { actor, add, cookie, erase, exportAs, files, finish, jobs, publish, remove, schedule, set, shop, tent } =
        yield* aSelection
      const stranger = yield* aMerchant
      const summer = yield* actingAs(actor)(anEntity("collection", { title: "Summer" }))
      const lamp = yield* actingAs(actor)(anEntity("product", { title: "Lamp" }))
      yield* finish(yield* erase(reviewed(yield* erase({ ...ticked([lamp]), do: "review" }), "/selection/delete")))
      const gone = [lamp, stranger.tent, summer]
      const some = ticked([...gone, tent])
      const note = "3 items that you selected were deleted meanwhile. This goes on with the others."

      for (const first of [yield* set(some), yield* add(some), yield* remove(some), yield* erase(some)]) {
        assert.include(first.text, `<div class="note" role="status">${note}</div>`)
        assert.include(textOf(first), "The 1 product that you selected")
      }
      const onFiles = { ...some, do: "review", store_id: files.id }
      const reviews: ReadonlyArray<readonly [Answer, typeof set, path: string]> = [
        [yield* set({ ...some, do: "review", key: "vendor", store_id: "", value: "Fell" }), set, "/selection/field"],
        [yield* add(onFiles), add, "/selection/store"],
        [yield* remove(onFiles), remove, "/selection/store/remove"],
        [yield* erase({ ...some, do: "review" }), erase, "/selection/delete"],
        [yield* publish({ ...some, publish_to: shop.id }), publish, "/selection/publish"]
      ]
      for (const [review, send, path] of reviews) {
        assert.include(textOf(review), note, path)
        assert.match(textOf(review), / 1 product The tent [A-Z]/, path)
        const job = yield* finish(yield* send(reviewed(review, path)))
        assert.includeDeepMembers(
          [...job.errors],
          gone.map((id) => ({ item: `product ${id}`, message: "it no longer exists" })),
          path
        )
        assert.strictEqual(job.error_count, path === "/selection/delete" ? 4 : 3, path)
      }
      // One that is deleted after the review does not stop the others.
      const cloak = yield* actingAs(actor)(anEntity("product", { title: "Cloak" }))
      const both = yield* set({ ...ticked([cloak, tent]), do: "review", key: "vendor", store_id: "", value: "Tarn" })
      assert.notInclude(textOf(both), "deleted meanwhile")
      yield* finish(yield* erase(reviewed(yield* erase({ ...ticked([cloak]), do: "review" }), "/selection/delete")))
      assert.deepInclude(yield* finish(yield* set(reviewed(both, "/selection/field"))), {
        result: { changed: 1, unchanged: 0, refused: 1 },
        errors: [{ item: `product ${cloak}`, message: "it no longer exists" }]
      })

      assert.include(textOf(yield* exportAs(some)), note)
      const { text } = yield* exportAs({ ...some, do: "download" })
      for (const id of gone) assert.notInclude(text, id)
      assert.include(text, tent)
      const drop = textOf(
        yield* ask(String((yield* schedule(ticked([lamp, tent]))).headers.get("location")), { cookie })
      )
      assert.include(drop, "1 item that you selected was deleted meanwhile. This goes on with the others.")
      assert.include(drop, "Chosen: 1 item")

      const begun = (yield* jobs).length
      for (const send of [set, add, remove, erase, publish, schedule, exportAs])
        for (const id of gone)
          for (const does of ["choose", "review"])
            assertRefusal(yield* send({ ...ticked([id]), do: does, store_id: shop.id, key: "vendor" }), 404, allGone)
      for (const send of [set, add, remove, erase, publish])
        assertRefusal(yield* send({ ...ticked(gone), do: "begin", store_id: shop.id, key: "vendor" }), 404, allGone)
      // All that the filters find does not need the ticked ones.
      const all = { ...ticked(gone), of: "all", do: "review", key: "vendor", store_id: "", value: "Fell" }
      assert.notInclude(textOf(yield* set(all)), "deleted meanwhile")
      assert.lengthOf(yield* jobs, begun)
    })
  )

  it.effect("add to a store: the store, the review, then the page of the job", () =>
    Effect.gen(function* () {
      const { add, files, finish, stove, tent, value } = yield* aSelection
      const both = ticked([tent, stove])
      const first = yield* add(both)
      assert.match(textOf(first), /^Add to a store Products Store Choose a store .* Review Cancel$/)
      const review = yield* add({ ...both, do: "review", store_id: files.id })
      assert.match(
        textOf(review),
        /Store files\.example Changes 2 products .* Products are added with their variants and pictures\. Nothing is published, and items that are on the store already do not change\. Add 2 products Back Cancel$/
      )
      const form = reviewed(review, "/selection/store")
      const begun = yield* add(form)
      assert.strictEqual((yield* add(form)).headers.get("location"), begun.headers.get("location"))
      assert.deepInclude(yield* finish(begun), {
        title: "Add 2 products to files.example",
        result: { changed: 2, unchanged: 0, refused: 0 }
      })
      assert.deepStrictEqual(yield* value(tent, "title", files.id), ["The tent", false])
    })
  )

  it.effect("take off a store: from the list or from the page of an entity, which names its refusal", () =>
    Effect.gen(function* () {
      const { actor, add, cookie, files, finish, remove, shop, stove, tent, value } = yield* aSelection
      const both = ticked([tent, stove])
      yield* finish(yield* add(reviewed(yield* add({ ...both, do: "review", store_id: files.id }), "/selection/store")))
      const first = yield* remove(both)
      assert.match(textOf(first), /^Take off a store Products Store Choose a store .* Review Cancel$/)
      assert.include(textOf(yield* remove({ ...both, do: "review" })), "Choose a store first.")
      const review = yield* remove({ ...both, do: "review", store_id: files.id })
      assert.match(
        textOf(review),
        /Store files\.example Changes 2 products .* Only items that were never published to the store are taken off it\. .* Take off 2 products Back Cancel$/
      )
      assert.deepInclude(yield* finish(yield* remove(reviewed(review, "/selection/store/remove"))), {
        title: "Take 2 products off files.example",
        result: { changed: 2, unchanged: 0, refused: 0 }
      })
      assert.include(String(yield* Effect.flip(value(tent, "title", files.id).pipe(Effect.sandbox))), "NotFound")

      // The page of an entity begins with its only entity, and leads back to it.
      const page = yield* ask(`/entity?id=${tent}`, { cookie })
      const chooses = sectionsOf(page.text, "/selection/store").hidden
      const choose = yield* add(chooses)
      assert.match(textOf(choose), /^Add to a store Products Store Choose a store .* Review Cancel$/)
      assert.notInclude(textOf(choose), "that match the list's filters")
      assert.include(choose.text, `<a href="/entity?id=${tent}">Cancel</a>`)
      const added = yield* add({ ...chooses, do: "review", store_id: files.id })
      assert.match(textOf(added), / Add 1 product Back Cancel$/)
      assert.include(added.text, `<a href="/entity?id=${tent}">Cancel</a>`)
      yield* finish(yield* add(reviewed(added, "/selection/store")))

      // Also after the store has refused it.
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([
          CatalogChange.RefusePublish({ entityId: tent, storeId: files.id, error: { code: "NO", message: "No." } })
        ])
      ).pipe(actingAs(actor))
      const there = yield* ask(`/entity?id=${tent}`, { cookie })
      assert.deepStrictEqual(
        [...there.text.matchAll(/aria-label="Take off ([^"]*)"/g)].map(([, store]) => store),
        [files.domain]
      )
      const removal = yield* remove(sectionsOf(there.text, "/selection/store/remove").hidden)
      assert.match(
        textOf(removal),
        /Store files\.example Changes 1 product The tent .* Take off 1 product Back Cancel$/
      )
      yield* finish(yield* remove(reviewed(removal, "/selection/store/remove")))

      const live = yield* remove({ ...ticked([tent]), do: "review", store_id: shop.id })
      assert.deepInclude(yield* finish(yield* remove(reviewed(live, "/selection/store/remove"))), {
        errors: [
          {
            item: "product The tent",
            message: "the product was published to this store, or imported from it, so it cannot be taken off"
          }
        ]
      })
    })
  )

  it.effect("delete: from the list or from the page of an entity that no store has", () =>
    Effect.gen(function* () {
      const { actor, cookie, erase, finish, stove, tent } = yield* aSelection
      const cloak = yield* actingAs(actor)(anEntity("product", { title: "Cloak" }))
      const lamp = yield* actingAs(actor)(anEntity("product", { title: "Lamp" }))
      const first = yield* erase(ticked([tent, lamp]))
      assert.match(textOf(first), /^Delete Products Products The 2 products that you selected .* Review Cancel$/)
      const review = yield* erase({ ...ticked([tent, lamp]), do: "review" })
      assert.match(
        textOf(review),
        /^Delete Products Deletes 2 products The tent Lamp This cannot be undone: .* Delete 2 products Back Cancel$/
      )
      const job = yield* finish(yield* erase(reviewed(review, "/selection/delete")))
      assert.deepInclude(job, {
        title: "Delete 2 products",
        result: { changed: 1, unchanged: 0, refused: 1 },
        errors: [
          {
            item: "product The tent",
            message:
              "the product was published to a store, or imported from one: delete it in that store, then refresh the store"
          }
        ],
        deleted: [{ id: lamp, kind: "product", name: "Lamp" }]
      })
      assert.include(textOf(yield* ask(`/jobs/${job.id}`, { cookie })), ` Deleted Lamp Product ${lamp}`)
      assert.strictEqual((yield* ask(`/entity?id=${lamp}`, { cookie })).status, 404)
      assert.strictEqual((yield* ask(`/entity?id=${tent}`, { cookie })).status, 200)

      // The page of an entity leads to the review at once, if no store has the entity.
      assert.notInclude((yield* ask(`/entity?id=${stove}`, { cookie })).text, "/selection/delete")
      const page = yield* ask(`/entity?id=${cloak}`, { cookie })
      const one = yield* erase(sectionsOf(page.text, "/selection/delete").hidden)
      assert.match(textOf(one), / Deletes 1 product Cloak This cannot be undone: .* Delete 1 product Cancel$/)
      assert.include(one.text, `<a href="/entity?id=${cloak}">Cancel</a>`)
      // A form that is sent twice leads to one job.
      const form = reviewed(one, "/selection/delete")
      const begun = yield* erase(form)
      assert.deepInclude(yield* finish(begun), { deleted: [{ id: cloak, kind: "product", name: "Cloak" }] })
      assert.strictEqual((yield* erase(form)).headers.get("location"), begun.headers.get("location"))
      assertRefusal(yield* erase({ ...form, id: yield* mintId(JobId), do: "begin" }), 404, allGone)
      assert.strictEqual((yield* ask(`/entity?id=${cloak}`, { cookie })).status, 404)
    })
  )

  it.effect("delete: the review offers the pictures that nothing else shows", () =>
    Effect.gen(function* () {
      const { actor, cookie, erase, finish } = yield* aSelection
      const [cloak, lamp, own, shared] = yield* Effect.gen(function* () {
        const products = yield* Effect.forEach(["Cloak", "Lamp"], (title) => anEntity("product", { title }))
        const media = yield* Effect.forEach(["own", "shared"], (name) =>
          anEntity("media", { url: `https://cdn.example/${name}.png`, file_name: `${name}.png` })
        )
        const show = (entityId: EntityId, ...ids: ReadonlyArray<EntityId>) =>
          CatalogChange.SetGallery({ entityId, entries: ids.map((mediaId) => ({ mediaId, storeIds: [] })) })
        const [cloak, lamp, own, shared] = [...products, ...media]
        assert(cloak !== undefined && lamp !== undefined && own !== undefined && shared !== undefined)
        yield* (yield* CatalogChanges).apply([show(cloak, own, shared), show(lamp, shared)])
        return [cloak, lamp, own, shared] as const
      }).pipe(actingAs(actor))
      const review = (form: Form) => erase({ ...form, do: "review" })
      const box = (checked = "") => `<input type="checkbox" name="with_media" value="yes"${checked}/>`
      const both = yield* review(ticked([cloak, lamp]))
      assert.include(textOf(both), "Also delete 2 pictures that nothing else shows")
      assert.include(both.text, box())
      assert.notInclude((yield* review(ticked([lamp]))).text, box())
      assert.notInclude((yield* review({ ...ticked([own]), list: "media" })).text, box())
      const all = yield* review({ ...ticked([]), query: "search=Cloak", of: "all" })
      assert.include(textOf(all), "Also delete their pictures that nothing else shows")
      // A review that is out of date keeps the choice.
      const outdated = yield* erase({ ...reviewed(all, "/selection/delete"), seen: "7", with_media: "yes" })
      assert.strictEqual(outdated.status, 409)
      assert.include(outdated.text, box(" checked"))

      const page = yield* ask(`/entity?id=${cloak}`, { cookie })
      const one = yield* erase(sectionsOf(page.text, "/selection/delete").hidden)
      assert.include(textOf(one), "Also delete 1 picture that nothing else shows Delete 1 product Cancel")
      const job = yield* finish(yield* erase({ ...reviewed(one, "/selection/delete"), with_media: "yes" }))
      assert.strictEqual(job.title, "Delete 1 product, with pictures")
      assert.deepStrictEqual(
        job.deleted.map(({ id }) => id),
        [cloak, own]
      )
      const rest = yield* review(ticked([lamp]))
      assert.deepInclude(yield* finish(yield* erase(reviewed(rest, "/selection/delete"))), {
        title: "Delete 1 product",
        deleted: [{ id: lamp, kind: "product", name: "Lamp" }]
      })
      assert.strictEqual((yield* ask(`/entity?id=${shared}`, { cookie })).status, 200)
      assert.strictEqual((yield* ask(`/entity?id=${own}`, { cookie })).status, 404)
    })
  )

  it.effect("delete: the page of an item and the review say what happens to an item that an unlinked store has", () =>
    Effect.gen(function* () {
      const { accountId, actor, cookie, erase, finish, shop, stove } = yield* aSelection
      const page = (as = cookie) => ask(`/entity?id=${stove}`, { cookie: as })
      const note = `Unlinked stores that have it: ${shop.domain}. Deleting it also removes what the catalog knows of it there. If such a store is linked again and still has it, its next refresh offers it as new.`
      assert.notInclude((yield* page()).text, "/selection/delete")
      yield* Effect.flatMap(Stores, ({ unlink }) => unlink(shop.domain)).pipe(actingAs(actor))
      const shown = yield* page()
      assert.include(shown.text, `<p class="quiet">${note}</p>`)
      const { cookie: viewer } = yield* aBrowser(accountId, `viewer-${accountId}@example.com`, "view")
      assert.notInclude((yield* page(viewer)).text, note)
      const review = yield* erase(sectionsOf(shown.text, "/selection/delete").hidden)
      assert.include(
        review.text,
        '<p class="quiet">This cannot be undone: their values on all stores and their history are deleted too. Products are deleted with their variants, and leave their collections. Pictures stay in the catalog, unless you choose to delete them too. Items that a linked store has, or that a gallery or a drop that has not ended uses, are not deleted: the page of the job lists them. What unlinked stores have is deleted here only: if such a store is linked again and still has an item, its next refresh offers it as new.</p>'
      )
      const job = yield* finish(yield* erase(reviewed(review, "/selection/delete")))
      assert.deepInclude(job, { result: { changed: 1, unchanged: 0, refused: 0 }, errors: [] })
      assert.strictEqual((yield* page()).status, 404)
    })
  )

  it.effect("the page of a picture that a gallery has names why it cannot be deleted or taken off", () =>
    Effect.gen(function* () {
      const { accountId, actor, cookie, files, tent } = yield* aSelection
      const url = "https://cdn.example/lamp.png"
      const picture = yield* actingAs(actor)(anEntity("media", { url, file_name: "lamp.png" }, { on: [files] }))
      const page = (as = cookie) => ask(`/entity?id=${picture}`, { cookie: as })
      const why = {
        remove: "A picture cannot be taken off a store where a gallery shows it: take it out of that gallery first.",
        delete: "A gallery has this picture, so it cannot be deleted: take it out of that gallery first."
      }
      const alone = yield* page()
      assert.include(alone.text, 'action="/selection/delete"')
      for (const words of Object.values(why)) assert.notInclude(alone.text, words)
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([CatalogChange.SetGallery({ entityId: tent, entries: [{ mediaId: picture, storeIds: [] }] })])
      ).pipe(actingAs(actor))
      const shown = yield* page()
      assert.notInclude(shown.text, 'action="/selection/delete"')
      for (const words of Object.values(why)) assert.include(shown.text, words)
      const { cookie: viewer } = yield* aBrowser(accountId, `viewer-${accountId}@example.com`, "view")
      for (const words of Object.values(why)) assert.notInclude((yield* page(viewer)).text, words)
    })
  )

  it.effect("the page of a product that a store has a variant of names why it cannot be taken off or deleted", () =>
    Effect.gen(function* () {
      const { accountId, actor, cookie, files, shop } = yield* aSelection
      const on = [shop, files]
      const lamp = yield* actingAs(actor)(anEntity("product", { title: "Lamp" }, { on }))
      const variant = yield* actingAs(actor)(anEntity("variant", { sku: "L-1" }, { on, of: lamp }))
      const page = (as = cookie) => Effect.map(ask(`/entity?id=${lamp}`, { cookie: as }), ({ text }) => text)
      const offered = (text: string) =>
        [...text.matchAll(/aria-label="Take off ([^"]*)"/g)].map(([, store]) => store).sort()
      const why = {
        remove: "The store has a variant of this product, or may have it, so the product cannot be taken off.",
        delete: "A store has a variant of this product, or may have it, so the product cannot be deleted."
      }
      const before = yield* page()
      assert.deepStrictEqual(offered(before), [shop.domain, files.domain].sort())
      assert.include(before, 'action="/selection/delete"')
      for (const words of Object.values(why)) assert.notInclude(before, words)
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([CatalogChange.AcceptPublish({ entityId: variant, storeId: shop.id })])
      ).pipe(actingAs(actor))
      const after = yield* page()
      assert.deepStrictEqual(offered(after), [files.domain])
      assert.notInclude(after, 'action="/selection/delete"')
      for (const words of Object.values(why)) assert.lengthOf(after.split(words), 2)
      const { cookie: viewer } = yield* aBrowser(accountId, `viewer-${accountId}@example.com`, "view")
      for (const words of Object.values(why)) assert.notInclude(yield* page(viewer), words)
    })
  )

  it.effect("publish: the store, the review, then the page of the job, also for everything that the filters find", () =>
    Effect.gen(function* () {
      const { cookie, files, finish, jobs, publish, set, shop, stove, tent } = yield* aSelection
      const both = ticked([tent, stove])
      const renamed = reviewed(
        yield* set({ ...both, do: "review", key: "vendor", store_id: "", value: "Fell" }),
        "/selection/field"
      )
      yield* finish(yield* set(renamed))
      const before = (yield* jobs).length

      const list = yield* ask("/products", { cookie })
      assert.deepStrictEqual(optionsOf(list, "publish_to"), [shop.id])
      // The store is chosen beside the button, so the review is the next page.
      const review = yield* publish({ ...both, publish_to: shop.id })
      assert.match(
        textOf(review),
        /^Publish Products Store Tarn &amp; Tern Publishes 2 products The (tent The stove|stove The tent) Their drafts become live on the store, products before the items that refer to them\. Items without a draft for this store are skipped\. The page of the job lists the refused items\. Publish 2 products Back Cancel$/
      )
      const form = reviewed(review, "/selection/publish")
      const choice = yield* publish({ ...form, do: "choose" })
      assert.match(textOf(choice), /^Publish Products Store Choose a store .* Review Cancel$/)
      assert.deepStrictEqual(optionsOf(choice, "store_id"), ["", shop.id])
      assert.lengthOf(yield* jobs, before)

      const begun = yield* publish(form)
      assert.strictEqual((yield* publish(form)).headers.get("location"), begun.headers.get("location"))
      assert.lengthOf(yield* jobs, before + 1)
      const all = { of: "all", query: "vendor=Fell", store_id: shop.id, do: "review" }
      const job = yield* finish(begun)
      assert.deepInclude(job, { kind: "publish_selected", total: 2, title: `Publish 2 selected to ${shop.domain}` })

      const everything = yield* publish(all)
      assert.include(textOf(everything), "Publishes 2 products")
      assert.include(everything.text, '<input type="hidden" name="of" value="all"')
      const none = yield* publish({ ...all, query: "vendor=Nobody" })
      assert.strictEqual(none.status, 400)
      assert.include(none.text, "The filters of the list find nothing.")

      const unchosen = yield* publish(both)
      assert.strictEqual(unchosen.status, 400)
      assert.include(unchosen.text, "Choose a store first.")
      const unpublishable = yield* publish({ ...both, store_id: files.id, do: "review" })
      assert.strictEqual(unpublishable.status, 400)
      assert.include(unpublishable.text, "files.example has no platform")
      const stranger = yield* aSelection
      assert.strictEqual((yield* publish({ ...both, store_id: stranger.shop.id, do: "review" })).status, 404)
    })
  )

  it.effect("schedule takes everything that the filters find, up to a hundred", () =>
    Effect.gen(function* () {
      const { actor, schedule, stove, tent } = yield* aSelection
      const all = yield* schedule({ of: "all" })
      const address = new URL(String(all.headers.get("location")), "http://x")
      assert.sameMembers([...address.searchParams.keys()], [`thing-${tent}`, `thing-${stove}`])
      yield* Effect.forEach(Array.from({ length: 99 }), () => anEntity("product", { title: "Peg" })).pipe(
        actingAs(actor)
      )
      assertRefusal(yield* schedule({ of: "all" }), 400, {
        title: "Too many are selected",
        message:
          "The filters of the list find more than 100, and a drop starts with at most so many: narrow the filters.",
        next: ["/products", "To products"]
      })
      assert.strictEqual((yield* schedule({ of: "all", query: "search=Peg" })).status, 303)
    })
  )

  it.effect(
    "schedule: the form of a new drop has the selected products, also when the store is still to be chosen",
    () =>
      Effect.gen(function* () {
        const { cookie, schedule, stove, tent } = yield* aSelection
        const answer = yield* schedule(ticked([tent, stove]))
        const address = String(answer.headers.get("location"))
        assert.deepStrictEqual([answer.status, address], [303, `/drops/new?thing-${tent}=yes&thing-${stove}=yes`])
        const form = yield* ask(address, { cookie })
        assert.include(textOf(form), "Chosen: 2 items")
        for (const id of [tent, stove]) assert.include(form.text, `name="thing-${id}" value="yes" checked`)
      })
  )

  it.effect("refusals name what is wrong, keep what was typed, and begin no job", () =>
    Effect.gen(function* () {
      const merchant = yield* aSelection
      const { add, cookie, jobs, schedule, set, shop, tent } = merchant
      const one = ticked([tent])
      for (const send of [set, add, schedule]) {
        assertRefusal(yield* send({ query: "vendor=Fell" }), 400, {
          title: "Nothing is selected",
          message: "Select something in the list first.",
          next: ["/products?vendor=Fell", "To products"]
        })
        const many = Array.from({ length: 101 }, (_, index) => [
          `publish-00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
          "yes"
        ])
        assertRefusal(yield* send(Object.fromEntries(many)), 400, {
          title: "Too many are selected",
          message: "At most 100 can be selected one by one.",
          next: ["/products", "To products"]
        })
        for (const form of [{ ...one, list: "shop" }, { "publish-x": "yes" }]) assertNotThere(yield* send(form))
        assertForeignForm(yield* send(one, cookie, "x"))
      }
      const wrongs: ReadonlyArray<readonly [Answer, field: string, message: string]> = [
        [yield* set({ ...one, do: "value", key: "" }), "key", "Choose a field first."],
        [yield* set({ ...one, do: "review", key: "options", value: "x" }), "key", "Choose a field first."],
        [
          yield* set({ ...one, do: "review", key: "title", value: "x".repeat(256) }),
          "value",
          "This value must have at most 255 characters."
        ],
        [
          yield* set({ of: "all", query: "search=nowhere", do: "review", key: "vendor", value: "x" }),
          "of",
          "The filters of the list find nothing."
        ],
        [yield* add({ ...one, do: "review", store_id: "" }), "store_id", "Choose a store first."]
      ]
      for (const [answer, field, message] of wrongs) {
        assert.strictEqual(answer.status, 400, message)
        assert.include(answer.text, `<p class="wrong" id="${field}-misfit" role="alert">${message}</p>`)
      }
      assert.include(wrongs[2]?.[0].text ?? "", `value="${"x".repeat(256)}"`)
      const stranger = yield* aMerchant
      for (const form of [
        { do: "value", key: "title", store_id: stranger.shop.id },
        { do: "review", key: "title", value: "x", store_id: stranger.shop.id },
        { do: "review", key: "title", value: "x", store_id: "x" }
      ]) {
        assertNotThere(yield* set({ ...one, ...form }))
        assertNotThere(yield* add({ ...one, ...form }))
      }
      const review = yield* set({ ...one, do: "review", key: "title", value: "x", store_id: shop.id })
      yield* aReview(merchant)
      assertRefusal(yield* set(reviewed(review, "/selection/field")), 423, {
        title: "An import is in progress",
        message:
          "An import has locked the catalog, which cannot be changed until the import has ended. Accept or discard the import, then try again.",
        next: ["/imports", "To the imports"]
      })
      assert.lengthOf(yield* jobs, 0)
    })
  )

  it.effect("each role sees the actions that it may use, and is refused the others", () =>
    Effect.gen(function* () {
      const { accountId, jobs, shop, tent } = yield* aSelection
      const buttonsOf = (text: string) =>
        [...text.matchAll(/<button[^>]*formaction="([^"]*)"/gi)].map(([, path]) => path)
      const refusal = (needed: string, own: string) => ({
        title: "Your role does not allow this",
        message: `This needs the role ${needed}. Yours is ${own}. An administrator of the account can change it on the page Team.`
      })
      const edits = ["/selection/field", "/selection/store", "/selection/store/remove", "/selection/delete"]
      const publishes = ["/selection/publish", "/selection/cancel-publishes", "/selection/schedule"]
      const exports = "/selection/export"
      for (const [role, own, offered] of [
        ["view", "View", [exports]],
        ["edit", "Edit", [...edits, exports]],
        ["publish", "Publish", [...publishes, ...edits, exports]]
      ] as const) {
        const { cookie } = yield* aBrowser(accountId, `${role}-${accountId}@example.com`, role)
        const page = yield* ask("/products", { cookie })
        assert.sameMembers(buttonsOf(page.text), [...offered], role)
        assert.include(page.text, `name="publish-${tent}"`)
        const form = { csrf: csrfOf(page), list: "product", query: "", publish_to: shop.id, ...ticked([tent]) }
        for (const [path, needed] of [
          ...edits.map((path) => [path, "Edit"] as const),
          ...publishes.map((path) => [path, "Publish"] as const),
          [exports, "View"] as const
        ]) {
          const answer = yield* ask(path, { cookie, form })
          if (offered.some((each) => each === path)) assert.isBelow(answer.status, 400, path)
          else {
            assert.strictEqual(answer.status, 403)
            const { message, title } = refusal(needed, own)
            assert.include(answer.text, `<h1>${title}</h1>`)
            assert.include(textOf(answer), message)
          }
        }
      }
      assert.lengthOf(yield* jobs, 0)
    })
  )
})
