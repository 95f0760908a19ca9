import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { MerchantLists } from "../../src/catalog/MerchantLists.ts"
import { NotFound, Unavailable } from "../../src/model/Errors.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { Catalog } from "../../src/testing/index.ts"
import { addressOf, ask, assertErrorPage, aUser, nodeOf } from "../oauth/PagesServer.ts"
import { errorLog } from "../support/ErrorLog.ts"
import { anyDatabase } from "../support/TestDatabase.ts"

const log = errorLog()

const pages = addressOf().pipe(
  Layer.provideMerge(nodeOf()),
  Layer.provide(Layer.mock(Catalog, { kindOf: () => Effect.die(new NotFound()) })),
  Layer.provide(Layer.mock(MerchantLists, { page: () => Effect.die(new Unavailable()) })),
  Layer.provide(log.layer),
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(anyDatabase),
  Layer.orDie
)

layer(pages, { excludeTestServices: true })("a page that fails with a defect", (it) => {
  it.effect("is reported as an internal error and logged once, even with the tag of an API error", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const answer = yield* ask("/entity?id=00000000-0000-4000-8000-000000000001", { cookie })
      assertErrorPage(answer, 500, /Something went wrong on our side/)
      const requestId = answer.headers.get("x-request-id")
      assert.include(answer.text, `<code>${requestId}</code>`)
      const entries = log.of(requestId)
      assert.lengthOf(entries, 1)
      assert.include(entries[0], "NotFound")
    })
  )

  it.effect("is reported as unavailable, not as a defect, if the database cannot be reached", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const answer = yield* ask("/products", { cookie })
      assertErrorPage(answer, 503, /The service cannot answer at the moment/)
      assert.lengthOf(log.of(answer.headers.get("x-request-id")), 0)
    })
  )
})
