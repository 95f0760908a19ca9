import { hash, randomBytes } from "node:crypto"
import { request as nodeRequest } from "node:http"
import { HttpServer } from "@effect/platform"
import { SqlClient } from "@effect/sql"
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Option, Redacted } from "effect"
import { surfaceOf } from "../../src/App.ts"
import type { MailSettings } from "../../src/access/Mailer.ts"
import { PasswordCost } from "../../src/access/Passwords.ts"
import { Sessions } from "../../src/access/Sessions.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import type { Tier } from "../../src/connections/Tier.ts"
import type * as Database from "../../src/database/Database.ts"
import type { EventTimes } from "../../src/events/AccountEvents.ts"
import { defaultEventBounds, type EventBounds } from "../../src/events/EventBounds.ts"
import { BaseUrl, listeningOn } from "../../src/http/BaseUrl.ts"
import { defaultBounds } from "../../src/http/Bounds.ts"
import { Readiness } from "../../src/http/Health.ts"
import * as Http from "../../src/http/Http.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { anAccount, Drafts } from "../../src/testing/index.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { sectionsOf } from "./Html.ts"

/** Settings of the service that a test can change. */
interface Settings {
  readonly registrationsPerHour?: number
  readonly clientMetadataHosts?: ReadonlyArray<string>
  readonly eventBounds?: EventBounds
  readonly eventTimes?: EventTimes
  readonly patience?: Http.Patience
  readonly signInFailuresPerAddress?: number
  readonly trustedProxies?: number
  readonly baseUrl?: string
  readonly bytesPerCredential?: number
  readonly mail?: MailSettings
}

/** A complete node of the service, on a free port; the test provides its database and services. */
export const nodeOf = ({
  baseUrl,
  bytesPerCredential = defaultBounds.bytesPerCredential,
  clientMetadataHosts = [],
  eventBounds = defaultEventBounds,
  eventTimes,
  patience,
  mail,
  registrationsPerHour = 100_000,
  signInFailuresPerAddress = 100_000,
  trustedProxies = 0
}: Settings = {}) =>
  Layer.unwrapEffect(
    Effect.map(
      surfaceOf({
        allowedOrigins: [],
        baseUrl: Option.fromNullable(baseUrl),
        clientMetadataHosts,
        eventBounds,
        ...(eventTimes && { eventTimes }),
        mail: Option.fromNullable(mail),
        registrationsPerHour,
        signInFailuresPerAddress,
        trustedProxies
      }),
      (surface) =>
        Http.layer({
          host: "127.0.0.1",
          port: 0,
          bounds: { ...defaultBounds, bytesPerCredential },
          surface,
          trustedProxies,
          ...(patience && { patience })
        })
    )
  ).pipe(
    Layer.provide(Readiness.layer(Effect.void)),
    Layer.provide(RateBudget.layerProcess({ perKey: 100_000, perAccount: 100_000 }))
  )

/** The node's own base URL. */
export const addressOf = (settings: Settings = {}) => BaseUrl.layer(Option.fromNullable(settings.baseUrl))

/** A node with its services, on a database of its own. `drafts`: replaces the drafts of the node. */
export const pagesServer = (
  settings: Settings = {},
  database: Layer.Layer<Database.Database, unknown> = anyDatabase,
  drafts: Layer.Layer<Drafts, never, Drafts> = Layer.service(Drafts)
) =>
  addressOf(settings).pipe(
    Layer.provideMerge(nodeOf(settings)),
    Layer.provideMerge(drafts),
    Layer.provideMerge(ServicesOnDatabase),
    Layer.provideMerge(database),
    Layer.provideMerge(Logger.remove(Logger.defaultLogger)),
    Layer.provideMerge(Layer.succeed(PasswordCost, 2 ** 10)),
    Layer.orDie
  )

export const PagesServer = pagesServer()

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface Asked {
  readonly method?: string
  readonly form?: Readonly<Record<string, string>> | string | FormData
  readonly json?: unknown
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The cookie of the browser that sends the request. */
  readonly cookie?: string
}

/** The base URL of another node than the suite's own. */
export class Node extends Context.Reference<Node>()("test/Node", {
  defaultValue: (): string | undefined => undefined
}) {}

