import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type AccountId, EntityId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { Webhooks } from "../../src/webhooks/Webhooks.ts"
import { WebhookWorker } from "../../src/webhooks/WebhookWorker.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, assertErrorPage, aUser, pagesServer, withNote } from "../oauth/PagesServer.ts"
import { layerReceiver, Receiver } from "../support/Receiver.ts"

const section = "/settings/webhooks"

const secretIn = (text: string) => /id="new-secret" value="(whsec_[A-Za-z0-9+/=]{44})"/.exec(text)?.[1]

const listOf = (accountId: AccountId) =>
  Effect.flatMap(Webhooks, ({ list }) => list).pipe(actingAs({ _tag: "Cli", accountId }))

/** A browser, and a function that sends the form for a new webhook. */
const opened = Effect.gen(function* () {
  const user = yield* aUser()
  const page = yield* ask(section, { cookie: user.cookie })
  assert.strictEqual(page.status, 200, page.text)
  const { hidden } = sectionsOf(page.text, section)
  const create = (form: Readonly<Record<string, string>>) =>
    ask(section, { cookie: user.cookie, form: { ...hidden, ...form } })
  return { ...user, hidden, create }
})

const aProduct = (accountId: AccountId) =>
  Effect.gen(function* () {
    const id = yield* mintId(EntityId)
    yield* (yield* CatalogChanges).apply([
      CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: {} })
    ])
  }).pipe(actingAs({ _tag: "Cli", accountId }))

