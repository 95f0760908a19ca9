import Fastify from "fastify"
import { readIncluded } from "./included.ts"
import { openPool } from "./pool.ts"
import { type Query, readPage, schema } from "./products.ts"

/** The smallest possible service: no credentials and no ETag; the account is a setting. */
const pool = openPool("bare")
const accountId = process.env.ACCOUNT_ID ?? ""
const app = Fastify({ logger: false })

app.get<{ Querystring: Query & { readonly include?: string } }>(
  "/api/v1/products",
  { schema },
  async ({ query }, reply) =>
    query.include === undefined
      ? readPage(pool, accountId, query)
      : reply.type("application/json").send(await readIncluded(pool, accountId, "product", query))
)

app.get<{ Querystring: Query }>(
  "/api/v1/variants",
  { schema: { querystring: schema.querystring } },
  async ({ query }, reply) => reply.type("application/json").send(await readIncluded(pool, accountId, "variant", query))
)

process.once("SIGTERM", () => process.exit())
process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: 0 })}\n`)