/** Begins a POST whose body never ends. `onEnd`: called when it is answered or cut off. */
export const anEndlessBody = (
  path: string,
  sent: {
    readonly headers: Readonly<Record<string, string>>
    /** The first bytes of the body. */
    readonly body: string
    readonly onEnd?: () => void
  }
) =>
  Effect.acquireRelease(
    Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
      Effect.async<ReturnType<typeof nodeRequest>>((resume) => {
        const { body, headers, onEnd = () => {} } = sent
        const request = nodeRequest(`${listeningOn(address)}${path}`, {
          method: "POST",
          agent: false,
          headers: { ...headers, "content-length": String(body.length + 1) }
        })
        request.once("response", onEnd)
        request.on("error", onEnd)
        request.write(body, () => resume(Effect.succeed(request)))
      })
    ),
    (request) => Effect.sync(() => request.destroy())
  )

/** Sends a request to the node and does not follow redirects. */
export const ask = (path: string, { body, cookie, form, headers = {}, json, method }: Asked = {}) =>
  Effect.gen(function* () {
    const base = (yield* Node) ?? listeningOn((yield* HttpServer.HttpServer).address)
    const content =
      form instanceof FormData
        ? { type: undefined, body: form }
        : form !== undefined
          ? {
              type: "application/x-www-form-urlencoded",
              body: typeof form === "string" ? form : `${new URLSearchParams(form)}`
            }
          : json !== undefined
            ? { type: "application/json", body: JSON.stringify(json) }
            : { type: undefined, body }
    return yield* Effect.promise(async (): Promise<Answer> => {
      const response = await fetch(new URL(path, base), {
        method: method ?? (content.body === undefined ? "GET" : "POST"),
        redirect: "manual",
        headers: {
          ...(content.type === undefined ? {} : { "content-type": content.type }),
          ...(cookie === undefined ? {} : { cookie }),
          ...headers
        },
        ...(content.body === undefined ? {} : { body: content.body })
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    })
  })

/** The browser's cookies after a form has redirected to this address, which shows its note once. */
export const withNote = (cookie: string, address: string) =>
  `${cookie}; catalog_note=${encodeURIComponent(address.split("#")[0] ?? "")}`

/** The JSON body of an answer. */
export const bodyOf = ({ text }: Answer) => JSON.parse(text) as Readonly<Record<string, unknown>>

let users = 0

/** A user of a new account, and a browser in which this user is signed in. */
export const aUser = (name = "Tarn & Tern") =>
  Effect.gen(function* () {
    const { accountId, token } = yield* anAccount({ name })
    const email = `user-${++users}@example.com`
    return { accountId, apiKey: token, email, ...(yield* aBrowser(accountId, email)) }
  })

/** A browser of a user of the account. The user is created if necessary. */
export const aBrowser = (
  accountId: Parameters<Users["Type"]["invite"]>[0],
  email: string,
  role: Parameters<Users["Type"]["inviteNew"]>[2] = "admin"
) =>
  Effect.gen(function* () {
    yield* Effect.orDie((yield* Users).invite(accountId, email, { role }))
    const user = yield* Effect.flatMap((yield* UsersRepo).findInAccount(accountId, email), Effect.orDie)
    const token = yield* Effect.orDie((yield* Sessions).start(user))
    return { userId: user.id, cookie: `catalog_session=${Redacted.value(token)}` }
  })

export const redirectUri = "https://agent.example/callback?from=catalog"

/** Registers a client. */
export const aClient = (
  metadata: Readonly<Record<string, unknown>> = { client_name: "Agent", redirect_uris: [redirectUri] }
) =>
  Effect.map(ask("/oauth/register", { json: metadata }), (answer) => {
    assert.strictEqual(answer.status, 201, answer.text)
    return String(bodyOf(answer).client_id)
  })

export const newVerifier = () => randomBytes(32).toString("base64url")
const challengeOf = (verifier: string) => hash("sha256", verifier, "base64url")

interface Request {
  readonly clientId: string
  readonly verifier: string
  /** Parameters that replace or complete the usual ones; undefined removes one. */
  readonly with?: Readonly<Record<string, string | undefined>>
}

/** The path of an authorization request. */
export const authorizePath = ({ clientId, verifier, with: others = {} }: Request) => {
  const usual = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state: "of the client's",
    code_challenge: challengeOf(verifier),
    code_challenge_method: "S256"
  }
  const given = Object.entries({ ...usual, ...others }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]]
  )
  return `/oauth/authorize?${new URLSearchParams(given)}`
}

