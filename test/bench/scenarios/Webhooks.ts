import { Agent, request } from "node:http"
import { Effect, Layer, Logger, Redacted, Runtime } from "effect"
import * as Database from "../../../src/database/Database.ts"
import { ChangeFeed } from "../../../src/feed/ChangeFeed.ts"
import { EntityId, WebhookId } from "../../../src/model/Ids.ts"
import { mintId } from "../../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { SecretKeySource } from "../../../src/stores/SecretBox.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges } from "../../../src/testing/index.ts"
import { maxConnections, PrivateReceivers } from "../../../src/webhooks/Addresses.ts"
import { messageOfChange } from "../../../src/webhooks/Delivery.ts"
import { Webhooks } from "../../../src/webhooks/Webhooks.ts"
import { WebhookWorker } from "../../../src/webhooks/WebhookWorker.ts"
import { catalog, postgresVersionOf, recreate, urlOf } from "../harness/Catalog.ts"
import { cpuMillisOf, ServerProcess, script } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

const database = "catalog_bench_webhooks"
const changes = 20_000
const manyWebhooks = 10
const target = 1_000

/** A minimal sender: the same bodies over the same number of connections, without signatures and a database. */
const sendBarely = async (url: string, bodies: ReadonlyArray<string>) => {
  const agent = new Agent({ keepAlive: true, maxSockets: maxConnections })
  let next = 0
  const post = (body: string) =>
    new Promise<void>((resolve, reject) => {
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
      const sent = request(url, { agent, method: "POST", headers }, (response) => response.resume().on("end", resolve))
      sent.on("error", reject).end(body)
    })
  await Promise.all(
    Array.from({ length: maxConnections }, async () => {
      for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) await post(body)
    })
  )
  agent.destroy()
}

/** Deliveries per second, and processor time per delivery of this process, which delivers, and of the receiver. */
const measure = async (receiver: ServerProcess, deliveries: number, work: () => Promise<unknown>) => {
  const [own, its] = [process.cpuUsage(), cpuMillisOf(receiver.pid)]
  const begun = performance.now()
  await work()
  const seconds = (performance.now() - begun) / 1_000
  const { system, user } = process.cpuUsage(own)
  return {
    rate: deliveries / seconds,
    sender: (user + system) / 1_000 / deliveries,
    receiver: (cpuMillisOf(receiver.pid) - its) / deliveries
  }
}

type Measured = Awaited<ReturnType<typeof measure>>

/** Measures how many changes per second one process delivers to a receiver on this machine. */
export const webhooks: Scenario = {
  name: "webhooks",
  title: "Deliveries of webhooks",
  run: async ({ rounds }) => {
    await recreate(database)
    const url = urlOf(database)
    await catalog(url, "migrate")
    const receiver = await ServerProcess.start(script("harness/receiverProcess.ts"), {})
    const measured = Effect.gen(function* () {
      const { accountId, actor } = yield* anAccount()
      return yield* Effect.gen(function* () {
        const { create, replay } = yield* Webhooks
        const { runDue } = yield* WebhookWorker
        const ids: Array<WebhookId> = []
        for (let index = 0; index < manyWebhooks; index++) {
          const id = yield* mintId(WebhookId)
          yield* create(id, { url: `${receiver.url}/${index}`, topics: [] })
          ids.push(id)
        }
        for (let created = 0; created < changes; created += 250) {
          const some = yield* Effect.replicateEffect(mintId(EntityId), 250)
          yield* (yield* CatalogChanges).apply(
            some.map((id) => CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: {} }))
          )
        }
        for (const id of ids) yield* replay(id, "latest")
        const feed = yield* (yield* ChangeFeed).read(accountId, 0, changes)
        const bodies = feed.changes.map((change) => messageOfChange(accountId, change).body)
        const figures: Record<"one" | "many" | "bare", Array<Measured>> = { one: [], many: [], bare: [] }
        const runtime = yield* Effect.runtime<never>()
        const deliver = () => Runtime.runPromise(runtime)(runDue)
        for (let round = 0; round <= rounds; round++) {
          const replayed = (some: ReadonlyArray<WebhookId>, from: number) =>
            Effect.forEach(some, (id) => replay(id, String(from)), { discard: true })
          yield* replayed(ids.slice(0, 1), 1)
          const one = yield* Effect.promise(() => measure(receiver, changes, deliver))
          yield* replayed(ids, changes - changes / manyWebhooks + 1)
          const many = yield* Effect.promise(() => measure(receiver, changes, deliver))
          const bare = yield* Effect.promise(() => measure(receiver, changes, () => sendBarely(receiver.url, bodies)))
          progress(
            `round ${round}: one ${whole(one.rate)}/s, ${manyWebhooks} ${whole(many.rate)}/s, bare ${whole(bare.rate)}/s`
          )
          // The first round warms up.
          if (round === 0) continue
          figures.one.push(one)
          figures.many.push(many)
          figures.bare.push(bare)
        }
        return figures
      }).pipe(actingAs(actor))
    }).pipe(
      Effect.provide(
        Services.pipe(
          Layer.provideMerge(RepositoriesOnDatabase),
          Layer.provide(Database.layerServer({ url: Redacted.make(url), maxConnections: 4 })),
          Layer.provide(Layer.succeed(PrivateReceivers, [new URL(receiver.url).host])),
          Layer.provide(Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) })),
          Layer.provide(Logger.remove(Logger.defaultLogger))
        )
      )
    )
    const figures = await Effect.runPromise(Effect.orDie(measured)).finally(() => receiver.stop())
    const rowOf = (title: string, all: ReadonlyArray<Measured>) => {
      const { max, median: middle, min } = spreadOf(all.map(({ rate }) => rate))
      const cpu = (of: "sender" | "receiver") => median(all.map((each) => each[of])).toFixed(3)
      return [title, whole(middle), whole(min), whole(max), cpu("sender"), cpu("receiver")]
    }
    const middle = median(figures.one.map(({ rate }) => rate))
    const ofBare = median(figures.one.map(({ rate }, index) => rate / (figures.bare[index]?.rate ?? Number.NaN)))
    return {
      report: [
        `${whole(changes)} changes of as many products a round, delivered by one process to a receiver in another process on this machine, over http; ${rounds} rounds. "bare" sends the same bodies without signatures and a database.`,
        table(
          ["", "deliveries/s", "min", "max", "sender, CPU ms each", "receiver, CPU ms each"],
          [
            rowOf("one webhook", figures.one),
            rowOf(`${manyWebhooks} webhooks`, figures.many),
            rowOf("bare", figures.bare)
          ]
        ),
        `Target of one webhook: ≥ ${whole(target)}/s: ${middle >= target ? "met" : "not met"}. One webhook / bare: ${ratio(ofBare)}.`
      ].join("\n\n"),
      postgresVersion: await postgresVersionOf(url)
    }
  }
}
