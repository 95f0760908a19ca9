import { hash } from "node:crypto"
import Fastify, { type FastifyRequest } from "fastify"
import { openPool } from "./pool.ts"
import { type Query, readPage, schema } from "./products.ts"

declare module "fastify" {
  interface FastifyRequest {
    accountId: string
  }
}

/** The parts that the service cannot omit either: every request looks up its key, and every answer has an ETag. */
const pool = openPool("fair")
const app = Fastify({ logger: false })

const keyStatement = `
  SELECT account_id, scopes FROM api_key
  WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`

const accountOf = async ({ headers }: FastifyRequest): Promise<string | undefined> => {
  const [scheme, token] = headers.authorization?.split(" ") ?? []
  if (scheme !== "Bearer" || token === undefined) return undefined
  const { rows } = await pool.query<{ readonly account_id: string; readonly scopes: ReadonlyArray<string> }>({
    name: "key",
    text: keyStatement,
    values: [hash("sha256", token, "buffer")]
  })
  return rows[0]?.scopes.includes("pim:read") ? rows[0].account_id : undefined
}

app.decorateRequest("accountId", "")

app.addHook("onRequest", async (request, reply) => {
  const accountId = await accountOf(request)
  if (accountId === undefined) return reply.code(401).send({ error: "unauthorized" })
  request.accountId = accountId
})

app.addHook<string>("onSend", (request, reply, payload, done) => {
  if (reply.statusCode !== 200) {
    done(null, payload)
    return
  }
  const etag = `"${hash("sha1", payload, "base64url")}"`
  reply.header("etag", etag)
  if (request.headers["if-none-match"] === etag) {
    reply.code(304)
    done(null, "")
  } else done(null, payload)
})

app.get<{ Querystring: Query }>("/api/v1/products", { schema }, (request) =>
  readPage(pool, request.accountId, request.query)
)

process.once("SIGTERM", () => process.exit())
process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: 0 })}\n`)
