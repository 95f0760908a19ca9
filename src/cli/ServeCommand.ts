import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { Command } from "@effect/cli"
import { HttpServer } from "@effect/platform"
import { Console, Effect, Layer, Option, Predicate, Redacted } from "effect"
import { adminServerOf, serverOf, servicesOf } from "../App.ts"
import { type AppConfig, readAppConfig } from "../AppConfig.ts"
import { setPasswordLink } from "../console/Paths.ts"
import { resourceOf } from "../domain/AuthorizationRequest.ts"
import { listeningOn } from "../http/BaseUrl.ts"
import { documentationPath } from "../http/Documents.ts"
import { Accounts } from "../services/Accounts.ts"
import { makeDemoWithUser } from "../services/DemoUser.ts"
import { layerWorker as dropsWorker } from "../services/Drops.ts"
import { layerWorkers } from "../services/Publishing.ts"
import * as Sweeper from "../services/Sweeper.ts"
import { Refused, reasonOf } from "./Output.ts"
import { settled } from "./Running.ts"

/** An empty embedded database gets the demo; a server's belongs to somebody, who asks for it. */
const firstStart = (config: AppConfig, accounts: number) =>
  Effect.gen(function* () {
    if (accounts > 0 || Option.isSome(config.databaseUrl)) return Option.none()
    yield* Effect.logInfo("The database is empty: making the demo account")
    return Option.some(yield* yield* makeDemoWithUser)
  })

/** What is shown once of the demo. */
interface DemoAccess {
  readonly key: string
  readonly email: string
  readonly link: string
}

/** How those go on who were here before: nothing of what was shown once is known any more. */
const waysIn = (accounts: number): ReadonlyArray<string> => {
  const command = (words: string) => `npm run catalog -- ${words}`
  if (accounts === 0) return [`First account:           ${command("account create --name NAME --email EMAIL")}`]
  const account = accounts === 1 ? "" : " --account ID"
  return [
    `Who signs in:            ${command(`user list${account}`)}`,
    `A new password:          ${command(`user invite --email EMAIL${account}`)}`,
    ...(accounts === 1 ? [] : [`Ids of accounts:         ${command("account list")}`]),
    `API keys:                ${command(`key create --name NAME --scopes pim:read,pim:write${account}`)}`
  ]
}

const greeting = (baseUrl: string, accounts: number, demo: Option.Option<DemoAccess>) =>
  [
    `The catalog is served at ${baseUrl}`,
    `Documentation:           ${baseUrl}${documentationPath}`,
    `Pages to sign in to:     ${baseUrl}/`,
    `Agents connect to:       ${resourceOf(baseUrl)}`,
    ...Option.match(demo, {
      onNone: () => waysIn(accounts),
      onSome: ({ email, key, link }) => [
        `Sign in as:              ${email}`,
        `Set its password:        ${link} (works once, for a day)`,
        `Demo key (shown once):   ${key}`,
        `Try:                     curl -H "Authorization: Bearer ${key}" "${baseUrl}/api/v1/products?limit=3"`
      ]
    })
  ].join("\n")

/** After the address is bound: a start that fails must not have shown, and lost, the only key. */
const Greeting = (config: AppConfig) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const { length: accounts } = yield* (yield* Accounts).list
      const demo = yield* firstStart(config, accounts)
      const baseUrl = Option.getOrElse(config.baseUrl, () => listeningOn(address))
      const shown = Option.map(demo, ({ invitation, key }) => ({
        key: Redacted.value(key.token),
        email: invitation.email,
        link: setPasswordLink(baseUrl, Redacted.value(invitation.token))
      }))
      yield* Console.log(greeting(baseUrl, accounts, shown))
    })
  )

const inUse: ReadonlySet<unknown> = new Set(["EADDRINUSE", "EACCES"])

/** Which setting is at fault when the address cannot be bound. */
const cannotListen = ({ host, port }: AppConfig, cause: unknown) => {
  const isPort = Predicate.hasProperty(cause, "code") && inUse.has(cause.code)
  return new Refused({ message: `${isPort ? "PORT" : "HOST"}: cannot listen on ${host}:${port}: ${reasonOf(cause)}` })
}

/**
 * Binds the address and lets it go. Before an embedded database is made, which takes some seconds: afterwards it is opened
 * faster than it would be missed, and says who else has it.
 */
const tryAddress = (config: AppConfig) =>
  Option.isSome(config.databaseUrl) || existsSync(config.dataDirectory)
    ? Effect.void
    : Effect.async<void, Refused>((resume) => {
        const server = createServer()
        server.once("error", (error) => resume(Effect.fail(cannotListen(config, error))))
        server.listen({ host: config.host, port: config.port }, () => server.close(() => resume(Effect.void)))
      })

const serve = (config: AppConfig) =>
  Layer.launch(
    Greeting(config).pipe(
      Layer.provide(serverOf(config)),
      // Stopped after the server: readiness goes red first.
      Layer.provide(Layer.mergeAll(Sweeper.layer, layerWorkers, dropsWorker))
    )
  ).pipe(
    Effect.catchTag("ServeError", ({ cause }) => Effect.fail(cannotListen(config, cause))),
    Effect.provide(Layer.provideMerge(adminServerOf(config), servicesOf(config)))
  )

export const serveCommand = Command.make("serve", {}, () =>
  Effect.zipRight(Effect.flatMap(readAppConfig, tryAddress), settled(serve))
).pipe(Command.withDescription("Serve REST v1 until it is stopped."))
