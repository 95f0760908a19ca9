import Fastify from "fastify"
import { openPool } from "./pool.ts"
import { type Query, readPage, schema } from "./products.ts"

/** The least there is to do: no credentials, no tag; the account is a setting. */
const pool = openPool("bare")
const accountId = process.env.ACCOUNT_ID ?? ""
const app = Fastify({ logger: false })

app.get<{ Querystring: Query }>("/api/v1/products", { schema }, (request) => readPage(pool, accountId, request.query))

process.once("SIGTERM", () => process.exit())
process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: 0 })}\n`)
