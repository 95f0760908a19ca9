import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import { EntityId, JobId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs } from "../../src/testing/index.ts"
import { aBrowser, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { leaveImport } from "../support/PlantedLeases.ts"
import {
  aFailure,
  aMerchant,
  aReview,
  assertForeignForm,
  assertNotThere,
  assertPage,
  assertRefusal,
  csrfOf,
  textOf
} from "./Merchant.ts"

layer(PagesServer, { excludeTestServices: true })("the pages of jobs", (it) => {
  it.effect("the person who began a job pauses and cancels it with the role edit, and nobody else with this role", () =>
    Effect.gen(function* () {
      const { accountId } = yield* aMerchant
      const own = yield* aBrowser(accountId, `own-${accountId}@example.com`, "edit")
      const other = yield* aBrowser(accountId, `other-${accountId}@example.com`, "edit")
      const jobs = yield* Jobs
      const begin = (kind: "bulk_change" | "publish_waiting") =>
        jobs
          .begin({ kind, title: "Mine", subject: null, input: {}, total: 1 })
          .pipe(actingAs({ _tag: "User", accountId, userId: own.userId }))
      const command = ({ cookie }: typeof own, id: string, word: string) =>
        Effect.flatMap(ask(`/jobs/${id}`, { cookie }), (page) =>
          ask("/jobs/command", { cookie, form: { csrf: csrfOf(page), id, command: word } })
        )
      const refusal = (id: string) =>
        ({
          title: "Your role does not allow this",
          message:
            "This needs the role Publish. Yours is Edit. An administrator of the account can change it on the page Team.",
          next: [`/jobs/${id}`, "Back to the page"]
        }) as const
      const bulk = (yield* begin("bulk_change")).id
      const buttonsOf = ({ cookie }: typeof own, id: string) =>
        Effect.map(ask(`/jobs/${id}`, { cookie }), ({ text }) =>
          [...text.matchAll(/name="command" value="(\w+)"/g)].map(([, word]) => word)
        )
      assert.deepStrictEqual(yield* buttonsOf(own, bulk), ["pause", "cancel"])
      assert.deepStrictEqual(yield* buttonsOf(other, bulk), [])
      assertRefusal(yield* command(other, bulk, "pause"), 403, refusal(bulk))
      for (const word of ["pause", "resume", "cancel"])
        assert.strictEqual((yield* command(own, bulk, word)).headers.get("location"), `/jobs/${bulk}?note=${word}`)
      // A user with the role edit cannot continue a job that publishes.
      const publish = (yield* begin("publish_waiting")).id
      assert.strictEqual((yield* command(own, publish, "pause")).status, 303)
      assert.deepStrictEqual(yield* buttonsOf(own, publish), ["cancel"])
      assertRefusal(yield* command(own, publish, "resume"), 403, refusal(publish))
      assertRefusal(yield* command(other, publish, "cancel"), 403, refusal(publish))
      assert.strictEqual((yield* command(own, publish, "cancel")).status, 303)
    })
  )

  it.effect("show progress, pause, resume and cancel, and are not visible to other accounts", () =>
    Effect.gen(function* () {
      const { accountId, actor, cookie } = yield* aMerchant
      const stranger = yield* aMerchant
      assert.match(textOf(yield* assertPage("/jobs", cookie)), /Refresh .+? Done \d+ changes/)
      const jobs = yield* Jobs
      const begin = (title: string, kind: "publish_waiting" | "store_unlink") =>
        jobs.begin({ kind, title, subject: null, input: {}, total: 4_000 }).pipe(actingAs(actor))
      const { id } = yield* begin("Publish & go", "publish_waiting")
      const path = `/jobs/${id}`
      const page = yield* assertPage(path, cookie)
      assert.include(page.text, "<h1>Publish &amp; go</h1>")
      const list = yield* assertPage("/jobs", cookie)
      assert.include(list.text, `<a href="${path}">Publish &amp; go</a>`)
      assert.match(textOf(list), /Publish &amp; go Waiting 0 of 4,000 items/)
      const command = (word: string, of: string = id, as = cookie, csrf = csrfOf(page)) =>
        ask("/jobs/command", { cookie: as, form: { csrf, id: of, command: word } })
      const look = (address: string) => ask(address, { cookie: withNote(cookie, address) })

      for (let click = 0; click < 2; click++) {
        const paused = yield* command("pause")
        assert.strictEqual(paused.headers.get("location"), `${path}?note=pause`)
      }
      assert.match(
        textOf(yield* look(`${path}?note=pause`)),
        /The job is paused\. Finished steps are not undone\. State Paused Progress 0 of 4,000 items .* Resume Cancel the job Look again$/
      )
      assert.strictEqual((yield* command("resume")).headers.get("location"), `${path}?note=resume`)

      const repo = yield* JobsRepo
      const claimed = Option.getOrThrow(yield* repo.claim({ accountId, id }, 30))
      yield* repo.save(claimed, { cursor: 1, done: 1_000, counts: { requested: 900 }, errors: [] }, 30)
      yield* repo.fail(claimed, { why: "The store is no longer linked.", next: "Link the store again." })
      const failed = yield* assertPage(path, cookie)
      assert.include(
        failed.text,
        '<div class="alert" role="alert"><p>The store is no longer linked.</p><p>Link the store again.</p></div>'
      )
      assert.match(textOf(failed), /State Failed Progress 1,000 of 4,000 items Requested 900 .* Resume$/)
      const late = yield* command("pause")
      assert.strictEqual(late.status, 400)
      assert.include(
        late.text,
        '<div class="alert" role="alert"><p>Refused: the job is failed: only a job that is queued or running can be paused.</p></div>'
      )
      yield* command("resume")
      assert.strictEqual((yield* command("cancel")).headers.get("location"), `${path}?note=cancel`)
      assert.match(textOf(yield* assertPage(path, cookie)), /State Cancelled Progress 1,000 of 4,000 items/)

      const unlink = yield* begin("Unlink", "store_unlink")
      assert.notInclude((yield* assertPage(`/jobs/${unlink.id}`, cookie)).text, "Cancel the job")
      assert.include((yield* command("cancel", unlink.id)).text, "the store is unlinked already. Let the job finish")

      assert.strictEqual((yield* command("stop")).status, 400)
      assertForeignForm(
        yield* command("pause", unlink.id, cookie, csrfOf(yield* ask("/jobs", { cookie: stranger.cookie })))
      )
      const theirs = csrfOf(yield* ask("/jobs", { cookie: stranger.cookie }))
      assertNotThere(yield* command("pause", unlink.id, stranger.cookie, theirs))
      for (const address of [`/jobs/${unlink.id}`, "/jobs/x"])
        assertNotThere(yield* ask(address, { cookie: stranger.cookie }))
      assert.notInclude(textOf(yield* ask("/jobs", { cookie: stranger.cookie })), "Unlink")
      assert.strictEqual((yield* jobs.get(unlink.id).pipe(actingAs(actor))).state, "queued")
    })
  )

  it.effect("the page of a job that publishes a selection counts what failed after it was done", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, shop, stove } = merchant
      yield* aFailure(merchant)
      yield* (yield* DemoFailures)
        .fail(shop.domain, { kind: "refuse", percent: 100, delayMillis: 0 })
        .pipe(actingAs(actor))
      const { id } = yield* (yield* PublishJobs).selected(shop.id, [stove]).pipe(actingAs(actor))
      const path = `/jobs/${id}`
      assert.notInclude(textOf(yield* assertPage(path, cookie)), "Failed")
      yield* (yield* JobWorker).settle(id, () => Effect.void).pipe(actingAs(actor))
      assert.match(textOf(yield* assertPage(path, cookie)), /State Done Progress 1 item Refused 0 Requested 1 Begun/)
      const publishing = yield* Publishing
      // The same request again gets the publish that the job requested.
      const asked = yield* publishing.request(stove, shop.id).pipe(actingAs(actor))
      assert(asked.outcome !== "nothing_to_publish")
      yield* publishing.settle([asked.publicationId], () => Effect.void).pipe(actingAs(actor))
      const page = yield* assertPage(path, cookie)
      assert.match(textOf(page), /State Done Progress 1 item Refused 0 Requested 1 Failed 1 Begun/)
      assert.include(page.text, 'Failed publishes are shown on <a href="/">Home</a>.')
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        UPDATE publication SET state = 'published', error = '{"code":"SALES_CHANNELS","message":"On none."}'
        WHERE id = ${asked.publicationId}`
      assert.match(
        textOf(yield* assertPage(path, cookie)),
        /The store has accepted the incomplete publishes, but not done a part of them, such as the sales channels of a new product\. The history of each item says why\. State Done Progress 1 item Refused 0 Requested 1 Incomplete 1 Begun/
      )
      // The page is updated when a publish ends.
      assert.match(page.text, new RegExp(`data-live="job:${id} publish"`))
    })
  )

  it.effect("the page of a job names the deleted entities that the job keeps, and counts the others", () =>
    Effect.gen(function* () {
      const { accountId, actor, cookie } = yield* aMerchant
      const repo = yield* JobsRepo
      const { id } = yield* (yield* Jobs)
        .begin({ kind: "bulk_change", title: "Delete", subject: null, input: {}, total: 103 })
        .pipe(actingAs(actor))
      const path = `/jobs/${id}`
      assert.notInclude(textOf(yield* assertPage(path, cookie)), "Deleted")
      const claimed = Option.getOrThrow(yield* repo.claim({ accountId, id }, 30))
      const [one, two] = [yield* mintId(EntityId), yield* mintId(EntityId)]
      const step = {
        cursor: 2,
        done: 2,
        counts: { changed: 2 },
        errors: [],
        deleted: [
          { id: one, kind: "product", name: "<b>Tent</b>" },
          { id: two, kind: "variant", name: "" }
        ]
      } as const
      yield* repo.save(claimed, step, 30)
      const named = `Deleted <b>Tent</b> Product ${one} Variant without a title Variant ${two}`
      const few = yield* assertPage(path, cookie)
      assert.include(few.text, "<bdi>&lt;b>Tent&lt;/b></bdi>")
      assert.isTrue(textOf(few).replaceAll("&lt;", "<").endsWith(named), textOf(few))
      yield* repo.save(claimed, { cursor: null, done: 101, counts: { changed: 101 }, errors: [] }, 30)
      const many = textOf(yield* assertPage(path, cookie)).replaceAll("&lt;", "<")
      assert.isTrue(many.endsWith(`${named} And 101 more.`), many)
    })
  )

  it.effect("list scans that the service began only while they run or need attention", () =>
    Effect.gen(function* () {
      const { accountId, actor, cookie } = yield* aMerchant
      const repo = yield* JobsRepo
      const { id } = yield* (yield* Jobs)
        .begin({ kind: "health_scan", title: "Scan", subject: null, input: { cause: "import" }, total: 6 })
        .pipe(actingAs(actor))
      const listed = Effect.map(assertPage("/jobs", cookie), textOf)
      assert.notInclude(yield* listed, "Scan")
      const claimed = Option.getOrThrow(yield* repo.claim({ accountId, id }, 30))
      assert.match(yield* listed, /Scan Running 0 of 6 checks .* the service/)
      yield* repo.fail(claimed, { why: "Why.", next: "Next." })
      assert.match(yield* listed, /Scan Failed 0 of 6 checks .* the service/)
      assert.include(textOf(yield* assertPage(`/jobs/${id}`, cookie)), "by the service")
      yield* (yield* Jobs).command("resume", id).pipe(actingAs(actor))
      const again = Option.getOrThrow(yield* repo.claim({ accountId, id }, 30))
      yield* repo.save(again, { cursor: null, done: 6, counts: {}, errors: [] }, 30)
      assert.notInclude(yield* listed, "Scan")
    })
  )

  it.effect("pause, resume and cancel an import, and say that it locks the catalog", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { accountId, actor, cookie } = merchant
      const id = yield* aReview(merchant)
      yield* leaveImport(accountId, 3_600, { runId: id })
      yield* (yield* Jobs)
        .begin({ id: JobId.make(id), kind: "import", title: "Refresh it", subject: null, input: {}, total: 2 })
        .pipe(actingAs(actor))
      const path = `/jobs/${id}`
      const csrf = csrfOf(yield* assertPage(path, cookie))
      const command = (word: string) => ask("/jobs/command", { cookie, form: { csrf, id, command: word } })
      const importPage = assertPage(`/import?id=${id}`, cookie)
      const link = (words: string) => `<a href="${path}">${words}</a>`
      assert.include((yield* importPage).text, link("Pause or cancel it"))

      assert.strictEqual((yield* command("pause")).headers.get("location"), `${path}?note=pause`)
      const paused = yield* assertPage(path, cookie)
      assert.match(
        textOf(paused),
        /The catalog is locked until you resume or cancel this job\. Show the import State Paused Progress 0 of 2 changes .* Resume Cancel the job Look again$/
      )
      assert.include(paused.text, `<a href="/import?id=${id}">Show the import</a>`)
      assert.include(paused.text, "Until somebody resumes or cancels it the catalog cannot be changed.")
      const locked = yield* importPage
      assert.include(textOf(locked), "The import is paused. The catalog is locked until you resume or cancel it.")
      assert.include(locked.text, link("Resume or cancel it"))

      assert.strictEqual((yield* command("cancel")).headers.get("location"), `${path}?note=cancel`)
      assert.match(textOf(yield* assertPage(path, cookie)), /State Cancelled Progress 0 of 2 changes/)
      assert.include(
        textOf(yield* importPage),
        "The import was cancelled while it was applied; 0 of 2 changes were applied. Refresh the store again to complete it."
      )
      assert.notInclude((yield* assertPage("/jobs", cookie)).text, "the catalog cannot be changed")
    })
  )
})
