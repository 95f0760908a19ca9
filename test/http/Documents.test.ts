import { HttpServerResponse } from "@effect/platform"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "../../src/http/Documents.ts"

it.effect("a document is made again after a failure, and only once after a success", () =>
  Effect.gen(function* () {
    let made = 0
    const document = yield* once(
      Effect.suspend(() => {
        made++
        return made === 1 ? Effect.die("EMFILE") : Effect.succeed(HttpServerResponse.text(`attempt ${made}`))
      })
    )
    assert.strictEqual(yield* Effect.catchAllDefect(document, Effect.succeed), "EMFILE")
    const answered = yield* Effect.all([document, document, document], { concurrency: "unbounded" })
    assert.strictEqual(made, 2)
    assert.isTrue(answered.every((each) => each === answered[0]))
  })
)
