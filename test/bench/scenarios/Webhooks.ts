import * as http from "node:http"
import * as https from "node:https"
import { Effect, Layer, Logger, Redacted, Runtime } from "effect"
import { OutsideNetwork } from "../../../src/connections/OutsideRequest.ts"
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
import { certificate } from "../../support/Certificate.ts"
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
  const { Agent, request } = url.startsWith("https:") ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: maxConnections, ca: certificate })
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

type Contender = "one" | "many" | "bare" | "secure" | "bareSecure"

/** Both receivers are on this machine. The one over https has a certificate that is its own authority. */
const network = {
  resolve: async () => ["127.0.0.1"],
  dial: (address: string) => ({ address, ca: certificate })
}

/** Measures how many changes per second one process delivers to a receiver on this machine. */
export const webhooks: Scenario = {
  name: "webhooks",
  title: "Deliveries of webhooks",
  run: async ({ rounds }) => {
    await recreate(database)
    const url = urlOf(database)
    await catalog(url, "migrate")
    const receive = (protocol: string) =>
      ServerProcess.start(script("harness/receiverProcess.ts"), { RECEIVER_PROTOCOL: protocol })
    const [receiver, secure] = [await receive("http"), await receive("https")]
    const measured = Effect.gen(function* () {
      const { accountId, actor } = yield* anAccount()
      return yield* Effect.gen(function* () {
        const { create, get, replay } = yield* Webhooks
        const { runDue } = yield* WebhookWorker
        const ids: Array<WebhookId> = []
        const add = (address: string) =>
          Effect.map(
            Effect.flatMap(mintId(WebhookId), (id) => create(id, { url: address, topics: [] })),
            ({ webhook }) => webhook.id
          )
        for (let index = 0; index < manyWebhooks; index++) ids.push(yield* add(`${receiver.url}/${index}`))
        const secureId = yield* add(`${secure.url}/`)
        for (let created = 0; created < changes; created += 250) {
          const some = yield* Effect.replicateEffect(mintId(EntityId), 250)
          yield* (yield* CatalogChanges).apply(
            some.map((id) => CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: {} }))
          )
        }
        for (const id of [...ids, secureId]) yield* replay(id, "latest")
        const feed = yield* (yield* ChangeFeed).read(accountId, 0, changes)
        const bodies = feed.changes.map((change) => messageOfChange(accountId, change).body)
        const figures: Record<Contender, Array<Measured>> = { one: [], many: [], bare: [], secure: [], bareSecure: [] }
        const runtime = yield* Effect.runtime<never>()
        const deliver = () => Runtime.runPromise(runtime)(runDue)
        const delivered = (to: ServerProcess, some: ReadonlyArray<WebhookId>) =>
          Effect.gen(function* () {
            for (const id of some) yield* replay(id, String(changes - changes / some.length + 1))
            const figures = yield* Effect.promise(() => measure(to, changes, deliver))
            for (const { last_seq, position, problem, waiting } of yield* Effect.forEach(some, get))
              if (position !== last_seq || waiting > 0)
                throw new Error(`A webhook is at ${position} of ${last_seq}, and ${waiting} changes wait: ${problem}`)
            return figures
          })
        const sent = (to: ServerProcess) => Effect.promise(() => measure(to, changes, () => sendBarely(to.url, bodies)))
        for (let round = 0; round <= rounds; round++) {
          const measuredOf: Record<Contender, Measured> = {
            one: yield* delivered(receiver, ids.slice(0, 1)),
            many: yield* delivered(receiver, ids),
            bare: yield* sent(receiver),
            secure: yield* delivered(secure, [secureId]),
            bareSecure: yield* sent(secure)
          }
          const each = Object.entries(measuredOf) as ReadonlyArray<[Contender, Measured]>
          progress(`round ${round}: ${each.map(([name, { rate }]) => `${name} ${whole(rate)}/s`).join(", ")}`)
          // The first round warms up.
          if (round > 0) for (const [name, found] of each) figures[name].push(found)
        }
        return figures
      }).pipe(actingAs(actor))
    }).pipe(
      Effect.provideService(OutsideNetwork, network),
      Effect.provide(
        Services.pipe(
          Layer.provideMerge(RepositoriesOnDatabase),
          Layer.provide(Database.layerServer({ url: Redacted.make(url), maxConnections: 4 })),
          Layer.provide(Layer.succeed(PrivateReceivers, [new URL(receiver.url).host, new URL(secure.url).host])),
          Layer.provide(Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) })),
          Layer.provide(Logger.remove(Logger.defaultLogger))
        )
      )
    )
    const figures = await Effect.runPromise(Effect.orDie(measured)).finally(async () => {
      await receiver.stop()
      await secure.stop()
    })
    const rowOf = (title: string, all: ReadonlyArray<Measured>) => {
      const { max, median: middle, min } = spreadOf(all.map(({ rate }) => rate))
      const cpu = (of: "sender" | "receiver") => median(all.map((each) => each[of])).toFixed(3)
      return [title, whole(middle), whole(min), whole(max), cpu("sender"), cpu("receiver")]
    }
    const middle = median(figures.one.map(({ rate }) => rate))
    const ofOther = (name: Contender, other: Contender) =>
      ratio(median(figures[name].map(({ rate }, index) => rate / (figures[other][index]?.rate ?? Number.NaN))))
    return {
      report: [
        `${whole(changes)} changes of as many products a round, delivered by one process to a receiver in another process on this machine; ${rounds} rounds. "bare" sends the same bodies without signatures and a database.`,
        table(
          ["", "deliveries/s", "min", "max", "sender, CPU ms each", "receiver, CPU ms each"],
          [
            rowOf("one webhook", figures.one),
            rowOf(`${manyWebhooks} webhooks`, figures.many),
            rowOf("bare", figures.bare),
            rowOf("one webhook, https", figures.secure),
            rowOf("bare, https", figures.bareSecure)
          ]
        ),
        `Target of one webhook: ≥ ${whole(target)}/s: ${middle >= target ? "met" : "not met"}. One webhook / bare: ${ofOther("one", "bare")}, over https ${ofOther("secure", "bareSecure")}. Over https / over http: ${ofOther("secure", "one")}.`
      ].join("\n\n"),
      postgresVersion: await postgresVersionOf(url)
    }
  }
}
