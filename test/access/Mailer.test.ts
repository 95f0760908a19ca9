import { assert, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Layer, Option, Redacted } from "effect"
import { Mailer } from "../../src/access/Mailer.ts"
import { mailServer } from "../support/MailServer.ts"

const mail = { to: "ada@example.com", subject: "Invitation", text: "A link.", language: "en" }

it.scopedLive("a mail that is not wanted any more after a pause is not sent again", () =>
  Effect.gen(function* () {
    const server = yield* mailServer
    server.refusal = "450 4.7.1 try again later"
    const asked = yield* Deferred.make<void>()
    let calls = 0
    const keep = () =>
      Effect.gen(function* () {
        server.refusal = undefined
        calls++
        if (calls > 1) yield* Deferred.succeed(asked, undefined)
        return calls === 1
      })
    const settings = {
      url: Redacted.make(`smtp://127.0.0.1:${server.port}`),
      from: "catalog@example.com",
      pauses: [Duration.millis(1)]
    }
    const { send } = yield* Effect.map(Layer.build(Mailer.layer(Option.some(settings))), Context.get(Mailer))
    assert.strictEqual((yield* send(mail, keep)).state, "waiting")
    yield* Deferred.await(asked)
    assert.lengthOf(server.mails, 0)
  })
)
