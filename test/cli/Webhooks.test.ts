import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { commandsWith } from "../support/Commands.ts"
import { isVerified, makeReceiver } from "../support/Receiver.ts"
import { layerServerUrlEmpty, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

describe.skipIf(!serverAnswers)("webhooks on the command line", () => {
  layer(layerServerUrlEmpty, { excludeTestServices: true })((it) => {
    it.scoped("are created, tested, rotated, replayed and deleted", () =>
      Effect.gen(function* () {
        const receiver = yield* makeReceiver
        const env = {
          DATABASE_URL: Redacted.value(yield* TestDatabaseUrl),
          SECRET_KEY: "ab".repeat(32),
          WEBHOOK_PRIVATE_HOSTS: receiver.host
        }
        const { json, refusal, said } = commandsWith(env)
        yield* json("account", "create", "--name", "Mine")
        assert.strictEqual(
          yield* said("webhook", "list"),
          "There are no webhooks: create one with `catalog webhook create --url URL`."
        )
        const url = receiver.url("/hook")
        const created = yield* json("webhook", "create", "--url", url, "--topics", "entity.created, entity.updated")
        assert.deepInclude(created, { url, state: "active", topics: ["entity.created", "entity.updated"] })
        assert.match(created.secret, /^whsec_/)
        const about = yield* said("webhook", "create", "--url", receiver.url("/second"))
        assert.match(about, /Its secret is shown only once:\nwhsec_[A-Za-z0-9+/]{43}=\nNext: catalog webhook test /)
        assert.notInclude(yield* said("webhook", "list"), "whsec_")

        assert.strictEqual(
          yield* refusal("webhook", "create", "--url", "https://192.168.0.1/"),
          "--url: cannot receive webhooks. Its host has an address that is not public."
        )
        assert.match(
          yield* refusal("webhook", "create", "--url", url, "--topics", "sold"),
          /^--topics: sold: choose from entity\.created, /
        )
        assert.match(
          yield* commandsWith({ ...env, SECRET_KEY: "" }).refusal("webhook", "create", "--url", url),
          /^(?:--)?SECRET_KEY: /
        )

        assert.match(yield* said("webhook", "test", created.id), /accepted the test message after \d+ ms\.$/)
        const [arrival = assert.fail("nothing arrived")] = receiver.arrivals
        assert.strictEqual(arrival.message.type, "webhook.test")
        assert.isTrue(isVerified(Redacted.make(created.secret), arrival))
        receiver.behaviour.answer = () => 404
        assert.strictEqual(
          yield* refusal("webhook", "test", created.id),
          `${url} did not accept the test message. It answered 404.`
        )

        const rotated = yield* json("webhook", "rotate", created.id)
        assert.notStrictEqual(rotated.secret, created.secret)
        assert.match(yield* said("webhook", "show", created.id), /is signed with the previous secret too until /)
        const other = commandsWith({ ...env, SECRET_KEY: "cd".repeat(32), SECRET_KEY_PREVIOUS: env.SECRET_KEY })
        assert.deepStrictEqual(yield* other.json("secret", "rotate"), { rotated: 3, current: 0, unreadable: [] })
        assert.match(
          yield* refusal("webhook", "test", created.id),
          /The webhook's secret cannot be decrypted: SECRET_KEY is not the key that it was encrypted with\./
        )
        const lost = yield* commandsWith({ ...env, SECRET_KEY: "ef".repeat(32) }).run("secret", "rotate", "--json")
        assert.strictEqual(lost.code, 1)
        assert.deepInclude(JSON.parse(lost.stdout).error.unreadable[0], { webhook_id: created.id })

        const { webhooks: all } = yield* json("webhook", "list")
        const helpless = commandsWith({ ...env, SECRET_KEY: "ef".repeat(32) })
        for (const { id } of all)
          assert.include(
            yield* helpless.said("webhook", "rotate", id),
            "SECRET_KEY does not decrypt the previous one, so messages are signed with the new one only."
          )
        assert.notInclude(yield* helpless.said("webhook", "show", created.id), "is signed with the previous secret too")
        assert.deepStrictEqual(yield* helpless.json("secret", "rotate"), { rotated: 0, current: 2, unreadable: [] })

        assert.deepInclude(yield* json("webhook", "replay", created.id, "--from", "latest"), { position: 0 })
        assert.strictEqual(
          yield* refusal("webhook", "replay", created.id, "--from", "5"),
          "--from: must be 1 to 1, the changes that the feed has"
        )
        assert.deepStrictEqual(yield* json("webhook", "delete", created.id), { id: created.id, deleted: true })
        for (const command of ["show", "test", "replay", "rotate", "delete"])
          assert.strictEqual(
            yield* refusal("webhook", command, created.id),
            `The account has no webhook ${created.id}: see \`catalog webhook list\`.`
          )
        const { webhooks } = yield* json("webhook", "list")
        assert.lengthOf(webhooks, 1)
      })
    )
  })
})
