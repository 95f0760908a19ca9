import { existsSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join, relative } from "node:path"
import { HttpServer } from "@effect/platform"
import {
  Config,
  Console,
  Duration,
  Effect,
  Fiber,
  FiberRef,
  HashSet,
  Layer,
  Logger,
  Option,
  Predicate,
  Redacted,
  Scope
} from "effect"
import { adminServerOf, readNodesOf, serverOf, watchOf } from "../App.ts"
import { type AppConfig, readAppConfig } from "../AppConfig.ts"
import { Accounts } from "../access/Accounts.ts"
import { Users } from "../access/Users.ts"
import { resourceOf } from "../connections/AuthorizationRequest.ts"
import { setPasswordLink } from "../console/Paths.ts"
import { layerWatch } from "../database/ClusterNodesRepo.ts"
import { checkServerSettings } from "../database/ServerSettings.ts"
import { makeDemoWithUser } from "../demo/DemoUser.ts"
import { layerWorker as dropsWorker } from "../drops/Drops.ts"
import { listeningOn } from "../http/BaseUrl.ts"
import { documentationPath } from "../http/Documents.ts"
import { withRequestId } from "../http/RequestIds.ts"
import * as BacklogMetrics from "../programs/BacklogMetrics.ts"
import { layerWorkers as jobWorkers } from "../programs/JobWorker.ts"
import { makeStartChecks } from "../programs/StartChecks.sql.ts"
import * as Sweeper from "../programs/Sweeper.ts"
import { workUntilNewer } from "../programs/WorkUntilNewer.ts"
import { layerWorkers } from "../publishing/Publishing.ts"
import { servicesOf } from "../Services.ts"
import { layerTelemetry } from "../telemetry/Telemetry.ts"
import { layerWorker as webhooksWorker } from "../webhooks/WebhookWorker.ts"
import { withDatabase } from "./CommandRuntime.ts"
import { Refused, reasonOf } from "./Output.ts"

/** Creates the demo if the embedded database is empty. With DATABASE_URL, only the command `catalog demo` creates one. */
const firstStart = (config: AppConfig, accounts: number) =>
  Effect.gen(function* () {
    if (accounts > 0 || Option.isSome(config.databaseUrl)) return Option.none()
    yield* Effect.logInfo("The database is empty: creating the demo account")
    return Option.some(yield* yield* makeDemoWithUser)
  })

/** The demo's secrets, which are shown only once. */
interface DemoAccess {
  readonly key: string
  readonly email: string
  readonly link: string
}

/** How to run commands of this build: by npm if npm started the process. The container image starts Node itself. */
const commandLine = Effect.map(Effect.orDie(Config.option(Config.string("npm_lifecycle_event"))), (script) =>
  Option.isSome(script) ? "npm run catalog --" : `node ${relative(process.cwd(), process.argv[1] ?? "")}`
)

/** Commands that give access on later starts, because the secrets of the first start cannot be shown again. */
const waysIn = (accounts: number, program: string): ReadonlyArray<string> => {
  const command = (words: string) => `${program} ${words}`
  if (accounts === 0) return [`First account:           ${command("account create --name NAME --email EMAIL")}`]
  const account = accounts === 1 ? "" : " --account ID"
  return [
    `Users:                   ${command(`user list${account}`)}`,
    `New password:            ${command(`user invite --email EMAIL${account}`)}`,
    ...(accounts === 1 ? [] : [`Account ids:             ${command("account list")}`]),
    `API keys:                ${command(`key create --name NAME --scopes pim:read,pim:write${account}`)}`
  ]
}

const tryIt = (baseUrl: string, key: string) =>
  `Try:                     curl -H "Authorization: Bearer ${key}" "${baseUrl}/api/v1/products?limit=3"`

const secretsOf = (baseUrl: string, { email, key, link }: DemoAccess): ReadonlyArray<string> => [
  `Sign in as:              ${email}`,
  `Set its password:        ${link} (valid once, for one day)`,
  `Demo key (shown once):   ${key}`,
  tryIt(baseUrl, key)
]

/**
 * Writes the secrets of a first start to a file that only this user can read, and returns its path. Used if stdout is not a
 * terminal: such output usually ends up in logs, which must not contain a key.
 */
const keepSecrets = (dataDirectory: string, lines: ReadonlyArray<string>) =>
  Effect.sync(() => {
    const path = join(dataDirectory, "first-start.txt")
    rmSync(path, { force: true })
    writeFileSync(path, `${lines.join("\n")}\n`, { flag: "wx", mode: 0o600 })
    return path
  })

const greeting = (baseUrl: string, ways: ReadonlyArray<string>) =>
  [
    `The catalog is served at ${baseUrl}`,
    `Documentation:           ${baseUrl}${documentationPath}`,
    `Console:                 ${baseUrl}/`,
    `Agents connect to:       ${resourceOf(baseUrl)}`,
    ...ways
  ].join("\n")

