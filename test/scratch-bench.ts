import { Effect, Layer, Logger, ManagedRuntime, Redacted } from "effect"
import * as Database from "../src/database/Database.ts"
import { RepositoriesOnDatabase, Services } from "../src/Services.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../src/testing/index.ts"
import pg from "pg"
import { readFileSync, readdirSync } from "node:fs"
const on = (url: string) => ManagedRuntime.make(Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provideMerge(Database.layerServer({ url: Redacted.make(url), maxConnections: 8 })), Layer.provide(Logger.remove(Logger.defaultLogger)), Layer.orDie))
const coordinator = on("postgres://postgres@127.0.0.1:5700/catalog")
const plain = on("postgres://postgres@127.0.0.1:5432/scratch_w")
const make = Effect.gen(function*(){
  const { actor, stores } = yield* anAccount({ domains: ["a.example","b.example","c.example"] })
  const ids = yield* Effect.forEach(Array.from({length: 50}, (_, n) => n), (n) => anEntity("product", { title: "Tent " + n }, { on: stores }).pipe(actingAs(actor)))
  return { actor, ids }
})
const onC = await coordinator.runPromise(make), onP = await plain.runPromise(make)
const client = new pg.Client("postgres://postgres@127.0.0.1:5700/catalog"); await client.connect()
const { rows: [place] } = await client.query("SELECT p.nodeport AS port FROM pg_dist_shard_placement p WHERE p.shardid = get_shard_id_for_distribution_column('account_state', $1::uuid)", [onC.actor.accountId])
await client.end()
const worker = on(`postgres://postgres@127.0.0.1:${place.port}/catalog`)
let n = 0
const cpu = () => { let sum = 0; for (const pid of readdirSync("/proc")) { if (!/^\d+$/.test(pid)) continue; try { if (!readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("postgres")) continue; sum += Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) } catch {} } return sum / 1e3 }
const run = async (name: string, runtime: typeof plain, { actor, ids }: typeof onC) => {
  const before = cpu(), own = process.cpuUsage(), t = performance.now()
  const todo = Array.from({ length: 8 }, () => ids).flat()
  await runtime.runPromise(Effect.forEach(todo, (entityId) => Effect.flatMap(CatalogChanges, ({ apply }) => apply([CatalogChange.SetAttributes({ entityId, values: { title: `Tent ${++n}` } })])).pipe(actingAs(actor)), { concurrency: Number(process.env.C ?? 8), discard: true }))
  const ms = performance.now() - t, used = process.cpuUsage(own)
  console.log(name.padEnd(12), (todo.length / ms * 1000).toFixed(0).padStart(5), "/s  pg", ((cpu() - before) / todo.length).toFixed(0), "µs  own", ((used.user + used.system) / todo.length).toFixed(0), "µs")
}
for (let round = 0; round < Number(process.env.ROUNDS ?? 4); round++) {
  if (!process.env.ONLY) await run("plain", plain, onP)
  if (!process.env.ONLY) await run("coordinator", coordinator, onC)
  await run("worker", worker as typeof plain, onC)
}
await Promise.all([coordinator.dispose(), plain.dispose(), worker.dispose()])