/** The consent form for a browser: its hidden fields, and the tiers that it offers. */
export const consentForm = (cookie: string, request: Request) =>
  Effect.map(ask(authorizePath(request), { cookie }), (page) => {
    assert.strictEqual(page.status, 200, page.text)
    const { choices, hidden } = sectionsOf(page.text, "/oauth/authorize/decision")
    return { page, hidden, tiers: choices }
  })

/** Posts a decision. Returns the redirect. */
export const decide = (cookie: string, form: Readonly<Record<string, string>>) =>
  ask("/oauth/authorize/decision", { cookie, form })

/** The parameters that a redirect sends to the client. */
export const sentBack = (answer: Answer) => {
  const location = answer.headers.get("location") ?? assert.fail(`no redirect: ${answer.status} ${answer.text}`)
  assert.strictEqual(answer.status, 303)
  const { searchParams } = new URL(location)
  return { location, parameters: Object.fromEntries(searchParams) }
}

/** A code that the user consented to. */
export const aCode = (cookie: string, request: Request, tier: Tier = "pim:publish") =>
  Effect.gen(function* () {
    const { hidden } = yield* consentForm(cookie, request)
    const { parameters } = sentBack(yield* decide(cookie, { ...hidden, tier, decision: "allow" }))
    return parameters.code ?? assert.fail(JSON.stringify(parameters))
  })

/** Exchanges a code for tokens at the token endpoint. */
export const redeem = (
  { clientId, verifier }: Pick<Request, "clientId" | "verifier">,
  code: string,
  others: Readonly<Record<string, string>> = {}
) =>
  ask("/oauth/token", {
    form: {
      grant_type: "authorization_code",
      client_id: clientId,
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
      ...others
    }
  })

export const refresh = (clientId: string, token: string, others: Readonly<Record<string, string>> = {}) =>
  ask("/oauth/token", {
    form: { grant_type: "refresh_token", client_id: clientId, refresh_token: token, ...others }
  })

interface Tokens {
  readonly access: string
  readonly refresh: string
  readonly scope: string
}

/** The tokens in an answer; the answer must be a success. */
export const tokensOf = (answer: Answer): Tokens => {
  assert.strictEqual(answer.status, 200, answer.text)
  const { access_token, refresh_token, scope } = bodyOf(answer)
  return { access: String(access_token), refresh: String(refresh_token), scope: String(scope) }
}

/** Creates a connection: registers a client, consents as the user and redeems the code. */
export const aConnection = (cookie: string, tier: Tier = "pim:publish", clientName = "Agent") =>
  Effect.gen(function* () {
    const clientId = yield* aClient({ client_name: clientName, redirect_uris: [redirectUri] })
    const verifier = newVerifier()
    const code = yield* aCode(cookie, { clientId, verifier }, tier)
    return { clientId, verifier, code, ...tokensOf(yield* redeem({ clientId, verifier }, code)) }
  })

/** Checks a refusal of the token or registration endpoint: its status, its error, and that it has a description. */
export const assertRefused = (answer: Answer, status: number, error: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  const body = bodyOf(answer)
  assert.strictEqual(body.error, error, answer.text)
  assert.isAtLeast(String(body.error_description).length, 10)
  assert.sameMembers(Object.keys(body), ["error", "error_description"])
  assert.strictEqual(answer.headers.get("cache-control"), "no-store")
}

/** Checks an error page: it has the reason and is not a redirect. */
export const assertErrorPage = (answer: Answer, status: number, message: RegExp) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.isNull(answer.headers.get("location"))
  assert.strictEqual(answer.headers.get("content-type"), "text/html; charset=utf-8")
  assert.match(answer.text, message)
}

/** Moves the database's clock by this time while the effect runs. */
export const later = <A, E, R>(seconds: number, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    setClock(seconds),
    () => effect,
    () => setClock(0)
  )

/** Runs the effect from the tenth second of a minute on, so that up to 50 s of it are in the same minute. */
export const withinAMinute = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* Effect.orDie(sql`SELECT floor(extract(second FROM clock_timestamp()))::int AS second`)
    return yield* later(70 - Number(row?.second), effect)
  })

const setClock = (seconds: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.orDie(
      sql.unsafe(`CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE
        AS $$ SELECT clock_timestamp() + make_interval(secs => ${seconds}) $$`)
    )
  )