/** Creates and shows the demo's key after the server listens: a start that fails would lose a key that is shown only once. */
const Greeting = (config: AppConfig) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const { length: accounts } = yield* (yield* Accounts).list
      const demo = yield* firstStart(config, accounts)
      const baseUrl = Option.getOrElse(config.baseUrl, () => listeningOn(address))
      yield* (yield* Users).keepServiceAddress(baseUrl)
      const shown = Option.map(demo, ({ invitation, key }) => ({
        key: Redacted.value(key.token),
        email: invitation.email,
        link: setPasswordLink(baseUrl, Redacted.value(invitation.token))
      }))
      const ways = yield* Option.match(shown, {
        onNone: () => Effect.map(commandLine, (program) => waysIn(accounts, program)),
        onSome: (access) =>
          process.stdout.isTTY
            ? Effect.succeed(secretsOf(baseUrl, access))
            : Effect.map(keepSecrets(config.dataDirectory, secretsOf(baseUrl, access)), (path) => [
                `Sign in as:              ${access.email}`,
                `Password link and key:   in ${path} (only this user may read it; delete it afterwards)`,
                tryIt(baseUrl, "KEY")
              ])
      })
      yield* Console.log(greeting(baseUrl, ways))
      yield* Effect.forkScoped((yield* makeStartChecks)(baseUrl))
      if (Option.isSome(config.databaseUrl)) yield* Effect.forkScoped(checkServerSettings)
    })
  )

const inUse: ReadonlySet<unknown> = new Set(["EADDRINUSE", "EACCES"])

/** The refusal if the server cannot listen. It names the wrong setting. */
const cannotListen = ({ host, port }: AppConfig, cause: unknown) => {
  const isPort = Predicate.hasProperty(cause, "code") && inUse.has(cause.code)
  return new Refused({ message: `${isPort ? "PORT" : "HOST"}: cannot listen on ${host}:${port}: ${reasonOf(cause)}` })
}

/**
 * Tests that the server can listen, before it creates an embedded database, which takes some seconds. An existing database needs
 * no test: opening it is fast, and its lock names a process that uses it.
 */
const tryAddress = (config: AppConfig) =>
  Option.isSome(config.databaseUrl) || existsSync(config.dataDirectory)
    ? Effect.void
    : Effect.async<void, Refused>((resume) => {
        const server = createServer()
        server.once("error", (error) => resume(Effect.fail(cannotListen(config, error))))
        server.listen({ host: config.host, port: config.port }, () => server.close(() => resume(Effect.void)))
      })

/** Maximum time from the failure of the watch to the exit of the process, in case finalizers hang. */
const endsAtLatest = Duration.seconds(20)

const watching = (config: AppConfig) =>
  Effect.tapError(watchOf(config), ({ message }) =>
    Effect.zipRight(
      Effect.logError(message),
      Effect.sync(() => setTimeout(() => process.exit(1), Duration.toMillis(endsAtLatest)).unref())
    )
  )

/** The work in the background of requests. */
const workers = Layer.mergeAll(Sweeper.layer, layerWorkers, dropsWorker, jobWorkers, webhooksWorker)

/**
 * Runs the server and its watch in one scope. Racing them outside would close the database before running requests are answered.
 *
 * The workers start after the server is ready, because their first statements would delay it. They stop after the server, so that
 * readiness fails first. So they have a scope of their own, which is opened before the server and therefore closed after it.
 */
const serve = (config: AppConfig) =>
  Effect.gen(function* () {
    const workersScope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
    yield* Layer.build(
      Greeting(config).pipe(Layer.provide(serverOf(config)), Layer.provide(layerWatch(readNodesOf(config))))
    )
    const work = yield* Effect.forkIn(workUntilNewer(workers), workersScope)
    // A defect of the workers ends the service, so that its supervisor starts it again.
    return yield* Effect.raceFirst(watching(config), Effect.zipRight(Fiber.join(work), Effect.never))
  }).pipe(
    Effect.scoped,
    Effect.catchTag("ServeError", ({ cause }) => Effect.fail(cannotListen(config, cause))),
    // Adds the request's id to every log line of a request.
    Effect.locallyWith(FiberRef.currentLoggers, HashSet.map(Logger.mapInputOptions(withRequestId))),
    // Provided inside the services, because the metrics read their tables, and outside the server, because it traces
    // requests.
    Effect.provide(Layer.provide(layerTelemetry(config.telemetry), BacklogMetrics.layer)),
    Effect.catchTag("CannotServeMetrics", ({ message }) => Effect.fail(new Refused({ message }))),
    Effect.provide(Layer.provideMerge(adminServerOf(config), servicesOf(config)))
  )

export const run = Effect.zipRight(Effect.flatMap(readAppConfig, tryAddress), withDatabase(serve))
