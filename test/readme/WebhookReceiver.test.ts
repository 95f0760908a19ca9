import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { WebhookId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { SecretKeySource } from "../../src/stores/SecretBox.ts"
import { actingAs, anAccount, anEntity, TestServices } from "../../src/testing/index.ts"
import { PrivateReceivers } from "../../src/webhooks/Addresses.ts"
import { Webhooks } from "../../src/webhooks/Webhooks.ts"
import { WebhookWorker } from "../../src/webhooks/WebhookWorker.ts"
import { freePort } from "../support/FreePort.ts"

const page = readFileSync(new URL("../../docs/data-out.md", import.meta.url), "utf8")
const [, receiver = assert.fail("the page has no receiver")] = /\n```js\n([\s\S]*?)```/.exec(page) ?? []

/** The receiver of the page, as a process. `output`: its output so far. */
const started = (port: number, secret: string) =>
  Effect.gen(function* () {
    // In this folder it finds its package.
    const file = `node_modules/.cache/receiver.${process.pid}.mjs`
    writeFileSync(file, receiver)
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [file], {
          env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret },
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      (running) =>
        Effect.promise(async () => {
          const gone = once(running, "exit")
          running.kill("SIGKILL")
          await gone
          rmSync(file, { force: true })
        })
    )
    const output = { text: "" }
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output.text += text
    })
    yield* Effect.retry(
      Effect.tryPromise(async () => {
        const socket = connect(port, "127.0.0.1")
        await once(socket, "connect")
        socket.destroy()
      }),
      Schedule.spaced("50 millis")
    )
    return output
  })

it.live("the receiver of docs/data-out.md accepts messages signed with its secret, and refuses all others", () =>
  Effect.gen(function* () {
    assert.isBelow(receiver.trimEnd().split("\n").length, 20)
    const port = yield* Effect.promise(freePort)
    yield* Effect.gen(function* () {
      const { actor } = yield* anAccount()
      yield* Effect.gen(function* () {
        const webhooks = yield* Webhooks
        const { runDue } = yield* WebhookWorker
        const id = yield* mintId(WebhookId)
        const { secret } = yield* webhooks.create(id, { url: `http://127.0.0.1:${port}/`, topics: [] })
        const output = yield* started(port, Redacted.value(secret))
        assert.isNull((yield* webhooks.test(id)).problem)
        const product = yield* anEntity("product", { title: "Boots" })
        yield* runDue
        assert.deepInclude(yield* webhooks.get(id), { position: 1, waiting: 0, state: "active" })
        yield* Effect.sleep(20).pipe(Effect.repeat({ until: () => output.text.includes(product) }))
        assert.match(output.text, /^test_\w+ webhook\.test \{\}\nchg_\w+_1 entity\.created \{/)
        // After two rotations the receiver's secret is no longer used.
        yield* webhooks.rotate(id)
        yield* webhooks.rotate(id)
        assert.strictEqual((yield* webhooks.test(id)).problem, "It answered 400.")
      }).pipe(actingAs(actor))
    }).pipe(
      Effect.provide(
        TestServices.pipe(
          Layer.provide(Layer.succeed(PrivateReceivers, [`127.0.0.1:${port}`])),
          Layer.provide(Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) }))
        )
      )
    )
  }).pipe(Effect.scoped)
)
