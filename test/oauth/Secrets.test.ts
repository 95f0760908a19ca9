import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, LogLevel, Option, Redacted } from "effect"
import { Users } from "../../src/access/Users.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { sectionsOf } from "./Html.ts"
import {
  aClient,
  addressOf,
  ask,
  aUser,
  consentForm,
  decide,
  newVerifier,
  nodeOf,
  redeem,
  refresh,
  sentBack,
  tokensOf
} from "./PagesServer.ts"

const logged: Array<string> = []

/** Every line that would be logged, with causes and annotations. */
const Recording = Logger.replace(
  Logger.defaultLogger,
  Logger.map(Logger.logfmtLogger, (line) => void logged.push(line))
)

const Server = addressOf().pipe(
  Layer.provideMerge(nodeOf()),
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(anyDatabase),
  Layer.provideMerge(Layer.merge(Recording, Logger.minimumLogLevel(LogLevel.All))),
  Layer.orDie
)

/** Every row of every table, as text. */
const everything = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql`SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`
  const rows = yield* Effect.forEach(
    tables,
    ({ tablename }) => sql`SELECT t::text AS row FROM ${sql(String(tablename))} t`
  )
  return {
    tables: tables.length,
    text: rows
      .flat()
      .map(({ row }) => String(row))
      .join("\n")
  }
})

layer(Server, { excludeTestServices: true })("secrets", (it) => {
  it.effect("no token, code, key, cookie, link or password is in a log or in the database as plain text", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, apiKey, cookie, email } = yield* aUser()
      const link = Redacted.value((yield* Effect.orDie((yield* Users).invite(accountId, email))).token)
      const password = "nine lives of a correct horse"
      const set = yield* ask("/set-password", { form: { token: link, password } })
      const signedIn = yield* ask("/sign-in", { form: { email, password } })
      yield* ask("/sign-in", { form: { email, password: `${password}?` } })
      const cookies = [set, signedIn].map(({ headers }) => /=([^;]+)/.exec(headers.get("set-cookie") ?? "")?.[1])
      const second = `catalog_session=${cookies[1]}`
      const clientId = yield* aClient()
      const verifier = newVerifier()
      const { hidden } = yield* consentForm(second, { clientId, verifier })
      const { parameters } = sentBack(yield* decide(second, { ...hidden, tier: "pim:write", decision: "allow" }))
      const code = String(parameters.code)
      const tokens = tokensOf(yield* redeem({ clientId, verifier }, code))
      const next = tokensOf(yield* refresh(clientId, tokens.refresh))
      const pageKeys = yield* ask("/settings/keys", { cookie: second })
      const form: Readonly<Record<string, string>> = {
        ...sectionsOf(pageKeys.text, "/settings/keys").hidden,
        name: "Of a page",
        access: "read"
      }
      const created = yield* ask("/settings/keys", { cookie: second, form })
      const key = /pk_live_[A-Za-z0-9]+/.exec(created.text)?.[0]
      const { authenticate } = yield* Connections
      assert.isTrue(Option.isSome(yield* authenticate(next.access, `${yield* BaseUrl}/mcp`)))
      // Failures are logged with their causes.
      yield* sql.unsafe(
        "ALTER TABLE oauth_token RENAME TO oauth_token_away; ALTER TABLE session RENAME TO session_away"
      )
      assert.strictEqual((yield* refresh(clientId, next.refresh)).status, 500)
      assert.strictEqual((yield* ask("/settings/keys", { cookie: second })).status, 500)
      yield* sql.unsafe(
        "ALTER TABLE oauth_token_away RENAME TO oauth_token; ALTER TABLE session_away RENAME TO session"
      )
      yield* ask("/oauth/token", { form: { grant_type: "x", code, refresh_token: next.refresh, client_id: apiKey } })

      const secrets = {
        apiKey,
        key,
        link,
        password,
        verifier,
        code,
        first: tokens.access,
        firstRefresh: tokens.refresh,
        access: next.access,
        refresh: next.refresh,
        form: hidden.form_token,
        csrf: form.csrf,
        browser: cookie.split("=")[1],
        ...Object.fromEntries(cookies.map((value, index) => [`cookie ${index}`, value]))
      }
      const { tables, text } = yield* everything
      assert.isAtLeast(tables, 20)
      assert.isAtLeast(text.length, 2_000)
      assert.isAtLeast(logged.filter((line) => line.includes("A request ended in a defect")).length, 2)
      const found = Object.entries(secrets).flatMap(([name, secret]) => {
        assert.isAtLeast(String(secret).length, 20, name)
        // Half of a secret would be enough to find the rest by trial.
        const bare = String(secret).slice(8, 24)
        return [
          ...(text.includes(bare) ? [`${name} in the database`] : []),
          ...(logged.some((line) => line.includes(bare)) ? [`${name} in the log`] : [])
        ]
      })
      assert.deepStrictEqual(found, [])
      // The search works: it finds text that is there.
      assert.include(text, email)
      assert.isTrue(logged.some((line) => line.includes("oauth_token")))
    })
  )
})