layer(pagesServer().pipe(Layer.provideMerge(layerReceiver)), { excludeTestServices: true })(
  "webhooks in the settings",
  (it) => {
    it.effect(
      "are created with their secret shown once, and each has a page with its state and its waiting and parked changes",
      () =>
        Effect.gen(function* () {
          const receiver = yield* Receiver
          const { accountId, cookie, create } = yield* opened
          const answer = yield* create({ url: receiver.url("/page"), "topic:entity.created": "on" })
          assert.strictEqual(answer.status, 200, answer.text)
          const secret = secretIn(answer.text)
          assert.isDefined(secret)
          const again = yield* create({ url: receiver.url("/page") })
          assert.strictEqual(again.status, 409)
          assert.include(again.text, "This form has created its webhook already")
          assert.isUndefined(secretIn(again.text))
          const [webhook = assert.fail("no webhook"), ...others] = yield* listOf(accountId)
          assert.deepStrictEqual([others, webhook.topics], [[], ["entity.created"]])

          receiver.behaviour.answer = () => 500
          yield* aProduct(accountId)
          yield* (yield* WebhookWorker).runDue
          const own = `${section}/${webhook.id}`
          const page = yield* ask(own, { cookie })
          assert.strictEqual(page.status, 200, page.text)
          assert.notInclude(page.text, "whsec_")
          // One failure does not throttle it.
          assert.include(page.text, "Active")
          assert.notInclude(page.text, "Failing")
          assert.match(page.text, /<dt>Next attempt<\/dt><dd><time /)
          assert.include(page.text, "It answered 500.")
          assert.include(page.text, "entity.created of product")

          const test = sectionsOf(page.text, `${section}/test`).hidden
          const refused = yield* ask(`${section}/test`, { cookie, form: test })
          assert.include(refused.text, "The receiver did not accept the test message. It answered 500.")
          receiver.behaviour.answer = () => 204
          const accepted = yield* ask(`${section}/test`, { cookie, form: test })
          assert.deepStrictEqual([accepted.status, accepted.headers.get("location")], [303, `${own}?note=accepted`])
          const noted = `${own}?note=accepted`
          assert.include(
            (yield* ask(noted, { cookie: withNote(cookie, noted) })).text,
            "The receiver accepted the test message."
          )

          const rotate = sectionsOf(page.text, `${section}/rotate`).hidden
          const rotated = yield* ask(`${section}/rotate`, { cookie, form: rotate })
          assert.isDefined(secretIn(rotated.text))
          assert.notStrictEqual(secretIn(rotated.text), secret)
          assert.include(rotated.text, "signs too until")
          // Reloading the page with the secret sends its form again. A form of an older version has no digest.
          const until = (yield* listOf(accountId))[0]?.previous_secret_until
          for (const form of [rotate, test]) {
            const repeated = yield* ask(`${section}/rotate`, { cookie, form })
            assert.strictEqual(repeated.status, 409)
            assert.include(
              repeated.text,
              "The secret was rotated after this page was opened, and the new secret was shown only once. If you do not have it, rotate the secret again."
            )
            assert.isUndefined(secretIn(repeated.text))
          }
          assert.strictEqual((yield* listOf(accountId))[0]?.previous_secret_until, until)
          const next = sectionsOf(rotated.text, `${section}/rotate`).hidden
          const second = yield* ask(`${section}/rotate`, { cookie, form: next })
          assert.strictEqual(second.status, 200)
          assert.notStrictEqual(secretIn(second.text), secretIn(rotated.text))

          const replay = (from: string) => ask(`${section}/replay`, { cookie, form: { ...test, from } })
          const wrong = yield* replay("9")
          assert.strictEqual(wrong.status, 400)
          assert.include(
            wrong.text,
            `<p class="wrong" id="from-misfit" role="alert">From: must be 1 to 2, the changes that the feed has.`
          )
          assert.match(wrong.text, /name="from" value="9"[^>]*aria-invalid="true" autofocus/)
          assert.strictEqual((yield* replay("")).headers.get("location"), `${own}?note=replayed`)
          yield* (yield* WebhookWorker).runDue
          assert.deepInclude((yield* listOf(accountId))[0], { state: "active", waiting: 0, position: 1 })
        })
    )

    it.effect("addresses that cannot be used are refused, and the input is kept", () =>
      Effect.gen(function* () {
        const { accountId, create } = yield* opened
        for (const [url, message] of [
          ["https://10.0.0.1/x", "Address: cannot receive webhooks. Its host has an address that is not public."],
          ["http://hooks.example.com/", "Address: must begin with https://"]
        ] as const) {
          const answer = yield* create({ url, "topic:store.linked": "on" })
          assert.strictEqual(answer.status, 400)
          assert.include(answer.text, `<p class="wrong" id="url-misfit" role="alert">${message}`)
          assert.match(answer.text, /name="url"[^>]*aria-invalid="true" autofocus[^>]*aria-describedby="url-misfit[" ]/)
          assert.notInclude(answer.text, "..")
          assert.include(answer.text, `value="${url}"`)
          assert.match(answer.text, /name="topic:store\.linked"[^>]* checked/)
        }
        const unknown = yield* create({ url: (yield* Receiver).url("/x"), "topic:sold": "on" })
        assert.include(unknown.text, "Changes: sold: choose from entity.created")
        assert.deepStrictEqual(yield* listOf(accountId), [])
      })
    )

    it.effect("are deleted after a confirmation; those of another account are treated as unknown", () =>
      Effect.gen(function* () {
        const receiver = yield* Receiver
        const { accountId, cookie, create } = yield* opened
        const stranger = yield* opened
        yield* create({ url: receiver.url("/mine") })
        yield* stranger.create({ url: receiver.url("/theirs") })
        const [mine] = yield* listOf(accountId)
        const [theirs] = yield* listOf(stranger.accountId)
        const question = yield* ask(`${section}/delete?id=${mine?.id}`, { cookie })
        assert.include(question.text, "Delete the webhook?")
        const { hidden } = sectionsOf(question.text, `${section}/delete`)
        for (const id of [String(theirs?.id), "x"]) {
          for (const action of ["delete", "test", "replay", "rotate"])
            assertErrorPage(
              yield* ask(`${section}/${action}`, { cookie, form: { ...hidden, id } }),
              404,
              /There is no such record/
            )
          assertErrorPage(yield* ask(`${section}/${id}`, { cookie }), 404, /There is no such record/)
        }
        const { csrf: _, ...forged } = hidden
        assertErrorPage(yield* ask(`${section}/delete`, { cookie, form: forged }), 403, /did not come from/)
        assert.lengthOf(yield* listOf(accountId), 1)
        const deleted = yield* ask(`${section}/delete`, { cookie, form: hidden })
        assert.strictEqual(deleted.headers.get("location"), `${section}?note=deleted`)
        assert.deepStrictEqual(yield* listOf(accountId), [])
        assert.lengthOf(yield* listOf(stranger.accountId), 1)
      })
    )
  }
)
